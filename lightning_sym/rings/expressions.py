r"""Between flint and SymPy: polynomials become expressions, and expressions that people give become polynomials.

SymPy is imported when it is first needed: numbers never wait for it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cmp_to_key
from itertools import chain
from math import prod
from typing import TypeAlias, TypeGuard

import numpy as np

from lightning_sym.errors import BadInput, RingError
from lightning_sym.lazy import lazy_imports
from lightning_sym.rings.arrays import ObjectArray, exact_number, two_axes
from lightning_sym.rings.polynomials import Polynomial, PolynomialRing
from lightning_sym.rings.rationals import RationalNumber

with lazy_imports(__name__):
    import sympy
    from sympy.polys import matrices as sympy_matrices

Entry: TypeAlias = "int | Fraction | sympy.Expr"
"""A number, or a polynomial in letters."""

MOST_TERMS, MOST_DEGREE = 10_000, 100
"""Terms, and their degree, of an expression that somebody gives, when it is multiplied out."""

INPUT_NAME = re.compile(r"x_[0-9]+_[0-9]+")

TERM_BYTES = 600
"""What a term of a SymPy expression takes; measured with 16 to 24 variables."""


def is_expression(value: object) -> TypeGuard[sympy.Basic]:
    """Return whether this is a SymPy expression; SymPy is not imported for the answer."""
    sympy = sys.modules.get("sympy")
    return sympy is not None and isinstance(value, sympy.Basic)


def is_sympy_matrix(value: object) -> TypeGuard[sympy.MatrixBase]:
    """Return whether this is a matrix of SymPy's; SymPy is not imported for the answer."""
    sympy = sys.modules.get("sympy")
    return sympy is not None and isinstance(value, sympy.MatrixBase)


def rational(number: RationalNumber) -> sympy.Rational:
    """Return a rational number, flint's or Python's, as SymPy's.

    Example:
        >>> rational(Fraction(1, 2))
        1/2
    """
    return sympy.Rational(int(number.numerator), int(number.denominator))


def exact_floats(expression: sympy.Expr) -> sympy.Expr:
    """Return the expression with its floats as the rational numbers that they are: every finite one is dyadic."""
    return expression.xreplace({value: sympy.Rational(value) for value in expression.atoms(sympy.Float)})


def _size(expression: sympy.Expr) -> tuple[int, int]:
    """Return bounds on terms and degree of a polynomial expression, without multiplying it out."""
    sizes = [_size(part) for part in expression.args] if expression.is_Add or expression.is_Mul else []
    if expression.is_Add:
        return min(sum(t for t, _ in sizes), 10**9), max(d for _, d in sizes)
    if expression.is_Mul:
        return min(prod(t for t, _ in sizes), 10**9), sum(d for _, d in sizes)
    if expression.is_Pow and expression.exp.is_Integer and expression.exp > 0:
        terms, degree = _size(expression.base)
        power = min(int(expression.exp), 10**9)
        return min((min(power, MOST_TERMS) + 1) ** min(terms - 1, 30), 10**9), degree * power
    return 1, int(bool(expression.free_symbols))


def entry(value: object, name: str, *, known: frozenset[sympy.Symbol] | None = None) -> Entry:
    """Return an entry of a matrix of weights: a `Fraction`, or an expanded SymPy expression in letters.

    Args:
        value: a number, or a polynomial in letters with rational coefficients; floats are the dyadic numbers they are.
        name: the entry, as a message begins.
        known: the letters that may occur, whatever their names are; else any but the inputs.

    Raises:
        BadInput: it is neither; or it is a polynomial of more than `MOST_TERMS` terms, or of
            a degree over `MOST_DEGREE`; or a letter is called like an
            input (`x_1_2`), does not commute, or has a name that is no identifier of ASCII letters.

    Example:
        >>> import sympy
        >>> a = sympy.Symbol("a")
        >>> entry(sympy.Rational(1, 2), "Q1"), entry((a + 1) ** 2, "Q1")
        (Fraction(1, 2), a**2 + 2*a + 1)
        >>> entry(sympy.sqrt(2), "Q1")
        Traceback (most recent call last):
        lightning_sym.errors.BadInput: Q1 must be a polynomial in letters with rational coefficients, got sqrt(2)
    """
    if not is_expression(value):
        return exact_number(value, name)
    return _expression_entry(value, name, known)


