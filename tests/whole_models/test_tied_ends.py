"""Tied embeddings beside LayerNorm: the two equations of Proposition 7, and what is free where its number is 0."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from soft_prompts import soft_logits, weights_of

from lightning_sym import apply, symmetries_of
from lightning_sym.checkpoints.canonical_checkpoint import canonical_checkpoint
from lightning_sym.checkpoints.random_symmetries import random_symmetry
from lightning_sym.testing import small_checkpoint
from lightning_sym.whole_models.conditions import hold_the_stream
from lightning_sym.whole_models.model_symmetries import one_form

GPT = small_checkpoint("gpt2", seed=3, tied=True, stored="F64")


def moments(gains: list[int]) -> tuple[int, Any, Fraction, Fraction, Fraction]:
    """Return how many there are, what they vary by, and the sums of its powers."""
    varied = np.array([Fraction(x) - Fraction(sum(gains), len(gains)) for x in gains], dtype=object)
    return len(gains), varied, sum(varied**2), sum(varied**3), sum(varied**4)


@pytest.mark.parametrize("gains", [[3, -1, 4, 1, 5], [2, 7, 1, 8, 2, 8], [1, 0, 0, 0, 0, 0, 3]])
@pytest.mark.parametrize(("a", "b"), [(2, 3), (-1, 5), (7, 0)])
def test_the_second_and_the_third_equation_leave_one_number(gains: list[int], a: int, b: int) -> None:
    """By matrices: f_3 is a multiple of f_2, and A K."""
    d, g, second, third, fourth = moments(gains)
    one = np.array([Fraction(1)] * d, dtype=object)
    c = -a * second / (d * (d - 1))
    outer = np.multiply.outer
    s = np.diag(g) - a * outer(g, g) - b * (outer(g, one) + outer(one, g)) + c * outer(one, one)
    power, found = s, []
    for _ in range(3):
        found.append(one @ power @ one - np.trace(power))
        power = power @ s
    number = 3 * fourth - second**2 * Fraction(d * d + d - 3, d * (d - 1))
    number -= 2 * third**2 * (d - 3) / (second * (d - 2))
    factor = third * Fraction(d - 3, d) - a * second**2 * Fraction(d - 2, d - 1)
    assert found[0] == 0
    assert found[2] - found[1] * d * factor / (second * (d - 2)) == a * number
    assert hold_the_stream(np.array(gains)) is (number != 0)


def test_random_gains_hold_the_stream_and_one_that_differs_does_not() -> None:
    found = symmetries_of(GPT)
    assert (found.complete, found.proof) == (True, "complete: docs/whole-models.md, Proposition 7")
    assert found.functions == found.parameters - found.dimension


def test_a_gain_that_alone_differs_is_free() -> None:
    """E less a multiple of one of its columns, along ones, takes up another gain of that coordinate."""
    gain = np.full(16, 0.5)
    gain[3] = 2.0
    one = replace(GPT, outer=replace(GPT.outer, final_gain=gain, final_bias=np.zeros(16)))
    found = symmetries_of(one)
    assert [c.name for c in found.conditions if not c.holds] == ["(T)"]
    assert found.functions is None
    assert "a final gain that alone differs from all others" in {special.what for special in found.special}
    other, embedding = gain.copy(), np.array(one.outer.embedding)
    other[3] = 3.0
    embedding -= np.outer(embedding[:, 3], np.ones(16)) * (1.0 / (2.0 - 0.5 + 1.0))
    two = replace(one, outer=replace(one.outer, final_gain=other, embedding=embedding))
    inputs = np.random.default_rng(1).normal(size=(one.form.vocabulary, 3))
    first, second = (soft_logits(one.form, weights_of(each), inputs) for each in (one, two))
    assert np.abs(first - second).max() < 1e-12
    three = replace(two, outer=replace(two.outer, final_gain=gain))
    assert np.abs(first - soft_logits(one.form, weights_of(three), inputs)).max() > 1e-3


def test_members_of_an_orbit_have_one_canonical_form() -> None:
    made = canonical_checkpoint(GPT)
    assert one_form(made, GPT)[0]
    for seed in range(2):
        other = canonical_checkpoint(apply(random_symmetry(GPT, seed=seed), GPT, exact=False)).checkpoint
        for layer in range(GPT.form.layers):
            for name, array in made.checkpoint.block(layer).present():
                assert np.abs(array - getattr(other.block(layer), name)).max() < 1e-7, name
        for name, array in made.checkpoint.ends().present():
            assert np.abs(array - getattr(other.ends(), name)).max() < 1e-7, name


@pytest.mark.parametrize(("equal", "turns"), [(2, 0), (3, 1)])
def test_turns_of_three_equal_final_gains_leave_no_one_form(equal: int, turns: int) -> None:
    """Two such coordinates can only change places, and orders are brought into one form."""
    gain = np.array(GPT.outer.final_gain)
    gain[:equal] = gain[0]
    one = replace(GPT, outer=replace(GPT.outer, final_gain=gain))
    found = symmetries_of(one)
    assert found.complete
    assert sum(row.only_here for row in found.groups) == turns
    said = one_form(canonical_checkpoint(one), one)
    assert (said[0], "equal final gains" in said[1]) == (turns == 0, turns > 0)
