r"""No skip connections, and one token or no mask: the function is composed at a narrow place of the stream.

With one token the stream behind layer $k$ is $g(x)$, $d_k$ forms of degree $3^k$ in what `E` reads, and the output
$h(g(x))$, forms of degree $3^{l-k}$ in $d_k$ variables. With more tokens and no mask the stream is $M(X X^\top) X$,
$M$ of forms of degree $(3^k - 1) / 2$ in the entries of a symmetric matrix. Changes of basis between both are not seen
(docs/deep-lightning.md, Proposition 5).
"""

from __future__ import annotations

from math import comb

from lightning_sym.ask import Need, TheoremRow, any_question, paid_by_steps
from lightning_sym.dimension.evidence import Evidence
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import LIGHTNING

KNOWN = LIGHTNING - {"skip"}
"""The options for which Proposition 5 is proved."""


def _forms(variables: int, layers: int, tokens: int) -> int:
    """Return how many coefficients one coordinate of the stream behind so many layers has."""
    if tokens == 1:
        return comb(variables + 3**layers - 1, 3**layers)
    grams, degree = variables * (variables + 1) // 2, (3**layers - 1) // 2
    return variables * comb(grams + degree - 1, degree)


def narrow_compositions(architecture: Architecture) -> int:
    r"""Bound the dimension of all functions that are composed at a place of the stream, the narrowest for this.

    Example:
        >>> narrow_compositions(Architecture((2, 3, 1), (1, 3), 1, heads=2, embed=3, unembed=2))
        13
        >>> narrow_compositions(Architecture((2, 4, 1, 3), (2, 3, 3), 2, heads=2, unembed=1))
        30
    """
    architecture.require("compositions at a narrow place", KNOWN)
    depth, t, inner = architecture.depth, architecture.tokens, architecture.value_ranks or architecture.widths
    behind = (min(d, architecture.heads * b) for d, b in zip(architecture.widths[1:], inner, strict=False))
    widths = (architecture.widths[0], *behind)  # of the spaces that heads write
    n, m = architecture.input_width, architecture.output_width
    read, found = min(n, widths[0]), list[int]()
    for seen in (min(m, widths[-1]), m):  # coordinates of the output, of which the others are combinations
        places = [seen * _forms(read, depth, t)]
        for k in range(1, depth):
            inside = _forms(read, k, t)
            if widths[k] <= inside:
                outside = seen * _forms(widths[k], depth - k, t)
                places.append(widths[k] * inside + outside - widths[k] ** 2)
        found.append(min(places) + seen * (m - seen))
    return read * (n - read) + min(found)


NARROW = (
    Need("scores that are not normalized", lambda shape: shape.normalization is None),
    Need("no skip connections", lambda shape: not shape.skip),
    Need(
        "one token, or no mask", lambda shape: shape.tokens == 1 or not shape.causal,
        lambda shape: f"{shape.tokens} tokens and a mask",
    ),
    Need("at most eight layers", lambda shape: shape.depth <= 8, lambda shape: str(shape.depth)),
)  # fmt: skip
"""The hypotheses of Proposition 5; degrees are powers of three."""

BY_PLACES: tuple[TheoremRow[Architecture, int], ...] = (
    TheoremRow(Evidence.NARROW.citation, any_question, paid_by_steps, narrow_compositions, needs=NARROW),
)
"""An upper bound for networks whose dimension is left open by others."""
