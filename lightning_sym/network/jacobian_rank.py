"""The rank of the coefficients' Jacobian at a point, with its evidence."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

Coefficient = tuple[int, int, tuple[int, ...]]
"""An output coordinate and token, from 0, and the exponents of a monomial in the inputs."""


@dataclass(frozen=True)
class JacobianRank:
    """The exact rank over the rationals of the Jacobian of the coefficients by the weights, at given weights.

    Attributes:
        rank: the rank.
        coefficients: how many distinct coefficients that are not zero, the rows.
        weights: names of the columns.
        inputs: names of the inputs, in the order of exponents.
        pivot_coefficients: the rows of an invertible minor, as keys of `PolynomialMap.coefficients()`.
        pivot_weights: its columns, by name.
        minor: its determinant, not zero: the rank is at least `rank`.
        kernel: a basis of the tangent vectors in which no coefficient changes to first order, in the order of
            `weights`; with `len(weights) - rank` vectors: the rank is at most `rank`.

    Example:
        >>> found = JacobianRank(1, 1, ("a", "b"), ("x_1_1",), ((0, 0, (3,)),), ("a",), Fraction(2), ((-1, 2),))
        >>> print(found)
        rank 1 over QQ of the 1 x 2 Jacobian, coefficients by weights
        pivots: x_1_1^3 in phi_1_1 by a
        minor 2, kernel of dimension 1
    """

    rank: int
    coefficients: int
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
            return "*".join(powers)

        pairs = [
            f"{monomial(exponents)} in phi_{k + 1}_{j + 1} by {name}"
            for (k, j, exponents), name in zip(self.pivot_coefficients, self.pivot_weights, strict=True)
        ]
        return "\n".join(
            [
                f"rank {self.rank} over QQ of the {self.coefficients:,} x {len(self.weights):,} Jacobian, "
                "coefficients by weights",
                f"pivots: {', '.join(pairs) or 'none'}",
                f"minor {self.minor}, kernel of dimension {len(self.kernel)}",
            ]
        )

    def _repr_latex_(self) -> str:
        return rf"$\displaystyle \operatorname{{rk}} J = {self.rank}$"
