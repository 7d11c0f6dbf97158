"""Every error the library raises on purpose.

`BadInput` and its children mean: the caller has to change something; the message is one line that says what
must be true and what was given. `ProgramError` means: this program is wrong.
"""

from typing import NoReturn


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


def no_truth_value(what: object, spelling: str) -> NoReturn:
    """For `__bool__` of results: an object is true to Python, whatever the answer in it.

    Raises:
        BadInput: always, with what to write instead.
    """
    raise BadInput(f"the truth value of {type(what).__name__} is not the answer; write {spelling}")
