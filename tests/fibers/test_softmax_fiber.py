"""Fibers of softmax networks: their dimension against ranks and counts, their elements and second networks in balls."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import run
from small_transformers import apart, changed, drawn, has_rank, moved, outputs, shape

from lightning_sym import NetworkForm, Normalization, Weights, certified_dimension, fiber, save_weights
from lightning_sym.errors import BadInput, TooLarge
from lightning_sym.fibers import answer, softmax_fiber
from lightning_sym.fibers.answer import Fiber
from lightning_sym.fibers.factorizations import product_fiber_dimension

SHAPES = [
    shape(t, widths=widths, heads=heads, a=a, b=b, skip=skip, causal=causal, embed=embed, unembed=unembed)
    for t, widths, heads, a, b, skip, causal, embed, unembed in (
        (2, (2, 2), 2, 1, 1, True, False, None, None),
        (3, (2, 2), 2, 2, None, False, True, 3, 2),
        (3, (2, 2, 2), 1, 1, 1, True, False, 2, 2),
        (2, (2, 2, 2), 2, 1, None, True, True, None, 2),
        (3, (2, 2, 2), 2, 1, 1, False, False, 2, 3),
        (2, (2, 1, 2), 2, 1, 2, False, True, None, None),
        (3, (3, 3), 1, 2, 2, True, True, None, None),
    )
]


@pytest.mark.parametrize("architecture", SHAPES, ids=str)
def test_generic_dimensions_are_the_certified_ones(architecture: Any) -> None:
    found = fiber(drawn(architecture, seed=5, bound=40), architecture.tokens)
    assert found.theorem is not None
    assert found.theorem.number == "Corollary 5"
    assert found.dimension == architecture.parameter_count - (certified_dimension(architecture).value or -1)


@pytest.mark.parametrize("architecture", SHAPES, ids=str)
def test_the_group_keeps_the_function(architecture: Any) -> None:
    weights = drawn(architecture, seed=6, bound=3)
    other = moved(weights, seed=1)
    assert other != weights
    assert not apart(weights, other, architecture.tokens, tries=2)
    assert apart(weights, changed(weights, **{name.replace(".", "_"): m * 2 for name, m in _some(weights)}), 2, tries=4)


def _some(weights: Weights) -> Iterator[tuple[str, Any]]:
    return ((name, m) for name, m in weights.matrices.items() if name[0] in "VU" and name[1:2] in ("", "1"))


WIDE = [[(2, 2), (2,)], [(2, 2, 2), (1, 2)], [(2, 3, 2), (2, 1)], [(1, 2, 2), (1, 1)], [(2, 1, 2), (1, 1)]]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("widths", "ranks"), WIDE)
def test_one_head_dimensions_are_the_certified_ones(
    widths: tuple[int, ...], ranks: tuple[int, ...], causal: bool
) -> None:
    from lightning_sym import SOFTMAX, Architecture

    architecture = Architecture(widths, ranks, 3, SOFTMAX, causal=causal)
    found = fiber(drawn(architecture, seed=3, bound=7), 3)
    assert found.complete
    assert found.dimension == architecture.parameter_count - (certified_dimension(architecture).value or -1)


def test_behind_a_blind_layer_all_scores_are_free_and_the_differential_says_so() -> None:
    weights = drawn(shape(3, widths=(2, 2, 2), heads=1, skip=False), seed=2, bound=3)
    for layer, more in ((1, 4), (2, 0)):
        blind = changed(weights, **{f"Q{layer}": 0 * weights["Q1"]})
        found = fiber(blind, 3)
        assert (f"layer {layer} is blind" in found.description) is bool(more)
        assert found.dimension is not None
        parameters = blind.architecture(3).parameter_count
        # a zero matrix K^T Q with a = 1: K or Q is zero, and near Q = 0 the fiber is the K; 2 dimensions
        assert not has_rank(blind, 3, parameters - found.dimension + 1, inputs=8)
    assert fiber(changed(weights, V1=0 * weights["V1"]), 3).description.startswith("V~ is determined (V~ = 0")


def test_zero_layers_move_past_skew_ones_for_two_tokens() -> None:
    eye, skew, zero = [[1, 0], [0, 1]], [[0, 1], [-1, 0]], [[0, 0], [0, 0]]
    named: dict[str, Any] = {}
    for i, q in enumerate((skew, zero, zero, eye, skew), start=1):
        named |= {f"Q{i}": q, f"K{i}": eye, f"V{i}": eye}
    form = NetworkForm(drawn(SHAPES[0], 1).form.normalization, causal=True)
    weights = Weights.of(named, form)
    found = fiber(weights, 2)
    assert found.description.startswith("3 points in virtual weights")
    assert "are determined" in fiber(weights, 3).description
    last = changed(weights, Q1=zero, Q3=[[0, 4], [-4, 0]])
    assert not apart(weights, last, 2)
    assert apart(weights, last, 3)


SKEW = np.array([[0, 1], [-1, 0]])
BLIND = {"Q1_1": SKEW, "Q1_2": 2 * SKEW, "K1_1": np.eye(2, dtype=int), "K1_2": np.eye(2, dtype=int)}
SECOND: list[tuple[str, int, dict[str, Any], dict[str, Any]]] = [
    ("heads 1 and 2 of layer 1 as one", 3, {}, {"Q1_2": "Q1.1", "K1_2": "K1.1"}),
    ("heads 1 and 2 of layer 2 as one", 3, {"b": 1}, {"Q2_2": "Q2.1", "K2_2": "K2.1"}),
    ("opposite to head 1, with scores 0", 2, {"b": 1}, {"Q1_2": "-Q1.1", "K1_2": "K1.1"}),
    ("opposite to head 1, with scores 0", 2, {"causal": True}, {"Q2_2": "-Q2.1", "K2_2": "K2.1"}),
    ("heads 1, 2 of layer 1 with opposite A and V", 2, {}, {"V1_2": "-V1.1"}),
    ("heads 1, 2 of layer 2 with opposite A and V", 2, {"causal": True}, {"V2_2": "-V2.1"}),
    ("head 1 of layer 1", 3, {}, {"V1_1": "0V1.1"}),
    ("behind a blind one", 2, {"skip": False, "a": 2}, BLIND),
    ("head 2 of layer 2 in layer 1", 3, {"widths": (4, 4, 4)}, {}),
]


@pytest.mark.parametrize(("what", "tokens", "options", "change"), SECOND)
def test_second_networks_are_the_same_function(
    what: str, tokens: int, options: dict[str, Any], change: dict[str, Any]
) -> None:
    weights = drawn(shape(tokens, **options), seed=4, bound=3)
    if "widths" in options:  # layer 1 writes row 1 and reads rows 1, 2; head 2 of layer 2 lives in rows 3, 4
        low, high = np.diag([1, 1, 0, 0]), np.diag([0, 0, 1, 1])
        for name, matrix in weights.matrices.items():
            part = high if name[1:] == "2.2" else low
            change = change | {name: (part @ matrix if name[0] == "V" else matrix) @ part}
    else:
        factor = {"-": -1, "0": 0}
        change = {
            key: factor.get(value[0], 1) * weights[value.lstrip("-0")] if isinstance(value, str) else value
            for key, value in change.items()
        }
    weights = changed(weights, **change)
    found = fiber(weights, tokens)
    assert found.second is not None
    assert what in found.second.description
    assert found.second.weights != weights
    assert not apart(weights, found.second.weights, tokens)
    assert found.theorem is None or found.theorem.number != "Corollary 5"


def test_a_network_is_not_its_own_second() -> None:
    """Two heads have no scores, and the second does nothing: as one they are what they were."""
    weights = drawn(shape(3), seed=4, bound=3)
    weights = changed(weights, Q1_1=0 * weights["Q1.1"], Q1_2=0 * weights["Q1.2"], V1_2=0 * weights["V1.2"])
    found = fiber(weights, 3)
    assert not found.complete
    assert found.second is None or found.second.weights != weights


def test_no_second_network_is_invented() -> None:
    """The scores of a head are zero, and nothing else is known."""
    weights = drawn(shape(3), seed=4, bound=3)
    found = fiber(changed(weights, Q2_1=0 * weights["Q2.1"]), 3)
    assert (found.complete, found.second, found.total, found.minimal) == (False, None, None, "")


@pytest.mark.parametrize("tokens", [2, 3])
def test_one_layer_is_complete_for_all_weights(tokens: int) -> None:
    weights = drawn(shape(tokens, widths=(2, 2)), seed=4, bound=3)
    equal = changed(weights, Q1_2=weights["Q1.1"], K1_2=weights["K1.1"])
    found = fiber(equal, tokens)
    assert found.complete
    assert found.theorem is not None
    assert found.theorem.number == "Theorem 8"


def test_ranks_below_the_inner_widths_make_the_fiber_larger() -> None:
    architecture = shape(3, widths=(3, 3), a=2)
    weights = drawn(architecture, seed=1, bound=5)
    full = fiber(weights, 3)
    thin = changed(weights, Q1_1=np.array([[1, 2, 3], [2, 4, 6]], dtype=object) * Fraction(1))
    assert (full.dimension, fiber(thin, 3).dimension) == (4 + 4, product_fiber_dimension(3, 3, 2, 1) + 4)


def test_one_token_and_refusals() -> None:
    weights = drawn(shape(1), seed=1)
    found = fiber(weights, 1)
    assert (found.complete, found.theorem) == (True, None)
    one_head = drawn(shape(2, heads=1, skip=False), 1)
    refused: list[tuple[type[Exception], Weights, int, dict[str, Any]]] = [
        (BadInput, weights, 0, {}),
        (BadInput, weights.with_form(NetworkForm(Normalization("1/(1 - y)", lambda k: Fraction(1)))), 2, {}),
        (TooLarge, one_head, 2, {"work": 1e-9}),
        (TooLarge, weights, 2, {"memory": 10}),
    ]
    for kind, given, tokens, options in refused:
        with pytest.raises(kind) as caught:
            fiber(given, tokens, **options)
        assert "\n" not in str(caught.value)
    with pytest.raises(BadInput, match=r"found\.complete"):
        bool(found)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = drawn(shape(3), seed=3, bound=5)
    equal = changed(good, Q1_2=good["Q1.1"], K1_2=good["K1.1"])
    for name, weights, code in (("good", good, 0), ("equal", equal, 3)):
        save_weights(weights, file := tmp_path / f"{name}.json")
        status, out, err = run(capsys, "fiber", str(file), "--tokens", "3", "--json")
        document, found = json.loads(out), fiber(weights, 3)
        assert (status, err) == (code, "")
        assert isinstance(found, Fiber)
        assert (document["complete"], document["dimension"]) == (found.complete, found.dimension)
        assert [c["holds"] for c in document["conditions"]] == [c.holds for c in found.conditions]
        assert document["theorem"] == (None if found.theorem is None else str(found.theorem))
        assert (document["another"] is None) == (found.second is None)


def small(heads: int, depth: int) -> Iterator[tuple[tuple[tuple[int, int], ...], ...]]:
    """Networks of width one by their `(A, V)`, one for each order of heads."""
    layer = list(itertools.combinations_with_replacement(itertools.product((-1, 0, 1, 2), repeat=2), heads))
    yield from itertools.product(layer, repeat=depth)


@pytest.mark.parametrize("tokens", [2, 3])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("heads", "depth", "skip"), [(1, 2, True), (2, 1, True), (2, 1, False)])
def test_no_other_small_network_is_in_a_fiber_that_is_known(
    heads: int, depth: int, skip: bool, causal: bool, tokens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All networks of width one with entries -1 to 2: where Corollary 5 holds, balls tell all others apart."""
    for file, name in ((answer, "local_dimension"), (softmax_fiber, "second_network")):  # only the theorem counts
        monkeypatch.setattr(file, name, lambda *words, **options: None)
    architecture = shape(tokens, widths=(1,) * (depth + 1), heads=heads, skip=skip, causal=causal)
    rows = ((2, -7, 3)[:tokens], (1, 4, -6)[:tokens])
    points = [np.array([[Fraction(n, 5) for n in row]], dtype=object) for row in rows]
    found = []
    for layers in small(heads, depth):
        named: dict[str, Any] = {}
        for i, layer in enumerate(layers, start=1):
            for h, (a, v) in enumerate(layer, start=1):
                name = f"{i}" if heads == 1 else f"{i}.{h}"
                named |= {f"Q{name}": [[a]], f"K{name}": [[1]], f"V{name}": [[v]]}
        weights = Weights.of(named, NetworkForm.of(architecture))
        values = [x for point in points for x in outputs(weights, point, tokens).ravel()]
        theorem = fiber(weights, tokens).theorem
        certain = theorem is not None and theorem.number == "Corollary 5"
        found.append((values, [float(x.mid()) for x in values], certain))
    middles = np.array([middle for _, middle, _ in found])
    for i, (values, middle, certain) in enumerate(found):
        # those whose outputs look alike; balls decide
        for j in np.flatnonzero((abs(middles - middle) < 1e-6).all(axis=1)) if certain else ():
            same = all(one.overlaps(other) for one, other in zip(values, found[j][0], strict=True))
            assert i == j or not same, (i, j)
    assert sum(certain for _, _, certain in found) > 10
