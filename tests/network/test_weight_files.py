"""Files of weights from outside: exact, bounded before anything is expanded, and refused in one line by name."""

from __future__ import annotations

import io
import json
import random
import struct
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from lightning_sym import Weights, load_weights, save_weights
from lightning_sym.errors import BadInput, FileFormatError, TooLarge
from lightning_sym.network.readers import bounds, exact_json
from lightning_sym.network.readers.json_file import read_json
from lightning_sym.network.readers.npz_file import read_npz
from lightning_sym.network.readers.safetensors_file import read_safetensors

ONE = '"Q1": [[1]], "K1": [[1]], "V1": [[1]]'
HEADER = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1), }"


def value_of(number: str) -> object:
    return read_json(f'{{"Q1": [[{number}]]}}'.encode()).matrices["Q1"][0][0]


def npz(*members: tuple[str, bytes], how: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", how) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return stream.getvalue()


def npy(header: bytes, data: bytes = bytes(8), version: int = 1) -> bytes:
    length = len(header).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + data


def tensors(header: object, data: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def tensor(start: int, stop: int, kind: str = "F64", shape: tuple[int, ...] = (1, 1)) -> dict[str, object]:
    return {"dtype": kind, "shape": list(shape), "data_offsets": [start, stop]}


def refused(read: Callable[[bytes], object], content: bytes) -> str:
    with pytest.raises(BadInput) as refusal:
        read(content)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 300
    return str(refusal.value)


# --- JSON


@pytest.mark.parametrize(
    ("number", "value"),
    [
        ("1.25", Fraction(5, 4)),
        ("0.1", Fraction(1, 10)),
        ("-2.50", Fraction(-5, 2)),
        ("1e-3", Fraction(1, 1000)),
        ("12E2", 1200),
        ("1.5e+1", 15),
        ("0e0", 0),
        ('"1.25"', Fraction(5, 4)),
        ('"1e-3"', Fraction(1, 1000)),
        ('"-2/3"', Fraction(-2, 3)),
        ("1e3999", 10**3999),
        ("1e-3999", Fraction(1, 10**3999)),
        ("9" * 4000, 10**4000 - 1),
    ],
)
def test_numbers_are_exact(number: str, value: Fraction) -> None:
    assert value_of(number) == value


@pytest.mark.parametrize(
    "number",
    ["1e999999999", "1e-999999999", "1e4000", "1e-4000", "9" * 4001, "1e" + "9" * 5000, "0." + "1" * 4000, "NaN",
     "Infinity", "-Infinity", '"nan"', '"1.5/2"', '"1/2.0"', '"+1"', '" 1"', '"1_0"', '"0x1"', '"1."', '".5"', '""',
     '"\\u0661"', '"1/-2"', '"1/2/3"', '"1e1.5"', '"-"'],
)  # fmt: skip
def test_what_is_no_number_is_refused_at_once(number: str) -> None:
    start = time.perf_counter()
    assert "must be integers, decimals, or strings" in refused(value_of_bytes, number.encode())
    assert time.perf_counter() - start < 1


def value_of_bytes(number: bytes) -> object:
    return value_of(number.decode())


def test_digits_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """`1e-3999` is short in the file and long in memory."""
    monkeypatch.setattr(exact_json, "MOST_DIGITS", 10_000)
    two, three = (f'{{"Q1": [[{", ".join(["1e-3999"] * n)}]]}}'.encode() for n in (2, 3))
    assert read_json(two).matrices["Q1"][0][1] == Fraction(1, 10**3999)
    assert "at most 10,000 digits" in refused(read_json, three)
    strings = f'{{"Q1": [[{", ".join([f"{9:*>2}".replace("*", "9") * 1500] * 4)}]]}}'.encode()
    assert "at most 10,000 digits" in refused(read_json, strings)


def test_a_byte_order_mark_is_fine(tmp_path: Path) -> None:
    (tmp_path / "w.json").write_bytes(b"\xef\xbb\xbf{" + ONE.encode() + b"}")
    assert load_weights(tmp_path / "w.json") == Weights.of({"Q1": [[1]], "K1": [[1]], "V1": [[1]]})


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (f'{{{ONE}, "foo": [[1]]}}', "'foo'"),
        (f'{{{ONE}, "foo": 3}}', "'foo'"),
        (f'{{"weights": {{{ONE}, "Q1x": [[1]]}}}}', "'Q1x'"),
        (f'{{"weights": {{{ONE}}}, "mask": "causal"}}', "'mask'"),
        (f'{{{ONE}, "{"x" * 9999}": [[1]]}}', "'xxx"),
        (f'{{{ONE}, "a\\nb": [[1]]}}', r"'a\\nb'"),
        (f'{{{ONE}, "\\ud800": [[1]]}}', r"'\\ud800'"),
        (f'{{{ONE}, "Q1": [[1]]}}', "'Q1' twice"),
        ('{"Q1": [[1, null]]}', r"Q1\[0, 1\] must be an integer.*null"),
        ('{"Q1": [[1], [true]]}', r"Q1\[1, 0\] must be an integer.*true"),
        ('{"Q1": [[1, [2]]]}', r"Q1\[0, 1\] must be an integer.*a list"),
        ('{"Q1": [[1], 2]}', "Q1 must be a list of rows"),
    ],
)
def test_what_is_wrong_is_named_alone_with_its_file(tmp_path: Path, text: str, named: str) -> None:
    (tmp_path / "w.json").write_text(text)
    with pytest.raises(FileFormatError, match=named) as refusal:
        load_weights(tmp_path / "w.json")
    message = str(refusal.value)
    assert message.startswith(f"{tmp_path / 'w.json'}: ")
    assert "\n" not in message
    assert "Q2" not in message.replace("Q1, K1, V1, Q2, ...", "")


