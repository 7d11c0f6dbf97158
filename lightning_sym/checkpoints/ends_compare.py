"""What stands before and behind the layers, of both: compared in floats and exactly, some rows at a time.

With `u` the same vector in all rows where there are learned positions, and 0 where there are none:

    embedding  E' - c E R^T - u,    positions  P' - c P R^T + u,    unembedding  U' diag(g') - U diag(g) R^T,
    and the constant part of the logits, U' b' - U b,

the first two up to multiples of the vector of ones with LayerNorm, and the third too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from lightning_sym.checkpoints.bases import StreamMap
from lightning_sym.checkpoints.equations import common, modulo_ones, rational, stream_fails, two_of_three
from lightning_sym.checkpoints.exact_compare import held, settled
from lightning_sym.checkpoints.exact_rings import Residues, Size, primes_for
from lightning_sym.checkpoints.layer_fit import floats
from lightning_sym.checkpoints.model import CheckpointForm, Ends
from lightning_sym.checkpoints.stream_fit import CHUNK
from lightning_sym.checkpoints.units import DEFAULT_UNITS, Worst, unit_at, without_gain
from lightning_sym.errors import TooLarge

Told = Callable[[int, int], None]
"""Told how many rows of how many are done."""


@dataclass(eq=False)
class EndsFound:
    """What was found outside the layers.

    Attributes:
        tensors: the largest difference of each, by piece.
        exact: whether they were compared exactly.
        equal: all equations hold exactly, where they were compared so.
        shift: what every row of the embedding has in excess, and every row of the positions lacks, in floats.
    """

    tensors: dict[str, Worst] = field(default_factory=dict)
    exact: bool = False
    equal: bool = True
    shift: Any = None


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
    if _all_equal(first, second, form, stream):
        return EndsFound({name: Worst() for name, *_ in _added(first, second)}, exact=True)
    primes = _primes(first, second, form, stream) if stream.exact else None
    shift, lost = _fitted_shift(first, second, form, stream, stored)
    found = EndsFound(exact=primes is not None, shift=shift)
    shifts = {p: _common_shift(first, second, form, stream, p) for p in primes or ()}
    for name, old, new, sign in _added(first, second):
        worst = found.tensors.setdefault(name, Worst())
        for start in range(0, len(new), CHUNK):
            rows = slice(start, start + CHUNK)
            tell(start, len(new))
            difference = partial(_added_difference, old[rows], new[rows], sign, form, stream)
            unit = unit_at(np.maximum(np.abs(new[rows]).max(axis=1, keepdims=True), lost), stored(name))
            mask = None
            if primes is not None:
                mask = _equal_floats(old[rows], new[rows], stream, shifts)
                mask = _mask(difference, shifts, form.norm == "layer") if mask is None else mask
            found.equal &= mask is not None and not mask.any()
            worst.add(np.asarray(difference(floats, shift)), unit, new[rows], start, mask)
        worst.look_at_columns(stored(name))
    _compare_logits(first, second, form, stream, stored, found, shifts, shift, tell)
    return found


def _all_equal(first: Ends, second: Ends, form: CheckpointForm, stream: StreamMap) -> bool:
    """Whether floats say that everything is the first's, moved, with other signs, and times a short factor."""
    tied = second.unembedding is None
    if not stream.exact or tied != (first.unembedding is None):
        return False
    if not _carried_norm(first, second, stream, tied, form.width):
        return False
    pairs = [(old, new, stream) for _, old, new, _ in _added(first, second)]
    if not tied:
        pairs.append((first.unembedding, second.unembedding, replace(stream, scale=Fraction(1))))
    return all(
        _equal_floats(old[start : start + CHUNK], new[start : start + CHUNK], by, {}) is not None
        for old, new, by in pairs
        for start in range(0, len(new), CHUNK)
    )


def _added_difference(old: Any, new: Any, sign: int, form: CheckpointForm, stream: StreamMap, of: Any, u: Any) -> Any:
    """Some rows of the embedding or of the positions, less what the symmetry makes of the first's."""
    found = of(new) - stream.along(of(old), of)
    found = found if u is None else found - u if sign > 0 else found + u
    return modulo_ones(found, 1) if form.norm == "layer" else found


def _equal_floats(old: Any, new: Any, stream: StreamMap, shifts: dict[int, Any]) -> Any:
    """No entry, where floats say that all rows are equal: nothing but signs and a short factor is multiplied."""
    if stream.order is None or any(u is not None and u.nonzero().any() for u in shifts.values()):
        return None
    scale = rational(stream.scale)
    if not held([old, new], [scale]):
        return None
    equal = np.array_equal(floats(new), stream.along(floats(old), floats))
    return np.zeros(new.shape, dtype=bool) if equal else None