def _expression_entry(value: sympy.Basic, name: str, known: frozenset[sympy.Symbol] | None) -> Entry:
    def refuse() -> BadInput:
        return BadInput(f"{name} must be a polynomial in letters with rational coefficients, got {str(value)[:60]}")

    if not isinstance(value, sympy.Expr) or value.has(sympy.nan, sympy.oo, -sympy.oo, sympy.zoo):
        raise refuse()
    value = exact_floats(value)
    letters = sorted(value.free_symbols, key=lambda letter: letter.name)
    for letter in letters:
        if not (letter.name.isidentifier() and letter.name.isascii()):
            raise BadInput(f"{name} must have letters with names of ASCII letters and digits, got {letter.name[:40]!a}")
        if known is not None and letter not in known:
            raise BadInput(f"{name} must have letters that are listed as weights or inputs, got {letter.name[:40]}")
        if known is None and INPUT_NAME.fullmatch(letter.name):
            raise BadInput(f"{name} must have letters other than the inputs x_k_j, got {letter.name[:40]}")
        if not letter.is_commutative or type(letter) is not sympy.Symbol:
            raise BadInput(f"{name} must have commuting letters made by sympy.Symbol, got {letter.name[:40]}")
    terms, degree = _size(value)
    if terms > MOST_TERMS or degree > MOST_DEGREE:
        raise BadInput(
            f"{name} must have at most {MOST_TERMS:,} terms of degree at most {MOST_DEGREE}, multiplied out; "
            f"estimated {terms:,} of degree {degree:,}"
        )
    if not letters:
        number = sympy.expand(value)
        if not number.is_Rational:
            raise refuse()
        return Fraction(int(number.p), int(number.q))
    try:
        polynomial = sympy.Poly(value, *letters, domain="QQ").as_expr()
    except (sympy.PolynomialError, sympy.CoercionFailed) as error:
        raise refuse() from error
    return Fraction(int(polynomial.p), int(polynomial.q)) if polynomial.is_Rational else polynomial


def letters_of(entries: Iterable[Entry]) -> list[sympy.Symbol]:
    """Return the letters in entries, by name.

    Raises:
        BadInput: two letters differ by their assumptions only.
    """
    found: dict[str, sympy.Symbol] = {}
    for value in entries if "sympy" in sys.modules else ():
        for letter in value.free_symbols if is_expression(value) else ():
            if found.setdefault(letter.name, letter) != letter:
                raise BadInput(f"one letter must have one set of assumptions, got two letters {letter.name[:40]}")
    return [found[name] for name in sorted(found)]


def to_polynomial(value: Entry, ring: PolynomialRing) -> Polynomial:
    """Return a number, or an entry in letters, as a polynomial of a ring that has these letters.

    Raises:
        BadInput: there are letters in a denominator.
    """
    if not is_expression(value):
        return ring.constant(value)
    letters = sorted(value.free_symbols, key=lambda letter: letter.name)
    places = [ring.names.index(letter.name) for letter in letters]
    try:
        polynomial = sympy.Poly(value, *letters, domain="QQ")
    except sympy.PolynomialError as error:
        raise BadInput(f"letters must not stand in denominators here, got {str(value)[:60]}") from error
    terms = {}
    for exponents, coefficient in polynomial.terms():
        whole = [0] * len(ring.names)
        for place, exponent in zip(places, exponents, strict=True):
            whole[place] = int(exponent)
        terms[tuple(whole)] = ring.number(coefficient)
    return ring.from_terms(terms)


def to_expressions(polynomials: Sequence[Polynomial], symbols: Sequence[sympy.Symbol]) -> list[sympy.Expr]:
    """Return polynomials of flint as SymPy expressions, the same as SymPy makes, ten times faster.

    Arguments of sums and products stand in SymPy's own order. The few factors that occur are compared by SymPy; then
    products of factors are compared by the numbers of their factors in that order, as SymPy does it: shorter ones
    first, and then factor by factor.

    Args:
        polynomials: of one ring.
        symbols: SymPy's for its variables.

    Example:
        >>> import sympy
        >>> ring = PolynomialRing(["a", "b"])
        >>> a, b = ring.generators
        >>> to_expressions([a * b**2 - a / 2, ring.constant(3)], sympy.symbols("a b"))
        [a*b**2 - a/2, 3]
    """
    compare = cmp_to_key(sympy.Basic.compare)
    terms = [[(tuple(map(int, e)), c) for e, c in polynomial.to_dict().items()] for polynomial in polynomials]
    largest = [max(column) for column in zip(*(p.degrees() for p in polynomials if p), strict=True)]
    powers = [[symbol**e for e in range(1, most + 1)] for symbol, most in zip(symbols, largest, strict=False)]
    numbers = {c: rational(c) for each in terms for c in {c for _, c in each}}
    order = sorted([*chain.from_iterable(powers), *numbers.values()], key=compare)
    place = {id(factor): i for i, factor in enumerate(order)}
    places = [[place[id(factor)] for factor in each] for each in powers]
    number_places: dict[RationalNumber, int] = {c: place[id(number)] for c, number in numbers.items()}

    def expression(terms: Iterable[tuple[tuple[int, ...], RationalNumber]]) -> sympy.Expr:
        products, single = [], []
        for exponents, c in terms:
            factors = sorted([places[i][e - 1] for i, e in enumerate(exponents) if e])
            if c != 1 or not factors:
                factors.insert(0, number_places[c])
            if len(factors) == 1:
                single.append(order[factors[0]])
            else:
                products.append((len(factors), factors))
        products.sort()
        made = [sympy.Mul._from_args([order[i] for i in factors], True) for _, factors in products]
        if single:  # a number stands first
            made = sorted(made + single, key=compare)
            made.sort(key=lambda term: not term.is_Rational)
        return sympy.Add._from_args(made, True)

    return [expression(each) for each in terms]


