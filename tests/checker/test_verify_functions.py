"""The checker on pairs of networks: the same function step by step, or another one at an input."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest
from bent_certificates import leaves, put
from small_certificates import Document, answer
from small_pairs import DIFFERENT, GROUP, LAYER, OTHER, RESCALED, SAME, SWAPPED, TWO, same


@pytest.mark.parametrize("p", [9, 15, 25, 2039**2, 2 * 3, 4194298, 4194303])
def test_composite_moduli(p: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"must be a prime, {p} is none" in answer(DIFFERENT | {"prime": p}, tmp_path, capsys)


@pytest.mark.parametrize("data", SAME, ids=range(len(SAME)))
def test_the_same_function(data: Document, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "the same function of 2 tokens" in answer(data, tmp_path, capsys)


NOT_SAME = [
    (same(LAYER, DIFFERENT["second"], GROUP), "must map one network to the other"),
    (same(LAYER, OTHER, {**GROUP, "query_key": [[[0]]]}), "must map one network to the other"),
    (same(LAYER, OTHER, {**GROUP, "query_key": [[[2, 0], [0, 1]]]}), "must fit"),
    (same(LAYER, OTHER, {**GROUP, "scales": [0]}), "each layer must have a scale, not 0"),
    (same(LAYER, DIFFERENT["second"], {"step": "layer", "layer": 1}), "the forms of layer 1 must be equal"),
    (same(TWO, SWAPPED, {"step": "layer", "layer": 1}), "other layers must be equal"),
    (same(TWO, {**TWO, "Q2": [[7, 1]]}, {"step": "layer", "layer": 2}), "the forms of layer 2 must be equal"),
    (same(TWO, {**TWO, "Q1": [[7, 1]]}, {"step": "layer", "layer": 2}), "other layers must be equal"),
    (same(TWO, {**TWO, "Q1": [[7, 1]]}, {"step": "layer", "layer": 1}), "the forms of layer 1 must be equal"),
    (same(TWO, TWO, {"step": "layer", "layer": 3}), "other layers must be equal"),
    (same(TWO, LAYER, {"step": "layer", "layer": 1}), "input and output width"),
    (same(LAYER, OTHER, {"step": "zero"}), "must be seen to be zero"),
    (same(TWO, RESCALED, {"step": "rescaling", "factors": [2, 1], "value_factor": "1/4"}), "must multiply to 1"),
    (same(TWO, TWO, {"step": "rescaling", "factors": [2, 1], "value_factor": "1/8"}), "layer 1 must be rescaled"),
    (
        same(TWO, {**RESCALED, "V2": TWO["V2"]}, {"step": "rescaling", "factors": [2, 1], "value_factor": "1/8"}),
        "values",
    ),
    (same(LAYER, OTHER), "steps must be a list that is not empty"),
    (same(LAYER, OTHER, {**GROUP, "to": OTHER}), "missing or unknown: ['to']"),
    (same(LAYER, OTHER, {"step": "guess"}), '"step" of a step must be one of zero, layer, group, rescaling, found'),
    (same({**LAYER, "Q1": [["1/0", 1]]}, OTHER, GROUP), "a rational number must look like"),
    (same({**LAYER, "Q1": [["1" * 4001, 1]]}, OTHER, GROUP), "a rational number must look like"),
    (same({**LAYER, "Q1": [[True, 1]]}, OTHER, GROUP), "a rational number must be an integer"),
    (same({**LAYER, "Q1": [[1, 1], [1]]}, OTHER, GROUP), "rows of equal length"),
    (same({"Q1": [[1]]}, OTHER, GROUP), "missing or unknown: ['K1', 'V1']"),
]


@pytest.mark.parametrize(("data", "reason"), NOT_SAME, ids=range(len(NOT_SAME)))
def test_not_shown_to_be_the_same(
    data: Document, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reason in answer(data, tmp_path, capsys)


@pytest.mark.parametrize("good", [SAME[3], SAME[-1]], ids=["one layer", "two layers"])
def test_every_entry_is_compared(good: Document, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the weights a group element leads to, of the matrices of the group element, and of the scales."""
    step = good["steps"][0]
    assert step["step"] == "group"
    places = [("second", *path) for path in leaves(good["second"])]
    places += [("steps", 0, key, *path) for key in ("query_key", "between", "scales") for path in leaves(step[key])]
    count = 0
    for path in places:
        bent, value = json.loads(json.dumps(good)), good  # both networks share lists
        for key in path:
            value = value[key]
        if not isinstance(value, (dict, list)):
            put(bent, path, str(Fraction(value) + 5))
            assert "the group element must map one network to the other" in answer(bent, tmp_path, capsys)
            count += 1
    assert count > 6


