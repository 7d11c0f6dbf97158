"""Dimensions and degrees of varieties of matrices of bounded rank."""

from __future__ import annotations

from math import comb


def determinantal(rows: int, columns: int, rank: int) -> int:
    """Return the dimension of the variety of `rows x columns` matrices of rank at most `rank`.

    Example:
        >>> determinantal(3, 4, 2), determinantal(3, 4, 9)
        (10, 12)
    """
    r = min(rank, rows, columns)
    return r * (rows + columns - r)


def symmetric_determinantal(size: int, rank: int) -> int:
    """Return the dimension of the variety of symmetric `size x size` matrices of rank at most `rank`.

    Example:
        >>> symmetric_determinantal(3, 2), symmetric_determinantal(3, 3)
        (5, 6)
    """
    r = min(rank, size)
    return r * size - r * (r - 1) // 2


def determinantal_degree(rows: int, columns: int, rank: int) -> int:
    r"""Return the degree of the variety of `rows x columns` matrices of rank at most `rank` (Giambelli's formula).

    $\prod_{i=0}^{m-r-1} \binom{n+i}{r} / \binom{r+i}{r}$ for `m x n` matrices, `r` below `m`; else 1.

    Example:
        >>> determinantal_degree(3, 3, 2), determinantal_degree(3, 3, 1), determinantal_degree(2, 3, 9)
        (3, 6, 1)
    """
    r = min(rank, rows, columns)
    above = below = 1
    for i in range(rows - r):
        above *= comb(columns + i, r)
        below *= comb(r + i, r)
    return above // below


def symmetric_determinantal_degree(size: int, rank: int) -> int:
    r"""Return the degree of the variety of symmetric `size x size` matrices of rank at most `rank` (Harris, Tu 1984).

    $\prod_{i=0}^{n-r-1} \binom{n+i}{n-r-i} / \binom{2i+1}{i}$ for `n x n` matrices, `r` below `n`; else 1.

    Example:
        >>> [symmetric_determinantal_degree(3, rank) for rank in (1, 2, 3)]
        [4, 3, 1]
    """
    r = min(rank, size)
    above = below = 1
    for i in range(size - r):
        above *= comb(size + i, size - r - i)
        below *= comb(2 * i + 1, i)
    return above // below
