"""Spaces of integer vectors, exactly: vectors may be scaled, since the space is all that matters."""

from math import gcd, lcm
from operator import mul
from typing import Any

from proofs_check.checker.verify import BITS, ROOM, STEPS, Matrix, keep, left, need, room, spend

Vector = list[int]


def foresee(steps: int, size: int = 0) -> None:
    """Said before work that takes at least so many steps and bytes is begun, so that it is not refused halfway."""
    for least, free, most, what in (
        (steps, left[0], STEPS, "checking must take at most {:,} steps, this takes {:,} or more"),
        (size, room[0], ROOM, "numbers must fit into {:,} bytes of memory, these take {:,} or more"),
    ):
        need(least <= free, what.format(most, most - free + least))


def bits(vectors: Any) -> int:
    """The most of an entry."""
    return max((x.bit_length() for v in vectors for x in v), default=0)


def dots(a: Matrix, b: Matrix) -> Matrix:
    """The products of the rows of a with the rows of b, that is a b^T."""
    long = bits(a) + bits(b) + (len(b[0]).bit_length() if b else 0)
    need(long <= BITS, "the numbers must have fewer digits")
    spend(len(a) * len(b) * (20 + (len(b[0]) if b else 0) * (1 + (long // 512) ** 2)))
    keep(len(a) * (100 + len(b) * (48 + long // 7)))
    return [[sum(map(mul, row, other)) for other in b] for row in a]


class Space:
    """The span of vectors, by a reduced basis: at the pivot of a basis vector all others are 0."""

    def __init__(self, vectors: Any = ()) -> None:
        self.basis: dict[int, Vector] = {}
        self.grow(vectors)

    def rest(self, v: Vector, at: Any = None) -> Vector:
        """A multiple of what is left of v outside of the span: 0 if v is in it, and only then; without a factor."""
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
        return [x // shared for x in v] if shared > 1 else v

    def grow(self, vectors: Any) -> None:
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

    def half(self, cut: slice) -> Matrix:
        """The entries of the basis vectors that belong to one network."""
        return [v[cut] for v in self.basis.values()]


def add(m: Matrix, factor: int, n: Matrix) -> Matrix:
    """m + factor n."""
    spend(sum(map(len, n)) * (4 + (factor.bit_length() + bits(n)) // 512))
    total = [[x + factor * y for x, y in zip(*rows, strict=True)] for rows in zip(m, n, strict=True)]
    keep(sum(100 + len(row) * (40 + bits([row]) // 7) for row in total))
    return total


def common(denominators: list[int]) -> int:
    """The least common multiple of numbers."""
    under = 1
    for low in denominators:
        under = lcm(under, low)
        need(under.bit_length() <= BITS, "the numbers must have fewer digits")
    return under
