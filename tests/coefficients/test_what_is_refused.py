"""What coefficients are not asked of: one line each, with what was given."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from lightning_sym import (
    SOFTMAX,
    BadInput,
    NetworkForm,
    Weights,
    coefficients_of,
    deep_linear_coefficient,
    factorization_coefficient,
    learning_coefficient,
    polynomial_coefficient,
)
from lightning_sym.coefficients.softmax_layer import is_injective
from lightning_sym.rings.prime_field import PRIMES
from lightning_sym.rings.rationals import RationalMatrix

ONE = {"Q1": [[1]], "K1": [[1]], "V1": [[1]]}
TWO = ONE | {"Q2": [[1]], "K2": [[1]], "V2": [[1]]}
WIDE = {"Q1": [[1, 0]], "K1": [[1, 0]], "V1": [[1, 0], [0, 1]], "Q2": [[1, 0]], "K2": [[1, 0]], "V2": [[1, 0], [0, 1]]}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (lambda: learning_coefficient(Weights.of(ONE), loss="kl"), "two outputs or more, got 1"),
        (lambda: learning_coefficient(Weights.of(WIDE, NetworkForm(skip=True)), loss="kl"), "with skip connections is"),
        (lambda: learning_coefficient(Weights.of(ONE), loss="absolute"), "one of squared, kl, got 'absolute'"),
        (lambda: learning_coefficient(["x*y"], loss="kl"), "of polynomials the loss must be squared, got 'kl'"),
        (lambda: learning_coefficient(Weights.of(ONE), at={"x": 1}), "a point is given for polynomials"),
        (lambda: coefficients_of({"a": ONE}), "Weights at every place, got .* at 'a'"),  # type: ignore[dict-item]
        (lambda: polynomial_coefficient([object()]), "polynomials must be SymPy expressions, got <object"),
        (lambda: deep_linear_coefficient([3], 0), "from 2 to 32 widths, got 1"),
        (lambda: deep_linear_coefficient([2, 2], 3), "at most the smallest width, 2; got 3"),
        (lambda: factorization_coefficient([]), "from 1 to 12 matrices, got 0"),
        (lambda: factorization_coefficient([[[1, 2]], [[1, 2]]]), "matrix 2 must have 1 columns, .* got 2"),
    ],
)
def test_each_is_refused_by_name(asked: Callable[[], object], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        asked()


@pytest.mark.parametrize("form", [NetworkForm(skip=True), NetworkForm(SOFTMAX, skip=True)])
def test_zero_ends_beside_skip_connections(form: NetworkForm) -> None:
    """The function is U E and more; where E is zero it is U E to first order, where U is, what U sees at E."""
    seen = [learning_coefficient(Weights.of(TWO | {"E": [[0, 0]], "U": [[1]]}, form), 2)]
    seen += [learning_coefficient(Weights.of({n: [[0]] for n in TWO} | {"E": [[1, 0]], "U": [[0]]}, form), 2)]
    assert [(found.value, found.multiplicity) for found in seen] == [(1, 1), (Fraction(1, 2), 1)]


def test_a_prime_in_a_denominator_is_passed_by() -> None:
    values = [RationalMatrix.of([[Fraction(1, PRIMES[0]), Fraction(0)], [Fraction(0), Fraction(1)]])]
    assert is_injective(values)
    assert not is_injective([RationalMatrix.of([[0, 0], [0, 0]])])
