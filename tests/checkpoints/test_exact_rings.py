"""The rings in which weights are compared agree with fractions, and sizes are never too small."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from lightning_sym.checkpoints.exact_compare import held

from lightning_sym.checkpoints.equations import LayerGauge
from lightning_sym.checkpoints.exact_rings import Ratio, Residues, Size, primes_for
from lightning_sym.checkpoints.nice_numbers import nice
from lightning_sym.errors import TooLarge


def exactly(array: Any) -> Any:
    found = np.array([Fraction(float(x)) for x in array.ravel()], dtype=object)
    return found.reshape(array.shape)


def wide(seed: int, shape: tuple[int, int], kind: Any, spread: int) -> Any:
    random = np.random.default_rng(seed)
    return np.ldexp(random.standard_normal(shape), random.integers(-spread, spread, shape)).astype(kind)


@pytest.mark.parametrize("spread", [1, 20, 60])
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_residues_and_sizes(kind: Any, spread: int) -> None:
    spread = min(spread, 8) if kind is np.float16 else spread
    a, b, c = (wide(seed, shape, kind, spread) for seed, shape in enumerate([(3, 4), (4, 5), (3, 5)]))
    expected = exactly(a) @ exactly(b) * 1 - exactly(c)
    inner = float(np.log2(5))
    bits = (Size.of(a, inner) @ Size.of(b, inner) - Size.of(c, inner)).bits
    power = max(x.denominator for x in expected.ravel())
    assert max(abs(x * power) for x in expected.ravel()) < 2**bits
    for p in primes_for(bits):
        found = Residues.of(a, p) @ Residues.of(b, p) - Residues.of(c, p)
        for have, want in zip(found.entries.ravel(), expected.ravel(), strict=True):
            assert int(have) % p == want.numerator * pow(want.denominator, -1, p) % p


def test_a_difference_that_one_prime_does_not_see_is_seen_by_the_others() -> None:
    p = primes_for(1)[0]
    a, b = np.array([[float(p)]]), np.array([[0.0]])
    difference = Size.of(a, 0) - Size.of(b, 0)
    assert not (Residues.of(a, p) - Residues.of(b, p)).nonzero().any()
    assert any((Residues.of(a, q) - Residues.of(b, q)).nonzero().any() for q in primes_for(difference.bits))


def test_ratios_and_fractions() -> None:
    third = Ratio(np.array([[1.0, 2.0]]), 3)
    p = primes_for(1)[0]
    assert (Residues.of(third, p) * Residues.of(np.array([[3.0, 3.0]]), p)).entries.tolist() == [[1, 2]]
    same = Residues.of(np.array([[Fraction(1, 3), Fraction(2, 3)]], dtype=object), p)
    assert not (same - Residues.of(third, p)).nonzero().any()
    assert Size.of(third, 0).bits >= 3


def test_too_long_numbers_are_refused() -> None:
    with pytest.raises(TooLarge):
        primes_for(10**4)


def test_products_that_leave_the_range_are_not_trusted() -> None:
    one, small, large = np.array([1.0, -1.0]), np.array([1e-300, 0.0]), np.array([1e300])
    assert held([small, large], [one], [one])
    assert held([small], [np.array([2.0])])
    assert not held([small], [np.array([2.0**-30])])
    assert not held([large], [np.array([2.0**40])])
    assert not held([small], [large])
    assert not held([np.array([0.1])], [np.array([3.0])])
    assert held([np.array([0.1])], [np.array([-4.0])])
    assert not held([np.array([Fraction(1, 3)], dtype=object)], [one])


def test_a_turn_by_a_quarter_is_no_identity() -> None:
    """Turns of two frequencies have the shape of a matrix of two rows."""
    order = np.arange(1)
    one, quarter = Ratio(np.array([[[1.0, 0.0], [1.0, 0.0]]]), 1), Ratio(np.array([[[1.0, 0.0], [0.0, 1.0]]]), 1)
    for turns, does in ((one, False), (quarter, True)):
        gauge = LayerGauge(order, order, order, quarter, quarter, turns=turns, turns_inverse=turns)
        assert gauge.does("turns") is does
        assert not gauge.does("values")


def test_nice_numbers() -> None:
    assert nice(np.array([0.1])) is not None
    assert nice(np.array([np.pi])) is None
    assert nice(np.array([np.inf])) is None
