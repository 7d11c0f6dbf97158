"""The steps of `explain`.

One token and two coordinates: the derivatives of a cubic form along traceless matrices.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lightning_sym import Layer, forward
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.polynomials import PolynomialRing
from lightning_sym.rings.rationals import as_fraction
from proofs_check.blackboard.step import Step, general_coefficients, must, rational, show, sylvester
from proofs_check.ring_matrices import array_of, determinant, letters_of, minors


def flattening_at(attention: ObjectArray, value: ObjectArray) -> ObjectArray:
    """Return the derivatives along three traceless matrices, by monomials of degree three, at `d = 2`."""
    ring = PolynomialRing(["x_1_1", "x_2_1"])
    x = ring.matrix("x", 2, 1)
    one = np.eye(2, dtype=int).astype(object)
    f = forward(x, [Layer(*map(ring.constants, (attention, one, value)))])[0, 0]
    fx, fy = f.derivative("x_1_1"), f.derivative("x_2_1")
    x1, x2 = x[:, 0]
    actions = [action.to_dict() for action in (x1 * fx - x2 * fy, x1 * fy, x2 * fx)]
    return array_of([[as_fraction(action.get((3 - i, i), 0)) for action in actions] for i in range(4)])


def walk() -> Iterator[Step]:
    """Yield the steps for equations of one layer, and for one family that needs three coordinates."""
    ring, (a, v) = letters_of({"a": (2, 2), "v": (1, 2)})
    products = general_coefficients(a, v)
    yield Step(
        "The coefficients",
        "One layer, $d = 2$, one output: two products with a common factor, as two rows of coefficients.",
        (show("y", products, ring),),
    )
    must(
        determinant(sylvester([*products[0], *products[1]], ring.constant(0))) == ring.constant(0),
        "the resultant is zero",
    )
    yield Step(
        "A resultant",
        "The two forms have the zero of $v$ in common, so the determinant of their Sylvester matrix vanishes, "
        "whatever the weights are: "
        "an equation of degree four. In more coordinates this holds on every line.",
        (show("R", 0),),
    )
    flattening = flattening_at(rational([[1, 0], [0, 1]]), rational([[1, 0]]))
    values = [m for m in minors(flattening, 3) if m]
    must(values, "a minor is not zero")
    yield Step(
        "One token, two coordinates",
        "For $A = 1$, $V = (1, 0)$ one token gives $f = (x^2 + y^2)\\, x$. The columns are its derivatives along "
        "the three traceless matrices "
        "$x \\partial_x - y \\partial_y$, $x \\partial_y$, $y \\partial_x$, in the monomials $x^3, x^2 y, x y^2, "
        "y^3$. "
        "They are independent: this family of equations does not vanish at $d = 2$.",
        (show("L", flattening), show("\\text{a minor}", values[0])),
    )
    yield Step(
        "From three coordinates on",
        "A quadratic form $q$ and a linear form $v$ of three coordinates are fixed by the rotations about one "
        "axis. So some combination of the columns is zero, "
        "and all maximal minors vanish: the family needs $d \\ge 3$.",
    )