def test_a_key_that_repeats_is_found_at_once() -> None:
    keys = [*range(60_000), 59_999]
    text = "{" + ", ".join(f'"k{key}": 1' for key in keys) + "}"
    start = time.perf_counter()
    assert "'k59999' twice" in refused(read_json, text.encode())
    assert time.perf_counter() - start < 2  # minutes, when each key is looked for among all


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[" * 100_000, "nested"),
        ('{"Q1": ' * 5_000, "nested"),
        ("[[" + "[]," * 1_000_001, "lists"),
        ("[" + "0," * 4_200_000, "commas"),
        ("{" + '"":1,' * 100_001, "names"),
    ],
)
def test_what_a_text_may_hold_is_counted_before_it_is_parsed(text: str, what: str) -> None:
    assert what in refused(read_json, text.encode())


def test_entries_are_counted_over_all_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MOST_ENTRIES", 5)
    for read, content in {
        read_json: b'{"Q1": [[1, 2, 3]], "K1": [[1, 2, 3]], "V1": [[1]]}',
        read_npz: npz(("Q1.npy", npy(HEADER.replace(b"1, 1", b"1, 3"), bytes(24))),
                      ("K1.npy", npy(HEADER.replace(b"1, 1", b"1, 3"), bytes(24)))),
        read_safetensors: tensors({"Q1": tensor(0, 24, shape=(1, 3)), "K1": tensor(24, 48, shape=(1, 3))}, bytes(48)),
    }.items():  # fmt: skip
        with pytest.raises(TooLarge, match="all matrices together must have at most 5 entries"):
            read(content)


# --- archives


@pytest.mark.parametrize(
    "header",
    [
        b"if 1:\n    x\n  y",
        b"{'descr': (('<f8',(1,)),), 'fortran_order': False, 'shape': (1, 1), }",
        b"{'descr': (), 'fortran_order': False, 'shape': (1, 1), }",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1),",
        b"{'descr': '''<f8, 'fortran_order': False, 'shape': (1, 1), }",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1), 'shape': (1, 1), }",
        b"{'descr': '<f8', 'fortran_order': False}",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (True, 1), }",
        b"{'descr': '<f8', 'fortran_order': (1,), 'shape': (1, 1), }",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': '1', }",
        b"(" * 4000,
        b"{[]: 1}",
        b"-" * 4000,
        b"",
        b"\xff\xfe" * 30,
        HEADER + b" " * 5000,
    ],
)
def test_headers_are_read_as_numpy_writes_them_and_not_otherwise(header: bytes) -> None:
    assert "plain arrays" in refused(read_npz, npz(("Q1.npy", npy(header))))


