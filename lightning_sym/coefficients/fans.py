r"""The fan of a Newton polyhedron: which terms of given exponents are smallest where variables are small.

With $x_i = t^{w_i}$, $t \to 0$, the terms of smallest weight are left. Weights $w \ge 0$ with the same smallest terms
are a cone; the cones are cut into simplicial ones, each spanned by as many rays as there are variables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import gcd

from lightning_sym.exact.ideals import Exponents, minimal_monomials
from lightning_sym.exact.rational import rank

Ray = tuple[int, ...]

MOST_RAYS, MOST_CONES = 150, 400
"""Of a fan that is looked at."""


@dataclass(frozen=True)
class Fan:
    """Simplicial cones that cover all weights.

    Attributes:
        rays: integers without a common factor, not negative.
        cones: places of as many rays as there are variables; the same terms are smallest on all rays of a cone.

    Example:
        >>> fan = fan_of([(2, 0), (0, 3)])
        >>> fan.rays, fan.cones
        (((0, 1), (1, 0), (3, 2)), ((0, 2), (1, 2)))
    """

    rays: tuple[Ray, ...]
    cones: tuple[tuple[int, ...], ...]

    def faces(self, exponents: Sequence[Exponents]) -> dict[frozenset[Exponents], tuple[int, ...]]:
        """Return the compact faces: exponents smallest at some positive weights, with rays that add up to these.

        Example:
            >>> fan_of([(2, 0), (0, 3)]).faces([(2, 0), (0, 3)])[frozenset([(2, 0), (0, 3)])]
            (2,)
        """
        tight = [tight_at(ray, exponents) for ray in self.rays]
        found: dict[frozenset[Exponents], tuple[int, ...]] = {}
        for cone in self.cones:
            for rays in _positive_parts(cone, self.rays):
                found.setdefault(frozenset.intersection(*(tight[r] for r in rays)), rays)
        return found


def _positive_parts(cone: tuple[int, ...], rays: Sequence[Ray]) -> Iterator[tuple[int, ...]]:
    """Yield the sets of rays of a cone whose sum is positive in every variable."""
    for size in range(1, len(cone) + 1):
        for part in combinations(cone, size):
            if all(map(any, zip(*(rays[r] for r in part), strict=True))):
                yield part


def tight_at(ray: Ray, exponents: Sequence[Exponents]) -> frozenset[Exponents]:
    """Return the exponents of smallest weight.

    Example:
        >>> sorted(tight_at((1, 1), [(2, 0), (1, 1), (0, 3)]))
        [(1, 1), (2, 0)]
    """
    weights = [sum(a * b for a, b in zip(ray, e, strict=True)) for e in exponents]
    return frozenset(e for e, w in zip(exponents, weights, strict=True) if w == min(weights))


def fan_of(exponents: Sequence[Exponents]) -> Fan | None:
    """Return the fan of exponents, in simplicial cones; nothing where it has too many rays or cones.

    Args:
        exponents: of all terms, at least one.
    """
    corners = minimal_monomials(exponents)
    size = len(corners[0])
    rays = _rays(corners, size)
    if rays is None:
        return None
    tight = [frozenset(map(corners.index, tight_at(ray, corners))) for ray in rays]
    flat = [frozenset(len(corners) + i for i, x in enumerate(ray) if not x) for ray in rays]
    marks = [a | b for a, b in zip(tight, flat, strict=True)]
    cones: list[tuple[int, ...]] = []
    for corner in range(len(corners)):
        whole = frozenset(r for r in range(len(rays)) if corner in marks[r])
        for cone in _simplices(whole, marks, size):
            if len(cone) == size == rank([list(rays[r]) for r in cone]):  # else no corner, but a term inside of a face
                cones.append(cone)
            if len(cones) > MOST_CONES:
                return None
    return Fan(tuple(rays), tuple(sorted(set(cones))))


def _rays(corners: Sequence[Exponents], size: int) -> list[Ray] | None:
    """Return the rays of the cones, by the double description of all (w, d) with w . e >= d for every corner e."""
    units = [tuple(int(i == j) for j in range(size + 1)) for i in range(size + 1)]
    rays, held = units, [frozenset(range(size + 1)) - {i} for i in range(size + 1)]  # constraints that are tight
    for number, corner in enumerate(corners, size + 1):
        row = (*corner, -1)
        levels = [sum(a * b for a, b in zip(ray, row, strict=True)) for ray in rays]
        more, known = [], []
        for i, j in combinations(range(len(rays)), 2):
            if levels[i] * levels[j] >= 0:
                continue
            both = held[i] & held[j]
            if any(both <= held[k] for k in range(len(rays)) if k not in (i, j)):
                continue  # they are no neighbours
            a, b = abs(levels[j]), abs(levels[i])
            ray = [a * x + b * y for x, y in zip(rays[i], rays[j], strict=True)]
            more.append(tuple(x // gcd(*ray) for x in ray))
            known.append(both | {number})
        kept = [i for i, level in enumerate(levels) if level >= 0]
        held = [held[i] | {number} if not levels[i] else held[i] for i in kept] + known
        rays = [rays[i] for i in kept] + more
        if len(rays) > MOST_RAYS:
            return None
    weights = {ray[:-1] for ray in rays if any(ray[:-1])}
    return sorted(tuple(x // gcd(*w) for x in w) for w in weights)


def _simplices(face: frozenset[int], marks: Sequence[frozenset[int]], size: int) -> Iterator[tuple[int, ...]]:
    """Yield simplicial cones of a cone of this dimension, all with its first ray: no two faces are cut differently."""
    if len(face) <= size:
        yield tuple(sorted(face))
        return
    first = min(face)
    on_it = frozenset[int]().union(*(marks[r] for r in face))
    parts = {face & frozenset(r for r in face if mark in marks[r]) for mark in on_it}
    proper = [part for part in parts if part != face]
    for part in proper:
        if first not in part and not any(part < other for other in proper):
            for cone in _simplices(part, marks, size - 1):
                yield (first, *cone)
