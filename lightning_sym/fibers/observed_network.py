r"""What reaches each layer of a softmax network and what is read behind it, over a field: what hypotheses are about.

The letters are those of section 1 of docs/transformer-fibers.md. Over GF(p) columns are at random points, which are
columns here: $M_i(\gamma_k) E \xi_k$. Over the rationals they span all that there is. A hypothesis is stated once, by
products with such columns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Generic, Protocol, TypeVar, cast

import numpy as np
import numpy.typing as npt

from lightning_sym.fibers.head_rows import HeadRows
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import SHAPED
from lightning_sym.network.weights import Weights
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix, random_residues
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.system.circuits import HeadOver, NetworkCircuits, NetworkOver, added, residue_network
from lightning_sym.system.fields import Field, M, Q, prime_field
from lightning_sym.system.reach import observed, reached

MORE = 8
"""Points beyond those that are needed."""

MOST_RESIDUES = 2**26
"""Residues of the forms of all pairs of heads at all points; of more heads these are not tested."""


T = TypeVar("T", covariant=True)


def points_needed(shape: Architecture) -> int:
    """Return points at which residues are taken: more than heads; for *Forms* of Proposition 13 than pairs of heads.

    Raises:
        BadInput: the network has an option for which the conditions are not proved.

    Example:
        >>> points_needed(Architecture((2, 2), (1,), 3, heads=4))
        12
    """
    shape.require("the conditions", SHAPED)
    heads, pairs = shape.heads, shape.heads * (shape.heads + 1) // 2
    forms = shape.tokens == 2 and shape.causal and shape.skip and shape.depth > 1
    return MORE + (pairs if forms and (heads + 1) ** 2 * heads * pairs <= MOST_RESIDUES else heads)


class ObservedNetwork(ABC, Generic[M]):
    """A network over a field, and columns that stand for all that reaches a layer, or is read behind it.

    Attributes:
        net: its circuits.
        shape: the network.
        field: where its matrices are; its spaces are given by columns that stand for them.
        prime: `None` over the rationals.
    """

    prime: int | None = None

    def __init__(self, net: NetworkOver[M], shape: Architecture, field: Field[M, Any]) -> None:
        shape.require("the conditions", SHAPED)
        self.net, self.shape, self.field = net, shape, field

    @abstractmethod
    def products(self, left: M, right: M) -> npt.NDArray[Any]:
        """Return the products of the columns on the left with those on the right."""

    @abstractmethod
    def beside(self, columns: M) -> M:
        """Return the same columns, in an order in which `products` with the columns multiplies independent ones."""

    # ---- what reaches a layer, and what is read behind it

    @cached_property
    def reached(self) -> list[M]:
        r"""$M_i(\gamma) E \xi$ for $i = 0, \dots, l$."""
        return [space.basis for space in reached(self.net, self.field)]

    @cached_property
    def written(self) -> list[M]:
        r"""$N_i(\gamma) E \xi$ for $i = 0, \dots, l - 1$."""
        layers = zip(self.reached, self.net.layers[:-1], strict=False) if self.net.skip else ()
        written = [self.combined([head.carried(x) for head in heads]) for x, heads in layers]
        return [self.reached[0], *written] if self.net.skip else self.reached

    @cached_property
    def readers(self) -> list[M]:
        r"""The transposes of $\rho^\top U T_i(\gamma)$ for $i = 0, \dots, l$."""
        return [space.basis for space in observed(self.net, self.field, scores=False)][::-1]

    def combined(self, parts: Sequence[M]) -> M:
        """Return columns that stand for all combinations of the columns of matrices."""
        return cast(M, self.field.no_columns(parts[0].shape[0]).extended(*parts).basis)

    @cached_property
    def first(self) -> list[M]:
        r"""$S_i \eta$ for $i = 0, \dots, l$."""
        return self.net.first(self.field.identity(self.shape.input_width))

    @cached_property
    def means(self) -> list[M]:
        r"""The transposes of $\rho^\top Y_i$ for $i = 0, \dots, l$."""
        return self.net.means(self.field.identity(self.shape.output_width))

    # ---- a row for each head of layer i

    def rows(self, i: int, row: Callable[[HeadOver[M]], npt.NDArray[Any]]) -> HeadRows:
        """Return a row for each head."""
        return HeadRows(np.array([row(head).ravel() for head in self.net.layers[i - 1]]), self.prime)

    def scores(self, i: int) -> HeadRows:
        r"""Return rows of $(N_{i-1}(\gamma) E \xi)^\top A_{ih} S_{i-1} \eta$, one for each head."""
        keys, queries = self.written[i - 1], self.first[i - 1]
        return self.rows(i, lambda head: self.products(head.offered(keys), head.query @ queries))

    def scores_of_words(self, i: int) -> HeadRows:
        r"""Return rows of $(N_{i-1}(\gamma) E \xi)^\top A_{ih} M_{i-1}(\gamma') E \eta$, one for each head."""
        keys, queries = self.written[i - 1], self.beside(self.reached[i - 1])
        return self.rows(i, lambda head: self.products(head.offered(keys), head.query @ queries))

    def first_scores(self, i: int) -> HeadRows:
        r"""Return rows of $(M_{i-1}(\gamma) E \xi)^\top A_{ih} S_{i-1} \eta$, twice, one for each head."""
        keys, queries = self.reached[i - 1], self.first[i - 1]
        rows = self.rows(i, lambda head: self.products(head.offered(keys), head.query @ queries))
        return rows.beside(rows)

    def forms_of_words(self, i: int) -> HeadRows:
        r"""Return the forms $A_{ih}$ on all that reaches the layer, and then $A_{ih}^\top$ there."""
        x = self.reached[i - 1]
        y = self.beside(x)
        forms = self.rows(i, lambda head: self.products(head.offered(x), head.query @ y))
        return forms.beside(self.rows(i, lambda head: self.products(head.query @ x, head.offered(y))))

    def quadratic(self, i: int, x: M) -> HeadRows:
        """Return rows of twice the quadratic forms of the heads at these columns."""

        def row(head: HeadOver[M]) -> npt.NDArray[Any]:
            keys, queries = head.offered(x), head.query @ x
            found: npt.NDArray[Any] = self.products(keys, queries) + self.products(queries, keys)
            return found

        return self.rows(i, row)

    def squares(self, i: int) -> HeadRows | None:
        r"""Return rows of $q_{A_{ih}}(N_{i-1}(\gamma) E \xi)$; `None` where that is not written out."""
        return self.quadratic(i, self.written[i - 1])

    def seen(self, i: int, above: M, below: M) -> HeadRows:
        """Return what is seen above of what each head carries from below."""
        return self.rows(i, lambda head: self.products(above, head.carried(below)))

    def seen_of_words(self, i: int) -> HeadRows:
        """Return what of each head is seen, on every word."""
        return self.seen(i, self.readers[i], self.reached[i - 1])


@dataclass(frozen=True, eq=False)
class _AtPoints:
    """A random vector of a space at each point; its dimension is not known."""

    random: Callable[[int], PrimeFieldMatrix]
    basis: PrimeFieldMatrix | None = None
    dimension: None = None

    def extended(self, *matrices: PrimeFieldMatrix) -> _AtPoints:
        """Return a random combination at each point."""
        parts = matrices if self.basis is None else (self.basis, *matrices)
        if len(parts) == 1:
            return _AtPoints(self.random, *parts)
        factors = self.random(len(parts)).entries  # drawn at once, which is faster
        scaled = [part * PrimeFieldMatrix(row, part.prime) for part, row in zip(parts, factors, strict=True)]
        return _AtPoints(self.random, added(scaled))


class NetworkAtPoints(ObservedNetwork[PrimeFieldMatrix]):
    """A network modulo a prime, at random points. What is not zero there is not zero."""

    prime: int

    def __init__(
        self,
        net: NetworkOver[PrimeFieldMatrix],
        shape: Architecture,
        prime: int,
        generator: np.random.Generator,
        count: int,
    ) -> None:
        self.prime, self._generator, self.count = prime, generator, count
        base, no_columns = prime_field(prime), _AtPoints(self._vectors)
        field = Field(base.of, base.entries, base.rank, base.stacked, self._vectors, lambda rows: no_columns)
        super().__init__(net, shape, field)

    @classmethod
    def of(
        cls, weights: Weights, tokens: int, seed: int = 0, *, idle_heads: bool = True, primes: Sequence[int] = PRIMES
    ) -> NetworkAtPoints:
        """Return the network at as many random points as the rows of heads need.

        Args:
            weights: the network, softmax, at least two tokens.
            tokens: $t$.
            seed: picks the points.
            idle_heads: keep heads whose values are 0 too.
            primes: the first that divides no denominator is taken.
        """
        net, prime = residue_network(weights, idle_heads=idle_heads, primes=primes)
        shape = weights.architecture(tokens)
        return cls(net, shape, prime, np.random.default_rng(seed), points_needed(shape))

    @cached_property
    def at_more_points(self) -> NetworkAtPoints:
        """The same network at more points than the widest stream has coordinates, for ranks of streams."""
        return NetworkAtPoints(self.net, self.shape, self.prime, self._generator, max(self.net.widths) + MORE)

    def _vectors(self, size: int) -> PrimeFieldMatrix:
        return random_residues(self._generator, (size, self.count), self.prime)

    def products(self, left: PrimeFieldMatrix, right: PrimeFieldMatrix) -> npt.NDArray[np.int64]:
        """Return the products of column with column."""
        residues: npt.NDArray[np.int64] = (left * right).entries.sum(axis=0).astype(np.int64)
        return residues

    def beside(self, columns: PrimeFieldMatrix) -> PrimeFieldMatrix:
        """Return at each point the column of the next one."""
        return PrimeFieldMatrix(np.roll(columns.entries, 1, axis=1), self.prime)

    def flip_forms(self, i: int) -> HeadRows | None:
        """Return *Forms* of Proposition 13 of layer `i`, not the last; `None` for more heads than points allow."""
        heads, above = self.net.layers[i - 1], self.net.layers[i]
        size = len(heads)
        if size * (size + 1) // 2 > self.count:
            return None
        u = self.first[i - 1]
        v, c = [head.carried(u) for head in heads], self.net.after(i, u)
        # entries q_g(v_h, v_h') for all heads g of the next layer, points in one axis; number 0 is c
        keys, queries = (
            [[w @ x for x in (c, *v)] for w in part] for part in zip(*((g.key, g.query) for g in above), strict=True)
        )

        def scored(left: int, right: int) -> npt.NDArray[np.int64]:
            return np.concatenate([self.products(k[left], q[right]) for k, q in zip(keys, queries, strict=True)])

        places = range(1, size + 1)
        rows = [scored(0, h) - scored(h, h) for h in places]
        rows += [-scored(h, j) - scored(j, h) for h, j in combinations(places, 2)]
        return HeadRows(np.array(rows), self.prime, pairs=True)


class NetworkSpaces(ObservedNetwork[RationalMatrix]):
    """A network over the rationals, and bases of the spaces of all that reaches a layer, or is read behind it."""

    def __init__(self, weights: Weights, tokens: int, *, idle_heads: bool = True) -> None:
        net = NetworkCircuits.of(weights, idle_heads=idle_heads).in_memory()
        super().__init__(net, weights.architecture(tokens), Q)

    def products(self, left: RationalMatrix, right: RationalMatrix) -> npt.NDArray[Any]:
        """Return all products."""
        return (left.mT @ right).fractions()

    def beside(self, columns: RationalMatrix) -> RationalMatrix:
        """Return the columns as they are: `products` multiplies all with all."""
        return columns

    def squares(self, i: int) -> HeadRows | None:
        """Return the squares in the first two layers, and with skips behind an onto embedding; else `None`."""
        if i == 1:
            return super().squares(i)
        if i > 2 and not (self.net.skip and self.reached[0].rank() == self.net.widths[0]):
            return None
        inner = self.reached[0] if i == 2 else RationalMatrix.identity(self.net.widths[0])
        columns = [head.carried(inner) for head in self.net.layers[i - 2]]
        pairs = [(b, c) for n, b in enumerate(columns) for c in columns[n:]]

        def row(head: HeadOver[RationalMatrix]) -> npt.NDArray[Any]:
            halves = (head.scores(b, c) + head.scores(c, b).mT for b, c in pairs)
            return np.concatenate([(half + half.mT).fractions().ravel() for half in halves])

        return self.rows(i, row)


class OfLayer(Protocol[T]):
    """What a layer, or a space, of a network shows, in the same way over any field."""

    def __call__(self, net: ObservedNetwork[M], i: int, /) -> T: ...
