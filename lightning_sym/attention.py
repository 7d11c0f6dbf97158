"""The forward pass: written once, run over every ring.

A matrix here is anything with `@`, `+` and `.mT` (transpose): arrays of polynomials or rationals, residues modulo
a prime, values that record derivatives, formal words. What the network *means* over each of them is decided in
`rings/`; what it *is* stands below.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, TypeVar

from lightning_sym.weights import Layer


class Matrix(Protocol):
    """What the forward pass needs of a matrix."""

    def __matmul__(self, other: Any, /) -> Any: ...
    def __add__(self, other: Any, /) -> Any: ...
    @property
    def mT(self) -> Any: ...  # noqa: N802 - the array standard's name for the matrix transpose


M = TypeVar("M", bound=Matrix)


def attention_layer(x: M, layer: Layer) -> M:
    r"""One layer, Eq. 2: $X \mapsto V X X^\top K^\top Q X$, for `x` of shape `d x t`; the result is `d' x t`.

    Associated as $(V X)\,\big((K X)^\top (Q X)\big)$, the cheap order when tokens are few. The matrix in the middle
    holds the scores $x_j^\top A x_i$.

    Example:
        >>> import numpy as np
        >>> one = np.array([[1]])
        >>> attention_layer(np.array([[2, 3]]), Layer(one, one, one)).tolist()
        [[26, 39]]
    """
    scores = (layer.key @ x).mT @ (layer.query @ x)
    output: M = (layer.value @ x) @ scores
    return output


def forward(x: M, layers: Iterable[Layer]) -> M:
    """The network, Definition 2: the layers one after the other, `layers[0]` first.

    Example:
        >>> import numpy as np
        >>> one = np.array([[1]])
        >>> forward(np.array([[2]]), [Layer(one, one, one)] * 2).tolist()   # 2 ** (3 ** 2)
        [[512]]
    """
    for layer in layers:
        x = attention_layer(x, layer)
    return x
