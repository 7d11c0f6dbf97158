"""Certificates of dimensions of residual softmax transformers of any size: a shape, a number and a seed."""

from __future__ import annotations

from lightning_sym.certificates.document import Document, opening
from lightning_sym.dimension.blocks import Transformer
from lightning_sym.errors import TooLarge

LARGEST_WIDTH = 2**29 // 2000
"""The longest row of a matrix that a checker has room for."""

MOST_ROWS = 8 * 10**6
"""Rows of all matrices that a checker has time for, a few minutes."""


def transformer_certificate(shape: Transformer) -> Document:
    """A certificate for the dimension of a transformer.

    The weights are made from the seed by the checker, sparse ones, of which ranks take no time
    (`docs/certificate.md`, `"kind": "transformer"`). They meet the conditions of Proposition 18 of
    `docs/transformers.md` but for a chance of 10^-12 or so: the checker says.

    Raises:
        TooLarge: a checker would take too long.

    Example:
        >>> from lightning_sym.dimension.blocks import Layers
        >>> transformer_certificate(Transformer(4, (Layers(2, 1, 1),), 2, 2, 5, 5, False))["dimension"]
        80
    """
    d, inner = shape.width, [(each.count, each.a, each.b or shape.width) for each in shape.layers]
    rows = sum(count * ((shape.heads + shape.groups) * (a + b) + d) for count, a, b in inner)
    if (longest := max(d, *(max(a, b) for _, a, b in inner))) > LARGEST_WIDTH or rows > MOST_ROWS:
        raise TooLarge(
            f"a certificate must be of matrices of at most {LARGEST_WIDTH:,} rows, {MOST_ROWS:,} in all, so that it "
            f"can be checked; this takes {longest:,} and {rows:,}"
        )
    return opening("transformer") | {
        "network": {
            "width": d,
            "layers": [{"count": each.count, "rank": each.a, "value_rank": each.b} for each in shape.layers],
            "heads": shape.heads,
            "groups": shape.groups,
            "embed": shape.embed,
            "unembed": shape.unembed,
            "tied": shape.tied,
        },
        "dimension": shape.dimension,
        "seed": 0,
    }
