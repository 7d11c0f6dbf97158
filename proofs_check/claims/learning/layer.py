r"""The learning coefficient of one lightning layer, against counts of weights modulo powers of a prime, and bounds.

$\lambda$ and $m$ at given weights follow from a few ranks (`docs/learning-coefficients.md`, Theorems 6 and 8). Here

* weights near the given ones that have the same function modulo $p^k$ are counted for $k = 1, 2, \dots$: their numbers
  go like $p^{(P - 2 \lambda) k} k^{m - 1}$, and every second one of them exactly so;
* at random degenerate weights the pair is compared with half the rank of the Jacobian from below, and with half the
  number of weights less the dimension of the fiber from above.

How many weights near given ones have the same function modulo powers of a prime: learning coefficients by counting.

Let $N_k$ be the number of weights modulo $p^k$ that are the given ones modulo $p$ and whose function is the given one
modulo $p^k$; there are $p^{P(k-1)}$ candidates. Over the $p$-adic integers $N_k p^{-Pk}$ goes like $p^{-2 \lambda k}
k^{m-1}$, as volumes do over the reals (Igusa); where one ideal of monomials and coordinates serves both, $\lambda$ and
$m$ are the same. The numbers are counted, level by level, and no formula is used.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise, product

import numpy as np
import numpy.typing as npt

from lightning_sym import LearningCoefficient, Weights, learning_coefficient
from lightning_sym.coefficients.seen_circuits import AtWeights
from lightning_sym.coefficients.two_bounds import two_bounds
from lightning_sym.limits import Work
from proofs_check.blackboard.step import Step, must, number, rational, show, table
from proofs_check.claim import Claim, Part, Refutation, Scope, WalkThrough, expect
from proofs_check.samples import listed

Integers = npt.NDArray[np.int64]

AT_ONCE = 1_000_000
"""Candidates that are looked at together."""


def coefficients(weights: Integers, sizes: tuple[int, int, int], tokens: int) -> Integers:
    """Return the coefficients of one lightning layer, two tokens or one, for many weights, one a row.

    Args:
        weights: entries of queries, keys and values.
        sizes: $d$, $d'$, $a$.
        tokens: one, or more.
    """
    d, d_out, a = sizes
    query, key = (weights[:, s * a * d : (s + 1) * a * d].reshape(-1, a, d) for s in (0, 1))
    value = weights[:, 2 * a * d :].reshape(-1, d_out, d)
    scores = np.einsum("nai,naj->nij", key, query)
    found: dict[tuple[int, ...], Integers] = {}
    for m, i, j, k in product(range(d_out), range(d), range(d), range(d)):
        # V_mi x_i A_jk x_j y_k, and y = x for one token
        place = (m, *sorted((i, j)), k) if tokens > 1 else (m, *sorted((i, j, k)))
        found[place] = found.get(place, 0) + value[:, m, i] * scores[:, j, k]
    return np.stack(list(found.values()), axis=1)


def levels(weights: Weights, tokens: int, p: int, most: int) -> Iterator[int]:
    r"""Yield $N_1, N_2, \dots$ of a lightning layer with integer weights.

    Args:
        weights: one layer, one head, nothing added.
        tokens: one, or more.
        p: the prime.
        most: levels.
    """
    layer = weights.layers[0]
    (a, d), d_out = layer.query.shape, len(layer.value)
    start = np.concatenate([matrix.ravel() for matrix in layer]).astype(np.int64)[None]
    given = coefficients(start, (d, d_out, a), tokens)
    places = np.array(list(product(range(p), repeat=start.shape[1])), dtype=np.int64)
    alive, power = start, p
    yield 1
    for _ in range(most - 1):
        kept = []
        for some in np.array_split(alive, -(-len(alive) * len(places) // AT_ONCE)):
            candidates = (some[:, None] + power * places[None]).reshape(-1, start.shape[1])
            same = (coefficients(candidates, (d, d_out, a), tokens) - given) % (power * p) == 0
            kept.append(candidates[same.all(axis=1)])
        alive, power = np.concatenate(kept), power * p
        yield len(alive)


Pair = tuple[Fraction, int]
Stated = Callable[[Weights, int], Pair]
Rows = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class DrawnLayer:
    """Weights of a layer, the tokens, up to which power of two they are counted, and after how many numbers repeat."""

    kind: str
    query: Rows
    key: Rows
    value: Rows
    tokens: int
    levels: int
    period: int = 2

    @property
    def weights(self) -> Weights:
        return Weights.of({"Q1": self.query, "K1": self.key, "V1": self.value})


ONE, OTHER, BOTH = ((1, 0),), ((0, 1),), ((1, 2),)
LAYERS = listed(
    [
        DrawnLayer("values and scores apart", BOTH, ONE, OTHER, 2, 7),
        DrawnLayer("values and scores parallel", BOTH, ONE, ONE, 2, 6),
        DrawnLayer("values zero", ONE, OTHER, ((0, 0),), 2, 5),
        DrawnLayer("scores zero", ((0, 0),), ONE, BOTH, 2, 5),
        DrawnLayer("one token, scores zero", ((0, 0),), ((0, 0),), ((1, 2),), 1, 4, 1),
        DrawnLayer("one token, a common factor", OTHER, ONE, ONE, 1, 6),
    ],
    [
        DrawnLayer("one token, a square", ONE, ONE, ONE, 1, 7),
        DrawnLayer("one token", BOTH, ONE, ((1, 1),), 1, 7),
        DrawnLayer("two outputs, parallel", ONE, ONE, ((1, 0), (0, 0)), 2, 5),
        DrawnLayer("width one", ((3,),), ((1,),), ((5,), (1,)), 2, 7),
        DrawnLayer("width one, values zero", ((3,),), ((1,),), ((0,), (0,)), 2, 7),
    ],
)


def stated(weights: Weights, tokens: int) -> Pair:
    """Return what the program says.

    Raises:
        Refutation: it says nothing.
    """
    found = learning_coefficient(weights, tokens)
    if found.value is None or found.multiplicity is None:
        raise Refutation(f"nothing is stated at {weights!r}")
    return found.value, found.multiplicity


def levels_grow_as_stated(layer: DrawnLayer, say: Stated = stated) -> None:
    """Check that, with the stated power taken off, numbers of a period are equal or grow as a polynomial."""
    weights = layer.weights
    coefficient, order = say(weights, layer.tokens)
    parameters = weights.architecture(1).parameter_count
    counted = list(levels(weights, layer.tokens, 2, layer.levels))
    power = layer.period * (parameters - 2 * coefficient)
    # N_k, N_{k-2}, N_{k-4}, ... as if all of them stood at the last level
    last = [Fraction(n) * Fraction(2) ** int(power * i) for i, n in enumerate(counted[:: -layer.period])]
    for _ in range(order - 1):
        last = [a - b for a, b in pairwise(last)]
    expect(
        power == int(power) and len(last) >= 2 and (last[0] == last[1]) and (last[0] > 0),
        f"{layer.kind}: weights with this function modulo 2, 4, 8, ... are {counted}, which do not go like "
        f"2^(({parameters} - {2 * coefficient}) k) k^{order - 1}",
    )


def not_parallel(weights: Weights, tokens: int) -> Pair:
    """Return the pair as if a row of values that is a multiple of the scores were like any other."""
    coefficient, order = stated(weights, tokens)
    d, d_out = weights.layers[0].key.shape[1], len(weights.layers[0].value)
    same = learning_coefficient(weights, tokens).proof.endswith("case 2") and tokens > 1
    return (coefficient + Fraction(d - 1, 4) if same and d_out else coefficient), order


def changed(by: Fraction = Fraction(0), order: int = 0) -> Stated:
    """Return the statement with another number."""

    def say(weights: Weights, tokens: int) -> Pair:
        coefficient, m = stated(weights, tokens)
        return coefficient + by, max(m + order, 1)

    return say


def degenerate(*, quick: bool) -> Iterator[int]:
    yield from range(24 if quick else 240)


def layer_of(seed: int) -> tuple[Weights, int]:
    """Return a small layer whose matrices are of all ranks, or whose values and scores are multiples of one form."""
    source = random.Random(seed)
    d, d_out, a = (source.choice([1, 2, 2, 3]) for _ in range(3))

    def matrix(rows: int) -> list[list[int]]:
        kind, form = source.choice(["full", "zero", "one"]), [source.choice([0, 1, 2]) for _ in range(d)]
        numbers = {"full": range(-4, 5), "zero": [0], "one": [-1, 0, 1]}[kind]
        if kind == "one":
            return [[source.choice(numbers) * x for x in form] for _ in range(rows)]
        return [[source.choice(numbers) for _ in range(d)] for _ in range(rows)]

    named = {"Q1": matrix(a), "K1": matrix(a), "V1": matrix(d_out)}
    if source.random() < 0.4:  # values and keys are multiples of the first row of queries
        form = named["Q1"][0]
        named |= {
            name: [[source.randint(-1, 1) * x for x in form] for _ in range(rows)]
            for name, rows in (("K1", a), ("V1", d_out))
        }
        named |= {name: [[row[0] * x for x in form] for row in named[name]] for name in ("K1", "V1")}
    return Weights.of(named), source.choice([1, 2, 3])


def within_bounds(seed: int, say: Stated | None = None) -> None:
    """Check that no exact number is outside of the two bounds."""
    weights, tokens = layer_of(seed)
    found: LearningCoefficient = learning_coefficient(weights, tokens)
    if found.value is None:
        return
    coefficient, order = found.value, found.multiplicity
    if say is not None:
        coefficient, order = say(weights, tokens)
    bounds = two_bounds(AtWeights(weights, weights.architecture(tokens), Work(), 0), counted=False)
    inside = bounds.lower <= coefficient <= bounds.upper
    expect(
        inside and (not bounds.certified or order == 1),
        f"{weights!r}, t = {tokens}: lambda = {coefficient}, m = {order}, the bounds are {bounds.lower} and "
        f"{bounds.upper}",
    )


def walk() -> Iterator[Step]:
    value = rational([[1, 0], [2, 0]])
    query, key = rational([[1, 2]]), rational([[1, 0]])
    yield Step(
        "A layer whose values and scores are multiples of one form",
        "$V x = (x_1, 2 x_1)$ and $x^\\top A y = x_1 (y_1 + 2 y_2)$: both have the factor $x_1$.",
        (show("V", value), show("A", key.T @ query)),
    )
    weights = Weights.of({"Q1": query, "K1": key, "V1": value})
    found = learning_coefficient(weights)
    must(found.value == Fraction(11, 4), "it is 11/4")
    yield Step(
        "Its learning coefficient",
        "One coordinate of the common factor is seen to second order only. Without that it would be 3.",
        (),
        tuple(found.lines()),
    )
    one = Weights.of({"Q1": query, "K1": key, "V1": [[1, 0]]})
    counted = list(levels(one, 2, 2, 6))
    rest = [Fraction(n, 4 ** (2 * (k // 2)) * 2 ** (k // 2)) for k, n in enumerate(counted)]
    must(rest[1:4] == rest[3:6], "every second number is the same")
    yield Step(
        "Counted",
        "With one output, six weights and $\\lambda = 7/4$: so many of them have the same function modulo "
        "$2$, $4$, $8$ and so on, and below with $2^{5k/2}$ taken off, by pairs of levels.",
        (table("N_k", rational([counted, rest]), ("N_k", "\\text{rest}")), number("weights", 6)),
    )


CLAIM = Claim(
    id="learning-coefficient-layer",
    source="beyond the paper",
    title="Weights near those of a lightning layer with its function are as many as the learning coefficient says",
    statement=(
        r"\operatorname{vol}\{K < \varepsilon\} \asymp \varepsilon^\lambda \log(1/\varepsilon)^{m-1}, \quad \lambda = "
        r"\tfrac{d d' - 1}{2} + \lambda(K^\top Q), \text{ or } \tfrac{(d' - 1) d}{2} + \tfrac{d - 1}{4} + "
        r"\lambda(K^\top Q) \text{ where } V = u v^\top,\ K^\top Q = v q^\top"
    ),
    hypotheses=(
        "One lightning layer with one head; $K$ is the mean squared error against the layer's own function, for inputs "
        r"with a density. $\lambda(K^\top Q)$ is that of a product of two matrices. Two tokens or more: at all "
        "weights, proved (docs/learning-coefficients.md, Theorem 6; zero values or scores there). One token: but "
        "for values and scores that are powers of one form, $a < d$ and queries and keys of a larger rank (Theorem 8). "
        "Counted at the listed weights."
    ),
    rests_on=("corollary-3.3",),
    place=450,
    walk=WalkThrough("How much room there is near weights, and how it is counted.", walk),
    parts=(
        Part(
            "weights modulo powers of two with the same function",
            Scope.INSTANCES,
            LAYERS,
            levels_grow_as_stated,
            {
                "values that are parallel to the scores like others": partial(levels_grow_as_stated, say=not_parallel),
                "the scale not taken off": partial(levels_grow_as_stated, say=changed(Fraction(1, 2))),
                "a multiplicity more": partial(levels_grow_as_stated, say=changed(order=1)),
                "no multiplicity": partial(levels_grow_as_stated, say=changed(order=-1)),
            },
        ),
        Part(
            "no value is outside of both bounds",
            Scope.INSTANCES,
            degenerate,
            within_bounds,
            {
                "half more": partial(within_bounds, say=changed(Fraction(1, 2))),
                "half less": partial(within_bounds, say=changed(Fraction(-1, 2))),
                "a multiplicity more": partial(within_bounds, say=changed(order=1)),
            },
            instance="seed of the weights",
        ),
    ),
)
