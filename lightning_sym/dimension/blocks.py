r"""Residual softmax transformers of any size: their dimension by a theorem, and by ranks of their own matrices.

$X \mapsto U (1 + L_l) \cdots (1 + L_1) E X$, each layer the sum over its heads of $O V X P$, `P` the softmax pattern of
$(K X)^\top Q X$, masked or not, two tokens or more, `E` and `U` of rank `d` or not there. Heads may share keys and
values in groups, and `U` may be $E^\top$.

Upper bound: the function sees the products $K^\top Q$ and $O V$ alone, up to changes of basis of the stream. Lower
bound: at *one* point, where (1) `E` and `U` have rank `d`, (2) every $O V$ is not zero, (3) $1 + \sum O V$ is
invertible in all layers but the last, (4) `Q`, `K`, `V`, `O` have their full ranks, the kernel of the differential
is not larger (`docs/transformers.md`, Proposition 18). So it is enough to look at matrices of the size of one layer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lightning_sym.ask import Need, failing
from lightning_sym.errors import ProgramError, TooLarge
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.limits import Progress, require_memory, unheard
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import SHAPED
from lightning_sym.rings.normalization import SOFTMAX
from lightning_sym.rings.prime_field import PRIMES, matmul_mod, random_residues, reduce_mod

MOST_WORK = 2 * 10**13
"""Multiplications of the ranks: a quarter of an hour or so on two cores."""

EACH = 500_000
"""Multiplications that a rank takes as long as, however small its matrix is."""

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Layers:
    """Layers that are alike.

    Attributes:
        count: how many.
        a: query/key width of a head.
        b: value width of a head; `None` where a head has one matrix $V$, `d x d`, and no output projection.
    """

    count: int
    a: int
    b: int | None


@dataclass(frozen=True)
class Transformer:
    """The shape of a residual softmax transformer; its mask and its number of tokens, two or more, do not matter.

    Attributes:
        width: `d`.
        layers: from the first to the last.
        heads: of a layer.
        groups: heads of one group share keys and values; as many groups as heads where none do.
        embed: `n`, at least `d`, or `None`.
        unembed: `m`, at least `d`, or `None`.
        tied: whether the unembedding is the transposed embedding.

    Example:
        >>> gpt2 = Transformer(768, (Layers(12, 64, 64),), 12, 12, 50257, 50257, False)
        >>> gpt2.parameters, gpt2.dimension
        (105506304, 103736832)
    """

    width: int
    layers: tuple[Layers, ...]
    heads: int
    groups: int
    embed: int | None
    unembed: int | None
    tied: bool

    @property
    def depth(self) -> int:
        """Number of layers."""
        return sum(each.count for each in self.layers)

    @property
    def parameters(self) -> int:
        """Entries of all weights; those of tied embeddings count once."""
        d, total = self.width, self.width * ((self.embed or 0) + (0 if self.tied else self.unembed or 0))
        for each in self.layers:
            values = self.heads * d * d if each.b is None else (self.heads + self.groups) * each.b * d
            total += each.count * ((self.heads + self.groups) * each.a * d + values)
        return total

    @property
    def basis_changes(self) -> int:
        """Dimension of the group of changes of basis of the stream."""
        d = self.width
        if self.tied:
            return d * (d - 1) // 2
        return d * d if self.embed is not None and self.unembed is not None else 0

    @property
    def dimension(self) -> int:
        """The number of Proposition 18: of the variety of all products, less the changes of basis."""
        d, share = self.width, self.heads // self.groups
        total = self.parameters - self.basis_changes
        for each in self.layers:
            for inner in (each.a, each.b):
                if inner is not None:
                    rank = min(inner, d)
                    factors, products = (1 + share) * inner * d, rank * (d + share * d - rank)
                    total -= each.count * self.groups * (factors - products)
        return total

    @property
    def work(self) -> int:
        """Multiplications that the ranks of `certify` take, about."""
        d = self.width
        total = 0
        for each in self.layers:
            values = 0 if each.b is None else self.groups * each.b * d * d
            small = sum(min(inner, d) ** 3 for inner in (each.a, each.b or 1))
            begun = EACH * (2 * (self.heads + self.groups) + 1)
            total += each.count * (begun + values + d**3 + 2 * self.heads * small + self.heads * (each.b or d) * d)
        return total


class BlockRanks(NamedTuple):
    """A lower bound from ranks of a network's own matrices.

    Attributes:
        lower: parameters less what the kernel of the differential may at most be.
        prime: the modulus.
        matrices: how many were found to have full rank.
    """

    lower: int
    prime: int
    matrices: int


def has_wide_ends(shape: Architecture) -> bool:
    """Return whether embedding and unembedding are not narrower than the stream, or not there."""
    shape.require("the width of the ends", SHAPED)
    return all(n is None or n >= shape.widths[0] for n in (shape.embed, shape.unembed))


RESIDUAL = (
    Need("softmax", lambda shape: shape.normalization == SOFTMAX),
    Need("skip connections", lambda shape: shape.skip),
    Need("two tokens or more", lambda shape: shape.tokens >= 2),
    Need("an embedding and an unembedding that are not narrower than the stream", has_wide_ends),
)
"""The hypotheses of Proposition 18 on a shape."""


def transformer_of(architecture: Architecture) -> Transformer | None:
    """Return the shape, where Proposition 18 is about this network, else `None`.

    Raises:
        BadInput: the network has an option for which nothing is proved.

    Example:
        >>> transformer_of(Architecture((3, 3), (1,), 2, SOFTMAX, skip=True)).dimension
        14
        >>> transformer_of(Architecture((3, 3), (1,), 2, SOFTMAX)) is None
        True
    """
    architecture.require("the dimension of transformers", SHAPED)
    return residual(architecture) if failing(architecture, RESIDUAL) is None else None


def residual(architecture: Architecture) -> Transformer:
    """Return the shape of a network for which all of `RESIDUAL` holds."""
    architecture.require("the dimension of transformers", SHAPED)
    values = architecture.value_ranks or (None,) * architecture.depth
    pairs = zip(architecture.attention_ranks, values, strict=True)
    layers = tuple(Layers(len(list(alike)), a, b) for (a, b), alike in groupby(pairs))
    heads, ends = architecture.heads, (architecture.embed, architecture.unembed)
    return Transformer(architecture.widths[0], layers, heads, heads, *ends, tied=False)


class _DrawnWeights:
    """Integer weights modulo `p`, drawn layer by layer; what they prove of the rank of the differential."""

    def __init__(self, shape: Transformer, generator: np.random.Generator, p: int) -> None:
        d, ends = shape.width, [n for n in (shape.embed, shape.unembed) if n is not None]
        self.shape, self.generator, self.p, self.matrices = shape, generator, p, 0
        # all directions of E and U but those of a change of basis of the stream, none where one of both is not there
        self.rank = d * ends[0] - d * (d - 1) // 2 if shape.tied else d * sum(ends) - d * d * (len(ends) == 2)

    def draw(self, rows: int, columns: int) -> _Floats:
        return random_residues(self.generator, (rows, columns), self.p).entries

    def full(self, square: _Floats) -> bool:
        """Return whether a square matrix is invertible."""
        good = rank_mod_p(square, self.p) == len(square)
        self.matrices += good
        return good

    def count(self, inner: int) -> None:
        """Add the rank of the differential of the products of one group whose factors have full ranks."""
        d, share, k = self.shape.width, self.shape.heads // self.shape.groups, min(inner, self.shape.width)
        # d(O V) = dO V + O dV: dO V is any matrix with rows in a space of dimension k, O dV with columns in one
        self.rank += share * d * k + k * d - k * k

    def layer(self, each: Layers, *, last: bool) -> bool:
        """Return whether conditions (2) to (4) hold for one layer; of oblong matrices a minor is looked at."""
        shape, d, p = self.shape, self.shape.width, self.p
        k = min(each.a, d)
        if not all(self.full(self.draw(k, k)) for _ in range(shape.heads + shape.groups)):
            return False
        total = np.eye(d)
        for _ in range(shape.groups):
            outputs = np.zeros((d, each.b or d))
            values = None if each.b is None else self.draw(each.b, d)
            for _ in range(shape.heads // shape.groups):
                output = self.draw(*outputs.shape)
                outputs = reduce_mod(outputs + output, p)
                if values is None:
                    seen = output
                else:
                    k = min(values.shape)
                    if not self.full(output[:k, :k]):
                        return False
                    seen = matmul_mod(output[:1], values, p)
                if not reduce_mod(seen, p).any():
                    return False
            if values is not None:
                if not self.full(values[:k, :k]):
                    return False
                self.count(values.shape[0])
                outputs = matmul_mod(outputs, values, p)
            else:
                self.rank += d * d
            self.count(each.a)
            if not last:
                total = reduce_mod(total + outputs, p)
        return last or self.full(total)


def _each_layer(shape: Transformer) -> Iterator[tuple[Layers, bool]]:
    every = (each for each in shape.layers for _ in range(each.count))
    yield from ((each, False) for each, _ in pairwise(every))
    yield shape.layers[-1], True


def require_affordable(shape: Transformer, memory: int, work: int = MOST_WORK) -> None:
    """Refuse, with the estimate, ranks that would take too much memory or time.

    Raises:
        TooLarge: they would.
    """
    d, widest = shape.width, max(each.b or shape.width for each in shape.layers)
    require_memory(8 * (4 * d * d + 5 * widest * d), memory, f"the matrices of one layer of width {d:,}")
    if shape.work > work:
        raise TooLarge(
            f"the ranks of the matrices of {shape.depth:,} layers must take at most {work:.0e} multiplications, "
            f"estimated {float(shape.work):.1e}"
        )


def certify(shape: Transformer, *, seed: int, memory: int, progress: Progress | None = None) -> BlockRanks:
    """Find integer weights that meet the conditions of Proposition 18 modulo a prime, hence over the rationals.

    `E` and `U` are unit matrices filled up with zeros, all else is random. Four points, each modulo its own prime, are
    tried.

    Args:
        shape: the transformer.
        seed: picks the points.
        memory: bytes that the matrices may take.
        progress: called as `progress(stage, done, total)`.

    Raises:
        TooLarge: the matrices exceed `memory`, or their ranks take too long.
        ProgramError: no point was found, which happens by chance once in 10^18 times or so.

    Example:
        >>> certify(Transformer(8, (Layers(3, 2, 4),), 2, 1, 9, 9, True), seed=0, memory=2**20)
        BlockRanks(lower=416, prime=4194301, matrices=20)
    """
    require_affordable(shape, memory)
    for attempt, p in enumerate(PRIMES, start=1):
        point = _DrawnWeights(shape, np.random.default_rng([seed, attempt]), p)
        for done, (each, last) in enumerate(_each_layer(shape)):
            (progress or unheard)(f"ranks of the matrices of layers modulo {p}", done, shape.depth)
            if not point.layer(each, last=last):
                break
        else:
            return BlockRanks(point.rank, p, point.matrices)
    raise ProgramError(f"no weights of full ranks were found for {shape}")
