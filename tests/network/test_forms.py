"""Weights of every network: one naming, the form they carry, and nothing that takes them for another network."""

from __future__ import annotations

import copy
import json
import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lightning_sym import (
    SOFTMAX,
    Architecture,
    NetworkForm,
    Weights,
    forward,
    load_weights,
    network_output,
    save_weights,
)
from lightning_sym.errors import BadInput, FileFormatError, ShapeError
from lightning_sym.network.virtual_weights import exact_virtual_weights, virtual_weights
from lightning_sym.rings.arrays import exact_matrix
from lightning_sym.rings.normalization import Normalization

NETWORKS = {
    "plain": Architecture((3, 2, 2), (2, 1), 2),
    "softmax": Architecture((3, 2), (2,), 2, SOFTMAX),
    "causal": Architecture((3, 2), (2,), 2, causal=True),
    "skip": Architecture((2, 2), (1,), 2, skip=True),
    "heads": Architecture((3, 2, 4), (2, 3), 2, heads=2),
    "projected": Architecture((3, 2), (2,), 2, value_ranks=(4,)),
    "embedded": Architecture((3, 2), (2,), 2, embed=5),
    "unembedded": Architecture((3, 2), (2,), 2, unembed=5),
    "transformer": Architecture((3,) * 3, (1, 2), 2, SOFTMAX, 3, (2, 1), skip=True, causal=True, embed=4, unembed=5),
}
OTHERS = [name for name in NETWORKS if name != "plain"]


@pytest.mark.parametrize("name", NETWORKS)
def test_random_weights_are_of_the_network_that_was_named(name: str) -> None:
    network = NETWORKS[name]
    weights = Weights.random(network, seed=3)
    assert weights.architecture(2) == network
    assert [(n, m.shape) for n, m in weights.named().items()] == list(network.weight_shapes())
    assert weights == Weights.random(network, seed=3) != Weights.random(network, seed=4)
    for again in (pickle.loads(pickle.dumps(weights)), copy.deepcopy(weights)):  # noqa: S301 - our own
        assert again == weights
        assert hash(again) == hash(weights)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("ending", [".json", ".npz", ".safetensors"])
def test_files_of_every_network_come_back(name: str, ending: str, tmp_path: Path) -> None:
    weights = Weights.random(NETWORKS[name], seed=5)
    save_weights(weights, tmp_path / f"w{ending}")
    assert load_weights(tmp_path / f"w{ending}") == weights
    if ending == ".json":
        document = json.loads((tmp_path / "w.json").read_text())
        assert document.get("form") == (None if weights.form == NetworkForm() else weights.form.to_json())


def test_the_names_that_are_printed_are_the_names_that_are_read(tmp_path: Path) -> None:
    (tmp_path / "w.json").write_text(
        '{"form": {"normalization": "softmax", "mask": "causal", "skip": true}, "E": [[1, 2]], "Q1.1": [[3]],'
        ' "K1.1": [["1/2"]], "V1.1": [[1]], "O1": [[7]], "U": [[1], [2], [3]]}'
    )
    weights = load_weights(tmp_path / "w.json")
    assert list(weights.named()) == ["E", "Q1", "K1", "V1", "O1", "U"]
    expected = Architecture((1, 1), (1,), 2, SOFTMAX, 1, (1,), skip=True, causal=True, embed=2, unembed=3)
    assert weights.architecture(2) == expected


def test_the_form_distinguishes_weights() -> None:
    weights = Weights.random(NETWORKS["plain"])
    other = weights.with_form(NetworkForm(causal=True))
    assert other != weights
    assert hash(other) != hash(weights)
    assert other.named().keys() == weights.named().keys()
    with pytest.raises(ShapeError, match="skip needs equal widths"):
        weights.with_form(NetworkForm(skip=True))


