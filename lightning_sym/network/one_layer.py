r"""One layer in terms of `(A, V)`: its coefficients, and the products of linear forms they are made of.

With $a_k$ the columns of the attention matrix $A$ and $v_m$ the rows of the value matrix $V$, both read as linear
forms, the part of output token 1 that is linear in $x_1$ and quadratic in $x_2$ is
$\sum_k x_{k,1}\, a_k(x_2)\, v_m(x_2)$ (Proposition A.5). The array of these products is all of the function.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import numpy.typing as npt

from lightning_sym.errors import ShapeError
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.attention import forward
from lightning_sym.network.polynomial_map import PolynomialMap
from lightning_sym.network.symbolic_map import Exponents
from lightning_sym.network.weights import Layer
from lightning_sym.rings.arrays import ObjectArray, Rows
from lightning_sym.rings.polynomials import Polynomial, PolynomialRing, RationalCoefficient, entry_names

Key = tuple[int, int, Exponents]


def attention_layer_weights(attention: ObjectArray, value: ObjectArray) -> Layer[ObjectArray]:
    r"""Return the layer with $Q = A$ and $K = 1$, over any ring that integers multiply.

    Example:
        >>> attention_layer_weights(np.array([[2, 3], [4, 5]]), np.array([[1, 1]])).key.tolist()
        [[1, 0], [0, 1]]
    """
    return Layer(query=attention, key=np.eye(len(attention), dtype=int).astype(object), value=value)


def one_layer_map(d: int, d_out: int, tokens: int) -> PolynomialMap:
    r"""Return $\phi_{A,V}$ with symbolic `A` (`d x d`) and `V` (`d' x d`): `V X X^T A X` over polynomials.

    Returns:
        The map of the layer with `Q = A`, `K = 1`; its weight names are `A_1_1, ..., V_1_1, ...`.

    Raises:
        ShapeError: a size is not positive.

    Example:
        >>> print(one_layer_map(1, 1, 2).entries[0, 0])
        A_1_1*V_1_1*x_1_1^3 + A_1_1*V_1_1*x_1_1*x_1_2^2
    """
    architecture = Architecture((d, d_out), (d,), tokens)
    weight_names = entry_names("A", d, d) + entry_names("V", d_out, d)
    input_names = entry_names("x", d, tokens)
    ring = PolynomialRing(weight_names + input_names)
    layer = attention_layer_weights(ring.matrix("A", d, d), ring.matrix("V", d_out, d))
    entries = forward(ring.matrix("x", d, tokens), [layer])
    return PolynomialMap(architecture, entries, ring, tuple(weight_names), tuple(input_names))


def quadratic_monomials(d: int) -> list[tuple[int, int]]:
    """Return pairs `(p, q)`, `p <= q`: monomials `x_p x_q`, in the order in which quadratic forms are written.

    Example:
        >>> quadratic_monomials(2)
        [(0, 0), (0, 1), (1, 1)]
    """
    return list(combinations_with_replacement(range(d), 2))


def products_of_linear_forms(attention: Rows, value: Rows) -> ObjectArray:
    r"""Return coefficients of $a_k(x)\, v_m(x)$, `a_k` the columns of `A` and `v_m` the rows of `V`, over any ring.

    Args:
        attention: `A`, `d x d`.
        value: `V`, `d' x d`.

    Returns:
        Object array of shape `d x d' x d(d+1)/2`: index `k`, index `m`, monomial.

    Raises:
        ShapeError: `A` is not square, or `V` has another number of columns.

    Example:
        >>> products_of_linear_forms([[1, 0], [2, 0]], [[3, 4]]).tolist()    # (x + 2y)(3x + 4y), and 0
        [[[3, 10, 8]], [[0, 0, 0]]]
    """
    a, v = np.asarray(attention, dtype=object), np.asarray(value, dtype=object)
    if a.ndim != 2 or v.ndim != 2 or a.shape[0] != a.shape[1] or a.shape[1] != v.shape[1]:
        raise ShapeError(f"A must be d x d and V d' x d, got {a.shape} and {v.shape}")
    monomials = quadratic_monomials(a.shape[0])
    result = np.empty((a.shape[1], v.shape[0], len(monomials)), dtype=object)
    for (k, m, n), _ in np.ndenumerate(result):
        p, q = monomials[n]
        result[k, m, n] = a[p, k] * v[m, q] if p == q else a[p, k] * v[m, q] + a[q, k] * v[m, p]
    return result


def key_of_product(d: int, tokens: int, k: int, m: int, p: int, q: int) -> Key:
    """Return where the coefficient of `x_p x_q` in `a_k v_m` stands.

    It is row `m + 1` of token 1, monomial `x_k1 x_p2 x_q2`.
    """
    exponents = [0] * (d * tokens)
    for coordinate, token in ((k, 0), (p, 1), (q, 1)):
        exponents[coordinate * tokens + token] += 1
    return m + 1, 1, tuple(exponents)


def product_coefficients(phi: PolynomialMap) -> ObjectArray:
    r"""Return the array of products of linear forms, read off the coefficients of a one-layer map.

    Args:
        phi: the map of one layer with at least two tokens, symbolic or rational weights.

    Returns:
        Object array of shape `d x d' x d(d+1)/2` as in `products_of_linear_forms`.

    Raises:
        ShapeError: more than one layer, or one token only.

    Example:
        >>> print(product_coefficients(one_layer_map(2, 1, 2))[1, 0, 1])    # x y in a_2 v_1
        A_2_2*V_1_1 + A_1_2*V_1_2
    """
    shape = phi.architecture
    shape.require_plain("the array of products of linear forms")
    if shape.depth != 1 or shape.tokens < 2:
        raise ShapeError(f"one layer and at least two tokens are needed, got {shape}")
    d, d_out = shape.widths
    known = phi.ring_coefficients()
    zero = PolynomialRing(phi.weight_names).constant(0) if phi.weight_names else 0
    monomials = quadratic_monomials(d)
    result = np.empty((d, d_out, len(monomials)), dtype=object)
    for (k, m, n), _ in np.ndenumerate(result):
        result[k, m, n] = known.get(key_of_product(d, shape.tokens, k, m, *monomials[n]), zero)
    return result


def coefficients_from_products(d: int, d_out: int, tokens: int) -> dict[Key, list[tuple[int, int, int]]]:
    r"""Return the linear map of Proposition A.5, from arrays of quadratic forms to the coefficients of `phi`.

    Output token `i` is $\sum_j \sum_k x_{k,i}\, b_{k,m}(x_j)$ for the array $b_{k,m} = a_k v_m$.

    Returns:
        For each coefficient that can be non-zero, the entries `(k, m, monomial)` of the array whose sum it is.

    Example:
        >>> coefficients_from_products(1, 1, 1)
        {(1, 1, (3,)): [(0, 0, 0)]}
    """
    result: dict[Key, list[tuple[int, int, int]]] = {}
    for m, i, j, k in np.ndindex(d_out, tokens, tokens, d):
        for n, (p, q) in enumerate(quadratic_monomials(d)):
            exponents = [0] * (d * tokens)
            for coordinate, token in ((k, i), (p, j), (q, j)):
                exponents[coordinate * tokens + token] += 1
            result.setdefault((m + 1, i + 1, tuple(exponents)), []).append((k, m, n))
    return result


def discriminants(form: Any, d: int) -> list[Any]:
    r"""Return the binary discriminants $f_{pq}^2 - 4 f_{pp} f_{qq}$ of a quadratic form, `p < q`, over any ring.

    For a product of two linear forms $u w$ they are the squares $(u_p w_q - u_q w_p)^2$. So a form over the reals
    with a negative one is not a product of real linear forms.

    Args:
        form: coefficients in the order of `quadratic_monomials(d)`.
        d: number of variables.

    Example:
        >>> discriminants([1, 0, 1], 2)    # x^2 + y^2
        [-4]
    """
    at = {pair: form[n] for n, pair in enumerate(quadratic_monomials(d))}
    return [at[p, q] * at[p, q] - 4 * at[p, p] * at[q, q] for p, q in at if p < q]


def part_of_degree(
    polynomial: Polynomial, degree: int, ring: PolynomialRing, inputs: int
) -> dict[Exponents, Polynomial]:
    """Return the terms of one degree in the last variables of the ring.

    Args:
        polynomial: an element of `ring`.
        degree: the degree in the inputs.
        ring: the ring, its last `inputs` variables the inputs.
        inputs: how many variables are inputs, at least one.

    Returns:
        By exponents of the inputs, the coefficients: polynomials in the other variables.

    Example:
        >>> ring = PolynomialRing(["a", "x"])
        >>> a, x = ring.generators
        >>> part_of_degree(a * x + a**2 * x + x**2, 1, ring, 1)
        {(1,): a^2 + a}
    """
    others = PolynomialRing(ring.names[:-inputs])
    found = terms_by_inputs(polynomial, inputs)
    return {monomial: others.from_terms(terms) for monomial, terms in found.items() if sum(monomial) == degree}


def terms_by_inputs(polynomial: Polynomial, inputs: int) -> dict[Exponents, dict[Exponents, RationalCoefficient]]:
    """Return the terms of a polynomial by their exponents in the last variables, and then in the others.

    Args:
        polynomial: an element of a `PolynomialRing`.
        inputs: how many variables are inputs, at least one.

    Example:
        >>> a, x = PolynomialRing(["a", "x"]).generators
        >>> terms_by_inputs(2 * a * x + a**2 * x + x**2, 1)
        {(1,): {(2,): 1, (1,): 2}, (2,): {(0,): 1}}
    """
    grouped: dict[Exponents, dict[Exponents, RationalCoefficient]] = {}
    for exponents, coefficient in polynomial.to_dict().items():
        grouped.setdefault(exponents[-inputs:], {})[exponents[:-inputs]] = coefficient
    return grouped


def values_at(polynomial: Polynomial, points: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return values of a polynomial with integer coefficients at many integer points; entries must be small.

    Args:
        polynomial: an element of a `PolynomialRing` in `n` variables.
        points: shape `N x n`.

    Example:
        >>> ring = PolynomialRing(["a", "b"])
        >>> a, b = ring.generators
        >>> values_at(2 * a * b**2 - a, np.array([[1, 2], [3, 0]])).tolist()
        [7, -3]
    """
    total = np.zeros(len(points), dtype=np.int64)
    for exponents, coefficient in polynomial.to_dict().items():
        term = np.full(len(points), int(coefficient.p), dtype=np.int64)
        for column, exponent in enumerate(map(int, exponents)):
            for _ in range(exponent):
                term = term * points[:, column]
        total += term
    return total
