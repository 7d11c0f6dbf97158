"""phi of networks with heads, output projections, skip connections, masks, embedding and unembedding."""

from __future__ import annotations

import random
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest

from lightning_sym import SOFTMAX, Architecture, PolynomialMap, Weights, ambient_dimension, polynomial_map
from lightning_sym.errors import BadInput, TooLarge
from lightning_sym.fibers.recovery import part_in_two_tokens, reconstruct
from lightning_sym.network.ambient import count_terms_at_most, degrees, weights_in_a_term
from lightning_sym.network.one_layer import product_coefficients
from lightning_sym.rings.rationals import rational_matrix

NETWORKS = {
    "heads": Architecture((2, 1), (1,), 2, heads=2),
    "more than ten heads": Architecture((1, 1), (1,), 1, heads=11),
    "skip": Architecture((2, 2), (1,), 2, skip=True),
    "two layers, skip": Architecture((1, 1, 1), (1, 1), 2, skip=True, heads=2),
    "causal": Architecture((2, 2), (2,), 3, causal=True),
    "projection": Architecture((2, 3), (1,), 2, value_ranks=(2,), heads=2),
    "embedding": Architecture((2, 2), (1,), 2, embed=3),
    "unembedding": Architecture((2, 2), (1,), 2, unembed=1),
    "everything": Architecture((1, 1, 1), (1, 2), 2, None, 2, (2, 1), True, True, embed=1, unembed=2),
}


def plain_output(shape: Architecture, weights: dict[str, Any], x: list[list[Any]]) -> list[list[Any]]:
    """An independent road: sums over heads, tokens and coordinates, numbers only."""

    def times(m: Any, v: list[Any]) -> list[Any]:
        return [sum(a * b for a, b in zip(row, v, strict=True)) for row in m]

    columns = [list(column) for column in zip(*x, strict=True)]
    if shape.embed:
        columns = [times(weights["E"], c) for c in columns]
    for i in range(1, shape.depth + 1):
        after = []
        for j, c in enumerate(columns):
            total = list(c) if shape.skip else [0] * shape.widths[i]
            for h in range(1, shape.heads + 1):
                name = str(i) if shape.heads == 1 else f"{i}.{h}"
                query = times(weights["Q" + name], c)
                for n, other in enumerate(columns):
                    if shape.causal and n > j:
                        continue
                    score = sum(a * b for a, b in zip(times(weights["K" + name], other), query, strict=True))
                    value = times(weights["V" + name], other)
                    if shape.value_ranks:
                        value = times(weights["O" + name], value)
                    total = [a + score * b for a, b in zip(total, value, strict=True)]
            after.append(total)
        columns = after
    if shape.unembed:
        columns = [times(weights["U"], c) for c in columns]
    return [list(row) for row in zip(*columns, strict=True)]


def fraction(number: Any) -> Fraction:
    return Fraction(int(number.p), int(number.q))


@pytest.mark.parametrize("name", NETWORKS)
def test_values_are_those_of_plain_sums(name: str) -> None:
    shape = NETWORKS[name]
    phi, drawn = polynomial_map(shape), random.Random(name)
    assert phi.entries.shape == (shape.output_width, shape.tokens)
    for seed in range(3):
        w = Weights.random(shape, seed=seed, denominator=2)
        numeric = polynomial_map(shape, w)
        x = [[drawn.randint(-3, 3) for _ in range(shape.tokens)] for _ in range(shape.input_width)]
        flat = [entry for row in x for entry in row]
        numbers = [entry for m in w.named().values() for entry in m.ravel()]
        expected = plain_output(shape, w.named(), x)
        point = rational_matrix([[*numbers, *flat]])[0]
        for (k, j), entry in np.ndenumerate(phi.entries):
            other: Any = numeric.entries[k, j]
            assert fraction(other(*flat)) == fraction(entry(*point)) == expected[k][j]


