"""Points of the neuromanifold: one example of each kind, degenerate shapes, the command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from shapes import architectures

import lightning_sym.geometry.weight_rank as weight_rank_module
from lightning_cli.main import cli
from lightning_sym import Architecture, Weights, polynomial_map, save_weights
from lightning_sym.errors import BadInput, ProgramError, ShapeError, TooLarge
from lightning_sym.exact.modular import rank_mod_p, ranks_mod_p
from lightning_sym.exact.rational import rank, rank_one_factors
from lightning_sym.geometry.classify import classify
from lightning_sym.geometry.layer_function import differential, layer_function, tangent_directions
from lightning_sym.geometry.layer_orbits import Label, NormalForm, normal_forms
from proofs_check.claims.geometry import corollary_a_4, lemma_a_3, theorem_3_4_singular
from proofs_check.claims.geometry.orbits import one_form_in_each_orbit, orbits
from proofs_check.claims.geometry.theorem_3_4_boundary import is_limit

CRITICAL, SINGULAR = ["singular", "critical", "boundary"], ["singular"]


def weights(attention: list[list[int]], value: list[list[int]], a: int | None = None) -> Weights:
    """A layer with this attention matrix, whose rows after the first `a` must be zero."""
    rows = attention[: a or len(attention)]
    return Weights.of({"Q1": rows, "K1": np.eye(len(attention), dtype=int)[: len(rows)], "V1": value})


DIAGONAL = [[1, 0, 0], [0, 1, 0], [0, 0, 0]]
ONE = [[1, 0, 0], [0, 0, 0], [0, 0, 0]]
EXAMPLES = {
    # attention, value, a, labels, dim M, tangent space, points of the projective fiber
    "regular": ([[1, 2], [0, 3]], [[1, 1]], 2, ["regular"], 5, 5, 1),
    "two points in the fiber": ([[1, 2], [0, 0]], [[0, 1]], 2, SINGULAR, 5, 6, 2),
    "the same h": ([[1, 2], [0, 0]], [[1, 0]], 2, CRITICAL, 5, 6, 1),
    "the same h, d = 3": (ONE, [[1, 0, 0]], 3, CRITICAL, 11, 18, 1),
    "zero": ([[0, 0], [0, 0]], [[1, 0]], 2, CRITICAL, 5, 6, None),
    "zero value": ([[1, 0], [0, 1]], [[0, 0]], 2, CRITICAL, 5, 6, None),
    "rank below a = 2 < d = 3": (ONE, [[0, 1, 0], [0, 0, 1]], 2, SINGULAR, 13, 14, 1),
    "the same with a = d": (ONE, [[0, 1, 0], [0, 0, 1]], 3, ["regular"], 14, 14, 1),
    "the same with a = 1": (ONE, [[0, 1, 0], [0, 0, 1]], 1, ["regular"], 10, 10, 1),
    "rank a = 2 < d = 3": (DIAGONAL, [[0, 1, 0], [0, 0, 1]], 2, ["regular"], 13, 13, 1),
    "d = 1": ([[2]], [[3], [0]], 1, ["regular"], 2, 2, 1),
    "d = 1, zero": ([[0]], [[3], [0]], 1, ["regular", "critical"], 2, 2, None),
    "a = d' = 1": ([[1, 2], [0, 0]], [[0, 1]], 1, ["regular"], 4, 4, 2),
    "a = d' = 1, d = 2, the same h": ([[1, 2], [0, 0]], [[1, 0]], 1, ["regular", "critical", "boundary"], 4, 4, 1),
    "a = d' = 1, d = 3, the same h": (ONE, [[1, 0, 0]], 1, CRITICAL, 7, 8, 1),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_named_points(name: str) -> None:
    attention, value, a, labels, dimension, tangent, points = EXAMPLES[name]
    for tokens in (2, 3):
        point = classify(weights(attention, value, a), tokens)
        assert [label.value for label in point.labels] == labels
        assert point.decided
        assert len(point.reasons) == len(point.labels)
        assert point.dimension.value == dimension
        assert point.ranks is not None
        assert (point.ranks.tangent, point.ranks.fiber_points) == (tangent, points)
        assert point.tangent_dimension.value == tangent
        assert point.weight_rank_lower == point.weight_rank_upper <= dimension


def test_query_wider_than_the_input_changes_nothing() -> None:
    shape = Architecture((2, 2), (4,), 2)
    point = classify(Weights.random(shape, seed=3, denominator=5))
    assert point.labels == (Label.REGULAR,)
    assert point.weight_rank_lower == point.dimension.value == 7


def test_a_regular_point_may_be_critical_for_the_queries_and_keys() -> None:
    made = Weights.of({"Q1": ONE, "K1": ONE, "V1": [[0, 1, 0], [0, 0, 1]]})
    point = classify(made)
    assert Label.REGULAR in point
    assert point.dimension.value is not None
    assert point.weight_rank_lower < point.dimension.value


@given(architectures(max_depth=1, max_size=3, max_tokens=2), st.data())
@settings(max_examples=25)
def test_rational_factors_and_changes_of_basis_do_not_matter(shape: Architecture, data: st.DataObject) -> None:
    (d, d_out), (a,) = shape.widths, shape.attention_ranks
    ranks = data.draw(st.tuples(st.integers(0, min(a, d)), st.integers(0, min(d, d_out))))
    made = Weights.random(
        Architecture(shape.widths, (a,), 2),
        seed=1,
        denominator=3,
        attention_matrix_ranks=ranks[:1],
        value_ranks=ranks[1:],
    )
    point = classify(made)
    assert point.ranks is not None
    assert (point.ranks.attention, point.ranks.value) == ranks
    (layer,) = made.layers
    common = sum(ranks) - rank(np.concatenate([(layer.key.T @ layer.query).T, layer.value]))
    (form,) = (f for f in normal_forms(d, d_out, a) if (f.attention_rank, f.value_rank, f.common) == (*ranks, common))
    assert classify(form.weights(a)).labels == point.labels
    assert classify(form.weights(a)).ranks == point.ranks


@given(st.integers(1, 3), st.integers(1, 2), st.integers(0, 5))
@settings(max_examples=12)
def test_the_coordinates_hold_as_much_as_all_coefficients(d: int, d_out: int, seed: int) -> None:
    """An independent road: the differential of the coefficient polynomials themselves."""
    made = Weights.random(Architecture((d, d_out), (d,), 2), seed=seed, bound=2, value_ranks=[1])
    attention = made["Q1"]
    phi = polynomial_map(Architecture((d, d_out), (d,), 2))
    one = np.eye(d, dtype=int)
    point = [int(x) for x in (*attention.ravel(), *one.ravel(), *made["V1"].ravel())]
    moving = [i for i, name in enumerate(phi.weight_names) if name[0] in "QV"]
    jacobian = [[int(c.derivative(i)(*point).p) for i in moving] for c in phi.ring_coefficients().values()]
    assert rank(jacobian) == rank(differential(attention, made["V1"]))


def test_the_differential_is_the_difference_quotient() -> None:
    """The function is bilinear: along one matrix the differential is exact."""
    generator = np.random.default_rng(0)
    a, moved = generator.integers(-4, 5, size=(2, 3, 3))
    v = generator.integers(-4, 5, size=(2, 3))
    change = differential(a, v) @ np.concatenate([moved.ravel(), np.zeros(6, dtype=int)])
    assert change.tolist() == (layer_function(a + moved, v) - layer_function(a, v)).tolist()
    batch = differential(np.stack([a, moved]), np.stack([v, v]))
    assert batch.shape == (2, 3 * 6 * 2, 9 + 6)
    assert batch[0].tolist() == differential(a, v).tolist()


@pytest.mark.parametrize(("d", "alpha"), [(1, 1), (2, 1), (3, 1), (3, 2), (4, 2), (3, 3)])
def test_tangent_directions_have_the_dimension_of_the_variety(d: int, alpha: int) -> None:
    a = Weights.random(Architecture((d, d), (alpha,), 2), seed=d, attention_matrix_ranks=[alpha]).layers[0]
    directions = tangent_directions(a.key.T @ a.query, alpha)
    assert rank(directions) == len(directions) == alpha * (2 * d - alpha)


def test_rank_one_factors() -> None:
    a, v = np.outer([0, 2, 3], [0, 5, 1]), np.outer([0, 4], [7, 0, 1])
    for matrix in (a, v):
        left, right = rank_one_factors(matrix)
        assert (np.outer(left, right) == matrix).all()
        assert all(isinstance(x, Fraction) for x in right)


@pytest.mark.parametrize("p", [2, 3, 5, 13, 17, 251, 257])
@pytest.mark.parametrize("shape", [(4, 5), (5, 3), (1, 1), (3, 0), (0, 3)])
def test_ranks_of_many_matrices(p: int, shape: tuple[int, int]) -> None:
    matrices = np.random.default_rng(p).integers(-p, p, size=(200, *shape))
    matrices[:50, 2:3] = matrices[:50, :1]
    matrices[30:70, :, 1:2] = 0
    matrices[60:100, 1:] = (p - 1) * matrices[60:100, :1]
    assert ranks_mod_p(matrices, p).tolist() == [rank_mod_p(m, p) for m in matrices]


@pytest.mark.parametrize(("instance", "count"), [((2, 1, 1), 4), ((2, 2, 1), 7), ((3, 2, 1), 7), ((2, 2, 2), 10)])
def test_orbits_of_pairs(instance: tuple[int, int, int], count: int) -> None:
    _, d, d_out = instance
    assert len(set(orbits(*instance).tolist())) == count == len(list(normal_forms(d, d_out, d)))
    one_form_in_each_orbit(instance)


LEFT_OUT = {
    "A and V parallel": lambda form: form.is_square,
    "both of rank one": lambda form: form.attention_rank == form.value_rank == 1,
    "not zero": lambda form: form.attention_rank * form.value_rank > 0,
}


@pytest.mark.parametrize("left_out", LEFT_OUT)
def test_claims_about_every_orbit_do_not_pass_with_orbits_left_out(
    left_out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def some_forms(d: int, d_out: int, alpha: int) -> Iterator[NormalForm]:
        return (form for form in normal_forms(d, d_out, alpha) if not LEFT_OUT[left_out](form))

    monkeypatch.setattr(lemma_a_3, "normal_forms", some_forms)
    monkeypatch.setattr(theorem_3_4_singular, "normal_forms", some_forms)
    monkeypatch.setattr(theorem_3_4_singular, "points_of", theorem_3_4_singular.points_of.__wrapped__)
    for claim in (lemma_a_3.CLAIM, corollary_a_4.CLAIM, theorem_3_4_singular.CLAIM):
        parts = [part for part in claim.parts if part.name.endswith(", every orbit") or "one pair from" in part.name]
        assert parts
        for part in parts:
            with pytest.raises(ProgramError, match="seen"):
                list(part.instances(quick=True))


@pytest.mark.parametrize(
    ("attention", "value", "expected"),
    [
        ([[1, 2], [0, 0]], [[3, 0]], True),
        ([[1, 2], [0, 0]], [[0, 3]], False),
        ([[1, 0], [0, 1]], [[1, 0]], False),
        ([[1, 0], [0, 1]], [[0, 0]], True),
    ],
)
def test_limits_of_points_outside(attention: list[list[int]], value: list[list[int]], expected: bool) -> None:
    assert is_limit(np.array(attention), np.array(value)) == expected
    assert (Label.BOUNDARY in classify(weights(attention, value))) == expected


DEEP = Architecture((2, 2, 2), (2, 2), 2)


def test_deep_networks_and_one_token_only_know_critical() -> None:
    generic = classify(Weights.random(DEEP, seed=1))
    assert generic.decided
    assert generic.labels == ()
    assert generic.weight_rank_lower == generic.dimension.value == 10
    low = classify(Weights.random(DEEP, seed=1, value_ranks=[1, 2]))
    assert low.decided
    assert low.labels == (Label.CRITICAL,)
    assert low.weight_rank_lower == low.weight_rank_upper == 7
    assert low.ranks is None
    one_token = classify(Weights.random(Architecture((2, 2), (2,), 1), seed=1), tokens=1)
    assert one_token.labels == ()
    assert "only one layer" in one_token.reasons[-1]


@pytest.mark.parametrize("value_ranks", [[1, 1], [0, 1], [1, 0]])
def test_the_exact_rank_of_a_deep_network_agrees_with_all_its_coefficients(value_ranks: list[int]) -> None:
    shape = Architecture((2, 1, 1), (1, 1), 2)
    made = Weights.random(shape, seed=2, bound=2, value_ranks=value_ranks)
    found = classify(made)
    point = [int(x) for matrix in made.named().values() for x in matrix.ravel()]
    coefficients = polynomial_map(shape).ring_coefficients().values()
    jacobian = [[int(c.derivative(i)(*point).p) for i in range(len(point))] for c in coefficients]
    assert rank(jacobian) == found.weight_rank_lower == found.weight_rank_upper
    assert (Label.CRITICAL in found) == (rank(jacobian) < (found.dimension.value or 0))


def test_undecided_where_the_identity_is_too_large(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(weight_rank_module, "IDENTITY_TERMS", 1)
    made = Weights.random(DEEP, seed=1, attention_matrix_ranks=[1, 2], value_ranks=[1, 2])
    point = classify(made)
    assert not point.decided
    assert (point.weight_rank_lower, point.weight_rank_upper) == (6, 10)
    assert point.labels == ()
    save_weights(made, tmp_path / "w.json")
    result = CliRunner().invoke(cli, ["classify", str(tmp_path / "w.json")], standalone_mode=False)
    assert result.return_value == 3
    assert "undecided" in result.output


def test_refusals() -> None:
    with pytest.raises(ShapeError):
        classify(weights(ONE, [[1, 0, 0]]), tokens=0)
    with pytest.raises(TooLarge):
        classify(weights(ONE, [[1, 0, 0]]), memory=1000)


@pytest.mark.parametrize("name", EXAMPLES)
def test_command(name: str, tmp_path: Path) -> None:
    attention, value, a, labels, dimension, tangent, points = EXAMPLES[name]
    file = str(tmp_path / "w.json")
    save_weights(weights(attention, value, a), file)
    result = CliRunner().invoke(cli, ["classify", file, "--json"], standalone_mode=False)
    assert result.return_value == 0
    document = json.loads(result.output)
    assert document["schema"] == "lightning-sym/classify/1"
    assert document["labels"] == labels
    assert document["dimension"]["value"] == dimension
    assert (document["ranks"]["tangent"], document["ranks"]["fiber_points"]) == (tangent, points)
    assert (document["tangent_dimension"]["lower"], document["tangent_dimension"]["upper"]) == (tangent, tangent)
    text = CliRunner().invoke(cli, ["classify", file], standalone_mode=False)
    assert text.return_value == 0
    assert ", ".join(labels) in text.output


def test_command_with_bad_input(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["classify", str(tmp_path / "none.json")], standalone_mode=False)
    assert isinstance(result.exception, BadInput)
    assert "readable file" in str(result.exception)
