"""Where a test modulo a prime shows nothing in a large network: reasons over Q for which the condition fails.

Residues say which combination of heads to look at; that it is zero is checked over the rationals, for the matrices
themselves. So a condition that fails for a deeper reason stays unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

import numpy as np

from lightning_sym.exact.modular import null_space_mod_p
from lightning_sym.exact.reconstruction import rational_vector
from lightning_sym.fibers.condition_tests import ConditionTests, Rows, Shown
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import SHAPED
from lightning_sym.network.weights import Weights
from lightning_sym.rings.rationals import RationalMatrix

LARGEST = 256
"""Widths up to which this is asked for."""


class Relations:
    """A network and its residues; each method says that a condition fails for layer `i`, or nothing."""

    def __init__(self, weights: Weights, tests: ConditionTests) -> None:
        weights.require_numbers()
        self._weights, self._tests, self._shape = weights, tests, tests.shape

    def _head(self, letter: str, i: int, h: int) -> RationalMatrix:
        return RationalMatrix.of(self._weights[letter + self._shape.head_name(i, h)])

    def _score(self, i: int, h: int) -> RationalMatrix:
        return self._head("K", i, h).mT @ self._head("Q", i, h)

    def _value(self, i: int, h: int) -> RationalMatrix:
        value = self._head("V", i, h)
        return value if self._shape.value_ranks is None else self._head("O", i, h) @ value

    def _sum(self, letter: str, i: int, parts: Sequence[tuple[int, int]]) -> str:
        """A combination of heads in words, such as `A1.1 - 2 A1.3`."""
        text = ""
        for c, h in parts:
            sign = (" - " if text else "-") if c < 0 else (" + " if text else "")
            text += f"{sign}{'' if abs(c) == 1 else f'{abs(c)} '}{letter}{self._shape.head_name(i, h)}"
        return text

    def _combined(self, i: int, factors: Sequence[int]) -> RationalMatrix:
        parts = [self._score(i, h).scaled(Fraction(c)) for h, c in enumerate(factors, start=1) if c]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total

    def a(self, i: int) -> Shown | None:
        """A combination of the `A` of a layer is zero; in the last layer and for three tokens: two are equal."""
        rows = self._tests.scores(i)
        last = i == self._shape.depth or self._shape.tokens > 2
        for factors in self._alike(rows) if last else self._relations(rows):
            if not self._combined(i, factors):
                return Shown(False, f"{self._sum('A', i, _numbered(factors))} = 0 over Q")
        return None

    def a_prime(self, i: int) -> Shown | None:
        """A combination of the symmetric parts is zero."""
        rows = self._tests.squares(i)
        heads = len(rows)
        # for three tokens relations of several heads need not matter
        single = [tuple(int(g == h) for g in range(heads)) for h in range(heads)]
        for factors in self._relations(rows) if self._shape.tokens == 2 else single:
            total = self._combined(i, factors)
            if not total + total.mT:
                return Shown(False, f"{self._sum('A', i, _numbered(factors))} is skew over Q")
        return None

    def b(self, i: int, *, causal: bool) -> Shown | None:
        """The `V` of a head is zero."""
        del causal  # then it is not seen in any way
        zero = [h for h, row in enumerate(self._tests.written(i), start=1) if not row.any()]
        for h in zero:
            if not self._value(i, h):
                return Shown(False, f"{self._sum('V', i, [(1, h)])} = 0 over Q")
        return None

    def c(self, i: int) -> Shown | None:
        """The `V` of some heads add up to zero."""
        chosen = self._tests.vanishing(self._tests.written(i))
        if chosen is None:
            return None
        total = self._value(i, chosen[0])
        for h in chosen[1:]:
            total = total + self._value(i, h)
        return None if total else Shown(False, f"{self._sum('V', i, [(1, h) for h in chosen])} = 0 over Q")

    def f(self, i: int) -> Shown | None:
        """As (b)."""
        return self.b(i, causal=True)

    def span(self, letter: str, i: int) -> Shown | None:
        """The input or the output is narrower than the stream."""
        return narrow(self._shape, letter, i)

    def _relations(self, rows: Rows) -> Iterator[tuple[int, ...]]:
        """Small integer relations of rows modulo the prime, which may be relations over the rationals."""
        for vector in null_space_mod_p(np.ascontiguousarray(rows.T), self._tests.p):
            found = rational_vector([vector], [self._tests.p])
            if found is not None and any(found):
                yield found

    def _alike(self, rows: Rows) -> Iterable[tuple[int, ...]]:
        """Rows that are zero, equal, or for two tokens opposite."""
        count, p = len(rows), self._tests.p
        signs = (-1, 1) if self._shape.tokens == 2 else (-1,)
        for h in range(count):
            for g, sign in [(h, 0), *((g, sign) for g in range(h) for sign in signs)]:
                if not np.mod(rows[h] + sign * rows[g], p).any():
                    yield tuple(1 if x == h else sign if x == g else 0 for x in range(count))


def narrow(shape: Architecture, letter: str, i: int) -> Shown | None:
    """Whether a rank falls short because the input or the output is narrower than the stream.

    Example:
        >>> narrow(Architecture((4, 4), (1,), 2, embed=3), "F", 0).evidence
        'rank at most 3, the input width, of 4'
    """
    shape.require("ranks of a narrow network", SHAPED)
    if letter == "S" or (letter, i) == ("F", 0):
        most, name = shape.input_width, "input"
    elif (letter, i) == ("U", shape.depth):
        most, name = shape.output_width, "output"
    else:
        return None
    width = shape.widths[i]
    return Shown(False, f"rank at most {most}, the {name} width, of {width}") if most < width else None


def _numbered(factors: Sequence[int]) -> list[tuple[int, int]]:
    return [(c, h) for h, c in enumerate(factors, start=1) if c]
