"""Exact numbers and weights as certificates write them."""

from __future__ import annotations

from collections.abc import Iterable

from lightning_sym.certificates.document import Document
from lightning_sym.certificates.limits import MOST_LAYERS
from lightning_sym.errors import BadInput
from lightning_sym.network.weight_files import LONGEST_NUMBER
from lightning_sym.network.weights import Weights
from lightning_sym.rings.rationals import RationalNumber


def number_document(number: RationalNumber) -> int | str:
    """Return an exact number: an integer of at most twenty digits as it is, any other as numerator and denominator.

    Raises:
        BadInput: it has too many digits.
    """
    top, low = int(number.numerator), int(number.denominator)
    if max(abs(top), low) >= 10**LONGEST_NUMBER:
        raise BadInput(f"numbers in a certificate must have at most {LONGEST_NUMBER} digits, above and below the line")
    return top if low == 1 and abs(top) < 10**20 else f"{top}/{low}"


def rational_document(matrix: Iterable[Iterable[RationalNumber]]) -> list[list[int | str]]:
    """Return a matrix of exact numbers by its rows."""
    return [[number_document(x) for x in row] for row in matrix]


def weights_document(weights: Weights) -> Document:
    """Return weights by name, entries exact.

    Raises:
        BadInput: a number is too long, or there are more layers than checkers read.
    """
    if (depth := weights.architecture(1).depth) > MOST_LAYERS:
        raise BadInput(f"a certificate must be of at most {MOST_LAYERS} layers, got {depth}")
    return {name: rational_document(matrix) for name, matrix in weights.numbers().items()}
