"""What is written to the stream between layers, and what is read from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lightning_sym.exact.modular import row_basis_mod_p
from lightning_sym.network.architecture import Architecture

Residues = npt.NDArray[np.int64]

KNOWN = frozenset({"normalization", "heads", "value_ranks", "skip", "causal", "embed", "unembed"})
"""The options for which what is said here of the stream is proved."""


def pattern_is_constant(architecture: Architecture) -> bool:
    """One token, normalized: it attends to itself with weight one, whatever the queries and keys are."""
    architecture.require("that a pattern is constant", KNOWN)
    return architecture.normalization is not None and architecture.tokens == 1


def value_of(architecture: Architecture, weights: dict[str, Residues], i: int, h: int, p: int) -> Residues:
    """What a head writes: its value matrix, with its output projection if there is one."""
    architecture.require("the value matrix of a head", KNOWN)
    name = architecture.head_name(i + 1, h + 1)
    value = weights["V" + name]
    return value if architecture.value_ranks is None else weights["O" + name] @ value % p


def pivots_of(basis: Residues) -> Residues:
    """Coordinates in which vectors of a space are what they are in its basis, a reduced echelon form."""
    found: Residues = (basis != 0).argmax(axis=1)
    return found


def in_columns(matrices: Residues, columns: Residues, width: int) -> Residues:
    """Matrices, `n x rows x columns`, with their columns in these places, of so many, and zero in the others.

    On a space with a basis in reduced echelon form a matrix with its columns in the pivots does what it did.

    Example:
        >>> in_columns(np.array([[[5, 6]]]), np.array([0, 2]), 3).tolist()
        [[[5, 0, 6]]]
    """
    result = np.zeros((*matrices.shape[:2], width), dtype=np.int64)
    result[:, :, columns] = matrices
    return result


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
    architecture.require("what is written to the stream", KNOWN)
    depth, heads, widths = architecture.depth, architecture.heads, architecture.widths
    ones = [np.eye(d, dtype=np.int64) for d in widths]

    limits = [min(widths[0], architecture.input_width)]
    written = [ones[0] if architecture.embed is None else row_basis_mod_p(weights["E"].T, p)]
    for i in range(depth):
        inside = limits[-1] if architecture.value_ranks is None else min(limits[-1], architecture.value_ranks[i])
        kept = limits[-1] if architecture.skip else 0
        limits.append(min(widths[i + 1], kept + heads * inside))
        if architecture.skip and len(written[-1]) == widths[i]:
            written.append(ones[i + 1])  # all, and it stays
            continue
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
        if architecture.skip and len(read[-1]) == widths[i]:
            read.append(ones[i])
            continue
        rows = [read[-1]] if architecture.skip else []
        for h in range(heads):
            name = architecture.head_name(i + 1, h + 1)
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
        name = architecture.head_name(i + 1, h + 1)
        score = (weights["K" + name] @ f.T % p).T @ (weights["Q" + name] @ f.T % p) % p
        total = np.mod(total + score * output, p)
    return total
