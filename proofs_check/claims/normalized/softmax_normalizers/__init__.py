r"""Conjecture 3.10 for other normalizers than the exponential: Corollary 5 of docs/softmax-fibers.md.

Let $S$ be real-analytic at zero, $S(y) = S(0)(1 + c y^k + \dots)$ with $S(0), c \ne 0$ and $k$ odd: so is every
real-analytic injective $S : \mathbb R \to \mathbb R_{>0}$. Without mask, for $t \ge 2$, $\tilde V \ne 0$ and quadratic
forms $q_i \ne 0$ for $i < l$ the function determines all virtual weights. Not covered is an $S$ that is injective and
not analytic, perhaps not continuous, as the paper's wording allows.

All networks with small entries are compared by their Taylor series modulo a prime; those in the hypotheses must differ
from all others, whether these are in them or not. At each of them the rank of the differential is found: full, but for
one exception, $S'(0) = 0$ and $\tilde A_l = 0$, where the fiber is a point although the map is no immersion.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from lightning_sym import Architecture, Normalization
from proofs_check.boxes import VirtualBox, compare, fingerprints, ranks_as_shown
from proofs_check.claim import (
    Claim,
    Part,
    Scope,
    Undecided,
    WalkThrough,
    expect,
    expect_apart,
    expect_formula_by_orbit,
)
from proofs_check.claims.any_width.softmax_all_widths import formula
from proofs_check.claims.normalized.softmax_normalizers.walk import walk
from proofs_check.finite_matrices import Integers, Truths, is_zero
from proofs_check.normalizers import ARCTANGENT, CUBE, EVEN, FALLING, FIFTH, FLAT, INJECTIVE, LINEAR, LOGISTIC, order
from proofs_check.samples import random_networks
from proofs_check.visible import is_skew, two_causal_tokens, up_to_the_first_blind

Matrix = list[list[int]]
Keys = Callable[[Sequence[Integers]], list[Hashable]]


def last_degree(box: VirtualBox) -> int:
    """Return the degree in which the last matrix appears for two tokens, a skew one too."""
    k = order(box.normalization)
    return int((k + 1) * k * (3 ** (box.depth - 1) - 1) + 2 * k + 1)


def boxes(*, quick: bool) -> Iterator[VirtualBox]:
    for normalization in (*INJECTIVE, LINEAR):
        flat = order(normalization) > 1
        for tokens in (2, 3):
            yield from (
                VirtualBox(1, depth, tokens, normalization=normalization) for depth in ((1, 2) if quick else (1, 2, 3))
            )
            yield VirtualBox(2, 1, tokens, normalization=normalization)
            if order(normalization) < 5 and not (quick and flat):
                yield VirtualBox(2, 2, tokens, normalization=normalization, few=quick or flat or tokens > 2)


def in_hypotheses(virtual: Sequence[Integers]) -> Truths:
    """Return where `V~` is not zero, nor any quadratic form but the last."""
    *attention, value = virtual
    good = ~is_zero(value)
    for matrices in attention[:-1]:
        good = good & ~is_skew(matrices)
    return good


def everything(virtual: Sequence[Integers]) -> list[Hashable]:
    """Return all virtual weights."""
    flat = np.concatenate([m.reshape(len(m), -1) for m in virtual], axis=1)
    return [row.tobytes() for row in flat]


def quadratic_forms(virtual: Sequence[Integers]) -> list[Hashable]:
    """Return a fault: of attention matrices only these are seen."""
    *attention, value = virtual
    return everything([*(m + m.mT for m in attention), value])


def without_sign(matrices: Integers) -> Integers:
    """Return each matrix or its negative, the one whose first entry that is not zero is positive, as a row."""
    flat = matrices.reshape(len(matrices), -1)
    return flat * np.sign(np.take_along_axis(flat, (flat != 0).argmax(axis=1)[:, None], axis=1))


def up_to_sign(virtual: Sequence[Integers]) -> list[Hashable]:
    """Return a fault: the last matrix and its negative are not told apart."""
    *before, last, value = virtual
    return everything([*before, without_sign(last), value])


def a_point(box: VirtualBox, keys: Keys = everything) -> str:
    virtual = box.virtual()
    prints = fingerprints(box.stack(virtual), last_degree(box))
    return compare(prints, keys(virtual), box.name(virtual), in_hypotheses(virtual))


def differential(box: VirtualBox, *, last_unseen: bool = False) -> str:
    """Return the comparison of ranks with the full one.

    If S'(0) = 0 and the last matrix is zero, all but the directions of the last matrix are felt.
    """
    virtual = box.virtual()
    virtual = [m[in_hypotheses(virtual)] for m in virtual]
    everywhere = np.ones(len(virtual[0]), dtype=bool)
    last = everywhere if order(box.normalization) == 1 else ~is_zero(virtual[-2])
    last = last & (not last_unseen)
    return ranks_as_shown(box, virtual, [*[everywhere] * (box.depth - 1), last, everywhere], last_degree(box))


def differential_boxes(*, quick: bool) -> Iterator[VirtualBox]:
    for normalization in (LOGISTIC, CUBE, FLAT) if quick else (*INJECTIVE, LINEAR):
        for tokens in (2, 3):
            yield from (VirtualBox(1, depth, tokens, normalization=normalization) for depth in (1, 2))
            yield VirtualBox(2, 1, tokens, normalization=normalization)
        if not quick and order(normalization) < 5:
            yield VirtualBox(2, 2, 2, normalization=normalization, few=True)


class SkewLayer(NamedTuple):
    """A skew matrix on two tokens: `rows` of it."""

    normalization: Normalization
    rows: tuple[tuple[int, ...], ...]


def skew_layers(*, quick: bool) -> Iterator[SkewLayer]:
    for normalization in (*INJECTIVE, LINEAR):
        yield SkewLayer(normalization, ((0, 1), (-1, 0)))
        if not quick:
            yield SkewLayer(normalization, ((0, 2, -1), (-2, 0, 3), (1, -3, 0)))


def odd_exponent(normalization: Normalization, most: int = 24) -> bool:
    """Return whether S(y) S(-y) = S(0)^2, up to this degree: the exponential of an odd function."""
    s = [normalization.taylor(n) for n in range(most + 1)]
    return not any(sum((-1) ** i * s[i] * s[n - i] for i in range(n + 1)) for n in range(2, most + 1, 2))


def blind_or_not(layer: SkewLayer, blind: Callable[[Normalization], bool] = odd_exponent) -> str | None:
    """Return whether a layer behind it is seen."""
    d = len(layer.rows)
    box = VirtualBox(d, 2, 2, normalization=layer.normalization)
    skew, one = np.array(layer.rows), np.eye(d, dtype=np.int64)
    virtual = [np.stack(pair) for pair in ((skew, skew), (0 * one, one), (one[:1], one[:1]))]
    first, second = fingerprints(box.stack(virtual), 47)
    if blind(layer.normalization):
        expect(
            not (first != second).any(),
            f"{layer.normalization}: behind the skew matrix {layer.rows} the next one is seen",
        )
        return "q_i not zero is needed where S(y) S(-y) = S(0)^2: two tokens do not see what is behind a skew layer"
    expect(
        not (first == second).all(), f"{layer.normalization}: behind {layer.rows} no difference was found", Undecided
    )
    return None


def open_boxes(*, quick: bool) -> Iterator[VirtualBox]:
    """Yield three tokens without mask, two and three with one: there only softmax is settled."""
    for normalization in INJECTIVE[1:]:
        if order(normalization) < 5:
            for tokens, causal in [(3, False), (2, True), (3, True)]:
                yield VirtualBox(1, 2, tokens, causal, normalization)
                if not quick or order(normalization) == 1:
                    yield VirtualBox(2, 2, tokens, causal, normalization, few=True)


def as_for_softmax(box: VirtualBox, *, skew_is_blind: bool = False) -> str:
    """Return what Theorems 1 and 4 say of softmax."""
    virtual = box.virtual()
    tokens = 2 if skew_is_blind else box.tokens
    two = two_causal_tokens(virtual) if box.causal and tokens == 2 else None
    keys: Sequence[Hashable] = two or up_to_the_first_blind(virtual, tokens, box.causal)
    return compare(fingerprints(box.stack(virtual), last_degree(box) + 6), keys, box.name(virtual))


class NormalizerForm(NamedTuple):
    """What the weights are put into."""

    normalization: Normalization
    tokens: int
    causal: bool = False


class Second(NamedTuple):
    """Two lists of virtual weights with the same function, and the form in which they have two."""

    form: NormalizerForm
    one: tuple[Matrix, ...]
    other: tuple[Matrix, ...]
    back: NormalizerForm
    finding: str


def second_networks(*, quick: bool) -> Iterator[Second]:
    a, b, v = [[1, 2], [0, 1]], [[-1, -2], [0, -1]], [[1, 3]]
    skew, opposite, zero = [[0, 1], [-1, 0]], [[0, -1], [1, 0]], [[0, 0], [0, 0]]
    yield Second(
        NormalizerForm(EVEN, 2),
        (a, v),
        (b, v),
        NormalizerForm(CUBE, 2),
        "k odd is needed: with exp(y^2) A and -A are the same layer",
    )
    yield Second(
        NormalizerForm(EVEN, 3),
        (a, b, v),
        (b, a, v),
        NormalizerForm(FLAT, 3),
        "k odd is needed: with exp(y^2) no layer has a sign",
    )
    yield Second(
        NormalizerForm(FALLING, 1),
        (a, v),
        (b, v),
        NormalizerForm(FALLING, 2),
        "t >= 2 is needed: one token shows V~ alone, whatever S is",
    )
    yield Second(
        NormalizerForm(LINEAR, 2, True), (skew, opposite, v), (zero, skew, v), NormalizerForm(LOGISTIC, 2, True),
        "not for two tokens with a mask: with 1 + y and skew B (B, -B) and (0, B) have the same function",
    )  # fmt: skip


def agree_here_only(pair: Second, *, restored: bool = False) -> str:
    for back in (False, True):
        form = pair.back if back else pair.form
        box = VirtualBox(len(pair.one[0]), len(pair.one) - 1, form.tokens, form.causal, form.normalization)
        virtual = [np.array(two) for two in zip(pair.one, pair.other, strict=True)]
        first, second = fingerprints(box.stack(virtual), 2 * last_degree(box) + 1)
        apart = bool((first != second).any())
        expect_apart(apart, stated=back and not restored, at=f"{box}: {pair.one} and {pair.other}")
    return pair.finding


def shapes(*, quick: bool) -> Iterator[Architecture]:
    for seed, normalization in enumerate((LOGISTIC, FALLING, CUBE, ARCTANGENT, FIFTH, LINEAR)):
        yield from random_networks(
            3 if quick else 12, seed, depth=(1, 2), width=(1, 3), rank=(1, 3), tokens=(2, 3), parameters=(1, 40),
            normalization=normalization,
        )  # fmt: skip


CLAIM = Claim(
    id="softmax-normalizers",
    source="beyond the paper; docs/softmax-fibers.md, Corollary 5",
    title=(
        "t >= 2, V~ not 0, no form x^T A~_i x, i < l, zero: the fiber in virtual weights is a point for every "
        "real-analytic, injective and positive normalizer"
    ),
    statement=(
        r"S(y) = S(0)(1 + c\, y^k + \dots)\ \text{real-analytic},\ S(0), c \ne 0,\ k \text{ odd};\ t \ge 2,\ "
        r"\tilde V \ne 0,\ x^\top \tilde A_i x \ne 0\ (i < l) \;\Rightarrow\; \left(\varphi_{W'} = \varphi_W "
        r"\Leftrightarrow (\tilde A', \tilde V') = (\tilde A, \tilde V)\right)"
    ),
    hypotheses=(
        "One head, no mask, no skip connection, networks of one depth. Proved for every size "
        "(docs/softmax-fibers.md, Corollary 5); every real-analytic, injective and positive $S$ is as stated. "
        r"Where a form $x^\top \tilde A_i x$, $i < l$, is zero, or under a mask, nothing is proved but for softmax. "
        "An injective $S$ that is not analytic is not covered."
    ),
    place=310,
    rests_on=("softmax-fibers",),
    walk=WalkThrough("Other functions than exp: what is read off instead of the third order.", walk),
    parts=(
        Part(
            "all networks with entries -1, 0, 1: those in the hypotheses differ from all others",
            Scope.EVERY_WIDTH,
            boxes,
            a_point,
            {
                "quadratic forms only": partial(a_point, keys=quadratic_forms),
                "the last matrix up to sign": partial(a_point, keys=up_to_sign),
            },
        ),
        Part(
            "the differential at all of these weights: full rank, but for A~_l = 0 where S'(0) = 0",
            Scope.EVERY_WIDTH,
            differential_boxes,
            differential,
            {"A~_l is never felt": partial(differential, last_unseen=True)},
        ),
        Part(
            "two tokens: a skew layer is blind exactly if S(y) S(-y) = S(0)^2",
            Scope.EVERY_WIDTH,
            skew_layers,
            blind_or_not,
            {
                "always": partial(blind_or_not, blind=lambda s: True),
                "if S'(0) is not zero": partial(blind_or_not, blind=lambda s: order(s) == 1),
            },
        ),
        Part(
            "Eq. 16, and its count for any widths",
            Scope.EVERY_WIDTH,
            shapes,
            partial(expect_formula_by_orbit, stated=formula),
            {
                "with the rescalings of Eq. 14": partial(
                    expect_formula_by_orbit, stated=partial(formula, rescalings=True)
                )
            },
        ),
        Part(
            "where nothing is proved, three tokens and masks: no second network but those of softmax",
            Scope.INSTANCES,
            open_boxes,
            as_for_softmax,
            {"skew layers as for two tokens": partial(as_for_softmax, skew_is_blind=True)},
        ),
        Part(
            "without the hypotheses there are second networks",
            Scope.INSTANCES,
            second_networks,
            agree_here_only,
            {"with the hypotheses too": partial(agree_here_only, restored=True)},
        ),
    ),
)
