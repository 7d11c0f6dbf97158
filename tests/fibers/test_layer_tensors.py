"""Lightning: layer tensors that its function determines, and networks whose layers do the same."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from lightning_sym import Architecture, NetworkForm, Weights, fiber, same_function
from lightning_sym.ask import TheoremPrice
from lightning_sym.fibers import determined, lightning_fiber
from lightning_sym.fibers.ball_pair import PairInBalls
from lightning_sym.fibers.comparison import Answer, Reason
from lightning_sym.fibers.head_tensors import MIXED, heads_of_tensor, mixes_heads
from lightning_sym.fibers.layer_tensors import LayerTensors, tensor_conditions
from lightning_sym.fibers.local_dimension import local_dimension
from lightning_sym.fibers.tensor_hypotheses import TensorQuestion, tensor_need

SKIP = NetworkForm(skip=True)
ONE, LOW = [[1, 0], [0, 1]], [[0, 0], [1, 0]]
FIRST, LAST = [[1, 0], [0, 0]], [[0, 0], [0, 1]]


def negative(matrix: list[list[int]]) -> list[list[int]]:
    return [[-x for x in row] for row in matrix]


def layers(*pairs: Any, form: NetworkForm | None = None, **ends: Any) -> Weights:
    """Layers of one head by their A and V."""
    named = {f"{c}{i}": m for i, (a, v) in enumerate(pairs, start=1) for c, m in (("Q", a), ("K", ONE), ("V", v))}
    return Weights.of(named | ends, NetworkForm(skip=True) if form is None else form)


def drawn(seed: int, widths: int, depth: int, *, causal: bool = False, ranks: int = 2, **options: Any) -> Weights:
    shape = Architecture((widths,) * (depth + 1), (ranks,) * depth, 2, skip=True, causal=causal, **options)
    return Weights.random(shape, seed=seed, bound=3)


TWINS = {
    "(D)": (
        layers((negative(ONE), negative(LOW)), ([[-1, -1], [1, 0]], LOW)),
        layers(([[-1, 0], [0, 1]], LOW), ([[-1, 1], [-1, 0]], negative(LOW))),
    ),
    "an embedding and an unembedding of the rank of the stream, or none": (
        layers((ONE, [[1, 2], [0, 1]]), ([[1, 1], [0, 2]], [[1, 0], [2, 1]]), U=[[1, 0]]),
        layers((ONE, [[1, 2], [0, 1]]), ([[1, 1], [0, 2]], [[1, 0], [7, 5]]), U=[[1, 0]]),
    ),
}
"""Two networks of one function and with other layer tensors, by the hypothesis that keeps both out."""


@pytest.mark.parametrize("must", TWINS)
def test_each_hypothesis_keeps_twins_out(must: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = TWINS[must]
    assert same_function(one, other, 2).answer is Answer.SAME
    assert not any(fiber(weights, 2).complete for weights in (one, other))

    row: Any = lightning_fiber.TENSOR_FIBERS[1]
    needs = tuple(need for need in row.needs if need.must != must)
    less = row._replace(needs=needs, price=lambda asked: TheoremPrice((), ""))
    monkeypatch.setattr(lightning_fiber, "TENSOR_FIBERS", (less,))
    assert fiber(one, 2).complete


def test_one_token_has_the_cubic_forms_alone() -> None:
    """Skew parts of A are not seen; with two tokens they are."""
    one = layers((ONE, [[1, 2], [0, 1]]), ([[1, 1], [0, 2]], [[1, 0], [2, 1]]))
    other = layers((ONE, [[1, 2], [0, 1]]), ([[1, 3], [-2, 2]], [[1, 0], [2, 1]]))
    assert same_function(one, other, 1).answer is Answer.SAME
    assert same_function(one, other, 2).answer is Answer.DIFFERENT
    found, more = fiber(one, 1), fiber(one, 2)
    assert found.complete
    assert more.complete
    assert "cubic forms" in found.description
    assert found.total is None
    assert found.bounds is not None
    assert more.total is not None
    assert found.bounds[1] > more.total


def test_width_one_by_points_of_a_finite_field() -> None:
    """u e = 1 and the numbers of two layers, 1 and 0 in this order or in the other one, up to e."""
    p = 5
    weights = Weights.of({f"{c}{i}": [[2 - i]] for c in "QKV" for i in (1, 2)} | {"E": [[1]], "U": [[1]]}, SKIP)
    found = fiber(weights, 1)
    assert found.complete
    many = sum(1 for q, k, v in product(range(p), repeat=3) if not q * k * v % p)
    count = 2 * (p - 1) * (p - 1) ** 2 * many
    assert abs(np.log(count / 2) / np.log(p) - (found.total or 0)) < 0.9
    assert found.total == 5
    zero = Weights.of(weights.named() | {"E": [[0]]}, SKIP)
    assert not fiber(zero, 1).complete


def test_near_weights_a_gcd_is_enough() -> None:
    """The form y^T y times 1 in both layers: det(1 + B_2) has small factors, none in common with that of layer 1."""
    square = [[1, 0], [0, 1]]
    found = fiber(layers((ONE, square), (ONE, square)), 2)
    assert not found.complete
    assert found.source == "Theorem 2 of docs/deep-lightning.md, near these weights"
    assert found.description.startswith("near these weights all layer tensors")
    assert found.bounds is not None


def test_heads_that_are_mixed() -> None:
    """Two heads of full rank in width three: V_1 + V_2, V_2 and A_1, A_2 - A_1 are others."""
    weights = drawn(1, 3, 2, heads=2, ranks=3)
    known = [each.known for each in heads_of_tensor(weights, weights.architecture(2))]
    assert known == [MIXED, MIXED]
    assert "R in GL(H)" in fiber(weights, 2).description
    rows = np.array([[[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[2, 0, 0], [0, 3, 0], [0, 0, 0]]])
    common = rows.copy()
    common[:, 1:] = 0  # minors of v are zero
    assert mixes_heads(rows, rows, 101)
    assert not mixes_heads(common, rows, 101)
    assert not mixes_heads(rows[:, :2], rows, 101)  # one minor is its own factor


def test_a_complete_fiber_has_the_dimension_that_is_found_near_the_weights() -> None:
    complete = of_heads = 0
    for seed in range(12):
        options: dict[str, Any] = {"embed": 4, "unembed": 5} if seed % 2 else {}
        weights = drawn(seed, 4, 2, causal=seed % 3 == 0, heads=1 + seed % 3 // 2, value_ranks=(2, 2), **options)
        found = fiber(weights, 2)
        complete += found.complete
        if found.total is not None:
            of_heads += 1
            near = local_dimension(weights, 2)
            assert near is not None
            assert near.lower <= found.total <= near.upper
    assert (complete, of_heads) == (12, 12)


def test_heads_that_are_not_determined_are_said_so() -> None:
    weights = drawn(1, 3, 2, heads=3)
    found = fiber(weights, 3)
    assert found.complete
    assert found.total is None
    assert "their heads are not known" in found.description
    assert [each.known for each in heads_of_tensor(weights, weights.architecture(3))] == ["", ""]


def test_two_background_tokens_can_show_what_one_does_not() -> None:
    """A V is skew: (D) fails with one."""
    weights = layers(([[0, 1], [-1, 0]], ONE), ([[1, 2], [0, 1]], [[1, 0], [1, 1]]))
    assert not fiber(weights, 2).complete
    assert fiber(weights, 3).complete
    assert "background" in TensorQuestion(weights, 3).conditions[0].evidence


def test_small_factors_are_seen() -> None:
    """`d = 1`: all polynomials in one variable have linear factors."""
    weights = Weights.of({f"{c}{i}": [[i]] for c in "QKV" for i in (1, 2)}, NetworkForm(skip=True))
    failed = [c for c in tensor_conditions(LayerTensors.of(weights, 2)) if c.failing is not None]
    assert [c.name for c in failed] == ["(F) to layer 2"]
    assert tensor_need("(F)").failing(Holder(TensorQuestion(weights, 2))) == failed[0].failing


class Holder:
    """What has tensors."""

    def __init__(self, tensors: TensorQuestion) -> None:
        self.tensors = tensors


# ---- same


def thin(rows: dict[str, list[int]], shear: int, *, causal: bool) -> Weights:
    """Two layers of two heads of rank one, in another basis."""
    basis, inverse = (np.array([[1, x], [0, 1]]) for x in (shear, -shear))
    matrices: dict[str, Any] = {}
    for name, row in rows.items():
        writes = name[0] in "EO"
        matrices[name] = (basis @ np.array([row]).T if writes else np.array([row]) @ inverse).tolist()
    return Weights.of(matrices, NetworkForm(skip=True, causal=causal))


ROWS = {"E": [1, 2], "U": [3, 1]}
ROWS |= {f"{c}{i}.{h}": [1 + i, 2 - i] for c in "QO" for i in (1, 2) for h in (1, 2)}
KEYS = {(1, 1): ([1, 2], [0, 1]), (1, 2): ([3, 1], [1, 1]), (2, 1): ([2, -1], [1, 3]), (2, 2): ([1, 0], [2, 5])}


def with_keys(keys: dict[tuple[int, int], tuple[list[int], list[int]]]) -> dict[str, list[int]]:
    return ROWS | {f"{c}{i}.{h}": row for (i, h), both in keys.items() for c, row in zip("VK", both, strict=True)}


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("tokens", [1, 3])
def test_exchanged_and_joined_rows_in_another_basis(tokens: int, causal: bool) -> None:
    first = thin(with_keys(KEYS), 0, causal=causal)
    (v1, k1), (v2, k2) = KEYS[1, 1], KEYS[1, 2]
    joined = [x + y for x, y in zip(v1, v2, strict=True)], k1
    changed = {(1, 1): joined, (1, 2): (v2, [y - x for x, y in zip(k1, k2, strict=True)])}
    changed |= {(2, h): KEYS[2, h][::-1] for h in (1, 2)}
    found = same_function(first, thin(with_keys(changed), 1, causal=causal), tokens)
    assert (found.answer, found.reason) == (Answer.SAME, Reason.TENSORS)
    assert found.stream is not None
    assert found.stream[2].tolist() == [[1, 1], [0, 1]]
    wrong = changed | {(1, 2): (v2, [x + y for x, y in zip(k1, k2, strict=True)])}
    assert same_function(first, thin(with_keys(wrong), 1, causal=causal), tokens).answer is Answer.DIFFERENT


def test_one_network_that_is_determined_tells_two_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no input is tried: by Theorem 1 alone, and not if the other one has more heads."""
    one = drawn(3, 3, 2, heads=2)
    named = one.named()
    other = Weights.of(named | {"V2.1": [[x + 1 for x in row] for row in named["V2.1"]]}, one.form)
    monkeypatch.setattr(PairInBalls, "exactly", lambda self, bound: None)
    found = same_function(one, other, 2, evaluations=0, memory=1)
    assert (found.answer, found.theorem) == (Answer.DIFFERENT, "Theorem 1 of docs/deep-lightning.md")
    pair = determined.TensorPair(TensorQuestion(one, 2), replace(one.architecture(2), heads=3))
    theorem, tried = determined.apart_by_tensors(pair)
    assert theorem is None
    assert "no larger ranks" in tried[0].why
