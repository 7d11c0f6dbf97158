"""All claims, in the paper's order: an explicit list."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from lightning_sym.errors import BadInput
from proofs_check.claim import Claim

MODULES = (
    "definition_1",
    "lemma_3_1",
    "corollary_3_3",
    "equation_12",
    "corollary_3_8",
    "dimension_all_widths",
)


@cache
def all_claims() -> tuple[Claim, ...]:
    """Every claim, in the paper's order."""
    return tuple(import_module(f"proofs_check.{module}").CLAIM for module in MODULES)


def claim_by_id(claim_id: str) -> Claim:
    """The claim with this id.

    Raises:
        BadInput: there is none.
    """
    known = {claim.id: claim for claim in all_claims()}
    if claim_id not in known:
        raise BadInput(f"the claim id must be one of {', '.join(known)}; got {claim_id!r}")
    return known[claim_id]
