r"""Upper bounds of the dimension that are counts: of varieties through which maps factor, and of linear spans.

Each is a row of `COUNTS`, its hypotheses beside it. The proof for the variety of virtual weights is written out in
`docs/upper-bound.md`; the names of the pieces below are the ones used there.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import NamedTuple

from lightning_sym.ask import FellShort, Need, TheoremRow, any_question, failing, paid_by_steps, proved
from lightning_sym.dimension.blocks import RESIDUAL, residual
from lightning_sym.dimension.evidence import Evidence
from lightning_sym.errors import BadInput
from lightning_sym.exact.determinantal import determinantal, symmetric_determinantal
from lightning_sym.limits import Work
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import SHAPED


def linear_maps(architecture: Architecture) -> int:
    r"""Return the dimension of all linear maps, of which the function of one token, normalized, is one.

    The map is $U \prod_i (1 + \sum_h V_{i,h})\, E$ (without the ones if there is no skip), a matrix of bounded rank;
    with skip but neither embedding nor unembedding a product of $1 + W_i$ with $W_i$ of bounded rank, which differs
    from 1 by a matrix of rank at most the sum.

    Example:
        >>> from lightning_sym.rings.normalization import SOFTMAX
        >>> linear_maps(Architecture((4, 2, 3), (1, 1), tokens=1, normalization=SOFTMAX))       # rank two, 3 x 4
        10
    """
    architecture.require("the variety of linear maps", SHAPED)
    rows, columns, widths = architecture.output_width, architecture.input_width, architecture.widths
    written = [
        min(d, d_out) if b is None else min(d, d_out, architecture.heads * b)
        for d, d_out, b in zip(
            widths, widths[1:], architecture.value_ranks or [None] * architecture.depth, strict=False
        )
    ]
    if not architecture.skip:
        return determinantal(rows, columns, min(rows, columns, *widths, *written))
    bound = determinantal(rows, columns, min(rows, columns, widths[0]))
    if architecture.embed is None and architecture.unembed is None:
        d = widths[0]
        bound = min(sum(determinantal(d, d, r) for r in written), determinantal(d, d, sum(written)))
    return bound


def quadratic_forms(architecture: Architecture) -> int:
    r"""Return the dimension of the matrices of quadratic forms that one lightning layer of several heads can be.

    The layer is $\sum_h a_{h,k}(x)\, v_{h,m}(x)$ for all `k, m`. As a matrix with one row for each `m` it has rank at
    most $h b$, and with one row for each pair `(k, m)` rank at most $h \alpha b$.

    Example:
        >>> quadratic_forms(Architecture((3, 2), (1,), 2, heads=5, value_ranks=(1,)))
        35
    """
    architecture.require("the variety of quadratic forms", SHAPED)
    (d, d_out), (a,) = architecture.widths, architecture.attention_ranks
    inside = min(d, d_out, *(architecture.value_ranks or ()))
    forms = d * (d + 1) // 2
    heads = architecture.heads
    return min(determinantal(d_out, d * forms, heads * inside), determinantal(d * d_out, forms, heads * a * inside))


def linear_span(architecture: Architecture) -> int:
    r"""Return the linear span of all functions that a lightning network can be, where it is small.

    For one token these are maps of polynomials in the entries of $x$, homogeneous of degree $3^l$, or with skip
    connections of all odd degrees up to it. For one row of input without mask, $X = z^\top$, they are $g(z^\top z)
    z^\top$ with polynomials of degree $(3^l - 1) / 2$, of which skip connections leave more than the last
    coefficient. For one layer of two tokens or more: $d'$ quadratic forms for each row of input, besides a linear map.

    Example:
        >>> linear_span(Architecture((2, 2), (1,), 1, heads=2))      # two cubic forms in two variables
        8
    """
    architecture.require("the linear span", SHAPED)
    n, m = architecture.input_width, architecture.output_width
    if architecture.tokens == 1:
        degrees = range(1, architecture.degree + 1, 2) if architecture.skip else [architecture.degree]
        functions = [comb(n + k - 1, k) for k in degrees]
    elif n == 1 and not architecture.causal:
        functions = [1] * ((architecture.degree + 1) // 2 if architecture.skip else 1)
    else:
        functions = [n] * architecture.skip + [n * n * (n + 1) // 2]
    # a skip connection past all weights leaves the linear part as it is
    fixed = n if architecture.skip and architecture.embed is None and architecture.unembed is None else 0
    return m * (sum(functions) - fixed)


class Piece(NamedTuple):
    """One summand of a dimension count: what it is, and how much it adds."""

    name: str
    dimension: int


class Factorization(NamedTuple):
    """The variety of virtual weights modulo rescaling, piece by piece."""

    pieces: tuple[Piece, ...]

    @property
    def dimension(self) -> int:
        """Sum of the pieces: an upper bound of the dimension of the neuromanifold."""
        return sum(piece.dimension for piece in self.pieces)


def has_virtual_weights(architecture: Architecture) -> bool:
    """Return whether `virtual_weight_variety` is known for this network.

    Example:
        >>> has_virtual_weights(Architecture((2, 2), (1,), 2, heads=2))
        False
    """
    architecture.require("that there are virtual weights", SHAPED)
    return failing(architecture, VIRTUAL) is None


def virtual_weight_variety(architecture: Architecture) -> Factorization:
    r"""Count the variety of virtual weights of a network with one head, of any widths, ranks and tokens.

    The rows of $\tilde V$ and the row and column spaces of the $\tilde A_i$ lie in nested subspaces $F_0 \supseteq F_1
    \supseteq \dots$ of dimensions $r_i = \min(d_0, \dots, d_i)$. Only the part of $F_i$ that later layers use, of
    dimension at most $w_i$, can be recovered from the function. Layers that see a single direction (`t = 1`, or behind
    a layer with attention matrix of rank one) enter by symmetric parts. Where scores are normalized there are neither
    symmetric parts nor rescalings.

    Raises:
        BadInput: this is another network.

    Example:
        >>> virtual_weight_variety(Architecture((4, 2), (1,), 3)).dimension
        14
    """
    normalized = architecture.normalization is not None
    if not has_virtual_weights(architecture):
        raise BadInput(
            f"the variety of virtual weights must be asked of one head with nothing added, got {architecture}"
        )
    depth, widths = architecture.depth, architecture.widths
    narrowest = [min(widths[: i + 1]) for i in range(depth + 1)]
    alpha = [min(a, narrowest[i]) for i, a in enumerate(architecture.attention_ranks)]

    pieces = []
    single_direction = architecture.tokens == 1 and not normalized
    for i in range(depth):
        if single_direction:
            name, count = "symmetric part of A", symmetric_determinantal(narrowest[i], 2 * alpha[i])
        else:
            name, count = "A", determinantal(narrowest[i], narrowest[i], alpha[i])
        pieces.append(Piece(f"{name}~{i + 1} of rank <= {alpha[i]} on F{i}", count))
        single_direction = single_direction or (alpha[i] == 1 and not normalized)
    pieces.append(
        Piece(
            f"V~ of rank <= {narrowest[depth]} on F{depth - 1}",
            determinantal(widths[depth], narrowest[depth - 1], narrowest[depth]),
        )
    )
    used = narrowest[depth]
    for i in range(depth - 1, 0, -1):
        used = min(narrowest[i], used + 2 * alpha[i])
        drop = narrowest[i - 1] - narrowest[i]
        pieces.append(Piece(f"the used part of F{i}, of dimension <= {used}, in F{i - 1}", used * drop))
    if not normalized:
        pieces.append(Piece("rescalings of (A~1, ..., A~l, V~)", -depth))
    return Factorization(tuple(pieces))


# ---- the theorems


NOT_NORMALIZED = Need("scores that are not normalized", lambda shape: shape.normalization is None)
VIRTUAL = (
    Need("one head and nothing added", lambda shape: shape.is_bare),
    Need("no mask where scores are not normalized", lambda shape: shape.normalization is not None or not shape.causal),
)
LINEAR = (
    Need("normalized scores", lambda shape: shape.normalization is not None),
    Need("one token", lambda shape: shape.tokens == 1, lambda shape: str(shape.tokens)),
)
FORMS = (
    NOT_NORMALIZED,
    Need("one layer", lambda shape: shape.depth == 1, lambda shape: str(shape.depth)),
    Need("several heads", lambda shape: shape.heads > 1, lambda shape: "one"),
    Need("no embedding and no unembedding", lambda shape: shape.embed is None and shape.unembed is None),
)
SPAN = (
    NOT_NORMALIZED,
    Need(  # of more than one row of input, or with skip connections, there are at least (3^l + 1) / 2 functions
        "a degree below twice the number of parameters",
        lambda shape: (shape.input_width == 1 and not shape.skip) or shape.degree < 2 * shape.parameter_count,
        lambda shape: f"3^{shape.depth}",
    ),
    Need(
        "one layer, one token, or one row of input without mask",
        lambda shape: shape.depth == 1 or shape.tokens == 1 or (shape.input_width == 1 and not shape.causal),
    ),
)


def _count(
    evidence: Evidence,
    count: Callable[[Architecture], int],
    *needs: Need,
    about: Callable[[Architecture], bool] = any_question,
) -> TheoremRow[Architecture, tuple[Evidence, int]]:
    """Return the row of a count, which costs nothing: it multiplies a few sizes."""
    return TheoremRow(evidence.citation, about, paid_by_steps, lambda shape: (evidence, count(shape)), needs=needs)


LARGEST_JACOBIAN = 5000
"""Rows beyond which a residual softmax transformer is certified by ranks of its own matrices: seconds, not hours."""


COUNTS = (
    _count(
        Evidence.PRODUCTS, lambda shape: residual(shape).dimension, *RESIDUAL,
        # where the rank of a Jacobian is found soon it is left alone
        about=lambda shape: failing(shape, RESIDUAL) is not None or residual(shape).dimension > LARGEST_JACOBIAN,
    ),
    _count(Evidence.FACTORIZATION, lambda shape: virtual_weight_variety(shape).dimension, *VIRTUAL),
    _count(Evidence.LINEAR, linear_maps, *LINEAR),
    _count(Evidence.FORMS, quadratic_forms, *FORMS),
    _count(Evidence.SPAN, linear_span, *SPAN),
)  # fmt: skip
"""Upper bounds that are counts: no linear algebra."""


def counted_bounds(architecture: Architecture) -> tuple[dict[Evidence, int], list[FellShort]]:
    """Return upper bounds that are counts, by evidence; and the theorems whose hypotheses do not hold.

    Raises:
        BadInput: the network has an option for which the counts are not proved.

    Example:
        >>> bounds, tried = counted_bounds(Architecture((2, 2), (1,), 2, heads=2))
        >>> [str(each) for each in bounds], str(tried[0])
        (['forms', 'span'], 'Proposition 18 of docs/transformers.md: it needs softmax')
    """
    architecture.require("the counts of varieties and spans", SHAPED)
    tried = list[FellShort]()
    return dict(proved(architecture, COUNTS, Work(), tried)), tried
