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
if the system has, at the point, the largest rank it can have anywhere. What motions of one head can do is known in
closed form (`factored`), so only the few equations between coefficients that are left are solved. Motions that change
neither `A` nor `V` of a head are solutions, too: where its matrices have their largest ranks other families have them
all (Propositions 2, 5 and 6), and they are not repeated here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations, product
from math import comb, prod
from typing import NamedTuple

import numpy as np

from lightning_sym.exact.determinantal import determinantal, symmetric_determinantal
from lightning_sym.exact.modular import null_space_of_rank
from lightning_sym.lazy import lazy_imports
from lightning_sym.rings.prime_field import PrimeFieldMatrix, Residues
from lightning_sym.symmetries.attention_motions import sees_one_direction
from lightning_sym.symmetries.factored import FreeMatrix, Product, SymmetricProduct
from lightning_sym.symmetries.point import Point

with lazy_imports(__name__):  # one head mixes with none
    from lightning_sym.system import circuits


class HeadMotion(NamedTuple):
    """The matrices of one head on the stream, with all their motions.

    Attributes:
        attention: `A` on the written space, `f x f`, or its symmetric part.
        value: `V` from the written to the read space, `r x f`.
        symmetric: whether only symmetric parts of `A` count.
        rank: largest rank of `A`.
        value_rank: largest rank of `V`.
    """

    attention: Product
    value: Product
    symmetric: bool
    rank: int
    value_rank: int

    @property
    def parts(self) -> tuple[Product, Product]:
        """`A` and `V`."""
        return self.attention, self.value

    @property
    def is_full(self) -> bool:
        """Whether its matrices have their largest ranks."""
        return self.attention.is_full and self.value.is_full

    @property
    def attention_dimension(self) -> int:
        """Dimension of the matrices `A` allowed."""
        f = len(self.attention.matrix)
        return symmetric_determinantal(f, self.rank) if self.symmetric else determinantal(f, f, self.rank)

    @property
    def value_dimension(self) -> int:
        """Dimension of the matrices `V` allowed."""
        r, f = self.value.matrix.shape
        return determinantal(r, f, self.value_rank)

    @property
    def conditions(self) -> int:
        """How many conditions are on motions of `A` and `V`, where their ranks are the largest."""
        f, size = len(self.attention.matrix), self.value.matrix.size
        forms = f * (f + 1) // 2 if self.symmetric else f * f
        return forms + size - self.attention_dimension - self.value_dimension


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
    """Return the motions of one head at a point modulo `p`; `written` and `read` are bases, one vector a row."""
    a, f, r = len(query), len(written), len(read)
    attention = (SymmetricProduct if symmetric else Product)(key @ written.T % p, query @ written.T % p, p)
    inner, rank = value @ written.T % p, min(2 * a if symmetric else a, f)
    if output is None:
        return HeadMotion(attention, FreeMatrix(read @ inner % p, p), symmetric, rank, min(r, f))
    through = Product((read @ output % p).T, inner, p)
    return HeadMotion(attention, through, symmetric, rank, min(r, f, len(value)))


def mixing_directions(heads: list[HeadMotion], p: int) -> Iterator[list[Residues]]:
    """Yield solutions: the motions of all heads' factors, the `A`, `V` of one head after those of another.

    Only of the first kind that counts: those of the kinds behind it are among them.
    """
    for kind in (_filling, _mixing, _syzygies):
        if found := list(kind(heads, p)):
            yield from found
            return


def _largest_filling(heads: list[HeadMotion]) -> int:
    """Return the dimension of all forms, or of the matrices of forms of a rank that the heads cannot exceed."""
    r, f = heads[0].value.matrix.shape
    lines = sum(head.value_rank for head in heads)
    if heads[0].symmetric:
        return determinantal(r, comb(f + 2, 3), lines)
    quadrics = comb(f + 1, 2)
    products = sum(head.rank * head.value_rank for head in heads)
    return min(determinantal(r, f * quadrics, lines), determinantal(f * r, quadrics, products))


def _filling(heads: list[HeadMotion], p: int) -> Iterator[list[Residues]]:
    f, largest = len(heads[0].attention.matrix), _largest_filling(heads)
    # what one head can write is of this dimension: a factor may go from `A` to `V`
    if sum(head.attention_dimension + head.value_dimension - 1 for head in heads) < largest:
        return

    def forms(a: Residues, v: Residues) -> Residues:
        """Return coefficients of all `a_k v_m`, or of all `(x^T A x) v_m`, for a batch of `A` and of `V`."""
        products = np.einsum("nik,nmj->nmkij", a, v) % p
        if heads[0].symmetric:
            cubic = products + np.moveaxis(products, 2, 4) + np.moveaxis(products, 4, 2)
            i, j, k = np.array([x for x in np.ndindex(f, f, f) if x[0] <= x[1] <= x[2]]).T
            coefficients: Residues = cubic[:, :, i, j, k]
        else:
            both = products + products.swapaxes(-1, -2)
            coefficients = both[..., *np.triu_indices(f)]
        return coefficients.reshape(len(products), prod(coefficients.shape[1:])) % p

    motions = [part.basis() for head in heads for part in head.parts]
    equations = []
    for head, a, v in zip(heads, motions[::2], motions[1::2], strict=True):
        equations.append(forms(head.attention.moved(a), head.value.matrix[None]))
        equations.append(forms(head.attention.matrix[None], head.value.moved(v)))
    system = np.concatenate(equations).T
    for found in null_space_of_rank(system, largest, p):
        parts = np.split(found, np.cumsum([len(basis) for basis in motions])[:-1], axis=1)
        yield [part @ basis % p for part, basis in zip(parts, motions, strict=True)]
        yield from _kernels(heads, range(len(heads)))


