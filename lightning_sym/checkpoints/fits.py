"""Guesses at the numbers of a gauge, in floating point: what fits best, and the nice numbers near it.

Nothing here decides anything: what is guessed is put into the equations, exactly or with its residual. A fit to all
rows is right where every number was rounded a little, one to the better half where a few numbers are wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.exact_rings import Floats, Ratio, nice

ROUNDS = 4
"""Fits to the better half of the equations, each half chosen by the one before."""


def best_matrix(first: Floats, second: Floats, left: Floats, right: Floats, weights: tuple[float, float]) -> Floats:
    """`g` with `second = g first` and `right = left g^-1`, as well as squares of residuals, weighted, can tell.

    Args:
        first, second: `(a, k)`.
        left, right: `(l, a)`.
        weights: of the two kinds of equation.
    """
    g = _sylvester(first, second, right, left, weights)
    for _ in range(2):  # Newton's steps for (1 + x) g
        try:
            moved, written = g @ first, np.linalg.solve(g.T, left.T).T
        except np.linalg.LinAlgError:
            break
        step = _sylvester(moved, second - moved, written, written - right, weights)
        if not np.isfinite(step).all() or np.abs(step).max(initial=0) > 0.5:
            break
        g = g + step @ g
    return g


def _sylvester(first: Floats, second: Floats, left: Floats, right: Floats, weights: tuple[float, float]) -> Floats:
    """The `x` of least squares for `x first = second` and `left x = right`."""
    low, u = np.linalg.eigh(weights[1] * left.T @ left)
    high, v = np.linalg.eigh(weights[0] * first @ first.T)
    rhs = u.T @ (weights[0] * second @ first.T + weights[1] * left.T @ right) @ v
    total = low[:, None] + high[None, :]
    found = np.divide(rhs, total, out=np.zeros_like(rhs), where=total > 1e-13 * max(float(total.max(initial=0)), 1e-300))
    return np.asarray(u @ found @ v.T)


def gauge_matrix(
    first: Floats, second: Floats, left: Floats, right: Floats, weights: tuple[float, float]
) -> tuple[Floats, Ratio | None, Ratio | None]:
    """The best `g`, and it and its inverse in nice numbers where a fit to all or to the better half has them."""
    size = len(first)
    if first.shape == second.shape and np.array_equal(first, second) and np.array_equal(left, right):
        return np.eye(size), Ratio(np.eye(size), 1), Ratio(np.eye(size), 1)
    whole = found = best_matrix(first, second, left, right, weights)
    for number in range(ROUNDS + 1):
        try:
            inverse = np.linalg.inv(found)
        except np.linalg.LinAlgError:
            break
        pair = nice(found), nice(inverse)
        if pair[0] is not None and pair[1] is not None:
            return whole, *pair
        if number == 0 and not _some_fit(first, second, left, right, found, inverse):
            break
        above = np.abs(second - found @ first).max(axis=0, initial=0) / _size(second)
        below = np.abs(right - left @ inverse).max(axis=1, initial=0) / _size(right)
        middle = np.median(np.concatenate([above, below]))
        some, rows = above <= middle, below <= middle
        found = best_matrix(first[:, some], second[:, some], left[rows], right[rows], weights)
    return whole, None, None


def _some_fit(
    first: Floats, second: Floats, left: Floats, right: Floats, found: Floats, inverse: Floats
) -> bool:
    """Whether some columns fit far better or worse than others, as where a few numbers are wrong."""
    above = np.abs(second - found @ first).max(axis=0, initial=0) / _size(second)
    below = np.abs(right - left @ inverse).max(axis=1, initial=0) / _size(right)
    both = np.concatenate([above, below])
    return bool(both.max(initial=0) > 8 * np.median(both))


def _size(array: Floats) -> float:
    return max(float(np.abs(array).max(initial=0)), 1e-300)


def nice_apiece(fitted: npt.NDArray[Any], counted: Callable[[], npt.NDArray[Any]]) -> Ratio | None:
    """Nice numbers near scales that were fitted, or near the most common ratios, where a few numbers are wrong."""
    found = nice(fitted, apiece=True)
    return nice(counted(), apiece=True) if found is None else found


def scales(up: Floats, new_up: Floats, down: Floats, new_down: Floats, weights: tuple[float, float]) -> Floats:
    """`c` with `new_up = c up` (rows) and `new_down = down / c` (columns)."""
    top = weights[0] * (up * new_up).sum(1) + weights[1] * (down * new_down).sum(0)
    bottom = weights[0] * (up * up).sum(1) + weights[1] * (new_down * new_down).sum(0)
    c = _over(top, bottom)
    for _ in range(2):
        moved, written = up * c[:, None], down * _over(np.ones_like(c), c)
        top = weights[0] * (moved * (new_up - moved)).sum(1) - weights[1] * (written * (new_down - written)).sum(0)
        bottom = weights[0] * (moved * moved).sum(1) + weights[1] * (written * written).sum(0)
        step = _over(top, bottom)
        c = c * (1 + np.where(np.abs(step) < 0.5, step, 0))
    return np.where(c == 0, 1.0, c)


def turns(
    query: npt.NDArray[np.complex128],
    new_query: npt.NDArray[np.complex128],
    key: npt.NDArray[np.complex128],
    new_key: npt.NDArray[np.complex128],
    weights: tuple[float, float],
) -> npt.NDArray[np.complex128]:
    """`z` for each row with `new_query = z query` and `new_key = key / conj(z)`; all `(frequencies, k)`."""

    def inner(x: Any, y: Any) -> Any:
        return (x.conj() * y).sum(-1)

    top = weights[0] * inner(query, new_query) + weights[1] * inner(new_key, key).conj()
    z = _over(top, (weights[0] * inner(query, query) + weights[1] * inner(new_key, new_key)).real)
    for _ in range(2):
        moved, written = z[:, None] * query, key / np.where(z == 0, 1, z).conj()[:, None]
        top = weights[0] * inner(moved, new_query - moved) - weights[1] * inner(written, new_key - written).conj()
        step = _over(top, (weights[0] * inner(moved, moved) + weights[1] * inner(written, written)).real)
        z = z * (1 + np.where(np.abs(step) < 0.5, step, 0))
    return np.where(z == 0, 1, z)


def common_ratio(old: npt.NDArray[Any], new: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """For each row the middle one of all ratios `new / old`, real and imaginary parts apart."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(old == 0, np.nan, new / np.where(old == 0, 1, old))
    ratio = np.where(np.isnan(ratio).all(axis=1, keepdims=True), 1, ratio)
    middle = _middle(ratio.real)
    return middle + 1j * _middle(ratio.imag) if np.iscomplexobj(ratio) else middle


def _middle(array: Floats) -> Floats:
    """The lower median of what is a number in each row: one of the numbers themselves."""
    ordered = np.sort(array, axis=1)
    count = np.isfinite(ordered).sum(axis=1)
    return np.asarray(np.take_along_axis(ordered, np.maximum(count - 1, 0)[:, None] // 2, axis=1)[:, 0])


def _over(top: Any, bottom: Any) -> Any:
    bottom = np.asarray(bottom)
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)
