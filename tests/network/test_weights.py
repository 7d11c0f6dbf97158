"""Weights: exact, seeded, of prescribed rank; files that come back as they went, and files that are refused."""

from __future__ import annotations

import json
import os
import struct
import zipfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapes import SHAPES, architectures

from lightning_sym import Architecture, Weights, load_weights, save_weights
from lightning_sym.errors import BadInput, FileFormatError, ShapeError
from lightning_sym.exact.rational import rank

SMALL = Architecture((2, 1), (1,), 2)


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4), st.integers(0, 3), st.data())
def test_prescribed_ranks_are_exact(d: int, d_out: int, a: int, seed: int, data: st.DataObject) -> None:
    attention = data.draw(st.integers(0, min(a, d)))
    value = data.draw(st.integers(0, min(d, d_out)))
    w = Weights.random(
        Architecture((d, d_out), (a,), 2),
        seed=seed,
        denominator=3,
        attention_matrix_ranks=[attention],
        value_ranks=[value],
    )
    assert rank(w["K1"].T @ w["Q1"]) == attention
    assert rank(w["V1"]) == value


def test_seeded() -> None:
    shape = SHAPES["three layers"]
    assert Weights.random(shape, seed=1) == Weights.random(shape, seed=1)
    assert Weights.random(shape, seed=1) != Weights.random(shape, seed=2)
    assert hash(Weights.random(shape, seed=1)) == hash(Weights.random(shape, seed=1))


def test_impossible_ranks_are_refused() -> None:
    with pytest.raises(ShapeError, match="between 0 and"):
        Weights.random(SMALL, value_ranks=[2])
    with pytest.raises(ShapeError, match="between 0 and"):
        Weights.random(SMALL, attention_matrix_ranks=[1, 1])


@given(architectures(), st.integers(0, 3))
def test_the_architecture_comes_back(shape: Architecture, seed: int) -> None:
    assert Weights.random(shape, seed=seed).architecture(shape.tokens) == shape


def test_floats_are_converted_exactly() -> None:
    value: Any = [[1e300, Fraction(1, 3)]]
    w = Weights.of({"Q1": [[0.1, 2.0**-1074]], "K1": [[1, 0]], "V1": value})
    assert w["Q1"][0, 0] == Fraction(3602879701896397, 36028797018963968)
    assert w["Q1"][0, 1] == Fraction(1, 2**1074)
    assert float(w["V1"][0, 0]) == 1e300


