"""Sums and products of rational numbers, which say before they are made how much work they are."""

from collections.abc import Iterable
from fractions import Fraction

from proofs_check.checker.verify import BITS, need, spend


def bits(x: Fraction | int) -> int:
    """Return how long a number is."""
    return x.numerator.bit_length() + x.denominator.bit_length()


def paid(*numbers: Fraction | int) -> None:
    """Say what a sum or a product of these takes, so that neither many numbers nor long ones take forever."""
    long = sum(map(bits, numbers))
    need(long <= BITS, "the numbers must have fewer digits")
    spend(20 + long**2 // 2**17)


def total(numbers: Iterable[Fraction | int]) -> Fraction:
    """Return the sum."""
    found = Fraction(0)
    for x in numbers:
        paid(found, x)
        found += x
    return found
