r"""Points, primes, Taylor degrees and numbers of inputs that are tried for a lower bound, and what they need.

Coordinates on the variety of virtual weights: the entries of weights that are left to vary once the gauge is fixed.

The rank of a Jacobian is at least that of any of its columns, so whatever is kept, a lower bound stays one. With the
columns below nothing is lost, and they are as many as the variety has dimensions: no column says what others say
already, and none need be combined. `docs/upper-bound.md`, section 4, has the proof, with the same names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from lightning_sym.dimension.varieties import has_virtual_weights
from lightning_sym.errors import BadInput
from lightning_sym.exact import kernel
from lightning_sym.exact.krylov import LARGEST, rank_at_least
from lightning_sym.exact.modular import buffer_bytes_for, entries_for, rank_mod_p
from lightning_sym.limits import Progress, of_stage
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.columns import Indices
from lightning_sym.network.jacobian import RandomJacobian
from lightning_sym.network.pieces import SHAPED
from lightning_sym.network.prices import inputs_at_once, sweep_bytes
from lightning_sym.rings.normalization import divided_by
from lightning_sym.rings.prime_field import PRIMES, SMALL_PRIMES, PrimeFieldMatrix, SeededResidues
from lightning_sym.threads import threads

_Mask = npt.NDArray[np.bool_]


def gauge_columns(architecture: Architecture) -> Indices:
    """Return entries of the weights of a network with one head, counted through all matrices, that are coordinates.

    Of every matrix only the columns that meet what is written, and of queries and keys only as many rows as their
    product has rank; then changes of basis make the first block of keys and of values what it is, rotations a
    triangle of queries and keys that count by their symmetric part, and rescalings one entry of each layer.

    Returns:
        As many indices as `virtual_weight_variety` has dimensions, in increasing order.

    Raises:
        BadInput: this is another network.

    Example:
        >>> gauge_columns(Architecture((2, 2, 2), (1, 1), 2)).tolist()     # Q1 K1 V1 and Q2 K2 V2, eight entries each
        [1, 3, 9, 11, 12, 13, 14, 15]
    """
    architecture.require("gauge columns", SHAPED)
    if not has_virtual_weights(architecture):
        raise BadInput(f"gauge columns must be asked of one head with nothing added, got {architecture}")
    widths, lightning = architecture.widths, architecture.normalization is None
    narrowest = list(accumulate(widths, min))
    used = narrowest.copy()
    for i in range(architecture.depth - 1, 0, -1):
        used[i] = min(narrowest[i], used[i + 1] + 2 * architecture.attention_ranks[i])
    masks: list[_Mask] = []
    single_direction = lightning and architecture.tokens == 1
    for i, a in enumerate(architecture.attention_ranks):
        d, r, r_next = widths[i], narrowest[i], narrowest[i + 1]
        alpha = min(a, r)
        queries, keys, values = (np.zeros((rows, d), dtype=bool) for rows in (a, a, widths[i + 1]))
        if single_direction:
            symmetric = _triangle(alpha, r)
            queries[:alpha, :r], keys[:alpha, :r] = symmetric[:alpha], symmetric[alpha:]
        else:
            queries[:alpha, :r] = keys[:alpha, alpha:r] = True
        queries[0, 0] = not lightning
        if i + 1 == architecture.depth:
            values[:, :r] = True
        else:
            values[: used[i + 1], r_next:r] = True
        masks += [queries, keys, values]
        single_direction = single_direction or (lightning and alpha == 1)
    return np.flatnonzero(np.concatenate([mask.ravel() for mask in masks]))


def _triangle(alpha: int, r: int) -> _Mask:
    """Return coordinates of quadratic forms of rank at most `2 alpha`, `2 alpha x r`: a triangle and what is beside."""
    result = np.zeros((2 * alpha, r), dtype=bool)
    rank = min(2 * alpha, r)
    result[:rank] = np.triu(np.ones((rank, r), dtype=bool))
    return result


SURPLUS_ROWS = 16
"""Rows beyond the upper bound in the first try of large networks, for which another try takes long."""

LONGEST_SERIES = 63
"""Taylor series are lengthened until their degree reaches this, and at least once."""

SMALL_PRIMES_FROM = 1000
"""Dimension from which two small primes come first: they take half the time and memory, and seldom fall short."""


def degrees_of(architecture: Architecture) -> tuple[int | None, ...]:
    """Return the degrees of the Taylor series to try: a rank that stalls at one is no reason to stop."""
    architecture.require("the degree of a Taylor series", SHAPED)
    exact = architecture.normalization is None or architecture.normalization.is_exponential
    return (None,) if exact else series_orders(architecture.depth)


def series_orders(depth: int) -> tuple[int, ...]:
    """Return degrees of Taylor series of normalized layers: the first shows each layer, others may show more.

    Example:
        >>> series_orders(2)
        (7, 15, 31, 63)
    """
    orders = [2 * 3 ** (depth - 1) + 1]
    while len(orders) < 2 or orders[-1] < LONGEST_SERIES:  # three layers of three heads have needed 79
        orders.append(2 * orders[-1] + 1)
    return tuple(orders)


def primes_for(architecture: Architecture, upper: int, order: int | None) -> list[int]:
    """Return primes in the order in which they are tried, those first that need least memory; not empty.

    Args:
        architecture: the network.
        upper: an upper bound of the dimension.
        order: the degree of the first Taylor series, which exists modulo the first prime.
    """
    architecture.require("the choice of primes", SHAPED)
    primes = (*SMALL_PRIMES[:2], *PRIMES) if upper >= SMALL_PRIMES_FROM else PRIMES
    if order is None:
        return list(primes)
    return sorted(primes, key=lambda p: divided_by(architecture.normalization, p, order))


def bytes_needed(architecture: Architecture, rows: int, columns: int, order: int | None, p: int) -> int:
    """Return the Jacobian, and beside it the sweeps with everything they record, or the buffers of the elimination."""
    fixed, each = sweep_bytes(architecture, order)
    size = inputs_at_once(architecture.parameter_count, each)
    batches = -(-rows // size)
    sweeps = (min(threads(), batches) if batches > 1 else 1) * (fixed + min(rows, size) * each)
    return entries_for(p).itemsize * rows * columns + max(sweeps, buffer_bytes_for(rows, columns, p))


def first_shape(architecture: Architecture, upper: int, kept: int) -> tuple[int, int]:
    """Return rows and columns of the Jacobian in the first try, for a bound that is not more than `upper`.

    A small one, whose rank is found in another way, has one row more than the bound, to see if it is too small, and is
    folded only where it has more than four times as many columns.
    """
    architecture.require("the shape of the Jacobian", SHAPED)
    if upper > LARGEST:
        return upper + SURPLUS_ROWS, min(upper + SURPLUS_ROWS, kept)
    parameters = architecture.parameter_count
    return upper + 1, parameters if parameters <= 4 * upper + 4 else min(upper + SURPLUS_ROWS, parameters)


class Search:
    """The best lower bound so far, and what gave it."""

    def __init__(self, architecture: Architecture, seed: int, memory: int, report: Progress) -> None:
        self.architecture, self.seed, self.memory, self.report = architecture, seed, memory, report
        self.orders = degrees_of(architecture)
        self.lower, self.prime, self.rows, self.order = 0, PRIMES[0], 0, self.orders[0]

    def attempts(self, upper: int, keep: Indices | None, primes: Sequence[int]) -> Iterator[None]:
        """Try points, primes, degrees and more inputs, for a bound that is not more than `upper`.

        Args:
            upper: an upper bound.
            keep: columns that are enough, as far as is known; of a small Jacobian all are taken.
            primes: in the order in which they are tried.
        """
        architecture = self.architecture
        if upper <= LARGEST:
            keep = None
        least, columns = first_shape(architecture, upper, architecture.parameter_count if keep is None else len(keep))
        tries = [(p, order) for p in primes for order in self.orders]
        for attempt, (p, order) in enumerate(tries, start=1):
            if bytes_needed(architecture, least, columns, order, p) > self.memory:
                continue
            if divided_by(architecture.normalization, p, order):
                continue
            generator = SeededResidues((self.seed, attempt), p)
            jacobian = RandomJacobian(architecture, generator, p, columns, order, keep=keep)
            for rows in (least,) if p in SMALL_PRIMES else (least, 2 * least, 4 * least):
                if rows > least and bytes_needed(architecture, rows, columns, order, p) > self.memory:
                    break
                stage = f"Jacobian modulo {p}"
                self.report(stage, 0, rows)
                matrix = jacobian.matrix(rows, of_stage(self.report, stage, rows), entries_for(p))
                stage = f"rank modulo {p}"
                self.report(stage, 0, rows)
                eliminated = of_stage(self.report, stage, rows)
                if upper <= LARGEST and p not in SMALL_PRIMES and kernel.COMPILED is None:
                    found = rank_at_least(PrimeFieldMatrix(matrix, p), upper + 1)
                else:
                    found = rank_mod_p(matrix, p, overwrite=True, progress=eliminated)
                if found > self.lower:
                    self.lower, self.prime, self.rows, self.order = found, p, rows, order
                yield
