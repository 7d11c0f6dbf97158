"""The rows of degrees: what each hypothesis keeps out, and what fell short; the same of points and canonical forms."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lightning_sym import SOFTMAX, Architecture, NetworkForm, Weights, canonical, classify, variety_degree
from lightning_sym.ask import Need, TheoremRow
from lightning_sym.varieties import degree

FULL = (2, 2, 2)
NETWORKS = {
    "heads": Architecture((2, 1), (1,), 2, heads=2, embed=2),  # one, as the functions fill their span
    "base points": Architecture((2, 2, 1), (2, 2), 2),
    "rank two twice": Architecture((3, 3, 3, 3), (2, 2, 2), 2),
    "skip": Architecture(FULL, (1, 1), 2, skip=True),
    "mask": Architecture(FULL, (1, 1), 2, causal=True),
    "full, heads": Architecture(FULL, (2, 2), 2, heads=2),
    "full, skip": Architecture(FULL, (2, 2), 2, skip=True),
    "full, mask": Architecture(FULL, (2, 2), 2, causal=True),
    "not full": Architecture((3, 3, 3), (2, 2), 2),
}
KNOWN = {"heads": 1, "base points": 2338}


@pytest.mark.parametrize(("number", "need"), [(i, need) for i in (0, 1) for need in degree.DEGREES[i].needs])
def test_a_row_that_loses_a_hypothesis_gives_what_is_not_proved(
    number: int, need: Need, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers that are false where the degree is known, else numbers where it is open."""
    row: TheoremRow[Any, Any] = degree.DEGREES[number]
    less = replace(row, needs=tuple(each for each in row.needs if each is not need))
    right = {name: variety_degree(network).degree for name, network in NETWORKS.items()}
    assert {name: found for name, found in right.items() if found is not None} == KNOWN
    monkeypatch.setattr(degree, "DEGREES", (*degree.DEGREES[:number], less, *degree.DEGREES[number + 1 :]))
    other = {name for name, network in NETWORKS.items() if variety_degree(network).degree != right[name]}
    assert other
    if number == 0 and need in (degree.COMMON[0], degree.NO_BASE_POINTS):
        assert other & KNOWN.keys()


def test_what_is_open_tells_both_theorems() -> None:
    found = variety_degree(NETWORKS["not full"])
    assert [each.citation for each in found.tried] == ["Theorem 1 of docs/degree.md", "Theorem 2 of docs/degree.md"]
    assert found.reason == found.tried[0].why
    assert "Theorem" not in found.reason
    assert "\ntried    Theorem 1 of docs/degree.md: base points" in str(found)
    known = variety_degree(NETWORKS["base points"])
    assert [each.citation for each in known.tried] == ["Theorem 1 of docs/degree.md"]
    assert "tried" not in str(known)


def test_points_that_are_not_covered_tell_why() -> None:
    deep = Weights.random(Architecture(FULL, (2, 2), 2), seed=1)
    assert list(map(str, classify(deep).tried)) == ["Proposition 3 of docs/one-layer.md: it needs one layer, got 2"]
    one = Weights.random(Architecture((2, 2), (2,), 2), seed=1)
    assert classify(one).tried == ()
    assert list(map(str, classify(one, 1).tried)) == [
        "Proposition 3 of docs/one-layer.md: it needs two tokens or more, got 1"
    ]


def test_a_canonical_form_tells_what_fell_short() -> None:
    """A narrow output does not show the stream: Corollary 5 does not apply, Theorem 11 does."""
    shape = Architecture((3, 3, 3), (2, 2), 3, SOFTMAX, heads=2, skip=True, embed=3, unembed=1)
    found = canonical(Weights.random(shape, seed=1, bound=3).with_form(NetworkForm(SOFTMAX, skip=True)), 3)
    assert found.theorem.startswith("Theorem 11 ")
    assert [each.citation for each in found.tried] == ["Corollary 5 of docs/transformer-fibers.md"]
    assert "rank" in found.tried[0].why
    assert "\ntried" in str(found)
