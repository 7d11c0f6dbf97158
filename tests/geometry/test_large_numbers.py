"""Shapes and equations whose numbers are long: refused in one line, or exact all the same."""

from __future__ import annotations

from dataclasses import replace

import pytest
from command import run

from lightning_sym import Architecture, Weights, layer_orbits
from lightning_sym.errors import TooLarge
from lightning_sym.geometry.singular_locus import singular_locus
from lightning_sym.varieties.degree import MOST_DIGITS, variety_degree
from lightning_sym.varieties.equations import equations
from lightning_sym.varieties.known_ideal import Orbit


@pytest.mark.parametrize("widths", ["4765,1", "10000,1", "1000000000,1", "4000,7", "1000000000,3"])
def test_a_degree_with_too_many_digits_is_one_line(widths: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Python itself refuses to print more than 4,300 digits, and some are too long to be computed."""
    code, out, error = run(capsys, "classify", "--singular-ideal", "--widths", widths, "--ranks", "1")
    assert (code, out, len(error.splitlines())) == (2, "", 1)
    assert "digits" in error


def test_the_longest_degrees_that_can_be_printed() -> None:
    found = singular_locus(Architecture((4764, 1), (1,), 2))
    assert found.degree is not None
    assert len(str(found.degree)) == MOST_DIGITS
    with pytest.raises(TooLarge, match="digits"):
        variety_degree(Architecture((60, 317), (60,), 2))  # 4,302 digits


def test_the_weights_of_a_wide_layer_are_bounded_before_they_are_made() -> None:
    with pytest.raises(TooLarge, match="monomials fit into 64 bits"):
        singular_locus(Architecture((10**9, 3), (4,), 2))


def test_long_coefficients_bound_the_same_tangent_space() -> None:
    """Equations of deep networks have coefficients of hundreds of bits."""
    network = Architecture((2, 1), (2,), 2)
    found = equations(network, 4)
    longer = {
        degree: tuple(Orbit({m: 3**80 * c for m, c in o.terms.items()}, o.images) for o in some)
        for degree, some in found._orbits.items()
    }
    long = replace(found, _orbits=longer)
    for orbit in layer_orbits(network):
        weights: Weights = orbit.weights(2)
        assert long.tangent_dimension_bound(weights) == orbit.tangent_dimension