def _kernels(heads: list[HeadMotion], chosen: Sequence[int]) -> Iterator[list[Residues]]:
    """Yield motions that change neither `A` nor `V`, of those of these heads where others need not have them."""
    parts = [part for head in heads for part in head.parts]
    for h in chosen:
        for part in () if heads[h].is_full else heads[h].parts:
            kernel = part.kernel()
            yield [kernel if other is part else other.still(len(kernel)) for other in parts]


class _MotionSystem:
    """Coefficients, what each is a factor of in the `A` and `V` of some heads, and all motions of these heads."""

    def __init__(self, heads: list[HeadMotion], moved: Sequence[int]) -> None:
        self.heads, self.moved, self.unknowns = heads, moved, 0
        self.terms: dict[tuple[int, int], list[tuple[Residues, Residues]]] = {(h, k): [] for h in moved for k in (0, 1)}

    def add(self, *blocks: tuple[int, int, Residues]) -> None:
        """Add coefficients of matrices, `n x rows x columns`, each for a head and for its `A`, 0, or its `V`, 1."""
        count = len(blocks[0][2])
        for h, kind, matrices in blocks:
            self.terms[h, kind].append((np.arange(self.unknowns, self.unknowns + count), matrices))
        self.unknowns += count

    def products(self, h: int) -> Residues:
        """Return `v_h s^T` for the one row of `V_h` and every unit vector `s`, or the symmetric parts."""
        f = len(self.heads[h].attention.matrix)
        found: Residues = self.heads[h].value.matrix[0][None, :, None] * np.eye(f, dtype=np.int64)[:, None, :]
        return found + found.mT if self.heads[h].symmetric else found

    def solutions(self, largest: int, p: int) -> Iterator[list[Residues]]:
        """Yield the motions that make all sums zero, if motions and coefficients together have this rank."""
        rank, equations, motions = 0, [], {}
        for (h, kind), terms in self.terms.items():
            part = self.heads[h].parts[kind]
            rank += part.dimension
            if terms:
                places = np.concatenate([numbers for numbers, _ in terms])
                moved, rest = part.split(np.concatenate([matrices for _, matrices in terms]) % p)
                block = np.zeros((rest.shape[1], self.unknowns), dtype=np.int64)
                block[:, places] = rest.T
                equations.append(block)
                motions[h, kind] = places, moved
        for found in null_space_of_rank(np.concatenate(equations), largest - rank, p):
            result = []
            for h, kind in product(range(len(self.heads)), (0, 1)):
                if (h, kind) in motions:
                    places, moved = motions[h, kind]
                    result.append(-(found[:, places] @ moved) % p)
                else:
                    result.append(self.heads[h].parts[kind].still(len(found)))
            yield result
            yield from _kernels(self.heads, self.moved)


def _mixing(heads: list[HeadMotion], p: int) -> Iterator[list[Residues]]:
    numbers, (r, f) = range(len(heads)), heads[0].value.matrix.shape
    pairs = comb(len(heads), 2)
    unknowns, conditions = 2 * pairs + (f * pairs if r == 1 else 0), sum(head.conditions for head in heads)
    if conditions >= unknowns and all(head.is_full for head in heads):
        return  # of the largest rank: no solutions
    system = _MotionSystem(heads, numbers)
    for h, k in permutations(numbers, 2):  # dA_h - c A_k = 0 and dV_k + c V_h = 0
        system.add((h, 0, -heads[k].attention.matrix[None]), (k, 1, heads[h].value.matrix[None]))
    for h, k in combinations(numbers, 2) if r == 1 else ():
        system.add((h, 0, -system.products(k)), (k, 0, system.products(h)))
    free = sum(head.attention_dimension + head.value_dimension for head in heads)
    yield from system.solutions(free + min(conditions, unknowns), p)


def _syzygies(heads: list[HeadMotion], p: int) -> Iterator[list[Residues]]:
    """Yield solutions for every pair of heads alone: `dA_h = v_k s^T`, `dA_k = -v_h s^T`."""
    r, f = heads[0].value.matrix.shape
    for h, k in combinations(range(len(heads)), 2) if r == 1 else ():
        # a vector s adds to the rank only what it has outside of both row spaces
        common = max(0, heads[h].rank + heads[k].rank - f)
        if not common and heads[h].is_full and heads[k].is_full:
            continue  # of the largest rank: no solutions
        system = _MotionSystem(heads, (h, k))
        system.add((h, 0, -system.products(k)), (k, 0, system.products(h)))
        free = sum(heads[n].attention_dimension + heads[n].value_dimension for n in (h, k))
        yield from system.solutions(free + f - common, p)


def mixing(point: Point) -> Iterator[PrimeFieldMatrix]:
    """Yield motions of all heads of a layer together that leave their sum alone, layer after layer."""
    architecture, symmetric = point.architecture, sees_one_direction(point.architecture)
    for i in range(architecture.depth):
        names = architecture.head_names(i + 1)
        heads = [
            head_motion(
                head.query,
                head.key,
                head.inner_value,
                head.output,
                written=point.written[i],
                read=point.read[i + 1],
                p=point.prime,
                symmetric=symmetric,
            )
            for head in circuits.layer_heads(architecture, i + 1, point.weights.__getitem__)
        ]
        for motions in mixing_directions(heads, point.prime):
            blocks = dict[str, Residues]()
            for name, head, attention, value in zip(names, heads, motions[::2], motions[1::2], strict=True):
                query, key = head.attention.factors(attention)
                if architecture.value_ranks is None:
                    moved = circuits.HeadOver(query, head.value.moved(value), key)
                else:
                    inner, before = head.value.factors(value)
                    moved = circuits.HeadOver(query, inner, key, before.mT)
                blocks |= moved.named(name)
            if len(motions[0]):
                yield point.moving(**blocks)
