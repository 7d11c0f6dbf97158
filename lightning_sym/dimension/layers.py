r"""Lightning networks with skip connections: the dimension is the sum of the dimensions of the layers, and of the ends.

Theorem 2 of docs/deep-lightning.md: with skip connections, two tokens or more, `E` and `U` of rank `d` or absent, and
as many heads in each layer, general weights are determined by their function up to what each layer alone leaves open,
and one change of basis of the stream where `E` and `U` are both there. So nothing is computed at depth:

$$ \dim = \sum_i D_i + d (n + m - d), \qquad D_i \text{ the dimension of layer } i \text{ alone}, $$

or $d n$, $d m$, $0$ in place of the last summand where `U`, `E` or both are absent. $D_i$ is a count where heads are
determined up to order and factors (the corollary of Theorem 4 there, or one head), else it is certified by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby

from lightning_sym.ask import Need, TheoremRow, paid_by_steps
from lightning_sym.dimension.blocks import has_wide_ends
from lightning_sym.dimension.evidence import Evidence
from lightning_sym.exact.determinantal import determinantal
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import LIGHTNING, SHAPED

LARGEST_WHOLE = 1000
"""Parameters up to which a Jacobian of the whole network takes a second or so."""


@dataclass(frozen=True)
class NetworkByLayers:
    """A network whose layers may be counted one by one.

    Attributes:
        shape: the network.
        bounds: bounds for the dimension of a network of one layer.
        is_open: whether a Jacobian of the whole has left its dimension open.
    """

    shape: Architecture
    bounds: Callable[[Architecture], tuple[int, int]]
    is_open: bool = False

    def __post_init__(self) -> None:
        self.shape.require("a sum over layers", SHAPED)


@dataclass(frozen=True)
class LayersAlike:
    """Layers of one shape.

    Attributes:
        count: how many.
        shape: one of them, as a network of one layer.
        dimension: of its functions, where its heads are known to be determined up to order and factors; else `None`.
    """

    count: int
    shape: Architecture
    dimension: int | None

    def __post_init__(self) -> None:
        self.shape.require("a layer of a sum over layers", LIGHTNING)


def ends_dimension(shape: Architecture) -> int:
    """Return what `E` and `U` add, up to a change of basis of the stream.

    Example:
        >>> ends_dimension(Architecture((3, 3, 3), (1, 1), 2, skip=True, embed=5, unembed=4))
        18
    """
    shape.require("the dimension of both ends", LIGHTNING)
    d, n, m = shape.widths[0], shape.embed or 0, shape.unembed or 0
    return d * (n + m) - (d * d if n and m else 0)


def heads_dimension(shape: Architecture) -> int | None:
    r"""Return the dimension of the functions of one layer by a count, where general heads are determined.

    Of a head $(A, V)$ up to a factor. One head always is; several are where $H b \le d$ and $b \ge 2$, or $H a \le d$
    and $a \ge 2$, for `a`, `b` the ranks of `A` and `V`, $H \le d$.

    Example:
        >>> heads_dimension(Architecture((768, 768), (64,), 2, heads=12, value_ranks=(64,)))
        2260980
        >>> heads_dimension(Architecture((3, 3), (1,), 2, heads=2, value_ranks=(1,))) is None
        True
    """
    shape.require("the dimension of one layer", LIGHTNING)
    (d, _), (a,), heads = shape.widths, shape.attention_ranks, shape.heads
    a, b = min(a, d), min(d, *(shape.value_ranks or (d,)))
    if heads > 1 and not any(inner > 1 and heads * inner <= d for inner in (a, b)):
        return None
    return int(heads * (determinantal(d, d, a) + determinantal(d, d, b) - 1))


def layers_alike(shape: Architecture) -> Iterator[LayersAlike]:
    """Yield the layers of a network for which all of `THEOREM_2` holds, those of one shape together.

    Example:
        >>> wide = Architecture((768,) * 13, (64,) * 12, 2, heads=12, value_ranks=(64,) * 12, skip=True)
        >>> [(each.count, each.dimension) for each in layers_alike(wide)]
        [(12, 2260980)]
    """
    shape.require("the layers of a network", LIGHTNING)
    d, values = shape.widths[0], shape.value_ranks or (None,) * shape.depth
    pairs = sorted(zip(shape.attention_ranks, values, strict=True), key=str)
    for (a, b), alike in groupby(pairs):
        one = Architecture((d, d), (a,), 2, heads=shape.heads, value_ranks=None if b is None else (b,))
        yield LayersAlike(len(list(alike)), one, heads_dimension(one))


def _summed(asked: NetworkByLayers) -> tuple[int, int]:
    """Return bounds of the whole by those of the layers."""
    lower = upper = ends_dimension(asked.shape)
    for alike in layers_alike(asked.shape):
        known = alike.dimension
        low, high = asked.bounds(alike.shape) if known is None else (known, known)
        lower, upper = lower + alike.count * low, upper + alike.count * high
    return lower, upper


THEOREM_2 = (
    Need("scores that are not normalized", lambda asked: asked.shape.normalization is None),
    Need("skip connections", lambda asked: asked.shape.skip),
    Need("two layers or more", lambda asked: asked.shape.depth > 1, lambda asked: str(asked.shape.depth)),
    Need("two tokens or more", lambda asked: asked.shape.tokens > 1, lambda asked: str(asked.shape.tokens)),
    Need(
        "an embedding and an unembedding that are not narrower than the stream",
        lambda asked: has_wide_ends(asked.shape),
    ),
)
"""The hypotheses of Theorem 2 on a shape."""


def _is_asked(asked: NetworkByLayers) -> bool:
    """Return whether it is lightning with skip connections, and large enough, or its dimension is open."""
    shape = asked.shape
    large = asked.is_open or shape.parameter_count > LARGEST_WHOLE
    return bool(shape.normalization is None and shape.skip and shape.depth > 1 and large)


BY_LAYERS: tuple[TheoremRow[NetworkByLayers, tuple[int, int]], ...] = (
    TheoremRow(Evidence.LAYERS.citation, _is_asked, paid_by_steps, _summed, needs=THEOREM_2),
)
"""Both bounds of a whole network by its layers."""
