"""Where a test modulo a prime shows nothing: the same conditions of docs/transformer-fibers.md decided over Q.

Only for small networks, where forms and spaces can be written out; what is not decided here stays unknown.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lightning_sym.exact.rational import rank
from lightning_sym.exact.subspaces import Subspace
from lightning_sym.fibers.condition_tests import SUBSETS, Shown, subsets
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.system.circuits import NetworkCircuits

LARGEST, MOST_HEADS = 16, 32
"""Widths, and heads in all, up to which conditions are decided over the rationals."""


def is_small(shape: Architecture) -> bool:
    """Whether the conditions of a network of this shape are decided over the rationals.

    Example:
        >>> is_small(Architecture((4, 4), (2,), 2)), is_small(Architecture((64, 64), (2,), 2))
        (True, False)
    """
    shape.require("exact conditions", ("normalization", "causal", "skip", "heads", "value_ranks", "embed", "unembed"))
    return max(*shape.widths, shape.input_width, shape.output_width) <= LARGEST and (
        shape.heads * shape.depth <= MOST_HEADS
    )


class ExactConditions:
    """A network over the rationals and the spaces of the conditions; each method decides one for layer `i`, or not."""

    def __init__(self, weights: Weights, tokens: int, *, idle_heads: bool = True) -> None:
        self.net = NetworkCircuits.of(weights, idle_heads=idle_heads).in_memory()
        self.shape = weights.architecture(tokens)
        eye = RationalMatrix.identity
        self.embed = self.net.embedded(eye(self.shape.input_width))
        unembed = self.net.before_unembedding(eye(self.shape.output_width))
        self.first = self.net.first(eye(self.shape.input_width))
        self.means = self.net.means(eye(self.shape.output_width))
        words, readers = [Subspace.spanned(self.embed)], [Subspace.spanned(unembed)]
        self.written = [self.embed]
        for i, heads in enumerate(self.net.layers, start=1):
            images = [head.carried(words[-1].basis) for head in heads]
            start = words[-1] if self.net.skip else Subspace.zero(self.net.widths[i])
            words.append(start.extended(*images))
            self.written.append(Subspace.spanned(*images).basis)
        for i, heads in zip(range(self.shape.depth - 1, -1, -1), reversed(self.net.layers), strict=True):
            start = readers[-1] if self.net.skip else Subspace.zero(self.net.widths[i])
            readers.append(start.extended(*(head.read(readers[-1].basis) for head in heads)))
        self.words, self.readers = words, readers[::-1]

    def a(self, i: int) -> Shown:
        """Independent scores; in the last layer, and for three tokens, different ones are enough."""
        rows = self._scores(i)
        shown = _independent(rows)
        if shown.holds or (i < self.shape.depth and self.shape.tokens == 2):
            return shown
        if (fault := _fault(rows, opposites=self.shape.tokens == 2)) is not None:
            return Shown(False, fault)
        return Shown(True, "scores not zero and pairwise different over Q", starred=i < self.shape.depth)

    def _scores(self, i: int) -> ObjectArray:
        return _rows([[head.scores(self.written[i - 1], self.first[i - 1])] for head in self.net.layers[i - 1]])

    def a_prime(self, i: int) -> Shown | None:
        """Independent quadratic forms; for three tokens it can be enough that none is zero (Proposition 15)."""
        rows = self._squares(i)
        shown = None if rows is None else _independent(rows)
        if self.shape.tokens == 2:
            return shown
        # of each head one of two forms, this one without conditions on layers below
        heads, reached = (
            self.net.layers[i - 1],
            self.net.skip or i == 1,
        )  # without skip the stream may be narrower behind
        first = _rows(
            [[_symmetric(h.scores(self.embed, self.embed))] if reached else [RationalMatrix.of([[0]])] for h in heads]
        )
        if (alone := _not_zero(first)).holds or rows is None or shown is None:
            return alone._replace(starred=True) if alone.holds else None
        either = _not_zero(np.hstack([first, rows]))
        if not either.holds:
            return either
        squares = [self._squares(j) for j in range(1, i)]
        below = [*(self._scores(j) for j in range(1, i)), *(r for r in squares if r is not None)]
        if not all(_independent(r).holds for r in below):
            return Shown(False, "scores of a layer below are dependent over Q", starred=True)
        return None if len(below) < 2 * (i - 1) else shown if shown.holds else either._replace(starred=True)

    def _squares(self, i: int) -> ObjectArray | None:
        """Of (a'): written out in the first two layers, and behind an onto embedding with skip connections."""
        heads = self.net.layers[i - 1]
        if i == 1:
            columns = [self.embed]
        elif i == 2 or (self.net.skip and self.words[0].dimension == self.net.widths[0]):
            inner = self.embed if i == 2 else RationalMatrix.identity(self.net.widths[0])
            columns = [head.carried(inner) for head in self.net.layers[i - 2]]
        else:
            return None
        pairs = [(b, c) for n, b in enumerate(columns) for c in columns[n:]]
        return _rows([[_symmetric(head.scores(b, c) + head.scores(c, b).mT) for b, c in pairs] for head in heads])

    def b(self, i: int, *, causal: bool) -> Shown:
        """Every head is seen."""
        above = self.readers[i].basis if causal else self.means[i]
        return _not_zero(self._pairings(i, above, self.words[i - 1].basis))

    def c(self, i: int) -> Shown | None:
        """No set of heads can be flipped; not decided with a mask, skip connections and more than one layer."""
        if not self.shape.causal:
            return _no_subset(self._pairings(i, self.means[i], self.written[i - 1]))
        if not self.net.skip:
            return _no_subset(self._pairings(i, self.readers[i].basis, self.words[i - 1].basis))
        if self.shape.depth == 1:
            return _no_subset(self._pairings(i, self.means[i], self.first[i - 1]))
        return None

    def f(self, i: int) -> Shown:
        """Every head is seen where the first of three tokens is seen with weight one half."""
        return _not_zero(self._pairings(i, self.means[i], self.halved(i)))

    def halved(self, i: int) -> RationalMatrix:
        """A multiple of `M_{i-1}(1/2) E`."""
        columns = self.embed
        for j in range(1, i):
            behind = self.net.after(j, columns)
            columns = columns + behind if self.net.skip else behind
        return columns

    def span(self, letter: str, i: int) -> Shown:
        """A rank."""
        found = {
            "F": lambda: self.words[i].dimension,
            "U": lambda: self.readers[i].dimension,
            "S": lambda: Subspace.spanned(self.first[i]).dimension,
        }[letter]()
        return Shown(found == self.net.widths[i], f"rank {found} of {self.net.widths[i]} over Q")

    def _pairings(self, i: int, above: RationalMatrix, below: RationalMatrix) -> ObjectArray:
        return _rows([[above.mT @ head.carried(below)] for head in self.net.layers[i - 1]])


def _symmetric(matrix: RationalMatrix) -> RationalMatrix:
    return matrix + matrix.mT


def _rows(forms: Sequence[Sequence[RationalMatrix]]) -> ObjectArray:
    """Of each head a row of all entries."""
    return np.array([[x for m in each for x in m.fractions().ravel()] for each in forms], dtype=object)


def _independent(rows: ObjectArray) -> Shown:
    found = rank(rows) if rows.size else 0
    return Shown(found == len(rows), f"rank {found} of {len(rows)} over Q")


def _not_zero(rows: ObjectArray) -> Shown:
    zero = [str(h) for h, row in enumerate(rows, start=1) if not any(row)]
    return Shown(not zero, f"zero: head {', '.join(zero)}" if zero else "not zero over Q")


def _fault(rows: ObjectArray, *, opposites: bool) -> str | None:
    """What is wrong with rows that should be different and not zero, and not opposite where that counts."""
    known: dict[tuple[object, ...], int] = {}
    for h, row in enumerate(rows, start=1):
        if not any(row):
            return f"the scores of head {h} are zero"
        if (other := known.get(tuple(row))) is not None:
            return f"the scores of heads {other} and {h} are equal"
        if opposites and (other := known.get(tuple(-row))) is not None:
            return f"the scores of heads {other} and {h} are opposite"
        known[tuple(row)] = h
    return None


def _no_subset(rows: ObjectArray) -> Shown | None:
    shown = _independent(rows)
    if shown.holds:
        return shown
    if len(rows) > SUBSETS:
        return None
    for chosen in subsets(len(rows)):
        if not any(rows[chosen].sum(axis=0)):
            return Shown(False, f"the sum over heads {', '.join(str(h + 1) for h in chosen)} is zero")
    return Shown(True, "the sum over no set of heads is zero, over Q")
