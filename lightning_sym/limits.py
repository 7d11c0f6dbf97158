"""What bounds work before it is begun, and how long work is told about: memory, exact arithmetic, and progress."""

from __future__ import annotations

import sys
from collections.abc import Callable
from numbers import Real

from lightning_sym.arguments import shown
from lightning_sym.errors import BadInput, TooLarge

Progress = Callable[[str, int, int], None]
"""Called as `progress(stage, done, total)`."""


def unheard(stage: str, done: int, total: int) -> None:
    """Do nothing with the progress of work that nobody follows."""


def of_stage(progress: Progress, stage: str, total: int) -> Callable[[int], None]:
    """Return the progress of one stage, called with what is done of its `total`."""
    return lambda done: progress(stage, done, total)


DEFAULT_MEMORY = 4 * 2**30


def require_integer(value: object, what: str, least: int = 0, most: int = 2**63 - 1) -> None:
    """Refuse what is no integer in a range: a float that looks like one, a truth value, a number too large for NumPy.

    Raises:
        BadInput: it is none.

    Example:
        >>> require_integer(1.5, "the seed")
        Traceback (most recent call last):
        lightning_sym.errors.BadInput: the seed must be an integer of at least 0, got 1.5
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        given = shown(value) if not isinstance(value, int) or value.bit_length() < 200 else "a longer one"
        high = f" and at most {most}" if isinstance(value, int) and value > most else ""
        raise BadInput(f"{what} must be an integer of at least {least}{high}, got {given}")


def require_memory(needed: int, allowed: int, what: str) -> None:
    """Refuse, with the estimate, what would not fit.

    Raises:
        BadInput: `allowed` is no number.
        TooLarge: `needed` bytes exceed `allowed`, or what the system lets this process take.
    """
    if isinstance(allowed, bool) or not isinstance(allowed, Real):
        raise BadInput(f"memory must be a number of bytes, got {shown(allowed)}")
    allowed = 0 if allowed < 0 else min(allowed, _address_space())
    if not needed <= allowed:  # also where a limit is not a number
        raise TooLarge(f"{what} must fit into {_size(float(allowed))}, estimated need {_size(needed)}")


def _address_space() -> int:
    """Return bytes that this process may take at all: beyond them libraries in C end it without a word."""
    if sys.platform == "win32":
        return sys.maxsize
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


def _size(size: float) -> str:
    """Return a size in words: bytes, or, for a MiB or more, GiB.

    Example:
        >>> _size(1), _size(4 * 2**30), _size(2**5000)
        ('1 byte', '4 GiB', 'over 10^999 GiB')
    """
    if not size >= 2**20:
        return f"{size:,.0f} byte{'s' * (size != 1)}"
    if not isinstance(size, int):
        return f"{size / 2**30:,.3g} GiB"
    digits = len(str(size >> 30)) if size < 1 << 4096 else 1000
    return f"{size / 2**30:,.3g} GiB" if digits < 6 else f"over 10^{digits - 1} GiB"


DEFAULT_WORK = 60.0
"""Seconds of exact arithmetic, by a rough estimate."""


class Work:
    """A budget of exact arithmetic: each step says what it will cost, by a rough rate, before it is begun.

    Estimates depend on sizes only, never on a clock, so that the same question is refused on every machine or on none.

    Args:
        limit: seconds that all steps together may take.
        progress: told of each step as it begins.

    Attributes:
        spent: seconds of the steps that were begun.

    Example:
        >>> work = Work(1)
        >>> work.spend(0.7, "the first half")
        >>> work.spend(0.7, "the second half")
        Traceback (most recent call last):
        lightning_sym.errors.TooLarge: the second half: exact work must take at most 1 s in all, estimated 1.4 s...
    """

    def __init__(self, limit: float = DEFAULT_WORK, progress: Progress | None = None) -> None:
        if not limit > 0:
            raise BadInput(f"work must be a positive number of seconds, got {shown(limit)}")
        # any number that is longer than a float is as good as no limit
        self._limit, self._progress, self.spent = float(min(limit, 1e300)), progress, 0.0

    @property
    def left(self) -> float:
        """Seconds that are not spent."""
        return self._limit - self.spent

    def allows(self, seconds: float) -> bool:
        """Return whether a step of this cost can still be begun: for what an answer can do without."""
        return self.spent + seconds <= self._limit

    def begins(self, seconds: float, what: str) -> bool:
        """Begin a step that an answer can do without, if it is allowed; return whether it is."""
        if not self.allows(seconds):
            return False
        self.spend(seconds, what)
        return True

    def require(self, seconds: float, what: str) -> None:
        """Refuse a step, in words, that cannot be begun any more: as `spend`, which counts it too.

        Raises:
            TooLarge: all steps up to this one exceed the limit.
        """
        if not self.allows(seconds):
            raise TooLarge(
                f"{what}: exact work must take at most {self._limit:g} s in all, estimated "
                f"{self.spent + seconds:,.3g} s by a rough rate; a larger work (--work) lifts this"
            )

    def spend(self, seconds: float, what: str, done: int = 0, total: int = 1) -> None:
        """Begin a step.

        Args:
            seconds: the estimate.
            what: the step, in words.
            done, total: where it stands among steps of its kind.

        Raises:
            TooLarge: all steps up to this one exceed the limit.
        """
        self.require(seconds, what)
        self.spent += seconds
        self.tell(what + (f", about {seconds:,.0f} s" if seconds >= 1 else ""), done, total)

    def tell(self, what: str, done: int, total: int) -> None:
        """Say how far a step is that was begun."""
        if self._progress is not None:
            self._progress(what, done, total)