ONE = [[1]]
LAYER = {"Q1": ONE, "K1": ONE, "V1": ONE}
TWO_HEADS = {f"{c}1.{h}": ONE for h in (1, 2) for c in "QKV"}
BAD_NAMES: dict[str, tuple[dict[str, Any], str]] = {
    "twice": (LAYER | {"Q1.1": ONE}, "Q1 and Q1.1 name the same matrix"),
    "a head without number": (TWO_HEADS | {"Q1": ONE}, "Q1.1 and Q1 name the same matrix"),
    "mixed": ({k: v for k, v in TWO_HEADS.items() if k != "Q1.1"} | {"Q1": ONE}, "missing or unknown: Q1$"),
    "a head left out": ({k: v for k, v in TWO_HEADS.items() if k != "V1.2"}, "missing or unknown: V1.2"),
    "second head only": ({f"{c}1.2": ONE for c in "QKV"}, "missing or unknown: K1, K1.2, Q1"),
    "heads in one layer only": (TWO_HEADS | {"Q2": ONE, "K2": ONE, "V2": ONE}, "missing or unknown: K2, K2.2"),
    "a layer left out": (LAYER | {"Q3": ONE, "K3": ONE, "V3": ONE}, "missing or unknown: K3, Q3, V3"),
    "one projection": (LAYER | {"Q2": ONE, "K2": ONE, "V2": ONE, "O2": ONE}, "missing or unknown: O1"),
    "numbers of every length": (LAYER | {f"Q{'9' * 5000}": ONE}, "missing or unknown: Q9"),
    "leading zero": (LAYER | {"Q01": ONE}, "missing or unknown: Q01"),
    "other letter": (LAYER | {"W1": ONE}, "missing or unknown: W1"),
    "embedding alone": ({"E": ONE}, "missing or unknown: K1, Q1, V1"),
    "no name": (LAYER | {7: ONE}, "missing or unknown: 7"),  # type: ignore[dict-item]
    "very many": ({f"{c}{i}": ONE for c in "Q" for i in range(1, 2000)} | {f"Q1.{h}": ONE for h in range(2, 2000)},
                  "missing or unknown: K1.1, "),
    "unequal heads": (TWO_HEADS | {"V1.2": [[1], [2]]}, r"V1.2 must have the shape \(1, 1\)"),
    "unequal queries": (TWO_HEADS | {"Q1.2": [[1], [2]]}, r"Q1.2 must have the shape \(1, 1\)"),
    "projection": (LAYER | {"O1": [[1, 2]]}, r"O1 must have the shape \(1, 1\)"),
    "embedding": (LAYER | {"E": [[1], [2]]}, "Q1 must have 2 columns, the width before layer 1"),
    "unembedding": (LAYER | {"U": [[1, 2]]}, r"U must have the shape \(1, 1\)"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_NAMES)
def test_bad_names_and_shapes_are_refused_by_name(name: str) -> None:
    matrices, message = BAD_NAMES[name]
    with pytest.raises(ShapeError, match=message) as refusal:
        Weights.of(matrices)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 600


GOOD = {"normalization": "softmax", "mask": "none", "skip": False}
BAD_FORMS: dict[str, tuple[object, str]] = {
    "list": ([], "an object"),
    "null": (None, "an object with normalization, mask and skip, got null"),
    "missing": ({"normalization": "softmax"}, "missing or unknown: mask, skip"),
    "unknown": ({**GOOD, "wound": True}, "missing or unknown: wound"),
    "normalization": ({**GOOD, "normalization": "sigmoid"}, "normalization must be none or softmax, got 'sigmoid'"),
    "odd normalization": ({**GOOD, "normalization": ["softmax"]}, "normalization must be none or softmax"),
    "mask": ({**GOOD, "mask": True}, "mask must be none or causal, got True"),
    "skip": ({**GOOD, "skip": 1}, "skip must be true or false, got 1"),
    "lines": ({**GOOD, "a\nb": 1}, "unknown: a"),
}


@pytest.mark.parametrize("name", BAD_FORMS)
@pytest.mark.parametrize("ending", [".json", ".npz", ".safetensors"])
def test_bad_forms_are_refused(name: str, ending: str, tmp_path: Path) -> None:
    value, message = BAD_FORMS[name]
    file = tmp_path / f"w{ending}"
    arrays = {key: np.ones((1, 1)) for key in LAYER}
    if ending == ".json":
        file.write_text(json.dumps({"form": value, **LAYER}))
    elif ending == ".npz":
        np.savez(file, form=np.array(json.dumps(value)), **arrays)  # type: ignore[arg-type]
    else:
        from safetensors.numpy import save_file

        save_file(arrays, file, {"form": json.dumps(value)})
    with pytest.raises(BadInput, match=message) as refusal:
        load_weights(file)
    assert "\n" not in str(refusal.value)


def test_forms_that_are_no_text_or_no_json_are_refused(tmp_path: Path) -> None:
    for number, form in enumerate((np.eye(2), np.array("{"), np.array('{"skip": 1, "skip": 2}'))):
        np.savez(tmp_path / f"{number}.npz", form=form, Q1=np.eye(1), K1=np.eye(1), V1=np.eye(1))
        with pytest.raises(FileFormatError, match=r"the form: it must be JSON|the form must be|must not repeat"):
            load_weights(tmp_path / f"{number}.npz")


def test_a_form_without_a_name_is_not_written(tmp_path: Path) -> None:
    odd = Normalization("1 + y", lambda k: Fraction(k < 2))
    weights = Weights.random(Architecture((2, 1), (1,), 2, odd))
    with pytest.raises(BadInput, match="none or softmax, got 1"):
        save_weights(weights, tmp_path / "w.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", OTHERS)
def test_nothing_takes_them_for_a_lightning_network(name: str) -> None:
    weights = Weights.random(NETWORKS[name], seed=1)
    x = exact_matrix(np.ones((NETWORKS[name].input_width, 2), dtype=int))
    said = {"heads": "2 heads", "projected": "output projections O", "embedded": "an embedding E",
            "unembedded": "an unembedding U"}  # fmt: skip
    word = said.get(name, "softmax" if name == "transformer" else name)
    for ask in (
        lambda: weights.layers,
        lambda: forward(x, weights),
        lambda: exact_virtual_weights(weights),
        lambda: virtual_weights(weights.layers),
    ):
        with pytest.raises(BadInput, match=word):
            ask()
    with pytest.raises(TypeError):
        list(weights)  # type: ignore[call-overload]


def test_forward_and_network_output_take_weights() -> None:
    weights = Weights.of({"Q1": [[2]], "K1": [[3]], "V1": [[5]]})
    x = exact_matrix([[1, 2]])
    assert forward(x, weights).tolist() == [[150, 300]]
    assert network_output(x, weights.architecture(2), weights).tolist() == [[150, 300]]
    other = weights.with_form(NetworkForm(skip=True))
    assert network_output(x, other.architecture(2), other).tolist() == [[151, 302]]
    with pytest.raises(ShapeError, match="must be of the network"):
        network_output(x, weights.architecture(2), other)
    with pytest.raises(ShapeError, match="must be of the network"):
        network_output(x, Architecture((1, 1), (2,), 2), weights)


def test_prescribed_ranks_hold_in_every_head() -> None:
    from lightning_sym.exact.rational import rank

    network = Architecture((3, 3), (2,), 2, heads=2)
    weights = Weights.random(network, seed=2, attention_matrix_ranks=[1], value_ranks=[2])
    assert [rank(weights[f"K1.{h}"].T @ weights[f"Q1.{h}"]) for h in (1, 2)] == [1, 1]
    assert [rank(weights[f"V1.{h}"]) for h in (1, 2)] == [2, 2]
    with pytest.raises(BadInput, match="without an output projection"):
        Weights.random(NETWORKS["projected"], value_ranks=[1])


def test_a_form_is_made_of_what_it_says() -> None:
    bad: dict[str, Any]
    for bad in ({"normalization": "softmax"}, {"causal": 1}, {"skip": "no"}):
        with pytest.raises(BadInput, match=f"{next(iter(bad))} must be"):
            NetworkForm(**bad)
    with pytest.raises(BadInput, match="form must be a NetworkForm"):
        Weights.of(LAYER, {"normalization": "softmax"})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "option", [{"skip": "no"}, {"skip": 1}, {"causal": "none"}, {"causal": None}, {"normalization": "softmax"}]
)
def test_a_network_is_made_of_what_it_says(option: dict[str, Any]) -> None:
    """A string that says no is true, and would be another network."""
    with pytest.raises(BadInput, match=f"^{next(iter(option))} must be "):
        Architecture((2, 2), (1,), 2, **option)


@pytest.mark.parametrize("name", NETWORKS)
def test_weights_of_another_network_are_refused_whatever_their_ring(name: str) -> None:
    """Also where the products of all matrices exist: one more or fewer, or one that is wider inside."""
    network = NETWORKS[name]
    matrices = [np.ones(shape, dtype=object) for _, shape in network.weight_shapes()]
    x = np.ones((network.input_width, network.tokens), dtype=object)
    rows = network.attention_ranks[0] + 1
    wider = [np.ones((rows, m.shape[1]), dtype=object) if n[0] in "QK" and n[1] == "1" else m
             for (n, _), m in zip(network.weight_shapes(), matrices, strict=True)]  # fmt: skip
    for wrong in (matrices[:-1], [*matrices, matrices[-1]], wider):
        with pytest.raises(ShapeError, match=r"^(the weights|Q1.*) must be "):
            network_output(x, network, wrong)
