"""Proposition 15: for three tokens scores that are dependent over the rationals are told apart where they differ."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from lightning_sym import SOFTMAX, Weights, canonical, transformer_conditions
from lightning_sym.errors import ProgramError
from lightning_sym.exact.rational import columns_of
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.form import NetworkForm
from lightning_sym.system import normal_circuits

Head = tuple[int, int]


def narrow(layers: list[list[Head]], *, causal: bool) -> Weights:
    """Width one, skip connections, of each head the score and the value."""
    named: dict[str, Any] = {}
    for i, heads in enumerate(layers, 1):
        for h, (a, v) in enumerate(heads, 1):
            named |= {f"Q{i}.{h}": [[a]], f"K{i}.{h}": [[1]], f"V{i}.{h}": [[v]]}
    return Weights.of(named, NetworkForm(SOFTMAX, causal=causal, skip=True))


@pytest.mark.parametrize("causal", [True, False])
def test_rational_scores_of_width_one(causal: bool) -> None:
    weights = narrow([[(1, 1), (2, 1)], [(1, 2), (3, 1)]], causal=causal)
    assert str(transformer_conditions(weights, 3).theorem).startswith("Corollary 5")
    assert transformer_conditions(weights, 2).theorem is None
    equal = transformer_conditions(narrow([[(1, 1), (1, 2)], [(1, 2), (3, 1)]], causal=causal), 3)
    assert equal.theorem is None
    assert equal.conditions[0].holds is False


def test_without_mask_one_form_of_each_head_is_enough() -> None:
    """No skip connections: forms of layer 2 that are dependent, over independent scores of layer 1, and over others."""
    e = [[1, 0], [0, 1]]
    named: dict[str, Any] = {"K1.1": e, "K1.2": e, "Q1.1": [[1, 2], [0, 1]], "Q1.2": [[1, 0], [1, 3]]}
    named |= {"V1.1": e, "V1.2": [[1, 1], [0, 2]], "V3.1": e, "V3.2": [[2, 0], [1, 1]], "K3.1": e, "K3.2": e}
    named |= {
        "K2.1": e,
        "K2.2": e,
        "Q2.1": [[1, 1], [0, 2]],
        "Q2.2": [[2, 2], [0, 4]],
        "V2.1": e,
        "V2.2": [[1, 0], [1, 3]],
    }
    named |= {"Q3.1": [[1, 0], [1, 1]], "Q3.2": [[2, 1], [0, 1]]}
    form = NetworkForm(SOFTMAX, skip=False)

    def second_layer(changes: dict[str, Any]) -> bool | None:
        found = transformer_conditions(Weights.of(named | changes, form), 3)
        return next(c.holds for c in found.conditions if (c.name.replace("*", ""), c.layer) == ("(a')", 2))

    assert second_layer({}) is True
    assert second_layer({"Q2.2": [[0, 1], [-1, 0]]}) is False  # skew
    assert second_layer({"Q1.2": [[2, 4], [0, 2]]}) is False  # dependent below


def outputs(layers: np.ndarray[Any, Any], x: np.ndarray[Any, Any], *, causal: bool) -> np.ndarray[Any, Any]:
    """Of many networks of width one: a forward pass of its own, in floating point."""
    tokens, streams = len(x), np.repeat(x[None], len(layers), 0)
    seen = np.triu(np.ones((tokens, tokens), bool)) if causal else np.ones((tokens, tokens), bool)
    for i in range(layers.shape[1]):
        behind = streams.copy()
        for h in range(layers.shape[2]):
            pattern = np.exp(layers[:, i, h, 0, None, None] * streams[:, :, None] * streams[:, None, :]) * seen
            pattern /= pattern.sum(1, keepdims=True)
            behind += layers[:, i, h, 1, None] * np.einsum("nj,njk->nk", streams, pattern)
        streams = behind
    return streams


@pytest.mark.parametrize("causal", [True, False])
def test_no_other_network_of_a_box_has_the_function(causal: bool) -> None:
    """All pairs of two layers of two heads, scores and values in a box: where the conditions hold nothing is equal."""
    pairs = list(itertools.combinations_with_replacement(list(itertools.product((-1, 0, 1, 2), repeat=2)), 2))
    layers = np.array([pairs[a] + pairs[b] for a in range(len(pairs)) for b in range(len(pairs))], float)
    layers = layers.reshape(-1, 2, 2, 2)
    a, v = layers[..., 0], layers[..., 1]
    known = (a != 0).all((1, 2)) & (v != 0).all((1, 2)) & (a[:, :, 0] != a[:, :, 1]).all(1)
    known &= (1 + v.sum(2) != 0).all(1)
    points = np.random.default_rng(5).uniform(-1.2, 1.2, (2, 3))
    found = np.hstack([outputs(layers, x, causal=causal) for x in points])
    order = np.argsort(found @ np.array([1, 1.4, 0.7, 1.2, 0.6, 0.9]))
    near = np.abs(np.diff(found[order], axis=0)).max(1) < 1e-9
    alike = known[order][1:] | known[order][:-1]
    assert near.sum() > 1000  # there are equal functions
    assert not (near & alike).any()
    sample = np.flatnonzero(known)[:: known.sum() // 8]
    for number in sample:  # and the program says of these what the page says
        heads = [[(int(x), int(y)) for x, y in layer] for layer in layers[number]]
        assert str(transformer_conditions(narrow(heads, causal=causal), 3).theorem).startswith("Corollary 5")


# ---- the normal form


def drawn(widths: tuple[int, ...], embed: int, seed: int) -> Weights:
    shape = Architecture(
        widths, (2,) * (len(widths) - 1), 3, normalization=SOFTMAX, heads=2, value_ranks=(2,) * (len(widths) - 1),
        causal=True, embed=embed, unembed=2,
    )  # fmt: skip
    return Weights.random(shape, seed=seed)


@pytest.mark.parametrize(("widths", "embed", "theorem"), [((3, 3, 2), 4, "Corollary 5"), ((3, 4, 3), 2, "Theorem 11")])
def test_without_skip_connections(widths: tuple[int, ...], embed: int, theorem: str) -> None:
    """Also where only words and blocks are known, and where the last layer has another width."""
    weights = drawn(widths, embed, 3)
    named = weights.named()
    named |= {f"{c}2.{h}": named[f"{c}2.{3 - h}"] for c in "QKVO" for h in (1, 2)}
    g = np.array([[Fraction(int(i == j) + int(j == i + 1)) for j in range(widths[1])] for i in range(widths[1])])
    inverse = np.array(np.round(np.linalg.inv(g.astype(float))), dtype=int).astype(object) + Fraction(0)
    named |= {f"O1.{h}": g @ named[f"O1.{h}"] for h in (1, 2)}
    named |= {f"{c}2.{h}": named[f"{c}2.{h}"] @ inverse for c in "QKV" for h in (1, 2)}
    first, second = canonical(weights, 3), canonical(Weights.of(named, weights.form), 3)
    assert first.theorem.startswith(theorem)
    assert first.hash == second.hash


def test_wrong_coordinates_are_not_given_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mutant: the basis of a layer taken from the wrong columns."""
    weights = drawn((3, 3, 2), 4, 3)

    def shifted(matrix: Any, chosen: tuple[int, ...]) -> Any:
        return columns_of(matrix, tuple((c + 1) % matrix.shape[1] for c in chosen))

    monkeypatch.setattr(normal_circuits, "columns_of", shifted)
    with pytest.raises(ProgramError, match="do not belong to the stream"):
        canonical(weights, 3)


def test_a_stream_that_is_narrower_behind_is_decided_too() -> None:
    """Without skip connections E does not reach the scores of the second layer, and has not their width."""
    architecture = Architecture((3, 2, 2, 2), (1, 1, 1), 3, SOFTMAX, heads=2)
    weights = Weights.random(architecture, seed=1)
    weights = Weights.of({**weights.named(), "Q2.1": 0 * weights["Q2.1"]}, weights.form)
    found = {(c.name, c.layer): c.holds for c in transformer_conditions(weights, 3).conditions}
    assert found["(a')", 2] is False
    assert found["(a')", 1] is True
