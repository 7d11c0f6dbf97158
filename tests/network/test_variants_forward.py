"""The forward pass with variants of attention is the plain sums, over every ring that can; others refuse by name."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy
from conformance import INPUT, RINGS, Ring, numbers_for, rows_of, run
from flint import arb
from grouped import grouped
from plain_variants import plain_variant
from variants import ONE_BY_ONE, RATIONAL, SOFTMAX_ONLY

from lightning_sym import Architecture, NetworkForm, Weights, network_output, polynomial_map
from lightning_sym.errors import RingError
from lightning_sym.network.pieces import SHAPED
from lightning_sym.network.rotary import Rotary
from lightning_sym.rings.ball_matrices import BallMatrix
from lightning_sym.rings.balls import precision
from lightning_sym.rings.midpoint_radius import MidpointRadius

REAL_RINGS = {"matrices of balls": BallMatrix.of, "balls of floats": MidpointRadius.of}
"""Rings that have roots, angles and exponentials."""

REAL = {
    "sqrt": mpmath.sqrt, "cos": mpmath.cos, "sin": mpmath.sin,
    "silu": lambda x: x / (1 + mpmath.exp(-x)),
    "gelu": lambda x: x * mpmath.ncdf(x),
    "gelu_new": lambda x: x / 2 * (1 + mpmath.tanh((2 / mpmath.pi) ** 0.5 * (x + mpmath.mpf(44715) / 10**6 * x**3))),
}  # fmt: skip


def agrees(ring: Ring, shape: Architecture) -> None:
    numbers = numbers_for(shape, 1)
    plain = rows_of(numbers)
    found = ring.read(run(lambda name: ring.make(name, numbers[name]), shape), numbers)
    assert np.asarray(found).tolist() == ring.expected(plain_variant(plain[INPUT], shape, plain))


@grouped("shape", RATIONAL.values(), by=lambda _: "every shape")
@pytest.mark.parametrize("ring", [ring for ring in RINGS if ring.masks], ids=lambda ring: ring.name)
def test_every_ring_gives_the_plain_sums(ring: Ring, shape: Architecture) -> None:
    with precision(2000):  # balls of dyadic numbers stay exact
        agrees(ring, shape)


@pytest.mark.parametrize("pairs", ["halves", "neighbours"])
@pytest.mark.parametrize("ring", [r for r in RINGS if r.masks and "balls" not in r.name], ids=lambda ring: ring.name)
def test_rational_points_of_the_circle_are_exact(ring: Ring, pairs: str) -> None:
    rotary = Rotary(turns=[("3/5", "4/5"), ("-5/13", "12/13")], pairs=pairs)
    agrees(ring, Architecture((2, 2), (5,), 3, rotary=rotary, causal=True))


def test_words_refuse_by_name_what_they_cannot() -> None:
    (words,) = (ring for ring in RINGS if not ring.masks)
    agrees(words, RATIONAL["two groups"])
    refused = {"rotary": "a rotation", "biases": "a bias", "gains": "a gain", "gated": "a gate"}
    for name, purpose in refused.items():
        numbers = numbers_for(ONE_BY_ONE[name], 1)
        made = {weight: words.make(weight, matrix) for weight, matrix in numbers.items()}
        with pytest.raises(RingError, match=f"{purpose} needs a ring with the operation"):
            run(made.__getitem__, ONE_BY_ONE[name])


@pytest.mark.parametrize(
    ("shape", "purpose"),
    [
        (
            Architecture((2, 2), (2,), 2, rotary=Rotary(base=100)),
            "a rotation by angles needs a ring with the operation",
        ),
        (ONE_BY_ONE["query_key_norm"], "the norm of queries and keys needs a ring with the operation elementary"),
        (Architecture((2, 2), (2,), 2, gated="silu", neurons=(1,)), "a gate with silu needs a ring with the operation"),
    ],
    ids=["angles", "norm", "silu"],
)
@pytest.mark.parametrize("ring", [ring for ring in RINGS if ring.name not in REAL_RINGS], ids=lambda r: r.name)
def test_rings_without_real_functions_refuse_by_name(ring: Ring, shape: Architecture, purpose: str) -> None:
    numbers = numbers_for(shape, 1)
    if ring.name == "balls" and shape.rotary is None:  # with one derivative, of what exponentials and roots make
        found = run(lambda name: ring.make(name, numbers[name]), shape)
        assert all(entry.is_finite() for entry in found.values().ravel())
        return
    if not ring.masks:
        purpose = "needs a ring with the operation"
    with pytest.raises(RingError, match=purpose):
        run(lambda name: ring.make(name, numbers[name]), shape)


@pytest.mark.parametrize("shape", SOFTMAX_ONLY.values(), ids=SOFTMAX_ONLY)
@pytest.mark.parametrize("ring", REAL_RINGS)
def test_balls_enclose_real_functions(ring: str, shape: Architecture) -> None:
    numbers = numbers_for(shape, 4)
    with mpmath.workdps(60), precision(300):
        real = {
            n: [[mpmath.mpf(v.numerator) / v.denominator for v in row] for row in m]
            for n, m in rows_of(numbers).items()
        }

        def softmax(scores: Any) -> Any:
            weights = [mpmath.exp(s) for s in scores]
            return [w / sum(weights) for w in weights]

        def as_real(number: Fraction) -> Any:
            return mpmath.mpf(number.numerator) / number.denominator

        expected = plain_variant(real[INPUT], shape, real, softmax, as_real, REAL)
        found = run(lambda name: REAL_RINGS[ring](numbers[name]), shape)
        balls = found.balls().flint if isinstance(found, MidpointRadius) else found.flint
        for ball, number in zip(balls.entries(), [v for row in expected for v in row], strict=True):
            known = arb(mpmath.nstr(number, 55), 1e-45)
            assert ball.overlaps(known)
            assert abs(ball - known) < arb("1e-40" if ring == "matrices of balls" else "1e-4")


@pytest.mark.parametrize("name", RATIONAL)
def test_letters_and_polynomials_are_the_same_map(name: str) -> None:
    """Numbers put into the polynomial map give what the forward pass gives, and so do letters in SymPy."""
    network = RATIONAL[name]
    if network.depth > 1:
        network = replace(network, widths=network.widths[:2], **{
            f: getattr(network, f) and getattr(network, f)[:1] for f in ("attention_ranks", "value_ranks", "neurons")
        })  # fmt: skip
    weights = Weights.random(network, seed=2, bound=2)
    phi = polynomial_map(network, weights)
    x = np.arange(1, 1 + network.input_width * network.tokens).reshape(-1, network.tokens) % 3 - 1
    exact = network_output(x.astype(object), network, weights)
    at_x = [[sympy.Rational(str(p(*map(int, x.ravel())))) for p in row] for row in phi.entries]
    assert at_x == [[sympy.Rational(v.numerator, v.denominator) for v in map(Fraction, row)] for row in exact]
    assert sympy.Matrix(at_x) == network_output(sympy.Matrix(x.tolist()), network, weights)


def test_the_order_of_queries_is_said() -> None:
    """Norm, then gain, then rotation: the other orders give other numbers."""
    shape = SOFTMAX_ONLY["Qwen3"]
    assert shape.options - SHAPED == {"rotary", "key_heads", "gains", "query_key_norm", "gated", "neurons"}
    ones = {name: [[Fraction(i + j + 1) for j in range(b)] for i in range(a)] for name, (a, b) in shape.weight_shapes()}
    form = NetworkForm.of(shape)
    assert Weights.of(ones, form).architecture(2) == shape
