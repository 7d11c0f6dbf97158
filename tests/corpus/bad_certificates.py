"""What is changed in a good certificate to make each bad one of the corpus."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from bad_fibers import BAD_FIBERS
from bad_layers import BAD_LAYERS, all_but_the_last, one_less, one_more
from bad_levels import BAD_LEVELS

Document = dict[str, Any]

# two networks with the same numbers V_kl A_ij + V_ki A_lj in a row, of other shapes: the second is 0 at one token
ONE_TO_EIGHT: Document = {
    "Q1": [[1]],
    "K1": [[1]],
    "V1": [["0/2"], ["2/2"], ["-1/2"], ["0/2"], ["-1/2"], ["0/2"], ["0/2"], ["0/2"]],
}
SKEW: Document = {"Q1": [[0, 1], [-1, 0]], "K1": [[1, 0], [0, 1]], "V1": [[1, 0]]}
FIRST = {"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4], [1, 1]], "Q2": [[1, 1]], "K2": [[2, 1]], "V2": [[1, "2/3"]]}


def changed(document: Document, *changes: tuple[str, Any]) -> Document:
    """A copy with other values, each at a path such as `lower_bound.rows.0.input`."""
    result = deepcopy(document)
    for path, value in changes:
        *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
        place: Any = result
        for step in steps:
            place = place[step]
        place[last] = value(place.get(last) if isinstance(place, dict) else place[last]) if callable(value) else value
    return result


def with_its_first_again(values: list[Any]) -> list[Any]:
    return [*values[:-1], values[0]]


def with_one_again(values: list[Any]) -> list[Any]:
    return [*values, values[0]]


def without(key: str) -> Callable[[Document], Document]:
    return lambda value: {name: x for name, x in value.items() if name != key}


def other_matrix(name: str, matrix: list[list[int]]) -> Callable[[Document], Document]:
    return lambda weights: weights | {name: matrix}


def one_layer_less(weights: Document) -> Document:
    return {name: matrix for name, matrix in weights.items() if name[1] != "2"}


LEVEL = ("lower", "upper", "upper_bounds.0.bound")


BAD: dict[str, tuple[str, tuple[tuple[str, Any], ...]]] = {
    "dimension_one_too_high": ("one_layer", tuple((path, one_more) for path in LEVEL)),
    "dimension_one_too_low": (
        "one_layer",
        (
            *((path, one_less) for path in LEVEL),
            ("lower_bound.rows", all_but_the_last),
            ("lower_bound.columns", all_but_the_last),
        ),
    ),
    "minor_too_large": (
        "one_layer",
        (
            *((path, one_more) for path in LEVEL),
            ("lower_bound.rows", lambda rows: [*rows, rows[0]]),
            ("lower_bound.columns", lambda columns: sorted({*columns, min({*range(16)} - {*columns})})),
        ),
    ),
    "orbit_too_large": ("two_layers_undecided", (("upper", 18), ("upper_bounds.0.bound", 18))),
    "lower_above_upper": ("two_layers", (("upper", one_less),)),
    "upper_not_proved": ("two_layers", (("upper", one_more),)),
    "no_upper_bound": ("one_layer", (("upper_bounds", []),)),
    "wrong_pieces": ("head_forms", (("upper_bounds.0.pieces", [34]), ("upper_bounds.0.bound", 34), ("upper", 34))),
    "unknown_variety": ("head_forms", (("upper_bounds.0.variety", "all maps"),)),
    "span_of_another_network": ("one_token", (("upper_bounds", [{"kind": "span", "bound": 11}]),)),
    "singular_minor": ("one_layer", (("lower_bound.rows.3.functional", [[[0] * 3] * 2]),)),
    "repeated_row": ("one_layer", (("lower_bound.rows", with_its_first_again),)),
    "another_point": ("one_layer", (("lower_bound.weights.0", [[0] * 4]),)),
    "too_few_rows": ("one_layer", (("lower_bound.rows", all_but_the_last),)),
    "composite_modulus": ("one_layer", (("lower_bound.prime", 4194303),)),
    "even_modulus": ("one_layer", (("lower_bound.prime", 4194302),)),
    "modulus_too_large": ("one_layer", (("lower_bound.prime", 4194319),)),
    "modulus_divides_a_denominator": ("series", (("lower_bound.prime", 101),)),
    "modulus_too_small": ("series", (("lower_bound.prime", 3), ("network.normalization.taylor.1", "1"))),
    "unsorted_columns": ("one_layer", (("lower_bound.columns", lambda columns: columns[::-1]),)),
    "column_out_of_range": ("one_layer", (("lower_bound.columns.13", 16),)),
    "weight_of_wrong_shape": ("one_layer", (("lower_bound.weights.0", [[1, 2, 3]]),)),
    "ragged_weight": ("one_layer", (("lower_bound.weights.2.0", [1, 2, 3]),)),
    "weight_missing": ("one_layer", (("lower_bound.weights", all_but_the_last),)),
    "input_of_wrong_shape": ("one_layer", (("lower_bound.rows.0.input", [[1, 2]]),)),
    "functional_missing": ("transformer", (("lower_bound.rows.0.functional", all_but_the_last),)),
    "negative_entry": ("one_layer", (("lower_bound.weights.0.0.0", -1),)),
    "entry_as_large_as_the_prime": ("one_layer", (("lower_bound.weights.0.0.0", 4194301),)),
    "float_entry": ("one_layer", (("lower_bound.weights.0.0.0", 1.0),)),
    "boolean_entry": ("one_layer", (("lower_bound.weights.0.0.0", True),)),
    "string_entry": ("one_layer", (("lower_bound.weights.0.0.0", "1"),)),
    "null_entry": ("one_layer", (("lower_bound.weights.0.0.0", None),)),
    "boolean_for_a_size": ("one_layer", (("network.heads", True),)),
    "size_too_large": ("one_layer", (("network.tokens", 1_000_001),)),
    "too_much_work": ("one_layer", (("network.widths", [1_000_000, 2]),)),
    "series_without_normalization": ("one_layer", (("lower_bound.terms", 2),)),
    "unequal_widths_with_skip": ("one_layer", (("network.skip", True),)),
    "unknown_normalization": ("transformer", (("network.normalization", {"name": "softmax", "scale": 2}),)),
    "no_constant_term": (
        "values_of_y",
        (
            ("lower_bound.terms", 2),
            *((f"lower_bound.rows.{i}.functional", lambda c: c * 2) for i in range(5)),
        ),
    ),
    "family_not_of_this_network": ("two_layers", (("upper_bounds.0.families", ["query-key", "homogeneous"]),)),
    "family_of_another_kind": ("two_layers", (("upper_bounds.0.families", ["query-key", "unwritten"]),)),
    "scale_with_softmax": ("transformer", (("upper_bounds.0.families", ["query-key", "scale"]),)),
    "unknown_family": ("two_layers", (("upper_bounds.0.families", ["magic"]),)),
    "wrong_version": ("one_layer", (("version", 2),)),
    "wrong_format": ("one_layer", (("format", "certificate"),)),
    "unknown_kind": ("one_layer", (("kind", "ideal"),)),
    "unknown_key": ("one_layer", (("comment", "trust me"),)),
    "unknown_key_inside": ("one_layer", (("network.dropout", 0),)),
    "missing_key": ("one_layer", (("network", without("causal")),)),
    "not_a_symmetry": ("same_group", (("steps.0.between.0.0.0", 2),)),
    "singular_basis_change": ("same_group", (("steps.0.between.0", [[0, 0], [0, 0]]),)),
    "family_twice": ("two_layers", (("upper_bounds.0.families", ["query-key", "query-key"]),)),
    "terms_that_are_none": ("series", (("lower_bound.terms", 1),)),
    "terms_too_many": ("series", (("lower_bound.terms", one_more),)),
    "softmax_with_terms": ("transformer", (("lower_bound.terms", 2),)),
    "softmax_with_a_series": (
        "transformer",
        (("lower_bound.terms", 4), ("network.normalization", {"name": "softmax", "taylor": ["1", "1", "1/2", "1/6"]})),
    ),
    "exponentials_missing": ("transformer", (("lower_bound.rows.7", without("exponentials")),)),
    "exponentials_of_one_head_too_many": ("transformer", (("lower_bound.rows.0.exponentials", with_one_again),)),
    "exponentials_of_one_head_too_few": ("transformer", (("lower_bound.rows.0.exponentials", all_but_the_last),)),
    "exponentials_of_wrong_shape": ("transformer", (("lower_bound.rows.1.exponentials.0", [[1, 2]]),)),
    "exponentials_ragged": ("softmax_causal", (("lower_bound.rows.0.exponentials.1", [[1], [1, 2], [1, 2, 3]]),)),
    "exponentials_too_large": ("transformer", (("lower_bound.rows.1.exponentials.1.0.1", 4194301),)),
    "exponentials_not_symmetric": (
        "softmax_of_rank_one",
        (("lower_bound.rows.7.exponentials.1.0.2", lambda x: (x + 1) % 4194301),),
    ),
    "exponentials_with_column_sum_zero": ("two_tokens", (("lower_bound.rows.0.exponentials.1.1", [7, 4194294]),)),
    "exponentials_without_softmax": ("one_layer", (("lower_bound.rows.0.exponentials", [[[1] * 3] * 3]),)),
    "exponentials_of_a_polynomial": ("series", (("lower_bound.rows.0.exponentials", [[[1] * 2] * 2] * 2),)),
    "rescalings_with_softmax": (
        "deep_softmax",
        (
            ("upper_bounds.0.pieces", lambda pieces: [*pieces, -12]),
            ("upper_bounds.0.bound", 28),
            ("upper", 28),
            ("lower", 28),
            ("lower_bound.rows", lambda rows: rows[:28]),
            ("lower_bound.columns", lambda columns: columns[:28]),
        ),
    ),
    "symmetric_parts_with_softmax": (
        "deep_softmax",
        (("upper_bounds.0.pieces.1", 2), ("upper_bounds.0.bound", 39), ("upper", 39)),
    ),
    "virtual_weights_of_two_heads": (
        "transformer",
        (("upper_bounds", [{"kind": "factorization", "bound": 20, "variety": "virtual weights", "pieces": [20]}]),),
    ),
    "scale_zero": ("same_group", (("steps.0.scales.0", 0),)),
    "zero_denominator": ("same_group", (("steps.0.scales.0", "1/0"),)),
    "no_steps": ("same_group", (("steps", []),)),
    "leads_elsewhere": ("same_group", (("second.V2.0.0", 7),)),
    "last_step_has_a_goal": ("same_group", (("steps.0.to", {"Q1": [[1]], "K1": [[1]], "V1": [[1]]}),)),
    "factors_that_do_not_cancel": (
        "same_symmetric_parts",
        (("steps.0.factors.0", 2), ("steps.0.value_factor", 1)),
    ),
    "skew_parts_matter": ("same_symmetric_parts", (("tokens", 2),)),
    "zero_of_other_widths": (
        "same_zero",
        (
            ("tokens", 1),
            ("first", ONE_TO_EIGHT | {"V1": [[0]] * 8}),
            ("second", ONE_TO_EIGHT),
            ("steps", [{"step": "zero", "to": SKEW}, {"step": "layer", "layer": 1}]),
        ),
    ),
    "layer_of_other_widths": (
        "same_exchange",
        (
            ("tokens", 1),
            ("first", ONE_TO_EIGHT | {"V1": [["2/2"]] + [["0/2"]] * 7}),
            ("second", ONE_TO_EIGHT | {"V1": [["2/2"], *ONE_TO_EIGHT["V1"][1:]]}),
            (
                "steps",
                [
                    {"step": "layer", "layer": 1, "to": SKEW | {"Q1": [[1, 0], [0, 0]]}},
                    {"step": "rescaling", "factors": [1], "value_factor": 1, "to": SKEW | {"Q1": [[1, 1], [-1, 0]]}},
                    {"step": "layer", "layer": 1},
                ],
            ),
        ),
    ),
    "layer_of_one_network_only": (
        "same_exchange",
        (
            ("first", {"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]], "Q2": [[1]], "K2": [[2]], "V2": [[1]]}),
            ("second", {"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]}),
            ("steps", [{"step": "layer", "layer": 2}]),
        ),
    ),
    "not_an_exchange": ("same_exchange", (("second.V1.0.0", 5),)),
    "no_such_layer": ("same_exchange", (("steps.0.layer", 2),)),
    "not_zero": ("same_zero", (("second.V2.0.0", 1),)),
    "step_that_is_none": ("same_group", (("steps", [{"step": "coefficients"}]),)),
    "input_that_does_not_distinguish": ("different", (("input", [[0, 0], [0, 0]]),)),
    "equal_weights": ("different", (("second", FIRST),)),
    "other_output_width": ("different", (("second.V2", [[1, 1], [1, 1]]),)),
    "equal_modulo_the_prime": ("different_modulo_a_prime", (("input", [[0, 0]]),)),
    "modulus_of_the_denominator": ("different", (("prime", 3),)),
    "layer_missing": ("different", (("first", without("K2")),)),
    "large_one_too_high": ("gpt2_small", (("dimension", one_more),)),
    "large_one_too_low": ("tied_and_grouped", (("dimension", one_less),)),
    "large_of_another_width": ("gpt2_small", (("network.width", 767),)),
    "large_said_to_be_tied": ("gpt2_small", (("network.tied", True),)),
    "large_said_to_be_grouped": ("gpt2_small", (("network.groups", 6),)),
    "groups_that_do_not_divide": ("gpt2_small", (("network.groups", 5),)),
    "groups_of_full_values": ("values_of_full_rank", (("network.groups", 1),)),
    "embedding_too_narrow": ("gpt2_small", (("network.embed", 767),)),
    "tied_ends_of_two_widths": ("tied_and_grouped", (("network.embed", 21),)),
    "tied_without_ends": ("tied_and_grouped", (("network.embed", None), ("network.unembed", None))),
    "large_without_layers": ("gpt2_small", (("network.layers", []),)),
    "seed_too_large": ("gpt2_small", (("seed", 2**64),)),
    "no_seed": ("gpt2_small", (("seed", None),)),
    "large_with_a_mask": ("gpt2_small", (("network.causal", True),)),
    "too_many_layers": ("tied_and_grouped", (("network.layers.0.count", 10**6),)),
    "too_wide_to_check": ("values_of_full_rank", (("network.width", 10**6), ("network.embed", 10**6))),
    "form_of_another_network": ("visible_weights", (("form.mask", "none"),)),
    "form_unknown": ("streams", (("form.mask", "diagonal"),)),
    "form_missing_key": ("streams", (("form", without("skip")),)),
    "form_in_words": ("streams", (("form", "softmax"),)),
    "streams_apart": ("streams", (("second.U.0.0", 2),)),
    "streams_with_other_scores": ("streams", (("second", other_matrix("Q1.1", [[1, 2]])),)),
    "streams_with_more": ("streams", (("proof.hint", 1),)),
    "streams_of_other_depth": ("visible_weights", (("proof.by", "streams"), ("second", one_layer_less))),
    "streams_for_different": ("streams", (("kind", "different"),)),
    **BAD_LEVELS, **BAD_LAYERS,
    **BAD_FIBERS,
    "input_for_same": ("intervals", (("kind", "same"),)),
    "head_missing": ("streams", (("first", without("Q1.1")),)),
    "head_named_twice": ("streams", (("first.Q1", [[1, 2]]),)),
    "name_of_no_weight": ("streams", (("first.W1", [[1, 2]]),)),
    "projection_of_other_width": ("streams", (("first", other_matrix("O1.1", [[1, 0], [0, 1]])),)),
    "heads_of_other_widths": ("streams", (("first", other_matrix("O1.1", [[1]])),)),
    "unembedding_too_wide": ("streams", (("first.U", [[1, 3, 0]]),)),
    "embedding_of_other_width": ("streams", (("first.E", [[1], [0]]),)),
    "visible_at_three_tokens": ("visible_weights", (("tokens", 3),)),
    "visible_at_two_tokens": ("visible_weights_differ", (("tokens", 2),)),
    "visible_with_skip": ("visible_weights", (("form.skip", True),)),
    "visible_with_two_heads": ("streams", (("proof.by", "visible weights"),)),
    "visible_without_softmax": ("visible_weights", (("form.normalization", "none"),)),
    "theorem_on_one_layer_for_two": ("streams", (("proof.by", "one layer"),)),
    "one_layer_with_one_token": ("one_layer_differs", (("tokens", 1),)),
    "one_layer_the_same": ("one_layer_differs", (("second.V1.1.1", 1),)),
    "proof_by_trust": ("streams", (("proof.by", "words"),)),
    "words_for_different": ("intervals", (("proof", {"by": "words"}),)),
    "intervals_that_meet": ("intervals", (("second.U.0.1", 2),)),
    "intervals_too_wide": ("intervals", (("second.U.0.1", "2" + "0" * 60 + "1/1" + "0" * 61), ("proof.bits", 16))),
    "intervals_of_too_many_bits": ("intervals", (("proof.bits", 4097),)),
    "softmax_without_bits": ("intervals", (("proof.bits", None),)),
    "bits_without_softmax": ("masked", (("proof.bits", 64),)),
    "softmax_modulo_a_prime": ("intervals", (("proof.prime", 5),)),
    "masked_input_too_long": ("masked", (("proof.input", [[1, 2, 3], [1, 0, 0]]),)),
    "masked_and_equal": ("masked", (("second.Q1.0", [1, 2]),)),
}  # fmt: skip


TEXTS: dict[str, Callable[[str], str]] = {
    "truncated": lambda text: text[: len(text) // 2],
    "duplicate_keys": lambda text: text.replace('"version"', '"version": 2, "version"', 1),
    "not_a_number": lambda text: text.replace('"lower": 14', '"lower": NaN', 1),
    "twenty_one_digits": lambda text: text.replace('"lower": 14', '"lower": ' + "1" * 21, 1),
    "two_documents": lambda text: text + text,
    "a_list": lambda text: "[" + text + "]",
    "empty": lambda text: "",
}
