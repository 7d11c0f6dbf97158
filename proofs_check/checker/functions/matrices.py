"""Matrices of integers and spaces of vectors, exactly, with what they cost counted.

A space does not change if vectors are scaled, so that most of what is followed through a network is integers.
"""

from collections.abc import Iterable, Sequence
from math import gcd, lcm
from operator import mul
from typing import NamedTuple

from proofs_check.checker.verify import BITS, BUDGET, ROOM, STEPS, Matrix, keep, need, rational, spend, take

Vector = list[int]


def rational_matrix(value: object) -> Matrix:
    """Return a matrix of rational numbers."""
    rows: Matrix = take(value, "a matrix", [[rational]])
    need(rows and rows[0] and len(set(map(len, rows))) == 1, "a matrix must have rows of equal length, not zero")
    return rows


def zero(m: Matrix) -> bool:
    """Return whether all entries are 0."""
    return not any(map(any, m))


def unit(size: int) -> Matrix:
    """Return the unit matrix of integers."""
    keep(size * (100 + 9 * size))
    return [[int(i == j) for j in range(size)] for i in range(size)]


def foresee(steps: int, size: int = 0) -> None:
    """Say what work takes at least, in steps and bytes, before it is begun, so that it is not refused halfway."""
    budget = BUDGET.get()
    for least, free, most, what in (
        (steps, budget.steps, STEPS, "checking must take at most {:,} steps, this takes {:,} or more"),
        (size, budget.room, ROOM, "numbers must fit into {:,} bytes of memory, these take {:,} or more"),
    ):
        need(least <= free, what.format(most, most - free + least))


# ---- integers


class Scaled(NamedTuple):
    """A matrix of integers, and what they are divided by."""

    rows: Matrix
    under: int


def integral(m: Matrix) -> Scaled:
    """Return a matrix over the least common denominator; [] stands for 1, and stays."""
    spend(20 * sum(map(len, m)))
    under, limit = 1, 2**16
    for x in (x for row in m for x in row if x.denominator != 1):
        under = lcm(under, x.denominator)
        spend(under.bit_length() // 32)
        need(under.bit_length() <= limit, "the common denominator of a matrix must have fewer digits")
    keep(sum(120 + 40 * len(row) + len(row) * (under.bit_length() // 7) for row in m))
    return Scaled([[x.numerator * (under // x.denominator) for x in row] for row in m], under)


def bits(vectors: Iterable[Sequence[int]]) -> int:
    """Return the most bits of an entry."""
    return max((x.bit_length() for v in vectors for x in v), default=0)


def dots(a: Matrix, b: Matrix) -> Matrix:
    """Return the products of the rows of a with the rows of b, that is a b^T."""
    long = bits(a) + bits(b) + (len(b[0]).bit_length() if b else 0)
    need(long <= BITS, "the numbers must have fewer digits")
    spend(len(a) * len(b) * (20 + (len(b[0]) if b else 0) * (1 + (long // 512) ** 2)))
    keep(len(a) * (100 + len(b) * (48 + long // 7)))
    return [[sum(map(mul, row, other)) for other in b] for row in a]


def through(batch: Matrix, *factors: Matrix) -> Matrix:
    """Return what matrices of integers, one after the other, make of vectors; [] stands for 1."""
    for m in factors:
        batch = dots(batch, m) if m else batch
    return batch


def combined(*parts: tuple[int, Matrix]) -> Matrix:
    """Return the sum of matrices, each times a factor."""
    spend(sum(sum(map(len, m)) * (4 + (factor.bit_length() + bits(m)) // 512) for factor, m in parts))
    factors, every = [factor for factor, _ in parts], zip(*(m for _, m in parts), strict=True)
    total = [[sum(map(mul, factors, column)) for column in zip(*rows, strict=True)] for rows in every]
    keep(sum(100 + len(row) * (40 + bits([row]) // 7) for row in total))
    return total


def lcm_of(denominators: list[int]) -> int:
    """Return the least common multiple of numbers."""
    under = 1
    for low in denominators:
        under = lcm(under, low)
        need(under.bit_length() <= BITS, "the numbers must have fewer digits")
    return under


class Span:
    """The span of vectors, by a reduced basis: at the pivot of a basis vector all others are 0."""

    def __init__(self, *batches: Iterable[Sequence[int]]) -> None:
        self.basis: dict[int, Vector] = {}
        for batch in batches:
            self.grow(batch)

    def rest(self, v: Sequence[int], at: dict[int, Vector] | None = None) -> Vector:
        """Return a multiple of what is left of v outside of the span, without a factor: 0 only if v is in it."""
        meets = [(p, b) for p, b in (at or self.basis).items() if v[p]]
        if meets:
            scale = lcm(*(b[p] // gcd(v[p], b[p]) for p, b in meets))
            long = max(scale.bit_length() + bits([v]), *(scale.bit_length() + bits([b, v]) for _, b in meets))
            need(long <= BITS, "the numbers must have fewer digits")
            spend(len(v) * (len(meets) + 2) * (3 + (long // 512) ** 2))
            columns = zip(*(b for _, b in meets), strict=True)
            factors = [v[p] * scale // b[p] for p, b in meets]
            v = [scale * x - sum(map(mul, factors, column)) for x, column in zip(v, columns, strict=True)]
        spend(len(v))
        shared = gcd(*v)
        return [x // shared for x in v] if shared > 1 else list(v)

    def grow(self, vectors: Iterable[Sequence[int]]) -> None:
        """Take in more vectors."""
        for v in vectors:
            if len(self.basis) == len(v):  # all vectors are in
                return
            v = self.rest(v)
            pivot = next((j for j, x in enumerate(v) if x), None)
            if pivot is not None:
                keep(100 + sum(40 + x.bit_length() // 7 for x in v))
                spend(2 * len(self.basis))
                changed = {p: self.rest(b, {pivot: v}) for p, b in self.basis.items() if b[pivot]}
                self.basis |= changed | {pivot: v}

    def vectors(self, cut: slice = slice(None)) -> Matrix:
        """Return the basis, or of each vector the entries that belong to one network."""
        return [v[cut] for v in self.basis.values()]


def determinant(rows: Matrix, p: int = 0) -> int:
    """Return the determinant of integers, or of residues modulo p, by elimination with exact quotients (Bareiss)."""
    sign, last = 1, 1
    spend(len(rows) ** 3)
    while rows:
        place = next((k for k, row in enumerate(rows) if row[0]), None)
        if place is None:
            return 0
        top, inverse = rows[place], pow(last, -1, p) if p else 0
        others = (
            [top[0] * x - row[0] * y for x, y in zip(row[1:], top[1:], strict=True)]
            for row in rows[:place] + rows[place + 1 :]
        )
        rows = [[x * inverse % p if p else x // last for x in row] for row in others]
        sign, last = sign * (-1) ** place, top[0]
    return sign * last % p if p else sign * last
