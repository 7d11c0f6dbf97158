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
from functools import partial
from typing import NamedTuple

import numpy as np

from proofs_check.blackboard import own_weights
from proofs_check.boxes import VirtualBox, compare, fingerprints, ranks_as_shown
from proofs_check.claim import Claim, Part, Scope, WalkThrough
from proofs_check.claim import Refutation as Refutation
from proofs_check.claim import Undecided as Undecided
from proofs_check.claims.normalized.softmax_fibers.balls import (
    SKEW,
    VirtualNetwork,
    boxes,
    functions,
    inputs,
    mask_changes_nothing,
    one_layer_less,
    skew_is_always_blind,
)
from proofs_check.claims.normalized.softmax_fibers.walk import walk
from proofs_check.expect import expect_apart
from proofs_check.finite_matrices import Integers, Truths, is_zero
from proofs_check.visible import Blind, blind, is_skew, shown_layers, two_causal_tokens, up_to_the_first_blind

Keys = Callable[..., list[bytes]]


def enough(box: VirtualBox) -> int:
    """A degree in which all that is visible was found; for two tokens without mask that of Theorem 6."""
    if box.causal:
        return 2 * box.depth + 5
    last = int(2 * 3 ** (box.depth - 1) + 1)
    return last if box.tokens == 2 or box.depth == 1 else last + 4


def whole_boxes(*, quick: bool) -> Iterator[VirtualBox]:
    """All networks with entries -1, 0, 1; of width two and three layers those with 0, 1 and skew ones."""
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
    """A fault: also for three tokens."""
    return is_skew(matrices)


def every_one(matrices: Integers, _tokens: int) -> Truths:
    """A fault: all layers are."""
    return is_zero(0 * matrices)


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
    """What a shallower network does not have is like what is hidden."""
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
    """A fault: the blind layer is not seen itself."""
    *attention, value = virtual
    cut = [np.where(blind(m, tokens)[:, None, None], 0, m) for m in attention] if not causal else attention
    return up_to_the_first_blind([*cut, value], tokens, causal)


def masked_like_unmasked(virtual: Sequence[Integers], tokens: int, causal: bool) -> list[bytes]:
    """A fault: a mask changes nothing."""
    return up_to_the_first_blind(virtual, tokens, False)


def skew_boxes(*, quick: bool) -> Iterator[VirtualBox]:
    """Two tokens with a mask: lists of zero layers, skew ones and their multiples, and at the full size all others."""
    yield VirtualBox(1, 2, 2, True)
    yield VirtualBox(2, 2, 2, True, entries=(-3, -2, -1, 0, 1, 2, 3))
    if not quick:
        yield VirtualBox(1, 4, 2, True)
        yield VirtualBox(2, 2, 2, True)
        yield VirtualBox(2, 3, 2, True, entries=(-4, -2, -1, 0, 1, 2, 4))


def two_tokens_with_a_mask(box: VirtualBox, keys: Callable[..., list[Hashable]] = two_causal_tokens) -> str:
    """Where there are multiples, all layers are zero or skew."""
    virtual = box.virtual(is_skew if max(box.entries) > 1 else None)
    prints = fingerprints(box.stack(virtual), enough(box))
    return compare(prints, keys(virtual), box.name(virtual))


def all_differentials(box: VirtualBox, blind: Blind = blind) -> str:
    """At each of these very weights: the rank is the number of visible ones, and other directions are not felt."""
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

    one: VirtualNetwork
    other: VirtualNetwork
    causal: bool
    finding: str


def second_networks(*, quick: bool) -> Iterator[SoftmaxPair]:
    one, zero, twice = ((1, 0), (0, 1)), ((0, 0), (0, 0)), ((0, 2), (-2, 0))
    value = ((1, 3),)
    yield SoftmaxPair(
        VirtualNetwork((SKEW, one), value, 2, False), VirtualNetwork((SKEW, zero), value, 2, False), False,
        "t >= 3 is needed for skew layers: without mask, two tokens do not see what is behind one",
    )  # fmt: skip
    yield SoftmaxPair(
        VirtualNetwork((SKEW, zero), value, 2, True), VirtualNetwork((zero, twice), value, 2, True), True,
        "t >= 3 is needed with a causal mask: for two tokens (B, 0) and (0, 2 B) with skew B have the same function",
    )  # fmt: skip
    yield SoftmaxPair(
        VirtualNetwork((zero, one), value, 3, False), VirtualNetwork((zero, SKEW), value, 3, False), True,
        "a mask is needed to see behind a zero layer: without one all tokens are equal there",
    )  # fmt: skip
    yield SoftmaxPair(
        VirtualNetwork((one,), value, 1, False), VirtualNetwork((SKEW,), value, 1, False), False,
        "t >= 2 is needed: one token shows V~ alone",
    )  # fmt: skip


def same_here_only(pair: SoftmaxPair, restored: bool = False) -> str:
    """The two are not apart; with the hypothesis back they are."""
    for back in (False, True):
        one, other = (n._replace(tokens=3, causal=pair.causal) if back else n for n in pair[:2])
        points = inputs(one, 8)
        apart = any(not a.overlaps(b) for x in points for a, b in zip(one.balls(x), other.balls(x), strict=True))
        expect_apart(apart, back and not restored, at=f"{one} and {other}")
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
        on=own_weights.peeled,
    ),
    parts=(
        Part(
            "all networks with entries -1, 0, 1: equal Taylor series exactly for equal visible weights",
            Scope.EVERY_WIDTH,
            whole_boxes,
            all_functions,
            {
                "skew layers are blind for three tokens": partial(
                    all_functions, keys=partial(up_to_the_first_blind, blind=skew_as_for_two)
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
            skew_boxes,
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
                "nothing behind the first layer": partial(all_differentials, blind=every_one),
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
