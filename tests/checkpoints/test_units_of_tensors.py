"""In which units a tensor is off: those of its own type, never of a number that happens to be small."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from changed_checkpoints import changed, rounded
from hypothesis import given, settings
from hypothesis import strategies as st
from pairs_of_checkpoints import centred

from lightning_sym import same_checkpoints
from lightning_sym.checkpoints.comparison import CheckpointAnswer
from lightning_sym.checkpoints.model import MadeCheckpoint
from lightning_sym.checkpoints.random_symmetries import random_symmetry
from lightning_sym.checkpoints.rewritings import apply
from lightning_sym.checkpoints.units import DIGITS, unit_at
from lightning_sym.testing import small_checkpoint

ROUNDING, DIFFERENT = CheckpointAnswer.ROUNDING, CheckpointAnswer.DIFFERENT


@dataclass(frozen=True, eq=False)
class Mixed(MadeCheckpoint):
    """Matrices in float16, all vectors in float32, as GGUF files have them."""

    def stored(self, piece: str) -> str:
        return "F32" if piece.endswith(("_bias", "_gain")) else "F16"


def mixed(one: MadeCheckpoint) -> Mixed:
    narrow, wide = rounded(one, "F16"), rounded(one, "F32")

    def joined(small: Any, large: Any) -> Any:
        vectors = {name: array for name, array in large.present() if name.endswith(("_bias", "_gain"))}
        return replace(small, **vectors)

    blocks = tuple(map(joined, narrow.blocks, wide.blocks))
    return Mixed(one.form, joined(narrow.outer, wide.outer), blocks)


@pytest.mark.parametrize("rewritten", [False, True])
def test_vectors_are_measured_in_their_own_type(rewritten: bool) -> None:
    one = mixed(small_checkpoint("llama", biases=True))
    two = mixed(rounded(apply(random_symmetry(one, ("heads", "neurons", "stream"), 1), one))) if rewritten else one
    assert same_checkpoints(one, two).answer is CheckpointAnswer.SAME
    for name in ("query_bias", "value_bias", "output_bias", "up_bias", "down_bias"):
        bias = np.array(getattr(two.blocks[1], name))
        place = np.unravel_index(np.abs(bias).argmax(), bias.shape)
        bias[place] *= np.float32(1 + 2.0**-10)  # a unit of float16, and thousands of float32
        found = same_checkpoints(one, changed(two, 1, **{name: bias}))
        assert found.answer is DIFFERENT, name
        assert [(each.piece, each.stored) for each in found.unexplained] == [(f"1.{name}", "F32")]
        assert found.units > 1000


def test_a_vector_that_one_side_lacks_has_a_unit() -> None:
    one = small_checkpoint("gpt2")
    for name in ("final_bias", "down_bias", "query_bias", "output_bias", "norm1_bias"):
        layer = None if name == "final_bias" else 1
        pieces = one.outer if layer is None else one.blocks[layer]
        two = changed(one, layer, **{name: 0 * getattr(pieces, name)})
        for pair in ((one, two), (two, one)):
            found = same_checkpoints(*pair)
            assert found.answer is DIFFERENT, name
            assert 100 < found.units < 2.0**26, name


@pytest.mark.parametrize("kinds", [("heads", "values", "stream"), ("heads", "values", "stream", "scale"), ("values",)])
@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_no_scale_is_invented(family: str, kinds: tuple[str, ...]) -> None:
    """Where the epsilon of the second was rounded to float32, as in a GGUF file, and its tensors were, too."""
    one = small_checkpoint(family, 2, tied=False)
    for stored in ("F32", "F16", "BF16"):
        two = rounded(apply(random_symmetry(one, kinds, 3), one), stored)
        single = Fraction(float(np.float32(float(two.form.epsilon))))
        assert single != two.form.epsilon
        two = replace(two, form=replace(two.form, epsilon=single))
        for pair, times in (((one, two), "times 2"), ((two, one), "times 1/2")):
            found = same_checkpoints(*pair)
            assert found.answer is ROUNDING, str(found)
            assert found.description is not None
            words = found.description.stream
            assert words.endswith(times) if "scale" in kinds else "times" not in words
            assert next(each for each in found.residuals if each.piece == "epsilon").units < 0.6


def test_long_coordinates_of_the_stream() -> None:
    """A trained GPT-2 has coordinates that are thirty times as long as others: means along them lose more."""
    for seed in range(4):
        one, random = small_checkpoint("gpt2", seed + 100, tied=seed % 2 == 0), np.random.default_rng(seed)

        def longer(pieces: Any, random: Any = random) -> Any:
            found = {}
            for name, axis in (("embedding", 1), ("positions", 1), ("output", 1), ("down", 0), ("down_bias", 0)):
                if (array := getattr(pieces, name, None)) is not None:
                    size = np.ones([16 if i == axis else 1 for i in range(array.ndim)])
                    size.reshape(-1)[random.integers(16)] = 30
                    found[name] = (0.1 * array * size).astype(np.float32)
            return replace(pieces, **found)

        one = replace(one, outer=longer(one.outer), blocks=tuple(map(longer, one.blocks)))
        for stored in ("F32", "F16", "BF16"):
            two = rounded(centred(one), stored)
            for pair in ((one, two), (two, one)):
                found = same_checkpoints(*pair)
                assert found.answer is ROUNDING, str(found)


@settings(max_examples=50)
@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(sorted(DIGITS)))
def test_units_are_steps_of_the_type(size: float, stored: str) -> None:
    """By the exponent that the library of C finds, at numbers without one of their own too."""
    digits, least = DIGITS[stored]
    expected = math.ldexp(1.0, max(math.frexp(size)[1] - digits, least) if size else least)
    assert unit_at(size, stored) == expected
    assert unit_at(np.array([[size]]), stored).tolist() == [[expected]]
