"""Every error the library raises on purpose.

`BadInput` and its children mean: the caller has to change something; the message is one line that says what
must be true and what was given. `ProgramError` means: this program is wrong.
"""

from collections.abc import Callable
from typing import NoReturn, TypeVar


class LightningError(Exception):
    """Root of the tree: catch this to catch everything the library raises on purpose."""


class BadInput(LightningError, ValueError):
    """The input does not satisfy a stated requirement."""


class ShapeError(BadInput):
    """Sizes that are not positive, or that do not fit together."""


class FileFormatError(BadInput):
    """A file is truncated, not of the documented form, or holds what is not a finite number."""


class RingError(BadInput):
    """A ring does not have an operation that the network needs; the message names both."""


class TooLarge(BadInput):
    """The computation would need more memory than allowed; the message carries the estimate."""


class MissingExtra(BadInput):
    """An optional package is needed for this; the message names the extra to install."""


class ProgramError(LightningError):
    """Two proved facts contradict each other, so one of the proofs in this program is wrong."""


T = TypeVar("T")


def proved_to_be(found: T | None, what: str) -> T:
    """Return what is found, where a proof says that there is something.

    Raises:
        ProgramError: there is nothing.

    Example:
        >>> proved_to_be(3, "there must be a root")
        3
        >>> proved_to_be(None, "there must be a root")
        Traceback (most recent call last):
        lightning_sym.errors.ProgramError: there must be a root
    """
    if found is None:
        raise ProgramError(what)
    return found


Answer = TypeVar("Answer", bound=type)


def no_truth_value(spelling: str) -> Callable[[Answer], Answer]:
    """Return a decorator for answers: an object is true to Python, whatever the answer in it: it refuses.

    Args:
        spelling: what to write instead.

    Example:
        >>> @no_truth_value("found.size == 0")
        ... class Found: ...
        >>> bool(Found())
        Traceback (most recent call last):
        lightning_sym.errors.BadInput: the truth value of Found is not the answer; write found.size == 0
    """

    def refuse(answer: object) -> NoReturn:
        raise BadInput(f"the truth value of {type(answer).__name__} is not the answer; write {spelling}")

    def decorated(kind: Answer) -> Answer:
        kind.__bool__ = refuse  # type: ignore[attr-defined]
        return kind

    return decorated
