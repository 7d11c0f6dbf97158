"""GGUF files as the `gguf` package writes them: their layout, their types exactly, and what is refused."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from gguf.quants import dequantize, quantize
from test_bad_checkpoints import refusal
from test_reading_checkpoints import arrays, assert_equal

from lightning_sym import BadInput, MissingExtra, compare_logits, open_checkpoint, same_checkpoints, save_checkpoint
from lightning_sym.checkpoints.comparison import CheckpointAnswer
from lightning_sym.checkpoints.model import Checkpoint
from lightning_sym.rings.balls import precision
from lightning_sym.rings.rotary import RotaryScaling
from lightning_sym.testing import small_checkpoint

PARTS = {
    "query": "attn_q", "key": "attn_k", "value": "attn_v", "norm1": "attn_norm", "norm2": "ffn_norm",
    "gate": "ffn_gate", "up": "ffn_up", "down": "ffn_down",
}  # fmt: skip


def interleaved(rows: Any) -> Any:
    """Rows of each head as llama.cpp stores them: first of the first half, first of the second half, and so on."""
    return np.stack([rows[:, : rows.shape[1] // 2], rows[:, rows.shape[1] // 2 :]], axis=2).reshape(rows.shape)


def tensors_of(made: Checkpoint) -> dict[str, Any]:
    """The tensors of a checkpoint under the names of GGUF files."""
    ends, form = made.ends(), made.form
    found = {"token_embd.weight": ends.embedding, "output_norm.weight": ends.final_gain}
    others = {"output.weight": ends.unembedding, "position_embd.weight": ends.positions}
    others["output_norm.bias"] = ends.final_bias
    found |= {name: end for name, end in others.items() if end is not None}
    for layer in range(form.layers):
        block, at = made.block(layer), f"blk.{layer}."
        there = dict(block.present())
        output = there.pop("output")
        found[f"{at}attn_output.weight"] = np.concatenate(list(output), axis=1)
        if (bias := there.pop("output_bias", None)) is not None:
            found[f"{at}attn_output.bias"] = bias
        if form.family == "gpt2":
            for end in ("", "_bias"):
                joined = [there.pop(f"{part}{end}").reshape(form.width, -1) for part in ("query", "key", "value")]
                name = f"{at}attn_qkv.{'bias' if end else 'weight'}"
                found[name] = np.concatenate(joined).reshape((-1,) if end else (3 * form.width, form.width))
        for piece, array in there.items():
            part, _, end = piece.partition("_")
            if form.family == "llama" and part in ("query", "key"):
                array = interleaved(array)
            rows = array.reshape(-1, form.width) if array.ndim == 3 else array
            rows = array.reshape(-1) if end == "bias" else rows
            found[f"{at}{PARTS[part]}.{'bias' if end == 'bias' else 'weight'}"] = rows
    return found


def write(
    path: Path,
    made: Checkpoint,
    kinds: Callable[[str], Any] = lambda name: None,
    change: Callable[[gguf.GGUFWriter], None] = lambda writer: None,
    more: dict[str, Any] | None = None,
) -> None:
    """Write a checkpoint; `kinds` says how a tensor is quantized."""
    form = made.form
    writer = gguf.GGUFWriter(path, form.family)
    writer.add_block_count(form.layers)
    writer.add_context_length(form.context)
    writer.add_embedding_length(form.width)
    writer.add_feed_forward_length(form.inner)
    writer.add_head_count(form.heads)
    if form.norm == "rms":
        writer.add_head_count_kv(form.groups)
        writer.add_layer_norm_rms_eps(float(form.epsilon))
        writer.add_rope_freq_base(float(form.theta or 0))
        writer.add_rope_dimension_count(form.head_width)
    else:
        writer.add_layer_norm_eps(float(form.epsilon))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([f"t{i}" for i in range(form.vocabulary)])
    writer.add_array("tokenizer.ggml.scores", [0.5] * form.vocabulary)
    change(writer)
    for name, tensor in (tensors_of(made) | (more or {})).items():
        if (kind := kinds(name)) is None:
            writer.add_tensor(name, np.ascontiguousarray(tensor))
        else:
            writer.add_tensor(name, quantize(np.ascontiguousarray(tensor, dtype=np.float32), kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.mark.parametrize("stored", ["F16", "F32", "F64"])
@pytest.mark.parametrize("family", ["gpt2", "llama", "qwen2"])
def test_the_layout_of_each_family(family: str, stored: Any, tmp_path: Path) -> None:
    for tied in (False, True):
        made = small_checkpoint(family, tied=tied, stored=stored, vocabulary=48)
        write(tmp_path / "a.gguf", made)
        read = open_checkpoint(tmp_path / "a.gguf")
        assert read.form.epsilon == Fraction(float(np.float32(1e-5)))  # the float of the file, not the decimal it was
        read.form = made.form
        assert_equal(made, read)
        assert {read.stored(name) for name, _ in arrays(read)} == {stored}
        save_checkpoint(read, tmp_path / f"{tied}")
        assert_equal(read, open_checkpoint(tmp_path / f"{tied}"))


@pytest.mark.parametrize(
    ("kind", "holds"),
    [("BF16", "BF16"), ("Q8_0", "F32"), ("Q4_0", "F32"), ("Q5_0", "F32"), ("Q4_1", "F64"), ("Q5_1", "F64")],
)
def test_types_are_exact(kind: str, holds: str, tmp_path: Path) -> None:
    """Beside the package's own numbers, which are these rounded to float32, and beside the definition."""
    made = small_checkpoint("llama", heads=8, head_width=4, inner=64, vocabulary=64)
    block = made.block(1)
    far = np.where(np.arange(64)[:, None] < 4, np.float32(60000), np.float32(0)) + block.up
    made = replace(made, blocks=(made.block(0), replace(block, up=far)))
    quantized = gguf.GGMLQuantizationType[kind]
    write(tmp_path / "a.gguf", made, lambda name: quantized if name.endswith("ffn_up.weight") else None)
    read = open_checkpoint(tmp_path / "a.gguf")
    raw = quantize(np.ascontiguousarray(made.block(1).up), quantized)
    found = read.block(1).up
    assert np.array_equal(found.astype(np.float32), dequantize(raw, quantized))
    assert read.stored("1.up") == holds
    assert found.dtype == {"F64": np.float64}.get(holds, np.float32)
    if kind == "Q4_1":
        packed = raw.reshape(-1, 20)[2]
        d, m = (Fraction(float(packed[i : i + 2].view(np.float16)[0])) for i in (0, 2))
        numbers = [d * int(byte & 15) + m for byte in packed[4:]] + [d * int(byte >> 4) + m for byte in packed[4:]]
        assert [Fraction(x) for x in found.reshape(-1, 32)[2].tolist()] == numbers
        assert any(Fraction(float(np.float32(x))) != x for x in numbers)


