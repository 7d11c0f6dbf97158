r"""$\phi_W$ as exact polynomials in the inputs, with symbolic or rational weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement, islice
from math import ceil, comb
from typing import TYPE_CHECKING, Any

import numpy as np

from lightning_sym.display import Result, cut_text, latex_matrix, one_line, typed
from lightning_sym.errors import ProgramError, ShapeError
from lightning_sym.limits import DEFAULT_MEMORY, require_memory
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.attention import forward
from lightning_sym.network.formats import polynomial_text, variable_names
from lightning_sym.network.weights import Layer, Weights
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.polynomials import PolynomialRing, entry_names, to_sympy

if TYPE_CHECKING:
    from sympy import Matrix
    from sympy.polys.rings import PolyElement

Exponents = tuple[int, ...]

DEEPEST = 10
"""Deeper networks are refused: at degree 3^11 the estimate alone would be a number of 10^5 digits."""


def ambient_dimension(architecture: Architecture) -> int:
    r"""Dimension of the space of homogeneous maps of degree $3^l$, $d_0 \times t$ to $d_l \times t$ matrices (Eq. 5).

    Example:
        >>> ambient_dimension(Architecture((2, 1), (2,), 2))    # 1 * 2 * C(6, 3)
        40
    """
    architecture.require_plain("the ambient space")
    inputs = architecture.widths[0] * architecture.tokens
    outputs = architecture.widths[-1] * architecture.tokens
    return outputs * comb(inputs + architecture.degree - 1, architecture.degree)


def count_terms_at_most(architecture: Architecture, *, symbolic: bool = True) -> int:
    """An upper bound for the number of terms of all outputs together.

    No more terms than monomials of the right degree in the inputs and, if these are symbolic, in each weight matrix.
    And every term has a positive coefficient: with symbolic weights the value at all-ones weights and inputs, which
    is the sum of the coefficients, is a bound too.

    Example:
        >>> count_terms_at_most(Architecture((1, 1, 1), (1, 1), 1))
        1
    """
    d, t = architecture.widths, architecture.tokens
    size = 1  # every entry of the layer's input, at all ones
    monomials = ambient_dimension(architecture)
    if not symbolic:
        return monomials
    for i, a in enumerate(architecture.attention_ranks):
        size = t * (d[i] * size) * a * (d[i] * size) ** 2
        degree = 3 ** (architecture.depth - 1 - i)
        monomials *= comb(a * d[i] + degree - 1, degree) ** 2 * comb(d[i] * d[i + 1] + degree - 1, degree)
    return min(size * d[-1] * t, monomials)


_MOST_TERMS = 6
"""Terms of a polynomial that a notebook shows."""


@dataclass(frozen=True, eq=False, repr=False)
class PolynomialMap(Result):
    r"""The polynomial map of a network.

    Attributes:
        architecture: the shape.
        entries: object array `d_l x t` of polynomials in `ring`.
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

    def coefficients(self) -> dict[tuple[int, int, Exponents], Any]:
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
        """All monomials of degree `3^l` in the inputs, in the order of the coefficient vector.

        Lexicographic, largest first, with `x_1_1 > x_1_2 > ... > x_2_1 > ...`: for two variables and degree three
        `x^3, x^2 y, x y^2, y^3`.
        """
        count = len(self.input_names)
        for choice in combinations_with_replacement(range(count), self.architecture.degree):
            exponents = [0] * count
            for i in choice:
                exponents[i] += 1
            yield tuple(exponents)

    def coefficient_vector(self, memory: int = DEFAULT_MEMORY) -> list[Any]:
        """Coordinates in the ambient space: output by output (row by row), each in the order of `monomials`.

        Raises:
            TooLarge: the ambient space has too many coordinates for `memory` bytes.

        Example:
            >>> w = Weights.of({"Q1": [[1]], "K1": [[2]], "V1": [[3]]})
            >>> polynomial_map(w.architecture(tokens=2), w).coefficient_vector()
            [6, 0, 6, 0, 0, 6, 0, 6]
        """
        size = ambient_dimension(self.architecture)
        monomials_size = size // (self.architecture.widths[-1] * self.architecture.tokens)
        needed = 16 * size + (56 + 8 * len(self.input_names)) * monomials_size
        require_memory(needed, memory, f"a vector of {size:,} coefficients")
        known = self.coefficients()
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

    def __repr__(self) -> str:
        if len(self.weight_names) == self.architecture.parameter_count:
            return f"polynomial_map({self.architecture!r})"
        polynomials = [[str(entry).replace("^", "**") for entry in row] for row in self.entries]
        return typed("PolynomialMap", {"architecture": self.architecture, "entries": cut_text(one_line(polynomials))})

    def _header(self) -> str:
        return (
            f"{self.architecture}: homogeneous of degree {self.architecture.degree}, {self.term_count:,} terms, "
            f"ambient dimension {ambient_dimension(self.architecture):,}"
        )

    def __str__(self) -> str:
        outputs = (f"phi_{k + 1}_{j + 1} = {entry}" for (k, j), entry in np.ndenumerate(self.entries))
        return "\n".join([f"# {self._header()}", *outputs])

    def to_latex(self) -> str:
        """All outputs in LaTeX, one a line, none of them cut."""
        outputs = (rf"\varphi_{{{k + 1},{j + 1}}} = {self.latex(k, j)}" for k, j in np.ndindex(*self.entries.shape))
        return "\n".join([f"% {self._header()}", *outputs])

    def _latex(self) -> str:
        names = variable_names("latex", self.weight_names + self.input_names)

        def entry(polynomial: Any) -> str:
            terms = dict(islice(polynomial.to_dict().items(), _MOST_TERMS))
            return polynomial_text("latex", names, terms) + (r" + \cdots" if len(polynomial) > _MOST_TERMS else "")

        return rf"\varphi_W(X) = {latex_matrix(self.entries, entry=entry)}"

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
    letter, row, column = name.split("_")
    layer = f"^{{({letter[1:]})}}" if letter[1:] else ""
    return f"{letter[0].lower()}{layer}_{{{row},{column}}}"


