"""The rank of a Jacobian at weights with letters, and where in the letters it drops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

from lightning_sym.display import Lines, Result
from lightning_sym.errors import ProgramError
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    import sympy
    from sympy.polys import matrices as sympy_matrices

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
    letters: tuple[Any, ...]
    minor: Any
    locus: tuple[Any, ...] | None

    def __index__(self) -> int:
        return self.rank

    def lines(self) -> Lines:
        """The rank, and where it drops."""
        over = ", ".join(map(str, self.letters))
        where = "not known, too many minors"
        if self.locus is not None:
            where = (
                "nowhere" if self.locus == (1,) else f"where all of these are zero: {', '.join(map(str, self.locus))}"
            )
        lines = [("rank", f"{self.rank} over QQ({over})"), ("", f"so at all letters with {self.minor} != 0")]
        return [*lines, ("smaller", where)] if self.rank else lines


def family_rank(rows: Sequence[Sequence[Any]], letters: Sequence[Any]) -> FamilyRank:
    """The rank of a matrix of SymPy expressions, polynomials in letters.

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
    found: dict[Any, None] = {}
    for some in combinations(range(height), rank):
        for columns in combinations(range(width), rank):
            if (value := _minor(matrix, some, columns)) != 0:
                found[sympy.Poly(value, *letters).sqf_part().monic()] = None
    return FamilyRank(rank, tuple(letters), sympy.factor(minor), _common_zeros(list(found), letters))


def _common_zeros(minors: Sequence[Any], letters: Sequence[Any]) -> tuple[Any, ...]:
    """Return fewer polynomials with the same common zeros, where these are quickly found."""
    if len(letters) > MOST_LETTERS or sum(each.total_degree() for each in minors) > MOST_DEGREES:
        return tuple(sympy.factor(each.as_expr()) for each in minors)
    basis = sympy.groebner(minors, *letters, order="grevlex").polys
    radicals = sympy.groebner([each.sqf_part() for each in basis], *letters, order="grevlex").exprs
    return tuple(map(sympy.factor, radicals))


def _minor(matrix: Any, rows: Sequence[int], columns: Sequence[int]) -> Any:
    """Return a minor as an expression."""
    part = matrix.extract(list(rows), list(columns))
    return matrix.domain.to_sympy(part.charpoly()[-1]) * (-1) ** len(rows)
