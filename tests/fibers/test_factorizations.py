"""Dimensions of factorizations and of chains, against counts of all points over small finite fields."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import sympy

from lightning_sym.fibers.factorizations import Reader, Space, chain_fiber_dimension, product_fiber_dimension


def points_over(p: int, spaces: list[Space], forms: list[Any], value: Any) -> int:
    """Weights of a chain over the field with `p` elements with these products, counted one by one."""
    widths = [s.width for s in spaces]
    sizes = [(w, v) for v, w in itertools.pairwise(widths)]
    total = 0
    for entries in itertools.product(range(p), repeat=sum(a * b for a, b in sizes)):
        left, maps = list(entries), []
        for rows, columns in sizes:
            maps.append(np.array(left[: rows * columns]).reshape(rows, columns))
            left = left[rows * columns :]
        products = [np.eye(widths[0], dtype=int)]
        for each in maps:
            products.append(each @ products[-1] % p)
        if (products[-1] - value).any():
            continue
        count = 1
        for space, form, product in zip(spaces, forms, products, strict=True):
            if space.reader is None:
                continue
            size = (space.reader.inner, space.width)
            every = [np.array(x).reshape(size) for x in itertools.product(range(p), repeat=size[0] * size[1])]
            count *= sum(
                1
                for k in every
                for q in every
                if form is None or not ((product.T @ k.T @ q @ product - form) % p).any()
            )
        total += count
    return total


def spaces_between(low: int, high: int, size: int, q: Any) -> Any:
    """Spaces of a dimension between two, over the field with `q` elements."""
    top, bottom, count = high - low, size - low, sympy.Integer(1)
    for i in range(bottom):
        count = count * (q**top - q**i) / (q**bottom - q**i)
    return count


def injections(small: int, large: int, q: Any) -> Any:
    return sympy.prod([q**large - q**i for i in range(small)])


def factors(size: int, inner: int, rank: int | None, q: Any) -> Any:
    if rank is None:
        return q ** (2 * inner * size)
    return sum(
        spaces_between(rank, size, k, q) * injections(k, inner, q) * q ** ((inner - k) * size)
        for k in range(rank, min(inner, size) + 1)
    )


def counted(spaces: list[Space], q: Any) -> Any:
    """The argument of `factorizations`, with counts in place of dimensions."""
    total, last = sympy.Integer(0), len(spaces) - 1
    ranges = [range(s.contained, s.width + 1) for s in spaces[1:last]]
    for middle in itertools.product(*ranges):
        p = (spaces[0].width, *middle, spaces[last].contained)
        if any(b > a for a, b in itertools.pairwise(p)):
            continue
        count = sympy.Integer(1)
        for j, space in enumerate(spaces):
            if 0 < j < last:
                count *= spaces_between(space.contained, p[j - 1], p[j], q) * injections(p[j], space.width, q)
            if j:
                count *= q ** ((spaces[j - 1].width - p[j - 1]) * space.width)
            if space.reader is not None:
                inner, rank = space.reader
                count *= factors(p[j], inner, rank, q) * q ** (2 * inner * (space.width - p[j]))
        total += count
    return total


ONE, NONE = np.array([[1, 0], [0, 0]]), np.zeros((2, 2), dtype=int)
CHAINS: list[tuple[list[Space], list[Any], Any]] = [
    ([Space(2, 2, Reader(1, 1)), Space(1, 0, None)], [ONE, None], np.zeros((1, 2), dtype=int)),
    ([Space(2, 2, Reader(1, 0)), Space(1, 1, None)], [NONE, None], np.array([[1, 0]])),
    ([Space(2, 2, None), Space(2, 1, Reader(1, 1)), Space(1, 1, None)], [None, ONE, None], np.array([[1, 0]])),
    ([Space(2, 2, None), Space(2, 1, Reader(1, 0)), Space(1, 1, None)], [None, NONE, None], np.array([[1, 0]])),
    ([Space(2, 2, None), Space(2, 0, Reader(1, None)), Space(1, 0, None)], [None, None, None], np.array([[0, 0]])),
    ([Space(2, 2, None), Space(2, 1, Reader(1, 1)), Space(1, 0, None)], [None, ONE, None], np.array([[0, 0]])),
]


@pytest.mark.parametrize("case", range(len(CHAINS)))
def test_chains_counted_over_finite_fields(case: int) -> None:
    """The strata are right: all points over GF(2) and GF(3) are counted; the dimension is the degree in `q`."""
    spaces, forms, value = CHAINS[case]
    q = sympy.Symbol("q")
    polynomial = sympy.factor(counted(spaces, q))
    for p in (2, 3) if len(spaces) == 2 else (2,):
        assert points_over(p, spaces, forms, value) == polynomial.subs(q, p)
    assert chain_fiber_dimension(spaces)[0] == sympy.degree(sympy.cancel(polynomial), q)


@pytest.mark.parametrize(
    ("size", "inner", "rank"), [(n, a, r) for n in (1, 2, 4) for a in (1, 2, 3, 6) for r in range(3)]
)
def test_products_have_the_degree_of_their_count(size: int, inner: int, rank: int) -> None:
    q = sympy.Symbol("q")
    if rank <= min(size, inner):
        degree = sympy.degree(sympy.cancel(factors(size, inner, rank, q)), q)
        assert product_fiber_dimension(size, size, inner, rank) == degree
