"""What is written is whole, says what the checkpoint is, and rounds only where that is asked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file
from test_reading_checkpoints import arrays, assert_equal, in_shards

from lightning_sym import BadInput, open_checkpoint, save_checkpoint
from lightning_sym.checkpoints.families import FAMILIES
from lightning_sym.checkpoints.model import Block, Checkpoint, Ends, MadeCheckpoint
from lightning_sym.checkpoints.stored_types import from_disk, to_disk
from lightning_sym.testing import small_checkpoint


def with_form(made: MadeCheckpoint, **changes: Any) -> MadeCheckpoint:
    return replace(made, form=replace(made.form, **changes))


def with_block(made: MadeCheckpoint, **changes: Any) -> MadeCheckpoint:
    return replace(made, blocks=(*made.blocks[:-1], replace(made.blocks[-1], **changes)))


def of(name: str, /, **changes: Any) -> Callable[[], MadeCheckpoint]:
    return lambda: with_form(small_checkpoint(name), **changes)


def block_of(family: str, **changes: Any) -> Callable[[], MadeCheckpoint]:
    return lambda: with_block(small_checkpoint(family), **changes)


def one_bias() -> MadeCheckpoint:
    made = small_checkpoint("llama")
    return replace(made, blocks=tuple(replace(block, output_bias=np.zeros(16)) for block in made.blocks))


REFUSED: dict[str, tuple[Callable[[], Checkpoint], str]] = {
    "a family": (of("llama", family="bert"), f"the family must be one of {', '.join(FAMILIES)}, got 'bert'"),
    "another family": (of("llama", family="qwen2"), "a block of qwen2 must have its pieces and no others"),
    "norm": (of("llama", norm="layer"), "the form must say which pieces there are, they differ in final_bias"),
    "tie": (of("llama", tied=True), "the form must say which pieces there are, they differ in unembedding"),
    "a third": (of("llama", epsilon=Fraction(1, 3)), "epsilon must be a decimal to be written, got 1/3"),
    "no theta": (of("llama", theta=None), "they differ in positions"),
    "head width": (of("gpt2", head_width=8), "gpt2 must have head_width = 4, got 8"),
    "groups": (of("gpt2", groups=2), "gpt2 must have groups = 4, got 2"),
    "one bias": (one_bias, "must have its pieces and no others, they differ in"),
    "one block": (block_of("gpt2", key_bias=None), "all blocks must have the same pieces, they differ in 1.key_bias"),
    "a shape": (block_of("llama", up=np.zeros((16, 24))), "up of layer 1 must have the shape (24, 16), got (16, 24)"),
    "NaN": (block_of("llama", up=np.full((24, 16), np.nan)), "mlp.up_proj.weight: numbers must be finite"),
    "fractions": (
        block_of("llama", up=np.full((24, 16), Fraction(1, 3))), "numbers must be floats to be stored, got fractions",
    ),
    "more bits": (block_of("llama", up=np.full((24, 16), 0.1)), "must be of the type F32, got 0.1; a stored type"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_said_is_refused_and_nothing_is_left(name: str, tmp_path: Path) -> None:
    make, expected = REFUSED[name]
    with pytest.raises(BadInput) as caught:
        save_checkpoint(make(), tmp_path / "new")
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())
    save_checkpoint(small_checkpoint("llama"), tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(BadInput):
        save_checkpoint(make(), tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("stored", ["F16", "BF16", "F32"])
def test_rounding_is_to_nearest_where_it_is_asked_for(stored: str, tmp_path: Path) -> None:
    made = small_checkpoint("gpt2", stored="F64")
    save_checkpoint(made, tmp_path, stored=stored)
    read = open_checkpoint(tmp_path)
    for (name, array), (_, there) in zip(arrays(made), arrays(read), strict=True):
        raw = to_disk(there, stored)
        unit = {"F16": 2.0**-11, "BF16": 2.0**-8, "F32": 2.0**-24}[stored]
        assert np.all(np.abs(there - array) <= np.abs(array) * unit + 2.0**-25), name
        assert np.array_equal(from_disk(raw, stored), there)
        assert read.stored(name) == stored
    with pytest.raises(BadInput, match="must be of the type"):
        save_checkpoint(replace(made, type_stored=stored), tmp_path)
    with pytest.raises(BadInput, match="must be in the range of F16, got 70000"):
        save_checkpoint(with_block(made, up=np.full((24, 16), 70000.0)), tmp_path, stored="F16")


def test_fractions_are_rounded_once() -> None:
    tiny = Fraction(1, 2**70)
    for kind, half in (("BF16", Fraction(1, 2**8)), ("F16", Fraction(1, 2**11)), ("F32", Fraction(1, 2**24))):
        ties = [
            sign * (1 + half + off) for sign in (1, -1) for off in (-tiny, 0, tiny)
        ]  # the middle is rounded to even
        found = from_disk(to_disk(np.array(ties, dtype=object), kind, rounded=True), kind)
        up = float(1 + 2 * half)
        assert found.tolist() == [1.0, 1.0, up, -1.0, -1.0, -up]
    third = to_disk(np.array([Fraction(1, 3)], dtype=object), "F64", rounded=True)
    assert third.tolist() == [1 / 3]
    with pytest.raises(BadInput, match="must be in the range of F32"):
        to_disk(np.array([Fraction(10) ** 400], dtype=object), "F32", rounded=True)


@pytest.mark.parametrize(
    ("epsilon", "text"), [("0.00001", "0.00001"), ("1e-40", "1e-40"), ("3", "3.0"), ("1.25", "1.25")]
)
def test_decimals_are_exact(epsilon: str, text: str, tmp_path: Path) -> None:
    made = with_form(small_checkpoint("llama"), epsilon=Fraction(epsilon), theta=Fraction("123456789012345678901.5"))
    save_checkpoint(made, tmp_path)
    assert f'"rms_norm_eps": {text},' in (tmp_path / "config.json").read_text(encoding="utf-8")
    assert open_checkpoint(tmp_path).form == made.form


def test_biases_of_llama_are_said(tmp_path: Path) -> None:
    made = small_checkpoint("llama", biases=True)
    names = {"attention_bias": ("query", "key", "value", "output"), "mlp_bias": ("gate", "up", "down")}
    for left_out, parts in names.items():
        none: dict[str, Any] = {f"{part}_bias": None for part in parts}
        some = replace(made, blocks=tuple(replace(block, **none) for block in made.blocks))
        save_checkpoint(some, tmp_path)
        assert_equal(some, open_checkpoint(tmp_path))
        config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
        assert {key: config[key] for key in names} == {key: key != left_out for key in names}


def test_a_folder_can_be_written_over_while_it_is_read(tmp_path: Path) -> None:
    made = small_checkpoint("mistral", seed=1)
    save_checkpoint(made, tmp_path)
    read = open_checkpoint(tmp_path)
    save_checkpoint(small_checkpoint("mistral", seed=2), tmp_path)
    assert_equal(made, read)
    save_checkpoint(read, tmp_path)
    assert_equal(made, open_checkpoint(tmp_path))


def test_other_weights_in_the_folder_are_not_left_beside(tmp_path: Path) -> None:
    made = small_checkpoint("llama")
    save_checkpoint(made, tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
    save_checkpoint(made, tmp_path)
    in_shards(tmp_path, 2)
    with pytest.raises(BadInput, match=r"must not hold other weights, got 'model-00001-of-00002.safetensors'"):
        save_checkpoint(made, tmp_path)


def test_folders_that_cannot_be_written(tmp_path: Path) -> None:
    made = small_checkpoint("llama")
    (tmp_path / "file").write_text("x", encoding="utf-8")
    for folder in ("file", "missing/new", "file/new"):
        with pytest.raises(BadInput, match="must be a writable folder"):
            save_checkpoint(made, tmp_path / folder)
    for bad in ("", "a\0b"):
        with pytest.raises(BadInput, match="folder must be a path"):
            save_checkpoint(made, bad)
    with pytest.raises(BadInput, match="the stored type must be one of F16, BF16, F32, F64, got 'F8'"):
        save_checkpoint(made, tmp_path, stored="F8")
    with pytest.raises(BadInput, match="checkpoint must be a Checkpoint"):
        save_checkpoint(made.form, tmp_path)  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@dataclass(frozen=True)
class OneAtATime:
    """A checkpoint that makes each layer when it is asked for, and fails in the last one."""

    made: MadeCheckpoint
    fails: bool

    form = property(lambda self: self.made.form)
    name = "made one at a time"

    def ends(self) -> Ends:
        return self.made.outer

    def block(self, layer: int) -> Block:
        if self.fails and layer == 1:
            raise KeyboardInterrupt
        return self.made.blocks[layer]

    def stored(self, piece: str) -> str:
        return "F32"

    def called(self, piece: str) -> str:
        return piece


def test_an_interrupted_writing_leaves_nothing(tmp_path: Path) -> None:
    made = small_checkpoint("qwen2")
    with pytest.raises(KeyboardInterrupt):
        save_checkpoint(OneAtATime(made, fails=True), tmp_path / "new")
    assert not list(tmp_path.iterdir())
    save_checkpoint(OneAtATime(made, fails=False), tmp_path / "new")
    assert_equal(made, open_checkpoint(tmp_path / "new"))
    assert load_file(tmp_path / "new" / "model.safetensors")["model.norm.weight"].dtype == np.float32
