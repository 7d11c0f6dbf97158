"""Limits of functions of families: orders against the expanded functions at numbers, the hypotheses, and a mutant."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy
from command import run
from hypothesis import given, settings
from hypothesis import strategies as st

from lightning_sym import (
    Architecture,
    Membership,
    Weights,
    classify,
    function_limit,
    network_output,
    polynomial_map,
    recover,
    rescale,
    virtual_weights,
)
from lightning_sym.errors import BadInput, ProgramError
from lightning_sym.geometry import limits
from lightning_sym.geometry.limit_points import limit_point
from lightning_sym.network.virtual_weights import VirtualWeights

EPS = sympy.Symbol("eps")
ONE = sympy.eye(2).tolist()
BOUNDED = Weights.of(
    {"Q1": [[1, EPS], [0, 1]], "K1": [[1, 0], [0, EPS]], "V1": ONE,
     "Q2": [[EPS, 1], [-1, EPS]], "K2": ONE, "V2": [[1, 0]]}
)  # fmt: skip
OPEN = Weights.of_family({**BOUNDED.matrices, "V2": BOUNDED["V2"] / EPS})


def at(family: Weights, number: Fraction) -> Weights:
    """The member of a family where the letter is this number."""
    number = sympy.Rational(number.numerator, number.denominator)

    def entry(value: Any) -> Fraction:
        found = sympy.sympify(value).subs(EPS, number)
        return Fraction(int(found.p), int(found.q))

    return Weights.of({name: [[entry(e) for e in row] for row in m] for name, m in family.matrices.items()})


def test_a_limit_of_two_layers_is_the_function_of_no_weights() -> None:
    found = function_limit(OPEN)
    assert (found.blows_up, found.virtual_rates, found.order) == ({"V2": -1}, (0, 0, -1), 0)
    assert found.recovery is not None
    assert found.recovery.answer is Membership.NONE
    assert found.attained is None
    assert found.limit is not None
    assert "docs/limits.md, Proposition 3" in str(found)
    assert function_limit(BOUNDED).order == 1
    # the functions at small numbers come as close as these numbers say
    x = np.array([[Fraction(1), Fraction(2)], [Fraction(-1), Fraction(3)]], dtype=object)
    (row,) = found.limit.entries
    wanted = [Fraction(int(v.p), int(v.q)) for v in (entry(1, 2, -1, 3) for entry in row)]
    errors = []
    for power in (3, 6):
        member = at(OPEN, Fraction(1, 10**power))
        (given_row,) = network_output(x, member.architecture(2), [*member.named().values()])
        errors.append(max(abs(a - b) for a, b in zip(given_row, wanted, strict=True)))
    assert 0 < errors[1] * 500 < errors[0] < 100


ENTRIES = st.sampled_from([0, 1, -1, 2, EPS, 1 + EPS, EPS**2, -EPS])


@settings(max_examples=12, deadline=None)
@given(st.lists(ENTRIES, min_size=16, max_size=16), st.integers(-2, 2), st.integers(-2, 2))
def test_orders_are_those_of_values_at_powers_of_two(entries: list[Any], first: int, second: int) -> None:
    """By another road: the 2-adic valuation of values at eps = 2^40, of weights with rates of any sign."""
    q1, k1, v1, q2, k2, v2 = (np.array(entries[i : i + 4], dtype=object).reshape(2, 2) for i in (0, 4, 8, 12, 3, 7))
    family = Weights.of_family(
        {"Q1": q1 * EPS**first / (1 + EPS), "K1": k1, "V1": v1, "Q2": q2, "K2": k2, "V2": v2[:1] * EPS**second}
    )
    if family.letters != (EPS,):
        return
    found = function_limit(family, work=0.5)
    member, big = at(family, Fraction(2**40)), 40
    phi = polynomial_map(member.architecture(2), member).ring_coefficients().values()
    if found.order is None:
        assert not phi
        return
    valuations = [_two_adic(Fraction(int(c.p), int(c.q))) for c in phi]
    assert abs(min(valuations) - big * found.order) < big / 2
    if found.attained is not None:
        assert found.leading is not None
        assert polynomial_map(member.architecture(2), found.attained).coefficients() == found.leading.coefficients()


def _two_adic(number: Fraction) -> int:
    def zeros(n: int) -> int:
        return (n & -n).bit_length() - 1

    return zeros(abs(number.numerator)) - zeros(number.denominator)


def test_a_wrong_order_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant: rates of virtual weights that forget a denominator."""
    true = limits._virtual
    monkeypatch.setattr(
        limits, "_virtual", lambda c, depth: [each._replace(denominator=each.denominator**0) for each in true(c, depth)]
    )
    w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, EPS]]})
    with pytest.raises(ProgramError, match="Proposition 1"):
        function_limit(rescale(w, layer=1, by=EPS))


