"""Files as `torch.save` writes them: a zip with a pickle of tensors and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from struct import pack
from typing import BinaryIO
from zipfile import ZIP_STORED, ZipFile

from lightning_sym.checkpoints.safetensors_writing import Numbers, WrittenTensor
from lightning_sym.checkpoints.torch_file import STORAGES

_KINDS = {kind: name for name, (kind, _) in STORAGES.items()}


def write_torch(stream: BinaryIO, tensors: Sequence[WrittenTensor], numbers: Numbers, name: str) -> None:
    """Write one file.

    Args:
        stream: where to.
        tensors: those of the file.
        numbers: of each in turn.
        name: of the folder inside.
    """
    with ZipFile(stream, "w", ZIP_STORED) as archive:
        archive.writestr(f"{name}/data.pkl", pickle_of(tensors))
        archive.writestr(f"{name}/byteorder", b"little")
        for number, _ in enumerate(tensors):
            with archive.open(f"{name}/data/{number}", "w", force_zip64=True) as entry:
                for rows in next(numbers):
                    entry.write(rows.tobytes())
        archive.writestr(f"{name}/version", b"3\n")


def pickle_of(tensors: Sequence[WrittenTensor]) -> bytes:
    """The pickle of protocol 2 that says which tensors there are; the storage of each is called by its number.

    Example:
        >>> import pickletools
        >>> [code.name for code, _, _ in pickletools.genops(pickle_of([]))]
        ['PROTO', 'EMPTY_DICT', 'MARK', 'SETITEMS', 'STOP']
    """
    made = [b"\x80\x02}("]
    for number, tensor in enumerate(tensors):
        strides = [prod(tensor.shape[axis + 1 :]) for axis in range(len(tensor.shape))]
        storage = (_text("storage"), _name("torch", _KINDS[tensor.kind]), _text(str(number)), _text("cpu"))
        made += [_text(tensor.name), _name("torch._utils", "_rebuild_tensor_v2"), b"("]
        made += [b"(", *storage, _integer(prod(tensor.shape)), b"tQ", _integer(0)]
        made += [_tuple(tensor.shape), _tuple(strides), b"\x89", _name("collections", "OrderedDict"), b")RtR"]
    return b"".join((*made, b"u."))


def _text(text: str) -> bytes:
    return b"X" + pack("<I", len(text.encode())) + text.encode()


def _name(module: str, name: str) -> bytes:
    return f"c{module}\n{name}\n".encode()


def _integer(number: int) -> bytes:
    return b"J" + pack("<i", number) if number < 2**31 else b"\x8a\x08" + pack("<q", number)


def _tuple(numbers: Sequence[int]) -> bytes:
    return b"(" + b"".join(map(_integer, numbers)) + b"t"
