r"""When two lightning networks compute the same function because their layers are the same functions on their streams.

What a lightning layer does is its *layer tensor* $T(y; z) = \sum_h V_h y\,(y^\top A_h z)$, quadratic in the key $y$ and
linear in the query $z$: column $k$ of its output is $\sum_j T(x_j; x_k)$. So heads need not go together. As in
`common_streams` both streams are stacked, $z = (x, x')$, and a space is followed in which all columns lie: the layers
take a space $R$ to the span of all $(T, T')(y, y'; z)$, $y, y', z$ in $R$, where $T(y, y'; z)$ is the polar form, and
with skip connections of $R$ too. With one token only $T(y; y)$ is there, and its polar form in three arguments. If
$(U, -U')$ vanishes behind the last layer, the outputs agree for all inputs (docs/deep-lightning.md, Lemma 2).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

from lightning_sym.errors import BadInput
from lightning_sym.exact.subspaces import Subspace
from lightning_sym.limits import Progress, unheard
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.system.circuits import NetworkCircuits, added
from lightning_sym.system.common_streams import Summands, embedded, outputs_agree
from lightning_sym.system.fields import Q


@dataclass(frozen=True, eq=False)
class TensorStreams:
    """How far the streams of two lightning networks move together.

    Attributes:
        same: whether the outputs agree for all inputs; if not, nothing is said about them.
        reached: where the stacked stream lies, in front of each layer and behind the last one.
    """

    same: bool
    reached: tuple[Subspace, ...]

    def between(self, widths: Sequence[int]) -> dict[int, RationalMatrix]:
        """Return the matrices `G_i` with second stream = `G_i` first stream, where all of the first one is reached."""
        return {
            i: space.basis.rows(range(width, space.basis.shape[0]))
            for i, (space, width) in enumerate(zip(self.reached, widths, strict=True))
            if space.pivots == tuple(range(width))
        }


class _Images:
    """What the heads of a layer of both networks make of the columns of a basis."""

    def __init__(self, layer: Summands, parts: Sequence[RationalMatrix]) -> None:
        self.count, self._layer = parts[0].shape[1], layer
        self._scores = [head.scores(parts[side], parts[side]) for side, head in layer.heads]
        self._written = [head.carried(parts[side]) for side, head in layer.heads]

    def values(self, key: int, query: int) -> RationalMatrix:
        r"""Return $T(y_a, y_b; z_c) = \sum_h (y_a^\top A_h z_c) V_h y_b + (y_b^\top A_h z_c) V_h y_a$ for all `b`."""
        sums = [RationalMatrix.zero(rows, self.count) for rows in self._layer.behind]
        at_key, at_query = (RationalMatrix.of([[int(j == k)] for j in range(self.count)]) for k in (key, query))
        for (side, _), scores, written in zip(self._layer.heads, self._scores, self._written, strict=True):
            sought = scores @ at_query
            score = sought.rows([key]).fractions()[0, 0]
            sums[side] = sums[side] + written.scaled(score) + written @ at_key @ sought.mT
        return Q.stacked(sums)


def _one_token(images: _Images) -> Iterator[RationalMatrix]:
    """Yield the cubic forms' coefficients."""
    known = {(a, c): images.values(a, c) for a in range(images.count) for c in range(images.count)}
    unit = RationalMatrix.identity(images.count)

    def value(a: int, b: int, c: int) -> RationalMatrix:
        return known[a, c] @ unit.rows([b]).mT

    for a, b, c in combinations_with_replacement(range(images.count), 3):
        yield added([value(a, b, c), value(b, c, a), value(c, a, b)])


def tensor_streams(
    first: NetworkCircuits, second: NetworkCircuits, tokens: int, progress: Progress | None = None
) -> TensorStreams:
    """Follow the streams of two lightning networks of one form and one depth.

    Args:
        first: a network, scores not normalized.
        second: one with the same form, depth, input width and output width.
        tokens: how many tokens inputs have.
        progress: called in front of each layer.

    Raises:
        BadInput: scores are normalized.

    Example:
        >>> from lightning_sym.network.weights import Weights
        >>> from lightning_sym.network.form import NetworkForm
        >>> form = NetworkForm(skip=True)
        >>> one = {"Q1": [[1, 2]], "K1": [[3, 0]], "V1": [[5, 1], [10, 2]]}
        >>> exchanged = {"Q1": [[1, 2]], "K1": [[5, 1]], "V1": [[3, 0], [6, 0]]}
        >>> nets = [NetworkCircuits.of(Weights.of(w, form)) for w in (one, exchanged)]
        >>> tensor_streams(*nets, tokens=2).same
        True
    """
    if first.form.normalization is not None:
        raise BadInput(f"layer tensors are those of scores that are not normalized, got {first.form}")
    networks = first, second
    depth = len(first.layers)
    found = [embedded(networks)]
    for i in range(depth):
        (progress or unheard)("layer tensors", i, depth)
        layer = Summands(networks, i)
        images = _Images(layer, layer.parts(found[-1]))
        space = found[-1] if first.form.skip else Subspace.zero(sum(layer.behind))
        columns = range(images.count)
        every = _one_token(images) if tokens == 1 else (images.values(a, c) for a in columns for c in columns)
        for made in every:
            if not space.contains(made):
                space = space.extended(made)
        found.append(space)
    return TensorStreams(outputs_agree(networks, found[-1]), tuple(found))
