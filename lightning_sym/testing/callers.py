"""Calling a function of somebody else's, exact numbers in and out, whichever library computes between; inputs to try.

Small inputs come first, for witnesses that can be read, and smaller ones than a given one are looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from lightning_sym.errors import BadInput, ShapeError
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.testing.exact_floats import FLOATS, Floats

Function = Callable[[Any], object]


class Caller:
    """A function of matrices of floats, taken at exact numbers.

    Args:
        function: takes and returns matrices, one column a token, of any library that gives arrays to NumPy.
        shape: of its outputs.
        floats: what it is given, and what it must return.
        array: makes the function's own kind of array of one of NumPy's.

    Example:
        >>> caller = Caller(lambda x: x / 3, (1, 2), FLOATS["float64"])
        >>> caller(np.array([[3, 0]], dtype=object)).tolist()
        [[Fraction(1, 1), Fraction(0, 1)]]
    """

    def __init__(
        self, function: Function, shape: tuple[int, int], floats: Floats, array: Function | None = None
    ) -> None:
        if not callable(function):
            raise BadInput(f"the function must be callable, got {type(function).__name__}")
        self._function, self._array, self._floats = function, array, floats
        self._rows, self._columns = shape

    def __call__(self, x: ObjectArray) -> ObjectArray:
        """Return the output as exact numbers, `None` for those that are not finite.

        Raises:
            ShapeError: the output has another shape than the network's.
            BadInput: it is no array of the floats that were asked for.
        """
        given = x.astype(self._floats.name)
        output = _as_numpy(self._function(given if self._array is None else self._array(given)))
        if output.shape != (self._rows, self._columns):
            turned = self._rows != self._columns and output.shape == (self._columns, self._rows)
            hint = ": one column a token; lambda x: f(x.T).T turns a function of rows" if turned else ""
            got = " x ".join(map(str, output.shape)) or "a number"
            raise ShapeError(f"the function must return a matrix {self._rows} x {self._columns}, got {got}{hint}")
        if output.dtype.name not in FLOATS:
            raise BadInput(f"the function must return one of {', '.join(FLOATS)}, got an array of {output.dtype}")
        if FLOATS[output.dtype.name].bits < self._floats.bits:
            raise BadInput(
                f"the function must compute in {self._floats.name}, which it was given, got an output of "
                f"{output.dtype}: give dtype='{output.dtype}' if that is what it computes in"
            )
        exact = np.empty(output.shape, dtype=object)
        for index, number in np.ndenumerate(output):
            exact[index] = Fraction(float(number)) if np.isfinite(number) else None
        return exact


def _as_numpy(output: object) -> npt.NDArray[Any]:
    """Return an array of whichever library as NumPy's: off the tape of derivatives, and in main memory."""
    for step in ("detach", "cpu"):  # PyTorch
        if hasattr(output, step):
            output = getattr(output, step)()
    try:
        found = np.asarray(output)
        if found.dtype.kind == "O" and hasattr(output, "__dlpack__"):
            found = np.from_dlpack(output)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise BadInput(
            f"the function must return an array that NumPy can read, got {type(output).__name__}: {str(error)[:80]}"
        ) from error
    if found.dtype.kind in "OUSV":
        raise BadInput(f"the function must return an array of floats, got {type(output).__name__}")
    return found


SMALL = 2
"""Largest absolute value in the first tries."""

MOST_STEPS = 2000
"""Evaluations that may be spent on a smaller input."""


def random_input(source: Random, shape: tuple[int, int], bound: int) -> ObjectArray:
    """Return entries between `-bound` and `bound`, independent and uniform, as Python integers."""
    entries = [source.randint(-bound, bound) for _ in range(shape[0] * shape[1])]
    result = np.empty(len(entries), dtype=object)
    result[:] = entries
    return result.reshape(shape)


def first_inputs(source: Random, shape: tuple[int, int], bound: int, count: int) -> Iterator[ObjectArray]:
    """Yield zero, ones in single places (some of them), and small random inputs.

    Example:
        >>> [x.tolist() for x in first_inputs(Random(0), (1, 2), 9, 0)]
        [[[0, 0]], [[1, 0]], [[0, 1]]]
    """
    zero = np.full(shape, 0, dtype=object)
    yield zero
    for place in range(min(zero.size, 16)):
        one = zero.copy()
        one.flat[place] = 1
        yield one
    for _ in range(count):
        yield random_input(source, shape, min(SMALL, bound))


def shrunk(x: ObjectArray, fails: Callable[[ObjectArray], bool]) -> ObjectArray:
    """Return an input that fails too, with fewer entries that are not zero, and these smaller.

    No entry of it can be set to zero, made positive, halved or made smaller by one without the failure being lost,
    unless `MOST_STEPS` evaluations did not suffice.

    Example:
        >>> shrunk(np.array([[7, -9, 4]], dtype=object), lambda x: abs(x[0, 1]) > 2).tolist()
        [[0, 3, 0]]
    """
    steps = 0
    found = True
    for axis, size in ((1, x.shape[1]), (0, x.shape[0])):  # whole tokens and coordinates before single entries
        for i in range(size):
            other = x.copy()
            other.swapaxes(0, axis)[i] = 0
            steps += 1
            if fails(other):
                x = other
    while found and steps < MOST_STEPS:
        found = False
        for place in range(x.size):
            for value in _smaller(int(x.flat[place])):
                steps += 1
                other = x.copy()
                other.flat[place] = value
                if fails(other):
                    x, found = other, True
                    break
    return x


def _smaller(value: int) -> Iterator[int]:
    """Yield simpler numbers than this one, the simplest first; each is nearer to zero, or positive."""
    if value == 0:
        return
    yield 0
    if value < 0:
        yield -value
    half = abs(value) // 2
    sign = 1 if value > 0 else -1
    if half:
        yield sign * half
    if abs(value) - 1 > half:
        yield sign * (abs(value) - 1)
