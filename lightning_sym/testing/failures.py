"""How an assertion fails: it is false, with a witness, or it could not be decided. Never one for the other."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from lightning_sym.display import rows_in_line
from lightning_sym.rings.arrays import ObjectArray

LONGEST = 300
"""Characters of one line of a message that are shown."""


MOST_SHOWN = 24
"""Entries of a matrix that is shown as it is."""


class Mismatch(AssertionError):
    """What was asserted is false; the message shows where."""


class NotDecided(AssertionError):
    """What was asserted is neither shown nor refuted; the message says what is known."""


def failure(head: str, lines: Iterable[tuple[str, str]]) -> str:
    """Return a message: what is wrong, and under it names and what there is to say of them.

    Example:
        >>> print(failure("they differ", [("input", "X = 1 0"), ("first", "phi(X) = 2 0")]))
        they differ
          input  X = 1 0
          first  phi(X) = 2 0
    """
    known = [(name, text if len(text) <= LONGEST else text[:LONGEST] + "...") for name, text in lines]
    width = max((len(name) for name, _ in known), default=0)
    return "\n".join([head, *(f"  {name:<{width}}  {text}" for name, text in known)])


def shown_sparsely(x: ObjectArray) -> str:
    """Return a matrix in one line; of a large one the entries that are not zero, by coordinate and token.

    Example:
        >>> import numpy as np
        >>> print(shown_sparsely(np.array([[0, 1], [2, 0]])), shown_sparsely(np.diag([3] + [0] * 8)), sep=", ")
        0 1; 2 0, 0 but for x_1_1 = 3
    """
    if x.size <= MOST_SHOWN:
        return rows_in_line(x)
    entries = [f"x_{k + 1}_{j + 1} = {x[k, j]}" for k, j in zip(*x.nonzero(), strict=True)]
    return "0 but for " + ", ".join(entries) if entries else "0"


def power_of_ten(chance: Fraction) -> str:
    """Return a power of ten that is at least this probability, as it is written.

    Example:
        >>> power_of_ten(Fraction(3, 95)), power_of_ten(Fraction(1))
        ('10^-1', '1')
    """
    # 2^-(bits - 1) is at least the chance, and 0.30102 less than the logarithm of two
    exponent = ((chance.denominator // chance.numerator).bit_length() - 1) * 30_102 // 100_000
    return f"10^-{exponent}" if exponent else "1"
