r"""The circuits of a network: all that its function sees of a head is $A = K^\top Q$ and $V$, or $O V$.

Where queries look (QK) and what is carried over (OV). They are multiplied when they are asked for, layer by layer: all
heads of a large model together would not fit into memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from lightning_sym.network.architecture import Architecture
from lightning_sym.network.form import NetworkForm
from lightning_sym.network.pieces import SHAPED
from lightning_sym.network.weights import Weights
from lightning_sym.rings.rationals import RationalMatrix


@dataclass(frozen=True, eq=False)
class HeadCircuits:
    """What the function sees of a head.

    Attributes:
        attention: $A$, `d x d`: the score of key `y` for query `x` is $y^T A x$.
        value: $V$, or $O V$, `d' x d`.
    """

    attention: RationalMatrix
    value: RationalMatrix

    def __iter__(self) -> Iterator[RationalMatrix]:
        return iter((self.attention, self.value))

    def scores(self, keys: RationalMatrix, queries: RationalMatrix) -> RationalMatrix:
        """The scores of all columns of `keys` for all columns of `queries`."""
        return keys.mT @ self.attention @ queries

    def carried(self, columns: RationalMatrix) -> RationalMatrix:
        """The value matrix times columns."""
        return self.value @ columns


class _Factored(HeadCircuits):
    """A head by the matrices that it is given by: what is wide is multiplied last."""

    def __init__(
        self, query: RationalMatrix, key: RationalMatrix, value: RationalMatrix, output: RationalMatrix | None
    ) -> None:
        self.__dict__.update(factors=(query, key, value, output))

    @cached_property
    def attention(self) -> RationalMatrix:
        query, key, _, _ = self.__dict__["factors"]
        found: RationalMatrix = key.mT @ query
        return found

    @cached_property
    def value(self) -> RationalMatrix:
        _, _, value, output = self.__dict__["factors"]
        found: RationalMatrix = value if output is None else output @ value
        return found

    def scores(self, keys: RationalMatrix, queries: RationalMatrix) -> RationalMatrix:
        query, key, _, _ = self.__dict__["factors"]
        found: RationalMatrix = (key @ keys).mT @ (query @ queries)
        return found

    def carried(self, columns: RationalMatrix) -> RationalMatrix:
        _, _, value, output = self.__dict__["factors"]
        found: RationalMatrix = value @ columns if output is None else output @ (value @ columns)
        return found


@dataclass(frozen=True)
class _Heads:
    """The heads of a layer, which is counted from 1; each iteration multiplies them anew."""

    weights: Weights
    shape: Architecture  # once for all layers, for it takes all of them to find it
    layer: int

    def __iter__(self) -> Iterator[HeadCircuits]:
        shape = self.shape
        for head in range(1, shape.heads + 1):
            name = str(self.layer) if shape.heads == 1 else f"{self.layer}.{head}"
            query, key, value = (RationalMatrix.of(self.weights.held(c + name)) for c in "QKV")
            output = None if shape.value_ranks is None else RationalMatrix.of(self.weights.held(f"O{name}"))
            yield _Factored(query, key, value, output)


@dataclass(frozen=True, eq=False)
class NetworkCircuits:
    """A network by its circuits: as many heads in a layer as there are, zero or more.

    Attributes:
        embed: `d_0 x n`, the identity where the network has no embedding.
        layers: the heads of each layer; of weights they are multiplied whenever a layer is gone through.
        widths: $(d_0, ..., d_l)$.
        unembed: `m x d_l`, the identity where the network has no unembedding.
        form: normalization, mask and skip connections.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[3, 0]], "V1": [[5, 0]], "O1": [[1], [2]]})
        >>> [head] = NetworkCircuits.of(w).layers[0]
        >>> head.attention.fractions().tolist()[0], head.value.shape
        ([Fraction(3, 1), Fraction(6, 1)], (2, 2))
    """

    embed: RationalMatrix
    layers: Sequence[Iterable[HeadCircuits]]
    widths: tuple[int, ...]
    unembed: RationalMatrix
    form: NetworkForm

    @classmethod
    def of(cls, weights: Weights) -> NetworkCircuits:
        """The circuits of weights.

        Raises:
            BadInput: there are letters, or an option whose weights are not known.
        """
        weights.require_numbers()
        shape, named = weights.architecture(1), weights.all_held
        shape.require("the circuits of a network", SHAPED)
        embed, unembed = (
            RationalMatrix.of(named[name]) if name in named else RationalMatrix.identity(width)
            for name, width in (("E", shape.widths[0]), ("U", shape.widths[-1]))
        )
        layers = tuple(_Heads(weights, shape, i) for i in range(1, shape.depth + 1))
        return cls(embed, layers, shape.widths, unembed, weights.form)
