"""Rings over which certificates are checked: rational numbers, residues and intervals, and what they cost."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from operator import mul
from typing import Any

from proofs_check.checker.verify import BITS, Echelon, Matrix, keep, need, pack, spend, transposed


def _largest(m: Matrix) -> tuple[int, int]:
    """Return the most bits of a numerator, and of a denominator."""
    lows = (x.denominator.bit_length() for row in m for x in row if x.denominator != 1)
    return max((x.numerator.bit_length() for row in m for x in row), default=0), max(lows, default=0)


def bits_of_sums(k: int, *matrices: Matrix) -> int:
    """Return the most bits, above and below, of a sum of k products of entries of these matrices."""
    tops, lows = map(sum, zip(*map(_largest, matrices), strict=True))
    return int(tops + k.bit_length() + 2 * k * lows)


class Rationals:
    """The ring of rational numbers, and what a product of matrices over it costs."""

    nothing: Any = 0

    def of(self, x: Fraction) -> Any:
        """Return a rational number as an element."""
        return x

    def reduced(self, x: Any) -> Any:
        """Return a sum of products as an element."""
        return x

    def cost(self, a: Matrix, b: Matrix) -> tuple[int, int]:
        """Return steps for each product of two numbers, and bytes that a b needs."""
        bits = bits_of_sums(len(b), a, b)
        need(bits <= BITS, "the numbers must have fewer digits")
        lists = sum(128 * (len(m) + len(m[0])) + 16 * len(m) * len(m[0]) for m in (a, b))  # one of them transposed
        return 10 + (bits // 256) ** 2, lists + len(a) * len(b[0]) * (120 + bits // 7)

    def times(self, *factors: Matrix) -> Matrix:
        """Return the product; [] stands for 1."""
        a, *others = (m for m in factors if m)
        for b in others:
            need(len(a[0]) == len(b), "the shapes of matrices that are multiplied must fit")
            steps, size = self.cost(a, b)
            keep(size)
            spend(len(a) * len(b[0]) * len(b) * steps)
            columns = transposed(b)
            a = [[self.reduced(sum(map(mul, row, column), self.nothing)) for column in columns] for row in a]
        return a


class Residues(Rationals):
    """The field with p elements."""

    def __init__(self, p: int) -> None:
        self.p = p

    def of(self, x: Fraction) -> int:
        """Return the residue of a rational number."""
        need(x.denominator % self.p, "p must divide no denominator")
        return x.numerator * pow(x.denominator, -1, self.p) % self.p

    def reduced(self, x: int) -> int:
        """Return the residue of a number."""
        return x % self.p


RATIONALS = Rationals()


def is_multiple(m: Matrix, x: object, n: Matrix) -> bool:
    """Return whether m = x n: first the shapes, then the entries."""
    spend(10 * len(m) * len(m[0]))
    good = (len(m), len(m[0])) == (len(n), len(n[0]))
    return good and all(a == x * b for pair in zip(m, n, strict=True) for a, b in zip(*pair, strict=True))


def symmetric(m: Matrix) -> Matrix:
    """Return twice the symmetric part of a form, which is 0 where it is skew."""
    keep((len(m) + 1) * (256 + len(m) * (136 + bits_of_sums(2, m) // 7)))
    return [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(m, transposed(m), strict=True)]


def independent(p: int, vectors: Iterable[Sequence[int]]) -> list[Any]:
    """Return those vectors of residues modulo p that do not depend on the ones before."""
    echelon, found = Echelon(p, 0), list[Any]()
    for v in vectors:
        echelon = echelon if echelon.width else Echelon(p, len(v))
        if echelon.add(pack(v)) is None:
            keep(48 * len(v))
            found.append(v)
        if len(found) == len(v):
            break
    keep(-echelon.kept)
    return found


class Interval:
    """Two integers, the least and the largest value, over 2^bits; every operation rounds outwards."""

    __slots__ = ("bits", "high", "low")

    def __init__(self, low: int, high: int, bits: int) -> None:
        self.low, self.high, self.bits = low, high, bits

    def __add__(self, other: "Interval") -> "Interval":
        return Interval(self.low + other.low, self.high + other.high, self.bits)

    def __mul__(self, other: "Interval") -> "Interval":
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(ends) >> self.bits, -(-max(ends) >> self.bits), self.bits)

    def over(self, positive: "Interval") -> "Interval":
        """Return the quotient by a positive number."""
        low, high = (self.low << self.bits) // positive.high, -((-self.high << self.bits) // positive.low)
        return Interval(low, high, self.bits)


class Intervals(Rationals):
    """Rational numbers in intervals of so many bits, and exponentials of integers over 2^bits."""

    def __init__(self, bits: int) -> None:
        self.bits, self.nothing = bits, Interval(0, 0, bits)

    def of(self, x: Fraction) -> Interval:
        """Return the smallest interval that contains a rational number."""
        n, d = x.numerator << self.bits, x.denominator
        return Interval(n // d, -(-n // d), self.bits)

    def cost(self, a: Matrix, b: Matrix) -> tuple[int, int]:
        """Return steps for each product of two numbers, and bytes that a b needs."""
        long = max(abs(x).bit_length() for m in (a, b) for row in m for y in row for x in (y.low, y.high))
        need(long <= 2**16, "the numbers must have fewer digits")
        return 25 + (long // 256) ** 2, len(a) * len(b[0]) * (250 + long // 2)

    def steps(self, products: int) -> int:
        """Return those of so many products of two numbers."""
        return products * (20 + (self.bits // 256) ** 2)

    def exponential(self, x: int) -> Interval:
        """Return an enclosure of exp(x / 2^bits): a Taylor polynomial at y = x / 2^k with |y| <= 1/2, then squares."""
        bits = self.bits
        if x < 0 and -x >> bits > bits:  # exp x < 2^x < 2^-bits
            return Interval(0, 1, bits)
        k = max(0, (abs(x) >> bits).bit_length() + 1)
        y, one = Interval(x >> k, -(-x >> k), bits), self.of(Fraction(1))
        terms = bits // 2 + 2
        spend(self.steps(terms + k))
        total = one
        for n in range(terms, 0, -1):  # 1 + y/1 (1 + y/2 (1 + ...))
            z = y * total
            total = one + Interval(z.low // n, -(-z.high // n), bits)
        total += Interval(-1, 1, bits)  # the rest is at most 2 |y|^(terms + 1) / (terms + 1)! < 2^-bits
        for _ in range(k):
            total = total * total
        return Interval(max(total.low, 0), total.high, bits)

    def patterns(self, scores: Matrix, *, causal: bool) -> Matrix:
        """Return softmax of the columns of scores, given by rows: rows of keys."""
        columns, bits = [], self.bits
        for query, column in enumerate(transposed(scores)):
            seen = column[: query + 1] if causal else column
            top = max(x.low for x in seen)  # scores may be shifted: the largest one to about 0
            need(all(x.high - top <= 8 << bits for x in seen), "more bits are needed: scores are not known well")
            powers = [
                Interval(self.exponential(x.low - top).low, self.exponential(x.high - top).high, bits) for x in seen
            ]
            total = sum(powers[1:], powers[0])
            need(total.low > 0, "more bits are needed: scores are not known well")
            columns.append([x.over(total) for x in powers] + [self.nothing] * (len(column) - len(seen)))
        return transposed(columns)
