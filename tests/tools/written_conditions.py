"""The conditions of docs/transformer-fibers.md with every word written out in SymPy: slow, and by a road of its own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from random import Random
from typing import Any

import sympy

from lightning_sym import Weights
from lightning_sym.system.circuits import NetworkCircuits

Matrix = Any


class Written:
    """A network by the matrices `A`, `V` of its heads; heads whose `V` is zero may be left out."""

    def __init__(self, circuits: NetworkCircuits, tokens: int, *, idle: bool = True) -> None:
        self.tokens, self.skip, self.causal = tokens, circuits.form.skip, circuits.form.causal
        self.e, self.u = (sympy.Matrix(m.fractions().tolist()) for m in (circuits.embed, circuits.unembed))
        self.widths, self.depth = circuits.widths, len(circuits.layers)
        heads = [
            [[sympy.Matrix(m.fractions().tolist()) for m in (h.attention, h.value)] for h in layer]
            for layer in circuits.layers
        ]
        self.layers = [[(a, v) for a, v in layer if idle or any(v)] for layer in heads]

    @classmethod
    def of(cls, weights: Weights, tokens: int) -> Written:
        return cls(NetworkCircuits.of(weights), tokens)

    def values(self, i: int) -> list[Matrix]:
        return [v for _, v in self.layers[i - 1]]

    def added(self, i: int, parts: Any) -> Matrix:
        return sum(parts, sympy.zeros(self.widths[i], self.widths[i - 1]))

    def letters(self, i: int) -> list[Matrix]:
        return self.values(i) + [sympy.eye(self.widths[i])] * self.skip

    def words(self, first: int, last: int, start: Matrix) -> list[Matrix]:
        found = [start]
        for i in range(first, last + 1):
            found = [letter * word for word in found for letter in self.letters(i)]
        return found

    def total(self, first: int, last: int, start: Matrix) -> Matrix:
        for i in range(first, last + 1):
            start = self.added(i, self.letters(i)) * start
        return start

    def ending(self, i: int) -> list[Matrix]:
        """The words up to layer `i` that have a letter there, times `E`; `E` for `i = 0`."""
        if i == 0:
            return [self.e]
        return [v * word for word in self.words(1, i - 1, self.e) for v in self.values(i)]

    def above(self, i: int, *, means: bool) -> list[Matrix]:
        one = sympy.eye(self.widths[i])
        if means:
            return [self.u * self.total(i + 1, self.depth, one)]
        return [self.u * w for w in self.words(i + 1, self.depth, one)]

    def scores(self, i: int) -> list[list[Any]]:
        s = self.total(1, i - 1, self.e)
        return [[x for b in self.ending(i - 1) for x in b.T * a * s] for a, _ in self.layers[i - 1]]

    def squares(self, i: int) -> list[list[Any]]:
        pairs = list(itertools.combinations_with_replacement(self.ending(i - 1), 2))
        forms = [[b.T * a * c + c.T * a * b for b, c in pairs] for a, _ in self.layers[i - 1]]
        return [list(itertools.chain(*(form + form.T for form in each))) for each in forms]

    def seen(self, i: int, chosen: tuple[int, ...], above: list[Matrix], below: list[Matrix]) -> bool:
        total = self.added(i, (self.values(i)[h] for h in chosen))
        return any(any(y * total * f) for y in above for f in below)

    def sets(self, i: int) -> Iterator[tuple[int, ...]]:
        """All sets of heads of a layer, the empty one first."""
        heads = range(len(self.layers[i - 1]))
        return itertools.chain(*(itertools.combinations(heads, size) for size in range(len(heads) + 1)))

    def holds(self, name: str, i: int) -> bool:
        """A condition as the page says it."""
        return bool(getattr(self, _METHODS[name])(i))

    def _a(self, i: int) -> bool:
        return full(self.scores(i)) or (i == self.depth and self._a_star(i))

    def _a_star(self, i: int) -> bool:
        rows = self.scores(i)
        bad = [[-x for x in row] for row in rows] if self.tokens == 2 else []
        pairs = itertools.combinations(range(len(rows)), 2)
        return all(map(any, rows)) and all(rows[g] != rows[h] and (not bad or bad[g] != rows[h]) for g, h in pairs)

    def _a_prime(self, i: int) -> bool:
        return full(self.squares(i))

    def _a_prime_star(self, i: int) -> bool:
        below = all(full(self.scores(j)) and full(self.squares(j)) for j in range(1, i))
        alone = [self.e.T * a * self.e if self.skip or i == 1 else sympy.zeros(1, 1) for a, _ in self.layers[i - 1]]
        rows = self.squares(i)
        return all(any(q + q.T) or (below and any(row)) for q, row in zip(alone, rows, strict=True))

    def _b(self, i: int, *, means: bool = False) -> bool:
        above, below = self.above(i, means=means or not self.causal), self.words(1, i - 1, self.e)
        return all(self.seen(i, (h,), above, below) for h in range(len(self.layers[i - 1])))

    def _b_unmasked(self, i: int) -> bool:
        return self._b(i, means=True)

    def _c(self, i: int) -> bool:
        """Without mask or skip connections of layer `i`, else of all layers together."""
        if self.causal and self.skip:
            every = itertools.product(*map(self.sets, range(1, self.depth + 1)))
            return all(self._flips_show(chosen) for chosen in every if any(chosen))
        above = self.above(i, means=not self.causal)
        below = self.words(1, i - 1, self.e) if self.causal else self.ending(i - 1)
        return all(self.seen(i, chosen, above, below) for chosen in self.sets(i) if chosen)

    def _flips_show(self, chosen: tuple[tuple[int, ...], ...]) -> bool:
        moved = [self.added(i, (self.values(i)[h] for h in hs)) for i, hs in enumerate(chosen, 1)]
        behind = self.e
        for i, m in enumerate(moved, 1):
            behind = (self.added(i, self.letters(i)) - m) * behind
        if self.u * behind != self.u * self.total(1, self.depth, self.e):
            return True
        j = next(i for i, hs in enumerate(chosen, 1) if hs)
        s = self.total(1, j - 1, self.e)
        left, right = (self.added(j, self.letters(j)) - moved[j - 1]) * s, moved[j - 1] * s
        forms = (left.T * a * right for a, _ in (self.layers[j] if j < self.depth else ()))
        return any(any(form + form.T) for form in forms)

    def _scored(self, i: int, keys: list[Matrix], queries: list[Matrix]) -> list[list[Any]]:
        return [[x for b in keys for w in queries for x in b.T * a * w] for a, _ in self.layers[i - 1]]

    def _a_words(self, i: int) -> bool:
        rows = self._scored(i, self.ending(i - 1), self.words(1, i - 1, self.e))
        return all(map(any, rows)) and all(one != other for one, other in itertools.combinations(rows, 2))

    def _o(self, i: int) -> bool:
        rows = self._scored(i, self.words(1, i - 1, self.e), [self.total(1, i - 1, self.e)])
        pairs = itertools.combinations_with_replacement(rows, 2)
        return all(any(x + y for x, y in zip(*both, strict=True)) for both in pairs)

    def _s(self, i: int) -> bool:
        words = self.words(1, i - 1, self.e)
        pairs = itertools.combinations_with_replacement([a for a, _ in self.layers[i - 1]], 2)
        return all(any(any(b.T * (one + other.T) * c) for b in words for c in words) for one, other in pairs)

    def span(self, name: str, i: int) -> bool:
        if name in ("rank E = d", "F = R^d"):
            return bool(sympy.Matrix.hstack(*self.words(1, i, self.e)).rank() == self.widths[i])
        if name in ("rank U = d", "rank Uh = d"):
            return bool(sympy.Matrix.vstack(*self.above(i, means=False)).rank() == self.widths[i])
        return bool(self.total(1, i, self.e).rank() == self.widths[i])

    def lacking(self, theorem: str) -> list[str]:
        """The conditions that a theorem, as it is cited, needs and that do not hold."""
        by_words = "Theorem 11" not in theorem
        found = self._lacking_of_words("*" * ("Proposition 15" in theorem)) if by_words else self._lacking_of_blocks()
        if theorem.startswith("Corollary 5"):
            layers = range(self.depth + 1)
            names = ["F = R^d", "rank Uh = d"]
            spans = [(name, i) for name in names for i in layers] + [("rank S = d", i) for i in layers[:-1] if by_words]
            found += [f"{name} {i}" for name, i in spans if not self.span(name, i)]
        return found

    def _lacking_of_words(self, star: str) -> list[str]:
        layers = range(1, self.depth + 1)
        needed = [("(a)" if i == self.depth else f"(a{star})", i) for i in layers] + [("(b)", i) for i in layers]
        needed += [(f"(a'{star})", i) for i in layers if not self.causal and i < self.depth]
        needed += [("(c)", i) for i in layers if self.tokens == 2]
        return [f"{name} {i}" for name, i in needed if not self.holds(name, i)] + ["tokens"] * (
            self.tokens < 2 + bool(star)
        )

    def _lacking_of_blocks(self) -> list[str]:
        """By the first of the lists of Theorem 11 that lacks least."""
        layers = range(1, self.depth + 1)
        if self.causal:
            lists = [("(a*)", "(b), unmasked", "(o)" * (self.tokens == 3))]
        else:
            lists = [("(a), words", "(b)", "(s)" * (self.tokens == 3 and self.skip))]
            lists += [("(a*)", "(b)", "(a'*)")] * (self.tokens == 3)
        last = {"(o)": self.depth - 1, "(a'*)": self.depth - 1, "(s)": self.depth - 2}
        found = [
            [f"{name} {i}" for name in names if name for i in layers[: last.get(name, self.depth)]
             if not self.holds(name, i)]
            for names in lists
        ]  # fmt: skip
        return min(found, key=len) + ["tokens"] * (self.tokens < 3)


_METHODS = {
    "(a)": "_a", "(a*)": "_a_star", "(a')": "_a_prime", "(a'*)": "_a_prime_star", "(b)": "_b", "(c)": "_c",
    "(b), unmasked": "_b_unmasked", "(a), words": "_a_words", "(o)": "_o", "(s)": "_s",
}  # fmt: skip


def full(rows: list[list[Any]]) -> bool:
    """Whether rows are independent over the rationals."""
    return bool(not rows or sympy.Matrix(rows).rank() == len(rows))


def two_tokens_differ(one: Written, other: Written, *, formal: bool) -> bool:
    """Whether no order of heads makes words and scores of two tokens equal: formal ones, or their part in `S x_1`."""
    if [len(heads) for heads in one.layers] != [len(heads) for heads in other.layers]:
        return True
    orders = itertools.product(*(itertools.permutations(heads) for heads in other.layers))
    return all(
        any(_two(one, one.layers, at, formal) != _two(other, order, at, formal) for at in "xyz") for order in orders
    )


def _two(net: Written, layers: Any, at: str, formal: bool) -> list[Any]:
    """Scores and outputs at a point."""
    source = Random(at)
    first, second = (net.e * sympy.Matrix(net.e.shape[1], 1, lambda *_: source.randint(-99, 99)) for _ in "ab")
    alike, found = first, []
    for i, heads in enumerate(layers, 1):
        apart, start = first - second, net.skip
        zero = sympy.zeros(net.widths[i], 1)
        found += [(apart.T * a * (second if formal else alike))[0] for a, _ in heads]
        given = [(0 if net.causal else source.randint(-99, 99), source.randint(-99, 99)) for _ in heads]
        behind = [
            sum((v * (first - g[k] * apart) for (_, v), g in zip(heads, given, strict=True)), x if start else zero)
            for k, x in enumerate((first, second))
        ]
        alike = sum((v * alike for _, v in heads), alike if start else zero)
        first, second = behind
    return found + list(net.u * first) + list(net.u * second)
