r"""Straight-line programs: operations on matrices that are written down once, and run on any matrices modulo a prime.

`Symbol` is a ring whose elements are places in a program, and whose operations are its next steps. What runs over every
ring, the network and its gradients, runs over this one too; the steps are then done again for matrices of any shapes,
without the objects that recorded them. For small matrices that is half of the time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from lightning_sym.rings.prime_field import reduce_mod

Floats = npt.NDArray[np.float64]

_PRODUCT, _SUM, _TRANSPOSE, _STACK, _PART = range(5)


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
        self.inputs = 0
        self._steps: list[tuple[int, int, int, tuple[int, ...]]] = []

    def symbol(self) -> Symbol:
        """The next matrix that is given; all of them before the first step."""
        self.inputs += 1
        return Symbol(self, self.inputs - 1)

    def step(self, kind: int, first: int, second: int = 0, others: tuple[int, ...] = ()) -> Symbol:
        """One step more."""
        self._steps.append((kind, first, second, others))
        return Symbol(self, self.inputs + len(self._steps) - 1)

    def run(self, given: Sequence[Floats], results: Sequence[Symbol], p: int) -> list[Floats]:
        """The results for centred residues; inner dimensions must be at most `EXACT_PRODUCTS`."""
        known = list(given)
        for kind, first, second, others in self._steps:
            if kind == _PRODUCT:
                known.append(reduce_mod(known[first] @ known[second], p))
            elif kind == _TRANSPOSE:
                known.append(known[first].mT)
            elif kind == _PART:
                start = sum([known[i].shape[-2] for i in others])
                known.append(known[first][..., start : start + known[second].shape[-2], :])
            elif kind == _STACK:
                known.append(np.concatenate([known[i] for i in others], axis=-2))
            else:
                known.append(reduce_mod(known[first] + known[second], p))
        return [known[symbol.place] for symbol in results]


class Symbol:
    """A place in a program."""

    __slots__ = ("place", "program")

    def __init__(self, program: Program, place: int) -> None:
        self.program, self.place = program, place

    def __matmul__(self, other: Symbol) -> Symbol:
        return self.program.step(_PRODUCT, self.place, other.place)

    def __add__(self, other: Symbol) -> Symbol:
        return self.program.step(_SUM, self.place, other.place)

    @property
    def mT(self) -> Symbol:  # noqa: N802
        return self.program.step(_TRANSPOSE, self.place)

    def stacked(self, matrices: Sequence[Symbol]) -> Symbol:
        """Matrices one below the other."""
        return self.program.step(_STACK, 0, 0, tuple(m.place for m in matrices))

    def part(self, matrices: Sequence[Symbol], index: int) -> Symbol:
        """The rows that stand where one of these matrices would, if they were stacked."""
        before = tuple(m.place for m in matrices[:index])
        return self.program.step(_PART, self.place, matrices[index].place, before)
