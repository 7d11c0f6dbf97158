"""Ideals of the models, as polynomials, and programs of exponents that are solved and not read off a formula."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product

from lightning_sym import polynomial_coefficient
from lightning_sym.coefficients.coefficient import LearningCoefficient
from lightning_sym.coefficients.newton import maximize
from lightning_sym.network.pieces import ENDS
from proofs_check.claim import ProvedBounds, expect_value
from proofs_check.ring_matrices import letters_of


def bounds_of_linear_attention(v: int, e: int) -> LearningCoefficient:
    """Return both bounds of the ideal of E Q E^T times E U at zero, by the program for polynomials."""
    _, (embed, form, unembed) = letters_of({ENDS[0]: (v, e), "Q": (e, e), ENDS[1]: (e, v)})
    g, h = embed @ form @ embed.T, embed @ unembed
    return polynomial_coefficient(", ".join(str(g[b, a] * h[a, k]) for a, b, k in product(range(v), repeat=3)))


def bounds_of_rest(v: int, e: int, teacher: int) -> LearningCoefficient:
    """Return both bounds of what is left of the ideal of one head at a generic teacher."""
    p, h = v - teacher, e - teacher
    shapes = {"F": (p, h), "V": (h, v - 1), "B": (h, teacher), "S": (h, h)}
    _, (whole, values, keys, form) = letters_of(shapes)
    products = [whole @ values, *([whole[1:] @ keys, whole @ form @ whole[1:].T] if p > 1 else [])]
    return polynomial_coefficient(", ".join(str(x) for each in products for x in each.ravel()))


def program_of_pivots(v: int, e: int) -> Fraction:
    """Return the smallest cost of exponents of pivots for v <= e, by the simplex method."""
    size, limits = v * v + 2 * v, [v + e - 2 * j - 1 for j in range(v)] + [v] * v + [1] * (v * v)
    columns, worth = [], []
    for i, j in product(range(v), repeat=2):  # x_i + q_ij + 2 x_j + u_j >= 1
        column = [0] * size
        for place, count in ((i, 1), (j, 2), (v + j, 1), (2 * v + i * v + j, 1)):
            column[place] += count
        columns.append(column)
        worth.append(1)
    for j in range(v - 1):  # x_j+1 >= x_j
        columns.append([int(k == j + 1) - int(k == j) for k in range(size)])
        worth.append(0)
    return maximize(columns, limits, worth).value


def program_of_chains(v: int, e: int, teacher: int) -> Fraction:
    """Return the smallest exponent over chains of quarters from 0 to 5/4, of what is left of one head."""
    p, h = v - teacher, e - teacher
    first, second = min(p, h), min(p - 1, h)
    grid = [Fraction(k, 4) for k in range(6)]

    def over(*terms: Fraction) -> Fraction:
        return max(Fraction(0), 1 - sum(terms, Fraction(0)))

    def exponent(chain: tuple[Fraction, ...]) -> Fraction:
        s, t = chain[::2], chain[1::2]
        terms = [(h - j) * x + (v - 1) * over(x) for j, x in enumerate(s)]
        terms += [(p - 1 - i) * x + teacher * over(x) for i, x in enumerate(t)]
        return sum([*terms, *(over(x, y) for x, y in product(s, t))], Fraction(0))

    return min(exponent(chain) for chain in combinations_with_replacement(grid, first + second))


def expect_between(found: LearningCoefficient, stated: Fraction, at: str) -> None:
    """Refute, or leave undecided, unless two bounds meet at a stated coefficient."""
    expect_value(ProvedBounds(found.lower, found.upper), stated, at)


def sizes(most: int, large: int, *, quick: bool) -> Iterator[tuple[int, int]]:
    """Yield numbers of words and widths."""
    top: Iterable[int] = range(2, (most if quick else large) + 1)
    for v in top:
        yield from ((v, e) for e in range(1, 2 * max(top) + 1))
