"""Whether two networks are the same function where no symmetry says so: zero, degrees, coefficients, inputs."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from virtual_networks import ONE, SUM, E, F, J, network, output

from lightning_sym import (
    Architecture,
    Weights,
    virtual_weights,
)
from lightning_sym.errors import BadInput, ProgramError, ShapeError
from lightning_sym.fibers.comparison import Answer, Comparison, Reason
from lightning_sym.fibers.same_function import same_function
from lightning_sym.fibers.virtual_moves import is_zero_function
from lightning_sym.rings.ball_matrices import DecimalBall
from lightning_sym.rings.rationals import rational_matrix


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([J, ONE, [[1, 1], [1, 1]], [[0, 1], [0, 0]], [[1, 2], [3, 4]], [[0, 0], [0, 0]]]),
                min_size=1, max_size=3), st.integers(1, 2))  # fmt: skip
def test_zero_function_both_ways(attention: list[list[list[int]]], tokens: int) -> None:
    weights = network(*attention, value=[[1, -2]])
    x = np.random.default_rng(0).integers(-(10**6), 10**6, size=(2, tokens))
    assert is_zero_function(virtual_weights(weights.layers), tokens) == (not output(weights, x).any())


def test_coefficients_and_undecided() -> None:
    """Two networks with one function for two tokens, not for three: no known move connects them."""
    one, other = network(E, F, value=SUM), network(F, E, value=SUM)
    by_coefficients = same_function(one, other)
    assert (by_coefficients.answer, by_coefficients.reason) == (Answer.SAME, "coefficients")
    assert same_function(one, other, tokens=3).answer is Answer.DIFFERENT
    undecided = same_function(one, other, memory=0, evaluations=3)
    assert (undecided.answer, undecided.evaluations) == (Answer.UNDECIDED, 3)
    assert undecided.error_bound == Fraction(9, 2**32 + 1) ** 3
    assert same_function(one, other, memory=0, evaluations=0).error_bound == 1


def test_different() -> None:
    shape = Architecture((2, 2), (1,), 2)
    one, other = Weights.random(shape, seed=0), Weights.random(shape, seed=1)
    found = same_function(one, other)
    assert found.answer is Answer.DIFFERENT
    assert found.input is not None
    assert found.outputs is not None
    assert (output(one, found.input) == rational_matrix(found.outputs[0])).all()
    assert (output(other, found.input) == rational_matrix(found.outputs[1])).all()
    assert (found.outputs[0] != found.outputs[1]).any()
    deeper = network(ONE, ONE, value=ONE)
    assert same_function(network(ONE, value=ONE), deeper).answer is Answer.DIFFERENT
    # a multiple of the function is another function: the factors have to cancel
    assert same_function(network(J, value=ONE), network(J, value=np.array(ONE) * 2)).answer is Answer.DIFFERENT
    # (lambda_1, lambda_2, mu) = (2, 1, 1/2) would cancel in one layer, and does not in two
    assert same_function(deeper, network(np.array(ONE) * 2, ONE, value=np.array(ONE) / 2)).answer is Answer.DIFFERENT


def test_zero_and_depth() -> None:
    assert same_function(network(J, value=ONE), network(J, J, value=ONE), tokens=1).reason == "zero"
    assert same_function(network(J, value=ONE), network(ONE, value=ONE), tokens=1).answer is Answer.DIFFERENT


def test_very_deep_networks_are_compared_by_virtual_weights() -> None:
    deep = network(*[ONE] * 40, value=ONE)
    assert same_function(deep, deep).answer is Answer.SAME
    doubled = network(*[np.array(ONE) * 2] * 40, value=ONE)
    found = same_function(deep, doubled)
    assert (found.answer, found.evaluations, found.error_bound) == (Answer.UNDECIDED, 0, Fraction(1))


def test_shapes_must_fit() -> None:
    one = Weights.random(Architecture((2, 1), (1,), 2))
    with pytest.raises(ShapeError, match="output width"):
        same_function(one, Weights.random(Architecture((2, 2), (1,), 2)))
    with pytest.raises(ShapeError, match="input width"):
        same_function(one, Weights.random(Architecture((3, 1), (1,), 2)))
    with pytest.raises(BadInput):
        same_function(one, one, evaluations=-1)


def test_deep_networks_that_need_no_input_to_differ() -> None:
    def one(depth: int, first: int = 1) -> Weights:
        matrices = {f"{letter}{i}": [[1]] for i in range(1, depth + 1) for letter in "QKV"}
        return Weights.of(matrices | {"V1": [[first]]})

    assert same_function(one(10), one(10, 0)).reason == "zero"
    assert same_function(one(10), one(11)).reason == "degree"
    assert {same_function(one(10), other).answer for other in (one(10, 0), one(11), one(3))} == {Answer.DIFFERENT}


SHOWN = {
    (Answer.SAME, Reason.IDENTICAL), (Answer.SAME, Reason.COEFFICIENTS), (Answer.SAME, Reason.ZERO),
    (Answer.DIFFERENT, Reason.ZERO), (Answer.DIFFERENT, Reason.DEGREE), (Answer.UNDECIDED, Reason.EVALUATIONS),
    (Answer.UNDECIDED, Reason.AGREEMENT),
}  # fmt: skip
"""What shows an answer with no evidence beside it: weights, coefficients and values that were looked at."""


@pytest.mark.parametrize("answer", Answer)
def test_an_answer_without_its_evidence_cannot_be_made(answer: Answer) -> None:
    for reason in Reason:
        if (answer, reason) in SHOWN:
            assert Comparison(answer, reason).answer is answer
        else:
            with pytest.raises(ProgramError, match="without its evidence"):
                Comparison(answer, reason)


def test_outputs_that_are_equal_show_nothing() -> None:
    one, other = np.array([[Fraction(1), Fraction(2)]]), np.array([[Fraction(1), Fraction(3)]])
    assert Comparison(Answer.DIFFERENT, Reason.INPUT, input=one, outputs=(one, other)).outputs is not None
    with pytest.raises(ProgramError, match="outputs for an input must differ"):
        Comparison(Answer.DIFFERENT, Reason.INPUT, input=one, outputs=(one, one.copy()))


def test_balls_that_meet_show_nothing() -> None:
    one, other, apart = (np.array([[DecimalBall(Fraction(n, 100), Fraction(1, 100))]]) for n in (100, 102, 103))
    shown: dict[str, Any] = {"input": one, "entry": (1, 1), "precision": 64}
    assert Comparison(Answer.DIFFERENT, Reason.BALLS, outputs=(one, apart), **shown).entry == (1, 1)
    with pytest.raises(ProgramError, match="outputs for an input must differ"):
        Comparison(Answer.DIFFERENT, Reason.BALLS, outputs=(one, other), **shown)
