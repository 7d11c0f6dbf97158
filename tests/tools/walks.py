"""Walk-throughs computed once: texts, pages, slides and documents are written from the same steps."""

from __future__ import annotations

from functools import cache

from lightning_sym import Weights
from proofs_check import registry
from proofs_check.blackboard.step import Step

_walk_through = registry.walk_through


@cache
def _known(claim: str) -> tuple[str, tuple[Step, ...]]:
    intro, steps = _walk_through(claim)
    return intro, tuple(steps)


def walked_once(claim: str, weights: Weights | None = None) -> tuple[str, list[Step]]:
    """In place of `registry.walk_through`; what is explained on given weights is not kept."""
    if weights is not None:
        return _walk_through(claim, weights)
    intro, steps = _known(claim)
    return intro, list(steps)
