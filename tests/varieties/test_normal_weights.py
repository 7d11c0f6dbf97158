"""Weights in normal form: what a change of basis makes 0 or 1, and nothing that no change of basis moves."""

from __future__ import annotations

import pytest

from lightning_sym.network.architecture import Architecture
from lightning_sym.varieties.normal_weights import normal_weights


@pytest.mark.parametrize("unembed", [None, 2])
def test_an_embedding_is_normal_where_its_stream_has_a_basis_of_its_own(unembed: int | None) -> None:
    """With skip connections and no unembedding the stream is what the function shows: all of `E` is free."""
    shape = Architecture((2, 2), (1,), 2, skip=True, embed=3, unembed=unembed)
    embedding = dict(normal_weights(shape))["E"]
    fixed = sum(not isinstance(entry, str) for entry in embedding.ravel())
    assert fixed == (0 if unembed is None else 4)


def test_of_heads_that_write_to_one_place_the_first_is_normal() -> None:
    named = dict(normal_weights(Architecture((2, 2, 2), (1, 1), 2, heads=2)))
    fixed = {name: sum(not isinstance(entry, str) for entry in matrix.ravel()) for name, matrix in named.items()}
    assert (fixed["V1.1"], fixed["V1.2"], fixed["V2.1"], fixed["V2.2"]) == (4, 0, 2, 0)
