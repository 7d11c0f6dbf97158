"""`assert_implements` for softmax: within balls and the units that the user allows, and not a bit more is claimed."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy_attention import attention

from lightning_sym import SOFTMAX, Architecture, BadInput, NetworkForm, Weights
from lightning_sym.testing import Mismatch, NotDecided, assert_implements
from lightning_sym.testing.exact_floats import FLOATS
from lightning_sym.testing.truth import EnclosedOutputs, unit_in_last_place

NETWORKS = {
    "one layer": Architecture((3, 2), (2,), 3, normalization=SOFTMAX),
    "causal": Architecture((2, 2), (2,), 3, normalization=SOFTMAX, causal=True),
    "transformer": Architecture(
        (2, 2, 2), (1, 2), 2, normalization=SOFTMAX, heads=2, value_ranks=(1, 2), skip=True, causal=True, embed=3,
        unembed=2,
    ),
}  # fmt: skip


def weights_of(name: str) -> Weights:
    return Weights.random(NETWORKS[name], seed=3, bound=2)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_network_itself_passes(name: str, dtype: str) -> None:
    weights = weights_of(name)
    function = attention(weights, np.dtype(dtype).type)
    found = assert_implements(function, weights, tokens=NETWORKS[name].tokens, dtype=dtype, ulps=256, trials=8)
    assert (found.error_bound, found.degree, found.ulps) == (None, None, 256)
    assert "between them nothing is shown" in str(found)


@pytest.mark.parametrize(
    ("name", "mistake"),
    [("one layer", "mask"), ("one layer", "transposed"), ("one layer", "scaled"), ("one layer", "unnormalized"),
     ("causal", "mask"), ("causal", "turned mask"), ("causal", "skip"), ("causal", "nan"), ("transformer", "one head"),
     ("transformer", "averaged heads"), ("transformer", "skip")],
)  # fmt: skip
def test_mistakes_are_found(name: str, mistake: str) -> None:
    weights = weights_of(name)
    with pytest.raises(Mismatch, match="the function is not the map of this network"):
        assert_implements(attention(weights, mistake=mistake), weights, tokens=NETWORKS[name].tokens, ulps=10**6)


ONE = Weights.of({"Q1": [[1]], "K1": [[1]], "V1": [[1]]}, NetworkForm(SOFTMAX))


def test_how_far_off_it_is_stands_in_the_message() -> None:
    """One token: the output is the input, so the number of units is known."""

    def off(x: Any) -> Any:
        return x + 40 * np.spacing(abs(x))

    assert_implements(off, ONE, tokens=1, ulps=40)
    with pytest.raises(Mismatch) as failure:
        assert_implements(off, ONE, tokens=1, ulps=39)
    assert ": 40 ulps, allowed are 39" in str(failure.value)


def test_the_unit_is_that_of_the_largest_output() -> None:
    assert unit_in_last_place(Fraction(1), FLOATS["float64"]) == Fraction(1, 2**52)
    assert unit_in_last_place(Fraction(1) - Fraction(1, 2**80), FLOATS["float64"]) == Fraction(1, 2**53)
    assert unit_in_last_place(Fraction(0), FLOATS["float32"]) == Fraction(1, 2**149)
    for number in (1.5, 3e-7, 12345.678, 5e-324):
        assert unit_in_last_place(Fraction(number), FLOATS["float64"]) == Fraction(float(np.spacing(number)))


def test_exactly_at_the_limit_is_not_off() -> None:
    """An output that is exactly as far off as it may be is never called wrong, one a little further is."""
    truth = EnclosedOutputs(ONE.architecture(1), ONE, FLOATS["float64"], 1)
    x = np.array([[1]], dtype=object)
    unit = Fraction(float(np.spacing(float(truth.step))))
    assert truth.wrong(x, np.array([[truth.step + unit]])) is None
    assert truth.wrong(x, np.array([[truth.step + unit * (1 + Fraction(1, 2**30))]])) == (0, 0)


def test_what_no_precision_decides_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lightning_sym.testing.truth.BITS", (4,))
    with pytest.raises(NotDecided, match="with balls of 4 bits"):
        assert_implements(attention(weights_of("one layer")), weights_of("one layer"), tokens=3, ulps=2)


def test_weights_must_be_floats_of_the_kind() -> None:
    fine = Weights.of({"Q1": [[0.1]], "K1": [[1]], "V1": [[1]]}, NetworkForm(SOFTMAX))
    assert_implements(attention(fine), fine, ulps=16, trials=2)
    with pytest.raises(BadInput, match="numbers of float32"):
        assert_implements(attention(fine, np.float32), fine, ulps=16, dtype="float32")
    third = Weights.of({"Q1": [[Fraction(1, 3)]], "K1": [[1]], "V1": [[1]]}, NetworkForm(SOFTMAX))
    with pytest.raises(BadInput, match="got 1/3 in Q1"):
        assert_implements(attention(third), third, ulps=16)


def test_exponentials_stay_within_range() -> None:
    """A program that does not subtract the largest score passes as well, at large weights."""
    large = Weights.of({"Q1": [[300]], "K1": [[200]], "V1": [[1]]}, NetworkForm(SOFTMAX))

    def plain(x: Any) -> Any:
        scores = np.exp((200 * x).T @ (300 * x))
        return x @ (scores / scores.sum(axis=0))

    assert_implements(plain, large, ulps=256, trials=8)
