r"""One token without skip connections: the function is composed at a narrow place of the stream.

The stream behind layer $k$ is $g(x)$, $d_k$ forms of degree $3^k$ in what `E` reads, and the output $h(g(x))$, forms of
degree $3^{l-k}$ in $d_k$ variables. Changes of basis between both are not seen (docs/deep-lightning.md, Proposition 5).
"""

from __future__ import annotations

from math import comb

from lightning_sym.ask import Need, TheoremRow, any_question, paid_by_steps
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import LIGHTNING

KNOWN = LIGHTNING - {"skip"}
"""The options for which Proposition 5 is proved."""


def _forms(variables: int, degree: int) -> int:
    return comb(variables + degree - 1, degree)


def narrow_compositions(architecture: Architecture) -> int:
    r"""Bound the dimension of all functions that are composed at a place of the stream, the narrowest for this.

    Example:
        >>> narrow_compositions(Architecture((2, 3, 1), (1, 3), 1, heads=2, embed=3, unembed=2))
        13
    """
    architecture.require("compositions at a narrow place", KNOWN)
    widths, depth = architecture.widths, architecture.depth
    n, m = architecture.input_width, architecture.output_width
    read, written = min(n, widths[0]), min(m, widths[-1])
    ends = read * (n - read) + written * (m - written)
    found = [written * _forms(read, 3**depth)]
    for k in range(1, depth):
        inside = _forms(read, 3**k)
        if widths[k] <= inside:
            outside = written * _forms(widths[k], 3 ** (depth - k))
            found.append(widths[k] * inside + outside - widths[k] ** 2)
    return ends + min(found)


NARROW = (
    Need("scores that are not normalized", lambda shape: shape.normalization is None),
    Need("no skip connections", lambda shape: not shape.skip),
    Need("one token", lambda shape: shape.tokens == 1, lambda shape: str(shape.tokens)),
    Need("at most eight layers", lambda shape: shape.depth <= 8, lambda shape: str(shape.depth)),
)
"""The hypotheses of Proposition 5; degrees are powers of three."""

BY_PLACES: tuple[TheoremRow[Architecture, int], ...] = (
    TheoremRow(
        "Proposition 5 of docs/deep-lightning.md", any_question, paid_by_steps, narrow_compositions, needs=NARROW
    ),
)
"""An upper bound for networks whose dimension is left open by others."""
