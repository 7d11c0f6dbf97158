"""`assert_implements` for lightning attention: right programs pass, wrong ones are found, and are told from others."""

from __future__ import annotations

import pickle
import re
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy_attention import attention

from lightning_sym import SOFTMAX, Architecture, BadInput, NetworkForm, ShapeError, TooLarge, Weights, network_output
from lightning_sym.testing import Mismatch, NotDecided, assert_implements
from lightning_sym.testing.callers import random_input
from lightning_sym.testing.exact_floats import FLOATS
from lightning_sym.testing.failures import power_of_ten
from lightning_sym.testing.truth import ExactOutputs, exactly

NETWORKS = {
    "one layer": Architecture((3, 2), (2,), 3),
    "causal": Architecture((2, 2), (2,), 3, causal=True),
    "skip": Architecture((3, 3), (2,), 2, skip=True),
    "two layers": Architecture((2, 2, 2), (2, 1), 2),
    "heads": Architecture((2, 3), (2,), 2, heads=3),
    "transformer": Architecture((2, 2), (1,), 2, heads=2, value_ranks=(1,), skip=True, causal=True, embed=3, unembed=2),
    "one token": Architecture((2, 1), (4,), 1),
    "scaled queries": Architecture((2, 2), (4,), 2),
}


def weights_of(name: str, bound: int = 1) -> Weights:
    return Weights.random(NETWORKS[name], seed=2, bound=bound)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_network_itself_passes(name: str) -> None:
    weights, t = weights_of(name), NETWORKS[name].tokens
    found = assert_implements(attention(weights), weights, tokens=t)
    assert found.error_bound is not None
    assert found.error_bound < Fraction(1, 10**6)
    assert found.degree == NETWORKS[name].degree
    assert "exactly; another polynomial map of degree at most" in str(found)
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301 - our own
    assert "\n" not in repr(found)


def test_the_error_bound_is_never_rounded_down() -> None:
    for chance in (Fraction(1), Fraction(1, 2), Fraction(3, 95), Fraction(1, 10), Fraction(3, 95017) ** 1000):
        text = power_of_ten(chance)
        stated = Fraction(1) if text == "1" else Fraction(1, 10 ** int(text.removeprefix("10^-")))
        assert chance <= stated
    weights = weights_of("one layer")
    found = assert_implements(attention(weights), weights, tokens=3, trials=200)
    assert "at most 10^-8" in str(found)
    # a difference from the network has its degree at least, whatever the function's
    assert assert_implements(attention(weights), weights, tokens=3, degree=1).degree == 3


@pytest.mark.parametrize("name", ["one layer", "causal", "skip", "heads", "one token"])
def test_single_precision_passes(name: str) -> None:
    weights = weights_of(name)
    found = assert_implements(attention(weights, np.float32), weights, tokens=NETWORKS[name].tokens, dtype="float32")
    assert found.dtype == "float32"
    assert found.bound < 2**8


MISTAKES = [
    ("causal", "mask", "the network without its causal mask"),
    ("causal", "turned mask", "the network with the mask turned around"),
    ("one layer", "mask", "the network with a causal mask"),
    ("one layer", "transposed", "the network with queries and keys exchanged"),
    ("one layer", "scaled", ""),
    ("scaled queries", "scaled", "the network with scores divided by the root of the query width"),
    ("skip", "skip", "the network without its skip connections"),
    ("causal", "skip", "the network with skip connections"),
    ("heads", "one head", ""),
    ("heads", "averaged heads", ""),
    ("one layer", "ulp", ""),
    ("two layers", "ulp", ""),
    ("two layers", "transposed", "the network with queries and keys exchanged"),
    ("one layer", "nan", ""),
    ("transformer", "mask", "the network without its causal mask"),
]


@pytest.mark.parametrize(("name", "mistake", "guess"), MISTAKES)
def test_mistakes_are_found_and_named(name: str, mistake: str, guess: str) -> None:
    weights, t = weights_of(name, bound=2), NETWORKS[name].tokens
    with pytest.raises(Mismatch) as failure:
        assert_implements(attention(weights, mistake=mistake), weights, tokens=t)
    lines = str(failure.value).splitlines()
    assert lines[0] == "the function is not the map of this network"
    assert [line.split()[0] for line in lines[1:6]] == ["network", "input", "function", "exact", "differs"]
    assert (f"is it     {guess}? they agree at all inputs tried" in str(failure.value)) == bool(guess)


