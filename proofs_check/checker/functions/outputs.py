"""Different functions by their outputs for an input: exact without normalization, in intervals with softmax."""

from collections.abc import Callable
from fractions import Fraction
from operator import mul
from typing import Any

from proofs_check.checker.functions.network import Form, Network
from proofs_check.checker.functions.spans import foresee
from proofs_check.checker.verify import Matrix, T, _is, _prime, _table, _times, keep, need, spend, take

Product = Callable[..., Matrix]
GUARD = 64
"""Bits that are computed with beyond those that a certificate asks for."""


class Interval:
    """Two integers, the least and the largest value, over 2^bits; every operation rounds outwards."""

    __slots__ = ("high", "low")
    bits = 0

    def __init__(self, low: int, high: int) -> None:
        self.low, self.high = low, high

    @classmethod
    def of(cls, x: Fraction) -> "Interval":
        """The smallest one that contains a rational number."""
        n, d = x.numerator << cls.bits, x.denominator
        return cls(n // d, -(-n // d))

    def __add__(self, other: "Interval") -> "Interval":
        return Interval(self.low + other.low, self.high + other.high)

    def __mul__(self, other: "Interval") -> "Interval":
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(ends) >> self.bits, -(-max(ends) >> self.bits))

    def over(self, positive: "Interval") -> "Interval":
        """A positive number divided by one."""
        return Interval((self.low << self.bits) // positive.high, -((-self.high << self.bits) // positive.low))


def _steps(products: int) -> int:
    """Those of so many products of two numbers."""
    return products * (20 + (Interval.bits // 256) ** 2)


def exponential(x: int) -> Interval:
    """An enclosure of exp(x / 2^bits): a Taylor polynomial at x / 2^k, of absolute value at most 1/2, then squares."""
    bits = Interval.bits
    if x < 0 and -x >> bits > bits:  # exp x < 2^x < 2^-bits
        return Interval(0, 1)
    k = max(0, (abs(x) >> bits).bit_length() + 1)
    y, one = Interval(x >> k, -(-x >> k)), Interval(1 << bits, 1 << bits)
    terms = bits // 2 + 2
    spend(_steps(terms + k))
    total = one
    for n in range(terms, 0, -1):  # 1 + y/1 (1 + y/2 (1 + ...))
        z = y * total
        total = one + Interval(z.low // n, -(-z.high // n))
    total += Interval(-1, 1)  # the rest of the series is at most 2 |y|^(terms + 1) / (terms + 1)! < 2^-bits
    for _ in range(k):
        total = total * total
    return Interval(max(total.low, 0), total.high)


def _columns_of_patterns(scores: Matrix, causal: bool) -> Matrix:
    """Softmax of the columns of scores, given by rows: rows of keys."""
    columns = []
    for query, column in enumerate(T(scores)):
        seen = column[: query + 1] if causal else column
        top = max(x.low for x in seen)  # scores may be shifted: the largest one to about 0
        need(all(x.high - top <= 8 << Interval.bits for x in seen), "more bits are needed: scores are not known well")
        powers = [Interval(exponential(x.low - top).low, exponential(x.high - top).high) for x in seen]
        total = sum(powers[1:], powers[0])
        need(total.low > 0, "more bits are needed: scores are not known well")
        columns.append([x.over(total) for x in powers] + [Interval(0, 0)] * (len(column) - len(seen)))
    return T(columns)


def _interval_product(*factors: Matrix) -> Matrix:
    """The product of matrices of intervals; [] stands for 1."""
    a, *others = (m for m in factors if m)
    for b in others:
        need(len(a[0]) == len(b), "the shapes of matrices that are multiplied must fit")
        long = max(abs(x).bit_length() for m in (a, b) for row in m for y in row for x in (y.low, y.high))
        need(long <= 2**16, "the numbers must have fewer digits")
        spend(len(a) * len(b) * len(b[0]) * (25 + (long // 256) ** 2))
        keep(len(a) * len(b[0]) * (250 + long // 2))
        columns = T(b)
        a = [[sum(map(mul, row, column), Interval(0, 0)) for column in columns] for row in a]
    return a


def _counted(w: Network, form: Form, t: int) -> int:
    """Steps for what all pairs of tokens take: scores, what is read with them, two exponentials of each."""
    pairs = t * (t + 1) // 2 if form.causal else t * t
    powers = 2 * pairs * _steps(Interval.bits // 2 + 3) if form.softmax else 0
    each = 25 if form.softmax else 10
    return sum(powers + t * t * each * (len(h.Q) + len(h.Q[0])) for heads in w.layers for h in heads)


def _output(w: Network, form: Form, x: Matrix, times: Product, ring: Callable[[Any], Any]) -> Matrix:
    """The output for an input, by products alone: a layer is [1, V, V, ...] times the stack of X, X P, X P, ..."""

    def taken(m: Matrix) -> Matrix:
        spend(20 * sum(map(len, m)))
        keep(sum(100 + 250 * len(row) for row in m))
        return [[ring(z) for z in row] for row in m]

    unit, nothing = ring(Fraction(1)), ring(Fraction(0))
    x = times(taken(w.E), taken(x))
    for heads, behind in zip(w.layers, w.widths[1:], strict=True):
        left, stack = [list[Any]() for _ in range(behind)], list[Any]()
        if form.skip:
            left = [[unit if i == j else nothing for j in range(behind)] for i in range(behind)]
            stack = x
        for head in heads:
            q, k, v, o = map(taken, head)
            scores = times(T(times(k, x)), times(q, x))
            if form.softmax:
                scores = _columns_of_patterns(scores, form.causal)
            elif form.causal:
                scores = [[z if j <= i else nothing for i, z in enumerate(row)] for j, row in enumerate(scores)]
            written = times(o, v)
            left = [row + more for row, more in zip(left, written, strict=True)]
            stack = stack + times(x, scores)
        x = times(left, stack)
    return times(taken(w.U), x)


def outputs(form: Form, t: int, first: Network, second: Network, data: Any) -> str:
    """The outputs for an input differ: exactly, modulo a prime, or, with softmax, in intervals."""
    x, p, bits = take(data, "the proof", {"input": _table, "prime": (_prime,), "bits": (range(16, 4097),)})
    fits = len(x[0]) == t or (form.causal and len(x[0]) < t)  # the first tokens of a causal network see these alone
    need(len(x) == first.n and fits, f"the input must have {first.n} rows, and {t} columns")
    good = form.softmax is (bits is not None) and not (p and bits)
    need(good, "bits must be given with softmax, and only then, and a prime without alone")
    Interval.bits = bits + GUARD if bits else 0
    foresee(sum(_counted(w, form, len(x[0])) for w in (first, second)))
    if bits:
        one, other = (_output(w, form, x, _interval_product, Interval.of) for w in (first, second))
        pairs = (pair for rows in zip(one, other, strict=True) for pair in zip(*rows, strict=True))
        apart = any(a.high < b.low or b.high < a.low for a, b in pairs)
        where = f"in intervals of {bits} bits"
    else:

        def residue(z: Fraction) -> Any:
            need(not p or z.denominator % p, "p must divide no denominator")
            return z.numerator * pow(z.denominator, -1, p) % p if p else z

        def times(*factors: Matrix) -> Matrix:
            return _times(*factors, p=p or 0)

        one, other = (_output(w, form, x, times, residue) for w in (first, second))
        apart = not _is(one, 1, other)
        where = f"over the rationals{f' and modulo {p}' * bool(p)}"
    need(apart, "the outputs must differ, they are equal or not known to differ")
    return f"their outputs differ at an input, {where}"
