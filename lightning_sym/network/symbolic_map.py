"""What SymPy sees of a polynomial map: coefficients, values at weights, ideals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from math import comb
from typing import Any, Self

import numpy as np

from lightning_sym.errors import BadInput, ShapeError
from lightning_sym.lazy import lazy_imports
from lightning_sym.limits import DEFAULT_MEMORY, require_memory
from lightning_sym.network.ambient import degree_words, degrees
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.given_map import GivenShape
from lightning_sym.network.map_ideal import PolynomialIdeal, graph_ideal
from lightning_sym.network.weight_values import (
    SymbolsByName,
    WeightValues,
    attention_matrix,
    require_substitution,
    values_by_name,
    weight_variables,
)
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.expressions import TERM_BYTES, Entry, letters_of, rational, to_expressions, to_polynomial
from lightning_sym.rings.polynomials import Polynomial, PolynomialRing, RationalCoefficient

with lazy_imports(__name__):
    import sympy

Exponents = tuple[int, ...]
Key = tuple[int, int, Exponents]


class SymbolicMap:
    """The part of `PolynomialMap` that SymPy sees; what its fields are, is said there."""

    shape: Architecture | GivenShape
    entries: ObjectArray
    ring: PolynomialRing
    weight_names: tuple[str, ...]
    input_names: tuple[str, ...]
    letters: tuple[sympy.Symbol, ...]

    def monomials(self) -> Iterator[Exponents]:
        """Return all monomials in the inputs."""
        raise NotImplementedError

    @property
    def architecture(self) -> Architecture:
        """The network.

        Raises:
            BadInput: the map is somebody's own (`of`), and belongs to no network.
        """
        if isinstance(self.shape, GivenShape):
            raise BadInput(f"the map must be that of a network here, got {self.shape}")
        return self.shape

    @property
    def degrees(self) -> Sequence[int]:
        """The degrees of the terms in the inputs, the largest first."""
        return self.shape.degrees if isinstance(self.shape, GivenShape) else degrees(self.shape)

    @property
    def ambient_dimension(self) -> int:
        """How many coefficients all maps with terms of these degrees have."""
        inputs = len(self.input_names)
        return self.entries.size * sum(comb(max(inputs + degree - 1, 0), degree) for degree in self.degrees)

    @property
    def term_count(self) -> int:
        """Terms of all outputs together."""
        return sum(len(entry) for entry in self.entries.ravel())

    @property
    def header(self) -> str:
        """What the map is, in a line."""
        terms = f"{self.term_count:,} term" + ("" if self.term_count == 1 else "s")
        if isinstance(self.shape, GivenShape):
            rows, columns = self.entries.shape
            sizes = f"{rows} x {columns}, {len(self.weight_names):,} weights, {len(self.input_names):,} inputs"
            name, words = f"{self.shape}, {sizes}", self.shape.words
        else:
            name, words = str(self.shape), degree_words(self.shape)
        return f"{name}: {words}, {terms}, ambient dimension {self.ambient_dimension:,}"

    @property
    def is_of_all_weights(self) -> bool:
        """Whether the weights of the map are all weights of a network, in canonical order."""
        return isinstance(self.shape, Architecture) and self.weight_names == weight_variables(self.shape)

    def _values(self, weights: WeightValues) -> dict[str, Entry]:
        """Return what weights give to the variables of the map."""
        return values_by_name(weights, None if isinstance(self.shape, GivenShape) else self.shape, self.weight_symbols)

    # ---- symbols

    @property
    def symbols(self) -> tuple[sympy.Symbol, ...]:
        """SymPy symbols of all variables of the ring: the weights, or the letters in them, and then the inputs."""
        weights = self.letters or tuple(map(sympy.Symbol, self.weight_names))
        inputs = self.shape.inputs if isinstance(self.shape, GivenShape) else map(sympy.Symbol, self.input_names)
        return (*weights, *inputs)

    @property
    def weight_symbols(self) -> tuple[sympy.Symbol, ...]:
        """SymPy symbols of the weights, or of the letters in them: the columns of the Jacobian."""
        return self.symbols[: len(self.weight_names)]

    @property
    def free_symbols(self) -> SymbolsByName:
        """The SymPy symbols that occur, a set; `[...]` takes a name, of the program or of the paper.

        Example:
            >>> from lightning_sym.network.polynomial_map import polynomial_map
            >>> polynomial_map(Architecture((2, 1), (1,), 1)).free_symbols["q_1_2"]
            Q1_1_2
        """
        occur = np.zeros(len(self.ring.names), dtype=bool)
        for polynomial in self.entries.ravel():
            if polynomial:
                occur |= np.array(polynomial.degrees(), dtype=object) > 0
        return SymbolsByName(symbol for symbol, here in zip(self.symbols, occur, strict=True) if here)

    # ---- coefficients

    def outputs(self) -> Iterator[tuple[int, int, Polynomial]]:
        """Yield each output with its row and token, both counted from 1, row by row."""
        yield from ((k + 1, j + 1, polynomial) for (k, j), polynomial in np.ndenumerate(self.entries))

    def ring_coefficients(self) -> dict[Key, Any]:
        r"""Return the non-zero coefficients by output and monomial in the inputs.

        They are flint's numbers and polynomials.

        Returns:
            Keys `(k, j, exponents)`: coordinate `k` of output token `j` (both from 1), exponents of `input_names`.
            Values: rational numbers (`fmpq`), or polynomials in the weights when these are symbolic.
        """
        first = len(self.weight_names)
        if first == 0:
            return {
                (k, j, tuple(map(int, exponents))): value
                for k, j, polynomial in self.outputs()
                for exponents, value in polynomial.to_dict().items()
            }
        grouped: dict[Key, dict[Exponents, RationalCoefficient]] = {}
        for k, j, polynomial in self.outputs():
            for exponents, value in polynomial.to_dict().items():
                key = (k, j, tuple(map(int, exponents[first:])))
                grouped.setdefault(key, {})[exponents[:first]] = value
        ring = PolynomialRing(self.weight_names)
        return {key: ring.from_terms(terms) for key, terms in grouped.items()}

    def coordinate(self, key: Key) -> str:
        """Return the name `c_k_j_m` of a coefficient: coordinate `k` of output token `j`, monomial `m`.

        The monomials are those of `monomials`.

        Example:
            >>> from lightning_sym.network.polynomial_map import polynomial_map
            >>> polynomial_map(Architecture((1, 1), (1,), 2)).coordinate((1, 2, (2, 1)))
            'c_1_2_2'
        """
        k, j, exponents = key
        left, variables = sum(exponents), len(exponents)
        before = sum(comb(variables + d - 1, d) for d in self.degrees if d > left)
        for i, e in enumerate(exponents, start=1):  # those with a larger exponent here come before
            if left > e:
                before += comb(left - e - 1 + variables - i, variables - i)
            left -= e
        return f"c_{k}_{j}_{before + 1}"

    def _require(self, terms: int, memory: int, what: str) -> None:
        require_memory(terms * TERM_BYTES, memory, f"{what}, {terms:,} terms in SymPy,")

    def _ordered(self, known: Iterable[Key]) -> list[Key]:
        """Return keys in the order of the coefficient vector: outputs row by row, monomials as in `monomials`."""
        return sorted(known, key=lambda key: (key[0], key[1], -sum(key[2]), tuple(-e for e in key[2])))

    def coefficients(self, memory: int = DEFAULT_MEMORY) -> dict[Key, sympy.Expr]:
        r"""Return the non-zero coefficients in SymPy, by output and monomial in the inputs.

        Returns:
            Keys `(k, j, exponents)`: coordinate `k` of output token `j` (both from 1), exponents of `input_names`, in
            the order of the coefficient vector. Values: SymPy numbers, or expressions in the weights.

        Raises:
            TooLarge: the expressions are estimated to need more than `memory` bytes.

        Example:
            >>> from lightning_sym.network.polynomial_map import polynomial_map
            >>> polynomial_map(Architecture((1, 1), (1,), 1)).coefficients()
            {(1, 1, (3,)): K1_1_1*Q1_1_1*V1_1_1}
        """
        self._require(sum(map(len, self.entries.ravel())), memory, "the coefficients")
        known = self.ring_coefficients()
        keys = self._ordered(known)
        if not self.weight_names:
            return {key: rational(known[key]) for key in keys}
        return dict(zip(keys, to_expressions([known[key] for key in keys], self.weight_symbols), strict=True))

    @cached_property
    def _distinct(self) -> dict[Key, Any]:
        """The first coefficient of each value that is not zero, by key."""
        known = self.ring_coefficients()
        seen, found = set(), {}
        for key in self._ordered(known):
            value = frozenset(known[key].to_dict().items()) if self.weight_names else known[key]
            if value not in seen:
                seen.add(value)
                found[key] = known[key]
        return found

    def distinct_coefficients(self, memory: int = DEFAULT_MEMORY) -> dict[Key, sympy.Expr]:
        """Return those of `coefficients` that differ, each under its first key: the rows of the Jacobian.

        Raises:
            TooLarge: as `coefficients` does.
        """
        self._require(sum(map(len, self.entries.ravel())), memory, "the coefficients")
        values = list(self._distinct.values())
        if not self.weight_names:
            return {key: rational(value) for key, value in self._distinct.items()}
        return dict(zip(self._distinct, to_expressions(values, self.weight_symbols), strict=True))

    def matrix(self, memory: int = DEFAULT_MEMORY) -> sympy.Matrix:
        """Return all outputs as a SymPy matrix of expressions, `m x t`, in `symbols`.

        Raises:
            TooLarge: the expressions are estimated to need more than `memory` bytes.

        Example:
            >>> from lightning_sym.network.polynomial_map import polynomial_map
            >>> polynomial_map(Architecture((1, 1), (1,), 1)).matrix()
            Matrix([[K1_1_1*Q1_1_1*V1_1_1*x_1_1**3]])
        """
        self._require(sum(map(len, self.entries.ravel())), memory, "the matrix")
        return sympy.Matrix(*self.entries.shape, to_expressions(list(self.entries.ravel()), self.symbols))

    # ---- special weights

    def at(self, weights: WeightValues, memory: int = DEFAULT_MEMORY) -> Self:
        """Return the map at these weights.

        Args:
            weights: `Weights`; or by name in a dictionary, some or all: matrices (`{"Q1": [[1, 0]]}`) and single
                variables (`{"Q1_1_2": 1}`, by string or SymPy symbol). Entries are numbers or polynomials in letters.
            memory: bytes that the polynomials may take, by an estimate made before anything is computed.

        Returns:
            The map with the variables that are left, and the letters that came in, as its weights.

        Raises:
            BadInput: a name is unknown, or an entry is no polynomial in letters.
            ShapeError: a matrix has another shape.
            TooLarge: the estimate exceeds `memory`.

        Example:
            >>> import sympy
            >>> from lightning_sym.network.polynomial_map import polynomial_map
            >>> a = sympy.Symbol("a")
            >>> phi = polynomial_map(Architecture((1, 1), (1,), 1)).at({"Q1": [[a]], "k_1_1": 2})
            >>> phi.matrix(), phi.weight_names
            (Matrix([[2*V1_1_1*a*x_1_1**3]]), ('V1_1_1', 'a'))
        """
        given = self._values(weights)
        if not self.weight_names and given:
            raise BadInput("the map must have symbolic weights to be taken at others, got numbers")
        left = {s.name: s for s in self.weight_symbols if s.name not in given}
        letters = letters_of([*left.values(), *given.values()])
        names = [*left, *(s.name for s in letters if s.name not in left)]
        own = {s.name: s for s in letters}
        if clash := own.keys() & set(self.input_names):
            raise BadInput(f"letters must not be called like inputs of the map, got {min(clash)}")
        ring = PolynomialRing([*names, *self.input_names])
        images = [to_polynomial(given[name], ring) if name in given else ring[name] for name in self.weight_names] + [
            ring[name] for name in self.input_names
        ]
        require_substitution(self.entries.ravel(), images, memory)
        composed = np.empty(self.entries.shape, dtype=object)
        for place, polynomial in np.ndenumerate(self.entries):
            composed[place] = ring.substituted(polynomial, images)
        return replace(  # type: ignore[type-var]
            self, entries=composed, ring=ring, weight_names=tuple(names), letters=tuple(own[name] for name in names)
        )

    # ---- ideals

    def ideal(self, at: WeightValues | SymbolicMap | None = None) -> PolynomialIdeal:
        r"""Return the ideal of the graph of $W \mapsto \phi_W$; with `at`, the ideal of a fiber.

        The graph: generators `c_k_j_m - coefficient`, one for each of `distinct_coefficients`, in the ring of the
        weights and of these coordinates; `c_k_j_m` is coordinate `k` of output token `j`, monomial `m` of `monomials`,
        counted from 1. Without the weights, eliminated, it is the ideal of the closure of the set of functions, in the
        linear space where coefficients that are always zero are zero and equal ones are equal. A fiber: generators
        `coefficient - value`, in the ring of the weights; all weights over any extension field with this function.

        Args:
            at: weights as `at` takes them, numbers for all; or a `PolynomialMap` of the same inputs and outputs whose
                coefficients are numbers.

        Raises:
            BadInput: the weights of this map are numbers; or `at` has letters, or lacks a weight.
            ShapeError: the map `at` has other inputs or outputs.

        Example:
            >>> from lightning_sym.network.polynomial_map import polynomial_map
            >>> phi = polynomial_map(Architecture((1, 1), (1,), 1))
            >>> phi.ideal().generators
            (-K1_1_1*Q1_1_1*V1_1_1 + c_1_1_1,)
            >>> phi.ideal(at={"Q1": [[2]], "K1": [[3]], "V1": [[1]]}).generators
            (K1_1_1*Q1_1_1*V1_1_1 - 6,)
        """
        if not self.weight_names:
            raise BadInput("an ideal must be of a map with symbolic weights, got numbers")
        if at is None:
            known = self.distinct_coefficients()
            return graph_ideal(dict(zip(map(self.coordinate, known), known.values(), strict=True)), self.weight_symbols)
        fixed = at if isinstance(at, SymbolicMap) else self.at(at)
        if fixed.weight_names:
            raise BadInput(f"a fiber must be of a function whose coefficients are numbers, got {fixed.weight_names[0]}")
        if (fixed.input_names, fixed.entries.shape) != (self.input_names, self.entries.shape):
            raise ShapeError(f"a fiber must be of a function of the same inputs and outputs, got {fixed.shape}")
        own, wanted = self.coefficients(), fixed.coefficients()
        generators = dict.fromkeys(own.get(key, 0) - wanted.get(key, 0) for key in self._ordered({**own, **wanted}))
        return PolynomialIdeal(tuple(g for g in generators if g != 0), self.weight_symbols)

    def attention_matrix(self, layer: int = 1, head: int = 1) -> sympy.Matrix:
        r"""Return the paper's $A = K^\top Q$ of a layer and head in the symbols of the weights: its entries $a_{ij}$.

        Raises:
            BadInput: the map has no symbolic `Q` and `K` of this layer and head.

        Example:
            >>> from lightning_sym.network.polynomial_map import polynomial_map
            >>> polynomial_map(Architecture((2, 1), (1,), 1)).attention_matrix()
            Matrix([
            [K1_1_1*Q1_1_1, K1_1_1*Q1_1_2],
            [K1_1_2*Q1_1_1, K1_1_2*Q1_1_2]])
        """
        return attention_matrix(self.architecture, self.weight_symbols, layer, head)
