"""GGUF files as they are written: the numbers of a checkpoint and its sizes, without a tokenizer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np

from lightning_sym.checkpoints.config import Config
from lightning_sym.checkpoints.families import FAMILIES, of_gguf
from lightning_sym.checkpoints.gguf_file import GGUF_SCALING, gguf_config
from lightning_sym.checkpoints.layout import ModelFamily
from lightning_sym.checkpoints.model import CheckpointForm
from lightning_sym.checkpoints.stored_types import ON_DISK, Numbers, WrittenTensor
from lightning_sym.checkpoints.units import NUMBERS, form_residual
from lightning_sym.errors import BadInput
from lightning_sym.lazy import import_extra
from lightning_sym.network.readers.exact_json import said

ROUNDED = tuple(NUMBERS)
"""Numbers that GGUF files hold in float32."""
MOST_ROUNDED = 4
"""Units in the last place of float32 by which a number may be off that is made of rounded ones, a square, say."""
ELSEWHERE = ("family", *ROUNDED)


def gguf_values(
    family: ModelFamily,
    form: CheckpointForm,
    parts: frozenset[str],
    config: Mapping[str, object],
    shapes: Mapping[str, tuple[int, ...]],
) -> dict[str, object]:
    """Return the keys of a GGUF file that state what a configuration states; epsilon and base are rounded to float32.

    Args:
        family, form: of the checkpoint.
        parts: the pieces of a layer.
        config: the keys of `config.json`.
        shapes: of the tensors, by their names.

    Raises:
        BadInput: such files cannot say what the checkpoint is.
    """
    name = family.gguf_name or family.model_type
    if form.theta is not None:
        config = {**config, "v_head_dim": form.head_width, "rotary_dim": form.turned}
    values: dict[str, object] = {"general.architecture": name}
    values |= {f"{name}.{key}": number for key, number in scaling_values(config).items()}
    for short, key in family.gguf_keys.items():
        value = config.get(key)
        if value is not None:
            values[f"{name}.{short}"] = Fraction(float(np.float32(float(value)))) if type(value) is Fraction else value
    read = FAMILIES[of_gguf(values) or name]
    back, biases = read.read(Config(gguf_config(read, values, shapes)))
    for each, value in vars(form).items():
        single = getattr(back, each) if each in ELSEWHERE else value
        if each in ROUNDED and value != single:
            there = None not in (value, single)
            near = form_residual(each, form, back, "F32") if there else None
            single = single if near is not None and near.units <= MOST_ROUNDED else value
        if getattr(back, each) != single:
            raise BadInput(f"{name} in GGUF files must have {each} = {said(getattr(back, each))}, got {said(value)}")
    if differ := read.parts(form, biases) ^ parts:
        raise BadInput(f"a block of {name} in GGUF files must have its pieces, they differ in {min(differ)}")
    return values


def scaling_values(config: Mapping[str, object]) -> dict[str, object]:
    """Return the keys, without the name of the architecture, that state a scaling of rotary frequencies."""
    stated = config.get("rope_scaling")
    if not isinstance(stated, dict) or (kind := stated.get("rope_type")) not in GGUF_SCALING:
        return {}
    keys = {key: stated[name] for key, name in GGUF_SCALING[kind].items() if name in stated}
    single = {key: Fraction(float(np.float32(float(x)))) if type(x) is Fraction else x for key, x in keys.items()}
    return {"rope.scaling.type": kind, **single}


def write_gguf(path: Path, values: Mapping[str, object], tensors: Sequence[WrittenTensor], numbers: Numbers) -> None:
    """Write one file.

    Args:
        path: where to.
        values: by their keys; fractions are float32.
        tensors: in their order.
        numbers: of each in turn.

    Raises:
        MissingExtra: the package `gguf` is not installed.
    """
    package = import_extra("gguf", "gguf", "writing .gguf")
    writer = package.GGUFWriter(path, values["general.architecture"])
    try:
        for key, value in values.items():
            if isinstance(value, Fraction):
                writer.add_float32(key, float(value))
            elif isinstance(value, str) and key != "general.architecture":
                writer.add_string(key, value)
            elif isinstance(value, bool):
                writer.add_bool(key, value)
            elif isinstance(value, int):
                writer.add_uint32(key, value)
        for tensor in tensors:
            kind = package.GGMLQuantizationType[tensor.kind]
            writer.add_tensor_info(tensor.name, tensor.shape, ON_DISK[tensor.kind], tensor.bytes, kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        for _ in tensors:
            writer.write_tensor_data(np.concatenate(list(next(numbers))))
    finally:
        writer.close()
