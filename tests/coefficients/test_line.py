"""Coefficients along a line: exact drops, also at numbers that are not rational, against the coefficient itself."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from random_networks import Rows

from lightning_sym import SOFTMAX, NetworkForm, Weights, coefficients_between, coefficients_of, learning_coefficient
from lightning_sym.errors import BadInput, ShapeError, TooLarge
from lightning_sym.exact.polynomial_matrices import AtRoot, PolynomialMatrix
from lightning_sym.rings.rationals import RationalMatrix

W: dict[str, Rows] = {"Q1": [[1, 0], [0, 1]], "K1": [[1, 2], [3, 4]], "V1": [[1, 2], [0, 1]]}


def test_drops_at_rational_numbers() -> None:
    line = coefficients_between(Weights.of(W), Weights.of(W | {"V1": [[-3, -6], [0, -3]]}), steps=1)
    assert [(point.place, point.coefficient.value) for point in line.drops] == [("s = 1/4", Fraction(2))]
    assert (line.generic.value, line.certified) == (Fraction(7, 2), True)  # type: ignore[union-attr]


def test_drops_at_ends_are_found() -> None:
    line = coefficients_between(Weights.of(W), Weights.of(W | {"V1": [[0, 0], [0, 0]]}), steps=2)
    assert [point.place for point in line.drops] == ["s = 1"]
    line = coefficients_between(Weights.of(W | {"V1": [[0, 0], [0, 0]]}), Weights.of(W), steps=2)
    assert [point.place for point in line.drops] == ["s = 0"]


def test_drops_at_numbers_that_are_not_rational() -> None:
    """K^T Q has the determinant 2 s^2 - 1 up to a square, and both factors lose their rank where it is zero."""
    first: Rows = [[0, 1], [1, 0]]
    second: Rows = [[2, 1], [1, 1]]
    both = W | {"Q1": first, "K1": first}, W | {"Q1": second, "K1": second}
    line = coefficients_between(Weights.of(both[0]), Weights.of(both[1]), steps=1)
    determinant = [-1, 0, 2]  # of [[2 s, 1], [1, s]]
    assert np.polyval(determinant[::-1], 0.5**0.5) == pytest.approx(0)
    ((place, found),) = [(point.place, point.coefficient) for point in line.drops]
    assert place.endswith("s**2 - 1/2 = 0")
    assert " < s < " in place
    assert (found.value, found.multiplicity, found.ranks["rk K^T Q"]) == (Fraction(7, 2), 2, 1)


def test_at_every_number_it_is_the_coefficient_there() -> None:
    source = random.Random(3)
    for _ in range(12):
        d, a = source.choice([1, 2, 3]), source.choice([1, 2])
        ends = []
        for _ in range(2):
            matrices = {
                name: [[source.randint(-1, 1) for _ in range(d)] for _ in range(rows)]
                for name, rows in (("Q1", a), ("K1", a), ("V1", 2))
            }
            ends.append(matrices)
        line = coefficients_between(Weights.of(ends[0]), Weights.of(ends[1]), steps=6)
        known = {point.place: point.coefficient for point in line.drops}
        for point in line.points:
            expected = known.get(point.place, line.generic)
            assert (point.coefficient.value, point.coefficient.multiplicity) == (expected.value, expected.multiplicity)  # type: ignore[union-attr]


def test_other_networks_are_asked_at_steps_alone() -> None:
    soft = Weights.of(W, NetworkForm(SOFTMAX))
    line = coefficients_between(soft, soft, steps=2)
    assert (line.generic, line.drops, len(line.points)) == (None, (), 3)
    assert coefficients_of({"a": soft}).points[0].coefficient == learning_coefficient(soft)


def test_ranks_at_roots_and_in_general() -> None:
    source = random.Random(1)
    for _ in range(20):
        rows, columns = source.randint(1, 4), source.randint(1, 4)
        ends = [RationalMatrix.of([[source.randint(-2, 2) for _ in range(columns)] for _ in range(rows)]) for _ in "ab"]
        line = PolynomialMatrix.line(*ends)
        rank = line.generic_rank()
        assert rank == max(line.at(Fraction(n, 7)).rank() for n in range(-30, 31))
        found = {root.rational for root in line.drops(rank)} if rank else set()
        for n in range(13):
            s = Fraction(n, 12)
            assert line.at(s).rank() == rank or s in found
        for root in line.drops(rank) if rank else ():
            if root.rational is not None:
                assert AtRoot(line, root).rank() == line.at(root.rational).rank()


def test_what_is_refused() -> None:
    weights = Weights.of(W)
    with pytest.raises(ShapeError, match="both ends of a line must be weights of one network"):
        coefficients_between(weights, weights.with_form(NetworkForm(skip=True)))
    with pytest.raises(BadInput, match="the number of steps"):
        coefficients_between(weights, weights, steps=0)
    with pytest.raises(TooLarge):
        coefficients_between(weights, weights, steps=10, work=1e-7)
