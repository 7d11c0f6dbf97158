"""Guesses at the numbers of a gauge, in floating point: what fits best, nice numbers near it, how well weights tell it.

Nothing here decides anything: what is guessed is put into the equations, exactly or with its residual. A fit to all
rows is right where every number was rounded a little, one to the better half where a few numbers are wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.measured import TINY, Fitted, Measured, fitted
from lightning_sym.checkpoints.model import CheckpointForm
from lightning_sym.checkpoints.nice_numbers import Floats, Ratio, nice, round_number, stored_ratios
from lightning_sym.checkpoints.symmetry import LayerSymmetry

ROUNDS = 4
"""Fits to the better half of the equations, each half chosen by the one before."""

ABOUT = 8
"""Short numbers are preferred to fitted ones, which follow the roundings, if at most so many times as far off."""

EXACTLY = 2.0**-40
"""What is off by less of the largest entry of its row may be off by nothing."""

ROUNDED = 2.0**-6
"""What is off by less of the largest entry of its row may have been rounded, to eight bits."""


def best_matrix(first: Floats, second: Floats, left: Floats, right: Floats, weights: tuple[float, float]) -> Floats:
    """Return `g` with `second = g first` and `right = left g^-1`, by weighted least squares.

    Args:
        first, second: `(a, k)`.
        left, right: `(l, a)`.
        weights: of the two kinds of equation.
    """
    g = _sylvester(first, second, right, left, weights)
    for _ in range(2):  # Newton's steps for (1 + x) g
        try:
            moved, written = g @ first, np.asarray(np.linalg.solve(g.T, left.T).T, dtype=np.float64)
        except np.linalg.LinAlgError:
            break
        step = _sylvester(moved, second - moved, written, written - right, weights)
        if not np.isfinite(step).all() or np.abs(step).max(initial=0) > 0.5:
            break
        g = g + step @ g
        if np.abs(step).max(initial=0) < 1e-12:
            break
    return g


def _sylvester(first: Floats, second: Floats, left: Floats, right: Floats, weights: tuple[float, float]) -> Floats:
    """Return the `x` of least squares for `x first = second` and `left x = right`."""
    low, u = np.linalg.eigh(weights[1] * left.T @ left)
    high, v = np.linalg.eigh(weights[0] * first @ first.T)
    rhs = u.T @ (weights[0] * second @ first.T + weights[1] * left.T @ right) @ v
    total = low[:, None] + high[None, :]
    found = np.divide(
        rhs, total, out=np.zeros_like(rhs), where=total > 1e-13 * max(float(total.max(initial=0)), 1e-300)
    )
    return np.asarray(u @ found @ v.T)


def gauge_matrix(
    first: Floats,
    second: Floats,
    left: Floats,
    right: Floats,
    weights: tuple[float, float],
    rounds: int = ROUNDS,
    about: int = ABOUT,
) -> tuple[Floats, Ratio | None, Ratio | None]:
    """Return the best `g`, and it and its inverse in nice numbers where a fit to all, or the better half, has them."""
    size = len(first)
    if first.shape == second.shape and np.array_equal(first, second) and np.array_equal(left, right):
        return np.eye(size), Ratio(np.eye(size), 1), Ratio(np.eye(size), 1)

    def off(g: Floats, inverse: Floats) -> tuple[Floats, Floats]:
        """Return what columns of the one and rows of the other lack, over the largest entries of the tensors' rows."""
        above = (np.abs(second - g @ first) / _sizes(second, 1)).max(axis=0, initial=0)
        below = (np.abs(right - left @ inverse) / _sizes(right, 1)).max(axis=1, initial=0)
        return above, below

    whole = found = best_matrix(first, second, left, right, weights)
    inverse = inverse_of(found)
    if inverse is None:
        return whole, None, None
    at_first = np.concatenate(off(found, inverse))
    exact = nice(found), nice(inverse)
    if exact[0] is None or exact[1] is None:
        exact = _rounded(whole, off, about * float(at_first.max(initial=0)))
    if exact[0] is None and at_first.max(initial=0) < EXACTLY:
        exact = _one_a_row(whole, first, second, left, right)
    if exact[0] is not None and exact[1] is not None:
        return whole, *exact
    for number in range(rounds):
        if number == 0 and at_first.max(initial=0) <= min(8 * np.median(at_first), ROUNDED):
            break  # all are off alike, or by no more than roundings make
        above, below = off(found, inverse)
        one, other = _contrasts(first, second, left, right, number)
        apart = np.concatenate([one[2](above), other[2](below)])
        if not len(apart):
            break
        middle = np.median(apart)
        some, rows = one[2](above) <= middle, other[2](below) <= middle
        found = best_matrix(one[0][:, some], one[1][:, some], other[0][rows], other[1][rows], weights)
        inverse = inverse_of(found)
        if inverse is None:
            break
        exact = nice(found), nice(inverse)
        if exact[0] is not None and exact[1] is not None:
            return whole, *exact
    return whole, None, None