class ExpressionMatrix:
    """A matrix of SymPy expressions for the forward pass; sums and products are multiplied out.

    Example:
        >>> import sympy
        >>> a = sympy.Symbol("a")
        >>> one = ExpressionMatrix.of(sympy.Matrix([[a + 1, 2]]))
        >>> (one @ one.mT).to_sympy()
        Matrix([[a**2 + 2*a + 5]])
    """

    __slots__ = ("domain_matrix",)

    def __init__(self, domain_matrix: sympy_matrices.DomainMatrix) -> None:
        self.domain_matrix = domain_matrix

    @classmethod
    def of(cls, matrix: ObjectArray | sympy.MatrixBase) -> ExpressionMatrix:
        """Return a SymPy matrix, or an array of numbers and expressions; floats are the dyadic numbers they are.

        Raises:
            BadInput: an entry is neither a number nor an expression.
            RingError: it is no array, but a matrix over another ring.
            ShapeError: there are more axes than two, or fewer.
        """
        if not is_sympy_matrix(matrix) and not isinstance(matrix, np.ndarray):
            raise RingError(f"SymPy matrices must go with SymPy matrices and arrays, got {type(matrix).__name__}")
        rows, columns = two_axes(matrix)

        def each(i: int, j: int) -> sympy.Expr:
            value = matrix[int(i), int(j)]
            if is_expression(value) and isinstance(value, sympy.Expr):
                return exact_floats(value)
            return rational(exact_number(value, f"entry [{i}, {j}]"))

        return cls(sympy_matrices.DomainMatrix.from_Matrix(sympy.Matrix(rows, columns, each), extension=True))

    def _with(self, other: ExpressionMatrix) -> tuple[sympy_matrices.DomainMatrix, sympy_matrices.DomainMatrix]:
        first, second = self.domain_matrix.unify(other.domain_matrix)
        return first, second

    def __matmul__(self, other: ExpressionMatrix) -> ExpressionMatrix:
        first, second = self._with(other)
        return ExpressionMatrix(first * second)

    def __add__(self, other: ExpressionMatrix) -> ExpressionMatrix:
        first, second = self._with(other)
        return ExpressionMatrix(first + second)

    def __mul__(self, other: ExpressionMatrix) -> ExpressionMatrix:
        first, second = self._with(other)
        return ExpressionMatrix(first.mul_elementwise(second))

    def like(self, constants: ObjectArray) -> ExpressionMatrix:
        """Return a matrix of numbers."""
        return ExpressionMatrix.of(np.asarray(constants, dtype=object))

    @property
    def mT(self) -> ExpressionMatrix:  # noqa: N802 - the array standard's name for the matrix transpose
        """The transpose."""
        return ExpressionMatrix(self.domain_matrix.transpose())

    def inverse(self) -> ExpressionMatrix | None:
        """Return the inverse over the rational functions in the letters; `None` if there is none."""
        try:
            return ExpressionMatrix(self.domain_matrix.to_field().inv())
        except sympy_matrices.exceptions.DMNonInvertibleMatrixError:
            return None

    def entries(self) -> ObjectArray:
        """Return the entries: `Fraction`, or expressions in lowest terms."""
        rows, columns = self.shape
        found = np.empty((rows, columns), dtype=object)
        for index, value in np.ndenumerate(np.array(self.to_sympy().tolist(), dtype=object).reshape(rows, columns)):
            found[index] = Fraction(int(value.p), int(value.q)) if value.is_Rational else value
        return found

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        rows, columns = self.domain_matrix.shape
        return int(rows), int(columns)

    def to_sympy(self) -> sympy.Matrix:
        """Return the matrix as people know it."""
        return self.domain_matrix.to_Matrix()
