r"""$\phi_W$ as exact polynomials in the inputs, with symbolic or rational weights."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations_with_replacement, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from lightning_sym.arguments import require_arguments
from lightning_sym.display import Result, cut_text, latex_matrix, one_line, typed
from lightning_sym.errors import BadInput, ProgramError, ShapeError
from lightning_sym.lazy import lazy_imports
from lightning_sym.limits import DEFAULT_MEMORY, require_integer, require_memory
from lightning_sym.network.ambient import (
    EntrySizes,
    ambient_dimension,
    degree_words,
    degrees,
    require_polynomial,
    require_room,
)
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.attention import network_output
from lightning_sym.network.formats import polynomial_text, variable_names
from lightning_sym.network.symbolic_map import Exponents, Key, SymbolicMap
from lightning_sym.network.weight_values import variable_prefix, weight_variables
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.expressions import to_polynomial
from lightning_sym.rings.polynomials import PolynomialRing, entry_names, to_sympy
from lightning_sym.rings.rationals import map_entries

with lazy_imports(__name__):
    import sympy

    from lightning_sym.network import generic_rank

if TYPE_CHECKING:
    from sympy.polys.rings import PolyElement

    from lightning_sym.network.generic_rank import GenericRank

BYTES_A_NAME = 100

_MOST_TERMS = 6
"""Terms of a polynomial that a notebook shows."""


@dataclass(frozen=True, eq=False, repr=False)
class PolynomialMap(SymbolicMap, Result):
    r"""The polynomial map of a network.

    Attributes:
        architecture: the network.
        entries: object array `m x t` of polynomials in `ring`; `m` is `d_l` where there is no unembedding.
        ring: the variables are the weights (none of them if they are numbers) and then the inputs `x_1_1, x_1_2, ...`,
            row by row, all in the order of `weight_names + input_names`.
        weight_names: names of the symbolic weights, empty for rational weights.
        input_names: names of the inputs; `x_k_j` is coordinate `k` of token `j`.
        letters: the SymPy symbols of `weight_names` where these are letters of somebody's own.
    """

    architecture: Architecture
    entries: ObjectArray
    ring: PolynomialRing
    weight_names: tuple[str, ...]
    input_names: tuple[str, ...]
    letters: tuple[Any, ...] = ()

    @property
    def term_count(self) -> int:
        """Terms of all outputs together."""
        return sum(len(entry) for entry in self.entries.ravel())

    def is_homogeneous(self, degree: int) -> bool:
        """Whether every term of every output has this degree in the inputs."""
        require_integer(degree, "the degree")
        first = len(self.weight_names)
        return all(
            sum(map(int, exponents[first:])) == degree for entry in self.entries.ravel() for exponents in entry.monoms()
        )

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

    def _require_vector(self, memory: int) -> None:
        size = ambient_dimension(self.architecture)
        needed = 16 * size + (56 + 8 * len(self.input_names)) * (size // self.entries.size)
        require_memory(needed, memory, f"a vector of {size:,} coefficients")

    def _vector(self, known: dict[Key, Any], zero: Any) -> list[Any]:
        monomials = list(self.monomials())
        return [
            known.get((k, j, exponents), zero) for k, j in np.ndindex(*self.entries.shape) for exponents in monomials
        ]

    def coefficient_vector(self, memory: int = DEFAULT_MEMORY) -> list[Any]:
        """Coordinates in the ambient space in SymPy: output by output (row by row), each in the order of `monomials`.

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
        """The same as flint's numbers, or polynomials in the weights.

        Raises:
            TooLarge: the ambient space has too many coordinates for `memory` bytes.
        """
        self._require_vector(memory)
        zero = PolynomialRing(self.weight_names).constant(0) if self.weight_names else 0
        return self._vector(self.ring_coefficients(), zero)

    def generic_rank(self, seed: int = 0) -> GenericRank:
        r"""The rank of the Jacobian at all weights but those in the zero set of some polynomial, from both sides.

        For symbolic weights of a network it is the dimension of its set of functions. `certified_dimension` needs no
        polynomials for that, and reaches much further; here any family of weights with letters has an answer.

        Args:
            seed: picks the points; it may change the evidence, never a certified number.

        Returns:
            Bounds; `rank` is the generic rank where they meet.

        Raises:
            BadInput: the weights of the map are numbers, or the seed is negative.

        Example:
            >>> found = polynomial_map(Architecture((2, 1), (2,), 2)).generic_rank()
            >>> found.rank, found.lower, found.upper
            (5, 5, 5)
        """
        require_integer(seed, "the seed")
        if not self.weight_names:
            raise BadInput("a generic rank must be of a map with symbolic weights, got numbers")
        generator = np.random.default_rng([seed, 1])
        if self.weight_names == weight_variables(self.architecture) and not self.architecture.varies:
            coefficients = ambient_dimension(self.architecture)
            sample = partial(generic_rank.network_sample, self.architecture, generator)
        else:
            coefficients = len(self._distinct)
            sample = partial(generic_rank.polynomial_sample, self._derivatives(), len(self.weight_names), generator)
        search = generic_rank.FieldSearch(self.ring, len(self.weight_names), list(self.entries.ravel()), sample)

        def rank_at(point: Sequence[int]) -> int:
            return self.jacobian_rank(dict(zip(self.weight_names, point, strict=True))).rank

        return generic_rank.generic_rank_bounds(search, self.weight_names, rank_at, coefficients, seed)

    def sympy(self, k: int, j: int) -> PolyElement:
        """Output `(k, j)`, counted from 0, as an element of a SymPy polynomial ring.

        Raises:
            BadInput: there is no such output.
        """
        for place, name, count in ((k, "row", self.entries.shape[0]), (j, "column", self.entries.shape[1])):
            require_integer(place, f"the {name} of an output", 0, count - 1)
        return to_sympy(self.entries[k, j], self.symbols)

    def __repr__(self) -> str:
        if self.weight_names == weight_variables(self.architecture) and not self.letters:
            return f"polynomial_map({self.architecture!r})"
        polynomials = [[str(entry).replace("^", "**") for entry in row] for row in self.entries]
        return typed("PolynomialMap", {"architecture": self.architecture, "entries": cut_text(one_line(polynomials))})

    @property
    def header(self) -> str:
        """What the map is, in a line."""
        terms = f"{self.term_count:,} term" + ("" if self.term_count == 1 else "s")
        return (
            f"{self.architecture}: {degree_words(self.architecture)}, {terms}, "
            f"ambient dimension {ambient_dimension(self.architecture):,}"
        )

    def __str__(self) -> str:
        outputs = (f"phi_{k + 1}_{j + 1} = {entry}" for (k, j), entry in np.ndenumerate(self.entries))
        return "\n".join([f"# {self.header}", *outputs])

    def to_latex(self) -> str:
        """All outputs in LaTeX, one a line, none of them cut."""
        outputs = (rf"\varphi_{{{k + 1},{j + 1}}} = {self.latex(k, j)}" for k, j in np.ndindex(*self.entries.shape))
        return "\n".join([f"% {self.header}", *outputs])

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
    r"""$\phi_W$ by the forward pass over a polynomial ring.

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
