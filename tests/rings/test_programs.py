"""Sweeps by a program that was written down once: the same residues, entry by entry, as recorded ones."""

from __future__ import annotations

import numpy as np
import pytest

from lightning_sym import SOFTMAX, Architecture
from lightning_sym.network import jacobian as jacobian_module
from lightning_sym.network.gradient_programs import gradient_program
from lightning_sym.network.jacobian import RandomJacobian
from lightning_sym.rings.derivatives import Recorded, gradients
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix, SeededResidues, random_residues

P = PRIMES[0]


def random_network(rng: np.random.Generator) -> Architecture:
    def some(chance: float, most: int) -> int | None:
        return int(rng.integers(1, most)) if rng.random() < chance else None

    depth, skip = int(rng.integers(1, 4)), bool(rng.random() < 0.4)
    widths = [int(rng.integers(1, 5))] * (depth + 1) if skip else rng.integers(1, 6, size=depth + 1).tolist()
    return Architecture(
        tuple(widths),
        tuple(rng.integers(1, 4, size=depth).tolist()),
        int(rng.integers(1, 4)),
        heads=int(rng.integers(1, 4)),
        value_ranks=rng.integers(1, 4, size=depth).tolist() if rng.random() < 0.4 else None,
        skip=skip,
        embed=some(0.3, 5),
        unembed=some(0.3, 5),
        causal=bool(rng.random() < 0.4),
        normalization=SOFTMAX if rng.random() < 0.5 else None,
    )


def test_programs_give_what_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    for number in range(160):
        network = random_network(rng)
        keep = np.flatnonzero(rng.random(network.parameter_count) < 0.6) if number % 2 else None
        found = []
        for most in (2**22, 0):
            monkeypatch.setattr(jacobian_module, "_SMALL_BYTES", most)
            jacobian = RandomJacobian(network, np.random.default_rng(number), P, each=1 + number % 3, keep=keep)
            assert (jacobian.program_inputs >= 5) == (most > 0)
            found.append([jacobian.matrix(5), *(m for m in jacobian.sample(4) if m is not None)])
        for one, other in zip(*found, strict=True):
            assert np.array_equal(one, other), network


def test_gradients_by_all_weights_of_a_layer_are_one() -> None:
    three = gradient_program(Architecture((3, 3, 3), (2, 2), 3, heads=2, embed=2, causal=True))
    assert three.program.inputs == 1 + 2 * 6 + 3
    assert [(each.first, each.last) for each in three.gradients] == [(0, 0), (1, 6), (7, 12)]
    some = gradient_program(Architecture((3, 3), (2,), 3), frozenset({0, 1, 2}))
    assert [(each.first, each.last) for each in some.gradients] == [(0, 0), (1, 1), (2, 2)]


def test_a_pattern_must_be_told() -> None:
    program, found = gradient_program(Architecture((1, 1), (1,), 1, SOFTMAX))
    one = np.ones((1, 1))
    with pytest.raises(ValueError, match="must be told"):
        program.run([one] * program.inputs, [found[0].symbol], P)


def test_large_sweeps_are_recorded() -> None:
    def inputs(network: Architecture, order: int | None = None) -> int:
        return RandomJacobian(network, np.random.default_rng(0), P, order=order).program_inputs

    assert inputs(Architecture((4, 4, 4), (2, 2), 3)) >= 40 > inputs(Architecture((4, 4, 4), (2, 2), 900))
    assert inputs(Architecture((60, 60), (20,), 3)) == 0
    assert inputs(Architecture((4, 4, 4), (2, 2), 3, SOFTMAX), order=3) == 0


def test_gradient_where_a_part_of_a_product_is_not_used() -> None:
    rng = np.random.default_rng(1)
    x, c = random_residues(rng, (2, 3), P), random_residues(rng, (4, 3), P)
    weights = [Recorded(random_residues(rng, (4, 2), P)) for _ in range(3)]
    parts = Recorded(x).under(weights)
    found = gradients([parts[1]], [c], weights)
    assert found[1].residues().tolist() == (c @ x.mT).residues().tolist()
    assert all(not found[i].entries.any() for i in (0, 2))
    twice = gradients([parts[1], parts[1]], [c, c], weights)[1]
    assert twice.residues().tolist() == (found[1] + found[1]).residues().tolist()


def test_stacks_are_made_only_of_what_fits() -> None:
    rng = np.random.default_rng(2)
    x = Recorded(random_residues(rng, (5, 2, 3), P))
    one, batch = (random_residues(rng, shape, P) for shape in ((4, 2), (5, 4, 2)))
    assert one.stacked([one, batch]) is None
    assert one.stacked([one, random_residues(rng, (4, 3), P)]) is None
    for lefts in ([Recorded(one), Recorded(batch)], [Recorded(one), Recorded(one, constant=True)], [Recorded(one)]):
        for left, product in zip(lefts, x.under(lefts), strict=True):
            assert np.array_equal(product.value.entries, (left.value @ x.value).entries)


def test_residues_of_a_seed_are_those_of_its_generator() -> None:
    for counts in ([3, 5], [2**14, 1], [2**14 - 1, 2, 3], [2**15], [0, 4]):
        known, drawn = SeededResidues((7, 1), P), np.random.default_rng([7, 1])
        for count in counts:
            assert np.array_equal(known.draw(count), random_residues(drawn, (count,), P).entries)
        assert known.generator.integers(10**9) == drawn.integers(10**9)
        assert np.array_equal(known.draw(4), random_residues(drawn, (4,), P).entries)


def test_what_is_kept_of_a_seed_cannot_be_changed() -> None:
    first = SeededResidues((7, 2), P).draw(4)
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 0
    assert isinstance(PrimeFieldMatrix(first, P).residues(), np.ndarray)


@pytest.mark.parametrize("p", [2, 3, 251])
def test_random_residues_are_uniform(p: int) -> None:
    drawn = random_residues(np.random.default_rng(0), (400 * p,), p)
    counts = np.bincount(drawn.residues(), minlength=p)
    assert len(counts) == p
    assert abs(counts - 400).max() < 6 * 20  # six standard deviations


def test_residues_of_odd_primes_are_centred() -> None:
    drawn = random_residues(np.random.default_rng(1), (9, 9), 7).entries
    assert sorted(set(drawn.ravel().tolist())) == [-3, -2, -1, 0, 1, 2, 3]