def _carried_norm(first: Ends, second: Ends, stream: StreamMap, tied: bool, width: int) -> bool:
    """Whether the final norm is the first's carried along, so that equal rows of the unembedding say all.

    Tied, the rows are `c` times as long, and the norm is divided by it.
    """
    if stream.order is None:
        return False
    by = rational(stream.scale if tied else Fraction(1))
    signs = 1.0 if stream.signs is None else floats(stream.signs)
    pairs = (
        (first.final_gain, second.final_gain, 1.0),
        (_bias(first, width), _bias(second, width), signs),
    )
    short = all(held([old, new], [by]) for old, new, _ in pairs)
    return short and all(
        np.array_equal(floats(new) * by.floats, floats(old)[stream.order] * sign) for old, new, sign in pairs
    )


def _modulo(prime: int) -> Callable[[Any], Residues]:
    return lambda array: Residues.of(array, prime)


def _mask(difference: Callable[[Any, Any], Residues], shifts: dict[int, Any], centred: bool) -> Any:
    """Where a difference is not zero modulo one of the primes; of rows of which a multiple of ones was taken out."""
    found: Any = False
    for prime, shift in shifts.items():
        found = difference(_modulo(prime), shift).nonzero() | found
    if any(shift is not None for shift in shifts.values()):
        found = settled(found, 0)  # what the first rows have in common is no shift where others do not have it
    return settled(found, 1) if centred else found


def _added(first: Ends, second: Ends) -> Iterator[tuple[str, Any, Any, int]]:
    yield "embedding", first.embedding, second.embedding, 1
    if first.positions is not None and second.positions is not None:
        yield "positions", first.positions, second.positions, -1


def _common_shift(first: Ends, second: Ends, form: CheckpointForm, stream: StreamMap, prime: int) -> Any:
    """What all rows of the embedding have in excess, if positions can take it up: told by the first rows."""
    if first.positions is None or (first.unembedding is None and second.unembedding is None):
        return None
    found = _added_difference(first.embedding[:3], second.embedding[:3], 1, form, stream, _modulo(prime), None)
    return Residues(two_of_three(np.mod(found.entries, prime)), prime)


def _fitted_shift(
    first: Ends, second: Ends, form: CheckpointForm, stream: StreamMap, stored: Callable[[str], str]
) -> tuple[Any, Any]:
    """The same in floats, and the size of what roundings make of it: nothing, or what one of the two tensors tells.

    What leaves the fewest of the first rows off is taken; nothing, and then the smaller tensor, where it is as good.
    """
    if first.positions is None or (first.unembedding is None and second.unembedding is None):
        return None, 0.0
    told, excesses = [], []
    for name, old, new, sign in _added(first, second):
        rows = floats(new[:CHUNK])
        excess = sign * _added_difference(old[:CHUNK], new[:CHUNK], sign, form, stream, floats, None)
        told.append((common(excess, 0)[0], np.sqrt(np.square(rows).sum(axis=0)) / len(rows)))
        excesses.append((excess, unit_at(np.abs(rows).max(axis=1, keepdims=True), stored(name))))

    def off(guess: tuple[Any, Any]) -> float:
        return sum(float((np.abs(e - guess[0]) > DEFAULT_UNITS * unit).any(axis=1).mean()) for e, unit in excesses)

    told.sort(key=lambda guess: float(guess[1].max()))
    return min([(np.zeros(form.width), 0.0), *told], key=off)


def _last(ends: Ends) -> Any:
    return ends.embedding if ends.unembedding is None else ends.unembedding


def _bias(ends: Ends, width: int) -> Any:
    return np.zeros(width, dtype=np.float32) if ends.final_bias is None else ends.final_bias


def _read(of: Any, unembedding: Any, ends: Ends, width: int) -> tuple[Any, Any]:
    """Rows of the unembedding with the gain, and what they make of the bias."""
    return unembedding * of(ends.final_gain), unembedding @ of(_bias(ends, width)).reshape(-1, 1)


