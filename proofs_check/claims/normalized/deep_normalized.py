r"""Even normalizers, the first layer that collapses, flat normalizers: theorems of Konda (2026).

One head, no mask, no skip connection, $S(y) = S(0)(1 + c y^k + \dots)$, $h = \log S$. Where $V$ and all forms
$x^\top M_i x$ are not zero the virtual weights are determined, and where $S$ is even up to signs $M_i \to -M_i$, each
by itself (Theorem 1). Behind the first layer that collapses nothing is seen: where $h'(0), h''(0) \ne 0$ the first $M_i
= 0$, for two tokens and odd $h - h(0)$ also a skew one (Theorem 2); where $h'(0) \ne 0$, two layers, $t \ge 3$, the
first $M_i = 0$ (Corollary 4.1). At a network whose first zero is $M_c$ the ideal of the fiber has for $k = 1$ the
entries of $M_c$ and for $k > 1$ no linear form of these (Appendix E.1, its linear part). An injective $S$ may be flat
at 0, and no jet sees the scores (E.2). All networks with small entries are compared by their Taylor series.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np

from lightning_sym import SOFTMAX, Normalization
from proofs_check.blackboard.step import Step, must, rational, show, table
from proofs_check.boxes import VirtualBox, compare, fingerprints, ranks_as_shown
from proofs_check.claim import Claim, Part, Scope, WalkThrough
from proofs_check.claims.normalized.softmax_jets import degree
from proofs_check.claims.normalized.softmax_normalizers import (
    everything,
    in_hypotheses,
    odd_exponent,
    quadratic_forms,
    without_sign,
)
from proofs_check.finite_matrices import Integers, Truths, is_zero
from proofs_check.normalizers import CAUCHY, CUBE, EVEN, FALLING, LINEAR, LOGISTIC, TILTED, order
from proofs_check.visible import is_skew, shown_layers, up_to_the_first_blind

Virtual = Sequence[Integers]
Keys = Callable[[Virtual], Sequence[Hashable]]
CONSTANT = Normalization("2 + sign(y) exp(-1 / y^2)", lambda k: Fraction(2 * (k == 0)))
SIZES = ((1, 1), (1, 2), (2, 1), (2, 2))


def boxes(*normalizations: Normalization, sizes: Sequence[tuple[int, int]], quick: bool) -> Iterator[VirtualBox]:
    for normalization, tokens, (width, depth) in product(normalizations, (2, 3), sizes):
        if not quick or width * depth < 4:
            few = width * depth > 3
            yield VirtualBox(width, depth, tokens, normalization=normalization, few=few)


def compared(box: VirtualBox, keys: Keys, within: Truths | None = None, last: int = 0) -> str:
    """Check that Taylor series agree where keys do, and only there: up to `last`, or six degrees further."""
    virtual = box.virtual()
    within = np.ones(len(virtual[-1]), dtype=bool) if within is None else within
    prints = fingerprints(box.stack(virtual), last or degree(box.normalization, box.depth) + 6)
    return compare(prints, keys(virtual), box.name(virtual), within)


def up_to_signs(virtual: Virtual) -> list[Hashable]:
    *attention, value = virtual
    return everything([*map(without_sign, attention), value])


def determined(box: VirtualBox, keys: Keys = up_to_signs, other: Normalization | None = None) -> str:
    """Check Theorem 1, where no form is zero."""
    box = box._replace(normalization=other or box.normalization)
    virtual = box.virtual()
    return compared(box, keys, in_hypotheses(virtual) & ~is_skew(virtual[-2]))


def collapse(box: VirtualBox, *, skew_hides: bool = False, behind: bool = True) -> str:
    """Check Theorem 2 and Corollary 4.1."""
    tokens = 2 if skew_hides or (box.tokens == 2 and odd_exponent(box.normalization)) else 3

    def keys(virtual: Virtual) -> Sequence[Hashable]:
        return up_to_the_first_blind(virtual if behind else [virtual[0], virtual[-1]], tokens, causal=False)

    return compared(box, keys)


def collapsing(*, quick: bool) -> Iterator[VirtualBox]:
    """Yield networks of Theorem 2, and for two layers and three tokens of Corollary 4.1."""
    yield from boxes(LOGISTIC, FALLING, LINEAR, sizes=((1, 2), (2, 1), (2, 2), (1, 3)), quick=quick)
    yield from (box for box in boxes(SOFTMAX, CUBE, sizes=SIZES[:3], quick=quick) if box.tokens == 2)
    for normalization, tokens in product((SOFTMAX, LOGISTIC), (2, 3) if quick else (2, 3, 4)):
        yield VirtualBox(2, 2, tokens, normalization=normalization, few=True)


def at_a_zero(box: VirtualBox, without: int = 0) -> str:
    """Check Appendix E.1: the linear forms of the ideal, at networks with one zero or more and forms before it."""
    virtual = box.virtual()
    *attention, value = virtual
    zero = np.stack([is_zero(m) for m in attention])
    first = zero.any(axis=0) & ~is_zero(value)
    for i, m in enumerate(attention):
        first &= zero[:i].any(axis=0) | zero[i] | ~is_skew(m)
    virtual = [m[first] for m in virtual]
    shown = [*shown_layers(virtual, 3, causal=False), ~is_zero(virtual[-1])]
    flat = order(box.normalization) > 1
    shown = [seen & ~(flat & is_zero(m)) for seen, m in zip(shown, virtual, strict=True)]
    for i in (1, -1)[:without]:
        shown[i - 1] = shown[i - 1] & False
    return ranks_as_shown(box, virtual, shown, degree(box.normalization, box.depth) + 6)


def flat(box: VirtualBox, other: Normalization | None = None, rows: int = 1) -> str:
    """Check that jets show the value matrix alone."""
    box = box._replace(normalization=other or box.normalization)
    return compared(box, lambda virtual: everything([virtual[-1][:, :rows]]), last=11)


def walk() -> Iterator[Step]:
    scores = np.array([[1, -2], [3, 0]])

    def pattern(scores: Integers) -> list[list[Fraction]]:
        numbers = [[1 / Fraction(1 + int(x) ** 2) for x in row] for row in scores]
        return [[x / sum(row, Fraction(0)) for x in row] for row in numbers]

    must(pattern(scores) == pattern(-scores), "an even normalizer sees no sign")
    yield Step(
        "An even normalizer",
        r"Scores of two queries for two keys, and the pattern that $S(y) = 1 / (1 + y^2)$ makes of them. With $-M$ in "
        r"place of $M$ it is the same, in each layer by itself.",
        (show(r"\text{scores}", rational(scores.tolist())), show(r"\text{pattern}", rational(pattern(scores)))),
    )
    powers = [[TILTED.taylor(k), CAUCHY.taylor(k)] for k in range(5)]
    must(powers[2][0] != 0 != powers[3][0], "a power that is not even")
    yield Step(
        "Not even",
        r"$e^{y^2 + y^3}$ begins with the same power and is not even: signs are seen, in a later degree.",
        (table(r"S", rational(powers), [str(k) for k in range(5)], ("e^{y^2 + y^3}", "1 / (1 + y^2)")),),
    )
    tokens = rational([[1, 5], [2, 0]])
    mean = tokens @ rational([["1/2", "1/2"], ["1/2", "1/2"]])
    must(bool((mean[:, 0] == mean[:, 1]).all()), "both tokens are the mean")
    yield Step(
        "A layer that collapses",
        r"Where all scores are 0 each token becomes the mean, and tokens that are equal stay so, whatever the layers "
        r"behind do. These are in the fiber with every value.",
        (table("", tokens, ("1", "2"), ("x_1", "x_2")), table("", mean, ("1", "2"), ("z_1", "z_2"))),
    )


CLAIM = Claim(
    id="deep-normalized",
    source="beyond the paper; Konda (2026), Theorems 1 and 2, Corollary 4.1, Appendix E",
    title="even normalizers leave a sign to each layer, and nothing is seen behind the first layer that collapses",
    statement=(
        r"S \text{ even},\ \tilde V \ne 0,\ x^\top M_i x \ne 0 \;\Rightarrow\; \left(\varphi_{W'} = \varphi_W "
        r"\Leftrightarrow \tilde V' = \tilde V,\ M_i' = \pm M_i\right); \quad "
        r"\tilde V, h'(0), h''(0) \ne 0,\ c = \min \{i : M_i = 0\} \;\Rightarrow\; \left(\varphi_{W'} = \varphi_W "
        r"\Leftrightarrow \tilde V' = \tilde V,\ M_i' = M_i\ (i \le c)\right)"
    ),
    hypotheses=(
        "One head, no mask, no skip connection, two tokens or more, real-analytic positive normalizers; all networks "
        "with small entries, of one depth. The proofs are not looked at. Of Appendix E.1 the linear forms of the "
        "ideal are found, by ranks. His Corollary 4.2 is not here. Mixed skew and other layers before a third one, "
        "three tokens or more, are open there; for softmax Theorem 1 of docs/softmax-fibers.md has all fibers."
    ),
    place=326,
    rests_on=("softmax-normalizers", "softmax-jets"),
    walk=WalkThrough("Signs that an even normalizer does not see, and a layer that collapses.", walk),
    parts=(
        Part(
            "even normalizers: up to a sign of each matrix",
            Scope.INSTANCES,
            partial(boxes, EVEN, CAUCHY, sizes=SIZES),
            determined,
            {
                "for a normalizer that is not even": partial(determined, other=TILTED),
                "forms up to a sign": partial(
                    determined, keys=lambda v: up_to_signs([*(m + m.mT for m in v[:-1]), v[-1]])
                ),
            },
        ),
        Part(
            "k even, S not even: a point",
            Scope.INSTANCES,
            partial(boxes, TILTED, sizes=SIZES),
            partial(determined, keys=everything),
            {
                "up to a sign of each matrix": partial(determined, keys=up_to_signs),
                "quadratic forms only": partial(determined, keys=quadratic_forms),
            },
        ),
        Part(
            "all fibers: the first zero collapses, for two tokens and odd h the first skew matrix",
            Scope.INSTANCES,
            collapsing,
            collapse,
            {
                "skew matrices hide what is behind": partial(collapse, skew_hides=True),
                "the first layer hides what is behind": partial(collapse, behind=False),
            },
        ),
        Part(
            "linear forms of the ideal at the first zero",
            Scope.INSTANCES,
            partial(boxes, SOFTMAX, LOGISTIC, CUBE, sizes=SIZES[:2]),
            at_a_zero,
            {
                "the first matrix is not seen": partial(at_a_zero, without=1),
                "nor values": partial(at_a_zero, without=2),
            },
        ),
        Part(
            "an injective normalizer that is flat at zero: no jet sees the scores",
            Scope.INSTANCES,
            partial(boxes, CONSTANT, sizes=((1, 1), (2, 1))),
            flat,
            {"for softmax": partial(flat, other=SOFTMAX), "without values": partial(flat, rows=0)},
        ),
    ),
)