def test_what_is_no_family() -> None:
    numbers = Weights.random(Architecture((2, 1), (1,), 2), seed=0)
    for wrong, tokens, message in (
        (numbers, 2, "one letter, got none"),
        (rescale(rescale(numbers, layer=1, by=EPS), layer=1, by=sympy.Symbol("b")), 2, "one letter, got b, eps"),
        (OPEN, 1, "number of tokens"),
    ):
        with pytest.raises(BadInput, match=message):
            function_limit(wrong, tokens)


SKEW, FULL, LOW = ([[0, 1], [-1, 0]], [[1, 2], [0, 1]], [[1, 2], [2, 4]])
POINTS: dict[str, tuple[list[Any], int, bool | None, str]] = {
    "all hypotheses": ([FULL, FULL], 2, True, "Proposition 2"),
    "rank one in the last layer": ([FULL, LOW], 2, True, "Proposition 2"),
    "rank one before": ([LOW, FULL], 2, None, "rk A~1 = 1"),
    "skew first": ([SKEW, FULL], 2, None, "got A~1 is skew-symmetric"),
    "skew last": ([FULL, SKEW], 2, None, "got A~2 is skew-symmetric"),
    "one token": ([FULL, FULL], 1, None, "two tokens or more, got 1"),
    "zero": ([LOW, SKEW], 2, False, "Proposition 1"),
    "one layer, skew": ([SKEW], 2, True, "Proposition 2"),
}


@pytest.mark.parametrize("name", POINTS)
def test_each_hypothesis_of_proposition_2(name: str) -> None:
    attention, tokens, bounded, words = POINTS[name]
    exact = [np.array([[Fraction(e) for e in row] for row in a], dtype=object) for a in attention]
    shape = Architecture((2,) * len(exact) + (1,), (2,) * len(exact), tokens)
    found = limit_point(shape, VirtualWeights(tuple(exact), np.array([[Fraction(1), Fraction(3)]], dtype=object)))
    assert found.bounded is bounded
    assert words in " ".join([said for _, said in found.lines()] + list(map(str, found.tried)))
    assert ("Proposition 2" in found.proof) is (bounded is True) is not bool(found.tried or bounded is False)


def test_without_its_hypotheses_proposition_2_is_false() -> None:
    """Rank one before and a symmetric last layer: a family blows up with this limit, and no rescaling bounds it."""
    rank_one = np.array([[1, 0], [0, 0]], dtype=object)
    straight = function_limit(Weights.of_family({**OPEN.matrices, "Q1": rank_one}))
    assert straight.order == 0
    assert straight.virtual_rates == (0, 0, -1)  # N = -1: rescalings cannot make it 0
    assert straight.limit is not None
    known = recover(straight.limit)
    assert known.answer is Membership.WEIGHTS
    assert known.weights is not None
    assert limit_point(Architecture((2, 2, 1), (2, 2), 2), virtual_weights(known.weights.layers)).bounded is None


def test_classified_points_say_it() -> None:
    square = classify(Weights.of({"Q1": [[1, 0]], "K1": [[0, 1]], "V1": [[0, 1]]}))
    assert square.limits is not None
    assert square.limits.proof == "docs/limits.md, Propositions 2 and 4"
    assert "complex weights" in str(square)
    tiny = classify(Weights.of({"Q1": [[1, 0]], "K1": [[0, 1]], "V1": [[0, 1]]}), work=2e-4)
    assert tiny.limits is None or tiny.limits == square.limits


def test_a_family_of_files(capsys: pytest.CaptureFixture[str]) -> None:
    """The command has the family that is written out above; without the direction its functions are zero."""
    words = ["classify", "examples/limit.json", "--powers", "V2=-1", "--json"]
    _, out, _ = run(capsys, *words, "--along", "examples/limit_along.json")
    document, found = json.loads(out), function_limit(OPEN)
    assert found.leading is not None
    assert (document["order"], document["rates"]) == (found.order, dict(found.rates))
    assert document["leading"] == [str(entry) for _, _, entry in found.leading.outputs()]
    assert document["attained"] == "none"
    _, out, _ = run(capsys, *words)
    assert json.loads(out)["order"] is None


@pytest.mark.parametrize(
    ("words", "message"),
    [(("--powers", "V3=1"), "powers must be of Q1, K1, V1"), (("--powers", "V1=1001"), "from -1,000 to 1,000"),
     (("--powers", "V1=a"), "not a valid integer"), (("--along", "examples/two_layers.json"), "must be of one shape"),
     (("--powers", "V1=1", "--degree", "2"), "not about a family"), (("--powers", "V1=0"), "one letter")],
)  # fmt: skip
def test_bad_families(words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "classify", "examples/generic.json", *words)
    assert (code, out) == (2, "")
    assert message in err
