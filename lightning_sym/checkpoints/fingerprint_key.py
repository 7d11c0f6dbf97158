"""A fingerprint as one line that can be looked up, and the search of a folder of fingerprints for such lines.

Two hexadecimal digits a part: the ends, the attention and the MLP of each layer. A digit is a mean of logarithms of the
part's invariants with fixed signs, cut into cells: locality-sensitive hashing by projections (Datar, Immorlica,
Indyk, Mirrokni 2004). No listed symmetry changes the invariants, so none changes the line, but for a number on the
border of a cell; rounding moves a number by far less than a cell, so by one at most. Lines that agree prove nothing,
and neither do lines that do not: `compare_fingerprints` proves.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from lightning_sym.display import Lines, Result
from lightning_sym.errors import BadInput

CELL = 1 / 64
"""Of a digit, in natural logarithms: a per cent and a half, where bfloat16 changes such means by a tenth of one."""
BLOCKS, DIGITS, CELLS = 8, 2, 16
FLOOR = 1 / 256
"""Numbers are taken with this share of the largest of their list added, so that those near 0 do not decide."""
BEGINNING = 2**16
"""Bytes of a file in which its key must stand; the numbers, which take megabytes, come behind."""
KEY = re.compile(r"f1-[0-9]+(?:x[0-9]+){3}-(?:[0-9a-f]{2}|--)+")
NEAR = 0.5
"""Share of equal parts from which on a fingerprint is told; where digits have nothing in common it is about 0.04."""

Numbers = npt.NDArray[np.float64]


def key_of(sizes: Iterable[int], parts: Iterable[list[Numbers]]) -> str:
    """Return the line of a network of these sizes: layers, width, heads and their width, then two digits a part.

    Example:
        >>> key_of((1, 8, 2, 4), [[np.array([3.0, 1.0])], [np.zeros(4)]])
        'f1-1x8x2x4-1d--'
    """
    return f"f1-{'x'.join(map(str, sizes))}-{''.join(map(_digits, parts))}"


def _digits(lists: list[Numbers]) -> str:
    """Return the digits of a part; `--` where all its numbers are 0, or there are none."""
    features = [_features(each.reshape(-1)) for each in lists if each.size and each.max() > 0]
    if not features:
        return "--"
    line = np.concatenate(features)
    return "".join(f"{int(np.floor(_signs(len(line), k) @ line / CELL)) % CELLS:x}" for k in range(DIGITS))


def _features(numbers: Numbers) -> Numbers:
    """Return the means of the logarithms of some in order, the largest first, however many there are."""
    ordered = np.sort(numbers)[::-1]
    logs: Numbers = np.log(ordered + FLOOR * ordered[0])
    return np.array([block.mean() for block in np.array_split(logs, min(BLOCKS, len(logs)))])


def _signs(size: int, which: int) -> Numbers:
    """Return signs that are the same on every machine, over the root of how many there are."""
    bits = "".join(
        f"{byte:08b}" for byte in hashlib.sha256(f"fingerprint key {which}".encode()).digest() * (size // 256 + 1)
    )
    return np.array([1.0 if bit == "1" else -1.0 for bit in bits[:size]]) / math.sqrt(size)


def shared_parts(first: str, second: str) -> float:
    """Return the share of the parts of two keys whose digits are equal or neighbours; 0 for networks of other sizes.

    Raises:
        BadInput: one of them is no key.

    Example:
        >>> shared_parts("f1-1x8x2x4-0f3a77--", "f1-1x8x2x4-ff3b17--")
        0.6666666666666666
    """
    for key in (first, second):
        if KEY.fullmatch(key) is None:
            raise BadInput(f"a key must be of the form f1-LAYERSxWIDTHxHEADSxHEADWIDTH-DIGITS, got {key[:80]!r}")
    (_, sizes, one), (_, others, two) = first.split("-", 2), second.split("-", 2)
    if sizes != others or len(one) != len(two):
        return 0.0
    parts = [(one[i : i + DIGITS], two[i : i + DIGITS]) for i in range(0, len(one), DIGITS)]
    there = [pair for pair in parts if "--" not in pair]
    return sum(all(map(_near, *pair)) for pair in there) / len(there) if there else 0.0


def _near(first: str, second: str) -> bool:
    """Return whether two digits are equal or neighbours, the last one and the first among them."""
    return (int(first, CELLS) - int(second, CELLS) + 1) % CELLS <= 2


@dataclass(frozen=True)
class SimilarFingerprint:
    """A fingerprint in a folder.

    Attributes:
        file: which.
        checkpoint: what it is of, as it was called.
        share: of the parts of both keys that agree, from 0 to 1.
    """

    file: str
    checkpoint: str
    share: float


@dataclass(frozen=True, repr=False)
class FingerprintSearch(Result):
    """What is like a checkpoint in a folder of fingerprints.

    Attributes:
        checkpoint: how it was called.
        key: its line.
        found: those of whose parts half or more agree, those with most first.
        searched: how many fingerprints there were.
    """

    checkpoint: str
    key: str
    found: tuple[SimilarFingerprint, ...]
    searched: int

    def lines(self) -> Lines:
        """Return the key, and one line a fingerprint."""
        lines = [("checkpoint", self.checkpoint), ("key", self.key), ("searched", f"{self.searched:,} fingerprints")]
        lines += [("like", f"{each.share:.0%} of the parts: {each.checkpoint}, {each.file}") for each in self.found]
        return lines if self.found else [*lines, ("like", "none")]


def scan(checkpoint: str, key: str, folder: str | os.PathLike[str]) -> FingerprintSearch:
    """Search the fingerprints of a folder, files of `circuits --fingerprint --json`, for those like one.

    Args:
        checkpoint: what is looked for, in words.
        key: its line, `Fingerprint.key`.
        folder: where.

    Raises:
        BadInput: it is no folder, or a `.json` file in it is no fingerprint with a key.

    Example:
        >>> import tempfile
        >>> from lightning_sym import fingerprint
        >>> from lightning_sym.testing import small_checkpoint
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     scan("a small one", fingerprint(small_checkpoint("llama")).key, folder).searched
        0
    """
    there = keys_of(folder)
    told = [SimilarFingerprint(file, name, shared_parts(key, theirs)) for file, name, theirs in there]
    near = sorted((each for each in told if each.share >= NEAR), key=lambda each: (-each.share, each.file))
    return FingerprintSearch(checkpoint, key, tuple(near), len(there))


def keys_of(folder: str | os.PathLike[str]) -> list[tuple[str, str, str]]:
    """Return the file, the name and the key of each fingerprint of a folder.

    Raises:
        BadInput: as for `scan`.
    """
    place = Path(folder)
    if not place.is_dir():
        raise BadInput(f"fingerprints must be in a folder, got {str(place)!a}")
    return list(_keys(sorted(place.glob("*.json"))))


def _keys(files: Iterable[Path]) -> Iterator[tuple[str, str, str]]:
    """Yield file, name and key of each fingerprint, of which only the beginning is read."""
    for path in files:
        try:
            with path.open("rb") as file:
                start = file.read(BEGINNING).decode("utf-8", errors="replace").partition('"numbers"')[0]
        except OSError as error:
            raise BadInput(f"{path.name}: it must be readable: {error.strerror}") from error
        told = {name: re.search(rf'"{name}": ("(?:[^"\\]|\\.)*")', start) for name in ("checkpoint", "key")}
        name, key = (json.loads(one[1]) if one else "" for one in told.values())
        if KEY.fullmatch(key) is None:
            raise BadInput(
                f"{path.name}: it must be a fingerprint with a key, as `circuits --fingerprint --json` writes"
            )
        yield path.name, name, key
