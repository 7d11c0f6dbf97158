"""Certificates of dimensions of lightning networks with skip connections: one number for each kind of layer."""

from __future__ import annotations

from collections.abc import Callable

from lightning_sym.certificates.document import Document, opening
from lightning_sym.dimension.layers import LayersAlike, layers_alike
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import LIGHTNING


def layers_certificate(shape: Architecture, dimension: int, proof: Callable[[Architecture], Document]) -> Document:
    """A certificate for the dimension as a sum over layers (`docs/certificate.md`, `"kind": "layers"`).

    Args:
        shape: the network.
        dimension: its dimension.
        proof: a certificate for the dimension of one layer, where that is not a count.

    Raises:
        BadInput: the network has an option for which nothing is proved.

    Example:
        >>> wide = Architecture((768,) * 13, (64,) * 12, 2, heads=12, value_ranks=(64,) * 12, skip=True)
        >>> layers_certificate(wide, 27131760, lambda layer: {})["layers"]
        [{'count': 12, 'rank': 64, 'value_rank': 64, 'proof': None}]
    """
    shape.require("a sum over layers", LIGHTNING)

    def part(alike: LayersAlike) -> Document:
        values = alike.shape.value_ranks
        found = None if alike.dimension is not None else proof(alike.shape)
        own = {} if found is None else {key: found[key] for key in found if key not in ("format", "version", "kind")}
        return {
            "count": alike.count,
            "rank": alike.shape.attention_ranks[0],
            "value_rank": None if values is None else values[0],
            "proof": None if found is None else own,
        }

    return opening("layers") | {
        "network": {
            "width": shape.widths[0], "heads": shape.heads, "embed": shape.embed, "unembed": shape.unembed,
        },
        "layers": [part(alike) for alike in layers_alike(shape)],
        "dimension": dimension,
    }  # fmt: skip
