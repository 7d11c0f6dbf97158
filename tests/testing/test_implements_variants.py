"""An engineer's own layer with variants of attention is asserted to be the map, and mutants of it fail."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy_layer import NumpyLayer

from lightning_sym import SOFTMAX, Architecture, Weights, network_output
from lightning_sym.errors import BadInput
from lightning_sym.network.rotary import Rotary
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.testing import Mismatch, assert_implements
from lightning_sym.testing.exact_floats import FLOATS, Exactness

QUARTERS = np.array([np.pi / 2, -np.pi / 2])
TURNS = [(0, 1), (0, -1)]

EXACT: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, str]]] = {
    "rotary": (
        {"rotary": Rotary(TURNS)}, {"angles": QUARTERS},
        {"rotary": "without rotary positions"},
    ),
    "neighbours": (
        {"rotary": Rotary(TURNS, pairs="neighbours"), "causal": True},
        {"angles": QUARTERS, "neighbours": True, "causal": True}, {"rotary": "without rotary positions"},
    ),
    "key heads": (
        {"heads": 4, "key_heads": 2, "value_ranks": (1,)}, {},
        {"blocks": "with heads that share keys in turn, not in blocks"},
    ),
    "biases": (
        {"biases": "QKVO", "causal": True}, {"causal": True},
        {f"b{c}": f"without the bias of {word}" for c, word in
         {"Q": "queries", "K": "keys", "V": "values", "O": "outputs"}.items()},
    ),
    "gains": ({"gains": True}, {}, {"gQ": "differs", "gK": "differs"}),
    "bilinear": (
        {"gated": "identity", "neurons": (3,), "skip": True}, {"activation": "identity", "skip": True},
        {"neurons": "without gated neurons"},
    ),
    "square": (
        {"gated": "square", "neurons": (2,)}, {"activation": "square"},
        {"order": "with gate and up exchanged", "neurons": "without gated neurons"},
    ),
}  # fmt: skip
"""Options of the network, those of the layer, and for each part that is forgotten what is recognized."""


def made(options: dict[str, Any], seed: int = 4, bound: int = 2) -> Weights:
    return Weights.random(Architecture((2, 2), (4,), 3, **options), seed=seed, bound=bound)


@pytest.mark.parametrize(("options", "own", "mutants"), EXACT.values(), ids=EXACT)
def test_a_layer_is_the_map_exactly(options: dict[str, Any], own: dict[str, Any], mutants: dict[str, str]) -> None:
    weights = made(options)
    found = assert_implements(NumpyLayer(weights, **own), weights, tokens=3, trials=8)
    assert found.ulps == 0
    assert found.error_bound is not None
    assert found.error_bound < Fraction(1, 4)
    for without, words in mutants.items():
        with pytest.raises(Mismatch, match=words):
            assert_implements(NumpyLayer(weights, **own, without=without), weights, tokens=3, trials=8)


ROUNDED: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "softmax and biases": (
        {"normalization": SOFTMAX, "biases": "QKVO"}, {"softmax": True}, ["bQ", "bV", "bO"],
    ),
    "angles": (
        {"normalization": SOFTMAX, "rotary": Rotary(base=100), "causal": True},
        {"softmax": True, "causal": True, "angles": 100.0 ** (-np.arange(2) / 2)}, ["rotary"],
    ),
    "angles of lightning": ({"rotary": Rotary(base=100)}, {"angles": 100.0 ** (-np.arange(2) / 2)}, ["rotary"]),
    "points of the circle": (
        {"rotary": Rotary([("3/5", "4/5")], pairs="neighbours")},
        {"angles": np.array([np.arctan2(4, 3)]), "neighbours": True}, ["rotary"],
    ),
    "norm": ({"query_key_norm": Fraction(1, 1024), "gains": True}, {"epsilon": 1 / 1024}, ["norm", "gQ", "gK"]),
    "silu": ({"gated": "silu", "neurons": (3,)}, {"activation": "silu"}, ["neurons", "order"]),
    "gelu": ({"gated": "gelu", "neurons": (3,)}, {"activation": "gelu"}, ["neurons", "order"]),
    "gelu_new": ({"gated": "gelu_new", "neurons": (3,)}, {"activation": "gelu_new"}, ["neurons", "order"]),
    "Qwen3": (
        {"normalization": SOFTMAX, "heads": 4, "key_heads": 2, "value_ranks": (2,), "skip": True, "causal": True,
         "rotary": Rotary(base=10000), "gains": True, "query_key_norm": Fraction(1, 2**20), "gated": "silu",
         "neurons": (3,)},
        {"softmax": True, "skip": True, "causal": True, "angles": 10000.0 ** (-np.arange(2) / 2),
         "epsilon": 2.0**-20, "activation": "silu"},
        ["rotary", "blocks", "norm", "gQ", "gK", "neurons", "order"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("options", "own", "mutants"), ROUNDED.values(), ids=ROUNDED)
def test_a_layer_is_the_map_up_to_rounding(options: dict[str, Any], own: dict[str, Any], mutants: list[str]) -> None:
    weights = made(options)
    found = assert_implements(NumpyLayer(weights, **own), weights, tokens=3, trials=4, ulps=64)
    assert (found.ulps, found.error_bound) == (64, None)
    for without in mutants:
        with pytest.raises(Mismatch):
            assert_implements(NumpyLayer(weights, **own, without=without), weights, tokens=3, trials=4, ulps=64)
    with pytest.raises(BadInput, match=r"rounded in floats, so ulps must say"):
        assert_implements(NumpyLayer(weights, **own), weights, tokens=3)
    with pytest.raises(BadInput, match="degree must be left out with"):
        assert_implements(NumpyLayer(weights, **own), weights, tokens=3, ulps=64, degree=3)


# ---- mutants of the forward pass: a right layer does not agree with one that drops something


@pytest.mark.parametrize(
    ("dropped", "kind"),
    [("biased", "softmax and biases"), ("turned", "angles"), ("gained", "norm"), ("normed", "norm"),
     ("activated", "silu"), ("turned", "points of the circle"), ("biased", "biases"), ("gained", "gains"),
     ("turned", "rotary"), ("activated", "square")],
)  # fmt: skip
def test_a_forward_pass_that_drops_a_part_fails(dropped: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options, own, _ = (EXACT | ROUNDED)[kind]
    weights, ulps = made(options), None if kind in EXACT else 64
    layer = NumpyLayer(weights, **own)
    assert_implements(layer, weights, tokens=3, trials=4, ulps=ulps)
    monkeypatch.setattr(f"lightning_sym.network.variant_layer.{dropped}", lambda x, *_: x)
    with pytest.raises(Mismatch):
        assert_implements(layer, weights, tokens=3, trials=4, ulps=ulps)


# ---- the bound behind exact floats


@given(st.sampled_from([options for options, _, _ in EXACT.values()]), st.integers(0, 99), st.integers(1, 9))
@settings(max_examples=40, deadline=None)
def test_no_output_is_beyond_the_bound(options: dict[str, Any], seed: int, size: int) -> None:
    """In units of its own no output at inputs of this size is larger; halves and quarters are among the weights."""
    network = Architecture((2, 2), (4,), 3, **options)
    weights = Weights.random(network, seed=seed, bound=3)
    halved = Weights.of({n: m / (1 + (i % 3 == 0)) / (1 + (i % 2)) for i, (n, m) in enumerate(weights.named().items())},
                        weights.form)  # fmt: skip
    bound = Exactness(network, halved)
    x = RationalMatrix.of(np.random.default_rng(seed).integers(-size, size + 1, (2, 3)).astype(object))
    outputs = network_output(x, network, [RationalMatrix.of(m) for m in halved.named().values()]).fractions().ravel()
    for output in outputs:
        in_units = output * 2**bound.unit
        assert in_units.denominator == 1
        assert abs(in_units) <= bound(size)


@pytest.mark.parametrize(("options", "own", "mutants"), EXACT.values(), ids=EXACT)
def test_floats_are_exact_at_the_largest_input(options: dict[str, Any], own: dict[str, Any], mutants: Any) -> None:
    """A float32 layer at inputs as large as can be gives what fractions give."""
    del mutants
    weights = made(options, seed=3, bound=1)
    network = weights.architecture(3)
    largest = Exactness(network, weights).largest_input(FLOATS["float32"])
    layer = NumpyLayer(weights, **own)
    layer.w = {name: m.astype(np.float32) for name, m in layer.w.items()}
    exact = [RationalMatrix.of(m) for m in weights.named().values()]
    for seed in range(20):
        x = np.random.default_rng(seed).choice([-largest, largest, largest - 1], (2, 3))
        found = layer(x.astype(np.float32))
        wanted = network_output(RationalMatrix.of(x.astype(object)), network, exact).fractions()
        assert [[Fraction(float(v)) for v in row] for row in found] == wanted.tolist()


def test_the_unit_of_outputs_counts_biases() -> None:
    """A bias in eighths makes outputs of eighths, and eight times as large."""
    plain = Weights.of({"Q1": [[1]], "K1": [[1]], "V1": [[1]]})
    shape = Architecture((1, 1), (1,), 1, biases="O")
    biased = Weights.of(plain.named() | {"bO1": [[Fraction(1, 8)]]}, replace(plain.form, biases="O"))
    found = Exactness(shape, biased)
    assert (found.unit, found(2)) == (3, 8 * 8 + 1)
