"""Gradients of networks as programs, written down once for all networks that differ in sizes only."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from lightning_sym.network.architecture import Architecture
from lightning_sym.network.attention import Form, lightning, run
from lightning_sym.network.pieces import SHAPED
from lightning_sym.rings.derivatives import Recorded, gradients
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
    """The gradients by some of the weights as a program of all weights, the input, the functional and the mask.

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
    normalized = architecture.normalization is not None
    return _program(
        architecture.depth, architecture.heads, architecture.value_ranks is not None, architecture.skip,
        architecture.embed is not None, architecture.unembed is not None, normalized,
        architecture.causal and not normalized, wanted,
    )  # fmt: skip


@lru_cache(maxsize=256)
def _program(
    depth: int, heads: int, projected: bool, skip: bool, embedded: bool, unembedded: bool, normalized: bool,
    masked: bool, wanted: frozenset[int] | None,
) -> GradientProgram:  # fmt: skip
    ones, program = (1,) * depth, Program()
    smallest = Architecture(
        (1, *ones), ones, 1, heads=heads, value_ranks=ones if projected else None, skip=skip,
        embed=1 if embedded else None, unembed=1 if unembedded else None,
    )  # fmt: skip
    count = len(list(smallest.weight_shapes()))
    places = range(count) if wanted is None else sorted(wanted)
    weights = [Recorded(program.symbol(), constant=wanted is not None and i not in wanted) for i in range(count)]
    x, functional = Recorded(program.symbol(), constant=True), program.symbol()
    mask = Recorded(program.symbol(), constant=True) if masked else None

    def pattern(scores: Recorded) -> Recorded:
        return program.pattern(scores) if mask is None else scores * mask

    output = run(x, smallest, weights, Form(pattern if normalized or masked else lightning, skip))
    symbols = gradients([output], [functional], [weights[i] for i in places])
    if wanted is not None:
        return GradientProgram(program, tuple(Gradient(s, i, i) for s, i in zip(symbols, places, strict=True)))
    found, start = [], 0
    while start < count:
        symbol, together = program.joined(symbols[start:])
        found.append(Gradient(symbol, start, start + together - 1))
        start += together
    return GradientProgram(program, tuple(found))
