"""The slice of Figure 1 that is drawn: on the hypersurface, with weights, singular where it says."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
import sympy

from lightning_sym import Architecture, classify, polynomial_map
from lightning_sym.errors import ShapeError
from lightning_sym.geometry.layer_orbits import Label
from lightning_sym.geometry.resultant_slice import SlicePoint, forms, resultant
from lightning_sym.network.one_layer import product_coefficients


def points(count: int) -> list[SlicePoint]:
    """Random ones, and the special ones."""
    draw = random.Random(4)
    numbers = [Fraction(draw.randint(-20, 20), draw.randint(1, 9)) for _ in range(3 * count)]
    chosen = [(numbers[3 * i], numbers[3 * i + 1], numbers[3 * i + 2]) for i in range(count)]
    chosen += [(Fraction(s), Fraction(t), Fraction(r)) for s, t in ((0, 1), (1, 0), (1, 2), (3, 1)) for r in (0, 1)]
    return [SlicePoint((s, t), r) for s, t, r in chosen if s**2 != t**2]


def test_its_equation_by_sympy() -> None:
    x, u, w, z = sympy.symbols("x u w z")
    f, g = (1 + z) * x**2 + (1 - z), w * (x**2 - 1) + 2 * u * x
    quartic = 4 * (u**2 + w**2 - z**2 * u**2)
    assert sympy.expand(sympy.resultant(f, g, x) - quartic) == 0
    gradient = [sympy.diff(quartic, letter) for letter in (u, w, z)]
    basis = sympy.groebner([quartic, *gradient], w, u, z).exprs
    assert basis == [w, u**2, u * z**2 - u], "where u = w = 0 and nowhere else, with more at z = 1 and z = -1"


@pytest.mark.parametrize("point", points(20))
def test_points_are_functions_of_their_weights(point: SlicePoint) -> None:
    f, g = forms(*point.coordinates)
    assert resultant(f, g) == 0
    s, t = point.zero
    for form in (f, g):
        assert form[0] * s**2 + form[1] * s * t + form[2] * t**2 == 0
    found = product_coefficients(polynomial_map(Architecture((2, 1), (2,), 2), point.weights))
    assert [[Fraction(str(c)) for c in row] for row in found[:, 0]] == [list(f), list(g)]


@pytest.mark.parametrize("point", points(20))
def test_what_classify_says_of_them(point: SlicePoint) -> None:
    found = classify(point.weights)
    assert (Label.SINGULAR in found) == (point.radius == 0)
    assert (Label.BOUNDARY in found) == (point.radius == 0 and 0 in point.zero)


def test_what_is_at_infinity_is_refused() -> None:
    with pytest.raises(ShapeError, match=r"\(2 : -2\)"):
        SlicePoint((Fraction(2), Fraction(-2)), Fraction(1))
