"""Torch files: tensors are read as Python's own pickle means them, and what would execute or overrun is refused."""

from __future__ import annotations

import io
import os
import pickle
import struct
import sys
import time
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from lightning_sym import BadInput
from lightning_sym.checkpoints.pickle_machine import unpickled
from lightning_sym.checkpoints.stored_types import WrittenTensor
from lightning_sym.checkpoints.torch_file import pickle_of, read_torch_file, write_torch
from lightning_sym.errors import FileFormatError


class Storage:
    """Stands for a storage while Python pickles."""

    def __init__(self, kind: str, key: str, numbers: Any, count: int | None = None) -> None:
        self.kind, self.key, self.raw = kind, key, numbers
        self.count = numbers.size if count is None else count


class Tensor:
    """Stands for a tensor while Python pickles."""

    def __init__(self, storage: Any, shape: Any, strides: Any, offset: Any = 0) -> None:
        self.arguments: tuple[Any, ...] = (storage, offset, shape, strides, False, OrderedDict())

    def __reduce__(self) -> Any:
        return sys.modules["torch._utils"]._rebuild_tensor_v2, self.arguments


@pytest.fixture(autouse=True)
def _torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The names that a pickle of tensors asks for, so that Python can pickle them."""
    top, utils = ModuleType("torch"), ModuleType("torch._utils")

    def _rebuild_tensor_v2() -> None: ...

    _rebuild_tensor_v2.__module__, _rebuild_tensor_v2.__qualname__ = "torch._utils", "_rebuild_tensor_v2"
    utils._rebuild_tensor_v2 = _rebuild_tensor_v2  # type: ignore[attr-defined]
    for name in ("FloatStorage", "BFloat16Storage", "HalfStorage", "LongStorage"):
        setattr(top, name, type(name, (), {"__module__": "torch"}))
    monkeypatch.setitem(sys.modules, "torch", top)
    monkeypatch.setitem(sys.modules, "torch._utils", utils)


class Pickler(pickle.Pickler):
    """Python's own, with storages by their keys."""

    def persistent_id(self, value: Any) -> Any:
        if isinstance(value, Storage):
            return "storage", getattr(sys.modules["torch"], value.kind), value.key, "cpu", value.count
        return None


def pickled(value: Any, protocol: int = 2) -> bytes:
    stream = io.BytesIO()
    Pickler(stream, protocol).dump(value)
    return stream.getvalue()