def test_skew_parts_count_where_no_attention_matrix_has_rank_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    full = {**TWO, "Q1": [[1, 2], [0, 1]], "K1": [[3, 1], [1, 1]]}
    step = {"step": "rescaling", "factors": [1, 1], "value_factor": 1}
    data = same(full, {**full, "Q2": TWO["K2"], "K2": TWO["Q2"]}, step)
    assert "layer 2 must be rescaled" in answer(data, tmp_path, capsys)
    assert "same function of 1 tokens" in answer(data | {"tokens": 1}, tmp_path, capsys)
    other = data | {"tokens": 1, "second": {**full, "Q2": [[9, 1]]}}
    assert "layer 2 must be rescaled" in answer(other, tmp_path, capsys)


def test_different(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "over the rationals" in answer(DIFFERENT, tmp_path, capsys)
    assert "modulo 11" in answer(DIFFERENT | {"prime": 11}, tmp_path, capsys)
    assert "divide no denominator" in answer(DIFFERENT | {"prime": 3}, tmp_path, capsys)
    assert "they are equal" in answer(DIFFERENT | {"input": [[0, 0], [0, 0]]}, tmp_path, capsys)
    for p in (None, 5, 11):
        assert "they are equal" in answer(DIFFERENT | {"second": OTHER, "prime": p}, tmp_path, capsys)
    assert "the input must be a list of 2" in answer(DIFFERENT | {"input": [[0], [1]]}, tmp_path, capsys)


Q, K, V = [[1, 2], [0, 1]], [[3, 1], [1, 1]], [[1, 0], [2, 1]]
FULL = {"Q1": Q, "K1": K, "V1": V}
UNFIT = [
    {**FULL, "Q1": [[1, 2]]},
    {**FULL, "K1": [[1, 2]]},
    {**FULL, "Q1": [[1], [2]]},
    {**FULL, "K1": [[1], [2]]},
    {**FULL, "V1": [[1], [2]]},
    {**FULL, "Q1": [[1], [1]], "K1": [[1], [1]]},
    {**FULL, "Q2": Q, "K2": K, "V2": [[1, 0, 0], [2, 1, 0]]},
    {**FULL, "Q2": [[1]], "K2": [[1]], "V2": [[1], [1]]},
    {**FULL, "Q2": [[1, 1, 1]], "K2": [[1, 1, 1]], "V2": [[1, 1, 1], [1, 1, 1]]},
]


@pytest.mark.parametrize("unfit", UNFIT)
def test_weights_must_fit(unfit: Document, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for data in (same(unfit, FULL, GROUP), same(FULL, unfit, GROUP), same(FULL, FULL, GROUP | {"to": unfit}, GROUP)):
        reason = "the shapes of the weights of a head must fit|each head must have a Q and a K of equal height"
        assert re.search(reason, answer(data, tmp_path, capsys))


def test_factors_of_the_second_layer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    twice = {**TWO, "Q2": [[2, 2]], "V2": [["1/2", "1/2"]]}
    step = {"step": "rescaling", "factors": [1, 2], "value_factor": "1/2"}
    assert "same function" in answer(same(TWO, twice, step), tmp_path, capsys)
    for change, reason in (
        ({"factors": [1, 0]}, "factors must not be zero"),
        ({"value_factor": 0}, "factors must not be zero"),
        ({"factors": [1, 2, 1]}, "one for each layer of both networks"),
        ({"factors": [2]}, "one for each layer of both networks"),
        ({"value_factor": "1/512"}, "the factors must multiply to 1"),
    ):
        assert reason in answer(same(TWO, twice, step | change), tmp_path, capsys)
    deeper = {**TWO, "Q3": [[1]], "K3": [[1]], "V3": [[1]]}
    for pair in ((TWO, deeper), (deeper, TWO)):
        assert "one for each layer of both networks" in answer(same(*pair, step), tmp_path, capsys)


def test_zero_by_skew_forms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A form that is skew is zero at one token, and behind a layer of rank one."""
    skew, one, zero = [[0, 1], [-1, 0]], [[1, 0], [0, 1]], {"Q1": [[1, 0]], "K1": [[1, 0]], "V1": [[0, 0], [0, 0]]}
    alone = {"Q1": skew, "K1": one, "V1": one}
    step = {"step": "zero"}
    assert "same function of 1 tokens" in answer(same(alone, zero, step, tokens=1), tmp_path, capsys)
    assert "must be seen to be zero" in answer(same(alone, zero, step), tmp_path, capsys)
    behind = {"Q1": [[1, 0]], "K1": [[1, 3]], "V1": one, "Q2": skew, "K2": one, "V2": one}
    assert "same function of 2 tokens" in answer(same(behind, zero, step), tmp_path, capsys)
    full = behind | {"Q1": [[1, 0], [0, 1]], "K1": one}
    assert "must be seen to be zero" in answer(same(full, zero, step), tmp_path, capsys)
    before = {"Q1": skew, "K1": one, "V1": one, "Q2": [[1, 0]], "K2": [[1, 3]], "V2": one}
    assert "must be seen to be zero" in answer(same(before, zero, step), tmp_path, capsys)
    symmetric = {"Q1": one, "K1": one, "V1": one}
    assert "must be seen to be zero" in answer(same(symmetric, zero, step, tokens=1), tmp_path, capsys)
    assert "must be seen to be zero" in answer(same(zero, alone, step), tmp_path, capsys)
