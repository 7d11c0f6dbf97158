"""Moves: other weights with the same function, by an element of the symmetry group or by the exchange."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from lightning_sym.arguments import require_arguments
from lightning_sym.errors import BadInput, ShapeError
from lightning_sym.exact.rational import null_space, rank, unique_solution
from lightning_sym.limits import require_integer
from lightning_sym.network.virtual_weights import exact_virtual_weights
from lightning_sym.network.weights import Layer, Weights
from lightning_sym.rings.arrays import ObjectArray, exact_matrix, exact_number
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.symmetries.group import LayerSymmetry


def _identity(n: int) -> ObjectArray:
    return exact_matrix(np.eye(n, dtype=np.int64))


def _with_inverse(matrix: npt.ArrayLike, size: int, name: str) -> tuple[RationalMatrix, RationalMatrix]:
    exact = exact_matrix(matrix, name)
    if exact.shape != (size, size):
        raise ShapeError(f"{name} must be {size} x {size}, got {exact.shape[0]} x {exact.shape[1]}")
    inverse = unique_solution(exact, _identity(size))
    if inverse is None:
        raise BadInput(f"{name} must be invertible, got a {size} x {size} matrix of rank {rank(exact)}")
    return RationalMatrix.of(exact), RationalMatrix.of(inverse)


def transform(
    weights: Weights,
    *,
    query_key: Mapping[int, npt.ArrayLike] | None = None,
    between: Mapping[int, npt.ArrayLike] | None = None,
    scales: Mapping[int, object] | None = None,
) -> Weights:
    r"""Act with one element of the group; what is left out is the identity. The function stays the same.

    Args:
        weights: exact weights.
        query_key: by layer `i` (from 1), the matrix $C_i$, `a_i x a_i`.
        between: by layer `i < l`, the matrix $G_i$ behind it, `d_i x d_i`.
        scales: by layer, the number $\lambda_i$.

    Raises:
        BadInput: a matrix is singular, a number is zero, or there is no such layer.
        ShapeError: a matrix has the wrong size.
    """
    require_arguments(transform, locals())
    shape = weights.architecture(tokens=1)
    moved = [("query_key", query_key or {}, shape.depth), ("between", between or {}, shape.depth - 1)]
    for name, given, last in [*moved, ("scales", scales or {}, shape.depth)]:
        for i in given:
            if type(i) is not int or i not in range(1, last + 1):
                raise BadInput(f"{name} must name layers between 1 and {last}, got {i!r}")
    c = {i: _with_inverse(m, shape.attention_ranks[i - 1], f"C{i}") for i, m in (query_key or {}).items()}
    g = {i: _with_inverse(m, shape.widths[i], f"G{i}") for i, m in (between or {}).items()}
    factors = {i: exact_number(value, f"the scale of layer {i}") for i, value in (scales or {}).items()}
    if zero := [i for i, factor in factors.items() if factor == 0]:
        raise BadInput(f"the scale of layer {zero[0]} must not be 0")

    matrices: dict[str, npt.ArrayLike] = {}
    for i, layer in enumerate(weights.layers, start=1):
        a, d_out = shape.attention_ranks[i - 1], shape.widths[i]
        factor = factors.get(i, Fraction(1))
        changed = LayerSymmetry(
            query_key=c.get(i),
            before=g.get(i - 1),
            after=g.get(i),
            scale=(RationalMatrix.of(factor * _identity(a)), RationalMatrix.of(1 / factor * _identity(d_out))),
        ).act(Layer(*map(RationalMatrix.of, layer)))
        new = (matrix.fractions() for matrix in changed)
        matrices |= dict(zip((f"Q{i}", f"K{i}", f"V{i}"), new, strict=True))
    return Weights.of(matrices)


def rescale(weights: Weights, *, layer: int, by: object) -> Weights:
    r"""The same function from $(\lambda Q_i, K_i, V_i / \lambda)$ in one layer, Eq. 13.

    Raises:
        BadInput: the number is zero or not finite, or there is no such layer.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> rescale(w, layer=1, by=2)["Q1"].tolist()
        [[Fraction(2, 1), Fraction(4, 1)]]
    """
    require_arguments(rescale, locals())
    require_integer(layer, "the layer", 1)
    return transform(weights, scales={layer: by})


def change_basis(
    weights: Weights,
    *,
    query_key: Mapping[int, npt.ArrayLike] | None = None,
    between: Mapping[int, npt.ArrayLike] | None = None,
) -> Weights:
    r"""The same function in other bases: $C_i \in GL_{a_i}$ (Lemma 3.1), $G_i \in GL_{d_i}$ between layers (Eq. 9).

    Args:
        weights: exact weights.
        query_key: by layer `i` (from 1): $K_i \mapsto C_i K_i$, $Q_i \mapsto C_i^{-\top} Q_i$.
        between: by layer `i < l`: $V_i \mapsto G_i V_i$, and the next layer is changed back.

    Raises:
        BadInput: a matrix is singular, or there is no such layer.
        ShapeError: a matrix has the wrong size.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> change_basis(w, query_key={1: [[2]]})["Q1"].tolist()
        [[Fraction(1, 2), Fraction(1, 1)]]
    """
    require_arguments(change_basis, locals())
    return transform(weights, query_key=query_key, between=between)


def rank_one_factors(matrix: ObjectArray) -> tuple[ObjectArray, ObjectArray]:
    r"""$(p, q)$ with $M = p q^\top$, for a matrix of rank one.

    Raises:
        BadInput: the rank is not one.

    Example:
        >>> p, q = rank_one_factors(exact_matrix([[0, 0], [2, 4]]))
        >>> [int(x) for x in p], [int(x) for x in q]
        ([0, 2], [1, 2])
    """
    if (found := rank(matrix)) != 1:
        raise BadInput(f"the matrix must have rank 1, got rank {found}")
    i, j = next(index for index, entry in np.ndenumerate(matrix) if entry != 0)
    pivot: Any = matrix[i, j]
    return matrix[:, j], matrix[i, :] / Fraction(pivot)  # a Fraction: integers would divide to floats


def swap(weights: Weights, *, layer: int | None = None) -> Weights:
    r"""The exchange of Theorem 3.2: $(p q^\top, v w^\top) \mapsto (w q^\top, v p^\top)$ in one layer.

    A layer is the same function of its input after the exchange, so it may be any layer with
    $\operatorname{rk} A_i = \operatorname{rk} V_i = 1$. In the last layer it is enough that the virtual weights
    $\tilde A_l$, $\tilde V$ have rank one: with $N = X B_{l-1} B_{l-1}^\top X^\top$, a symmetric matrix,
    $\varphi(X) = v\, (w^\top N p)\, q^\top X B_{l-1}$. Then `p`, `q`, `w` are pulled back through $P_{l-1}$.

    Args:
        weights: exact weights.
        layer: which layer, from 1; the last one if left out.

    Raises:
        BadInput: the ranks are not one, or there is no such layer.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 6]]})
        >>> changed = swap(w)
        >>> (changed["K1"].T @ changed["Q1"]).tolist() == [[1, 2], [2, 4]], changed["V1"].tolist() == [[3, 0]]
        (True, True)
    """
    require_arguments(swap, locals())
    depth = len(weights.layers)
    i = depth if layer is None else layer
    require_integer(i, "the layer", 1, depth)
    old = weights.layers[i - 1]
    attention, value = exact_virtual_weights([old])[0][0], old.value
    if rank(attention) == rank(value) == 1:
        (p, q), (v, w) = rank_one_factors(attention), rank_one_factors(value)
    else:
        virtual = exact_virtual_weights(weights)
        if i < depth or rank(virtual.attention[-1]) != 1 or rank(virtual.value) != 1:
            raise BadInput(
                f"the attention and the value matrix of layer {i} must have rank 1, "
                f"got ranks {rank(attention)} and {rank(value)}"
            )
        before = exact_virtual_weights(weights.layers[:-1]).value
        (p, q), (v, w) = rank_one_factors(virtual.attention[-1]), rank_one_factors(virtual.value)
        p, q, w = (_preimage(before.T, vector) for vector in (p, q, w))
    query, key = np.full((2, *old.query.shape), Fraction(0), dtype=object)
    query[0], key[0] = q, w
    return Weights.of(weights.named() | {f"Q{i}": query, f"K{i}": key, f"V{i}": np.outer(v, p)})


def _preimage(matrix: ObjectArray, vector: ObjectArray) -> ObjectArray:
    """One exact solution of `matrix x = vector`, which must have one."""
    solution = null_space(np.concatenate([matrix, vector[:, None]], axis=1))[-1]
    return -np.array(solution[:-1], dtype=object)
