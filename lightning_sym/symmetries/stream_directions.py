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

One row of input, skip connections, lightning: what the first two layers write is compared as a whole.

The input is a row $z$ and the stream $e z$ with one vector $e$. Every token sees $s_i = \sum_j z_j^2$, over the tokens
`j` that it attends to. The first layer adds $g\, z_i s_i$, $g = \sum_h (e^\top A_h e) V_h e$. The second one reads
vectors $x_i = e z_i + g z_i s_i$ and adds forms in their two coordinates. The lowest one, $\sum_h (e^\top A_h e) V_h e$
with *its* matrices, belongs to $z_i s_i$ again: one layer can write this term for the other. So the function depends
on these layers only through the matrix of coefficients

$$ R\,\bigl(e,\ g + c_1,\ c_2, \dots, c_N\bigr), $$

`R` what is read behind them, and $c_1, \dots, c_N$ the coefficients of the second layer: of the $x_{i,k} \sum_j x_{j,m}
x_{j,n}$, six; or where the stream is one vector times a row, of the cubic monomials in two variables, four.

Every motion that leaves this matrix in place counts, if its differential has the largest rank it can have anywhere.
Proof in `docs/transformers.md`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lightning_sym.exact.determinantal import determinantal, symmetric_determinantal
from lightning_sym.exact.modular import null_space_mod_p, null_space_of_echelon, null_space_of_rank
from lightning_sym.lazy import lazy_imports
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import SHAPED, layer_names
from lightning_sym.rings.derivatives import Dual
from lightning_sym.rings.prime_field import PrimeFieldMatrix, Residues
from lightning_sym.symmetries.attention_motions import sees_one_direction
from lightning_sym.symmetries.point import Point

with lazy_imports(__name__):  # what few networks need
    from lightning_sym.system import circuits, fields


def has_one_row(architecture: Architecture) -> bool:
    """Return whether this is such a network.

    Example:
        >>> has_one_row(Architecture((2, 2, 2), (1, 1), 2, skip=True, embed=1))
        True
    """
    architecture.require("that there is one row", SHAPED)
    two_layers = architecture.skip and architecture.depth > 1 and architecture.normalization is None
    return two_layers and architecture.input_width == 1


def first_layers(point: Point) -> Iterator[PrimeFieldMatrix]:
    """Yield motions of the embedding and of the first two layers that leave what they write together in place."""
    architecture, read, p = point.architecture, point.read[2], point.prime
    line = sees_one_direction(architecture)
    moved = ["E"] * (architecture.embed is not None) + [name for i in (1, 2) for name in layer_names(architecture, i)]
    system = np.concatenate([_moves(point, moving) for moving in moved]).T
    r, heads, a = len(read), architecture.heads, architecture.attention_ranks[1]
    b = min(r, 2) if architecture.value_ranks is None else min(r, 2, architecture.value_ranks[1])
    forms = symmetric_determinantal(2, 2 * a) if line else determinantal(2, 2, a)
    one_by_one = heads * (forms + determinantal(r, 2, b) - 1)
    largest = 2 * r + min(determinantal(r, 3 if line else 5, heads * b), one_by_one)
    sizes = [point.weights[name].size for name in moved]
    for found in null_space_of_rank(system, largest, p):
        if len(found):
            parts = np.split(found, np.cumsum(sizes)[:-1], axis=1)
            blocks = {name: part.reshape(-1, *point.shapes[name]) for name, part in zip(moved, parts, strict=True)}
            yield point.moving(**blocks)


