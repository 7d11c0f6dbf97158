r"""How heads of a lightning layer mix: directions in which the sum of several heads does not move.

A lightning layer depends on its heads only through the quadratic forms $\sum_h a_{h,k}(x)\, v_{h,m}(x)$, where
$a_{h,k}$ are the columns of $A_h$ and $v_{h,m}$ the rows of $V_h$ as linear forms on what is written to the stream.
Where the stream is one vector times a row (one token, or one row of input without mask) it depends only on the cubic
forms $\sum_h (x^\top A_h x)\, v_{h,m}(x)$, and $A_h$ stands for its symmetric part $A_h + A_h^\top$ below. These
directions keep the sums:

- $\dot A_h = \sum_k c_{hk} A_k$ with $\dot V_k = -\sum_h c_{hk} V_h$, the Lie algebra of $GL_h$;
- if there is one row ($v_h$ a single form): $\dot A_h = \sum_k v_k s_{hk}^\top$ with $s_{hk} = -s_{kh}$, the syzygies.

Where ranks are limited the $\dot A_h$, $\dot V_h$ must be tangent to the matrices of those ranks. For a pair of heads
$v_k s^\top$ and $-v_h s^\top$ are, if $s$ lies in the row spaces of both; the system of all `c` and `s` does not count
where it has more conditions than unknowns, so each pair has a system of its own. And where the heads are so many that
their sums fill the whole space of forms, or all matrices of forms of the rank that they can have, every solution of
"the sums do not move" counts.

Each is a linear system in the motions and the coefficients `c`, `s`. As in `stream_directions`, a solution counts only
if the system has, at the point, the largest rank it can have anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, permutations
from math import comb

import numpy as np
import numpy.typing as npt

from lightning_sym.exact.determinantal import determinantal, symmetric_determinantal
from lightning_sym.exact.modular import null_space_of_rank
from lightning_sym.rings.prime_field import PrimeFieldMatrix
from lightning_sym.symmetries.attention_motions import sees_one_direction
from lightning_sym.symmetries.group import head_name
from lightning_sym.symmetries.point import Point

Residues = npt.NDArray[np.int64]


@dataclass(frozen=True)
class HeadMotion:
    """All motions of one head's matrices, and what they do to `A` and `V` on the stream.

    Attributes:
        attention: `A` on the written space, `f x f`, or its symmetric part.
        value: `V` from the written to the read space, `r x f`.
        attention_motions: one motion of `(Q, K)` each, as the motion of `A`, `n x f x f`.
        value_motions: one motion of `V` (and `O`) each, as the motion of `V`, `n x r x f`.
        symmetric: whether only symmetric parts of `A` count.
        rank: largest rank of `A`.
        value_rank: largest rank of `V`.
    """

    attention: Residues
    value: Residues
    attention_motions: Residues
    value_motions: Residues
    symmetric: bool
    rank: int
    value_rank: int

    @property
    def attention_dimension(self) -> int:
        """Dimension of the matrices `A` allowed."""
        f = len(self.attention)
        return symmetric_determinantal(f, self.rank) if self.symmetric else determinantal(f, f, self.rank)

    @property
    def value_dimension(self) -> int:
        """Dimension of the matrices `V` allowed."""
        r, f = self.value.shape
        return determinantal(r, f, self.value_rank)

    def coordinates(self, matrices: Residues) -> Residues:
        """Of matrices like `A`, one behind the other."""
        f = len(self.attention)
        return matrices[:, *np.triu_indices(f)] if self.symmetric else matrices.reshape(-1, f * f)


def head_motion(
    query: Residues,
    key: Residues,
    value: Residues,
    output: Residues | None,
    *,
    written: Residues,
    read: Residues,
    p: int,
    symmetric: bool = False,
) -> HeadMotion:
    """The motions of one head at a point modulo `p`; `written` and `read` are bases, one vector a row."""
    a, d = query.shape
    f, r = len(written), len(read)

    def on_stream(matrices: Residues) -> Residues:
        found: Residues = written @ (matrices @ written.T % p) % p
        return (found + found.mT) % p if symmetric else found

    def through(matrices: Residues) -> Residues:
        return read @ (matrices @ written.T % p) % p

    units = np.eye(a * d, dtype=np.int64).reshape(-1, a, d)
    attention_motions = np.concatenate([on_stream(key.T @ units % p), on_stream(units.mT @ query % p)])
    steps = np.eye(value.size, dtype=np.int64).reshape(-1, *value.shape)
    if output is None:
        whole, inner = value, min(r, f)
        value_motions = through(steps)
    else:
        whole, inner = output @ value % p, min(r, f, len(value))
        projections = np.eye(output.size, dtype=np.int64).reshape(-1, *output.shape)
        value_motions = np.concatenate([through(output @ steps % p), through(projections @ value % p)])
    rank = min(2 * a if symmetric else a, f)
    return HeadMotion(
        on_stream(key.T @ query % p), through(whole), attention_motions, value_motions, symmetric, rank, inner
    )


def mixing_directions(heads: list[HeadMotion], p: int) -> Iterator[Residues]:
    """Solutions, one a row: the coefficients of all heads' attention motions and value motions, head after head."""
    yield from _filling(heads, p)
    yield from _mixing(heads, p)
    if len(heads[0].value) == 1:
        yield from _syzygies(heads, p)


