r"""A bound from below by the faces of the Newton polyhedron of generators, which is exact where it meets the weights.

On each compact face the terms of the generators that lie on it are looked at where no variable is zero. Where they
have no common zero there, or one at which their differentials have rank `k`, or only one of order `e`, twice the
coefficient is at least the smaller one of the polyhedron's number and `k`, or `1/e`
(docs/learning-coefficients-linear-attention.md, Proposition 8). That they have no other zero is shown by a combination
that is one monomial.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from math import ceil, comb, floor, prod

import numpy as np

from lightning_sym.certificates.coefficients import terms_document
from lightning_sym.certificates.document import Document
from lightning_sym.certificates.files import number_document
from lightning_sym.coefficients.composition import StepBudget, StepPrice
from lightning_sym.coefficients.fans import Fan, fan_of
from lightning_sym.coefficients.ideal_elements import Terms
from lightning_sym.coefficients.newton import best_weights, multiplicity
from lightning_sym.exact.ideals import Exponents
from lightning_sym.exact.rational import rank, row_echelon
from lightning_sym.rings.rationals import RationalMatrix, as_fraction

MOST_VARIABLES, MOST_TERMS, MOST_ROWS, MOST_PARTS = 10, 400, 160, 60
"""Of generators whose faces are looked at, and multiples among which a monomial is looked for."""

RUNS = 3
"""Orders of zeros that are tried."""

SECONDS = 4e-7
"""That elimination takes, about, for each entry and row."""


@dataclass(frozen=True)
class FacePart:
    """Terms on a face that must not all be zero: of a generator, of a derivative of it, or a minor of derivatives.

    Attributes:
        generators, derivatives: one generator and what it is derived by, or those of a minor.
        terms: on the face; derivatives are `x_i d/dx_i`.
    """

    generators: tuple[int, ...]
    derivatives: tuple[int, ...]
    terms: Terms


Combination = list[tuple[FacePart, Terms]]


@dataclass(frozen=True)
class FaceProof:
    """What the faces prove.

    Attributes:
        value: twice the coefficient is at least this.
        order: the multiplicity, if the value is exact, where the faces prove it.
    """

    value: Fraction
    order: int | None
    fan: Fan
    level: Fraction | None
    multipliers: tuple[tuple[Exponents, Fraction], ...]
    combinations: tuple[tuple[tuple[int, ...], Combination], ...]

    def document(self, widened: Callable[[Exponents], Exponents]) -> Document:
        """Return what a certificate says of it; `widened` writes exponents in all variables."""
        return {
            "rays": [list(ray) for ray in self.fan.rays],
            "cones": [list(cone) for cone in self.fan.cones],
            "multipliers": [[list(e), number_document(y)] for e, y in self.multipliers],
            "level": None if self.level is None else number_document(self.level),
            "faces": [
                {
                    "rays": list(rays),
                    "terms": [
                        [list(part.generators), list(part.derivatives),
                         terms_document({widened(e): c for e, c in times.items()})]
                        for part, times in combination
                    ],
                }
                for rays, combination in self.combinations
            ],
        }  # fmt: skip


def by_faces(generators: Mapping[int, Terms], variables: int, allowed: StepBudget) -> FaceProof | None:
    """Return the best bound that faces prove; nothing where they prove none, or there are too many terms or cones.

    Args:
        generators: by number, not zero, in so many variables.
        variables: how many there are.
        allowed: for the fan and for all faces.

    Example:
        >>> from lightning_sym.limits import Work
        >>> cusp = {(2, 0): Fraction(1), (0, 3): Fraction(1)}
        >>> found = by_faces({0: cusp}, 2, StepBudget(Work(10), 10**8))
        >>> found.value, found.order, found.level
        (Fraction(5, 6), 1, Fraction(1, 1))
    """
    exponents = list({e for terms in generators.values() for e in terms})
    if not exponents or variables > MOST_VARIABLES or len(exponents) > MOST_TERMS:
        return None
    if not allowed.begins(StepPrice(1e-3 * len(exponents) + 1e-4 * variables**3), "the Newton polyhedron"):
        return None
    program, fan = best_weights(exponents, variables), fan_of(exponents)
    if fan is None:
        return None
    faces = {
        rays: {k: own for k, terms in generators.items() if (own := {e: c for e, c in terms.items() if e in face})}
        for face, rays in fan.faces(exponents).items()
    }
    open_faces = {rays: own for rays, own in faces.items() if not any(map(is_definite, own.values()))}
    for level in _levels(program.value, len(generators), variables) if open_faces else [None]:
        found = []
        for rays, terms_on in sorted(open_faces.items(), key=lambda each: sum(map(len, each[1].values()))):
            combination = _monomial_of(terms_on, level, allowed)
            if combination is None:
                break
            found.append((rays, combination))
        if len(found) == len(open_faces):
            more = level is None or level > program.value
            pairs = tuple((e, y) for e, y in zip(exponents, program.multipliers, strict=True) if y)
            value = program.value if level is None else min(program.value, level)
            order = multiplicity(exponents, variables) if more else None if level == program.value else 1
            return FaceProof(value, order, fan, level, pairs, tuple(found))
    return None


def is_definite(terms: Terms) -> bool:
    """Return whether all terms have one sign wherever no variable is zero.

    Example:
        >>> [is_definite({(2, 1): Fraction(1), (0, k): Fraction(2)}) for k in (2, 3)]
        [False, True]
    """
    first = next(iter(terms))
    even = all((a - b) % 2 == 0 for e in terms for a, b in zip(e, first, strict=True))
    return even and len({c > 0 for c in terms.values()}) == 1


@dataclass(frozen=True)
class Sign:
    """Positive weights and a point where the terms of smallest weight are not zero."""

    weights: tuple[int, ...]
    point: tuple[int, ...]

    def document(self) -> Document:
        """Return what a certificate says of it."""
        return {"weights": list(self.weights), "point": list(self.point)}


def both_signs(terms: Terms, variables: int, allowed: StepBudget) -> tuple[Sign, Sign] | None:
    """Return where a polynomial is positive, and where negative, as near to the origin as one likes.

    Its faces show both; `None` where they do not, or where there are too many.

    Points have coordinates 1 and -1.

    Example:
        >>> from lightning_sym.limits import Work
        >>> both_signs({(2, 0): Fraction(1), (0, 4): Fraction(-1)}, 2, StepBudget(Work(10), 10**8))
        (Sign(weights=(2, 2), point=(-1, -1)), Sign(weights=(3, 1), point=(-1, -1)))
    """
    if variables > MOST_VARIABLES or len(terms) > MOST_TERMS:
        return None
    if not allowed.begins(StepPrice(2e-6 * len(terms) * 2**variables), "signs"):
        return None
    fan = fan_of(list(terms))
    if fan is None:
        return None
    corners = list(product((-1, 1), repeat=variables))
    found: dict[bool, Sign] = {}
    for face, rays in fan.faces(list(terms)).items():
        for point in corners:
            value = sum((terms[e] * prod(map(pow, point, e)) for e in face), Fraction(0))
            if value and (value > 0) not in found:
                weights = (sum(fan.rays[r][i] for r in rays) for i in range(variables))
                found[value > 0] = Sign(tuple(weights), point)
        if len(found) == 2:
            return found[True], found[False]
    return None


def _levels(value: Fraction, generators: int, variables: int) -> list[Fraction | None]:
    """Return ranks or orders that are more than the polyhedron's number, then those that are less."""
    if value < 1:
        orders = range(ceil(1 / value) - 1, floor(1 / value) + RUNS)
        return [Fraction(1, e) for e in orders]
    most = min(floor(value) + 1, generators, variables)
    return [None, *(Fraction(k) for k in range(most, 0, -1)), Fraction(1, 2)]


