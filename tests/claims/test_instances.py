"""Instances are counted once, by value; findings are counted by kind; what is certified, and by which bound."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lightning_sym import Architecture, Weights, certified_dimension
from lightning_sym.errors import ProgramError
from proofs_check.certificates import itself
from proofs_check.claim import Claim, Kind, Part, Refutation, Scope, Verdict
from proofs_check.claims.any_width import dimension_all_widths as all_widths
from proofs_check.claims.any_width import dimension_every_width as every_width
from proofs_check.claims.geometry.theorem_3_4_singular import OrbitPoint
from proofs_check.instances import key_in_claim, value_of
from proofs_check.registry import all_claims, claim_by_id
from proofs_check.run import run_claim, run_part

ONE, TWO = Architecture((2, 2), (1,), 2), Architecture((2, 2), (2,), 2)


def part_of(name: str, instances: Iterable[Any], check: Any = lambda instance: None, **more: Any) -> Part:
    kept = list(instances)
    return Part(name, Scope.INSTANCES, lambda quick: kept, check, **more)


def claim_of(*parts: Part) -> Claim:
    return Claim("a-claim", "nowhere", "a title", "x = x", parts)


def test_equal_instances_are_checked_once() -> None:
    seen: list[Any] = []
    numbers: list[Any] = [6, 6, Fraction(12, 2), 7]
    weights = [Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, q]]}) for q in numbers]
    result = run_part(part_of("a part", weights, seen.append), quick=True)
    assert (result.instances, len(seen)) == (2, 2)
    assert set(result.examples) <= {"first", "second"}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (np.array([[1, 2]]), np.array([[1, 2]]), True),
        (np.array([[1, 2]]), np.array([[1], [2]]), False),
        (np.array([[1, 2]]), np.array([[1, 3]]), False),
        ([(1, [2])], ([1, (2,)],), True),
        (ONE, Architecture([2, 2], [1], 2), True),  # type: ignore[arg-type]
        (ONE, TWO, False),
        ({"a": [1]}, {"a": [1]}, True),
        (None, 0, False),
    ],
)
def test_instances_are_equal_by_value(one: Any, other: Any, same: bool) -> None:
    assert (value_of(one) == value_of(other)) is same


def test_what_has_no_value_is_an_error_of_the_program() -> None:
    with pytest.raises(ProgramError, match="must have a value to compare it by, got set"):
        value_of({1})


def test_a_claim_counts_what_its_parts_share_once() -> None:
    claim = claim_of(part_of("a part", [ONE, TWO]), part_of("another", [TWO, Architecture((3, 2), (1,), 2)]))
    result = run_claim(claim, quick=True)
    assert [part.instances for part in result.parts] == [2, 2]
    assert result.instances == 3


def test_a_number_is_the_same_instance_only_where_both_parts_say_so() -> None:
    depths, heads = part_of("depths", [1, 2]), part_of("heads", [2, 3])
    assert run_claim(claim_of(depths, heads), quick=True).instances == 4
    depths, more = (part_of(name, [1, 2], instance="number of layers") for name in ("depths", "more"))
    assert run_claim(claim_of(depths, more), quick=True).instances == 2


def test_a_refutation_counts_its_instance() -> None:
    def refute(instance: Any) -> None:
        raise Refutation("no")

    assert run_claim(claim_of(part_of("a part", [1, 2], refute)), quick=True).instances == 1


def test_the_weights_of_the_singular_points_are_counted_once() -> None:
    """471 of them are checked, most of them by two parts."""
    claim = claim_by_id("theorem-3.4-singular")
    points = {
        key_in_claim(part, point, value_of(point))
        for part in claim.parts
        for point in part.instances(quick=True)
        if isinstance(point, OrbitPoint)
    }
    assert len(points) == 471
    result = run_claim(claim, quick=True)
    assert len(points) <= result.instances < sum(part.instances for part in result.parts)


def test_kinds_are_counted() -> None:
    even = Kind("an even number")
    result = run_part(part_of("a part", range(5), lambda n: None if n % 2 else even), quick=True)
    assert result.findings == ("an even number: 3 of 5 instances",)


@pytest.mark.parametrize("networks", [all_widths.small_networks, lambda quick: every_width.patterns(2, quick=quick)])
def test_an_orbit_meets_exactly_where_it_is_asked_for(networks: Any) -> None:
    asked = networks(quick=True)
    met = {each: "orbit" in certified_dimension(each, all_bounds=True).upper_evidence for each in asked}
    assert met == {network: all_widths.orbit_meets(network) for network in met}
    assert set(met.values()) == {True, False}


def test_how_many_dimensions_rest_on_the_count_alone_is_said() -> None:
    found = [part.findings for name in ("dimension-all-widths", "dimension-every-width")
             for part in run_claim(claim_by_id(name), quick=True).parts]  # fmt: skip
    assert [text.rpartition(": ")[2] for texts in found[:4] for text in texts if "the count" in text] == [
        "602 of 1,000 instances",
        "30 of 80 instances",
        "64 of 114 instances",
        "15 of 15 instances",
    ]


def test_without_the_orbit_what_asks_for_one_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lightning_sym.dimension.certify.ORBIT_LIMIT", 0)
    for name in ("dimension-all-widths", "dimension-every-width"):
        result = run_claim(claim_by_id(name), quick=True)
        assert result.error is None
        assert result.verdict is Verdict.UNDECIDED


NOT_ABOUT_FUNCTIONS = {
    ("dimension-every-width", "Lemma 1: the count of the variety, random architectures"),
    ("free-exponentials", "scores are linearly independent over the rationals"),
    # how much is kept is no dimension of functions: there is no certificate of it
    ("conserved-quantities", "other networks, nothing in them of width one, t >= 2: the moments are all"),
    ("conserved-quantities", "a residual block keeps what it keeps without the skip connection"),
    ("conserved-quantities", "two residual blocks keep less than two layers"),
    # no certificate holds a decoder with norms and MLPs
    ("whole-models-dimension", "rotary positions, tied or not, folded or not"),
    ("whole-models-dimension", "learned positions or none, with gates or without"),
    ("whole-models-dimension", "LayerNorm, as GPT-2 or without biases"),
    ("whole-models-dimension", "gains on queries and keys"),
    ("whole-models-dimension", "norms in front of and behind halves"),
    ("whole-models-dimension", "tied embeddings beside LayerNorm"),
}


def test_every_generic_part_says_what_it_certifies() -> None:
    generic = {(c.id, p.name): p.certifies for c in all_claims() for p in c.parts if p.scope is Scope.GENERIC}
    assert {name for name, certifies in generic.items() if certifies is None} == NOT_ABOUT_FUNCTIONS
    others = [p.name for c in all_claims() for p in c.parts if p.certifies and p.scope is not Scope.GENERIC]
    assert others == []


def test_certificates_do_not_depend_on_what_ran_before(tmp_path: Path) -> None:
    part = Part("a part", Scope.GENERIC, lambda quick: [ONE, TWO, ONE], lambda network: None, certifies=itself)
    sets = []
    for folder in ("one", "two"):
        result = run_claim(claim_of(part), quick=True, certificates=tmp_path / folder)
        sets.append(result.parts[0].certificates)
        certified_dimension(TWO)
    assert sets[0] == sets[1]
    assert set(sets[0] or ()) == {"a-claim/1-a-part-0001.json", "a-claim/1-a-part-0002.json"}
    assert sorted(
        path.relative_to(tmp_path / "one").as_posix() for path in (tmp_path / "one").rglob("*.json")
    ) == sorted(sets[0] or ())
