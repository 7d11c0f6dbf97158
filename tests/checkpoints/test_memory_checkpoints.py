"""Checkpoints of what is in memory are those of the files that it would be written to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file
from test_reading_checkpoints import assert_equal

from lightning_sym import BadInput, checkpoint_of, open_checkpoint, save_checkpoint
from lightning_sym.testing import small_checkpoint


def in_memory(folder: Path, family: str = "llama", **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Tensors and configuration of a small checkpoint, which is written to the folder."""
    layout = more.pop("layout", "hf")
    save_checkpoint(small_checkpoint(family, **more), folder, layout=layout)
    config: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return load_file(folder / "model.safetensors"), config


class Tensor:
    """Behaves as a tensor of PyTorch does: no gradient, on the processor and no bfloat16, or NumPy gets nothing."""

    def __init__(self, array: Any, kind: str, ready: int = 0) -> None:
        self.array, self.dtype, self.ready = array, f"torch.{kind}", ready

    def detach(self) -> Tensor:
        return Tensor(self.array, self.dtype.removeprefix("torch."), self.ready | 1)

    def cpu(self) -> Tensor:
        return Tensor(self.array, self.dtype.removeprefix("torch."), self.ready | 2)

    def float(self) -> Tensor:
        return Tensor(self.array, "float32", self.ready)

    def numpy(self) -> Any:
        if self.ready != 3 or "bfloat16" in self.dtype:
            raise TypeError("Got unsupported ScalarType")
        return self.array


class Model:
    """Behaves as a model does."""

    def __init__(self, state: dict[str, Any], config: Any) -> None:
        self.state, self.config = state, config

    def state_dict(self) -> dict[str, Any]:
        return self.state


class Keys:
    """Behaves as a configuration does."""

    def __init__(self, keys: dict[str, Any]) -> None:
        self.keys = keys

    def to_dict(self) -> dict[str, Any]:
        return self.keys


@pytest.mark.parametrize("layout", ["hf", "megatron", "fused"])
@pytest.mark.parametrize("family", ["llama", "qwen2"])
def test_arrays_by_their_names(family: str, layout: str, tmp_path: Path) -> None:
    tensors, config = in_memory(tmp_path, family, layout=layout)
    there, found = open_checkpoint(tmp_path), checkpoint_of(tensors, config)
    assert_equal(there, found)
    assert (found.layout, found.name) == (layout, "weights in memory")
    make, arguments = found.__reduce__()  # as another process opens it
    assert_equal(there, make(*arguments))


def test_a_model(tmp_path: Path) -> None:
    save_checkpoint(small_checkpoint("llama", stored="BF16"), tmp_path)
    there = open_checkpoint(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    state = {name: Tensor(tensor.read(), "bfloat16") for name, tensor in there._tensors.items()}
    found = checkpoint_of(Model(state, Keys(config | {"rms_norm_eps": 1e-5})), name="model")
    assert_equal(there, found)
    assert (found.stored("0.query"), found.name, str(found.form.epsilon)) == ("BF16", "model", "1/100000")


def test_what_is_none_is_refused(tmp_path: Path) -> None:
    tensors, config = in_memory(tmp_path)
    name = "model.norm.weight"
    for weights, keys, said in (
        ([1], config, "weights must be 1 to 50,000 arrays by their names"),
        ({}, config, "weights must be 1 to 50,000 arrays"),
        (tensors, None, r"config must be the keys of config\.json, got None"),
        (tensors, {"a": float("nan")}, "config must be what JSON can say"),
        (tensors, config | {"model_type": "bert"}, "weights in memory: model_type must be one of gpt2"),
        (tensors, config | {"new": 1}, "every key of the configuration must be understood, got 'new'"),
        (tensors | {name: [1.0]}, config, "weights must be arrays, got"),
        (
            tensors | {name: np.zeros(16, int)},
            config,
            "must be stored as one of F16, BF16, F32, F64, got int64",
        ),
        (tensors | {name: np.zeros(15)}, config, r"must be of shape \[16\], as configured, got \[15\]"),
        (tensors | {"x": np.zeros(1)}, config, "every tensor must be understood, got 'x'"),
        (tensors | {name: Tensor(1, "float8", 8)}, config, "must be a tensor that NumPy can hold, got float8"),
    ):
        with pytest.raises(BadInput, match=said):
            checkpoint_of(weights, keys)
    bad = checkpoint_of(tensors | {name: np.full(16, np.nan, np.float32)}, config)
    with pytest.raises(BadInput, match="must hold finite numbers"):
        bad.ends()
