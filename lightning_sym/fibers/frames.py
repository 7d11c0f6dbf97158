r"""Frames of a network at given weights: what is written and what is read, exactly over the rationals.

See `kept_layers`. Each step is paid for before it is begun, by the lengths of the numbers that it starts from.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from lightning_sym.exact.rational import integer_columns, null_columns
from lightning_sym.exact.subspaces import Subspace
from lightning_sym.fibers.cost import entries_cost, entry_bits, product_cost
from lightning_sym.fibers.factored import factored
from lightning_sym.limits import Work
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.symmetries.stream import pattern_is_constant

WHAT = "what the layers keep at these weights"


def span_cost(rows: int, columns: int, bits: int) -> float:
    """Seconds for a reduced basis of a span or a kernel, of entries of so many bits.

    Example:
        >>> span_cost(16, 16, 64) < 0.01
        True
    """
    size = min(rows, columns)
    long = bits * max(size, 1)
    return product_cost(size, size, rows + columns, long, bits) + entries_cost(rows, columns, long)


def spend(seconds: float, budget: Work) -> bool:
    """Begin a step that an answer can do without, if the budget allows it."""
    if not budget.allows(seconds):
        return False
    budget.spend(seconds, WHAT)
    return True


class Frame(NamedTuple):
    """By layer: columns that span $B_i$, and rows that are the forms; all are integers."""

    spaces: list[RationalMatrix]
    forms: list[RationalMatrix]


def frames(weights: Weights, shape: Architecture, budget: Work) -> Iterator[Frame]:
    """The one or two choices; none that the budget does not allow."""
    net = factored(weights, RationalMatrix.of)
    longest = max(entry_bits(weights).values())
    width = max(*shape.widths, shape.input_width, shape.output_width)

    def allowed(space: Subspace) -> bool:
        """Of the next space: products with all heads, and a basis of what comes of them."""
        bits = 3 * longest + space.basis.bits
        columns = shape.heads * max(space.dimension, 2 * max(shape.attention_ranks))
        return spend(product_cost(width, width, 3 * columns, longest, bits) + span_cost(width, columns, bits), budget)

    eye = RationalMatrix.identity
    written = [Subspace.spanned(net.embedded(eye(shape.input_width)))]
    read = [Subspace.spanned(net.before_unembedding(eye(shape.output_width)))]
    for i, heads in enumerate(net.layers, start=1):
        if not allowed(written[-1]):
            return
        start = written[-1] if net.skip else Subspace.zero(shape.widths[i])
        written.append(start.extended(*(head.carried(written[-1].basis) for head in heads)))
    for i, heads in zip(range(shape.depth - 1, -1, -1), reversed(net.layers), strict=True):
        if not allowed(read[-1]):
            return
        start = read[-1] if net.skip else Subspace.zero(shape.widths[i])
        parts = [head.read(read[-1].basis) for head in heads]
        if not pattern_is_constant(shape):
            parts += [matrix.mT for head in heads for matrix in (head.key, head.query)]
        read.append(start.extended(*parts))
    read.reverse()
    if not all(allowed(space) for space in (*read, *written)):
        return
    unseen = [_orthogonal(space) for space in read]
    yield Frame(
        [_integers(space) for space in written],
        [_integers(r.extended(_orthogonal(f))).mT for r, f in zip(read, written, strict=True)],
    )
    if any(space.shape[1] for space in unseen):
        yield Frame(
            [_integers(f.extended(z)) for f, z in zip(written, unseen, strict=True)], [_integers(r).mT for r in read]
        )


def _orthogonal(space: Subspace) -> RationalMatrix:
    """Columns that span all that the columns of a basis vanish on."""
    return null_columns(space.basis.mT)


def _integers(space: Subspace) -> RationalMatrix:
    """The basis as columns of integers."""
    return integer_columns(space.basis)


def kernel(matrix: RationalMatrix) -> ObjectArray:
    """What the rows vanish on, rows of integers."""
    return numbers(integer_columns(null_columns(matrix)).mT)


def numbers(matrix: RationalMatrix) -> ObjectArray:
    """A matrix of integers as Python has them."""
    entries = [int(x) for x in matrix.flint.numer_denom()[0].entries()]
    return np.array(entries, dtype=object).reshape(matrix.shape)
