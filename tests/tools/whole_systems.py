"""Directions that heads have, the plain way: every entry of every weight is an unknown of one linear system.

What a solution counts for is as in `head_mixing` and `attention_motions`: the system has the largest rank that it can
have anywhere. Nothing is left to other families.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations

import numpy as np
import numpy.typing as npt

from lightning_sym.exact.determinantal import determinantal, symmetric_determinantal
from lightning_sym.exact.modular import null_space_of_rank
from lightning_sym.symmetries.attention_motions import HeadMotions, counts_symmetrically, sees_one_direction
from lightning_sym.symmetries.cancelling_forms import CountedParts, HeadWord, cancelling_forms
from lightning_sym.symmetries.head_mixing import _largest_filling, head_motion
from lightning_sym.symmetries.point import Point

Residues = npt.NDArray[np.int64]
Motions = Iterator[tuple[Residues, Residues]]


def units(matrix: Residues) -> Residues:
    """All matrices of this shape with one entry."""
    return np.eye(matrix.size, dtype=np.int64).reshape(-1, *matrix.shape)


class WholeHead(HeadMotions):
    """`HeadMotions` with every entry of queries and keys as an unknown."""

    def __init__(self, point: Point, i: int, h: int) -> None:
        super().__init__(point, i, h)
        name = point.architecture.head_name(i + 1, h + 1)
        query, key = point.weights["Q" + name], point.weights["K" + name]
        self.shape = query.shape
        self.motions = np.concatenate([key.T @ units(query) % self.prime, units(key).mT @ query % self.prime])
        """`d(K^T Q)`, for every unknown."""

    def solved(self, system: Residues, largest: int) -> Motions:
        half = len(self.motions) // 2
        for found in null_space_of_rank(system, largest, self.prime):
            if len(found):
                yield found[:, :half].reshape(-1, *self.shape), found[:, half : 2 * half].reshape(-1, *self.shape)

    def _combined(self, frame: Residues, forms: Residues) -> Motions:
        motions = frame.T @ (self.motions @ frame % self.prime) % self.prime
        system = np.concatenate([m.reshape(len(m), frame.shape[1] ** 2) for m in (motions, forms)]).T
        largest = determinantal(self.stream, self.stream, self.rank) + len(forms)
        yield from self.solved(system, min(len(system), largest))

    def skew(self) -> Motions:
        written = self.written[self.layer]
        on_stream = written @ (self.motions @ written.T % self.prime) % self.prime
        system = ((on_stream + on_stream.mT) % self.prime).reshape(len(on_stream), -1).T
        yield from self.solved(system, symmetric_determinantal(self.stream, 2 * min(self.rank, self.stream)))

    def _cancelled(self, words: dict[HeadWord, Residues], seen: CountedParts, largest: int) -> Motions:
        yield from self.solved(cancelling_forms(words, self.motions, seen, self.prime), largest)


def skew(point: Point) -> Iterator[Residues]:
    """The family of this name, by whole systems."""
    for i, symmetric in enumerate(counts_symmetrically(point.architecture)):
        for h in range(point.architecture.heads if symmetric else 0):
            for query, key in WholeHead(point, i, h).skew():
                name = point.architecture.head_name(i + 1, h + 1)
                yield point.moving(**{"Q" + name: query, "K" + name: key}).residues()


def mixing(point: Point) -> Iterator[Residues]:
    """The family of this name, by whole systems, one for each kind and each pair of heads."""
    for i in range(point.architecture.depth):
        yield from _Layer(point, i).solutions()


class _Layer:
    """What every entry of the weights of one layer does to all `A_h` and `V_h`: `n x heads x rows x columns`."""

    def __init__(self, point: Point, i: int) -> None:
        architecture, p = point.architecture, point.prime
        self.point, self.prime, self.symmetric = point, p, sees_one_direction(architecture)
        written, read = point.written[i], point.read[i + 1]
        self.names = [architecture.head_name(i + 1, h + 1) for h in range(architecture.heads)]
        self.letters = "QKV" if architecture.value_ranks is None else "QKVO"
        n, f, r = len(self.names), len(written), len(read)
        self.heads, self.a, self.v = [], np.zeros((n, f, f), dtype=np.int64), np.zeros((n, r, f), dtype=np.int64)
        da, dv, self.owner = [], [], list[int]()
        for h, name in enumerate(self.names):
            q, k, v = (point.weights[letter + name] for letter in "QKV")
            o = point.weights.get("O" + name)
            self.heads.append(head_motion(q, k, v, o, written=written, read=read, p=p, symmetric=self.symmetric))
            attention = [k.T @ units(q), units(k).mT @ q]
            values = [units(v)] if o is None else [o @ units(v), units(o) @ v]
            for moves, matrices in ((True, attention), (False, values)):
                for each in matrices:
                    a, b = (
                        np.zeros((len(each), n, f, f), dtype=np.int64),
                        np.zeros((len(each), n, r, f), dtype=np.int64),
                    )
                    if moves:
                        a[:, h] = self.on_stream(written @ (each % p @ written.T % p))
                    else:
                        b[:, h] = read @ (each % p @ written.T % p) % p
                    da.append(a)
                    dv.append(b)
                    self.owner += [h] * len(each)
            self.a[h] = self.on_stream(written @ (k.T @ q % p @ written.T % p))
            self.v[h] = read @ ((v if o is None else o @ v % p) @ written.T % p) % p
        self.da, self.dv = np.concatenate(da), np.concatenate(dv)

    def on_stream(self, found: Residues) -> Residues:
        return (found + found.mT if self.symmetric else found) % self.prime

    def solutions(self) -> Iterator[Residues]:
        everything = np.arange(len(self.owner))
        yield from self.solved(self.forms(), everything, _largest_filling(self.heads))
        n, (r, f) = len(self.names), self.v.shape[1:]
        forms = f * (f + 1) // 2 if self.symmetric else f * f
        free = [head.attention_dimension + head.value_dimension for head in self.heads]
        extra = [self.coefficient(h, k) for h, k in permutations(range(n), 2)]
        pairs = list(combinations(range(n), 2)) if r == 1 else []
        extra += [self.syzygy(h, k, s) for h, k in pairs for s in range(f)]
        least = min(n * (forms + r * f) - sum(free), len(extra))
        yield from self.solved(self.system(everything, extra), everything, sum(free) + least)
        for h, k in pairs:
            moved = np.flatnonzero([owner in (h, k) for owner in self.owner])
            common = max(0, self.heads[h].rank + self.heads[k].rank - f)
            system = self.system(moved, [self.syzygy(h, k, s) for s in range(f)])
            yield from self.solved(system, moved, free[h] + free[k] + f - common)

    def forms(self) -> Residues:
        """Of `sum_h (x^T A_h y) v_hm(x)`, or for symmetric parts at `y = x`: all coefficients, more than once."""
        found = np.einsum("nhik,hmj->nmkij", self.da, self.v) + np.einsum("hik,nhmj->nmkij", self.a, self.dv)
        found = (found + found.swapaxes(-1, -2)) % self.prime
        if self.symmetric:
            found = found + np.moveaxis(found, 2, 4) + np.moveaxis(found, 4, 2)
        rows: Residues = found.reshape(len(found), -1).T % self.prime
        return rows

    def coefficient(self, h: int, k: int) -> tuple[Residues, Residues]:
        a, v = np.zeros_like(self.a), np.zeros_like(self.v)
        a[h], v[k] = -self.a[k], self.v[h]
        return a, v

    def syzygy(self, h: int, k: int, s: int) -> tuple[Residues, Residues]:
        a = np.zeros_like(self.a)
        a[h, :, s], a[k, :, s] = -self.v[k, 0], self.v[h, 0]
        return (a + a.mT if self.symmetric else a), np.zeros_like(self.v)

    def system(self, moved: Residues, extra: list[tuple[Residues, Residues]]) -> Residues:
        a, v = (np.concatenate([m[moved], [e[kind] for e in extra]]) for kind, m in enumerate((self.da, self.dv)))
        found: Residues = np.concatenate([a.reshape(len(a), -1), v.reshape(len(v), -1)], axis=1).T % self.prime
        return found

    def solved(self, system: Residues, moved: Residues, largest: int) -> Iterator[Residues]:
        for found in null_space_of_rank(system, largest, self.prime):
            motions = np.zeros((len(found), len(self.owner)), dtype=np.int64)
            motions[:, moved] = found[:, : len(moved)]
            blocks, start = {}, 0
            for name in self.names:
                for letter in self.letters:
                    rows, columns = self.point.shapes[letter + name]
                    blocks[letter + name] = motions[:, start : start + rows * columns].reshape(-1, rows, columns)
                    start += rows * columns
            if len(found):
                yield self.point.moving(**blocks).residues()
