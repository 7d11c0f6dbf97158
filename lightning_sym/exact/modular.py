"""Exact linear algebra modulo a prime, by flint; large ranks by `elimination`; where there is one by a `kernel`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

import numpy as np
import numpy.typing as npt
from flint import fmpz_mat, nmod_mat

from lightning_sym.errors import BadInput
from lightning_sym.lazy import lazy_imports
from lightning_sym.rings.arrays import Plain, two_axes
from lightning_sym.rings.prime_field import MORE_PRIMES, PRIMES, SMALL_PRIMES

with lazy_imports(__name__):  # what small matrices do not need
    from lightning_sym.exact import elimination, kernel

_SMALL = 80
"""Rows and columns up to which flint is faster, the copy into its own matrix included."""

_COMPILED = 600 * 600
"""Entries up to which a kernel's elimination row by row is faster than one in blocks."""

_KERNEL_TYPES = (np.dtype(np.float64), np.dtype(np.int64))


def entries_for(p: int) -> np.dtype[np.number]:
    """Return the type of entries in which ranks of large matrices modulo `p` are found without a copy.

    Example:
        >>> entries_for(4194301).name, entries_for(251).name in ("float32", "int8")  # int8 with a kernel
        ('float64', True)
    """
    if p not in SMALL_PRIMES:
        return np.dtype(np.float64)
    return np.dtype(np.int8 if _has_fast_bytes() else np.float32)


def buffer_bytes_for(rows: int, columns: int, p: int) -> int:
    """Return what finding the rank of such a matrix takes beside it, at most, if it may be overwritten.

    Example:
        >>> buffer_bytes_for(8000, 8000, 4194301) < 8 * 8000 * 8000
        True
    """
    if p in SMALL_PRIMES and _has_fast_bytes():
        return kernel.buffer_bytes(rows, columns)
    return elimination.buffer_bytes(rows, columns, p)


def _has_fast_bytes() -> bool:
    return kernel.COMPILED is not None and kernel.COMPILED.has_fast_bytes


def rank_mod_p(
    matrix: npt.NDArray[np.generic], p: int, *, overwrite: bool = False, progress: Callable[[int], None] | None = None
) -> int:
    """Return the rank over GF(p) of an integer matrix: a lower bound for the rational rank, never an upper one.

    Args:
        matrix: integers, of a type of NumPy's or as floats.
        p: a prime; for those of `PRIMES` large matrices are fast, for those of `SMALL_PRIMES` twice as fast.
        overwrite: a large matrix may be destroyed, to save memory.
        progress: called with the number of rows done, if there are many.

    Example:
        >>> rank_mod_p(np.array([[1, 2], [3, 1]]), 5), rank_mod_p(np.array([[1, 2], [3, 1]]), 7)
        (1, 2)
    """
    rows, columns = two_axes(matrix)
    if (compiled := kernel.COMPILED) is not None and (p in MORE_PRIMES or p in SMALL_PRIMES) and matrix.dtype != object:
        if matrix.size <= _COMPILED and matrix.dtype in _KERNEL_TYPES:
            return compiled.rank(matrix, p)
        if p in SMALL_PRIMES and compiled.has_fast_bytes:
            given = matrix.dtype == np.int8
            numbers = cast(npt.NDArray[np.int8], matrix) if given else _as_bytes(matrix, p)
            return compiled.rank_of_bytes(numbers, p, overwrite=overwrite or not given, progress=progress)
    if (p in PRIMES or p in SMALL_PRIMES) and max(rows, columns) > _SMALL:
        return elimination.echelon_mod_p(matrix, p, overwrite=overwrite, progress=progress).rank
    if matrix.dtype.kind == "f":
        require_integers(matrix)
        matrix = matrix.astype(np.int64)
    return int(_flint(matrix, p).rank())


