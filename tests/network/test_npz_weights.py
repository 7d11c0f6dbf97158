"""Weights in archives of arrays: plain ones only, and never expanded beyond the limits."""

from __future__ import annotations

import io
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from weight_bytes import HEADER, npy, npz, refused

from lightning_sym.network.readers.npz_file import read_npz


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
        (HEADER.replace(b"(1, 1)", b"(999999999, 999999999)"), "must be an .npz archive"),
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


@pytest.mark.parametrize(("matrices", "side"), [(21, 2000), (17, 2000)])
def test_an_archive_that_expands_is_refused_within_a_gibibyte(tmp_path: Path, matrices: int, side: int) -> None:
    zeros = npy(HEADER.replace(b"<f8", b"|i1").replace(b"1, 1", b"%d, %d" % (side, side)), bytes(side * side))
    names = [f"{letter}{i}.npy" for i in range(1, 8) for letter in "QKV"][:matrices]
    (tmp_path / "w.npz").write_bytes(npz(*((name, zeros) for name in names), how=zipfile.ZIP_DEFLATED))
    words = [sys.executable, "-c", SMALL_AND_LARGE, str(tmp_path / "w.npz")]
    result = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    assert "at most" in result.stdout
    assert result.stdout.count("\n") == 1
