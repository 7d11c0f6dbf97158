"""Pairs of binary quadratic forms on the board: the functions of one layer of width two with one output."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from lightning_sym.rings.arrays import ObjectArray
from proofs_check.blackboard.step import BOARD, array_of, six_coefficients

X, Y, R, S = BOARD.generators


def sylvester(six: Any, zero: Any = 0) -> ObjectArray:
    """The Sylvester matrix of two binary quadratic forms, given by their coefficients."""
    f, g = list(six[:3]), list(six[3:])
    rows = [[*f, zero], [zero, *f], [*g, zero], [zero, *g]]
    return array_of(rows)


def discriminant(form: Any) -> Fraction:
    """`b^2 - 4 a c` of a binary quadratic form: negative if it has no real line, zero if it is a double one."""
    a, b, c = six_coefficients([form])
    return b * b - 4 * a * c


def general_coefficients(a: ObjectArray, v: ObjectArray) -> ObjectArray:
    """Row `k`: the coefficients of the product of column `k` of `A` and `V`, as linear forms."""
    rows = [[a[0, k] * v[0, 0], a[0, k] * v[0, 1] + a[1, k] * v[0, 0], a[1, k] * v[0, 1]] for k in range(2)]
    return array_of(rows)
