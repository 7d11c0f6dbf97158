"""What the benchmarks compute, never how long it takes."""

from __future__ import annotations

import drawn
import floating
import growth
import numpy as np
import padic_volumes
import peers
import points
import pytest
import singularities
import systems
from measuring import HERE
from shapes import SHAPES

from lightning_sym import SOFTMAX, Architecture, Layer, certified_dimension, polynomial_map
from lightning_sym.exact.rational import rank
from lightning_sym.network.jacobian import weight_gradients

# ten inputs are too few for it: three layers of width four, attention matrices of rank one
CAPPED = Architecture((4, 4, 4, 4), (1, 1, 1), tokens=3)


def _exact(integers: np.ndarray) -> np.ndarray:
    """Python's integers, of floats that hold integers."""
    return integers.astype(np.int64).astype(object)


def exact_jacobian(network: Architecture, weights: list[np.ndarray], x: np.ndarray) -> np.ndarray:
    """All outputs of all inputs by all weights over Python's integers, one functional after the other."""
    layers = [Layer(*(_exact(w) for w in weights[i : i + 3])) for i in range(0, len(weights), 3)]
    rows = []
    for one in _exact(x):
        for unit in np.eye(network.widths[-1] * network.tokens, dtype=int).astype(object):
            functional = unit.reshape(network.widths[-1], network.tokens)
            rows.append(np.concatenate([g.ravel() for g in weight_gradients(layers, one, functional)]))
    return np.array(rows)


def integer_point(
    network: Architecture, inputs: int, seed: int = 0, bound: int = 2
) -> tuple[list[np.ndarray], np.ndarray]:
    """Integers in float64; so small that nothing is rounded below 2^53."""
    generator = np.random.default_rng(seed)

    def integers(shape: tuple[int, ...]) -> np.ndarray:
        return generator.integers(-bound, bound + 1, size=shape).astype(np.float64)

    shape = (inputs, network.widths[0], network.tokens)
    return [integers(s) for _, s in network.weight_shapes()], integers(shape)


@pytest.mark.parametrize("network", SHAPES.values(), ids=SHAPES)
def test_floating_jacobian_is_the_exact_one_on_small_integers(network: Architecture) -> None:
    weights, x = integer_point(network, inputs=3)
    found, expected = floating.jacobian(weights, x), exact_jacobian(network, weights, x)
    assert max(map(abs, expected.ravel())) < 2**53
    assert found.shape == (3 * network.widths[-1] * network.tokens, network.parameter_count)
    assert (found.astype(object) == expected).all()


def test_softmax_jacobian_is_the_limit_of_differences() -> None:
    network = Architecture((2, 3, 2), (2, 1), tokens=3)
    weights, x = floating.gaussian_point(network, np.random.default_rng(1), np.float64, inputs=2)
    found, step, column = floating.jacobian(weights, x, softmax=True), 1e-6, 0

    def outputs() -> np.ndarray:
        y = x
        for i in range(0, len(weights), 3):
            scores = np.exp((weights[i + 1] @ y).mT @ (weights[i] @ y))
            y = weights[i + 2] @ y @ (scores / scores.sum(axis=1, keepdims=True))
        return y.ravel()

    for w in weights:
        for index in np.ndindex(w.shape):
            w[index] += step
            above = outputs()
            w[index] -= 2 * step
            below = outputs()
            w[index] += step
            np.testing.assert_allclose(found[:, column], (above - below) / (2 * step), rtol=1e-5, atol=1e-6)
            column += 1
    assert column == found.shape[1]


@pytest.mark.parametrize(
    "network", [Architecture((2, 2), (2,), 2), Architecture((2, 2, 2), (2, 2), 2, normalization=SOFTMAX)], ids=str
)
def test_floating_estimate_is_right_where_that_is_easy(network: Architecture) -> None:
    assert floating.estimate(network, np.float64) == certified_dimension(network).value


def test_overflow_is_no_rank() -> None:
    assert floating.trial(Architecture((8,) * 6, (4,) * 5, 3), seed=0, precision=np.float32) is None


def test_ten_inputs_cap_an_exact_rank() -> None:
    assert certified_dimension(CAPPED).value == 34
    weights, x = integer_point(CAPPED, inputs=10, bound=9)
    assert rank(exact_jacobian(CAPPED, weights, x)) == 31  # over Q, of 120 rows
    assert peers.rank_of_all_outputs(CAPPED, inputs=10) == 31
    assert peers.rank_of_all_outputs(CAPPED, inputs=20) == 34
    assert len({peers.rank_of_all_outputs(CAPPED, inputs=10, seed=seed) for seed in range(10)}) == 1


