"""A polynomial map that somebody gives: its entries, the letters that are weights, and those that are inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeAlias

from lightning_sym.arguments import shown
from lightning_sym.errors import BadInput
from lightning_sym.lazy import lazy_imports
from lightning_sym.limits import require_memory
from lightning_sym.rings.arrays import ObjectArray, Rows, exact_matrix
from lightning_sym.rings.expressions import entry, is_expression, is_sympy_matrix, to_polynomial
from lightning_sym.rings.polynomials import PolynomialRing
from lightning_sym.rings.rationals import map_entries

with lazy_imports(__name__):
    import sympy

GivenLetters: TypeAlias = "Iterable[str | sympy.Symbol]"
"""Symbols of SymPy's, or their names."""


@dataclass(frozen=True)
class GivenShape:
    """What a polynomial map of one's own has in place of a network.

    Attributes:
        degrees: of its terms in the inputs, the largest first.
        inputs: SymPy symbols of the inputs.
    """

    degrees: tuple[int, ...]
    inputs: tuple[sympy.Symbol, ...]

    def __str__(self) -> str:
        return "a polynomial map of one's own"

    @property
    def words(self) -> str:
        """The degrees, in words."""
        if not self.inputs:
            return "no inputs"
        several = ", ".join(map(str, reversed(self.degrees)))
        return f"homogeneous of degree {several}" if len(self.degrees) == 1 else f"of degrees {several} in the inputs"


class GivenMap(NamedTuple):
    """The parts of a `PolynomialMap`, in the order in which it has them."""

    shape: GivenShape
    entries: ObjectArray
    ring: PolynomialRing
    weight_names: tuple[str, ...]
    input_names: tuple[str, ...]
    letters: tuple[sympy.Symbol, ...]


def letters(given: GivenLetters, what: str) -> Iterator[sympy.Symbol]:
    """Yield the letters that somebody lists: symbols, or their names.

    Raises:
        BadInput: one is no commuting symbol with a plain name.

    Example:
        >>> [letter.name for letter in letters(["a", sympy.Symbol("b")], "inputs")]
        ['a', 'b']
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise BadInput(f"{what} must be a list of SymPy symbols or names, got {shown(given)}")
    for each in given:
        letter = sympy.Symbol(each) if isinstance(each, str) else each
        if not is_expression(letter) or type(letter) is not sympy.Symbol or not letter.is_commutative:
            raise BadInput(f"{what} must be commuting letters made by sympy.Symbol, or names, got {shown(each)}")
        if not (letter.name.isidentifier() and letter.name.isascii()):
            raise BadInput(f"{what} must have names of ASCII letters and digits, got {letter.name[:40]!a}")
        yield letter


def given_map(matrix: sympy.MatrixBase | Rows, weights: GivenLetters, inputs: GivenLetters, memory: int) -> GivenMap:
    """Read a map of one's own.

    Args:
        matrix: a SymPy matrix, or rows, of polynomials in the letters with rational coefficients.
        weights, inputs: SymPy symbols or names; no letter is in both.
        memory: bytes that the polynomials may take.

    Raises:
        BadInput: a letter is listed twice, or occurs and is not listed; or an entry is no such polynomial.
        ShapeError: the rows form no matrix.
        TooLarge: the polynomials do not fit into `memory`.

    Example:
        >>> a, x = sympy.symbols("a x")
        >>> given_map([[a * x**2 + x]], [a], [x], 2**20).shape.words
        'of degrees 1, 2 in the inputs'
    """
    own, read = tuple(letters(weights, "weights")), tuple(letters(inputs, "inputs"))
    names = [letter.name for letter in (*own, *read)]
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise BadInput(f"weights and inputs must be different letters, got {twice[:40]} twice")
    rows = matrix.tolist() if is_sympy_matrix(matrix) else matrix
    exact = exact_matrix(rows, "the map", partial(entry, known=frozenset((*own, *read))))
    ring = PolynomialRing(names)
    entries = map_entries(partial(to_polynomial, ring=ring), exact)
    terms = sum(map(len, entries.ravel()))
    require_memory(terms * 8 * (len(names) + 4), memory, f"the polynomials, {terms:,} terms,")
    occur = {sum(map(int, e[len(own) :])) for polynomial in entries.ravel() for e in polynomial.monoms()}
    shape = GivenShape(tuple(sorted(occur or {0}, reverse=True)), read)
    return GivenMap(shape, entries, ring, tuple(names[: len(own)]), tuple(names[len(own) :]), own)
