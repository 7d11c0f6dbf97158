"""Damaged files of every kind that is read, made from good ones: refused in one line, or read; never anything else.

    python tests/attack/damage.py --count 10000 --seed 1

For each kind of file so many are damaged at random (bytes, lengths, structure) and read, under ten seconds and one
gibibyte. Prints the outcomes; exits with 1 if there was a fault. The same numbers give the same files.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from good_files import (
    Random,
    good_baseline,
    good_certificate,
    good_config,
    good_json,
    good_map,
    good_tensors,
    matrices,
    npz,
    safetensors,
)
from watched import report, run_watched

from lightning_sym import load_weights
from lightning_sym.errors import BadInput
from lightning_sym.network import model_config
from lightning_sym.varieties.map_input import map_of, read_document, shape_of
from lightning_sym.varieties.membership import recover
from proofs_check.baseline import read_baseline
from proofs_check.checker import verify


def damaged_bytes(rng: Random, content: bytes) -> bytes:
    """A few bytes changed, left out, repeated or cut off."""
    data = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 5, 20])):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(6):
            case 0:
                data[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                data[at : at + 1] = bytes([data[at] ^ (1 << rng.randrange(8))]) if at < len(data) else b"\0"
            case 2:
                del data[at : at + rng.choice([1, 2, 8, 100])]
            case 3:
                data[at:at] = data[at : at + rng.choice([1, 4, 40])] * rng.choice([1, 2, 1000])
            case 4:
                data[at : at + 8] = rng.choice([b"\xff" * 8, b"\0" * 8, b"\x7f" + b"\xff" * 3, b"\0" * 7 + b"\x40"])
            case _:
                del data[at:]
    return bytes(data)


def strange(rng: Random) -> Any:
    """Values that nobody expects."""
    return rng.choice([
        None, True, False, 0, -1, 1.5, "", "x", "1/0", "-2/3/4", "1e999999999", "1e-999999999", "1e-3999", "9" * 4000,
        "9" * 5000, 10**4000, 2**63, 2**64, float("nan"), float("inf"), [], {}, [[]], [[[]]], [[1], [1, 2]], "\ud800",
        "é" * 50, "Q1\n", [0] * 10_000, [[]] * 50_000, {str(i): i for i in range(5_000)}, [18446744073709551615, 2],
        "F64", "BOOL", "1 2", "+1", "١", "0x10", " 1", "1_000", "1.", ".5", "--1", ["1e-3999"] * 3_000,
        "x_1_1^3", "x_1_1^1000000000", "x_1_1**999999999999", "x_1_1*" * 50_000 + "1", "-" * 3000, "((((", "Q1_1_1",
        "1/0*x_1_1^3", "x_1_1^3 + " * 50_000 + "0", "x_1_1^-3", "x_1_1 x_1_1", "nan", "0.5*x_1_1^3", "x_\u0661_1^3",
    ])  # fmt: skip


def damaged_value(rng: Random, value: Any) -> Any:
    """A JSON value with one place changed."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(list(value))
        match rng.randrange(8):
            case 0:
                return {k: v for k, v in value.items() if k != key}
            case 1:
                return {(rng.choice(["foo", "", "Q0", "Q1.1", "E", "form", key * 99]) if k == key else k): v
                        for k, v in value.items()}  # fmt: skip
            case 2:
                return value | {rng.choice(["form", "mask", "schema", "__metadata__", "foo", "Q9"]): strange(rng)}
            case _:
                return value | {key: damaged_value(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.8:
        at = rng.randrange(len(value))
        match rng.randrange(6):
            case 0:
                return value[:at] + value[at + 1 :]
            case 1:
                return value * rng.choice([2, 100])
            case _:
                return [*value[:at], damaged_value(rng, value[at]), *value[at + 1 :]]
    return strange(rng)


def damaged_text(rng: Random, value: Any) -> bytes:
    """A JSON text: of a changed value, or with changed bytes, or both."""
    if rng.random() < 0.6:
        value = damaged_value(rng, value)
    text = json.dumps(value, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
    match rng.randrange(12):
        case 0:
            text = b"\xef\xbb\xbf" + text
        case 1:
            text = text.decode("utf-8", "replace").encode("utf-16")
        case 2:
            at = rng.randrange(len(text) + 1)
            text = text[:at] + rng.choice([b"[", b'{"a":', b"[[],"]) * rng.choice([10, 990, 100_000]) + text[at:]
        case 3:
            text = text.replace(b'"K1"', b'"Q1"')
        case 4 | 5 | 6:
            text = damaged_bytes(rng, text)
    return text


HEADERS = (
    b"if 1:\n    x\n  y", b"{'descr': (('<f8',(1,)),), 'fortran_order': False, 'shape': (1, 2), }",
    b"{'descr': (), 'fortran_order': False, 'shape': (1, 2), }", b"{'descr': '<f8', 'fortran_order': False, 'shape': (",
    b"{'descr': '''<f8, 'fortran_order': False, 'shape': (1, 2), }", b"(" * 3000, b"{" + b" " * 4000, b"\xff" * 100,
    b"{'descr': '|O', 'fortran_order': False, 'shape': (1, 2), }", b"9" * 4000, b"-" * 4000, b"'" + b"\\" * 3000,
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999, 99999999999), }", b"[" * 90 + b"]" * 90,
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 2), }", b"{[]: 1}", b"{'descr': '<f8'}", b"",
    b"{'descr': '<U999999', 'fortran_order': False, 'shape': (), }", b"{'descr': 1, 'shape': 3}",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (2000, 2000), }",
)  # fmt: skip


