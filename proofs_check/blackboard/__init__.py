"""Walk-throughs: every claim at the blackboard, with small matrices and exact numbers.

Each one is a generator of steps, and stands with its claim. All that they show is computed, and every sentence that
says "the same" or "different" is checked before it is written.
"""

from __future__ import annotations

from lightning_sym import BadInput, Weights
from proofs_check.blackboard.own_weights import require_readable
from proofs_check.blackboard.step import Step
from proofs_check.registry import all_claims, claim_by_id


def walk_through(claim_id: str, weights: Weights | None = None) -> tuple[str, list[Step]]:
    """How a claim is explained: what is going to be shown, and the steps; on given weights if there are any.

    Raises:
        BadInput: it has no walk-through, or says nothing of given weights, or not of such a network; or matrices are
            too large.
    """
    walk = claim_by_id(claim_id).walk
    if walk is None:
        raise BadInput(f"the claim must have a walk-through; {claim_id} has none yet")
    if weights is None:
        return walk.intro, list(walk.steps())
    weights.require_numbers("what stands on the board")
    if walk.on is None:
        able = ", ".join(claim.id for claim in all_claims() if claim.walk is not None and claim.walk.on is not None)
        raise BadInput(f"--weights must be given with one of {able}, got {claim_id}")
    require_readable(weights)
    return walk.intro, list(walk.on(weights))
