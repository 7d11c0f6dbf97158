r"""The rank of the differential of $W \mapsto \phi_W$ at given weights, bounded from both sides.

From below by ranks over GF(p) and over the rationals at these very weights; from above by kernel vectors that are
verified as polynomial identities in the inputs, so the whole kernel is known. A generic rank is the dimension
(`dimension`); a smaller rank at a point makes the point critical.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from lightning_sym.dimension.search import SURPLUS_ROWS
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.exact.rational import null_space, rank
from lightning_sym.fibers.cost import entry_bits
from lightning_sym.limits import DEFAULT_MEMORY, Work, require_memory
from lightning_sym.network.ambient import count_terms_at_most
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.attention import forward
from lightning_sym.network.jacobian import RandomJacobian, weight_gradients
from lightning_sym.network.prices import price_of_jacobian
from lightning_sym.network.weights import Layer, Weights
from lightning_sym.rings.arrays import ObjectArray, clear_denominators
from lightning_sym.rings.derivatives import Dual
from lightning_sym.rings.polynomials import PolynomialRing, entry_names
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix

IDENTITY_TERMS = 20_000
"""A kernel vector is verified as a polynomial identity only up to this many terms."""


MOST_EXACT_ENTRIES = 1_000_000
"""Entries of the exact Jacobian or of its kernel up to which they are computed; beyond, the bounds may not meet."""


EXACT_ENTRY = 8e-6
"""Seconds for an entry of an exact Jacobian, its rank included, for each word of 64 bits; measured, and rough."""
KERNEL_ENTRY = 3 * EXACT_ENTRY
"""With its kernel, which is verified."""


def weight_rank_bounds(
    weights: Weights,
    shape: Architecture,
    generic: int,
    budget: Work | None = None,
    *,
    memory: int = DEFAULT_MEMORY,
) -> tuple[int, int]:
    r"""Return bounds for the rank, at `weights`, of the differential of $\phi$ in all $(Q_i, K_i, V_i)$.

    Args:
        weights: exact weights of the shape.
        shape: the architecture, with its tokens.
        generic: an upper bound of the dimension of the neuromanifold.
        budget: what exact work may take, the default if left out.
        memory: bytes that the Jacobian may take.

    Returns:
        `lower <= rank <= upper`; they meet unless the network is too large for polynomial identities.

    Raises:
        TooLarge: the estimate of work or memory exceeds what is allowed.

    Example:
        >>> w = Weights.of({"Q1": [[0]], "K1": [[0]], "V1": [[1]]})
        >>> weight_rank_bounds(w, w.architecture(2), generic=1)
        (0, 0)
    """
    budget = Work() if budget is None else budget
    size = generic + SURPLUS_ROWS
    require_memory(9 * size * shape.parameter_count, memory, f"the Jacobian of {shape.parameter_count:,} weights")
    budget.spend(price_of_jacobian(shape, size).seconds, "the differential modulo a prime")
    # denominators cleared, matrix by matrix: this rescales the function, and no rank changes
    layers, generator = [Layer(*map(clear_denominators, layer)) for layer in weights.layers], np.random.default_rng(0)
    lower = _rank_mod_p(layers, shape, size)
    rows = np.empty((0, shape.parameter_count), dtype=object)
    small = shape.depth < 9 and count_terms_at_most(shape, symbolic=False) <= IDENTITY_TERMS
    # the kernel may have as many vectors as there are parameters, each of them exact
    exact = max(shape.parameter_count * max(size, shape.parameter_count - lower), size * shape.tokens**2)
    small = small and exact <= MOST_EXACT_ENTRIES
    words = 1 + 3**shape.depth * sum(entry_bits(weights).values()) // 64 if small else 0
    for attempt in range(4 if small and lower < generic else 0):
        # every attempt adds rows to those before it
        seconds = KERNEL_ENTRY * size * (attempt + 1) * shape.parameter_count * words
        budget.spend(seconds, "the differential in Q, K, V", attempt, 4)
        x = generator.integers(-2, 3, size=(size, shape.widths[0], shape.tokens))
        functional = generator.integers(-2, 3, size=(size, shape.widths[-1], shape.tokens))
        parts = weight_gradients(layers, x.astype(object), functional.astype(object))
        rows = np.concatenate([rows, np.concatenate([g.reshape(size, -1) for g in parts], axis=1)])
        lower = max(lower, rank(rows))
        if lower == generic or _kernel_vectors_hold(layers, shape, null_space(rows)):
            return lower, lower
    return lower, generic


def _rank_mod_p(layers: Sequence[Layer[ObjectArray]], shape: Architecture, inputs: int) -> int:
    """Return a lower bound of the rank of the differential in all weights, at these integer weights."""
    p = PRIMES[0]
    weights = [PrimeFieldMatrix.of(matrix, p) for layer in layers for matrix in layer]
    return rank_mod_p(RandomJacobian(shape, np.random.default_rng(0), p, weights=weights).rows(inputs), p)


def _kernel_vectors_hold(
    layers: Sequence[Layer[ObjectArray]], shape: Architecture, kernel: Sequence[Sequence[Fraction]]
) -> bool:
    """Return whether the function does not change to first order along any of the vectors, as a polynomial identity."""
    ring = PolynomialRing(entry_names("x", shape.widths[0], shape.tokens))
    x = ring.matrix("x", shape.widths[0], shape.tokens)
    sizes = [size for _, size in shape.weight_shapes()]
    cuts = np.cumsum([rows * columns for rows, columns in sizes])[:-1]
    values = [ring.constants(matrix) for layer in layers for matrix in layer]
    for vector in kernel:
        pieces = np.split(np.array(vector, dtype=object), cuts)
        tangents = [ring.constants(piece.reshape(size)) for piece, size in zip(pieces, sizes, strict=True)]
        duals = [Dual(value, tangent) for value, tangent in zip(values, tangents, strict=True)]
        moved = forward(Dual(x, x - x), [Layer(*duals[i : i + 3]) for i in range(0, len(duals), 3)])
        if any(len(entry) for entry in moved.tangent.ravel()):
            return False
    return True
