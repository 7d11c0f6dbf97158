r"""Ideals of polynomials with the symbols that people go on with in SymPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lightning_sym.errors import BadInput
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    import sympy


@dataclass(frozen=True)
class PolynomialIdeal:
    r"""An ideal over the rationals by generators.

    SymPy goes on from here: `sympy.groebner(ideal.generators, *ideal.symbols, order="lex")` eliminates the weights,
    which stand first.

    Attributes:
        generators: SymPy expressions.
        weights: symbols of the weights.
        coordinates: symbols `c_k_j_m` of the ambient space: coordinate `k` of output token `j`, monomial `m`, counted
            from 1; none of them for the ideal of a fiber.
    """

    generators: tuple[sympy.Expr, ...]
    weights: tuple[sympy.Symbol, ...]
    coordinates: tuple[sympy.Symbol, ...] = ()

    @property
    def symbols(self) -> tuple[sympy.Symbol, ...]:
        """All variables of the ring, the weights first: in a lexicographic order they are eliminated."""
        return self.weights + self.coordinates

    def __str__(self) -> str:
        head = f"# ideal of {len(self.generators):,} generators in {len(self.symbols):,} variables over QQ"
        return "\n".join([head, *map(str, self.generators)])

    def _repr_latex_(self) -> str:
        shown = [sympy.latex(generator) for generator in self.generators[:10]]
        more = [r"\ldots"] * (len(self.generators) > len(shown))
        return rf"$\displaystyle \left\langle {', '.join([*shown, *more])} \right\rangle$"


def graph_ideal(
    coefficients: Mapping[str, sympy.Expr],
    weights: Sequence[sympy.Symbol],
) -> PolynomialIdeal:
    """Return the ideal of the graph of a map: a coordinate less its coefficient, for each coefficient.

    Args:
        coefficients: SymPy expressions by the name of their coordinate, those that differ.
        weights: SymPy symbols of the weights.

    Raises:
        BadInput: a letter of the weights is called like a coordinate.
    """
    if clash := coefficients.keys() & {symbol.name for symbol in weights}:
        raise BadInput(f"letters must not be called like coordinates of the ambient space, got {min(clash)}")
    coordinates = tuple(map(sympy.Symbol, coefficients))
    generators = tuple(c - value for c, value in zip(coordinates, coefficients.values(), strict=True))
    return PolynomialIdeal(generators, tuple(weights), coordinates)
