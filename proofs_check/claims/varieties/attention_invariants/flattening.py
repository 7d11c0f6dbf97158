"""One token and two coordinates: the derivatives of a cubic form along traceless matrices."""

from __future__ import annotations

import numpy as np

from lightning_sym import Layer, forward
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.polynomials import PolynomialRing
from lightning_sym.rings.rationals import as_fraction
from proofs_check.ring_matrices import array_of


def flattening_at(attention: ObjectArray, value: ObjectArray) -> ObjectArray:
    """At `d = 2`: the derivatives along three traceless matrices, in the monomials of degree three."""
    ring = PolynomialRing(["x_1_1", "x_2_1"])
    x = ring.matrix("x", 2, 1)
    one = np.eye(2, dtype=int).astype(object)
    f = forward(x, [Layer(*map(ring.constants, (attention, one, value)))])[0, 0]
    fx, fy = f.derivative("x_1_1"), f.derivative("x_2_1")
    x1, x2 = x[:, 0]
    actions = [action.to_dict() for action in (x1 * fx - x2 * fy, x1 * fy, x2 * fx)]
    return array_of([[as_fraction(action.get((3 - i, i), 0)) for action in actions] for i in range(4)])
