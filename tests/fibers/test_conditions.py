"""The conditions of the theorems on transformers, against words written out one by one in SymPy."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_transformers import changed, drawn, has_rank, shape
from written_conditions import Written

from lightning_sym import NetworkForm, Weights, certified_dimension, transformer_conditions
from lightning_sym.errors import BadInput, TooLarge
from lightning_sym.fibers.conditions import TransformerConditions
from lightning_sym.fibers.head_rows import Finding
from lightning_sym.fibers.hypotheses import HEADS_PAGE, SCORES, Theorem
from lightning_sym.fibers.observed_network import NetworkAtPoints


@st.composite
def networks(draw: st.DrawFn) -> tuple[Weights, int]:
    """Two layers or one, entries -1, 0, 1, often with heads that are equal, opposite or zero."""

    def pick(*choices: Any) -> Any:
        return draw(st.sampled_from(choices))

    widths, skip = pick((2, 2, 2), (2, 2), (2, 1, 2), (1, 1, 1)), pick(True, False)
    architecture = shape(
        tokens := pick(2, 3), widths=widths, heads=pick(1, 2, 3) if skip else pick(2, 3), a=pick(1, 2), b=pick(None, 1),
        skip=skip and len(set(widths)) == 1, causal=pick(True, False), embed=pick(None, 1, 3), unembed=pick(None, 1, 2),
    )  # fmt: skip
    weights = drawn(architecture, draw(st.integers(0, 10**6)), bound=1)
    if architecture.heads > 1:
        layer, sign = pick(*range(1, architecture.depth + 1)), pick(1, -1, 0, None)
        letters = pick("QK", "VO", "QKVO")
        if sign is not None:
            weights = changed(
                weights,
                **{
                    f"{c}{layer}_2": (sign if c in "QV" else 1) * weights[f"{c}{layer}.1"]
                    for c in letters
                    if f"{c}{layer}.1" in weights.matrices
                },
            )
    return weights, tokens


@settings(max_examples=80, deadline=None)
@given(networks())
def test_conditions_are_as_the_words_say(case: tuple[Weights, int]) -> None:
    weights, tokens = case
    found, written = transformer_conditions(weights, tokens), Written.of(weights, tokens)
    for condition in found.conditions:
        if "=" in condition.name:
            assert condition.holds is written.span(condition.name, condition.layer), condition
        elif condition.name in ("(b)", "(a), words", "(b), unmasked", "(o)", "(s)"):
            assert condition.holds is written.holds(condition.name, condition.layer), condition
        elif "(a" in condition.name:  # in full, or only as Proposition 15 asks for it, and then by that name
            name, layer = condition.name.replace("*", ""), condition.layer
            starred, full = name.replace(")", "*)"), written.holds(name, layer)
            weaker = not full and tokens > 2 and layer < written.depth and written.holds(starred, layer)
            assert (condition.name, condition.holds) == ((starred, True) if weaker else (name, full)), condition
        elif condition.name == "(c)" and not (written.causal and written.skip):
            assert condition.holds is written.holds("(c)", condition.layer), condition


CAUSES: list[tuple[str, int, int, dict[str, Any]]] = [
    ("(a)", 1, 3, {"Q1_2": "Q1.1", "K1_2": "K1.1"}),
    ("(a)", 2, 2, {"Q2_2": "-Q2.1", "K2_2": "K2.1"}),
    ("(a')", 1, 3, {"Q1_1": [[0, 1], [-1, 0]], "K1_1": [[1, 0], [0, 1]]}),
    ("(b)", 2, 3, {"V2_1": [[0, 0], [0, 0]]}),
    ("(c)", 1, 2, {"V1_2": "-V1.1"}),
    ("rank S = d", 1, 3, {"V1_1": [[-1, 0], [0, 0]], "V1_2": [[0, 0], [0, 3]]}),
]


@pytest.mark.parametrize(("name", "layer", "tokens", "change"), CAUSES)
def test_each_condition_can_fail(name: str, layer: int, tokens: int, change: dict[str, Any]) -> None:
    weights = drawn(shape(tokens, a=2), seed=3, bound=5)
    good = transformer_conditions(weights, tokens)
    assert good.theorem is not None
    assert good.theorem.number == "Corollary 5"
    values = {
        key: value if not isinstance(value, str) else (-1 if value[0] == "-" else 1) * weights[value.removeprefix("-")]
        for key, value in change.items()
    }
    found = transformer_conditions(changed(weights, **values), tokens)
    [condition] = [c for c in found.conditions if (c.name, c.layer) == (name, layer)]
    assert condition.holds is False
    by_words = name in ("(a')", "rank S = d")  # which Theorem 11 does not ask for
    assert found.theorem == (Theorem("Corollary 5", HEADS_PAGE, "Theorem 11") if by_words else None)


LARGE = drawn(shape(2, widths=(20, 20, 20), heads=3), seed=1)
REASONS: list[tuple[str, int, dict[str, Any], str]] = [
    ("(a)", 1, {"Q1_3": LARGE["Q1.1"] * 2, "K1_3": LARGE["K1.1"]}, "2 A1.1 - A1.3 = 0 over Q"),
    ("(a)", 2, {"Q2_3": -LARGE["Q2.1"], "K2_3": LARGE["K2.1"]}, "A2.1 + A2.3 = 0 over Q"),
    ("(a')", 1, {"Q1_2": 0 * LARGE["Q1.1"]}, "A1.2 is skew over Q"),
    ("(b)", 2, {"V2_2": 0 * LARGE["V2.1"]}, "V2.2 = 0 over Q"),
    ("(c)", 1, {"V1_2": -LARGE["V1.1"] - LARGE["V1.3"]}, "V1.1 + V1.2 + V1.3 = 0 over Q"),
]


@pytest.mark.parametrize(("name", "layer", "change", "evidence"), REASONS)
def test_simple_reasons_are_found_in_large_networks(
    name: str, layer: int, change: dict[str, Any], evidence: str
) -> None:
    assert all(c.holds for c in transformer_conditions(LARGE).conditions)
    [found] = [
        c for c in transformer_conditions(changed(LARGE, **change)).conditions if (c.name, c.layer) == (name, layer)
    ]
    assert (found.holds, found.evidence) == (False, evidence)


def test_large_networks_say_unknown_where_a_test_shows_nothing() -> None:
    """Forms on one vector are numbers, which are related over Q, but no combination of the matrices is zero."""
    weights = drawn(shape(3, widths=(20, 20, 20), embed=1), seed=1)
    found = transformer_conditions(weights, 3)
    assert next(c.holds for c in found.conditions if c.name == "(a)") is None
    assert "not shown: rank 1 of 2 modulo" in str(found)
    [rank] = [c for c in found.conditions if c.name == "rank E = d"]
    assert (rank.holds, rank.evidence) == (False, "rank at most 1, the input width, of 20")


@pytest.mark.parametrize("causal", [True, False])
def test_a_narrow_input_has_words_and_blocks(causal: bool) -> None:
    """Also rational weights of little room, whose scores are dependent."""
    weights = drawn(shape(3, widths=(3, 3, 3), causal=causal, embed=2, a=2), seed=2, bound=5)
    assert transformer_conditions(weights, 3).theorem == Theorem("Theorem 11", HEADS_PAGE)
    assert transformer_conditions(weights, 2).theorem == Theorem("Theorem 7", HEADS_PAGE)
    thin = drawn(shape(3, widths=(2, 2, 2), causal=causal, embed=1, a=2), seed=4, bound=5)
    assert transformer_conditions(thin, 3).theorem == Theorem("Theorem 11", HEADS_PAGE)
    assert transformer_conditions(thin, 2).theorem is None


def test_a_bad_prime_is_left_out() -> None:
    weights = drawn(shape(3), seed=3, bound=5)
    odd = changed(weights, Q1_1=weights["Q1.1"] * Fraction(1, 4194301))
    assert "modulo 4194287" in str(transformer_conditions(odd, 3))
    worst = changed(weights, Q1_1=weights["Q1.1"] * Fraction(1, 4194301 * 4194287 * 4194277 * 4194271))
    with pytest.raises(BadInput, match="denominators must not be divisible by each of the primes"):
        transformer_conditions(worst, 3)


def test_refusals_are_one_line() -> None:
    weights = drawn(shape(3), seed=1)
    refused: list[tuple[type[Exception], Weights, int, dict[str, Any]]] = [
        (BadInput, weights, 1, {}),
        (BadInput, weights, 2, {"seed": -1}),
        (BadInput, weights.with_form(NetworkForm(skip=True)), 2, {}),
        (TooLarge, weights, 2, {"memory": 100}),
    ]
    for kind, given_, tokens, options in refused:
        with pytest.raises(kind) as caught:
            transformer_conditions(given_, tokens, **options)
        assert "\n" not in str(caught.value)
    with pytest.raises(BadInput, match="theorem is not None"):
        bool(transformer_conditions(weights, 2))


@pytest.mark.parametrize("broken", ["reached", "first", "means"])
def test_a_test_at_wrong_points_shows_nothing_false(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mutant: points that are all zero must make every test fall short, never succeed."""
    weights = drawn(shape(3, widths=(20, 20, 20), causal=broken == "first"), seed=1)
    original = NetworkAtPoints.__init__

    def spoiled(self: NetworkAtPoints, *arguments: Any) -> None:
        original(self, *arguments)
        for matrix in getattr(self, broken):
            matrix.entries = np.zeros_like(matrix.entries)

    assert transformer_conditions(weights, 3).theorem is not None
    monkeypatch.setattr(NetworkAtPoints, "__init__", spoiled)
    found: TransformerConditions = transformer_conditions(weights, 3)
    assert found.theorem is None
    assert isinstance(SCORES.test(NetworkAtPoints.of(weights, 3), 1), Finding)


@pytest.mark.parametrize(("width", "heads", "skip", "embed"), [(2, 1, True, 1), (3, 2, False, 2)])
def test_theorem_11_against_the_certified_dimension(width: int, heads: int, skip: bool, embed: int) -> None:
    """Where it holds for given weights, the differential there has the rank of almost all weights."""
    architecture = shape(3, widths=(width,) * 3, heads=heads, causal=True, skip=skip, embed=embed)
    weights = Weights.random(architecture, seed=6, bound=9, denominator=9)
    dimension = certified_dimension(architecture).value
    assert transformer_conditions(weights, 3).theorem == Theorem("Theorem 11", HEADS_PAGE)
    assert dimension is not None
    assert has_rank(weights, 3, dimension, inputs=12)
