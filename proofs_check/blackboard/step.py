"""What stands on the blackboard: steps of exact data, and how they are written there.

Layers on the board: their functions, and how these move with the weights.

Pairs of binary quadratic forms on the board: the functions of one layer of width two with one output.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from lightning_sym import Layer, ProgramError, forward
from lightning_sym.exact.rational import rank
from lightning_sym.network.attention import Form
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.derivatives import Dual
from lightning_sym.rings.polynomials import Polynomial as FlintPolynomial
from lightning_sym.rings.polynomials import PolynomialRing
from lightning_sym.rings.rationals import as_fraction, map_entries, to_fractions
from proofs_check.ring_matrices import array_of


@dataclass(frozen=True)
class Polynomial:
    """A polynomial as data: its variables (in LaTeX) and its terms, pairs of exponents and coefficient."""

    variables: tuple[str, ...]
    terms: tuple[tuple[tuple[int, ...], Fraction], ...]

    @classmethod
    def of(cls, ring: PolynomialRing, polynomial: FlintPolynomial) -> Polynomial:
        """Return the polynomial of an element of `ring`, as data."""
        terms = ((tuple(map(int, exponents)), as_fraction(c)) for exponents, c in polynomial.to_dict().items())
        return cls(ring.names, tuple(terms))


Number = Fraction | Polynomial


@dataclass(frozen=True)
class ShownMatrix:
    """A matrix of exact entries; a big one may carry labels (in LaTeX) for its rows and columns."""

    rows: tuple[tuple[Number, ...], ...]
    row_labels: tuple[str, ...] = ()
    column_labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Shown:
    """One thing on the board: `label = value`; a string is a formula in LaTeX."""

    label: str
    value: ShownMatrix | Polynomial | Fraction | str


@dataclass(frozen=True)
class Step:
    """One idea: a heading, a few sentences with `$LaTeX$` in them, what is computed, and what the program answers.

    An answer is plain text: pairs of a label and words, as commands print them.
    """

    heading: str
    prose: str
    shown: tuple[Shown, ...] = ()
    answer: tuple[tuple[str, str], ...] = ()


def tokens_of(ring: PolynomialRing, tokens: int = 2) -> ObjectArray:
    """Return the variables of a ring as an input: the first ones are token one, and so on."""
    variables = ring.generators
    width = len(variables) // tokens
    return array_of([[variables[j * width + k] for j in range(tokens)] for k in range(width)])


# two tokens of width two, the size of almost every example: token one is (x, y), token two is (r, s)
BOARD = PolynomialRing(["x", "y", "r", "s"])
INPUT = tokens_of(BOARD)


def show(label: str, value: object, ring: PolynomialRing = BOARD) -> Shown:
    """Put a number, a matrix of numbers, a polynomial or a matrix of polynomials on the board."""
    if isinstance(value, str):
        return Shown(label, value)
    if isinstance(value, np.ndarray):
        return Shown(label, ShownMatrix(tuple(tuple(_exact(ring, x) for x in row) for row in value)))
    return Shown(label, _exact(ring, value))


def number(label: str, value: int | Fraction) -> Shown:
    """Return a number with words before it."""
    return show(rf"\text{{{label}}}", value)


def _exact(ring: PolynomialRing, value: Any) -> Number:
    if isinstance(value, FlintPolynomial):
        return Polynomial.of(ring, value)
    return as_fraction(value)


def table(label: str, matrix: ObjectArray, rows: Sequence[str] = (), columns: Sequence[str] = ()) -> Shown:
    """Return a matrix of numbers with labels on its rows and columns."""
    return Shown(label, ShownMatrix(tuple(map(tuple, to_fractions(matrix))), tuple(rows), tuple(columns)))


def must(true: object, what: str) -> None:
    """Refuse what is not so: every sentence that says "the same" or "different" stands behind one of these.

    Raises:
        ProgramError: it is not so; nothing false is ever put on the board.
    """
    if not true:
        raise ProgramError(f"the blackboard says {what}, which is not so")


def rational(rows: object) -> ObjectArray:
    """Return a matrix of fractions from integers or fractions."""
    return map_entries(lambda x: Fraction(x), np.array(rows, dtype=object))


def identity(size: int) -> ObjectArray:
    """Return the identity matrix, in fractions."""
    return rational(np.eye(size, dtype=int).tolist())


def entry_labels(letter: str, rows: int, columns: int) -> list[str]:
    """Return the labels of the entries of a matrix: `a_{11}, a_{12}, ...`."""
    return [f"{letter}_{{{i}{j}}}" for i in range(1, rows + 1) for j in range(1, columns + 1)]


def layer_of(attention: ObjectArray, value: ObjectArray) -> Layer[ObjectArray]:
    """Return the layer with attention matrix `A`: queries `A`, keys the identity."""
    return Layer(query=attention, key=identity(len(attention)), value=value)


def function_of(*layers: Layer[ObjectArray], x: ObjectArray = INPUT, ring: PolynomialRing = BOARD) -> ObjectArray:
    """Return the forward pass with these weights on symbolic tokens: a matrix of polynomials, one column a token."""
    result: ObjectArray = forward(x, [Layer(*map(ring.constants, layer)) for layer in layers])
    return result


def coefficients(entries: ObjectArray) -> dict[tuple[int, int, tuple[int, ...]], Fraction]:
    """Return the non-zero coefficients of a matrix of polynomials by row, column and monomial."""
    return {
        (k, j, tuple(map(int, exponents))): as_fraction(c)
        for (k, j), entry in np.ndenumerate(entries)
        for exponents, c in entry.to_dict().items()
    }


def unit_directions(shape: tuple[int, ...]) -> Iterator[ObjectArray]:
    """Yield the matrices with a single 1."""
    for index in np.ndindex(*shape):
        direction = rational(np.zeros(shape, dtype=int).tolist())
        direction[index] = Fraction(1)
        yield direction


def jacobian(
    layers: Sequence[Layer[ObjectArray]],
    vary: Sequence[tuple[int, str]],
    x: ObjectArray = INPUT,
    ring: PolynomialRing = BOARD,
) -> tuple[ObjectArray, list[tuple[int, int, tuple[int, ...]]]]:
    r"""Return the exact Jacobian of weights $\mapsto$ coefficients, by the forward pass over dual numbers.

    Args:
        layers: the point.
        vary: the matrices that count as weights, as (layer, "query" or "key" or "value").
        x: the symbolic tokens.
        ring: their ring.

    Returns:
        One row a weight and one column a coefficient, and the coefficients' names (row, column, monomial).
    """
    zero = ring.constant(0)
    derivatives = []
    for number, slot in vary:
        for direction in unit_directions(getattr(layers[number], slot).shape):
            duals = [
                Layer(*(Dual(ring.constants(m), map_entries(lambda _: zero, m)) for m in layer)) for layer in layers
            ]
            moved = Dual(ring.constants(getattr(layers[number], slot)), ring.constants(direction))
            duals[number] = duals[number]._replace(**{slot: moved})
            tangent = forward(Dual(x, map_entries(lambda _: zero, x)), duals).tangent
            derivatives.append(coefficients(tangent))
    names = sorted({name for row in derivatives for name in row}, key=lambda n: (n[0], n[1], [-e for e in n[2]]))
    matrix = rational([[row.get(name, 0) for name in names] for row in derivatives])
    return matrix, names


def normalized_network(x: ObjectArray, *layers: tuple[ObjectArray, ObjectArray], constant: int = 1) -> ObjectArray:
    """Return the network of normalized layers $(A, V)$, S(y) = constant + y, at a rational input."""

    def pattern(scores: ObjectArray) -> ObjectArray:
        weights = scores + Fraction(constant)
        must(all(weights.sum(axis=0) != 0), "the weights of the tokens do not sum to zero")
        result: ObjectArray = weights / weights.sum(axis=0)
        return result

    result: ObjectArray = forward(x, [layer_of(*layer) for layer in layers], Form(pattern))
    return result


X, Y, R, S = BOARD.generators


def sylvester(six: Sequence[object] | ObjectArray, zero: object = 0) -> ObjectArray:
    """Return the Sylvester matrix of two binary quadratic forms, given by their coefficients."""
    f, g = list(six[:3]), list(six[3:])
    rows = [[*f, zero], [zero, *f], [*g, zero], [zero, *g]]
    return array_of(rows)


def discriminant(form: FlintPolynomial) -> Fraction:
    """Return `b^2 - 4 a c` of a binary quadratic form: negative without real lines, zero with a double one."""
    a, b, c = six_coefficients([form])
    return b * b - 4 * a * c


def general_coefficients(a: ObjectArray, v: ObjectArray) -> ObjectArray:
    """Return by row `k` the coefficients of the product of column `k` of `A` and `V`, as linear forms."""
    rows = [[a[0, k] * v[0, 0], a[0, k] * v[0, 1] + a[1, k] * v[0, 0], a[1, k] * v[0, 1]] for k in range(2)]
    return array_of(rows)


def quadratic_forms(phi: ObjectArray) -> ObjectArray:
    """Return what token two contributes to output token one: the coefficient of each coordinate of token one.

    For one layer and two tokens of width two; `d' x 2` quadratic forms in (r, s). The coefficient of coordinate `k` in
    output `m` is the product of two linear forms, column `k` of `A` and row `m` of `V` (Proposition A.5).
    """
    result = np.empty((phi.shape[0], 2), dtype=object)
    for m, k in np.ndindex(*result.shape):
        chosen = {}
        for exponents, c in phi[m, 0].to_dict().items():
            e = tuple(map(int, exponents))
            if e[:2] == (int(k == 0), int(k == 1)):
                chosen[(0, 0, *e[2:])] = c
        result[m, k] = BOARD.from_terms(chosen)
    return result


def six_coefficients(form_pair: Iterable[FlintPolynomial]) -> list[Fraction]:
    """Return the coefficients of r^2, r s, s^2 in each form of a pair."""
    known = [{tuple(map(int, e))[2:]: c for e, c in form.to_dict().items()} for form in form_pair]
    return [as_fraction(terms.get(monomial, 0)) for terms in known for monomial in ((2, 0), (1, 1), (0, 2))]


SIX = ("x r^2", "x r s", "x s^2", "y r^2", "y r s", "y s^2")


def one_layer_jacobian(attention: ObjectArray, value: ObjectArray) -> ObjectArray:
    r"""Return the Jacobian, 6 x 6, of $(A, V) \mapsto$ the six coefficients that decide a layer.

    The layer has `d = 2, d' = 1`.

    All other coefficients of both outputs are copies or sums of these, so the rank is the same; that is checked.
    """
    everything, names = jacobian([layer_of(attention, value)], [(0, "query"), (0, "value")])
    wanted = [(0, 0, (*first, *second)) for first in ((1, 0), (0, 1)) for second in ((2, 0), (1, 1), (0, 2))]
    six = rational(np.zeros((len(everything), 6), dtype=int).tolist())
    for column, name in enumerate(wanted):
        if name in names:
            six[:, column] = everything[:, names.index(name)]
    must(rank(six) == rank(everything), "the six coefficients decide the rank")
    return six


WEIGHT_ROWS = [*entry_labels("a", 2, 2), "v_1", "v_2"]