@pytest.mark.parametrize(
    ("matrices", "message"),
    [
        ({"Q1": [[1]], "K1": [[1]]}, "missing or unknown: V1"),
        ({"Q1": [[1]], "K1": [[1]], "V1": [[1]], "V2": [[1]]}, "missing or unknown: K2, Q2"),
        ({"Q1": [[1]], "K1": [[1], [2]], "V1": [[1]]}, "Q1 and K1 must have the same shape"),
        ({"Q1": [[1, 2]], "K1": [[1, 2]], "V1": [[1]]}, "V1 must have 2 columns"),
        ({"Q1": [[1, 2], [3]], "K1": [[1]], "V1": [[1]]}, "rows of equal length"),
        ({"Q1": [[]], "K1": [[1]], "V1": [[1]]}, "at least one entry"),
        ({"Q1": [[float("nan")]], "K1": [[1]], "V1": [[1]]}, "must be finite, got nan"),
        ({"Q1": [["x"]], "K1": [[1]], "V1": [[1]]}, "an integer, a fraction or a float"),
        ({"Q1": [[True]], "K1": [[1]], "V1": [[1]]}, "an integer, a fraction or a float"),
        ({}, "missing or unknown"),
    ],
)
def test_bad_matrices_are_refused(matrices: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        Weights.of(matrices)  # type: ignore[arg-type]


@pytest.mark.parametrize("ending", [".json", ".npz", ".safetensors"])
@pytest.mark.parametrize("denominator", [1, 2])
def test_files_come_back_as_they_went(tmp_path: Path, ending: str, denominator: int) -> None:
    w = Weights.random(SHAPES["two layers"], seed=4, denominator=denominator)
    save_weights(w, tmp_path / f"w{ending}")
    assert load_weights(tmp_path / f"w{ending}") == w
    assert [f.name for f in tmp_path.iterdir()] == [f"w{ending}"]


@pytest.mark.parametrize("ending", [".npz", ".safetensors"])
def test_binary_files_hold_it_exactly_or_not_at_all(tmp_path: Path, ending: str) -> None:
    third: Any = [[Fraction(1, 3)]]
    w = Weights.of({"Q1": third, "K1": [[1]], "V1": [[1]]})
    with pytest.raises(BadInput, match=r"write a \.json file instead"):
        save_weights(w, tmp_path / f"w{ending}")
    assert list(tmp_path.iterdir()) == []
    huge = Weights.of({"Q1": [[10**400]], "K1": [[1]], "V1": [[1]]})
    with pytest.raises(BadInput, match=r"write a \.json file instead"):
        save_weights(huge, tmp_path / f"w{ending}")


def test_unwritable_places_are_refused(tmp_path: Path) -> None:
    w = Weights.random(SMALL)
    with pytest.raises(BadInput, match="there is no such folder"):
        save_weights(w, tmp_path / "missing" / "w.json")
    with pytest.raises(BadInput, match="must be written to"):
        save_weights(w, tmp_path / "w.txt")


def test_bfloat16_is_read_exactly(tmp_path: Path) -> None:
    header = {
        name: {"dtype": "BF16", "shape": [1, 1], "data_offsets": [2 * i, 2 * i + 2]}
        for i, name in enumerate(("Q1", "K1", "V1"))
    }
    text = json.dumps(header).encode()
    halves = struct.pack("<3H", 0x3F80, 0x4049, 0xBF00)  # 1, 3.140625, -0.5
    (tmp_path / "w.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + halves)
    w = load_weights(tmp_path / "w.safetensors")
    assert [w[n][0, 0] for n in ("Q1", "K1", "V1")] == [1, Fraction(201, 64), Fraction(-1, 2)]


def json_file(weights: object) -> bytes:
    return json.dumps({"schema": "lightning-sym/weights/1", "weights": weights}).encode()


ONE = [["1"]]
BAD_FILES = {
    "truncated.json": (json_file({"Q1": ONE, "K1": ONE, "V1": ONE})[:-5], "must be JSON"),
    "empty.json": (b"", "must be JSON"),
    "binary.json": (b"\xff\xfe\x00", "must be JSON"),
    "list.json": (b"[]", "must be an object of matrices"),
    "schema.json": (b'{"schema": "other/1", "weights": {}}', "must have the schema"),
    "nan.json": (json_file({"Q1": [[float("nan")]], "K1": ONE, "V1": ONE}), "must be integers, decimals, or strings"),
    "exponent.json": (
        json_file({"Q1": [["1e999999999"]], "K1": ONE, "V1": ONE}),
        "must be integers, decimals, or strings",
    ),
    "zero.json": (json_file({"Q1": [["1/0"]], "K1": ONE, "V1": ONE}), "denominator must not be zero"),
    "scalar.json": (json_file({"Q1": "1", "K1": ONE, "V1": ONE}), "must be a list of rows"),
    "none.json": (json_file({"Q1": [[None]], "K1": ONE, "V1": ONE}), "an integer, a fraction or a float"),
    "long.json": (b'{"schema": "lightning-sym/weights/1", "weights": {"Q1": [[' + b"9" * 10000 + b"]]}}", "JSON"),
    "deep.json": (b"[" * 100000, "must be JSON"),
    "twice.json": (b'{"schema": "lightning-sym/weights/1", "weights": {"Q1": 1, "Q1": 2}}', "must not repeat"),
    "text.npz": (b"not a zip file", "must be an .npz archive"),
    "cut.npz": (b"PK\x03\x04" + b"\0" * 40, "must be an .npz archive"),
    "empty.npz": (b"", "must be an .npz archive"),
    "text.safetensors": (b"nothing of the kind", "must be a safetensors file"),
    "empty.safetensors": (b"", "must be a safetensors file"),
    "huge.safetensors": (struct.pack("<Q", 2**62) + b"{}", "must be a safetensors file"),
    "weights.txt": (b"1 2 3", r"must be a \.json, \.npz or \.safetensors file"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_are_refused_in_one_line(tmp_path: Path, name: str) -> None:
    content, message = BAD_FILES[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInput, match=message) as refusal:
        load_weights(tmp_path / name)
    assert "\n" not in str(refusal.value)


def test_pickles_are_never_opened(tmp_path: Path) -> None:
    np.savez(tmp_path / "w.npz", Q1=np.array([[object()]], dtype=object))
    with pytest.raises(FileFormatError, match="plain arrays"):
        load_weights(tmp_path / "w.npz")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_none_is_refused_by_name(tmp_path: Path, bad: float) -> None:
    np.savez(tmp_path / "w.npz", Q1=np.array([[1.0]]), K1=np.array([[bad]]), V1=np.array([[1.0]]))
    with pytest.raises(BadInput, match=r"K1\[0, 0\] must be finite"):
        load_weights(tmp_path / "w.npz")


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"readable (regular )?file"):
        load_weights(tmp_path / "nothing.json")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(FileFormatError, match=r"readable (regular )?file"):
        load_weights(tmp_path / "folder.json")


def test_single_arrays_and_complex_numbers_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "w.npy", np.eye(2))
    (tmp_path / "w.npy").rename(tmp_path / "w.npz")
    with pytest.raises(FileFormatError, match="archive"):
        load_weights(tmp_path / "w.npz")
    np.savez(tmp_path / "c.npz", Q1=np.array([[1j]]), K1=np.array([[1.0]]), V1=np.array([[1.0]]))
    with pytest.raises(BadInput, match=r"Q1 must hold integers or floats.*c16"):
        load_weights(tmp_path / "c.npz")
    np.savez(tmp_path / "d.npz", Q1=np.array([["2026-01-01"]], dtype="M8[D]"), K1=np.eye(1), V1=np.eye(1))
    with pytest.raises(BadInput, match=r"Q1 must hold integers or floats.*M8"):
        load_weights(tmp_path / "d.npz")


def test_archives_that_are_not_what_they_say_are_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "member.npz", "w") as archive:
        archive.writestr(
            "Q1.npy", b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (2**64, 1)}"
        )
    with zipfile.ZipFile(tmp_path / "huge.npz", "w") as archive:
        archive.writestr("Q1.npy", b"")
        archive.infolist()[0].file_size = 2**40
    with zipfile.ZipFile(tmp_path / "locked.npz", "w") as archive:
        archive.writestr("Q1.npy", b"abc")
    locked = (tmp_path / "locked.npz").read_bytes()  # set the bit that says: encrypted
    where = locked.index(b"PK\x01\x02") + 8
    (tmp_path / "locked.npz").write_bytes(locked[:6] + b"\x01" + locked[7:where] + b"\x01" + locked[where + 1 :])
    for name in ("member.npz", "huge.npz", "locked.npz"):
        with pytest.raises(FileFormatError) as refusal:
            load_weights(tmp_path / name)
        assert "\n" not in str(refusal.value)


