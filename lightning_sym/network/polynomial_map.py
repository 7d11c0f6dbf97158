r"""$\phi_W$ as exact polynomials in the inputs, with symbolic or rational weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any

import numpy as np

from lightning_sym.errors import ProgramError, ShapeError
from lightning_sym.limits import DEFAULT_MEMORY, require_memory
from lightning_sym.network.ambient import ambient_dimension, degrees, require_polynomial, require_room
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.attention import network_output
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.polynomials import PolynomialRing, entry_names, to_sympy

if TYPE_CHECKING:
    from sympy import Matrix
    from sympy.polys.rings import PolyElement

Exponents = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class PolynomialMap:
    r"""The polynomial map of a network.

    Attributes:
        architecture: the network.
        entries: object array `m x t` of polynomials in `ring`; `m` is `d_l` where there is no unembedding.
        ring: the variables are the weights (none of them if they are numbers) and then the inputs `x_1_1, x_1_2, ...`,
            row by row, all in the order of `weight_names + input_names`.
        weight_names: names of the symbolic weights, empty for rational weights.
        input_names: names of the inputs; `x_k_j` is coordinate `k` of token `j`.
    """

    architecture: Architecture
    entries: ObjectArray
    ring: PolynomialRing
    weight_names: tuple[str, ...]
    input_names: tuple[str, ...]

    @property
    def term_count(self) -> int:
        """Terms of all outputs together."""
        return sum(len(entry) for entry in self.entries.ravel())

    def is_homogeneous(self, degree: int) -> bool:
        """Whether every term of every output has this degree in the inputs."""
        first = len(self.weight_names)
        return all(
            sum(map(int, exponents[first:])) == degree for entry in self.entries.ravel() for exponents in entry.monoms()
        )

    def ring_coefficients(self) -> dict[tuple[int, int, Exponents], Any]:
        r"""Non-zero coefficients by output and monomial in the inputs.

        Returns:
            Keys `(k, j, exponents)`: coordinate `k` of output token `j` (from 0), exponents of `input_names`. Values:
            rational numbers (`fmpq`), or polynomials in the weights when these are symbolic.
        """
        first = len(self.weight_names)
        if first == 0:
            return {
                (k, j, tuple(map(int, exponents))): value
                for (k, j), entry in np.ndenumerate(self.entries)
                for exponents, value in entry.to_dict().items()
            }
        grouped: dict[tuple[int, int, Exponents], dict[Exponents, Any]] = {}
        for (k, j), entry in np.ndenumerate(self.entries):
            for exponents, value in entry.to_dict().items():
                key = (k, j, tuple(map(int, exponents[first:])))
                grouped.setdefault(key, {})[exponents[:first]] = value
        ring = PolynomialRing(self.weight_names)
        return {key: ring.from_terms(terms) for key, terms in grouped.items()}

    def monomials(self) -> Iterator[Exponents]:
        """All monomials in the inputs of the degrees that occur, in the order of the coefficient vector.

        Of degree `3^l`, with skip connections of all odd degrees up to it, the largest first. Within a degree
        lexicographic, largest first, with `x_1_1 > x_1_2 > ... > x_2_1 > ...`: for two variables and degree three
        `x^3, x^2 y, x y^2, y^3`.
        """
        count = len(self.input_names)
        for degree in degrees(self.architecture):
            for choice in combinations_with_replacement(range(count), degree):
                exponents = [0] * count
                for i in choice:
                    exponents[i] += 1
                yield tuple(exponents)

    def ring_coefficient_vector(self, memory: int = DEFAULT_MEMORY) -> list[Any]:
        """Coordinates in the ambient space: output by output (row by row), each in the order of `monomials`.

        Raises:
            TooLarge: the ambient space has too many coordinates for `memory` bytes.

        Example:
            >>> w = Weights.of({"Q1": [[1]], "K1": [[2]], "V1": [[3]]})
            >>> polynomial_map(w.architecture(tokens=2), w).ring_coefficient_vector()
            [6, 0, 6, 0, 0, 6, 0, 6]
        """
        size = ambient_dimension(self.architecture)
        monomials_size = size // self.entries.size
        needed = 16 * size + (56 + 8 * len(self.input_names)) * monomials_size
        require_memory(needed, memory, f"a vector of {size:,} coefficients")
        known = self.ring_coefficients()
        zero = PolynomialRing(self.weight_names).constant(0) if self.weight_names else 0
        monomials = list(self.monomials())
        return [
            known.get((k, j, exponents), zero) for k, j in np.ndindex(*self.entries.shape) for exponents in monomials
        ]

    def sympy(self, k: int, j: int) -> PolyElement:
        """Output `(k, j)`, counted from 0, as an element of a SymPy polynomial ring."""
        return to_sympy(self.entries[k, j], self.weight_names + self.input_names)

    def matrix(self) -> Matrix:
        """All outputs as a SymPy matrix of expressions, `d_l x t`, in the symbols `weight_names + input_names`.

        Example:
            >>> polynomial_map(Architecture((1, 1), (1,), 1)).matrix()
            Matrix([[K1_1_1*Q1_1_1*V1_1_1*x_1_1**3]])
        """
        import sympy

        rows, columns = self.entries.shape
        return sympy.Matrix(rows, columns, lambda k, j: self.sympy(int(k), int(j)).as_expr())

    def latex(self, k: int, j: int) -> str:
        """Output `(k, j)`, counted from 0, in LaTeX, by SymPy's printer.

        Example:
            >>> print(polynomial_map(Architecture((1, 1), (1,), 1)).latex(0, 0))
            q^{(1)}_{1,1} k^{(1)}_{1,1} v^{(1)}_{1,1} {x_{1,1}}^{3}
        """
        import sympy

        polynomial = self.sympy(k, j)
        names = {symbol: _latex_name(symbol.name) for symbol in polynomial.ring.symbols}
        return str(sympy.latex(polynomial, symbol_names=names))


def _latex_name(name: str) -> str:
    letter, *head, row, column = name.split("_")
    place = ",".join([letter[1:], *head])
    return f"{letter[0].lower()}{f'^{{({place})}}' if place else ''}_{{{row},{column}}}"


def polynomial_map(
    architecture: Architecture, weights: Weights | None = None, *, memory: int = DEFAULT_MEMORY
) -> PolynomialMap:
    r"""$\phi_W$ by the forward pass over a polynomial ring.

    Args:
        architecture: a network without normalization: heads, output projections, skip connections, a mask, an
            embedding and an unembedding as it has them.
        weights: exact weights; without them the weights are variables `Q1_1_1, Q1_1_2, ...` (layer, row, column), with
            several heads `Q1_2_1_1` (layer, head, row, column), and `E_1_1`, `U_1_1` without a layer.
        memory: bytes that the polynomials may take, by an estimate made before anything is computed.

    Returns:
        The map; homogeneous of degree $3^l$ in the inputs, with skip connections of all odd degrees up to $3^l$.

    Raises:
        BadInput: the network is normalized, so no polynomial map.
        ShapeError: the weights do not have the shape of the architecture.
        TooLarge: the estimate exceeds `memory`.

    Example:
        >>> phi = polynomial_map(Architecture((1, 1), (1,), tokens=2))
        >>> print(phi.entries[0, 0])
        Q1_1_1*K1_1_1*V1_1_1*x_1_1^3 + Q1_1_1*K1_1_1*V1_1_1*x_1_1*x_1_2^2
    """
    require_polynomial(architecture, "the polynomial map")
    if weights is not None and weights.architecture(architecture.tokens) != architecture:
        raise ShapeError(f"the weights must have {architecture}, got {weights.architecture(architecture.tokens)}")
    rows, tokens = architecture.input_width, architecture.tokens
    variables, bits = rows * tokens, None
    if weights is None:
        variables += architecture.parameter_count
    else:  # a coefficient is a sum of products of weights
        numbers = [x for m in weights.named().values() for x in m.ravel()]
        bits = max(abs(x.numerator).bit_length() for x in numbers)
        if (denominator := max(x.denominator for x in numbers)) > 1:
            bits += denominator.bit_length()
    require_room(architecture, variables, bits, memory)

    shapes = [(variable_prefix(name), shape) for name, shape in architecture.weight_shapes()]
    weight_names = [n for name, shape in shapes for n in entry_names(name, *shape)] if weights is None else []
    input_names = entry_names("x", rows, tokens)
    ring = PolynomialRing(weight_names + input_names)
    matrices: list[ObjectArray]
    if weights is None:
        matrices = [ring.matrix(name, *shape) for name, shape in shapes]
    else:
        matrices = [ring.constants(matrix) for matrix in weights.named().values()]
    entries = network_output(ring.matrix("x", rows, tokens), architecture, matrices)
    if entries.shape != (architecture.output_width, tokens):
        raise ProgramError(f"the map has shape {entries.shape}")
    return PolynomialMap(architecture, entries, ring, tuple(weight_names), tuple(input_names))


def variable_prefix(name: str) -> str:
    """How the variables of a weight matrix begin: head 2 of layer 1 is `Q1_2`, and its entries `Q1_2_row_column`.

    Example:
        >>> variable_prefix("Q1.2"), variable_prefix("E")
        ('Q1_2', 'E')
    """
    return name.replace(".", "_")
