"""All claims, in the paper's order: an explicit list of modules below `claims/`."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from importlib import import_module

from lightning_sym.errors import BadInput
from proofs_check.claim import Claim

MODULES = (
    "one_layer.definition_1",
    "one_layer.lemma_3_1",
    "one_layer.theorem_3_2",
    "one_layer.corollary_3_3",
    "geometry.theorem_3_4_closed",
    "geometry.theorem_3_4_boundary",
    "geometry.theorem_3_4_singular",
    "geometry.figure_1",
    "deep.equation_9",
    "deep.lemma_3_5",
    "deep.lemma_3_6",
    "deep.equation_12",
    "deep.theorem_3_7",
    "deep.corollary_3_8",
    "normalized.theorem_3_9",
    "normalized.conjecture_3_10",
    "normalized.rational_normalizer",
    "normalized.figure_3",
    "transformers.section_4_skip",
    "transformers.section_4_heads",
    "geometry.corollary_a_1",
    "geometry.corollary_a_2",
    "geometry.lemma_a_3",
    "geometry.corollary_a_4",
    "one_layer.proposition_a_5",
    "geometry.corollary_a_6",
    "any_width.dimension_all_widths",
    "any_width.dimension_every_width",
    "normalized.free_exponentials",
    "normalized.softmax_fibers",
    "normalized.softmax_normalizers",
    "normalized.softmax_jets",
    "any_width.softmax_all_widths",
    "transformers.attention_only_transformers",
    "transformers.one_transformer_layer",
    "transformers.transformer_fibers",
    "transformers.common_streams",
    "transformers.transformer_dimension",
    "transformers.words_and_blocks",
    "varieties.degree",
    "varieties.attention_invariants",
    "varieties.singular_scheme",
    "varieties.tangent_spaces",
    "varieties.conserved",
)


_LONGEST_SHOWN = 40


@cache
def all_claims() -> tuple[Claim, ...]:
    """Every claim, in the paper's order."""
    return tuple(map(_claim, MODULES))


def _claim(module: str) -> Claim:
    claim: Claim = import_module(f"proofs_check.claims.{module}").CLAIM
    return claim


def claim_by_id(claim_id: str) -> Claim:
    """The claim with this id.

    Raises:
        BadInput: there is none; the message names the ones that look like it.
    """
    named = claim_id.replace("-", "_").replace(".", "_")
    for module in MODULES:  # most are named as their claims are: then the others need not be imported
        if module.partition(".")[2] == named and (found := _claim(module)).id == claim_id:
            return found
    known = {claim.id: claim for claim in all_claims()}
    if claim_id not in known:
        alike = [name for name in known if name.startswith(claim_id.lower())][:3]
        alike = alike or get_close_matches(claim_id.lower(), known, n=3)
        hint = f"did you mean {', or '.join(alike)}?" if alike else "`lightning-sym check --list` names them"
        shown = claim_id if len(claim_id) <= _LONGEST_SHOWN else claim_id[:_LONGEST_SHOWN] + "..."
        raise BadInput(f"the claim id must be one of {len(known)}, got {shown!r}: {hint}")
    return known[claim_id]
