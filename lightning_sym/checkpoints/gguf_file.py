"""A GGUF file: metadata, a table of tensors, the numbers; of its types those whose values are exact in a float64.

The reader of the `gguf` package believes every count that a file states; here each is bounded before anything is done
so often. What the package knows of types is taken from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite, prod
from pathlib import Path
from struct import calcsize, unpack
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.block_types import AT_ONCE, BLOCK_TYPES, Grid, grid_of
from lightning_sym.checkpoints.layout import ModelFamily
from lightning_sym.checkpoints.model import Array
from lightning_sym.checkpoints.stored_types import ON_DISK, FileTensor, MappedFile, StoredTensor
from lightning_sym.errors import FileFormatError
from lightning_sym.lazy import import_extra
from lightning_sym.network.readers.bounds import shown

MOST_KEYS, MOST_TENSORS, MOST_TEXTS, LONGEST_TEXT = 4096, 25_000, 2_000_000, 2**24

_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_TEXT, _LIST = 8, 9
_ALIGNMENT = "general.alignment"


@dataclass(frozen=True)
class GgufFile:
    """What a GGUF file says, and where its tensors lie; lists among the values are left out."""

    values: dict[str, object]
    tensors: dict[str, StoredTensor]


@dataclass(frozen=True)
class BlockTensor(FileTensor):
    """A tensor of a GGUF file, in blocks of numbers with a common scale or plain."""

    block: int
    width: int

    @property
    def holds(self) -> str | None:
        return BLOCK_TYPES[self.kind].holds if self.kind in BLOCK_TYPES else super().holds

    def _raw(self) -> npt.NDArray[np.uint8]:
        """Return the bytes of each block, a row each."""
        count = prod(self.shape) // self.block
        return self.file.numbers(self.start, count * self.width, np.dtype(np.uint8)).reshape(count, self.width)

    def read(self) -> Array:
        if self.kind not in BLOCK_TYPES:
            return super().read()
        known, raw = BLOCK_TYPES[self.kind], self._raw()
        result: Array = np.empty((len(raw), self.block), dtype=ON_DISK[known.holds])
        with np.errstate(invalid="ignore"):  # of scales that are infinite; who asks for the numbers refuses them
            for start in range(0, len(raw), AT_ONCE):
                result[start : start + AT_ONCE] = known.values(raw[start : start + AT_ONCE])
        return result.reshape(self.shape)

    def grid(self) -> Grid | None:
        """Return the values around those that its codes have; `None` where it has no codes next to each other."""
        known = BLOCK_TYPES.get(self.kind)
        if known is None or not known.codes:
            return None
        raw = self._raw()
        values = np.asarray(self.read(), dtype=np.float64).reshape(len(raw), self.block)
        return grid_of(self.kind, known, raw, values).each(lambda array: array.reshape(self.shape))


def read_gguf(path: Path) -> GgufFile:
    """Return the metadata of a GGUF file and where its tensors lie.

    Raises:
        FileFormatError: it is not of its documented form, or a count in it is more than its bytes can hold.
        MissingExtra: the package `gguf` is not installed.
    """
    sizes_of = import_extra("gguf.constants", "gguf", "reading .gguf").GGML_QUANT_SIZES
    types = {int(kind): (str(kind.name), *sizes) for kind, sizes in sizes_of.items()}
    at = _Cursor(MappedFile(path))
    if at.file.size < 24 or at.file.bytes(0, 4) != b"GGUF":
        _refuse("it does not begin as one")
    at.place = 4
    version = at.number("<I")
    if version not in (2, 3):
        _refuse(f"its version must be 2 or 3, little-endian, got {version}")
    tensors, keys = at.number("<Q"), at.number("<Q")
    if tensors > MOST_TENSORS or keys > MOST_KEYS:
        _refuse(f"it must hold at most {MOST_TENSORS:,} tensors and {MOST_KEYS:,} keys, got {tensors:,} and {keys:,}")
    values: dict[str, object] = {}
    for _ in range(keys):
        key = at.text()
        if key in values:
            _refuse(f"its keys must not repeat, got {shown(key)} twice")
        values[key] = at.value(at.number("<I"))
    table = [_entry(at, types) for _ in range(tensors)]
    alignment = values.get(_ALIGNMENT, 32)
    if isinstance(alignment, bool) or not isinstance(alignment, int) or not 0 < alignment <= 2**20:
        _refuse(f"{_ALIGNMENT} must be a small integer, got {shown(alignment)}")
    begin = -(-at.place // alignment) * alignment
    found: dict[str, StoredTensor] = {}
    end = begin
    for offset, name, shape, (kind, block, width) in sorted(table):
        if begin + offset < end:
            _refuse(f"{shown(name)} begins within the tensor before it")
        if name in found:
            _refuse(f"names of tensors must not repeat, got {shown(name)} twice")
        end = begin + offset + prod(shape) // block * width
        if end > at.file.size:
            _refuse(f"it has {at.file.size:,} bytes, and {shown(name)} would end at {end:,}")
        found[name] = BlockTensor(shape, kind, at.file, begin + offset, block, width)
    return GgufFile(values, found)


GGUF_SCALING: dict[str, dict[str, str]] = {
    "linear": {"rope.scaling.factor": "factor"},
    "yarn": {
        "rope.scaling.factor": "factor",
        "rope.scaling.original_context_length": "original_max_position_embeddings",
        "rope.scaling.yarn_beta_fast": "beta_fast",
        "rope.scaling.yarn_beta_slow": "beta_slow",
    },
}
"""By scaling of rotary frequencies, keys of a GGUF file without its architecture, and of a configuration."""


def gguf_config(
    family: ModelFamily, values: Mapping[str, object], shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, object]:
    """Return the keys of a configuration that a GGUF file states.

    Args:
        family: whose it is.
        values: of the file.
        shapes: of its tensors, by their names.
    """
    ends = family.gguf_layout.ends if family.gguf_layout else {}
    said: dict[str, object] = {"tie_word_embeddings": ends["unembedding"].tensor not in shapes}
    if shape := shapes.get(ends["embedding"].tensor):
        said["vocab_size"] = shape[0]
    start = f"{values.get('general.architecture')}."
    own = {key.removeprefix(start): value for key, value in values.items() if key.startswith(start)}
    said |= {key: value(own) if callable(value) else value for key, value in family.gguf_implied.items()}
    kind = own.get("rope.scaling.type")
    scaling = {"none": {}, **GGUF_SCALING}.get(kind) if isinstance(kind, str) else None
    if scaling is not None and family.gguf_keys.get("rope.freq_base"):
        there = {name: own.pop(key) for key, name in scaling.items() if key in own}
        del own["rope.scaling.type"]
        said |= {"rope_scaling": {"rope_type": kind, **there}} if scaling else {}
    return said | {family.gguf_keys.get(key, f"{start}{key}"): value for key, value in own.items()}


def numbers_of_config(family: ModelFamily, tensors: dict[str, StoredTensor]) -> dict[str, object]:
    """Take out the tensors that belong to the configuration, by its keys.

    Raises:
        FileFormatError: one of them does not hold finite numbers.
    """
    found: dict[str, object] = {}
    for key in tensors.keys() & family.gguf_keys.keys():
        numbers = tensors.pop(key).read().reshape(-1).tolist()
        if not all(map(isfinite, numbers)):
            raise FileFormatError(f"{key} must hold finite numbers")
        found[family.gguf_keys[key]] = tuple(map(Fraction, numbers))
    return found


def _entry(
    at: _Cursor, types: dict[int, tuple[str, int, int]]
) -> tuple[int, str, tuple[int, ...], tuple[str, int, int]]:
    name, axes = at.text(), at.number("<I")
    if axes > 4:
        _refuse(f"{shown(name)} must have at most four axes, got {axes}")
    shape = tuple(at.number("<Q") for _ in range(axes))[::-1]  # the first one runs fastest
    kind, offset = at.number("<I"), at.number("<Q")
    if kind not in types:
        _refuse(f"{shown(name)} must be of a known type, got number {kind}")
    if max(*shape, 1, 1) > 2**40 or (shape and shape[-1] % types[kind][1]):
        _refuse(f"the rows of {shown(name)} must be whole blocks of {types[kind][0]}")
    return offset, name, shape, types[kind]


class _Cursor:
    """Reads one thing after the other, nothing behind the end."""

    def __init__(self, file: MappedFile) -> None:
        self.file, self.place, self.texts = file, 0, 0

    def _skip(self, count: int) -> None:
        if count > self.file.size - self.place:
            _refuse(f"it has {self.file.size:,} bytes, and would need {self.place + count:,}")
        self.place += count

    def _take(self, count: int) -> bytes:
        self._skip(count)
        return self.file.bytes(self.place - count, self.place)

    def number(self, code: str) -> int:
        (value,) = unpack(code, self._take(calcsize(code)))
        return int(value)

    def text(self) -> str:
        if (length := self.number("<Q")) > LONGEST_TEXT:
            _refuse(f"a text must have at most {LONGEST_TEXT:,} bytes, got {length:,}")
        try:
            return self._take(length).decode()
        except UnicodeDecodeError:
            return ""  # a key or a tensor that is asked for would then be missed

    def value(self, kind: int) -> object:
        """Return a value; a float exactly, a list as an empty one: nothing that is asked for is a list."""
        if kind == _TEXT:
            return self.text()
        if kind == _LIST:
            inner, count = self.number("<I"), self.number("<Q")
            if inner == _TEXT:
                self.texts += count
                if self.texts > MOST_TEXTS:
                    _refuse(f"its lists must have at most {MOST_TEXTS:,} texts, got {self.texts:,}")
                for _ in range(count):
                    self._skip(self.number("<Q"))
            elif inner in _SCALARS:
                self._skip(count * calcsize(_SCALARS[inner]))
            else:
                _refuse(f"lists must be of texts or numbers, got type {inner}")
            return []
        if kind not in _SCALARS:
            _refuse(f"values must be of a known type, got number {kind}")
        (value,) = unpack(_SCALARS[kind], self._take(calcsize(_SCALARS[kind])))
        if isinstance(value, float) and not isfinite(value):
            _refuse(f"numbers must be finite, got {value}")
        return Fraction(value) if isinstance(value, float) else value


def _refuse(reason: str) -> NoReturn:
    raise FileFormatError(f"it must be a GGUF file: {reason}")