def _monomial_of(own: Mapping[int, Terms], level: Fraction | None, allowed: StepBudget) -> Combination | None:
    """Return a combination of the parts of a face that is one monomial."""
    parts = list(_parts(own, level))
    face = sorted({e for terms in own.values() for e in terms})
    if len(parts) > MOST_PARTS:
        return None
    for degree in range(1, rank([list(e) for e in face]) + 2):
        rows: list[tuple[FacePart, Exponents]] = []
        for part in parts:
            times = degree - (len(part.generators) if len(part.generators) > 1 else 1)
            if times >= 0 and comb(len(face) + times - 1, times) <= MOST_ROWS:
                rows += [(part, shift) for shift in _sums(face, times)]
        columns = sorted({_plus(e, shift) for part, shift in rows for e in part.terms})
        if not rows or len(rows) > MOST_ROWS:
            return None
        if not allowed.begins(StepPrice(_slower(parts) * len(rows) ** 2 * (len(rows) + len(columns))), "faces"):
            return None
        found = _single(rows, columns)
        if found is not None:
            return found
    return None


def _slower(parts: Sequence[FacePart]) -> float:
    """Return the seconds that elimination takes for each entry and row with numbers as long as those of these parts."""
    numbers = (c for part in parts for c in part.terms.values())
    bits = max((max(c.numerator.bit_length(), c.denominator.bit_length()) for c in numbers), default=1)
    return SECONDS * (1 + bits / 64 + (bits / 128) ** 2)


