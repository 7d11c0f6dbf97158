r"""The tests of Proposition 13 of docs/transformer-fibers.md: conditions shown by residues at random points.

A test that succeeds proves its condition: each residue is that of a polynomial at an integer point. One that fails
shows nothing. The letters are those of the proposition: $n_k = N_{i-1}(\gamma_k) E \xi_k$, $m_k = M_{i-1}(\gamma_k) E
\xi_k$, $y_k = S_{i-1} \eta_k$, $\upsilon_k = \rho_k^\top Y_i$, $\tau_k = \rho_k^\top U T_i(\gamma_k)$; a point is a
column here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import SHAPED
from lightning_sym.network.weights import Weights
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix, random_residues
from lightning_sym.system.circuits import NetworkOver, added, residue_network

SUBSETS = 16
"""Heads of a layer up to which all sets of heads are gone through."""

MORE = 8
"""Points beyond those that are needed."""

MOST_RESIDUES = 2**26
"""Of the forms of all pairs of heads at all points; of more heads these are not tested."""

Rows = npt.NDArray[np.int64]
"""Of each head a row of residues."""


class Shown(NamedTuple):
    """Whether a test succeeds, with what, and whether what is shown is (a\\*) or (a'\\*) of Proposition 15 alone."""

    holds: bool
    evidence: str
    starred: bool = False


def points_needed(shape: Architecture) -> int:
    """Points at which residues are taken: more than heads; for *Forms* of Proposition 13 more than pairs of heads.

    Raises:
        BadInput: the network has an option for which the conditions are not proved.

    Example:
        >>> points_needed(Architecture((2, 2), (1,), 3, heads=4))
        12
    """
    shape.require("the conditions", SHAPED)
    heads, pairs = shape.heads, shape.heads * (shape.heads + 1) // 2
    forms = shape.tokens == 2 and shape.causal and shape.skip and shape.depth > 1
    return MORE + (pairs if forms and (heads + 1) ** 2 * heads * pairs <= MOST_RESIDUES else heads)


class ConditionTests:
    """A network modulo a prime, and points.

    Args:
        weights: the network, softmax, at least two tokens.
        tokens: $t$.
        seed: picks the points.
        idle_heads: test heads whose values are 0 too.
        primes: the first that divides no denominator is taken.
    """

    def __init__(
        self, weights: Weights, tokens: int, seed: int = 0, *, idle_heads: bool = True, primes: Sequence[int] = PRIMES
    ) -> None:
        self.net: NetworkOver[PrimeFieldMatrix]
        self.net, self.p = residue_network(weights, idle_heads=idle_heads, primes=primes)
        self.shape = weights.architecture(tokens)
        self._generator = np.random.default_rng(seed)
        self.count = points_needed(self.shape)
        xi, eta = (self._random(self.shape.input_width, self.count) for _ in range(2))
        rho = self._random(self.shape.output_width, self.count)
        gamma = [[self._random(1, self.count) for _ in heads] for heads in self.net.layers]
        self.streams, self.words = self._words(xi, gamma)
        self.above = self._readers(rho, gamma)
        self.first, self.means = self.net.first(eta), self.net.means(rho)

    def _random(self, *size: int) -> PrimeFieldMatrix:
        return random_residues(self._generator, size, self.p)

    def _words(
        self, xi: PrimeFieldMatrix, gamma: list[list[PrimeFieldMatrix]]
    ) -> tuple[list[PrimeFieldMatrix], list[PrimeFieldMatrix]]:
        """`M_i(gamma) E xi` and `N_i(gamma) E xi` for `i = 0, ..., l`."""
        reached = [self.net.embedded(xi)]
        written = [reached[0]]
        for heads, numbers in zip(self.net.layers, gamma, strict=True):
            written.append(added([h.carried(reached[-1]) * g for h, g in zip(heads, numbers, strict=True)]))
            reached.append(reached[-1] + written[-1] if self.net.skip else written[-1])
        return reached, written

    def _readers(self, rho: PrimeFieldMatrix, gamma: list[list[PrimeFieldMatrix]]) -> list[PrimeFieldMatrix]:
        """The transposes of `rho^T U T_i(gamma)` for `i = 0, ..., l`."""
        found = [self.net.before_unembedding(rho)]
        for heads, numbers in zip(reversed(self.net.layers), reversed(gamma), strict=True):
            parts = [h.read(found[-1]) * g for h, g in zip(heads, numbers, strict=True)]
            found.append(added([found[-1], *parts] if self.net.skip else parts))
        return found[::-1]

    # rows of residues

    def _pairings(self, i: int, left: PrimeFieldMatrix, right: PrimeFieldMatrix) -> Rows:
        """`left_k . V_ih right_k`, of each head a row."""
        return np.array([self._paired(left, head.carried(right)) for head in self.net.layers[i - 1]])

    def _paired(self, left: PrimeFieldMatrix, right: PrimeFieldMatrix) -> npt.NDArray[np.int64]:
        """The products of column with column, summed."""
        products = (left * right).entries
        residues: npt.NDArray[np.int64] = np.mod(products.sum(axis=0).astype(np.int64), self.p)
        return residues

    def _scored(self, i: int, keys: PrimeFieldMatrix, queries: PrimeFieldMatrix) -> Rows:
        """`keys_k^T A_ih queries_k`, of each head a row."""
        return np.array([self._paired(h.offered(keys), h.query @ queries) for h in self.net.layers[i - 1]])

    def scores(self, i: int) -> Rows:
        """Of (a)."""
        return self._scored(i, self.words[i - 1], self.first[i - 1])

    def squares(self, i: int) -> Rows:
        """Of (a')."""
        return self._scored(i, self.words[i - 1], self.words[i - 1])

    def written(self, i: int) -> Rows:
        """What of each head is seen, on every word."""
        return self._pairings(i, self.above[i], self.streams[i - 1])

    def vanishing(self, rows: Rows) -> list[int] | None:
        """Heads whose rows add up to zero, by number from 1; `None` if no set is one, or if there are too many sets."""
        if len(rows) > SUBSETS or self._independent(rows).holds:
            return None
        chosen = (heads for heads in subsets(len(rows)) if not np.mod(rows[heads].sum(axis=0), self.p).any())
        return next(([h + 1 for h in heads] for heads in chosen), None)

    # tests, layer i

    def a(self, i: int) -> Shown:
        """Independent scores; in the last layer, and for three tokens, different ones are enough (Proposition 15)."""
        rows = self.scores(i)
        shown = self._independent(rows)
        enough = i == self.shape.depth or self.shape.tokens > 2
        if not shown.holds and enough and self._different(rows, opposites=self.shape.tokens == 2):
            opposite = ", not opposite" if self.shape.tokens == 2 else ""
            starred = i < self.shape.depth  # of the last layer (a) asks for no more
            return Shown(True, f"scores not zero and pairwise different{opposite} modulo {self.p}", starred)
        return shown

    def a_prime(self, i: int) -> Shown:
        """Independent quadratic forms; for three tokens it can be enough that none is zero (Proposition 15)."""
        rows = self.squares(i)
        shown = self._independent(rows)
        if self.shape.tokens == 2:
            return shown
        below = all(self._independent_scores(j) for j in range(1, i))
        if shown.holds and below:
            return shown
        # of each head one of two forms, this one without conditions on layers below
        first = self._scored(i, self.words[0], self.words[0]) if self.net.skip or i == 1 else np.zeros_like(rows)
        if not below and rows.any() and not first.any():
            return Shown(False, f"scores of a layer below are dependent modulo {self.p}", starred=True)
        return self._not_zero(np.hstack([first, rows]) if below else first)._replace(starred=True)

    def _independent_scores(self, i: int) -> bool:
        return self._independent(self.scores(i)).holds and self._independent(self.squares(i)).holds

    def b(self, i: int, *, causal: bool) -> Shown:
        """Every head is seen."""
        above = self.above[i] if causal else self.means[i]
        return self._not_zero(self._pairings(i, above, self.streams[i - 1]))

    def c(self, i: int) -> Shown:
        """No set of heads can be flipped (two tokens)."""
        if not self.shape.causal:
            return self._no_subset(self._pairings(i, self.means[i], self.words[i - 1]))
        if not self.net.skip:
            return self._no_subset(self._pairings(i, self.above[i], self.streams[i - 1]))
        if i == self.shape.depth:
            return self._no_subset(self._pairings(i, self.means[i], self.first[i - 1]))
        return self._no_form(i)

    def f(self, i: int) -> Shown:
        """Every head is seen where the first of three tokens is seen with weight one half."""
        columns, half = self.net.embedded(self._random(self.shape.input_width, self.count)), (self.p + 1) // 2
        for j in range(1, i):
            written = added([head.carried(columns) for head in self.net.layers[j - 1]])
            columns = columns + written * written.like([[half]]) if self.net.skip else written  # a multiple of it
        return self._not_zero(self._pairings(i, self.means[i], columns))

    def e(self, i: int) -> Shown:
        """No combination of formal scores of three tokens is free of the layer before; in the last layer of query 3."""
        heads, queries = self.net.layers[i - 1], (2,) if i == self.shape.depth else (0, 1, 2)
        pairs = [(j, k) for k in queries for j in range(3) if (j < k if self.shape.causal else j != k)]
        rows = []
        for _ in range(len(heads) * len(pairs) + MORE):
            start = self.net.embedded(self._random(self.shape.input_width, 3))
            for layer in self.net.layers[: max(i - 2, 0)]:
                start = self._formal(start, layer)
            streams = [self._formal(start, self.net.layers[i - 2]) for _ in range(2)] if i > 1 else [start]
            found = [np.array([self._differences(head, x, pairs) for head in heads]).ravel() for x in streams]
            rows.append(found[0] if i == 1 else np.mod(found[0] - found[1], self.p))
        return self._full(np.array(rows), len(heads) * len(pairs))

    def _formal(self, stream: PrimeFieldMatrix, heads: Sequence[Any]) -> PrimeFieldMatrix:
        """A layer with random patterns whose columns have the sum 1."""
        parts = []
        for head in heads:
            pattern = self._random(3, 3).residues()
            if self.shape.causal:
                pattern = np.triu(pattern)
            for k in range(3):
                pattern[k, k] = 1 - (pattern[:, k].sum() - pattern[k, k])
            parts.append(head.carried(stream) @ PrimeFieldMatrix.of(pattern, self.p))
        behind: PrimeFieldMatrix = added([stream, *parts] if self.net.skip else parts)
        return behind

    def _differences(self, head: Any, stream: PrimeFieldMatrix, pairs: list[tuple[int, int]]) -> list[int]:
        scores = head.scores(stream, stream).residues()
        return [int(scores[j, k] - scores[k, k]) % self.p for j, k in pairs]

    def spans(self) -> Iterator[tuple[str, int, Shown]]:
        """The conditions on ranks: a letter, the layer, what is shown."""
        widths, skip = self.net.widths, self.net.skip
        if self.shape.embed is not None:
            yield "F", 0, self._full(self.net.embed.entries, widths[0])
        if self.shape.unembed is not None:
            yield "U", self.shape.depth, self._full(self.net.unembed.entries, widths[-1])
        many = max(widths) + MORE
        if not skip:
            gamma = [[self._random(1, many) for _ in heads] for heads in self.net.layers]
            reached, _ = self._words(self._random(self.shape.input_width, many), gamma)
            readers = self._readers(self._random(self.shape.output_width, many), gamma)
            for i, width in enumerate(widths):
                if i:
                    yield "F", i, self._full(reached[i].entries, width)
            for i, width in enumerate(widths[:-1]):
                yield "U", i, self._full(readers[i].entries, width)
        found = self.net.first(self._random(self.shape.input_width, many))
        for i, width in enumerate(widths[1:-1], start=1):
            # with skip connections, and E of rank d, that is: the determinants of C_1, ..., C_i are not zero
            yield "S", i, self._full(found[i].entries, width)

    # what rows of residues show

    def _full(self, matrix: npt.NDArray[Any], wanted: int) -> Shown:
        found = rank_mod_p(matrix, self.p)
        return Shown(found >= wanted, f"rank {found} of {wanted} modulo {self.p}")

    def _independent(self, rows: Rows) -> Shown:
        return self._full(rows, len(rows))

    def _not_zero(self, rows: Rows) -> Shown:
        zero = [str(h) for h, row in enumerate(rows, start=1) if not row.any()]
        if zero:
            return Shown(False, f"zero modulo {self.p} at all points: head {', '.join(zero)}")
        return Shown(True, f"not zero modulo {self.p}")

    def _different(self, rows: Rows, *, opposites: bool) -> bool:
        seen = {tuple(row) for row in rows}
        opposite = {tuple(np.mod(-row, self.p)) for row in rows} if opposites else set()
        return len(seen) == len(rows) and not seen & opposite and all(row.any() for row in rows)

    def _no_subset(self, rows: Rows) -> Shown:
        shown = self._independent(rows)
        if shown.holds or len(rows) > SUBSETS:
            return shown
        if chosen := self.vanishing(rows):
            return Shown(
                False, f"the sum over heads {', '.join(map(str, chosen))} is zero modulo {self.p} at all points"
            )
        return Shown(True, f"the sum over no set of heads is zero modulo {self.p}")

    def _no_form(self, i: int) -> Shown:
        """*Forms* of Proposition 13: the lowest layer with flips is `i`, not the last one."""
        heads, above = self.net.layers[i - 1], self.net.layers[i]
        if len(heads) * (len(heads) + 1) // 2 > self.count:
            return Shown(False, f"not tested for {len(heads)} heads")
        u = self.first[i - 1]
        v, c = [head.carried(u) for head in heads], self.net.after(i, u)
        # entries q_g(v_h, v_h') for all heads g of the next layer, points in one axis
        keys, queries = (
            [[w @ x for x in (c, *v)] for w in part] for part in zip(*((g.key, g.query) for g in above), strict=True)
        )

        def scored(left: int, right: int) -> npt.NDArray[np.int64]:
            return np.concatenate([self._paired(k[left], q[right]) for k, q in zip(keys, queries, strict=True)])

        size = len(heads)
        squares = np.array([[scored(h, j) for j in range(size + 1)] for h in range(size + 1)])
        columns = [squares[0, h] - squares[h, h] for h in range(1, size + 1)]
        columns += [-squares[h, j] - squares[j, h] for h in range(1, size + 1) for j in range(h + 1, size + 1)]
        shown = self._full(np.mod(np.array(columns), self.p), len(columns))
        if shown.holds or size > SUBSETS:
            return shown
        for chosen in subsets(size):
            places = np.array(chosen) + 1
            value = squares[0, places].sum(axis=0) - squares[np.ix_(places, places)].sum(axis=(0, 1))
            if not np.mod(value, self.p).any():
                heads_named = ", ".join(map(str, places))
                return Shown(False, f"the form of heads {heads_named} is zero modulo {self.p} at all points")
        return Shown(True, f"the form of no set of heads is zero modulo {self.p}")


def subsets(size: int) -> Iterator[list[int]]:
    """All sets of so many numbers from 0, but the empty one."""
    for number in range(1, 2**size):
        yield [h for h in range(size) if number >> h & 1]