@pytest.mark.parametrize(
    ("header", "what"),
    [
        (HEADER.replace(b"<f8", b"|O"), "'|O'"),
        (HEADER.replace(b"<f8", b"<c16"), "'<c16'"),
        (HEADER.replace(b"<f8", b"<M8[D]"), "M8"),
        (HEADER.replace(b"<f8", b"|b1"), "'|b1'"),
        (HEADER.replace(b"<f8", b"<f16"), "'<f16'"),
        (HEADER.replace(b"<f8", b"<i3"), "'<i3'"),
        (HEADER.replace(b"(1, 1)", b"()"), "must be a matrix"),
        (HEADER.replace(b"(1, 1)", b"(1,)"), "must be a matrix"),
        (HEADER.replace(b"(1, 1)", b"(1, 0)"), "must be a matrix"),
        (HEADER.replace(b"(1, 1)", b"(1, 1, 1)"), "must be a matrix"),
        (HEADER.replace(b"(1, 1)", b"(1 1, 1)"), "shape of integers"),
        (HEADER.replace(b"(1, 1)", b"(,)"), "shape of integers"),
        (HEADER.replace(b"(1, 1)", b"(99999999999999999999, 1)"), "shape of integers"),
        (HEADER.replace(b"(1, 1)", b"(999999999, 999999999)"), "at most 4,000,000 entries"),
        (HEADER.replace(b"(1, 1)", b"(1, 2)"), "must be an .npz archive"),
    ],
)
def test_types_and_shapes_of_arrays(header: bytes, what: str) -> None:
    assert what in refused(read_npz, npz(("Q1.npy", npy(header))))


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("kind", ["<f8", ">f4", "<f2", "|i1", "|u1", "<i8", ">u8"])
def test_arrays_come_as_numpy_would_read_them(version: int, kind: str) -> None:
    matrix = np.arange(6).reshape(2, 3).astype(kind)
    for stored in (matrix, np.asfortranarray(matrix)):
        stream = io.BytesIO()
        np.lib.format.write_array(stream, stored, version=(version, 0))
        found = read_npz(npz(("Q1.npy", stream.getvalue()), how=zipfile.ZIP_DEFLATED)).matrices["Q1"]
        assert found.tolist() == matrix.tolist()


def test_archives_hold_what_numpy_puts_into_them() -> None:
    good = npy(HEADER)
    with pytest.warns(UserWarning, match="Duplicate name"):
        twice = npz(("Q1.npy", good), ("Q1.npy", good))
    assert "'Q1' twice" in refused(read_npz, twice)
    assert "'readme.txt'" in refused(read_npz, npz(("readme.txt", b"")))
    for how in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        assert "stored or deflated" in refused(read_npz, npz(("Q1.npy", good), how=how))
    damaged = npz(("Q1.npy", npy(HEADER, struct.pack("<d", 1.5)))).replace(struct.pack("<d", 1.5), bytes(8))
    assert "CRC" in refused(read_npz, damaged)
    assert "must be an .npz archive" in refused(read_npz, npz(("Q1.npy", npy(HEADER, bytes(9)))))
    many = npz(("Q1.npy", good)) + b"PK\x01\x02" * 100_001
    assert "at most 100,000 matrices" in refused(read_npz, many)


SMALL_AND_LARGE = """
import resource, sys
from lightning_sym import load_weights
resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
try:
    load_weights(sys.argv[1])
except ValueError as error:
    print(error)
"""


