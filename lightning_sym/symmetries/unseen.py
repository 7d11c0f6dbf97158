r"""Directions in weight space that the function does not see, besides those of the symmetry group.

The residual stream of layer $i$ lies in a space $F_i$, the span of what the layers up to there can write, whatever the
input; and what is behind layer $i$ reads it only through a space $R_i$ of linear forms. So for every normalization and
mask the function is the same after

- $K_i, Q_i, V_i \mapsto \cdot + N$ with $N F_{i-1} = 0$, and $U \mapsto U + N$ with $N F_l = 0$,
- $V_i$ (or $O_i$, or $E$) $\mapsto \cdot + N$ with $R_i N = 0$;

and after motions of `Q`, `K` that no score shows (`attention_motions`), and mixtures of heads (`mixing`) and of the
first two layers (`one_row`).

**Why a rank at one point is enough.** These directions are the solutions of linear systems whose coefficients are
polynomials in the weights. At the point used here each system has the largest rank it can have at any point (this is
checked against a count); so near it the solutions are spanned by vectors that are rational functions of the weights,
all of them in the kernel of the differential of the map from weights to functions. Their span has its largest
dimension on an open set, so the rank of the span at the point is a lower bound of the dimension of generic fibers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lightning_sym.exact.modular import null_space_mod_p, rank_mod_p, row_basis_mod_p
from lightning_sym.network.architecture import Architecture
from lightning_sym.rings.prime_field import PrimeFieldMatrix, random_residues
from lightning_sym.symmetries.attention_motions import (
    attention_motions,
    pattern_is_constant,
    sees_one_direction,
    value_of,
)
from lightning_sym.symmetries.group import head_name, tangent_directions_mod_p, verify_identity
from lightning_sym.symmetries.mixing import head_motion, mixing_directions
from lightning_sym.symmetries.one_row import has_one_row, one_row_directions

Residues = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Stream:
    """What is written to, and read from, the residual stream between layers.

    Attributes:
        written: bases of the $F_i$, one vector a row.
        read: bases of the $R_i$, one linear form a row.
        generic: whether all dimensions are the largest possible ones.
    """

    written: tuple[Residues, ...]
    read: tuple[Residues, ...]
    generic: bool


def stream_mod_p(architecture: Architecture, weights: dict[str, Residues], p: int) -> Stream:
    """The spaces $F_i$ and $R_i$ at the given weights."""
    depth, heads, widths = architecture.depth, architecture.heads, architecture.widths
    ones = [np.eye(d, dtype=np.int64) for d in widths]

    limits = [min(widths[0], architecture.input_width)]
    written = [ones[0] if architecture.embed is None else row_basis_mod_p(weights["E"].T, p)]
    for i in range(depth):
        inside = limits[-1] if architecture.value_ranks is None else min(limits[-1], architecture.value_ranks[i])
        kept = limits[-1] if architecture.skip else 0
        limits.append(min(widths[i + 1], kept + heads * inside))
        rows = [written[-1]] if architecture.skip else []
        rows += [written[-1] @ value_of(architecture, weights, i, h, p).T % p for h in range(heads)]
        if architecture.normalization is None and not architecture.skip and len(written[-1]) == 1:
            # one direction f in, one out: the sum of all (f^T A f) V f
            rows, limits[-1] = [_sum_of_heads(architecture, weights, i, written[-1], rows, p)], 1
        written.append(row_basis_mod_p(np.concatenate(rows), p))
    generic = [len(basis) for basis in written] == limits

    limits = [min(widths[-1], architecture.output_width)]
    read = [ones[-1] if architecture.unembed is None else row_basis_mod_p(weights["U"], p)]
    for i in reversed(range(depth)):
        inside = limits[-1] if architecture.value_ranks is None else min(limits[-1], architecture.value_ranks[i])
        kept = limits[-1] if architecture.skip else 0
        scores = 0 if pattern_is_constant(architecture) else 2 * architecture.attention_ranks[i]
        limits.append(min(widths[i], kept + heads * (inside + scores)))
        rows = [read[-1]] if architecture.skip else []
        for h in range(heads):
            name = head_name(architecture, i, h)
            rows.append(read[-1] @ value_of(architecture, weights, i, h, p) % p)
            if scores:
                rows += [weights["K" + name], weights["Q" + name]]
        read.append(row_basis_mod_p(np.concatenate(rows), p))
    generic = generic and [len(basis) for basis in read] == limits
    return Stream(tuple(written), tuple(read[::-1]), generic)


def _sum_of_heads(
    architecture: Architecture, weights: dict[str, Residues], i: int, f: Residues, outputs: list[Residues], p: int
) -> Residues:
    total: Residues = np.zeros(outputs[0].shape, dtype=np.int64)
    for h, output in enumerate(outputs):
        name = head_name(architecture, i, h)
        score = (weights["K" + name] @ f.T % p).T @ (weights["Q" + name] @ f.T % p) % p
        total = np.mod(total + score * output, p)
    return total


def unseen_directions_mod_p(
    architecture: Architecture, point: Sequence[PrimeFieldMatrix], p: int
) -> Iterator[PrimeFieldMatrix]:
    """The directions at the given weights, in blocks of rows; none where the point is not generic enough.

    Args:
        architecture: the shape.
        point: weights in canonical order.
        p: the prime.
    """
    shapes = dict(architecture.weight_shapes())
    weights = {name: w.residues() for name, w in zip(shapes, point, strict=True)}
    sizes = [rows * columns for rows, columns in shapes.values()]
    starts = dict(zip(shapes, np.cumsum([0, *sizes[:-1]]).tolist(), strict=True))
    parameters = sum(sizes)
    stream = stream_mod_p(architecture, weights, p)
    if not stream.generic:
        return

    def moving(**blocks: Residues) -> PrimeFieldMatrix:
        count = len(next(iter(blocks.values())))
        result = np.zeros((count, parameters), dtype=np.int64)
        for name, block in blocks.items():
            result[:, starts[name] : starts[name] + block[0].size] = block.reshape(count, -1)
        return PrimeFieldMatrix.of(result, p)

    def outer(left: Residues, right: Residues) -> Residues:
        """All products of a column from `left` and a row from `right` (both given as rows)."""
        products: Residues = np.einsum("ai,bj->abij", left, right) % p
        return products.reshape(-1, left.shape[1], right.shape[1])

    def eye(n: int) -> Residues:
        return np.eye(n, dtype=np.int64)

    if architecture.embed is not None and len(free := null_space_mod_p(stream.read[0], p)):
        yield moving(E=outer(free, eye(architecture.embed)))
    for i in range(architecture.depth):
        unwritten, unread = null_space_mod_p(stream.written[i], p), null_space_mod_p(stream.read[i + 1], p)
        for h in range(architecture.heads):
            name = head_name(architecture, i, h)
            for letter in "QKV":
                rows, columns = shapes[letter + name]
                if letter != "V" and pattern_is_constant(architecture):
                    yield moving(**{letter + name: outer(eye(rows), eye(columns))})
                elif len(unwritten):
                    yield moving(**{letter + name: outer(eye(rows), unwritten)})
            last = "V" if architecture.value_ranks is None else "O"
            if len(unread):
                yield moving(**{last + name: outer(unread, eye(shapes[last + name][1]))})
            if last == "O":  # between value and projection, likewise
                written = stream.written[i] @ weights["V" + name].T % p
                read = stream.read[i + 1] @ weights["O" + name] % p
                if rank_mod_p(written, p) == min(written.shape) and len(free := null_space_mod_p(written, p)):
                    yield moving(**{"O" + name: outer(eye(shapes["O" + name][0]), free)})
                if rank_mod_p(read, p) == min(read.shape) and len(free := null_space_mod_p(read, p)):
                    yield moving(**{"V" + name: outer(free, eye(shapes["V" + name][1]))})
            for found in attention_motions(architecture, weights, i, h, stream.written, p):
                yield moving(**{letter + name: motions for letter, motions in zip("QK", found, strict=True)})
        if architecture.heads > 1 and architecture.normalization is None:
            yield from _mixing_motions(moving, architecture, weights, i, stream, p)
    if has_one_row(architecture):
        for blocks in one_row_directions(architecture, weights, stream.read[2], p):
            yield moving(**blocks)
    if architecture.unembed is not None and len(free := null_space_mod_p(stream.written[-1], p)):
        yield moving(U=outer(eye(architecture.unembed), free))


def _mixing_motions(
    moving: Any, architecture: Architecture, weights: dict[str, Residues], i: int, stream: Stream, p: int
) -> Iterator[PrimeFieldMatrix]:
    names = [head_name(architecture, i, h) for h in range(architecture.heads)]
    letters = "QKV" if architecture.value_ranks is None else "QKVO"
    matrices = [[weights[letter + name] for letter in letters] for name in names]
    heads = [
        head_motion(
            m[0],
            m[1],
            m[2],
            m[3] if len(m) == 4 else None,
            written=stream.written[i],
            read=stream.read[i + 1],
            p=p,
            symmetric=sees_one_direction(architecture),
        )
        for m in matrices
    ]
    for solutions in mixing_directions(heads, p):
        if not len(solutions):
            continue
        blocks, start = {}, 0
        for name, head in zip(names, matrices, strict=True):
            for letter, matrix in zip(letters, head, strict=True):
                blocks[letter + name] = solutions[:, start : start + matrix.size].reshape(-1, *matrix.shape)
                start += matrix.size
        yield moving(**blocks)


def fiber_dimension_at(
    architecture: Architecture, weights: Sequence[PrimeFieldMatrix], generator: np.random.Generator, p: int
) -> int:
    """A lower bound of the dimension of generic fibers: the rank modulo `p` of orbit and unseen directions together.

    Parameters minus this number is a rigorous upper bound of the dimension of the neuromanifold.
    """
    verify_identity()
    blocks = [
        *tangent_directions_mod_p(architecture, weights, p),
        *unseen_directions_mod_p(architecture, weights, p),
    ]
    if not blocks:
        return 0
    rows = np.concatenate([block.residues() for block in blocks])
    if len(rows) > architecture.parameter_count:  # many directions say the same: as many random mixtures will do
        mixed = random_residues(generator, (architecture.parameter_count, len(rows)), p) @ PrimeFieldMatrix.of(rows, p)
        rows = mixed.residues()
    return rank_mod_p(rows, p)
