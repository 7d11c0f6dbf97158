"""Files of certificates: the schema, a corpus of good and bad ones, and files made to do harm."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from bad_certificates import BAD, TEXTS
from bad_fibers import FIBER_REASONS
from bad_layers import LAYER_REASONS
from checker import CORPUS, GOOD, REJECTED, SCHEMA, checked_alone, copied_checker, matches
from made_pages import made

from proofs_check.checker import verify

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checker by itself, away from the program."""
    return copied_checker(tmp_path_factory.mktemp("elsewhere"))


# ---- the grammar, as a schema


def test_the_schema_describes_a_corpus_with_every_kind_and_every_bound() -> None:
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in GOOD]
    assert [path.name for path, document in zip(GOOD, documents, strict=True) if not matches(SCHEMA, document)] == []
    elsewhere = {"__init__", "coefficient"}  # those of coefficients are made anew where they are tested
    assert {document["kind"] for document in documents} == set(verify.KINDS.words()) - elsewhere
    bounds = {bound["kind"] for document in documents for bound in document.get("upper_bounds", ())}
    assert bounds == set(verify.BOUNDS.words()) - {"__init__"}


@pytest.mark.parametrize(
    "name",
    ["wrong_version", "wrong_format", "unknown_kind", "unknown_key", "unknown_key_inside", "missing_key", "no_steps",
     "unknown_family", "unknown_variety", "negative_entry", "float_entry", "boolean_entry", "string_entry",
     "null_entry", "boolean_for_a_size", "size_too_large", "unknown_normalization", "no_upper_bound",
     "large_without_layers", "seed_too_large", "no_seed", "large_with_a_mask"],
)  # fmt: skip
def test_the_schema_refuses_what_it_can_see(name: str) -> None:
    text = (CORPUS / "bad" / f"{name}.json").read_text(encoding="utf-8")
    assert not matches(SCHEMA, json.loads(text))


def test_the_schema_names_what_the_grammar_names() -> None:
    """Every key and every name of the schema is spelled in the page on certificates, and the other way round."""
    page = (ROOT / "docs" / "certificate.md").read_text(encoding="utf-8")
    grammar = made(page)
    families = {family for definition in SCHEMA["$defs"]["upper_bound"]["anyOf"] for family in
                definition["properties"].get("families", {}).get("items", {}).get("enum", ())}  # fmt: skip
    in_tables = set(re.findall(r"^\| `([^`]+)` \|", page, flags=re.MULTILINE))
    varieties = set(SCHEMA["$defs"]["upper_bound"]["anyOf"][2]["properties"]["variety"]["enum"])
    assert families | varieties == in_tables

    def keys(schema: Any) -> set[str]:
        if isinstance(schema, list):
            return set().union(*map(keys, schema))
        if not isinstance(schema, dict):
            return set()
        return set(schema.get("properties", {})) | set().union(*map(keys, schema.values()))

    for key in keys(SCHEMA):
        assert f'"{key}"' in grammar or f"`{key}`" in grammar, key


# ---- files that others may send

