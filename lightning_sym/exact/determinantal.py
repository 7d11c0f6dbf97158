"""Dimensions of varieties of matrices of bounded rank."""

from __future__ import annotations


def determinantal(rows: int, columns: int, rank: int) -> int:
    """Dimension of the variety of `rows x columns` matrices of rank at most `rank`.

    Example:
        >>> determinantal(3, 4, 2), determinantal(3, 4, 9)
        (10, 12)
    """
    r = min(rank, rows, columns)
    return r * (rows + columns - r)


def symmetric_determinantal(size: int, rank: int) -> int:
    """Dimension of the variety of symmetric `size x size` matrices of rank at most `rank`.

    Example:
        >>> symmetric_determinantal(3, 2), symmetric_determinantal(3, 3)
        (5, 6)
    """
    r = min(rank, size)
    return r * size - r * (r - 1) // 2
