"""Gradients of lightning networks as programs, written down once for all networks that differ in sizes only."""

from __future__ import annotations

from functools import lru_cache

from lightning_sym.network.architecture import Architecture
from lightning_sym.network.attention import form_of, run
from lightning_sym.rings.derivatives import Recorded, gradients
from lightning_sym.rings.programs import Program, Symbol

KNOWN = frozenset({"heads", "value_ranks", "skip", "embed", "unembed"})
"""The options that decide which products there are; masks and normalizations have numbers of their own."""


def gradient_program(architecture: Architecture, wanted: frozenset[int]) -> tuple[Program, dict[int, Symbol]]:
    """The gradients by some of the weights as a program of all weights, the input and the functional.

    Args:
        architecture: of its sizes only the depth and the number of heads matter.
        wanted: numbers of weights, in canonical order from 0.

    Raises:
        BadInput: the network is normalized, or has a mask.

    Example:
        >>> program, found = gradient_program(Architecture((3, 2), (2,), 5), frozenset({2}))
        >>> program.inputs, list(found)
        (5, [2])
    """
    architecture.require("a program of gradients", KNOWN)
    return _program(
        architecture.depth, architecture.heads, architecture.value_ranks is not None, architecture.skip,
        architecture.embed is not None, architecture.unembed is not None, wanted,
    )  # fmt: skip


@lru_cache(maxsize=256)
def _program(
    depth: int, heads: int, projected: bool, skip: bool, embedded: bool, unembedded: bool, wanted: frozenset[int]
) -> tuple[Program, dict[int, Symbol]]:
    ones, program = (1,) * depth, Program()
    smallest = Architecture(
        (1, *ones), ones, 1, heads=heads, value_ranks=ones if projected else None, skip=skip,
        embed=1 if embedded else None, unembed=1 if unembedded else None,
    )  # fmt: skip
    weights = [Recorded(program.symbol(), constant=i not in wanted) for i, _ in enumerate(smallest.weight_shapes())]
    x, functional = Recorded(program.symbol(), constant=True), program.symbol()
    output = run(x, smallest, weights, form_of(smallest))
    places = sorted(wanted)
    return program, dict(zip(places, gradients([output], [functional], [weights[i] for i in places]), strict=True))