@pytest.mark.parametrize(("matrices", "side"), [(21, 2000), (5, 1200)])
def test_an_archive_that_expands_is_refused_within_a_gibibyte(tmp_path: Path, matrices: int, side: int) -> None:
    zeros = npy(HEADER.replace(b"<f8", b"|i1").replace(b"1, 1", b"%d, %d" % (side, side)), bytes(side * side))
    names = [f"{letter}{i}.npy" for i in range(1, 8) for letter in "QKV"][:matrices]
    (tmp_path / "w.npz").write_bytes(npz(*((name, zeros) for name in names), how=zipfile.ZIP_DEFLATED))
    words = [sys.executable, "-c", SMALL_AND_LARGE, str(tmp_path / "w.npz")]
    result = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    assert "at most" in result.stdout
    assert result.stdout.count("\n") == 1


# --- safetensors


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "0 bytes"),
        (tensors({}, length=2**64 - 1), "its header would have"),
        (tensors(b" {}"), "no JSON object"),
        (tensors([]), "no JSON object"),
        (tensors(b'{"Q1": 1, "Q1": 1}'), "'Q1' twice"),
        (tensors({"Q1": 3}), "dtype, shape and data_offsets"),
        (tensors({"Q1": tensor(0, 8) | {"more": 1}}, bytes(8)), "dtype, shape and data_offsets"),
        (tensors({"Q1": tensor(0, 8), "K1": tensor(4, 12)}, bytes(12)), "begins at byte 4"),
        (tensors({"Q1": tensor(0, 8), "K1": tensor(0, 8)}, bytes(8)), "begins at byte 0"),
        (tensors({"Q1": tensor(0, 8), "K1": tensor(9, 17)}, bytes(17)), "begins at byte 9"),
        (tensors({"Q1": tensor(0, 8)}, bytes(9)), "have 8 bytes, the file has 9"),
        (tensors({"Q1": tensor(0, 8)}, bytes(7)), "have 8 bytes, the file has 7"),
        (tensors({"Q1": tensor(8, 0)}, bytes(8)), "as many bytes"),
        (tensors({"Q1": tensor(0, 8, shape=(1, 2))}, bytes(8)), "as many bytes"),
        (tensors({"Q1": tensor(0, 8, shape=(8,))}, bytes(8)), "must be a matrix"),
        (tensors({"Q1": tensor(0, 0, shape=(0, 1))}), "must be a matrix"),
        (tensors({"Q1": tensor(0, 8, kind="BOOL")}, bytes(8)), "got 'BOOL'"),
        (tensors({"Q1": tensor(0, 8, kind="F8_E4M3")}, bytes(8)), "got 'F8_E4M3'"),
        (tensors({"Q1": tensor(0, 8) | {"dtype": ["F64"]}}, bytes(8)), "got a list"),
        (tensors({"Q1": tensor(0, 8) | {"shape": [True, 1]}}, bytes(8)), "must be a matrix"),
        (tensors({"Q1": tensor(0, 8) | {"shape": [1.0, 1]}}, bytes(8)), "must be a matrix"),
        (tensors({"Q1": tensor(0, 8) | {"data_offsets": [0, 8, 8]}}, bytes(8)), "two sizes"),
        (tensors({"foo": tensor(0, 8)}, bytes(8)), "'foo'"),
        (tensors({"__metadata__": {"a": 1}}), "metadata"),
    ],
)
def test_tensors_are_where_their_header_says(content: bytes, what: str) -> None:
    assert what in refused(read_safetensors, content)


@pytest.mark.parametrize("kind", ["float64", "float32", "float16", "int64", "int8", "uint8", "uint64"])
def test_tensors_come_as_the_library_writes_them(tmp_path: Path, kind: str) -> None:
    matrix = np.arange(6).reshape(2, 3).astype(kind)
    save_file({"Q1": matrix, "K1": matrix + 1}, tmp_path / "w.safetensors", metadata={"format": "np"})
    found = read_safetensors((tmp_path / "w.safetensors").read_bytes())
    assert {name: rows.tolist() for name, rows in found.matrices.items()} == {
        "Q1": matrix.tolist(), "K1": (matrix + 1).tolist(),
    }  # fmt: skip
    assert found.form is None


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_tensors_that_are_no_numbers_are_refused(tmp_path: Path, bad: float) -> None:
    one = np.array([[1.0]])
    save_file({"Q1": one, "K1": np.array([[bad]]), "V1": one}, tmp_path / "w.safetensors")
    with pytest.raises(BadInput, match=r"K1\[0, 0\] must be finite"):
        load_weights(tmp_path / "w.safetensors")


