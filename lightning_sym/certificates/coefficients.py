"""Certificates of learning coefficients: polynomials with weights and multipliers, or a model by its sizes."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from lightning_sym.certificates.document import Document, opening
from lightning_sym.certificates.files import number_document

Terms = Mapping[tuple[int, ...], Fraction]


def terms_document(polynomial: Terms) -> list[list[int | str | list[int]]]:
    """Return a polynomial as its terms, coefficient and exponents.

    Example:
        >>> terms_document({(1, 2): Fraction(-1, 2)})
        [['-1/2', [1, 2]]]
    """
    return [[number_document(c), list(exponents)] for exponents, c in sorted(polynomial.items())]


def coefficient_certificate(
    about: Document, lower: Fraction, upper: Fraction, above: object, below: object
) -> Document:
    """Return a certificate for a learning coefficient between two bounds.

    Args:
        about: `{"polynomials": ...}` with `"point"`, or `{"model": ...}` with its sizes.
        lower, upper: the bounds.
        above: what proves the upper one, by its kind.
        below: what proves the lower one.

    Example:
        >>> coefficient_certificate({"model": "one head"}, Fraction(1, 2), Fraction(1), [], [])["upper"]
        1
    """
    bounds = {"lower": number_document(lower), "upper": number_document(upper)}
    return opening("coefficient") | {"of": about} | bounds | {"above": above, "below": below}
