r"""What the function of a softmax network determines (docs/softmax-fibers.md, Theorems 1 and 4).

One head a layer, no skip connection. *Without mask* a layer is blind if its virtual attention matrix is zero, or skew
and there are two tokens: behind it all tokens are equal. The function determines $\tilde V$ and the attention matrices
up to the first blind layer, and nothing else. *With a causal mask* it determines all virtual weights; but for two
tokens only $2^{-z} \tilde A_i$ of a skew layer with `z` zero layers before it, not `z`. If $\tilde V = 0$, or there is
one token, nothing but $\tilde V$ is determined.
"""

from __future__ import annotations

from fractions import Fraction

from lightning_sym.fibers.virtual_moves import is_zero, symmetric_part
from lightning_sym.network.virtual_weights import VirtualWeights
from lightning_sym.network.weights import Weights  # noqa: F401 - for the example below
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.system.circuits import NetworkCircuits


def circuit_virtual_weights(circuits: NetworkCircuits) -> VirtualWeights:
    """Return scores and output of a network with one head a layer and no skip, in terms of the input.

    Example:
        >>> w = Weights.of({"E": [[2]], "Q1": [[3]], "K1": [[1]], "V1": [[5]]})
        >>> a, v = circuit_virtual_weights(NetworkCircuits.of(w))
        >>> a[0].fractions().tolist(), v.fractions().tolist()
        ([[Fraction(12, 1)]], [[Fraction(10, 1)]])
    """
    stream, attention = circuits.embed, []
    for [head] in map(list, circuits.layers):
        attention.append(head.scores(stream, stream))
        stream = head.carried(stream)
    return VirtualWeights(tuple(attention), circuits.unembed @ stream)


def is_blind(attention: ObjectArray, tokens: int) -> bool:
    """Return whether all tokens are equal behind a layer with this virtual attention matrix.

    Example:
        >>> import numpy as np
        >>> skew = np.array([[0, 1], [-1, 0]], dtype=object)
        >>> is_blind(skew, 2), is_blind(skew, 3), is_blind(0 * skew, 3)
        (True, False, True)
    """
    return is_zero(symmetric_part(attention) if tokens == 2 else attention)


def _visible(virtual: VirtualWeights, tokens: int, causal: bool) -> list[tuple[str, object]]:
    """Return what the function determines, in order: a name, and what can be compared."""
    visible: list[tuple[str, object]] = [("V~", virtual.value.tolist())]
    if tokens == 1 or is_zero(virtual.value):
        return visible
    zeros = 0  # layers that are zero so far, where their places cannot all be seen
    for i, attention in enumerate(virtual.attention, start=1):
        blind = is_blind(attention, tokens)
        if causal and tokens == 2 and is_zero(attention):
            zeros += 1
        elif causal and tokens == 2 and blind:
            visible.append((f"A~{i}", ("skew", (attention * Fraction(1, 2**zeros)).tolist())))
        else:
            visible.append((f"A~{i}", (zeros, attention.tolist())))
        if blind and not causal:
            break
    return [*visible, ("the number of zero layers", zeros)] if zeros else visible


def first_difference(first: VirtualWeights, second: VirtualWeights, tokens: int, causal: bool = False) -> str | None:
    """Return the first visible weight that two networks do not share, or `None` if they have the same function.

    Both must have the same input and output widths; their depths may differ.

    Example:
        >>> import numpy as np
        >>> one, two = np.array([[1]], dtype=object), np.array([[2]], dtype=object)
        >>> first_difference(VirtualWeights((one, one), one), VirtualWeights((one, two), one), 2)
        'A~2'
        >>> first_difference(VirtualWeights((one, one), one), VirtualWeights((one,), one), 2)
        'A~2'
        >>> skew = np.array([[0, 1], [-1, 0]], dtype=object)
        >>> late, early = (VirtualWeights(a, one) for a in ((0 * skew, 2 * skew), (skew, 0 * skew)))
        >>> [first_difference(late, early, tokens, causal=True) for tokens in (2, 3)]
        [None, 'A~1']
    """
    one, other = (_visible(virtual, tokens, causal) for virtual in (first, second))
    for (name, shown), (_, other_shown) in zip(one, other, strict=False):
        if shown != other_shown:
            return name
    rest = (*one[len(other) :], *other[len(one) :])
    return rest[0][0] if rest else None
