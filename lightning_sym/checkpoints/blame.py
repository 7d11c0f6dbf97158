"""Which tensors are said to differ: what is said of them is one account, a symmetry and what it does not explain.

The identity is an account as well. A tensor that is the first's, byte for byte, is explained by it, and is named only
where most of the others are not as they were: something was done to them that was not done to this one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lightning_sym.checkpoints.identity import Identity
from lightning_sym.checkpoints.model import Checkpoint
from lightning_sym.checkpoints.units import Residual, coarsest
from lightning_sym.errors import BadInput


def beyond(residuals: Iterable[Residual], units: float) -> tuple[Residual, ...]:
    """Those that no rounding explains."""
    return tuple(each for each in residuals if each.units > units)


def is_account(nothing: Identity, named: Sequence[Residual], units: float) -> bool:
    """Whether the identity explains a pair better than what was found.

    Args:
        nothing: what differs under the identity.
        named: what no symmetry that was found explains.
        units: up to which a difference counts as rounding.
    """
    off = beyond(nothing.residuals, units)
    if nothing.apart or not off:
        return False
    named_wrongly = any(each.piece in nothing.equal for each in named)
    mostly_equal = len(nothing.equal) >= len(nothing.residuals)
    return not named or len(off) <= len(named) or (named_wrongly and mostly_equal)


def only_changed(residuals: Sequence[Residual], nothing: Identity, units: float) -> tuple[Residual, ...]:
    """What is named, without tensors that are as they were, unless nothing else would be named."""
    kept = tuple(each for each in residuals if each.units <= units or each.piece not in nothing.equal)
    return kept if beyond(kept, units) else tuple(residuals)


def stored_type(first: Checkpoint, second: Checkpoint, piece: str) -> str:
    """The coarser of the types that a tensor is stored in."""
    kinds = []
    for checkpoint in (first, second):
        try:
            kinds.append(checkpoint.stored(piece))
        except BadInput:  # this one has no such tensor
            continue
    return coarsest(*kinds) if kinds else "F32"


def called_by(first: Checkpoint, second: Checkpoint, piece: str) -> str:
    """What the files of the second, or else of the first, call a tensor."""
    for checkpoint in (second, first):
        try:
            return checkpoint.called(piece)
        except BadInput:
            continue
    return piece
