r"""The fiber of a function in virtual weights as an ideal, solved by Groebner bases over the rationals (Theorem 3.7).

The unknowns are the entries of the attention matrices and of the value matrix, the equations say that the functions
agree. Every non-zero matrix is a multiple of one whose first non-zero entry is 1: fixing the places of these entries
gives one ideal for each choice, and together they see every orbit of rescalings, over the complex numbers, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

import numpy as np

from lightning_sym import Layer, VirtualWeights, forward
from lightning_sym.exact.ideals import groebner_basis, linear_basis
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.polynomials import Polynomial, PolynomialRing, RationalCoefficient, entry_names
from lightning_sym.rings.rationals import rational_matrix
from proofs_check.claim import Refutation, spell

Places = tuple[tuple[int, ...], ...]


def normalized(weights: VirtualWeights) -> tuple[Places, VirtualWeights]:
    """Return the places of the first non-zero entries, and the rescaled weights (Eq. 13) that have 1 there."""
    attention: list[object] = []
    places: list[tuple[int, ...]] = []
    value = weights.value
    for i, matrix in enumerate(reversed(weights.attention)):
        place = next(index for index, entry in np.ndenumerate(matrix) if entry != 0)
        places.insert(0, place)
        attention.insert(0, matrix / matrix[place])
        value = value * matrix[place] ** 3**i
    return tuple(places), VirtualWeights(tuple(attention), value)


def fiber_ideals(given: VirtualWeights, tokens: int) -> Iterator[tuple[Places, Sequence[Polynomial]]]:
    """Yield for all places of the entries 1 these places and the Groebner basis."""
    d_out, d = np.shape(given.value)
    letters = [f"A{i}" for i in range(1, len(given.attention) + 1)]
    names = [name for letter in letters for name in entry_names(letter, d, d)] + entry_names("V", d_out, d)
    ring, weights = PolynomialRing(names + entry_names("x", d, tokens)), PolynomialRing(names)
    one = ring.constants(np.eye(d, dtype=int))

    def function(attention: Sequence[ObjectArray], value: ObjectArray) -> ObjectArray:
        values = [one] * (len(attention) - 1) + [value]
        return forward(ring.matrix("x", d, tokens), [Layer(a, one, v) for a, v in zip(attention, values, strict=True)])

    target = function([ring.constants(a) for a in given.attention], ring.constants(given.value))
    unknown = function([ring.matrix(letter, d, d) for letter in letters], ring.matrix("V", d_out, d))
    equations: dict[tuple[tuple[int, ...], ...], dict[tuple[int, ...], RationalCoefficient]] = {}
    for token, entry in np.ndenumerate(unknown - target):
        for exponents, c in entry.to_dict().items():
            equations.setdefault((token, exponents[len(names) :]), {})[exponents[: len(names)]] = c
    generators = linear_basis(weights, [weights.from_terms(terms) for terms in equations.values()])
    matrices = [*(weights.matrix(letter, d, d) for letter in letters), weights.matrix("V", d_out, d)]
    for places in product(np.ndindex(d, d), repeat=len(letters)):
        fixed = [
            matrix[index] - int(index == place)
            for matrix, place in zip(matrices, places, strict=False)
            for index in np.ndindex(d, d)
            if index <= place
        ]
        yield places, groebner_basis(weights, [*fixed, *generators])


def confirmed(given: VirtualWeights, tokens: int, solutions: Sequence[VirtualWeights]) -> None:
    """Refute unless the solutions, one for each orbit of rescalings, are the whole fiber over the complex numbers.

    Each ideal vanishes at the solutions with these places, and is the ideal of no more: as many monomials as there
    are solutions are not multiples of leading monomials of the basis.
    """
    expected: dict[Places, list[list[RationalCoefficient]]] = {}
    for places, weights in map(normalized, solutions):
        entries = np.concatenate([m.ravel() for m in (*weights.attention, weights.value)])
        expected.setdefault(places, []).append(list(rational_matrix(entries)))
    shown = ", ".join(map(spell, (*given.attention, given.value)))
    for places, basis in fiber_ideals(given, tokens):
        points = expected.pop(places, [])
        dimension = quotient_dimension(basis)
        if dimension != len(points) or any(e(*point) != 0 for e in basis for point in points):
            raise Refutation(
                f"{shown}, t = {tokens}, entries 1 at {places}: {len(points)} solutions stated, the ideal has"
                f" {'infinitely many' if dimension is None else dimension}, Groebner basis {basis}"
            )


def quotient_dimension(basis: Sequence[Polynomial]) -> int | None:
    """Return how many monomials are no multiples of leading ones: solutions with multiplicity; or `None`."""
    leading = [tuple(map(int, max(e.monoms(), key=_degrevlex))) for e in basis]
    count = len(leading[0])
    powers = [[e[i] for e in leading if sum(e) == e[i]] for i in range(count)]
    if not all(powers):
        return None
    below = product(*(range(min(p)) for p in powers))
    return sum(not any(all(x >= y for x, y in zip(e, lead, strict=True)) for lead in leading) for e in below)


def _degrevlex(exponents: Iterable[int]) -> tuple[int, ...]:
    numbers = [int(e) for e in exponents]
    return sum(numbers), *(-e for e in reversed(numbers))
