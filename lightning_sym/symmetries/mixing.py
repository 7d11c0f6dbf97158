r"""How heads of a lightning layer mix: directions in which the sum of several heads does not move.

A lightning layer depends on its heads only through the quadratic forms $\sum_h a_{h,k}(x)\, v_{h,m}(x)$, where
$a_{h,k}$ are the columns of $A_h$ and $v_{h,m}$ the rows of $V_h$ as linear forms on what is written to the stream. Two
kinds of directions keep these sums:

- $\dot A_h = \sum_k c_{hk} A_k$ with $\dot V_k = -\sum_h c_{hk} V_h$, the Lie algebra of $GL_h$;
- if there is one row ($v_h$ a single form): $\dot A_h = \sum_k v_k s_{hk}^\top$ with $s_{hk} = -s_{kh}$, the syzygies.

Where ranks are limited the $\dot A_h$, $\dot V_h$ must be tangent to the matrices of those ranks. For a pair of heads
$v_k s^\top$ and $-v_h s^\top$ are, if $s$ lies in the row spaces of both; the system of all `c` and `s` does not count
where it has more conditions than unknowns, so each pair has a system of its own. And where the heads are so many that
their sums fill the whole space of quadratic forms, every solution of "the sums do not move" counts.

Each is a linear system in the motions and the coefficients `c`, `s`. As in `unseen`, a solution counts only if the
system has, at the point, the largest rank it can have anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from lightning_sym.exact.determinantal import determinantal
from lightning_sym.exact.modular import null_space_mod_p, rank_mod_p

Residues = npt.NDArray[np.int64]


@dataclass(frozen=True)
class HeadMotion:
    """All motions of one head's matrices, and what they do to `A` and `V` on the stream.

    Attributes:
        attention: `A` on the written space, `f x f`.
        value: `V` from the written to the read space, `r x f`.
        attention_motions: one motion of `(Q, K)` a row, those of `Q` first, as the motion of `A`, flattened.
        value_motions: one motion of `V` (and `O`) a row, as the motion of `V`, flattened.
        attention_dimension: dimension of the matrices `A` allowed.
        value_dimension: dimension of the matrices `V` allowed.
        rank: largest rank of `A`.
    """

    attention: Residues
    value: Residues
    attention_motions: Residues
    value_motions: Residues
    attention_dimension: int
    value_dimension: int
    rank: int


def head_motion(
    query: Residues,
    key: Residues,
    value: Residues,
    output: Residues | None,
    *,
    written: Residues,
    read: Residues,
    p: int,
) -> HeadMotion:
    """The motions of one head at a point modulo `p`; `written` and `read` are bases, one vector a row."""
    a, d = query.shape
    f, r = len(written), len(read)

    def on_stream(matrices: Residues) -> Residues:
        return written @ (matrices @ written.T % p) % p

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
    return HeadMotion(
        on_stream(key.T @ query % p), through(whole),
        attention_motions.reshape(-1, f * f), value_motions.reshape(-1, r * f),
        determinantal(f, f, a), determinantal(r, f, inner), min(a, f),
    )  # fmt: skip


def mixing_directions(heads: list[HeadMotion], p: int) -> Iterator[Residues]:
    """Solutions, one a row: the coefficients of all heads' attention motions and value motions, head after head."""
    yield from _filling(heads, p)
    yield from _mixing(heads, p)
    if heads[0].value.shape[0] == 1:
        yield from _syzygies(heads, p)


def _filling(heads: list[HeadMotion], p: int) -> Iterator[Residues]:
    r, f = heads[0].value.shape
    pairs = np.triu_indices(f)

    def forms(columns: Residues, rows: Residues) -> Residues:
        """Coefficients of all `a_k v_m`, for a batch of `A` (columns) and of `V` (rows)."""
        products = np.einsum("nik,nmj->nkmij", columns, rows) % p
        both = products + products.swapaxes(-1, -2)
        coefficients: Residues = both[..., pairs[0], pairs[1]].reshape(len(products), -1) % p
        return coefficients

    equations = []
    for head in heads:
        a, v = head.attention_motions.reshape(-1, f, f), head.value_motions.reshape(-1, r, f)
        equations.append(forms(a, np.broadcast_to(head.value, (len(a), r, f))))
        equations.append(forms(np.broadcast_to(head.attention, (len(v), f, f)), v))
    system = np.concatenate(equations).T
    if rank_mod_p(system, p) == len(system):
        yield null_space_mod_p(system, p)


def _mixing(heads: list[HeadMotion], p: int) -> Iterator[Residues]:
    r, f = heads[0].value.shape
    count = len(heads)
    rows_per_head = f * f + r * f
    columns: list[Residues] = []

    def column(entries: dict[tuple[int, str], Residues]) -> Residues:
        result = np.zeros(count * rows_per_head, dtype=np.int64)
        for (h, kind), value in entries.items():
            start = h * rows_per_head + (0 if kind == "A" else f * f)
            result[start : start + value.size] = value.ravel()
        return result

    for h, head in enumerate(heads):
        columns += [column({(h, "A"): motion}) for motion in head.attention_motions]
        columns += [column({(h, "V"): motion}) for motion in head.value_motions]
    motions = len(columns)
    for h in range(count):
        for k in range(count):
            if h != k:  # dA_h - c A_k = 0 and dV_k + c V_h = 0
                columns.append(column({(h, "A"): -heads[k].attention, (k, "V"): heads[h].value}) % p)
    if r == 1:
        for h in range(count):
            for k in range(h):
                for unit in np.eye(f, dtype=np.int64):
                    columns.append(
                        column(
                            {
                                (h, "A"): -np.outer(heads[k].value[0], unit),
                                (k, "A"): np.outer(heads[h].value[0], unit),
                            }
                        )
                        % p
                    )
    extra = len(columns) - motions
    system = np.array(columns).T
    free = sum(head.attention_dimension + head.value_dimension for head in heads)
    conditions = count * rows_per_head - free
    if rank_mod_p(system, p) == free + min(conditions, extra):
        yield null_space_mod_p(system, p)[:, :motions]


def _syzygies(heads: list[HeadMotion], p: int) -> Iterator[Residues]:
    """Of every pair of heads: `dA_h = v_k s^T`, `dA_k = -v_h s^T` by motions of the keys, so with row spaces kept."""
    f = heads[0].value.shape[1]
    units = np.eye(f, dtype=np.int64)[:, None, :]
    starts = np.cumsum([0] + [len(head.attention_motions) + len(head.value_motions) for head in heads])
    for h, k in combinations(range(len(heads)), 2):
        keys = {j: heads[j].attention_motions[len(heads[j].attention_motions) // 2 :] for j in (h, k)}
        syzygies = [(heads[k].value.T * units).reshape(f, -1), -(heads[h].value.T * units).reshape(f, -1)]
        nothing = np.zeros_like(keys[h])
        system = np.block([[keys[h], nothing], [nothing, keys[k]], syzygies]).T % p
        rank = heads[h].rank + heads[k].rank
        # a vector s adds to the rank only what it has outside of both row spaces
        if rank_mod_p(system, p) == f * rank + f - max(0, rank - f):
            found = null_space_mod_p(system, p)
            motions = np.zeros((len(found), starts[-1]), dtype=np.int64)
            for j, part in zip((h, k), np.split(found[:, : 2 * len(nothing)], 2, axis=1), strict=True):
                start = starts[j] + len(nothing)  # behind those of the query
                motions[:, start : start + len(nothing)] = part
            yield motions
