"""What stands before and behind the layers, of both: compared in floats and exactly, some rows at a time.

With `u` the same vector in all rows where there are learned positions, and 0 where there are none:

    embedding  E' - c E R^T - u,    positions  P' - c P R^T + u,    unembedding  U' diag(g') - U diag(g) R^T,
    and the constant part of the logits, U' b' - U b,

the first two up to multiples of the vector of ones with LayerNorm, and the third too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lightning_sym.checkpoints.equations import StreamMap, modulo_ones, stream_fails
from lightning_sym.checkpoints.exact_rings import Floats, Residues, Size, primes_for
from lightning_sym.checkpoints.layer_fit import floats
from lightning_sym.checkpoints.model import CheckpointForm, Ends
from lightning_sym.checkpoints.stream_fit import CHUNK
from lightning_sym.checkpoints.units import unit_at
from lightning_sym.errors import TooLarge

Told = Callable[[int, int], None]
"""Told how many rows of how many are done."""


@dataclass(eq=False)
class Worst:
    """The largest difference of one tensor, gathered over its parts."""

    units: float = 0.0
    entry: tuple[int, ...] | None = None
    difference: float = 0.0
    differing: int = 0
    rows: list[Floats] = field(default_factory=list)

    @property
    def typical(self) -> float:
        """The median over rows of their largest differences, in units."""
        return float(np.median(np.concatenate(self.rows))) if self.rows else 0.0

    def add(self, differences: Floats, unit: Any, start: int = 0, mask: Any = None) -> None:
        """Look at some rows, the first of which is row `start`."""
        if mask is not None:
            self.differing += int(mask.sum())
            differences = np.where(mask, differences, 0.0)
        off = np.abs(differences) / unit
        self.rows.append(off.reshape(len(off), -1).max(axis=1, initial=0))
        if off.size and (largest := float(np.nan_to_num(off, nan=np.inf).max())) > self.units:
            index = np.unravel_index(int(off.argmax()), off.shape)
            self.units, self.difference = largest, float(differences[index])
            self.entry = (int(index[0]) + start, *map(int, index[1:]))


@dataclass(frozen=True, eq=False)
class EndsFound:
    """What was found outside the layers.

    Attributes:
        tensors: the largest difference of each, by piece.
        exact: whether they were compared exactly.
    """

    tensors: dict[str, Worst] = field(default_factory=dict)
    exact: bool = False


def compare_ends(
    first: Ends, second: Ends, form: CheckpointForm, stream: StreamMap, stored: Callable[[str], str], tell: Told
) -> EndsFound:
    """Compare under a stream map.

    Args:
        first, second: the ends; one may be tied where the other is not.
        form: of the second.
        stream: what was done to the stream.
        stored: by piece, the type whose units count.
        tell: is told how far the rows are.
    """
    primes = _primes(first, second, form, stream) if stream.exact else None
    found = EndsFound(exact=primes is not None)
    shift = _common_shift(first, second, form, stream, floats)
    shifts = {p: _common_shift(first, second, form, stream, _modulo(p)) for p in primes or ()}
    for name, old, new, sign in _added(first, second):
        worst = found.tensors.setdefault(name, Worst())
        for start in range(0, len(new), CHUNK):
            rows = slice(start, start + CHUNK)
            tell(start, len(new))

            def difference(of: Any, u: Any, old: Any = old[rows], new: Any = new[rows], sign: int = sign) -> Any:
                found = of(new) - stream.along(of(old), of)
                found = found if u is None else found - u if sign > 0 else found + u
                return modulo_ones(found, 1) if form.norm == "layer" else found

            unit = unit_at(np.abs(new[rows]).max(axis=1, keepdims=True), stored(name))
            mask = None if primes is None else _mask(lambda p, f=difference: f(_modulo(p), shifts[p]), primes)
            worst.add(np.asarray(difference(floats, shift)), unit, start, mask)
    _compare_logits(first, second, form, stream, stored, found, primes, tell)
    return found


def _modulo(prime: int) -> Callable[[Any], Residues]:
    return lambda array: Residues.of(array, prime)


def _mask(difference: Callable[[int], Residues], primes: tuple[int, ...]) -> Any:
    found: Any = False
    for prime in primes:
        found = difference(prime).nonzero() | found
    return found


def _added(first: Ends, second: Ends) -> Iterator[tuple[str, Any, Any, int]]:
    yield "embedding", first.embedding, second.embedding, 1
    if first.positions is not None and second.positions is not None:
        yield "positions", first.positions, second.positions, -1


def _common_shift(first: Ends, second: Ends, form: CheckpointForm, stream: StreamMap, of: Any) -> Any:
    """What all rows of the embedding have in excess, if positions can take it up: told by the first rows."""
    if first.positions is None:
        return None
    rows = 3 if of is not floats else CHUNK
    old, new = first.embedding[:rows], second.embedding[:rows]
    found = of(new) - stream.along(of(old), of)
    found = modulo_ones(found, 1) if form.norm == "layer" else found
    if isinstance(found, Residues):
        a, b, c = (np.mod(found.entries[i % len(new)], found.prime) for i in range(3))
        common = np.where(b == c, found.entries[1 % len(new)], found.entries[0])
        return Residues(np.where((a == b) | (a == c), found.entries[0], common), found.prime)
    return np.median(found, axis=0)


def _last(ends: Ends) -> Any:
    return ends.embedding if ends.unembedding is None else ends.unembedding


def _bias(ends: Ends, width: int) -> Any:
    return np.zeros(width, dtype=np.float32) if ends.final_bias is None else ends.final_bias


def _read(of: Any, rows: Any, ends: Ends, width: int) -> tuple[Any, Any]:
    """Rows of the unembedding with the gain, and what they make of the bias."""
    unembedding = of(rows)
    return unembedding * of(ends.final_gain), unembedding @ of(_bias(ends, width)).reshape(-1, 1)


def _compare_logits(
    first: Ends, second: Ends, form: CheckpointForm, stream: StreamMap, stored: Any, found: EndsFound, primes: Any, tell: Told
) -> None:
    tied = second.unembedding is None
    gain, bias = np.asarray(second.final_gain, np.float64), np.asarray(_bias(second, form.width), np.float64)
    reader, constant = Worst(), Worst()
    columns, rows_off = np.zeros(form.width, dtype=np.int64), 0
    total, new_total = np.zeros(form.width), np.zeros(form.width)
    old_rows, new_rows = _last(first), _last(second)
    kind = stored("embedding" if tied else "unembedding")
    for start in range(0, len(new_rows), CHUNK):
        rows = slice(start, start + CHUNK)
        tell(start, len(new_rows))
        new = np.asarray(new_rows[rows], dtype=np.float64)

        def differences(of: Any, rows: slice = rows) -> tuple[Any, Any]:
            read, added = _read(of, new_rows[rows], second, form.width)
            old_read, old_added = _read(of, old_rows[rows], first, form.width)
            difference = read - stream.back(old_read, of)
            return (modulo_ones(difference, 1) if form.norm == "layer" else difference), added - old_added

        read, added = differences(floats)
        masks: list[Any] = [None, None]
        if primes is not None:
            both = {p: differences(_modulo(p)) for p in primes[:1]}
            masks = [both[primes[0]][i].nonzero() for i in (0, 1)]
            for prime in primes[1:]:
                masks = [part.nonzero() | mask for part, mask in zip(differences(_modulo(prime)), masks, strict=True)]
        read = read / np.where(gain == 0, np.abs(gain).max(initial=1e-300), gain)
        reader.add(read, unit_at(np.abs(new).max(axis=1, keepdims=True), kind), start, masks[0])
        size = np.linalg.norm(new, axis=1, keepdims=True) * np.linalg.norm(bias)
        constant.add(np.asarray(added), unit_at(size, kind), start, masks[1])
        off = (np.abs(read) > 0) if masks[0] is None else masks[0]
        columns, rows_off = columns + off.sum(axis=0), rows_off + len(off)
        total, new_total = total + (read * new).sum(axis=0), new_total + (new * new).sum(axis=0)
    off = columns > 0.5 * rows_off
    name = "final_gain" if tied else "unembedding"
    if tied and primes is not None and found.tensors["embedding"].differing and not off.any():
        reader = Worst()  # the rows of the embedding that differ, seen once more
        constant = Worst() if constant.differing <= found.tensors["embedding"].differing else constant
    if off.any() and off.mean() < 0.5 and columns[~off].sum() == 0 and primes is not None:
        name, wrong = "final_gain", gain * total / np.maximum(new_total, 1e-300)
        reader = Worst()
        unit = unit_at(np.abs(gain).max(initial=0), stored("final_gain"))
        reader.add(np.where(off, wrong, 0.0), unit, mask=off)
    elif tied and reader.entry is not None:
        reader.entry = reader.entry[1:]
    found.tensors[name] = reader
    if not tied:
        found.tensors.setdefault("final_gain", Worst())
    if second.final_bias is not None or first.final_bias is not None:
        constant.entry = None
        constant.differing = min(constant.differing, form.width)
        found.tensors["final_bias"] = constant


def _primes(first: Ends, second: Ends, form: CheckpointForm, stream: StreamMap) -> tuple[int, ...] | None:
    """Primes enough for all these equations; `None` if the guess is no symmetry of the norms, or numbers are too long."""
    inner = float(np.log2(form.width))

    def size(array: Any) -> Size:
        return Size.of(array, inner)

    parts = []
    for _, old, new, _ in _added(first, second):
        difference = size(new) - stream.along(size(old), size)
        parts += [difference, difference + difference + difference + difference]
    for ends_, back in ((first, True), (second, False)):
        read, added = _read(size, _last(ends_), ends_, form.width)
        parts += [stream.back(read, size) if back else read, added]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole + part
    fails = stream_fails(size, stream, form.norm == "layer")
    try:
        primes = primes_for(max([whole.bits + 8, *(part.bits for part in fails)]))
    except TooLarge:
        return None
    for prime in primes:
        if any(part.nonzero().any() for part in stream_fails(_modulo(prime), stream, form.norm == "layer")):
            return None
    return primes


