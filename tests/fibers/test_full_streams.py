"""Lightning without skip connections: full streams determine all layer tensors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lightning_sym import Architecture, NetworkForm, Weights, canonical, fiber, same_function
from lightning_sym.certificates import limits
from lightning_sym.certificates.fibers import tensor_certificate
from lightning_sym.errors import BadInput, TooLarge
from lightning_sym.fibers import determined, lightning_fiber
from lightning_sym.fibers.ball_pair import PairInBalls
from lightning_sym.fibers.comparison import Answer
from lightning_sym.fibers.local_dimension import local_dimension
from lightning_sym.fibers.tensor_hypotheses import TensorQuestion
from lightning_sym.system.circuits import NetworkCircuits
from lightning_sym.system.tensor_streams import tensor_streams

PLAIN = NetworkForm()
ONE = [[1, 0], [0, 1]]


def layers(*pairs: Any, **ends: Any) -> Weights:
    """Layers of one head by their A and V."""
    named = {f"{c}{i}": m for i, (a, v) in enumerate(pairs, start=1) for c, m in (("Q", a), ("K", ONE), ("V", v))}
    return Weights.of(named | ends, PLAIN)


TURN, SHEAR = [[0, 1], [-1, 0]], [[1, 2], [3, 1]]  # of determinant -5
FACTORED = layers((SHEAR, ONE), (TURN, [[1, 1], [0, 2]]), E=ONE)
"""Without skip connections: all determinants contain that of X."""


def full(tokens: int, seed: int = 1, **options: Any) -> Weights:
    shape = Architecture((3, 3, 3), (3, 3), tokens, heads=3, **options)
    return Weights.random(shape, seed=seed, bound=3)


def test_small_factors_keep_another_network_out_without_skip(monkeypatch: pytest.MonkeyPatch) -> None:
    other = layers((TURN, ONE), ((-5 * np.array(SHEAR)).tolist(), [[1, 1], [0, 2]]), E=ONE)
    assert same_function(FACTORED, other, 3).answer is Answer.SAME
    assert not tensor_streams(NetworkCircuits.of(FACTORED), NetworkCircuits.of(other), 3).same
    found = fiber(FACTORED, 3)
    assert not found.complete
    assert "(F') to layer 2, layer 1 is not known to hold" in str(found)
    row = lightning_fiber.TENSOR_FIBERS[-2]
    monkeypatch.setattr(lightning_fiber, "TENSOR_FIBERS", (row._replace(needs=row.needs[:-1]),))
    assert fiber(FACTORED, 3).complete


@pytest.mark.parametrize(
    ("weights", "tokens", "why"),
    [
        (lambda: Weights.random(Architecture((2, 3, 2), (2, 2), 3, heads=3), seed=1), 3, "one width between layers"),
        (lambda: Weights.random(Architecture((3, 3, 3), (1, 1), 2, heads=2), seed=1), 2, "(D'), layer 1"),
        (lambda: skewed(3), 2, "(S), layer 1"),
    ],
)
def test_what_theorem_3_needs_is_refused_by_name(weights: Any, tokens: int, why: str) -> None:
    found = fiber(weights(), tokens)
    assert not found.complete
    assert any(why in each.why for each in found.tried if each.citation.startswith("Theorem 3 of"))


def skewed(heads: int) -> Weights:
    """The first row that layer 1 writes is y_1 times a skew form: it is 0 where key and query are one."""
    named = full(2).named()
    first: dict[str, Any] = {"Q1.1": [[0, 1, 0], [-1, 0, 0], [0, 0, 0]], "K1.1": np.eye(3, dtype=int).tolist()}
    first["V1.1"] = [[1, 0, 0], [0, 0, 0], [0, 0, 0]]
    for h in range(2, heads + 1):
        first[f"V1.{h}"] = [[0, 0, 0], *named[f"V1.{h}"].tolist()[1:]]
    return Weights.of(named | first, PLAIN)


@pytest.mark.parametrize("options", [{}, {"causal": True}, {"embed": 4}, {"unembed": 4}, {"tokens": 1}])
def test_full_streams_determine_layers_without_skip(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    one = full(**({"tokens": 2} | options))
    tokens = options.get("tokens", 2)
    found = fiber(one, tokens)
    assert (found.complete, found.source) == (True, "Theorem 3 of docs/deep-lightning.md")
    named = one.named()
    other = Weights.of(named | {"V2.1": [[x + 1 for x in row] for row in named["V2.1"]]}, one.form)
    monkeypatch.setattr(PairInBalls, "exactly", lambda self, bound: None)
    told = same_function(one, other, tokens, evaluations=0, memory=1)
    assert (told.answer, told.theorem) == (Answer.DIFFERENT, "Theorem 3 of docs/deep-lightning.md")
    wider = replace(one.architecture(tokens), widths=(3, 4, 3))
    theorem, tried = determined.apart_by_tensors(determined.TensorPair(TensorQuestion(one, tokens), wider))
    assert theorem is None
    assert "one width between layers" in tried[0].why


def test_one_layer_of_several_heads_is_its_tensor() -> None:
    """Whatever its ranks: one background token is enough to see it."""
    weights = Weights.random(Architecture((3, 2), (1,), 2, heads=3, value_ranks=(1,)), seed=4, bound=2)
    found = fiber(weights, 2)
    assert (found.complete, found.conditions) == (True, ())


def test_heads_that_are_known_give_the_dimension_without_skip() -> None:
    weights = Weights.random(Architecture((4, 4, 4), (3, 3), 4, heads=2, value_ranks=(2, 2)), seed=1, bound=3)
    found, fewer, near = fiber(weights, 4), fiber(weights, 3), local_dimension(weights, 4)
    assert near is not None
    assert found.total == near.value == 2 * 2 * (9 + 4 + 1) + 16
    assert fewer.source.endswith("near these weights")  # with two background tokens determinants of values are factors


def test_a_certificate_has_its_price_before_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    one = full(2)
    found = fiber(one, 2)
    assert tensor_certificate(found, one)["carried"]
    monkeypatch.setattr(limits, "MOST_STEPS", 10**5)
    with pytest.raises(TooLarge, match="one with lines of degrees up to 18 takes"):
        tensor_certificate(found, one)
    with pytest.raises(BadInput, match=r"needs Theorem 3 of docs/deep-lightning\.md, got Theorem 1"):
        tensor_certificate(replace(found, source="Theorem 1 of docs/deep-lightning.md"), one)


@pytest.mark.parametrize("ends", [{}, {"embed": 3, "unembed": 4, "causal": True}])
def test_the_canonical_form_is_of_all_bases(ends: dict[str, Any]) -> None:
    """The stream between both layers in another basis, heads in another order, and one entry changed."""
    one = full(2, **ends)
    named = {name: np.array(m) for name, m in one.named().items()}
    basis, inverse = (np.array([[1, x, 0], [0, 1, 0], [0, 0, 1]]) for x in (2, -2))
    moved = dict(named)
    for h in range(1, 4):
        moved[f"V1.{h}"] = basis @ named[f"V1.{h % 3 + 1}"]
        moved |= {f"{c}1.{h}": named[f"{c}1.{h % 3 + 1}"] for c in "QK"}
        moved |= {f"{c}2.{h}": named[f"{c}2.{h}"] @ inverse for c in "QKV"}
    found = canonical(one, 2)
    assert found.theorem == "Theorem 3 of docs/deep-lightning.md"
    assert found.hash == canonical(Weights.of(moved, one.form), 2).hash
    moved["Q2.1"] = moved["Q2.1"] + np.eye(3, dtype=int)
    assert found.hash != canonical(Weights.of(moved, one.form), 2).hash
    assert same_function(one, found.weights, 2).answer is Answer.SAME
