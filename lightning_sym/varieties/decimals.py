"""Decimal numbers as they are asked for and answered, exact on the way in and out."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

from lightning_sym.arguments import shown
from lightning_sym.display import spelled
from lightning_sym.errors import BadInput

_DECIMAL = re.compile(r"([+-]?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,6}))?")

LONGEST = 300_000
"""Characters of a number in an answer."""


def decimal(number: Fraction, places: int) -> str:
    """Return the number rounded to so many digits behind the point.

    Example:
        >>> decimal(Fraction(-2, 3), 4), decimal(Fraction(5), 0)
        ('-0.6667', '5')
    """
    scaled = round(abs(number) * 10**places)
    digits = spelled(scaled).rjust(places + 1, "0")
    sign = "-" if number < 0 and scaled else ""
    return f"{sign}{digits[: len(digits) - places]}.{digits[len(digits) - places :]}" if places else f"{sign}{digits}"


def exact_decimal(number: Fraction) -> str:
    """Return a rational number that is a finite decimal, with as many digits as it has.

    Raises:
        BadInput: it is none.

    Example:
        >>> exact_decimal(Fraction(-3, 8)), exact_decimal(Fraction(7))
        ('-0.375', '7')
    """
    places, rest = 0, number.denominator
    for prime in (2, 5):
        power = 0
        while rest % prime == 0:
            rest, power = rest // prime, power + 1
        places = max(places, power)
    if rest != 1:
        raise BadInput(f"the number must be a finite decimal, got {shown(spelled(number))}")
    return decimal(number, places)


def answered(value: object, digits: int) -> Fraction:
    """Return a number of an answer: a decimal with at least so many digits behind the point.

    Raises:
        BadInput: it is none, or has too few digits.

    Example:
        >>> answered("-1.250", 3), answered("12.5e-1", 2)
        (Fraction(-5, 4), Fraction(5, 4))
    """
    text = str(value) if isinstance(value, Decimal) else value
    if not isinstance(text, str) or len(text) > LONGEST or (match := _DECIMAL.fullmatch(text.strip())) is None:
        raise BadInput(f"an answer must hold decimal numbers such as -0.250, got {shown(value)}")
    sign, whole, after, exponent = match.groups()
    after, power = after or "", int(exponent or 0)
    if abs(power) > LONGEST:
        raise BadInput(f"an answer must hold decimal numbers of at most {LONGEST:,} digits, got {shown(value)}")
    if len(after) - power < digits:
        raise BadInput(
            f"an answer must have {digits} digits behind the point, got {len(after) - power} in {shown(value)}"
        )
    number = Fraction(_integer(whole + after)) * Fraction(10) ** (power - len(after))
    return -number if sign == "-" else number


def _integer(digits: str) -> int:
    """Return an integer of any length; Python's own `int` refuses beyond 4,300 digits."""
    if len(digits) <= 4000:
        return int(digits)
    half = len(digits) // 2
    return _integer(digits[:-half]) * int(10**half) + _integer(digits[-half:])


def least_power_of_ten(number: Fraction) -> int:
    """Return the least `e` such that a positive number is at most $10^e$.

    Example:
        >>> least_power_of_ten(Fraction(1, 10)), least_power_of_ten(Fraction(11)), least_power_of_ten(Fraction(1))
        (-1, 2, 0)
    """
    # 30103 / 100000 is the logarithm of 2, nearly: a start below, corrected exactly
    bits = number.numerator.bit_length() - number.denominator.bit_length() - 1
    e = bits * 30103 // 100000 - 2
    while number > Fraction(10) ** e:
        e += 1
    return e
