"""Sums and products of rational numbers, which say before they are made how much work they are."""

from collections.abc import Iterable
from fractions import Fraction

from proofs_check.checker.verify import BITS, need, spend

PRIME = 2**61 - 1


def bits(x: Fraction | int) -> int:
    """Return how long a number is."""
    return x.numerator.bit_length() + x.denominator.bit_length()


def paid(*numbers: Fraction | int) -> None:
    """Say what a sum or a product of these takes, so that neither many numbers nor long ones take forever."""
    long = sum(map(bits, numbers))
    need(long <= BITS, f"coefficients must have at most {BITS:,} bits")
    spend(20 + long**2 // 2**17)


def total(numbers: Iterable[Fraction | int]) -> Fraction:
    """Return the sum."""
    found = Fraction(0)
    for x in numbers:
        paid(found, x)
        found += x
    return found


def independent(rows: list[list[Fraction]]) -> bool:
    """Return whether a square matrix is seen to be invertible, modulo a prime, so that no numbers grow."""
    spend(3 * len(rows) ** 3)
    need(all(x.denominator % PRIME for row in rows for x in row), "denominators must not be divisible by 2^61 - 1")
    left = [[x.numerator * pow(x.denominator, -1, PRIME) % PRIME for x in row] for row in rows]
    while left:
        first, *left = left
        place = next((j for j, x in enumerate(first) if x), None)
        if place is None:
            return False
        inverse = pow(first[place], -1, PRIME)
        for row in left:
            if factor := row[place] * inverse % PRIME:
                row[:] = [(x - factor * y) % PRIME for x, y in zip(row, first, strict=True)]
    return True