def _largest_filling(heads: list[HeadMotion]) -> int:
    """The dimension of all forms, or of the matrices of forms of a rank that the heads cannot exceed."""
    r, f = heads[0].value.shape
    lines = sum(head.value_rank for head in heads)
    if heads[0].symmetric:
        return determinantal(r, comb(f + 2, 3), lines)
    quadrics = comb(f + 1, 2)
    products = sum(head.rank * head.value_rank for head in heads)
    return min(determinantal(r, f * quadrics, lines), determinantal(f * r, quadrics, products))


def _filling(heads: list[HeadMotion], p: int) -> Iterator[Residues]:
    r, f = heads[0].value.shape
    largest = _largest_filling(heads)
    # what one head can write is of this dimension: a factor may go from `A` to `V`
    if sum(head.attention_dimension + head.value_dimension - 1 for head in heads) < largest:
        return

    def forms(a: Residues, v: Residues) -> Residues:
        """Coefficients of all `a_k v_m`, or of all `(x^T A x) v_m`, for a batch of `A` and of `V`."""
        products = np.einsum("nik,nmj->nmkij", a, v) % p
        if heads[0].symmetric:
            cubic = products + np.moveaxis(products, 2, 4) + np.moveaxis(products, 4, 2)
            i, j, k = np.array([x for x in np.ndindex(f, f, f) if x[0] <= x[1] <= x[2]]).T
            coefficients: Residues = cubic[:, :, i, j, k]
        else:
            both = products + products.swapaxes(-1, -2)
            coefficients = both[..., *np.triu_indices(f)]
        return coefficients.reshape(len(products), -1) % p

    equations = []
    for head in heads:
        a, v = head.attention_motions, head.value_motions
        equations.append(forms(a, np.broadcast_to(head.value, (len(a), r, f))))
        equations.append(forms(np.broadcast_to(head.attention, (len(v), f, f)), v))
    system = np.concatenate(equations).T
    yield from null_space_of_rank(system, largest, p)