def _parts(own: Mapping[int, Terms], level: Fraction | None) -> Iterator[FacePart]:
    """Yield what must not all be zero on a face: generators, and derivatives of them or minors of these."""
    for k, terms in own.items():
        yield FacePart((k,), (), terms)
    if level is None:
        return
    matrix = [list(e) for e in {e for terms in own.values() for e in terms}]
    ways: list[int] = []  # other derivatives are combinations of these
    for j in range(len(matrix[0])):
        chosen = [[row[i] for i in (*ways, j)] for row in matrix]
        ways += [j] if rank(chosen) > len(ways) else []
    if level.denominator > 1 or level == 1:
        for k, terms in own.items():
            for order in range(1, level.denominator + 1):
                for derivatives in combinations_with_replacement(ways, order):
                    yield FacePart((k,), derivatives, _derived(terms, derivatives))
        return
    size = int(level)
    if comb(len(own), size) * comb(len(ways), size) > MOST_PARTS:
        return
    for some in combinations(own, size):
        for derivatives in combinations(ways, size):
            yield FacePart(some, derivatives, _minor([[_derived(own[k], (j,)) for j in derivatives] for k in some]))


def _derived(terms: Terms, derivatives: Sequence[int]) -> Terms:
    found = dict(terms)
    for j in derivatives:
        found = {e: c * e[j] for e, c in found.items() if e[j]}
    return found


def _minor(matrix: Sequence[Sequence[Terms]]) -> Terms:
    """Return the determinant, by its first row."""
    if len(matrix) == 1:
        return matrix[0][0]
    found: Terms = {}
    for j, entry in enumerate(matrix[0]):
        rest = _minor([[*row[:j], *row[j + 1 :]] for row in matrix[1:]])
        for e, c in entry.items():
            for f, d in rest.items():
                key = _plus(e, f)
                found[key] = found.get(key, Fraction(0)) + (c * d if j % 2 == 0 else -c * d)
    return {e: c for e, c in found.items() if c}


def _plus(a: Exponents, b: Exponents) -> Exponents:
    return tuple(x + y for x, y in zip(a, b, strict=True))


def _sums(face: Sequence[Exponents], count: int) -> list[Exponents]:
    """Return all sums of so many exponents."""
    found = {(0,) * len(face[0])}
    for _ in range(count):
        found = {_plus(a, b) for a in found for b in face}
    return sorted(found)


def _single(rows: Sequence[tuple[FacePart, Exponents]], columns: Sequence[Exponents]) -> Combination | None:
    """Return the shortest combination of multiples of parts that is one monomial."""
    place, width = {e: j for j, e in enumerate(columns)}, len(columns)
    matrix = np.zeros((len(rows), width + len(rows)), dtype=object)
    for i, (part, shift) in enumerate(rows):
        matrix[i, width + i] = 1
        for e, c in part.terms.items():
            matrix[i, place[_plus(e, shift)]] = c
    echelon, pivots = row_echelon(RationalMatrix.of(matrix))
    found: list[Combination] = []
    for row, pivot in zip(echelon.flint.tolist(), pivots, strict=True):
        if pivot >= width or sum(x != 0 for x in row[:width]) != 1:
            continue
        combination: dict[int, tuple[FacePart, Terms]] = {}
        for (part, shift), x in zip(rows, row[width:], strict=True):
            if x != 0:
                combination.setdefault(id(part), (part, {}))[1][shift] = as_fraction(x)
        found.append(list(combination.values()))
    return min(found, key=lambda each: sum(len(times) for _, times in each), default=None)
