"""What the function of one-head networks without skip determines, as docs/softmax-fibers.md says: of many at once.

Virtual weights come stacked, `A~_1, ..., A~_l, V~`, each `count x rows x columns`. Nothing is computed of functions
here, and nothing of the program is used that says the same (`lightning_sym.fibers.softmax`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np

from proofs_check.boxes import Stack
from proofs_check.finite_matrices import Integers, Truths, is_zero

Blind = Callable[[Integers, int], Truths]


def is_skew(matrices: Integers) -> Truths:
    """Return which of the matrices have the quadratic form zero."""
    return is_zero(matrices + matrices.mT)


def blind(matrices: Integers, tokens: int) -> Truths:
    """Return which of the matrices make all tokens equal behind them, without mask."""
    return is_skew(matrices) if tokens == 2 else is_zero(matrices)


def shown_layers(virtual: Sequence[Integers], tokens: int, causal: bool, blind: Blind = blind) -> list[Truths]:
    """Return by layer of which networks the function determines it (Theorem 1).

    Under a mask for three tokens Theorem 4 says it.
    """
    *attention, value = virtual
    shown, result = ~is_zero(value), []
    for matrices in attention:
        result.append(shown)
        if not causal:
            shown = shown & ~blind(matrices, tokens)
    return result


def up_to_the_first_blind(virtual: Sequence[Integers], tokens: int, causal: bool, blind: Blind = blind) -> list[bytes]:
    """Return what each function determines: `V~`, and the matrices up to the first blind layer."""
    count = len(virtual[-1])
    columns = [virtual[-1].reshape(count, -1)]
    for matrices, shown in zip(virtual, shown_layers(virtual, tokens, causal, blind), strict=False):
        columns += [np.where(shown[:, None], matrices.reshape(count, -1), 0), shown[:, None].astype(np.int64)]
    return [row.tobytes() for row in np.concatenate(columns, axis=1)]


def two_causal_tokens(virtual: Sequence[Integers], base: int = 2) -> list[Hashable]:
    """Return keys by Theorem 4 for `t = 2`.

    They hold `2^-z` times a skew matrix with `z` zero layers before it, of others it and `z`.
    """
    *attention, value = virtual
    skew = [is_skew(m).tolist() for m in attention]
    lists, values = [m.tolist() for m in attention], value.tolist()
    keys: list[Hashable] = []
    for number, last in enumerate(values):
        key: list[object] = [last]
        if any(map(any, last)):
            zeros = 0
            for layer, matrices in enumerate(lists):
                matrix = matrices[number]
                if not any(map(any, matrix)):
                    zeros += 1
                elif skew[layer][number]:
                    key.append([[x * base ** (len(lists) - zeros) for x in row] for row in matrix])
                else:
                    key.append((zeros, matrix))
            key.append(len(lists) - zeros)
        keys.append(repr(key))
    return keys


def virtual_of(stack: Stack) -> list[Integers]:
    """Return `A~_i = P^T K_i^T Q_i P` and `V~` of factored weights.

    `P` is the product of the values before (Eq. 8).
    """
    product: Integers = np.eye(stack.shape.widths[0], dtype=np.int64)[None]
    result = []
    for i in range(stack.shape.depth):
        query, key, value = stack.weights[3 * i : 3 * i + 3]
        result.append(product.mT @ key.mT @ query @ product)
        product = value @ product
    return [*result, product]
