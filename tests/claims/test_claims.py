"""Claims: every mutant is refuted, nothing passes by having no instances, errors are not verdicts."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
import pytest
from unchecked import unchecked

from lightning_sym import Architecture, certified_dimension
from lightning_sym.errors import BadInput, ProgramError
from proofs_check import run as workers
from proofs_check.claim import Claim, Part, Refutation, Scope, Tally, Undecided, Verdict, expect_dimension, worst
from proofs_check.registry import all_claims, claim_by_id
from proofs_check.run import ClaimResult, run_claim, run_claims, run_part

MUTANTS = [
    pytest.param(claim, part, name, id=f"{claim.id}: {part.name}: {name}")
    for claim in all_claims()
    for part in claim.parts
    for name in part.mutants
]


@functools.cache
def quick_result(claim_id: str) -> ClaimResult:
    return run_claim(claim_by_id(claim_id), quick=True)


def shown(result: ClaimResult) -> tuple[Any, ...]:
    """What `check --quick` shows of a result, but for findings and seconds."""
    parts = tuple((part.name, part.verdict, part.instances) for part in result.parts)
    return result.id, result.verdict, result.expected, result.instances, result.error, parts


@pytest.mark.parametrize(("claim", "part", "name"), MUTANTS)
def test_every_mutant_is_refuted(claim: Claim, part: Part, name: str) -> None:
    """And by what is wrong with the mutant: the check itself gives no such witness."""
    result = run_part(replace(part, check=part.mutants[name]), quick=True)
    assert result.verdict is Verdict.REFUTED
    assert result.witness
    if part.expected is not Verdict.HOLDS:  # what holds has no witness
        (unchanged,) = (found for found in quick_result(claim.id).parts if found.name == part.name)
        assert result.witness != unchanged.witness


@pytest.mark.parametrize("claim", all_claims(), ids=lambda claim: claim.id)
def test_every_claim_gives_what_is_expected(claim: Claim) -> None:
    result = quick_result(claim.id)
    assert result.error is None
    assert result.as_expected, [(p.name, p.verdict, p.witness) for p in result.parts]
    assert len(result.parts) == len(claim.parts)
    assert all(p.instances > 0 for p in result.parts)
    assert not any(p.witness for p in result.parts if p.expected is Verdict.HOLDS)
    assert shown(unchecked(claim)) == shown(result)  # pages are tested with these in place of another run


@pytest.mark.parametrize("claim", all_claims(), ids=lambda claim: claim.id)
def test_every_claim_has_mutants_and_says_what_it_is(claim: Claim) -> None:
    assert sum(len(part.mutants) for part in claim.parts) >= 2
    assert claim.title
    assert claim.statement
    assert claim.source
    assert len({part.name for part in claim.parts}) == len(claim.parts)


def test_at_least_a_thousand_random_architectures_even_when_quick() -> None:
    (random_part, *_) = claim_by_id("dimension-all-widths").parts
    quick = list(random_part.instances(quick=True))
    assert quick == list(random_part.instances(quick=True))
    assert len(set(quick)) == len(quick) >= 1000
    assert {n.depth for n in quick} == {1, 2, 3, 4}


def part_of(check: Any, instances: Iterable[Any] = (1, 2, 3), **more: Any) -> Part:
    return Part("a part", Scope.INSTANCES, lambda quick: instances, check, **more)


def claim_of(*parts: Part) -> Claim:
    return Claim("a-claim", "nowhere", "a title", "x = x", parts)


def refute(instance: int) -> NoReturn:
    raise Refutation(f"witness {instance}")


def undecided(instance: int) -> None:
    raise Undecided(f"between {instance} and {instance + 1}")


def crash(instance: int) -> None:
    raise ZeroDivisionError("a fault")


def test_no_instances_is_an_error_and_not_a_verdict() -> None:
    with pytest.raises(ProgramError, match="had no instances"):
        run_part(part_of(refute, instances=()), quick=True)
    result = run_claim(claim_of(part_of(refute, instances=())), quick=True)
    assert result.verdict is None
    assert not result.as_expected
    assert "had no instances" in (result.error or "")


def test_the_first_refutation_ends_a_part() -> None:
    result = run_part(part_of(refute), quick=True)
    assert (result.verdict, result.instances, result.witness) == (Verdict.REFUTED, 1, "witness 1")


def test_an_undecided_instance_does_not_end_a_part() -> None:
    result = run_part(part_of(undecided), quick=True)
    assert (result.verdict, result.instances, result.witness) == (Verdict.UNDECIDED, 3, "between 1 and 2")

    def later(instance: int) -> None:
        (refute if instance == 3 else undecided)(instance)

    assert run_part(part_of(later), quick=True).verdict is Verdict.REFUTED


def test_a_fault_of_the_program_is_never_a_verdict() -> None:
    """Nor does it count as refuting a mutant: run_part lets it through."""
    with pytest.raises(ZeroDivisionError):
        run_part(part_of(crash), quick=True)
    result = run_claim(claim_of(part_of(lambda i: None), part_of(crash)), quick=True)
    assert result.verdict is None
    assert "ZeroDivisionError" in (result.error or "")
    assert len(result.parts) == 1


def test_findings_are_collected_once() -> None:
    result = run_part(part_of(lambda i: "odd" if i % 2 else None), quick=True)
    assert (result.findings, result.tallies) == (("odd",), ())
    result = run_part(part_of(lambda i: Tally(f"{i} of 3") if i < 3 else "needed"), quick=True)
    assert (result.findings, result.tallies) == (("needed",), ("1 of 3", "2 of 3"))


def test_findings_survive_a_refutation() -> None:
    def check(instance: int) -> str:
        return "seen" if instance < 3 else refute(instance)

    result = run_part(part_of(check), quick=True)
    assert (result.verdict, result.findings, result.examples["last"]) == (Verdict.REFUTED, ("seen",), "3")


def test_examples_are_short_and_no_addresses() -> None:
    def examples(*instances: object) -> dict[str, str]:
        return dict(run_part(part_of(lambda instance: None, instances=instances), quick=True).examples)

    assert examples(1) == {"first": "1"}
    assert examples(1, 2, 3, 4) == {"first": "1", "second": "2", "last": "4"}
    assert examples((Fraction(-1, 2), np.array([[Fraction(3)]])), None) == {"first": "(-1/2, [[3]])"}
    assert examples(object(), "a\n  b", "x" * 90) == {"second": "a b", "last": "x" * 77 + "..."}


def test_a_claim_expected_to_be_refuted() -> None:
    claim = claim_of(part_of(refute, expected=Verdict.REFUTED), part_of(lambda i: None))
    assert claim.expected is Verdict.REFUTED
    assert run_claim(claim, quick=True).as_expected
    surprising = claim_of(part_of(lambda i: None, expected=Verdict.REFUTED))
    assert not run_claim(surprising, quick=True).as_expected


def test_the_worst_verdict_wins() -> None:
    assert worst([Verdict.HOLDS, Verdict.UNDECIDED]) is Verdict.UNDECIDED
    assert worst([Verdict.UNDECIDED, Verdict.REFUTED]) is Verdict.REFUTED
    assert worst([]) is Verdict.HOLDS


def test_dimensions_that_did_not_meet_are_undecided_or_refuted() -> None:
    result = replace(certified_dimension(Architecture((2, 2), (1,), 2)), upper=9)
    with pytest.raises(Undecided, match="between 6 and 9"):
        expect_dimension(result, 7)
    with pytest.raises(Refutation, match="between 6 and 9, stated 10"):
        expect_dimension(result, 10)
    with pytest.raises(Refutation, match="found 6, stated 7"):
        expect_dimension(replace(result, upper=6), 7)


def test_unknown_ids_are_refused() -> None:
    with pytest.raises(BadInput, match=rf"must be one of {len(all_claims())}, got 'theorem-0': did you mean"):
        claim_by_id("theorem-0")


def test_claims_run_side_by_side_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    claims = [claim_by_id("definition-1"), claim_by_id("lemma-3.1")]
    monkeypatch.setattr(workers, "cores", lambda: 2)
    side_by_side = {r.id: r for r in run_claims(claims, quick=True)}
    monkeypatch.setattr(workers, "cores", lambda: 1)
    seen: list[str] = []
    one_by_one = {r.id: r for r in run_claims(claims, True, lambda claim_id, count: seen.append(claim_id))}
    assert {k: r.parts for k, r in side_by_side.items()} == {k: r.parts for k, r in one_by_one.items()}
    assert set(seen) == {"definition-1", "lemma-3.1"}
