"""Polynomials in the inputs of a network, their coefficients flint's polynomials in letters for its weights.

What the forward pass makes of them is sorted by the monomials of the inputs from the start. Each product says what it
will cost before it is begun: of the polynomials that meet in it the sizes are known, of the result they are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lightning_sym.limits import Work
from lightning_sym.rings.rates import RATES

Exponents = tuple[int, ...]

_RATES = RATES["input polynomials"]


class InputPolynomial:
    """An element: coefficients, none of them zero, by exponents of the inputs.

    Args:
        terms: the coefficients.
        work: told of each product before it is begun.

    Example:
        >>> from lightning_sym.rings.polynomials import PolynomialRing
        >>> u, v = PolynomialRing(["u", "v"]).generators
        >>> x, y = InputPolynomial({(1, 0): u}, Work()), InputPolynomial({(0, 1): v}, Work())
        >>> ((x + y) * x).terms
        {(2, 0): u^2, (1, 1): u*v}
    """

    __slots__ = ("terms", "work")

    def __init__(self, terms: Mapping[Exponents, Any], work: Work) -> None:
        self.terms, self.work = dict(terms), work

    def __add__(self, other: InputPolynomial) -> InputPolynomial:
        terms = dict(self.terms)
        for exponents, value in other.terms.items():
            known = terms.get(exponents)
            terms[exponents] = value if known is None else known + value
        return InputPolynomial(terms, self.work)

    def __mul__(self, other: InputPolynomial | int) -> InputPolynomial:
        if isinstance(other, int):  # of a mask
            return InputPolynomial(self.terms if other else {}, self.work)
        size = sum(map(len, other.terms.values()))
        sums: dict[Exponents, Any] = {}
        for left, a in self.terms.items():
            seconds = _RATES.seconds(call=len(other.terms), product=len(a) * size)
            self.work.spend(seconds, "the coefficients of the polynomial map")
            for right, b in other.terms.items():
                key = tuple(map(int.__add__, left, right))
                known = sums.get(key)
                sums[key] = a * b if known is None else known + a * b
        return InputPolynomial(sums, self.work)
