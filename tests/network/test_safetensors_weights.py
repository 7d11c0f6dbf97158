"""Weights in safetensors: every byte belongs to one tensor, as the header says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from weight_bytes import refused, tensor, tensors

from lightning_sym import load_weights
from lightning_sym.errors import BadInput
from lightning_sym.network.readers.safetensors_file import read_safetensors


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
        (tensors({"Q1": tensor(0, 8, shape=(1,))}, bytes(8)), "must be a matrix"),
        (tensors({"Q1": tensor(0, 0, shape=(0, 1))}), "must be a matrix"),
        (tensors({"Q1": tensor(0, 1, kind="BOOL")}, bytes(1)), "got 'BOOL'"),
        (tensors({"Q1": tensor(0, 1, kind="F8_E4M3")}, bytes(1)), "got 'F8_E4M3'"),
        (tensors({"Q1": tensor(0, 8) | {"dtype": ["F64"]}}, bytes(8)), "got a list"),
        (tensors({"Q1": tensor(0, 8) | {"shape": [True, 1]}}, bytes(8)), "eight sizes"),
        (tensors({"Q1": tensor(0, 8) | {"shape": [1.0, 1]}}, bytes(8)), "eight sizes"),
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