SAME_BY = (
    '"by" of a proof of the same function must be one of visible weights, one layer, streams, tensors, levels, '
    "through, found"
)
DIFFERENT_BY = '"by" of a proof of different functions must be one of visible weights, one layer, input, found'
REASONS = {
    **FIBER_REASONS,
    **LAYER_REASONS,
    "a_list": "a certificate must be of type dict",
    "another_point": "the minor must not be 0",
    "boolean_entry": "Q of layer 1 must be an integer from 0 to 4194300, found 'True'",
    "boolean_for_a_size": "heads must be an integer from 1 to 1000000",
    "column_out_of_range": "columns must increase, and be parameters",
    "composite_modulus": "the modulus must be a prime",
    "dimension_one_too_high": "rows must be a list of 15",
    "dimension_one_too_low": "the bound must be at least 14",
    "duplicate_keys": "a key stands twice",
    "empty": "must be JSON",
    "entry_as_large_as_the_prime": "Q of layer 1 must be an integer from 0 to 4194300",
    "equal_modulo_the_prime": "the outputs must differ",
    "equal_weights": "the outputs must differ",
    "even_modulus": "the modulus must be a prime",
    "factors_that_do_not_cancel": "the factors must multiply to 1",
    "family_not_of_this_network": "families must be ones of this network, each once, 'homogeneous' is none",
    "family_of_another_kind": "must be one of homogeneous, query-key, scale, stream, value-output, found 'unwritten'",
    "float_entry": "Q of layer 1 must be an integer from 0 to 4194300, found '1.0'",
    "functional_missing": "functional must be a list of",
    "input_of_wrong_shape": "input must be a list of 4",
    "input_that_does_not_distinguish": "the outputs must differ",
    "last_step_has_a_goal": "missing or unknown: ['to']",
    "layer_missing": "'Q2'",
    "layer_of_one_network_only": "there must be a layer 2, and the other layers must be equal",
    "layer_of_other_widths": "step 1 must keep the input and output width",
    "leads_elsewhere": "the group element must map one network to the other",
    "lower_above_upper": "upper must be the smallest bound, and lower not larger",
    "minor_too_large": "the minor must not be 0",
    "missing_key": "'causal'",
    "modulus_divides_a_denominator": "the prime must be larger than tokens and twice the terms, divide no denominator",
    "modulus_of_the_denominator": "p must divide no denominator",
    "modulus_too_large": "the prime must be an integer from 2 to 4194303",
    "negative_entry": "Q of layer 1 must be an integer from 0 to 4194300, found '-1'",
    "no_constant_term": "divide no denominator of g, and not g_0",
    "no_steps": "steps must be a list that is not empty",
    "no_such_layer": "other layers must be equal",
    "no_upper_bound": "upper_bounds must be a list that is not empty",
    "not_a_number": "lower must be an integer from 0",
    "not_a_symmetry": "the group element must map one network to the other",
    "not_an_exchange": "the forms of layer 1 must be equal",
    "not_zero": "both networks must be seen to be zero",
    "null_entry": "Q of layer 1 must be an integer",
    "orbit_too_large": "the bound must be at least 24",
    "other_output_width": "both networks must have the same input and output width",
    "ragged_weight": "V of layer 1 must be a list of 4",
    "repeated_row": "the minor must not be 0",
    "scale_with_softmax": "families must be ones of this network, each once, 'scale' is none",
    "scale_zero": "each layer must have a scale, not 0",
    "series_without_normalization": "terms must be null without Taylor coefficients of a normalization",
    "softmax_with_terms": "terms must be null without Taylor coefficients of a normalization",
    "softmax_with_a_series": "taylor must not be of softmax",
    "modulus_too_small": "the prime must be larger than tokens and twice the terms",
    "terms_too_many": "functional must be a list of",
    "exponentials_missing": "a row must be an object with input, functional, exponentials; missing or unknown: ['exp",
    "exponentials_of_one_head_too_many": "exponentials must be a list of 2",
    "exponentials_of_one_head_too_few": "exponentials must be a list of 2",
    "exponentials_of_wrong_shape": "exponentials must be a list of 2",
    "exponentials_ragged": "exponentials must be a list of 3",
    "exponentials_too_large": "exponentials must be an integer from 0 to 4194300",
    "exponentials_not_symmetric": "exponentials of equal scores must be equal",
    "exponentials_with_column_sum_zero": "no column sum of the normalized scores may be 0",
    "exponentials_without_softmax": "missing or unknown: ['exponentials']",
    "exponentials_of_a_polynomial": "missing or unknown: ['exponentials']",
    "rescalings_with_softmax": "the pieces of 'virtual weights' must be [3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 4, 0",
    "symmetric_parts_with_softmax": "the pieces of 'virtual weights' must be [3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 4, 0",
    "virtual_weights_of_two_heads": "the pieces of 'virtual weights' must be []",
    "singular_basis_change": "the group element must map one network to the other",
    "singular_minor": "the minor must not be 0",
    "size_too_large": "tokens must be an integer from 1 to 1000000",
    "skew_parts_matter": "layer 1 must be rescaled by its factor",
    "span_of_another_network": "the bound must be 20, it is 11",
    "string_entry": "Q of layer 1 must be an integer",
    "too_few_rows": "rows must be a list of 14",
    "too_much_work": "Q of layer 1 must be a list of 1000000",
    "truncated": "must be JSON",
    "twenty_one_digits": "lower must be an integer from 0 to",
    "two_documents": "must be JSON",
    "unequal_widths_with_skip": "with skip connections all widths must be equal",
    "unknown_family": "families must be one of homogeneous, query-key, scale, stream, value-output, found 'magic'",
    "unknown_key": "'comment'",
    "unknown_key_inside": "'dropout'",
    "unknown_kind": '"kind" of a certificate must be one of dimension, coefficient, ',
    "unknown_normalization": "'taylor'",
    "unknown_variety": "variety must be one of head forms, linear maps, virtual weights, found 'all maps'",
    "unsorted_columns": "columns must increase",
    "upper_not_proved": "upper must be the smallest bound, and lower not larger",
    "weight_missing": "weights must be a list of 3",
    "weight_of_wrong_shape": "Q of layer 1 must be a list of 4",
    "wrong_format": "the format must be lightning-sym/certificate",
    "wrong_pieces": "the pieces of 'head forms' must be [35]",
    "wrong_version": "the version must be 1",
    "zero_of_other_widths": "step 1 must keep the input and output width",
    "zero_denominator": 'a rational number must look like "-2/3"',
    "family_twice": "families must be ones of this network, each once, 'query-key' is none",
    "step_that_is_none": '"step" of a step must be one of zero, layer, group, rescaling, found',
    "form_of_another_network": "the functions must be same, the theorem says that they are not",
    "form_unknown": "mask must be one of causal, none, found 'diagonal'",
    "form_missing_key": "'skip'",
    "form_in_words": "form must be an object with normalization, mask, skip",
    "streams_apart": "must agree on all that their streams have in common",
    "streams_with_other_scores": "must agree on all that their streams have in common",
    "streams_with_more": "'hint'",
    "streams_of_other_depth": "without skip connections the depths must be equal",
    "levels_of_a_reader": "the head of layer 2 must not read that of layer 1",
    "levels_of_a_reading_query": "the head of layer 2 must not read that of layer 1",
    "levels_of_values_that_read": "the head of layer 2 must not read that of layer 1",
    "levels_of_two_networks": "must agree on all that their streams have in common",
    "levels_that_leave_out": "what a head of layer 2 writes that is left out must not be read by U",
    "levels_that_are_missing": "there must be a level, or null, for each head of each layer",
    "levels_from_zero": "must be an integer from 1 to 64",
    "levels_without_skip": "heads can stand in other layers with skip connections only",
    "through_another_function": "must agree on all that their streams have in common",
    "through_to_another_function": "must agree on all that their streams have in common",
    "through_nothing": "there must be a level, or null, for each head of each layer",
    "through_by_trust": SAME_BY,
    "through_for_different": DIFFERENT_BY,
    "levels_for_different": DIFFERENT_BY,
    "streams_for_different": DIFFERENT_BY,
    "input_for_same": SAME_BY,
    "head_missing": "layers and heads must be counted from 1 with none left out",
    "head_named_twice": "Q of a head must stand once",
    "name_of_no_weight": "weights must be named Q1, K1, V1, Q1.1, ..., O1, E, U, found 'W1'",
    "projection_of_other_width": "the shapes of the weights of a head must fit",
    "heads_of_other_widths": "heads of a layer, and with skip layers, must be as wide",
    "unembedding_too_wide": "U must have as many columns as the last layer is wide",
    "embedding_of_other_width": "both networks must have the same input and output width",
    "visible_at_three_tokens": "the functions must be same, the theorem says that they are not",
    "visible_at_two_tokens": "the functions must be different, the theorem says that they are not",
    "visible_with_skip": "visible weights are those of softmax networks with one head a layer",
    "visible_with_two_heads": "visible weights are those of softmax networks with one head a layer",
    "visible_without_softmax": "visible weights are those of softmax networks with one head a layer",
    "theorem_on_one_layer_for_two": "the theorem on one layer is about one softmax layer and two tokens or more",
    "one_layer_with_one_token": "the theorem on one layer is about one softmax layer and two tokens or more",
    "one_layer_the_same": "the functions must be different, the theorem says that they are not",
    "proof_by_trust": SAME_BY,
    "words_for_different": DIFFERENT_BY,
    "intervals_that_meet": "the outputs must differ, they are equal or not known to differ",
    "intervals_too_wide": "the outputs must differ, they are equal or not known to differ",
    "intervals_of_too_many_bits": "bits must be an integer from 16 to 4096",
    "softmax_without_bits": "bits must be given with softmax, and only then",
    "bits_without_softmax": "bits must be given with softmax, and only then",
    "softmax_modulo_a_prime": "bits must be given with softmax, and only then, and a prime without alone",
    "masked_input_too_long": "the input must have 2 rows, and 2 columns",
    "masked_and_equal": "the outputs must differ, they are equal",
    "terms_that_are_none": "terms must be an integer from 2 to 512",
    "large_one_too_high": "the dimension must be 103736832, it is 103736833",
    "large_one_too_low": "the dimension must be 1994, it is 1993",
    "large_of_another_width": "the dimension must be 103600989, it is 103736832",
    "large_said_to_be_tied": "the dimension must be 65434752, it is 103736832",
    "large_said_to_be_grouped": "the dimension must be",
    "groups_that_do_not_divide": "the heads must be a multiple of the groups",
    "groups_of_full_values": "values are shared only where there are value ranks",
    "embedding_too_narrow": "embed and unembed must reach the width",
    "tied_ends_of_two_widths": "tied embeddings must be embedding and unembedding of one width",
    "tied_without_ends": "tied embeddings must be embedding and unembedding of one width",
    "large_without_layers": "layers must be a list that is not empty",
    "seed_too_large": "seed must be an integer from 0 to 18446744073709551615",
    "no_seed": "seed must be an integer from 0",
    "large_with_a_mask": "missing or unknown: ['causal']",
    "too_many_layers": "the dimension must be 334001326, it is 1994",
    "too_wide_to_check": "the dimension must be 5000015999984, it is 77",
}