def require_integers(matrix: npt.NDArray[np.generic]) -> None:
    """Refuse floats that are no integers, or too large for all integers near them to be floats.

    Raises:
        BadInput: an entry is none.

    Example:
        >>> require_integers(np.array([[1.0, 2.0]]))
    """
    if matrix.dtype.kind == "f" and not ((abs(matrix) < 2**52).all() and (matrix == np.rint(matrix)).all()):
        raise BadInput("the entries of a matrix of floats over GF(p) must be integers below 2^52")


def _as_bytes(matrix: npt.NDArray[np.generic], p: int) -> npt.NDArray[np.int8]:
    """Return centred residues of integers modulo a prime below 2^8, made a few rows at a time."""
    if matrix.dtype.kind not in "iuf":
        raise BadInput(f"a matrix over GF(p) must be made of integers, got an array of {matrix.dtype}")
    result = np.empty(matrix.shape, dtype=np.int8)
    for start in range(0, len(matrix), 64):
        part = matrix[start : start + 64]
        require_integers(part)
        residues = np.mod(part, p).astype(np.int64)
        result[start : start + 64] = np.where(residues > p // 2, residues - p, residues)
    return result


def ranks_mod_p(matrices: npt.NDArray[np.int64], p: int) -> npt.NDArray[np.int64]:
    """Return the ranks over GF(p) of many small integer matrices at once, for a small prime `p`.

    Their shape is `n x rows x columns`.

    Example:
        >>> ranks_mod_p(np.array([[[1, 2], [3, 1]], [[0, 0], [0, 5]]]), 5).tolist()
        [1, 0]
    """
    # the matrices side by side in the smallest type that holds what is reduced
    kind = next(k for k in (np.uint8, np.uint16, np.uint32, np.uint64) if p * (p - 1) <= np.iinfo(k).max)
    work = np.ascontiguousarray(np.moveaxis(np.mod(matrices, p).astype(kind), 0, -1))
    rows, columns, count = work.shape
    minus_inverse = np.array([0] + [p - pow(x, -1, p) for x in range(1, p)], dtype=kind)
    ranks = np.zeros(count, dtype=np.int64)
    for column in range(columns if rows else 0):
        first, rest = work[:, column], work[:, column + 1 :]
        pivot = (first != 0).argmax(axis=0)[None]
        scale = minus_inverse[np.take_along_axis(first, pivot, axis=0)]  # zero where there is no pivot
        ranks += scale[0] != 0
        row = _reduced_in_place(np.take_along_axis(rest, pivot[None], axis=0) * scale, p)
        rest += first[:, None] * row  # the row of the pivot becomes zero with the others
        _reduced_in_place(rest, p)
    return ranks


def _reduced_in_place(numbers: npt.NDArray[np.unsignedinteger], p: int) -> npt.NDArray[np.unsignedinteger]:
    """Return the numbers modulo `p`, reduced in place: several times faster than NumPy's remainder."""
    numbers -= numbers // p * p
    return numbers


def row_basis_mod_p(matrix: npt.NDArray[np.int64], p: int) -> npt.NDArray[np.int64]:
    """Return a basis of the row space over GF(p), in reduced echelon form, one vector a row.

    Example:
        >>> row_basis_mod_p(np.array([[2, 4], [1, 2]]), 7).tolist()
        [[1, 2]]
    """
    columns = two_axes(matrix)[1]
    echelon, found = _flint(matrix, p).rref()
    if found == columns:
        return np.eye(columns, dtype=np.int64)
    entries = [int(x) for x in echelon.entries()[: found * columns]]
    return np.array(entries, dtype=np.int64).reshape(found, columns)


def _flint(matrix: npt.NDArray[np.generic], p: int) -> nmod_mat:
    """Return the matrix, of integers, as flint holds it: by way of integers, as residues it takes twice the time."""
    rows, columns = two_axes(matrix)
    return nmod_mat(fmpz_mat(matrix.tolist()), p) if matrix.size else nmod_mat(rows, columns, p)


def pivots_mod_p(matrix: npt.NDArray[np.int64], p: int) -> tuple[list[int], list[int]]:
    """Return rows and columns of a largest minor that is not zero modulo `p`, one of `PRIMES`; as many as the rank.

    Example:
        >>> pivots_mod_p(np.array([[0, 0, 0], [0, 2, 4], [0, 1, 2], [0, 0, 3]]), 4194301)
        ([1, 3], [1, 2])
    """
    found = elimination.echelon_mod_p(matrix, p)
    return sorted(found.pivot_rows.tolist()), sorted(found.pivot_columns.tolist())


def null_space_mod_p(matrix: npt.NDArray[np.int64], p: int) -> npt.NDArray[np.int64]:
    """Return a basis of `{v : matrix v = 0}` over GF(p), one vector a row.

    Example:
        >>> null_space_mod_p(np.array([[1, 2, 3]]), 7).tolist()
        [[5, 1, 0], [4, 0, 1]]
    """
    return null_space_of_echelon(row_basis_mod_p(matrix, p), p)


def null_space_of_echelon(basis: npt.NDArray[np.int64], p: int) -> npt.NDArray[np.int64]:
    """Return the same of a matrix that is in reduced echelon form, without rows of zeros: read off.

    Example:
        >>> null_space_of_echelon(np.array([[1, 2, 3]]), 7).tolist()
        [[5, 1, 0], [4, 0, 1]]
    """
    rank, columns = basis.shape
    if rank == columns:
        return np.zeros((0, columns), dtype=np.int64)
    if not rank:
        return np.eye(columns, dtype=np.int64)
    pivots, rest = (basis != 0).argmax(axis=1), np.ones(columns, dtype=bool)
    rest[pivots] = False
    (free,) = rest.nonzero()
    result = np.zeros((columns - rank, columns), dtype=np.int64)
    result[np.arange(columns - rank), free] = 1
    result[:, pivots] = -basis[:, free].T % p
    return result


def null_space_of_rank(matrix: npt.NDArray[np.int64], rank: int, p: int) -> Iterator[npt.NDArray[np.int64]]:
    """Yield the null space of a matrix, if it has this rank over GF(p); else nothing.

    Example:
        >>> [found.tolist() for rank in (1, 2) for found in null_space_of_rank(np.array([[1, 2]]), rank, 7)]
        [[[5, 1]]]
    """
    # a large rank is found much faster than flint is handed the matrix
    if rank <= min(matrix.shape) and (max(matrix.shape) <= _SMALL or rank_mod_p(matrix, p) == rank):
        found = null_space_mod_p(matrix, p)
        if matrix.shape[1] - len(found) == rank:
            yield found


def independent_columns(matrix: Plain, p: int) -> npt.NDArray[np.int64]:
    """Return columns that are independent over GF(p), as many as the rank, in order; `p` one of `MORE_PRIMES`.

    Example:
        >>> independent_columns(np.array([[0, 1, 2], [0, 2, 4]]), 4194301).tolist()
        [1]
    """
    rows, columns = two_axes(matrix)
    if max(rows, columns) > _SMALL or not matrix.size:
        return np.sort(elimination.echelon_mod_p(matrix, p).pivot_columns)
    echelon, found = _flint(matrix.astype(np.int64), p).rref()
    if found == columns:
        return np.arange(columns)
    first, column = np.empty(found, dtype=np.int64), 0
    for row in range(found):
        while int(echelon[row, column]) == 0:
            column += 1
        first[row] = column
    return first


def small_fraction(residue: int, modulus: int, bound: int) -> tuple[int, int]:
    """Return numerator and denominator within the bound, by the Euclidean algorithm; denominator 0 if there are none.

    Example:
        >>> small_fraction(51, 101, 7), small_fraction(3, 7, 1)
        ((1, 2), (0, 0))
    """
    old, new, factor, more = modulus, residue % modulus, 0, 1
    while new > bound:
        quotient = old // new
        old, new = new, old - quotient * new
        factor, more = more, factor - quotient * more
    if not 0 < abs(more) <= bound:
        return 0, 0
    return (new, more) if more > 0 else (-new, -more)
