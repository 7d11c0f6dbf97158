"""A network modulo a prime, at points (docs/transformer-fibers.md, Proposition 13).

A batch of points is a list of vectors modulo p. Every number here is the residue of a polynomial with rational
coefficients at an integer point: if it is not 0, the polynomial is not.
"""

from collections.abc import Iterator
from operator import mul
from typing import Any, NamedTuple

from proofs_check.checker.functions.network import Form, Network, integral
from proofs_check.checker.functions.spans import dots
from proofs_check.checker.verify import Echelon, Matrix, T, keep, need, pack, spend

MORE = 8
"""Points beyond those that are needed."""


class Residues(NamedTuple):
    """A head modulo p, and its values and outputs transposed; [] stands for 1."""

    Q: Matrix
    K: Matrix
    V: Matrix
    O: Matrix  # noqa: E741
    V_T: Matrix
    O_T: Matrix


def numbers(seed: int, p: int) -> Iterator[int]:
    """The upper half of a linear congruential generator of 64 bits, modulo p. Any other would do."""
    while True:
        seed = (6364136223846793005 * seed + 1442695040888963407) % 2**64
        yield (seed >> 32) % p


class Points:
    """A network modulo p at points, as many as the largest rank that is asked for, and some more."""

    def __init__(self, form: Form, t: int, w: Network, p: int, seed: int) -> None:
        self.form, self.t, self.w, self.p, self.drawn = form, t, w, p, numbers(seed, p)
        self.layers = [
            [Residues(q, k, v, o, T(v), T(o)) for q, k, v, o in (map(self.modulo, head) for head in heads)]
            for heads in w.layers
        ]
        U = self.modulo(w.U)
        self.count = MORE + max(*w.widths, *(len(x) * (len(x) + 1) // 2 for x in w.layers))
        self.ones = [1] * self.count
        gamma = [[self.draw(self.count) for _ in heads] for heads in w.layers]
        start, last, rows = (self.batch(size, self.count) for size in (w.n, w.n, w.m))
        # behind layer i: M_i(gamma) E xi, N_i(gamma) E xi, S_i eta
        self.streams = [self.times(start, self.modulo(w.E))]
        self.words, self.first = self.streams[:], [self.times(last, self.modulo(w.E))]
        for heads, factors in zip(self.layers, gamma, strict=True):
            written = [self.carried(h, self.streams[-1]) for h in heads]
            self.words.append(self.total(list(zip(factors, written, strict=True))))
            self.streams.append(self.total([(self.ones, x[-1]) for x in (self.streams, self.words)[not form.skip :]]))
            self.first.append(self.behind(heads, self.first[-1], self.ones))
        # above layer i, the last layer first: rows rho^T U T_i(gamma), rho^T Y_i
        above = [self.times(rows, T(U))]
        means = above[:]
        for heads, factors in zip(reversed(self.layers), reversed(gamma), strict=True):
            read = [(g, self.read(h, above[-1])) for h, g in zip(heads, factors, strict=True)]
            above.append(self.total([(self.ones, above[-1])] * form.skip + read))
            read = [(self.ones, self.read(h, means[-1])) for h in heads]
            means.append(self.total([(self.ones, means[-1])] * form.skip + read))
        self.above, self.means = above[::-1], means[::-1]

    def modulo(self, m: Matrix) -> Matrix:
        """A matrix modulo p."""
        rows, under = integral(m)
        need(under % self.p, "the prime must divide no denominator")
        spend(10 * sum(map(len, rows)))
        keep(sum(100 + 40 * len(row) for row in rows))
        inverse = pow(under, -1, self.p)
        return [[x * inverse % self.p for x in row] for row in rows]

    def draw(self, count: int) -> list[int]:
        """The next numbers."""
        spend(10 * count)
        keep(100 + 40 * count)
        return [next(self.drawn) for _ in range(count)]

    def batch(self, size: int, count: int) -> Matrix:
        """Vectors of the next numbers."""
        return [self.draw(size) for _ in range(count)]

    def times(self, batch: Matrix, m: Matrix) -> Matrix:
        """m v for each v."""
        return [[x % self.p for x in row] for row in dots(batch, m)] if m else batch

    def carried(self, head: Residues, batch: Matrix) -> Matrix:
        """O V v."""
        return self.times(self.times(batch, head.V), head.O)

    def read(self, head: Residues, batch: Matrix) -> Matrix:
        """v^T O V."""
        return self.times(self.times(batch, head.O_T), head.V_T)

    def total(self, parts: Any) -> Matrix:
        """The sum of batches, of each a factor for every point."""
        spend(len(parts) * len(parts[0][1]) * (20 + 3 * len(parts[0][1][0])))
        keep(len(parts[0][1]) * (100 + 40 * len(parts[0][1][0])))
        sums = []
        for k in range(len(parts[0][1])):
            factors, columns = [g[k] for g, _ in parts], zip(*(v[k] for _, v in parts), strict=True)
            sums.append([sum(map(mul, factors, column)) % self.p for column in columns])
        return sums

    def behind(self, heads: list[Residues], batch: Matrix, factors: list[int]) -> Matrix:
        """What the stream is behind a layer if all heads write so often what they do."""
        return self.total([(self.ones, batch)] * self.form.skip + [(factors, self.carried(h, batch)) for h in heads])

    def pair(self, one: Matrix, other: Matrix) -> list[int]:
        """The products of vectors, point by point."""
        spend(len(one) * (10 + len(one[0])))
        return [sum(map(mul, a, b)) % self.p for a, b in zip(one, other, strict=True)]

    def scores(self, head: Residues, keys: Matrix, queries: Matrix) -> list[int]:
        """k^T A q, point by point."""
        return self.pair(self.times(keys, head.K), self.times(queries, head.Q))

    def rank(self, rows: Matrix) -> int:
        """Modulo p, which is at most that over the rationals."""
        echelon = Echelon(self.p, len(rows[0]))
        for row in rows:
            echelon.add(pack(row))
        return len(echelon.rows)