def _moves(point: Point, moving: str) -> Residues:
    """Return what the unit motions of one weight do to the matrix of coefficients, one motion a row."""
    architecture, p, count = point.architecture, point.prime, point.weights[moving].size
    units = PrimeFieldMatrix(np.eye(count).reshape(count, *point.shapes[moving]), p)

    def weight(name: str) -> Dual:
        return Dual(point.matrix(name), units if name == moving else None)

    e = Dual(fields.prime_field(p).identity(1)) if architecture.embed is None else weight("E")
    g = circuits.added([head.carried(e) @ head.scores(e, e) for head in circuits.layer_heads(architecture, 1, weight)])
    read = Dual(PrimeFieldMatrix.of(point.read[2], p))
    coefficients: dict[tuple[int, ...], Dual] = {}
    for head in circuits.layer_heads(architecture, 2, weight):
        values = [read @ head.carried(x) for x in (e, g)]
        for m, k, n in np.ndindex(2, 2, 2):  # x_jm A_mk x_ik, times v_n x_jn
            key = tuple(sorted((m, k, n))) if sees_one_direction(architecture) else (k, *sorted((m, n)))
            term = values[n] @ head.scores((e, g)[m], (e, g)[k])
            coefficients[key] = coefficients[key] + term if key in coefficients else term
    coefficients[0, 0, 0] += read @ g
    still = np.zeros((count, len(point.read[2])), dtype=np.int64)
    moved = (dual.tangent for dual in (read @ e, *coefficients.values()))
    return np.concatenate([still if t is None else t.residues()[:, :, 0] for t in moved], axis=1)


def _outer(left: Residues, right: Residues, p: int) -> Residues:
    """Return all products of a column from `left` and a row from `right` (both given as rows)."""
    products: Residues = np.einsum("ai,bj->abij", left, right) % p
    return products.reshape(-1, left.shape[1], right.shape[1])


def _eye(n: int) -> Residues:
    return np.eye(n, dtype=np.int64)


def unwritten(point: Point) -> Iterator[PrimeFieldMatrix]:
    """Yield what may be added to readers of the stream, because it vanishes on all that is written."""
    free_of = [null_space_of_echelon(basis, point.prime) for basis in point.written]
    for name, (_, before) in point.places.items() if any(map(len, free_of)) else ():
        if before is not None and len(free := free_of[before]):
            yield point.moving(**{name: _outer(_eye(point.shapes[name][0]), free, point.prime)})


def unread(point: Point) -> Iterator[PrimeFieldMatrix]:
    """Yield what may be added to writers of the stream, because nothing behind them reads it."""
    free_of = [null_space_of_echelon(basis, point.prime) for basis in point.read]
    for name, (behind, _) in point.places.items() if any(map(len, free_of)) else ():
        if behind is not None and len(free := free_of[behind]):
            yield point.moving(**{name: _outer(free, _eye(point.shapes[name][1]), point.prime)})


def inside(point: Point) -> Iterator[PrimeFieldMatrix]:
    """Yield the same between the values of a head and its output projection, where both have the largest rank."""
    p, weights = point.prime, point.weights
    for i, _, name in point.heads():
        written = point.written[i] @ weights["V" + name].T % p
        read = point.read[i + 1] @ weights["O" + name] % p
        if len(free := _free_of(written, p)):
            yield point.moving(**{"O" + name: _outer(_eye(point.shapes["O" + name][0]), free, p)})
        if len(free := _free_of(read, p)):
            yield point.moving(**{"V" + name: _outer(free, _eye(point.shapes["V" + name][1]), p)})


def _free_of(matrix: Residues, p: int) -> Residues:
    """Return the null space, if the rank is the smaller side."""
    rows, columns = matrix.shape
    if rows < columns and len(free := null_space_mod_p(matrix, p)) == columns - rows:
        return free
    return np.zeros((0, columns), dtype=np.int64)


def pattern(point: Point) -> Iterator[PrimeFieldMatrix]:
    """Yield all of `Q` and `K`, where the attention pattern is constant."""
    for _, _, name in point.heads():
        for letter in "QK":
            rows, columns = point.shapes[letter + name]
            yield point.moving(**{letter + name: _outer(_eye(rows), _eye(columns), point.prime)})
