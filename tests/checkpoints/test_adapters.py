"""A base with a LoRA adapter against merged weights: sums are exact or rounded to odd, what is unknown is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import run
from safetensors.numpy import load_file, save_file

from lightning_sym import BadInput, open_checkpoint, same_checkpoints, save_checkpoint
from lightning_sym.checkpoints.adapter import _to_odd
from lightning_sym.checkpoints.stored_types import from_disk, to_disk
from lightning_sym.testing import small_checkpoint

PLAIN: dict[str, Any] = {
    "peft_type": "LORA",
    "r": 2,
    "lora_alpha": 4,
    "target_modules": ["q_proj", "down_proj"],
    "bias": "none",
}
LLAMA = ("model.layers.0.self_attn.q_proj", "model.layers.1.mlp.down_proj", "lm_head")
GPT2 = ("transformer.h.0.attn.c_attn", "transformer.h.1.mlp.c_proj")


def base(folder: Path, family: str, stored: Any = "F32") -> dict[str, Any]:
    """A base in a folder, and its tensors."""
    save_checkpoint(small_checkpoint(family, stored=stored, tied=False), folder / "base")
    return load_file(folder / "base" / "model.safetensors") if stored != "BF16" else {}


def adapter(folder: Path, tensors: dict[str, Any], modules: tuple[str, ...], whole: bool = False, **keys: Any) -> Any:
    """An adapter of some modules in a folder; its factors by module, as `(out, in)` matrices mean them."""
    rng = np.random.default_rng(0)
    config = PLAIN | keys
    rank = config["r"]
    found: dict[str, Any] = {}
    for module in modules:
        shape = tensors[f"{module}.weight"].shape
        out, into = shape[::-1] if ".h." in module else shape
        pair: list[Any] = [
            rng.integers(-3, 4, size=size) if whole else rng.normal(size=size) for size in ((rank, into), (out, rank))
        ]
        found[module] = [factor.astype(np.float32) for factor in pair]
    (folder / "lora").mkdir(exist_ok=True)
    (folder / "lora" / "adapter_config.json").write_text(json.dumps(config), encoding="utf-8")
    names = {
        f"base_model.model.{m}.lora_{e}.weight": f for m, pair in found.items() for e, f in zip("AB", pair, strict=True)
    }
    save_file(names, folder / "lora" / "adapter_model.safetensors")
    return found


def merged(folder: Path, tensors: dict[str, Any], factors: Any, scaling: float) -> None:
    """The base with `scaling B A` added, over the rationals, rounded once."""
    new = dict(tensors)
    for module, (a, b) in factors.items():
        exact = np.vectorize(Fraction, otypes=[object])
        added = (exact(b.astype(np.float64)) @ exact(a.astype(np.float64))) * Fraction(scaling)
        weight = exact(tensors[f"{module}.weight"].astype(np.float64))
        total = weight + (added.T if ".h." in module else added)
        new[f"{module}.weight"] = total.astype(np.float64).astype(np.float32)
    (folder / "merged").mkdir(exist_ok=True)
    config = (folder / "base" / "config.json").read_text(encoding="utf-8")
    (folder / "merged" / "config.json").write_text(config, encoding="utf-8")
    save_file(new, folder / "merged" / "model.safetensors")


def compared(folder: Path) -> Any:
    first = open_checkpoint(folder / "base", adapter=folder / "lora")
    return same_checkpoints(first, open_checkpoint(folder / "merged"), ids=[1])


@pytest.mark.parametrize(("family", "modules"), [("llama", LLAMA), ("gpt2", GPT2)])
def test_merged_weights_are_a_rounding(family: str, modules: tuple[str, ...], tmp_path: Path) -> None:
    tensors = base(tmp_path, family)
    factors = adapter(tmp_path, tensors, modules)
    merged(tmp_path, tensors, factors, 2.0)
    found = compared(tmp_path)
    assert found.answer.value == "rounding"
    assert len(found.residuals) >= len(modules)
    assert 0 < found.units <= 0.51
    assert found.first.endswith("base with " + str(tmp_path / "lora"))
    for wrong in (1.0, 4.0):
        merged(tmp_path, tensors, factors, wrong)
        assert compared(tmp_path).answer.value == "different"


def test_sums_of_rounded_summands_are_a_rounding(tmp_path: Path) -> None:
    """As PEFT merges in bfloat16: the product is rounded, and then the sum, which may be much smaller than both."""
    base(tmp_path, "llama", "BF16")
    first = open_checkpoint(tmp_path / "base")
    tensors = {name: np.array(tensor.read()) for name, tensor in first._tensors.items()}
    factors = adapter(tmp_path, tensors, LLAMA)
    new = dict(tensors)
    for module, (a, b) in factors.items():
        added = bfloat16(2 * bfloat16(b.astype(np.float64) @ a.astype(np.float64)))
        name = f"{module}.weight"
        new[name] = np.where(rows_of_half(added), bfloat16(-added * 1.01), new[name])  # so that sums nearly vanish
        tensors[name] = new[name]
        new[name] = bfloat16(new[name] + added)
    for folder, held in (("base", tensors), ("merged", new)):
        (tmp_path / folder).mkdir(exist_ok=True)
        config = (tmp_path / "base" / "config.json").read_text(encoding="utf-8")
        (tmp_path / folder / "config.json").write_text(config, encoding="utf-8")
        save_file(
            {name: np.asarray(array, np.float32) for name, array in held.items()}, tmp_path / folder / "all.safetensors"
        )
        (tmp_path / folder / "all.safetensors").rename(tmp_path / folder / "model.safetensors")
        save_checkpoint(open_checkpoint(tmp_path / folder), tmp_path / folder, stored="BF16")
    found = compared(tmp_path)
    assert found.answer.value == "rounding"
    assert 0.5 < found.units <= 4


def rows_of_half(array: Any) -> Any:
    """Whether an entry is in the first half of the rows."""
    return np.arange(len(array))[:, None] < len(array) // 2


def bfloat16(array: Any) -> Any:
    """Rounded to bfloat16."""
    return from_disk(to_disk(np.asarray(array, dtype=np.float64), "BF16", rounded=True), "BF16").astype(np.float64)


def test_exact_sums_are_the_same(tmp_path: Path) -> None:
    tensors = base(tmp_path, "llama")
    tensors = {name: np.round(array * 8) / np.float32(8) for name, array in tensors.items()}
    save_file(tensors, tmp_path / "base" / "model.safetensors")
    factors = adapter(tmp_path, tensors, LLAMA, whole=True)
    merged(tmp_path, tensors, factors, 2.0)
    assert compared(tmp_path).answer.value == "same"


def test_scaling_by_the_root_of_the_rank(tmp_path: Path) -> None:
    tensors = base(tmp_path, "llama")
    factors = adapter(tmp_path, tensors, LLAMA, use_rslora=True)
    merged(tmp_path, tensors, factors, 4 / sqrt(2))
    assert compared(tmp_path).answer.value == "rounding"


def test_a_sum_that_is_no_float_equals_no_narrower_number() -> None:
    tiny = 2.0**-80
    found = _to_odd([np.array([tiny, -tiny, 0.0, tiny]), np.array([1.0, 1.0, 1.0, -1.0])])
    assert found.tolist() == [1 + 2.0**-52, 1 - 2.0**-53, 1.0, -1 + 2.0**-53]
    rng = np.random.default_rng(0)
    many = [rng.normal(size=200) * 2.0**-60, rng.normal(size=200)]
    for value, parts in zip(_to_odd(many).tolist(), zip(*many, strict=True), strict=True):
        exact = sum(map(Fraction, map(float, parts)), Fraction(0))
        assert abs(Fraction(value) - exact) < abs(Fraction(np.spacing(abs(float(value)))))
        assert np.array(value).view(np.uint64) & np.uint64(1) == 1


def renamed(folder: Path, change: Callable[[str], str]) -> None:
    path = folder / "lora" / "adapter_model.safetensors"
    save_file({change(name): array for name, array in load_file(path).items()}, path)


KEYS: dict[str, tuple[dict[str, Any], str]] = {
    "a kind": ({"peft_type": "IA3"}, "peft_type must be LORA, got 'IA3'"),
    "dora": ({"use_dora": True}, "use_dora must be false or absent"),
    "biases": ({"bias": "all"}, "bias must be 'none' or absent"),
    "modules": ({"modules_to_save": ["lm_head"]}, "modules_to_save must be"),
    "ranks": ({"rank_pattern": {"q_proj": 4}}, "rank_pattern must be"),
    "pissa": ({"init_lora_weights": "pissa"}, "init_lora_weights must be"),
    "a key": ({"new_method": 1}, "every key of the configuration must be understood, got 'new_method' = 1"),
    "no rank": ({"r": 0}, "r must be an integer between 1"),
    "another rank": ({"r": 3}, "must be floats of the shape [3, 16], got [2, 16] of F32"),
}
NAMES: dict[str, tuple[Callable[[str], str], str]] = {
    "another matrix": (
        lambda name: name.replace("q_proj", "x_proj"),
        "every tensor must be a factor of a matrix of the base",
    ),
    "an embedding": (lambda name: name.replace("lora_A", "lora_embedding_A"), "every tensor must be a factor"),
    "one factor": (lambda name: name.replace("0.self_attn.q_proj.lora_A", "1.self_attn.q_proj.lora_A"), "both factors"),
}


@pytest.mark.parametrize("name", [*KEYS, *NAMES])
def test_what_is_not_known_is_refused(name: str, tmp_path: Path) -> None:
    tensors = base(tmp_path, "llama")
    adapter(tmp_path, tensors, LLAMA)
    if name in KEYS:
        keys, said = KEYS[name]
        (tmp_path / "lora" / "adapter_config.json").write_text(json.dumps(PLAIN | keys), encoding="utf-8")
    else:
        change, said = NAMES[name]
        renamed(tmp_path, change)
    with pytest.raises(BadInput) as caught:
        open_checkpoint(tmp_path / "base", adapter=tmp_path / "lora")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_numbers_beside_an_adapter(tmp_path: Path) -> None:
    tensors = base(tmp_path, "llama")
    factors = adapter(tmp_path, tensors, LLAMA)
    merged(tmp_path, tensors, factors, 2.0)
    save_checkpoint(open_checkpoint(tmp_path / "merged"), tmp_path / "wide", stored="F64")
    first = open_checkpoint(tmp_path / "base", adapter=tmp_path / "lora")
    with pytest.raises(BadInput, match="weights beside an adapter must be stored in F16, BF16 or F32, got F64 in"):
        same_checkpoints(first, open_checkpoint(tmp_path / "wide"))
    path = tmp_path / "lora" / "adapter_model.safetensors"
    save_file({name: array * np.nan for name, array in load_file(path).items()}, path)
    with pytest.raises(BadInput, match="must be finite, and of moderate size"):
        open_checkpoint(tmp_path / "base", adapter=tmp_path / "lora").block(0)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tensors = base(tmp_path, "llama")
    factors = adapter(tmp_path, tensors, LLAMA)
    merged(tmp_path, tensors, factors, 2.0)
    pair = (str(tmp_path / "base"), str(tmp_path / "merged"))
    assert run(capsys, "same", *pair, "--adapter", str(tmp_path / "lora"), "--ids", "1")[0] == 0
    assert run(capsys, "same", *pair, "--ids", "1")[0] == 1
    code, out, err = run(capsys, "same", *pair, "--adapter", str(tmp_path / "base"))
    assert (code, out, "adapter_config.json: it must be a readable file" in err) == (2, "", True)
    first = open_checkpoint(pair[0], adapter=tmp_path / "lora")
    make, arguments = first.__reduce__()
    assert np.array_equal(make(*arguments).block(0).query, first.block(0).query)
