"""Safetensors files as they are written: one, or several of a bounded size with an index."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import Any, BinaryIO, NamedTuple

import numpy.typing as npt

from lightning_sym.checkpoints.stored_types import ON_DISK

Numbers = Iterator[Iterable[npt.NDArray[Any]]]
"""Those of each tensor in turn, as they are stored, some rows after others."""

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"


class WrittenTensor(NamedTuple):
    """A tensor that is to be written: its name, the type it is stored in, and its shape."""

    name: str
    kind: str
    shape: tuple[int, ...]

    @property
    def bytes(self) -> int:
        """How many it takes in a file."""
        return prod(self.shape) * ON_DISK[self.kind].itemsize


def in_files(tensors: Sequence[WrittenTensor], most: int | None) -> dict[str, list[WrittenTensor]]:
    """The tensors of each file, in their order, by the names that the `transformers` library gives to files.

    Args:
        tensors: all of them.
        most: bytes of tensors in a file, which one tensor alone may exceed; `None`: all are in one.

    Example:
        >>> two = [WrittenTensor(name, "F32", (2,)) for name in "ab"]
        >>> list(in_files(two, None)), list(in_files(two, 8))
        (['model.safetensors'], ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors'])
    """
    files: list[list[WrittenTensor]] = [[]]
    size = 0
    for tensor in tensors:
        if most is not None and files[-1] and size + tensor.bytes > most:
            files.append([])
            size = 0
        files[-1].append(tensor)
        size += tensor.bytes
    if len(files) == 1:
        return {WEIGHTS: files[0]}
    return {f"model-{number:05}-of-{len(files):05}.safetensors": each for number, each in enumerate(files, 1)}


def index_of(files: dict[str, list[WrittenTensor]]) -> str:
    """The index of several files, in JSON: which tensor is in which."""
    total = sum(tensor.bytes for each in files.values() for tensor in each)
    named = {tensor.name: name for name, each in files.items() for tensor in each}
    return json.dumps({"metadata": {"total_size": total}, "weight_map": dict(sorted(named.items()))}, indent=2) + "\n"


def write_safetensors(stream: BinaryIO, tensors: Sequence[WrittenTensor], numbers: Numbers, program: str) -> None:
    """Write one file.

    Args:
        stream: where to.
        tensors: those of the file.
        numbers: of each in turn; those of no more are taken than there are tensors.
        program: for which it is written, as such files say it, such as `pt`.
    """
    header: dict[str, Any] = {"__metadata__": {"format": program}}
    end = 0
    for tensor in tensors:
        begin, end = end, end + tensor.bytes
        header[tensor.name] = {"dtype": tensor.kind, "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    stream.write(len(text).to_bytes(8, "little") + text)
    for _ in tensors:
        for rows in next(numbers):
            stream.write(rows.tobytes())
