r"""What gradient flow keeps because of linear symmetries that somebody gives for a polynomial map.

Where the map does not feel $w \mapsto e^{s G} w$ and `G` is symmetric, $\frac12 w^\top G w$ is kept, for every loss and
all data (`docs/conserved.md`, Proposition 1). Of the generators that are given, the symmetric combinations are taken.
How many quantities there are is bounded from both sides: by the rank of these, and by the Lie algebra of gradients.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from lightning_sym.arguments import shown
from lightning_sym.display import Result, bounds_in_words
from lightning_sym.errors import BadInput, ProgramError, ShapeError
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.exact.rational import null_space, rank
from lightning_sym.lazy import lazy_imports
from lightning_sym.rings.arrays import ObjectArray, Rows, exact_matrix
from lightning_sym.rings.expressions import Entry, entry, is_sympy_matrix, rational, to_polynomial
from lightning_sym.rings.polynomials import Polynomial, PolynomialRing
from lightning_sym.rings.prime_field import PRIMES

with lazy_imports(__name__):
    import sympy

GivenSymmetry: TypeAlias = "Rows | sympy.MatrixBase | Mapping[str | sympy.Symbol, Entry]"
"""A square matrix over the weights; or by weight what it moves by, linear in the weights."""


P = PRIMES[0]

MOST_COEFFICIENTS = 60
"""Coefficients whose brackets are taken, all pairs of them."""


@dataclass(frozen=True, eq=False, repr=False)
class GivenConserved(Result):
    """What gradient flow keeps because of given symmetries.

    Attributes:
        quantities: SymPy expressions, quadratic in the weights; linearly independent.
        lower: so many are independent functions, at least.
        upper: at most so many independent functions are kept, whatever the symmetries.
        parameters: how many weights there are.
    """

    quantities: tuple[sympy.Expr, ...]
    lower: int
    upper: int
    parameters: int

    @property
    def count(self) -> int | None:
        """How many independent functions are kept near generic weights; `None` while undecided."""
        return self.lower if self.lower == self.upper else None

    _sentences = (
        ("parameters", "{0.parameters:,}"),
        ("conserved", lambda found: bounds_in_words(found.lower, found.upper, "certified: two bounds meet")),
        ("kept", lambda found: map(str, found.quantities)),
        ("proof", "docs/conserved.md, Propositions 1 and 4"),
    )


def conserved_by(
    symmetries: Sequence[GivenSymmetry],
    names: Sequence[str],
    symbols: Sequence[sympy.Symbol],
    coefficients: Sequence[Polynomial],
) -> GivenConserved:
    """Return what is kept because of these symmetries.

    Args:
        symmetries: generators: square matrices over the weights; or by weight what it moves by, linear in the weights.
        names, symbols: of the weights.
        coefficients: of the map, flint's polynomials in the weights.

    Raises:
        BadInput: a generator moves a coefficient, or is not linear.
        ShapeError: a matrix has another size.
    """
    if not isinstance(symmetries, (list, tuple)):
        raise BadInput(f"symmetries must be a list of generators, got {shown(symmetries)}")
    generators = [_matrix(given, names, symbols) for given in symmetries]
    for number, generator in enumerate(generators, start=1):
        _require_kept(generator, coefficients, PolynomialRing(names), f"symmetry {number}")
    kept = _symmetric(generators)
    vector = sympy.Matrix(list(symbols))
    quantities = tuple(
        sympy.expand((vector.T * sympy.Matrix(m.shape[0], m.shape[1], [rational(c) for c in m.ravel()]) * vector)[0])
        for m in kept
    )
    point = np.random.default_rng(0).integers(-50, 51, size=len(names))
    lower = rank(np.array([m @ point for m in kept], dtype=object) * Fraction(1)) if kept else 0
    upper = len(names) - rank_mod_p(_gradients(coefficients, point), P)
    if lower > upper:
        raise ProgramError(f"{lower} quantities are kept, and at most {upper} can be")
    return GivenConserved(quantities, lower, upper, len(names))


def _require_kept(generator: ObjectArray, coefficients: Sequence[Polynomial], ring: PolynomialRing, name: str) -> None:
    """Refuse a generator along which a coefficient changes, as a polynomial."""
    zero, letters = ring.constant(0), ring.generators
    moved = [sum((letters[j] * ring.number(c) for j, c in enumerate(row) if c), zero) for row in generator]
    for coefficient in coefficients:
        if sum((coefficient.derivative(i) * by for i, by in enumerate(moved) if by), zero) != zero:
            raise BadInput(f"{name} must keep every coefficient, it moves {str(coefficient)[:60]}")


def _matrix(given: GivenSymmetry, names: Sequence[str], symbols: Sequence[sympy.Symbol]) -> ObjectArray:
    """Return a generator as a matrix over the weights."""
    size = len(names)
    if not isinstance(given, Mapping):
        matrix = exact_matrix(given.tolist() if is_sympy_matrix(given) else given, "a symmetry", entry)
        if matrix.shape != (size, size):
            raise ShapeError(
                f"a symmetry must be a matrix of {size} x {size}, got {matrix.shape[0]} x {matrix.shape[1]}"
            )
        if any(not isinstance(value, Fraction) for value in matrix.ravel()):
            raise BadInput("a symmetry must be a matrix of numbers, got letters")
        return matrix
    matrix, ring = np.full((size, size), Fraction(0), dtype=object), PolynomialRing(names)
    place = {name: i for i, name in enumerate(names)}
    for letter, change in given.items():
        if str(letter) not in place:
            raise BadInput(f"a symmetry must move weights of the map, got {str(letter)[:40]}")
        exact = entry(change, f"what {letter} moves by", known=frozenset(symbols))
        for exponents, value in to_polynomial(exact, ring).to_dict().items():
            if sum(map(int, exponents)) != 1:
                raise BadInput(f"a symmetry must be linear in the weights, {letter} moves by {str(change)[:60]}")
            matrix[place[str(letter)], list(map(int, exponents)).index(1)] = Fraction(int(value.p), int(value.q))
    return matrix


def _symmetric(generators: Sequence[ObjectArray]) -> list[ObjectArray]:
    """Return independent symmetric combinations of matrices, all of them."""
    if not generators:
        return []
    skew = np.array([(g - g.T).ravel() for g in generators], dtype=object).T
    found: list[ObjectArray] = []
    for weights in null_space(skew):
        candidate = sum((c * g for c, g in zip(weights, generators, strict=True)), 0 * generators[0])
        if rank(np.array([m.ravel() for m in (*found, candidate)], dtype=object)) > len(found):
            found.append(candidate)
    return found


def _gradients(coefficients: Sequence[Polynomial], point: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return gradients of coefficients and brackets of two of them, at a point modulo a prime, one a row."""
    at, count = point.tolist(), len(point)

    def residue(polynomial: Polynomial) -> int:
        value = polynomial(*at)
        return int(value.p) * pow(int(value.q), -1, P) % P

    rows = np.array([[residue(c.derivative(i)) for i in range(count)] for c in coefficients], dtype=np.int64)
    some = coefficients[:MOST_COEFFICIENTS]
    seconds = [
        np.array([[residue(c.derivative(i).derivative(j)) for j in range(count)] for i in range(count)], dtype=object)
        for c in some
    ]
    brackets = [(seconds[j] @ rows[i] - seconds[i] @ rows[j]) % P for i, j in combinations(range(len(some)), 2)]
    return np.array([*rows, *brackets], dtype=np.int64).reshape(-1, count)
