"""Gradients of networks as programs, written down once for all networks that differ in sizes only."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from lightning_sym.network.architecture import Architecture
from lightning_sym.network.attention import Form, lightning, run
from lightning_sym.network.pieces import SHAPED
from lightning_sym.rings.derivatives import Recorded, gradients
from lightning_sym.rings.normalization import SOFTMAX
from lightning_sym.rings.programs import Program, Symbol


class Gradient(NamedTuple):
    """The gradient by some weights that follow each other, one below the other.

    Attributes:
        symbol: its place in the program.
        first: the number of the first of the weights.
        last: and of the last one.
    """

    symbol: Symbol
    first: int
    last: int


class GradientProgram(NamedTuple):
    """Gradients by weights.

    Attributes:
        program: of all weights, the input, the functional, and the mask if there is one.
        gradients: in the order of the weights.
    """

    program: Program
    gradients: tuple[Gradient, ...]


def gradient_program(architecture: Architecture, wanted: frozenset[int] | None = None) -> GradientProgram:
    """Return the gradients by some of the weights as a program of all weights, the input, the functional and the mask.

    A mask comes in last, and only without a normalization; with one, patterns are what `Program.run` is told they are.

    Args:
        architecture: of its sizes only the depth and the number of heads matter.
        wanted: numbers of weights, in canonical order from 0, each with a gradient of its own; `None` for all, then
            gradients by weights that are one below the other in a product are one.

    Raises:
        BadInput: the network has an option for which there are no gradients.

    Example:
        >>> program, found = gradient_program(Architecture((3, 2), (2,), 5), frozenset({2}))
        >>> program.inputs, [(each.first, each.last) for each in found]
        (5, [(2, 2)])
        >>> [(each.first, each.last) for each in gradient_program(Architecture((3, 2), (2,), 5)).gradients]
        [(0, 2)]
    """
    architecture.require("a program of gradients", SHAPED)
    ones, normalized = (1,) * architecture.depth, architecture.normalization is not None
    value_ranks = None if architecture.value_ranks is None else ones
    embed, unembed = (None if size is None else 1 for size in (architecture.embed, architecture.unembed))
    smallest = Architecture(
        (1, *ones), ones, 1, SOFTMAX if normalized else None, architecture.heads, value_ranks, architecture.skip,
        architecture.causal and not normalized, embed, unembed,
    )  # fmt: skip
    return _program(smallest, wanted)


@lru_cache(maxsize=256)
def _program(smallest: Architecture, wanted: frozenset[int] | None) -> GradientProgram:
    """Return the program of all networks with the depth, heads and options of this one, whose sizes are 1."""
    program, masked = Program(), smallest.causal
    count = len(list(smallest.weight_shapes()))
    places = range(count) if wanted is None else sorted(wanted)
    weights = [Recorded(program.symbol(), constant=wanted is not None and i not in wanted) for i in range(count)]
    x, functional = Recorded(program.symbol(), constant=True), program.symbol()
    mask = Recorded(program.symbol(), constant=True) if masked else None

    def pattern(scores: Recorded) -> Recorded:
        return program.pattern(scores) if mask is None else scores * mask

    form = Form(pattern if masked or smallest.normalization is not None else lightning, smallest.skip)
    output = run(x, smallest, weights, form)
    symbols = gradients([output], [functional], [weights[i] for i in places])
    if wanted is not None:
        return GradientProgram(program, tuple(Gradient(s, i, i) for s, i in zip(symbols, places, strict=True)))
    found, start = [], 0
    while start < count:
        symbol, together = program.joined(symbols[start:])
        found.append(Gradient(symbol, start, start + together - 1))
        start += together
    return GradientProgram(program, tuple(found))
