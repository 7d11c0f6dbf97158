"""Checkpoints of what is in memory: a model, its state dictionary, or arrays by their names."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lightning_sym.arguments import require_arguments, shown
from lightning_sym.checkpoints.config import Config
from lightning_sym.checkpoints.families import FAMILIES
from lightning_sym.checkpoints.folder_files import Tensors
from lightning_sym.checkpoints.layouts import Files, layout_row
from lightning_sym.checkpoints.opening import HeldFiles, Wanted, opened, rows_of
from lightning_sym.checkpoints.stored_checkpoint import StoredCheckpoint
from lightning_sym.checkpoints.stored_types import ArrayTensor
from lightning_sym.errors import BadInput, FileFormatError
from lightning_sym.limits import DEFAULT_MEMORY, require_memory
from lightning_sym.network.readers.exact_json import ExactNumbers, parse

KINDS = {"float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64"}
"""By the name of a type in NumPy or PyTorch, that of the tensor."""
MOST_TENSORS = 50_000


def checkpoint_of(
    weights: Any,
    config: Any = None,
    *,
    layout: str | None = None,
    name: str = "weights in memory",
    memory: int = DEFAULT_MEMORY,
) -> StoredCheckpoint:
    """The checkpoint of what is in memory; its numbers are not copied, where they need not be, and must not change.

    Args:
        weights: arrays by the names of their tensors: of NumPy, or tensors with a method `numpy`, as PyTorch has them;
            or a model with `state_dict()`.
        config: the keys of `config.json`, or an object with `to_dict()`; without it that of the model, `config`.
        layout: how pieces are named and ordered; without it the names show it.
        name: how answers call it.
        memory: bytes that a layer, or the embedding with its surroundings, may take once it is read.

    Raises:
        BadInput: weights or configuration are none, contradict each other, or are not understood.

    Example:
        >>> import tempfile
        >>> from safetensors.numpy import load_file
        >>> from lightning_sym import same_checkpoints, save_checkpoint
        >>> from lightning_sym.testing import small_checkpoint
        >>> made = small_checkpoint("llama", layers=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_checkpoint(made, folder)
        ...     tensors = load_file(f"{folder}/model.safetensors")
        ...     config = json.loads(Path(folder, "config.json").read_text())
        >>> same_checkpoints(made, checkpoint_of(tensors, config)).answer
        <CheckpointAnswer.SAME: 'same'>
    """
    require_arguments(checkpoint_of, locals())
    require_memory(0, memory, "a layer")
    config = getattr(weights, "config", None) if config is None else config
    state = weights.state_dict() if callable(getattr(weights, "state_dict", None)) else weights
    if not isinstance(state, Mapping) or not 0 < len(state) <= MOST_TENSORS:
        raise BadInput(f"weights must be 1 to {MOST_TENSORS:,} arrays by their names, got {shown(weights)}")
    keys = config.to_dict() if callable(getattr(config, "to_dict", None)) else config
    if not isinstance(keys, Mapping):
        raise BadInput(f"config must be the keys of config.json, got {shown(config)}")
    try:
        tensors: Tensors = {str(key): _tensor(str(key), value) for key, value in state.items()}
        return _opened(tensors, _exact(keys), layout, name, memory)
    except FileFormatError as error:
        raise type(error)(f"{name}: {error}") from error


def _opened(tensors: Tensors, keys: dict[str, Any], layout: str | None, name: str, memory: int) -> StoredCheckpoint:
    config = Config(keys)
    kind = config.get("model_type")
    if not isinstance(kind, str) or kind not in FAMILIES:
        raise FileFormatError(f"model_type must be one of {', '.join(FAMILIES)}, got {shown(kind)}")
    form, biases = FAMILIES[kind].read(config)
    config.finish()
    row = None if layout is None else layout_row(layout)
    again: Callable[..., StoredCheckpoint] = partial(_again, tensors, keys)
    held = HeldFiles(FAMILIES[kind], rows_of(row, Files.FOLDER, FAMILIES[kind]), Wanted(row, memory, None, again))
    return opened(Path(name), form, biases, [tensors], held)


def _again(
    tensors: Tensors, keys: dict[str, Any], name: str, memory: int, layout: str | None = None, adapter: None = None
) -> StoredCheckpoint:
    """The same, in another process."""
    return _opened(tensors, keys, layout, name, memory)


def _exact(keys: Mapping[str, Any]) -> dict[str, Any]:
    """The keys as a file would state them: decimals exactly."""
    try:
        text = json.dumps(dict(keys), default=str, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(f"config must be what JSON can say: {error}") from error
    found: dict[str, Any] = parse(text.encode(), ExactNumbers())
    return found


def _tensor(name: str, value: Any) -> ArrayTensor:
    """A tensor of an array, or of what gives one; bfloat16 becomes float32, which holds it."""
    kind = str(getattr(value, "dtype", "")).removeprefix("torch.")
    try:
        for step in ("detach", "cpu", *(["float"] if kind == "bfloat16" else []), "numpy"):
            value = getattr(value, step)() if callable(getattr(value, step, None)) else value
    except (TypeError, RuntimeError) as error:
        raise BadInput(f"{shown(name)} must be a tensor that NumPy can hold, got {kind}") from error
    if not isinstance(value, np.ndarray):
        raise BadInput(f"weights must be arrays, got {shown(value)} for {shown(name)}")
    if kind not in KINDS:
        return ArrayTensor(value.shape, kind, value)  # refused if it is one of the weights
    array = value.astype(np.float32) if kind == "bfloat16" else np.ascontiguousarray(value)
    return ArrayTensor(array.shape, KINDS[kind], array)