def test_the_message_is_short_and_the_input_small() -> None:
    weights = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]}, NetworkForm(causal=True))
    with pytest.raises(Mismatch) as failure:
        assert_implements(attention(weights, mistake="mask"), weights)
    assert str(failure.value) == (
        "the function is not the map of this network\n"
        "  network   widths 2,1, ranks 1, tokens 2, causal\n"
        "  input     X = 1 1; 0 0\n"
        "  function  f(X) = 6 6\n"
        "  exact     phi(X) = 3 6\n"
        "  differs   at coordinate 1 of token 1: 6 instead of 3\n"
        "  is it     the network without its causal mask? they agree at all inputs tried"
    )


@pytest.mark.parametrize("mistake", ["mask", "transposed", "skip"])
def test_no_step_makes_the_input_smaller(mistake: str) -> None:
    weights = Weights.random(Architecture((2, 2), (2,), 3, causal=True), seed=7, bound=2)
    attention_matrix = weights["K1"].T @ weights["Q1"]
    assert (attention_matrix != attention_matrix.T).any()
    with pytest.raises(Mismatch) as failure:
        assert_implements(attention(weights, mistake=mistake), weights, tokens=3)
    line = str(failure.value).splitlines()[2]
    rows = line.partition("X = ")[2].split(";")
    x = np.array([[int(n) for n in row.split()] for row in rows])
    right, wrong = attention(weights), attention(weights, mistake=mistake)
    assert not np.array_equal(right(x.astype(float)), wrong(x.astype(float)))
    for place in np.flatnonzero(x):
        smaller = x.astype(float)
        smaller.flat[place] = 0
        assert np.array_equal(right(smaller), wrong(smaller))


def test_a_difference_far_from_zero_is_found_by_the_random_inputs() -> None:
    """The polynomial that is added vanishes at all small inputs."""
    weights = Weights.random(Architecture((1, 1), (1,), 1), seed=1, bound=3)
    right = attention(weights)
    with pytest.raises(Mismatch):
        assert_implements(lambda x: right(x) + (abs(x[:1]) > 100), weights, tokens=1)


def test_other_libraries_and_layouts() -> None:
    """An array of another library, with its own conversion; tokens in rows; a batch in front."""

    class Tensor:
        def __init__(self, values: Any) -> None:
            self.values, self.on_tape = values, True

        def detach(self) -> Tensor:
            other = Tensor(self.values)
            other.on_tape = False
            return other

        def cpu(self) -> Tensor:
            return self

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            if self.on_tape:
                raise RuntimeError("call detach first")
            return np.asarray(self.values, dtype=dtype)

    weights = weights_of("one layer")
    right = attention(weights)
    assert_implements(lambda x: Tensor(right(x.values)), weights, tokens=3, array=Tensor)

    def rows(x: Any) -> Any:
        return np.stack([right(each.T).T for each in x])

    assert_implements(lambda x: rows(x.T[None])[0].T, weights, tokens=3)
    with pytest.raises(ShapeError, match=r"must return a matrix 2 x 3, got 3 x 2: .*turns a function of rows"):
        assert_implements(lambda x: right(x).T, weights, tokens=3)


def test_agreement_that_shows_nothing_is_not_decided() -> None:
    """Degree nine, and fewer than nine values an entry: other polynomials are equal to it at all of them."""
    weights = Weights.random(Architecture((3, 3, 3), (2, 2), 3), seed=1, bound=2)
    with pytest.raises(NotDecided, match="shows nothing here"):
        assert_implements(attention(weights), weights, tokens=3)
    with pytest.raises(NotDecided, match="polynomials of degree 100000000"):
        assert_implements(attention(weights_of("one layer")), weights_of("one layer"), tokens=3, degree=10**8)
    with pytest.raises(Mismatch):  # a difference is one all the same
        assert_implements(attention(weights, mistake="transposed"), weights, tokens=3)