def damaged_header(rng: Random) -> Callable[[bytes], bytes]:
    """What happens to each member of an archive."""

    def change(member: bytes) -> bytes:
        match rng.randrange(4):
            case 0:
                return damaged_bytes(rng, member)
            case 1:
                text = rng.choice(HEADERS)
                return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + member[128:]
            case 2:
                zeros = b"{'descr': '|i1', 'fortran_order': False, 'shape': (150, 150), }"
                return b"\x93NUMPY\x01\x00" + len(zeros).to_bytes(2, "little") + zeros + b"\0" * 22_500
            case _:
                return member

    return change


def damaged_npz(rng: Random) -> bytes:
    """An archive with changed headers, or changed bytes, or both."""
    if rng.random() < 0.02:  # small, and large when it is opened
        return npz(rng, {f"Q{i}": [[0] * 300] * 300 for i in range(1, rng.randint(2, 6))})
    content = npz(rng, matrices(rng), damaged_header(rng) if rng.random() < 0.4 else bytes)
    return damaged_bytes(rng, content) if rng.random() < 0.8 else content


def damaged_safetensors(rng: Random) -> bytes:
    """A file with a changed header, a changed length, changed bytes, or all of these."""
    header, data = good_tensors(rng)
    length = rng.choice([0, 1, 2**62, 2**64 - 1, 2**31]) if rng.random() < 0.03 else None
    text = damaged_text(rng, header) if rng.random() < 0.6 else json.dumps(header).encode()
    content = safetensors(text, data, length)
    return damaged_bytes(rng, content) if rng.random() < 0.5 else content


def read_config(path: Path) -> None:
    """What `dimension --config` reads."""
    model_config.model_of(model_config.read(str(path)), attention_only=True)


def read_map(path: Path) -> None:
    """What `recover` does with it."""
    document = read_document(path.read_bytes())
    recover(map_of(document, shape_of(document)), work=2)


def read_known(path: Path) -> None:
    """What `check --baseline` reads."""
    read_baseline(str(path), ["equation-9"])


def check_certificate(path: Path) -> None:
    """What the checker does with it; only a refusal in its own words is one."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = verify.main([str(path)])
    if code:
        raise BadInput(said.getvalue().strip())


KINDS: dict[str, tuple[str, Callable[[Random], bytes], Callable[[Path], object]]] = {
    "json": ("w.json", lambda rng: damaged_text(rng, good_json(rng)), load_weights),
    "npz": ("w.npz", damaged_npz, load_weights),
    "safetensors": ("w.safetensors", damaged_safetensors, load_weights),
    "config": ("config.json", lambda rng: damaged_text(rng, good_config(rng)), read_config),
    "map": ("map.json", lambda rng: damaged_text(rng, good_map(rng)), read_map),
    "baseline": ("baseline.json", lambda rng: damaged_text(rng, good_baseline(rng)), read_known),
    "certificate": ("certificate.json", lambda rng: damaged_text(rng, good_certificate(rng)), check_certificate),
}


def task(kind: str, seed: int, folder: Path) -> Callable[[int], tuple[str, str]]:
    """Case `n`: make the file, read it."""
    name, make, read = KINDS[kind]

    def case(number: int) -> tuple[str, str]:
        path = folder / name
        path.write_bytes(make(Random(f"{kind} {seed} {number}")))
        try:
            read(path)
        except BadInput as error:
            line = str(error)
            if "\n" in line or len(line) > 1000:
                return "refused", f"not one short line: {line[:200]!a}"
            return "refused", ""
        return "read", ""

    return case


def main() -> int:
    """Whether there was a fault."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="files of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    parser.add_argument("--kind", choices=KINDS, action="append")
    words = parser.parse_args()
    fine = True
    with tempfile.TemporaryDirectory() as folder:
        for kind in words.kind or KINDS:
            findings = run_watched(task(kind, words.seed, Path(folder)), words.first, words.count)
            fine &= report(kind, findings, f"python tests/attack/damage.py --seed {words.seed} --kind {kind}")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
