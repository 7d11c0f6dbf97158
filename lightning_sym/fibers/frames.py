r"""Frames of a network at given weights: what is written and what is read, exactly over the rationals.

See `kept_layers`. Each step is paid for before it is begun, by the lengths of the numbers that it starts from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np

from lightning_sym.exact.rational import integer_columns, null_columns
from lightning_sym.exact.subspaces import Subspace
from lightning_sym.fibers.cost import entry_bits
from lightning_sym.limits import Work
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.rings.sizes import Price, Sizes
from lightning_sym.system.circuits import NetworkCircuits, NetworkOver, circuits_over
from lightning_sym.system.fields import Field, M, Q, S, SizedSpace, sizes_field
from lightning_sym.system.reach import observed, pattern_is_constant, reached, read_before, written_behind

WHAT = "what the layers keep at these weights"


class Frame(NamedTuple):
    """By layer: columns that span $B_i$, and rows that are the forms; all are integers."""

    spaces: list[RationalMatrix]
    forms: list[RationalMatrix]


def frames(weights: Weights, shape: Architecture, budget: Work) -> Iterator[Frame]:
    """Yield the one or two choices; none that the budget does not allow."""
    net, lengths, shapes = NetworkCircuits.of(weights).in_memory(), entry_bits(weights), dict(shape.weight_shapes())
    scores = not pattern_is_constant(shape)

    def allowed(step: Callable[..., object], *spaces: Subspace) -> bool:
        """Return whether the budget allows a step from these spaces: what that very step takes over sizes."""
        price = Price("rationals")
        field = sizes_field(price)
        sized = circuits_over(field, shape, lambda name: Sizes(shapes[name], price, bits=lengths[name]))
        step(sized, field, *(SizedSpace(Sizes(s.basis.shape, price, bits=s.basis.bits)) for s in spaces))
        return budget.begins(price.seconds, WHAT)

    def followed(first: Subspace, steps: Iterable[Callable[..., Subspace]]) -> list[Subspace] | None:
        """Return this space and those that the steps lead to, if all are allowed."""
        found = [first]
        for step in steps:
            if not allowed(step, found[-1]):
                return None
            found.append(step(net, Q, found[-1]))
        return found

    layers = range(1, shape.depth + 1)
    written = followed(next(reached(net, Q)), (partial(written_behind, i) for i in layers))
    if written is None:
        return
    steps = (partial(read_before, i, scores=scores) for i in reversed(layers))
    read = followed(next(observed(net, Q, scores=scores)), steps)
    if read is None or not allowed(_as_integers, *written, *read[::-1]):
        return
    wider, forms = _completed(net, Q, *written, *read[::-1])
    yield Frame(_integers(written), [columns.mT for columns in _integers(forms)])
    if any(space.dimension < width for space, width in zip(read[::-1], shape.widths, strict=True)):
        yield Frame(_integers(wider), [columns.mT for columns in _integers(read[::-1])])


def _completed(network: NetworkOver[M], field: Field[M, S], *spaces: S) -> tuple[list[S], list[S]]:
    r"""Return $F_i + R_i^\perp$ and $R_i + F_i^\perp$ for each $i$, all $F_i$ being given and behind them all $R_i$."""
    del network, field
    half = len(spaces) // 2
    pairs = list(zip(spaces[:half], spaces[half:], strict=True))
    return [f.extended(r.orthogonal()) for f, r in pairs], [r.extended(f.orthogonal()) for f, r in pairs]


def _as_integers(network: NetworkOver[Sizes], field: Field[Sizes, SizedSpace], *spaces: SizedSpace) -> None:
    """Count what is done in the end: spaces are completed, and the entries of all their bases read."""
    for space in (*spaces, *chain.from_iterable(_completed(network, field, *spaces))):
        space.basis.read()


def _integers(spaces: Iterable[Subspace]) -> list[RationalMatrix]:
    """Return a basis of each as columns of integers."""
    return [integer_columns(space.basis) for space in spaces]


def kernel(matrix: RationalMatrix) -> ObjectArray:
    """Return what the rows vanish on, rows of integers."""
    return numbers(integer_columns(null_columns(matrix)).mT)


def numbers(matrix: RationalMatrix) -> ObjectArray:
    """Return a matrix of integers as Python has them."""
    entries = [int(x) for x in matrix.flint.numer_denom()[0].entries()]
    return np.array(entries, dtype=object).reshape(matrix.shape)
