"""How many squares of each sign a quadratic form over the rationals has."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from lightning_sym.rings.rationals import RationalMatrix

RATE = 5e-11
"""Seconds for a bit of an entry, by the fourth power of the size; measured, and rough."""


class Inertia(NamedTuple):
    """Positive and negative squares of a form over the reals; the rank is their sum."""

    positive: int
    negative: int


def inertia(form: RationalMatrix) -> Inertia:
    """Return how many positive and negative squares a symmetric matrix has.

    All roots of its characteristic polynomial are real, so Descartes' rule counts them.

    Args:
        form: symmetric, with rational entries.

    Example:
        >>> inertia(RationalMatrix.of([[0, 1], [1, 0]])), inertia(RationalMatrix.of([[2, 0], [0, 0]]))
        (Inertia(positive=1, negative=1), Inertia(positive=1, negative=0))
    """
    if not form.shape[0]:
        return Inertia(0, 0)
    # the common denominator is positive, so the integers above it have the same signs
    signs = [int(c > 0) - int(c < 0) for c in form.flint.numer_denom()[0].charpoly().coeffs()]
    turned = [-s if i % 2 else s for i, s in enumerate(signs)]
    return Inertia(_changes(signs), _changes(turned))


def inertia_cost(size: int, bits: int) -> float:
    """Return seconds for a form of this size with entries of so many bits.

    Example:
        >>> inertia_cost(64, 64) < 0.1
        True
    """
    return RATE * float(size) ** 4 * (bits + 8)


def _changes(signs: list[int]) -> int:
    told = [s for s in signs if s]
    return sum(a != b for a, b in pairwise(told))
