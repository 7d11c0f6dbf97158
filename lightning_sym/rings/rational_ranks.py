"""The rank of a matrix over the rationals, exact, from ranks modulo primes."""

from __future__ import annotations

from functools import cache
from itertools import count
from math import lcm

from flint import fmpq_mat, fmpz, fmpz_mat, nmod_mat

_SMALL_RANK = 8
"""Rows or columns up to which flint's own elimination over the integers is the fastest."""

_PRIME_BITS = 61
"""Primes of ranks are above two to this power."""


@cache
def _large_prime(index: int) -> int:
    """Return a prime below 2^62 by its place, the largest first."""
    number = 1 << _PRIME_BITS + 1 if index == 0 else _large_prime(index - 1)
    while True:
        number -= 1
        if fmpz(number).is_prime():
            return number


def _square_bits(numbers: fmpz_mat) -> tuple[list[int], list[int]]:
    """Return bits of the squares of the lengths of all rows, and of all columns, the largest first."""
    squares = [[x * x for x in row] for row in numbers.tolist()]
    by_rows, by_columns = (
        sorted((int(sum(line)).bit_length() for line in lines), reverse=True)
        for lines in (squares, zip(*squares, strict=True))
    )
    return by_rows, by_columns


_SHORT = 2048
"""Bits of a common denominator of all entries up to which each row has no denominator of its own."""


def _over_the_integers(matrix: fmpq_mat) -> fmpz_mat:
    """Return an integer matrix, each of whose rows is a multiple of a row of the matrix."""
    numbers, common = matrix.numer_denom()
    if int(common).bit_length() <= _SHORT:
        return numbers
    rows = matrix.tolist()
    scales = [lcm(*(int(x.denominator) for x in row)) for row in rows]
    return fmpz_mat([[(x * scale).numerator for x in row] for row, scale in zip(rows, scales, strict=True)])


def rank_over_q(matrix: fmpq_mat, most: int | None = None) -> int:
    """Return the rank, exact; or `most`, if it is larger.

    Modulo a prime it is a lower bound, most often at once the number of rows or columns or `most`. Where it falls
    short, more primes: a minor is below the product of the lengths of its rows, so it is zero if more of them
    divide it than fit into that, and all larger minors are zero if all ranks are as small.

    Example:
        >>> rank_over_q(fmpq_mat([[1, 2], [2, 4]]))
        1
    """
    rows, columns = int(matrix.nrows()), int(matrix.ncols())
    most = min(rows, columns) if most is None else min(most, rows, columns)
    if min(rows, columns) <= _SMALL_RANK:
        return min(int(matrix.rank()), most)
    numbers = _over_the_integers(matrix)
    lengths: tuple[list[int], list[int]] | None = None
    found, known = 0, 0
    for prime in map(_large_prime, count()):
        if (more := int(nmod_mat(numbers, prime).rank())) > found:
            found, known = more, 0
        if found >= most:
            break
        known += _PRIME_BITS
        lengths = lengths or _square_bits(numbers)
        if 2 * known > min(sum(line[: found + 1]) for line in lengths):
            break
    return min(found, most)
