"""The bound for exact floats: programs of every kind stay below it, and above it there are some that round."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightning_sym import Architecture, NetworkForm, TooLarge, Weights, network_output
from lightning_sym.testing import architectures, exact_weights
from lightning_sym.testing.exact_floats import FLOATS, Exactness, floats_named, unit_exponent


class Watched:
    """A number in floats that knows its exact value: what it meets must be what it should be."""

    largest_bits = 0

    def __init__(self, exact: Fraction, bits: int) -> None:
        self.exact, self.bits = exact, bits
        odd = abs(exact.numerator)
        while odd and odd % 2 == 0:
            odd //= 2
        Watched.largest_bits = max(Watched.largest_bits, odd.bit_length())
        assert odd.bit_length() <= bits, f"{exact} has more than {bits} bits"
        assert exact.denominator & (exact.denominator - 1) == 0

    def __add__(self, other: Any) -> Watched:
        return Watched(self.exact + other.exact, self.bits)

    def __mul__(self, other: Any) -> Watched:
        return Watched(self.exact * other.exact, self.bits)


def product(a: Any, b: Any, source: random.Random) -> Any:
    """A product of matrices, each sum in an order of its own, and in blocks."""
    result = np.empty((a.shape[0], b.shape[1]), dtype=object)
    for i, j in np.ndindex(*result.shape):
        terms = [a[i, k] * b[k, j] for k in range(a.shape[1])]
        while len(terms) > 1:
            source.shuffle(terms)
            terms.append(terms.pop() + terms.pop())
        result[i, j] = terms[0]
    return result


def chain(factors: list[Any], source: random.Random) -> Any:
    """A product of several matrices, associated anyhow."""
    factors = list(factors)
    while len(factors) > 1:
        place = source.randrange(len(factors) - 1)
        factors[place : place + 2] = [product(factors[place], factors[place + 1], source)]
    return factors[0]


def anyhow(network: Architecture, weights: Weights, x: Any, bits: int, source: random.Random) -> Any:
    """The network's outputs, by a program drawn at random among those that the proposition covers."""

    def watched(matrix: Any) -> Any:
        result = np.empty(matrix.shape, dtype=object)
        for index, entry in np.ndenumerate(matrix):
            result[index] = Watched(Fraction(entry), bits)
        return result

    named = {name: watched(matrix) for name, matrix in weights.named().items()}
    stream = watched(x)
    pending = [named["E"]] if "E" in named else []
    stream = chain([*pending, stream], source)
    mask = watched(np.triu(np.ones((network.tokens,) * 2)) if network.causal else np.ones((network.tokens,) * 2))
    for i in range(1, network.depth + 1):
        outputs = [stream] if network.skip else []
        for h in range(1, network.heads + 1):
            name = f"{i}" if network.heads == 1 else f"{i}.{h}"
            values = [named[f"O{name}"]] if f"O{name}" in named else []
            values += [named[f"V{name}"], stream]
            scores = [stream.T, named[f"K{name}"].T, named[f"Q{name}"], stream]
            if network.causal:
                outputs.append(chain([*values, chain(scores, source) * mask], source))
            else:
                outputs.append(chain([*values, *scores], source))
        source.shuffle(outputs)
        stream = sum(outputs[1:], start=outputs[0])
    return chain([*([named["U"]] if "U" in named else []), stream], source)


OPTIONS = {"heads", "value_ranks", "skip", "causal", "embed", "unembed"}


@given(st.data(), st.integers(0, 2**32), st.sampled_from(sorted(FLOATS)))
def test_no_covered_program_meets_more_bits(data: Any, seed: int, dtype: str) -> None:
    """Adversarial: the largest inputs that are allowed, degenerate weights, and programs drawn at random."""
    network = data.draw(architectures(max_depth=2, max_width=2, max_rank=2, max_tokens=2, options=OPTIONS))
    weights = data.draw(exact_weights(network, bound=2, denominator=4))
    floats = FLOATS[dtype]
    try:
        most = Exactness(network, weights).largest_input(floats)
    except TooLarge:
        return
    source = random.Random(seed)
    signs = [[source.choice([-most, -most, most, 0, 1 - most]) for _ in range(network.tokens)]
             for _ in range(network.input_width)]  # fmt: skip
    x = np.array(signs, dtype=object)
    found = anyhow(network, weights, x, floats.bits, source)
    stated = network_output(x, network, weights)
    assert [y.exact for y in found.ravel()] == list(stated.ravel())


