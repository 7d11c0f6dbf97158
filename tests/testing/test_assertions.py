"""Same function, dimension, claims at a network: each passes, fails with its witness, or says that it is undecided."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lightning_sym import (
    SOFTMAX,
    Architecture,
    BadInput,
    NetworkForm,
    TooLarge,
    Weights,
    certified_dimension,
    polynomial_map,
)
from lightning_sym.ask import TheoremRow, any_question, paid_by_steps
from lightning_sym.fibers import same_function as same
from lightning_sym.testing import Mismatch, NotDecided, assert_dimension, assert_holds, assert_same_function
from lightning_sym.testing import functions as asserted
from proofs_check.claim import Refutation, Undecided
from proofs_check.registry import all_claims, claim_by_id

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_same_function_takes_files_weights_and_maps() -> None:
    one, other = (str(EXAMPLES / f"{name}.json") for name in ("rank_one", "rank_one_swapped"))
    assert_same_function(one, other)
    assert_same_function(Path(one), other, tokens=3)
    weights = Weights.random(Architecture((2, 1), (2,), 2), seed=1)
    phi = polynomial_map(weights.architecture(2), weights)
    moved = Weights.of({"Q1": 2 * weights["Q1"], "K1": weights["K1"], "V1": weights["V1"] / 2})
    assert_same_function(phi, moved)
    assert_same_function(moved, phi, tokens=2)
    assert_same_function(phi, phi)


def test_different_maps_show_a_coefficient() -> None:
    one, other = (Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, n]]}) for n in (4, 5))
    phi = polynomial_map(one.architecture(2), one)
    with pytest.raises(Mismatch) as failure:
        assert_same_function(phi, other)
    assert str(failure.value).splitlines() == [
        "the networks compute different functions of inputs with 2 tokens",
        "  output  coordinate 1 of token 1, coefficient of x_1_2 x_2_1 x_2_2",
        "  first   8",
        "  second  10",
    ]


def test_undecided_is_no_mismatch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its proofs the comparison has evaluations only."""
    inputs = TheoremRow[Any, Any]("", any_question, paid_by_steps, lambda pair: pair.by_inputs())
    monkeypatch.setattr(same, "SAME", [inputs])
    weights = Weights.random(Architecture((2, 2, 1), (2, 2), 2), seed=1)
    with pytest.raises(NotDecided) as failure:
        assert_same_function(weights, weights)
    assert "8 exact evaluations at random integer inputs agree" in str(failure.value)
    assert not isinstance(failure.value, Mismatch)
    assert isinstance(failure.value, AssertionError)


def test_what_is_no_network_is_refused() -> None:
    weights = Weights.random(Architecture((2, 1), (2,), 2))
    wide = Weights.random(Architecture((3, 1), (2,), 2))
    letters = polynomial_map(Architecture((1, 1), (1,), 1))
    phi = polynomial_map(weights.architecture(2), weights)
    nothing: Any = 3
    cases: list[tuple[Any, Any, dict[str, Any], str]] = [
        (weights, nothing, {}, "got int"),
        (weights, "nothing.json", {}, "nothing.json"),
        (weights, wide, {}, "the same input width"),
        (phi, wide, {}, "the same input width"),
        (letters, letters, {}, "numbers for weights"),
        (phi, weights, {"tokens": 3}, "same number of tokens, got 2 and 3"),
        (weights.with_form(NetworkForm(SOFTMAX)), weights, {}, "of one form"),
    ]
    for one, other, options, said in cases:
        with pytest.raises(BadInput, match=said) as refusal:
            assert_same_function(one, other, **options)
        assert "\n" not in str(refusal.value)


def test_dimension() -> None:
    network = Architecture((4, 4, 4), (2, 2), 3)
    assert_dimension(network, 38)
    assert_dimension(replace(network, normalization=SOFTMAX), 40)
    for wrong in (37, 39):
        with pytest.raises(Mismatch, match=rf"the dimension is not {wrong}\n.*\n  dimension  38, certified"):
            assert_dimension(network, wrong)
    for bad in (38.0, "38", True, -1):
        given: Any = bad
        with pytest.raises(BadInput, match="the expected dimension must be an integer"):
            assert_dimension(network, given)
    shape: Any = "4,4,4"
    with pytest.raises(BadInput, match="must be an Architecture"):
        assert_dimension(shape, 38)


def test_a_dimension_between_the_bounds_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    network = Architecture((3, 2), (2,), 2)
    found = certified_dimension(network)
    loose = replace(found, lower=found.lower - 2)
    monkeypatch.setattr(asserted, "certified_dimension", lambda *args, **more: loose)
    with pytest.raises(NotDecided) as failure:
        assert_dimension(network, found.upper)  # equal to one of the bounds, and undecided all the same
    assert str(failure.value).splitlines()[2:] == [f"  lower bound  {found.lower - 2}", f"  upper bound  {found.upper}"]
    with pytest.raises(Mismatch, match="lies between the bounds"):
        assert_dimension(network, found.upper + 1)


# ---- claims


