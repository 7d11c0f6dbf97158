"""Taylor series of networks with rational coefficients, for the board."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial

import numpy as np

from lightning_sym import Layer, Normalization
from lightning_sym.network.attention import Form, forward
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.protocol import normalized
from lightning_sym.rings.taylor import TaylorMatrix
from proofs_check.blackboard.step import layer_of, rational

Taylor = Callable[[int], Fraction]


def network(
    x: ObjectArray, attention: Sequence[ObjectArray], value: ObjectArray, taylor: Taylor, degree: int
) -> ObjectArray:
    """Return the outputs for `eps x` of layers with these attention matrices, inner values 1, and `S` in place of exp.

    Returns:
        For each entry of the output its coefficients from degree 0 on, a tuple.

    Example:
        >>> one = np.array([[Fraction(1)]], dtype=object)
        >>> [str(c) for c in network(one, [one], 3 * one, lambda k: Fraction(k < 2), 2)[0, 0]]
        ['0', '3', '0']
    """
    tokens = x.shape[1]
    one = np.array([[Fraction(int(i == j)) for j in range(len(x))] for i in range(len(x))], dtype=object)
    values = [one] * (len(attention) - 1) + [value]
    layers = [
        Layer(*(TaylorMatrix.of({0: m}, degree) for m in layer_of(a, v)))
        for a, v in zip(attention, values, strict=True)
    ]
    every = np.ones((tokens, tokens), dtype=object)
    form = Form(partial(normalized, normalization=Normalization("S", taylor), mask=every))
    output = forward(TaylorMatrix.of({1: x}, degree), layers, form)
    by_degree = [output.coefficient(k) for k in range(degree + 1)]
    found = np.empty(output.shape, dtype=object)
    for place in np.ndindex(*output.shape):
        found[place] = tuple(matrix[place] for matrix in by_degree)
    return found


def mean_output(
    m: ObjectArray, y: ObjectArray, attention: Sequence[ObjectArray], value: ObjectArray, taylor: Taylor, degree: int
) -> tuple[Fraction, ...]:
    """Return the coefficients of the mean of the outputs of two tokens.

    The tokens have mean `eps m` and difference `eps y`.
    """
    x = np.array([m + y / Fraction(2), m - y / Fraction(2)], dtype=object).T
    first, second = network(x, attention, value, taylor, degree)[0]
    return tuple((a + b) / 2 for a, b in zip(first, second, strict=True))


def spelled(terms: Sequence[Fraction]) -> str:
    r"""Return the terms that are not zero, as a formula.

    Example:
        >>> print(spelled([Fraction(0), Fraction(1), Fraction(-1, 2)]))
        \varepsilon - \tfrac{1}{2} \varepsilon^{2} + ...
    """
    text = ""
    for n, c in enumerate(terms):
        if c:
            size = abs(c)
            number = str(size) if size.denominator == 1 else rf"\tfrac{{{size.numerator}}}{{{size.denominator}}}"
            power = "" if n == 0 else r"\varepsilon" if n == 1 else rf"\varepsilon^{{{n}}}"
            one = size == 1 and n > 0
            text += (" - " if c < 0 else " + ") + (power if one else f"{number} {power}".strip())
    text = text.removeprefix(" + ")
    return (f"-{text[3:]}" if text.startswith(" - ") else text) + " + ..."


FIRST, SECOND, VALUE = rational([[1, 2], [0, 1]]), rational([[1, -1], [2, 0]]), rational([[1, 3]])
UNITS = rational([[1, 0], [0, 1]])


def exponents(attention: ObjectArray, x1: ObjectArray, x2: ObjectArray) -> list[Fraction]:
    """Return by query how much higher token one scores than token two."""
    return [x1 @ attention @ x - x2 @ attention @ x for x in (x1, x2)]