def says(key: str, value: Any) -> Callable[[gguf.GGUFWriter], None]:
    def change(writer: gguf.GGUFWriter) -> None:
        if isinstance(value, str):
            writer.add_string(key, value)
        elif isinstance(value, list):
            writer.add_array(key, value)
        else:
            writer.add_uint32(key, value)

    return change


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "scaling": ({"change": says("llama.rope.scaling.type", "longrope")}, "understood, got 'llama.rope.scaling.type'"),
    "factor": ({"change": says("llama.rope.scaling.type", "yarn")}, "rope_scaling: factor must be a number"),
    "too many frequencies": (
        {"more": {"rope_freqs.weight": np.ones(3, np.float32)}},
        "there must be 2 factors of rotary frequencies, got 3",
    ),
    "a frequency turned round": (
        {"more": {"rope_freqs.weight": -np.ones(2, np.float32)}},
        "must be a tensor of positive numbers",
    ),
    "no frequency": (
        {"more": {"rope_freqs.weight": np.full(2, np.nan, np.float32)}},
        "rope_freqs.weight must hold finite numbers",
    ),
    "experts": ({"change": says("llama.expert_count", 8)}, "missing are blk.0.ffn_gate_exps.weight"),
    "a list": ({"change": says("llama.attention.key_length", [4, 4])}, "head_dim must be an integer"),
    "an adapter": ({"change": says("general.type", "adapter")}, "it must hold a whole model"),
    "integers": ({"more": {"output_norm.weight": np.zeros(256, np.int32)}}, "must be stored as one of F16"),
    "NaN": ({"more": {"output_norm.weight": np.full(256, np.nan, np.float32)}}, "output_norm.weight must hold finite"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_understood_is_refused(name: str, tmp_path: Path) -> None:
    keys, expected = REFUSED[name]
    made = small_checkpoint("llama", heads=64, head_width=4, inner=8, vocabulary=8, layers=1)
    write(tmp_path / "a.gguf", made, **keys)
    assert expected in refusal(tmp_path / "a.gguf")


def test_other_architectures_are_refused(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "a.gguf", "bert")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    said = refusal(tmp_path / "a.gguf")
    assert (
        "general.architecture must be one of gpt2, gptneox, llama, qwen2, qwen3, qwen3moe, olmo2, phi3, granite, "
        "smollm3, gemma, gemma2, gemma3, got 'bert'" in said
    )
    assert said.endswith("which means attention to both sides")


def test_frequencies_of_a_file_are_those_of_a_folder_rounded(tmp_path: Path) -> None:
    """The numbers are float32; where none of them had to be rounded, both are one checkpoint."""
    said = {"low_freq_factor": Fraction(1), "high_freq_factor": Fraction(4), "original_max_position_embeddings": 40}
    scaling: dict[str, Any] = {"rope_type": "llama3", "factor": Fraction(8), **said}
    for width, answer, units in ((4, CheckpointAnswer.SAME, 0.0), (8, CheckpointAnswer.ROUNDING, 0.5)):
        config = {"rope_scaling": scaling, "rope_theta": Fraction(100 if width == 8 else 10**8)}
        made = small_checkpoint("llama", head_width=width, config=config)
        made = replace(made, form=replace(made.form, epsilon=Fraction(1, 2**10)))
        save_checkpoint(made, tmp_path / f"{width}")
        with precision(100):
            multiples = RotaryScaling.multiples(made.form.scaling, made.form.theta, width)  # type: ignore[arg-type]
        factors = [1 / (float(each) if isinstance(each, Fraction) else float(each.mid())) for each in multiples]
        assert any(each not in (1, 8) for each in factors) is (width == 8)
        write(tmp_path / "a.gguf", made, more={"rope_freqs.weight": np.array(factors, dtype=np.float32)})
        pair = open_checkpoint(tmp_path / f"{width}"), open_checkpoint(tmp_path / "a.gguf")
        found = same_checkpoints(*pair)
        assert found.answer is answer
        assert [each.piece for each in found.residuals] == ["scaling"] * (width == 8)
        assert all(each.units <= units for each in found.residuals)
        assert compare_logits(*pair, [3, 1, 4, 1, 5, 9]).bound < 1e-4
        wrong = np.array(factors, dtype=np.float32)[::-1].copy()
        write(tmp_path / "b.gguf", made, more={"rope_freqs.weight": wrong})
        assert same_checkpoints(pair[0], open_checkpoint(tmp_path / "b.gguf")).answer is CheckpointAnswer.DIFFERENT


def test_no_cut_and_no_changed_byte_of_the_head_does_more_than_be_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.gguf"
    write(file, small_checkpoint("llama", layers=1, vocabulary=8))
    content = file.read_bytes()
    head = content.index(b"blk.0") + 400
    source = np.random.default_rng(0)
    for cut in (0, 3, 4, 8, 20, 23, 24, *map(int, source.integers(24, head, 40)), len(content) - 1):
        file.write_bytes(content[:cut])
        refusal(file)
    for place in (*range(4, 24), *map(int, source.integers(24, head, 150))):
        for byte in (0x7F, 0xFF):
            file.write_bytes(content[:place] + bytes([byte]) + content[place + 1 :])
            assert how_it_ends(file) in ("opened", "refused")


def how_it_ends(file: Path) -> str:
    """Refused means in one line, by name."""
    try:
        open_checkpoint(file)
    except BadInput as error:
        return "refused" if str(error).isprintable() else str(error)
    return "opened"


def test_without_the_package_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "a.gguf", small_checkpoint("llama"))
    monkeypatch.setitem(sys.modules, "gguf.constants", None)
    with pytest.raises(MissingExtra, match=r"reading \.gguf needs the extra `gguf`: pip install gguf"):
        open_checkpoint(tmp_path / "a.gguf")


