"""Two rings that know derivatives, over any matrices with `@`, `+` and `.mT`.

`Dual` carries one tangent direction along (forward mode); `Recorded` remembers how it was made, so that one sweep
backwards gives the gradient with respect to everything it depends on (reverse mode).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class Dual:
    r"""$M + \varepsilon M'$ with $\varepsilon^2 = 0$.

    Example:
        >>> import numpy as np
        >>> x = Dual(np.array([[3]]), np.array([[1]]))
        >>> (x @ x.mT).tangent.tolist()         # d(x^2) = 2 x dx
        [[6]]
    """

    __slots__ = ("tangent", "value")

    def __init__(self, value: Any, tangent: Any) -> None:
        self.value, self.tangent = value, tangent

    def __matmul__(self, other: Dual) -> Dual:
        return Dual(self.value @ other.value, self.tangent @ other.value + self.value @ other.tangent)

    def __add__(self, other: Dual) -> Dual:
        return Dual(self.value + other.value, self.tangent + other.tangent)

    @property
    def mT(self) -> Dual:  # noqa: N802
        return Dual(self.value.mT, self.tangent.mT)


class Recorded:
    """A matrix that remembers the operation and the operands it came from.

    Example:
        >>> import numpy as np
        >>> x = Recorded(np.array([[3]]))
        >>> (gradient,) = gradients(x @ x.mT, np.array([[1]]), [x])
        >>> gradient.tolist()
        [[6]]
    """

    __slots__ = ("operands", "value")

    def __init__(self, value: Any, operands: tuple[tuple[Recorded, Callable[[Any], Any]], ...] = ()) -> None:
        self.value, self.operands = value, operands

    def __matmul__(self, other: Recorded) -> Recorded:
        a, b = self.value, other.value
        return Recorded(a @ b, ((self, lambda g: g @ b.mT), (other, lambda g: a.mT @ g)))

    def __add__(self, other: Recorded) -> Recorded:
        return Recorded(self.value + other.value, ((self, lambda g: g), (other, lambda g: g)))

    @property
    def mT(self) -> Recorded:  # noqa: N802
        return Recorded(self.value.mT, ((self, lambda g: g.mT),))


def gradients(output: Recorded, functional: Any, inputs: Sequence[Recorded]) -> list[Any]:
    """Gradient of the sum of `functional * output` (entry by entry) with respect to each of `inputs`.

    Over a batch every entry of the batch keeps its own gradient: nothing is summed over leading axes.

    Args:
        output: what was computed from `inputs`.
        functional: a matrix of the shape of `output`.
        inputs: every one of them must take part in `output`.
    """
    order: list[Recorded] = []
    seen: set[int] = set()
    stack: list[tuple[Recorded, bool]] = [(output, False)]
    while stack:  # depth first without recursion: deep networks are deep graphs
        node, expanded = stack.pop()
        if expanded:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((operand, False) for operand, _ in node.operands)

    wanted = {id(node) for node in inputs}
    collected: dict[int, Any] = {id(output): functional}
    for node in reversed(order):
        # gradients of what is not asked for are dropped as soon as they have been passed on
        gradient = collected[id(node)] if id(node) in wanted else collected.pop(id(node))
        for operand, pull_back in node.operands:
            part = pull_back(gradient)
            known = collected.get(id(operand))
            collected[id(operand)] = part if known is None else known + part
    return [collected[id(node)] for node in inputs]
