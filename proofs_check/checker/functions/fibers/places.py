"""The spaces of docs/transformer-fibers.md, section 1, at the places of a network, over the rationals or modulo p.

Over the rationals vectors are integers; a batch may be scaled as a whole, and those of a basis each: all that is asked
is what is zero. Modulo p all numbers are residues of what stands there over the rationals, for vectors with these
residues: if one is not 0, that is not (docs/transformer-fibers.md, Proposition 13).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from operator import mul

from proofs_check.checker.functions.matrices import Span, Vector, combined, dots, integral, unit
from proofs_check.checker.functions.network import Form, Head, Weights, integers
from proofs_check.checker.functions.rings import independent, symmetric
from proofs_check.checker.verify import Matrix, keep, need, spend, transposed

MORE = 8
"""Points beyond those that are needed."""


def numbers(seed: int, p: int) -> Iterator[int]:
    """Yield the upper half of a linear congruential generator of 64 bits, modulo p. Any other would do."""
    while True:
        seed = (6364136223846793005 * seed + 1442695040888963407) % 2**64
        yield (seed >> 32) % p


class Field:
    """The rational numbers, for vectors of integers up to a factor, or the field with p elements, if p is not 0."""

    def __init__(self, p: int = 0) -> None:
        self.p = p

    def matrix(self, m: Matrix) -> Matrix:
        """Return a matrix modulo p, or a multiple of it."""
        rows, under = integral(m)
        need(not self.p or under % self.p, "the prime must divide no denominator")
        inverse = pow(under, -1, self.p) if self.p else 1
        return self.reduced([[x * inverse for x in row] for row in rows])

    def heads(self, heads: list[Head]) -> tuple[list[Head], int]:
        """Return heads, and the number by which all O V are multiplied."""
        return ([Head(*map(self.matrix, head)) for head in heads], 1) if self.p else integers(heads)

    def basis(self, *batches: Iterable[Sequence[int]]) -> Matrix:
        """Return a basis of what vectors span; modulo p some of them are one."""
        vectors = ([x % self.p for x in v] for v in chain(*batches)) if self.p else chain(*batches)
        return independent(self.p, vectors) if self.p else Span(vectors).vectors()

    def reduced(self, m: Matrix) -> Matrix:
        """Return a matrix by the numbers that stand for its entries."""
        spend(10 * sum(map(len, m)))
        keep(sum(100 + 40 * len(row) for row in m))
        return [[x % self.p for x in row] for row in m] if self.p else m

    def rank(self, rows: Matrix) -> int:
        """Return the rank modulo p, which is at most that over the rationals."""
        return len(independent(self.p, rows))


class Spaces:
    """A network over a field: bases `F` of words, `N` of those with a letter in the layer before, `U` of words above.

    Columns `S` are S_i E on a basis of what E writes, and rows `Y` are Y_i, for a basis of what U reads.
    """

    def __init__(self, field: Field, form: Form, t: int, w: Weights, seed: int = 0) -> None:
        self.field, self.form, self.t, self.w, self.seed, self.depth = field, form, t, w, seed, len(w.layers)
        most, pairs = max(w.n, w.m), [field.heads(heads) for heads in w.layers]
        keep(4 * most * (100 + 8 * most))
        self.layers, self.under = [heads for heads, _ in pairs], [under for _, under in pairs]
        words = field.basis(transposed(field.matrix(w.E)) or unit(w.n))
        above = field.basis(field.matrix(w.U) or unit(w.m))
        F, N, S, U, Y = [words], [words], [words], [above], [above]
        for i in range(self.depth):
            N.append(self.words(i, Head.writes, F[-1]))
            F.append(field.basis(F[-1], N[-1]) if form.skip else N[-1])
            S.append(self.sums(i, Head.writes, S[-1]))
        for i in reversed(range(self.depth)):
            longer = self.words(i, Head.reads, U[0])
            U.insert(0, field.basis(U[0], longer) if form.skip else longer)
            Y.insert(0, self.sums(i, Head.reads, Y[0]))
        self.at = {"F": F, "N": N, "S": S, "U": U, "Y": Y}

    def words(self, i: int, way: Callable[[Head, Matrix], Matrix], batch: Matrix) -> Matrix:
        """Return a basis of what the heads of a layer make of vectors."""
        return self.field.basis(*(way(head, batch) for head in self.layers[i]))

    def sums(self, i: int, way: Callable[[Head, Matrix], Matrix], batch: Matrix) -> Matrix:
        """Return what all heads of a layer together, with skip connections, make of vectors, times a number."""
        skipped = [(self.under[i], batch)] * self.form.skip
        return self.field.reduced(combined(*skipped, *((1, way(head, batch)) for head in self.layers[i])))

    def flat(self, m: Matrix) -> Vector:
        """Return the entries of a matrix in a row."""
        return [x for row in self.field.reduced(m) for x in row]

    def flips(self, i: int, heads: list[int]) -> tuple[Matrix, dict[tuple[int, int], Vector]]:
        """Return forms (c - v_N)^T A v_N of all heads of the next layer, v_N the sum of the v_h: of heads, of pairs."""
        first = self.at["S"]
        v = {h: self.layers[i - 1][h].writes(first[i - 1]) for h in heads}

        def form(one: Matrix, other: Matrix) -> Vector:
            return [x for head in self.layers[i] for x in self.flat(symmetric(head.scores(one, other)))]

        square = {(g, h): form(v[g], v[h]) for g in heads for h in heads}
        both = [(g, h) for g in heads for h in heads if h < g]
        alone = combined((1, [form(first[i], v[h]) for h in heads]), (-1, [square[h, h] for h in heads]))
        pairs = combined((-1, [square[g, h] for g, h in both]), (-1, [square[h, g] for g, h in both]))
        return self.field.reduced(alone), dict(zip(both, self.field.reduced(pairs), strict=True))

    def forms(self, i: int, one: Matrix, other: Matrix, *, scores: bool) -> list[Matrix]:
        """Return scores, or values, of all heads of layer i on batches."""
        if scores:
            return [head.scores(one, other) for head in self.layers[i - 1]]
        return [dots(head.writes(other), one) for head in self.layers[i - 1]]

    def squares(self, i: int) -> Matrix:
        """Return n^T A n of all heads of layer i modulo p at points n = N(gamma) E xi, which are no space."""
        drawn, p = numbers(self.seed, self.field.p), self.field.p
        count = MORE + max(*self.w.widths, *(len(x) * (len(x) + 1) // 2 for x in self.w.layers))
        gamma = [[list(islice(drawn, count)) for _ in heads] for heads in self.layers]
        start = [list(islice(drawn, self.w.n)) for _ in range(count)]
        words = new = self.field.reduced(dots(start, self.field.matrix(self.w.E)) if self.w.E else start)
        for heads, factors in zip(self.layers[: i - 1], gamma, strict=False):
            done = [head.writes(words) for head in heads]
            spend(count * len(heads) * (20 + 3 * len(done[0][0])))
            points = zip(zip(*factors, strict=True), zip(*done, strict=True), strict=True)
            new = self.field.reduced([[sum(map(mul, g, c)) for c in zip(*v, strict=True)] for g, v in points])
            words = self.field.reduced(combined((1, words), (1, new))) if self.form.skip else new
        both = [(dots(new, head.k), dots(new, head.q)) for head in self.layers[i - 1]]
        return [[sum(map(mul, x, y)) % p for x, y in zip(*each, strict=True)] for each in both]
