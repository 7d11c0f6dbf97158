"""All networks of a box at once: against the same series, computed with fractions for each network by itself."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp, sinh, tanh
from typing import Any

import numpy as np
import pytest

from lightning_sym import SOFTMAX, Normalization
from lightning_sym.errors import ProgramError
from lightning_sym.network.attention import network_output
from lightning_sym.rings.power_series import PowerSeries
from lightning_sym.rings.prime_field import random_residues
from proofs_check.blackboard.series import mean_output, network, spelled
from proofs_check.boxes import (
    PRIME,
    VirtualBox,
    compare,
    fingerprints,
    jacobians,
    ranks_as_shown,
)
from proofs_check.claim import Refutation, Undecided
from proofs_check.normalizers import CUBE, EVEN, FALLING, FLAT, INJECTIVE, LINEAR, LOGISTIC, order, slope
from proofs_check.visible import shown_layers, two_causal_tokens, up_to_the_first_blind, virtual_of


def exact_series(box: VirtualBox, number: int, x: Any, degree: int) -> list[list[Fraction]]:
    *attention, value = (np.vectorize(Fraction, otypes=[object])(m[number]) for m in box.virtual())
    output = network(x, attention, value, box.normalization.taylor, degree)
    return [list(entry) for entry in output.ravel()]


@pytest.mark.parametrize("normalization", [SOFTMAX, CUBE, FALLING], ids=str)
def test_fingerprints_tell_apart_what_exact_series_do(normalization: Normalization) -> None:
    box = VirtualBox(1, 2, 2, normalization=normalization)
    virtual, degree = box.virtual(), 6 * order(normalization) + 1
    prints = [tuple(row) for row in fingerprints(box.stack(virtual), degree).tolist()]
    x = np.array([[Fraction(2), Fraction(-3, 5)]], dtype=object)
    exact = [str(exact_series(box, number, x, degree)) for number in range(len(prints))]
    for one in range(len(prints)):
        for other in range(one):
            assert (prints[one] == prints[other]) is (exact[one] == exact[other])


def test_pieces_that_fit_into_memory_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    box = VirtualBox(2, 1, 2)
    stack = box.stack(box.virtual())
    whole, gradients = fingerprints(stack, 3), jacobians(stack, 3, 2, box.places)
    monkeypatch.setattr("proofs_check.boxes.MOST_NUMBERS", 1600)
    assert sum(1 for _ in stack.parts(3)) > 5
    assert (fingerprints(stack, 3) == whole).all()
    assert all((a == b).all() for a, b in zip(jacobians(stack, 3, 2, box.places), gradients, strict=True))


def test_fingerprints_are_coefficients_of_products_of_series() -> None:
    box, degree = VirtualBox(2, 2, 2), 7
    stack = box.stack([m[::97] for m in box.virtual()])
    generator = np.random.default_rng([0, degree])
    for column in fingerprints(stack, degree).T:
        x = random_residues(generator, (2, 2), PRIME)
        functional = random_residues(generator, (1, 2, 4), PRIME).entries
        output = network_output(PowerSeries.of({1: x}, degree), stack.shape, stack.series(degree))
        product = output * PowerSeries(functional, PRIME, 0, degree)
        assert (product.coefficient(degree).residues().sum(axis=(1, 2)) % PRIME == column).all()


def test_gradients_are_differences_of_fingerprints() -> None:
    """Along the last matrix outputs are linear: the derivative is the difference of two networks."""
    box = VirtualBox(1, 1, 2, entries=(1, 2))
    virtual = [np.array([[[1]], [[1]]]), np.array([[[1]], [[2]]])]
    prints = fingerprints(box.stack(virtual), 3)
    _, by_value = jacobians(box.stack(virtual), 3, prints.shape[1], box.places)
    assert (by_value[0, :, 0] % PRIME == (prints[1] - prints[0]) % PRIME).all()


def test_outputs_are_odd() -> None:
    box = VirtualBox(1, 1, 2)
    with pytest.raises(ProgramError, match="degree must be odd, got 4"):
        fingerprints(box.stack(box.virtual()), 4)


def test_equal_residues_prove_nothing_and_different_ones_refute() -> None:
    prints = np.array([[1], [1], [2]])
    with pytest.raises(Undecided, match="0 and 1: no difference"):
        compare(prints, "abc", str)
    with pytest.raises(Refutation, match="0 and 2 have the same"):
        compare(prints, "aba", str)
    within = np.array([False, False, True])
    assert compare(prints, "abc", str, within) == "1 of 3 networks, each with a function of its own"
    with pytest.raises(Undecided):
        compare(prints, "abc", str, ~within)


def test_a_rank_that_falls_short_is_undecided() -> None:
    """Behind a blind layer the last matrix is not felt; to say that it is refutes nothing."""
    box = VirtualBox(1, 2, 2)
    virtual = [np.array([[[0]]]), np.array([[[1]]]), np.array([[[1]]])]
    every = np.ones(1, dtype=bool)
    assert ranks_as_shown(box, virtual, [every, ~every, every], 11) == "1 networks"
    with pytest.raises(Undecided, match="between 2 and 3"):
        ranks_as_shown(box, virtual, [every, every, every], 11)
    with pytest.raises(Refutation, match="said to be invisible"):
        ranks_as_shown(box, virtual, [every, ~every, ~every], 11)


def test_what_is_visible() -> None:
    skew, one = np.array([[[0, 1], [-1, 0]]]), np.array([[[1, 0], [0, 1]]])
    value = np.array([[[1, 0]]])
    assert [bool(s[0]) for s in shown_layers([skew, one, value], 2, False)] == [True, False]
    assert [bool(s[0]) for s in shown_layers([skew, one, value], 3, False)] == [True, True]
    assert [bool(s[0]) for s in shown_layers([one, skew, 0 * value], 3, True)] == [False, False]
    hidden = [up_to_the_first_blind([skew, m, value], 2, False) for m in (one, 2 * one, 0 * one)]
    assert hidden[0] == hidden[1] == hidden[2]
    zero = 0 * skew
    moved = [two_causal_tokens([*m, value]) for m in ((skew, zero), (zero, 2 * skew), (one, zero), (zero, one))]
    assert moved[0] == moved[1]
    assert moved[2] != moved[3]


def test_virtual_weights_of_factors() -> None:
    box = VirtualBox(2, 2, 2)
    virtual = [m[:50] for m in box.virtual()]
    assert all((a == b).all() for a, b in zip(virtual_of(box.stack(virtual)), virtual, strict=True))


def test_normalizers_are_what_they_are_called() -> None:
    known: dict[Normalization, Callable[[float], float]] = {
        LOGISTIC: lambda y: 1 / (1 + exp(-y)),
        FALLING: lambda y: 2 - tanh(y),
        FLAT: lambda y: exp(sinh(y) - y),
        EVEN: lambda y: exp(y**2),
    }
    for normalization, function in known.items():
        for y in (0.1, -0.25):
            partial_sum = sum(float(normalization.taylor(n)) * y**n for n in range(30))
            assert abs(partial_sum - function(y)) < 1e-12
    assert all(order(s) % 2 for s in (*INJECTIVE, LINEAR))
    assert (slope(FALLING), order(EVEN)) == (Fraction(-1, 2), 2)


def test_series_of_the_board() -> None:
    assert spelled([Fraction(0), Fraction(-1), Fraction(0), Fraction(3, 2)]) == (
        r"-\varepsilon + \tfrac{3}{2} \varepsilon^{3} + ..."
    )
    one = np.array([[Fraction(1)]], dtype=object)
    mean = mean_output(one[0], 2 * one[0], [0 * one], one, SOFTMAX.taylor, 3)
    assert [float(c) for c in mean] == [0, 1, 0, 0]
