r"""Ranks over GF(p) of dense matrices, by elimination in float64 matrix products.

Rows are taken in panels. A panel is brought to reduced echelon form, $[\,I \mid V\,]$ up to the order of its columns;
the rows below lose their part in the pivot columns by one product, $A \leftarrow A - A_{\text{pivots}} V$. So there is
no triangular system to solve, and BLAS does nearly all the work. Within a panel it is the same with half of its rows,
and half of those, down to a few rows, where pivots are sought one by one.

No rank profile is assumed: a row less its part in the rows before it has a pivot, wherever that stands, or is zero.

Entries are integers in float64, exact below $2^{53}$; below the panels they are not reduced modulo $p$ until as many
products have been added up as fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lightning_sym.errors import BadInput, ShapeError
from lightning_sym.rings.prime_field import MORE_PRIMES, PRIMES

_Floats = npt.NDArray[np.float64]
_Pivots = list[tuple[int, int]]
"""Row and column of each pivot."""

_RESIDUE = (max(PRIMES) + 3) // 2  # rounding may leave a residue two past (p - 1) / 2
_PRODUCTS = 2046  # so many are added to a residue before it is reduced again
if _RESIDUE + _PRODUCTS * _RESIDUE**2 + _RESIDUE >= 2**53:  # not an assert: it must hold under -O too
    raise AssertionError("products of residues would not be exact in float64")

_TILE_ROWS, _TILE_SIZE = 1024, 2**23  # of a product, 64 MiB: tall and wide enough for BLAS
_ONE_THREAD = 2**18  # multiplications in a product for which OpenBLAS starts no threads
_STRIP = 2**14  # entries reduced at once: they stay in the innermost caches


@dataclass(frozen=True)
class Echelon:
    """Where the pivots of a matrix stand: `matrix[pivot_rows][:, pivot_columns]` is invertible modulo `p`."""

    pivot_rows: npt.NDArray[np.int64]
    pivot_columns: npt.NDArray[np.int64]

    @property
    def rank(self) -> int:
        """Rank over GF(p), the number of pivots."""
        return len(self.pivot_rows)


def echelon_mod_p(
    matrix: npt.NDArray[Any],
    p: int,
    *,
    overwrite: bool = False,
    panel: int | None = None,
    base: int = 32,
    progress: Callable[[int], None] | None = None,
) -> Echelon:
    """Rank over GF(p) and pivots of a matrix of integers, of any shape; `p` one of `MORE_PRIMES`.

    The minor in the pivot rows and columns is not zero modulo `p`, so it is not zero over the integers either.

    Args:
        matrix: integers of any NumPy type, or integers below 2^52 in absolute value as float64.
        p: the prime.
        overwrite: work in place and destroy the matrix, if it is contiguous and float64; this takes 64 MiB more, and
            less than a tenth of a large matrix. Otherwise it is copied.
        panel: rows taken at once, at most 2,046.
        base: rows below which pivots are sought one by one.
        progress: called with the number of rows done; the first ones take longest.

    Raises:
        BadInput: the prime is not one of `MORE_PRIMES`, an entry no such integer, or a block size not possible.
        ShapeError: the matrix has not two axes.

    Example:
        >>> found = echelon_mod_p(np.array([[0, 0, 3], [0, 0, 5], [0, -7, 1]]), PRIMES[0])
        >>> found.rank, found.pivot_rows.tolist(), found.pivot_columns.tolist()
        (2, [0, 2], [2, 1])
    """
    if p not in MORE_PRIMES:
        raise BadInput(f"the prime must be one of {MORE_PRIMES}, got {p}")
    if matrix.ndim != 2:
        raise ShapeError(f"a matrix must have two axes, got {matrix.ndim}")
    if base < 1 or (panel is not None and not 1 <= panel <= _PRODUCTS):
        raise BadInput(f"panels must have 1 to {_PRODUCTS} rows, base blocks at least 1, got {panel} and {base}")
    transposed = matrix.flags.f_contiguous and not matrix.flags.c_contiguous
    source = matrix.T if transposed else matrix
    in_place = overwrite and source.dtype == np.float64 and source.flags.c_contiguous and source.flags.writeable
    work = source if in_place else np.empty(source.shape)
    if panel is None:  # tall panels leave few passes over what is below them, short ones little work within
        panel = min(480, max(base, min(work.shape) // 8))
    elimination = _Elimination(p, base, work.shape)
    elimination.load(source, work)
    pivots = elimination.pivots(work, panel, progress or (lambda rows: None))
    rows, columns = np.array(pivots, dtype=np.int64).reshape(-1, 2).T
    return Echelon(columns, rows) if transposed else Echelon(rows, columns)


def reduced_echelon_mod_p(matrix: npt.NDArray[Any], p: int) -> tuple[_Floats, Echelon]:
    """The reduced echelon form over GF(p): as many rows as the rank, each with a 1 in a pivot column of its own.

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
        >>> form, found = reduced_echelon_mod_p(np.array([[1, 1, 2], [2, 2, 5]]), PRIMES[0])
        >>> form.tolist(), found.pivot_columns.tolist()
        ([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [0, 2])
    """
    if p not in MORE_PRIMES or matrix.ndim != 2 or len(matrix) > 2 * _PRODUCTS:
        raise BadInput(
            f"the matrix must have two axes and at most {2 * _PRODUCTS} rows, the prime be one of {MORE_PRIMES}"
        )
    elimination = _Elimination(p, 32, matrix.shape)
    work = np.empty(matrix.shape)
    elimination.load(matrix, work)
    elimination.reduce(work)
    pivots = sorted(elimination.echelon(work), key=lambda pivot: pivot[1]) if work.size else []
    rows, columns = np.array(pivots, dtype=np.int64).reshape(-1, 2).T
    return work[rows], Echelon(rows, columns)


class _Elimination:
    """The prime, and the buffers that all steps share."""

    def __init__(self, p: int, base: int, shape: tuple[int, ...]) -> None:
        height = max(1, min(_TILE_ROWS, shape[0]))
        self.p, self.base = p, min(base, height)
        width = max(1, min(_TILE_SIZE // height, shape[1]))
        self.tile, self.product = (height, width), np.empty(height * width)
        self.quotient = np.empty(_STRIP)

    def load(self, source: npt.NDArray[Any], work: _Floats) -> None:
        """Residues of the source into `work`, which may be the same array."""
        floats = source.dtype == np.float64
        if not floats and source.dtype.kind not in "iu":
            raise BadInput(f"a matrix over GF(p) must be made of integers, got an array of {source.dtype}")
        height = max(1, _STRIP // max(1, source.shape[1]))
        for start in range(0, len(source) if source.size else 0, height):
            part = source[start : start + height]
            largest = max(abs(part.max().item()), abs(part.min().item()))
            if floats and not (largest < 2**52 and (part == np.rint(part)).all()):
                raise BadInput("the entries of a float64 matrix over GF(p) must be integers below 2^52")
            work[start : start + height] = part if largest < 2**52 else np.mod(part, self.p)
            if largest > self.p // 2:
                self.reduce(work[start : start + height])

    def pivots(self, work: _Floats, panel: int, progress: Callable[[int], None]) -> _Pivots:
        """Pivots of a matrix of residues, which is destroyed."""
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
                self.reduce(block)
            pivots = self.echelon(block)
            if not pivots:
                continue
            columns = [column for _, column in pivots]
            found += [(start + row, int(names[column])) for row, column in pivots]
            multipliers = _columns(below, pivots)
            if pending:
                self.reduce(multipliers)
            # pivot columns are done with: the others that stand first move to the places of those that stand later
            rank = len(pivots)
            stay, free = sorted(set(range(rank)) - set(columns)), [column for column in columns if column >= rank]
            if stay:
                active[:, free] = active[:, stay]
                names[free] = names[stay]
            pending += rank
            full = pending + panel > _PRODUCTS
            self.eliminate(below[:, rank:], multipliers, _rows(block, pivots)[:, rank:], reduce=full)
            del multipliers  # before there are new ones: they are large
            if full:
                pending = 0
        return found

    def echelon(self, block: _Floats) -> _Pivots:
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

    def small_echelon(self, block: _Floats) -> _Pivots:
        """As `echelon`: the row operations are found on a few columns and applied to all."""
        live = list(range(len(block)))  # rows without a pivot
        width = len(block) + 8  # columns enough for all pivots, unless the matrix is special
        window = np.arange(min(width, block.shape[1]))
        pivots: _Pivots = []
        while True:
            operations, found = self.row_operations(block[:, window], live)
            for j in _slices(block.shape[1] if found else 0, self.width(len(block), len(block))):
                block[:, j] = self.multiply(operations, block[:, j])
                self.reduce(block[:, j])
            pivots += [(row, int(window[column])) for row, column in found]
            live = sorted(set(live) - {row for row, _ in found})
            nonzero = block[live] != 0
            live = [row for row, some in zip(live, nonzero.any(axis=1), strict=True) if some]
            if not live:
                return sorted(pivots)
            # the first entry of every row that is left: at least one is a pivot, in a sparse matrix many are
            first = nonzero.argmax(axis=1)[nonzero.any(axis=1)]
            window = np.union1d(first, np.arange(first.min(), min(first.min() + width, block.shape[1])))

    def row_operations(self, entries: _Floats, live: list[int]) -> tuple[_Floats, _Pivots]:
        """The matrix that brings the live rows to reduced echelon form and clears the other rows in their pivots."""
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
        operations = both[:, width:].astype(np.float64)
        self.reduce(operations)
        return operations, pivots

    def clear(self, target: _Floats, echelon: _Floats, pivots: _Pivots) -> None:
        """Make the target zero in the pivot columns of rows in reduced echelon form."""
        if pivots:
            multipliers = _columns(target, pivots)
            self.eliminate(target, multipliers, _rows(echelon, pivots), reduce=True)

    def eliminate(self, target: _Floats, multipliers: _Floats, rows: _Floats, *, reduce: bool) -> None:
        """`target -= multipliers @ rows`, with the product of a tile at a time."""
        for i in _slices(len(target), self.tile[0]):
            for j in _slices(target.shape[1], self.width(min(len(target), self.tile[0]), len(rows))):
                target[i, j] -= self.multiply(multipliers[i], rows[:, j])
                if reduce:
                    self.reduce(target[i, j])

    def width(self, height: int, inner: int) -> int:
        """Columns of the products to form; in small products threads would wait for each other more than work."""
        width = _ONE_THREAD // (height * inner)
        return min(width, self.tile[1]) if width >= 64 else self.tile[1]

    def multiply(self, left: _Floats, right: _Floats) -> _Floats:
        """`left @ right`, exact and not reduced, in the shared buffer."""
        shape = left.shape[0], right.shape[1]
        return np.matmul(left, right, out=self.product[: shape[0] * shape[1]].reshape(shape))

    def reduce(self, block: _Floats) -> None:
        """Centred residues in place of integers below 2^53 in absolute value."""
        for i in _slices(len(block), max(1, _STRIP // max(1, block.shape[1]))):
            for j in _slices(block.shape[1], _STRIP):
                part = block[i, j]
                quotient = self.quotient[: part.size].reshape(part.shape)
                np.multiply(part, 1 / self.p, out=quotient)
                np.rint(quotient, out=quotient)
                np.multiply(quotient, self.p, out=quotient)
                np.subtract(part, quotient, out=part)


def _slices(length: int, size: int) -> Iterator[slice]:
    return (slice(start, min(start + size, length)) for start in range(0, length, size))


def _rows(block: _Floats, pivots: _Pivots) -> _Floats:
    """The rows with a pivot, without a copy where that is all of them."""
    return block if len(pivots) == len(block) else block[[row for row, _ in pivots]]


def _columns(block: _Floats, pivots: _Pivots) -> _Floats:
    """A copy of the columns with a pivot, a few rows at a time: NumPy runs down one column after the other."""
    columns = [column for _, column in pivots]
    copy = np.empty((len(block), len(columns)))
    for i in _slices(len(block), 64):
        copy[i] = block[i][:, columns]
    return copy
