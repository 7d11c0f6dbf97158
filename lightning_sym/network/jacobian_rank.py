"""The rank of the coefficients' Jacobian at a point, with its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from lightning_sym.display import Result
from lightning_sym.network.ambient import EntrySizes, require_polynomial, require_room
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.attention import network_output
from lightning_sym.rings.derivatives import Recorded, gradients
from lightning_sym.rings.polynomials import PolynomialRing, RationalCoefficient, entry_names
from lightning_sym.rings.rationals import RationalNumber

Coefficient = tuple[int, int, tuple[int, ...]]
"""An output coordinate and token, from 1, and the exponents of a monomial in the inputs."""


@dataclass(frozen=True, repr=False, eq=False)
class JacobianRank(Result):
    """The exact rank over the rationals of the Jacobian of the coefficients by the weights, at given weights.

    Attributes:
        rank: the rank.
        weights: names of the columns.
        inputs: names of the inputs, in the order of exponents.
        pivot_coefficients: the rows of an invertible minor, as keys of `PolynomialMap.coefficients()`.
        pivot_weights: its columns, by name.
        minor: its determinant, not zero: the rank is at least `rank`.
        kernel: a basis of the tangent vectors in which no coefficient changes to first order, in the order of
            `weights`; with `len(weights) - rank` vectors: the rank is at most `rank`.

    Example:
        >>> found = JacobianRank(1, ("a", "b"), ("x_1_1",), ((1, 1, (3,)),), ("a",), Fraction(2), ((-1, 2),))
        >>> print(found)
        rank 1 over QQ of the Jacobian, all coefficients by 2 weights
        pivot coefficients: x_1_1^3 in phi_1_1
        pivot weights: a
        minor 2, kernel of dimension 1
    """

    rank: int
    weights: tuple[str, ...]
    inputs: tuple[str, ...]
    pivot_coefficients: tuple[Coefficient, ...]
    pivot_weights: tuple[str, ...]
    minor: Fraction
    kernel: tuple[tuple[Fraction | int, ...], ...]

    def __index__(self) -> int:
        return self.rank

    def __str__(self) -> str:
        def monomial(exponents: tuple[int, ...]) -> str:
            powers = [f"{x}^{e}" if e > 1 else x for x, e in zip(self.inputs, exponents, strict=True) if e]
            return "*".join(powers) or "1"

        rows = [f"{monomial(e)} in phi_{k}_{j}" for k, j, e in self.pivot_coefficients]
        return "\n".join(
            [
                f"rank {self.rank} over QQ of the Jacobian, all coefficients by {len(self.weights):,} weights",
                f"pivot coefficients: {', '.join(rows) or 'none'}",
                f"pivot weights: {', '.join(self.pivot_weights) or 'none'}",
                f"minor {self.minor}, kernel of dimension {len(self.kernel)}",
            ]
        )

    def _latex(self) -> str:
        return rf"\operatorname{{rk}} J = {self.rank}"


def jacobian_at(
    architecture: Architecture, numbers: Sequence[RationalNumber], memory: int
) -> dict[Coefficient, list[RationalCoefficient | int]]:
    """Return the Jacobian at weights of numbers: by reverse mode over polynomials in the inputs, one sweep an output.

    Args:
        architecture: a network without normalization.
        numbers: the entries of its weights, rational, matrix by matrix in canonical order.
        memory: bytes that the polynomials may take.

    Returns:
        For each coefficient whose derivatives are not all zero there, these, by all weights in order.

    Raises:
        BadInput: the network is normalized.
        TooLarge: the polynomials would not fit.

    Example:
        >>> jacobian_at(Architecture((1, 1), (1,), 1), [2, 2, 2], 2**20)
        {(1, 1, (3,)): [4, 4, 4]}
    """
    require_polynomial(architecture, "the Jacobian")
    rows, tokens = architecture.input_width, architecture.tokens
    ring = PolynomialRing(entry_names("x", rows, tokens))
    given, constants = iter(numbers), []
    for _, (height, width) in architecture.weight_shapes():
        flat = np.array([next(given) for _ in range(height * width)], dtype=object)
        constants.append(ring.constants(flat.reshape(height, width)))
    parameters = architecture.parameter_count
    require_room(architecture, rows * tokens, EntrySizes.of(constants, 0), memory // max(1, parameters))
    recorded = [Recorded(matrix) for matrix in constants]
    output = network_output(Recorded(ring.matrix("x", rows, tokens), constant=True), architecture, recorded)
    found: dict[Coefficient, list[RationalCoefficient | int]] = {}
    for k, j in np.ndindex(architecture.output_width, tokens):
        functional = ring.constants(np.zeros((architecture.output_width, tokens), dtype=int))
        functional[k, j] = ring.constant(1)
        column = 0
        for matrix, gradient in zip(constants, gradients([output], [functional], recorded), strict=True):
            for i, polynomial in enumerate(() if gradient is None else gradient.ravel()):
                for exponents, value in polynomial.to_dict().items():
                    key = (k + 1, j + 1, tuple(map(int, exponents)))
                    found.setdefault(key, [0] * parameters)[column + i] = value
            column += matrix.size
    return found
