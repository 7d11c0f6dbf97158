"""The entries of a polynomial map from its coefficients: all of them in a list, or those that are not zero by place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from math import comb
from typing import Any

import numpy as np

from lightning_sym.arguments import shown
from lightning_sym.errors import BadInput, ShapeError
from lightning_sym.network.ambient import ambient_dimension
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.given_map import letters
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.polynomials import PolynomialRing, RationalCoefficient, entry_names

WHAT = "the weights of a polynomial map"


def input_ring(architecture: Architecture, inputs: Sequence[object] | None = None) -> PolynomialRing:
    """Return the ring of the inputs `x_k_j`, or of the letters that somebody has in their places.

    Raises:
        BadInput: these are not as many different letters.

    Example:
        >>> input_ring(Architecture((2, 1), (1,), 1), ["a", "b"]).names
        ('a', 'b')
    """
    architecture.require_plain(WHAT)
    usual = entry_names("x", architecture.widths[0], architecture.tokens)
    if inputs is None:
        return PolynomialRing(usual)
    names = [letter.name for letter in letters(inputs, "inputs")]
    if len(names) != len(usual) or len(set(names)) < len(names):
        some = ", ".join(usual[:2])
        raise ShapeError(
            f"inputs must be {len(usual)} different letters, in the order of {some}, ..., got {shown(names)}"
        )
    return PolynomialRing(names)


def as_vector(given: Sequence[object], architecture: Architecture) -> list[object] | None:
    """Return the coefficients, in a list or one column; `None` if these are no numbers, or as many as outputs.

    Example:
        >>> as_vector([[1], [0], [0], [2]], Architecture((2, 1), (1,), 1))
        [1, 0, 0, 2]
    """
    architecture.require_plain(WHAT)
    flat = [each[0] if isinstance(each, (list, tuple)) and len(each) == 1 else each for each in given]
    if not all(isinstance(each, (int, float, Fraction)) or getattr(each, "is_number", False) for each in flat):
        return None
    outputs = architecture.widths[-1] * architecture.tokens
    return flat if len(flat) == ambient_dimension(architecture) or len(flat) != outputs else None


def _rational(value: Any, what: str) -> int | Fraction:
    if isinstance(value, (int, Fraction)) and not isinstance(value, bool):
        return value
    if not getattr(value, "is_Rational", False):
        raise BadInput(f"{what} must be an integer or a fraction, got {str(value)[:40]!r}")
    return Fraction(int(value.p), int(value.q))


def entries_from_vector(numbers: Sequence[object], ring: PolynomialRing, architecture: Architecture) -> ObjectArray:
    """Return the entries, `d_l x t`, from all coefficients in the order of `coefficient_vector()`.

    That is a method of `PolynomialMap`.

    Raises:
        BadInput: there are too many or too few, or one is no rational number.
    """
    architecture.require_plain(WHAT)
    n, rows, t = architecture.widths[0] * architecture.tokens, architecture.widths[-1], architecture.tokens
    size = ambient_dimension(architecture)
    if len(numbers) != size:
        raise ShapeError(f"coefficients must be {size:,} in number, the ambient dimension, got {len(numbers):,}")
    each = comb(n + architecture.degree - 1, architecture.degree)
    entries = np.empty((rows, t), dtype=object)
    for number, (k, j) in enumerate(np.ndindex(rows, t)):
        part = numbers[number * each : (number + 1) * each]
        terms: dict[tuple[int, ...], RationalCoefficient] = {}
        for choice, value in zip(combinations_with_replacement(range(n), architecture.degree), part, strict=True):
            if value := _rational(value, "a coefficient"):
                terms[tuple(choice.count(i) for i in range(n))] = ring.constant(value).leading_coefficient()
        entries[k, j] = ring.from_terms(terms)
    return entries


def entries_from_terms(given: Mapping[Any, object], ring: PolynomialRing, architecture: Architecture) -> ObjectArray:
    """Return the entries, `d_l x t`, from coefficients by output, token and exponents.

    These are given as by `PolynomialMap.coefficients()`.

    Raises:
        BadInput: a place is none, or a coefficient is no rational number.
    """
    architecture.require_plain(WHAT)
    rows, t, n = architecture.widths[-1], architecture.tokens, architecture.widths[0] * architecture.tokens
    terms: dict[tuple[int, ...], dict[tuple[int, ...], RationalCoefficient]] = {
        (k + 1, j + 1): {} for k, j in np.ndindex(rows, t)
    }
    for key, value in given.items():
        good = isinstance(key, tuple) and len(key) == 3 and key[:2] in terms and isinstance(key[2], tuple)
        if not good or len(key[2]) != n or any(type(e) is not int or not 0 <= e <= architecture.degree for e in key[2]):
            raise BadInput(
                f"a coefficient must stand at (output, token, exponents of the {n:,} inputs), both from 1, "
                f"as PolynomialMap.coefficients() gives it, got {str(key)[:40]!r}"
            )
        if number := _rational(value, "a coefficient"):
            terms[key[:2]][key[2]] = ring.constant(number).leading_coefficient()
    entries = np.empty((rows, t), dtype=object)
    for (k, j), found in terms.items():
        entries[k - 1, j - 1] = ring.from_terms(found)
    return entries
