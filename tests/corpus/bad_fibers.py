"""Certificates of fibers, each with one lie: the good one, places with what is put there, and why it is rejected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Change = tuple[str, Any]
PAGE, ONE = "docs/transformer-fibers.md", "docs/softmax-fibers.md"


def _without(name: str, layer: int) -> Callable[[Any], Any]:
    return lambda listed: [c for c in listed if (c["name"], c["layer"]) != (name, layer)]


def _also(name: str, layer: int, **evidence: Any) -> Callable[[Any], Any]:
    """One condition more that fails."""
    return lambda listed: [*listed, {"name": name, "layer": layer, "holds": False, "evidence": evidence}]


def _instead(name: str, layer: int, **evidence: Any) -> Callable[[Any], Any]:
    """A condition that holds is said to fail."""
    return lambda listed: _also(name, layer, **evidence)(_without(name, layer)(listed))


def _holds(name: str, layer: int) -> Callable[[Any], Any]:
    """A condition that fails is said to hold."""
    more = {"name": name, "layer": layer, "holds": True, "evidence": {"prime": 4194301, "seed": 0}}
    return lambda listed: [*_without(name, layer)(listed), more]


def _every(**evidence: Any) -> Callable[[Any], Any]:
    """Other evidence of what holds."""
    return lambda listed: [c | {"evidence": c["evidence"] | evidence} if c["holds"] else c for c in listed]


def _less(*names: str) -> Callable[[Any], Any]:
    return lambda weights: {name: m for name, m in weights.items() if name not in names}


SKEW_AND_NOTHING, EYE_AND_NOTHING = [[0, 1, 0], [-1, 0, 0]], [[1, 0, 0], [0, 1, 0]]

SECOND_HEADS = [f"{c}{i}.2" for c in "QKVO" for i in (1, 2)]

FIBER_LIES: dict[str, tuple[str, tuple[Change, ...], str]] = {
    "fiber_one_too_high": ("fiber_residual", (("dimension", lambda x: x + 1),), "the dimension must be"),
    "fiber_one_too_low": ("fiber_residual", (("dimension", lambda x: x - 1),), "the dimension must be"),
    "fiber_without_dimension": ("fiber_residual", (("dimension", None),), "the dimension must be"),
    "fiber_dimension_of_words": ("fiber_narrow", (("dimension", 5),), "the dimension must be None, it is 5"),
    "fiber_of_a_blind_layer_one_less": ("fiber_blind", (("dimension", lambda x: x - 1),), "the dimension must be"),
    "fiber_even_modulus": ("fiber_residual", (("conditions", _every(prime=4194302)),), "the modulus must be a prime"),
    "fiber_composite_modulus": ("fiber_residual", (("conditions", _every(prime=4194303)),), "must be a prime"),
    "fiber_modulus_too_large": ("fiber_residual", (("conditions", _every(prime=4194319)),), "the prime must be an"),
    "fiber_modulus_of_a_denominator": (
        "fiber_residual",
        (("weights.E.0.0", "1/4194301"),),
        "the prime must divide no denominator",
    ),
    "fiber_rank_zero_modulo_the_prime": (
        "fiber_residual",
        (("weights", lambda w: w | {"U": [[4194301, 0], [0, 1]]}),),
        "residues modulo 4194301 must show that",
    ),
    "fiber_seed_negative": ("fiber_residual", (("conditions", _every(seed=-1)),), "seed must be an integer from 0"),
    "fiber_equal_scores": (
        "fiber_residual",
        (("weights", lambda w: w | {"Q1.2": w["Q1.1"], "K1.2": w["K1.1"]}),),
        "must show that a of layer 1 holds",
    ),
    "fiber_opposite_scores": (
        "fiber_residual",
        (("weights", lambda w: w | {"Q2.2": [[-x for x in r] for r in w["Q2.1"]], "K2.2": w["K2.1"]}),),
        "must show that a of layer 2 holds",
    ),
    "fiber_equal_scores_of_three_tokens": (
        "fiber_unmasked",
        (("weights", lambda w: w | {"Q1.2": w["Q1.1"], "K1.2": w["K1.1"]}),),
        "must show that a of layer 1 holds",
    ),
    "fiber_skew_scores": (
        "fiber_unmasked",
        (("weights", lambda w: w | {"Q1.1": [[0, 0]]}),),
        "must show that a of layer 1 holds",
    ),
    "fiber_head_that_writes_nothing": (
        "fiber_residual",
        (("weights", lambda w: w | {"O2.2": [[0], [0]]}),),
        "must show that b of layer 2 holds",
    ),
    "fiber_heads_that_can_be_flipped": (
        "fiber_residual",
        (("weights", lambda w: w | {"O2.2": [[-x for x in r] for r in w["O2.1"]], "V2.2": w["V2.1"]}),),
        "must show that c of layer 2 holds",
    ),
    "fiber_embedding_of_rank_one": (
        "fiber_residual",
        (("weights.E", [[1, 2, 3], [2, 4, 6]]),),
        "residues modulo 4194301 must show that",
    ),
    "fiber_unembedding_of_rank_one": (
        "fiber_residual",
        (("weights.U", [[1, 2], [2, 4]]),),
        "must show that U of layer 2 holds",
    ),
    "fiber_head_left_out": ("fiber_residual", (("weights", _less(*SECOND_HEADS)),), "the symmetries of this network"),
    "fiber_head_left_out_and_said": (
        "fiber_residual",
        (("weights", _less(*SECOND_HEADS)), ("symmetries", ["query-key", "value-output", "stream"])),
        "the dimension must be",
    ),
    "fiber_condition_left_out": (
        "fiber_residual",
        (("conditions", _without("c", 1)),),
        "needs conditions that are not shown: [('c', 1)]",
    ),
    "fiber_rank_left_out": ("fiber_residual", (("conditions", _without("S", 1)),), "not shown: [('S', 1)]"),
    "fiber_condition_twice": ("fiber_residual", (("conditions", lambda x: [*x, x[0]]),), "each once, 'a', 1 is none"),
    "fiber_condition_of_no_layer": (
        "fiber_residual",
        (("conditions.0.layer", 3),),
        "there must be conditions of this network, each once, 'a', 3 is none",
    ),
    "fiber_condition_unknown": ("fiber_residual", (("conditions.0.name", "d"),), "name must be one of"),
    "fiber_condition_without_a_mask": ("fiber_residual", (("conditions.0.name", "a'"),), '"a\'", 1 is none'),
    "fiber_evidence_of_another_kind": (
        "fiber_residual",
        (("conditions.0.evidence", {"relation": [1, 0]}),),
        "the evidence must be an object with prime, seed",
    ),
    "fiber_unknown_key": ("fiber_residual", (("conditions.0.sure", True),), "'sure'"),
    "fiber_narrow_said_to_be_full": (
        "fiber_narrow",
        (("conditions", _holds("F", 0)),),
        "must show that F of layer 0 holds",
    ),
    "fiber_of_all_by_words": (
        "fiber_narrow",
        (("theorem", f"{PAGE}, Corollary 5"), ("minimal", True), ("dimension", 20)),
        "Corollary 5 needs conditions that are not shown",
    ),
    "fiber_minimal_by_words": ("fiber_narrow", (("minimal", True),), "minimal must be true with Corollary 5, and only"),
    "fiber_not_minimal": ("fiber_residual", (("minimal", False),), "minimal must be true with Corollary 5, and only"),
    "fiber_blocks_at_two_tokens": (
        "fiber_two_tokens",
        (("theorem", f"{PAGE}, Theorem 11"),),
        "Theorem 11' must be a theorem about this network",
    ),
    "fiber_narrow_at_two_tokens": (
        "fiber_narrow",
        (("tokens", 2), ("conditions", lambda listed: [c for c in listed if c["name"] not in "a"])),
        "'b unmasked', 1 is none",
    ),
    "fiber_words_at_three_tokens": ("fiber_two_tokens", (("tokens", 3),), "'c', 1 is none"),
    "fiber_of_one_token": ("fiber_residual", (("tokens", 1),), "tokens must be an integer from 2"),
    "fiber_without_softmax": ("fiber_residual", (("form.normalization", "none"),), "fibers are those of softmax"),
    "fiber_of_another_mask": ("fiber_residual", (("form.mask", "none"),), "not shown: [(\"a'\", 1)]"),
    "fiber_theorem_of_another_mask": ("fiber_blind", (("form.mask", "causal"),), "must be a theorem about"),
    "fiber_theorem_without_a_mask": (
        "fiber_skew",
        (("theorem", f"{ONE}, Theorem 1"),),
        "must be a theorem about this network",
    ),
    "fiber_one_head_of_two": (
        "fiber_residual",
        (("theorem", f"{ONE}, Theorem 4"),),
        "Theorem 4' must be a theorem about this network",
    ),
    "fiber_one_layer_of_two": ("fiber_equal_heads", (("theorem", f"{PAGE}, Theorem 8"),), "must be a theorem about"),
    "fiber_theorem_unknown": ("fiber_residual", (("theorem", f"{PAGE}, Theorem 99"),), "theorem must be one of"),
    "fiber_without_a_theorem": (
        "fiber_residual",
        (("theorem", None), ("minimal", False), ("dimension", None)),
        "without a theorem there must be a condition that fails",
    ),
    "fiber_blind_one_further": ("fiber_blind", (("blind", 3),), "the first blind layer must be 2, it is 3"),
    "fiber_blind_at_three_tokens": ("fiber_blind", (("tokens", 3),), "the first blind layer must be None, it is 2"),
    "fiber_not_blind": ("fiber_blind", (("blind", None),), "the first blind layer must be 2, it is None"),
    "fiber_blind_under_a_mask": ("fiber_skew", (("blind", 2),), "the first blind layer must be None, it is 2"),
    "fiber_symmetry_left_out": ("fiber_residual", (("symmetries", ["query-key"]),), "the symmetries of this network"),
    "fiber_symmetry_invented": (
        "fiber_one_layer",
        (("symmetries", ["heads", "query-key", "stream"]),),
        "the symmetries of this network must be heads, query-key",
    ),
    "fiber_relation_zero": (
        "fiber_equal_heads",
        (("conditions", _instead("a", 1, relation=[0, 0])),),
        "relation must be a list of 2 numbers, not all of them 0",
    ),
    "fiber_relation_false": (
        "fiber_equal_heads",
        (("conditions", _instead("a", 1, relation=[1, 1])),),
        "the relation must show that a of layer 1 fails",
    ),
    "fiber_relation_of_other_heads": (
        "fiber_equal_heads",
        (("conditions", _instead("a", 1, relation=[-1, 1, 0])),),
        "relation must be a list of 2",
    ),
    "fiber_relation_of_two_for_one": (
        "fiber_one_layer",
        (("conditions", _also("b", 1, relation=[1, -1])),),
        "'b', 1 is none",
    ),
    "fiber_set_that_is_seen": (
        "fiber_residual",
        (("conditions", _instead("c", 2, relation=[1, 1])),),
        "the relation must show that c of layer 2 fails",
    ),
    "fiber_set_that_is_none": (
        "fiber_residual",
        (("conditions", _instead("c", 2, relation=[1, -1])),),
        "the relation must show that c of layer 2 fails",
    ),
    "fiber_skew_scores_that_words_see": (
        "fiber_words",
        (
            ("weights", lambda w: w | {"Q1.1": SKEW_AND_NOTHING, "K1.1": EYE_AND_NOTHING}),
            ("theorem", None),
            ("dimension", None),
            ("minimal", False),
            ("conditions", lambda _: _also("a words", 1, relation=[1, 0])([])),
        ),
        "the relation must show that a words of layer 1 fails",
    ),
    "fiber_opposite_heads_that_are_not": (
        "fiber_narrow",
        (("conditions", _instead("o", 1, relation=[1, 1])),),
        "the relation must show that o of layer 1 fails",
    ),
    "fiber_opposite_heads_of_three_tokens": (
        "fiber_narrow",
        (("weights", lambda w: w | {"Q1.2": [[-x for x in r] for r in w["Q1.1"]], "K1.2": w["K1.1"]}),),
        "must show that o of layer 1 holds",
    ),
    "fiber_condition_of_words_left_out": (
        "fiber_words",
        (("conditions", lambda listed: _without("a words", 3)(_without("a'", 2)(listed))),),
        "needs conditions that are not shown: [('a words', 3)]",
    ),
    "fiber_skew_two_layers_below": (
        "fiber_words",
        (
            ("weights", lambda w: w | {"Q1.1": SKEW_AND_NOTHING, "K1.1": EYE_AND_NOTHING}),
            ("conditions", _without("a'", 1)),
        ),
        "must show that s of layer 1 holds",
    ),
    "fiber_opposite_and_transposed": (
        "fiber_words",
        (
            ("weights", lambda w: w | {"Q1.2": [[-x for x in r] for r in w["K1.1"]], "K1.2": w["Q1.1"]}),
            ("conditions", _without("a'", 1)),
        ),
        "must show that s of layer 1 holds",
    ),
    "fiber_of_two_tokens_by_blocks": (
        "fiber_residual",
        (("conditions", lambda listed: [c for c in listed if c["name"] not in "cS"]),),
        "Corollary 5 needs conditions that are not shown",
    ),
    "fiber_blocks_without_ranks": (
        "fiber_blocks",
        (("conditions", lambda listed: [c for c in listed if (c["name"], c["layer"]) != ("U", 2)]),),
        "Corollary 5 needs conditions that are not shown",
    ),
    "fiber_rank_that_does_not_fall_short": (
        "fiber_narrow",
        (("conditions", _instead("U", 2, rank=3)),),
        "the rank of U of layer 2 must be at most 3 < 3, it is 3",
    ),
    "fiber_rank_too_small": (
        "fiber_narrow",
        (("conditions", _instead("F", 0, rank=0)),),
        "the rank of F of layer 0 must be at most 0 < 3, it is 2",
    ),
    "fiber_another_of_another_function": (
        "fiber_equal_heads",
        (("another.weights", lambda w: w | {name: [[2 * x for x in r] for r in m] for name, m in w.items() if name[0] == "V"}),),  # noqa: E501
        "must agree on all that their streams have in common",
    ),
    "fiber_another_by_trust": ("fiber_equal_heads", (("another.proof", {"by": "search"}),), "found 'search'"),
    "fiber_another_by_outputs": ("fiber_equal_heads", (("another.proof", {"by": "input"}),), "found 'input'"),
    "fiber_heads_of_two_shapes": (
        "fiber_residual",
        (("weights", lambda w: w | {"Q1.2": [*w["Q1.2"], [1, 1]], "K1.2": [*w["K1.2"], [1, 1]]}),),
        "the heads of a layer must have matrices of the same shapes",
    ),
}  # fmt: skip

BAD_FIBERS = {name: (good, changes) for name, (good, changes, _) in FIBER_LIES.items()}
FIBER_REASONS = {name: reason for name, (_, _, reason) in FIBER_LIES.items()}