def test_what_cannot_be_asked_is_refused_in_a_line() -> None:
    small = weights_of("one layer")
    right: Any = attention(small)
    large = Weights.random(Architecture((2, 2), (2,), 3), bound=10**6)
    third = Weights.of({"Q1": [[Fraction(1, 3)]], "K1": [[1]], "V1": [[1]]})
    softmax = Weights.of({"Q1": [[1]], "K1": [[1]], "V1": [[1]]}, NetworkForm(SOFTMAX))
    nothing: Any = "weights.json"
    cases: list[tuple[type[BadInput], str, Any]] = [
        (TooLarge, "smaller weights", lambda: assert_implements(right, large, dtype="float32")),
        (BadInput, "got 1/3 in Q1", lambda: assert_implements(right, third)),
        (BadInput, "dtype must be one of", lambda: assert_implements(right, small, dtype="bfloat16")),
        (BadInput, "dtype must be one of", lambda: assert_implements(right, small, dtype=3)),
        (BadInput, "ulps must be left out", lambda: assert_implements(right, small, ulps=4)),
        (BadInput, "ulps must say", lambda: assert_implements(right, softmax)),
        (BadInput, "the degree must be left out", lambda: assert_implements(right, softmax, ulps=4, degree=3)),
        (BadInput, "must be callable", lambda: assert_implements(nothing, small)),
        (BadInput, "weights must be Weights", lambda: assert_implements(right, nothing)),
        (BadInput, "the number of trials", lambda: assert_implements(right, small, trials=0)),
        (BadInput, "the number of tokens", lambda: assert_implements(right, small, tokens=0)),
        (BadInput, "give dtype='float32'", lambda: assert_implements(lambda x: x[:2].astype("f4"), small, tokens=3)),
        (BadInput, "array of floats", lambda: assert_implements(lambda x: "no", small, tokens=3)),
        (BadInput, "array of floats", lambda: assert_implements(lambda x: None, small, tokens=3)),
        (ShapeError, "got 3 x 3", lambda: assert_implements(lambda x: x, small, tokens=3)),
        (TooLarge, "must take at most", lambda: assert_implements(right, small, tokens=3, work=1e-9)),
    ]
    for kind, said, call in cases:
        with pytest.raises(kind, match=said) as refusal:
            call()
        assert "\n" not in str(refusal.value)


def test_errors_of_the_function_are_its_own() -> None:
    def broken(x: Any) -> Any:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        assert_implements(broken, weights_of("one layer"), tokens=3)


def test_large_matrices_are_shown_by_what_is_not_zero() -> None:
    network = Architecture((16, 16), (4,), 8, heads=2, value_ranks=(4,), causal=True)
    weights = Weights.random(network, seed=1, bound=1)
    with pytest.raises(Mismatch) as failure:
        assert_implements(attention(weights, mistake="mask"), weights, tokens=8)
    lines = str(failure.value).splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["network", "input", "differs"]
    assert re.fullmatch(r"  input    X = 0 but for x_\d+_\d = 1, x_\d+_\d = 1", lines[2])
    assert max(map(len, lines)) < 100


def test_a_function_with_dropout_is_told_apart_from_a_wrong_one() -> None:
    weights, calls = weights_of("one layer"), []
    right = attention(weights)

    def dropout(x: Any) -> Any:
        calls.append(x)
        return right(x) + (len(calls) == 20)

    with pytest.raises(BadInput, match="must give one output for one input"):
        assert_implements(dropout, weights, tokens=3)


@pytest.mark.parametrize("name", NETWORKS)
def test_machine_integers_and_rationals_agree(name: str) -> None:
    """Two roads to the exact outputs, at the largest inputs that the bound allows."""
    network, weights = NETWORKS[name], weights_of(name)
    truth = ExactOutputs(network, weights, FLOATS["float64"])
    x = random_input(Random(1), (network.input_width, network.tokens), truth.bound)
    assert np.array_equal(truth.values(x), network_output(x, network, weights))
    halves = Weights.of({n: m / 2 for n, m in weights.named().items()}, weights.form)
    slow = exactly(network, halves, 3)
    assert np.array_equal(slow(x), network_output(x, network, halves))