def test_claims_hold_at_networks_and_weights() -> None:
    told = str(assert_holds("corollary-3.8", Architecture((4, 4, 4), (2, 2), 3)))
    assert told.startswith("corollary-3.8 holds at widths 4,4,4, ranks 2,2, tokens 3: ")
    assert told.endswith("the formula under its hypotheses (GENERIC, 1 instance)")
    found = assert_holds("theorem-3.7", Architecture((3, 3, 2), (2, 2), 2))
    assert found.checked[0][1:] == ("INSTANCES", 2)
    weights = Weights.random(Architecture((2, 2, 1), (2, 2), 2), seed=0, bound=3)
    assert assert_holds("theorem-3.7", weights).checked[0][2] == 1
    assert_holds("theorem-3.2", Weights.random(Architecture((2, 1), (2,), 2), value_ranks=[0]), tokens=3)
    assert_holds("dimension-all-widths", weights, tokens=1)


def test_a_claim_that_fails_shows_its_witness() -> None:
    network = Architecture((2, 2), (2,), 2, skip=True)
    with pytest.raises(Mismatch) as failure:
        assert_holds("section-4-skip", network)
    lines = str(failure.value).splitlines()
    assert lines[0] == "section-4-skip does not hold at this network"
    assert [line.split()[0] for line in lines[1:]] == ["network", "claim", "part", "witness"]


@pytest.mark.parametrize(("error", "kind"), [(Refutation("no"), Mismatch), (Undecided("3 or 4"), NotDecided)])
def test_what_a_check_says_decides(
    monkeypatch: pytest.MonkeyPatch, error: Exception, kind: type[AssertionError]
) -> None:
    claim = claim_by_id("corollary-3.8")

    def check(instance: Any) -> None:
        raise error

    faulty = replace(claim, parts=(replace(claim.parts[0], check=check), *claim.parts[1:]))
    monkeypatch.setattr("lightning_sym.testing.claims.claim_by_id", lambda claim_id: faulty)
    with pytest.raises(kind, match=str(error)):
        assert_holds("corollary-3.8", Architecture((4, 4, 4), (2, 2), 3))


def test_a_claim_that_says_nothing_is_refused() -> None:
    outside: list[tuple[str, Any, str]] = [
        ("corollary-3.8", Architecture((4, 4, 4), (2, 2), 1), "must be asked of what it is about"),
        ("corollary-3.8", Architecture((4, 4, 4), (2, 2), 3, skip=True), "must be asked of what it is about"),
        ("corollary-3.3", Architecture((4, 4, 4), (2, 2), 3), "must be asked of what it is about"),
        ("theorem-3.7", Architecture((4, 4, 4), (1, 2), 3), "must be asked of what it is about"),
        ("theorem-3.7", Weights.random(Architecture((2, 2, 1), (1, 2), 2)), "must be asked of what it is about"),
        ("lemma-3.1", Architecture((2, 2), (1,), 2), "is not about one network; claims that are: theorem-3.2"),
        ("theorem-3", Architecture((2, 2), (1,), 2), "did you mean"),
        ("theorem-3.7", "network", "must be an Architecture or Weights"),
    ]
    for claim_id, network, said in outside:
        with pytest.raises(BadInput, match=said) as refusal:
            assert_holds(claim_id, network)
        assert "\n" not in str(refusal.value)
    with pytest.raises(TooLarge, match="must have at most 4,000,000 coefficients"):
        assert_holds("theorem-3.7", Architecture((9, 9, 9), (2, 2), 3))
    with pytest.raises(BadInput, match="tokens must be left out"):
        assert_holds("theorem-3.7", Architecture((2, 2, 1), (2, 2), 2), tokens=2)


ABLE = [(claim, part) for claim in all_claims() for part in claim.parts if part.at is not None]


@pytest.mark.parametrize(("claim", "part"), ABLE, ids=[f"{c.id}: {p.name}" for c, p in ABLE])
def test_a_part_says_of_its_own_instances_what_it_checks(claim: Any, part: Any) -> None:
    """Its hypotheses are written twice, once for the instances and once for other people's networks."""
    for instance in list(part.instances(quick=True))[:60]:
        if isinstance(instance, Architecture):
            assert list(part.at(instance, None)) == [instance]
            continue
        weights, tokens = instance if isinstance(instance, tuple) else (instance, 2)
        (found,) = part.at(weights.architecture(tokens), weights)
        assert (found == instance) if isinstance(instance, Weights) else (found.weights == weights)


def test_no_part_speaks_of_unknown_or_excluded_networks() -> None:
    for _, part in ABLE:
        assert part.at is not None
        assert not list(part.at(Architecture((3, 2, 2), (1, 2), 2, heads=2, unembed=1), None))
    spoken = {claim.id for claim, _ in ABLE}
    assert {"theorem-3.2", "theorem-3.7", "corollary-3.3", "corollary-3.8", "conjecture-3.10"} <= spoken


def test_long_numbers_are_spelled_in_messages() -> None:
    """Beyond the 4,300 digits that Python prints without being asked."""
    first, second = (Weights.of({"Q1": [[1]], "K1": [[1]], "V1": [[n]]}) for n in (10**5000, 1))
    with pytest.raises(Mismatch, match="differ"):
        assert_same_function(first, second)
