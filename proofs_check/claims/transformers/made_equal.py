"""Pairs of softmax transformers that are one function, each with a third that is spoiled in one place and is not."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import count, islice
from typing import NamedTuple

import numpy as np

from lightning_sym.exact.rational import rank, unique_solution
from lightning_sym.rings.arrays import ObjectArray
from proofs_check.claims.transformers.small_networks import (
    HeadAV,
    Matrix,
    SmallNetwork,
    as_array,
    as_rows,
    identity,
    zero,
)


class EqualPair(NamedTuple):
    """Two networks with one function, one that looks like the second and has another.

    At the end, whether Theorem 1 of docs/transformer-fibers.md says so.
    """

    kind: str
    one: SmallNetwork
    other: SmallNetwork
    spoiled: SmallNetwork
    covered: bool = True


class Maker:
    """Random small networks, and what may be done to them."""

    def __init__(self, seed: int) -> None:
        self.source = random.Random(seed)
        self.tokens = self.source.choice((2, 3))
        self.causal = self.source.random() < 0.5

    def matrix(self, rows: int, columns: int) -> Matrix:
        """Return a matrix of full rank with small entries."""
        while True:
            found = [[self.source.choice((-1, -1, 0, 1, 1, 2)) for _ in range(columns)] for _ in range(rows)]
            if rank(found) == min(rows, columns):
                return as_rows(found)

    def head(self, d: int) -> HeadAV:
        """Return any head."""
        return HeadAV(self.matrix(d, d), self.matrix(d, d))

    def network(self, n: int, d: int, heads: tuple[int, ...], *, skip: bool = True) -> SmallNetwork:
        """Return any network with so many heads in each layer."""
        layers = tuple(tuple(self.head(d) for _ in range(h)) for h in heads)
        return SmallNetwork(self.matrix(d, n), layers, self.matrix(n, d), self.tokens, self.causal, skip)

    def other_bases(self) -> EqualPair:
        """Return the stream in other bases, one for all layers if there are skips, and heads in another order."""
        d, skip = 2, self.source.random() < 0.5
        one = self.network(2, d, (2, 2), skip=skip)
        g = [as_array(self.matrix(d, d)) for _ in range(3)]
        g = [g[0]] * 3 if skip else g
        inverse = [np.array(unique_solution(m.tolist(), identity(d)), dtype=object) for m in g]

        def moved(i: int, head: HeadAV, transposed: bool) -> HeadAV:
            left = inverse[i].T if transposed else inverse[i]
            return HeadAV(
                as_rows(left @ as_array(head.attention) @ inverse[i]),
                as_rows(g[i + 1] @ as_array(head.value) @ inverse[i]),
            )

        def all_moved(*, transposed: bool) -> SmallNetwork:
            layers = tuple(
                tuple(moved(i, head, transposed) for head in reversed(heads)) for i, heads in enumerate(one.layers)
            )
            ends = as_rows(g[0] @ as_array(one.embed)), as_rows(as_array(one.unembed) @ inverse[2])
            return one._replace(embed=ends[0], layers=layers, unembed=ends[1])

        return EqualPair(
            "other bases, heads in another order", one, all_moved(transposed=True), all_moved(transposed=False)
        )

    def merged(self) -> EqualPair:
        """Return two heads with the same scores."""
        one = self.network(2, 2, (2, 1))
        (first, second), top = one.layers
        one = one._replace(layers=((first, second._replace(attention=first.attention)), top))

        def sum_of(times: int) -> SmallNetwork:
            value = as_rows(as_array(first.value) + times * as_array(second.value))
            return one._replace(layers=((HeadAV(first.attention, value),), top))

        return EqualPair("merged heads", one, sum_of(1), sum_of(2))

    def padded(self) -> EqualPair:
        """Return a pair with zero heads and a wider stream.

        Nothing reads what is written there, or nothing is written where it reads.
        """
        one = self.network(2, 2, (1, 2))

        def wider(matrix: Matrix, right: int = 0, below: int = 0) -> Matrix:
            rows = [[*row, *(right * self.source.choice((1, 2)) for _ in range(1))] for row in matrix]
            return as_rows([*rows, [below * self.source.choice((1, 2)) for _ in rows[0]]])

        written = self.source.random() < 0.5

        def pad(reads: int, writes: int) -> SmallNetwork:
            layers = tuple(
                (*(HeadAV(wider(h.attention, reads, reads), wider(h.value, reads, writes)) for h in heads),
                 HeadAV(self.matrix(3, 3), zero(3)))
                for heads in one.layers
            )  # fmt: skip
            unembed = as_rows([[*row, reads] for row in one.unembed])
            return one._replace(embed=as_rows([*one.embed, [writes] * 2]), layers=layers, unembed=unembed)

        return EqualPair("padded heads, a wider stream", one, pad(0, 1) if written else pad(1, 0), pad(1, 1))

    def narrow(self) -> EqualPair:
        """Return an embedding that does not fill the stream: parts of first scores and last values are not seen."""
        one = self.network(1, 3, (1, 1))
        (first,), (second,) = one.layers
        e, u = as_array(one.embed)[:, 0], as_array(one.unembed)[0]
        across = np.cross(e, u)  # e and u do not see it
        if not any(across):
            return self.narrow()
        change = np.outer(across, [1, 2, -1])
        attention, value = as_array(first.attention), as_array(second.value)

        def of(a: ObjectArray, v: ObjectArray) -> SmallNetwork:
            layers = ((first._replace(attention=as_rows(a)),), (second._replace(value=as_rows(v)),))
            return one._replace(layers=layers)

        spoiled = of(attention + np.outer(e, e), value + np.outer(u, u))
        return EqualPair("narrow embeddings", one, of(attention + change, value + change), spoiled)

    def flipped(self) -> EqualPair:
        """Return two tokens, two heads of the top layer with opposite values: both scores may be turned around."""
        self.tokens = 2
        one = self.network(2, 2, (1, 2), skip=self.source.random() < 0.5)
        bottom, (first, second) = one.layers
        value = as_array(first.value)
        one = one._replace(layers=(bottom, (first, second._replace(value=as_rows(-value)))))
        turned = [as_rows(-as_array(h.attention)) for h in (first, second)]

        def of(last: Matrix) -> SmallNetwork:
            return one._replace(layers=(bottom, (HeadAV(turned[0], as_rows(-value)), HeadAV(last, as_rows(value)))))

        return EqualPair("two tokens: flips of opposite values", one, of(turned[1]), of(second.attention))

    def opposite(self) -> EqualPair:
        """Return two tokens, two heads with opposite scores: one of them and a head without scores do the same."""
        self.tokens = 2
        one = self.network(2, 2, (2, 1))
        (first, second), top = one.layers
        one = one._replace(layers=((first, HeadAV(as_rows(-as_array(first.attention)), second.value)), top))
        ours, theirs = as_array(first.value), as_array(second.value)

        def of(times: int) -> SmallNetwork:
            constant = HeadAV(zero(2), as_rows(times * theirs))
            return one._replace(layers=((HeadAV(first.attention, as_rows(ours - theirs)), constant), top))

        return EqualPair("two tokens: opposite scores and a head without scores", one, of(2), of(1))

    def head_moved(self) -> EqualPair:
        """Return a pair with a head moved to another layer.

        Four coordinates are in two pairs: heads of one pair do not see those of the other, in whichever layer.
        """
        here, there = [self.head(2) for _ in range(3)], self.head(2)

        low, high, seen = (head.padded(0, 2) for head in here)
        other = there.padded(2, 0)
        ends = self.matrix(4, 2), self.matrix(2, 4)

        def of(*layers: tuple[HeadAV, ...]) -> SmallNetwork:
            return SmallNetwork(ends[0], layers, ends[1], self.tokens, self.causal)

        one = of((low, other), (high,))
        return EqualPair(
            "heads moved to another layer", one, of((low,), (high, other)), of((low,), (high, seen)), False
        )

    def blind(self) -> EqualPair:
        """Return a pair with no mask and no skip, behind a layer without scores.

        All tokens are equal there, and scores do not matter.
        """
        self.causal = False
        one = self.network(2, 2, (1, 1, 1), skip=False)
        first, (second,), (third,) = one.layers
        hidden = ((HeadAV(zero(2), first[0].value),), (second,), (third,))
        other = (
            hidden[0],
            (second._replace(attention=third.attention),),
            (third._replace(attention=second.attention),),
        )
        visible = (first, *other[1:])
        return EqualPair(
            "behind a layer without scores", one._replace(layers=hidden), one._replace(layers=other),
            one._replace(layers=visible),
        )  # fmt: skip


KINDS: tuple[Callable[[Maker], EqualPair], ...] = (
    Maker.other_bases, Maker.merged, Maker.padded, Maker.narrow, Maker.flipped, Maker.opposite, Maker.head_moved,
    Maker.blind,
)  # fmt: skip


def equal_pairs(*, quick: bool) -> Iterator[EqualPair]:
    """Yield so many pairs of each kind."""
    for number, kind in enumerate(KINDS):
        drawn = (kind(Maker(1000 * number + seed)) for seed in count())
        yield from islice((p for p in drawn if p.one != p.other != p.spoiled), 4 if quick else 40)