Contrast = tuple[Floats, Floats, Callable[[Floats], Floats]]
"""Old and new rows or columns, less others, and how much their differences are off, from how much they are."""
Exactly = tuple[Ratio | None, Ratio | None]
"""A matrix and its inverse, in nice numbers."""

RealOrComplex = npt.NDArray[np.inexact]
"""Real, or complex."""


def _contrasts(first: Floats, second: Floats, left: Floats, right: Floats, number: int) -> tuple[Contrast, Contrast]:
    """Return columns less one of them, rows less one of their block: a wrong number spoils one, not the mean."""
    least = min(first.shape[1], len(left))  # of the stream; several heads of a group stand side by side

    def of_columns(*arrays: Floats) -> Contrast:
        count = arrays[0].shape[1]
        width = least if count % least == 0 else count  # latents have a width of their own
        place = (number * 7) % width
        others = np.delete(np.arange(width), place)

        def less(array: Floats) -> Floats:
            blocks = array.reshape(len(array), -1, width)
            return (blocks[:, :, others] - blocks[:, :, place : place + 1]).reshape(len(array), -1)

        return less(arrays[0]), less(arrays[1]), lambda off: off.reshape(-1, width)[:, others].reshape(-1)

    *rows, of_rows = of_columns(left.T, right.T)
    return of_columns(first, second), (rows[0].T, rows[1].T, of_rows)


def _rounded(whole: Floats, off: Callable[[Floats, Floats], tuple[Floats, Floats]], most: float) -> Exactly:
    """Return short numbers near `g` and its inverse if they are off by at most `most`, or twice `None`."""
    guess = round_number(whole)
    inverse = None if guess is None else inverse_of(guess)
    if guess is None or inverse is None:
        return None, None
    exact = nice(guess), nice(inverse)
    if exact[0] is None or exact[1] is None:
        return None, None
    above, below = off(exact[0].floats, exact[1].floats)
    return exact if max(above.max(initial=0), below.max(initial=0)) <= most else (None, None)


def _one_a_row(g: Floats, first: Floats, second: Floats, left: Floats, right: Floats) -> Exactly:
    """Return a matrix with one ratio of stored numbers in each row and column, and its inverse, if `g` is like that."""
    order = np.abs(g).argmax(axis=1)
    largest = g[np.arange(len(g)), order]
    rest = g.copy()
    rest[np.arange(len(g)), order] = 0
    if len(np.unique(order)) < len(g) or (np.abs(rest).max(axis=1) > EXACTLY * np.abs(largest)).any():
        return None, None
    found = stored_ratios(np.hstack([first[order], right.T]), np.hstack([second, left[:, order].T]))
    if found is None:
        return None, None
    made, rows = [], np.arange(len(g))
    for numbers, place in zip(found, ((rows, order), (order, rows)), strict=True):
        top, low = np.zeros(g.shape, dtype=object), np.ones(g.shape, dtype=object)
        top[place], low[place] = numbers.numerators, numbers.denominator
        made.append(Ratio(top, low))
    return made[0], made[1]


