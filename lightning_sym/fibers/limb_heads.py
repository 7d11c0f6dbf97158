"""The heads of large networks as machine numbers modulo primes, and how long the integers are that they are made of."""

from __future__ import annotations

from typing import NamedTuple

from lightning_sym.network.weights import Weights
from lightning_sym.rings.limbs import Limbs


class DyadicBound(NamedTuple):
    """A matrix of rational numbers: integers below `bound` times two to a power."""

    power: int
    bound: int

    def times(self, other: DyadicBound, inner: int) -> DyadicBound:
        """A product with so many summands in each entry."""
        return DyadicBound(self.power + other.power, inner * self.bound * other.bound)

    def scaled(self, factor: int) -> DyadicBound:
        """Times an integer, or multiplied with a matrix whose rows, or columns, add up to it."""
        return DyadicBound(self.power, self.bound * factor)


def size_of(limbs: Limbs) -> DyadicBound:
    """How large the integers of a matrix are."""
    return DyadicBound(limbs.power, limbs.bound)


class LimbHead(NamedTuple):
    """The matrices of a head; without output projection `output` is the identity, and left out."""

    query: Limbs
    key: Limbs
    value: Limbs
    output: Limbs | None

    @property
    def form(self) -> DyadicBound:
        """Of its form."""
        return size_of(self.key).times(size_of(self.query), self.key.pieces[0][0].shape[0])

    @property
    def carried(self) -> DyadicBound:
        """Of the value matrix, with the output projection."""
        if self.output is None:
            return size_of(self.value)
        return size_of(self.output).times(size_of(self.value), self.value.pieces[0][0].shape[0])


def read_heads(weights: Weights, layer: int) -> list[LimbHead]:
    """The heads of a layer, from 1, of weights that are machine numbers.

    Raises:
        BadInput: there are letters, or fractions.

    Example:
        >>> import numpy as np
        >>> one = {name: np.full((80, 80), 0.5) for name in ("Q1", "K1", "V1")}
        >>> [head] = read_heads(Weights.of(one), 1)
        >>> head.form.power, head.output is None
        (-2, True)
    """
    weights.require_numbers("the heads of a layer")
    shape, named = weights.architecture(1), weights.all_held
    heads = []
    for h in range(1, shape.heads + 1):
        name = shape.head_name(layer, h)
        query, key, value = (Limbs.of(named[letter + name]) for letter in "QKV")
        heads.append(LimbHead(query, key, value, Limbs.of(named[f"O{name}"]) if f"O{name}" in named else None))
    return heads
