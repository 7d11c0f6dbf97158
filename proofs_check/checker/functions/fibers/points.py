"""A network modulo a prime, at points (docs/transformer-fibers.md, Proposition 13).

A batch of points is a list of vectors modulo p. Every number here is the residue of a polynomial with rational
coefficients at an integer point: if it is not 0, the polynomial is not.
"""

from collections.abc import Iterator
from operator import mul

from proofs_check.checker.functions.fibers.exact import Way, places
from proofs_check.checker.functions.matrices import dots, integral
from proofs_check.checker.functions.network import Form, Head, Weights
from proofs_check.checker.verify import Echelon, Matrix, keep, need, pack, spend, transposed

MORE = 8
"""Points beyond those that are needed."""


def numbers(seed: int, p: int) -> Iterator[int]:
    """Yield the upper half of a linear congruential generator of 64 bits, modulo p. Any other would do."""
    while True:
        seed = (6364136223846793005 * seed + 1442695040888963407) % 2**64
        yield (seed >> 32) % p


class ModuloP:
    """Matrices modulo p."""

    def __init__(self, p: int) -> None:
        self.p = p

    def modulo(self, m: Matrix) -> Matrix:
        """Return a matrix modulo p."""
        rows, under = integral(m)
        need(under % self.p, "the prime must divide no denominator")
        spend(10 * sum(map(len, rows)))
        keep(sum(100 + 40 * len(row) for row in rows))
        inverse = pow(under, -1, self.p)
        return [[x * inverse % self.p for x in row] for row in rows]

    def times(self, batch: Matrix, m: Matrix) -> Matrix:
        """Return m v for each v."""
        return [[x % self.p for x in row] for row in dots(batch, m)] if m else batch

    def rank(self, rows: Matrix) -> int:
        """Return the rank modulo p, which is at most that over the rationals."""
        echelon = Echelon(self.p, len(rows[0]))
        for row in rows:
            echelon.add(pack(row))
        return len(echelon.rows)


class Points(ModuloP):
    """A network modulo p at points, as many as the largest rank that is asked for, and some more.

    Behind layer i columns are `F` M_i(gamma) E xi, `N` N_i(gamma) E xi, `S` S_i eta, and rows `U` rho^T U T_i(gamma),
    `Y` rho^T Y_i.
    """

    def __init__(self, form: Form, t: int, w: Weights, p: int, seed: int) -> None:
        super().__init__(p)
        self.form, self.t, self.w, self.depth, self.drawn = form, t, w, len(w.layers), numbers(seed, p)
        self.layers = [[Head(*map(self.modulo, head)) for head in heads] for heads in w.layers]
        self.count = MORE + max(*w.widths, *(len(x) * (len(x) + 1) // 2 for x in w.layers))
        self.ones = [1] * self.count
        self.gamma = [[self.draw(self.count) for _ in heads] for heads in w.layers]
        start, last, rows = ([self.draw(size) for _ in self.ones] for size in (w.n, w.n, w.m))
        E, above = self.modulo(w.E), self.times(rows, transposed(self.modulo(w.U)))
        self.at = places(self, self.times(start, E), self.times(last, E), above, above)

    def draw(self, count: int) -> list[int]:
        """Return the next numbers."""
        spend(10 * count)
        keep(100 + 40 * count)
        return [next(self.drawn) for _ in range(count)]

    def total(self, *parts: tuple[list[int], Matrix]) -> Matrix:
        """Return the sum of batches, of each a factor for every point."""
        spend(len(parts) * len(parts[0][1]) * (20 + 3 * len(parts[0][1][0])))
        keep(len(parts[0][1]) * (100 + 40 * len(parts[0][1][0])))
        sums = []
        for k in range(len(parts[0][1])):
            factors, columns = [g[k] for g, _ in parts], zip(*(v[k] for _, v in parts), strict=True)
            sums.append([sum(map(mul, factors, column)) % self.p for column in columns])
        return sums

    def words(self, i: int, way: Way, batch: Matrix) -> Matrix:
        """Return what the heads of a layer make of vectors, each as often as its factor at a point says."""
        return self.total(*((factor, way(h, batch)) for h, factor in zip(self.layers[i], self.gamma[i], strict=True)))

    def both(self, one: Matrix, other: Matrix) -> Matrix:
        """Return sums of vectors, point by point."""
        return self.total((self.ones, one), (self.ones, other))

    def sums(self, i: int, way: Way, batch: Matrix) -> Matrix:
        """Return what all heads of a layer together, with skip connections, make of vectors."""
        skipped = [(self.ones, batch)] * self.form.skip
        return self.total(*skipped, *((self.ones, way(head, batch)) for head in self.layers[i]))

    def pair(self, one: Matrix, other: Matrix) -> list[int]:
        """Return the products of vectors, point by point."""
        spend(len(one) * (10 + len(one[0])))
        return [sum(map(mul, a, b)) % self.p for a, b in zip(one, other, strict=True)]

    def scores(self, head: Head, keys: Matrix, queries: Matrix) -> list[int]:
        """Return k^T A q, point by point."""
        return self.pair(dots(keys, head.k), dots(queries, head.q))

    def independent(self, rows: Matrix) -> bool:
        """Return whether rows are independent modulo p."""
        return self.rank(rows) == len(rows)

    # ---- what conditions ask

    def next_words(self, i: int) -> Matrix:
        """Return the words in front of layer i, at each point those of the next one."""
        words = self.at["F"][i - 1]
        return [*words[1:], words[0]]

    def transposed_forms(self, i: int) -> Matrix:
        """Return scores of all heads of layer i on the words of the next point and of this one."""
        return [self.scores(h, self.next_words(i), self.at["F"][i - 1]) for h in self.layers[i - 1]]

    def rows(self, i: int, one: str, other: str, *, scores: bool) -> Matrix:
        """Return scores, or values, of all heads of layer i on batches by their letters, point by point."""
        batch = self.at[other][i - 1]
        if scores:
            batch = self.next_words(i) if other == "F" else batch
            return [self.scores(h, self.at[one][i - 1], batch) for h in self.layers[i - 1]]
        return [self.pair(self.at[one][i], h.writes(batch)) for h in self.layers[i - 1]]

    def flips(self, i: int) -> tuple[Matrix, dict[tuple[int, int], list[int]]]:
        """Return forms (c - v_N)^T A v_N of all heads of the next layer, v_N the sum of the v_h: of heads, of pairs."""
        first = self.at["S"]
        v = [head.writes(first[i - 1]) for head in self.layers[i - 1]]

        def form(one: Matrix, other: Matrix) -> list[int]:
            return [x for g in self.layers[i] for x in self.scores(g, one, other)]

        def less(one: list[int], *others: list[int]) -> list[int]:
            return [(x - sum(more)) % self.p for x, *more in zip(one, *others, strict=True)]

        heads = range(len(v))
        square = [[form(v[g], v[h]) for h in heads] for g in heads]
        alone = [less(form(first[i], v[h]), square[h][h]) for h in heads]
        nothing = [0] * len(alone[0])
        return alone, {(g, h): less(nothing, square[g][h], square[h][g]) for h in heads for g in range(h)}