@pytest.fixture(scope="module")
def corpus(alone: Path) -> dict[str, str]:
    """What the checker says of every file of the corpus, by name."""
    code, good = checked_alone(alone, GOOD)
    assert code == 0
    code, bad = checked_alone(alone, REJECTED)
    assert code == 1
    return good | bad


def test_the_corpus_is_complete() -> None:
    assert {path.stem for path in REJECTED} == {*BAD, *TEXTS} == REASONS.keys()
    assert all(path.stat().st_size < 60_000 for path in (*GOOD, *REJECTED))


@pytest.mark.parametrize("name", [path.stem for path in GOOD])
def test_good_certificates_are_proved(corpus: dict[str, str], name: str) -> None:
    assert corpus[name].startswith("proved: ")


@pytest.mark.parametrize("name", REASONS)
def test_bad_certificates_are_rejected_with_the_reason(corpus: dict[str, str], name: str) -> None:
    assert corpus[name].startswith("rejected: ")
    assert REASONS[name] in corpus[name]


def test_hostile_files_take_neither_time_nor_memory(alone: Path, tmp_path: Path) -> None:
    one = (CORPUS / "good" / "one_layer.json").read_text(encoding="utf-8")
    texts = {
        "huge_integer": (one.replace('"lower": 14', '"lower": ' + "9" * 10**7, 1), "4300 digits"),
        "deeply_nested": ("[" * 10**6 + "]" * 10**6, "nested too deeply"),
        "deeply_nested_in_a_field": (one.replace('"lower": 14', '"lower": ' + "[" * 30 + "]" * 30, 1), "found a list"),
        "many_brackets": ("[" + "[]," * (55 * 10**5) + "[]]", "at most 2,097,152 lists"),
        "many_objects": ("[" + '{"":1},' * (23 * 10**5) + "[]]", "a fourth as many objects"),
        "many_keys": (
            one.replace("[4, 2]", "{" + ", ".join(f'"{k}": 0' for k in range(10**6)) + "}", 1),
            "list",
        ),
        "many_weights": (one.replace('"weights": [', '"weights": [' + "[[0]]," * 10**6, 1), "list of 3"),
        "many_families": (one.replace('"families": [', '"families": [' + '"stream",' * (18 * 10**5), 1), "each once"),
        "long_name": (one.replace('"widths"', '"' + "w" * 10**6 + '"', 1), "unknown"),
        "too_large": (one + " " * 2**24, "16 MiB"),
        "wide": (one.replace("[4, 2]", f"[{', '.join(['1'] * 10**6)}]", 1), "rejected"),
    }
    files = []
    for name, (text, _) in texts.items():
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(text, encoding="utf-8")
    code, lines = checked_alone(alone, files)
    assert code == 1
    for name, (_, reason) in texts.items():
        assert lines[name].startswith("rejected: ")
        assert reason in lines[name]
        assert len(lines[name]) < 1000