def test_numbers_too_long_for_a_file_are_not_written(tmp_path: Path) -> None:
    number: Any
    for number in (10**4200, Fraction(1, 10**4200), 10**5000):
        with pytest.raises(BadInput, match="at most 4000 digits"):
            save_weights(Weights.of({"Q1": [[number]], "K1": [[1]], "V1": [[1]]}), tmp_path / "w.json")
    assert list(tmp_path.iterdir()) == []


def test_matrices_alone_are_a_weight_file_too(tmp_path: Path) -> None:
    (tmp_path / "w.json").write_text('{"Q1": [[1, 2]], "K1": [[3, 1]], "V1": [["-2/3", 0]]}')
    assert load_weights(tmp_path / "w.json")["V1"].tolist() == [[Fraction(-2, 3), 0]]


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(FileFormatError, match="regular file"):
        load_weights(tmp_path / "pipe.json")


@pytest.mark.parametrize(("what", "value"), [("seed", -1), ("bound", -1), ("denominator", 0)])
def test_random_weights_say_what_they_need(what: str, value: int) -> None:
    with pytest.raises(BadInput, match=f"the {what} must be an integer of at least"):
        Weights.random(SMALL, **{what: value})  # type: ignore[arg-type]


def test_the_limits_of_a_shape_are_named() -> None:
    for widths, ranks, tokens, message in [
        ((2,), (), 1, "at least two sizes"),
        ((2, 0), (1,), 1, "positive integers, got 0"),
        ((2, -1), (1,), 1, "positive integers, got -1"),
        ((2, 2), (1, 1), 1, "1 in number"),
        ((2, 2), (1,), 0, "positive integers, got 0"),
        ((2, True), (1,), 1, "positive integers, got True"),
        ((2, 1.0), (1,), 1, "positive integers, got 1.0"),
        ("22", (1,), 1, "a sequence"),
    ]:
        with pytest.raises(ShapeError, match=message):
            Architecture(widths, ranks, tokens)  # type: ignore[arg-type]


def test_weights_have_one_network_for_each_number_of_tokens() -> None:
    """A question and what it asks share the tables that a network keeps; what is no number of tokens is refused."""
    w = Weights.random(SMALL)
    assert w.architecture(2) is w.architecture(2) == SMALL != w.architecture(3)
    for wrong in (True, 2.0, [2], 0):
        with pytest.raises(ShapeError, match="tokens"):
            w.architecture(wrong)  # type: ignore[arg-type]
