"""All claims, in the paper's order: an explicit list."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from lightning_sym.errors import BadInput
from proofs_check.claim import Claim

MODULES = (
    "definition_1",
    "lemma_3_1",
    "theorem_3_2",
    "corollary_3_3",
    "theorem_3_4_closed",
    "theorem_3_4_boundary",
    "theorem_3_4_singular",
    "figure_1",
    "equation_9",
    "lemma_3_5",
    "lemma_3_6",
    "equation_12",
    "theorem_3_7",
    "corollary_3_8",
    "theorem_3_9",
    "conjecture_3_10",
    "rational_normalizer",
    "figure_3",
    "section_4_skip",
    "section_4_heads",
    "corollary_a_1",
    "corollary_a_2",
    "lemma_a_3",
    "corollary_a_4",
    "proposition_a_5",
    "corollary_a_6",
    "dimension_all_widths",
    "dimension_every_width",
    "free_exponentials",
    "softmax_all_widths",
    "attention_only_transformers",
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
