"""Certificates of coefficients whose numbers would grow: they are refused, or checked, in seconds."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest

from proofs_check.checker import verify
from proofs_check.checker.kinds.coefficient.newton import tight_at

Terms = list[list[Any]]


def certificate(degree: int, numerators: list[Terms]) -> dict[str, Any]:
    """Of a power of the first variable: all variables weigh as much from above, and it is its own element below."""
    n = len(numerators)
    one, first = [[1, [0] * n]], [1] + [0] * (n - 1)
    same = [[[1, [int(i == j) for j in range(n)]]] for i in range(n)]
    power = [degree * x for x in first]
    element = {"monomial": power, "combination": [one], "multiplier": f"1/{degree}"}
    return {
        "format": "lightning-sym/certificate", "version": 1, "kind": "coefficient",
        "of": {"polynomials": [[[1, power]]], "point": [0] * n},
        "lower": f"1/{2 * degree}", "upper": str(Fraction(n, 2 * degree)),
        "above": {"zero": None, "coordinates": {"numerators": numerators, "denominator": one, "seen": []},
                  "weights": [f"1/{degree}"] * n},
        "below": {"coordinates": {"numerators": same, "denominator": one, "seen": []}, "order": [1] * n,
                  "elements": [element]},
    }  # fmt: skip


def test_powers_of_long_numbers_are_refused() -> None:
    assert verify.check(certificate(3, [[["7", [1]]]])).startswith("lambda = 1/6")
    with pytest.raises(verify.Rejected, match="coefficients must have at most 262,144 bits"):
        verify.check(certificate(200, [[[str(10**3990 + 1), [1]]]]))


def test_sums_of_fractions_do_not_grow_without_end() -> None:
    """All products are one term, and denominators of its coefficient are multiplied."""
    n, source = 40, random.Random(1)
    document = certificate(1, [[[1, [int(i == j) for j in range(n)]]] for i in range(n)])
    units = [[int(i == j) for j in range(n)] for i in range(n)]
    long = [[f"1/{source.randrange(10**3989, 10**3990)}", unit] for unit in units]
    document["of"]["polynomials"] = [long]
    document["above"]["coordinates"]["numerators"] = [
        [[1, unit], *([[f"1/{source.randrange(10**3989, 10**3990)}", units[0]]] * (unit != units[0]))] for unit in units
    ]
    document["below"]["order"] = [1] + [2] * (n - 1)
    with pytest.raises(verify.Rejected, match="coefficients must have at most 262,144 bits"):
        verify.check(document)


def test_many_coordinates_with_long_numbers_are_seen_to_be_some() -> None:
    n, source = 80, random.Random(2)
    rows = [[[source.randrange(1, 10**19), [int(i == j) for i in range(n)]] for j in range(n)] for _ in range(n)]
    assert verify.check(certificate(1, rows)).startswith(f"1/2 <= lambda <= {n // 2}")
    rows[-1] = rows[0]
    with pytest.raises(verify.Rejected, match="coordinates must have an invertible differential"):
        verify.check(certificate(1, rows))


class Compared(int):
    """A weight that counts how often it is compared."""

    times = 0

    def __mul__(self, other: int) -> Compared:
        return Compared(int(self) * other)

    def __add__(self, other: int) -> Compared:
        return Compared(int(self) + int(other))

    __radd__ = __add__

    def __lt__(self, other: int) -> bool:
        Compared.times += 1
        return int(self) < int(other)


def test_the_smallest_weight_is_sought_once() -> None:
    """A polynomial may have a hundred thousand terms: not once for each."""
    verify.BUDGET.set(verify.Budget())
    exponents: list[tuple[int, ...]] = [(i, j) for i in range(20) for j in range(20) if i + j > 3]
    ray: list[int] = [Compared(1), Compared(1)]
    assert tight_at(ray, exponents) == {(i, 4 - i) for i in range(5)}
    assert 0 < Compared.times < len(exponents)
