"""Polynomials in the inputs of a network, their coefficients flint's polynomials in letters for its weights.

What the forward pass makes of them is sorted by the monomials of the inputs from the start. Each product says what it
will cost before it is begun: of the polynomials that meet in it the sizes are known, of the result they are not.

Polynomials whose coefficients are known at many points at once, modulo a prime.

A network whose weights are numbers is a polynomial in its inputs. Here each of its coefficients is a vector, one
residue for each choice of the weights: the forward pass runs once, on object arrays of these elements, for thousands
of choices.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from flint import fmpq_mpoly

from lightning_sym.limits import Work
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.prime_field import EXACT_PRODUCTS, reduce_mod
from lightning_sym.rings.rates import RATES

Exponents = tuple[int, ...]
Residues = npt.NDArray[np.float64]

_TERM_RATES = RATES["batched polynomials"]


class BatchedPolynomial:
    """An element: centred residues, one for each point, by exponents of the inputs.

    Args:
        terms: the residues.
        prime: the modulus.
        work: told of each product before it is begun.

    Example:
        >>> x = BatchedPolynomial({(1, 0): np.array([1.0, 2.0])}, 4194301, Work())
        >>> y = BatchedPolynomial({(0, 1): np.array([3.0, 4.0])}, 4194301, Work())
        >>> ((x + y) * x).terms[1, 1].tolist()
        [3.0, 8.0]
    """

    __slots__ = ("prime", "terms", "work")

    def __init__(self, terms: Mapping[Exponents, Residues], prime: int, work: Work) -> None:
        self.terms, self.prime, self.work = dict(terms), prime, work

    def __add__(self, other: BatchedPolynomial) -> BatchedPolynomial:
        terms = dict(self.terms)
        for exponents, values in other.terms.items():
            known = terms.get(exponents)
            terms[exponents] = values if known is None else reduce_mod(known + values, self.prime)
        return BatchedPolynomial(terms, self.prime, self.work)

    def __mul__(self, other: BatchedPolynomial | int) -> BatchedPolynomial:
        if isinstance(other, int):  # of a mask
            return BatchedPolynomial(self.terms if other else {}, self.prime, self.work)
        pairs, points = len(self.terms) * len(other.terms), max(map(len, self.terms.values()), default=0)
        self.work.spend(_TERM_RATES.seconds(call=pairs, product=pairs * points), "values of the coefficients")
        sums: dict[Exponents, Residues] = {}
        often = min(len(self.terms), len(other.terms)) > EXACT_PRODUCTS  # so many may meet in one term
        for left, a in self.terms.items():
            for right, b in other.terms.items():
                key = tuple(map(int.__add__, left, right))
                product = reduce_mod(a * b, self.prime) if often else a * b
                if key in sums:
                    sums[key] += product
                else:
                    sums[key] = product
        return BatchedPolynomial({key: reduce_mod(sums[key], self.prime) for key in sums}, self.prime, self.work)


def constants(batch: Residues, prime: int, inputs: int, work: Work) -> ObjectArray:
    """Return a batch of matrices of residues, `points x rows x columns`, as one matrix of constant polynomials."""
    _, rows, columns = batch.shape
    result = np.empty((rows, columns), dtype=object)
    for i, j in np.ndindex(rows, columns):
        result[i, j] = BatchedPolynomial({(0,) * inputs: np.ascontiguousarray(batch[:, i, j])}, prime, work)
    return result


def variables(rows: int, columns: int, points: int, prime: int, work: Work) -> ObjectArray:
    """Return the matrix of the inputs, each of them a variable, the same at every point."""
    result = np.empty((rows, columns), dtype=object)
    for place, index in enumerate(np.ndindex(rows, columns)):
        exponents = tuple(int(i == place) for i in range(rows * columns))
        result[index] = BatchedPolynomial({exponents: np.ones(points)}, prime, work)
    return result


def terms_of(entry: BatchedPolynomial) -> dict[Exponents, Residues]:
    """Return the coefficients of an element that are not zero at every point."""
    return {key: values for key, values in entry.terms.items() if values.any()}


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

    def __init__(self, terms: Mapping[Exponents, fmpq_mpoly], work: Work) -> None:
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
        sums: dict[Exponents, fmpq_mpoly] = {}
        for left, a in self.terms.items():
            seconds = _RATES.seconds(call=len(other.terms), product=len(a) * size)
            self.work.spend(seconds, "the coefficients of the polynomial map")
            for right, b in other.terms.items():
                key = tuple(map(int.__add__, left, right))
                known = sums.get(key)
                sums[key] = a * b if known is None else known + a * b
        return InputPolynomial(sums, self.work)
