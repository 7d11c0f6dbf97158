"""What `explain --weights` says of unusual weights: zero, skew, critical, behind a mask."""

from __future__ import annotations

import pytest
from command import run

from lightning_sym import SOFTMAX, NetworkForm, Weights
from proofs_check.registry import walk_through


def _said(claim: str, weights: Weights) -> str:
    return " ".join(step.prose for step in walk_through(claim, weights)[1])


ZERO, SKEW, ONE = [[0, 0], [0, 0]], [[0, 1], [-1, 0]], [[1, 0], [0, 1]]


@pytest.mark.parametrize("zero", ["Q1", "V1"])
def test_the_function_zero_is_shown(zero: str) -> None:
    """Its components are free matrices, not rescalings; nothing is refused."""
    weights = Weights.of({"Q1": [[1, 2]], "K1": [[1, 1]], "V1": [[1, 3]], zero: [[0, 0]]})
    steps = walk_through("theorem-3.2", weights)[1]
    assert steps[-1].heading == "All weights with this function"


def test_a_smaller_rank_is_not_called_a_larger_fiber() -> None:
    """A = h q^T, V = h^T: a critical point, whose fiber is as large as any other."""
    weights = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[1, 0]]})
    assert "critical point" in _said("corollary-3.3", weights)
    assert "more weights" not in _said("corollary-3.3", weights)


def test_invertible_keys_and_no_queries() -> None:
    """All directions of A are reached, at A = 0."""
    weights = Weights.of({"Q1": ZERO, "K1": ONE, "V1": [[1, 0]]})
    assert "Yours have 4 directions: as many as generic ones" in _said("lemma-3.1", weights)


@pytest.mark.parametrize("first", [SKEW, ZERO])
def test_no_layer_is_blind_behind_a_causal_mask(first: list[list[int]]) -> None:
    """Theorem 4 of docs/softmax-fibers.md; without a mask it is blind, with two tokens."""
    named = {"Q1": first, "K1": ONE, "V1": ONE, "Q2": ONE, "K2": ONE, "V2": ONE}
    causal, bare = (Weights.of(named, NetworkForm(normalization=SOFTMAX, causal=c)) for c in (True, False))
    assert "blind" in _said("conjecture-3.10", bare)
    assert "blind" not in _said("conjecture-3.10", causal)
    assert "layer 2" in _said("conjecture-3.10", causal)


def test_nothing_is_seen_of_the_function_zero() -> None:
    named = {"Q1": ONE, "K1": ONE, "V1": ONE, "Q2": ONE, "K2": ONE, "V2": ZERO}
    said = _said("conjecture-3.10", Weights.of(named, NetworkForm(normalization=SOFTMAX)))
    assert "not seen" in said
    assert "is visible" not in said


def test_a_high_table_has_a_frame_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    """Below the words its last rows would be cut off; and no table is higher than a frame."""
    code, out, _ = run(capsys, "explain", "lemma-3.5", "--slides")
    assert code == 0
    words, table = out.split(r"{6. Count}")[1].split(r"\end{frame}")[0].split(r"\framebreak")
    assert "column" not in words
    assert table.count(r"\\") == 10
    assert r"\resizebox*{!}{\most}" in out
    assert r"\framebreak" not in run(capsys, "explain", "equation-9", "--slides")[1]
