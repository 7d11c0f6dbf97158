r"""Motions of queries and keys that no score shows, layer by layer and head by head.

The scores of a layer change by $X^\top M X$, $M = d(K^\top Q)$, where the columns of the stream $X$ lie in the space
$F$ that is written before the layer. They do not change, or in a way that the pattern does not see, if

- only symmetric parts of attention matrices count, and $F^\top M F$ is skew: one token, or one row of input, or, in a
  plain lightning network, behind a layer of rank one;
- parts of $M$ on different images of the input cancel (`cancelling_forms`);
- $M$ is skew, kills the sum of all words, and there are two tokens under a causal mask;
- $M$ is one of the forms of `symmetric_products`.

Each is a linear system in $dQ, dK$. It counts only if it has, at the point, the largest rank it can have anywhere; the
proofs are in `docs/transformers.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from lightning_sym.exact.determinantal import determinantal
from lightning_sym.exact.modular import null_space_mod_p, null_space_of_rank, rank_mod_p
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import SHAPED
from lightning_sym.rings.prime_field import PrimeFieldMatrix, Residues
from lightning_sym.symmetries.cancelling_forms import (
    CountedParts,
    HeadWord,
    cancelling_forms,
    generic_rank,
    is_in_open_orbit,
    unseen_forms,
    words_to,
)
from lightning_sym.symmetries.factored import EchelonForm, Product, SymmetricProduct
from lightning_sym.symmetries.point import Point, pivots_of
from lightning_sym.system.reach import most_reached

Motions = Callable[["HeadMotions"], Iterator[tuple[Residues, Residues]]]

LARGEST_WORD_COUNT = 64
"""Words that lead to a layer, and columns they have together: beyond so many none of the systems counts."""


def counts_symmetrically(architecture: Architecture) -> list[bool]:
    """Return by layer whether only the symmetric part of attention matrices matters."""
    architecture.require("that symmetric parts count alone", SHAPED)
    if architecture.normalization is not None:
        return [False] * architecture.depth
    # one row of input, unmasked: X = e z^T stays of the form y z^T, and y^T A y is all there is of A
    if architecture.tokens == 1 or (architecture.input_width == 1 and not architecture.causal):
        return [True] * architecture.depth
    if architecture.skip or architecture.causal or architecture.heads > 1:
        return [False] * architecture.depth
    result, seen = [], False
    for a, written in zip(architecture.attention_ranks, most_reached(architecture), strict=False):
        result.append(seen)
        seen = seen or min(a, written) == 1
    return result


def sees_one_direction(architecture: Architecture) -> bool:
    """Return whether it is lightning, and the stream `y z^T` in every layer: one token, or one row without mask."""
    architecture.require("that a stream has one direction", SHAPED)
    one = architecture.tokens == 1 or (architecture.input_width == 1 and not architecture.causal)
    return architecture.normalization is None and one


def each_head(point: Point, motions: Motions, first: int = 0) -> Iterator[PrimeFieldMatrix]:
    """Yield motions of queries and keys, head by head, from layer `first` on, both from 0."""
    for i, h, name in point.heads(first):
        for query, key in motions(HeadMotions(point, i, h)):
            yield point.moving(**{"Q" + name: query, "K" + name: key})


def skew(point: Point) -> Iterator[PrimeFieldMatrix]:
    """Return motions by skew forms, where only symmetric parts count."""
    symmetric = counts_symmetrically(point.architecture)
    return each_head(point, lambda head: head.skew() if symmetric[head.layer] else iter(()))


def cancelling(point: Point) -> Iterator[PrimeFieldMatrix]:
    """Return forms whose parts on different images of the input cancel."""
    seen = cancelling_equations(point.architecture)
    return each_head(point, lambda head: head.cancelling(seen), first=1) if seen is not None else iter(())


def cancelling_equations(architecture: Architecture) -> CountedParts | None:
    """Return the equations of `cancelling` for this network, `None` if it is of neither kind."""
    normalization = architecture.normalization
    if sees_one_direction(architecture):
        return CountedParts()
    if normalization is not None and architecture.tokens == 2:
        return CountedParts(True, both_tokens=not architecture.causal, scores=normalization.growth is None)
    return None


class HeadMotions:
    """Queries and keys of a head on the stream, and their motions that no score shows, each kind by itself."""

    def __init__(self, point: Point, i: int, h: int) -> None:
        self.architecture, self.heads, self.prime = point.architecture, point.circuits.layers, point.prime
        self.layer, self.written, self.pivots = i, point.written, pivots_of(point.written[i])
        name = self.architecture.head_name(i + 1, h + 1)
        query, key = point.weights["Q" + name], point.weights["K" + name]
        self.rank, self.stream = len(query), len(self.pivots)
        self.query, self.key = (matrix @ self.written[i].T % self.prime for matrix in (query, key))

    def _moving(self, motions: Residues) -> tuple[Residues, Residues]:
        """Return what moves like this on the stream: rows of numbers, motions of queries and behind them of keys."""
        moved = motions.reshape(len(motions), 2, self.rank, self.stream)
        return moved[:, 0], moved[:, 1]

    def _combined(self, frame: Residues, forms: Residues) -> Iterator[tuple[Residues, Residues]]:
        """Yield motions that are combinations of the forms on the columns of the frame, which span the stream."""
        p, count, words = self.prime, len(forms), frame.shape[1]
        columns = EchelonForm(frame[self.pivots], p)
        basis = frame[self.pivots][:, columns.pivots]
        product = Product(self.key @ basis % p, self.query @ basis % p, p)
        largest = min(words**2, determinantal(self.stream, self.stream, self.rank) + count)
        if product.is_full and largest == product.dimension + count:
            return  # of the largest rank: no solutions but those that `skew` and the symmetries have
        # on columns that are a basis a form is any matrix, on the others it is to be what follows
        inside = forms[:, columns.pivots[:, None], columns.pivots]
        others = (forms - columns.form.T @ (inside @ columns.form % p)) % p
        motions, rest = product.split(inside)
        system = np.concatenate([others.reshape(count, words**2), rest], axis=1).T
        for found in null_space_of_rank(system, largest - product.dimension, p):
            solutions = -(found @ motions) % p
            if not product.is_full:  # else other families have these
                solutions = np.concatenate([solutions, product.kernel()])
            solutions = solutions.reshape(-1, self.stream) @ columns.steps % p
            if solutions.size:
                yield self._moving(solutions.reshape(-1, 2 * self.query.size))

    def _values(self, start: int) -> list[list[Residues]]:
        return [[head.value.residues() for head in heads] for heads in self.heads[start : self.layer]]

    def skew(self) -> Iterator[tuple[Residues, Residues]]:
        product = SymmetricProduct(self.key, self.query, self.prime)
        if product.is_full and len(kernel := product.kernel()):
            yield self._moving(kernel)

    def cancelling(self, seen: CountedParts) -> Iterator[tuple[Residues, Residues]]:
        architecture, widths, i, p = self.architecture, self.architecture.widths, self.layer, self.prime
        heads, skip, written = architecture.heads, architecture.skip, self.written
        for start in range(i):  # the stream may be taken for the input at any layer before
            if not 1 < (heads + skip) ** (i - start) <= LARGEST_WORD_COUNT:
                continue
            words = words_to(self._values(start), written[start].T, p, skip=skip)
            if rank_mod_p(np.concatenate(list(words.values()), axis=1), p) != self.stream:
                continue
            # the words are made of the frame they start from and of what each value matrix does to what is written
            dimension = widths[start] * len(written[start]) if skip else 0
            for j in range(start, i):
                inside = widths[j] if architecture.value_ranks is None else architecture.value_ranks[j]
                through = j + 1 < i and not skip
                target = len(written[j + 1]) if through else widths[i]
                dimension += heads * determinantal(target, len(written[j]), inside)
                if through:
                    dimension -= target**2  # the basis there is free
            if not is_in_open_orbit(words, dimension, p):
                continue
            if (most := self._generic_rank(start, dimension, seen)) is not None:
                largest = min(determinantal(self.stream, self.stream, self.rank), most)
                yield from self._cancelled(words, seen, largest)

    def _cancelled(
        self, words: dict[HeadWord, Residues], seen: CountedParts, largest: int
    ) -> Iterator[tuple[Residues, Residues]]:
        product = Product(self.key, self.query, self.prime)
        basis = product.basis()
        on_stream = {word: matrix[self.pivots] for word, matrix in words.items()}
        system = cancelling_forms(on_stream, product.moved(basis), seen, self.prime)
        for found in null_space_of_rank(system, largest, self.prime):
            solutions = found @ basis % self.prime
            if not product.is_full:
                solutions = np.concatenate([solutions, product.kernel()])
            if len(solutions):
                yield self._moving(solutions)

    def _generic_rank(self, start: int, dimension: int, seen: CountedParts) -> int | None:
        """Return the rank of the equations on all forms, over the rationals, from small integers in the open orbit."""
        architecture, generator = self.architecture, np.random.default_rng(0)
        for _ in range(8):  # small integers may miss the orbit
            layers = []
            for j in range(start, self.layer):
                d, d_out = architecture.widths[j : j + 2]
                b = d if architecture.value_ranks is None else min(d, architecture.value_ranks[j])
                layers.append(
                    [
                        generator.integers(-4, 5, size=(d_out, b)) @ generator.integers(-4, 5, size=(b, d))
                        for _ in range(architecture.heads)
                    ]
                )
            frame = generator.integers(-4, 5, size=(architecture.widths[start], len(self.written[start])))
            integers = [[value.astype(object) for value in heads] for heads in layers]
            words = words_to(integers, frame.astype(object), None, skip=architecture.skip)
            residues = {word: (matrix % self.prime).astype(np.int64) for word, matrix in words.items()}
            side = np.concatenate(list(residues.values()), axis=1)
            if rank_mod_p(side, self.prime) == self.stream and is_in_open_orbit(residues, dimension, self.prime):
                return generic_rank(words, seen)
        return None

    def skew_on_differences(self) -> Iterator[tuple[Residues, Residues]]:
        p, written = self.prime, self.written[self.layer]
        total = self.written[0].T
        for heads in self._values(0):
            parts = ([total] if self.architecture.skip else []) + [value @ total % p for value in heads]
            total = np.sum(parts, axis=0) % p
        coordinates = total[self.pivots]  # of the sum of all words, with respect to the basis of what is written
        if rank_mod_p(coordinates, p) < min(coordinates.shape):
            return
        killing = null_space_mod_p(coordinates.T, p)
        first, second = np.triu_indices(len(killing), 1)
        outer = killing[first, :, None] * killing[second, None, :] % p
        yield from self._combined(written.T, (outer - outer.mT) % p)

    def symmetric_products(self) -> Iterator[tuple[Residues, Residues]]:
        i, p = self.layer, self.prime
        frames = [self.written[0].T]
        if frames[0].shape[1] * 2**i > LARGEST_WORD_COUNT:
            return
        for (value,) in self._values(0):
            frames.append(np.concatenate([frames[-1], value @ frames[-1] % p], axis=1))
        attention = [head.attention.residues() for (head,) in self.heads[:i]]
        ranks = [min(a, len(w)) for a, w in zip(self.architecture.attention_ranks[:i], self.written, strict=False)]
        yield from self._combined(frames[-1], unseen_forms(attention, frames[:-1], ranks, p))
