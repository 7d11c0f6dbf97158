"""One layer in full: every weight over a finite field, and every solution of `phi_(A, V) = phi` over the rationals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lightning_sym import PolynomialMap
from lightning_sym.exact.modular import ranks_mod_p
from lightning_sym.network.one_layer import one_layer_map, product_coefficients, quadratic_monomials, values_at
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.polynomials import Polynomial, PolynomialRing
from lightning_sym.rings.rationals import to_fractions
from proofs_check.finite_matrices import Integers, Truths

Pair = tuple[ObjectArray, ObjectArray]


class LayerOverField(NamedTuple):
    """One layer over GF(p): input width, output width, tokens."""

    p: int
    d: int
    d_out: int
    tokens: int = 2

    def __str__(self) -> str:
        return f"GF({self.p}), d = {self.d}, d' = {self.d_out}, t = {self.tokens}"


@dataclass(frozen=True, eq=False)
class AllWeights:
    """Pairs `(A, V)` over GF(p), one a row, and the coefficients of `V X X^T A X`, one row each.

    Formal coefficients, not values: over a finite field different polynomials can take the same values.
    """

    p: int
    attention: Integers
    value: Integers
    coefficients: Integers

    def show(self, i: int) -> str:
        """Return the weights in row `i`, for a witness."""
        return f"(A, V) = ({self.attention[i].tolist()}, {self.value[i].tolist()})"

    def __getitem__(self, chosen: Integers | Truths) -> AllWeights:
        return AllWeights(self.p, self.attention[chosen], self.value[chosen], self.coefficients[chosen])


def all_weights(field: LayerOverField) -> AllWeights:
    """Return every one of the `p^(d d + d' d)` weights.

    The coefficients are those of the forward pass over polynomials in the entries of `A`, `V` and `X`, evaluated at
    all `A` and `V` at once.

    Example:
        >>> every = all_weights(LayerOverField(3, 1, 1))
        >>> every.coefficients.shape        # x^3, x y^2 and the same with x, y exchanged
        (9, 4)
    """
    p, d, d_out, tokens = field
    phi = one_layer_map(d, d_out, tokens)
    points = np.indices((p,) * len(phi.weight_names), dtype=np.int64).reshape(len(phi.weight_names), -1).T
    columns = [values_at(polynomial, points) % p for polynomial in phi.ring_coefficients().values()]
    attention, value = points[:, : d * d].reshape(-1, d, d), points[:, d * d :].reshape(-1, d_out, d)
    return AllWeights(p, attention, value, np.stack(columns).T)


def inverses(p: int) -> Integers:
    """Return the inverse of every residue; 0 for 0."""
    return np.array([0] + [pow(x, -1, p) for x in range(1, p)], dtype=np.int64)


def is_rank_one(matrices: Integers, p: int) -> Truths:
    """Return which of many matrices have rank one.

    Example:
        >>> is_rank_one(np.array([[[1, 2], [2, 1]], [[1, 2], [0, 1]], [[0, 0], [0, 0]]]), 3).tolist()
        [True, False, False]
    """
    result: Truths = ranks_mod_p(matrices, p) == 1
    return result


def leading(rows: Integers) -> Integers:
    """Return the first entry of every row that is not zero, as a column."""
    columns: Integers = np.argmax(rows != 0, axis=1)[:, None]
    return np.take_along_axis(rows, columns, axis=1)


def rank_one_factors(matrices: Integers, p: int) -> tuple[Integers, Integers]:
    """Return `(columns, rows)` with `matrix = column row^T`, for matrices of rank one."""
    n = np.arange(len(matrices))
    i, j = np.divmod((matrices.reshape(len(matrices), -1) != 0).argmax(axis=1), matrices.shape[2])
    return matrices[n, :, j], matrices[n, i, :] * inverses(p)[matrices[n, i, j]][:, None] % p


def rescaling_class(attention: Integers, value: Integers, p: int) -> Integers:
    """Return `(A, V)` as one row, rescaled so that the leading entry of `A` is 1."""
    flat, values = attention.reshape(len(attention), -1), value.reshape(len(value), -1)
    lead = leading(flat)
    rows: Integers = np.concatenate([flat * inverses(p)[lead], values * lead], axis=1) % p
    return rows


def numbered(rows: Integers) -> Integers:
    """Return numbers from 0, equal ones for equal rows of residues.

    Example:
        >>> numbered(np.array([[1, 2], [0, 2], [1, 2]])).tolist()
        [1, 0, 1]
    """
    base = int(rows.max(initial=0)) + 1
    numbers = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        if (int(numbers.max(initial=0)) + 1) * base > 2**62:  # no room for one more digit
            numbers = np.unique(numbers, return_inverse=True)[1].ravel()
        numbers = numbers * base + column
    return np.unique(numbers, return_inverse=True)[1].ravel()


def solve(phi: PolynomialMap) -> list[Pair] | None:
    r"""Return all real `(A', V')` with this function, up to rescaling, from its coefficients; `None` if it is zero.

    The part of output `m` at token `x` that is linear in `x` and quadratic in the other token `y` is
    $\sum_k x_k\, a_k(y) v_m(y)$, with $a_k$ the linear form of column `k` of `A'` and $v_m$ that of row `m` of `V'`.
    If all products vanish then all $a_k$ or all $v_m$ do. Otherwise let $a_k v_m \ne 0$. Polynomials factor uniquely,
    so $a_k$ is one of its linear factors (two at most, up to a scalar, which is the rescaling); the real ones are
    rational, since the weights that made the function are. Given $a_k$ the rows of `V'` follow by division, and from
    $v_m$ the columns of `A'`. So nothing is missed, and what fails a division or a product is no solution.
    """
    d, d_out = phi.architecture.widths
    ring = PolynomialRing([f"y{i}" for i in range(d)])
    monomials = [tuple((i == p) + (i == q) for i in range(d)) for p, q in quadratic_monomials(d)]
    array = product_coefficients(phi)
    products = {
        (k, m): ring.from_terms(dict(zip(monomials, array[k, m], strict=True))) for k, m in np.ndindex(d, d_out)
    }
    k, m = next((index for index in products if not products[index].is_zero()), (-1, -1))
    if k < 0:
        return None
    found = []
    for left, _ in products[k, m].factor()[1]:
        right = products[k, m] / left
        divided = (
            [divmod(products[k, j], left) for j in range(d_out)],
            [divmod(products[i, m], right) for i in range(d)],
        )
        rows, columns = ([quotient for quotient, _ in forms] for forms in divided)
        if all(rows[j] * columns[i] == products[i, j] for i, j in products):
            found.append((_matrix(columns, d).T, _matrix(rows, d)))
    return found


def _matrix(forms: list[Polynomial], d: int) -> ObjectArray:
    """Return the coefficients of linear forms, one form a row."""
    units = [tuple(int(i == j) for j in range(d)) for i in range(d)]
    return to_fractions([[form.to_dict().get(unit, 0) for unit in units] for form in forms])
