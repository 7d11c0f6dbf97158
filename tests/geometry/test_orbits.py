"""Orbits of one layer: formulae for every width against ranks that know none, equations, and the group that acts."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from command import run
from hypothesis import given, settings
from hypothesis import strategies as st

import lightning_sym.geometry.layer_orbits as layer_orbits_module
from lightning_sym import Architecture, Label, LayerOrbit, Weights, classify, layer_orbits, save_weights, singular_locus
from lightning_sym.errors import BadInput, ProgramError, ShapeError, TooLarge
from lightning_sym.exact.rational import rank
from lightning_sym.geometry.bounds import Bounds
from lightning_sym.geometry.classify import LayerRanks, orbit_of
from lightning_sym.geometry.layer_orbits import pair_orbits
from lightning_sym.network.jacobian import weight_gradients
from lightning_sym.varieties.equations import equations
from proofs_check.claims.geometry.measured import measure, measured_ranks
from proofs_check.claims.geometry.theorem_3_4_singular import LayerShape, corrected_locus, hypotheses_hold, moved

EVERY = [(d, d_out, alpha) for d, d_out in product(range(1, 5), range(1, 5)) for alpha in range(1, d + 1)]
"""All shapes up to width 4, one for each largest rank of A."""

SMALL = [shape for shape in EVERY if max(shape[:2]) <= 3]


@pytest.mark.parametrize("shape", EVERY, ids=str)
def test_every_orbit_is_what_its_matrices_show(shape: tuple[int, int, int]) -> None:
    """Ranks, the fiber, and the tangent space: limits of tangent vectors span all that the formula says."""
    for orbit in pair_orbits(*shape):
        form = orbit.normal_form
        assert measured_ranks(form.attention, form.value, orbit.alpha) == LayerRanks.of(orbit), orbit


@pytest.mark.parametrize("shape", SMALL, ids=str)
def test_labels_are_those_of_the_general_criterion(shape: tuple[int, int, int]) -> None:
    d, d_out, alpha = shape
    for seed, orbit in enumerate(pair_orbits(*shape)):
        weights = moved(orbit.weights(alpha), seed)
        found, computed = classify(weights), measure(weights)
        assert orbit_of(weights) == orbit
        assert found.labels == computed.labels == orbit.labels
        assert found.dimension.value == computed.dimension.value == orbit.manifold_dimension
        if hypotheses_hold(LayerShape(d, d_out, alpha)):
            assert orbit.is_singular == corrected_locus(LayerShape(d, d_out, alpha), orbit.normal_form)


@pytest.mark.parametrize("shape", [s for s in SMALL if s[0] <= 3 and s[1] <= 2], ids=str)
def test_the_rank_in_queries_keys_and_values(shape: tuple[int, int, int]) -> None:
    """Against the differential in all weights, with queries and keys of more rank than their product."""
    d, d_out, alpha = shape
    generator = np.random.default_rng(0)
    for orbit in pair_orbits(*shape):
        layer = orbit.weights(alpha).layers[0]
        query, key = layer.query.copy(), layer.key.copy()
        if orbit.attention < alpha:  # a row of Q with none of K, so that A stays the same
            query[orbit.attention] = generator.integers(-3, 4, size=d)
        weights = Weights.of({"Q1": query, "K1": key, "V1": layer.value})
        x = generator.integers(-3, 4, size=(120, d, 2)).astype(object)
        parts = weight_gradients(weights.layers, x, generator.integers(-3, 4, size=(120, d_out, 2)).astype(object))
        rows = np.concatenate([part.reshape(len(x), -1) for part in parts], axis=1)
        assert classify(weights).weight_rank.value == rank(rows), orbit


CASES = {(2, 1, 1): 2, (2, 1, 2): 4, (2, 2, 1): 4, (2, 2, 2): 4, (3, 1, 1): 3, (3, 1, 2): 4, (2, 3, 2): 4}
"""Shapes, and a degree up to which equations cut out every tangent space."""


@pytest.mark.parametrize("case", CASES, ids=str)
def test_equations_leave_the_same_tangent_spaces(case: tuple[int, int, int]) -> None:
    """From the other side: no parametrization, and an upper bound."""
    d, d_out, a = case
    table = layer_orbits(Architecture((d, d_out), (a,), 2))
    found = equations(table.architecture, CASES[case])
    assert {o: found.tangent_dimension_bound(o.weights(a)) for o in table} == {o: o.tangent_dimension for o in table}


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_nothing_changes_along_an_orbit(data: st.DataObject) -> None:
    d, d_out = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 6))
    a = data.draw(st.integers(1, d + 1))
    orbit = data.draw(st.sampled_from(list(pair_orbits(d, d_out, min(a, d)))))
    weights = orbit.weights(a)
    first, second = classify(weights), classify(moved(weights, data.draw(st.integers(0, 99))))
    assert replace(first, weight_rank=second.weight_rank) == second
    assert first.labels == orbit.labels


def test_dimensions_of_orbits() -> None:
    """The largest orbit is dense, an orbit is no larger than M, and tangent spaces lie in the linear span."""
    for d, d_out, alpha in [*EVERY, (9, 5, 4), (7, 12, 7)]:
        table = layer_orbits(Architecture((d, d_out), (alpha,), 2))
        assert max(o.dimension for o in table) == table.dimension
        assert [o.dimension for o in table].count(table.dimension) == 1
        for o in table:
            assert o.dimension <= table.dimension <= o.tangent_dimension <= o.span
    *_, first, second, third, fourth, _ = str(layer_orbits(Architecture((2, 1), (2,), 2))).splitlines()
    assert [" ".join(line.split()) for line in (first, second, third, fourth)] == [
        "0 0 0 0 6 singular, critical, boundary",
        "1 1 0 4 6 singular",
        "1 1 1 3 6 singular, critical, boundary",
        "1 2 1 5 5 regular",
    ]


WRONG = {
    "the intersection of two branches is a point": ("tangent_dimension", lambda o: 2 * (o.domain - 1)),
    "curves only": ("tangent_dimension", lambda o: o.rank_along(o.attention_directions)),
    "smooth matrices": ("attention_directions", lambda o: o.alpha * (2 * o.width - o.alpha)),
    "no kernel": ("rank_along", lambda o: lambda directions: directions + o.output_width * o.width),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_formulae_are_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    attribute, wrong = WRONG[name]
    monkeypatch.setattr(layer_orbits_module.LayerOrbit, attribute, property(wrong))
    orbits = [orbit for shape in SMALL for orbit in pair_orbits(*shape)]
    forms = [orbit.normal_form for orbit in orbits]
    computed = [measured_ranks(f.attention, f.value, o.alpha) for o, f in zip(orbits, forms, strict=True)]
    assert computed != [LayerRanks.of(orbit) for orbit in orbits]


def test_wide_layers_take_no_time_and_no_memory() -> None:
    network = Architecture((64, 64), (32,), 2)
    weights = Weights.random(network, seed=1, bound=9, attention_matrix_ranks=[20], value_ranks=[64])
    point = classify(weights, memory=64 * 2**20, work=20)
    assert point.labels == (Label.SINGULAR,)
    assert (point.dimension.value, point.tangent_dimension.value) == (7167, 8191)
    meets = (min(r, s) - max(0, r + s - 64) + 1 for r, s in product(range(1, 33), range(1, 65)))
    assert len(layer_orbits(network)) == 1 + sum(meets)


def test_singular_locus_of_figure_1() -> None:
    """Theorem 5, the equations of the locus, and the partial derivatives of the quartic."""
    network = Architecture((2, 1), (2,), 2)
    found, quartic = singular_locus(network), equations(network, 4)
    assert (found.dimension, found.degree) == (4, 3)
    assert found.equations is not None
    assert found.partial_derivatives is not None
    assert dict(found.equations.counts) == {2: 3}
    assert found.equations.hilbert_function[:4] == (1, 6, 18, 40)  # of P^1 x P^2: (k + 1) (k + 1) (k + 2) / 2
    for orbit in layer_orbits(network):
        weights = orbit.weights(2)
        values = [int(v) for v in quartic.system.at(weights)]
        vanish = not any(partial.eval(values) for partial in found.partial_derivatives)
        other = Weights.of({name: [row[:] for row in weights[name]] for name in ("Q1", "K1", "V1")})
        on_locus = not any(p.eval(values) for some in found.equations.generators.values() for p in some)
        assert vanish == on_locus == orbit.is_singular == (Label.SINGULAR in classify(other))


@pytest.mark.parametrize(
    ("widths", "a", "locus", "dimension", "degree"),
    [((2, 1), 1, "phi = 0", 0, 1), ((3, 1), 1, "A = h q^T", 5, 24), ((1, 3), 2, "empty", -1, None),
     ((2, 2), 2, "rk A = rk V = 1", 5, 12), ((2, 3), 1, "rk A = rk V = 1", 6, 30)],
)  # fmt: skip
def test_singular_loci(widths: tuple[int, int], a: int, locus: str, dimension: int, degree: int | None) -> None:
    network = Architecture(widths, (a,), 2)
    found = singular_locus(network, 2)
    assert found.locus.startswith(locus)
    assert (found.dimension, found.degree) == (dimension, degree)
    singular = layer_orbits(network).singular_dimension
    assert dimension == (-1 if singular is None else singular)
    assert repr(found) == f"singular_locus({network!r})"


def test_equations_prove_a_point_of_another_network_regular() -> None:
    one_token = Weights.of({"Q1": [[1, 1]], "K1": [[1, 0]], "V1": [[0, 1]]})
    assert classify(one_token, 1).tangent_dimension == Bounds(4, None, classify(one_token, 1).tangent_dimension.source)
    point = classify(one_token, 1, degree=2)
    assert (point.labels[0], point.tangent_dimension.value, point.equations) == (Label.REGULAR, 4, (2, 4))
    layer = classify(Weights.of({"Q1": [[1, 0], [0, 1]], "K1": [[1, 0], [0, 1]], "V1": [[0, 1]]}), degree=3)
    assert layer.equations == (3, 6)  # the quartic is not among them
    assert layer.tangent_dimension.value == 5


def test_refusals() -> None:
    for bad in (Architecture((2, 2, 2), (1, 1), 2), Architecture((2, 2), (1,), 1)):
        with pytest.raises(ShapeError, match="one layer and two tokens"):
            layer_orbits(bad)
    with pytest.raises(TooLarge, match="orbits must fit"):
        layer_orbits(Architecture((10**6, 10**6), (10**6,), 2))
    with pytest.raises(ShapeError, match="must be those of a pair"):
        LayerOrbit(2, 1, 2, value=1, attention=2, common=0)
    with pytest.raises(BadInput, match="hypersurface"):
        singular_locus(Architecture((2, 1), (1,), 1), 2)
    with pytest.raises(BadInput, match="the degree must be an integer"):
        classify(Weights.of({"Q1": [[1]], "K1": [[1]], "V1": [[1]]}), degree=0)
    with pytest.raises(ProgramError, match="exceeds"):
        Bounds(3, 2, "nothing")
    with pytest.raises(BadInput, match="truth value"):
        bool(Bounds(3, 3, "nothing"))


def test_results_print_what_the_command_prints(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    weights = LayerOrbit(3, 2, 2, value=2, attention=1, common=1).weights(2)
    save_weights(weights, tmp_path / "w.json")
    point, table = classify(weights), layer_orbits(Architecture((3, 2), (2,), 2))
    assert run(capsys, "classify", str(tmp_path / "w.json"))[1].rstrip() == str(point)
    assert run(capsys, "classify", "--orbits", "--widths", "3,2", "--ranks", "2")[1].rstrip() == str(table)
    for result in (point, table):
        assert "\n" not in repr(result)
        assert pickle.loads(pickle.dumps(result)) == result  # noqa: S301 - our own
        assert result._repr_latex_().startswith("$")
    document = json.loads(run(capsys, "classify", "--orbits", "--widths", "3,2", "--ranks", "2", "--json")[1])
    assert {(o["value"], o["attention"], o["common"]): o["tangent_dimension"]["lower"] for o in document["orbits"]} == {
        (o.value, o.attention, o.common): o.tangent_dimension for o in table
    }


@pytest.mark.parametrize(
    "words",
    [("--orbits",), (), ("--orbits", "--singular-ideal", "--widths", "2,2", "--ranks", "1"),
     ("x.json", "--widths", "2,2"), ("--orbits", "--widths", "2,2", "--ranks", "1", "--mask", "causal"),
     ("--orbits", "--widths", "2,2", "--ranks", "1", "--degree", "2"), ("--orbits", "--widths", "2", "--ranks", "1"),
     ("--singular-ideal", "--widths", "2,1", "--ranks", "1", "--tokens", "1")],
)  # fmt: skip
def test_bad_command_lines(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, error = run(capsys, "classify", *words)
    assert (code, out, len(error.splitlines())) == (2, "", 1)
