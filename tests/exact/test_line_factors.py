"""Degrees of factors over the complex numbers, by lines modulo a prime: what has one is never said to have none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import sympy

from lightning_sym.exact.line_factors import degrees_on_line, determinants_mod_p, has_no_small_factor

P = 4194301
X, Y = sympy.symbols("x y")
Degrees = tuple[int, ...]


def lines(polynomial: sympy.Expr, count: int = 60, p: int = P) -> list[Degrees]:
    """Degrees on random lines, by SymPy's values."""
    degree = sympy.Poly(polynomial, X, Y).total_degree()
    generator, found = np.random.default_rng(0), []
    value: Callable[[int, int], int] = sympy.lambdify((X, Y), polynomial)
    for _ in range(count):
        a, b, c, d = map(int, generator.integers(0, p, 4))
        values = [value((a + u * b) % p, (c + u * d) % p) % p for u in range(degree + 1)]
        degrees = degrees_on_line(values, p)
        if degrees is not None:
            found.append(degrees)
    return found


FACTORS = {
    "rational": ((1 + X + Y**2) * (1 + X**3 - Y**3 + X * Y), 5, 1),
    "two conjugate quadrics": ((1 + X * Y) ** 2 - 2 * (X**2 + Y) ** 2, 4, 1),
    "three conjugate lines": (sympy.expand(1 + 3 * X + 3 * X**2 + X**3 - 2 * Y**3), 3, 0),
    "irreducible": (1 + X**2 * Y**2 + X**3 + Y + 3 * X * Y**2, 4, 3),
}
"""A polynomial, its degree, and the largest number up to which it has no factor over the complex numbers."""


@pytest.mark.parametrize("name", ["rational", "two conjugate quadrics", "three conjugate lines", "irreducible"])
def test_exactly_the_degrees_without_a_factor_are_excluded(name: str) -> None:
    polynomial, degree, free = FACTORS[name]
    seen = lines(polynomial)
    assert len(seen) > 30
    assert [k for k in range(1, degree) if has_no_small_factor(seen, degree, k)] == list(range(1, free + 1))


def test_conjugates_are_missed_by_what_looks_at_the_prime_field_alone() -> None:
    """With 2 no square modulo the prime the two quadrics are one factor there: only their conjugates tell."""
    p = next(q for q in (4194301, 4194287, 4194277, 4194271) if pow(2, (q - 1) // 2, q) == q - 1)
    polynomial, degree, _ = FACTORS["two conjugate quadrics"]
    seen = lines(polynomial, p=p)
    assert (4,) in seen
    assert all(each % 2 == 0 for degrees in seen for each in degrees)
    assert not has_no_small_factor(seen, degree, 2)


def test_a_smaller_degree_and_double_roots_say_nothing() -> None:
    assert degrees_on_line([1, 1, 1], P) is None
    assert degrees_on_line([1, 4, 9, 16], P) is None
    assert degrees_on_line([1, 4, 9], P) is None


def test_determinants() -> None:
    stack = np.random.default_rng(1).integers(0, P, (4, 3, 3))
    assert determinants_mod_p(stack, P).tolist() == [int(sympy.Matrix(m.tolist()).det()) % P for m in stack]