@pytest.mark.parametrize("network", [n for n, _ in peers.DIMENSIONS if n.parameter_count < 500], ids=str)
def test_numbers_worked_out_by_hand(network: Architecture) -> None:
    assert certified_dimension(network).value == dict(peers.DIMENSIONS)[network]


@pytest.mark.parametrize("network", [Architecture((2, 2), (2,), 2), Architecture((1, 2, 1), (1, 1), 1)], ids=str)
def test_sympy_roads_give_the_same_numbers(network: Architecture) -> None:
    assert systems.sympy_dimension(network)[0] == certified_dimension(network).value
    terms = {systems.sympy_ring_terms(network)[0], systems.sympy_poly_terms(network)[0]}
    assert terms == {polynomial_map(network).term_count}


def test_a_system_that_answers_is_read_and_one_that_is_late_is_named() -> None:
    sympy = systems.DIMENSION_SYSTEMS[-1]
    answer = sympy.ask(Architecture((1, 1), (1,), 1), limit=300)
    assert (answer.value, answer.note) == (1, "")
    assert answer.seconds is not None
    asker = peers.Asker(limit=0.01)
    assert asker.ask(sympy, CAPPED).note == "over 0.01 s"
    assert asker.ask(sympy, CAPPED).note == "not asked"
    assert systems.System("none", "no-such-program", systems.singular_terms).ask(CAPPED, 1).note == "not installed"


def test_wrong_answers_are_called_wrong() -> None:
    assert "WRONG" in peers.cell(systems.Answer(31, 1.0), right=34, ours=1.0)
    assert "WRONG" not in peers.cell(systems.Answer(34, 1.0), right=34, ours=1.0)


def test_scripts_name_every_variable_once() -> None:
    network = Architecture((2, 3), (1,), 2)  # 10 weights, 4 inputs
    script = systems.macaulay2_terms(network)
    assert [script.count(f"v_{i}" + end) for i in range(13) for end in (",", "}")].count(0) == 13
    assert "V1 = matrix {{v_4, v_5}, {v_6, v_7}, {v_8, v_9}};" in script
    assert "matrix V1[3][2] = w(5..10);" in systems.singular_terms(network)


def test_many_networks_are_different_small_and_reach_the_largest() -> None:
    networks = drawn.networks("plain", 300, seed=0)
    assert len(set(networks)) == 300
    assert max(network.parameter_count for network in networks) == drawn.LARGEST
    assert {network.depth for network in networks} == set(range(1, 7))


def test_growth_family_and_slope() -> None:
    assert [growth.family(growth.WIDTHS[i]).parameter_count for i in (0, -1)] == [128, 100880]
    rows = [{"parameters": 10.0**k, "seconds": 10.0 ** (2 * k) if k > 2 else 1.0} for k in (1, 2, 3, 3.5, 4)]
    assert growth.slope(rows, "seconds") == pytest.approx(2)


def test_a_point_is_measured_in_a_process_of_its_own() -> None:
    assert points.measure(HERE, 3, 60).startswith("regular, dim M = 17: ")
    assert points.measure(HERE, 3, 0.001) == "over 0.001 s"


def test_counts_over_padic_integers_are_those_of_all_weights() -> None:
    bits = (np.arange(2**12)[:, None] >> np.arange(12)) & 1
    e, q, u = (bits[:, i : i + 4].reshape(-1, 2, 2) for i in (0, 4, 8))
    scores, outputs = e @ q @ e.mT % 2, e @ u % 2
    zero = ~(scores.any(axis=1) & outputs.any(axis=2)).any(axis=1)
    assert padic_volumes.measure(2, 2, 0) == pytest.approx(1)
    assert padic_volumes.measure(2, 2, 1) * 2**12 == pytest.approx(zero.sum()) == 1990


def test_models_of_the_volumes_have_no_loss_at_their_own_weights_and_some_beside() -> None:
    generator = np.random.default_rng(0)
    for case in singularities.CASES:
        loss, size = singularities.loss_of(case, generator)
        own, beside = loss(np.vstack([np.zeros(size), generator.normal(size=size)]))
        assert own == 0 < beside
