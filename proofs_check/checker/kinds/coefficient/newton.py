"""A bound from below by the faces of a Newton polyhedron, for which a fan is a proof that none was left out.

Cones of weights cover all weights if they are simplicial and each wall is on the boundary, or between two of them. If
the same exponents are smallest on all rays of a cone, those that are smallest at weights inside of some of its rays are
those that are smallest on each of these."""

import itertools
from fractions import Fraction

from proofs_check.checker.functions.matrices import determinant
from proofs_check.checker.kinds.coefficient.terms import DEGREES, Polynomial, add, at_most_one, polynomial, times
from proofs_check.checker.verify import COUNT, SOME, need, rational, scratch, spend, take

RAY, SIZES = range(2**63), range(1, 17)
Cone = tuple[int, ...]
Terms = list[object]


def tight_at(ray: list[int], exponents: list[tuple[int, ...]]) -> frozenset[tuple[int, ...]]:
    """Return the exponents of smallest weight."""
    spend(len(ray) * len(exponents))
    weights = [sum(a * b for a, b in zip(ray, e, strict=True)) for e in exponents]
    least = min(weights)
    return frozenset(e for e, w in zip(exponents, weights, strict=True) if w == least)


def covering(rays: list[list[int]], cones: list[Cone]) -> None:
    """Check that cones cover all weights."""
    need(len(set(cones)) == len(cones) > 0, "there must be a cone, and none twice")
    walls: dict[Cone, list[int]] = {}
    for cone in map(sorted, cones):
        side = determinant([rays[r] for r in cone])
        need(side, "a cone must have independent rays")
        for place in range(len(cone)):
            side = -side
            walls.setdefault((*cone[:place], *cone[place + 1 :]), []).append(1 if side > 0 else -1)
    for wall, sides in walls.items():
        if any(all(not rays[r][i] for r in wall) for i in range(len(rays[0]))):
            continue  # at the boundary
        need(len(sides) == 2, "a wall that is not at the boundary must be between two cones")
        need(sum(sides) == 0, "two cones must not lie on one side of a wall")


def definite(f: Polynomial) -> bool:
    """Return whether all terms have the same sign wherever no variable is zero."""
    first = next(iter(f))
    even = all((a - b) % 2 == 0 for e in f for a, b in zip(e, first, strict=True))
    return even and len({c > 0 for c in f.values()}) == 1


def derived(f: Polynomial, variables: tuple[int, ...]) -> Polynomial:
    """Return what x_i d/dx_i for these variables makes of it."""
    spend(len(f) * (1 + len(variables)))
    for i in variables:
        f = {e: c * e[i] for e, c in f.items() if e[i]}
    return f


def expanded(rows: list[list[Polynomial]]) -> Polynomial:
    """Return the determinant, by the first row."""
    if len(rows) == 1:
        return rows[0][0]
    found: Polynomial = {}
    for j, entry in enumerate(rows[0]):
        part = times(entry, expanded([row[:j] + row[j + 1 :] for row in rows[1:]]))
        add(found, part if j % 2 == 0 else {e: -c for e, c in part.items()})
    return {e: c for e, c in found.items() if c}


def combination_on_face(
    terms: Terms, face: list[Polynomial], variables: list[int], level: Fraction | None, n: int
) -> Polynomial:
    """Return a combination of generators on a face, and of derivatives or their minors, as the level allows."""
    places, found = range(len(variables)), dict[tuple[int, ...], Fraction]()
    most, size = (0, 1) if level is None else (level.denominator, level.numerator)
    with scratch():
        for term in terms:
            of, by, multiple = take(term, "a term", [object, 3])
            of = take(of, "generators", [range(len(face))])
            by = [variables[i] for i in take(by, "derivatives", [places])]
            if len(of) == 1:
                need(len(by) <= (most if size == 1 else 0), "derivatives must be of an order that the level allows")
            else:
                need(len(of) == len(by) == size, "minors must be of the size of the level")
            columns = [tuple(by)] if len(of) == 1 else [(i,) for i in by]
            part = expanded([[derived(face[k], column) for column in columns] for k in of])
            add(found, times(take(multiple, "a multiple", polynomial(n)), part))
    return {e: c for e, c in found.items() if c}


def by_faces(polynomials: list[Polynomial], variables: list[int], n: int, data: object) -> Fraction:
    """Return twice a bound of polynomials in some of n variables: of their monomials, but at most the level.

    The level is a rank, or 1 / the order of a zero: on no face have the polynomials a common zero off the coordinate
    planes where their differentials have a smaller rank, or which is of a larger order; without a level none at all.
    """
    size = len(variables)
    form = {
        "rays": [[RAY, size]],
        "cones": [[COUNT, size]],
        "multipliers": [[object, 2]],
        "level": (rational,),
        "faces": [{"rays": [COUNT, SOME], "terms": [object, SOME]}],
    }
    rays, cones, multipliers, level, faces = take(data, "fan", form)
    need(size in SIZES, f"there must be from 1 to {SIZES[-1]} variables beside those that are generators")
    need(all(r < len(rays) for cone in cones for r in cone), "cones must have rays that are there")
    good = level is None or (level in SIZES or 1 / level in SIZES if level else False)
    need(good, f"the level must be a rank, or 1 / an order, of at most {SIZES[-1]}")

    def short(e: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(e[i] for i in variables)

    exponents = list({short(e): None for f in polynomials for e in f})
    need(exponents and all(map(any, exponents)), "there must be terms, and none constant")
    covering(rays, list(map(tuple, cones)))
    tight = [tight_at(ray, exponents) for ray in rays]
    shown = set[frozenset[tuple[int, ...]]]()
    for at, terms in faces:
        need(all(r < len(rays) for r in at), "faces must have rays that are there")
        face = frozenset.intersection(*(tight[r] for r in at))
        own = [{e: c for e, c in f.items() if short(e) in face} for f in polynomials]
        found = combination_on_face(terms, own, variables, level, n)
        need(found and definite(found), "on a face a combination must have one sign off the coordinate planes")
        shown.add(face)
    for cone in cones:
        need(frozenset.intersection(*(tight[r] for r in cone)), "on a cone the same exponent must be the smallest")
        spend(2**size * size * (10 + len(exponents)))
        for part in itertools.chain(*(itertools.combinations(cone, k) for k in range(1, size + 1))):
            if not all(any(rays[r][i] for r in part) for i in range(size)):
                continue
            face = frozenset.intersection(*(tight[r] for r in part))
            if face not in shown:
                own = [{e: c for e, c in f.items() if short(e) in face} for f in polynomials]
                need(any(f and definite(f) for f in own), "of every face a proof must be given")
                shown.add(face)
    pairs = [(tuple(take(e, "exponents", [DEGREES, size])), take(y, "a multiplier", rational)) for e, y in multipliers]
    need(all(e in exponents and y >= 0 for e, y in pairs), "multipliers must be of terms, and not negative")
    value = at_most_one(pairs, (), size)
    return value if level is None else min(value, level)