YARN = {"rope_scaling": {"rope_type": "yarn", "factor": Fraction(5, 2), "original_max_position_embeddings": 16}}
LINEAR = {"rope_scaling": {"rope_type": "linear", "factor": Fraction(13, 10)}}


@pytest.mark.parametrize(
    ("family", "config", "rounded"),
    [
        ("granite", {"attention_multiplier": Fraction(3, 10)}, ["score_width", "epsilon", "residual"]),
        ("qwen3", YARN, ["epsilon"]),
        ("mistral", LINEAR, ["scaling", "epsilon"]),
        ("smollm3", {"no_rope_layer_interval": 4}, ["epsilon"]),
    ],
)
def test_numbers_of_the_configuration_are_rounded(
    family: str, config: dict[str, Any], rounded: list[str], tmp_path: Path
) -> None:
    """Each of them is told, and nothing else is; what is written is read as the same network."""
    one = small_checkpoint(family, layers=4, config=config)
    save_checkpoint(one, tmp_path / "a.gguf", layout="gguf")
    two = open_checkpoint(tmp_path / "a.gguf")
    found = same_checkpoints(one, two)
    assert (found.answer.value, [each.piece for each in found.residuals]) == ("rounding", rounded)
    assert dict(two.form.features()).keys() == dict(one.form.features()).keys()


def test_a_scaling_that_such_files_cannot_say_is_refused(tmp_path: Path) -> None:
    stated = YARN["rope_scaling"] | {"attention_factor": Fraction(11, 10)}
    with pytest.raises(BadInput, match="qwen3 in GGUF files must have scaling = "):
        save_checkpoint(small_checkpoint("qwen3", config={"rope_scaling": stated}), tmp_path / "a.gguf", layout="gguf")
    assert not any(tmp_path.iterdir())
