r"""What the layers of a network write to the stream, and what they read from it, over any field.

$F_i$ is the space of the columns that layers up to `i` can write, whatever the input, $R_i$ that of the linear forms by
which what is behind layer `i` reads the stream (docs/transformers.md, section 3).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from lightning_sym.lazy import lazy_imports
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import SHAPED
from lightning_sym.rings.sizes import Price, Sizes

with lazy_imports(__name__):  # a shape alone says what can be written and read
    from lightning_sym.system import circuits, fields

if TYPE_CHECKING:
    from lightning_sym.system.circuits import NetworkOver
    from lightning_sym.system.fields import Field, M, S


def pattern_is_constant(architecture: Architecture) -> bool:
    """Return whether there is one token, normalized: it attends to itself with weight one, whatever the scores."""
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
    for i in range(1, len(network.layers) + 1):
        space = written_behind(i, network, field, space, together=together)
        yield space


def written_behind(i: int, network: NetworkOver[M], field: Field[M, S], space: S, *, together: bool = False) -> S:
    """Return $F_i$, where $F_{i-1}$ is this space: of `reached` the step through layer `i`, from 1."""
    if network.skip and space.dimension == network.widths[i - 1]:  # all of the stream, and it stays
        return space
    heads = network.layers[i - 1]
    images = [head.carried(space.basis) for head in heads]
    if together and space.dimension == 1 and network.form.normalization is None and not network.skip:
        scored = zip(images, heads, strict=True)
        images = [circuits.added([image @ head.scores(space.basis, space.basis) for image, head in scored])]
    found: S = (space if network.skip else field.no_columns(network.widths[i])).extended(*images)
    return found


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
    for i in range(len(network.layers), 0, -1):
        space = read_before(i, network, field, space, scores=scores)
        yield space


def read_before(i: int, network: NetworkOver[M], field: Field[M, S], space: S, *, scores: bool = True) -> S:
    """Return $R_{i-1}$, where $R_i$ is this space: of `observed` the step through layer `i`, from 1."""
    if network.skip and space.dimension == network.widths[i - 1]:
        return space
    heads = network.layers[i - 1]
    read = [head.read(space.basis) for head in heads]
    forms = [form for head in heads for form in head.score_forms] if scores else []
    found: S = (space if network.skip else field.no_columns(network.widths[i - 1])).extended(*read, *forms)
    return found


def most_reached(architecture: Architecture) -> list[int]:
    """Return the largest dimensions that $F_0, ..., F_l$ of networks of this shape have; of one vector as `together`.

    Example:
        >>> most_reached(Architecture((3, 3, 3), (1, 1), 2, heads=2, value_ranks=(1, 1)))
        [3, 2, 2]
    """
    architecture.require("the dimension of what is written", SHAPED)
    return list(_largest(_few_heads(architecture))[0])


def most_observed(architecture: Architecture) -> list[int]:
    """Return the largest dimensions that $R_0, ..., R_l$ of networks of this shape have."""
    architecture.require("the dimension of what is read", SHAPED)
    return list(_largest(_few_heads(architecture))[1])


def _few_heads(architecture: Architecture) -> Architecture:
    """Return the network with no more heads than show anything: each adds one dimension at least, or none does."""
    most = max(*architecture.widths, 1)
    return architecture if architecture.heads <= most else replace(architecture, heads=most)


@lru_cache(maxsize=256)
def _largest(architecture: Architecture) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return both, by following a network of which only the sizes are known, so that products have the largest rank."""
    price, shapes = Price("residues"), dict(architecture.weight_shapes())
    field = fields.sizes_field(price)
    network = circuits.circuits_over(field, architecture, lambda name: Sizes(shapes[name], price))
    written = reached(network, field, together=True)
    read = observed(network, field, scores=not pattern_is_constant(architecture))
    return tuple(space.dimension for space in written), tuple(space.dimension for space in read)[::-1]
