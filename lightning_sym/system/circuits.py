r"""The circuits of a network, over any field: all that its function sees of a head is $A = K^\top Q$ and $V$, or $O V$.

Where queries look (QK) and what is carried over (OV). A head is held by its factors, and every product is one with
columns: no matrix of the size of a form is made unless it is asked for. Over the rationals heads are made whenever they
are asked for: those of all layers of a large model together would not fit into memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Generic

from lightning_sym.errors import BadInput
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.form import NetworkForm
from lightning_sym.network.pieces import ENDS, HEAD_FACTORS, SHAPED
from lightning_sym.network.weights import Weights
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix, modulo_a_prime
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.system.fields import Field, M, Q, S, prime_field


@dataclass(frozen=True, eq=False)
class HeadOver(Generic[M]):
    """What the function sees of a head, by factors.

    Attributes:
        query: `a x d`; without keys it is $A$ itself.
        inner_value: `b x d`, with an output projection; or `d' x d`, without.
        key: `a x d`, a matrix like the others, or `None`.
        output: `d' x b`, likewise.
    """

    query: M
    inner_value: M
    key: Any = None
    output: Any = None

    @cached_property
    def attention(self) -> M:
        """$A$, `d x d`: the score of key `y` for query `x` is $y^T A x$."""
        attention: M = self.query if self.key is None else self.key.mT @ self.query
        return attention

    @cached_property
    def value(self) -> M:
        """$V$, or $O V$, `d' x d`."""
        value: M = self.inner_value if self.output is None else self.output @ self.inner_value
        return value

    def scores(self, keys: M, queries: M) -> M:
        """Return the scores of all columns of `keys` for all columns of `queries`."""
        scores: M = self.offered(keys).mT @ (self.query @ queries)
        return scores

    def attended(self, columns: M) -> M:
        """Return the attention matrix times columns."""
        sought = self.query @ columns
        attended: M = sought if self.key is None else self.key.mT @ sought
        return attended

    def offered(self, columns: M) -> M:
        """Return the keys of columns: what queries are multiplied with."""
        offered: M = columns if self.key is None else self.key @ columns
        return offered

    def carried(self, columns: M) -> M:
        """Return the value matrix times columns."""
        inside = self.inner_value @ columns
        carried: M = inside if self.output is None else self.output @ inside
        return carried

    def read(self, columns: M) -> M:
        """Return the transpose of the value matrix times columns."""
        read: M = self.inner_value.mT @ (columns if self.output is None else self.output.mT @ columns)
        return read

    @property
    def score_forms(self) -> tuple[M, M]:
        """The forms, as columns, by which keys and queries read the stream."""
        return (self.query if self.key is None else self.key.mT), self.query.mT

    @property
    def factors(self) -> tuple[M, M, M | None, M | None]:
        """All of them, in the order of the letters of their names."""
        return self.query, self.inner_value, self.key, self.output

    @property
    def products(self) -> list[tuple[M, M]]:
        """The products that the function sees, each by its two factors: of scores, and of values if it is one."""
        scores = [] if self.key is None else [(self.key.mT, self.query)]
        return scores if self.output is None else [*scores, (self.output, self.inner_value)]

    def each(self, function: Callable[[M], S]) -> HeadOver[S]:
        """Return the head with a function applied to every factor."""
        more = (None if factor is None else function(factor) for factor in (self.key, self.output))
        return HeadOver(function(self.query), function(self.inner_value), *more)

    def named(self, where: str) -> dict[str, M]:
        """Return the factors by their names; `where` is what stands behind the letters, such as `1.2`."""
        return {c + where: m for c, m in zip(HEAD_FACTORS, self.factors, strict=True) if m is not None}


@dataclass(frozen=True)
class _LayerHeads(Sequence[HeadOver[M]]):
    """The heads of a layer, each made anew whenever it is asked for."""

    names: Sequence[str]
    with_output: bool
    held: Callable[[str], M]

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, head: int) -> HeadOver[M]:  # type: ignore[override]
        letters = HEAD_FACTORS if self.with_output else HEAD_FACTORS[:-1]
        return HeadOver(*(self.held(letter + self.names[head]) for letter in letters))


@dataclass(frozen=True, eq=False)
class NetworkOver(Generic[M]):
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

    embed: M
    layers: Sequence[Sequence[HeadOver[M]]]
    widths: tuple[int, ...]
    unembed: M
    form: NetworkForm

    @classmethod
    def of(cls, weights: Weights, *, idle_heads: bool = True) -> NetworkOver[RationalMatrix]:
        """Return the circuits of weights, over the rationals.

        Args:
            weights: exact weights.
            idle_heads: keep heads whose values are 0; without them layers may have fewer heads than the shape says.

        Raises:
            BadInput: there are letters, or an option whose weights are not known.
        """
        weights.require_numbers()
        idle = None if idle_heads else partial(_is_zero, weights)
        return circuits_over(Q, weights.architecture(1), lambda name: Q.of(weights.held(name)), idle)

    @property
    def skip(self) -> bool:
        """Whether layers add their input."""
        return self.form.skip

    @property
    def ends(self) -> dict[str, M]:
        """Embedding and unembedding by their names."""
        return dict(zip(ENDS, (self.embed, self.unembed), strict=True))

    def in_memory(self) -> NetworkOver[M]:
        """Return the same network with all heads made once and kept."""
        return replace(self, layers=[list(heads) for heads in self.layers])

    def embedded(self, columns: M) -> M:
        """Return `E` times columns."""
        embedded: M = self.embed @ columns
        return embedded

    def before_unembedding(self, columns: M) -> M:
        """Return the transpose of `U` times columns."""
        found: M = self.unembed.mT @ columns
        return found

    def after(self, i: int, columns: M) -> M:
        """Return `C_i` times columns, `i` from 1: all that layer `i` writes if each pattern is one."""
        return self._total(columns, [head.carried(columns) for head in self.layers[i - 1]])

    def before(self, i: int, columns: M) -> M:
        """Return the transpose of `C_i` times columns."""
        return self._total(columns, [head.read(columns) for head in self.layers[i - 1]])

    def _total(self, columns: M, parts: Sequence[M]) -> M:
        return added([columns, *parts] if self.skip else parts)

    def first(self, columns: M) -> list[M]:
        """Return `S_0, ..., S_l` times columns."""
        found = [self.embedded(columns)]
        for i in range(1, len(self.layers) + 1):
            found.append(self.after(i, found[-1]))
        return found

    def means(self, columns: M) -> list[M]:
        """Return the transposes of `Y_0, ..., Y_l` times columns."""
        found = [self.before_unembedding(columns)]
        for i in range(len(self.layers), 0, -1):
            found.append(self.before(i, found[-1]))
        return found[::-1]


HeadCircuits = HeadOver[RationalMatrix]
NetworkCircuits = NetworkOver[RationalMatrix]


def added(matrices: Sequence[M]) -> M:
    """Return the sum of one matrix or more."""
    total = matrices[0]
    for matrix in matrices[1:]:
        total = total + matrix
    return total


def circuits_over(
    field: Field[M, S], shape: Architecture, held: Callable[[str], M], idle: Callable[[str], bool] | None = None
) -> NetworkOver[M]:
    """Return a network by its matrices over a field.

    Args:
        field: where the matrices are.
        shape: the network.
        held: gives a matrix by its name, such as `Q1.2`.
        idle: says by the name of its values whether a head is to be left out.

    Raises:
        BadInput: an option whose weights are not known.
    """
    layers = [layer_heads(shape, i, held, idle) for i in range(1, shape.depth + 1)]
    embed, unembed = (
        field.identity(width) if option is None else held(name)
        for name, option, width in zip(
            ENDS, (shape.embed, shape.unembed), (shape.widths[0], shape.widths[-1]), strict=True
        )
    )
    return NetworkOver(embed, layers, shape.widths, unembed, NetworkForm.of(shape))


def layer_heads(
    shape: Architecture, layer: int, held: Callable[[str], M], idle: Callable[[str], bool] | None = None
) -> Sequence[HeadOver[M]]:
    """Return the heads of a layer, from 1, each made whenever it is asked for; arguments as above.

    Raises:
        BadInput: an option whose weights are not known.
    """
    shape.require("the heads of a layer", SHAPED)
    names = shape.head_names(layer)
    kept = [name for name in names if idle is None or not idle("V" + name)]
    return _LayerHeads(kept, shape.value_ranks is not None, held)


def factor_names(shape: Architecture) -> dict[str, HeadOver[str]]:
    """Return by what stands behind letters, such as `1.2`, the names of the factors of each head.

    Raises:
        BadInput: an option whose weights are not known.

    Example:
        >>> factor_names(Architecture((2, 1), (3,), 2, heads=2))["1.2"].key
        'K1.2'
    """
    layers = range(1, shape.depth + 1)
    return {name: h for i in layers for name, h in zip(shape.head_names(i), layer_heads(shape, i, str), strict=True)}


def residue_network(
    weights: Weights, *, idle_heads: bool = True, primes: Sequence[int] = PRIMES
) -> tuple[NetworkOver[PrimeFieldMatrix], int]:
    """Return the network modulo the first of `primes` that divides no denominator, and this prime.

    Raises:
        BadInput: there is none, or there are letters.
    """
    weights.require_numbers()
    if (found := modulo_a_prime(weights.all_held, primes)) is None:
        raise BadInput(f"denominators must not be divisible by each of the primes {', '.join(map(str, primes))}")
    p, held = found
    idle = None if idle_heads else partial(_is_zero, weights)
    return circuits_over(prime_field(p), weights.architecture(1), held.__getitem__, idle).in_memory(), p


def _is_zero(weights: Weights, name: str) -> bool:
    return not weights.held(name).any()