def polynomial_map(
    architecture: Architecture, weights: Weights | None = None, *, memory: int = DEFAULT_MEMORY
) -> PolynomialMap:
    r"""$\phi_W$ by the forward pass over a polynomial ring.

    Args:
        architecture: the shape.
        weights: exact weights; without them the weights are variables `Q1_1_1, Q1_1_2, ...` (layer, row, column).
        memory: bytes that the polynomials may take, by an estimate made before anything is computed.

    Returns:
        The map; homogeneous of degree $3^l$ in the inputs.

    Raises:
        ShapeError: the weights do not have the shape of the architecture.
        TooLarge: the estimate exceeds `memory`.

    Example:
        >>> phi = polynomial_map(Architecture((1, 1), (1,), tokens=2))
        >>> print(phi.entries[0, 0])
        Q1_1_1*K1_1_1*V1_1_1*x_1_1^3 + Q1_1_1*K1_1_1*V1_1_1*x_1_1*x_1_2^2
    """
    architecture.require_plain("the polynomial map")
    if weights is not None and weights.architecture(architecture.tokens) != architecture:
        raise ShapeError(f"the weights must have {architecture}, got {weights.architecture(architecture.tokens)}")
    shapes = list(architecture.weight_shapes())
    input_count = architecture.widths[0] * architecture.tokens
    variables = input_count + (architecture.parameter_count if weights is None else 0)
    # bound the depth first: the count itself has 3^l digits
    deep = architecture.depth > DEEPEST
    terms = 10**1000 if deep else count_terms_at_most(architecture, symbolic=weights is None)
    exponent_bits = 8 if architecture.degree < 128 else 32
    bytes_a_term = 8 + 8 * ceil((variables + 1) * exponent_bits / 64)
    if weights is not None:  # a coefficient is a sum of products of (3^(l+1) - 3) / 2 weights
        longest = max(
            max(x.numerator.bit_length(), x.denominator.bit_length())
            for m in weights.named().values()
            for x in m.ravel()
        )
        bytes_a_term += longest * 3 * (architecture.degree - 1) // 16 if not deep else 0
    count = f"{terms:,}" if terms < 10**15 else f"10^{len(str(terms)) - 1}"
    require_memory(terms * bytes_a_term, memory, f"the polynomials, up to {count} terms,")

    weight_names = [n for name, shape in shapes for n in entry_names(name, *shape)] if weights is None else []
    input_names = entry_names("x", architecture.widths[0], architecture.tokens)
    ring = PolynomialRing(weight_names + input_names)
    x = ring.matrix("x", architecture.widths[0], architecture.tokens)
    if weights is None:
        matrices = [ring.matrix(name, *shape) for name, shape in shapes]
        layers = [Layer(*matrices[i : i + 3]) for i in range(0, len(matrices), 3)]
    else:
        layers = [Layer(*map(ring.constants, layer)) for layer in weights.layers]
    entries = forward(x, layers)
    if entries.shape != (architecture.widths[-1], architecture.tokens):
        raise ProgramError(f"the map has shape {entries.shape}")
    return PolynomialMap(architecture, entries, ring, tuple(weight_names), tuple(input_names))
