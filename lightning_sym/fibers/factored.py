"""A network by its factors over a field: every product is one with columns, no matrix of the size of a form is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from lightning_sym.errors import BadInput
from lightning_sym.network.pieces import SHAPED
from lightning_sym.network.weights import Weights
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix

M = TypeVar("M", bound=Any)


@dataclass(frozen=True)
class FactoredHead(Generic[M]):
    """Queries and keys, `a x d`; values, `b x d`, with an output projection, or `d' x d` without."""

    query: M
    key: M
    value: M
    output: M | None

    def carried(self, columns: M) -> M:
        """`V`, or `O V`, times columns."""
        inside = self.value @ columns
        carried: M = inside if self.output is None else self.output @ inside
        return carried

    def read(self, columns: M) -> M:
        """Its transpose times columns."""
        read: M = self.value.mT @ (columns if self.output is None else self.output.mT @ columns)
        return read

    def scores(self, keys: M, queries: M) -> M:
        """The scores of all keys for all queries."""
        scores: M = (self.key @ keys).mT @ (self.query @ queries)
        return scores


@dataclass(frozen=True)
class FactoredNetwork(Generic[M]):
    """A network with matrices over a field.

    Attributes:
        embed, unembed: `None` where there is none.
        layers: heads, layer by layer.
        widths: $(d_0, ..., d_l)$.
        skip: whether layers add their input.
    """

    embed: M | None
    layers: tuple[tuple[FactoredHead[M], ...], ...]
    unembed: M | None
    widths: tuple[int, ...]
    skip: bool

    def embedded(self, columns: M) -> M:
        """`E` times columns."""
        embedded: M = columns if self.embed is None else self.embed @ columns
        return embedded

    def before_unembedding(self, columns: M) -> M:
        """The transpose of `U` times columns."""
        found: M = columns if self.unembed is None else self.unembed.mT @ columns
        return found

    def after(self, i: int, columns: M) -> M:
        """`C_i` times columns, `i` from 1."""
        return self._total(columns, [head.carried(columns) for head in self.layers[i - 1]])

    def before(self, i: int, columns: M) -> M:
        """The transpose of `C_i` times columns."""
        return self._total(columns, [head.read(columns) for head in self.layers[i - 1]])

    def _total(self, columns: M, parts: Sequence[M]) -> M:
        return added([columns, *parts] if self.skip else parts)

    def first(self, columns: M) -> list[M]:
        """`S_0, ..., S_l` times columns."""
        found = [self.embedded(columns)]
        for i in range(1, len(self.layers) + 1):
            found.append(self.after(i, found[-1]))
        return found

    def means(self, columns: M) -> list[M]:
        """The transposes of `Y_0, ..., Y_l` times columns."""
        found = [self.before_unembedding(columns)]
        for i in range(len(self.layers), 0, -1):
            found.append(self.before(i, found[-1]))
        return found[::-1]


def added(matrices: Sequence[M]) -> M:
    """The sum of one matrix or more."""
    total = matrices[0]
    for matrix in matrices[1:]:
        total = total + matrix
    return total


def factored(
    weights: Weights, matrix: Callable[[npt.NDArray[Any]], M], *, idle_heads: bool = True
) -> FactoredNetwork[M]:
    """The network over the field that `matrix` brings matrices of rational numbers to.

    Args:
        weights: exact weights.
        matrix: to the field.
        idle_heads: keep heads whose values are 0; without them layers may have fewer heads than the shape says.

    Example:
        >>> from lightning_sym.rings.rationals import RationalMatrix
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 6], [1, 2]]})
        >>> net = factored(w, RationalMatrix.of)
        >>> net.after(1, RationalMatrix.identity(2)).fractions().tolist() == w["V1"].tolist()
        True
    """
    weights.require_numbers()
    shape, named = weights.architecture(1), weights.all_held
    shape.require("a network by its factors", SHAPED)

    def made(name: str) -> Any:
        return matrix(named[name]) if name in named else None

    layers: list[tuple[FactoredHead[M], ...]] = []
    for i in range(1, shape.depth + 1):
        numbers = [shape.head_name(i, h) for h in range(1, shape.heads + 1)]
        if not idle_heads:
            numbers = [number for number in numbers if named["V" + number].any()]
        layers.append(tuple(FactoredHead(*(made(letter + number) for letter in "QKVO")) for number in numbers))
    return FactoredNetwork(made("E"), tuple(layers), made("U"), shape.widths, shape.skip)


def residue_network(
    weights: Weights, *, idle_heads: bool = True, primes: Sequence[int] = PRIMES
) -> tuple[FactoredNetwork[PrimeFieldMatrix], int]:
    """The network modulo the first of `primes` that divides no denominator, and this prime.

    Raises:
        BadInput: there is none.

    Example:
        >>> from fractions import Fraction
        >>> residue_network(Weights.of({"Q1": [[1]], "K1": [[Fraction(1, 4194301)]], "V1": [[1]]}))[1]
        4194287
    """
    weights.require_numbers()
    for p in primes:
        field = PrimeFieldMatrix.of(np.array([[1]]), p)
        try:
            return factored(weights, field.like, idle_heads=idle_heads), p
        except ValueError:  # the prime divides a denominator
            continue
    raise BadInput(f"denominators must not be divisible by each of the primes {', '.join(map(str, primes))}")