# --- the form of a network

FORM = {"skip": True, "mask": "causal", "normalization": "softmax"}


def test_every_format_gives_the_form(tmp_path: Path) -> None:
    one = np.array([[1.0]])
    text = json.dumps(FORM)
    for form in (np.array(text), np.array(text.encode())):
        stream = io.BytesIO()
        np.savez(stream, Q1=one, form=form)
        assert read_npz(stream.getvalue()).form == FORM
        assert list(read_npz(stream.getvalue()).matrices) == ["Q1"]
    save_file({"Q1": one}, tmp_path / "w.safetensors", metadata={"form": text})
    assert read_safetensors((tmp_path / "w.safetensors").read_bytes()).form == FORM
    for document in ({"Q1": [[1]], "form": FORM}, {"weights": {"Q1": [[1]]}, "form": FORM}):
        found = read_json(json.dumps(document).encode())
        assert (found.form, list(found.matrices)) == (FORM, ["Q1"])


def test_a_form_is_never_passed_over(tmp_path: Path) -> None:
    one = np.array([[1.0]])
    matrices = {"Q1": one, "K1": one, "V1": one}
    np.savez(tmp_path / "w.npz", form=np.array('{"skip": true}'), **matrices)  # type: ignore[arg-type]
    save_file(matrices, tmp_path / "w.safetensors", metadata={"form": '{"skip": true}'})
    (tmp_path / "w.json").write_text(f'{{{ONE}, "form": {{"skip": true}}}}')
    for ending in ("npz", "safetensors", "json"):
        with pytest.raises(BadInput, match=f"w.{ending}: the form must name normalization, mask and skip"):
            load_weights(tmp_path / f"w.{ending}")


@pytest.mark.parametrize("form", [np.array(3), np.array(["{}"]), np.array("{"), np.array(""), np.array("x" * 70_000)])
def test_a_form_that_is_none_is_refused(form: np.ndarray) -> None:
    stream = io.BytesIO()
    np.savez(stream, form=form)
    assert "the form" in refused(read_npz, stream.getvalue())


# --- files


def test_names_with_zero_bytes_are_refused() -> None:
    with pytest.raises(FileFormatError, match="readable file"):
        load_weights("a\0b.json")


def test_what_could_not_be_read_again_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    w = Weights.of({"Q1": [[1] * 9], "K1": [[1] * 9], "V1": [[1] * 9]})
    save_weights(w, tmp_path / "w.json")
    size = (tmp_path / "w.json").stat().st_size
    (tmp_path / "w.json").unlink()
    for limit, fits in ((size, True), (size - 1, False)):
        monkeypatch.setattr(bounds, "LARGEST_FILE", limit)
        monkeypatch.setattr("lightning_sym.network.weight_files.LARGEST_FILE", limit)
        if fits:
            save_weights(w, tmp_path / "w.json")
            assert load_weights(tmp_path / "w.json") == w
            (tmp_path / "w.json").unlink()
        else:
            with pytest.raises(BadInput, match="at most"):
                save_weights(w, tmp_path / "w.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ["json", "npz", "safetensors"])
def test_every_cut_is_refused(tmp_path: Path, ending: str) -> None:
    rng = random.Random(ending)
    file = tmp_path / f"w.{ending}"
    save_weights(Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]}), file)
    content = file.read_bytes().rstrip()
    for length in rng.sample(range(len(content)), 60):
        file.write_bytes(content[:length])
        with pytest.raises(FileFormatError):
            load_weights(file)
