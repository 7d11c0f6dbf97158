"""What a file of weights may hold, whatever its format; what is larger is refused before it is expanded."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from lightning_sym.arguments import shown as one_line
from lightning_sym.errors import FileFormatError, TooLarge
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from lightning_sym.rings import arrays

LARGEST_FILE = 2**26
"""Bytes of a file of text, and of what is compressed in an archive: more than the allowed entries need."""

LARGEST_ARRAYS = 2**30
"""Bytes of a binary file, and of what is in an archive."""

MOST_MATRICES = 100_000
"""Matrices, or names of any kind, in a file."""

LONGEST_FORM = 2**16
"""Characters of the form of a network where it is a string inside a binary file."""

_PLACE = r"[1-9][0-9]{0,5}(?:\.[1-9][0-9]{0,5})?"

_NAME = re.compile(rf"[A-Z](?:{_PLACE})?|[a-zA-Z]{{1,4}}{_PLACE}")


class Contents(NamedTuple):
    """What a reader gives: raw matrices by name, and the form of the network as a plain JSON value or `None`."""

    matrices: dict[str, Any]
    form: object


def read_whole(path: Path, largest: int | None = None) -> bytes:
    """Return the bytes of a regular file that is not too large: `LARGEST_FILE` unless said.

    It is read, not mapped into memory: a file that somebody shortens meanwhile would end the process.

    Raises:
        FileFormatError: it is missing, unreadable, too large or no regular file.
    """
    largest = LARGEST_FILE if largest is None else largest
    try:
        about = path.stat()
        regular = stat.S_ISREG(about.st_mode)  # a pipe would keep us waiting
        content = b""
        if regular and about.st_size <= largest:
            with path.open("rb") as stream:
                content = stream.read(about.st_size + 1)  # so many bytes are set aside before they are read
    except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
        reason = error.strerror if isinstance(error, OSError) else None
        raise FileFormatError(f"it must be a readable file: {reason or error}") from error
    if not regular:
        raise FileFormatError("it must be a readable regular file")
    if max(len(content), about.st_size) > largest:
        raise FileFormatError(f"it must have at most {largest:,} bytes")
    return content


def require_names(names: Iterable[str]) -> None:
    """Refuse what is no name of a matrix, by name.

    Raises:
        FileFormatError: with the first such name.
    """
    for name in names:
        if not _NAME.fullmatch(name):
            raise FileFormatError(f"matrices must be named Q1, K1, V1, Q2, ..., got {shown(name)}")


def require_form(value: object) -> object:
    """Return the form that a file states: `null` states none, and would mean what a file without a form means.

    Raises:
        FileFormatError: it is null.
    """
    if value is None:
        raise FileFormatError("the form must be an object with normalization, mask and skip, got null")
    return value


class Allowance:
    """Counts entries of all matrices together, each before it is expanded."""

    def __init__(self) -> None:
        self.left = arrays.MOST_ENTRIES

    def take(self, entries: int) -> None:
        """Count the entries of one more matrix.

        Raises:
            TooLarge: all together are too many.
        """
        self.left -= entries
        if self.left < 0:
            raise TooLarge(f"all matrices together must have at most {arrays.MOST_ENTRIES:,} entries")


def shown(value: object, *, integer: bool = False) -> str:
    """Return a value from a file as it stands in a message, in the words of JSON: one short line.

    Args:
        value: the value.
        integer: one must stand here, so of 64.0 the point is what is wrong.

    Example:
        >>> shown(None), shown([[1]]), shown(Fraction(1, 3)), shown(Fraction(64), integer=True)
        ('null', 'a list', '1/3', '64.0')
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, list | dict) and value:
        return "a list" if isinstance(value, list) else "an object"
    if not isinstance(value, Fraction):
        return one_line(value)
    text = f"{value}.0" if integer and value.denominator == 1 else str(value)
    return text if len(text) <= 60 else f"{text[:52]}..."
