r"""The fiber of two layers at one token: symmetric parts, and ways to write a product (outside Theorem 3.7).

For $t = 1$, $d' = 1$ the function is $\tilde V x \cdot q_1(x)^3\, q_2(x)$ with $q_i(x) = x^\top \tilde A_i x$. So the
skew parts are free, and the rest of the fiber over the rationals are the ways to write this polynomial as a linear form
times the cube of a quadratic form times a quadratic form: they are found by factoring it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lightning_sym import PolynomialMap, VirtualWeights, polynomial_map
from lightning_sym.fibers.recovery import network_of
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.polynomials import Polynomial
from lightning_sym.rings.rationals import as_fraction
from proofs_check.claim import expect, expect_equal
from proofs_check.ring_matrices import array_of
from proofs_check.samples import listed


class OneTokenProduct(NamedTuple):
    """Virtual weights at one token, in words, and the number of orbits of rescalings of their symmetric parts."""

    name: str
    weights: VirtualWeights
    orbits: int


def two_layers(first: npt.ArrayLike, second: npt.ArrayLike, value: npt.ArrayLike) -> VirtualWeights:
    """Return the virtual weights of two layers, from rows."""
    return VirtualWeights((np.array(first), np.array(second)), np.array(value))


IRREDUCIBLE, OTHER, THREE = [[1, 2], [3, 1]], [[1, 1], [0, 2]], [[1, 2, 0], [3, 1, 1], [0, 1, 1]]
VALUE, ROW_A, ROW_B = [1, 3], [1, 1], [1, -2]
PRODUCTS = listed(
    [
        OneTokenProduct("d_0 = 2, q_1, q_2 irreducible over Q", two_layers(IRREDUCIBLE, OTHER, [VALUE]), 1),
        OneTokenProduct("d_0 = 3, q_1, q_2 irreducible over C", two_layers(THREE, np.diag([1, 2, 5]), [[1, 3, 2]]), 1),
        OneTokenProduct("d_0 = 2, q_2 a product", two_layers(IRREDUCIBLE, np.outer(ROW_A, ROW_B), [VALUE]), 3),
        OneTokenProduct(
            "d_0 = 2, q_2 a product with the factor V~ x", two_layers(IRREDUCIBLE, np.outer(VALUE, ROW_B), [VALUE]), 2
        ),
        OneTokenProduct(
            "d_0 = 2, q_1 = a^2, q_2 = b^2, V~ x = b",
            two_layers(np.outer(ROW_A, ROW_A), np.outer(ROW_B, ROW_B), [ROW_B]),
            2,
        ),
    ]
)  # forms that are irreducible, reducible, or share factors


def orbits(case: OneTokenProduct, *, cube_forgotten: bool = False, always_one: bool = False) -> str:
    """Return every way to write the function, each confirmed by its own function, with skew parts added."""
    network = network_of(case.weights)
    shape = network.architecture(1)
    phi = polynomial_map(shape, network)
    (entry,) = phi.entries.ravel()
    _, factors = entry.factor()
    found = 0
    for quadratic in _divisors(factors, degree=2, power=1 if cube_forgotten else 3):
        q1 = _power_product(phi, factors, quadratic)
        rest, remainder = divmod(entry, q1**3)
        expect(remainder == 0, f"{case.name}: {q1} is a factor, its cube is not one")
        for linear in _divisors(rest.factor()[1], degree=1, power=1):
            v = _power_product(phi, rest.factor()[1], linear)
            weights = VirtualWeights(
                (_matrix(q1, 1), _matrix(rest // v, 2)),
                np.array([[_coefficient(v, i) for i in range(shape.widths[0])]]),
            )
            other = network_of(weights)
            same = polynomial_map(other.architecture(1), other).entries[0, 0] == entry
            expect_equal(same, True, at=f"{case.name}: V~ x = {v}, q_1 = {q1} give the function")
            found += 1
    expect_equal(found, 1 if always_one else case.orbits, at=f"{case.name}: orbits of symmetric parts")
    return (
        f"t = 1, {case.name}: the fiber over Q is {found} orbit{'s' * (found > 1)} of rescalings, with any skew parts"
    )


def _divisors(factors: Sequence[tuple[Polynomial, int]], degree: int, power: int) -> list[tuple[int, ...]]:
    """Return numbers of factors whose product has this degree and divides, to this power, the product of all."""
    return [
        chosen
        for size in range(1, degree + 1)
        for chosen in combinations_with_replacement(range(len(factors)), size)
        if sum(factors[i][0].total_degree() for i in chosen) == degree
        and all(power * chosen.count(i) <= factors[i][1] for i in chosen)
    ]


def _power_product(
    phi: PolynomialMap, factors: Sequence[tuple[Polynomial, int]], chosen: tuple[int, ...]
) -> Polynomial:
    return prod((factors[i][0] for i in chosen), start=phi.ring.constant(1))


def _coefficient(form: Polynomial, *places: int) -> Fraction:
    count = len(form.context().gens())
    number = form.to_dict().get(tuple(places.count(i) for i in range(count)), 0)
    return as_fraction(number)


def _matrix(form: Polynomial, seed: int) -> ObjectArray:
    """Return a matrix of the quadratic form, with a skew part of its own."""
    d = len(form.context().gens())

    def entry(i: int, j: int) -> Fraction:
        return _coefficient(form, i, j) / (1 if i == j else 2) + (seed + i + j) * (int(i < j) - int(i > j))

    return array_of([[entry(i, j) for j in range(d)] for i in range(d)])
