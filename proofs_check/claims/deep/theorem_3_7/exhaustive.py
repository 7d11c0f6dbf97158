r"""All virtual weights of two layers over GF(3) at $d_0 = t = 2$, and the moves between weights with one function.

Functions are formal coefficient vectors modulo 3, not values: over GF(3) different polynomials can take the same
values. Weights are numbered: the entries of $\tilde A_1$, $\tilde A_2$, $\tilde V$, row by row, are the base-3 digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lightning_sym import Layer, forward
from lightning_sym.rings.polynomials import PolynomialRing, entry_names

Integers = npt.NDArray[np.int8 | np.int64]
J = np.array([[0, 1], [-1, 0]])


class WeightsModulo3(NamedTuple):
    """A batch of virtual weights over GF(3): `(n, 2, 2)`, `(n, 2, 2)` and `(n, d', 2)`."""

    first: Integers
    second: Integers
    value: Integers

    def numbers(self) -> Integers:
        """Return the number of each: its base-3 digits are the entries."""
        numbers = np.zeros(1, dtype=np.int64)
        for matrices in self:
            for digit in (matrices % 3).reshape(len(matrices), -1).T:
                numbers = 3 * numbers + digit
        return numbers


def all_matrices(rows: int) -> Integers:
    """Return all `rows x 2` matrices over GF(3), in the order of their numbers."""
    return np.array(list(product(range(3), repeat=2 * rows)), dtype=np.int8).reshape(-1, rows, 2)


@cache
def all_weights(d_out: int) -> WeightsModulo3:
    """Return all virtual weights, in the order of their numbers."""
    attention, values = all_matrices(2), all_matrices(d_out)
    i, j, k = (index.ravel() for index in np.indices((81, 81, len(values))))
    return WeightsModulo3(attention[i], attention[j], values[k])


@cache
def functions_of_one_output() -> Integers:
    """Return the number of the function of every weight with one output: equal exactly if the polynomials are."""
    ring = PolynomialRing(
        [*entry_names("A", 2, 2), *entry_names("B", 2, 2), *entry_names("v", 1, 2), *entry_names("x", 2, 2)]
    )
    one = ring.constants(np.eye(2, dtype=int))
    layers = [
        Layer(ring.matrix("A", 2, 2), one, one),
        Layer(ring.matrix("B", 2, 2), one, ring.matrix("v", 1, 2)),
    ]
    output = forward(ring.matrix("x", 2, 2), layers)
    terms = [
        (tuple(map(int, exponents)), token, int(value))
        for token, entry in enumerate(output[0])
        for exponents, value in entry.to_dict().items()
    ]
    # phi is cubic in A, linear in B and in v: the coefficients of all weights are products of small matrices
    cubes = sorted({e[:4] for e, _, _ in terms})
    columns = sorted({(token, e[10:]) for e, token, _ in terms})
    tensor = np.zeros((len(cubes), 8, len(columns)), dtype=np.int64)
    for e, token, value in terms:
        tensor[cubes.index(e[:4]), 2 * e[4:8].index(1) + e[8:10].index(1), columns.index((token, e[10:]))] = value % 3
    entries = all_matrices(2).reshape(81, 4)
    powers = np.prod(entries[:, None, :] ** np.array(cubes)[None], axis=2) % 3
    maps = (powers @ tensor.reshape(len(cubes), -1) % 3).reshape(81 * 8, -1)
    maps = np.unique(maps, axis=1).reshape(81, 8, -1)  # a coefficient that always equals another one tells nothing
    products = (entries[:, None, :, None] * all_matrices(1).reshape(1, 9, 1, 2)).reshape(729, 8)
    coefficients = (products @ maps % 3).reshape(81 * 729, -1).astype(np.uint8)
    rows = coefficients.view(np.dtype((np.void, coefficients.shape[1]))).ravel()  # one key a row, every byte of it
    return np.unique(rows, return_inverse=True)[1]


@cache
def functions(d_out: int) -> Integers:
    """Return the number of the function of every weight; output coordinates depend on their own row of V~ alone."""
    one = functions_of_one_output().reshape(81 * 81, 9)
    count = int(one.max()) + 1
    together = np.zeros((81 * 81, 1), dtype=np.int64)
    for _ in range(d_out):
        together = (together[:, :, None] * count + one[:, None, :]).reshape(81 * 81, -1)
    return np.unique(together.ravel(), return_inverse=True)[1]


Moves = Iterator[tuple[WeightsModulo3, WeightsModulo3]]


def _outer(left: Integers, right: Integers) -> Integers:
    return left[:, :, None] * right[:, None, :]


def _vectors(*sizes: int) -> list[Integers]:
    """Return all tuples of vectors of these lengths over GF(3), one batch for each member of the tuple."""
    every = np.array(list(product(range(3), repeat=sum(sizes))), dtype=np.int8)
    return np.split(every, np.cumsum(sizes)[:-1], axis=1)


def rescalings(d_out: int) -> Moves:
    """Yield the moves of Eq. 13 with scalars 1 and 2."""
    w = all_weights(d_out)
    for a, b, c in product((1, 2), repeat=3):
        if c * a**3 * b % 3 == 1:
            yield w, WeightsModulo3(a * w.first, b * w.second, c * w.value)


def swaps(d_out: int) -> Moves:
    """Yield the exchange of Theorem 3.2 in the last layer: (p q^T, v w^T) and (w q^T, v p^T)."""
    p, q, w, v = _vectors(2, 2, 2, d_out)
    for first in all_matrices(2):
        yield (
            WeightsModulo3(first[None], _outer(p, q), _outer(v, w)),
            WeightsModulo3(first[None], _outer(w, q), _outer(v, p)),
        )


def symmetric_part_only(d_out: int) -> Moves:
    """Yield a move by a skew-symmetric part, which does nothing behind a layer of rank one."""
    w = all_weights(d_out)
    determinant = w.first[:, 0, 0] * w.first[:, 1, 1] - w.first[:, 0, 1] * w.first[:, 1, 0]
    w = WeightsModulo3(*(m[determinant % 3 == 0] for m in w))
    yield w, w._replace(second=w.second + J)


def skew_layer_exchanged(d_out: int) -> Moves:
    """Yield (M, J, V) and (J, det(M) M, V), which have one function."""
    w = all_weights(d_out)
    w = WeightsModulo3(*(m[(w.second == J % 3).all(axis=(1, 2))] for m in w))
    determinant = w.first[:, 0, 0] * w.first[:, 1, 1] - w.first[:, 0, 1] * w.first[:, 1, 0]
    yield w, WeightsModulo3(w.second, determinant[:, None, None] * w.first, w.value)


def squares_exchanged(d_out: int) -> Moves:
    """Yield (p q^T, r r^T, v r^T) and (r q^T, p p^T, v p^T), which have one function.

    Skew parts are free behind rank one anyway.
    """
    p, q, r, v = _vectors(2, 2, 2, d_out)
    yield (
        WeightsModulo3(_outer(p, q), _outer(r, r), _outer(v, r)),
        WeightsModulo3(_outer(r, q), _outer(p, p), _outer(v, p)),
    )


def zeros(d_out: int) -> Moves:
    """Yield all weights with a zero among the three matrices."""
    w = all_weights(d_out)
    vanishing = np.any([(m == 0).all(axis=(1, 2)) for m in w], axis=0)
    w = WeightsModulo3(*(m[vanishing] for m in w))
    yield w, WeightsModulo3(*(0 * m for m in w))


MOVES: dict[str, Callable[[int], Moves]] = {
    "rescaling": rescalings,
    "swap": swaps,
    "symmetric part only behind rank one": symmetric_part_only,
    "(M, J, V) ~ (J, det(M) M, V)": skew_layer_exchanged,
    "(p q^T, r r^T, v r^T) ~ (r q^T, p p^T, v p^T)": squares_exchanged,
    "zero": zeros,
}


@cache
def edges(move: str, d_out: int) -> tuple[Integers, Integers]:
    """Return the numbers of the weights that a move connects."""
    pairs = [(left.numbers(), right.numbers()) for left, right in MOVES[move](d_out)]
    left, right = (np.concatenate(side) for side in zip(*pairs, strict=True))
    return left[left != right], right[left != right]


def classes(moves: tuple[str, ...], d_out: int) -> Integers:
    """Return the smallest weight that the moves connect with each weight."""
    left, right = (np.concatenate(side) for side in zip(*(edges(move, d_out) for move in moves), strict=True))
    smallest = np.arange(3 ** (8 + 2 * d_out))
    while True:
        lower = np.minimum(smallest[left], smallest[right])
        after = smallest.copy()
        np.minimum.at(after, left, lower)
        np.minimum.at(after, right, lower)
        after = after[after]
        if np.array_equal(after, smallest):
            return smallest
        smallest = after
