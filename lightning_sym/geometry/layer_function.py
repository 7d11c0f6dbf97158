r"""Coordinates of the function of one layer, `t >= 2`, and the differential of $(A, V) \mapsto \phi$ in them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from lightning_sym.exact.rational import null_space, rank
from lightning_sym.network.attention import forward
from lightning_sym.network.jacobian import weight_gradients
from lightning_sym.network.one_layer import quadratic_monomials
from lightning_sym.network.weights import Layer
from lightning_sym.rings.arrays import ObjectArray, clear_denominators

Integers = npt.NDArray[Any]


@cache
def interpolation_inputs(d: int) -> npt.NDArray[np.int64]:
    """Return inputs `(e_k, e_i)` and `(e_k, e_i + e_j)`: the first output token at these determines `phi`.

    The first output token is `V (e_k e_k^T + S) A e_k`, and the squares `S` span the symmetric matrices. With `S =
    e_k e_k^T` it is twice `V e_k e_k^T A e_k`, so all of `V S A e_k` is known in every characteristic but 2.
    """
    one = np.eye(d, dtype=np.int64)
    squares = [one[i] if i == j else one[i] + one[j] for i, j in quadratic_monomials(d)]
    return np.array([np.stack([one[k], u], axis=1) for k in range(d) for u in squares])


def layer_function(attention: Integers, value: Integers) -> Integers:
    r"""Return coordinates of $\phi$ in the linear span of $M$, of dimension $d\, d'\, d (d + 1) / 2$; one layer.

    Args:
        attention: `d x d`, over any ring in which two is invertible, or a batch (leading axes).
        value: `d' x d`, likewise.

    Returns:
        A vector, linear in `attention` and in `value`, from which the function can be recovered.

    Example:
        >>> layer_function(np.array([[3]]), np.array([[5], [7]])).tolist()
        [30, 42]
    """
    d = attention.shape[-1]
    layer = Layer(attention[..., None, :, :], np.eye(d, dtype=np.int64), value[..., None, :, :])
    output = forward(interpolation_inputs(d), [layer])[..., 0]
    return np.asarray(output.reshape(*output.shape[:-2], -1))


def differential(attention: Integers, value: Integers) -> Integers:
    r"""Return the differential of $(A, V) \mapsto \phi$ at a point, for one layer and `t >= 2`.

    Args:
        attention: `d x d`, over any ring in which two is invertible, or a batch (leading axes).
        value: `d' x d`, likewise.

    Returns:
        One row a coordinate of `layer_function`, one column an entry of $A$ and then of $V$, row by row.

    Example:
        >>> rank(differential(np.array([[1, 0], [0, 1]]), np.array([[1, 0]])))      # 4 + 2 - 1
        5
    """
    d, d_out = attention.shape[-1], value.shape[-2]
    x = interpolation_inputs(d)[:, None]
    functional = np.zeros((d_out, d_out, 2), dtype=np.int64)
    functional[:, :, 0] = np.eye(d_out, dtype=np.int64)
    layer = Layer(attention[..., None, None, :, :], np.eye(d, dtype=np.int64), value[..., None, None, :, :])
    by_attention, _, by_value = weight_gradients([layer], x, functional)
    batch = (*np.broadcast_shapes(attention.shape[:-2], value.shape[:-2]), len(x) * d_out)
    parts = [by_attention.reshape(*batch, d * d), by_value.reshape(*batch, d_out * d)]
    return np.concatenate(parts, axis=-1)


def tangent_directions(attention: Integers, alpha: int) -> ObjectArray:
    r"""Return a basis of the Zariski tangent space, at `attention`, of the square matrices of rank at most `alpha`.

    At rank `alpha` these are the $A'$ with $u^\top A' w = 0$ for $u^\top A = 0$, $A w = 0$; at smaller rank every
    direction is one, because every minor of size `alpha + 1` vanishes to second order.

    Returns:
        One row a direction, one column an entry, row by row.

    Example:
        >>> a = np.array([[1, 0], [0, 0]])
        >>> len(tangent_directions(a, 1)), len(tangent_directions(0 * a, 1)), len(tangent_directions(a, 2))
        (3, 4, 4)
    """
    d = len(attention)
    if alpha >= d or rank(attention) < alpha:
        return np.eye(d * d, dtype=np.int64).astype(object)
    left, right = null_space(attention.T), null_space(attention)
    conditions = np.array([[x * y for x in u for y in w] for u in left for w in right])
    return clear_denominators(np.array(null_space(conditions)))
