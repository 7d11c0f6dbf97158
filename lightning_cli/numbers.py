"""Numbers on the command line: one line says what they must be, and what was typed."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

import click

from lightning_sym.arguments import shown
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    import fractions

if TYPE_CHECKING:
    from fractions import Fraction


def _spelled(limit: float) -> str:
    """Return a large power of two as such.

    Example:
        >>> _spelled(2**40), _spelled(10**6)
        ('2^40', '1,000,000')
    """
    power = int(limit).bit_length() - 1
    return f"2^{power}" if limit == 1 << power and power > 20 else f"{limit:,}"


class Integer(click.IntRange):
    """An integer in a range, in decimal digits.

    Args:
        least, most: the range; both belong to it.
    """

    name = "n"

    def __init__(self, least: int = 0, most: int = 2**63 - 1) -> None:
        super().__init__(least, most)
        self.least, self.most = least, most

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the integer.

        Raises:
            click.BadParameter: it is none, or not in the range.
        """
        text = str(value).strip()
        if not (text.isascii() and text.isdigit() and len(text) <= 19 and self.least <= int(text) <= self.most):
            most = "2^63 - 1" if self.most == 2**63 - 1 else f"{self.most:,}"
            self.fail(f"must be an integer from {self.least} to {most}, got {shown(value)}", param, ctx)
        return int(text)

    def _describe_range(self) -> str:
        return f"x>={self.min}" if self.most == 2**63 - 1 else super()._describe_range()


class Amount(click.FloatRange):
    """A positive number below a limit: a size or a time.

    Args:
        what: what is counted, such as "GiB".
        below: the limit.
        zero: whether 0 is allowed too.
        endless: whether `inf` is.
    """

    name = "number"

    def __init__(self, what: str, below: float = inf, *, zero: bool = False, endless: bool = False) -> None:
        super().__init__(min=0, min_open=not zero)
        self.what, self.below, self.zero, self.endless = what, below, zero, endless

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number.

        Raises:
            click.BadParameter: it is none, or none that is allowed.
        """
        text = str(value).strip()
        try:
            number = float(text) if text.isascii() and "_" not in text else -1.0
        except ValueError:
            number = -1.0
        if not (0 < number < self.below or (number == 0 and self.zero) or (number == inf and self.endless)):
            least = "0 or a positive number of" if self.zero else "a positive number of"
            high = ", or inf" if self.endless else "" if self.below == inf else f" below {_spelled(self.below)}"
            self.fail(f"must be {least} {self.what}{high}, got {shown(value)}", param, ctx)
        return number


class Gibibytes(Amount):
    """A size of memory in GiB, which the command gets in bytes."""

    def __init__(self) -> None:
        super().__init__("GiB", 2**40)

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number of bytes."""
        return int(super().convert(value, param, ctx) * 2**30)


class SizeList(click.ParamType[object]):
    """Positive integers with commas between them."""

    name = "n,n,..."
    form = "positive integers below 10^18 with commas between them"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        words = str(value).split(",")
        sizes = []
        for word in words:
            text = word.strip()
            if not (text.isascii() and text.isdigit() and len(text) <= 18 and int(text) > 0):
                self.fail(f"must be {self.form}, got {shown(text or value)}", param, ctx)  # of `1,,2` all of it
            sizes.append(int(text))
        return tuple(sizes)


class Size(SizeList):
    """One positive integer."""

    name = "n"
    form = "one positive integer below 10^18"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, int):
            return value
        sizes = super().convert(value, param, ctx)
        if len(sizes) != 1:
            self.fail(f"must be {self.form}, got {shown(value)}", param, ctx)
        return sizes[0]


class TokenIds(click.ParamType[tuple[int, ...]]):
    """Token ids, integers from 0."""

    name = "i,i,..."

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        words = [word.strip() for word in str(value).split(",")]
        if not all(word.isascii() and word.isdigit() and len(word) <= 9 for word in words):
            form = "token ids, integers of at least 0 with commas between them"
            self.fail(f"must be {form}, got {shown(value)}", param, ctx)
        return tuple(map(int, words))


class Rational(click.ParamType["Fraction"]):
    """A positive rational number."""

    name = "number"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Fraction:
        if isinstance(value, fractions.Fraction):
            return value
        text = str(value)
        try:
            plain = len(text) <= 100 and text.isascii() and not {*text.lower()} & {*"e_"}
            number = fractions.Fraction(text if plain else 0)
        except (ValueError, ZeroDivisionError):
            number = fractions.Fraction(0)
        if number <= 0:
            self.fail(f"must be a positive number, such as 4 or 5/2, got {shown(text)}", param, ctx)
        return number


class NamedCoordinates(click.ParamType[object]):
    """Coordinates by name with commas between them, `x=0,y=1/2`."""

    name = "x=0,y=0"

    def __init__(self, number: click.ParamType[object] = click.STRING, example: str = "x=0,y=1/2") -> None:
        self.number, self.example = number, example

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, object]:
        """Return the numbers by name, as texts if nothing else was said."""
        found: dict[str, object] = {}
        for part in str(value).split(","):
            name, sign, number = (word.strip() for word in part.partition("="))
            if not (sign and name.isidentifier() and number and name not in found):
                self.fail(f"must be coordinates such as {self.example}, each once, got {part.strip()!r}", param, ctx)
            found[name] = self.number.convert(number, param, ctx)
        return found