def inverse_of(matrix: Floats) -> Floats | None:
    """Return the inverse, `None` if floats see none."""
    try:
        found = np.asarray(np.linalg.inv(matrix))
    except np.linalg.LinAlgError:
        return None
    return found if np.isfinite(found).all() else None


def _sizes(array: Floats, axis: int) -> Floats:
    return np.asarray(np.maximum(np.abs(array).max(axis=axis, keepdims=True, initial=0), 1e-300))


def nice_scales(
    guesses: list[Callable[[], Floats]],
    inverse: Callable[[Floats], Floats],
    off: Callable[[Floats, Floats], Floats],
    stored: Callable[[], tuple[Ratio, Ratio] | None],
    about: int = ABOUT,
) -> Floats | Ratio:
    """Return scales: the first guess near nice numbers, or short numbers that fit as well, or the first.

    Where that fits as well as floats can, the ratios of `stored` numbers come before short ones.
    """
    for guess in guesses:
        exact = nice(guess(), apiece=True)
        over = None if exact is None else nice(inverse(exact.floats), apiece=True)
        if exact is not None and over is not None:
            return exact
    first = guesses[0]()
    best = off(first, inverse(first))
    if best.max(initial=0) < EXACTLY and (ratios := stored()) is not None:
        return ratios[0]
    short = np.ldexp(np.rint(np.ldexp(first, 4)), -4)
    with np.errstate(divide="ignore", invalid="ignore"):
        over_short = inverse(short)
        fits = np.isfinite(over_short) & (off(short, np.nan_to_num(over_short)) <= about * best)
    exact = nice(np.where(fits, short, first), apiece=True)
    over = None if exact is None else nice(inverse(exact.floats), apiece=True)
    return exact if exact is not None and over is not None else first


def row_factors(
    query: RealOrComplex,
    new_query: RealOrComplex,
    key: RealOrComplex,
    new_key: RealOrComplex,
    weights: tuple[float, float],
) -> RealOrComplex:
    """Return `z` for each row with `new_query = z query` and `new_key = key / conj(z)`.

    Rows may be real or complex.

    Args:
        query, new_query, key, new_key: `(n, k)` each.
        weights: of the equations of queries, and of those of keys.
    """

    def inner(x: RealOrComplex, y: RealOrComplex) -> RealOrComplex:
        return np.asarray((x.conj() * y).sum(-1))

    top = weights[0] * inner(query, new_query) + weights[1] * inner(new_key, key).conj()
    z = _over(top, (weights[0] * inner(query, query) + weights[1] * inner(new_key, new_key)).real)
    for _ in range(2):
        moved, written = z[:, None] * query, key / np.where(z == 0, 1, z).conj()[:, None]
        top = weights[0] * inner(moved, new_query - moved) - weights[1] * inner(written, new_key - written).conj()
        step = _over(top, (weights[0] * inner(moved, moved) + weights[1] * inner(written, written)).real)
        z = z * (1 + np.where(np.abs(step) < 0.5, step, 0))
    return np.where(z == 0, 1, z)


def gain_factors(sizes: Sequence[Fraction], signs: Sequence[Sequence[int]]) -> list[list[Fraction]]:
    """Return what gains of queries, and of keys, are multiplied with: `c` and `1/c`, with signs of their own.

    Args:
        sizes: `c`, one a frequency, which has two rows.
        signs: of each row, those of keys last.
    """
    *queries, keys = ([*zip(row, [*sizes, *sizes], strict=True)] for row in signs)
    return [*([sign * size for sign, size in row] for row in queries), [sign / size for sign, size in keys]]


