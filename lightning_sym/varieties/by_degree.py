r"""The equations of one degree after the other, weight by weight of the torus.

In a weight with `M` monomials let `E` be their values at random weights modulo a prime, of rank `r`. Then the values of
the coordinate ring in this weight span at least `r` dimensions (a minor that is not zero modulo `p` is not zero), and
at most `M` less the number of independent equations that were verified. Equations are multiples of those of lower
degree, or they are read off the kernel of `E`, brought to the rationals, and expanded: they vanish identically.

How many generators are new is bounded from both sides as well: the multiples of equations of lower degree have at least
their rank modulo a prime, and at most the dimension less the number of independent functionals that are zero on all
multiples, which are checked over the integers. See `docs/equations.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import prod

import numpy as np
import numpy.typing as npt

from lightning_sym.errors import TooLarge
from lightning_sym.exact.elimination import reduced_echelon_mod_p
from lightning_sym.exact.modular import independent_columns
from lightning_sym.exact.rational import short_basis
from lightning_sym.exact.reconstruction import rational_vector
from lightning_sym.limits import Progress, Work, require_memory
from lightning_sym.rings.prime_field import MORE_PRIMES, PRIMES, matmul_mod
from lightning_sym.rings.sizes import Price
from lightning_sym.varieties.coordinates import CoordinateSystem
from lightning_sym.varieties.graded import Grading, Indices
from lightning_sym.varieties.map_coordinates import MapCoordinates
from lightning_sym.varieties.weight_space import (
    ECHELONS,
    SPARE_POINTS,
    Expansion,
    Integers,
    Lazy,
    PieceOfWeight,
    Terms,
    dense,
    evaluated,
    kernel_of,
    modulo,
    others,
    price_modulo_a_prime,
    price_of_weight,
    terms_of,
)

_LEAST_POINTS = 128
"""At which the coordinates are computed."""

MOST_MONOMIALS = 4000
"""Of one weight: more are not brought to reduced echelon form exactly."""

_ATTEMPTS = frozenset({1, 2, 3, 4, 6, 8, 12, 16, 20, 28, 38})
"""Numbers of primes with which it is tried to come back to the rationals."""

_SMALL, _LARGEST_LATTICE = 30, 30_000
"""Coefficients beyond which equations are sought that have shorter ones, and the size up to which this is quick."""


_ORDER, _IMAGE, _TERM, _BYTES = 4e-6, 5e-8, 1e-6, 48
"""Seconds for a coordinate of which it is looked up where a permutation carries it, for one that is carried there, and
for a term that is, and bytes for each of these; measured, and rough."""


class Ideal:
    """The ideal of the variety of a network, as far as it is known.

    Args:
        system: the coordinates.
        seed: picks the points; it may change the evidence, never what is found.
        memory: bytes that one weight may take.
        progress: called as `progress(stage, done, total)`.
        work: told of each step before it is begun.
    """

    def __init__(
        self,
        system: CoordinateSystem | MapCoordinates,
        seed: int,
        memory: int,
        progress: Progress,
        work: Work | None = None,
    ) -> None:
        self.work = Work() if work is None else work
        self.system, self.grading = system, Grading(system)
        self.seed, self.memory, self.progress = seed, memory, progress
        self.pieces: list[dict[int, PieceOfWeight]] = []
        self._expansion = Expansion(system, memory, self.work)
        self._points, self._values = 0, list[Lazy]()
        self._any_below = True  # whether there are equations one degree lower
        for degree in (0, 1):
            self.pieces.append(
                {
                    code: PieceOfWeight(rows, len(rows), np.zeros((0, len(rows)), dtype=np.int64))
                    for code, rows in self.grading.monomials(degree, memory, self.work).items()
                }
                if degree
                else {}
            )

    @property
    def degree(self) -> int:
        """The degree up to which everything is done."""
        return len(self.pieces) - 1

    def plan(self) -> dict[int, Indices]:
        """Return the monomials of the next degree, by weight.

        Raises:
            TooLarge: they, or the largest matrix of their values, do not fit into memory, or the degree into `work`.
        """
        monomials = self.grading.monomials(self.degree + 1, self.memory, self.work)
        largest = max(map(len, monomials.values()))
        if largest > MOST_MONOMIALS:
            raise TooLarge(
                f"a torus weight must have at most {MOST_MONOMIALS:,} monomials, in degree {self.degree + 1} one has "
                f"{largest:,}"
            )
        needed = 5 * 8 * largest * (largest + SPARE_POINTS) + 8 * len(self.system) * largest
        require_memory(needed, self.memory, f"the values of {largest:,} monomials of one weight")
        return monomials

    def seconds(self, monomials: dict[int, Indices]) -> float:
        """Return a rough estimate of the time that the next degree takes at least: whether there are new equations, and
        how long it takes to expand them, is not known before.
        """
        return sum(self._seconds(len(rows)) for rows in monomials.values())

    def _seconds(self, count: int) -> float:
        """Return the seconds for a weight of the next degree with so many monomials."""
        has_multiples = any(len(piece.equations) for piece in self.pieces[-1].values())
        return price_of_weight(count, self.degree + 1, has_multiples=has_multiples).seconds

    def advance(self, monomials: dict[int, Indices]) -> None:
        """Do one more degree."""
        degree = self.degree + 1
        points = max(map(len, monomials.values())) + SPARE_POINTS
        if points > self._points:
            # each degree needs more; a few hundred take as long as a few
            self._points = points = max(points, _LEAST_POINTS)
            self._values = [Lazy(self._values_at(i, points, degree)) for i in range(len(MORE_PRIMES))]
        self._any_below = any(len(piece.equations) for piece in self.pieces[-1].values())
        pieces = {}
        for done, (code, rows) in enumerate(monomials.items()):
            self.progress(f"equations of degree {degree}", done, len(monomials))
            self.work.spend(self._seconds(len(rows)), f"equations of degree {degree}")
            pieces[code] = self._piece(code, rows, self._values)
        self._require_listed(pieces)
        self.pieces.append(pieces)

    def _values_at(self, i: int, points: int, degree: int) -> Callable[[], npt.NDArray[np.float64]]:
        """Return what computes the values modulo a prime; those modulo the primes before it are kept."""
        p, memory = MORE_PRIMES[i], max(0, self.memory - 8 * i * points * len(self.system))
        generator = np.random.default_rng([self.seed, degree, p])
        return lambda: self.system.at_random_points(generator, points, p, memory=memory, work=self.work)

    def _require_listed(self, pieces: dict[int, PieceOfWeight]) -> None:
        """Refuse equations of which the permutations make too many."""
        degree = self.degree + 1
        orbits = {code: self.grading.orbit_size(code) for code, piece in pieces.items() if piece.generators}
        orders = min(sum(orbits.values()), self.grading.orders)
        images = len(self.system) * sum(orbits.values())
        terms = sum(size * sum(map(len, pieces[code].generators)) for code, size in orbits.items())
        count = sum(size * len(pieces[code].generators) for code, size in orbits.items())
        what = f"the equations of degree {degree}, {count:,} of them"
        require_memory(_BYTES * (images + terms * (degree + 4)), self.memory, what)
        self.work.spend(_ORDER * len(self.system) * orders + _IMAGE * images + _TERM * terms, what)

    def _piece(self, code: int, rows: Indices, values: list[Lazy]) -> PieceOfWeight:
        count = len(rows)
        p = PRIMES[0]
        basis, last = self._with_different_last(code, rows, p)
        # a last monomial of an equation is a combination of others: independent values are sought among these
        (middle,) = np.nonzero(~last)
        matrix = evaluated(values[0](), rows[middle], len(middle) + SPARE_POINTS, p)
        pivots = middle[independent_columns(matrix, p)]
        if len(pivots) == count:
            return PieceOfWeight(rows, count, np.zeros((0, count), dtype=np.int64))
        free = others(pivots, count)
        known = self._row_basis(code, rows, basis, last, free, p)
        if len(known) == len(free):
            return PieceOfWeight(rows, len(pivots), known)
        new, is_minimal = self._new_generators(code, rows, values, known)
        vectors = [dense(terms, rows, self.grading)[None, :] for terms in new]
        return PieceOfWeight(rows, len(pivots), np.concatenate([known, *vectors]), new, is_minimal)

    def _multiples(self, code: int, rows: Indices) -> Iterator[Integers]:
        """Yield the multiples, by a coordinate, of the equations one degree lower, in this weight."""
        grading, lower = self.grading, self.pieces[self.degree]
        keys: Indices | None = None
        for i in range(grading.count):
            name, order = grading.dominant(code - int(grading.codes[i]))
            piece = lower.get(name)
            if piece is None or not len(piece.equations):
                continue
            moved = np.empty((len(piece.monomials), rows.shape[1]), dtype=np.int64)
            moved[:, :-1] = grading.images(order)[piece.monomials]
            moved[:, -1] = i
            moved.sort(axis=1)
            keys = grading.keys(rows) if keys is None else keys
            price = Price(ECHELONS)
            price.enter("entry", 4 * len(piece.equations) * len(rows))  # made, moved, reduced and compared
            self.work.spend(price.seconds, "multiples of equations")
            result = np.zeros((len(piece.equations), len(rows)), dtype=piece.equations.dtype)
            result[:, keys.searchsorted(grading.keys(moved))] = piece.equations
            yield result

    def _with_different_last(self, code: int, rows: Indices, p: int) -> tuple[Integers, npt.NDArray[np.bool_]]:
        """Return multiples with different last monomials modulo `p`, so independent, and where these monomials are."""
        last = np.zeros(len(rows), dtype=np.bool_)
        found: list[Integers] = [np.zeros((0, len(rows)), dtype=np.int64)]
        if not self._any_below:
            return found[0], last
        for block in self._multiples(code, rows):
            entries = modulo(block, p) != 0
            some = np.flatnonzero(entries.any(axis=1))
            places = len(rows) - 1 - entries[some, ::-1].argmax(axis=1)
            different, first = np.unique(places, return_index=True)
            found.append(block[some[first[~last[different]]]])
            last[different] = True
        return np.concatenate(found), last

    def _row_basis(
        self, code: int, rows: Indices, basis: Integers, last: npt.NDArray[np.bool_], free: Indices, p: int
    ) -> Integers:
        """Return a largest set of multiples, in this weight, that are independent modulo `p`.

        Those of `_with_different_last`, which are nearly always as many, and only for the others an elimination.
        Equations are known by their coefficients in the free monomials.
        """
        if len(basis) in (0, len(free)):
            return basis
        # only what stands behind the first monomial that is missing has a part in it
        free = free[int(last[free].argmin()) :]
        behind = modulo(basis[:, free], p)
        form, echelon = reduced_echelon_mod_p(behind[behind.any(axis=1)], p)
        functionals = kernel_of(form, echelon.pivot_columns).T  # zero on the basis, and on what it spans
        for block in self._multiples(code, rows):
            own = matmul_mod(modulo(block[:, free], p), functionals, p)
            (outside,) = np.nonzero(own.any(axis=1))
            if len(outside):
                form, echelon = reduced_echelon_mod_p(own[outside], p)
                basis = np.concatenate([basis, block[outside[echelon.pivot_rows]]])
                functionals = matmul_mod(functionals, kernel_of(form, echelon.pivot_columns).T, p)
                if not functionals.shape[1]:
                    break
        return basis

    def _new_generators(
        self, code: int, rows: Indices, values: list[Lazy], known: Integers
    ) -> tuple[list[Terms], bool]:
        """Return verified equations that `known` does not span, and whether no multiple does is proved."""
        kernels: list[npt.NDArray[np.float64]] = []
        duals: list[npt.NDArray[np.float64]] = []
        primes: list[int] = []
        leading: Indices | None = None
        free: Indices | None = None
        new: list[Terms] = []
        fields = f"equations of degree {rows.shape[1]} modulo more primes"
        for p, table in zip(MORE_PRIMES, values, strict=True):
            self.work.spend(price_modulo_a_prime(len(rows), len(known), rows.shape[1]).seconds, fields)
            # a new equation is looked for without the leading monomials of the known ones
            known_form, echelon = reduced_echelon_mod_p(modulo(known if leading is None else known[:, leading], p), p)
            if leading is None:
                rest = others(echelon.pivot_columns, len(rows))
                leading = np.concatenate([echelon.pivot_columns, rest])
                known_form = known_form[:, leading]
            elif not np.array_equal(echelon.pivot_columns, np.arange(len(known))):  # an unlucky prime
                continue
            points = len(rest) + SPARE_POINTS
            form, found = reduced_echelon_mod_p(evaluated(table(), rows[rest], points, p), p)
            columns = others(found.pivot_columns, len(rest))
            if free is not None and not np.array_equal(columns, free):
                continue
            free = columns
            kernel = kernel_of(form, found.pivot_columns)
            dual = np.zeros((len(free), len(rows)))
            dual[np.arange(len(free)), len(known) + free] = 1
            dual[:, : len(known)] = -known_form[:, len(known) + free].T
            kernels.append(kernel)
            duals.append(dual)
            primes.append(p)
            if len(primes) not in _ATTEMPTS:
                continue
            price = Price(ECHELONS)
            price.enter("lowest", len(free) * (len(rest) + len(rows)), len(primes))
            self.work.spend(price.seconds, fields)
            if not new:
                new = self._verified([rational_vector(some, primes) for some in zip(*kernels, strict=True)], rows[rest])
            if new:
                functionals = [rational_vector(some, primes) for some in zip(*duals, strict=True)]
                if self._are_zero_on_multiples(code, rows, leading, functionals):
                    return new, True
        return new, False

    def _verified(self, guesses: list[tuple[int, ...] | None], rows: Indices) -> list[Terms]:
        """Return the equations with these coefficients, if all of them hold."""
        known = [guess for guess in guesses if guess is not None]
        if len(known) < len(guesses):
            return []
        largest = max((abs(c) for guess in known for c in guess), default=0)
        if largest > _SMALL and len(known) * len(rows) <= _LARGEST_LATTICE:
            known = short_basis(known)
        found = [terms_of(guess, rows) for guess in known]
        return found if all(map(self._expansion.vanishes, found)) else []

    def _are_zero_on_multiples(
        self, code: int, rows: Indices, columns: Indices, functionals: list[tuple[int, ...] | None]
    ) -> bool:
        """Return whether these functionals of the columns are zero, over the integers, on every multiple."""
        if None in functionals:
            return False
        z = np.array(functionals, dtype=object).T
        largest = max(abs(int(e)) for e in z.ravel())
        residues = [Lazy(partial(modulo, z, p)) for p in MORE_PRIMES]
        for block in self._multiples(code, rows):
            part = block[:, columns]
            bound = 2 * int(np.abs(part).sum(axis=1).max()) * largest
            if bound >= prod(MORE_PRIMES):
                return False
            # zero modulo primes whose product is larger than what it can be
            for i, p in enumerate(MORE_PRIMES):
                if prod(MORE_PRIMES[:i]) > bound:
                    break
                if matmul_mod(modulo(part, p), residues[i](), p).any():
                    return False
        return True
