"""The certified dimension: known numbers, the trap, both ways of not being certified."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shapes import architectures

import lightning_sym.dimension.certify as dimension_module
from lightning_sym import Architecture, Status, Weights, certified_dimension, forward, polynomial_map
from lightning_sym.dimension.certify import Evidence
from lightning_sym.dimension.dimension_text import printed_formula
from lightning_sym.dimension.varieties import virtual_weight_variety
from lightning_sym.errors import BadInput, ProgramError, TooLarge
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.exact.rational import rank
from lightning_sym.network.jacobian import RandomJacobian, random_layers, weight_gradients
from lightning_sym.network.layer import Layer
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix
from lightning_sym.rings.rationals import map_entries

KNOWN = [
    # widths, ranks, tokens, dimension, by which upper bound
    ((1, 1), (1,), 1, 1, "factorization"),
    ((4, 2), (1,), 3, 14, "orbit"),
    ((3, 2), (2,), 2, 13, "orbit"),
    ((2, 1), (2,), 2, 5, "orbit"),
    ((2, 2), (5,), 2, 7, "orbit"),
    ((2, 2, 2), (1, 2), 2, 8, "factorization"),
    ((4, 4, 4), (2, 2), 3, 38, "orbit"),
    ((10, 10, 10), (2, 2), 3, 170, "orbit"),
    ((2, 2), (2,), 1, 6, "factorization"),
]


@pytest.mark.parametrize(("widths", "ranks", "tokens", "expected", "evidence"), KNOWN)
def test_known_dimensions(
    widths: tuple[int, ...], ranks: tuple[int, ...], tokens: int, expected: int, evidence: str
) -> None:
    result = certified_dimension(Architecture(widths, ranks, tokens), all_bounds=True)
    assert result.value == result.lower == result.upper == expected
    assert result.status is Status.CERTIFIED
    assert evidence in result.upper_evidence
    assert result.fiber_dimension == result.architecture.parameter_count - expected


@given(architectures(max_depth=1, max_size=3, max_tokens=2))
@settings(max_examples=15)
def test_the_rank_of_all_coefficients_over_the_rationals_agrees(shape: Architecture) -> None:
    """An independent road for one layer: differentiate the coefficient polynomials themselves, rank over Q."""
    phi = polynomial_map(shape)
    rng = np.random.default_rng(1)
    point = [int(x) for x in rng.integers(1, 1000, size=len(phi.weight_names))]  # zeros are special
    jacobian = [
        [int(coefficient.derivative(i)(*point).p) for i in range(len(point))]
        for coefficient in phi.ring_coefficients().values()
    ]
    assert rank(jacobian) == certified_dimension(shape).value


@given(architectures(max_depth=3, max_size=4, max_tokens=4), st.integers(0, 3))
def test_the_seed_never_changes_the_number(shape: Architecture, seed: int) -> None:
    assert certified_dimension(shape, seed=seed).value == certified_dimension(shape, seed=seed + 1).value is not None


def test_enough_rows_is_not_enough() -> None:
    """Five inputs, all their outputs: 30 rows for 16 parameters, yet rank 13 where the dimension is 14."""
    shape = Architecture((4, 2), (1,), 3)
    p = PRIMES[0]
    generator = np.random.default_rng(0)
    layers = random_layers(shape, generator, p)
    rows = []
    for _ in range(5):
        x = PrimeFieldMatrix.of(generator.integers(0, p, size=(4, 3)), p)
        for unit in np.eye(6, dtype=np.int64).reshape(6, 2, 3):
            gradient = weight_gradients(layers, x, PrimeFieldMatrix.of(unit, p))
            rows.append(np.concatenate([g.residues().ravel() for g in gradient]))
    assert len(rows) == 30 > shape.parameter_count == 16
    assert rank_mod_p(np.array(rows), p) == 13
    assert certified_dimension(shape).value == 14


def test_more_rows_are_of_the_same_folded_matrix() -> None:
    """Rows asked for later must be folded by the same matrix, or the rank could exceed that of the Jacobian."""
    shape = Architecture((2, 1), (1,), 2)  # dimension 4, six parameters
    for seed in range(20):
        jacobian = RandomJacobian(shape, np.random.default_rng(seed), PRIMES[0], columns=5)
        rows = np.concatenate([jacobian.rows(8), jacobian.rows(8), jacobian.rows(8)])
        assert rank_mod_p(rows, PRIMES[0]) <= 4


def test_batched_rows_are_gradients_of_the_forward_pass() -> None:
    """Against the exact gradient over the rationals, reduced modulo p."""
    shape = Architecture((2, 3, 2), (2, 1), 2)
    p = PRIMES[1]
    weights = Weights.random(shape, seed=1)
    xs, cs = np.random.default_rng(2).integers(-5, 6, size=(2, 4, 2, 2))
    modular = [Layer(*(PrimeFieldMatrix.of(m.astype(np.int64), p) for m in layer)) for layer in weights.layers]
    batched = weight_gradients(modular, PrimeFieldMatrix.of(xs, p), PrimeFieldMatrix.of(cs, p))
    for n in range(4):
        exact = weight_gradients(weights.layers, map_entries(int, xs[n]), map_entries(int, cs[n]))
        for found, expected in zip(batched, exact, strict=True):
            assert found.residues()[n].tolist() == map_entries(lambda v: int(v) % p, expected).tolist()
    assert forward(map_entries(int, xs[0]), weights.layers).shape == (2, 2)


def test_bounds_that_do_not_meet_are_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    shape = Architecture((2, 2), (1,), 2)
    monkeypatch.setattr(dimension_module, "counted_bounds", lambda network: ({Evidence.FACTORIZATION: 99}, []))
    monkeypatch.setattr(dimension_module, "COMPUTED", ())
    monkeypatch.setattr(dimension_module, "BY_PLACES", ())
    result = certified_dimension(shape)
    assert result.status is Status.UNDECIDED
    assert (result.value, result.fiber_dimension, result.formula_agrees) == (None, None, None)
    assert (result.lower, result.upper) == (6, 99)
    assert result.upper_evidence == ("factorization",)


def test_bounds_that_contradict_are_an_error_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dimension_module, "counted_bounds", lambda network: ({Evidence.FACTORIZATION: 2}, []))
    monkeypatch.setattr(dimension_module, "COMPUTED", ())
    with pytest.raises(ProgramError, match="exceeds upper bound 2"):
        certified_dimension(Architecture((2, 2), (1,), 2))


def test_too_large_and_bad_seed() -> None:
    with pytest.raises(TooLarge, match="must fit into 4 GiB"):
        certified_dimension(Architecture((10**9, 2), (1,), 2))
    with pytest.raises(TooLarge):
        certified_dimension(Architecture((10, 10), (5,), 2), memory=1000)
    with pytest.raises(BadInput, match="the seed must be an integer of at least 0, got -1"):
        certified_dimension(Architecture((2, 2), (1,), 2), seed=-1)


@given(architectures(max_depth=4, max_size=5, max_tokens=3))
def test_the_variety_is_never_larger_than_the_parameters(shape: Architecture) -> None:
    bound = virtual_weight_variety(shape)
    assert 1 <= bound.dimension <= shape.parameter_count
    assert all(piece.dimension >= 0 for piece in bound.pieces[:-1])


@pytest.mark.parametrize(
    ("widths", "ranks", "tokens", "value", "applies"),
    [
        ((4, 4, 4), (2, 2), 3, 38, True),
        ((4, 2), (1,), 3, 14, True),
        ((2, 2), (2,), 1, 7, False),
        ((2, 2, 2), (1, 2), 2, 9, False),
        ((2, 3, 2), (2, 2), 2, None, False),
        ((3, 2, 1, 3), (2, 2, 2), 2, None, False),
    ],
)
def test_printed_formulas(
    widths: tuple[int, ...], ranks: tuple[int, ...], tokens: int, value: int | None, applies: bool
) -> None:
    formula = printed_formula(Architecture(widths, ranks, tokens))
    assert (formula.value, formula.applies) == (value, applies)


def test_progress_is_reported() -> None:
    seen: list[tuple[str, int, int]] = []
    certified_dimension(Architecture((3, 3), (1,), 2), all_bounds=True, progress=lambda *step: seen.append(step))
    assert seen[0][0] == "upper bound"
    assert any(stage.startswith("Jacobian") and done == total for stage, done, total in seen)
