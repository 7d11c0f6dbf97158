r"""Finitely many Taylor coefficients determine a network: Theorem 6 of docs/softmax-fibers.md.

Let $S(y) = S(0)(1 + c y^k + \dots)$, $S(0), c \ne 0$, $k$ odd, have $k\,3^{l-1}$ derivatives at zero; nothing else is
asked of it. Without mask, for $t \ge 2$, $\tilde V \ne 0$ and quadratic forms $q_i \ne 0$ for $i < l$ (if $k > 1$ and
$l > 1$ also $q_l \ne 0$) the Taylor coefficients of the function up to degree $2 k\,3^{l-1} + 1$ determine all virtual
weights. The degree is necessary: $\tilde A_l$ does not occur in lower ones, for no weights and no number of tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np

from lightning_sym import SOFTMAX, Normalization, network_output
from lightning_sym.rings.power_series import PowerSeries
from lightning_sym.rings.prime_field import PrimeFieldMatrix
from proofs_check.blackboard.series import FIRST, SECOND, VALUE, mean_output, spelled
from proofs_check.blackboard.step import Step, identity, must, rational, show, table
from proofs_check.boxes import PRIME, VirtualBox, compare, fingerprints, small_matrices
from proofs_check.claim import Claim, Part, Scope, Tally, WalkThrough, expect_equal
from proofs_check.claims.normalized.softmax_normalizers import everything, in_hypotheses, quadratic_forms, up_to_sign
from proofs_check.finite_matrices import Integers
from proofs_check.normalizers import ARCTANGENT, CUBE, FALLING, FIFTH, FLAT, LINEAR, LOGISTIC, order, slope
from proofs_check.visible import is_skew

Keys = Callable[[Sequence[Integers]], list[Hashable]]

SEVERAL = (SOFTMAX, LOGISTIC, FALLING, LINEAR, CUBE, ARCTANGENT, FLAT, FIFTH)


def degree(normalization: Normalization, layer: int) -> int:
    """Return the degree in which a layer appears."""
    return int(2 * order(normalization) * 3 ** (layer - 1) + 1)


def boxes(*, quick: bool) -> Iterator[VirtualBox]:
    for normalization in SEVERAL:
        k = order(normalization)
        for tokens in (2, 3):
            for depth in (1, 2, 3) if k < 5 and not quick else (1, 2):
                yield VirtualBox(1, depth, tokens, normalization=normalization)
            yield VirtualBox(2, 1, tokens, normalization=normalization)
            yield VirtualBox(2, 2, tokens, normalization=normalization, few=True)
        if not quick and k == 1:
            yield VirtualBox(2, 3, 2, normalization=normalization, entries=(0, 1))


def determined(box: VirtualBox, keys: Keys = everything) -> str:
    """Check that equal jets of this degree have equal weights, where one of the two is in the hypotheses."""
    virtual = box.virtual()
    within = in_hypotheses(virtual)
    if order(box.normalization) > 1 and box.depth > 1:
        within = within & ~is_skew(virtual[-2])
    prints = fingerprints(box.stack(virtual), degree(box.normalization, box.depth))
    return compare(prints, keys(virtual), box.name(virtual), within)


def unseen(box: VirtualBox, fewer: int = 0, more: int = 0) -> str:
    """Check that jets of the degree before its own are the same, whatever a matrix and those behind it are."""
    virtual = box.virtual()
    for layer in range(1, box.depth + 1):
        before = [*virtual[: max(layer - 1 - fewer, 0)], virtual[-1]]
        prints = fingerprints(box.stack(virtual), degree(box.normalization, layer) - 2 + more)
        compare(prints, everything(before), box.name(virtual), np.zeros(len(prints), dtype=bool))
    return Tally(f"{len(virtual[0]):,} networks")


class DrawnTokens(NamedTuple):
    """Integer weights from a `seed`, and so many copies of the `first` one of two tokens."""

    normalization: Normalization
    width: int
    depth: int
    tokens: int
    first: int
    seed: int


def drawn(*, quick: bool) -> Iterator[DrawnTokens]:
    for seed, normalization in enumerate(SEVERAL):
        for depth in (1, 2, 3) if order(normalization) == 1 or not quick else (1, 2):
            for width, tokens, first in [(2, 2, 1), (3, 3, 1), (2, 5, 2)]:
                yield DrawnTokens(normalization, width, depth, tokens, first, seed)


class JetPoint(NamedTuple):
    """Integer virtual weights, mean and difference of the tokens, and both weights of them."""

    attention: list[Integers]
    value: Integers
    mean: Integers
    difference: Integers
    weights: tuple[Fraction, Fraction]


def _point(instance: DrawnTokens) -> JetPoint:
    generator, d = np.random.default_rng([instance.seed, instance.width]), instance.width
    attention = [generator.integers(-4, 5, size=(d, d)) for _ in range(instance.depth)]
    value, m, y = (generator.integers(-4, 5, size=shape) for shape in ((1, d), d, d))
    share = Fraction(instance.first, instance.tokens)
    return JetPoint(attention, value, m, y, (share, 1 - share))


def mean_residue(instance: DrawnTokens, attention: Sequence[Integers], point: JetPoint, last: int) -> int:
    """Return the mean of all outputs at `eps (m, y)`: the residue of its coefficient of a degree."""
    box = VirtualBox(instance.width, instance.depth, instance.tokens, normalization=instance.normalization)
    stack = box.stack([*(a[None] for a in attention), point.value[None]])
    first, second = point.weights
    tokens = [[Fraction(m) + second * y for m, y in zip(point.mean, point.difference, strict=True)]] * instance.first
    others = [[Fraction(m) - first * y for m, y in zip(point.mean, point.difference, strict=True)]]
    x = np.array(tokens + others * (instance.tokens - instance.first), dtype=object).T
    zero = PrimeFieldMatrix.of(np.zeros(x.shape, dtype=np.int64), PRIME)
    output = network_output(PowerSeries.of({1: zero.like(x)}, last), stack.shape, stack.series(last))
    return int(output.coefficient(last).residues().sum()) * pow(instance.tokens, -1, PRIME)


def leading(instance: DrawnTokens, *, share: bool = True, power: int = 3) -> None:
    """Check what layer `i` adds in degree `2 k 3^(i-1) + 1`."""
    point, k, c = _point(instance), order(instance.normalization), slope(instance.normalization)
    omega = point.weights[0] * point.weights[1] if share else Fraction(1)
    r, vy = Fraction(1), int(point.value[0] @ point.difference)
    for i, a in enumerate(point.attention, start=1):
        zeros = [0 * a] * (instance.depth - i)
        last = degree(instance.normalization, i)
        without = mean_residue(instance, [*point.attention[: i - 1], 0 * a, *zeros], point, last)
        found = mean_residue(instance, point.attention, point, last) - without
        moved, pulled = _first_layer(a, point, k) if i == 1 else _later_layer(a, point, k)
        stated = omega * c * r * r * moved * vy
        stated_residue = stated.numerator * pow(stated.denominator, -1, PRIME) % PRIME
        expect_equal(found % PRIME, stated_residue, at=f"{instance}, layer {i}, modulo {PRIME}")
        r = omega * c * r**power * pulled


def _first_layer(a: Integers, point: JetPoint, k: int) -> tuple[Fraction, Fraction]:
    """Return Phi and R of the first layer, exact in the tokens."""
    (w1, w2), m, y = point.weights, point.mean, point.difference
    tokens = [[x + s * z for x, z in zip(m.tolist(), y.tolist(), strict=True)] for s in (w2, -w1)]
    rows = a.tolist()

    def score(j: int, q: int) -> Fraction:
        terms = (tokens[j][u] * rows[u][v] * tokens[q][v] for u in range(len(rows)) for v in range(len(rows)))
        return sum(terms, Fraction(0)) ** k

    differences = [score(0, q) - score(1, q) for q in (0, 1)]
    return w1 * differences[0] + w2 * differences[1], differences[0] - differences[1]


def _later_layer(a: Integers, point: JetPoint, k: int) -> tuple[Fraction, Fraction]:
    """Return both to lowest order in the difference, which is of higher order than the mean."""
    m, y = point.mean, point.difference
    q, ym, my, yy = (Fraction(int(u @ a @ v)) for u, v in ((m, m), (y, m), (m, y), (y, y)))
    mixed = k * (k - 1) * q ** (k - 2) * ym * my if k > 1 else Fraction(0)
    return k * q ** (k - 1) * ym, k * q ** (k - 1) * yy + mixed


class Behind(NamedTuple):
    """Softmax layers of which one is skew, for three tokens or more, and the degrees behind them."""

    layers: tuple[tuple[tuple[int, ...], ...], ...]
    tokens: int
    unseen: int
    seen: int
    finding: str


def skew_layers(*, quick: bool) -> Iterator[Behind]:
    skew, thin = ((0, 1), (-1, 0)), ((1, 1), (0, 0))
    for tokens in (3,) if quick else (3, 4):
        yield Behind(
            (thin, skew), tokens, 21, 23, "q_i not zero is needed for this degree: behind rank one, skew it is 23"
        )
        yield Behind((skew,), tokens, 5, 7, "t >= 3: behind skew layers alone the degree is the same")
        yield Behind((skew, skew), tokens, 17, 19, "t >= 3: behind skew layers alone the degree is the same")


def behind(instance: Behind, later: int = 0) -> str:
    """Return all matrices with entries -1, 0, 1 behind these layers."""
    last = small_matrices(2, 2, (-1, 0, 1))
    box = VirtualBox(2, len(instance.layers) + 1, instance.tokens)
    before = [np.broadcast_to(np.array(m), last.shape) for m in instance.layers]
    virtual = [*before, last, np.broadcast_to([[1, 3]], (len(last), 1, 2))]
    name = box.name(virtual)
    unseen = fingerprints(box.stack(virtual), instance.unseen + later)
    compare(unseen, [0] * len(last), name)
    compare(fingerprints(box.stack(virtual), instance.seen), range(len(last)), name)
    return instance.finding


def walk() -> Iterator[Step]:
    y, m, exp = rational([2, 1]), rational([1, 1]), SOFTMAX.taylor
    choices = [0 * SECOND, SECOND, SECOND + identity(2)]
    rows = [mean_output(m, y, [FIRST, last], VALUE, exp, 7) for last in choices]
    must(len({row[:7] for row in rows}) == 1, "the last matrix is not seen below degree seven")
    must(len({row[7] for row in rows}) == 3, "it is seen in degree seven")
    degrees = (1, 3, 5, 7)
    yield Step(
        "Where a layer appears",
        r"Two layers, two tokens $\varepsilon (m + y/2)$ and $\varepsilon (m - y/2)$, the mean of the outputs, for "
        r"three choices of $A_2$. Layer $i$ appears in degree $2 \cdot 3^{i-1} + 1$: $A_1$ in degree 3, $A_2$ in "
        r"degree 7 and not before. So a jet of lower degree does not determine the weights, at any number of tokens.",
        (table(r"\text{coefficients}", rational([[row[n] for n in degrees] for row in rows]),
               ("0", "A_2", "A_2 + 1"), [str(n) for n in degrees]),),
    )  # fmt: skip
    q, vy = y @ FIRST @ y, VALUE[0] @ y
    stated = (q / 4) ** 2 * vy * (y @ SECOND @ m) / 4
    must(rows[1][7] - rows[0][7] == stated, "the difference is r_1^2 (V y)(y^T A_2 m) / 4")
    yield Step(
        "How much",
        r"Layer one makes the difference $r_1 y$ with $r_1 = \tfrac{1}{4} q_1(y) \varepsilon^2 + ...$; in general "
        r"$r_i = \tfrac{1}{4} q_i(y) r_{i-1}^3 + ...$. Layer $i$ adds $\tfrac{1}{4} r_{i-1}^2 (V y)(y^\top A_i m)$ to "
        r"the mean. Where $r_{i-1}$ is not zero this gives $A_i$, one layer after the other.",
        (
            show(r"\tfrac{1}{4} r_1^2 (V y)(y^\top A_2 m)", stated),
            show(r"\text{row two minus row one}", rows[1][7] - rows[0][7]),
        ),
    )

    def cut(n: int) -> Fraction:
        return exp(n) if n <= 3 else Fraction(0)

    other = mean_output(m, y, [FIRST, SECOND], VALUE, cut, 9)
    ours = mean_output(m, y, [FIRST, SECOND], VALUE, exp, 9)
    must(ours[:8] == other[:8] and ours[9] != other[9], "three derivatives decide up to degree seven")
    yield Step(
        "Three derivatives are enough",
        r"Scores are quadratic: degree $7$ of two layers asks for no more than the third derivative of $S$ at zero. "
        r"With $1 + y + y^2/2 + y^3/6$ in place of $e^y$ the series is the same up to degree seven. Nothing else is "
        r"asked of $S$: it need not be analytic, or injective.",
        (show(r"e^y", spelled(ours)), show(r"1 + y + y^2/2 + y^3/6", spelled(other))),
    )


CLAIM = Claim(
    id="softmax-jets",
    source="beyond the paper; docs/softmax-fibers.md, Theorem 6",
    title=(
        "t >= 2, V~ not 0, no form x^T A~_i x zero: the jet of degree 2 k 3^(l-1) + 1 at zero determines all "
        "virtual weights, and no lower one"
    ),
    statement=(
        r"S(y) = S(0)(1 + c\, y^k + \dots + o(y^{k 3^{l-1}})),\ k \text{ odd},\ t \ge 2,\ \tilde V \ne 0,\ "
        r"x^\top \tilde A_i x \ne 0\ (i < l;\ \text{if } k, l > 1 \text{ also } i = l) \;\Rightarrow\; "
        r"\left(j^{\,2 k 3^{l-1} + 1} \varphi_{W'} = j^{\,2 k 3^{l-1} + 1} \varphi_W \Leftrightarrow "
        r"(\tilde A', \tilde V') = (\tilde A, \tilde V)\right)"
    ),
    hypotheses=(
        "One head, no mask, no skip connection, networks of one depth. Proved for every size "
        r"(docs/softmax-fibers.md, Theorem 6). That a lower degree does not show $\tilde A_l$ is true of all "
        r"weights. Where a form $x^\top \tilde A_i x$, $i < l$, is zero the degree can be higher, or no jet is "
        "enough."
    ),
    place=320,
    rests_on=("softmax-fibers",),
    walk=WalkThrough("In which degree each layer appears in the Taylor series, and how.", walk),
    parts=(
        Part(
            "all networks with entries -1, 0, 1: jets of this degree tell them apart",
            Scope.EVERY_WIDTH,
            boxes,
            determined,
            {
                "quadratic forms only": partial(determined, keys=quadratic_forms),
                "the last matrix up to sign": partial(determined, keys=up_to_sign),
            },
        ),
        Part(
            "no matrix occurs in lower degrees than its own",
            Scope.EVERY_WIDTH,
            boxes,
            unseen,
            {
                "nor in this one": partial(unseen, more=2),
                "nor does the one before": partial(unseen, fewer=1),
            },
        ),
        Part(
            "what a layer adds to the mean output of two tokens, to lowest order",
            Scope.INSTANCES,
            drawn,
            leading,
            {
                "without the weights of the tokens": partial(leading, share=False),
                "differences squared": partial(leading, power=2),
            },
        ),
        Part(
            "behind skew layers, three tokens: the degree may be higher",
            Scope.INSTANCES,
            skew_layers,
            behind,
            {"two degrees more": partial(behind, later=2)},
        ),
    ),
)
