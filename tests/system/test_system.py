"""One network over several fields, what its layers write and read, and direct sums: laws that hold for all of them."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from special_weights import drawn_network

from lightning_sym import SOFTMAX, Architecture, Weights, transform
from lightning_sym.errors import BadInput
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.network.form import NetworkForm
from lightning_sym.rings.limbs import Limbs
from lightning_sym.rings.normalization import Normalization
from lightning_sym.rings.prime_field import PRIMES, modulo_a_prime
from lightning_sym.symmetries.point import Point
from lightning_sym.system import reach
from lightning_sym.system.circuits import NetworkCircuits, residue_network
from lightning_sym.system.common_streams import common_streams, streams
from lightning_sym.system.fields import Q, prime_field
from lightning_sym.system.graph_streams import DyadicBound

P = PRIMES[0]
LINEAR = Normalization("1 + y", lambda k: Fraction(int(k < 2)), lambda y: 1 + y)


def networks(seed: int, count: int = 16) -> list[tuple[Architecture, Weights]]:
    """Small ones with small entries, among them heads that are zero, equal, or of rank one."""
    source = Random(seed)
    return [drawn_network(source, source.choice([None, SOFTMAX]), 60) for _ in range(count)]


def dimensions(network: Any, field: Any, **options: bool) -> list[list[int]]:
    options_of_readers = {"scores": options.pop("scores", True)}
    return [
        [space.dimension for space in reach.reached(network, field, **options)],
        [space.dimension for space in reach.observed(network, field, **options_of_readers)],
    ]


@pytest.mark.parametrize("seed", [1, 2])
def test_both_fields_see_the_same_spaces(seed: int) -> None:
    """Entries are small: no minor of these matrices is divisible by the prime."""
    for _, weights in networks(seed):
        modulo, p = residue_network(weights)
        for scores in (True, False):
            assert dimensions(modulo, prime_field(p), scores=scores) == dimensions(
                NetworkCircuits.of(weights), Q, scores=scores
            )


def test_spaces_are_within_their_largest_dimensions_and_reach_them() -> None:
    generic = 0
    for shape, weights in networks(3):
        p, residues = modulo_a_prime(weights.all_held) or (0, {})
        point = Point(shape, list(residues.values()), p)
        found = [list(map(len, spaces)) for spaces in (point.written, point.read)]
        most = [reach.most_reached(shape), reach.most_observed(shape)]
        assert all(a <= b for pair in zip(found, most, strict=True) for a, b in zip(*pair, strict=True))
        assert point.is_generic == (found == most)
        random = Weights.random(shape, seed=1, bound=50)
        p, residues = modulo_a_prime(random.all_held) or (0, {})
        generic += Point(shape, list(residues.values()), p).is_generic
    assert generic == 16


@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_written_stays_in_what_is_reached(seed: int) -> None:
    for _, weights in networks(seed):
        network = NetworkCircuits.of(weights)
        written, read = list(reach.reached(network, Q)), list(reach.observed(network, Q))[::-1]
        assert written[0].contains(network.embed)
        for heads, before, behind in zip(network.layers, written, written[1:], strict=False):
            assert all(behind.contains(head.carried(before.basis)) for head in heads)
        for heads, before, behind in zip(network.layers, read, read[1:], strict=False):
            assert all(before.contains(head.read(behind.basis)) for head in heads)
            assert all(before.contains(matrix.mT) for head in heads for matrix in (head.key, head.query))


def test_lightning_heads_on_one_vector_write_one_vector() -> None:
    weights = Weights.random(Architecture((3, 3, 3), (2, 2), 2, heads=2, embed=1), seed=1)
    network = NetworkCircuits.of(weights)
    assert dimensions(network, Q)[0] == [1, 2, 3]
    assert dimensions(network, Q, together=True)[0] == [1, 1, 1] == reach.most_reached(weights.architecture(2))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_network_with_itself_is_its_stream_twice(seed: int) -> None:
    """The direct sum of a network with itself lies in the diagonal, and each network in it is spelled alike."""
    for shape, weights in networks(seed):
        network = NetworkCircuits.of(weights)
        alone, both = streams((network,), shape.tokens), common_streams(network, network, shape.tokens)
        assert alone.same
        assert both.same
        for one, two in zip(alone.layers, both.layers, strict=True):
            assert two.spelled == (one.spelled[0], one.spelled[0])
            for space, twice in ((one.reached, two.reached), (one.apart, two.apart)):
                assert twice.basis == space.basis.above(space.basis)
        assert both.reached.basis == alone.reached.basis.above(alone.reached.basis)


def test_three_networks_are_the_same_where_each_two_are() -> None:
    for shape, weights in networks(4, 8):
        other = Weights.of(
            {n: m * {"Q": 2, "K": Fraction(1, 2)}.get(n[0], 1) for n, m in weights.named().items()}, weights.form
        )
        third = Weights.of({n: m * (2 if n == "V1" else 1) for n, m in weights.named().items()}, weights.form)
        nets = [NetworkCircuits.of(w) for w in (weights, other, third)]
        pairs = [common_streams(nets[0], net, shape.tokens).same for net in nets[1:]]
        assert pairs[0]
        assert streams(nets, shape.tokens).same == all(pairs)


@pytest.mark.parametrize(
    ("normalization", "tokens", "same"), [(SOFTMAX, 2, True), (SOFTMAX, 3, False), (LINEAR, 2, False)]
)
def test_patterns_of_opposite_scores_have_one_sum(normalization: Normalization, tokens: int, same: bool) -> None:
    """For softmax of two tokens it is J, twice the pattern of scores zero: 1 / (1 + e^s) + 1 / (1 + e^-s) = 1."""
    value = [[3, 4], [1, 2]]
    two = {"Q1.1": [[1, 2]], "K1.1": [[1, 3]], "V1.1": value, "Q1.2": [[-1, -2]], "K1.2": [[1, 3]], "V1.2": value}
    one = {"Q1": [[0, 0]], "K1": [[1, 1]], "V1": [[6, 8], [2, 4]]}
    nets = [NetworkCircuits.of(Weights.of(each, NetworkForm(normalization))) for each in (two, one)]
    assert streams(nets, tokens).same is same


def test_each_network_reads_its_own_part_of_the_stream() -> None:
    shape = Architecture((2, 2, 2), (1, 1), 3, SOFTMAX, heads=2, skip=True, embed=2, unembed=2)
    weights = Weights.random(shape, seed=1)
    nets = [NetworkCircuits.of(w) for w in (weights, transform(weights, between={0: [[1, 1], [0, 2]]}))]
    assert streams(nets, 3).same
    assert streams(nets[::-1], 3).same


def test_motions_on_pivots_of_the_stream_do_what_they_do_in_its_bases() -> None:
    shape = Architecture((4, 4, 4), (2, 2), 2, SOFTMAX, heads=2, skip=True, embed=2, unembed=2, value_ranks=(1, 1))
    _, residues = modulo_a_prime(Weights.random(shape, seed=1).all_held) or (P, {})
    point, source = Point(shape, list(residues.values()), P), np.random.default_rng(0)
    assert point.places["E"] == (0, None)
    assert point.places["U"] == (None, 2)
    assert [point.places[f"{letter}2.1"] for letter in "QKVO"] == [(None, 1), (None, 1), (None, 1), (2, None)]
    written, read = point.written[0], point.read[1]
    block = source.integers(0, P, (3, 2, len(written)))
    moved = point.moving(**{"Q1.1": block}).residues()[:, point.starts["Q1.1"] :][:, :8].reshape(3, 2, 4)
    assert (np.mod(moved @ written.T, P) == block).all()
    block = source.integers(0, P, (3, len(read), 1))
    moved = point.moving(**{"O1.2": block}).residues()[:, point.starts["O1.2"] :][:, :4].reshape(3, 4, 1)
    assert (np.mod(read @ moved, P) == block).all()


def test_sizes_of_products_are_bounds_of_them() -> None:
    source = np.random.default_rng(0)
    one, other = (source.integers(-(2**20), 2**20, shape) / 2**k for shape, k in (((3, 4), 5), ((4, 2), 9)))
    size = DyadicBound.of(Limbs.of(one)) @ DyadicBound.of(Limbs.of(other))
    assert size.shape == (3, 2)
    assert size.mT.shape == (2, 3)
    product = np.array([[Fraction(x) for x in row] for row in one]) @ np.array(
        [[Fraction(x) for x in r] for r in other]
    )
    scaled = [x / Fraction(2) ** size.power for x in product.ravel()]
    assert all(x.denominator == 1 and abs(x) < size.bound for x in scaled)


def test_idle_heads_and_primes_that_do_not_divide() -> None:
    weights = Weights.of({f"{c}1.{h}": [[Fraction(h - 1, P)] if c == "V" else [1]] for c in "QKV" for h in (1, 2)})
    assert [len(layer) for layer in NetworkCircuits.of(weights).layers] == [2]
    assert [len(layer) for layer in NetworkCircuits.of(weights, idle_heads=False).layers] == [1]
    network, p = residue_network(weights, idle_heads=False)
    assert p == PRIMES[1]
    assert rank_mod_p(network.layers[0][0].value.residues(), p) == 1
    with pytest.raises(BadInput, match="denominators must not be divisible"):
        residue_network(weights, primes=PRIMES[:1])
