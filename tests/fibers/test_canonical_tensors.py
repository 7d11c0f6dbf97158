"""Canonical weights of lightning with skip connections: one form for all ways to write the same layer tensors."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from lightning_sym import Answer, Architecture, NetworkForm, Weights, canonical, same_function
from lightning_sym.errors import BadInput, TooLarge

BASIS, INVERSE = np.array([[1, 2], [0, 1]]), np.array([[1, -2], [0, 1]])
SKIP = NetworkForm(skip=True)


def network(layers: Any, *, moved: bool = False, **ends: Any) -> Weights:
    """Of layers of heads (A, V), in the first basis of the stream or in another one."""
    named: dict[str, Any] = {}
    for i, heads in enumerate(layers, start=1):
        for h, (a, v) in enumerate(heads, start=1):
            at = str(i) if len(heads) == 1 else f"{i}.{h}"
            a, v = np.array(a), np.array(v)
            if moved:
                a, v = INVERSE.T @ a @ INVERSE, BASIS @ v @ INVERSE
            named |= {f"Q{at}": a.tolist(), f"K{at}": [[1, 0], [0, 1]], f"V{at}": v.tolist()}
    if moved:
        ends = {"E": (BASIS @ ends["E"]).tolist(), "U": (np.array(ends["U"]) @ INVERSE).tolist()}
    return Weights.of(named | ends, SKIP)


ENDS: dict[str, Any] = {"E": [[1, 2, 0], [1, 3, 1]], "U": [[2, 1], [0, 1]]}
P, R, V, W = np.array([[1, 2]]), np.array([[3, 1]]), np.array([[1, -1]]), np.array([[2, 1]])
THIN = [[(P.T @ R, W.T @ V)], [(P.T @ P, V.T @ R)]]
EXCHANGED = [[(2 * V.T @ R, W.T @ P)], [(-R.T @ P, V.T @ P)]]
TWO = [[([[1, 2], [0, 1]], [[1, 1], [0, 2]]), ([[2, 0], [1, 1]], [[0, 1], [1, 0]])]] * 2


def test_exchanged_keys_and_values_a_factor_and_another_basis() -> None:
    first, second = network(THIN, **ENDS), network(EXCHANGED, moved=True, **ENDS)
    second = Weights.of(second.named() | {"V1": second["V1"] / 2, "V2": -second["V2"]}, SKIP)
    assert same_function(first, second).answer is Answer.SAME
    one, other = canonical(first), canonical(second)
    assert one.hash == other.hash == canonical(one.weights).hash
    assert one.theorem == "Theorem 1 of docs/deep-lightning.md"
    assert same_function(first, one.weights).answer is Answer.SAME
    assert canonical(network(THIN, **ENDS | {"U": [[2, 1], [0, 3]]})).hash != one.hash


def test_heads_that_are_mixed_have_one_form() -> None:
    """V_1 + V_2, V_2 and A_1, A_2 - A_1 have the same tensor."""
    mixed = []
    for (a, v), (b, w) in TWO:
        mixed.append([(a, (np.array(v) + w).tolist()), ((np.array(b) - a).tolist(), w)])
    one, other = canonical(network(TWO, **ENDS)), canonical(network(mixed, moved=True, **ENDS))
    assert one.hash == other.hash
    assert one.weights.architecture(2).heads == 4
    assert same_function(network(TWO, **ENDS), one.weights).answer is Answer.SAME
    changed = canonical(network([TWO[0], TWO[1][::-1]], **ENDS))
    assert changed.hash == one.hash
    wrong = [mixed[0], [mixed[1][0], (mixed[1][1][0], 2 * np.array(mixed[1][1][1]))]]
    assert canonical(network(wrong, **ENDS)).hash != one.hash


@pytest.mark.parametrize("tokens", [2, 3])
@pytest.mark.parametrize(
    "more",
    [
        {"E": [[2, 0], [0, 2]], "V1": [[Fraction(1, 8), 0], [Fraction(3, 8), 0]]},
        {"U": [[1, 0], [1, 1]], "V1": [[1, 0], [2, 0]]},
        {"O1": [[1], [3]], "V1": [[1, 0]]},
    ],
)
def test_one_layer_of_one_head_has_the_form_of_a_plain_one(more: Any, tokens: int) -> None:
    """Behind an embedding, or with an output projection, it had a form of its own."""
    plain = {"Q1": [[1, 2]], "K1": [[3, 1]], "V1": [[1, 0], [3, 0]]}
    one, other = (canonical(Weights.of(each), tokens) for each in (plain, plain | more))
    assert (one.hash, one.theorem) == (other.hash, other.theorem)
    assert canonical(Weights.of(plain | {"V1": [[1, 0], [4, 0]]}), tokens).hash != one.hash


@pytest.mark.parametrize("layers", [THIN, TWO])
def test_one_function_with_its_square_end_in_front_behind_or_both(layers: Any) -> None:
    """E = g alone, U = g alone in another basis, and both: the first had a form of its own."""
    unit = np.eye(2, dtype=int)
    front = network(layers, E=BASIS.tolist())
    behind = network(
        [[(BASIS.T @ a @ BASIS, INVERSE @ v @ BASIS) for a, v in heads] for heads in layers], U=BASIS.tolist()
    )
    both = network(layers, moved=True, E=BASIS, U=unit)
    assert same_function(front, behind).answer is same_function(front, both).answer is Answer.SAME
    forms = [canonical(each) for each in (front, behind, both)]
    assert len({each.hash for each in forms}) == 1
    assert same_function(front, forms[0].weights).answer is Answer.SAME
    assert canonical(network(layers, E=[[1, 2], [0, 2]])).hash != forms[0].hash


TURN = [[0, 1], [-1, 0]]
REFUSED = {
    "one width between layers": Weights.random(Architecture((2, 3, 2), (2, 2), 2, heads=2), seed=1, bound=3),
    "rank of the stream": network(THIN, E=[[1], [2]], U=[[2, 1], [0, 1]]),
    "two background tokens": network([[(TURN, [[1, 0], [0, 1]])], [([[1, 2], [0, 1]], [[1, 0], [1, 1]])]]),
    "two tokens or more": network(THIN, **ENDS),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_is_not_known_to_be_determined_is_refused(why: str) -> None:
    with pytest.raises(BadInput, match=why):
        canonical(REFUSED[why], 1 if why.startswith("two tokens") else 3)


def test_what_is_too_large_is_refused_before() -> None:
    shape = Architecture((40,) * 3, (40, 40), 2, heads=2, skip=True)
    with pytest.raises(TooLarge):
        canonical(Weights.random(shape, seed=1, bound=1), work=1.0)
