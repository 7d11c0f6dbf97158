r"""Straight-line programs: operations on matrices that are written down once, and run on any matrices modulo a prime.

`Symbol` is a ring whose elements are places in a program, and whose operations are its next steps. What runs over every
ring, the network and its gradients, runs over this one too; the steps are then done again for matrices of any shapes,
without the objects that recorded them. For small matrices that is half of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from lightning_sym.rings.derivatives import Recorded
from lightning_sym.rings.prime_field import reduce_mod

Floats = npt.NDArray[np.float64]

_PRODUCT, _SUM, _TRANSPOSE, _SPLIT, _STACK, _ENTRYWISE, _PATTERN, _PULLED_BACK = range(8)


class Pattern(Protocol):
    """A function of matrices of scores that is no step of a program, and its derivative."""

    def values(self, scores: Floats) -> Floats:
        """Return the pattern of a batch of scores, centred residues both."""

    def pulled_back(self, pattern: Floats, gradient: Floats) -> Floats:
        """Return the gradient by the scores, of a gradient by the pattern."""


class Program:
    """Steps, each with the places of what it is made of; `inputs` of them are given.

    Example:
        >>> program = Program()
        >>> x, y = program.symbol(), program.symbol()
        >>> z = x @ y.mT + x
        >>> program.run([np.array([[2.0]]), np.array([[3.0]])], [z], 7)
        [array([[1.]])]
    """

    def __init__(self) -> None:
        self.inputs = self._places = 0
        self._steps: list[tuple[int, int, int, tuple[int, ...]]] = []
        self._splits: dict[tuple[int, tuple[int, ...]], int] = {}
        self._dropped: dict[tuple[int, ...], list[tuple[int, ...]]] = {}

    def symbol(self) -> Symbol:
        """Return the next matrix that is given; all of them before the first step."""
        self.inputs += 1
        self._places += 1
        return Symbol(self, self._places - 1)

    def step(self, kind: int, first: int, second: int = 0, others: tuple[int, ...] = ()) -> Symbol:
        """Return one step more."""
        self._steps.append((kind, first, second, others))
        self._places += 1
        return Symbol(self, self._places - 1)

    def split(self, place: int, matrices: tuple[int, ...], index: int) -> Symbol:
        """Return the part of a matrix that stands where one of others would, if they were one below the other."""
        if (place, matrices) not in self._splits:
            self._steps.append((_SPLIT, place, 0, matrices))
            self._splits[place, matrices] = self._places
            self._places += len(matrices)
        return Symbol(self, self._splits[place, matrices] + index)

    def joined(self, parts: Sequence[Symbol]) -> tuple[Symbol, int]:
        """Return the matrix of which the first ones of these are all the parts, and how many; else the first one."""
        for (place, matrices), start in self._splits.items():
            if [part.place - start for part in parts[: len(matrices)]] == [*range(len(matrices))]:
                return Symbol(self, place), len(matrices)
        return parts[0], 1

    def pattern(self, scores: Recorded) -> Recorded:
        """Return the pattern of scores that are places of this program."""
        found = self.step(_PATTERN, scores.value.place)
        return Recorded.derived(found, (scores, lambda g: self.step(_PULLED_BACK, found.place, g.place)))

    def run(
        self, given: Sequence[Floats], results: Sequence[Symbol], p: int, pattern: Pattern | None = None
    ) -> list[Floats]:
        """Return the results for centred residues; inner dimensions must be at most `EXACT_PRODUCTS`.

        Args:
            given: the matrices, or batches of them, in the order of their symbols.
            results: what is asked for.
            p: the prime.
            pattern: what patterns are, where the program has any.
        """
        known: list[Any] = list(given)
        add = known.append
        places = tuple([symbol.place for symbol in results])
        dropped = self._dropped.get(places) or self._last_uses(places)
        for (kind, first, second, others), idle in zip(self._steps, dropped, strict=True):
            if kind == _PRODUCT:
                add(reduce_mod(known[first] @ known[second], p))
            elif kind == _TRANSPOSE:
                add(known[first].mT)
            elif kind == _SPLIT:
                matrix, start = known[first], 0
                for i in others:
                    stop = start + known[i].shape[-2]
                    add(matrix[..., start:stop, :])
                    start = stop
            elif kind == _STACK:
                add(np.concatenate([known[i] for i in others], axis=-2))
            elif kind == _SUM:
                add(reduce_mod(known[first] + known[second], p))
            elif kind == _ENTRYWISE:
                add(reduce_mod(known[first] * known[second], p))
            elif pattern is None:
                raise ValueError("a program with patterns must be told what they are")
            elif kind == _PATTERN:
                add(pattern.values(known[first]))
            else:
                add(pattern.pulled_back(known[first], known[second]))
            for i in idle:
                known[i] = None
        return [known[i] for i in places]

    def _last_uses(self, results: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Return for each step the places that no later one needs: what stands there need not be kept."""
        seen, found = set(results), []
        for kind, first, second, others in reversed(self._steps):
            used = {*others} if kind == _STACK else {first, *others} if kind == _SPLIT else {first}
            if kind in (_PRODUCT, _SUM, _ENTRYWISE, _PULLED_BACK):
                used.add(second)
            found.append(tuple(used - seen))
            seen |= used
        self._dropped[results] = found[::-1]
        return self._dropped[results]


class Symbol:
    """A place in a program."""

    __slots__ = ("place", "program")

    def __init__(self, program: Program, place: int) -> None:
        self.program, self.place = program, place

    def __matmul__(self, other: Symbol) -> Symbol:
        return self.program.step(_PRODUCT, self.place, other.place)

    def __add__(self, other: Symbol) -> Symbol:
        return self.program.step(_SUM, self.place, other.place)

    def __mul__(self, other: Symbol) -> Symbol:
        """Return the product entry by entry."""
        return self.program.step(_ENTRYWISE, self.place, other.place)

    @property
    def mT(self) -> Symbol:  # noqa: N802
        return self.program.step(_TRANSPOSE, self.place)

    def stacked(self, matrices: Sequence[Symbol]) -> Symbol:
        """Return matrices one below the other."""
        return self.program.step(_STACK, 0, 0, tuple(m.place for m in matrices))

    def part(self, matrices: Sequence[Symbol], index: int) -> Symbol:
        """Return the rows that stand where one of these matrices would, if they were stacked."""
        return self.program.split(self.place, tuple(m.place for m in matrices), index)
