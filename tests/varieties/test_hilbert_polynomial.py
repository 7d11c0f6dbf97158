"""The Hilbert polynomial: two ways to write it, the function itself, dimension and degree, and where there is none."""

from __future__ import annotations

import math

import pytest
import sympy

from lightning_sym import Architecture, equations
from lightning_sym.errors import ProgramError
from lightning_sym.varieties import equations as module
from lightning_sym.varieties.hilbert_polynomial import first_degree, formula, is_rank_one_layer
from lightning_sym.varieties.normal_weights import smallest_network

KNOWN = [
    (Architecture((2, 1), (2,), 2), 8),  # a quartic in P^5
    (Architecture((1, 1), (1,), 2), 3),  # a line
    (Architecture((3, 1), (2,), 1), 3),  # fills its span
    (Architecture((2, 2), (1,), 1, skip=True), 3),
    (Architecture((2, 1), (1,), 2), 6),
    (Architecture((3, 1), (1,), 3, causal=True), 4),
    (Architecture((4, 1), (1,), 2), 2),
]


@pytest.mark.parametrize(("network", "degree"), KNOWN, ids=str)
def test_it_is_the_hilbert_function(network: Architecture, degree: int) -> None:
    found = equations(network, degree)
    polynomial = found.hilbert_polynomial
    if polynomial is None:
        assert formula(found) is None
        assert [each.citation[:13] for each in found.tried] == ["Proposition 6", "Proposition 7"]
        assert not found.is_complete
        return
    (k,) = polynomial.gens
    first = first_degree(found)
    assert [polynomial.eval(i) for i in range(first, degree + 1)] == list(found.hilbert_function[first:])
    text = formula(found)
    assert text is not None
    assert sympy.expand(sympy.expand_func(sympy.sympify(text))) == polynomial.as_expr()
    assert found.dimension is not None
    n = found.dimension - found.is_cone  # of the projective closure
    assert polynomial.degree() == n
    assert polynomial.LC() * math.factorial(n) == found.degree
    assert str(k) == "k"
    assert text in str(found)


def test_a_hypersurface_of_high_degree_starts_late() -> None:
    """Where the degree is more than the coordinates, the polynomial is not the function from the beginning."""
    found = equations(Architecture((2, 1), (2,), 2))
    assert first_degree(found) == 0
    late = type("Late", (), {"is_complete": True, "counts": {9: 1}, "degree": 9, "linear_span": 3})()
    text = formula(late)
    assert text == "binomial(k + 2, 2) - binomial(k - 7, 2)"
    first = first_degree(late)

    def value(i: int) -> int:
        return math.comb(i + 2, 2) - (math.comb(i - 7, 2) if i >= 7 else 0)

    polynomial = sympy.expand_func(sympy.sympify(text))
    assert first == 7
    assert all(polynomial.subs("k", i) == value(i) for i in range(first, 20))
    assert polynomial.subs("k", first - 1) != value(first - 1)


@pytest.mark.parametrize(
    "network",
    [
        Architecture((3, 1), (2,), 2),
        Architecture((2, 2), (1,), 2),
        Architecture((3, 1), (1,), 1),
        Architecture((3, 1), (1,), 2, heads=2),
    ],
    ids=str,
)
def test_finitely_many_values_prove_none(network: Architecture) -> None:
    found = equations(network, 2)
    assert not is_rank_one_layer(smallest_network(network))
    assert found.hilbert_polynomial is None
    assert "polynomial" not in str(found)


def test_another_value_than_the_proposition_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "rank_one_value", lambda width, degree: math.comb(width + degree - 1, degree) ** 3)
    with pytest.raises(ProgramError, match="Proposition 7"):
        equations(Architecture((2, 1), (1,), 2), 2)
