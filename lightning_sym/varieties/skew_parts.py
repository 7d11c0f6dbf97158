r"""The skew-symmetric parts of the attention matrices, from the polynomial at two tokens.

At the tokens $x, \varepsilon y$ the stream is $[x\ y] N_i$, $N_0 = \operatorname{diag}(1, \varepsilon)$,
$N_i = N_{i-1} N_{i-1}^\top \hat S_i N_{i-1}$, $\hat S_i = [x\ y]^\top \tilde A_i [x\ y]$. The skew part of
$\tilde A_i$ enters the second output first with $\varepsilon^{3^{i-1}}$, times what the layers before it and the
quadratic forms behind it say, so it is the solution of linear equations as long as no layer before has rank one
(`docs/recover.md`, Theorem 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from lightning_sym.errors import ProgramError, proved_to_be
from lightning_sym.exact.number_field import ROOT, Element, NumberField, rank_over, solution_over
from lightning_sym.limits import Work
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.polynomial_map import PolynomialMap
from lightning_sym.network.prices import output_over_sizes, price_of_comparison
from lightning_sym.network.weights import Layer
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.polynomials import Polynomial, PolynomialRing, RationalCoefficient
from lightning_sym.rings.rationals import as_fraction
from lightning_sym.rings.sizes import Price
from lightning_sym.varieties.map_recovery import network_over_field
from lightning_sym.varieties.one_token import Splitting

EPSILON = "eps"
"""The letter of the second token."""

_MOST_POINTS = 2000
_STAGE = "skew-symmetric parts"


def with_skew_parts(phi: PolynomialMap, splitting: Splitting, work: Work) -> tuple[ObjectArray, ...]:
    r"""Return attention matrices with these symmetric parts, the only ones with `phi`, to the first of rank one.

    Behind that one only symmetric parts matter, and these are returned.

    Args:
        phi: a map of two tokens or more.
        splitting: its value matrix and quadratic forms.
        work: what the equations may take.

    Returns:
        The matrices. Whether `phi` is their function is seen by expanding it.

    Raises:
        TooLarge: they do not fit into the work.
    """
    d, depth = phi.architecture.widths[0], phi.architecture.depth
    field, value = splitting.field, splitting.value
    attention = list(splitting.forms)
    row = next(m for m in range(len(value)) if any(value[m]))
    work.spend(price_of_comparison(2 * len(phi.entries[row, 1]), len(phi.input_names)).seconds, _STAGE)
    parts = _parts_by_degree(phi, row)
    pairs = list(combinations(range(d), 2))
    seconds = price_of_skew_part(d, depth) * field.degree**2
    for i in range(depth if pairs else 0):
        work.spend(seconds, _STAGE, i, depth)
        order = 3**i
        part = parts.get(order)
        equations: list[list[Element]] = []
        right: list[Element] = []
        source = np.random.default_rng([d, i])
        for _ in range(_MOST_POINTS):
            x, y = source.integers(-5, 6, size=(2, d)).tolist()
            new = [field.of(x[a] * y[b] - x[b] * y[a]) for a, b in pairs]
            if any(new) and rank_over(_stacked([*equations, new])) == len(equations) + 1:
                factor = _factor(field, attention, value[row], x, y, i)
                if not factor:
                    continue
                known = _second_output(field, attention, value[row], x, y, order)
                given = as_fraction(part(*_interleaved(x, y, part))) if part is not None else 0
                equations.append(new)
                right.append((-known + given) / factor)
            if len(equations) == len(pairs):
                break
        else:
            raise ProgramError(f"no points show the skew part of layer {i + 1}")
        solved = solution_over(_stacked(equations), _stacked([[x] for x in right]))
        solved = proved_to_be(solved, "independent equations, as many as unknowns, must have a solution")
        matrix = attention[i].copy()
        for (a, b), entry in zip(pairs, solved[:, 0], strict=True):
            matrix[a, b], matrix[b, a] = matrix[a, b] + entry, matrix[b, a] - entry
        attention[i] = matrix
        if rank_over(matrix) == 1:
            break
    return tuple(attention)


def layers_known(attention: Sequence[ObjectArray], tokens: int) -> int:
    """Return how many matrices the function determines, not only their symmetric parts: to the first of rank one."""
    if tokens == 1:
        return 0
    for i, a in enumerate(attention, start=1):
        if rank_over(a) == 1:
            return i
    return len(attention)


def _parts_by_degree(phi: PolynomialMap, row: int) -> dict[int, Polynomial]:
    """Return output `row` of token 2 in tokens 1 and 2 alone, by the degree in token 2."""
    t = phi.architecture.tokens
    grouped: dict[int, dict[tuple[int, ...], RationalCoefficient]] = {}
    for exponents, c in phi.entries[row, 1].to_dict().items():
        exponents = tuple(map(int, exponents))
        second = sum(exponents[1::t])
        if sum(exponents[0::t]) + second == phi.architecture.degree:
            grouped.setdefault(second, {})[exponents] = c
    return {degree: phi.ring.from_terms(terms) for degree, terms in grouped.items()}


def _interleaved(x: Sequence[int], y: Sequence[int], polynomial: Polynomial) -> list[int]:
    """Return the inputs `x_k_j` in their order, zero but for tokens 1 and 2."""
    t = len(polynomial.context().gens()) // len(x)
    values = [0] * (len(x) * t)
    values[0::t], values[1::t] = x, y
    return values


def _stacked(rows: list[list[Element]]) -> ObjectArray:
    result = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        result[i] = row
    return result


def _gram(field: NumberField, matrix: ObjectArray, x: Sequence[int], y: Sequence[int]) -> list[list[Element]]:
    vectors = field.matrix([x, y])
    product = vectors @ matrix @ vectors.T
    return [list(product[0]), list(product[1])]


def _factor(
    field: NumberField, attention: Sequence[ObjectArray], row: ObjectArray, x: Sequence[int], y: Sequence[int], i: int
) -> Element:
    """Return what the skew part of layer `i` (from 0), at `x` and `y`, is multiplied by in the second output."""
    result: Element = row @ field.matrix(x)
    gamma, determinant = field.of(1), field.of(1)
    for j, matrix in enumerate(attention):
        (a, b), (c, e) = _gram(field, matrix, x, y)
        if j < i:
            determinant = determinant * determinant * determinant * (a * e - b * c)
        elif j == i:
            result = result * gamma * determinant
        else:
            result = result * gamma * gamma * a
        gamma = gamma * gamma * gamma * a
    return result


def _second_output(
    field: NumberField,
    attention: Sequence[ObjectArray],
    row: ObjectArray,
    x: Sequence[int],
    y: Sequence[int],
    order: int,
) -> Element:
    """Return the coefficient of `eps^order` in the second output at `x`, `eps y`."""
    ring = PolynomialRing([EPSILON, ROOT])
    start = np.array([[ring.constant(1), ring.constant(0)], [ring.constant(0), ring[EPSILON]]], dtype=object)
    one = field.matrix(np.eye(2, dtype=int))
    layers = (Layer(field.matrix(_gram(field, matrix, x, y)), one, one) for matrix in attention)
    stream = network_over_field(start, layers, field, ring)
    result = field.of(0)
    for k, token in enumerate((x, y)):
        known = {tuple(map(int, m)): c for m, c in stream[k, 1].to_dict().items()}
        powers = [known.get((order, i), 0) for i in range(field.degree)]
        result = result + (row @ field.matrix(token)) * field.element(powers)
    return result


def price_of_skew_part(d: int, depth: int) -> float:
    """Return the seconds of one layer's equations: the output at as many points as unknowns, and ranks of elements.

    Example:
        >>> 0 < price_of_skew_part(3, 2) < 0.1
        True
    """
    unknowns = d * (d - 1) // 2
    outputs, ranks = Price("polynomials", variables=2), Price("objects")
    output_over_sizes(Architecture((2,) * (depth + 1), (2,) * depth, 2), outputs, 64, 64)
    for rank in range(1, unknowns + 1):
        ranks.enter("product", rank**2 * unknowns)  # steps of an elimination
    return outputs.repeated(unknowns).seconds + ranks.seconds
