"""Linear relations between coefficients: which are independent, and the others in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from lightning_sym.arguments import shown
from lightning_sym.errors import BadInput
from lightning_sym.exact.rational import null_space
from lightning_sym.limits import Work, require_memory
from lightning_sym.network.prices import price_of_comparison, price_of_kernel
from lightning_sym.rings.arrays import exact_number
from lightning_sym.rings.polynomials import Polynomial, RationalCoefficient
from lightning_sym.rings.rationals import as_fraction

Key = tuple[int, tuple[int, ...]]
"""A coefficient of the last output token of the smallest network: row of the output, exponents of the inputs."""

Place = TypeVar("Place")


def relations_of(
    members: list[Place], coefficients: Mapping[Place, Polynomial], memory: int, work: Work
) -> Iterator[tuple[Place, dict[Place, Fraction]]]:
    """Yield each coefficient in those before it that are independent; these are themselves.

    Raises:
        TooLarge: the linear problem does not fit into `memory` bytes, or into `work`.
    """
    what = "linear relations between coefficients"
    if len(members) == 1:
        yield members[0], {members[0]: Fraction(1)}
        return
    terms, letters = sum(len(coefficients[key]) for key in members), coefficients[members[0]].context().nvars()
    require_memory(terms * (200 + 8 * letters), memory, what)
    work.spend(price_of_comparison(terms, letters).seconds, what)
    first: dict[tuple[tuple[tuple[int, ...], ...], tuple[RationalCoefficient, ...]], int] = {}
    distinct: list[Place] = []
    twins: list[int] = []
    for key in members:
        name = tuple(coefficients[key].monoms()), tuple(coefficients[key].coeffs())
        place = first.setdefault(name, len(distinct))
        twins.append(place)
        if place == len(distinct):
            distinct.append(key)
    solved: list[dict[Place, Fraction]] = [{key: Fraction(1)} for key in distinct]
    if len(distinct) > 1:
        entries: dict[tuple[int, ...], list[tuple[int, RationalCoefficient]]] = {}
        for place, (monomials, values) in enumerate(first):
            for monomial, value in zip(monomials, values, strict=True):
                entries.setdefault(monomial, []).append((place, value))
        rows = set(map(tuple, entries.values()))  # many monomials have the same coefficients
        count = len(distinct)
        require_memory(64 * len(rows) * count, memory, what)
        bits = max(int(value.p).bit_length() + int(value.q).bit_length() - 1 for row in rows for _, value in row)
        work.spend(price_of_kernel(len(rows), count, bits).seconds, what)
        matrix = np.full((len(rows), count), 0, dtype=object)
        for i, row in enumerate(rows):
            for place, value in row:
                matrix[i, place] = value
        for vector in null_space(matrix):
            # of the reduced echelon form: the last entry that is not zero is free, and 1
            last = max(i for i, entry in enumerate(vector) if entry)
            solved[last] = {distinct[j]: -c for j, c in enumerate(vector) if c and j != last}
    for key, place in zip(members, twins, strict=True):
        yield key, solved[place]


def given_coefficients(
    coefficients: Mapping[Any, object], outputs: tuple[int, int], inputs: int
) -> dict[tuple[int, int, tuple[int, ...]], Any]:
    """Return exact coefficients by row and token of the output, from 1, and by the exponents of all inputs.

    Raises:
        BadInput: one is no exact number, or its place is none.
    """
    given = {}
    for place, value in coefficients.items():
        match place:
            case (int(k), int(j), tuple(exponents)) if (
                1 <= k <= outputs[0] and 1 <= j <= outputs[1] and len(exponents) == inputs
            ):
                given[k, j, exponents] = exact_coefficient(value)
            case _:
                raise BadInput(f"a coefficient must be of an output and a monomial, from 1, got {shown(place)}")
    return given


def combined(
    combinations: Mapping[Place, Mapping[int, Fraction]], values: Sequence[Fraction]
) -> dict[Place, Fraction | int]:
    """Return the coefficients that are these combinations of coordinates."""
    return {key: sum(c * values[i] for i, c in parts.items()) for key, parts in combinations.items()}


def exact_coefficient(value: Any) -> Any:
    """Return an exact number, flint's among them; what is a polynomial over SymPy's rationals already stays."""
    if hasattr(value, "ring"):
        return value
    is_flint = hasattr(value, "p") and hasattr(value, "q") and not hasattr(value, "is_Rational")
    return as_fraction(value) if is_flint else exact_number(value, "a coefficient")