def common_ratio(old: RealOrComplex, new: RealOrComplex) -> RealOrComplex:
    """Return for each row the median of the ratios `new / old`, real and imaginary parts apart."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(old == 0, np.nan, new / np.where(old == 0, 1, old))
    ratio = np.where(np.isnan(ratio).all(axis=1, keepdims=True), 1, ratio)
    middle = _middle(ratio.real)
    return middle + 1j * _middle(ratio.imag) if np.iscomplexobj(ratio) else middle


def _middle(array: Floats) -> Floats:
    """Return the lower median of what is a number in each row: one of the numbers themselves."""
    ordered = np.sort(array, axis=1)
    count = np.isfinite(ordered).sum(axis=1)
    return np.asarray(np.take_along_axis(ordered, np.maximum(count - 1, 0)[:, None] // 2, axis=1)[:, 0])


def _over(top: RealOrComplex, bottom: Floats) -> RealOrComplex:
    return np.asarray(np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0))


def by_paths(cost: Floats) -> npt.NDArray[np.int64]:
    """Return for each row the column that it goes to at the least cost in all, or -1: columns come in one by one.

    Each takes the shortest path over rows that others have, in costs less what rows and columns are worth so far.

    Example:
        >>> by_paths(np.array([[1.0, 2.0], [1.0, 4.0], [9.0, 9.0]])).tolist()
        [1, 0, -1]
    """
    rows, columns = cost.shape
    owners, worth, price = np.full(rows + 1, -1), np.zeros(rows + 1), np.zeros(columns)
    for column in range(columns):
        at, owners[rows] = rows, column  # the last row is where the column waits
        least, back, done = np.full(rows + 1, np.inf), np.full(rows + 1, rows), np.zeros(rows + 1, dtype=bool)
        while owners[at] >= 0:
            done[at] = True
            over = np.append(cost[:, owners[at]] - price[owners[at]], np.inf) - worth
            nearer = ~done & (over < least)
            least[nearer], back[nearer] = over[nearer], at
            at = int(np.where(done, np.inf, least).argmin())
            step = least[at]
            price[owners[done]] += step
            worth[done] -= step
            least[~done] -= step
        while at != rows:
            owners[at], at = owners[back[at]], back[at]
    return owners[:rows]


def gauge_fits(
    first: Any, form: CheckpointForm, inner: LayerSymmetry, names: Collection[str]
) -> Iterator[tuple[object, Fitted | Measured]]:
    """Yield the gauges of a part that were fitted, and how well the weights of the first, in order, tell them."""
    for part in {"latents", "query_latents"} & {*names}:
        yield getattr(inner, part), fitted(getattr(inner, part), getattr(first, part[:-1]))
    if first.query is None:
        return
    a, width, turned = form.head_width, first.query.shape[-1], form.turned
    if "values" in names:
        yield inner.values, fitted(inner.values, first.value, first.output.reshape(form.groups, -1, form.values))
    if "shared_turns" in names:
        rows = first.query_turned.swapaxes(0, 1).reshape(1, form.rotating, -1)
        yield inner.shared_turns, fitted_turns(inner.shared_turns, rows, first.key_turned)
    readers = first.query.reshape(form.groups, -1, a, width).swapaxes(1, 2).reshape(form.groups, a, -1)
    if "turns" in names:
        yield inner.turns, fitted_turns(inner.turns, readers[:, :turned], first.key[:, :turned])
    if "queries" in names:
        keys = first.key[:, turned:].swapaxes(-1, -2)
        yield inner.queries, fitted(inner.queries, readers[:, turned:], keys)


def fitted_turns(turns: object, queries: Measured, keys: Measured) -> Measured:
    """Return numbers `x + iy`, `(G, a / 2, 2)`, fitted to queries and keys, both `(G, a, n)`, and what that is off.

    Each side tells a number the better, the longer its rows are; the two count by the squares of their lengths.
    """
    value = np.asarray(turns, dtype=np.float64)
    length = np.square(value).sum(axis=-1)
    energy, noise = np.zeros_like(length), np.zeros_like(length)
    for side, scale in ((queries, length), (keys, 1 / length)):
        entries, squares = (x.reshape(len(value), 2, -1, x.shape[-1]) for x in (np.square(side.value), 2 * side.square))
        told = scale * entries.sum(axis=(1, 3))
        weight = 1 / max(float(told.mean()), TINY)
        energy += weight * told
        noise += weight**2 * scale**2 * (entries.sum(axis=1) * squares.mean(axis=1)).sum(axis=-1)
    off = length * noise / np.maximum(energy, TINY) ** 2
    return Measured(value, np.repeat(off[..., None], 2, axis=-1))
