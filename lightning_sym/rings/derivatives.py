"""Two rings that know derivatives, over any matrices with `@`, `+` and `.mT`.

`Dual` carries one tangent direction along (forward mode); `Recorded` remembers how it was made, so that one sweep
backwards gives the gradient with respect to everything it depends on (reverse mode).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import count
from operator import methodcaller
from typing import Any

import numpy as np
import numpy.typing as npt

from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.protocol import M, RingMatrix, constants, gradient_part, operation

_NUMBERS = count()


def derivative(taylor: Callable[[int], Fraction]) -> Callable[[int], Fraction]:
    """Return the Taylor coefficients of the derivative.

    Example:
        >>> [derivative(lambda k: Fraction(k))(k) for k in range(3)]
        [Fraction(1, 1), Fraction(4, 1), Fraction(9, 1)]
    """
    return lambda k: (k + 1) * taylor(k + 1)


def _minus_one(matrix: M) -> M:
    return constants(matrix, np.array([[-1]], dtype=object), "a reciprocal")


def _sum(left: M | None, right: M | None) -> M | None:
    return right if left is None else left if right is None else left + right


class Dual:
    r"""$M + \varepsilon M'$ with $\varepsilon^2 = 0$; the tangent is `None` where nothing moves.

    Example:
        >>> import numpy as np
        >>> x = Dual(np.array([[3]]), np.array([[1]]))
        >>> (x @ x.mT).tangent.tolist()         # d(x^2) = 2 x dx
        [[6]]
    """

    __slots__ = ("tangent", "value")

    def __init__(self, value: Any, tangent: Any = None) -> None:
        self.value, self.tangent = value, tangent

    @property
    def shape(self) -> Any:
        """That of the value, `None` where the ring has none."""
        return getattr(self.value, "shape", None)

    def __matmul__(self, other: Dual) -> Dual:
        left = None if self.tangent is None else self.tangent @ other.value
        right = None if other.tangent is None else self.value @ other.tangent
        return Dual(self.value @ other.value, _sum(left, right))

    def __add__(self, other: Dual) -> Dual:
        return Dual(self.value + other.value, _sum(self.tangent, other.tangent))

    def __neg__(self) -> Dual:
        return Dual(-self.value, None if self.tangent is None else -self.tangent)

    def __mul__(self, other: Dual) -> Dual:
        """Return the product entry by entry."""
        left = None if self.tangent is None else self.tangent * other.value
        right = None if other.tangent is None else self.value * other.tangent
        return Dual(self.value * other.value, _sum(left, right))

    def like(self, numbers: npt.NDArray[np.generic]) -> Dual:
        """Return a constant matrix over the same ring."""
        return Dual(constants(self.value, numbers, "a constant"))

    @property
    def mT(self) -> Dual:  # noqa: N802
        return Dual(self.value.mT, None if self.tangent is None else self.tangent.mT)

    def apply(self, taylor: Callable[[int], Fraction]) -> Dual:
        """Return `S` of every entry, for rings that know it by its Taylor series: `dS(s) = S'(s) ds`."""
        known = operation(self.value, "apply", "a normalization")
        moved = None if self.tangent is None else known(derivative(taylor)) * self.tangent
        return Dual(known(taylor), moved)

    def reciprocal(self, inverse_constants: ObjectArray) -> Dual:
        """Return `1 / entry` for every entry: `d(1/x) = -(1/x)^2 dx`."""
        result = operation(self.value, "reciprocal", "a normalization")(inverse_constants)
        moved = None if self.tangent is None else result * result * _minus_one(result) * self.tangent
        return Dual(result, moved)


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

    __slots__ = ("constant", "number", "operands", "value")

    def __init__(self, value: Any, *, constant: bool = False, operands: Sequence[Operand] = ()) -> None:
        self.value, self.operands, self.constant = value, operands, constant
        self.number = next(_NUMBERS)  # operands are older than what is made of them

    @staticmethod
    def derived(value: Any, *operands: Operand) -> Recorded:
        """Return what was made of some operands, each with the map that takes a gradient back to it."""
        moving = [operand for operand in operands if not operand[0].constant]
        return Recorded(value, constant=not moving, operands=moving)

    @property
    def shape(self) -> Any:
        """That of the value, `None` where the ring has none."""
        return getattr(self.value, "shape", None)

    def __matmul__(self, other: Recorded) -> Recorded:
        a, b = self.value, other.value
        operands: list[Operand] = []
        if not self.constant:
            operands.append((self, lambda g: gradient_part(a, operator.matmul, g, b.mT)))
        if not other.constant:
            operands.append((other, lambda g: gradient_part(b, operator.matmul, a.mT, g)))
        return Recorded(a @ b, constant=not operands, operands=operands)

    def __add__(self, other: Recorded) -> Recorded:
        return Recorded.derived(self.value + other.value, (self, lambda g: g), (other, lambda g: g))

    def __mul__(self, other: Recorded) -> Recorded:
        """Return the product entry by entry."""
        a, b = self.value, other.value
        return Recorded.derived(
            a * b,
            (self, lambda g: gradient_part(a, operator.mul, g, b)),
            (other, lambda g: gradient_part(b, operator.mul, g, a)),
        )

    def like(self, numbers: npt.NDArray[np.generic]) -> Recorded:
        """Return a constant matrix over the same ring."""
        return Recorded(constants(self.value, numbers, "a constant"), constant=True)

    @property
    def mT(self) -> Recorded:  # noqa: N802
        return Recorded.derived(self.value.mT, (self, lambda g: g.mT))

    def under(self, lefts: Sequence[Recorded]) -> list[Recorded]:
        """Return `left @ self` for each: as one product, of all below one another, where the ring can stack."""
        values = [left.value for left in lefts]
        stack = getattr(values[0], "stacked", None)
        alike = stack is not None and all(left.constant == lefts[0].constant for left in lefts)
        value = stack(values) if stack is not None and alike else None
        if value is None:
            return [left @ self for left in lefts]
        # a gradient by all of them is cut into those by each, and put together of them
        both = Recorded.derived(value, *[(left, methodcaller("part", values, i)) for i, left in enumerate(lefts)])
        product = both @ self
        parts = [product.value.part(values, i) for i in range(len(values))]
        return [Recorded.derived(part, (product, partial(_RowParts, parts, i))) for i, part in enumerate(parts)]

    def apply(self, taylor: Callable[[int], Fraction]) -> Recorded:
        """Return `S` of every entry, for rings that know it by its Taylor series: `dS(s) = S'(s) ds`."""
        s = self.value
        known = operation(s, "apply", "a normalization")
        return Recorded.derived(
            known(taylor), (self, lambda g: gradient_part(s, operator.mul, g, known(derivative(taylor))))
        )

    def reciprocal(self, inverse_constants: ObjectArray) -> Recorded:
        """Return `1 / entry` for every entry: `d(1/x) = -(1/x)^2 dx`."""
        x = self.value
        result = operation(x, "reciprocal", "a normalization")(inverse_constants)
        return Recorded.derived(
            result, (self, lambda g: gradient_part(x, operator.mul, g * result, result * _minus_one(result)))
        )


Operand = tuple[Recorded, Callable[[Any], Any]]


def gradients(outputs: Sequence[Recorded], functionals: Sequence[RingMatrix], inputs: Sequence[Recorded]) -> list[Any]:
    """Return the gradients of the sum of all `functional * output` (entry by entry) by each of `inputs`.

    Over a batch every entry of the batch keeps its own gradient: nothing is summed over leading axes.

    Args:
        outputs: what was computed from `inputs`.
        functionals: matrices of the shapes of `outputs`.
        inputs: what to differentiate by.

    Returns:
        One gradient an input, `None` for an input that takes part in no output.
    """
    reached = {output.number: output for output in outputs}
    stack = list(outputs)
    while stack:  # without recursion: deep networks are deep graphs
        for operand, _ in stack.pop().operands:
            if operand.number not in reached:
                reached[operand.number] = operand
                stack.append(operand)

    collected: dict[int, Any] = {}

    def collect(node: Recorded, part: Any) -> None:
        known = collected.get(node.number)
        collected[node.number] = part if known is None else known + part

    for output, functional in zip(outputs, functionals, strict=True):
        collect(output, functional)
    wanted = {node.number for node in inputs}
    for number in sorted(reached, reverse=True):  # nothing is older than its operands
        # gradients of what is not asked for are dropped as soon as they have been passed on
        gradient = collected[number] if number in wanted else collected.pop(number)
        if isinstance(gradient, _RowParts):
            gradient = gradient.joined()
        for operand, pull_back in reached[number].operands:
            collect(operand, pull_back(gradient))
    return [collected.get(node.number) for node in inputs]


class _RowParts:
    """The gradient by a matrix of which parts were used, one below the other: what there is of each.

    Args:
        values: the parts.
        index: the one of which this is the gradient.
        gradient: its own.
    """

    __slots__ = ("gradients", "values")

    def __init__(self, values: list[Any], index: int, gradient: Any) -> None:
        self.values, self.gradients = values, {index: gradient}

    def __add__(self, other: _RowParts) -> _RowParts:
        for index, gradient in other.gradients.items():
            known = self.gradients.get(index)
            self.gradients[index] = gradient if known is None else known + gradient
        return self

    def joined(self) -> Any:
        """Return the gradient by the whole matrix; zero where a part was not used."""
        for index, value in enumerate(self.values):
            if index not in self.gradients:
                self.gradients[index] = constants(value, np.zeros(value.shape, dtype=int), "a gradient")
        parts = [self.gradients[index] for index in range(len(self.values))]
        return parts[0].stacked(parts)
