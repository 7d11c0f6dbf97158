"""Linear relations between coefficients: which are independent, and the others in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from lightning_sym.exact.rational import null_space
from lightning_sym.rings.rationals import as_fraction

Key = tuple[int, tuple[int, ...]]
"""A coefficient of the last output token of the smallest network: row of the output, exponents of the inputs."""


def relations_of(members: list[Key], coefficients: Mapping[Key, Any]) -> Iterator[tuple[Key, dict[Key, Fraction]]]:
    """Each coefficient in those before it that are independent; these are themselves."""
    first: dict[Any, Key] = {}
    distinct: list[Key] = []
    for key in members:
        twin = first.setdefault(str(coefficients[key]), key)
        if twin == key:
            distinct.append(key)
    tables = [{tuple(map(int, e)): c for e, c in coefficients[key].to_dict().items()} for key in distinct]
    monomials = sorted(set().union(*tables)) if len(distinct) > 1 else []
    solved: dict[Key, dict[Key, Fraction]] = {}
    dependent: dict[int, list[Fraction]] = {}
    if len(distinct) > 1:
        rows = [[as_fraction(table.get(m, 0)) for table in tables] for m in monomials]
        for vector in null_space(rows):  # of the reduced echelon form: the last entry that is not zero is free, and 1
            dependent[max(i for i, entry in enumerate(vector) if entry)] = vector
    for i, key in enumerate(distinct):
        if i in dependent:
            solved[key] = {distinct[j]: -c for j, c in enumerate(dependent[i]) if c and j != i}
        else:
            solved[key] = {key: Fraction(1)}
    for key in members:
        yield key, solved[first[str(coefficients[key])]]
