r"""From the function back to the weights: every choice of virtual weights over $\mathbb{Q}$ with a given function.

For one and two layers and $t \ge 2$. With $Y = X X^\top \tilde A_1 X$ two layers are the one layer
$\tilde V Y Y^\top \tilde A_2 Y$ in $Y$, so the way back has three steps, each of which finds *all* solutions:

1. *First attention matrix.* The part of the output of token 2 that has degree 1 in $x_2$ (all other tokens but the
   first one set to zero) is $\tilde V x_1\, (x_1^\top \tilde A_1 x_1)^2 (x_1^\top \tilde A_2 x_1)\,
   (x_1^\top \tilde A_1 x_2)$. So the bilinear form of $\tilde A_1$ is a factor of it: the only irreducible one of
   degree $(1, 1)$ if the rank is two or more, else a product of linear factors. The part vanishes if $\tilde A_1$
   or $\tilde A_2$ is skew-symmetric; then the form, with $x_2$ in front, divides the part of degree 5 in $x_2$. That
   is $b^3\, \tilde V x_2\, (x_2^\top \tilde A_2 x_1)$, up to sign, if $\tilde A_1$ is skew-symmetric with form $b$, and
   $\tilde V x_2\, (x_2^\top \tilde A_1 x_1) \det(S_1)\, (x_1^\top \tilde A_2 x_2)$, $S_1 = X^\top \tilde A_1 X$, if
   $\tilde A_2$ is. Neither vanishes unless $\phi$ does: $\det S_1 = 0$ only where $\tilde A_1$ has rank one.
2. *Last layer, linear.* $\phi$ is linear in the products $v_m(y)\, a_k(y)$, rows of $\tilde V$ times columns of
   $\tilde A_2$ as linear forms; if $Y$ has rank one, in the cubic forms $v_m(y) \cdot y^\top \tilde A_2 y$.
3. *Last layer, factoring.* The products are factored.

Every result is checked: its polynomial is $\phi$.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain, combinations_with_replacement, islice, product
from typing import Any, NamedTuple

import numpy as np

from lightning_sym.errors import BadInput, ProgramError, ShapeError
from lightning_sym.exact.rational import null_space, rank
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.attention import attention_layer
from lightning_sym.network.polynomial_map import PolynomialMap, polynomial_map
from lightning_sym.network.prices import price_of_comparison, price_of_kernel
from lightning_sym.network.virtual_weights import VirtualWeights
from lightning_sym.network.weights import Layer, Weights
from lightning_sym.rings.arrays import ObjectArray, Rows, exact_matrix
from lightning_sym.rings.polynomials import Polynomial, PolynomialRing
from lightning_sym.rings.rates import RATES
from lightning_sym.rings.rationals import RationalNumber, rational_matrix, to_fractions

VALUE_BITS = 4
"""Bits of the inputs at which a map is evaluated; an output has as many times more as its degree."""


class Solution(NamedTuple):
    """Virtual weights with the function asked for.

    Attributes:
        weights: one representative of an orbit of rescalings (Eq. 13), matrices of `Fraction`.
        skew_part_is_free: the last attention matrix matters by its symmetric part only; `weights` has it symmetric.
    """

    weights: VirtualWeights
    skew_part_is_free: bool


class NoFirstLayer(BadInput):
    """The parts of a map that show the first layer of a network all vanish: it is the function of none."""


def network_of(weights: VirtualWeights) -> Weights:
    r"""Return a network with these virtual weights: $Q_i = \tilde A_i$, $K_i = 1$, $V_i = 1$, the last $\tilde V$.

    Args:
        weights: integers, fractions or floats; the attention matrices `d_0 x d_0`, the value matrix `d_l x d_0`.

    Raises:
        ShapeError: the sizes do not fit.

    Example:
        >>> network_of(VirtualWeights(([[1, 2], [3, 4]], [[0, 1], [1, 0]]), [[5, 6]])).architecture(tokens=2)
        Architecture(widths=(2, 2, 1), attention_ranks=(2, 2), tokens=2)
    """
    d = exact_matrix(weights.value, "V~").shape[1]
    one = np.eye(d, dtype=int)
    matrices: dict[str, Rows] = {}
    for i, attention in enumerate(weights.attention, start=1):
        if np.shape(attention) != (d, d):
            raise ShapeError(f"A~{i} must be {d} x {d} like the columns of V~, got shape {np.shape(attention)}")
        last = i == len(weights.attention)
        matrices |= {f"Q{i}": attention, f"K{i}": one, f"V{i}": weights.value if last else one}
    return Weights.of(matrices)


def reconstruct(phi: PolynomialMap) -> list[Solution]:
    r"""Return all virtual weights over $\mathbb{Q}$ whose function is `phi`, one for each orbit of rescalings.

    The list is complete over the rationals. Where the hypotheses of Theorem 3.7 hold it is complete over every field
    that contains them: a bilinear form of rank two or more stays irreducible, a linear system keeps its one solution,
    and a product of linear forms with rational coefficients has no other factors.

    Args:
        phi: the polynomial map of one or two layers with rational weights, two tokens or more.

    Returns:
        The solutions; several where the fiber is more than the rescalings.

    Raises:
        BadInput: the function is zero (its fiber is not a finite union of such orbits), has symbolic weights, three
            layers or more, or one token; or is not the function of a network.
        ProgramError: the linear system of the last layer has several solutions.

    Source: the first step is the one of the paper's proof of Theorem 3.7 (A.6); the last is Theorem 3.2.

    Example:
        >>> weights = VirtualWeights(([[1, 2], [0, 3]], [[1, 1], [0, 1]]), [[1, 2]])
        >>> network = network_of(weights)
        >>> (only,) = reconstruct(polynomial_map(network.architecture(tokens=2), network))
        >>> (3 * only.weights.attention[0] / only.weights.attention[0][1, 1]).tolist() == [[1, 2], [0, 3]]
        True
    """
    phi.architecture.require_plain("reconstruction")
    depth, tokens = phi.architecture.depth, phi.architecture.tokens
    if phi.weight_names or depth > 2 or tokens < 2:
        raise BadInput(
            "reconstruction needs rational weights, one or two layers and two tokens or more; "
            f"got {'symbolic' if phi.weight_names else 'rational'} weights, {phi.architecture}"
        )
    if phi.term_count == 0:
        raise BadInput("the function must not be zero: everything that gives zero has it in common")
    if depth == 1:
        return list(_last_layers(phi, ()))
    return [solution for first in _first_attention_matrices(phi) for solution in _last_layers(phi, (first,))]


def is_rescaling(new: VirtualWeights, old: VirtualWeights) -> bool:
    r"""Return whether Eq. 13 leads from `old` to `new`.

    That is $\tilde A_i \mapsto \lambda_i \tilde A_i$, $\tilde V \mapsto \mu \tilde V$ with
    $\mu \prod_i \lambda_i^{3^{l-i}} = 1$.

    Args:
        new, old: non-zero matrices of `Fraction`, of the same shapes.

    Raises:
        BadInput: a matrix is zero.

    Example:
        >>> old = VirtualWeights((exact_matrix([[1, 2]]),), exact_matrix([[4, 6]]))
        >>> is_rescaling(VirtualWeights((2 * old.attention[0],), old.value / 2), old)
        True
    """
    scalars: list[Fraction] = []
    for a, b in zip((*new.attention, new.value), (*old.attention, old.value), strict=True):
        places = [index for index, entry in np.ndenumerate(b) if entry != 0]
        if not places:
            raise BadInput("rescaled weights must not be zero, got a zero matrix")
        scalars.append(a[places[0]] / b[places[0]])
        if not np.array_equal(a, scalars[-1] * b):
            return False
    *attention, total = scalars
    for i, scalar in enumerate(reversed(attention)):
        total *= scalar ** (3**i)
    return total == 1


def part_in_two_tokens(phi: PolynomialMap, m: int, degree: int) -> Polynomial:
    """Return output `m` of token 2: its terms in tokens 1 and 2 alone, of this degree in token 2."""
    phi.architecture.require_plain("a part of the map in two tokens")
    t = phi.architecture.tokens
    terms = {
        exponents: value
        for exponents, value in phi.entries[m, 1].to_dict().items()
        if sum(exponents[1::t]) == degree and sum(exponents[0::t]) + degree == phi.architecture.degree
    }
    return phi.ring.from_terms(terms)


def _first_attention_matrices(phi: PolynomialMap) -> Iterator[ObjectArray]:
    """Yield every first attention matrix of a network with this function, up to scale; maybe others too."""
    d, t = phi.architecture.widths[0], phi.architecture.tokens
    for degree in (1, 5):
        common = phi.ring.constant(0)
        for m in range(phi.architecture.widths[-1]):
            common = common.gcd(part_in_two_tokens(phi, m, degree))
        if not common.is_zero():
            break
    else:
        raise NoFirstLayer("the map must be the function of a network; here the parts that show its first layer vanish")
    linear: dict[int, list[list[Any]]] = {0: [], 1: []}
    bilinear = []
    for factor, _ in common.factor()[1]:
        coefficients = np.full((d, d), 0, dtype=object)
        terms = factor.to_dict()
        degrees = {tuple(sum(map(int, exponents[token::t])) for token in (0, 1)) for exponents in terms}
        if degrees == {(1, 1)}:
            for exponents, value in terms.items():
                first, second = (exponents[token::t].index(1) for token in (0, 1))
                coefficients[first, second] = value
            bilinear.append(coefficients if degree == 1 else coefficients.T)
        for token in (0, 1):
            if degrees == {(1 - token, token)}:
                linear[token].append([terms.get(_unit(d * t, k * t + token), 0) for k in range(d)])
    if not bilinear:
        bilinear = [np.outer(p, q) for p, q in product(linear[0], linear[1])]
    yield from (to_fractions(matrix) for matrix in bilinear)


def _unit(size: int, *places: int) -> tuple[int, ...]:
    return tuple(places.count(i) for i in range(size))


def _last_layers(phi: PolynomialMap, before: tuple[ObjectArray, ...]) -> Iterator[Solution]:
    """Yield every last layer that gives `phi` behind the attention matrix `before`, or behind nothing."""
    d = phi.architecture.widths[0]
    single_direction = any(rank(a) == 1 for a in before)
    forms = _products_of_forms(phi, before, single_direction)
    for rows, columns in [] if forms is None else _split(forms):
        value = np.array([_linear_coefficients(row, d) for row in rows], dtype=object)
        if single_direction:
            attention = _symmetric_matrix(columns[0], d)
        else:
            attention = np.array([_linear_coefficients(column, d) for column in columns], dtype=object).T
        weights = VirtualWeights((*before, attention), value)
        network = network_of(weights)
        found = polynomial_map(network.architecture(phi.architecture.tokens), network)
        if np.array_equal(found.entries, phi.entries):
            yield Solution(weights, single_direction)


def _products_of_forms(
    phi: PolynomialMap, before: tuple[ObjectArray, ...], single_direction: bool
) -> list[list[Polynomial]] | None:
    """Return the forms `v_m a_k` (row `m`, column `k`), or the one column of `v_m (y^T A y)`; `None` if there are none.

    Solved from values at integer points: enough of them for the solution to be the only one.
    """
    d, t, d_out = phi.architecture.widths[0], phi.architecture.tokens, phi.architecture.widths[-1]
    monomials = list(combinations_with_replacement(range(d), 3 if single_direction else 2))
    columns = 1 if single_direction else d
    unknowns = len(monomials) * columns
    generator = np.random.default_rng(0)
    one = rational_matrix(np.eye(d, dtype=int))

    def equations_at(x: ObjectArray) -> Iterator[list[RationalNumber]]:
        y = x
        for a in before:
            y = attention_layer(y, Layer(rational_matrix(a), one, one))
        output = [[entry(*x.ravel().tolist()) for entry in row] for row in phi.entries]
        for j in range(t):
            if single_direction:  # y = (direction) (scale)^T, seen by the layer behind as one token
                scale = _row_of_rank_one(y)
                direction = (y @ scale[:, None])[:, 0]  # scale^T scale times the direction
                norm = sum(s * s for s in scale)
                if norm == 0:
                    continue
                known = [direction[a] * direction[b] * direction[c] * scale[j] / norm**2 for a, b, c in monomials]
            else:
                gram = y @ y.T
                known = [gram[a, b] * y[k, j] for k in range(d) for a, b in monomials]
            yield known + [row[j] for row in output]

    points = (rational_matrix(generator.integers(-9, 10, size=(d, t))) for _ in range(unknowns + 4))
    equations: list[list[RationalNumber]] = []
    enough = unknowns // (1 if single_direction else t) + 4  # most often: what tokens say is independent
    for more in (enough, unknowns):
        equations += chain.from_iterable(map(equations_at, islice(points, more)))
        basis = null_space(np.array(equations, dtype=object))
        if all(any(vector[unknowns:]) for vector in basis):
            break
    else:
        raise ProgramError(f"{phi.architecture}: the points do not determine the last layer")
    if len(basis) < d_out:
        return None
    ring = PolynomialRing([f"y{i + 1}" for i in range(d)])

    def form(coefficients: Sequence[Fraction]) -> Polynomial:
        terms = zip(monomials, coefficients, strict=True)
        return sum(
            (ring.constant(-c) * ring.from_terms({_unit(d, *places): 1}) for places, c in terms), ring.constant(0)
        )

    size = len(monomials)
    return [[form(vector[k * size : (k + 1) * size]) for k in range(columns)] for vector in basis]


def price_of_reconstruction(shape: Architecture, terms: int, bits: int) -> float:
    """Return the seconds of a reconstruction, but for factors, of a map with so many terms, coefficients so long.

    The outputs of one token are read; for the last layer the map has values at as many points as products of forms have
    coefficients, and these equations a kernel.

    Example:
        >>> 0 < price_of_reconstruction(Architecture((2, 2, 1), (1, 1), 2), 100, 8) < 1
        True
    """
    shape.require_plain("the price of a reconstruction")
    d, t = shape.widths[0], shape.tokens
    unknowns = d * d * (d + 1) // 2
    points = unknowns // t + 4
    return (
        price_of_comparison(terms // t, d * t).seconds
        + RATES["forms"].seconds(product=terms * points) * (1 + bits // 64)
        + price_of_kernel(points * t, unknowns + shape.widths[-1], VALUE_BITS * shape.degree + bits).seconds
    )


def _row_of_rank_one(y: ObjectArray) -> ObjectArray:
    """Return a non-zero row of a matrix (the first row if there is none)."""
    row: ObjectArray = next((row for row in y if any(entry != 0 for entry in row)), y[0])
    return row


def _split(forms: list[list[Polynomial]]) -> Iterator[tuple[list[Polynomial], list[Polynomial]]]:
    """Yield all `(v_m)`, `(g_k)`, up to a scalar, with `v_m` linear, `v_m g_k = forms[m][k]`; not all forms zero."""
    m0, k0 = next((m, k) for m, row in enumerate(forms) for k, form in enumerate(row) if not form.is_zero())
    for linear, _ in forms[m0][k0].factor()[1]:
        if linear.total_degree() != 1:
            continue
        columns = [form // linear for form in forms[m0]]
        rows = [row[k0] // columns[k0] for row in forms]
        if all(v * g == form for v, row in zip(rows, forms, strict=True) for g, form in zip(columns, row, strict=True)):
            yield rows, columns


def _coefficient(form: Polynomial, *places: int) -> Fraction:
    """Return the coefficient of the product of the variables with these numbers, as a `Fraction` (also if it is 0)."""
    number = form.to_dict().get(_unit(len(form.context().gens()), *places), 0)
    return Fraction(int(number.numerator), int(number.denominator))


def _linear_coefficients(form: Polynomial, d: int) -> list[Fraction]:
    return [_coefficient(form, k) for k in range(d)]


def _symmetric_matrix(form: Polynomial, d: int) -> ObjectArray:
    """Return the symmetric matrix of a quadratic form."""
    matrix = np.empty((d, d), dtype=object)
    for i, j in np.ndindex(d, d):
        matrix[i, j] = _coefficient(form, i, j) / (1 if i == j else 2)
    return matrix
