"""Values that people give for some or all of the variables of a map: by matrix, by variable, or as weights.

SymPy symbols that are found by name: the program's own names, and those of the paper.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from math import comb
from typing import TypeAlias

from lightning_sym.errors import BadInput, ShapeError
from lightning_sym.lazy import lazy_imports
from lightning_sym.limits import require_integer, require_memory
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import Rows, exact_matrix
from lightning_sym.rings.expressions import Entry, entry, is_expression
from lightning_sym.rings.polynomials import Polynomial, entry_names

with lazy_imports(__name__):
    import sympy

WeightValues: TypeAlias = "Weights | Mapping[str | sympy.Symbol, Rows | Entry]"
"""Weights of the network; or by name in a dictionary matrices and single variables, some or all."""

with lazy_imports(__name__):
    import difflib

_WEIGHT = re.compile(r"([QKVOEU])([0-9]*)((?:_[0-9]+)+)")


class SymbolsByName(frozenset["sympy.Symbol"]):
    """A set of SymPy symbols, with `[...]` for a symbol by name.

    A weight `Q1_1_2` is also `q1_1_2`; where the network has one layer, `q_1_2` and `Q_1_2` too.

    Example:
        >>> import sympy
        >>> found = SymbolsByName(sympy.symbols("Q1_1_1 K1_1_1 x_1_1"))
        >>> found["q_1_1"], found["Q1_1_1"], len(found)
        (Q1_1_1, Q1_1_1, 3)
        >>> found["q_1_3"]
        Traceback (most recent call last):
        lightning_sym.errors.BadInput: a symbol must have one of the names that occur, near q_1_3 are q_1_1...
    """

    @cached_property
    def _places(self) -> dict[str, sympy.Symbol]:
        own = {symbol.name: symbol for symbol in self}
        parts = {name: match.groups() for name in own if (match := _WEIGHT.fullmatch(name))}
        more: dict[str, sympy.Symbol] = {}
        layers = {layer for _, layer, _ in parts.values()} - {""}
        for name, (letter, layer, rest) in parts.items():
            for short in [layer, ""] if len(layers) < 2 else [layer]:
                more |= {f"{letter}{short}{rest}": own[name], f"{letter.lower()}{short}{rest}": own[name]}
        return more | own  # a letter of somebody's own goes before

    def __getitem__(self, name: str) -> sympy.Symbol:
        """Return the symbol of this name.

        Raises:
            BadInput: there is none; the message has the nearest names.
        """
        if name not in self._places:
            near = difflib.get_close_matches(str(name), self._places, n=3, cutoff=0.4) or sorted(self._places)[:3]
            shown = f"near {str(name)[:40]} are {', '.join(near)}" if near else "and there is none"
            raise BadInput(f"a symbol must have one of the names that occur, {shown}")
        return self._places[name]

    def __reduce__(self) -> tuple[type[SymbolsByName], tuple[tuple[sympy.Symbol, ...]]]:
        return type(self), (tuple(self),)


def variable_prefix(name: str) -> str:
    """Return how variables of a weight matrix begin: head 2 of layer 1 is `Q1_2`, its entries `Q1_2_row_column`.

    Example:
        >>> variable_prefix("Q1.2"), variable_prefix("E")
        ('Q1_2', 'E')
    """
    return name.replace(".", "_")


def weight_variables(architecture: Architecture) -> tuple[str, ...]:
    """Return the variables that stand for all weights of a network, in canonical order.

    Example:
        >>> weight_variables(Architecture((1, 1), (1,), 2, heads=2))[:4]
        ('Q1_1_1_1', 'K1_1_1_1', 'V1_1_1_1', 'Q1_2_1_1')
    """
    shapes = architecture.weight_shapes()
    return tuple(n for name, shape in shapes for n in entry_names(variable_prefix(name), *shape))


def matrices_in(names: Sequence[str], architecture: Architecture) -> dict[str, tuple[int, int]]:
    """Return names and shapes of the weight matrices of a network whose entries are all among these variables.

    Example:
        >>> matrices_in(["Q1_1_1", "V1_1_1", "a"], Architecture((1, 1), (1,), 2))
        {'Q1': (1, 1), 'V1': (1, 1)}
    """
    known = set(names)
    return {
        name: shape
        for name, shape in architecture.weight_shapes()
        if known.issuperset(entry_names(variable_prefix(name), *shape))
    }


def values_by_name(
    weights: WeightValues, architecture: Architecture | None, symbols: Sequence[sympy.Symbol]
) -> dict[str, Entry]:
    """Return what weights give to the variables of a map: numbers, or expressions in letters.

    Args:
        weights: `Weights` of the network; or by name in a dictionary matrices and single variables, some or all.
        architecture: the network; `None` for a map of somebody's own, whose variables have a value each.
        symbols: SymPy's, of the map's weights.

    Returns:
        By variable, only those that are given.

    Raises:
        BadInput: a name is unknown, or an entry is no polynomial in letters, or there are two for one variable.
        ShapeError: weights, or a matrix, have another shape.

    Example:
        >>> import sympy
        >>> values_by_name({"q_1_1": 2}, Architecture((1, 1), (1,), 2), [sympy.Symbol("Q1_1_1")])
        {'Q1_1_1': Fraction(2, 1)}
    """
    shapes = {} if architecture is None else matrices_in([symbol.name for symbol in symbols], architecture)
    if isinstance(weights, Weights):
        if architecture is None:
            raise BadInput("values must be given by name in a dictionary for a map of one's own, got Weights")
        if len(shapes) != len(weights.matrices):
            raise BadInput("weights must be given for a map whose variables are all weights; here a dictionary by name")
        if (other := weights.architecture(architecture.tokens)) != architecture:
            raise ShapeError(f"the weights must be of the network {architecture}, got those of {other}")
        weights = weights.matrices
    if not isinstance(weights, Mapping):
        raise BadInput(f"values must be Weights, or given by name in a dictionary, got {type(weights).__name__}")
    by_name = SymbolsByName(symbols)
    found: dict[str, Entry] = {}
    for name, value in weights.items():
        if name in shapes:
            matrix = exact_matrix(value, str(name), entry)
            if matrix.shape != shapes[name]:
                raise ShapeError(f"{name} must be of shape {shapes[name]}, got {matrix.shape}")
            new = dict(zip(entry_names(variable_prefix(name), *matrix.shape), matrix.ravel(), strict=True))
        else:
            symbol = name if is_expression(name) and name in by_name else by_name[str(name)]
            new = {symbol.name: entry(value, symbol.name)}
        if twice := found.keys() & new.keys():
            raise BadInput(f"a weight must get one value, got two for {min(twice)}")
        found |= new
    return found


def require_substitution(polynomials: Iterable[Polynomial], images: Sequence[Polynomial], memory: int) -> None:
    """Refuse a substitution that could grow too large: sums of several terms are raised to powers.

    Args:
        polynomials: flint's, in which variables are replaced.
        images: a polynomial for each variable.
        memory: bytes that the result may take.

    Raises:
        TooLarge: the estimate exceeds `memory`.
    """
    several = [(i, len(image)) for i, image in enumerate(images) if len(image) > 1]
    if not several:
        return
    terms = 0
    for polynomial in polynomials:
        for exponents in polynomial.monoms():
            each = 1
            for i, size in several:
                power = int(exponents[i])
                each *= comb(size + power - 1, power)
            terms += each
    require_memory(terms * (16 + 8 * len(images)), memory, f"the map at these weights, up to {terms:,} terms,")


def attention_matrix(
    architecture: Architecture, symbols: Sequence[sympy.Symbol], layer: int, head: int
) -> sympy.Matrix:
    """Return `K^T Q` of a layer and head, a SymPy matrix in the symbols of the weights.

    Raises:
        BadInput: these symbols are not all entries of `Q` and `K` there.
    """
    by_name = {symbol.name: symbol for symbol in symbols}
    shapes = matrices_in(list(by_name), architecture)
    require_integer(layer, "the layer", 1)
    require_integer(head, "the head", 1)
    place = architecture.head_name(layer, head)
    if not {f"Q{place}", f"K{place}"} <= shapes.keys() or head > architecture.heads:
        raise BadInput(f"Q and K must be symbolic weights of this map, got layer {layer}, head {head}")

    def matrix(name: str) -> sympy.Matrix:
        return sympy.Matrix(*shapes[name], [by_name[n] for n in entry_names(variable_prefix(name), *shapes[name])])

    return matrix(f"K{place}").T * matrix(f"Q{place}")
