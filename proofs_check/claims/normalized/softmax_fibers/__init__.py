r"""Every fiber of softmax networks with one head a layer: Theorems 1 and 4 of docs/softmax-fibers.md.

Let $t \ge 2$ and $\tilde V \ne 0$. *Without mask* a layer is blind if $\tilde A_i = 0$, or $t = 2$ and $\tilde A_i$ is
skew. The function determines $\tilde V$ and $\tilde A_1, \dots, \tilde A_b$ up to the first blind layer (all layers, if
there is none), and nothing else. *With a causal mask* and $t \ge 3$ it determines all virtual weights. Both are proved
there for all weights, without genericity; Conjecture 3.10 is a corollary.

What is checked here could refute them. All networks with small entries are told apart by Taylor coefficients modulo a
prime: those with the same visible weights must not be apart, any two others must. At each of these weights, most of
them degenerate, the rank of the differential modulo the prime, a lower bound, is the number of visible weights, and the
other directions are not felt. Balls that enclose the true outputs, flint's `arb`, tell functions apart as well, at
inputs that are not small.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np

from lightning_sym.rings.arrays import ObjectArray
from proofs_check.blackboard import own_weights
from proofs_check.blackboard.series import exponents
from proofs_check.blackboard.step import Step, must, rational, show
from proofs_check.boxes import VirtualBox, compare, fingerprints, ranks_as_shown
from proofs_check.claim import Claim, Part, Scope, WalkThrough, expect_apart
from proofs_check.claims.normalized.softmax_fibers.balls import (
    SKEW,
    boxes,
    functions,
    mask_changes_nothing,
    one_layer_less,
    skew_is_always_blind,
    told_apart,
    virtual_network,
)
from proofs_check.claims.transformers.small_networks import SmallNetwork
from proofs_check.finite_matrices import Integers, Truths, is_zero
from proofs_check.samples import listed
from proofs_check.visible import Blind, blind, is_skew, shown_layers, two_causal_tokens, up_to_the_first_blind


def walk() -> Iterator[Step]:
    """Yield the steps of Theorem 1 of docs/softmax-fibers.md."""
    attention, value = rational([[1, 2], [0, 1]]), rational([[1, 3]])
    skew = rational([[0, 1], [-1, 0]])
    x1, x2 = rational([2, 1]), rational([0, -1])
    m, y = (x1 + x2) / Fraction(2), x1 - x2
    first, second = exponents(attention, x1, x2)
    a, b = y @ attention @ m, y @ attention @ y
    must([first, second] == [a + b / 2, a - b / 2], "the exponents are a + b / 2 and a - b / 2")
    yield Step(
        "Mean and difference",
        r"Two tokens, $m$ their mean and $y = x_1 - x_2$. Query $k$ gives token one the weight "
        r"$p_k = 1 / (1 + e^{-T_k})$, where $T_k$ is how much higher token one scores. With $a = y^\top A m$ and "
        r"$b = y^\top A y$ the two numbers are $T_1 = a + b/2$ and $T_2 = a - b/2$.",
        (show("m", rational([m.tolist()])), show("y", rational([y.tolist()])), show("A", attention), show("a", a),
         show("b", b), show("T_1", first), show("T_2", second)),
    )  # fmt: skip
    yield Step(
        "The form is kept",
        r"The new tokens are $x_2 + p_k\, y$: averages of the old ones. So behind every layer the difference is a "
        r"multiple of $y$ and the mean is $m$ plus a multiple of $y$. A deep network only moves two numbers. The first "
        r"new difference is $(p_1 - p_2)\, y$, and $p_1 - p_2$ is not zero exactly if $T_1 \ne T_2$: if $b \ne 0$.",
        (show("T_1 - T_2", first - second),),
    )

    def third_order(mean: ObjectArray, difference: ObjectArray) -> Fraction:
        """Return the first term by which the mean of the outputs moves with the attention matrix.

        p = 1/2 + T/4 to first order, so the mean moves by (p_1 + p_2 - 1) / 2 = (T_1 + T_2) / 8 times y.
        """
        half = difference / Fraction(2)
        term: Fraction = value[0] @ difference * sum(exponents(attention, mean + half, mean - half)) / 8
        return term

    units = [rational([1, 0]), rational([0, 1])]
    must(third_order(m, y) == (value[0] @ y) * a / 4, "the third order is (V y) a / 4")
    found = rational([[4 * third_order(e, u) / (value[0] @ u) for e in units] for u in units])
    must((found == attention).all(), "A is read off")
    yield Step(
        "What the third order shows",
        r"Near zero $p = \tfrac{1}{2} + \tfrac{1}{4} T$ to first order, so the mean output is $V m$, in degree one, "
        r"and then, in degree three, $\tfrac{1}{4} (V y)(y^\top A_1 m)$. Later layers see tokens that agree up to "
        r"degree three, and add nothing there. $y$ and $m$ are free: for $y, m \in \{e_1, e_2\}$ this is every entry "
        r"of $A_1$.",
        (
            show("V", value),
            show(r"\tfrac{1}{4} (V y)(y^\top A_1 m)", third_order(m, y)),
            show(r"A_1 \text{ recovered}", found),
        ),
    )
    yield Step(
        "Peel off the layer",
        r"$A_1$ is known, so the first layer is a known map, and the rest of the network is asked about its outputs. "
        r"If these fill an open set, the rest is known there, and by analyticity everywhere. To lowest order the new "
        r"difference is $\tfrac{1}{4} q(y)\, y$ with $q(y) = y^\top A_1 y$; the determinant of its derivative is "
        r"$3\, (q/4)^d$, not zero where $q$ is not. Then the next layer gives itself away in the same way, and so on.",
        (show("q(y)", b),),
    )
    hidden = exponents(skew, x1, x2)
    must(hidden[0] == hidden[1], "a skew matrix gives both queries the same")
    yield Step(
        "A layer that hides the rest",
        r"Let $A_1$ be skew. Then $b = 0$ for every $y$: both queries give the same weights, both new tokens are the "
        r"same, and averages of equal tokens stay what they are. No layer behind is visible. For three tokens a skew "
        r"matrix does not do this; the zero matrix always does.",
        (show("A_1", skew), show("T_1", hidden[0]), show("T_2", hidden[1])),
    )


Keys = Callable[..., list[bytes]]


def enough(box: VirtualBox) -> int:
    """Return a degree in which all that is visible was found; for two tokens without mask that of Theorem 6."""
    if box.causal:
        return 2 * box.depth + 5
    last = int(2 * 3 ** (box.depth - 1) + 1)
    return last if box.tokens == 2 or box.depth == 1 else last + 4


def whole_boxes(*, quick: bool) -> Iterator[VirtualBox]:
    """Yield all networks with entries -1, 0, 1; of width two and three layers those with 0, 1 and skew ones."""
    for tokens, causal in [(2, False), (3, False), (3, True), (4, False)]:
        yield from (VirtualBox(1, depth, tokens, causal) for depth in ((1, 2) if quick else (1, 2, 3, 4)))
        yield VirtualBox(2, 1, tokens, causal)
        yield VirtualBox(2, 2, tokens, causal, few=quick or tokens == 4)
        if not quick and tokens < 4:
            yield VirtualBox(2, 3, tokens, causal, few=True)
    if not quick:
        yield VirtualBox(3, 1, 3, entries=(0, 1))


def all_functions(box: VirtualBox, keys: Keys = up_to_the_first_blind) -> str:
    virtual = box.virtual()
    prints = fingerprints(box.stack(virtual), enough(box))
    return compare(prints, keys(virtual, box.tokens, box.causal), box.name(virtual))


def skew_as_for_two(matrices: Integers, _tokens: int) -> Truths:
    """Return a fault: also for three tokens."""
    return is_skew(matrices)


class Depths(NamedTuple):
    """Networks that differ in depth as well."""

    boxes: tuple[VirtualBox, ...]

    def __str__(self) -> str:
        return "; ".join(map(str, self.boxes))


def depths(*, quick: bool) -> Iterator[Depths]:
    for tokens, causal in [(2, False), (3, False), (3, True)]:
        yield Depths(tuple(VirtualBox(1, depth, tokens, causal) for depth in ((1, 2) if quick else (1, 2, 3, 4))))
        yield Depths(tuple(VirtualBox(2, depth, tokens, causal, few=True) for depth in (1, 2)))


def of_all_depths(instance: Depths, keys: Keys = up_to_the_first_blind) -> str:
    """Check networks of all depths: what a shallower one does not have is like what is hidden."""
    most = max(map(enough, instance.boxes))
    prints, visible, names = [], list[Hashable](), list[Callable[[], str]]()
    width = max(box.depth for box in instance.boxes) * (instance.boxes[0].width ** 2 + 1) * 8
    for box in instance.boxes:
        virtual = box.virtual()
        prints.append(fingerprints(box.stack(virtual), most))
        padding = bytes(width - box.depth * (box.width**2 + 1) * 8)
        visible += [key + padding for key in keys(virtual, box.tokens, box.causal)]
        names += [partial(box.name(virtual), number) for number in range(len(virtual[0]))]
    return compare(np.concatenate(prints), visible, lambda number: names[number]())


def itself_unseen(virtual: Sequence[Integers], tokens: int, causal: bool) -> list[bytes]:
    """Return a fault: the blind layer is not seen itself."""
    *attention, value = virtual
    cut = [np.where(blind(m, tokens)[:, None, None], 0, m) for m in attention] if not causal else attention
    return up_to_the_first_blind([*cut, value], tokens, causal)


def masked_like_unmasked(virtual: Sequence[Integers], tokens: int, causal: bool) -> list[bytes]:
    """Return a fault: a mask changes nothing."""
    return up_to_the_first_blind(virtual, tokens, False)


def two_tokens_with_a_mask(box: VirtualBox, keys: Callable[..., list[Hashable]] = two_causal_tokens) -> str:
    """Return the comparison for two tokens under a mask: where there are multiples, layers are zero or skew."""
    virtual = box.virtual(is_skew if max(box.entries) > 1 else None)
    prints = fingerprints(box.stack(virtual), enough(box))
    return compare(prints, keys(virtual), box.name(virtual))


def all_differentials(box: VirtualBox, blind: Blind = blind) -> str:
    """Return the comparison of ranks at these weights with the numbers of visible ones; nothing else is felt."""
    virtual = box.virtual()
    virtual = [m[~is_zero(virtual[-1])] for m in virtual]
    shown = [*shown_layers(virtual, box.tokens, box.causal, blind), np.ones(len(virtual[0]), dtype=bool)]
    return ranks_as_shown(box, virtual, shown, enough(box))


def differential_boxes(*, quick: bool) -> Iterator[VirtualBox]:
    for tokens, causal in [(2, False), (3, False), (3, True)]:
        yield from (VirtualBox(1, depth, tokens, causal) for depth in ((1, 2) if quick else (1, 2, 3)))
        yield VirtualBox(2, 2, tokens, causal, few=True)
    if not quick:
        yield VirtualBox(2, 3, 2, entries=(0, 1))


class SoftmaxPair(NamedTuple):
    """Two networks with the same function, and the mask with which, for three tokens, they are two."""

    one: SmallNetwork
    other: SmallNetwork
    causal: bool
    finding: str


def second_networks(*, quick: bool) -> Iterator[SoftmaxPair]:
    one, zero, twice = ((1, 0), (0, 1)), ((0, 0), (0, 0)), ((0, 2), (-2, 0))
    value = ((1, 3),)
    yield SoftmaxPair(
        virtual_network((SKEW, one), value, 2, False), virtual_network((SKEW, zero), value, 2, False), False,
        "t >= 3 is needed for skew layers: without mask, two tokens do not see what is behind one",
    )  # fmt: skip
    yield SoftmaxPair(
        virtual_network((SKEW, zero), value, 2, True), virtual_network((zero, twice), value, 2, True), True,
        "t >= 3 is needed with a causal mask: for two tokens (B, 0) and (0, 2 B) with skew B have the same function",
    )  # fmt: skip
    yield SoftmaxPair(
        virtual_network((zero, one), value, 3, False), virtual_network((zero, SKEW), value, 3, False), True,
        "a mask is needed to see behind a zero layer: without one all tokens are equal there",
    )  # fmt: skip
    yield SoftmaxPair(
        virtual_network((one,), value, 1, False), virtual_network((SKEW,), value, 1, False), False,
        "t >= 2 is needed: one token shows V~ alone",
    )  # fmt: skip


def same_here_only(pair: SoftmaxPair, *, restored: bool = False) -> str:
    """Check that the two are not apart; with the hypothesis back they are."""
    for back in (False, True):
        one, other = (n._replace(tokens=3, causal=pair.causal) if back else n for n in pair[:2])
        expect_apart(told_apart(one, other, 8), stated=back and not restored, at=f"{one} and {other}")
    return pair.finding


CLAIM = Claim(
    id="softmax-fibers",
    source="beyond the paper: all fibers behind Conjecture 3.10",
    title="softmax, one head: which virtual weights the function determines, for all weights",
    statement=(
        r"t \ge 2,\ \tilde V \ne 0,\ b = \min\{i : \tilde A_i = 0 \text{ or } (t = 2,\ \tilde A_i \text{ skew})\}"
        r" \text{ or } l \;\Rightarrow\; \left(\varphi_{W'} = \varphi_W \Leftrightarrow \tilde V' = \tilde V,\ "
        r"\tilde A'_i = \tilde A_i\ (i \le b)\right);\quad"
        r" \text{causal},\ t \ge 3:\ \varphi_{W'} = \varphi_W \Leftrightarrow"
        r" (\tilde V', \tilde A') = (\tilde V, \tilde A)"
    ),
    hypotheses=(
        "One head, no skip connection, networks of one depth and any inner widths. Proved for all weights of every "
        "size (docs/softmax-fibers.md, Theorems 1 and 4). The first equivalence is without mask. With a causal "
        r"mask and $t = 2$ zero layers can move behind skew ones (Theorem 4). For $\tilde V = 0$ the function is "
        "zero."
    ),
    place=300,
    rests_on=("theorem-3.9", "equation-9"),
    walk=WalkThrough(
        "Two tokens, their mean and their difference: what a softmax layer does to them, and which one hides the rest.",
        walk,
        on=own_weights.softmax_layers,
    ),
    parts=(
        Part(
            "all networks with entries -1, 0, 1: equal Taylor series exactly for equal visible weights",
            Scope.EVERY_WIDTH,
            whole_boxes,
            all_functions,
            {
                "skew layers are blind for three tokens": partial(
                    all_functions,
                    keys=partial(up_to_the_first_blind, blind=skew_as_for_two),
                ),
                "no layer is seen behind a skew or zero one, mask or not": partial(
                    all_functions, keys=masked_like_unmasked
                ),
                "a blind layer is not seen itself": partial(all_functions, keys=itself_unseen),
            },
        ),
        Part(
            "networks of different depths: equal exactly if what is visible is equal and ends in a blind layer",
            Scope.EVERY_WIDTH,
            depths,
            of_all_depths,
            {"a mask changes nothing": partial(of_all_depths, keys=masked_like_unmasked)},
        ),
        Part(
            "two tokens with a mask: zero layers and the multiples of skew ones behind them",
            Scope.EVERY_WIDTH,
            listed(  # lists of zero layers, skew ones and their multiples; at the full size all
                [VirtualBox(1, 2, 2, True), VirtualBox(2, 2, 2, True, entries=(-3, -2, -1, 0, 1, 2, 3))],
                [
                    VirtualBox(1, 4, 2, True),
                    VirtualBox(2, 2, 2, True),
                    VirtualBox(2, 3, 2, True, entries=(-4, -2, -1, 0, 1, 2, 4)),
                ],
            ),
            two_tokens_with_a_mask,
            {
                "powers of three": partial(two_tokens_with_a_mask, keys=partial(two_causal_tokens, base=3)),
                "zero layers anywhere": partial(two_tokens_with_a_mask, keys=partial(two_causal_tokens, base=1)),
            },
        ),
        Part(
            "the same in balls, at inputs that are not small",
            Scope.EVERY_WIDTH,
            boxes,
            functions,
            {
                "skew layers are blind for three tokens": partial(functions, seen=skew_is_always_blind),
                "the last visible layer is not": partial(functions, seen=one_layer_less),
                "a mask changes nothing": partial(functions, seen=mask_changes_nothing),
            },
            instance="all networks of a width and depth with small entries",
        ),
        Part(
            "the differential at all of these weights has the rank that the visible weights say",
            Scope.EVERY_WIDTH,
            differential_boxes,
            all_differentials,
            {
                "skew layers are blind for three tokens": partial(all_differentials, blind=skew_as_for_two),
                "nothing behind the first layer": partial(all_differentials, blind=lambda m, _tokens: is_zero(0 * m)),
            },
        ),
        Part(
            "without the hypotheses there are second networks",
            Scope.INSTANCES,
            second_networks,
            same_here_only,
            {"with the hypotheses too": partial(same_here_only, restored=True)},
            instance="two networks",
        ),
    ),
)
