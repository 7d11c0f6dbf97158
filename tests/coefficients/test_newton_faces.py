"""Faces of Newton polyhedra: known singularities, volumes by another road, and what must not be claimed."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import log

import numpy as np
import pytest

from lightning_sym import polynomial_coefficient
from lightning_sym.coefficients.composition import StepBudget
from lightning_sym.coefficients.fans import fan_of
from lightning_sym.coefficients.newton_faces import both_signs, by_faces, is_definite
from lightning_sym.limits import Work
from proofs_check.checker import verify

SINGULARITIES = {
    "x^2 + y^3": ("5/6", 1), "x^2 + y^7": ("9/14", 1), "x^2*y + y^3": ("2/3", 1), "x^2*y + y^5": ("3/5", 1),
    "x^3 + y^4": ("7/12", 1), "x^3 + x*y^3": ("5/9", 1), "x^3 + y^5": ("8/15", 1), "x^2*y^2 + x^5 + y^5": ("1/2", 2),
    "x^4 + 2*x^2*y^3 + y^6": ("5/12", 1), "x^6 + 3*x^4*y^3 + 3*x^2*y^6 + y^9": ("5/18", 1),
    "x^2 + y^2 + z^2": ("3/2", 1), "x^2 + y^2 - z^2": ("1", 1), "x^2 + y^2 - z^3": ("1", 1),
    "x^2 + y^4 + z^6": ("11/12", 1),
    "x^3 + y^3 + z^3 + w^3 + u^3": ("1", 1), "x*y*z + x^4 + y^5 + z^6": ("1", None), "x^2 + y^3, x*y": ("1", 2),
    "x^2 - y*z, y^2 - x*z": ("3/2", 1), "x + y^2, y^2 + z^3 - x": ("11/6", 1), "x*y + z*w, x*z + y*w": ("2", None),
}  # fmt: skip


@pytest.mark.parametrize("text", SINGULARITIES)
def test_known_singularities(text: str) -> None:
    """Numbers of curves, surfaces and powers; those of ideals are the smallest of the polyhedron and of the zeros."""
    two, order = SINGULARITIES[text]
    found = polynomial_coefficient(text)
    assert found.value == Fraction(two) / 2
    assert order is None or found.multiplicity == order
    assert found.certificate is not None
    assert verify.check(found.certificate).startswith(f"lambda = {found.value}, ")


@pytest.mark.parametrize(("a", "b", "sign"), [(2, 3, 1), (2, 5, -1), (3, 4, -1), (2, 2, -1), (4, 6, 1)])
def test_volumes_by_another_road(a: int, b: int, sign: int) -> None:
    """The area where x^a + sign y^b is small, by lengths of intervals of x in floats: its slope is the exponent."""

    def area(epsilon: float) -> float:
        y = np.exp(np.linspace(log(1e-12), 0, 400_001))
        total = 0.0
        for side in (1.0, -1.0):
            level = sign * (side * y) ** b  # |x^a + level| < epsilon
            low, high = -epsilon - level, epsilon - level
            for x_side in (1.0, -1.0) if a % 2 else (1.0,):
                first, last = (low, high) if x_side > 0 else (-high, -low)
                root = np.minimum(np.maximum(last, 0) ** (1 / a), 1) - np.minimum(np.maximum(first, 0) ** (1 / a), 1)
                total += float(np.trapezoid(root * y, np.log(y)))
        return total

    found = polynomial_coefficient(f"x^{a} {'+' if sign > 0 else '-'} y^{b}")
    slope = log(area(1e-9) / area(1e-11)) / log(100)
    expected = 2 * float(found.lower) - ((found.multiplicity or 2) - 1) / log(1e10)
    assert found.certified
    assert abs(slope - expected) < 0.02


def test_a_degenerate_face_is_not_taken_for_another() -> None:
    """By y - x^2 the number is 7/10; the polyhedron alone would say 3/4."""
    terms: dict[tuple[int, ...], Fraction] = {
        (0, 2): Fraction(1),
        (2, 1): Fraction(-2),
        (4, 0): Fraction(1),
        (5, 0): Fraction(1),
    }
    found = by_faces({0: terms}, 2, StepBudget(Work(10), 10**9))
    assert found is not None
    assert (found.value, found.level) == (Fraction(1, 2), Fraction(1, 2))
    one = polynomial_coefficient("x^2 + 2*x*y + y^2 + z^4")  # only in other coordinates
    assert one.value == Fraction(3, 8)


@pytest.mark.parametrize("seed", range(6))
def test_fans_cover_all_weights(seed: int) -> None:
    """Each weight lies in a cone, on the rays of which one exponent is the smallest; its face is among those found."""
    draw = np.random.default_rng(seed)
    size = int(draw.integers(1, 5))
    exponents = list({tuple(map(int, draw.integers(0, 5, size))) for _ in range(6)} - {(0,) * size})
    fan = fan_of(exponents)
    assert fan is not None
    faces = fan.faces(exponents)
    for weights in [*draw.integers(1, 30, (40, size)).tolist(), *map(list, product((1, 2), repeat=size))]:
        levels = {e: sum(a * b for a, b in zip(weights, e, strict=True)) for e in exponents}
        assert frozenset(e for e, w in levels.items() if w == min(levels.values())) in faces


def test_signs() -> None:
    allowed = StepBudget(Work(10), 10**9)
    assert both_signs({(2, 0): Fraction(1), (0, 4): Fraction(1)}, 2, allowed) is None
    assert both_signs({(2, 0): Fraction(1), (0, 4): Fraction(-1)}, 2, allowed) is not None
    assert is_definite({(2, 1): Fraction(1), (4, 3): Fraction(1)})
    assert not is_definite({(2, 1): Fraction(1), (4, 3): Fraction(-1)})


def test_generators_that_are_left_out_prove_no_multiplicity() -> None:
    """Without the last one the pole is of order 2, with it of order 1."""
    many = ", ".join(f"x*y*z^{i}*w^{j}" for i in range(12) for j in range(13))
    found = polynomial_coefficient(f"{many}, x^2 + y^2")
    assert (found.value, found.multiplicity) == (Fraction(1, 2), None)
    assert polynomial_coefficient("x*y, x^2 + y^2").multiplicity == 1
