r"""What the function of a softmax network determines: its visible weights (docs/softmax-fibers.md, Theorem 1).

One head a layer, no mask, no skip connection. A layer is blind if its virtual attention matrix is zero, or skew and
there are two tokens: behind it all tokens are equal. The function determines $\tilde V$ and the attention matrices up
to the first blind layer, and nothing else; if $\tilde V = 0$, or there is one token, nothing but $\tilde V$.
"""

from __future__ import annotations

from lightning_sym.fibers.virtual_moves import is_zero, symmetric_part
from lightning_sym.network.virtual_weights import VirtualWeights
from lightning_sym.rings.arrays import ObjectArray

PROVED = frozenset({"normalization"})
"""The options that Theorem 1 is about; and of all normalizations it is about softmax."""


def is_blind(attention: ObjectArray, tokens: int) -> bool:
    """Whether all tokens are equal behind a layer with this virtual attention matrix.

    Example:
        >>> import numpy as np
        >>> skew = np.array([[0, 1], [-1, 0]], dtype=object)
        >>> is_blind(skew, 2), is_blind(skew, 3), is_blind(0 * skew, 3)
        (True, False, True)
    """
    return is_zero(symmetric_part(attention) if tokens == 2 else attention)


def visible_by_name(virtual: VirtualWeights, tokens: int) -> dict[str, ObjectArray]:
    """What the function determines, `V~` first, then `A~1`, `A~2`, ... up to the first blind layer.

    Example:
        >>> import numpy as np
        >>> zero, one = np.array([[0]], dtype=object), np.array([[1]], dtype=object)
        >>> list(visible_by_name(VirtualWeights((one, zero, one), one), 2))
        ['V~', 'A~1', 'A~2']
        >>> list(visible_by_name(VirtualWeights((one, zero, one), zero), 2))
        ['V~']
    """
    visible = {"V~": virtual.value}
    if tokens == 1 or is_zero(virtual.value):
        return visible
    for i, attention in enumerate(virtual.attention, start=1):
        visible[f"A~{i}"] = attention
        if is_blind(attention, tokens):
            break
    return visible


def first_difference(first: VirtualWeights, second: VirtualWeights, tokens: int) -> str | None:
    """The first visible weight that two networks do not share, or `None` if they have the same function.

    Both must have the same input and output widths; their depths may differ.

    Example:
        >>> import numpy as np
        >>> one, two = np.array([[1]], dtype=object), np.array([[2]], dtype=object)
        >>> first_difference(VirtualWeights((one, one), one), VirtualWeights((one, two), one), 2)
        'A~2'
        >>> first_difference(VirtualWeights((one, one), one), VirtualWeights((one,), one), 2)
        'A~2'
    """
    one, other = (visible_by_name(virtual, tokens) for virtual in (first, second))
    for name in one | other:
        if name not in one or name not in other or (one[name] != other[name]).any():
            return name
    return None
