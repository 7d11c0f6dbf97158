"""Bounds that claims rest on: which way they point, and that no formula is compared with itself."""

from __future__ import annotations

import numpy as np
import pytest

import lightning_sym.dimension.certify as dimension
from lightning_sym import Architecture, VirtualWeights, certified_dimension
from lightning_sym.errors import ProgramError
from lightning_sym.exact.rational import rank
from lightning_sym.rings.arrays import exact_matrix
from lightning_sym.rings.polynomials import PolynomialRing
from proofs_check.claim import Claim, Refutation, Undecided, Verdict, expect_orbit, meeting_bounds
from proofs_check.claims.any_width import softmax_all_widths
from proofs_check.claims.deep import corollary_3_8
from proofs_check.claims.deep.lemma_3_5 import fiber_dimension
from proofs_check.claims.deep.theorem_3_7.ideal import confirmed, normalized, quotient_dimension
from proofs_check.claims.normalized import conjecture_3_10, figure_3
from proofs_check.claims.one_layer import corollary_3_3
from proofs_check.claims.one_layer.lemma_3_1 import rank_factorization
from proofs_check.run import run_claim


def test_bounds_meet_or_are_undecided_or_contradict_each_other() -> None:
    assert meeting_bounds(3, 3, at="here") == 3
    with pytest.raises(Undecided, match="here: between 2 and 3"):
        meeting_bounds(2, 3, at="here")
    with pytest.raises(ProgramError, match="here: the lower bound 4 exceeds the upper bound 3"):
        meeting_bounds(4, 3, at="here")


def test_one_bound_alone_contains_the_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    expect_orbit(certified_dimension(Architecture((3, 2), (2,), 2), all_bounds=True))
    monkeypatch.setattr(dimension, "ORBIT_LIMIT", 0)
    with pytest.raises(Undecided, match="by an orbit does not meet"):
        expect_orbit(certified_dimension(Architecture((3, 2), (2,), 2), all_bounds=True))


CONTAINED = (corollary_3_3, corollary_3_8, conjecture_3_10, figure_3, softmax_all_widths)
"""Claims whose formulas are contained in the count of virtual weights."""


@pytest.mark.parametrize("claim", [module.CLAIM for module in CONTAINED], ids=lambda claim: claim.id)
def test_the_printed_dimensions_are_undecided_without_the_orbit(claim: Claim, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dimension, "ORBIT_LIMIT", 0)
    result = run_claim(claim, quick=True)
    assert result.error is None
    assert result.verdict is Verdict.UNDECIDED


@pytest.mark.parametrize(
    ("widths", "ranks", "tokens", "holds"),
    [
        ((3, 3, 3), (2, 1), 2, True),
        ((3, 3, 3), (1, 1), 2, True),
        ((3, 3, 3), (1, 1), 1, True),
        ((3, 3, 3), (3, 3), 1, False),
        ((4, 3, 3, 5), (2, 1, 1), 2, True),
        ((3, 3, 3, 3), (1, 1, 1), 3, True),
        ((3, 3, 3, 3), (2, 1, 2), 2, False),
        ((4, 3, 3, 5), (1, 2, 1), 2, False),
    ],
)
def test_the_sharp_condition_of_corollary_3_8(
    widths: tuple[int, ...], ranks: tuple[int, ...], tokens: int, holds: bool
) -> None:
    network = Architecture(widths, ranks, tokens)
    condition = corollary_3_8.holds_at_one_token if tokens == 1 else corollary_3_8.holds_at_two_tokens
    assert condition(network) is holds
    assert (certified_dimension(network).value == corollary_3_8.printed_formula(network)) is holds


def test_the_fiber_behind_rank_one_is_counted_without_symmetric_parts() -> None:
    for widths in [(2, 2, 2), (3, 3, 2), (4, 3, 2, 3)]:
        network = Architecture(widths, (1, *widths[1:-1]), 2)
        assert fiber_dimension(network) == sum(d * d for d in widths[1:-1])


def test_a_rank_factorization_is_one() -> None:
    matrix = exact_matrix([[0, 1, 2], [0, 2, 4], [0, 1, 3]])
    left, right = rank_factorization(matrix)
    assert (left @ right == matrix).all()
    assert left.shape[1] == rank(matrix) == 2


def test_solutions_of_an_ideal_are_counted() -> None:
    a, b = PolynomialRing(["a", "b"]).generators
    assert quotient_dimension([a, b]) == 1
    assert quotient_dimension([a**2, a * b, b**2]) == 3
    assert quotient_dimension([a * b]) is None
    assert quotient_dimension([a**0]) == 0


def test_the_ideals_of_a_fiber_miss_no_orbit() -> None:
    swap = (exact_matrix([[1, 2], [3, 1]]), exact_matrix([[3, 1], [6, 2]])), exact_matrix([[1, 3]])
    given = VirtualWeights(*swap)
    other = VirtualWeights((given.attention[0], exact_matrix(np.outer([1, 3], [3, 1]))), exact_matrix([[1, 2]]))
    places, scaled = normalized(other)
    assert places == ((0, 0), (0, 0))
    assert (scaled.value == 3 * other.value).all()
    confirmed(given, 2, [given, other])
    with pytest.raises(Refutation, match="1 solutions stated, the ideal has 2"):
        confirmed(given, 2, [given])
