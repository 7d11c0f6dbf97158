r"""Virtual weights (Eq. 8) and the closed form of the network in them (Lemma 3.6, Eq. 10-12).

With $P_i = V_i \cdots V_1$ the network depends on its weights only through $\tilde A_i = P_{i-1}^\top A_i P_{i-1}$
and $\tilde V = P_l$. Everything here works over any ring the forward pass knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, cast

from lightning_sym.arguments import require_arguments
from lightning_sym.display import equal, latex_lines, latex_matrix, notebook, typed
from lightning_sym.errors import BadInput
from lightning_sym.network.layer import require_layer
from lightning_sym.network.weights import Layer, Weights
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.expressions import ExpressionMatrix
from lightning_sym.rings.protocol import M
from lightning_sym.rings.rationals import RationalMatrix

_MOST_SHOWN = 8
"""Matrices that a notebook shows."""


class VirtualWeights(NamedTuple):
    r"""$(\tilde A_1, \dots, \tilde A_l)$, each `d_0 x d_0`, and $\tilde V$, `d_l x d_0`."""

    attention: tuple[Any, ...]
    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VirtualWeights) and equal(tuple(self), tuple(other))

    def __ne__(self, other: object) -> bool:  # a tuple has its own
        return not self == other

    def __repr__(self) -> str:
        return typed("VirtualWeights", self._asdict())

    def _repr_latex_(self) -> str:
        return notebook(latex_lines(self.formulas()))

    def formulas(self) -> list[str]:
        """Return every matrix as a formula; of many layers the first ones and the last."""
        named = [(rf"\tilde A_{{{i}}}", a) for i, a in enumerate(self.attention, start=1)]
        shown = [f"{name} = {latex_matrix(a)}" for name, a in (*named, (r"\tilde V", self.value))]
        return shown if len(shown) <= _MOST_SHOWN else [*shown[: _MOST_SHOWN - 3], r"\ldots", *shown[-2:]]


def virtual_weights(layers: Weights | Iterable[Layer[M]]) -> VirtualWeights:
    r"""Return the virtual weights, Eq. 8.

    Args:
        layers: weights, also with letters, or their layers over any ring.

    Raises:
        BadInput: they are none, or those of another network than a lightning network with one head and nothing added.
        ShapeError: a layer does not fit the one before it.

    Example:
        >>> import numpy as np
        >>> layer = Layer(np.array([[2]]), np.array([[3]]), np.array([[5]]))
        >>> a, v = virtual_weights([layer, layer])
        >>> [m.tolist() for m in a], v.tolist()     # 6, 5 * 6 * 5 and 5 * 5
        ([[[6]], [[150]]], [[25]])
    """
    require_arguments(virtual_weights, locals())
    if isinstance(layers, Weights) and layers.letters:
        found = virtual_weights(Layer(*map(ExpressionMatrix.of, layer)) for layer in layers.layers_with_letters())
        return VirtualWeights(tuple(a.entries() for a in found.attention), found.value.entries())
    return _products(layers.layers if isinstance(layers, Weights) else _fitting(layers))


def _fitting(layers: Iterable[Layer[M]]) -> Iterator[Layer[M]]:
    """Yield the layers, and refuse what is none, or does not fit the one before it; those of `Weights` always fit."""
    before = None
    for layer in layers:
        require_layer(layer, before)
        yield layer
        before = layer[-1]


def _products(layers: Iterable[Layer[M]]) -> VirtualWeights:
    """Return the products of Eq. 8, over any ring."""
    product = None
    attention = []
    for query, key, value in layers:
        if product is not None:
            query, key = query @ product, key @ product
        attention.append(key.mT @ query)
        product = value if product is None else value @ product
    if not attention:
        raise BadInput("virtual weights must be those of at least one layer, got none")
    return VirtualWeights(tuple(attention), product)


def exact_virtual_weights(weights: Weights | Iterable[Layer[ObjectArray]]) -> VirtualWeights:
    """Return the virtual weights of exact weights, matrices of `Fraction`, multiplied by flint.

    Raises:
        BadInput: weights of another network than a lightning network with one head and nothing added.

    Example:
        >>> a, v = exact_virtual_weights(Weights.of({"Q1": [[2]], "K1": [[0.5]], "V1": [[5]]}))
        >>> a[0].tolist(), v.tolist()
        ([[Fraction(1, 1)]], [[Fraction(5, 1)]])
    """
    return in_fractions(rational_virtual_weights(weights))


def rational_virtual_weights(weights: Weights | Iterable[Layer[ObjectArray]]) -> VirtualWeights:
    """Return the same in matrices of flint's.

    Raises:
        BadInput: as for `exact_virtual_weights`.

    Example:
        >>> rational_virtual_weights(Weights.of({"Q1": [[2]], "K1": [[0.5]], "V1": [[5]]})).value.rank()
        1
    """
    if isinstance(weights, Weights):
        return _products(weights.rational_layers)
    return virtual_weights(Layer(*map(RationalMatrix.of, layer)) for layer in weights)


def in_fractions(virtual: VirtualWeights) -> VirtualWeights:
    """Return virtual weights in matrices of flint's as arrays of `Fraction`."""
    return VirtualWeights(tuple(a.fractions() for a in virtual.attention), virtual.value.fractions())


def recursive_form(x: M, weights: VirtualWeights) -> M:
    r"""Return $\tilde V X B_l$ with $B_0 = 1$, $B_i = B_{i-1} B_{i-1}^\top S_i B_{i-1}$ (Eq. 10, 11).

    Here $S_i = X^\top \tilde A_i X$.
    """
    b: M | None = None
    for attention in weights.attention:
        s: M = x.mT @ attention @ x
        b = s if b is None else b @ b.mT @ s @ b
    return cast(M, weights.value @ x @ b)


def unrolled_factors(depth: int) -> list[tuple[int, bool]]:
    r"""Return the factors of $B_l$ in order, Eq. 12: pairs `(k, transposed)` that stand for $S_k$ or $S_k^\top$.

    Factor number $n = 1, \dots, (3^l - 1)/2$ has $k - 1$ equal to the 3-adic valuation of $n$, and is transposed if
    the first non-zero base-3 digit of $n$ from the right is 2.

    Example:
        >>> unrolled_factors(2)     # S1 S1^T S2 S1
        [(1, False), (1, True), (2, False), (1, False)]
    """
    factors = []
    for n in range(1, (3**depth - 1) // 2 + 1):
        valuation = 0
        while n % 3 == 0:
            n, valuation = n // 3, valuation + 1
        factors.append((valuation + 1, n % 3 == 2))
    return factors


def closed_form(x: M, weights: VirtualWeights) -> M:
    r"""Return $\phi(X) = \tilde V X \prod_n S_{k(n)}^{(\top)}$, unrolled without recursion (Eq. 12).

    Example:
        >>> import numpy as np
        >>> one = np.array([[1]])
        >>> closed_form(np.array([[2]]), VirtualWeights((one, one), one)).tolist()      # 2 ** 9
        [[512]]
    """
    scores = [x.mT @ attention @ x for attention in weights.attention]
    result: M = weights.value @ x
    for k, transposed in unrolled_factors(len(scores)):
        s = scores[k - 1]
        result = result @ (s.mT if transposed else s)
    return result
