"""Types with blocks: what is read, and whether a tensor is a quantisation of another one, code by code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from gguf.constants import GGML_QUANT_SIZES
from gguf.quants import dequantize
from test_gguf_checkpoints import tensors_of, write

from lightning_sym import open_checkpoint, same_checkpoints, save_checkpoint
from lightning_sym.checkpoints.block_types import BLOCK_TYPES, grid_of
from lightning_sym.testing import small_checkpoint

KINDS: Any = gguf.GGMLQuantizationType
CODED = [name for name, known in BLOCK_TYPES.items() if known.codes]
PLAIN = ("Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1")
SCALES = {
    "Q2_K": (80, 82), "Q3_K": (108,), "Q4_K": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,), "Q4_1": (0, 2), "Q5_1": (0, 2),
}  # fmt: skip
BYTES = {"MXFP4": (1, 118, 128), "NVFP4": (4, 20, 90)}
"""Scales that are bytes: how many, and from where to where."""


def blocks_of(name: str, count: int, seed: int = 0) -> Any:
    """Random bytes, but for scales and shifts, which are of moderate size."""
    rng = np.random.default_rng(seed)
    raw = rng.integers(256, size=(count, GGML_QUANT_SIZES[KINDS[name]][1]), dtype=np.uint8)
    if name in BYTES:
        many, least, most = BYTES[name]
        raw[:, :many] = rng.integers(least, most, size=(count, many), dtype=np.uint8)
        return raw
    for place in SCALES.get(name, (0,)):
        scale = rng.uniform(0.01, 0.05, size=count).astype("<f2")
        raw[:, place : place + 2] = scale.view(np.uint8).reshape(count, 2)
    return raw


@pytest.mark.parametrize("name", BLOCK_TYPES)
def test_values_are_those_of_the_package(name: str) -> None:
    raw = blocks_of(name, 40) if name in CODED else np.zeros((40, GGML_QUANT_SIZES[KINDS[name]][1]), dtype=np.uint8)
    found = BLOCK_TYPES[name].values(raw)
    assert np.isfinite(found).all()
    assert np.allclose(found, dequantize(raw, KINDS[name]), rtol=1e-6)


def by_trying_all(name: str, raw: Any, wanted: Any) -> tuple[Any, Any]:
    """How far the value of each code is off what is wanted, and how far the best of all codes is."""
    known = BLOCK_TYPES[name]
    each = np.stack([known.values(known.with_code(raw, code)) for code in range(known.codes)]).astype(np.float64)
    return np.abs(known.values(raw).astype(np.float64) - wanted), np.abs(each - wanted).min(axis=0)


@pytest.mark.parametrize("name", CODED)
def test_nearest_codes_are_told_from_others(name: str) -> None:
    known, raw = BLOCK_TYPES[name], blocks_of(name, 30)
    values = known.values(raw).astype(np.float64)
    grid = grid_of(name, known, raw, values)
    rng = np.random.default_rng(1)
    spread = np.abs(values).max()
    near, far = rng.uniform(-0.2, 0.2, values.shape) * spread, rng.normal(size=values.shape) * spread
    for wanted in (values, values + near, far):
        off, best = by_trying_all(name, raw, wanted)
        right = grid.nearest(values, wanted)
        assert right[off <= best].all()
        surely_not = off > best + 2 * grid.loose + 1e-6 * spread
        assert not right[surely_not].any()
    assert surely_not.mean() > 0.5  # of numbers that have nothing to do with the codes


def test_codes_reach_every_number() -> None:
    for name in CODED:
        known, raw = BLOCK_TYPES[name], blocks_of(name, 3)
        each = [known.values(known.with_code(raw, code)) for code in range(known.codes)]
        found = known.values(raw)
        assert (np.abs(np.stack(each) - found).min(axis=0) <= 1e-6 * np.abs(found).max()).all(), name


MADE = small_checkpoint("llama", vocabulary=64, head_width=64, heads=4, inner=256, layers=1)


def matrices(kind: Any) -> Callable[[str], Any]:
    return lambda name: None if "norm" in name else kind


@pytest.mark.parametrize("name", [*PLAIN, "MXFP4"])
def test_a_quantised_file_is_a_rounding_by_its_type(name: str, tmp_path: Path) -> None:
    write(tmp_path / "a.gguf", MADE, matrices(KINDS[name]))
    quantised = open_checkpoint(tmp_path / "a.gguf")
    for pair in ((MADE, quantised), (quantised, MADE)):
        found = same_checkpoints(*pair, ids=[1])
        assert (found.answer.value, found.quantised) == ("rounding", (name,))
        assert 0.4 < found.units <= 1.05
        assert f"quantised   {name}: each code" in str(found)
    assert same_checkpoints(quantised, quantised).answer.value == "same"


def write_blocks(path: Path, name: str, change: Callable[[Any], None]) -> None:
    """A file whose matrices are random blocks of a type, those of one of them changed."""
    size = GGML_QUANT_SIZES[KINDS[name]][0]
    writer = gguf.GGUFWriter(path, "llama")
    for key, value in (
        ("block_count", 1),
        ("context_length", 16),
        ("embedding_length", 256),
        ("feed_forward_length", 256),
        ("attention.head_count", 4),
        ("attention.head_count_kv", 2),
    ):
        writer.add_uint32(f"llama.{key}", value)  # fmt: skip
    for key, number in (("attention.layer_norm_rms_epsilon", 2.0**-20), ("rope.freq_base", 10000.0)):
        writer.add_float32(f"llama.{key}", number)
    for number, (key, array) in enumerate(tensors_of(MADE).items()):
        if array.ndim == 1:
            writer.add_tensor(key, np.ascontiguousarray(array))
            continue
        raw = blocks_of(name, array.size // size, number)
        if key == "blk.0.ffn_up.weight":
            change(raw)
        writer.add_tensor(key, raw.reshape(array.shape[0], -1), raw_dtype=KINDS[name])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def left_alone(raw: Any) -> None:
    pass


def spoiled(raw: Any) -> None:
    """Two codes of the third block are others."""
    raw[2, 30] ^= 0x44


@pytest.mark.parametrize("name", ["Q2_K", "Q4_K", "Q6_K", "NVFP4"])
def test_a_wrong_code_is_found_in_its_block(name: str, tmp_path: Path) -> None:
    write_blocks(tmp_path / "right.gguf", name, left_alone)
    right = open_checkpoint(tmp_path / "right.gguf")
    save_checkpoint(right, tmp_path / "floats")
    floats = open_checkpoint(tmp_path / "floats")
    assert same_checkpoints(right, floats).answer.value == "same"
    write_blocks(tmp_path / "wrong.gguf", name, spoiled)
    found = same_checkpoints(floats, open_checkpoint(tmp_path / "wrong.gguf"), ids=[1])
    assert found.answer.value in ("different", "undecided")  # the change of one code may be too small for the logits
    (off,) = found.unexplained
    assert (off.piece, off.differing) == ("0.up", 2)
    assert off.blocks.startswith(f"1 of {256 * 256 // GGML_QUANT_SIZES[KINDS[name]][0]:,} blocks of {name} hold codes")
    assert off.blocks.endswith("not the nearest, first number 2")


def test_a_block_without_a_scale_is_no_quantisation() -> None:
    for name in PLAIN:
        known, raw = BLOCK_TYPES[name], blocks_of(name, 2)
        raw[0, : 4 if known.shifted else 2] = 0
        values = np.asarray(known.values(raw), dtype=np.float64)
        right = grid_of(name, known, raw, values).nearest(values, values + 0.004)
        assert not right[0].any()
        assert grid_of(name, known, raw, values).nearest(values, values).all()


def test_a_small_scale_hides_nothing(tmp_path: Path) -> None:
    """Where numbers lie far beyond the last code, each code is the nearest, and yet the tensor is another one."""
    smaller = replace(MADE, blocks=tuple(replace(b, up=b.up / np.float32(8)) for b in MADE.blocks))
    write(tmp_path / "a.gguf", smaller, matrices(KINDS.Q8_0))
    found = same_checkpoints(MADE, open_checkpoint(tmp_path / "a.gguf"), ids=[1])
    assert found.answer.value != "rounding"
    assert "0.up" in {each.piece for each in found.unexplained}
