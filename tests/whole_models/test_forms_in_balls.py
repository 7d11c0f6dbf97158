"""Heads are told apart in balls where frequencies are not known to be algebraic numbers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from flint import arb

from lightning_sym import symmetries_of
from lightning_sym.testing import small_checkpoint
from lightning_sym.whole_models.covered import frequencies, has_algebraic_frequencies
from lightning_sym.whole_models.forms_in_balls import SEED, first_forms

LLAMA_3 = {
    "rope_type": "llama3", "factor": Fraction(8), "low_freq_factor": Fraction(1), "high_freq_factor": Fraction(4),
    "original_max_position_embeddings": 40,
}  # fmt: skip
ONE = small_checkpoint(
    "llama", seed=3, tied=False, heads=2, head_width=8, config={"rope_scaling": LLAMA_3, "rope_theta": Fraction(4)}
)


def test_interpolated_frequencies_leave_nothing_open() -> None:
    assert not has_algebraic_frequencies(ONE.form)
    found = symmetries_of(ONE)
    assert found.complete
    assert "balls" in next(c.evidence for c in found.conditions if c.name == "(C4)")


def test_equal_heads_are_not_shown_to_differ() -> None:
    block = ONE.blocks[1]
    query = np.array(block.query)
    query[1] = query[0]
    equal = replace(ONE, blocks=(ONE.blocks[0], replace(block, query=query)))
    unknown = [(c.name, c.evidence) for c in symmetries_of(equal).conditions if not c.holds]
    assert unknown == [("(C4)", "values of heads 1.0 and 1.1 lie in balls that meet")]


def test_balls_hold_the_form() -> None:
    """Computed anew, with exact fractions of the weights and matrices that are written out."""
    block, form, source = ONE.blocks[0], ONE.form, np.random.default_rng(SEED)
    left, right = (source.integers(-3, 4, form.width) for _ in range(2))
    gain = [Fraction(float(g)) for g in block.norm1_gain]

    def rows(matrix: object, vector: np.ndarray) -> list[Fraction]:
        return [
            sum((Fraction(float(w)) * g * int(v) for w, g, v in zip(row, gain, vector, strict=True)), Fraction(0))
            for row in np.asarray(matrix)
        ]

    def ball(number: Fraction) -> arb:
        return arb(number.numerator) / arb(number.denominator)

    for head, found in enumerate(first_forms(block, form)):
        q = rows(block.query[head], left)
        k = rows(block.key[head // (form.heads // form.groups)], right)
        half, total = form.head_width // 2, arb(0)
        for j, angle in enumerate(frequencies(form)):
            turned = (
                angle.cos() * ball(k[j]) + angle.sin() * ball(k[j + half]),
                angle.cos() * ball(k[j + half]) - angle.sin() * ball(k[j]),
            )
            total += ball(q[j]) * turned[0] + ball(q[j + half]) * turned[1]
        assert found.overlaps(total)
        assert found.rad() < 1e-9
