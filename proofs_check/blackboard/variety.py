"""The variety M: its degree, its equations, and tangent spaces that they bound."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import factorial, prod

import numpy as np

from lightning_sym import Architecture, certified_dimension, equations, variety_degree
from lightning_sym.exact.hilbert_series import size_of_ideal
from lightning_sym.exact.rational import rank
from lightning_sym.fibers.transform import swap
from lightning_sym.rings.polynomials import PolynomialRing, entry_names
from proofs_check.blackboard.resultant import determinant, general_coefficients, sylvester
from proofs_check.blackboard.step import Step, array_of, must, rational, show, table
from proofs_check.claims.varieties import tangent_spaces
from proofs_check.claims.varieties.attention_invariants import flattening_at, minors
from proofs_check.claims.varieties.linear_sections import degree_bounds, shares_of


def degree() -> Iterator[Step]:
    """How many points of M lie in a linear space."""
    network = Architecture((2, 1), (2,), 2)
    ring = PolynomialRing([*entry_names("a", 2, 2), *entry_names("v", 1, 2)])
    products = general_coefficients(ring.matrix("a", 2, 2), ring.matrix("v", 1, 2))
    yield Step(
        "Functions are products",
        "Let $d = 2$, $d' = 1$, $a = 2$, $t \\ge 2$. Row $k$ has the coefficients of the product of column $k$ "
        "of $A$ with $V$: "
        "every entry is linear in $A$ and linear in $V$, and if neither is zero, some entry is not.",
        (show("\\varphi", products, ring),),
    )
    bounds = degree_bounds(network)
    must(bounds == (4, 4), "there are four points")
    ways = [[int(j in of_a) for j in range(4)] for of_a, _ in shares_of((0, 1, 2, 3), [3, 1])]
    yield Step(
        "A linear space through products",
        "Up to scale $A$ has 3 dimensions, $V$ has 1. Take four equations, each a linear form of $A$ times one "
        "of $V$: "
        "$A$ can satisfy three of them, and then $V$ satisfies the fourth. There are four ways (1: an equation "
        "for $A$), "
        "each has one solution, and all four functions are different. So the degree is at least 4, and no more "
        "points lie over them.",
        (table("\\text{shares}", rational(ways)), show("\\deg \\mathcal M", Fraction(bounds.lower))),
    )
    must(variety_degree(network).degree == bounds.lower, "the theorem gives the same")
    halved = Architecture((2, 1), (1,), 2)
    section = degree_bounds(halved)
    must(section == (3, 3) and variety_degree(halved).degree == 3, "there are three functions")
    yield Step(
        "Two points over one function",
        "With $a = 1$ the function is $q$ times the product of the linear forms $p$ and $v$, which can change "
        "places. Three equations for three "
        "factors of one dimension each are shared in $3! = 6$ ways, but only half as many functions are different.",
        (show("\\deg \\mathcal M", Fraction(section.lower)),),
    )
    deep = variety_degree(Architecture((2, 2, 1), (1, 1), 1))
    roots = [3, 3, 1, 1, 1]
    same = prod(factorial(roots.count(e)) for e in set(roots))
    count = Fraction(factorial(len(roots)) * prod(roots), same)
    must(deep.degree == count and deep.dimension == 6, "Hilbert's formula agrees")
    yield Step(
        "Two layers, one token",
        "A binary form of degree nine with roots of multiplicities 3, 3, 1, 1, 1: Hilbert counts $5!$ times the "
        "product of the multiplicities, "
        "over $2!\\, 3!$ for equal ones. The intersection number of the theorem, over the three choices of the "
        "value form, is the same.",
        (table("\\text{roots}", rational([roots])), show("\\deg \\mathcal M", count)),
    )


def attention_invariants() -> Iterator[Step]:
    """Equations of one layer, and one family that needs three coordinates."""
    ring = PolynomialRing([*entry_names("a", 2, 2), *entry_names("v", 1, 2)])
    products = general_coefficients(ring.matrix("a", 2, 2), ring.matrix("v", 1, 2))
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
        (show("R", Fraction(0)),),
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


def singular_scheme() -> Iterator[Step]:
    """Figure 1: how large the singular locus of the quartic is."""
    ring = PolynomialRing(["f_0", "f_1", "f_2", "g_0", "g_1", "g_2"])
    f, g = ring.generators[:3], ring.generators[3:]
    p01, p02, p12 = (f[i] * g[j] - f[j] * g[i] for i, j in ((0, 1), (0, 2), (1, 2)))
    quartic = p02**2 - p01 * p12
    must(size_of_ideal(ring, [quartic]) == (5, 4), "the quartic has dimension five")
    yield Step(
        "The quartic",
        "Two binary quadratic forms $f$, $g$ with a common factor: dimension 5, degree 4.",
        (show("f, g", array_of([f, g]), ring), show("R", quartic, ring)),
    )
    derivatives = [quartic.derivative(name) for name in ring.names]
    size = size_of_ideal(ring, derivatives)
    must(size == size_of_ideal(ring, [p01, p02, p12]) == (4, 3), "both have dimension four and degree three")
    yield Step(
        "Its singular points",
        "The six derivatives of $R$ vanish where $f$ and $g$ are proportional, and nowhere else: the $2 \\times "
        "2$ minors of two rows. "
        "By Groebner bases both ideals have the same dimension and degree.",
        (table("\\text{dimension, degree}", rational([list(size)])),),
    )
    yield Step(
        "Two sheets, and pinch points",
        "At $f = q$, $g = 0$ two sheets cross, one for each root of $q$. Where $q$ is a square they come "
        "together: near these points the "
        "derivatives of $R$ generate less than the minors do, so the singular scheme is not reduced there.",
    )


def tangent_spaces_at_points() -> Iterator[Step]:
    """Equations bound tangent spaces from above, curves from below."""
    network = tangent_spaces.NETWORK
    dimension = certified_dimension(network).value
    must(dimension == 13, "the dimension is 13")
    found = equations(network, 3)
    yield Step(
        "Equations to degree three",
        "One layer, $d = 3$, $d' = 2$, $a = 2$: the functions span 36 dimensions and form a set of dimension 13. "
        "So many equations there are of degree 2 and 3.",
        (table("\\text{equations}", rational([[len(found.terms[2]), len(found.terms[3])]])),),
    )
    rows, names = [], []
    for point in tangent_spaces.points(quick=True):
        sheets = [point.weights]
        if point.kind == "rk A = rk V = 1":
            sheets.append(swap(point.weights))
        lower = rank([row for weights in sheets for row in tangent_spaces.curves(weights)])
        upper = found.tangent_dimension_bound(point.weights)
        must(lower == upper, "the bounds meet")
        rows.append([lower, upper])
        names.append(point.kind.replace("rk", "\\operatorname{rk}"))
    yield Step(
        "Tangent spaces",
        "The tangent space lies in the kernel of the differentials of all equations, and contains the tangent "
        "vectors of curves. "
        "Left the bound by curves, right the one by equations.",
        (table("\\dim T", rational(rows), rows=names, columns=("\\text{curves}", "\\text{equations}")),),
    )
    must(np.all(np.array(rows)[2] == 14), "it is 14")
    yield Step(
        "What this says",
        "Where $A$ loses rank and $V$ does not, the tangent dimension is 14, one more than the dimension of the "
        "set: the point is singular, "
        "although only one weight, up to rescaling, has this function. The printed statement names rank one of "
        "both only.",
    )
