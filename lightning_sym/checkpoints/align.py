"""The member of one checkpoint's orbit that is nearest to another checkpoint, as far as a search finds it.

Heads and neurons are matched (Hungarian), the stream is turned (Procrustes), the rest is fitted. Each
half of a layer then keeps what leaves least of it, doing nothing among the choices. What is found is a symmetry, so the
function is that of the first checkpoint, whatever the second one is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

import numpy as np

from lightning_sym.arguments import require_arguments
from lightning_sym.checkpoints.align_fit import best_layer, best_stream, relative, squares_of
from lightning_sym.checkpoints.identity import unlike
from lightning_sym.checkpoints.model import Checkpoint, require_checkpoint
from lightning_sym.checkpoints.rewritings import Rewritten, apply, require_whole
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry
from lightning_sym.checkpoints.understood import Walker, pieces_of, require_form
from lightning_sym.display import Lines, Result, latex_words
from lightning_sym.errors import BadInput
from lightning_sym.limits import DEFAULT_MEMORY, Progress, unheard

SHOWN = 8
"""Tensors of which the text tells; JSON has them all."""

KEPT = frozenset(("heads", "neurons", "order", "signs"))
"""Parts that change no number but for its sign."""


@dataclass(frozen=True)
class AlignedPiece:
    """How far a piece is from the second checkpoint's, over the length of that one.

    Attributes:
        piece: such as `3.query`.
        called: what the second checkpoint's files call it.
        before: as it was; infinite where only one of them is 0.
        after: as the symmetry makes it.
    """

    piece: str
    called: str
    before: float
    after: float


@dataclass(frozen=True, eq=False, repr=False)
class Aligned(Result):
    """The nearest member that was found of the orbit of a checkpoint.

    Attributes:
        checkpoint: it, rewritten layer by layer when it is asked for.
        symmetry: what makes it of the first checkpoint.
        exact: it only moves numbers and changes signs, so that each number is one of the first checkpoint's.
        pieces: how far each is from the second checkpoint's, before and after.
        before: of all pieces together, the distance over the length of the second checkpoint.
        after: likewise.
    """

    checkpoint: Rewritten
    symmetry: Symmetry
    exact: bool
    pieces: tuple[AlignedPiece, ...]
    before: float
    after: float

    def lines(self) -> Lines:
        """How near it is, and the pieces that are farthest."""
        numbers = "as they were, moved, perhaps with other signs" if self.exact else "in float64, rounded when written"
        lines = [
            ("distance", f"{self.before:.3g} before, {self.after:.3g} after, of the length of all weights"),
            ("done", ", ".join(dict.fromkeys(each.rpartition(".")[2] for each in self.symmetry.parts())) or "nothing"),
            ("numbers", numbers),
        ]
        order = sorted(self.pieces, key=lambda each: -each.after)[:SHOWN]
        said = [f"{each.called} ({each.piece}): {each.before:.3g} before, {each.after:.3g} after" for each in order]
        return [*lines, *(("farthest" if number == 0 else "", each) for number, each in enumerate(said))]

    def _latex(self) -> str:
        return latex_words(f"{self.before:.3g} before, {self.after:.3g} after")


def align(
    first: Checkpoint, second: Checkpoint, *, orders: bool = False, memory: int = DEFAULT_MEMORY,
    progress: Progress | None = None,
) -> Aligned:  # fmt: skip
    """Find the member of the first checkpoint's orbit that is nearest to the second.

    It is the nearest of those that were looked at, with no proof that there is no nearer one.

    Args:
        first: what is rewritten.
        second: of the same sizes, and as tied.
        orders: whether only orders and signs may change.
        memory: bytes that a layer, or the embedding, of both, with what is made of it, may take.
        progress: is told of each layer.

    Raises:
        BadInput: no symmetry is known that leads from a network like the first to one like the second.
        TooLarge: they would not fit.

    Example:
        >>> from lightning_sym.checkpoints.random_symmetries import random_symmetry
        >>> from lightning_sym.testing import small_checkpoint
        >>> one = small_checkpoint("llama")
        >>> found = align(one, apply(random_symmetry(one, ["neurons", "heads"]), one))
        >>> found.exact, found.before > 0.2, found.after
        (True, True, 0.0)
    """
    require_arguments(align, locals())
    for name, given in (("first", first), ("second", second)):
        require_checkpoint(given, name)
        require_form(given.form, Walker.REWRITING)
    _require_alike(first, second)
    require_whole(first.form, memory, "two checkpoints in line, a whole layer or the embeddings of both,")
    tell: Progress = progress or unheard
    tell("the residual stream", 0, first.form.layers + 1)
    found = best_stream(first, second, orders)
    layers = list[LayerSymmetry]()
    for layer in range(first.form.layers):
        tell(f"layer {layer}", layer + 1, first.form.layers + 1)
        layers.append(best_layer(found, second, layer, orders))
    symmetry = replace(found.prepared.symmetry, layers=tuple(layers))
    result = _measured(first, second, symmetry)
    if result.after <= result.before:
        return result
    return _measured(first, second, Symmetry((LayerSymmetry(),) * first.form.layers))


def _measured(first: Checkpoint, second: Checkpoint, symmetry: Symmetry) -> Aligned:
    """How far all pieces of the first are from the second's, as they are and under a symmetry."""
    made = apply(symmetry, first, exact=False)
    pieces, sums = list[AlignedPiece](), np.zeros(3)
    for where in (None, *range(first.form.layers)):
        theirs = pieces_of(second, where, Walker.REWRITING)
        old, new = (squares_of(pieces_of(each, where, Walker.REWRITING), theirs) for each in (first, made))
        for name, (apart, whole) in new.items():
            piece = name if where is None else f"{where}.{name}"
            sums += (old[name][0], apart, whole)
            pair = (relative(square, whole) for square in (old[name][0], apart))
            pieces.append(AlignedPiece(piece, second.called(piece), *pair))
    exact = {part.rpartition(".")[2] for part in symmetry.parts()} <= KEPT
    before, after = (relative(square, sums[2]) for square in sums[:2])
    return Aligned(apply(symmetry, first, exact=exact), symmetry, exact, tuple(pieces), before, after)


def _require_alike(first: Checkpoint, second: Checkpoint) -> None:
    forms = first.form, second.form
    if forms[0].vocabulary != forms[1].vocabulary:
        raise BadInput(f"both must have the same token ids, got {forms[0].vocabulary:,} and {forms[1].vocabulary:,}")
    for reason in unlike(*forms, inf):
        raise BadInput(f"the first must be like the second: {reason}")
    for name in ("groups", "inner", "tied"):
        old, new = (getattr(form, name) for form in forms)
        if old != new:
            raise BadInput(f"the first must be like the second, {name} are {old} and {new}")
