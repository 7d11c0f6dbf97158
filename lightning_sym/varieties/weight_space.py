"""What is known of one torus weight in one degree, and the small steps of its linear algebra.

What equations of one weight take: the steps of `by_degree` over sizes, at the rates of echelon forms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import numpy.typing as npt

from lightning_sym.limits import Work, require_memory
from lightning_sym.rings.polynomials import Polynomial
from lightning_sym.rings.prime_field import reduce_mod
from lightning_sym.rings.rates import RATES
from lightning_sym.rings.sizes import Price, Sizes
from lightning_sym.varieties.coordinates import CoordinateSystem
from lightning_sym.varieties.graded import Grading, Indices
from lightning_sym.varieties.map_coordinates import MapCoordinates, factors_of, multiplied

Integers = npt.NDArray[np.int64 | np.object_]
"""Integers: NumPy's where all are short enough, else Python's."""

Terms = dict[tuple[int, ...], int]
"""An equation: integer coefficients by monomial, a sorted tuple of places of coordinates."""

_MOST_PRODUCTS = 20_000
"""Products of two and three coordinates that are kept."""

SPARE_POINTS = 12
"""Points beyond as many as there are monomials."""

_RATES = RATES["forms"]

_INTEGERS = 2**40
"""Larger entries of equations are integers of Python's own."""


@dataclass
class PieceOfWeight:
    """The equations of one dominant weight in one degree.

    Attributes:
        monomials: one a row, sorted places of coordinates.
        rank: of their values, a lower bound for the coordinate ring.
        equations: independent verified equations, one a row.
        generators: those of them that are no combination of multiples, if that is known to be so.
        is_minimal: whether it is known that all of `generators` are needed.
    """

    monomials: Indices
    rank: int
    equations: Integers
    generators: list[Terms] = field(default_factory=list)
    is_minimal: bool = True

    @property
    def is_exact(self) -> bool:
        """Whether the two bounds for the coordinate ring meet."""
        return self.rank + len(self.equations) == len(self.monomials)


class Lazy:
    """A matrix that is computed when it is first asked for."""

    def __init__(self, compute: Callable[[], npt.NDArray[np.float64]]) -> None:
        self._compute = compute
        self._found: npt.NDArray[np.float64] | None = None

    def __call__(self) -> npt.NDArray[np.float64]:
        if self._found is None:
            self._found = self._compute()
        return self._found


class Expansion:
    """Substitutes the coordinates, as polynomials in the letters of the normal weights, and expands."""

    def __init__(self, system: CoordinateSystem | MapCoordinates, memory: int, work: Work) -> None:
        self.forms, self.memory, self.work = system.forms, memory, work
        self._products: dict[tuple[int, ...], Polynomial] = {}
        self._kept = 0  # terms of these
        self._term = 16 + 2 * system.forms[0].context().nvars()

    def product(self, monomial: tuple[int, ...]) -> Polynomial:
        """Return the product of some coordinates; shorter ones are kept."""
        if len(monomial) == 1:
            return self.forms[monomial[0]]
        known = self._products.get(monomial)
        if known is None:
            shorter, last = self.product(monomial[:-1]), self.forms[monomial[-1]]
            size = len(shorter) * len(last)
            what = f"a product of {len(monomial)} coordinates, up to {size:,} terms"
            require_memory(self._term * size, self.memory, what)
            self.work.spend(_RATES.seconds(call=1, product=size), f"expanding equations of degree {len(monomial)}")
            known = shorter * last
            if len(monomial) < 4:
                if len(self._products) > _MOST_PRODUCTS or self._kept * self._term > self.memory // 4:
                    self._products.clear()
                    self._kept = 0
                self._products[monomial] = known
                self._kept += len(known)
        return known

    def vanishes(self, terms: Terms) -> bool:
        """Return whether the equation holds identically."""
        total = None
        for monomial, coefficient in terms.items():
            part = self.product(monomial) * coefficient
            self.work.spend(_RATES.seconds(call=1, entry=len(part) + len(total or ())), "expanding equations")
            total = part if total is None else total + part
        return total is not None and total.is_zero()


def modulo(matrix: Integers, p: int) -> npt.NDArray[np.float64]:
    """Return centred residues of integers of any size."""
    if matrix.dtype == object:
        matrix = np.mod(matrix, p).astype(np.int64)
    return reduce_mod(np.mod(matrix, p).astype(np.float64), p)


def others(some: Indices, count: int) -> Indices:
    """Return the places below `count` that are not among these, in order."""
    chosen = np.ones(count, dtype=np.bool_)
    chosen[some] = False
    return np.flatnonzero(chosen)


def kernel_of(form: npt.NDArray[np.float64], pivots: Indices) -> npt.NDArray[np.float64]:
    """Return the vectors that a reduced echelon form takes to zero: a 1 in a free column, for each of these."""
    free = others(pivots, form.shape[1])
    result = np.zeros((len(free), form.shape[1]))
    result[np.arange(len(free)), free] = 1
    result[:, pivots] = -form[:, free].T
    return result


def evaluated(values: npt.NDArray[np.float64], rows: Indices, points: int, p: int) -> npt.NDArray[np.float64]:
    """Return values of monomials, one a column, at the first points."""
    return multiplied(factors_of(values, rows, points, p)).entries


def terms_of(vector: tuple[int, ...], rows: Indices) -> Terms:
    """Return an equation from its coefficients in all monomials of a weight."""
    return {tuple(map(int, rows[j])): c for j, c in enumerate(vector) if c}


def dense(terms: Terms, rows: Indices, grading: Grading) -> Integers:
    """Return an equation by its coefficients in all monomials of a weight."""
    large = max(map(abs, terms.values())) >= _INTEGERS
    result = np.zeros(len(rows), dtype=object if large else np.int64)
    names = grading.keys(np.array(list(terms), dtype=np.int64))
    result[np.searchsorted(grading.keys(rows), names)] = list(terms.values())
    return result


ECHELONS = "echelons"
"""The ring of matrices modulo a prime that are reduced to echelon form."""


def values_over_sizes(count: int, degree: int, price: Price) -> Sizes:
    """Return the size of the values of so many monomials of a degree at as many points and some more, and pay."""
    return multiplied([Sizes((count + SPARE_POINTS, count), price)] * degree)


@cache
def price_of_weight(count: int, degree: int, *, has_multiples: bool) -> Price:
    """Return the price of a weight with so many monomials: their values, and what is independent among them.

    Args:
        count: the monomials.
        degree: theirs.
        has_multiples: whether multiples of equations of lower degree are brought to echelon form too.

    Example:
        >>> price_of_weight(10, 2, has_multiples=False).done["eliminated"]
        2200
    """
    price = Price(ECHELONS)
    values = values_over_sizes(count, degree, price)
    for _ in range(1 + has_multiples):
        values.rank()
    return price


def price_modulo_a_prime(count: int, known: int, degree: int) -> Price:
    """Return the price of new equations modulo a prime, in a weight with so many monomials and known equations.

    Example:
        >>> price_modulo_a_prime(10, 2, 2).done["eliminated"]
        1320
    """
    price = Price(ECHELONS)
    Sizes((known, count), price).rank()
    values_over_sizes(count - known, degree, price).rank()
    return price
