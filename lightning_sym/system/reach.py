r"""What the layers of a network write to the stream, and what they read from it, over any field.

$F_i$ is the space of the columns that layers up to `i` can write, whatever the input, $R_i$ that of the linear forms by
which what is behind layer `i` reads the stream (docs/transformers.md, section 3).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import SHAPED
from lightning_sym.system.circuits import NetworkOver, added
from lightning_sym.system.fields import Field

M = TypeVar("M", bound=Any)
S = TypeVar("S", bound=Any)


def pattern_is_constant(architecture: Architecture) -> bool:
    """One token, normalized: it attends to itself with weight one, whatever the queries and keys are."""
    architecture.require("that a pattern is constant", SHAPED)
    return architecture.normalization is not None and architecture.tokens == 1


def reached(network: NetworkOver[M], field: Field[M, S], *, together: bool = False) -> Iterator[S]:
    r"""Yield $F_0, ..., F_l$, each when it is asked for.

    Args:
        network: with its matrices over the field.
        field: the field.
        together: lightning layers without skip connections write one vector where they are given one, $f$: the sum of
            all $(f^\top A_h f) V_h f$. Then $V_h F_{i-1}$ need not be in $F_i$.

    Example:
        >>> from lightning_sym.network.weights import Weights
        >>> from lightning_sym.system.circuits import NetworkCircuits
        >>> from lightning_sym.system.fields import Q
        >>> net = NetworkCircuits.of(Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 6], [1, 2]]}))
        >>> [space.dimension for space in reached(net, Q)], [space.dimension for space in observed(net, Q)]
        ([2, 1], [2, 2])
    """
    space = field.no_columns(network.widths[0]).extended(network.embedded(field.identity(network.embed.shape[1])))
    yield space
    for heads, before, width in zip(network.layers, network.widths, network.widths[1:], strict=False):
        if not (network.skip and space.dimension == before):  # all of the stream, and it stays
            images = [head.carried(space.basis) for head in heads]
            if together and space.dimension == 1 and network.form.normalization is None and not network.skip:
                scored = zip(images, heads, strict=True)
                images = [added([image @ head.scores(space.basis, space.basis) for image, head in scored])]
            space = (space if network.skip else field.no_columns(width)).extended(*images)
        yield space


def observed(network: NetworkOver[M], field: Field[M, S], *, scores: bool = True) -> Iterator[S]:
    """Yield $R_l, ..., R_0$, forms as columns, each when it is asked for.

    Args:
        network: with its matrices over the field.
        field: the field.
        scores: queries and keys read the stream too; else values alone.
    """
    space = field.no_columns(network.widths[-1]).extended(
        network.before_unembedding(field.identity(network.unembed.shape[0]))
    )
    yield space
    for heads, width in zip(reversed(network.layers), reversed(network.widths[:-1]), strict=True):
        if not (network.skip and space.dimension == width):
            read = [head.read(space.basis) for head in heads]
            forms = [form for head in heads for form in head.score_forms] if scores else []
            space = (space if network.skip else field.no_columns(width)).extended(*read, *forms)
        yield space


def most_reached(architecture: Architecture) -> list[int]:
    """Return the largest dimensions that $F_0, ..., F_l$ of networks of this shape have; of one vector as `together`.

    Example:
        >>> most_reached(Architecture((3, 3, 3), (1, 1), 2, heads=2, value_ranks=(1, 1)))
        [3, 2, 2]
    """
    architecture.require("the dimension of what is written", SHAPED)
    found = [min(architecture.widths[0], architecture.input_width)]
    for i, width in enumerate(architecture.widths[1:]):
        total = architecture.heads * _through(architecture, i, found[-1]) + architecture.skip * found[-1]
        if found[-1] == 1 and architecture.normalization is None and not architecture.skip:
            total = 1
        found.append(min(width, total))
    return found


def most_observed(architecture: Architecture) -> list[int]:
    """Return the largest dimensions that $R_0, ..., R_l$ of networks of this shape have."""
    architecture.require("the dimension of what is read", SHAPED)
    found = [min(architecture.widths[-1], architecture.output_width)]
    for i in reversed(range(architecture.depth)):
        scores = 0 if pattern_is_constant(architecture) else 2 * architecture.attention_ranks[i]
        total = architecture.heads * (_through(architecture, i, found[-1]) + scores) + architecture.skip * found[-1]
        found.append(min(architecture.widths[i], total))
    return found[::-1]


def _through(architecture: Architecture, i: int, dimension: int) -> int:
    """Return the largest dimension of what the values of a head of a layer, from 0, make of a space."""
    return dimension if architecture.value_ranks is None else min(dimension, architecture.value_ranks[i])
