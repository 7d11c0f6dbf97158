"""Weights of one-head networks from their jets: exact, there and back, or what is missing."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from softmax_boxes import network, networks

import lightning_sym.varieties.jet_recovery as recovery
from lightning_sym import (
    SOFTMAX,
    Answer,
    Architecture,
    BadInput,
    FileFormatError,
    Jet,
    JetLine,
    Membership,
    NetworkForm,
    Normalization,
    Weights,
    load_jet,
    recover_from_jet,
    same_function,
    save_jet,
    softmax_jet,
)
from lightning_sym.varieties.two_tokens import Line, two_token_form

SKEW, ZERO, ONE = [[0, 1], [-1, 0]], [[0, 0], [0, 0]], [[1, 0], [0, 1]]


@settings(max_examples=60, deadline=None)
@given(networks(denominators=4), st.integers(2, 4))
def test_there_and_back(hidden: Weights, tokens: int) -> None:
    found = recover_from_jet(softmax_jet(hidden, tokens))
    if found.answer is Membership.UNDECIDED:  # a skew first matrix of three tokens or more, and not zero
        assert "skew" in found.reasons[0]
        assert tokens > 2
        return
    assert found.answer is Membership.WEIGHTS
    assert found.weights is not None
    assert same_function(hidden, found.weights, tokens=tokens).answer is Answer.SAME


def test_three_layers_and_other_inner_widths() -> None:
    shape = Architecture((2, 3, 2, 1), (2, 1, 2), 3, SOFTMAX)
    hidden = Weights.random(shape, seed=4, bound=2, denominator=3)
    found = recover_from_jet(softmax_jet(hidden, 3), shape)
    assert found.weights is not None
    assert found.weights.architecture(3) == shape
    assert same_function(hidden, found.weights, tokens=3).answer is Answer.SAME


# ---- an independent road to the jet: Lemma 1 in its scalars, with series as lists of fractions

Series = list[Fraction]
ORDER = 9


def times(a: Series, b: Series) -> Series:
    return [sum((a[i] * b[k - i] for i in range(k + 1)), Fraction(0)) for k in range(ORDER + 1)]


def plus(a: Series, b: Series, factor: Fraction = Fraction(1)) -> Series:
    return [x + factor * y for x, y in zip(a, b, strict=True)]


def constant(c: Fraction) -> Series:
    return [c] + [Fraction(0)] * ORDER


def share(t: Series, w: Fraction) -> Series:
    """`w / (w + (1 - w) exp(-T))`, as a geometric series."""
    power, exponential = constant(Fraction(1)), constant(Fraction(1))
    for k in range(1, ORDER + 1):
        power = [-x / k for x in times(power, t)]
        exponential = plus(exponential, power)
    rest = plus(constant(Fraction(0)), plus(exponential, constant(Fraction(1)), Fraction(-1)), -(1 - w))
    total, power = constant(Fraction(1)), constant(Fraction(1))
    for _ in range(ORDER):
        power = times(power, rest)
        total = plus(total, power)
    return [w * x for x in total]


def scalars(attention: list[Any], m: Any, y: Any, tokens: int) -> Series:
    """The scalar by which the mean of the outputs differs from that of the input."""
    w = Fraction(1, tokens)
    rho, sigma, square = constant(Fraction(1)), constant(Fraction(0)), constant(Fraction(0))
    square[2] = Fraction(1)
    for a in attention:
        along, across = y @ a @ m, y @ a @ y
        linear = times(rho, plus([along * x for x in constant(Fraction(1))], [across * x for x in sigma]))
        both = times(rho, rho)
        p = [share(times(square, plus(linear, both, f * across)), w) for f in (1 - w, -w)]
        step = plus([w * x for x in p[0]], [(1 - w) * x for x in p[1]])
        sigma = plus(sigma, times(plus(step, constant(w), Fraction(-1)), rho))
        rho = times(plus(p[0], p[1], Fraction(-1)), rho)
    return sigma


@settings(max_examples=25, deadline=None)
@given(networks(denominators=4), st.integers(2, 4))
def test_the_jet_by_the_scalars_of_lemma_1(hidden: Weights, tokens: int) -> None:
    named = hidden.named()
    depth = len(named) // 3
    attention, value = [named[f"Q{i}"] for i in range(1, depth + 1)], named[f"V{depth}"]
    for line in softmax_jet(hidden, tokens).series:
        m, y = np.array(line.mean, dtype=object), np.array(line.difference, dtype=object)
        sigma = scalars(attention, m, y, tokens)
        for place, coefficient in enumerate(line.coefficients):
            expected = value @ (m if place == 0 else y * sigma[2 * place])
            assert tuple(expected) == coefficient


# ---- where the hypotheses fail


@pytest.mark.parametrize(
    ("attention", "tokens", "known"),
    [
        ([SKEW, ONE], 2, 1), ([ZERO, ONE], 2, 1), ([ZERO, ONE], 4, 1), ([ONE, ZERO, ONE], 3, 2), ([ONE, SKEW], 3, 2),
    ],
)  # fmt: skip
def test_up_to_the_first_blind_layer(attention: Any, tokens: int, known: int) -> None:
    hidden = network(attention, [[1, 2]])
    found = recover_from_jet(softmax_jet(hidden, tokens))
    assert found.answer is Membership.WEIGHTS
    assert [np.asarray(a).tolist() for a in found.attention] == attention[:known]
    assert ("blind" in found.determined) == (known < len(attention))
    assert found.weights is not None
    assert same_function(hidden, found.weights, tokens=tokens).answer is Answer.SAME


def test_a_skew_layer_hides_the_next_from_two_distinct_tokens() -> None:
    found = recover_from_jet(softmax_jet(network([SKEW, ONE], [[1, 2]]), 3))
    assert found.answer is Membership.UNDECIDED
    assert np.asarray(found.attention[0]).tolist() == SKEW
    assert found.weights is None


def test_the_zero_function() -> None:
    found = recover_from_jet(softmax_jet(network([ONE, ONE], [[0, 0]]), 2))
    assert (found.answer, found.attention) == (Membership.WEIGHTS, ())
    assert "V~ = 0" in found.determined


def test_the_zero_function_through_a_narrower_stream() -> None:
    named = {"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[1, 2]], "Q2": [[1]], "K2": [[1]], "V2": [[0], [0]]}
    found = recover_from_jet(softmax_jet(Weights.of(named, NetworkForm(SOFTMAX))))
    assert found.answer is Membership.WEIGHTS
    assert found.weights is not None
    assert not any(found.weights["V2"].ravel())


def test_jets_of_no_network() -> None:
    jet = softmax_jet(network([ONE, ONE], [[1, 2], [0, 1]]), 2)
    for number, line in enumerate(jet.series):
        for place in range(len(line.coefficients)):
            for row in range(2):
                wrong = [list(c) for c in line.coefficients]
                wrong[place][row] += Fraction(1, 7)
                bent = line._replace(coefficients=tuple(map(tuple, wrong)))
                other = replace(jet, series=(*jet.series[:number], bent, *jet.series[number + 1 :]))
                found = recover_from_jet(other)
                if found.answer is Membership.WEIGHTS:  # another network may have the bent jet: then it is its jet
                    assert found.weights is not None
                    again = softmax_jet(found.weights, 2, directions=[line.difference for line in jet.series[::2]])
                    assert again.series == other.series
                else:
                    assert found.answer is Membership.NONE


def test_too_few_lines() -> None:
    jet = softmax_jet(network([ONE, ONE], [[1, 2]]), 2)
    found = recover_from_jet(replace(jet, series=jet.series[:3]))
    assert found.answer is Membership.UNDECIDED
    assert "3 independent equations for the 4 entries" in found.reasons[0]
    with pytest.raises(BadInput, match="must span"):
        recover_from_jet(replace(jet, series=jet.series[:1]))


def test_more_lines_and_more_coefficients_do_no_harm() -> None:
    hidden = network([ONE, [[1, 2], [0, 1]]], [[1, 2]])
    jet = softmax_jet(hidden, 3, directions=[[1, 0], [0, 1], [1, 1], [2, Fraction(1, 3)]])
    found = recover_from_jet(jet)
    assert found.weights is not None
    assert same_function(hidden, found.weights, tokens=3).answer is Answer.SAME


def test_shapes_that_are_too_small() -> None:
    jet = softmax_jet(network([ONE, ONE], [[1, 2]]), 2)
    assert recover_from_jet(jet, Architecture((2, 2, 1), (1, 2), 2, SOFTMAX)).answer is Membership.NONE
    assert recover_from_jet(jet, Architecture((2, 1, 1), (2, 2), 2, SOFTMAX)).answer is Membership.NONE


ODD = Normalization("1 + y + y^3", lambda k: Fraction([1, 1, 0, 1][k] if k < 4 else 0))
SLOW = Normalization(
    "2 - y/3 + y^2", lambda k: [Fraction(2), Fraction(-1, 3), Fraction(1)][k] if k < 3 else Fraction(0)
)


@pytest.mark.parametrize("normalization", [ODD, SLOW], ids=str)
def test_every_normalization_with_a_slope(normalization: Normalization) -> None:
    attention = [[[1, -1], [2, 3]], [[0, 1], [-2, Fraction(1, 2)]]]
    form = NetworkForm(normalization)
    found = recover_from_jet(softmax_jet(network(attention, [[1, 2]]).with_form(form), 3))
    assert found.answer is Membership.WEIGHTS
    assert [np.asarray(a).tolist() for a in found.attention] == attention


def test_what_is_refused_by_name() -> None:
    hidden = network([ONE], [[1, 2]])
    flat = Normalization("1 + y^3", lambda k: Fraction(int(k in (0, 3))))
    for form, message in (
        (NetworkForm(), "normalized"), (NetworkForm(SOFTMAX, causal=True), "causal"), (NetworkForm(flat), r"S'\(0\)"),
    ):  # fmt: skip
        with pytest.raises(BadInput, match=message):
            softmax_jet(hidden.with_form(form), 2)
    with pytest.raises(BadInput, match="at least 2 tokens"):
        softmax_jet(hidden, 1)
    with pytest.raises(BadInput, match="coefficients of degrees"):
        Jet(
            Architecture((1, 1, 1), (1, 1), 2, SOFTMAX),
            (JetLine((Fraction(1),), (Fraction(1),), ((Fraction(1),),) * 3),),
        )


# ---- mutants of the recursion, on a network that meets the hypotheses


def _wrong_power(self: Line, layers: int, old: Any = Line.leading) -> Any:
    r = old(self, layers)
    return r * r


def _forgets_known_layers(self: Line, degree: int, old: Any = Line.mean_coefficient) -> Any:
    return old(self, degree) * (0 if degree == 7 and self.stream.coefficient(1)[0, 0] else 1)


MUTANTS: dict[str, tuple[Any, str, Any]] = {
    "the square of r": (Line, "leading", _wrong_power),
    "no difference from the known layers": (Line, "mean_coefficient", _forgets_known_layers),
    "another degree": (recovery, "last_degree", lambda i: 2 * 3 ** (i - 1) - 1),
    "another slope": (recovery, "slope", lambda normalization: Fraction(2)),
    "one more copy": (recovery, "two_token_form", lambda n, t: two_token_form(n, t + 1)),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_find_no_weights(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    jet = softmax_jet(network([[[1, 2], [0, 1]], [[1, -1], [3, 2]]], [[1, 2]]), 3)
    assert recover_from_jet(jet).answer is Membership.WEIGHTS
    owner, attribute, mutant = MUTANTS[name]
    monkeypatch.setattr(owner, attribute, mutant)
    assert recover_from_jet(jet).answer is Membership.NONE


# ---- files


def test_files_there_and_back(tmp_path: Path) -> None:
    jet = softmax_jet(network([ONE, [[Fraction(1, 3), 2], [0, 1]]], [[1, 2]]), 3)
    save_jet(jet, tmp_path / "jet.json")
    assert load_jet(tmp_path / "jet.json") == jet


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("jet/1", "jet/2", "schema"), ('"tokens": 2', '"tokens": 0', "positive"), ('"mean"', '"means"', "keys"),
        ('"softmax"', '"none"', "normalized"), ('"none"', '"causal"', "causal"), ('["3/4"]', '["3/4", 1]', "of 1"),
        ('["3/4"]', "3", "list of numbers"), ('"3/4"', '"x"', "integers, decimals"), ('"3/4"', "null", "number must"),
        ('["2"], ["3/4"], ', "", "at least up to 7"), ('"tokens": 2,', "", "tokens"),
        ('"lines": [', '"lines": 1, "a": [', "a"),
    ],
)  # fmt: skip
def test_files_that_are_none(old: str, new: str, message: str, tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "examples" / "jet.json").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "bad.json").write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(BadInput, match=message) as caught:
        load_jet(tmp_path / "bad.json")
    assert "\n" not in str(caught.value)
    with pytest.raises(FileFormatError):
        load_jet(tmp_path / "missing.json")
