"""A LoRA adapter as the PEFT library writes it: what it adds to the weights of a base, `scaling B A` to a matrix each.

The sums are computed without error and rounded to float64 once, to odd: a number that is no float64 equals none of a
narrower type, so that nothing is called equal that is not.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt
from pathlib import Path

import numpy as np

from lightning_sym.checkpoints.config import Config
from lightning_sym.checkpoints.exact_arrays import Numbers, grown, product_expansion, times_float
from lightning_sym.checkpoints.families import FAMILIES
from lightning_sym.checkpoints.folder_files import ADAPTER, Tensors, read_keys, read_safetensors_file, within
from lightning_sym.checkpoints.layout import Place, by_tensor, cut, tensor_shape
from lightning_sym.checkpoints.model import CheckpointForm
from lightning_sym.checkpoints.pieces import table
from lightning_sym.checkpoints.stored_types import StoredTensor
from lightning_sym.checkpoints.torch_file import read_torch_file
from lightning_sym.errors import BadInput, FileFormatError
from lightning_sym.network.readers.bounds import shown

FILES = {"adapter_model.safetensors": read_safetensors_file, "adapter_model.bin": read_torch_file}
BEFORE = "base_model.model."
ENDS = {".lora_A.weight": 0, ".lora_B.weight": 1}

UNHEEDED = (
    "auto_mapping", "base_model_name_or_path", "exclude_modules", "fan_in_fan_out", "inference_mode", "layers_pattern",
    "layers_to_transform", "lora_dropout", "megatron_core", "peft_version", "qalora_group_size", "revision",
    "runtime_config", "target_modules", "task_type",
)  # fmt: skip
"""Keys that say how an adapter was made, or where it goes, which the names of its tensors say again."""

ABSENT: Mapping[str, tuple[object, ...]] = {
    "bias": ("none",), "init_lora_weights": (True, False, "gaussian"), "rank_pattern": ({},), "alpha_pattern": ({},),
    "modules_to_save": ([],), "loftq_config": ({},), "layer_replication": ([],), "target_parameters": ([],),
    **dict.fromkeys(("use_dora", "use_qalora", "lora_bias", "ensure_weight_tying"), (False,)),
}  # fmt: skip
"""Keys that mean another function, unless they have one of these values."""


@dataclass(frozen=True, eq=False)
class Adapter:
    """What an adapter adds to the pieces of a base.

    Attributes:
        path: of its folder.
        form: of the base.
        scaling: the float that PEFT computes, `lora_alpha / r`, or `lora_alpha / sqrt(r)`.
        places: by piece, in which matrix of the library's names it lies.
        factors: by the name of a matrix, `A` `(r, in)` and `B` `(out, r)`.
    """

    path: Path
    form: CheckpointForm
    scaling: float
    places: Mapping[str, Place]
    factors: Mapping[str, tuple[StoredTensor, StoredTensor]]

    def adapts(self, piece: str) -> bool:
        """Return whether it adds something to a piece."""
        return piece in self.places and self.places[piece].tensor in self.factors

    def added(self, piece: str, array: Numbers) -> Numbers:
        """Return a piece with what is added to it, in float64, rounded to odd.

        Raises:
            FileFormatError: the numbers are not finite, or so large or small that sums could not be exact.
        """
        if not self.adapts(piece):
            return array
        place = self.places[piece]
        first, second = (np.asarray(each.read(), dtype=np.float64) for each in self.factors[place.tensor])
        product = None
        if np.isfinite(first).all() and np.isfinite(second).all():
            product = product_expansion(second, first)
        if product is None:
            raise FileFormatError(f"{self.path}: numbers for {place.tensor} must be finite, and of moderate size")
        held, pieces = by_tensor(self.places)[place.tensor], table(self.form)
        flat = replace(place, turned=False)  # B A is (out, in), whichever way the base stores it
        expansion = [np.asarray(array, dtype=np.float64)]
        for part in times_float(product, self.scaling):
            expansion = grown(expansion, np.ascontiguousarray(cut(pieces, piece, held, flat, part)))
        return _to_odd(expansion)


def _to_odd(expansion: list[Numbers]) -> Numbers:
    """Return the sum of numbers, rounded towards zero, its last bit 1 where it is not exact."""
    total = np.asarray(sum(expansion), dtype=np.float64)
    rest = np.zeros(total.shape)
    for part in grown(expansion, -total)[::-1]:  # the largest that is left has the sign
        rest = np.where(rest == 0, part, rest)
    toward_zero = np.where((rest != 0) & (np.sign(rest) != np.sign(total)), np.nextafter(total, 0.0), total)
    odd = (toward_zero.astype(np.float64).view(np.uint64) | np.uint64(1)).view(np.float64)
    return np.where(rest == 0, total, odd)


def read_adapter(folder: Path, form: CheckpointForm, parts: frozenset[str]) -> Adapter:
    """Return the adapter of a folder.

    Args:
        folder: that of the adapter.
        form: of the base.
        parts: the pieces of a layer.

    Raises:
        FileFormatError: it is of another kind, or does not fit to the base; the message says what.
    """
    try:
        values = read_keys(folder / ADAPTER)
        with within(ADAPTER):
            rank, scaling = _scaling(Config(values))
        name = next((name for name in FILES if os.path.lexists(folder / name)), None)
        if name is None:
            raise FileFormatError(f"there must be {' or '.join(FILES)} in the folder")
        with within(name):
            tensors = FILES[name](folder / name)
            places = FAMILIES[form.family].layout.places(form, parts)
            return Adapter(folder, form, scaling, places, _factors(tensors, places, form, rank))
    except BadInput as error:
        raise type(error)(f"{folder}: {error}") from error


def _scaling(config: Config) -> tuple[int, float]:
    """Return the rank, and what `B A` is multiplied by."""
    kind = config.get("peft_type")
    if kind != "LORA":
        raise FileFormatError(f"peft_type must be LORA, got {shown(kind)}")
    for key, allowed in ABSENT.items():
        config.require(key, *allowed)
    for key in UNHEEDED:
        config.get(key)
    rank, alpha = config.size("r"), config.number("lora_alpha", Fraction(8))
    stabilised = config.flag("use_rslora", default=False)
    config.finish()
    return rank, float(alpha) / (sqrt(rank) if stabilised else rank)


def _factors(
    tensors: Tensors, places: Mapping[str, Place], form: CheckpointForm, rank: int
) -> dict[str, tuple[StoredTensor, StoredTensor]]:
    """Return by the name of a matrix its two factors."""
    held = by_tensor(places)
    found: dict[str, dict[int, StoredTensor]] = {}
    for name, tensor in tensors.items():
        plain = name.replace(".default.weight", ".weight")
        end = next((end for end in ENDS if plain.endswith(end)), None)
        matrix = plain.removeprefix(BEFORE).removesuffix(end or "") + ".weight"
        if end is None or not plain.startswith(BEFORE) or matrix not in held:
            raise FileFormatError(f"every tensor must be a factor of a matrix of the base, got {shown(name)}")
        rows, columns = tensor_shape(table(form), held[matrix], replace(places[held[matrix][0]], turned=False))
        shape = (rows, rank) if ENDS[end] else (rank, columns)
        if tensor.shape != shape or tensor.holds is None:
            got = f"{list(tensor.shape)} of {tensor.kind}"
            raise FileFormatError(f"{shown(name)} must be floats of the shape {list(shape)}, got {got}")
        if found.setdefault(matrix, {}).setdefault(ENDS[end], tensor) is not tensor:
            raise FileFormatError(f"{shown(name)} must be there once")
    if alone := [matrix for matrix, pair in found.items() if len(pair) != len(ENDS)]:
        raise FileFormatError(f"both factors of {alone[0]} must be there")
    if "embedding" in places and places["embedding"].tensor in found:
        raise FileFormatError("an adapter of the embedding is not known")
    if not found:
        raise FileFormatError("there must be factors in it")
    return {matrix: (pair[0], pair[1]) for matrix, pair in found.items()}