def test_the_search_would_find_an_inexact_case() -> None:
    """With inputs a few times larger than the bound some program does meet too many bits."""
    network = Architecture((2, 2), (1,), 2)
    weights = Weights.random(network, seed=3, bound=3)
    most = Exactness(network, weights).largest_input(FLOATS["float32"])
    x = np.full((2, 2), 4 * most + 1, dtype=object)
    with pytest.raises(AssertionError, match="has more than 24 bits"):
        anyhow(network, weights, x, 24, random.Random(0))


def test_the_bound_is_nearly_reached() -> None:
    """At equal positive weights the largest output is the bound."""
    ones = Weights.of({"Q1": [[1, 1]], "K1": [[1, 1]], "V1": [[1, 1]]})
    network = ones.architecture(3)
    bound = Exactness(network, ones)
    most = bound.largest_input(FLOATS["float32"])
    x = np.full((2, 3), most, dtype=object)
    assert network_output(x, network, ones)[0, 0] == bound(most) <= 2**24 < bound(most + 1)
    floats = np.full((2, 3), most, dtype=np.float32)
    assert int((floats[:1] * 2 @ (floats[:1] * 2).T @ (floats[:1] * 2))[0, 0]) == bound(most)


def test_a_zero_counts_as_one_unit() -> None:
    """A large number on its way to a product with zero must be a float too."""
    zero = Weights.of({"Q1": [[0]], "K1": [[2**20]], "V1": [[1]]})
    assert Exactness(zero.architecture(1), zero)(1) == 2**20
    halves = Weights.of({"Q1": [[0, 0.5]], "K1": [[1, 0]], "V1": [[0.25, 0]]})
    assert Exactness(halves.architecture(1), halves).unit == 3


def test_the_mask_does_not_lower_the_bound() -> None:
    plain = Weights.random(Architecture((2, 2), (2,), 3), seed=1)
    masked = plain.with_form(NetworkForm(causal=True))
    one, other = (Exactness(w.architecture(3), w) for w in (plain, masked))
    assert one(7) == other(7)


def test_units_add_up_over_layers() -> None:
    network = Architecture((1, 1, 1), (1, 1), 1, skip=True, embed=1)
    half = Weights.of(
        {name: [[Fraction(1, 2)]] for name in ("E", "Q1", "K1", "V1", "Q2", "K2", "V2")}, NetworkForm(skip=True)
    )
    bound = Exactness(network, half)
    assert bound.unit == (1 * 3 + 3) * 3 + 3
    stream = Fraction(1, 2)
    for _ in range(2):
        stream += stream**3 / 8
    assert bound(1) == stream * 2**bound.unit


def test_kinds_of_floats() -> None:
    assert floats_named(np.dtype("float64")) is FLOATS["float64"]
    assert floats_named("float16").least_exponent == -14
    for name, floats in FLOATS.items():
        info = np.finfo(name)
        assert (info.nmant + 1, info.minexp) == (floats.bits, floats.least_exponent)
    assert unit_exponent(np.array([[Fraction(0)]], dtype=object), "V1") == 0


def test_tiny_units_are_refused() -> None:
    """Products of weights would leave the range of floats."""
    tiny = Weights.of({"Q1": [[Fraction(1, 2**60)]], "K1": [[Fraction(1, 2**60)]], "V1": [[Fraction(1, 2**60)]]})
    with pytest.raises(TooLarge):
        Exactness(replace(tiny.architecture(1)), tiny).largest_input(FLOATS["float32"])
    assert Exactness(tiny.architecture(1), tiny).largest_input(FLOATS["float64"]) > 1
