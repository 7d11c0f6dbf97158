"""Chains of spaces that factors leave invariant: what is counted, against all spaces that are spanned by lines."""

from __future__ import annotations

from itertools import product

import pytest

from lightning_sym import factorization_coefficient
from lightning_sym.coefficients import deep_linear
from lightning_sym.coefficients.deep_linear import Dimensions, PartialProducts
from proofs_check.claims.learning.factors import Case, factors, widths

CASES: list[Case] = [
    (4, ((1, 3), (0, 0), (0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (4, 4))),
    (4, ((1, 3), (3, 4), (0, 0), (0, 0), (1, 1), (2, 2), (4, 4))),
    (4, ((0, 1), (1, 3), (0, 0), (2, 2), (3, 3), (4, 4), (4, 4))),
    (4, ((0, 1), (0, 2), (1, 3), (3, 3), (4, 4), (4, 4))),
    (3, ((0, 0), (0, 1), (1, 2), (2, 2), (3, 3), (3, 3))),
    (3, ((0, 0), (0, 0), (1, 1), (1, 1), (2, 2), (2, 2), (3, 3), (3, 3))),
    (4, ((0, 0), (0, 0), (1, 2), (1, 2), (3, 3), (3, 3), (4, 4), (4, 4))),
]
"""Sums of intervals; of the first three the longest chain of minimizers has no invariant spaces."""


def near(case: Case) -> PartialProducts:
    """The ranks of partial products: how many intervals go through both places."""
    last, lines = case
    ranks = tuple(tuple(sum(a <= i and k <= b for a, b in lines) for k in range(i + 1, last + 1)) for i in range(last))
    return PartialProducts(tuple(widths(case)), ranks)


def longest(case: Case, best: int) -> int:
    """The longest chain of spaces of the smallest codimension that lines span, by all choices of ends of intervals."""
    last, lines = case
    one = near(case)

    def dimensions(starts: tuple[int, ...]) -> Dimensions:
        return tuple(sum(c <= k <= b for c, (_, b) in zip(starts, lines, strict=True)) for k in range(last + 1))

    choices = [[0] if not a else [b + 1] if b == last else range(a, b + 2) for a, b in lines]
    chosen = {starts: dimensions(starts) for starts in product(*choices)}
    good = (starts for starts, z in chosen.items() if one.allows(z) and one.codimension(z) == best)
    spaces = sorted(good, key=sum, reverse=True)
    lengths: dict[tuple[int, ...], int] = {}
    for starts in spaces:  # from small spaces to large ones
        inside = (n for other, n in lengths.items() if chosen[other] != chosen[starts]
                  and all(x >= y for x, y in zip(other, starts, strict=True)))  # fmt: skip
        lengths[starts] = 1 + max(inside, default=0)
    return max(lengths.values())


@pytest.mark.parametrize("case", CASES)
def test_the_multiplicity_is_that_of_all_choices_of_lines(case: Case) -> None:
    one = near(case)
    chain = one.best()
    found = factorization_coefficient(factors(case))
    assert found.multiplicity == longest(case, one.codimension(chain[0]))
    assert (found.multiplicity < len(chain)) == (case in CASES[:3])


def test_too_many_chains_leave_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deep_linear, "MOST_CHAINS", 2)
    found = factorization_coefficient(factors(CASES[0]))
    assert found.multiplicity is None
    assert found.ranks["multiplicity at most"] == 5