@pytest.mark.parametrize("name", NETWORKS)
def test_names_degrees_and_bounds(name: str) -> None:
    shape = NETWORKS[name]
    phi = polynomial_map(shape)
    assert len(set(phi.weight_names + phi.input_names)) == shape.parameter_count + len(phi.input_names)
    assert all(n.isidentifier() for n in phi.weight_names)
    assert phi.term_count <= count_terms_at_most(shape)
    inputs, weights = len(phi.input_names), set()
    found = set()
    for entry in phi.entries.ravel():
        for exponents in entry.monoms():
            found.add(sum(map(int, exponents[-inputs:])))
            weights.add(sum(map(int, exponents[:-inputs])))
    assert found == set(degrees(shape))
    assert max(weights) == weights_in_a_term(shape)
    assert phi.is_homogeneous(shape.degree) is not shape.skip
    vector = polynomial_map(shape, Weights.random(shape)).ring_coefficient_vector()
    assert len(vector) == ambient_dimension(shape) == phi.entries.size * len(list(phi.monomials()))


def test_the_ambient_space_with_skip_connections_counts_all_odd_degrees() -> None:
    shape = Architecture((2, 2, 2), (1, 1), 2, skip=True)
    assert ambient_dimension(shape) == 4 * sum(comb(4 + k - 1, k) for k in (1, 3, 5, 7, 9))


def test_one_layer_with_heads_by_hand() -> None:
    w = Weights.of({"Q1.1": [[2]], "K1.1": [[3]], "V1.1": [[5]], "Q1.2": [[1]], "K1.2": [[1]], "V1.2": [[-7]]})
    assert polynomial_map(w.architecture(1), w).ring_coefficient_vector() == [23]
    assert str(polynomial_map(w.architecture(1)).entries[0, 0]).startswith("Q1_1_1_1*K1_1_1_1*V1_1_1_1*x_1_1^3")


def test_a_normalization_is_refused_by_name() -> None:
    shape = Architecture((2, 2), (1,), 2, SOFTMAX, skip=True)
    for function in (polynomial_map, ambient_dimension, count_terms_at_most, degrees):
        with pytest.raises(BadInput, match=r"must be of a network without normalization, got .*, softmax, skip"):
            function(shape)


def test_what_does_not_fit_is_refused_before_it_is_computed() -> None:
    for shape in (
        Architecture((9, 9, 9), (9, 9), 9, skip=True, heads=3),
        Architecture((2, 2), (2,), 2, embed=10**6),
        Architecture((2,) * 41, (2,) * 40, 2, skip=True),
    ):
        with pytest.raises(TooLarge, match="the polynomials, up to"):
            polynomial_map(shape)
    w = Weights.of({"U": [[1]], **{c: [[10**4000]] for c in ("Q1", "K1", "V1")}})
    with pytest.raises(TooLarge):
        polynomial_map(w.architecture(8), w, memory=2**20)


@pytest.mark.parametrize("function", [reconstruct, product_coefficients, lambda phi: part_in_two_tokens(phi, 0, 1)])
def test_what_is_decided_for_plain_networks_is_refused_for_others(function: Any) -> None:
    for shape in (Architecture((2, 2), (1,), 2, skip=True), Architecture((2, 2), (1,), 2, causal=True)):
        phi: PolynomialMap = polynomial_map(shape, Weights.random(shape))
        with pytest.raises(BadInput, match="one-head lightning networks with nothing added"):
            function(phi)


@pytest.mark.parametrize("shape", [Architecture((10**9, 1), (1,), 1), Architecture((2, 1), (2,), 10**9)])
def test_inputs_are_not_named_before_they_are_known_to_fit(
    shape: Architecture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lightning_sym.network.polynomial_map.entry_names", lambda *_: pytest.fail("they were named"))
    with pytest.raises(TooLarge, match=r"names of .* inputs must fit"):
        polynomial_map(shape)
