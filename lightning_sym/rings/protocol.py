r"""What a ring must know so that the forward pass runs over it.

A matrix over a ring is anything that has

| kind | operation | what needs it |
|---|---|---|
| required | `a @ b`, `a + b`, `a.mT` (transpose) | every network |
| optional | `a.shape`, batches first | comparing shapes before adding; formal matrices have none |
| optional | `a * b` entry by entry, `a.like(constants)`: a matrix of numbers over the ring of `a` | masks |
| optional | the same, `a.reciprocal(inverses)`, and one of `a.evaluate(S)`, `a.apply(taylor)` | normalized scores |
| optional | `a.elementary(name)`, `a.rotary(theta, width, positions)` | norms, MLPs, positions of real transformers |
| optional | `a.after(floats)`: `floats @ a` | their weights, for speed alone |
| optional | `x.under(matrices)`: `m @ x` for each | speed alone |
| optional | `a.stacked(matrices)`: one below the other; `a.part(matrices, i)`: the rows of one | that, of gradients |
| optional | `a.gradient_part(product, left, right)`: as much of a product as a gradient by `a` needs | speed alone |

`evaluate` puts entries into the normalization itself, `apply` into its Taylor series: `taylor(k)` is its `k`-th
coefficient. `reciprocal` is told the reciprocals of the entries' constant terms, which a ring of numbers does not need.
Leading axes are batches where the ring has batches. NumPy arrays of numbers, of any kind of number that has `+` and
`*`, are such matrices; their constants are the constants themselves. They have no normalizations.

Nothing else is asked of a ring, and what is missing is asked for by `operation`, so that a ring says in one line what
it cannot do. `tests/rings/conformance.py` asks every ring everything: a new ring is one file here and one row there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from operator import mul
from typing import Any, Protocol, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt

from lightning_sym.arguments import shown
from lightning_sym.errors import BadInput, RingError, ShapeError
from lightning_sym.rings.normalization import Normalization
from lightning_sym.rings.rationals import rational_matrix


class RingMatrix(Protocol):
    """A matrix over a ring: what every network needs of it."""

    def __matmul__(self, other: Self, /) -> Self: ...
    def __add__(self, other: Self, /) -> Self: ...
    @property
    def mT(self) -> Self: ...  # noqa: N802 - the array standard's name for the matrix transpose


class EntryMatrix(RingMatrix, Protocol):
    """A matrix over a ring that has products entry by entry too, as `operation` has found."""

    def __mul__(self, other: Self, /) -> Self: ...


M = TypeVar("M", bound=RingMatrix)
"""Matrices over one ring."""

E = TypeVar("E", bound=EntryMatrix)
"""The same, where they have products entry by entry."""


class Factor(Protocol[M]):
    """What multiplies matrices over a ring from the left: one of them, or what stands for one."""

    def __matmul__(self, x: M, /) -> M: ...


def ring_of(matrix: object) -> str:
    """Return how messages call the ring of a matrix.

    Example:
        >>> ring_of(np.array([[1]]))
        'arrays of int64'
    """
    if isinstance(matrix, np.ndarray):
        kind = type(matrix.flat[0]).__name__ if matrix.dtype == object and matrix.size else str(matrix.dtype)
        return f"arrays of {kind}"
    return type(matrix).__name__


def require_shape(matrix: object, expected: tuple[int, ...] | None, what: str) -> None:
    """Refuse a matrix of another shape, which some rings would add or multiply all the same, by repeating entries.

    Args:
        matrix: over any ring; leading axes are batches.
        expected: what it must be, batches left aside; `None` where no shape is known.
        what: the matrix, as the message begins.

    Raises:
        ShapeError: it has another shape.

    Example:
        >>> require_shape(np.array([[1, 2]]), (2, 1), "the input")
        Traceback (most recent call last):
        lightning_sym.errors.ShapeError: the input must be of shape 2 x 1, got 1 x 2
    """
    found: tuple[int, ...] | None = getattr(matrix, "shape", None)
    if found is not None and expected is not None and found[-2:] != expected[-2:]:
        must, got = (" x ".join(map(str, sizes[-2:])) for sizes in (expected, found))
        raise ShapeError(f"{what} must be of shape {must}, got {got}")


def require_matrix(value: object, what: str) -> None:
    """Refuse what is no matrix over any ring: lists, numbers, files.

    Raises:
        BadInput: it has no transpose, or cannot be multiplied.

    Example:
        >>> require_matrix([[1, 2]], "x")
        Traceback (most recent call last):
        lightning_sym.errors.BadInput: x must be a matrix over a ring, such as a NumPy array, got [[1, 2]]
    """
    if isinstance(value, np.ndarray):
        fit = value.ndim > 1
    else:
        fit = not isinstance(value, type) and hasattr(value, "mT") and hasattr(value, "__matmul__")
    if not fit:
        raise BadInput(f"{what} must be a matrix over a ring, such as a NumPy array, got {shown(value)}")


def operation(matrix: object, name: str, purpose: str) -> Any:
    """Return an optional operation of a matrix.

    Args:
        matrix: over any ring.
        name: the method.
        purpose: what it is for, as the message begins.

    Raises:
        RingError: the ring does not have it.

    Example:
        >>> operation(np.array([[1]]), "reciprocal", "softmax")
        Traceback (most recent call last):
        lightning_sym.errors.RingError: softmax needs a ring with the operation reciprocal, arrays of int64 have none
    """
    found = getattr(matrix, name, None)
    if found is None:
        have = "have" if isinstance(matrix, np.ndarray) else "has"
        raise RingError(f"{purpose} needs a ring with the operation {name}, {ring_of(matrix)} {have} none")
    return found


def constants(matrix: M, numbers: npt.NDArray[np.generic], purpose: str) -> M:
    """Return integers or fractions as a matrix over the ring of `matrix`.

    Raises:
        RingError: the ring has no constants.
    """
    if not isinstance(matrix, np.ndarray):
        return cast(M, operation(matrix, "like", purpose)(numbers))
    # flint's numbers know integers, and no fractions but their own
    in_flint = isinstance(numbers.flat[0], Fraction) and type(matrix.flat[0]).__module__.startswith("flint")
    return cast(M, rational_matrix(numbers) if in_flint else numbers)  # an array, as `matrix` is one


def masked(scores: M, mask: npt.NDArray[np.generic]) -> M:
    """Return the scores where `mask` is 1, and zero where it is 0.

    Raises:
        RingError: the ring has no products entry by entry.

    Example:
        >>> masked(np.array([[2, 3], [4, 5]]), np.array([[1, 1], [0, 1]])).tolist()
        [[2, 3], [0, 5]]
    """
    operation(scores, "__mul__", "a mask")
    require_shape(scores, mask.shape, "the scores behind a mask")
    return cast(M, mul(scores, constants(scores, mask, "a mask")))  # which not every `M` has


def normalized(scores: M, normalization: Normalization, mask: npt.NDArray[np.object_]) -> M:
    """Return `S` of the scores of tokens attended to, divided by their sum over each column (Eq. 15).

    Args:
        scores: `t x t`, over a ring that knows `S`, or power series.
        normalization: `S`.
        mask: `t x t`; entry `(j, i)` is 1 if token `i` attends to token `j`, else 0; more where token `j` stands for
            so many equal ones.

    Raises:
        RingError: the ring has not what it takes.
        BadInput: it knows no `S` like this.
    """
    name, t = normalization.name, len(mask)
    # S itself where it can be put in, its Taylor series where it cannot
    if hasattr(scores, "evaluate"):
        weights = scores.evaluate(normalization)
    else:
        weights = operation(scores, "apply", name)(normalization.taylor)
    if (mask != 1).any():
        weights = masked(weights, mask)
    ones = np.ones((1, t), dtype=object)
    sums = constants(weights, ones, name) @ weights
    totals = normalization.taylor(0) * mask.sum(axis=0)
    inverses = np.array([[1 / Fraction(total) for total in totals]], dtype=object)
    return cast(M, weights * (constants(weights, ones.T, name) @ operation(sums, "reciprocal", name)(inverses)))


def products(lefts: Sequence[M | Factor[M]], x: M) -> list[M]:
    """Return `left @ x` for each, in one product where the ring knows how.

    Example:
        >>> [m.tolist() for m in products([np.array([[2]]), np.array([[3]])], np.array([[5]]))]
        [[[10]], [[15]]]
    """
    known = getattr(x, "under", None)
    return [left @ x for left in lefts] if known is None else list(known(lefts))


def gradient_part(target: M, product: Callable[[M, M], M], left: M, right: M) -> M:
    """Return `product(left, right)`, or, where the ring knows better, as much as a gradient by `target` needs."""
    known: Callable[[Callable[[M, M], M], M, M], M] | None = getattr(target, "gradient_part", None)
    return product(left, right) if known is None else known(product, left, right)
