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
from lightning_sym.limits import Work
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.system.circuits import NetworkCircuits
from lightning_sym.system.fields import Q
from lightning_sym.system.reach import observed, pattern_is_constant, reached

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


class Frame(NamedTuple):
    """By layer: columns that span $B_i$, and rows that are the forms; all are integers."""

    spaces: list[RationalMatrix]
    forms: list[RationalMatrix]


def frames(weights: Weights, shape: Architecture, budget: Work) -> Iterator[Frame]:
    """The one or two choices; none that the budget does not allow."""
    net = NetworkCircuits.of(weights).in_memory()
    longest = max(entry_bits(weights).values())
    width = max(*shape.widths, shape.input_width, shape.output_width)

    def allowed(space: Subspace) -> bool:
        """Of the next space: products with all heads, and a basis of what comes of them."""
        bits = 3 * longest + space.basis.bits
        columns = shape.heads * max(space.dimension, 2 * max(shape.attention_ranks))
        return budget.begins(
            product_cost(width, width, 3 * columns, longest, bits) + span_cost(width, columns, bits), WHAT
        )

    found: list[list[Subspace]] = []
    for spaces in (reached(net, Q), observed(net, Q, scores=not pattern_is_constant(shape))):
        found.append([])
        for space in spaces:  # each is made when it is asked for, and paid before
            found[-1].append(space)
            if len(found[-1]) <= shape.depth and not allowed(space):
                return
    written, read = found[0], found[1][::-1]
    if not all(allowed(space) for space in (*read, *written)):
        return
    unseen = [_orthogonal(space) for space in read]
    yield Frame(
        [integer_columns(space.basis) for space in written],
        [integer_columns(r.extended(_orthogonal(f)).basis).mT for r, f in zip(read, written, strict=True)],
    )
    if any(space.shape[1] for space in unseen):
        yield Frame(
            [integer_columns(f.extended(z).basis) for f, z in zip(written, unseen, strict=True)],
            [integer_columns(r.basis).mT for r in read],
        )


def _orthogonal(space: Subspace) -> RationalMatrix:
    """Columns that span all that the columns of a basis vanish on."""
    return null_columns(space.basis.mT)


def kernel(matrix: RationalMatrix) -> ObjectArray:
    """What the rows vanish on, rows of integers."""
    return numbers(integer_columns(null_columns(matrix)).mT)


def numbers(matrix: RationalMatrix) -> ObjectArray:
    """A matrix of integers as Python has them."""
    entries = [int(x) for x in matrix.flint.numer_denom()[0].entries()]
    return np.array(entries, dtype=object).reshape(matrix.shape)
