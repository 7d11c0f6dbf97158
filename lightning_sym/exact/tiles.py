"""Residues modulo a prime in blocks of floats: products and reductions, a tile at a time, on all threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lightning_sym.errors import BadInput
from lightning_sym.rings.prime_field import PRIMES, SMALL_PRIMES
from lightning_sym.threads import threads

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

Floats = npt.NDArray[np.floating]


class Limits(NamedTuple):
    """The type of entries, and how many products of residues are added to one before it is reduced again."""

    kind: np.dtype[np.floating]
    products: int


_LARGE, _SMALL = Limits(np.dtype(np.float64), 2046), Limits(np.dtype(np.float32), 1024)

for _primes, _limits in ((PRIMES, _LARGE), (SMALL_PRIMES, _SMALL)):
    _residue = (max(_primes) + 3) // 2  # rounding may leave a residue two past (p - 1) / 2
    # not an assert: it must hold under -O too
    if _residue + _limits.products * _residue**2 + _residue >= 2 ** (np.finfo(_limits.kind).nmant + 1):
        raise AssertionError("products of residues would not be exact in floats")


def limits_of(p: int) -> Limits:
    """Return entries and products for a prime: of float32 for a small one.

    Example:
        >>> limits_of(251)
        Limits(kind=dtype('float32'), products=1024)
    """
    return _SMALL if p in SMALL_PRIMES else _LARGE


_TILE = 512, 2**13
"""Rows and columns of a product: tall and wide enough for BLAS."""

_STRIP = 2**14
"""Entries reduced at once: they stay in the innermost caches."""

_BLAS_ALONE = 2**18
"""Multiplications in a product for which OpenBLAS starts no threads."""

_THREADS_FROM, _SHARED_FROM = 2**20, 2**18
"""Entries of a matrix from which threads are started, and entries read in a step from which they share it."""


def tile_bytes(rows: int, columns: int, p: int) -> int:
    """Return what the products of all threads take for a matrix of this shape, and what they are reduced in."""
    workers = threads() if rows * columns >= _THREADS_FROM else 1
    entries = min(_TILE[0], rows) * min(_TILE[1], columns) + 4 * _STRIP
    return workers * entries * limits_of(p).kind.itemsize


class _Buffers:
    """What one thread works in."""

    def __init__(self, p: int, entries: int) -> None:
        self.p, kind = p, limits_of(p).kind
        self.product, self.quotient = np.empty(entries, kind), np.empty(_STRIP, kind)

    def multiply(self, left: Floats, right: Floats) -> Floats:
        """Return `left @ right` in the buffer, exact and not reduced."""
        shape = left.shape[0], right.shape[1]
        return np.matmul(left, right, out=self.product[: shape[0] * shape[1]].reshape(shape))

    def reduce(self, block: Floats) -> None:
        """Put centred residues in place of integers that the type has exactly."""
        for i in slices(len(block), max(1, _STRIP // max(1, block.shape[1]))):
            for j in slices(block.shape[1], _STRIP):
                part = block[i, j]
                quotient = self.quotient[: part.size].reshape(part.shape)
                np.multiply(part, 1 / self.p, out=quotient)
                np.rint(quotient, out=quotient)
                np.multiply(quotient, self.p, out=quotient)
                np.subtract(part, quotient, out=part)


_Part = tuple[slice, slice]


def _pool(workers: int) -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor  # here: small ranks have no use for it, and it takes long to load

    return ThreadPoolExecutor(workers)


class Tiles:
    """Steps of an elimination on blocks of one matrix, shared by threads where they are large.

    Args:
        p: the prime, one of `MORE_PRIMES` or `SMALL_PRIMES`.
        shape: of the matrix.
        workers: threads that may be started, none of them for a small matrix.
    """

    def __init__(self, p: int, shape: tuple[int, ...], workers: int) -> None:
        self.p, (self.kind, self.products) = p, limits_of(p)
        self.tile = max(1, min(_TILE[0], shape[0])), max(1, min(_TILE[1], shape[1]))
        self.workers = workers if shape[0] * shape[1] >= _THREADS_FROM else 1
        self._narrow = workers == 1 and threads() > 1  # BLAS has threads of its own
        self._free: SimpleQueue[_Buffers] = SimpleQueue()
        for _ in range(self.workers):
            self._free.put(_Buffers(p, self.tile[0] * self.tile[1]))
        self._pool = _pool(self.workers) if self.workers > 1 else None

    def __enter__(self) -> Tiles:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def _each(self, work: Callable[[_Buffers, slice, slice], None], parts: Sequence[_Part], entries: int) -> None:
        """Do the work for all parts, in whatever order."""

        def one(part: _Part) -> None:
            buffers = self._free.get()
            try:
                work(buffers, *part)
            finally:
                self._free.put(buffers)

        if self._pool is None or entries < _SHARED_FROM:
            for part in parts:
                one(part)
        else:
            for _ in self._pool.map(one, parts):
                pass

    def _parts(self, block: Floats, inner: int) -> list[_Part]:
        """Return the tiles of a product with this inner dimension; several for each thread."""
        (height, width), (rows, columns) = block.shape, self.tile
        rows = min(rows, max(1, height))
        if self._narrow:  # in small products threads of BLAS would wait for each other more than work
            narrow = _BLAS_ALONE // (rows * max(1, inner))
            columns = min(narrow, columns) if narrow >= 64 else columns
        elif self._pool is not None:
            columns = min(columns, max(256, -(-width * -(-height // rows) // (4 * self.workers))))
        return [(i, j) for i in slices(height, rows) for j in slices(width, columns)]

    def load(self, source: npt.NDArray[Any], work: Floats) -> None:
        """Load the residues of the source into `work`, which may be the same array.

        Raises:
            BadInput: an entry is no integer, or too large for its type to have all integers.
        """
        floats = source.dtype in (np.float64, np.float32)
        if not floats and source.dtype.kind not in "iu":
            raise BadInput(f"a matrix over GF(p) must be made of integers, got an array of {source.dtype}")
        exact = 2 ** np.finfo(self.kind).nmant
        most = 2 ** np.finfo(source.dtype).nmant if floats else 0

        height = max(1, _STRIP // max(1, source.shape[1]))

        def fill(buffers: _Buffers, many: slice, every: slice) -> None:
            for few in slices(many.stop - many.start, height):
                rows = slice(many.start + few.start, many.start + few.stop)
                part = source[rows]
                largest = max(abs(part.max().item()), abs(part.min().item()))
                if floats and not (largest < most and (part == np.rint(part)).all()):
                    raise BadInput("the entries of a matrix of floats over GF(p) must be integers below 2^52")
                work[rows] = part if largest < exact else np.mod(part, self.p)
                if largest > self.p // 2:
                    buffers.reduce(work[rows])

        if source.size:
            self._each(fill, [(i, slice(None)) for i in slices(len(source), _TILE[0])], source.size)

    def eliminate(self, target: Floats, multipliers: Floats, rows: Floats, *, reduce: bool) -> None:
        """Carry out `target -= multipliers @ rows`, with the product of a tile at a time."""

        def subtract(buffers: _Buffers, i: slice, j: slice) -> None:
            target[i, j] -= buffers.multiply(multipliers[i], rows[:, j])
            if reduce:
                buffers.reduce(target[i, j])

        self._each(subtract, self._parts(target, len(rows)), target.size * (1 + len(rows) // 64))

    def transform(self, block: Floats, operations: Floats) -> None:
        """Replace `block` by `operations @ block`, reduced."""

        def replace(buffers: _Buffers, i: slice, j: slice) -> None:
            block[:, j] = buffers.multiply(operations, block[:, j])
            buffers.reduce(block[:, j])

        self._each(replace, self._parts(block, len(block)), block.size)

    def reduce(self, block: Floats) -> None:
        """Put centred residues in place of integers that the type has exactly."""
        self._each(lambda buffers, i, j: buffers.reduce(block[i, j]), self._parts(block, 1), block.size)

    def columns(self, block: Floats, columns: Sequence[int]) -> Floats:
        """Return a copy of some columns, a few rows at a time: NumPy runs down one column after the other."""
        copy = np.empty((len(block), len(columns)), block.dtype)

        def fill(buffers: _Buffers, rows: slice, every: slice) -> None:
            copy[rows] = block[rows][:, columns]

        self._each(fill, [(i, slice(None)) for i in slices(len(block), 64)], copy.size)
        return copy


def slices(length: int, size: int) -> Iterator[slice]:
    """Return slices of at most this size, one after the other."""
    return (slice(start, min(start + size, length)) for start in range(0, length, size))