class _System:
    """Unknowns by what they do to the `A` and `V` of all heads: the motions of some heads, then coefficients."""

    def __init__(self, heads: list[HeadMotion], moved: tuple[int, ...], p: int) -> None:
        self.heads, self.prime = heads, p
        f, size = len(heads[0].attention), heads[0].value.size
        forms = f * (f + 1) // 2 if heads[0].symmetric else f * f
        # where the `A` and the `V` of each head stand among all coordinates
        self.spans = {
            (h, kind): slice(start, stop)
            for h in range(len(heads))
            for kind, start, stop in (
                ("A", h * (forms + size), h * (forms + size) + forms),
                ("V", h * (forms + size) + forms, (h + 1) * (forms + size)),
            )
        }
        self.coordinates = len(heads) * (forms + size)
        self.blocks = list[Residues]()
        self.places = list[int]()  # of the motions of these heads among those of all
        self.free, place = 0, 0
        for h, head in enumerate(heads):
            steps = len(head.attention_motions) + len(head.value_motions)
            if h in moved:
                self.free += head.attention_dimension + head.value_dimension
                self.places += range(place, place + steps)
                self.add((h, "A", head.attention_motions))
                self.add((h, "V", head.value_motions))
            place += steps
        self.motions = place

    @property
    def unknowns(self) -> int:
        """How many there are."""
        return sum(map(len, self.blocks))

    def add(self, *blocks: tuple[int, str, Residues]) -> None:
        """Unknowns that move the `A` or `V` of these heads by these matrices, `n x rows x columns`."""
        added = np.zeros((len(blocks[0][2]), self.coordinates), dtype=np.int64)
        for h, kind, matrices in blocks:
            known = self.heads[h].coordinates(matrices) if kind == "A" else matrices.reshape(len(matrices), -1)
            added[:, self.spans[h, kind]] += known
        self.blocks.append(added % self.prime)

    def products(self, h: int) -> Residues:
        """`v_h s^T` for the one row of `V_h` and every unit vector `s`, or the symmetric parts."""
        f = len(self.heads[h].attention)
        found: Residues = self.heads[h].value[0][None, :, None] * np.eye(f, dtype=np.int64)[:, None, :]
        return found + found.mT if self.heads[h].symmetric else found

    def solutions(self, largest: int) -> Iterator[Residues]:
        """In the motions of all heads, if the system has this rank."""
        for found in null_space_of_rank(np.concatenate(self.blocks).T, largest, self.prime):
            result = np.zeros((len(found), self.motions), dtype=np.int64)
            result[:, self.places] = found[:, : len(self.places)]
            yield result


def _mixing(heads: list[HeadMotion], p: int) -> Iterator[Residues]:
    system = _System(heads, tuple(range(len(heads))), p)
    motions = system.unknowns
    for h, k in permutations(range(len(heads)), 2):  # dA_h - c A_k = 0 and dV_k + c V_h = 0
        system.add((h, "A", -heads[k].attention[None]), (k, "V", heads[h].value[None]))
    if len(heads[0].value) == 1:
        for h, k in combinations(range(len(heads)), 2):
            system.add((h, "A", -system.products(k)), (k, "A", system.products(h)))
    conditions, extra = system.coordinates - system.free, system.unknowns - motions
    yield from system.solutions(system.free + min(conditions, extra))


def _syzygies(heads: list[HeadMotion], p: int) -> Iterator[Residues]:
    """Of every pair of heads alone: `dA_h = v_k s^T`, `dA_k = -v_h s^T`."""
    f = len(heads[0].attention)
    for h, k in combinations(range(len(heads)), 2):
        system = _System(heads, (h, k), p)
        system.add((h, "A", -system.products(k)), (k, "A", system.products(h)))
        # a vector s adds to the rank only what it has outside of both row spaces
        yield from system.solutions(system.free + f - max(0, heads[h].rank + heads[k].rank - f))


def mixing(point: Point) -> Iterator[PrimeFieldMatrix]:
    """Motions of all heads of a layer together that leave their sum alone, layer after layer."""
    architecture, weights, stream = point.architecture, point.weights, point.stream
    letters = "QKV" if architecture.value_ranks is None else "QKVO"
    for i in range(architecture.depth):
        names = [head_name(architecture, i, h) for h in range(architecture.heads)]
        matrices = [[weights[letter + name] for letter in letters] for name in names]
        heads = [
            head_motion(
                m[0], m[1], m[2], m[3] if len(m) == 4 else None,
                written=stream.written[i], read=stream.read[i + 1], p=point.prime,
                symmetric=sees_one_direction(architecture),
            )
            for m in matrices
        ]  # fmt: skip
        for solutions in mixing_directions(heads, point.prime):
            if not len(solutions):
                continue
            blocks, start = {}, 0
            for name, head in zip(names, matrices, strict=True):
                for letter, matrix in zip(letters, head, strict=True):
                    blocks[letter + name] = solutions[:, start : start + matrix.size].reshape(-1, *matrix.shape)
                    start += matrix.size
            yield point.moving(**blocks)
