"""Two rings that know derivatives, over any matrices with `@`, `+` and `.mT`.

`Dual` carries one tangent direction along (forward mode); `Recorded` remembers how it was made, so that one sweep
backwards gives the gradient with respect to everything it depends on (reverse mode).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from lightning_sym.rings.protocol import constants, gradient_part, operation


def derivative(taylor: Callable[[int], Fraction]) -> Callable[[int], Fraction]:
    """The Taylor coefficients of the derivative.

    Example:
        >>> [derivative(lambda k: Fraction(k))(k) for k in range(3)]
        [Fraction(1, 1), Fraction(4, 1), Fraction(9, 1)]
    """
    return lambda k: (k + 1) * taylor(k + 1)


def _minus_one(matrix: Any) -> Any:
    return constants(matrix, np.array([[-1]], dtype=object), "a reciprocal")


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

    @property
    def shape(self) -> Any:
        """That of the value, `None` where the ring has none."""
        return getattr(self.value, "shape", None)

    def __matmul__(self, other: Dual) -> Dual:
        return Dual(self.value @ other.value, self.tangent @ other.value + self.value @ other.tangent)

    def __add__(self, other: Dual) -> Dual:
        return Dual(self.value + other.value, self.tangent + other.tangent)

    def __mul__(self, other: Dual) -> Dual:
        """The product entry by entry."""
        return Dual(self.value * other.value, self.tangent * other.value + self.value * other.tangent)

    def like(self, numbers: Any) -> Dual:
        """A constant matrix over the same ring."""
        return Dual(constants(self.value, numbers, "a constant"), constants(self.value, 0 * numbers, "a constant"))

    @property
    def mT(self) -> Dual:  # noqa: N802
        return Dual(self.value.mT, self.tangent.mT)

    def apply(self, taylor: Callable[[int], Fraction]) -> Dual:
        """`S` of every entry, for rings that know it by its Taylor series: `dS(s) = S'(s) ds`."""
        known = operation(self.value, "apply", "a normalization")
        return Dual(known(taylor), known(derivative(taylor)) * self.tangent)

    def reciprocal(self, inverse_constants: Any) -> Dual:
        """`1 / entry` for every entry: `d(1/x) = -(1/x)^2 dx`."""
        result = operation(self.value, "reciprocal", "a normalization")(inverse_constants)
        return Dual(result, result * result * _minus_one(result) * self.tangent)


class Recorded:
    """A matrix that remembers the operation and the operands it came from.

    Args:
        value: the matrix.
        constant: it depends on nothing that a gradient is wanted for, so nothing is passed back to it.

    Example:
        >>> import numpy as np
        >>> x = Recorded(np.array([[3]]))
        >>> (gradient,) = gradients([x @ x.mT], [np.array([[1]])], [x])
        >>> gradient.tolist()
        [[6]]
    """

    __slots__ = ("constant", "operands", "value")

    def __init__(self, value: Any, *, constant: bool = False, operands: tuple[Operand, ...] = ()) -> None:
        self.value, self.operands, self.constant = value, operands, constant

    @staticmethod
    def derived(value: Any, *operands: Operand) -> Recorded:
        """What was made of some operands, each with the map that takes a gradient back to it."""
        moving = tuple(operand for operand in operands if not operand[0].constant)
        return Recorded(value, constant=not moving, operands=moving)

    @property
    def shape(self) -> Any:
        """That of the value, `None` where the ring has none."""
        return getattr(self.value, "shape", None)

    def __matmul__(self, other: Recorded) -> Recorded:
        a, b = self.value, other.value
        return Recorded.derived(
            a @ b,
            (self, lambda g: gradient_part(a, operator.matmul, g, b.mT)),
            (other, lambda g: gradient_part(b, operator.matmul, a.mT, g)),
        )

    def __add__(self, other: Recorded) -> Recorded:
        return Recorded.derived(self.value + other.value, (self, lambda g: g), (other, lambda g: g))

    def __mul__(self, other: Recorded) -> Recorded:
        """The product entry by entry."""
        a, b = self.value, other.value
        return Recorded.derived(
            a * b,
            (self, lambda g: gradient_part(a, operator.mul, g, b)),
            (other, lambda g: gradient_part(b, operator.mul, g, a)),
        )

    def like(self, numbers: Any) -> Recorded:
        """A constant matrix over the same ring."""
        return Recorded(constants(self.value, numbers, "a constant"), constant=True)

    @property
    def mT(self) -> Recorded:  # noqa: N802
        return Recorded.derived(self.value.mT, (self, lambda g: g.mT))

    def apply(self, taylor: Callable[[int], Fraction]) -> Recorded:
        """`S` of every entry, for rings that know it by its Taylor series: `dS(s) = S'(s) ds`."""
        s = self.value
        known = operation(s, "apply", "a normalization")

        def pull_back(gradient: Any) -> Any:
            return gradient_part(s, operator.mul, gradient, known(derivative(taylor)))

        return Recorded.derived(known(taylor), (self, pull_back))

    def reciprocal(self, inverse_constants: Any) -> Recorded:
        """`1 / entry` for every entry: `d(1/x) = -(1/x)^2 dx`."""
        x = self.value
        result = operation(x, "reciprocal", "a normalization")(inverse_constants)

        def pull_back(gradient: Any) -> Any:
            return gradient_part(x, operator.mul, gradient * result, result * _minus_one(result))

        return Recorded.derived(result, (self, pull_back))


Operand = tuple[Recorded, Callable[[Any], Any]]


def gradients(outputs: Sequence[Recorded], functionals: Sequence[Any], inputs: Sequence[Recorded]) -> list[Any]:
    """Gradient of the sum of all `functional * output` (entry by entry) with respect to each of `inputs`.

    Over a batch every entry of the batch keeps its own gradient: nothing is summed over leading axes.

    Args:
        outputs: what was computed from `inputs`.
        functionals: matrices of the shapes of `outputs`.
        inputs: what to differentiate by.

    Returns:
        One gradient an input, `None` for an input that takes part in no output.
    """
    order: list[Recorded] = []
    seen: set[int] = set()
    stack: list[tuple[Recorded, bool]] = [(output, False) for output in outputs]
    while stack:  # depth first without recursion: deep networks are deep graphs
        node, expanded = stack.pop()
        if expanded:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((operand, False) for operand, _ in node.operands)

    collected: dict[int, Any] = {}

    def collect(node: Recorded, part: Any) -> None:
        known = collected.get(id(node))
        collected[id(node)] = part if known is None else known + part

    for output, functional in zip(outputs, functionals, strict=True):
        collect(output, functional)
    wanted = {id(node) for node in inputs}
    for node in reversed(order):
        # gradients of what is not asked for are dropped as soon as they have been passed on
        gradient = collected[id(node)] if id(node) in wanted else collected.pop(id(node))
        for operand, pull_back in node.operands:
            collect(operand, pull_back(gradient))
    return [collected.get(id(node)) for node in inputs]