def saved(path: Path, data: bytes, storages: dict[str, Any], **more: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", data)
        for key, numbers in storages.items():
            archive.writestr(f"archive/data/{key}", numbers.tobytes())
        for name, content in more.items():
            archive.writestr(f"archive/{name}", content)
    return path


NUMBERS = np.arange(24, dtype="<f4")
STORAGE = Storage("FloatStorage", "0", NUMBERS)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_what_python_pickles_is_read(protocol: int, tmp_path: Path) -> None:
    half = Storage("BFloat16Storage", "1", np.array([0x3F80, 0xC000], dtype="<u2"))
    whole = {"a": Tensor(STORAGE, (4, 6), (6, 1)), "turned": Tensor(STORAGE, (6, 4), (1, 6))}
    inner = OrderedDict(row=Tensor(STORAGE, (6,), (1,), 12), half=Tensor(half, (2,), (1,)))
    inner._metadata = OrderedDict([("", {"version": 1})])  # type: ignore[attr-defined]
    path = saved(tmp_path / "a.bin", pickled(whole | {"inner": inner}, protocol), {"0": NUMBERS, "1": half.raw})
    found = {name: tensor.read() for name, tensor in read_torch_file(path).items()}
    assert list(found) == ["a", "turned", "inner.row", "inner.half"]
    assert np.array_equal(found["a"], NUMBERS.reshape(4, 6))
    assert np.array_equal(found["turned"], NUMBERS.reshape(4, 6).T)
    assert np.array_equal(found["inner.row"], NUMBERS[12:18])
    assert found["inner.half"].tolist() == [1.0, -2.0]


def test_python_reads_what_is_written() -> None:
    class Unpickler(pickle.Unpickler):
        def persistent_load(self, found: Any) -> Any:
            return found[0], found[1].__name__, *found[2:]

        def find_class(self, module: str, name: str) -> Any:
            known = {"OrderedDict": OrderedDict, "_rebuild_tensor_v2": lambda *given: given}
            return known.get(name) or type(name, (), {})

    written = pickle_of([WrittenTensor("a", "F32", (2, 3)), WrittenTensor("b", "BF16", (70000, 40000))])
    assert Unpickler(io.BytesIO(written)).load() == {
        "a": (("storage", "FloatStorage", "0", "cpu", 6), 0, (2, 3), (3, 1), False, OrderedDict()),
        "b": (("storage", "BFloat16Storage", "1", "cpu", 2_800_000_000), 0, (70000, 40000), (40000, 1), False,
              OrderedDict()),
    }  # fmt: skip


def test_a_written_file_is_a_zip_without_compression(tmp_path: Path) -> None:
    with (tmp_path / "a.pth").open("wb") as stream:
        write_torch(stream, [WrittenTensor("a", "F32", (4, 6))], iter([NUMBERS.reshape(4, 6)]), "a")
    with zipfile.ZipFile(tmp_path / "a.pth") as archive:
        assert archive.testzip() is None
        assert archive.read("a/data/0") == NUMBERS.tobytes()
    assert np.array_equal(read_torch_file(tmp_path / "a.pth")["a"].read(), NUMBERS.reshape(4, 6))


# ---- hostile files


class Evil:
    """Would run a command."""

    def __reduce__(self) -> Any:
        return os.system, ("touch evil",)


def tensor_file(*arguments: Any, **more: Any) -> Callable[[Path], Path]:
    return lambda path: saved(path, pickled({"a": Tensor(*arguments)}), {"0": NUMBERS}, **more)


def data_file(data: bytes) -> Callable[[Path], Path]:
    return lambda path: saved(path, data, {"0": NUMBERS})


def raw_file(data: bytes) -> Callable[[Path], Path]:
    def made(path: Path) -> Path:
        path.write_bytes(data)
        return path

    return made


def compressed(path: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", pickled({}))
        archive.writestr("archive/data/0", b"\0" * 10_000_000)
    return path


def twice(path: Path) -> Path:
    """The name of an entry is changed to that of another one, here and in the table of contents."""
    raw = saved(path, pickled({}), {"0": NUMBERS, "1": NUMBERS}).read_bytes()
    path.write_bytes(raw.replace(b"archive/data/1", b"archive/data/0"))
    return path


def told(place: int, number: int) -> Callable[[Path], Path]:
    """The table of contents says something else of its last entry: two bytes are changed."""

    def made(path: Path) -> Path:
        raw = bytearray(saved(path, pickled({}), {"0": NUMBERS}).read_bytes())
        entry = raw.rindex(b"PK\x01\x02")
        raw[entry + place : entry + place + 2] = struct.pack("<H", number)
        path.write_bytes(raw)
        return path

    return made


def many_dictionaries() -> bytes:
    inner: dict[str, Any] = {}
    for _ in range(8):
        inner = {str(i): inner for i in range(12)}
    return pickled(inner)


def itself() -> bytes:
    inner: dict[str, Any] = {}
    inner["x"] = inner
    return pickled(inner)


FAR = 2**40
HOSTILE: dict[str, tuple[Callable[[Path], Path], str]] = {
    "code": (data_file(pickled(Evil())), "a pickle must hold tensors alone, it asks for 'posix.system'"),
    "code in a tensor": (data_file(pickled({"a": [Evil()]})), "it asks for 'posix.system'"),
    "code, newer": (data_file(pickled(Evil(), 4)), "it asks for 'posix.system'"),
    "eval": (data_file(b"\x80\x02c__builtin__\neval\nX\x03\x00\x00\x001+1\x85R."), "asks for '__builtin__.eval'"),
    "a module": (data_file(b"\x80\x02ctorch\nload\n."), "it asks for 'torch.load'"),
    "inst": (data_file(b"\x80\x02(ios\nsystem\n."), "opcode b'i' is not known"),
    "obj": (data_file(b"\x80\x02(N\x81."), "opcode b'\\x81' is not known"),
    "a storage is called": (data_file(b"\x80\x02ctorch\nFloatStorage\n)R."), "it ends too early, or is damaged"),
    "a text is called": (data_file(b"\x80\x02X\x01\x00\x00\x00a)R."), "only names may be called"),
    "cut": (lambda p: saved(p, pickled({"a": Tensor(STORAGE, (4, 6), (6, 1))})[:-9], {"0": NUMBERS}), "it ends too"),
    "two values": (data_file(b"\x80\x02NN."), "there is more than one value"),
    "no pickle": (data_file(b"well"), "opcode b'w' is not known"),
    "a long number": (data_file(b"\x80\x02\x8a\xff" + b"\x7f" * 255 + b"."), "at most 8 bytes, got 255"),
    "numpy": (data_file(pickled({"a": NUMBERS})), "must hold tensors alone, it asks for 'numpy"),
    "a number": (data_file(pickled({"a": 3})), "it must be a dictionary of tensors, got 'a'"),
    "a tensor alone": (data_file(pickled([])), "it must be a dictionary of tensors, got another value"),
    "number names": (data_file(pickled({3: {}})), "tensors must have names, got 3"),
    "many": (data_file(many_dictionaries()), "at most 100,000 tensors and dictionaries"),
    "itself": (data_file(itself()), "names of tensors must have at most 1000 letters"),
    "beyond": (tensor_file(STORAGE, (4, 7), (7, 1)), "must lie in its storage of 24 numbers, it reaches number 27"),
    "offset": (tensor_file(STORAGE, (4, 6), (6, 1), 1), "it reaches number 24"),
    "negative offset": (tensor_file(STORAGE, (4, 6), (6, 1), -1), "it ends too early, or is damaged"),
    "negative stride": (tensor_file(STORAGE, (4, 6), (6, -1), 5), "and sizes of at least 0"),
    "negative size": (tensor_file(STORAGE, (-4, -6), (6, 1)), "and sizes of at least 0"),
    "stride 0": (tensor_file(STORAGE, (FAR, FAR), (0, 0)), "each entry of a tensor must have a place of its own"),
    "overlapping strides": (tensor_file(STORAGE, (4, 6), (3, 1)), "each entry of a tensor must have a place"),
    "huge": (tensor_file(STORAGE, (FAR, FAR), (FAR, 1)), "must lie in its storage of 24 numbers"),
    "no entries": (tensor_file(STORAGE, (0, 6), (6, 1)), "a tensor must have entries"),
    "nine axes": (tensor_file(STORAGE, (1,) * 9, (1,) * 9), "must have at most 8 axes"),
    "strides": (tensor_file(STORAGE, (4, 6), (6,)), "it ends too early, or is damaged"),
    "a lie about bytes": (
        tensor_file(Storage("FloatStorage", "0", NUMBERS, FAR), (FAR,), (1,)),
        "the storage '0' must have",
    ),
    "no storage": (tensor_file(Storage("FloatStorage", "9", NUMBERS), (4,), (1,)), "the storage '9' must be there"),
    "a path": (tensor_file(Storage("FloatStorage", "../x", NUMBERS), (4,), (1,)), "the storage '../x' must be there"),
    "big-endian": (tensor_file(STORAGE, (4, 6), (6, 1), byteorder=b"big"), "numbers must be little-endian"),
    "compressed": (compressed, "must be neither compressed nor encrypted"),
    "twice": (twice, "names must not repeat"),
    "overlapping": (told(42, 0), "begins within the entry before it"),
    "encrypted": (told(8, 1), "must be neither compressed nor encrypted"),
    "said to be compressed": (told(10, 8), "must be neither compressed nor encrypted"),
    "another size": (told(20, 9), "must be neither compressed nor encrypted"),
    "old": (raw_file(pickle.dumps(0x1950A86A20F9469CFC6C, 2)), "older files, and other pickles"),
    "empty": (raw_file(b""), "it must not be empty"),
    "half a zip": (lambda p: raw_file(saved(p, b".", {}).read_bytes()[:60])(p), "it must be a zip"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make, said = HOSTILE[name]
    path = make(tmp_path / "a.bin")
    with pytest.raises(FileFormatError) as caught:
        read_torch_file(path)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "evil").exists()


def test_every_damage_is_refused_or_read(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    data = pickled({"a": Tensor(STORAGE, (4, 6), (6, 1)), "b": OrderedDict(c=Tensor(STORAGE, (3,), (2,)))})
    whole = saved(tmp_path / "a.bin", data, {"0": NUMBERS}).read_bytes()
    refused = 0
    for _ in range(400):
        raw = bytearray(whole)
        for place in rng.integers(len(raw), size=rng.integers(1, 4)):
            raw[place] = rng.integers(256)
        (tmp_path / "b.bin").write_bytes(raw)
        try:
            for tensor in read_torch_file(tmp_path / "b.bin").values():
                assert tensor.kind not in ("F16", "BF16", "F32", "F64") or tensor.read().shape == tensor.shape
        except BadInput:
            refused += 1
    assert 100 < refused < 400


def test_the_machine_calls_what_it_is_given_and_nothing_else() -> None:
    data = b"\x80\x02cmodule\nname\nK\x05\x85R."
    assert unpickled(data, {"module.name": lambda given: (given[0], 1)}, lambda found: found) == (5, 1)
    with pytest.raises(FileFormatError, match=r"it asks for 'module\.name'"):
        unpickled(data, {"module.other": lambda given: given}, lambda found: found)


def test_many_values_on_the_stack_take_no_time_each() -> None:
    count = 100_000
    begun = time.process_time()
    found = unpickled(b"\x80\x02](" + b"(K\x01t" * count + b"e.", {}, lambda found: found)
    assert isinstance(found, list)
    assert len(found) == count
    assert time.process_time() - begun < 3, "not one copy of the stack for each"


def test_texts_of_every_length_are_read() -> None:
    for code, size in ((b"\x8c", 1), (b"X", 4), (b"\x8d", 8)):  # by the bytes that their length takes
        assert unpickled(b"\x80\x04" + code + (2).to_bytes(size, "little") + b"ab.", {}, lambda found: found) == "ab"
