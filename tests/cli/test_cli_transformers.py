"""The command `dimension` for softmax, heads, skip connections, masks and embeddings."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from command import run

import lightning_sym.dimension.certify as dimension_module
from lightning_sym.dimension.certify import Evidence
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.jacobian import RandomJacobian
from lightning_sym.network.prices import inputs_at_once, sweep_bytes
from lightning_sym.rings.normalization import SOFTMAX
from lightning_sym.rings.prime_field import PRIMES

_WORDS = (
    "dimension --widths 3,3,3 --ranks 1 --value-ranks 1 --tokens 2 --heads 2 --skip --mask causal "
    "--normalization softmax --embed 4 --unembed 4"
)
EXAMPLE = _WORDS.split(" ")


def test_the_example(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, *EXAMPLE)
    assert (code, err) == (0, "")
    assert "parameters     72" in out
    assert "dimension      55  certified" in out
    code, out, err = run(capsys, *EXAMPLE, "--json")
    document = json.loads(out)
    assert (code, err, document["dimension"], document["parameters"]) == (0, "", 55, 72)
    assert document["schema"] == "lightning-sym/dimension/1"
    assert document["architecture"] == {
        "widths": [3, 3, 3], "attention_ranks": [1, 1], "tokens": 2, "normalization": "softmax", "heads": 2,
        "value_ranks": [1, 1], "skip": True, "mask": "causal", "embed": 4, "unembed": 4,
    }  # fmt: skip


def test_a_lightning_network_has_the_same_keys(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "dimension", "--widths", "2,2", "--ranks", "1", "--tokens", "2", "--json")
    rest = {"normalization": "none", "heads": 1, "value_ranks": None, "skip": False, "mask": "none", "embed": None,
            "unembed": None}  # fmt: skip
    assert json.loads(out)["architecture"] == {"widths": [2, 2], "attention_ranks": [1], "tokens": 2, **rest}


def test_softmax_stands_beside_the_paper(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("dimension", "--widths", "4,4,4", "--ranks", "2", "--tokens", "3", "--normalization", "softmax")
    code, out, _ = run(capsys, *words)
    assert code == 0
    assert "Conjecture 3.10, Eq. 16 agrees" in out
    assert "exponentials free" in out


def test_undecided_shows_both_bounds(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dimension_module, "counted_bounds", lambda network: ({Evidence.SPAN: 8}, []))
    monkeypatch.setattr(dimension_module, "COMPUTED", ())
    words = ("dimension", "--widths", "2,2", "--ranks", "1", "--tokens", "2", "--normalization", "softmax")
    code, out, _ = run(capsys, *words)
    assert code == 3
    assert "undecided, between 7 and 8" in out
    code, out, _ = run(capsys, *words, "--json")
    document = json.loads(out)
    assert (code, document["dimension"], document["lower"], document["upper"]) == (3, None, 7, 8)


BAD = {
    "skip": ("--widths 3,2 --ranks 1 --tokens 2 --skip", "skip needs equal widths"),
    "no heads": ("--widths 3,3 --ranks 1 --tokens 2 --heads 0", "positive integer"),
    "mask": ("--widths 3,3 --ranks 1 --tokens 2 --mask future", "none"),
    "normalization": ("--widths 3,3 --ranks 1 --tokens 2 --normalization relu", "softmax"),
    "value ranks": ("--widths 3,3,3 --ranks 1 --tokens 2 --value-ranks 1,1,1", "2 in number"),
    "embed": ("--widths 3,3 --ranks 1 --tokens 2 --embed -1", "positive integer"),
    "many heads": ("--widths 3,3 --ranks 1 --tokens 2 --heads 100000000", "must fit into 4 GiB"),
    "deep softmax": (
        f"--widths {'2,' * 19998}2 --ranks 1 --tokens 2 --normalization softmax --memory 2",
        "must fit into 2 GiB",
    ),
    "many tokens": ("--widths 2,2 --ranks 1 --tokens 100000 --normalization softmax", "must fit into 4 GiB"),
    "no tokens": ("--widths 2,2 --ranks 1", "Missing option '--tokens'"),
    "config and shape": ("--config c.json --widths 2,2 --heads 1", "leave out --widths, --heads"),
    "attention only": ("--widths 2,2 --ranks 1 --tokens 2 --attention-only", "--config"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_makes_no_sense_is_refused_with_the_reason(capsys: pytest.CaptureFixture[str], name: str) -> None:
    words, message = BAD[name]
    code, out, err = run(capsys, "dimension", *words.split())
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: ")
    assert message in err


@pytest.mark.parametrize("more", [{}, {"value_ranks": (2, 1)}, {"heads": 3, "embed": 5}, {"unembed": 2, "skip": True}])
def test_parameters_are_the_entries_of_the_weights(more: dict[str, Any]) -> None:
    network = Architecture((3, 3, 3), (2, 4), 2, **more)
    assert network.parameter_count == sum(rows * columns for _, (rows, columns) in network.weight_shapes())


def test_help_shows_a_transformer(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "dimension", "--help")
    assert code == 0
    for words in (
        "--normalization softmax",
        "--value-ranks 1",
        "--attention-only",
        "a theorem at every size",
        "Exit codes",
    ):
        assert words in out


def test_the_estimate_knows_series_tokens_and_heads() -> None:
    def recorded(**more: Any) -> tuple[int, int]:
        shape: dict[str, Any] = {"widths": (3, 3, 3), "attention_ranks": (2, 2), "tokens": 3, "normalization": SOFTMAX}
        return sweep_bytes(Architecture(**(shape | more)), 31)

    assert recorded(tokens=30)[1] > 20 * recorded()[1]
    assert recorded(heads=4)[0] > recorded()[0]
    assert recorded(heads=4)[1] > 2.5 * recorded()[1]
    network = Architecture((3, 3, 3), (2, 2), 3, SOFTMAX)
    assert sweep_bytes(network, 63)[1] > 1.8 * sweep_bytes(network, 31)[1] > 1.8**2 * sweep_bytes(network, 15)[1]
    orders: tuple[int | None, ...] = (3**99, 31, None)
    sizes = [inputs_at_once(network.parameter_count, sweep_bytes(network, order)[1]) for order in orders]
    assert 1 == sizes[0] <= sizes[1] <= sizes[2]


MIXED = Architecture((3, 3, 3), (2, 2), 4, SOFTMAX, 2, (2, 2), skip=True, causal=True, embed=4, unembed=4)


@pytest.mark.parametrize(
    ("network", "order"),
    [
        (Architecture((4,) * 4, (2,) * 3, 3, SOFTMAX), 39),
        (Architecture((3, 3, 3), (2, 2), 6, replace(SOFTMAX, growth=None)), 31),
        (Architecture((2, 2), (1,), 2, SOFTMAX), 401),
        (MIXED, 19),
        (MIXED, None),
        (replace(MIXED, normalization=None), None),
    ],
    ids=str,
)
@pytest.mark.parametrize("inputs", [1, 60, 150])
def test_a_sweep_takes_no_more_than_its_estimate(network: Architecture, order: int | None, inputs: int) -> None:
    fixed, each = sweep_bytes(network, order)
    assert inputs_at_once(network.parameter_count, each) >= inputs
    jacobian = RandomJacobian(network, np.random.default_rng(0), PRIMES[0], order=order)
    jacobian.matrix(inputs)  # caches of NumPy's
    tracemalloc.start()
    jacobian.matrix(inputs)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < fixed + inputs * each < 4 * peak + fixed
