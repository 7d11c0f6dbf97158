r"""Directions in weight space that the function does not see, besides those of the symmetry group.

The residual stream of layer $i$ lies in a space $F_i$, the span of what the layers up to there can write, whatever the
input; and what is behind layer $i$ reads it only through a space $R_i$ of linear forms. So for every normalization and
mask the function is the same after

- $K_i, Q_i, V_i \mapsto \cdot + N$ with $N F_{i-1} = 0$, and $U \mapsto U + N$ with $N F_l = 0$,
- $V_i$ (or $O_i$, or $E$) $\mapsto \cdot + N$ with $R_i N = 0$;

and after motions of `Q`, `K` that no score shows (`attention_motions`), and mixtures of heads (`head_mixing`). The
table of all of them is in `families`.

**Why a rank at one point is enough.** These directions are the solutions of linear systems whose coefficients are
polynomials in the weights. At the point used here each system has the largest rank it can have at any point (this is
checked against a count); so near it the solutions are spanned by vectors that are rational functions of the weights,
all of them in the kernel of the differential of the map from weights to functions. Their span has its largest
dimension on an open set, so the rank of the span at the point is a lower bound of the dimension of generic fibers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from lightning_sym.exact.modular import null_space_mod_p, null_space_of_echelon
from lightning_sym.rings.prime_field import PrimeFieldMatrix
from lightning_sym.symmetries.point import Point

Residues = npt.NDArray[np.int64]


def _outer(left: Residues, right: Residues, p: int) -> Residues:
    """All products of a column from `left` and a row from `right` (both given as rows)."""
    products: Residues = np.einsum("ai,bj->abij", left, right) % p
    return products.reshape(-1, left.shape[1], right.shape[1])


def _eye(n: int) -> Residues:
    return np.eye(n, dtype=np.int64)


def _heads(point: Point) -> Iterator[tuple[int, str]]:
    """The layers, from 0, and the names of their heads."""
    for i in range(point.architecture.depth):
        for h in range(point.architecture.heads):
            yield i, point.architecture.head_name(i + 1, h + 1)


def unwritten(point: Point) -> Iterator[PrimeFieldMatrix]:
    """What may be added to readers of the stream, because it vanishes on all that is written."""
    free_of = [null_space_of_echelon(basis, point.prime) for basis in point.written]
    for name, (_, before) in point.places.items() if any(map(len, free_of)) else ():
        if before is not None and len(free := free_of[before]):
            yield point.moving(**{name: _outer(_eye(point.shapes[name][0]), free, point.prime)})


def unread(point: Point) -> Iterator[PrimeFieldMatrix]:
    """What may be added to writers of the stream, because nothing behind them reads it."""
    free_of = [null_space_of_echelon(basis, point.prime) for basis in point.read]
    for name, (behind, _) in point.places.items() if any(map(len, free_of)) else ():
        if behind is not None and len(free := free_of[behind]):
            yield point.moving(**{name: _outer(free, _eye(point.shapes[name][1]), point.prime)})


def inside(point: Point) -> Iterator[PrimeFieldMatrix]:
    """The same between the values of a head and its output projection, where both have the largest rank."""
    p, weights = point.prime, point.weights
    for i, name in _heads(point):
        written = point.written[i] @ weights["V" + name].T % p
        read = point.read[i + 1] @ weights["O" + name] % p
        if len(free := _free_of(written, p)):
            yield point.moving(**{"O" + name: _outer(_eye(point.shapes["O" + name][0]), free, p)})
        if len(free := _free_of(read, p)):
            yield point.moving(**{"V" + name: _outer(free, _eye(point.shapes["V" + name][1]), p)})


def _free_of(matrix: Residues, p: int) -> Residues:
    """The null space, if the rank is the smaller side."""
    rows, columns = matrix.shape
    if rows < columns and len(free := null_space_mod_p(matrix, p)) == columns - rows:
        return free
    return np.zeros((0, columns), dtype=np.int64)


def pattern(point: Point) -> Iterator[PrimeFieldMatrix]:
    """All of `Q` and `K`, where the attention pattern is constant."""
    for _, name in _heads(point):
        for letter in "QK":
            rows, columns = point.shapes[letter + name]
            yield point.moving(**{letter + name: _outer(_eye(rows), _eye(columns), point.prime)})
