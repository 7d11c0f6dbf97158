"""Inputs to try: small ones first, for witnesses that can be read, and smaller ones than a given one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import numpy as np

from lightning_sym.rings.arrays import ObjectArray

SMALL = 2
"""Largest absolute value in the first tries."""

MOST_STEPS = 2000
"""Evaluations that may be spent on a smaller input."""


def random_input(source: Random, shape: tuple[int, int], bound: int) -> ObjectArray:
    """Entries between `-bound` and `bound`, independent and uniform, as Python integers."""
    entries = [source.randint(-bound, bound) for _ in range(shape[0] * shape[1])]
    result = np.empty(len(entries), dtype=object)
    result[:] = entries
    return result.reshape(shape)


def first_inputs(source: Random, shape: tuple[int, int], bound: int, count: int) -> Iterator[ObjectArray]:
    """Zero, ones in single places (some of them), and small random inputs.

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
    """An input that fails too, with fewer entries that are not zero, and these smaller.

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
    """Simpler numbers than this one, the simplest first; each of them nearer to zero, or positive."""
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
