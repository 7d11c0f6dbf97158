"""A row of numbers for each head of a layer, over a field: what hypotheses on these rows demand, and what refutes them.

Over GF(p) rows are residues at random points: what is demanded is shown if it is so there, and a relation of rows may
be one over the rationals or not. Over the rationals rows are all coefficients, and decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import partial
from itertools import combinations
from math import isqrt
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from lightning_sym.exact.modular import null_space_mod_p, rank_mod_p
from lightning_sym.exact.rational import null_space, rank
from lightning_sym.exact.reconstruction import rational_vector

SUBSETS = 16
"""Heads of a layer up to which all sets of heads are gone through."""

Relation: TypeAlias = tuple[Fraction | int, ...]
"""A number for each head: the combination of heads that a hypothesis forbids."""


class Finding(NamedTuple):
    """What a test says: whether the hypothesis holds, `None` where that is not decided, and the evidence.

    `starred` says that what is shown is (a\\*) or (a'\\*) of Proposition 15 alone.
    """

    holds: bool | None
    evidence: str
    starred: bool = False


class HeadRows:
    r"""Rows of elements of a field, one for each head of a layer.

    Args:
        entries: integers, or fractions.
        prime: `None` over the rationals.
        pairs: behind the rows of heads stand those of the pairs of heads $(1, 2), (1, 3), \dots$
    """

    def __init__(self, entries: npt.NDArray[Any], prime: int | None, *, pairs: bool = False) -> None:
        self.prime, self.entries = prime, entries if prime is None else np.mod(entries, prime)
        self._pairs, count = pairs, len(entries)
        self.heads = (isqrt(8 * count + 1) - 1) // 2 if pairs else count
        self.over = "over Q" if prime is None else f"modulo {prime}"
        self._zero = "zero" if prime is None else f"zero {self.over} at all points"

    @property
    def rank(self) -> int:
        """The rank of all rows."""
        if self.prime is not None:
            return rank_mod_p(self.entries, self.prime)
        return rank(self.entries) if self.entries.size else 0

    def beside(self, other: HeadRows) -> HeadRows:
        """Return the rows of both, longer."""
        return HeadRows(np.hstack([self.entries, other.entries]), self.prime)

    def _vanishes(self, row: npt.NDArray[np.generic]) -> bool:
        return not (row if self.prime is None else np.mod(row, self.prime)).any()

    # ---- tests

    def independent(self) -> Finding:
        """Return whether the rows are linearly independent."""
        found, count = self.rank, len(self.entries)
        return Finding(found == count, f"rank {found} of {count} {self.over}")

    def none_zero(self) -> Finding:
        """Return whether no row is zero."""
        zero = [str(h) for h, row in enumerate(self.entries, start=1) if not row.any()]
        return Finding(not zero, f"{self._zero}: head {', '.join(zero)}" if zero else f"not zero {self.over}")

    def different(self, *, opposites: bool, weaker: bool) -> Finding:
        """Return whether no row is zero and no two are equal, with `opposites` also not opposite; or by their rank."""
        shown = self.independent()
        if shown.holds:
            return shown
        if (fault := next(self.alike(opposites=opposites), None)) is None:
            more = ", not opposite" if opposites else ""
            return Finding(True, f"scores not zero and pairwise different{more} {self.over}", starred=weaker)
        return shown if self.prime is not None else Finding(False, _said_of_scores(fault))

    def no_sum_zero(self) -> Finding:
        """Return whether the rows of no set of heads, with those of the pairs inside, add up to zero."""
        shown = self.independent()
        if shown.holds:
            return shown
        if self.heads > SUBSETS:
            return shown._replace(holds=None)
        what = "form of" if self._pairs else "sum over"
        if (chosen := next(self.sums(), None)) is not None:
            numbers = ", ".join(str(h) for h, c in enumerate(chosen, start=1) if c)
            return Finding(False, f"the {what} heads {numbers} is {self._zero}")
        return Finding(True, f"the {what} no set of heads is zero {self.over}")

    def no_two_opposite(self) -> Finding:
        """Return whether the first half of no head's row is, up to sign, the second half of one, its own too."""
        if (fault := next(self.opposite_halves(), None)) is None:
            return Finding(True, f"no two add up to zero {self.over}")
        heads = [str(h) for h, c in enumerate(fault, start=1) if c]
        alone = "adds up to zero with itself" if len(heads) == 1 else "add up to zero"
        points = "" if self.prime is None else " at all points"
        return Finding(False, f"head{'s' * (len(heads) > 1)} {', '.join(heads)} {alone} {self.over}{points}")

    # ---- relations that contradict them

    def dependencies(self) -> Iterator[Relation]:
        """Yield a basis of the relations of all rows; of residues those that are small rational numbers."""
        if self.prime is None:
            yield from map(tuple, null_space(self.entries.T) if self.entries.size else [self._relation({0: 1})])
            return
        for vector in null_space_mod_p(np.ascontiguousarray(self.entries.T), self.prime):
            found = rational_vector([vector], [self.prime])
            if found is not None and any(found):
                yield found

    def zeros(self) -> Iterator[Relation]:
        """Yield each head whose row is zero."""
        yield from (self._relation({h: 1}) for h, row in enumerate(self.entries) if not row.any())

    def alike(self, *, opposites: bool) -> Iterator[Relation]:
        """Yield each head whose row is zero, and each two whose rows are equal, or opposite where that counts."""
        known = dict[tuple[object, ...], list[int]]()
        for h, row in enumerate(self.entries):
            if not row.any():
                yield self._relation({h: 1})
            yield from (self._relation({g: -1, h: 1}) for g in known.get(tuple(row), ()))
            if opposites:
                negative = -row if self.prime is None else np.mod(-row, self.prime)
                yield from (self._relation({g: 1, h: 1}) for g in known.get(tuple(negative), ()))
            known.setdefault(tuple(row), []).append(h)

    def opposite_halves(self) -> Iterator[Relation]:
        """Yield each head, and each two, of which the first half of a row is the second half with the other sign."""
        first, second = np.hsplit(self.entries, 2)
        known = dict[tuple[object, ...], list[int]]()
        for h, row in enumerate(second):
            known.setdefault(tuple(row), []).append(h)
        for g, row in enumerate(first):
            negative = -row if self.prime is None else np.mod(-row, self.prime)
            yield from (self._relation({g: 1, h: 1}) for h in known.get(tuple(negative), ()) if h >= g)

    def sums(self) -> Iterator[Relation]:
        """Yield each set of heads whose rows, with those of the pairs inside, add up to zero; of few heads."""
        if self.heads > SUBSETS:
            return
        place = {pair: self.heads + n for n, pair in enumerate(combinations(range(self.heads), 2))}
        for number in range(1, 2**self.heads):
            heads = [h for h in range(self.heads) if number >> h & 1]
            rows = [*heads, *(place[pair] for pair in combinations(heads, 2) if self._pairs)]
            if self._vanishes(self.entries[rows].sum(axis=0)):
                yield self._relation(dict.fromkeys(heads, 1))

    def _relation(self, numbers: dict[int, int]) -> Relation:
        return tuple(Fraction(numbers.get(h, 0)) for h in range(self.heads))


def _said_of_scores(relation: Relation) -> str:
    """Return what is wrong with scores that should be different."""
    heads = [h for h, c in enumerate(relation, start=1) if c]
    if len(heads) == 1:
        return f"the scores of head {heads[0]} are zero"
    return f"the scores of heads {heads[0]} and {heads[1]} are {'opposite' if sum(relation) else 'equal'}"


class Demand(NamedTuple):
    """What is demanded of rows: how it is tested, and the relations of which each contradicts it."""

    test: Callable[[HeadRows], Finding]
    contradicted_by: Callable[[HeadRows], Iterable[Relation]]


INDEPENDENT = Demand(HeadRows.independent, HeadRows.dependencies)
NOT_ZERO = Demand(HeadRows.none_zero, HeadRows.zeros)
NOT_OPPOSITE = Demand(HeadRows.no_two_opposite, HeadRows.opposite_halves)
NOT_SKEW = Demand(HeadRows.no_two_opposite, HeadRows.zeros)
NO_SUM_ZERO = Demand(HeadRows.no_sum_zero, HeadRows.sums)


def different(*, opposites: bool, weaker: bool) -> Demand:
    """Return the demand that rows are not zero and differ; with `opposites`, are not opposite; or the `weaker` one."""
    return Demand(
        partial(HeadRows.different, opposites=opposites, weaker=weaker), partial(HeadRows.alike, opposites=opposites)
    )
