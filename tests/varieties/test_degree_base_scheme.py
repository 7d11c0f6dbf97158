"""Theorem 2 of `docs/degree.md`: the base scheme has the tangent space of `B`, and not for too few tokens."""

from __future__ import annotations

import random

import numpy as np
import numpy.typing as npt
import pytest

from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.rings.prime_field import PRIMES

Matrix = npt.NDArray[np.object_]

PRIME = PRIMES[0]


def _random(generator: random.Random, rows: int, columns: int) -> Matrix:
    return np.array([[generator.randrange(PRIME) for _ in range(columns)] for _ in range(rows)], dtype=object)


def _first_order(a: Matrix, k: Matrix, v: Matrix, x: Matrix) -> list[int]:
    """One output of the differential of V G A1 G A1' G A2 G A1 X in A1 and A2, at A1 = a, A2 = k."""
    g = x @ x.T % PRIME
    front = v @ g % PRIME
    behind = (g @ k % PRIME) @ (g @ a % PRIME) % PRIME @ x % PRIME  # G A2 G A1 X
    first = g @ (a.T @ behind % PRIME) % PRIME  # G A1' G A2 G A1 X
    middle = front @ a % PRIME @ g % PRIME  # V G A1 G
    left = middle @ a.T % PRIME @ g % PRIME  # V G A1 G A1' G
    last = left @ k % PRIME @ g % PRIME
    right = g @ a % PRIME @ x % PRIME
    n = len(a)
    in_a = [
        front[0, i] * first[j, 0] + middle[0, j] * behind[i, 0] + last[0, i] * x[j, 0]
        for i in range(n)
        for j in range(n)
    ]
    return [int(e) % PRIME for e in in_a + [left[0, i] * right[j, 0] for i in range(n) for j in range(n)]]


def _rank(p: list[int], q: list[int], k: list[list[int]], tokens: int) -> int:
    generator, n = random.Random(5), len(p)
    a, v = np.outer(p, q).astype(object), _random(generator, 1, n)
    rows = [_first_order(a, np.array(k, dtype=object), v, _random(generator, n, tokens)) for _ in range(2 * n * n + 4)]
    return rank_mod_p(np.array(rows, dtype=np.int64), PRIME)


SKEW = [[0, 1, 0], [-1, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("p", [[1, 0, 0], [0, 0, 1], [1, 0, 1]])
@pytest.mark.parametrize("q", [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1]])
def test_the_base_scheme_is_smooth_at_three_tokens(p: list[int], q: list[int]) -> None:
    assert _rank(p, q, SKEW, 3) == 10  # the codimension of P^2 x P^2 x P^2 in P^8 x P^8


def test_width_two_needs_two_tokens() -> None:
    for p in ([1, 0], [0, 1], [1, 1]):
        assert _rank(p, [1, 0], [[0, 1], [-1, 0]], 2) == 4


def test_two_tokens_are_too_few_for_width_three() -> None:
    assert _rank([0, 0, 1], [0, 0, 1], SKEW, 2) == 9
    assert _rank([0, 0, 1], [0, 0, 1], SKEW, 3) == 10
