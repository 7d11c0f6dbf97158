"""What the process exits with."""

from collections.abc import Iterable

AS_EXPECTED = 0
NOT_AS_EXPECTED = 1
BAD_INPUT = 2
UNDECIDED = 3
PROGRAM_ERROR = 4
INTERRUPTED = 130
BROKEN_PIPE = 141  # as a shell says it of a program that the signal ended

CODES = {True: AS_EXPECTED, False: NOT_AS_EXPECTED, None: UNDECIDED}
"""Of an answer that is as one would have it, of one that is not, and of none."""

_WORST_FIRST = (PROGRAM_ERROR, NOT_AS_EXPECTED, UNDECIDED, AS_EXPECTED)


def worst(codes: Iterable[int]) -> int:
    """Return the worst of several, in the order 4, 1, 3, 0."""
    return min(codes, key=_WORST_FIRST.index, default=AS_EXPECTED)
