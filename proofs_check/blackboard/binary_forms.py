"""Pairs of binary quadratic forms on the board: the functions of one layer of width two with one output."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from lightning_sym.exact.rational import rank
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.rationals import as_fraction
from proofs_check.blackboard.step import BOARD, entry_labels, jacobian, layer_of, must, rational
from proofs_check.ring_matrices import array_of

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


def quadratic_forms(phi: ObjectArray) -> ObjectArray:
    """What token two contributes to output token one: the coefficient of each coordinate of token one.

    For one layer and two tokens of width two; `d' x 2` quadratic forms in (r, s). The coefficient of coordinate `k` in
    output `m` is the product of two linear forms, column `k` of `A` and row `m` of `V` (Proposition A.5).
    """
    result = np.empty((phi.shape[0], 2), dtype=object)
    for m, k in np.ndindex(*result.shape):
        chosen = {}
        for exponents, c in phi[m, 0].to_dict().items():
            e = tuple(map(int, exponents))
            if e[:2] == (int(k == 0), int(k == 1)):
                chosen[(0, 0, *e[2:])] = c
        result[m, k] = BOARD.from_terms(chosen)
    return result


def six_coefficients(form_pair: Sequence[Any]) -> list[Fraction]:
    """The coefficients of r^2, r s, s^2 in each form of a pair."""
    known = [{tuple(map(int, e))[2:]: c for e, c in form.to_dict().items()} for form in form_pair]
    return [as_fraction(terms.get(monomial, 0)) for terms in known for monomial in ((2, 0), (1, 1), (0, 2))]


SIX = ("x r^2", "x r s", "x s^2", "y r^2", "y r s", "y s^2")


def one_layer_jacobian(attention: ObjectArray, value: ObjectArray) -> ObjectArray:
    r"""Jacobian of $(A, V) \mapsto$ the six coefficients that decide a layer with `d = 2, d' = 1`: 6 x 6.

    All other coefficients of both outputs are copies or sums of these, so the rank is the same; that is checked.
    """
    everything, names = jacobian([layer_of(attention, value)], [(0, "query"), (0, "value")])
    wanted = [(0, 0, (*first, *second)) for first in ((1, 0), (0, 1)) for second in ((2, 0), (1, 1), (0, 2))]
    six = rational(np.zeros((len(everything), 6), dtype=int).tolist())
    for column, name in enumerate(wanted):
        if name in names:
            six[:, column] = everything[:, names.index(name)]
    must(rank(six) == rank(everything), "the six coefficients decide the rank")
    return six


WEIGHT_ROWS = [*entry_labels("a", 2, 2), "v_1", "v_2"]
