"""Formulas: a closed grammar, exact, that does nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightning_sym import SOFTMAX, Architecture, BadInput
from lightning_sym.atlas.formulas import Formula
from lightning_sym.dimension.dimension_text import printed_formula

DEEP = Architecture((4, 3, 5), (2, 1), 3, SOFTMAX, heads=2, value_ranks=(2, 2), causal=True, embed=6, unembed=7)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("l", 2), ("t", 3), ("h", 2), ("n", 6), ("m", 7), ("b", 2), ("softmax + causal + 2*skip", 2),
        ("P", DEEP.parameter_count), ("widths[0]*widths[1] - widths[-1]", 7), ("sum(ranks)", 3), ("-(-7)//2", 3),
        ("min(widths)**2 + max(ranks)", 11), ("len(ranks)", 2), ("7 % 4", 3), ("abs(1 - 3)", 2),
        ("sum(a*(2*d - a) for a, d in zip(ranks, widths))", 17), ("1 if causal else 0", 1), ("2 if t < 3 else 5", 5),
        ("sum(a for a in ranks if a > 1)", 2), ("max(1, l)", 2),
    ],
)  # fmt: skip
def test_what_formulas_say(text: str, value: int) -> None:
    assert Formula(text).at(DEEP) == value


@pytest.mark.parametrize(("sign", "value"), [("+", 501), ("-", -499), ("*", 2)])
def test_a_formula_of_many_terms(sign: str, value: int) -> None:
    assert Formula(sign.join(["1"] * 499 + ["l"])).at(DEEP) == value
    assert Formula(sign.join(["1"] * 999)).at(DEEP) == {"+": 999, "-": -997, "*": 1}[sign]


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 4))
def test_the_formula_of_the_paper_typed(d: int, a: int, depth: int) -> None:
    network = Architecture((d,) * (depth + 1), (a,) * depth, 2)
    assert Formula("l*min(a, d)*(2*d - min(a, d)) + d*d - l").at(network) == printed_formula(network).value


def test_a_size_that_has_no_value_gives_none() -> None:
    assert Formula("d").at(DEEP) is None
    assert Formula("a + l").at(DEEP) is None


@pytest.mark.parametrize(
    "text",
    [
        "", "l +", "x", "l.real", "__import__('os')", "open", "(lambda: 1)()", "[1, 2]", "'a'*9", "1.5", "True", "l/2",
        "l << 9", "l and t", "not l", "{1}", "f'{l}'", "l if l", "(y := 3)",
        "sum(x for x in widths for y in ranks)[0]()",
        "print(1)", "min(widths, key=abs)", "widths[0:1]", "*widths", "1 < l < 3", "l;t", "await l", "l" * 3000,
        "(" * 1500 + ")" * 1500, "-" * 300 + "1", "-" * 1900 + "1", "1 if l else " * 150 + "1",
        "abs(" * 150 + "1" + ")" * 150, "2**" * 150 + "1",
        "widths" + "[0" * 150 + "]" * 150, "(1-" * 150 + "1" + ")" * 150,
    ],
)  # fmt: skip
def test_what_is_not_in_the_grammar_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="formula") as caught:
        _ = Formula(text).at(DEEP)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "9**99**99", "9**(-1)", "1//0", "widths[7]", "widths", "widths + ranks", "2*widths", "min()", "sum(l)",
        "abs(widths)",
        "sum(a*b*c*e for a, b in widths for c in widths for e in widths)", "(10**100)**11", "-widths", "zip(widths)",
    ],
)  # fmt: skip
def test_what_gives_no_number_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="formula"):
        Formula(text).at(DEEP)


def test_a_formula_takes_few_steps() -> None:
    loops = Formula("sum(sum(sum(sum(1 for e in widths) for c in widths) for b in widths) for a in widths)")
    long = Architecture((1,) * 60, (1,) * 59, 2)
    with pytest.raises(BadInput, match="steps"):
        loops.at(long)