def _compare_logits(
    first: Ends,
    second: Ends,
    form: CheckpointForm,
    stream: StreamMap,
    stored: Any,
    found: EndsFound,
    shifts: dict[int, Any],
    shift: Any,
    tell: Told,
) -> None:
    """The unembedding with its norm. Where it is tied, what differs in the embedding was told there and is left out."""
    tied = second.unembedding is None
    gain, bias = np.asarray(second.final_gain, np.float64), np.asarray(_bias(second, form.width), np.float64)
    reader, constant = Worst(), Worst()
    columns, rows_off = np.zeros(form.width, dtype=np.int64), 0
    total, new_total, read_total = np.zeros(form.width), np.zeros(form.width), np.zeros(form.width)
    old_rows, new_rows = _last(first), _last(second)
    kind = stored("embedding" if tied else "unembedding")
    carried = bool(shifts) and _carried_norm(first, second, stream, tied and first.unembedding is None, form.width)
    carried &= tied == (first.unembedding is None)
    by = stream if tied else replace(stream, scale=Fraction(1))
    for start in range(0, len(new_rows), CHUNK):
        rows = slice(start, start + CHUNK)
        tell(start, len(new_rows))
        new = np.asarray(new_rows[rows], dtype=np.float64)

        def differences(of: Any, u: Any, rows: slice = rows) -> tuple[Any, Any]:
            unembedding = of(new_rows[rows])
            if tied:
                unembedding = unembedding - _added_difference(
                    first.embedding[rows], new_rows[rows], 1, form, stream, of, u
                )
            read, added = _read(of, unembedding, second, form.width)
            old_read, old_added = _read(of, of(old_rows[rows]), first, form.width)
            difference = read - stream.back(old_read, of)
            return (modulo_ones(difference, 1) if form.norm == "layer" else difference), added - old_added

        read, added = differences(floats, shift)
        masks: list[Any] = [None, None]
        if carried and (equal := _equal_floats(old_rows[rows], new_rows[rows], by, shifts)) is not None:
            masks = [equal, np.zeros((len(equal), 1), dtype=bool)]
        for prime, u in shifts.items() if masks[0] is None else ():
            both = [part.nonzero() for part in differences(_modulo(prime), u)]
            masks = both if masks[0] is None else [a | b for a, b in zip(masks, both, strict=True)]
        if form.norm == "layer" and masks[0] is not None:
            masks[0] = settled(masks[0], 1)
        found.equal &= masks[0] is not None and not masks[0].any() and not masks[1].any()
        read = without_gain(read, new, gain)
        if not tied and bias.any():
            made = (read @ bias)[:, None]
            explained = np.abs(added - made) <= PROPORTIONAL * np.abs(made)
            added = np.where(explained, 0.0, added)
            masks[1] = None if masks[1] is None else masks[1] & ~explained
        reader.add(read, unit_at(np.abs(new).max(axis=1, keepdims=True), kind), new, start, masks[0])
        before = np.asarray(old_rows[rows], dtype=np.float64), np.asarray(_bias(first, form.width), np.float64)
        size = np.sqrt(np.maximum(*(x**2 @ (b**2)[:, None] for x, b in (before, (new, bias)))))
        constant.add(np.asarray(added), unit_at(size, kind), added, start, masks[1])
        off = (np.abs(read) > 0) if masks[0] is None else masks[0]
        columns, rows_off = columns + off.sum(axis=0), rows_off + len(off)
        total, new_total = total + (read * new).sum(axis=0), new_total + (new * new).sum(axis=0)
        read_total = read_total + (read * read).sum(axis=0)
    off = (columns > 0.5 * rows_off) & (gain != 0)
    name = "final_gain" if tied else "unembedding"
    reader.look_at_columns(kind)
    factor = total / np.maximum(new_total, 1e-300)
    follows = read_total - factor * total <= PROPORTIONAL**2 * read_total
    if off.any() and off.mean() < 0.5 and columns[~off].sum() == 0 and follows[off].all() and shifts:
        name, reader = "final_gain", Worst()
        reader.add(np.where(off, gain * factor, 0.0), unit_at(gain, stored("final_gain")), gain, mask=off)
    elif tied and reader.entry is not None:
        reader.entry = reader.entry[1:]
    found.tensors[name] = reader
    if second.final_bias is not None or first.final_bias is not None:
        constant.entry = None
        constant.differing = min(constant.differing, form.width)
        found.tensors["final_bias"] = constant


PROPORTIONAL = 1e-3
"""How well the constant part must follow what differs in the unembedding, to be told as the same difference."""


def _primes(first: Ends, second: Ends, form: CheckpointForm, stream: StreamMap) -> tuple[int, ...] | None:
    """Primes enough for all these equations; `None` if the guess is no symmetry, or numbers are too long."""
    inner = float(np.log2(form.width))

    def size(array: Any) -> Size:
        return Size.of(array, inner)

    parts = []
    for _, old, new, _ in _added(first, second):
        difference = size(new) - stream.along(size(old), size)
        parts += [difference, difference + difference + difference + difference]
    for ends_, back in ((first, True), (second, False)):
        rows = size(_last(ends_))
        rows = rows if back else rows + parts[1]
        read, added = _read(size, rows, ends_, form.width)
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
