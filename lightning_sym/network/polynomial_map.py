r"""$\phi_W$ as exact polynomials in the inputs, with symbolic or rational weights."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations_with_replacement, islice
from typing import Any, TypeVar

from lightning_sym.arguments import require_arguments
from lightning_sym.display import Result, cut_text, latex_matrix, one_line, typed
from lightning_sym.errors import ProgramError, ShapeError
from lightning_sym.lazy import lazy_imports
from lightning_sym.limits import DEFAULT_MEMORY, require_integer, require_memory
from lightning_sym.network.ambient import (
    EntrySizes,
    require_polynomial,
    require_room,
)
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.attention import network_output
from lightning_sym.network.formats import polynomial_text, variable_names
from lightning_sym.network.given_map import GivenLetters, GivenShape, given_map
from lightning_sym.network.map_differential import MapDifferential
from lightning_sym.network.symbolic_map import Exponents, Key
from lightning_sym.network.weight_values import variable_prefix, weight_variables
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import ObjectArray, Rows
from lightning_sym.rings.expressions import to_polynomial
from lightning_sym.rings.polynomials import Polynomial, PolynomialRing, entry_names, to_sympy
from lightning_sym.rings.rationals import map_entries

with lazy_imports(__name__):
    import sympy

    from lightning_sym.network import map_formats

T = TypeVar("T")

BYTES_A_NAME = 100

_MOST_PRINTED, _MOST_OUTPUTS = 40, 12
"""Terms of a polynomial, and outputs, that `print` shows."""

_MOST_TERMS = 6
"""Terms of a polynomial that a notebook shows."""


@dataclass(frozen=True, eq=False, repr=False)
class PolynomialMap(MapDifferential, Result):
    r"""The polynomial map of a network.

    Attributes:
        shape: the network, `architecture`; or what a map of somebody's own has in place of one.
        entries: object array `m x t` of polynomials in `ring`; `m` is `d_l` where there is no unembedding.
        ring: the variables are the weights (none of them if they are numbers) and then the inputs `x_1_1, x_1_2, ...`,
            row by row, all in the order of `weight_names + input_names`.
        weight_names: names of the symbolic weights, empty for rational weights.
        input_names: names of the inputs; `x_k_j` is coordinate `k` of token `j`.
        letters: the SymPy symbols of `weight_names` where these are letters of somebody's own.
    """

    shape: Architecture | GivenShape
    entries: ObjectArray
    ring: PolynomialRing
    weight_names: tuple[str, ...]
    input_names: tuple[str, ...]
    letters: tuple[sympy.Symbol, ...] = ()

    @classmethod
    def of(
        cls,
        matrix: sympy.MatrixBase | Rows,
        *,
        weights: GivenLetters,
        inputs: GivenLetters = (),
        memory: int = DEFAULT_MEMORY,
    ) -> PolynomialMap:
        """Return a polynomial map of one's own: what needs no theorem about attention holds for it too.

        A function of the inputs, whose coefficients are polynomials in the weights. Without inputs the entries
        themselves are the coefficients, those of a tensor for example.

        Args:
            matrix: a SymPy matrix, or rows, of polynomials with rational coefficients in weights and inputs.
            weights: SymPy symbols, or names; none if the coefficients are numbers.
            inputs: likewise.
            memory: bytes that the polynomials may take.

        Raises:
            BadInput: a letter is listed twice, or occurs and is not listed; or an entry is no such polynomial.
            ShapeError: the rows form no matrix.
            TooLarge: the polynomials do not fit into `memory`.

        Example:
            >>> import sympy
            >>> a, b, x, y = sympy.symbols("a b x y")
            >>> phi = PolynomialMap.of(sympy.Matrix([(a * x + b * y) ** 2]), weights=[a, b], inputs=[x, y])
            >>> phi.generic_rank().rank, phi.jacobian()
            (2, Matrix([
            [2*a,   0],
            [2*b, 2*a],
            [  0, 2*b]]))
        """
        return cls(*given_map(matrix, weights, inputs, memory))

    def is_homogeneous(self, degree: int) -> bool:
        """Return whether every term of every output has this degree in the inputs."""
        require_integer(degree, "the degree")
        first = len(self.weight_names)
        return all(
            sum(map(int, exponents[first:])) == degree for entry in self.entries.ravel() for exponents in entry.monoms()
        )

    def monomials(self) -> Iterator[Exponents]:
        """Yield all monomials in the inputs of the degrees that occur, in the order of the coefficient vector.

        Of degree `3^l`, with skip connections of all odd degrees up to it, the largest first. Within a degree
        lexicographic, largest first, with `x_1_1 > x_1_2 > ... > x_2_1 > ...`: for two variables and degree three
        `x^3, x^2 y, x y^2, y^3`.
        """
        count = len(self.input_names)
        for degree in self.degrees:
            for choice in combinations_with_replacement(range(count), degree):
                exponents = [0] * count
                for i in choice:
                    exponents[i] += 1
                yield tuple(exponents)

    def _require_vector(self, memory: int) -> None:
        size = self.ambient_dimension
        needed = 16 * size + (56 + 8 * len(self.input_names)) * (size // self.entries.size)
        require_memory(needed, memory, f"a vector of {size:,} coefficients")

    def _vector(self, known: dict[Key, T], zero: T) -> list[T]:
        monomials = list(self.monomials())
        return [known.get((k, j, exponents), zero) for k, j, _ in self.outputs() for exponents in monomials]

    def coefficient_vector(self, memory: int = DEFAULT_MEMORY) -> list[sympy.Expr]:
        """Return coordinates in the ambient space in SymPy: output by output (row by row), as `monomials` orders them.

        Raises:
            TooLarge: the ambient space has too many coordinates for `memory` bytes.

        Example:
            >>> import sympy
            >>> w = Weights.of({"Q1": [[1]], "K1": [[2]], "V1": [[3]]})
            >>> sympy.Matrix(polynomial_map(w.architecture(tokens=2), w).coefficient_vector()).T
            Matrix([[6, 0, 6, 0, 0, 6, 0, 6]])
        """
        self._require_vector(memory)
        return self._vector(self.coefficients(memory), sympy.S.Zero)

    def ring_coefficient_vector(self, memory: int = DEFAULT_MEMORY) -> list[Any]:
        """Return the same as flint's numbers, or polynomials in the weights.

        Raises:
            TooLarge: the ambient space has too many coordinates for `memory` bytes.
        """
        self._require_vector(memory)
        zero = PolynomialRing(self.weight_names).constant(0) if self.weight_names else 0
        return self._vector(self.ring_coefficients(), zero)

    def sympy(self, k: int, j: int) -> sympy.polys.rings.PolyElement:
        """Return output `phi_k_j`, counted from 1, as an element of a SymPy polynomial ring.

        Raises:
            BadInput: there is no such output.
        """
        for place, name, count in ((k, "row", self.entries.shape[0]), (j, "column", self.entries.shape[1])):
            require_integer(place, f"the {name} of an output", 1, count)
        return to_sympy(self.entries[k - 1, j - 1], self.symbols)

    def __repr__(self) -> str:
        if self.is_of_all_weights and not self.letters:
            return f"polynomial_map({self.architecture!r})"
        polynomials = [[str(entry).replace("^", "**") for entry in row] for row in self.entries]
        if isinstance(self.shape, GivenShape):
            rows = ", ".join(f"[{', '.join(row)}]" for row in polynomials)
            weights, inputs = (", ".join(names) for names in (self.weight_names, self.input_names))
            return f"PolynomialMap.of([{cut_text(rows)}], weights=[{cut_text(weights)}], inputs=[{cut_text(inputs)}])"
        return typed("PolynomialMap", {"architecture": self.architecture, "entries": cut_text(one_line(polynomials))})

    def __str__(self) -> str:
        shown = islice(self.outputs(), _MOST_OUTPUTS)
        outputs = [f"phi_{k}_{j} = {self._cut(entry)}" for k, j, entry in shown]
        more = self.entries.size - len(outputs)
        return "\n".join([f"# {self.header}", *outputs, *([f"... {more:,} more outputs"] if more else [])])

    def _cut(self, entry: Polynomial) -> str:
        """Return a polynomial as text; of a long one the first terms."""
        if len(entry) <= _MOST_PRINTED:
            return str(entry)
        first = self.ring.from_terms(dict(islice(entry.to_dict().items(), _MOST_PRINTED)))
        return f"{first} + ... ({len(entry):,} terms)"

    def whole_text(self) -> str:
        """Return all outputs, one a line, none of them cut."""
        outputs = (f"phi_{k}_{j} = {entry}" for k, j, entry in self.outputs())
        return "\n".join([f"# {self.header}", *outputs])

    def to_latex(self) -> str:
        """Return all outputs in LaTeX, one a line, none of them cut."""
        outputs = (rf"\varphi_{{{k},{j}}} = {self.latex(k, j)}" for k, j, _ in self.outputs())
        return "\n".join([f"% {self.header}", *outputs])

    def to_text(self, form: str) -> str:
        """Return the map and the ideal of its coefficients, ready to paste into a computer algebra system.

        Args:
            form: `sympy`, `macaulay2`, `singular`, `oscar` or `sage`.

        Raises:
            BadInput: it is none of these, or a letter has a name that the system cannot have.

        Example:
            >>> print(polynomial_map(Architecture((1, 1), (1,), 1)).to_text("macaulay2").splitlines()[1])
            R = QQ[Q1_(1,1), K1_(1,1), V1_(1,1), x_(1,1)];
        """
        return map_formats.map_text(self, form)

    def _latex(self) -> str:
        names = self.weight_names + self.input_names
        given = isinstance(self.shape, GivenShape)  # its letters have any names
        written = list(map(_latex_name, names)) if given else variable_names("latex", names)

        def entry(polynomial: Polynomial) -> str:
            terms = dict(islice(polynomial.to_dict().items(), _MOST_TERMS))
            return polynomial_text("latex", written, terms) + (r" + \cdots" if len(polynomial) > _MOST_TERMS else "")

        return rf"\varphi_W(X) = {latex_matrix(self.entries, entry=entry)}"

    def latex(self, k: int, j: int) -> str:
        """Return output `phi_k_j`, counted from 1, in LaTeX, by SymPy's printer.

        Example:
            >>> print(polynomial_map(Architecture((1, 1), (1,), 1)).latex(1, 1))
            q^{(1)}_{1,1} k^{(1)}_{1,1} v^{(1)}_{1,1} {x_{1,1}}^{3}
        """
        polynomial = self.sympy(k, j)
        names = {symbol: _latex_name(symbol.name) for symbol in polynomial.ring.symbols}
        return str(sympy.latex(polynomial, symbol_names=names))


def _latex_name(name: str) -> str:
    if (match := re.fullmatch(r"([QKVOEUx][0-9]*)((?:_[0-9]+)?)_([0-9]+)_([0-9]+)", name)) is None:
        return str(sympy.latex(sympy.Symbol(name)))  # a letter of somebody's own
    letter, head, row, column = match.groups()
    place = letter[1:] + head.replace("_", ",")
    return f"{letter[0].lower()}{f'^{{({place})}}' if place else ''}_{{{row},{column}}}"


def polynomial_map(
    architecture: Architecture, weights: Weights | None = None, *, memory: int = DEFAULT_MEMORY
) -> PolynomialMap:
    r"""Return $\phi_W$, computed by the forward pass over a polynomial ring.

    Args:
        architecture: a network without normalization: heads, output projections, skip connections, a mask, an
            embedding and an unembedding, and variants, as it has them; those that take roots, angles or exponentials
            are no polynomials.
        weights: exact weights; letters in them are the weights of the map, by name. Without `weights` the weights are
            variables `Q1_1_1, Q1_1_2, ...` (layer, row, column), with several heads `Q1_2_1_1` (layer, head, row,
            column), and `E_1_1`, `U_1_1` without a layer.
        memory: bytes that the polynomials may take, by an estimate made before anything is computed.

    Returns:
        The map; homogeneous of degree $3^l$ in the inputs, with skip connections of all odd degrees up to $3^l$;
        `degrees` says which with variants.

    Raises:
        BadInput: the network is normalized or has roots, angles or exponentials, so no polynomial map.
        ShapeError: the weights do not have the shape of the architecture.
        TooLarge: the estimate exceeds `memory`.

    Example:
        >>> phi = polynomial_map(Architecture((1, 1), (1,), tokens=2))
        >>> print(phi.entries[0, 0])
        Q1_1_1*K1_1_1*V1_1_1*x_1_1^3 + Q1_1_1*K1_1_1*V1_1_1*x_1_1*x_1_2^2
    """
    require_arguments(polynomial_map, locals())
    require_polynomial(architecture, "the polynomial map")
    if weights is not None and weights.architecture(architecture.tokens) != architecture:
        raise ShapeError(f"the weights must have {architecture}, got {weights.architecture(architecture.tokens)}")
    rows, tokens = architecture.input_width, architecture.tokens
    # before they are named: there may be a thousand million of them
    require_memory(BYTES_A_NAME * rows * tokens, memory, f"names of {rows * tokens:,} inputs")
    inputs = entry_names("x", rows, tokens)
    matrices: list[ObjectArray]
    if weights is None:
        require_room(architecture, rows * tokens + architecture.parameter_count, None, memory)
        shapes = [(variable_prefix(name), shape) for name, shape in architecture.weight_shapes()]
        names = list(weight_variables(architecture))
        ring = PolynomialRing(names + inputs)
        matrices = [ring.matrix(name, *shape) for name, shape in shapes]
    else:
        names = [letter.name for letter in weights.letters]
        ring = PolynomialRing(names + inputs)
        matrices = [map_entries(partial(to_polynomial, ring=ring), matrix) for matrix in weights.matrices.values()]
        require_room(architecture, len(ring.names), EntrySizes.of(matrices, len(names)), memory)
    entries = network_output(ring.matrix("x", rows, tokens), architecture, matrices)
    if entries.shape != (architecture.output_width, tokens):
        raise ProgramError(f"the map has shape {entries.shape}")
    letters = () if weights is None else weights.letters
    return PolynomialMap(architecture, entries, ring, tuple(names), tuple(inputs), letters)
