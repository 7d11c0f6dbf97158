"""One table of rings, and one function that asks every ring everything that `rings.protocol` knows.

A new ring is one row here: how to make a named matrix of rational numbers over it, and how to read values back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb
from plain import Tangent, plain_network
from shapes import SHAPES

from lightning_sym import SOFTMAX, Architecture
from lightning_sym.errors import RingError
from lightning_sym.network.attention import network_output
from lightning_sym.rings.ball_matrices import BallMatrix
from lightning_sym.rings.balls import precision
from lightning_sym.rings.derivatives import Dual, Recorded, gradients
from lightning_sym.rings.dual_balls import DualBalls
from lightning_sym.rings.matrix_words import Words
from lightning_sym.rings.midpoint_radius import MidpointRadius
from lightning_sym.rings.polynomials import PolynomialRing
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix
from lightning_sym.rings.rationals import RationalMatrix, map_entries, rational_matrix, to_fractions

Matrix = np.ndarray[Any, Any]
Matrices = dict[str, Matrix]
INPUT = "X"

# one more shape for every option, and some together
MORE = {
    "heads": Architecture((2, 2), (1,), 2, heads=2),
    "value ranks": Architecture((3, 2), (1,), 2, heads=2, value_ranks=(1,)),
    "skip": Architecture((2, 2, 2), (1, 2), 2, skip=True),
    "embedding": Architecture((2, 1), (1,), 2, embed=3),
    "unembedding": Architecture((2, 1), (1,), 2, unembed=2),
    "all of them": Architecture((2, 2, 2), (1, 1), 2, heads=2, value_ranks=(1, 2), skip=True, embed=1, unembed=3),
}
NETWORKS = SHAPES | MORE


@dataclass(frozen=True)
class Ring:
    """How to come into a ring and out of it, and what it promises.

    Attributes:
        name: in the names of the tests.
        make: from a name and rational numbers to a matrix.
        read: from a result and the numbers that went in, by name, to rational numbers or residues.
        prime: if values are read as residues.
        masks: whether there are products entry by entry.
        digits: how far values of softmax may be off, as a power of ten.
        derivative: how the derivative of a result is read, of matrices made by `moving`.
        moving: from rational numbers and a direction to a matrix.
    """

    name: str
    make: Callable[[str, Matrix], Any]
    read: Callable[[Any, Matrices], Matrix]
    prime: int | None = None
    masks: bool = True
    digits: int = -40
    moving: Callable[[Matrix, Matrix], Any] | None = None
    derivative: Callable[[Any], Matrix] | None = None

    def expected(self, values: Any) -> list[list[Any]]:
        """Rational numbers as they are read from this ring."""
        if self.prime is None:
            return [[Fraction(v) for v in row] for row in values]
        return [[v.numerator * pow(v.denominator, -1, self.prime) % self.prime for v in row] for row in values]


def residues_of(numbers: Matrix, p: int) -> PrimeFieldMatrix:
    return PrimeFieldMatrix.of(map_entries(lambda v: v.numerator * pow(v.denominator, -1, p) % p, numbers), p)


def substituted(words: Words, letters: Matrices) -> Matrix:
    """The matrix that formal words become when numbers are put for the letters."""
    total: Any = 0
    for (scalars, word), coefficient in words.terms:
        assert not scalars
        assert not any(letter.inverted for letter in word)
        factors = [letters[letter.name].T if letter.transposed else letters[letter.name] for letter in word]
        result = factors[0]
        for factor in factors[1:]:
            result = result @ factor
        total = total + coefficient * result
    return np.asarray(total, dtype=object)


POLYNOMIALS = PolynomialRing(["s"])


def constant_term(polynomial: Any) -> Fraction:
    """At `s = 1`."""
    return sum((Fraction(int(c.p), int(c.q)) for c in polynomial.to_dict().values()), Fraction(0))


def exactly(ball: arb) -> Fraction:
    """The dyadic number that a ball of radius zero is."""
    assert ball.is_exact()
    mantissa, exponent = ball.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def over_prime(p: int) -> Ring:
    return Ring(
        f"GF({p})", lambda _, m: residues_of(m, p), lambda v, _: v.residues(), p,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Enclosed:
    """A ball, which is right if the number is in it, and useful if it is small."""

    middle: float
    radius: float

    def __eq__(self, number: object) -> bool:
        assert isinstance(number, Fraction)
        useful = self.radius <= 2.0**-20 * (1 + abs(self.middle))
        return useful and abs(number - Fraction(self.middle)) <= Fraction(self.radius)

    __hash__ = None  # type: ignore[assignment]


def enclosed(v: MidpointRadius) -> Matrix:
    pairs = zip(v.middle.ravel(), v.radius.ravel(), strict=True)
    return np.array([Enclosed(float(m), float(r)) for m, r in pairs], dtype=object).reshape(v.shape)


P = PRIMES[0]
RINGS = [
    Ring("fractions", lambda _, m: m, lambda v, _: v),
    Ring("flint's rationals", lambda _, m: rational_matrix(m), lambda v, _: to_fractions(v)),
    Ring(
        "polynomials",
        lambda _, m: map_entries(lambda v: POLYNOMIALS.constant(v) * POLYNOMIALS.generators[0], m),
        lambda v, _: map_entries(constant_term, v),
    ),
    *map(over_prime, PRIMES),
    Ring(
        "dual numbers over fractions", lambda _, m: Dual(m, 0 * m), lambda v, _: v.value,
        moving=Dual, derivative=lambda v: v.tangent,
    ),
    Ring(
        "dual numbers over GF(p)", lambda _, m: Dual(residues_of(m, P), residues_of(0 * m, P)),
        lambda v, _: v.value.residues(), P,
        moving=lambda m, d: Dual(residues_of(m, P), residues_of(d, P)), derivative=lambda v: v.tangent.residues(),
    ),
    Ring("recorded fractions", lambda _, m: Recorded(m), lambda v, _: v.value),
    Ring("recorded residues", lambda _, m: Recorded(residues_of(m, P)), lambda v, _: v.value.residues(), P),
    Ring("flint's matrices", lambda _, m: RationalMatrix.of(m), lambda v, _: v.fractions()),
    Ring("matrices of balls", lambda _, m: BallMatrix.of(m), lambda v, _: map_entries(exactly, v.flint.tolist())),
    Ring("balls of floats", lambda _, m: MidpointRadius.of(m), lambda v, _: enclosed(v), digits=-4),
    Ring(
        "balls", lambda _, m: DualBalls.of(m), lambda v, _: map_entries(exactly, v.values()),
        moving=DualBalls.of, derivative=lambda v: map_entries(exactly, v.derivative()),
    ),
    Ring("words", lambda name, _: Words.letter(name), substituted, masks=False),
]  # fmt: skip


def numbers_for(shape: Architecture, seed: int) -> Matrices:
    """Small dyadic numbers, none of them zero, for the input and all weights, by name."""
    rng = np.random.default_rng([seed, shape.depth, shape.tokens])
    sizes = {INPUT: (shape.input_width, shape.tokens), **dict(shape.weight_shapes())}
    drawn = {name: rng.integers(1, 4, size=size) * rng.choice([-1, 1], size=size) for name, size in sizes.items()}
    return {name: map_entries(lambda v: Fraction(int(v), 2), numbers) for name, numbers in drawn.items()}


def rows_of(numbers: Matrices) -> dict[str, list[list[Any]]]:
    return {name: matrix.tolist() for name, matrix in numbers.items()}


def run(ring_make: Callable[[str], Any], shape: Architecture) -> Any:
    weights = [ring_make(name) for name, _ in shape.weight_shapes()]
    return network_output(ring_make(INPUT), shape, weights)


def ask_values(ring: Ring, shape: Architecture) -> None:
    """The values are those of the sums, or a mask is refused by name."""
    numbers = numbers_for(shape, 1)
    if shape.causal and not ring.masks:
        with pytest.raises(RingError, match="mask"):
            run(lambda name: ring.make(name, numbers[name]), shape)
        return
    found = ring.read(run(lambda name: ring.make(name, numbers[name]), shape), numbers)
    plain = rows_of(numbers)
    assert np.asarray(found).tolist() == ring.expected(plain_network(plain[INPUT], shape, plain))


def ask_derivatives(ring: Ring, shape: Architecture) -> None:
    """Forward: the derivative is that of the sums over numbers with a slope."""
    assert ring.moving is not None
    assert ring.derivative is not None
    numbers, directions = numbers_for(shape, 2), numbers_for(shape, 3)
    moving = ring.moving
    found = ring.derivative(run(lambda name: moving(numbers[name], directions[name]), shape))
    assert np.asarray(found).tolist() == ring.expected(slopes(shape, numbers, directions))


def slopes(shape: Architecture, numbers: Matrices, directions: Matrices) -> list[list[Fraction]]:
    both = {
        name: [[Tangent(v, s) for v, s in zip(*rows, strict=True)] for rows in zip(m, directions[name], strict=True)]
        for name, m in numbers.items()
    }
    return [[entry.slope for entry in row] for row in plain_network(both[INPUT], shape, both)]


def ask_gradients(ring: Ring, shape: Architecture) -> None:
    """Backward: the gradient by everything, along a direction, is the slope."""
    numbers, directions = numbers_for(shape, 2), numbers_for(shape, 3)
    made = {name: ring.make(name, m) for name, m in numbers.items()}
    output = run(made.__getitem__, shape)
    one = map_entries(lambda _: Fraction(1), ring.read(output, numbers))
    functional = one if ring.prime is None else residues_of(one, ring.prime)
    total: Any = Fraction(0)
    for (name, _), gradient in zip(made.items(), gradients([output], [functional], [*made.values()]), strict=True):
        entries = gradient if ring.prime is None else gradient.residues().astype(object)
        total += 0 if gradient is None else (entries * directions[name]).sum()
    expected = sum((sum(row, Fraction(0)) for row in slopes(shape, numbers, directions)), Fraction(0))
    assert ring.expected([[total]]) == ring.expected([[expected]])


def ask_softmax(ring: Ring, shape: Architecture) -> None:
    """Softmax of real numbers to forty digits, or a refusal by name."""
    shape = replace(shape, normalization=SOFTMAX)
    numbers = numbers_for(shape, 4)
    if "balls" not in ring.name:
        with pytest.raises(RingError, match=r"softmax|normalization"):
            run(lambda name: ring.make(name, numbers[name]), shape)
        return
    with mpmath.workdps(60), precision(300):
        real = {
            name: [[mpmath.mpf(v.numerator) / v.denominator for v in row] for row in rows]
            for name, rows in rows_of(numbers).items()
        }

        def softmax(scores: Any) -> Any:
            weights = [mpmath.exp(s) for s in scores]
            return [w / sum(weights) for w in weights]

        expected = plain_network(real[INPUT], shape, real, softmax)
        found = run(lambda name: ring.make(name, numbers[name]), shape)
        if isinstance(found, MidpointRadius):
            found = found.balls()
        balls = found.values().ravel() if isinstance(found, DualBalls) else found.flint.entries()
        for ball, number in zip(balls, [v for row in expected for v in row], strict=True):
            known = arb(mpmath.nstr(number, 55), 1e-45)
            assert abs(ball - known) < arb(f"1e{ring.digits}")
            assert ball.overlaps(known)


def conforms(ring: Ring) -> None:
    """Everything that is asked of every ring, on every named network, masked and not."""
    with precision(2000):  # balls of dyadic numbers stay exact
        _conforms(ring)


def _conforms(ring: Ring) -> None:
    for shape in NETWORKS.values():
        for causal in (False, True):
            masked = replace(shape, causal=causal)
            ask_values(ring, masked)
            if ring.moving is not None:
                ask_derivatives(ring, masked)
            if ring.name.startswith("recorded"):
                ask_gradients(ring, masked)
            ask_softmax(ring, masked)
