r"""From virtual weights to weights of a shape: forms of a given width, nested row spaces, factorizations $K^\top Q$.

`docs/recover.md`, Proposition 1, says which virtual weights belong to a shape, and Proposition 2 which quadratic forms
belong to real matrices of a given rank.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import chain, combinations, islice
from math import gcd
from typing import NamedTuple

import numpy as np

from lightning_sym.errors import ProgramError, proved_to_be
from lightning_sym.exact.number_field import Element, NumberField, echelon, rank_over, solution_over, square_free
from lightning_sym.network.architecture import Architecture
from lightning_sym.rings.arrays import ObjectArray

_SMALL = [(1, 0), (1, 1), (1, 2), (2, 1), (1, 3), (3, 1), (2, 3), (3, 2)]
_MOST_TRIES = 100
_LARGEST = 10**20
"""Zeros of three squares are sought where the coefficients are no larger: they are factored."""


class Signature(NamedTuple):
    """How many squares with either sign a real quadratic form is a sum of."""

    positive: int
    negative: int


def is_rational(matrix: ObjectArray) -> bool:
    """Return whether all entries of a matrix over a number field are rational."""
    return all(not any(x.coefficients[1:]) for x in matrix.ravel())


def diagonal(form: ObjectArray) -> list[tuple[Fraction, ObjectArray]]:
    r"""Return numbers $c$ and vectors $z$, orthogonal to each other, $z^\top S z = c$ not zero, as many as the rank.

    Args:
        form: a symmetric matrix with rational entries, over a number field.

    Example:
        >>> from lightning_sym.exact.number_field import RATIONALS
        >>> [(str(c), z.tolist()) for c, z in diagonal(RATIONALS.matrix([[0, 1], [1, 0]]))]
        [('2', [1, 1]), ('-1/2', [1/2, -1/2])]
    """
    size = len(form)
    field = form[0, 0].field
    basis = list(field.matrix(np.eye(size, dtype=int)))
    found: list[tuple[Fraction, ObjectArray]] = []
    while True:
        gram = [[u @ form @ v for v in basis] for u in basis]
        n = len(basis)
        choice = next((i for i in range(n) if gram[i][i]), None)
        if choice is not None:
            z = basis[choice]
        else:
            pair = next(((i, j) for i in range(n) for j in range(i) if gram[i][j]), None)
            if pair is None:
                return found
            choice, z = pair[0], basis[pair[0]] + basis[pair[1]]
        c = z @ form @ z
        found.append((c.coefficients[0], z))
        inverse = c.inverse()
        basis = [u - z * (inverse * (u @ form @ z)) for i, u in enumerate(basis) if i != choice]


def signature(form: ObjectArray) -> Signature:
    """Return the signature of a symmetric matrix with rational entries.

    Example:
        >>> from lightning_sym.exact.number_field import RATIONALS
        >>> signature(RATIONALS.matrix([[1, 0], [0, -2]]))
        Signature(positive=1, negative=1)
    """
    signs = [c > 0 for c, _ in diagonal(form)]
    return Signature(signs.count(True), signs.count(False))


def _rational_zero(form: ObjectArray, squares: Sequence[tuple[Fraction, ObjectArray]]) -> ObjectArray | None:
    """Return a rational vector, not in the kernel, at which the form is zero, if one is found.

    Of two and three squares with coefficients that are not too large one is found if there is one (Legendre's
    theorem, by SymPy); of more, where three of them, or two and a small value of two others, have one.
    """
    numbers = [c for c, _ in squares]
    count = len(numbers)
    tries: Iterator[dict[int, Fraction]] = chain(
        (_zero_of_some(numbers, places, {}) for places in combinations(range(count), 2)),
        (_zero_of_some(numbers, places, {}) for places in combinations(range(count), 3)),
        (
            _zero_of_some(numbers, (k, m), {i: Fraction(u), j: Fraction(v)})
            for u, v in _SMALL
            for i, j in combinations(range(count), 2)
            for k, m in combinations([n for n in range(count) if n not in (i, j)], 2)
        ),
    )
    for found in islice(tries, _MOST_TRIES):
        if found:
            vector: ObjectArray = form[0] * 0
            for place, x in found.items():
                vector = vector + squares[place][1] * x
            return vector
    return None


def _zero_of_some(
    numbers: Sequence[Fraction], places: tuple[int, ...], others: dict[int, Fraction]
) -> dict[int, Fraction]:
    """Return a zero of two or three of the squares, or of two with others as a third; empty if none is found."""
    coefficients = [numbers[i] for i in places]
    if others:
        coefficients.append(sum((numbers[i] * x * x for i, x in others.items()), Fraction(0)))
    if not any(c > 0 for c in coefficients) or not any(c < 0 for c in coefficients) or 0 in coefficients:
        return {}
    if len(coefficients) == 2:
        square, outside = square_free(-coefficients[0] / coefficients[1])
        return {places[0]: Fraction(1), places[1]: outside} if square == 1 else {}
    parts = [square_free(c) for c in coefficients]
    free, scale = _pairwise_coprime([number for number, _ in parts])
    if max(map(abs, free)) > _LARGEST:
        return {}
    from sympy import symbols
    from sympy.solvers.diophantine.diophantine import diop_ternary_quadratic_normal

    letters = symbols("x y z", integer=True)
    found = diop_ternary_quadratic_normal(sum(c * v**2 for c, v in zip(free, letters, strict=True)))
    if None in found:
        return {}
    solution = [Fraction(int(x) * s) / outside for x, s, (_, outside) in zip(found, scale, parts, strict=True)]
    if not any(solution) or sum(c * x * x for c, x in zip(coefficients, solution, strict=True)) != 0:
        return {}
    result = dict(zip(places, solution, strict=False))
    return result | {i: x * solution[-1] for i, x in others.items()}


def _pairwise_coprime(numbers: list[int]) -> tuple[list[int], list[int]]:
    """Return three coefficients without common factors, and what each letter of a zero is to be multiplied by."""
    scale = [1, 1, 1]
    while True:
        common = gcd(*numbers)
        numbers = [n // common for n in numbers]
        pair = next(((i, j) for i, j in ((0, 1), (0, 2), (1, 2)) if gcd(numbers[i], numbers[j]) > 1), None)
        if pair is None:
            return numbers, scale
        (i, j), k = pair, 3 - sum(pair)
        g = gcd(numbers[i], numbers[j])  # it divides the square of the third letter, so the letter
        numbers[i], numbers[j], numbers[k] = numbers[i] // g, numbers[j] // g, numbers[k] * g
        scale[k] *= g


def attention_of_form(form: ObjectArray, width: int) -> tuple[NumberField, Callable[[Element], Element], ObjectArray]:
    r"""Return a matrix of rank at most `width` with a given symmetric part: $x^\top A x = x^\top S x$, over the reals.

    A zero $z$ of the form and a vector $w$ with $z^\top S w = 1$, $w^\top S w = 0$ split off the form
    $2 (Sz)^\top x\, (Sw)^\top x$ of a matrix of rank one, and the rank falls by two. Zeros are rational where
    small ones are found, else square roots of positive rational numbers are adjoined.

    Args:
        form: symmetric, with rational entries, over a number field that is real, of signature at most `width` on
            either side.
        width: at least 1.

    Returns:
        The field, the map into it, and the matrix; its row and column space are in the row space of the form.
    """
    field = form[0, 0].field
    into: Callable[[Element], Element] = lambda x: x  # noqa: E731 - the identity, until the field grows
    rest, left = form, width
    attention = form * 0
    while rank_over(rest) > left:
        squares = diagonal(rest)
        zero = _rational_zero(rest, squares)
        if zero is None:
            break
        rest, part = _without_plane(rest, zero)
        attention, left = attention + part, left - 1
    squares = diagonal(rest)
    positive = [(c, z) for c, z in squares if c > 0]
    negative = [(c, z) for c, z in squares if c < 0]
    planes = len(squares) - left
    if planes > min(len(positive), len(negative)):
        raise ProgramError(f"a form of signature {len(positive)}, {len(negative)} has no matrix of rank {left}")
    for i in range(planes):
        (c, z), (e, w) = positive[i], negative[i]
        larger, more, root = field.with_square_root(-c / e)
        into = (lambda old, new: lambda x: new(old(x)))(into, more)
        field = larger
        rest, attention = _mapped(rest, more), _mapped(attention, more)
        positive = [(c, _mapped(z, more)) for c, z in positive]
        negative = [(e, _mapped(w, more)) for e, w in negative]
        zero = _mapped(z, more) + _mapped(w, more) * root
        rest, part = _without_plane(rest, zero)
        attention, left = attention + part, left - 1
    return field, into, attention + rest


def _mapped(matrix: ObjectArray, into: Callable[[Element], Element]) -> ObjectArray:
    result = np.empty(matrix.shape, dtype=object)
    for index, entry in np.ndenumerate(matrix):
        result[index] = into(entry)
    return result


def _without_plane(form: ObjectArray, zero: ObjectArray) -> tuple[ObjectArray, ObjectArray]:
    """Return what is left of a form beside a hyperbolic plane, and the matrix of rank one that stands for the plane."""
    field = form[0, 0].field
    image = form @ zero
    k = next(i for i, x in enumerate(image) if x)
    other = field.matrix(np.eye(len(form), dtype=int))[k] * image[k].inverse()
    other = other - zero * ((other @ form @ other) * Fraction(1, 2))
    paired = form @ other
    plane = np.outer(image, paired)
    return form - plane - plane.T, plane * field.of(2)


def row_spaces(attention: Sequence[ObjectArray], value: ObjectArray) -> list[ObjectArray]:
    """Return bases, in echelon form, of the spaces `U_0, ..., U_(l-1)` of `docs/recover.md`; `U_0` is all."""
    spaces: list[ObjectArray] = []
    rows = value
    for a in reversed(attention[1:]):
        rows = np.concatenate([rows, a, a.T])
        spaces.append(echelon(rows)[0])
    field = value[0, 0].field
    return [field.matrix(np.eye(value.shape[1], dtype=int)), *reversed(spaces)]


def actual_weights(attention: Sequence[ObjectArray], value: ObjectArray, shape: Architecture) -> dict[str, ObjectArray]:
    """Return matrices `Q1, K1, V1, ...` of the shape with these virtual weights, which must belong to it.

    Raises:
        ProgramError: they do not.
    """
    shape.require_plain("weights with given virtual weights")
    field = value[0, 0].field
    spaces = row_spaces(attention, value)
    before = field.matrix(np.eye(shape.widths[0], dtype=int))
    space = before  # of the rows of `before`
    result: dict[str, ObjectArray] = {}
    for i, a in enumerate(attention, start=1):
        width, behind, rank = shape.widths[i - 1], shape.widths[i], shape.attention_ranks[i - 1]
        small = _in_basis(a, space)
        rows, pivots = echelon(small)
        if len(rows) > rank:
            raise ProgramError(f"layer {i} has rank {len(rows)}, at most {rank} is possible")
        result[f"Q{i}"] = _padded(rows, rank, width, field)
        result[f"K{i}"] = _padded(small[:, pivots].T, rank, width, field)
        if i == len(attention):
            last = proved_to_be(solution_over(space.T, value.T), "the value matrix must be over the last space")
            result[f"V{i}"] = _padded(last.T, behind, width, field)
            continue
        after = space if len(space) <= behind else spaces[i]
        if len(after) > behind:
            raise ProgramError(f"{len(after)} dimensions do not fit into width {behind}")
        step = proved_to_be(solution_over(space.T, after.T), "the row spaces must be nested")
        result[f"V{i}"] = _padded(step.T, behind, width, field)
        space = after
    return result


def _in_basis(matrix: ObjectArray, space: ObjectArray) -> ObjectArray:
    """Return `S` with `B^T S B` = the matrix, `B` the rows of the space."""
    left = solution_over(space.T, matrix)
    small = None if left is None else solution_over(space.T, left.T)
    return proved_to_be(small, "an attention matrix must be over its space").T


def _padded(matrix: ObjectArray, rows: int, columns: int, field: NumberField) -> ObjectArray:
    result = field.matrix(np.zeros((rows, columns), dtype=int))
    result[: matrix.shape[0], : matrix.shape[1]] = matrix
    return result
