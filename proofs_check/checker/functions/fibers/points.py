"""Conditions that hold, by residues at points (docs/transformer-fibers.md, Propositions 13 and 15).

A batch of points is a list of vectors modulo p. Every number here is the residue of a polynomial with rational
coefficients at an integer point: if it is not 0, the polynomial is not.
"""

from collections.abc import Iterator
from operator import mul
from typing import Any, NamedTuple

from proofs_check.checker.functions.network import Form, Network, integral
from proofs_check.checker.functions.spans import dots
from proofs_check.checker.verify import Echelon, Matrix, T, keep, need, pack, room, spend

MORE, SUBSETS = 8, 16
"""Points beyond those that are needed; heads up to which all sets of them are gone through."""


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

    # ---- the conditions, by their names, of layer i

    def holds(self, name: str, i: int) -> bool:
        """Whether the residues show it."""
        free = room[0]
        if name in "FUS":
            batch = {"F": self.streams, "U": self.above, "S": self.first}[name][i]
            shown = self.rank(batch) == self.w.widths[i]
        else:
            tests = {"a": self._a, "a'": self._a_prime, "b": self._b, "b unmasked": self._b_unmasked, "c": self._c,
                     "e": self._e, "f": self._f}  # fmt: skip
            shown = tests[name](i)
        room[0] = free
        return shown

    def _keys(self, i: int, batch: Matrix, queries: Matrix) -> Matrix:
        return [self.scores(h, batch, queries) for h in self.layers[i - 1]]

    def _values(self, i: int, above: Matrix, batch: Matrix) -> Matrix:
        return [self.pair(above, self.carried(h, batch)) for h in self.layers[i - 1]]

    def _independent(self, rows: Matrix) -> bool:
        return self.rank(rows) == len(rows)

    def _a(self, i: int) -> bool:
        rows = self._keys(i, self.words[i - 1], self.first[i - 1])
        if self.t == 2 and i < len(self.layers):
            return self._independent(rows)
        others = [[-x % self.p for x in row] for row in rows] if self.t == 2 else []
        alike = len({*map(tuple, rows)}) < len(rows) or any(row in rows for row in others)
        return all(map(any, rows)) and not alike

    def _a_prime(self, i: int) -> bool:
        rows = self._keys(i, self.words[i - 1], self.words[i - 1])
        if self.t == 2:
            return self._independent(rows)
        # Proposition 15: of each head one of two forms
        below = all(
            self._independent(self._keys(j, self.words[j - 1], queries[j - 1]))
            for j in range(1, i)
            for queries in (self.first, self.words)
        )
        alone = self._keys(i, self.words[0], self.words[0]) if self.form.skip or i == 1 else [[0]] * len(rows)
        return all(any(one) or (below and any(other)) for one, other in zip(alone, rows, strict=True))

    def _b(self, i: int) -> bool:
        above = self.above[i] if self.form.causal else self.means[i]
        return all(map(any, self._values(i, above, self.streams[i - 1])))

    def _b_unmasked(self, i: int) -> bool:
        return all(map(any, self._values(i, self.means[i], self.streams[i - 1])))

    def _c(self, i: int) -> bool:
        if not self.form.causal:
            return self._no_set(self._values(i, self.means[i], self.words[i - 1]))
        if not self.form.skip:
            return self._no_set(self._values(i, self.above[i], self.streams[i - 1]))
        if i == len(self.layers):
            return self._no_set(self._values(i, self.means[i], self.first[i - 1]))
        # forms (c - v_N)^T A v_N of all heads of the next layer, v_N the sum of the v_h
        v = [self.carried(h, self.first[i - 1]) for h in self.layers[i - 1]]

        def form(one: Matrix, other: Matrix) -> list[int]:
            return [x for g in self.layers[i] for x in self.scores(g, one, other)]

        def less(one: list[int], *others: list[int]) -> list[int]:
            return [(x - sum(more)) % self.p for x, *more in zip(one, *others, strict=True)]

        heads = range(len(v))
        square = [[form(v[g], v[h]) for h in heads] for g in heads]
        alone = [less(form(self.first[i], v[h]), square[h][h]) for h in heads]
        nothing = [0] * len(alone[0])
        pairs = {(g, h): less(nothing, square[g][h], square[h][g]) for h in heads for g in range(h)}
        return self._no_set(alone, pairs)

    def _no_set(self, alone: Matrix, pairs: Any = None) -> bool:
        """The sum of rows, and of what belongs to pairs of them, is zero for no set but the empty one."""
        if self._independent([*alone, *(pairs or {}).values()]):
            return True
        if len(alone) > SUBSETS:
            return False
        width = len(alone[0]) * (1 + len(alone) // 2 * bool(pairs))
        spend(2 ** len(alone) * (20 + 2 * width))
        keep(len(alone) * (100 + 40 * len(alone[0])))

        def without(start: int, chosen: list[int], total: list[int]) -> bool:
            for h in range(start, len(alone)):
                parts = [total, alone[h], *(pairs[g, h] for g in chosen if pairs)]
                new = [sum(column) % self.p for column in zip(*parts, strict=True)]
                if not any(new) or not without(h + 1, [*chosen, h], new):
                    return False
            return True

        return without(0, [], [0] * len(alone[0]))

    def _f(self, i: int) -> bool:
        columns, half = self.streams[0], [(self.p + 1) // 2] * self.count
        for heads in self.layers[: i - 1]:
            columns = self.behind(heads, columns, half)
        return all(map(any, self._values(i, self.means[i], columns)))

    def _e(self, i: int) -> bool:
        queries = (2,) if i == len(self.layers) else (0, 1, 2)
        pairs = [(j, k) for k in queries for j in range(3) if (j < k if self.form.causal else j != k)]
        heads = self.layers[i - 1]
        count = len(heads) * len(pairs) + MORE
        stream = self.times(self.batch(self.w.n, 3 * count), self.modulo(self.w.E))
        for below in self.layers[: max(i - 2, 0)]:
            stream = self._formal(below, stream)
        streams = [self._formal(self.layers[i - 2], stream) for _ in range(2)] if i > 1 else [stream]
        tables = [[self._differences(h, x, pairs) for h in heads] for x in streams]
        sides = [[[x for table in each for x in table[k]] for k in range(count)] for each in tables]
        rows = sides[0]
        if i > 1:
            rows = [[(x - y) % self.p for x, y in zip(*both, strict=True)] for both in zip(*sides, strict=True)]
        return self.rank(rows) == len(heads) * len(pairs)

    def _formal(self, heads: list[Residues], stream: Matrix) -> Matrix:
        """A layer on three tokens, side by side for all points, with patterns whose columns have sum 1."""
        parts = [stream] * self.form.skip
        for head in heads:
            images, new = self.carried(head, stream), Matrix()
            spend(len(images) * (50 + 4 * len(images[0])))
            keep(len(images) * (100 + 40 * len(images[0])))
            for k in range(len(images)):
                others = [j for j in range(k - k % 3, k - k % 3 + 3) if (j < k if self.form.causal else j != k)]
                factors = self.draw(len(others))
                columns = zip(images[k], *(images[j] for j in others), strict=True)
                factors = [1 - sum(factors), *factors]
                new.append([sum(map(mul, factors, column)) % self.p for column in columns])
            parts.append(new)
        return self.total([([1] * len(stream), part) for part in parts])

    def _differences(self, head: Residues, stream: Matrix, pairs: list[tuple[int, int]]) -> Matrix:
        """The scores s_jk - s_kk, of each point a row."""
        keys, queries = self.times(stream, head.K), self.times(stream, head.Q)
        spend(len(stream) * len(pairs) * (10 + len(keys[0])))
        rows = []
        for at in range(0, len(stream), 3):
            s = [[sum(map(mul, keys[at + j], queries[at + k])) for k in range(3)] for j in range(3)]
            rows.append([(s[j][k] - s[k][k]) % self.p for j, k in pairs])
        return rows
