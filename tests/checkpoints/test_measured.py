"""Units of what was computed: what roundings really do to it, entry by entry, and never a number without them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lightning_sym.checkpoints.fits import best_matrix
from lightning_sym.checkpoints.measured import Measured, fitted, measured
from lightning_sym.checkpoints.measuring import Measuring
from lightning_sym.checkpoints.units import unit_at

RING = Measuring()


def computed(ring: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Something with products, quotients, sums, and entries that move."""
    made = ring.plus(ring.product(a, b)[:, ::-1], ring.times(ring.over(d, c), np.full(5, 3.0)))
    return np.concatenate([np.repeat(made, 2, axis=0), np.moveaxis(-made, 0, 0)])


@pytest.mark.parametrize("stored", ["BF16", "F32"])
@pytest.mark.parametrize("spread", [1, 2.0**12])
def test_units_are_what_errors_of_one_unit_make(stored: str, spread: float) -> None:
    random = np.random.default_rng(1)
    exact = [random.standard_normal(shape) for shape in ((4, 6), (6, 5), (5,), (4, 5))]
    exact[0][0] *= spread
    exact[2] += 3
    units = computed(RING, *(measured(array, stored) for array in exact)).units
    made = [
        computed(RING, *(array + unit_at(array, stored) * random.choice([-1, 1], array.shape) for array in exact))
        for _ in range(4000)
    ]
    found = np.std(made, axis=0)
    assert (np.abs(found / units - 1) < 0.1).all(), found / units


def norms(matrix: Any, axis: int) -> Any:
    return np.linalg.norm(matrix, axis=axis, keepdims=True)


@pytest.mark.parametrize("writers", [False, True])
def test_a_fit_is_off_by_what_it_says(writers: bool) -> None:
    """A gauge is fitted again and again to weights that were rounded, and what it makes of others is off by that."""
    random = np.random.default_rng(2)
    w, u, g = random.standard_normal((4, 12)), random.standard_normal((9, 4)), random.standard_normal((4, 4))
    g += 4 * np.eye(4)
    others, inverse = random.standard_normal((4, 3)), np.linalg.inv(g)
    unit = 2.0**-20
    fit = fitted(g, Measured(w, np.full(w.shape, unit**2)), Measured(u, np.full(u.shape, unit**2)))
    made = []
    for _ in range(500):
        old, new = (x + unit * by * random.standard_normal(x.shape) for x, by in ((w, 1), (g @ w, norms(g, 1))))
        left, right = (
            x + unit * by * random.standard_normal(x.shape) for x, by in ((u, 1), (u @ inverse, norms(inverse, 0)))
        )
        found = best_matrix(
            old, new, left, right, (1 / float(np.square(new).mean()), 1 / float(np.square(right).mean()))
        )
        made.append(others.T @ (np.linalg.inv(found) - inverse) if writers else (found - g) @ others)
    told = fit.inverse().of_rows(others.T) if writers else fit.of_rows(others.T).T
    ratio = np.std(made, axis=0) / np.sqrt(told)
    assert (ratio > 0.3).all(), ratio
    assert (ratio < 2).all(), ratio


def test_measured_numbers_are_never_taken_for_floats() -> None:
    one = measured(np.ones(3), "F32")
    for wrong in (lambda: np.asarray(one), lambda: np.sum(np.asarray(one)), lambda: np.array([1.0]) + np.array(one)):
        with pytest.raises(TypeError, match="must not be taken for floats"):
            wrong()


def test_what_is_far_off_is_not_in_common() -> None:
    array = np.full((3, 40), 2.0) + np.ldexp(np.random.default_rng(0).uniform(-1, 1, (3, 40)), -22)
    array[1, 7] = 2.0**20
    found = RING.common(measured(array, "F32"), 1)
    assert (np.abs(found.value - 2) < 2.0**-23).all()
    assert (found.units < 2.0**-22).all()
