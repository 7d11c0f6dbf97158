"""Ball arithmetic: the real exp at real inputs finds the ranks that Taylor series modulo a prime find."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from ball_rank import ball_rank
from flint import arb
from minors_of_balls import nonzero_minor, rank_of_balls

from lightning_sym.dimension.certify import certified_dimension
from lightning_sym.errors import BadInput
from lightning_sym.exact.rational import rank as exact_rank
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.attention import network_output
from lightning_sym.rings.ball_matrices import DecimalBall
from lightning_sym.rings.balls import precision
from lightning_sym.rings.dual_balls import DualBalls
from lightning_sym.rings.normalization import SOFTMAX, Normalization

NETWORKS = [
    Architecture((2, 2), (1,), 2, SOFTMAX),
    Architecture((2, 3), (3,), 3, SOFTMAX),
    Architecture((1, 1), (1,), 3, SOFTMAX, heads=2),  # the first road needs a Taylor series of degree 7 here
    Architecture((2, 2, 2), (1, 2), 2, SOFTMAX),
    Architecture((2, 2, 2), (1, 1), 1, SOFTMAX),
    Architecture((3, 2, 3), (2, 1), 2, SOFTMAX),
    Architecture((2, 2, 2), (2, 2), 3, SOFTMAX, skip=True, causal=True),
    Architecture((2, 2), (1,), 2, SOFTMAX, heads=2, value_ranks=(1,), embed=3, unembed=2),
    Architecture((3, 3), (2,), 2, Normalization("1 + y", lambda k: Fraction(int(k < 2)), lambda y: 1 + y)),
    Architecture((2, 2, 2), (1, 2), 2),
]


@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_both_roads_meet(network: Architecture) -> None:
    first = certified_dimension(network)
    assert ball_rank(network) == first.lower == first.upper


@pytest.mark.parametrize("network", NETWORKS[:6], ids=str)
def test_one_more_is_not_certified(network: Architecture) -> None:
    dimension = certified_dimension(network).upper
    assert ball_rank(network, claimed=dimension, seed=1) == dimension
    assert ball_rank(network, claimed=dimension + 1, seed=1) == 0
    assert ball_rank(network, claimed=10**6) == 0


def test_the_example_transformer() -> None:
    network = Architecture(
        (3, 3, 3), (1, 1), 2, SOFTMAX, 2, (1, 1), skip=True, causal=True, embed=4, unembed=4
    )  # fmt: skip
    assert ball_rank(network) == certified_dimension(network).value == 55


def test_too_little_precision_certifies_less_and_nothing_false() -> None:
    network = Architecture((2, 2, 2), (1, 2), 2, SOFTMAX)
    found = [ball_rank(network, bits=bits) for bits in (2, 10, 30, 300)]
    assert found[0] < found[-1] == 11
    assert max(found) == 11


def test_the_softmax_is_the_real_one() -> None:
    """One layer, all weights one, inputs 1 and 2: token i sees (sum_j x_j exp(x_i x_j)) / (sum_j exp(x_i x_j))."""
    network, one = Architecture((1, 1), (1,), 2, SOFTMAX), np.array([[1]])
    with precision(200):
        x = np.array([[1, 2]])
        found = network_output(DualBalls.of(x), network, [DualBalls.of(one)] * 3).values()
        known = DualBalls.of([[1], [2], [4]]).evaluate(SOFTMAX).values().ravel()
        for i, (near, far) in enumerate([(known[0], known[1]), (known[1], known[2])]):
            assert found[0, i].overlaps((near + 2 * far) / (near + far))
            assert found[0, i].rad() < 2**-150


def test_the_derivative_is_the_derivative() -> None:
    """Against a difference quotient, which a second derivative below 1 and a step of 2^-60 bring within 2^-50."""
    network = Architecture((1, 1), (1,), 2, SOFTMAX)
    step = Fraction(1, 2**60)
    x = DualBalls.of(np.array([[Fraction(1, 2), Fraction(-1, 4)]], dtype=object))
    with precision(256):
        one = DualBalls.of([[1]])
        moved = network_output(x, network, [DualBalls.of(np.array([[1 + step]], dtype=object)), one, one]).values()
        still = network_output(x, network, [DualBalls.of([[1]], [[1]]), one, one])
        quotient = (moved - still.values()) * 2**60
        for a, b in zip(quotient.ravel(), still.derivative().ravel(), strict=True):
            assert abs(a - b) < 2**-50
            assert not b.contains(0)


@pytest.mark.parametrize("network", NETWORKS[3:], ids=str)
def test_all_directions_at_once_are_each_alone(network: Architecture) -> None:
    """The Jacobian, and one forward pass for each weight and input along the one direction in which it moves."""
    with precision(128):
        generator = np.random.default_rng(5)
        shapes = [shape for _, shape in network.weight_shapes()]
        weights = [generator.integers(-3, 4, size=shape) for shape in shapes]
        inputs = generator.integers(-3, 4, size=(2, network.input_width, network.tokens))
        still = [DualBalls.of(w) for w in weights]
        for place, weight in enumerate(weights):
            directions = np.eye(weight.size, dtype=int).reshape(-1, *weight.shape)
            together = [*still[:place], DualBalls.of(weight, directions), *still[place + 1 :]]
            found = network_output(DualBalls.of(inputs[:, None]), network, together)
            for i, j in np.ndindex(2, weight.size):
                alone = [*still[:place], DualBalls.of(weight, directions[j]), *still[place + 1 :]]
                known = network_output(DualBalls.of(inputs[i]), network, alone)
                pairs = [(found.values()[i, 0], known.values()), (found.derivative()[i, j], known.derivative())]
                for ours, theirs in pairs:
                    assert ours.shape == theirs.shape
                    assert all((a - b).abs_upper() < 2**-80 for a, b in zip(ours.flat, theirs.flat, strict=True))


@pytest.mark.parametrize("rank", [0, 1, 4, 7])
def test_ranks_of_matrices_of_all_sizes_of_numbers(rank: int) -> None:
    """Floats pick pivots, and some numbers are below all floats: known ranks, rows and columns scaled far apart."""
    generator = np.random.default_rng(rank)
    with precision(2000):
        for steps in (0, 3, 40, 90):
            left, right = (generator.integers(-9, 10, size=size).astype(object) for size in ((9, rank), (rank, 7)))
            scales = [Fraction(1, 2**steps) ** int(i) for i in generator.permutation(9)]
            product = left @ right if rank else np.zeros((9, 7), dtype=object)
            matrix = np.array([[a * x / 3 for x in row] for a, row in zip(scales, product, strict=True)], dtype=object)
            for oriented in (matrix, matrix.T):
                assert rank_of_balls(DualBalls.of(oriented).values()) == exact_rank(oriented) == rank
    infinite = np.full((2, 2), DualBalls.of([[0]]).reciprocal([[1]]).values()[0, 0], dtype=object)
    assert rank_of_balls(infinite) == 0


def test_a_determinant_around_zero_says_nothing() -> None:
    with precision(64):
        third = DualBalls.of(np.array([[Fraction(1, 3)]], dtype=object)).values()[0, 0]
        matrix = np.array([[third, 2 * third], [2 * third, 4 * third]], dtype=object)
        assert nonzero_minor(matrix, 1) is not None
        assert nonzero_minor(matrix, 2) is None
        infinite = DualBalls.of([[0]]).reciprocal([[1]]).values()
        assert nonzero_minor(infinite, 1) is None
    assert nonzero_minor(matrix, 0) is None


@pytest.mark.parametrize(
    ("middle", "radius", "text"),
    [("1/3", "1/512", "0.3333"), ("2/3", "5/512", "0.6667"), ("1/4", "0", "0.25"), ("2/3", "99/1024", "0.667")],
)
def test_decimals_are_those_that_are_known_and_one_more(middle: str, radius: str, text: str) -> None:
    """Known are those whose unit is larger than the radius, and the one after them."""
    ball = arb(float(Fraction(middle)), float(Fraction(radius)))
    found = DecimalBall.around(ball)
    assert found.midpoint == Fraction(text)
    unit = Fraction(1, 10 ** len(text.split(".")[1]))
    assert Fraction(radius) <= found.radius <= Fraction(radius) + 2 * unit  # either number is rounded


def test_what_is_refused() -> None:
    series_only = Normalization("series only", lambda k: Fraction(1))
    with pytest.raises(BadInput, match="only the Taylor series"):
        ball_rank(Architecture((2, 2), (1,), 2, series_only))
    with pytest.raises(BadInput, match="at least two bits"):
        ball_rank(NETWORKS[0], bits=1)
