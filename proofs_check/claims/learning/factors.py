r"""The learning coefficient of a product of matrices, against orbits of such products and bounds of polynomials.

Matrices with product zero fall into finitely many orbits, sums of intervals; half the smallest codimension of an orbit
near given ones is compared with what the program says (`docs/learning-coefficients.md`, Theorem 11).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import pairwise, product

from lightning_sym import deep_linear_coefficient, factorization_coefficient, polynomial_coefficient
from proofs_check.blackboard.step import Step, must, rational, show
from proofs_check.claim import Claim, Part, Scope, WalkThrough, expect_equal
from proofs_check.claims.learning.ideals import expect_between
from proofs_check.samples import listed

Intervals = tuple[tuple[int, int], ...]
"""Lines that are mapped to each other, each by its first and last place."""
Case = tuple[int, Intervals]
"""The number of matrices, and what they are."""
Answer = Callable[[Case], Fraction]


def widths(case: Case) -> list[int]:
    """Return how many lines there are at each place."""
    return [sum(a <= s <= b for a, b in case[1]) for s in range(case[0] + 1)]


def factors(case: Case) -> list[list[list[int]]]:
    """Return matrices that map lines as the intervals say."""
    here = [[n for n, (a, b) in enumerate(case[1]) if a <= s <= b] for s in range(case[0] + 1)]
    return [[[int(m == n) for n in before] for m in after] for before, after in pairwise(here)]


def stated(case: Case) -> Fraction:
    """Return the coefficient that the program gives at these matrices."""
    return factorization_coefficient(factors(case)).lower


def orbits(sizes: list[int]) -> Iterator[dict[tuple[int, int], int]]:
    """Yield all sums of intervals with these numbers of lines, none from the first to the last place."""
    last = len(sizes) - 1
    intervals = [(a, b) for a in range(last + 1) for b in range(a, last + 1) if (a, b) != (0, last)]
    for counts in product(*(range(min(sizes[a : b + 1]) + 1) for a, b in intervals if a < b)):
        found = dict(zip((each for each in intervals if each[0] < each[1]), counts, strict=True))
        left = [w - sum(m for (a, b), m in found.items() if a <= s <= b) for s, w in enumerate(sizes)]
        if min(left) >= 0:
            yield found | {(s, s): rest for s, rest in enumerate(left)}


def ranks(lines: dict[tuple[int, int], int], size: int) -> list[int]:
    """Return the ranks of all partial products."""
    places = [(i, k) for i in range(size) for k in range(i + 1, size)]
    return [sum(m for (a, b), m in lines.items() if a <= i and k <= b) for i, k in places]


def by_orbits(case: Case, answer: Answer = stated) -> None:
    """Check the answer: half the least codimension of an orbit with ranks at least those of the matrices."""
    sizes = widths(case)
    own = ranks({each: case[1].count(each) for each in case[1]}, len(sizes))
    whole, codimensions = sum(a * b for a, b in pairwise(sizes)), []
    for lines in orbits(sizes):
        if all(x >= y for x, y in zip(ranks(lines, len(sizes)), own, strict=True)):
            maps = sum(m * n for (a, b), m in lines.items() for (c, d), n in lines.items() if c <= a <= d <= b)
            codimensions.append(whole - sum(w * w for w in sizes) + maps)
    expect_equal(Fraction(min(codimensions), 2), answer(case), f"{case}")


def by_polynomials(case: Case, answer: Answer = stated) -> None:
    """Check both bounds of the entries of the product, at these matrices."""
    given = factors(case)
    entries: list[list[str]] = [[str(int(i == j)) for j in range(len(given[0][0]))] for i in range(len(given[0][0]))]
    point: dict[str, int] = {}
    for number, matrix in enumerate(given):
        names = [[f"w{number}_{i}_{j}" for j in range(len(row))] for i, row in enumerate(matrix)]
        point |= {name: x for row, own in zip(names, matrix, strict=True) for name, x in zip(row, own, strict=True)}
        entries = [[" + ".join(f"{row[k]}*{t}" for k in range(len(row)) for t in entries[k][j].split(" + ") if t != "0")
                    for j in range(len(entries[0]))] for row in names]  # fmt: skip
    bounds = polynomial_coefficient(", ".join(t for row in entries for t in row), point)
    expect_between(bounds, answer(case), f"{case}")


def _mutants(check: Callable[..., None]) -> dict[str, Callable[[object], None]]:
    return {
        "the least of all factors": partial(check, answer=lambda case: deep_linear_coefficient(widths(case)).lower),
        "one matrix is zero": partial(
            check, answer=lambda case: min(Fraction(a * b, 2) for a, b in pairwise(widths(case)))
        ),
        "half more": partial(check, answer=lambda case: stated(case) + Fraction(1, 2)),
    }


def walk() -> Iterator[Step]:
    """Yield two by two matrices: three at zero, three with two invertible ones, two of rank one."""
    zero, unit = [[0, 0], [0, 0]], [[1, 0], [0, 1]]
    found = factorization_coefficient([zero, zero, zero])
    must((found.value, found.multiplicity) == (Fraction(3, 2), 3), "three, one of codimension three each")
    yield Step(
        "Three matrices that are zero",
        "The products that are zero have components of codimension three: the first factor, the first two and all "
        "lose one line, in three ways. They are a chain, so the multiplicity is three.",
        (show(r"\lambda", found.lower),),
    )
    other = factorization_coefficient([unit, unit, zero])
    must(other.value == 2, "the last one must be zero")
    yield Step(
        "Two that are invertible",
        "Near these the last factor itself must be zero, which is four numbers.",
        (show("W_1", rational(unit)), show(r"\lambda", other.lower)),
    )
    one = [[1, 0], [0, 0]]
    rank_one = factorization_coefficient([one, one])
    must((rank_one.value, rank_one.multiplicity) == (Fraction(2), 2), "three coordinates, and a product of two numbers")
    yield Step(
        "A map of rank one",
        "What has rank one is three coordinates of the product. Beside them stands a product of two numbers near zero: "
        "one more, in two ways.",
        (show("W_1", rational(one)), show(r"\lambda", rank_one.lower)),
    )


CLAIM = Claim(
    id="learning-coefficient-factors",
    source="docs/learning-coefficients.md, Theorem 11",
    title="the learning coefficient of a product of matrices is half the smallest codimension of what is near them",
    statement=(
        r"2 \lambda = r (w_0 + w_L - r) + \min_z \sum_k (w_k - r - z_k)(z_{k-1} - z_k), \quad "
        r"z_k - z_i \ge r_{ik} - w_i"
    ),
    hypotheses=(
        r"The ideal of $W_L \cdots W_1 - W_L^* \cdots W_1^*$ at $W^*$, any real matrices; $r_{ik}$ is the rank of "
        r"$W_k^* \cdots W_{i+1}^*$, $r$ that of all, and $w_0 - r = z_0 \ge z_1 \ge \cdots \ge z_L = 0$. Proved on the "
        "page; here orbits near some matrices are counted, and small ideals bounded."
    ),
    rests_on=("learning-coefficient-layer",),
    place=465,
    walk=WalkThrough("How products of matrices can be zero.", walk),
    parts=(
        Part(
            "orbits near given matrices, each by its dimension",
            Scope.INSTANCES,
            listed(  # sides up to three
                [
                    (2, ((0, 0), (0, 0), (1, 1), (1, 1), (2, 2), (2, 2))),
                    (2, ((0, 1), (0, 1), (2, 2), (2, 2))),
                    (3, ((0, 1), (0, 1), (2, 2), (2, 2), (3, 3), (3, 3))),
                    (3, ((0, 1), (0, 1), (2, 3), (2, 3))),
                    (3, ((0, 0), (0, 2), (1, 2), (3, 3), (3, 3))),
                ],
                [
                    (4, ((0, 1), (0, 0), (1, 1), (2, 2), (2, 3), (3, 3), (4, 4), (4, 4))),
                    (4, ((0, 2), (0, 2), (1, 3), (3, 3), (4, 4), (4, 4))),
                ],
            ),
            by_orbits,
            _mutants(by_orbits),
            instance="number of matrices, and intervals",
        ),
        Part(
            "the ideal of a product, between two bounds that meet",
            Scope.INSTANCES,
            listed(
                [(3, ((0, 1), (0, 0), (1, 2), (2, 3), (3, 3))), (3, ((0, 2), (0, 2), (3, 3), (3, 3)))],
                [(3, ((0, 0), (1, 1), (1, 1), (2, 2), (2, 2), (3, 3)))],
            ),
            by_polynomials,
            {name: check for name, check in _mutants(by_polynomials).items() if name != "one matrix is zero"},
            instance="number of matrices, and intervals",
        ),
    ),
)
