r"""Ranks over GF(p) of dense matrices, by elimination in float64 matrix products.

Rows are taken in panels. A panel is brought to reduced echelon form, $[\,I \mid V\,]$ up to the order of its columns;
the rows below lose their part in the pivot columns by one product, $A \leftarrow A - A_{\text{pivots}} V$. So there is
no triangular system to solve, and BLAS does nearly all the work. Within a panel it is the same with half of its rows,
and half of those, down to a few rows, where pivots are sought one by one.

No rank profile is assumed: a row less its part in the rows before it has a pivot, wherever that stands, or is zero.

Entries are integers in float64, exact below $2^{53}$, or for a small prime in float32, exact below $2^{24}$, which is
half the memory and half the time; below the panels they are not reduced modulo $p$ until as many products have been
added up as fit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from lightning_sym.errors import BadInput, ShapeError
from lightning_sym.exact.tiles import Floats, Tiles, limits_of, slices, tile_bytes
from lightning_sym.rings.prime_field import EXACT_PRODUCTS, MORE_PRIMES, SMALL_PRIMES
from lightning_sym.threads import threads_of_our_own

_Pivots = list[tuple[int, int]]
"""Row and column of each pivot."""


class Echelon(NamedTuple):
    """Where the pivots of a matrix stand: `matrix[pivot_rows][:, pivot_columns]` is invertible modulo `p`."""

    pivot_rows: npt.NDArray[np.int64]
    pivot_columns: npt.NDArray[np.int64]

    @property
    def rank(self) -> int:
        """Rank over GF(p), the number of pivots."""
        return len(self.pivot_rows)


def echelon_mod_p(
    matrix: npt.NDArray[np.generic],
    p: int,
    *,
    overwrite: bool = False,
    panel: int | None = None,
    base: int = 32,
    progress: Callable[[int], None] | None = None,
) -> Echelon:
    """Return the rank over GF(p) and pivots of a matrix of integers; `p` one of `MORE_PRIMES` or `SMALL_PRIMES`.

    The minor in the pivot rows and columns is not zero modulo `p`, so it is not zero over the integers either.

    Args:
        matrix: integers of any NumPy type, or integers below 2^52 in absolute value as floats.
        p: the prime.
        overwrite: work in place and destroy the matrix, if it is contiguous and float64, for a small prime float32;
            this takes 64 MiB more, and less than a tenth of a large matrix. Otherwise it is copied.
        panel: rows taken at once, at most 2,046, for a small prime 1,024.
        base: rows below which pivots are sought one by one.
        progress: called with the number of rows done; the first ones take longest.

    Raises:
        BadInput: the prime is not one of these, an entry no such integer, or a block size not possible.
        ShapeError: the matrix has not two axes.

    Example:
        >>> found = echelon_mod_p(np.array([[0, 0, 3], [0, 0, 5], [0, -7, 1]]), 4194301)
        >>> found.rank, found.pivot_rows.tolist(), found.pivot_columns.tolist()
        (2, [0, 2], [2, 1])
    """
    if p not in SMALL_PRIMES and p not in MORE_PRIMES:
        raise BadInput(f"the prime must be one of {SMALL_PRIMES + MORE_PRIMES}, got {p}")
    if matrix.ndim != 2:
        raise ShapeError(f"a matrix must have two axes, got {matrix.ndim}")
    kind, most = limits_of(p)
    if base < 1 or (panel is not None and not 1 <= panel <= most):
        raise BadInput(f"panels must have 1 to {most} rows, base blocks at least 1, got {panel} and {base}")
    transposed = matrix.flags.f_contiguous and not matrix.flags.c_contiguous
    source = matrix.T if transposed else matrix
    in_place = overwrite and source.dtype == kind and source.flags.c_contiguous and source.flags.writeable
    work = cast(Floats, source) if in_place else np.empty(source.shape, kind)
    if panel is None:
        panel = _panel(work.shape, base)
    with threads_of_our_own() as workers, Tiles(p, work.shape, workers) as tiles:
        tiles.load(source, work)
        pivots = _Elimination(tiles, base).pivots(work, panel, progress or (lambda rows: None))
    rows, columns = np.array(pivots, dtype=np.int64).reshape(-1, 2).T
    return Echelon(columns, rows) if transposed else Echelon(rows, columns)


def _panel(shape: tuple[int, ...], base: int) -> int:
    """Return the height of a panel: tall ones leave few passes below them, short ones little work within."""
    return min(480, max(base, min(shape) // 8))


def buffer_bytes(rows: int, columns: int, p: int) -> int:
    """Return what `echelon_mod_p` takes beside a matrix that it works on in place, at most.

    Example:
        >>> buffer_bytes(1000, 1000, 4194301) < 8 * 1000 * 1000 < buffer_bytes(1000, 1000, 4194301) * 2
        True
    """
    panel = _panel((rows, columns), 32)
    return limits_of(p).kind.itemsize * panel * (rows + columns) + tile_bytes(rows, columns, p)


def reduced_echelon_mod_p(matrix: npt.NDArray[np.generic], p: int) -> tuple[npt.NDArray[np.float64], Echelon]:
    """Return the reduced echelon form over GF(p): as many rows as the rank, each with a 1 in a pivot column of its own.

    Each pivot is the first entry that is not zero of a row less its part in the rows before it: if the rows are in
    general position these are the first columns that are independent.

    Args:
        matrix: integers, two axes, as for `echelon_mod_p`.
        p: one of `MORE_PRIMES`.

    Returns:
        Centred residues, a row for each pivot of the second, in the order of the pivot columns.

    Raises:
        BadInput: as `echelon_mod_p`; or there are more rows than the products of which stay exact.

    Example:
        >>> form, found = reduced_echelon_mod_p(np.array([[1, 1, 2], [2, 2, 5]]), 4194301)
        >>> form.tolist(), found.pivot_columns.tolist()
        ([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [0, 2])
    """
    if p not in MORE_PRIMES or matrix.ndim != 2 or len(matrix) > 2 * EXACT_PRODUCTS:
        raise BadInput(
            f"the matrix must have two axes and at most {2 * EXACT_PRODUCTS} rows, the prime be one of {MORE_PRIMES}"
        )
    work = np.empty(matrix.shape)
    with threads_of_our_own() as workers, Tiles(p, matrix.shape, workers) as tiles:
        tiles.load(matrix, work)
        tiles.reduce(work)
        found = _Elimination(tiles, 32).echelon(work) if work.size else []
    pivots = sorted(found, key=lambda pivot: pivot[1])
    rows, columns = np.array(pivots, dtype=np.int64).reshape(-1, 2).T
    return work[rows], Echelon(rows, columns)


class _Elimination:
    """The steps on a matrix of residues, which is destroyed."""

    def __init__(self, tiles: Tiles, base: int) -> None:
        self.tiles, self.p, self.base = tiles, tiles.p, min(base, tiles.tile[0])

    def pivots(self, work: Floats, panel: int, progress: Callable[[int], None]) -> _Pivots:
        """Return the pivots of all rows, each as its row and its column."""
        found: _Pivots = []
        label = np.arange(work.shape[1])  # of the columns, which move
        pending = 0  # products added to the entries below since they were reduced
        for start in range(0, len(work), panel):
            progress(start)
            active, names = work[start:, len(found) :], label[len(found) :]
            if not len(names):
                break
            block, below = active[:panel], active[panel:]
            if pending:
                self.tiles.reduce(block)
            pivots = self.echelon(block)
            if not pivots:
                continue
            columns = [column for _, column in pivots]
            found += [(start + row, int(names[column])) for row, column in pivots]
            multipliers = self.tiles.columns(below, columns)
            if pending:
                self.tiles.reduce(multipliers)
            # pivot columns are done with: the others that stand first move to the places of those that stand later
            rank = len(pivots)
            stay, free = sorted(set(range(rank)) - set(columns)), [column for column in columns if column >= rank]
            if stay:
                for rows in slices(len(active), 64):  # a copy of all of them would be as large as the multipliers
                    active[rows, free] = active[rows, stay]
                names[free] = names[stay]
            full = pending + rank + panel > self.tiles.products
            self.tiles.eliminate(below[:, rank:], multipliers, _rows(block, pivots)[:, rank:], reduce=full)
            del multipliers  # before there are new ones: they are large
            pending = 0 if full else pending + rank
        return found

    def echelon(self, block: Floats) -> _Pivots:
        """Bring residues to reduced echelon form; rows without a pivot become zero. The pivots, by row."""
        if len(block) <= self.base:
            return self.small_echelon(block)
        half = len(block) // 2
        top, bottom = block[:half], block[half:]
        above = self.echelon(top)
        self.clear(bottom, top, above)
        below = self.echelon(bottom)
        self.clear(top, bottom, below)
        return above + [(half + row, column) for row, column in below]

    def small_echelon(self, block: Floats) -> _Pivots:
        """Return pivots as `echelon` does: row operations are found on a few columns and applied to all."""
        live = list(range(len(block)))  # rows without a pivot
        width = len(block) + 8  # columns enough for all pivots, unless the matrix is special
        window = np.arange(min(width, block.shape[1]))
        pivots: _Pivots = []
        while True:
            operations, found = self.row_operations(block[:, window], live)
            if found:
                self.tiles.transform(block, operations)
            pivots += [(row, int(window[column])) for row, column in found]
            live = sorted(set(live) - {row for row, _ in found})
            nonzero = block[live] != 0
            live = [row for row, some in zip(live, nonzero.any(axis=1), strict=True) if some]
            if not live:
                return sorted(pivots)
            # the first entry of every row that is left: at least one is a pivot, in a sparse matrix many are
            first = nonzero.argmax(axis=1)[nonzero.any(axis=1)]
            window = np.union1d(first, np.arange(first.min(), min(first.min() + width, block.shape[1])))

    def row_operations(self, entries: Floats, live: list[int]) -> tuple[Floats, _Pivots]:
        """Return the matrix that brings the live rows to reduced echelon form and clears others in their pivots."""
        p, (height, width) = self.p, entries.shape
        both = np.zeros((height, width + height), dtype=np.int64)  # each pivot adds less than p^2: no overflow
        both[:, :width] = entries
        np.fill_diagonal(both[:, width:], 1)
        pivots: _Pivots = []
        for i in live:
            row = both[i] % p
            (places,) = row[:width].nonzero()
            if not len(places):
                continue
            pivot = int(places[0])
            row = row * pow(int(row[pivot]), -1, p) % p
            multipliers = both[:, pivot] % p
            multipliers[i] = 0
            both -= multipliers[:, None] * row
            both[i] = row
            pivots.append((i, pivot))
        both[:, width:] %= p  # as floats they are exact
        operations = both[:, width:].astype(self.tiles.kind)
        self.tiles.reduce(operations)
        return operations, pivots

    def clear(self, target: Floats, echelon: Floats, pivots: _Pivots) -> None:
        """Make the target zero in the pivot columns of rows in reduced echelon form."""
        if pivots:
            multipliers = self.tiles.columns(target, [column for _, column in pivots])
            self.tiles.eliminate(target, multipliers, _rows(echelon, pivots), reduce=True)


def _rows(block: Floats, pivots: _Pivots) -> Floats:
    """Return the rows with a pivot, without a copy where that is all of them."""
    return block if len(pivots) == len(block) else block[[row for row, _ in pivots]]
