"""The differential of a polynomial map by its weights: Jacobians, their ranks, and what gradient flow keeps.

The rank of a Jacobian at weights with letters, and where in the letters it drops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from lightning_sym.display import Result
from lightning_sym.errors import BadInput, ProgramError
from lightning_sym.exact.certified_rank import certified_rank
from lightning_sym.lazy import lazy_imports
from lightning_sym.limits import DEFAULT_MEMORY, require_integer
from lightning_sym.network.ambient import ambient_dimension
from lightning_sym.network.jacobian_rank import JacobianRank, jacobian_at
from lightning_sym.network.symbolic_map import SymbolicMap
from lightning_sym.network.weight_values import WeightValues, require_substitution
from lightning_sym.rings.expressions import Entry, letters_of, to_expressions, to_polynomial
from lightning_sym.rings.polynomials import Polynomial, PolynomialRing

with lazy_imports(__name__):
    import sympy
    from sympy.polys import matrices as sympy_matrices

    from lightning_sym.network import generic_rank, given_symmetries

if TYPE_CHECKING:
    from lightning_sym.network.generic_rank import GenericRank
    from lightning_sym.network.given_symmetries import GivenConserved, GivenSymmetry


MOST_MINORS, LARGEST_MINOR = 400, 8
"""Minors whose common zeros are told, and their size."""


MOST_LETTERS, MOST_DEGREES = 4, 400
"""Letters, and degrees of all minors together, up to which a Groebner basis is asked for."""


@dataclass(frozen=True, repr=False, eq=False)
class FamilyRank(Result):
    """The rank of a matrix of polynomials in letters.

    Attributes:
        rank: over the field of rational functions: at all values of the letters outside of a proper algebraic set.
        letters: SymPy symbols.
        minor: of this size, not the zero polynomial: where it is not zero the matrix has this rank.
        locus: polynomials, in factors, whose common zeros are where the rank is smaller, 1 if that is nowhere; `None`
            where there are too many minors.
    """

    rank: int
    letters: tuple[sympy.Symbol, ...]
    minor: sympy.Expr
    locus: tuple[sympy.Expr, ...] | None

    def __index__(self) -> int:
        return self.rank

    @property
    def where_smaller(self) -> str:
        """Where the rank drops, in words."""
        if self.locus is None:
            return "not known, too many minors"
        return "nowhere" if self.locus == (1,) else f"where all of these are zero: {', '.join(map(str, self.locus))}"

    _sentences = (
        ("rank", lambda self: f"{self.rank} over QQ({', '.join(map(str, self.letters))})"),
        ("", lambda self: [("", f"so at all letters with {self.minor} != 0")]),
        ("smaller", lambda self: self.where_smaller if self.rank else None),
    )


def family_rank(rows: Sequence[Sequence[sympy.Expr]], letters: Sequence[sympy.Symbol]) -> FamilyRank:
    """Return the rank of a matrix of SymPy expressions, polynomials in letters.

    Example:
        >>> a = sympy.Symbol("a")
        >>> found = family_rank([[a, 1], [1, a]], [a])
        >>> found.rank, found.locus
        (2, ((a - 1)*(a + 1),))
    """
    domain = sympy.QQ[tuple(letters)]
    matrix = sympy_matrices.DomainMatrix(
        [[domain.from_sympy(sympy.sympify(value)) for value in row] for row in rows],
        (len(rows), len(rows[0]) if rows else 0), domain,
    )  # fmt: skip
    _, pivots = matrix.to_field().rref()
    rank = len(pivots)
    if not rank:
        return FamilyRank(0, tuple(letters), sympy.Integer(1), ())
    _, places = matrix.extract(list(range(len(rows))), list(pivots)).transpose().to_field().rref()
    minor = _minor(matrix, places, pivots)
    if minor == 0:
        raise ProgramError("a minor of independent rows and columns must not be zero")
    height, width = matrix.shape
    if comb(height, rank) * comb(width, rank) > MOST_MINORS or rank > LARGEST_MINOR:
        return FamilyRank(rank, tuple(letters), sympy.factor(minor), None)
    found: dict[sympy.Poly, None] = {}
    for some in combinations(range(height), rank):
        for columns in combinations(range(width), rank):
            if (value := _minor(matrix, some, columns)) != 0:
                found[sympy.Poly(value, *letters).sqf_part().monic()] = None
    return FamilyRank(rank, tuple(letters), sympy.factor(minor), _common_zeros(list(found), letters))


def _common_zeros(minors: Sequence[sympy.Poly], letters: Sequence[sympy.Symbol]) -> tuple[sympy.Expr, ...]:
    """Return fewer polynomials with the same common zeros, where these are quickly found."""
    if len(letters) > MOST_LETTERS or sum(each.total_degree() for each in minors) > MOST_DEGREES:
        return tuple(sympy.factor(each.as_expr()) for each in minors)
    basis = sympy.groebner(minors, *letters, order="grevlex").polys
    radicals = sympy.groebner([each.sqf_part() for each in basis], *letters, order="grevlex").exprs
    return tuple(map(sympy.factor, radicals))


def _minor(matrix: sympy_matrices.DomainMatrix, rows: Sequence[int], columns: Sequence[int]) -> sympy.Expr:
    """Return a minor as an expression."""
    part = matrix.extract(list(rows), list(columns))
    return matrix.domain.to_sympy(part.charpoly()[-1]) * (-1) ** len(rows)


class MapDifferential(SymbolicMap):
    """The part of `PolynomialMap` that is about derivatives by the weights."""

    def _derivatives(self) -> list[Polynomial]:
        if not self.weight_names:
            raise BadInput("a Jacobian by the weights must be of a map with symbolic weights, got numbers")
        columns = range(len(self.weight_names))
        return [value.derivative(i) for value in self._distinct.values() for i in columns]

    def jacobian(self, memory: int = DEFAULT_MEMORY) -> sympy.Matrix:
        """Return the derivatives of the coefficients by the weights, a SymPy matrix.

        One row for each of `distinct_coefficients`, in that order (a coefficient that is zero or equal to another adds
        nothing); one column for each of `weight_symbols`.

        Raises:
            BadInput: the weights are numbers.
            TooLarge: the expressions are estimated to need more than `memory` bytes.

        Example:
            >>> from lightning_sym import Architecture, polynomial_map
            >>> polynomial_map(Architecture((1, 1), (1,), 2)).jacobian()
            Matrix([[K1_1_1*V1_1_1, Q1_1_1*V1_1_1, K1_1_1*Q1_1_1]])
        """
        self._require(sum(map(len, self.entries.ravel())), memory, "the coefficients")
        derivatives = self._derivatives()
        self._require(sum(map(len, derivatives)), memory, "the Jacobian")
        return sympy.Matrix(
            len(self._distinct), len(self.weight_names), to_expressions(derivatives, self.weight_symbols)
        )

    def jacobian_rank(self, weights: WeightValues, memory: int = DEFAULT_MEMORY) -> JacobianRank | FamilyRank:
        """Return the exact rank over the rationals of the Jacobian at given weights, with pivots and kernel shown.

        Where the weights have letters it is the rank over the rational functions in these, with where it drops.

        Args:
            weights: numbers, or polynomials in letters, for all weights, as `at` takes them.
            memory: bytes that the polynomials may take, by an estimate made before anything is computed.

        Raises:
            BadInput: a weight is missing.
            TooLarge: with letters, the polynomials do not fit.

        Example:
            >>> from lightning_sym import Architecture, polynomial_map
            >>> from lightning_sym.network.weights import Weights
            >>> w = Weights.of({"Q1": [[1, 0]], "K1": [[0, 1]], "V1": [[1, 2]]})
            >>> found = polynomial_map(Architecture((2, 1), (1,), 2)).jacobian_rank(w)
            >>> found.rank, found.pivot_weights, len(found.kernel)
            (4, ('Q1_1_1', 'Q1_1_2', 'K1_1_1', 'V1_1_1'), 2)
        """
        given = self._values(weights)
        for name in self.weight_names:
            if name not in given:
                raise BadInput(f"a rank must be taken where all weights are numbers, got none for {name}")
        if letters := letters_of(given.values()):
            return self._family_rank(given, letters, memory)
        numbers = [given[name] for name in self.weight_names]
        if self.is_of_all_weights:
            jacobian = jacobian_at(self.architecture, numbers, memory)
        else:
            point = list(map(self.ring.number, numbers))
            derivatives = iter(self._derivatives())
            jacobian = {key: [next(derivatives)(*point) for _ in point] for key in self._distinct}
        keys = self._ordered(jacobian)
        entries = np.array([jacobian[key] for key in keys], dtype=object).reshape(len(keys), len(self.weight_names))
        found = certified_rank(entries)
        return JacobianRank(
            found.rank, self.weight_names, self.input_names, tuple(keys[i] for i in found.rows),
            tuple(self.weight_names[i] for i in found.columns), found.minor, found.kernel,
        )  # fmt: skip

    def _family_rank(self, given: dict[str, Entry], letters: list[sympy.Symbol], memory: int) -> FamilyRank:
        """Return the rank at weights with letters."""
        ring = PolynomialRing([letter.name for letter in letters])
        images = [to_polynomial(given[name], ring) for name in self.weight_names]
        derivatives = self._derivatives()
        require_substitution(derivatives, images, memory)
        entries = to_expressions([ring.substituted(each, images) for each in derivatives], letters)
        width = len(self.weight_names)
        rows = [entries[i : i + width] for i in range(0, len(entries), width)]
        return family_rank([row for row in rows if any(row)], letters)

    def conserved(self, symmetries: Sequence[GivenSymmetry]) -> GivenConserved:
        """Return what gradient flow keeps because of linear symmetries, for every loss and all data.

        Args:
            symmetries: generators of a group that keeps the map, each a square matrix over `weight_symbols`; or a
                dictionary that says by which linear expression a weight moves.

        Returns:
            The quantities, and bounds for how many independent ones there are.

        Raises:
            BadInput: a generator moves a coefficient, or is not linear; or the weights are numbers.
            ShapeError: a matrix has another size.

        Example:
            >>> from lightning_sym.network.polynomial_map import PolynomialMap
            >>> a, b, x = sympy.symbols("a b x")
            >>> found = PolynomialMap.of([[a * b * x]], weights=[a, b], inputs=[x]).conserved([{a: a, b: -b}])
            >>> found.quantities, found.count
            ((a**2 - b**2,), 1)
        """
        if not self.weight_names:
            raise BadInput("conserved quantities must be of a map with symbolic weights, got numbers")
        return given_symmetries.conserved_by(
            symmetries, self.weight_names, self.weight_symbols, list(self._distinct.values())
        )

    def generic_rank(self, seed: int = 0) -> GenericRank:
        r"""Return the rank of the Jacobian at all weights off the zero set of some polynomial, from both sides.

        For symbolic weights of a network it is the dimension of its set of functions. `certified_dimension` needs no
        polynomials for that, and reaches much further; here any family of weights with letters has an answer.

        Args:
            seed: picks the points; it may change the evidence, never a certified number.

        Returns:
            Bounds; `rank` is the generic rank where they meet.

        Raises:
            BadInput: the weights of the map are numbers, or the seed is negative.

        Example:
            >>> from lightning_sym import Architecture, polynomial_map
            >>> found = polynomial_map(Architecture((2, 1), (2,), 2)).generic_rank()
            >>> found.rank, found.lower, found.upper
            (5, 5, 5)
        """
        require_integer(seed, "the seed")
        if not self.weight_names:
            raise BadInput("a generic rank must be of a map with symbolic weights, got numbers")
        generator = np.random.default_rng([seed, 1])
        if self.is_of_all_weights and not self.architecture.varies:
            coefficients = ambient_dimension(self.architecture)
            sample = partial(generic_rank.network_sample, self.architecture, generator)
        else:
            coefficients = len(self._distinct)
            sample = partial(generic_rank.polynomial_sample, self._derivatives(), len(self.weight_names), generator)
        search = generic_rank.FieldSearch(self.ring, len(self.weight_names), list(self.entries.ravel()), sample)

        def rank_at(point: Sequence[int]) -> int:
            return self.jacobian_rank(dict(zip(self.weight_names, point, strict=True))).rank

        return generic_rank.generic_rank_bounds(search, self.weight_names, rank_at, coefficients, seed)
