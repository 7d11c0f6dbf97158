"""Certificates by layers and their tensors, one thing changed: the good one, and places with what is put there."""

from __future__ import annotations

from typing import Any


def one_more(number: int) -> int:
    return number + 1


def one_less(number: int) -> int:
    return number - 1


def all_but_the_last(values: list[Any]) -> list[Any]:
    return values[:-1]


BAD_LAYERS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "narrow_too_low": ("narrow", (("upper_bounds.0.bound", one_less),)),
    "narrow_of_another_network": ("two_layers", (("upper_bounds", [{"kind": "narrow", "bound": 13}]),)),
    "narrow_with_a_mask": ("lightning_masked", (("upper_bounds", [{"kind": "narrow", "bound": 6}]),)),
    "layers_one_too_many": ("layers_counted", (("dimension", one_more),)),
    "layers_and_one_more": ("layers_proved", (("layers.0.count", one_more),)),
    "layers_with_narrow_ends": ("layers_counted", (("network.unembed", 767),)),
    "layers_without_room": ("layers_counted", (("network.heads", 13),)),
    "layers_trusted": ("layers_proved", (("layers.0.proof", None),)),
    "layer_of_other_rank": ("layers_proved", (("layers.0.rank", 2),)),
    "layer_of_other_heads": ("layers_proved", (("network.heads", 3),)),
    "layer_with_values_of_its_own": ("layers_proved", (("layers.0.value_rank", 2),)),
    "layer_left_open": ("layers_proved", (("layers.0.proof.lower", one_less),)),
    "layer_with_a_proof_of_more": ("layers_proved", (("layers.0.proof.network.skip", True),)),
    "layer_without_its_minor": ("layers_proved", (("layers.0.proof.lower_bound.rows", all_but_the_last),)),
    "no_layers": ("layers_counted", (("layers", []),)),
    "determined_without_top_degree": ("tensors_determined", (("top.1", [[0, 0, 0]]),)),
    "determined_without_reach": ("tensors_determined", (("carried.0", [[0, 0, 0]]),)),
    "determined_by_no_lines": ("tensors_determined", (("lines.0", all_but_the_last),)),
    "determined_on_another_line": ("tensors_of_heads", (("lines.0.0.1", [[0, 0]]),)),
    "determined_with_another_dimension": ("tensors_determined", (("dimension", one_more),)),
    "determined_without_skip": ("tensors_of_heads", (("form.skip", False),)),
    "determined_by_a_flat_layer": ("tensors_without_skip", (("top.0", [[0, 0, 0]] * 2),)),
    "determined_on_a_thin_stream": ("tensors_without_skip", (("carried.0", [[0, 0, 0], [1, 2, 3]]),)),
    "determined_with_a_thin_stream": ("tensors_without_skip", (("carried", []),)),
    "determined_by_fewer_lines": ("tensors_without_skip", (("lines.0", lambda lines: lines[:1]),)),
    "determined_in_a_narrow_stream": (
        "tensors_without_skip",
        (("weights.E", [[1, 0], [0, 1]]), ("weights.U", [[1, 2, 3]])),
    ),
    "determined_by_too_many_tokens": ("tensors_of_two_background", (("tokens", 2),)),
    "determined_with_a_narrow_end": ("tensors_determined", (("weights.U", [[1, 2, 3]] * 4),)),
    "determined_for_one_more_token": ("cubic_forms", (("tokens", 2),)),
    "tensors_apart": ("tensors", (("second.V2", [[2, 2]]),)),
    "tensors_of_two_tokens": ("tensors_of_one_token", (("tokens", 2),)),
    "tensors_with_softmax": ("tensors", (("form.normalization", "softmax"),)),
}

LAYER_REASONS = {
    "narrow_too_low": "the bound must be 13, it is 12",
    "narrow_of_another_network": "the bound must be 46, it is 13",
    "narrow_with_a_mask": "the bound must be of one token, or of no mask",
    "layers_one_too_many": "the dimension must be 103736688, it is 103736689",
    "layers_and_one_more": "the dimension must be",
    "layers_with_narrow_ends": "embed and unembed must reach the width",
    "layers_without_room": "a layer of several heads is counted if",
    "layers_trusted": "a layer of several heads is counted if",
    "layer_of_other_rank": "the proof of a layer must be about it, and no more",
    "layer_of_other_heads": "the proof of a layer must be about it, and no more",
    "layer_with_values_of_its_own": "the proof of a layer must be about it, and no more",
    "layer_left_open": "the bounds of a layer must meet",
    "layer_with_a_proof_of_more": "the proof of a layer must be about it, and no more",
    "layer_without_its_minor": "rows must be a list of",
    "no_layers": "layers must be a list that is not empty",
    "determined_without_top_degree": "(D) of layer 2 must have rank 1",
    "determined_without_reach": "(K) of layer 1 must have rank 1",
    "determined_by_no_lines": "lines must exclude factors of degrees up to 2 in layers 1, 2",
    "determined_on_another_line": "on a line a polynomial must keep its degree",
    "determined_with_another_dimension": "the dimension must be",
    "determined_without_skip": "there must be a background of (D')",
    "determined_by_a_flat_layer": "(D') of layer 1 must have rank 2",
    "determined_on_a_thin_stream": "(S) of layer 1 must have rank 4",
    "determined_with_a_thin_stream": "there must be a background of (S)",
    "determined_by_fewer_lines": "lines must exclude factors of degrees up to 4",
    "determined_in_a_narrow_stream": "streams between layers must have one width",
    "determined_by_too_many_tokens": "there must be fewer background tokens than tokens, or one",
    "determined_with_a_narrow_end": "E and U must have the rank of the stream",
    "determined_for_one_more_token": "the dimension must be 6, it is None",
    "tensors_apart": "must agree on all that their streams have in common",
    "tensors_of_two_tokens": "must agree on all that their streams have in common",
    "tensors_with_softmax": "layer tensors are those of networks without normalization",
}
"""Why each is rejected."""
