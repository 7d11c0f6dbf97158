"""JSON whose numbers are exact: what it may hold is counted before it is parsed, and no key repeats."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from typing import Any, NoReturn

from lightning_sym.errors import FileFormatError
from lightning_sym.lazy import lazy_imports
from lightning_sym.network.readers.bounds import MOST_MATRICES, shown

with lazy_imports(__name__):
    from lightning_sym.rings import arrays

LONGEST_NUMBER = 4000
"""Decimal digits of a numerator or denominator: below the limit of Python's own conversion."""

MOST_DIGITS = 2**26
"""Decimal digits of all numbers together, written out; `1e-4000` has 4001 of them in seven characters."""

MOST_ROWS = 1_000_000
"""Lists and objects."""

_DIGITS = rf"[0-9]{{1,{LONGEST_NUMBER}}}+"
_FRACTION = re.compile(rf"(-?{_DIGITS})/({_DIGITS})")
_DECIMAL = re.compile(rf"(-?)({_DIGITS})(?:\.({_DIGITS}))?(?:[eE]([+-]?[0-9]{{1,9}}+))?")


class ExactNumbers:
    """Converts the numbers of one text, and counts their digits."""

    def __init__(self) -> None:
        self.left = MOST_DIGITS

    def number(self, text: str) -> Fraction | int:
        """Return the rational that an integer, a fraction or a decimal stands for.

        Raises:
            FileFormatError: it stands for none, or for one that is too long.

        Example:
            >>> ExactNumbers().number("1.25"), ExactNumbers().number("-2/3"), ExactNumbers().number("1e-3")
            (Fraction(5, 4), Fraction(-2, 3), Fraction(1, 1000))
        """
        if decimal := _DECIMAL.fullmatch(text):
            sign, whole, after, exponent = decimal.groups()
            if after is None and exponent is None:
                self._count(len(text))
                return int(text)
            after = after or ""
            power = int(exponent or 0) - len(after)
            digits = len(whole) + len(after) + max(power, 0)
            if max(digits, 1 - power) > LONGEST_NUMBER:
                _no_number(text)
            self._count(digits + abs(power))
            top = int(sign + whole + after)
            return Fraction(top * 10**power) if power >= 0 else Fraction(top, 10**-power)
        if fraction := _FRACTION.fullmatch(text):
            self._count(len(text))
            top, low = map(int, fraction.groups())
            if low == 0:
                raise FileFormatError(f"a denominator must not be zero, got {shown(text)}")
            return Fraction(top, low)
        return _no_number(text)

    def _count(self, digits: int) -> None:
        self.left -= digits
        if self.left < 0:
            raise FileFormatError(f"all numbers together must have at most {MOST_DIGITS:,} digits")


def _no_number(text: str) -> NoReturn:
    rule = f'integers, decimals, or strings such as "-2/3", of at most {LONGEST_NUMBER} digits'
    raise FileFormatError(f"numbers in JSON must be {rule}, got {shown(text)}")


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise FileFormatError(f"JSON keys must not repeat, got {shown(key)} twice")
            seen.add(key)
    return result


def parse(content: bytes, numbers: ExactNumbers) -> Any:
    """Return the value of a JSON text in UTF-8, with or without a byte order mark; decimals become `Fraction`.

    Raises:
        FileFormatError: it is no JSON, a key repeats, or it holds too much.
    """
    # every value stands behind one of these marks, so this bounds what parsing can take
    for marks, most, what in (
        (b",", arrays.MOST_ENTRIES + MOST_MATRICES, "commas"), (b"[{", MOST_ROWS, "lists"),
        (b":", MOST_MATRICES, "names"),
    ):  # fmt: skip
        if sum(content.count(mark) for mark in marks) > most:
            raise FileFormatError(f"JSON must hold at most {most:,} {what}")
    try:
        return json.loads(
            content.decode("utf-8-sig"),
            object_pairs_hook=_unique,
            parse_float=numbers.number,
            parse_int=numbers.number,
            parse_constant=_no_number,
        )
    except FileFormatError:
        raise
    except RecursionError as error:
        raise FileFormatError("it must be JSON that is not nested so deeply") from error
    except ValueError as error:
        raise FileFormatError(f"it must be JSON: {error}") from error


said = shown
"""The name by which configurations call it."""

LARGEST_SIZE, MOST_LISTED = 10**9, 10**5
"""What a configuration may say, of layers and of rows that are turned, which are gone through one by one, less."""


def named_size(key: str, value: object, most: int = LARGEST_SIZE) -> int:
    """Return what a configuration says of a size, a positive integer.

    Raises:
        FileFormatError: it is none, or a larger one.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= most:
        raise FileFormatError(f"{key} must be an integer between 1 and {most:,}, got {said(value, integer=True)}")
    return value
