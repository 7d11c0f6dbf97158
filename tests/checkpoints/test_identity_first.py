"""A checkpoint that was only stored again is one that was rounded, and nothing else is found; a changed one is not."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from changed_checkpoints import changed, rounded
from test_gguf_checkpoints import write

from lightning_sym import open_checkpoint, same_checkpoints, save_checkpoint
from lightning_sym.checkpoints.comparison import CheckpointAnswer, CheckpointComparison
from lightning_sym.checkpoints.identity import under_identity
from lightning_sym.checkpoints.model import Checkpoint, MadeCheckpoint
from lightning_sym.testing import small_checkpoint

SAME, ROUNDING = CheckpointAnswer.SAME, CheckpointAnswer.ROUNDING
DIFFERENT = CheckpointAnswer.DIFFERENT
FAMILIES = ("gpt2", "llama", "mistral", "qwen2")
SINGLE = Fraction(float(np.float32(1e-5)))


def with_numbers(one: MadeCheckpoint, **numbers: Any) -> MadeCheckpoint:
    return replace(one, form=replace(one.form, **numbers))


def require_stored_again(found: CheckpointComparison, units: float = 0.5) -> None:
    """It was rounded, by so much, and nothing was done to it."""
    assert found.answer is ROUNDING, str(found)
    assert 0 < found.units <= units
    assert found.description is not None
    assert found.description.exact
    assert found.description.stream == "as it is"
    assert set(found.description.layers) == {()}
    assert found.symmetry is not None
    assert found.symmetry.parts() == ()


@pytest.mark.parametrize("stored", ["F16", "BF16"])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_stored_in_fewer_bits_is_rounded(family: str, tied: bool, stored: str) -> None:
    for seed in range(3):
        one = small_checkpoint(family, seed, tied=tied)
        two = rounded(one, stored)
        for pair in ((one, two), (two, one)):
            require_stored_again(same_checkpoints(*pair))
        assert same_checkpoints(two, replace(two, name="copy", type_stored="F32")).answer is SAME


@pytest.mark.parametrize("number", ["epsilon", "theta"])
@pytest.mark.parametrize("stored", ["F32", "F16", "BF16"])
def test_numbers_of_the_configuration_are_rounded_to_float32(number: str, stored: Any) -> None:
    one = small_checkpoint("llama", stored=stored)
    value = {"epsilon": Fraction(1, 10**5), "theta": Fraction("500000.1")}[number]
    one = with_numbers(one, **{number: value})
    two = with_numbers(one, **{number: Fraction(float(np.float32(float(value))))})
    for pair in ((one, two), (two, one)):
        found = same_checkpoints(*pair)
        require_stored_again(found)
        assert [(each.piece, each.stored) for each in found.residuals] == [(number, "F32")]
    # never a coarser unit, and none where both have more bits
    far = with_numbers(one, **{number: value * (1 + Fraction(1, 2**18))})
    assert same_checkpoints(one, far).answer is DIFFERENT
    wide = [replace(each, type_stored="F64") for each in (one, two)]
    assert same_checkpoints(*wide).answer is DIFFERENT


@pytest.mark.parametrize("kind", ["F32", "F16", "BF16"])
@pytest.mark.parametrize("family", ["gpt2", "llama", "qwen2"])
def test_a_gguf_file_of_a_checkpoint_is_it_rounded(family: str, kind: str, tmp_path: Path) -> None:
    one = small_checkpoint(family, vocabulary=48)
    save_checkpoint(one, tmp_path / "folder")
    narrow = getattr(gguf.GGMLQuantizationType, kind)
    write(tmp_path / "a.gguf", one, lambda name: narrow if name.endswith("weight") and "norm" not in name else None)
    pair = open_checkpoint(tmp_path / "folder"), open_checkpoint(tmp_path / "a.gguf")
    for one_, two in (pair, pair[::-1]):
        found = same_checkpoints(one_, two)
        require_stored_again(found)
        assert next(each for each in found.residuals if each.piece == "epsilon").units < 0.5
        if kind == "F32":
            assert len(found.residuals) == 1


def test_a_gguf_file_of_doubles_has_floats_in_its_configuration(tmp_path: Path) -> None:
    one = small_checkpoint("llama", stored="F64", vocabulary=48)
    save_checkpoint(one, tmp_path / "folder")
    write(tmp_path / "a.gguf", one)
    found = same_checkpoints(open_checkpoint(tmp_path / "folder"), open_checkpoint(tmp_path / "a.gguf"))
    require_stored_again(found)
    assert [each.stored for each in found.residuals] == ["F32"]


def test_the_family_is_a_name() -> None:
    one = small_checkpoint("llama")
    assert same_checkpoints(one, replace(one, form=replace(one.form, family="mistral"))).answer is SAME


def mutants(one: MadeCheckpoint) -> list[tuple[str, MadeCheckpoint]]:
    """One entry doubled, the largest, or one tensor forgotten, of each that there is."""
    found = []
    for layer in (None, *range(one.form.layers)):
        pieces = one.outer if layer is None else one.blocks[layer]
        for name, array in pieces.present():
            if name == "key_bias" and one.form.theta is None:
                continue  # nothing depends on it
            doubled = np.array(array)
            place = np.unravel_index(np.abs(doubled).argmax(), doubled.shape)
            doubled[place] *= 2
            found.append((f"{layer} {name} doubled", changed(one, layer, **{name: doubled})))
            nothing = np.ones_like(array) if name.endswith("gain") else 0 * array
            found.append((f"{layer} {name} forgotten", changed(one, layer, **{name: nothing})))
    return found


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("stored", ["F16", "BF16"])
def test_what_was_changed_as_well_is_not_rounded(family: str, stored: str) -> None:
    one = small_checkpoint(family, 3, layers=1, biases=family == "llama")
    for name, wrong in mutants(rounded(one, stored)):
        for pair in ((one, wrong), (wrong, one)):
            assert same_checkpoints(*pair).answer is DIFFERENT, name


def pieces(one: Checkpoint) -> set[str]:
    found = {name for name, _ in one.ends().present()}
    return found | {f"{i}.{name}" for i in range(one.form.layers) for name, _ in one.block(i).present()}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_identity_says_of_each_piece_how_far_it_is(family: str) -> None:
    one = small_checkpoint(family)
    assert under_identity(one, one).equal == pieces(one)
    for name in ("query", "norm1_gain", "down"):
        array = 3 * np.array(getattr(one.blocks[1], name))
        two = changed(one, 1, **{name: array})
        found = under_identity(one, two)
        assert found.equal == pieces(one) - {f"1.{name}"}
        assert [each.piece for each in found.residuals] == [f"1.{name}"]
        assert not found.within(4)
        assert found.complete
        assert not under_identity(one, changed(two, 0, up=0 * two.blocks[0].up), 4).complete
    other = small_checkpoint(family, inner=20)
    found = under_identity(one, other)
    assert found.apart >= {"inner", "0.up", "1.down"}
    assert not found.within(float("inf"))
