"""One layer of a network, over any ring: its weights, and what it does besides multiplying by them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from lightning_sym.arguments import shown
from lightning_sym.display import equal, latex_matrix, notebook, typed
from lightning_sym.errors import BadInput, ShapeError
from lightning_sym.rings.protocol import M, require_matrix

if TYPE_CHECKING:
    from lightning_sym.network.rotary import Rotary


F = TypeVar("F", covariant=True)
"""Matrices over a ring, or what multiplies them from the left."""


class Layer(NamedTuple, Generic[F]):
    """Weights of one layer over any ring: `query`, `key` of shape `a x d`, `value` of shape `d' x d`."""

    query: F
    key: F
    value: F

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layer) and equal(tuple(self), tuple(other))

    def __ne__(self, other: object) -> bool:  # a tuple has its own
        return not self == other

    def __repr__(self) -> str:
        return typed("Layer", self._asdict())

    def _repr_latex_(self) -> str:
        return notebook(r", \quad ".join(f"{c} = {latex_matrix(m)}" for c, m in zip("QKV", self, strict=True)))


def require_layer(layer: object, before: object = None) -> None:
    """Refuse what is no layer, nor a list of them, one a head; and matrices that do not fit what stands before.

    Args:
        layer: over any ring.
        before: a matrix that the layer is multiplied with from the right, `None` where there is none.

    Raises:
        BadInput: it is none.
        ShapeError: a matrix has not as many columns as there are rows before it.

    Example:
        >>> require_layer([1, 2])
        Traceback (most recent call last):
        lightning_sym.errors.BadInput: a layer must be Layer(query, key, value) or a list of them, got [1, 2]
    """
    heads = [layer] if isinstance(layer, Layer) else layer
    if not isinstance(heads, (list, tuple)) or not heads or not all(isinstance(head, Layer) for head in heads):
        raise BadInput(f"a layer must be Layer(query, key, value) or a list of them, got {shown(layer)}")
    for head in heads:
        for name, matrix in head._asdict().items():
            require_matrix(matrix, f"the {name} of a layer")
            rows, columns = getattr(before, "shape", None), getattr(matrix, "shape", None)
            if rows is not None and columns is not None and rows[-2] != columns[-1]:
                raise ShapeError(
                    f"the {name} of a layer must have {rows[-2]} columns, as many as there are rows before it, "
                    f"got {columns[-1]}"
                )


def lightning(scores: M) -> M:
    """Return the attention pattern of lightning attention: the scores themselves."""
    return scores


class Form(NamedTuple, Generic[M]):
    """What a layer does besides multiplying: from scores to the attention pattern, and whether it adds its input.

    With rotary positions `rotation` gives, for queries, cosines, sines and how rows are exchanged.
    """

    pattern: Callable[[M], M] = lightning
    skip: bool = False
    rotation: Callable[[Rotary, M, int, int], tuple[M, M, M]] | None = None


LIGHTNING: Form[Any] = Form()  # over every ring
