"""Softmax with exponentials as variables: derivatives, independence of scores, the ranks that Taylor series give."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from drawn import transformer as random_transformer

from lightning_sym import SOFTMAX, Architecture, Normalization, certified_dimension
from lightning_sym.errors import BadInput, ShapeError, TooLarge
from lightning_sym.network.attention import Form, attended, network_output
from lightning_sym.network.jacobian import RandomJacobian, Sample
from lightning_sym.rings.derivatives import Dual, Recorded
from lightning_sym.rings.free_exponentials import FreeExponentials
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix, reduce_mod
from proofs_check.claims.normalized.free_exponentials import written

P = PRIMES[0]
BY_SERIES = replace(SOFTMAX, name="softmax by its series", growth=None)
NETWORKS = [
    Architecture((2, 3), (2,), 3, SOFTMAX, heads=2),
    Architecture((3, 2, 2), (1, 2), 3, SOFTMAX),
    Architecture((2, 1, 2), (2, 1), 3, SOFTMAX),
    Architecture((2, 2, 2), (2, 1), 2, SOFTMAX, heads=2, embed=1),
    Architecture((2, 2, 2), (2, 2), 3, SOFTMAX, skip=True, embed=1, unembed=3),
    Architecture(
        (2, 2, 2), (1, 2), 2, SOFTMAX, heads=2, value_ranks=(1, 2), skip=True, causal=True, embed=3, unembed=1
    ),
    Architecture((2, 1, 1), (1, 1), 3, SOFTMAX, causal=True),
    Architecture((2, 2), (1,), 1, SOFTMAX),
]


def along(jacobian: RandomJacobian, sample: Sample, row: int, direction: np.ndarray) -> int:
    """The derivative that a row gives, anew: forward, over Python's integers, by the quotient rule."""
    network, place, weights = jacobian.architecture, 0, []
    for w in jacobian.weights:
        size = w.entries.size
        tangent = direction[place : place + size].reshape(w.entries.shape)
        weights.append(Dual(w.residues().astype(object), tangent.astype(object)))
        place += size
    assert sample.exponentials is not None
    exponentials = iter(sample.exponentials[row].astype(object))

    def pattern(scores: Dual) -> Dual:
        e = next(exponentials) * attended(network).astype(int)
        moved, sums = e * scores.tangent, e.sum(axis=0)
        inverse = np.array([pow(int(s), -1, P) for s in sums], dtype=object)
        return Dual(e * inverse % P, (moved * inverse - e * moved.sum(axis=0) * inverse**2) % P)

    x = sample.inputs[row].astype(object)
    output: Any = network_output(Dual(x, 0 * x), network, weights, Form(pattern, network.skip))
    assert next(exponentials, None) is None
    return int((sample.functionals[row, 0] * output.tangent).sum() % P)


@pytest.mark.parametrize("network", NETWORKS, ids=str)
@pytest.mark.parametrize("each", [1, 2])
def test_rows_are_derivatives_at_the_exponentials_drawn(network: Architecture, each: int) -> None:
    rng = np.random.default_rng(7)
    jacobian = RandomJacobian(network, rng, P, each=each)
    sample = jacobian.sample(5)
    direction = rng.integers(0, P, size=network.parameter_count)
    found = [along(jacobian, sample, i, direction) for i in range(5)]
    assert found == [int((row.astype(object) * direction).sum() % P) for row in sample.rows]
    assert sample.exponentials is not None
    distinct = {tuple(map(tuple, sample.exponentials[i].reshape(1, -1).tolist())) for i in range(5)}
    assert len(distinct) == (-(-5 // each) if network.tokens > 1 else 1)
    if network.tokens > 1:  # at other exponentials they are other derivatives
        sample.exponentials[0, 0, 0, -1] += 1
        assert along(jacobian, sample, 0, direction) != found[0]


@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_equal_scores_have_equal_exponentials(network: Architecture) -> None:
    sample = RandomJacobian(network, np.random.default_rng(2), P).sample(3)
    assert sample.exponentials is not None
    seen = attended(network) > 0
    assert not sample.exponentials[..., ~seen].any()
    assert (sample.exponentials.sum(axis=-2) % P).all()
    for i, f in enumerate(written(network)):
        for drawn in np.moveaxis(sample.exponentials, 1, 0)[i * network.heads : (i + 1) * network.heads]:
            symmetric = (drawn == drawn.swapaxes(1, 2)).all()
            assert symmetric == ((f == 1 and not network.causal) or network.tokens == 1)


def test_symmetric_patterns_are_exponentials_by_their_sums() -> None:
    exponentials = FreeExponentials(np.random.default_rng(0), np.ones((3, 3)), P)
    scores = Recorded(PrimeFieldMatrix.of(np.arange(9).reshape(1, 3, 3) + np.arange(9).reshape(1, 3, 3).mT, P))
    pattern, drawn = exponentials(scores).value, exponentials.drawn[0]
    assert (drawn.residues() == drawn.residues().mT).all()
    sums = reduce_mod(drawn.entries.sum(axis=-2, keepdims=True), P)
    assert (reduce_mod(pattern.entries * sums, P) % P == drawn.entries % P).all()
    assert not (sums % P == 1).all()


def test_ranks_are_those_of_taylor_series() -> None:
    rng, seen = np.random.default_rng(11), set[Architecture]()
    while len(seen) < 60:
        network = random_transformer(rng)
        if network.normalization == SOFTMAX and network not in seen and network.parameter_count < 80:
            seen.add(network)
            by_series = certified_dimension(replace(network, normalization=BY_SERIES))
            found = certified_dimension(network)
            assert (found.lower, found.order) == (by_series.lower, None)
            assert by_series.order is not None


def test_a_hundred_layers() -> None:
    assert certified_dimension(Architecture((2,) * 101, (1,) * 100, 2, SOFTMAX)).value == 304
    with pytest.raises(TooLarge, match="degree at most 40,000, 11 normalized layers"):
        certified_dimension(Architecture((2,) * 12, (1,) * 11, 2, BY_SERIES))


def test_only_exponentials_are_free() -> None:
    with pytest.raises(BadInput, match="for a normalization that is no exponential, got none for softmax by its"):
        RandomJacobian(Architecture((2, 2), (1,), 2, BY_SERIES), np.random.default_rng(0), P)
    with pytest.raises(ShapeError, match="growth must be c with S' = c S, not 0, or None; got 0"):
        Normalization("constant", lambda k: Fraction(int(k == 0)), growth=Fraction(0))
    double = Normalization("exp(2 y)", lambda k: 2**k * SOFTMAX.taylor(k), growth=Fraction(2))
    network = Architecture((2, 2), (1,), 2, double)
    assert certified_dimension(network).value == certified_dimension(replace(network, normalization=SOFTMAX)).value
