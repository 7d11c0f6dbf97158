"""Moves that keep the function, fibers, and the question whether two networks are the same function."""

import json
import subprocess
import sys
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from lightning_cli.commands import fiber as fiber_command
from lightning_cli.commands import same as same_command
from lightning_sym import Architecture, Layer, Weights, forward, polynomial_map, save_weights, virtual_weights
from lightning_sym.errors import BadInput, ShapeError
from lightning_sym.exact.rational import rank
from lightning_sym.fibers.fiber import fiber
from lightning_sym.fibers.same_function import Answer, same_function
from lightning_sym.fibers.transform import change_basis, rescale, swap, transform
from lightning_sym.fibers.virtual_moves import is_zero_function, known_partners, same_orbit
from lightning_sym.network.virtual_weights import recursive_form
from lightning_sym.rings.rationals import rational_matrix

J, ONE = [[0, 1], [-1, 0]], [[1, 0], [0, 1]]


def network(*attention, value):
    """A network of equal widths, given by attention matrices; only the last layer has values other than 1."""
    matrices = {}
    size = len(attention[0])
    one = np.eye(size, dtype=int)
    for i, a in enumerate(attention, start=1):
        matrices |= {f"Q{i}": a, f"K{i}": one, f"V{i}": value if i == len(attention) else one}
    return Weights.of(matrices)


def output(weights, x):
    return forward(rational_matrix(x), [Layer(*map(rational_matrix, layer)) for layer in weights.layers])


def coefficients(weights, tokens=2):
    return polynomial_map(weights.architecture(tokens), weights).coefficients()


def is_same_by_coefficients(virtual, other, tokens=2):
    """Two points of a fiber in virtual weights, compared as polynomials by the closed form."""
    from lightning_sym.rings.polynomials import PolynomialRing, entry_names

    d = virtual.value.shape[1]
    ring = PolynomialRing(entry_names("x", d, tokens))
    x = ring.matrix("x", d, tokens)

    def entries(v):
        return recursive_form(x, type(v)(tuple(map(ring.constants, v.attention)), ring.constants(v.value)))

    return bool((entries(virtual) == entries(other)).all())


shapes = st.builds(
    lambda widths, ranks, tokens: Architecture(tuple(widths), tuple(ranks[: len(widths) - 1]), tokens),
    st.lists(st.integers(1, 3), min_size=2, max_size=4),
    st.lists(st.integers(1, 3), min_size=3, max_size=3),
    st.integers(1, 3),
)


def invertible(size, seed):
    return Weights.random(Architecture((size, size), (size,), 1), seed=seed, denominator=2, value_ranks=[size])["V1"]


@settings(max_examples=30, deadline=None)
@given(shapes, st.integers(0, 10**6))
def test_transform_keeps_the_function(shape, seed):
    weights = Weights.random(shape, seed=seed, bound=3, denominator=3)
    changed = transform(
        weights,
        query_key={i: invertible(a, seed + i) for i, a in enumerate(shape.attention_ranks, start=1)},
        between={i: invertible(d, seed - i if seed > i else i) for i, d in enumerate(shape.widths[1:-1], start=1)},
        scales={i: Fraction(i + 1, 3) for i in range(1, shape.depth + 1)},
    )
    x = np.random.default_rng(seed).integers(-5, 6, size=(shape.widths[0], shape.tokens))
    assert (output(weights, x) == output(changed, x)).all()
    if shape.depth == 1:
        assert coefficients(weights) == coefficients(changed)
    found = same_function(weights, changed, shape.tokens)
    assert found.answer is Answer.SAME
    if found.connection is not None and found.connection.query_key is not None:
        group = found.connection
        again = transform(weights, query_key=group.query_key, between=group.between, scales=group.scales)
        assert again == changed


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.integers(0, 10**6))
def test_swap_keeps_the_function_of_one_layer(d, d_out, a, seed):
    shape = Architecture((d, d_out), (a,), 2)
    weights = Weights.random(shape, seed=seed, attention_matrix_ranks=[1], value_ranks=[1])
    assert coefficients(swap(weights)) == coefficients(weights)
    assert same_function(weights, swap(weights)).answer is Answer.SAME


@pytest.mark.parametrize("layer", [1, 2, None])
def test_swap_in_deep_networks(layer):
    shape = Architecture((2, 3, 2), (2, 2), 2)
    weights = Weights.random(shape, seed=5, attention_matrix_ranks=[1, 1], value_ranks=[1, 1])
    assert coefficients(swap(weights, layer=layer)) == coefficients(weights)


def test_swap_pulls_back_through_the_layers_before():
    """The virtual weights have rank one though the last layer's own matrices do not."""
    weights = Weights.of(
        {"Q1": ONE, "K1": [[1, 1], [0, 1]], "V1": [[1, 2], [0, 0]], "Q2": ONE, "K2": ONE, "V2": [[1, 0], [0, 3]]}
    )
    assert rank(weights["V2"]) == 2
    changed = swap(weights)
    assert coefficients(changed) == coefficients(weights)
    assert rank(changed["V2"]) == 1


def test_bad_moves():
    weights = Weights.random(Architecture((2, 2, 2), (2, 2), 2), seed=3, value_ranks=[2, 2])
    for move in (
        lambda: rescale(weights, layer=1, by=0),
        lambda: rescale(weights, layer=3, by=2),
        lambda: change_basis(weights, query_key={1: [[1, 2], [2, 4]]}),
        lambda: change_basis(weights, between={2: ONE}),
        lambda: swap(weights),
        lambda: swap(weights, layer=1),
        lambda: swap(weights, layer=7),
    ):
        with pytest.raises(BadInput) as caught:
            move()
        assert "\n" not in str(caught.value)
    with pytest.raises(ShapeError):
        change_basis(weights, query_key={1: [[1]]})


RANKS = [
    (d, d_out, r, s) for d, d_out in ((2, 1), (2, 2), (3, 2)) for r in range(d + 1) for s in range(min(d, d_out) + 1)
]


@pytest.mark.parametrize(("d", "d_out", "rk_a", "rk_v"), RANKS)
def test_one_layer_every_pair_of_ranks(d, d_out, rk_a, rk_v):
    shape = Architecture((d, d_out), (d,), 2)
    weights = Weights.random(shape, seed=1, attention_matrix_ranks=[rk_a], value_ranks=[rk_v])
    found = fiber(weights)
    assert found.complete
    if rk_a == 0 or rk_v == 0:
        assert found.source == "Theorem 3.2, case 2"
        assert [c.dimension for c in found.components] == [d * d, d * d_out]
    elif rk_a == rk_v == 1:
        assert found.source == "Theorem 3.2, case 1"
        assert len(found.components) == 2
    else:
        assert found.source == "Theorem 3.2, case 3"
        assert len(found.components) == found.known_dimension == 1
    assert all(is_same_by_coefficients(found.virtual, c.point) for c in found.components)
    assert found.bounds is not None
    assert found.bounds[0] <= found.bounds[1]


def test_one_component_where_the_exchange_changes_nothing():
    h, q, v = [1, 2], [3, -1], [1, 1]
    assert len(fiber(network(np.outer(h, q), value=np.outer(v, h))).components) == 1


def test_generic_dimension_in_all_weights():
    """One rescaling and GL_a: nothing else at a generic point."""
    weights = Weights.random(Architecture((3, 2), (2,), 2), seed=0)
    assert fiber(weights).dimension == 1 + 2 * 2


def test_no_dimension_is_made_up():
    found = fiber(Weights.random(Architecture((30, 30), (30,), 2), seed=0))
    assert found.bounds is None
    assert found.dimension is None


@pytest.mark.parametrize(
    ("form", "row", "components", "irrational"),
    [
        ([[0, 1], [0, 0]], [1, 1], 3, 0),  # x y (x + y): three ways
        ([[0, 1], [0, 0]], [1, 0], 2, 0),  # x y x
        ([[1, 0], [0, 0]], [0, 1], 2, 0),  # x x y
        ([[1, 0], [0, 0]], [1, 0], 1, 0),  # x^3
        ([[1, 0], [0, 1]], [1, 0], 1, 0),  # x^2 + y^2 is irreducible over the reals
        ([[1, 0], [0, -2]], [1, 0], 3, 2),  # x^2 - 2 y^2 splits over the reals only
        ([[1, 5], [-5, -4]], [1, 0], 3, 0),  # (x - 2 y)(x + 2 y), and a skew part
    ],
)
def test_one_token(form, row, components, irrational):
    found = fiber(network(form, value=[row]), tokens=1)
    assert found.complete
    assert [c.dimension for c in found.components] == [2] * components
    points = [c.point for c in found.components if c.point is not None]
    assert components - len(points) == irrational
    assert all(is_same_by_coefficients(found.virtual, point, tokens=1) for point in points)


def test_one_token_with_two_value_rows():
    assert len(fiber(network([[0, 1], [0, 0]], value=ONE), tokens=1).components) == 1


def test_deep_fibers():
    m = [[1, 2], [3, 4]]
    applies = fiber(network(m, [[1, 1], [0, 1]], value=[[1, 2]]))
    assert (applies.complete, applies.source, applies.known_dimension) == (True, "Theorem 3.7", 2)
    last = fiber(network(m, [[1, 1], [1, 1]], value=[[1, 2]]))
    assert last.complete
    assert len(last.components) == 2
    assert all(is_same_by_coefficients(last.virtual, c.point) for c in last.components)
    skew = fiber(network(m, J, value=[[1, 2]]))
    assert not skew.complete
    assert "A~2 is skew-symmetric" in skew.reason
    first = fiber(network([[1, 2], [2, 4]], m, value=[[1, 2]]))
    assert not first.complete
    assert first.known_dimension == 2 + 1
    assert not fiber(network(m, m, value=[[1, 2]]), tokens=1).complete
    narrow = fiber(network([[2]], [[3]], value=[[5]]), tokens=1)
    assert (narrow.complete, narrow.known_dimension) == (True, 2)
    zero = fiber(network([[1, 2], [2, 4]], J, value=[[1, 2]]))
    assert zero.complete
    assert all(is_same_by_coefficients(zero.virtual, c.point) for c in zero.components)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([J, ONE, [[1, 1], [1, 1]], [[0, 1], [0, 0]], [[1, 2], [3, 4]], [[0, 0], [0, 0]]]),
                min_size=1, max_size=3), st.integers(1, 2))  # fmt: skip
def test_zero_function_both_ways(attention, tokens):
    weights = network(*attention, value=[[1, -2]])
    x = np.random.default_rng(0).integers(-(10**6), 10**6, size=(2, tokens))
    assert is_zero_function(virtual_weights(weights.layers), tokens) == (not output(weights, x).any())


def test_same_by_equal_virtual_weights_of_other_shapes():
    wide = Weights.of({"Q1": [[1, 2], [0, 0], [0, 0]], "K1": [[3, 1], [1, 1], [0, 2]], "V1": [[1, 1]]})
    thin = Weights.of({"Q1": [[2, 4]], "K1": [[3, 1]], "V1": [[0.5, 0.5]]})
    found = same_function(wide, thin)
    assert found.answer is Answer.SAME
    assert found.connection is not None
    assert found.connection.factors == (2,)
    assert found.connection.query_key is None


def test_symmetric_parts_behind_rank_one():
    one = network([[1, 1], [1, 1]], [[1, 2], [3, 4]], value=[[1, 2]])
    other = network([[1, 1], [1, 1]], [[1, 0], [5, 4]], value=[[1, 2]])
    found = same_function(one, other)
    assert found.reason == "symmetry"
    assert found.connection is not None
    assert found.connection.symmetric_parts
    assert coefficients(one) == coefficients(other)


E, F, SUM = [[0, 1, 0], [-1, 0, 0], [0, 0, 1]], [[0, 1, 0], [-1, 0, 0], [0, 0, 0]], [[1, 2, 3]]


def test_coefficients_and_undecided():
    """Two networks with one function for two tokens, not for three: no known move connects them."""
    one, other = network(E, F, value=SUM), network(F, E, value=SUM)
    by_coefficients = same_function(one, other)
    assert (by_coefficients.answer, by_coefficients.reason) == (Answer.SAME, "coefficients")
    assert same_function(one, other, tokens=3).answer is Answer.DIFFERENT
    undecided = same_function(one, other, memory=0, evaluations=3)
    assert (undecided.answer, undecided.evaluations) == (Answer.UNDECIDED, 3)
    assert undecided.error_bound == Fraction(9, 2**32 + 1) ** 3
    assert same_function(one, other, memory=0, evaluations=0).error_bound == 1


P, Q, R, SKEW = [1, 2], [3, -1], [1, 1], [[0, 5], [-5, 0]]
RR, PP, M = np.outer(R, R), np.outer(P, P), [[1, 2], [3, 4]]
MOVABLE = {
    "Theorem 3.2": (network(np.outer(P, Q), value=[R]), 2),
    "Theorem 3.2, last layer": (network(M, np.outer(P, Q), value=[R]), 2),
    "squares": (network(np.outer(P, Q), RR + SKEW, value=np.outer([2, 5], R)), 2),
    "squares, three layers": (network(np.outer(P, Q), RR + SKEW, 3 * RR, value=[R]), 2),
    "squares, behind a layer": (network(M, np.outer(P, Q), RR - SKEW, value=[R]), 2),
    "skew": (network(M, 2 * np.array(J), value=[R]), 2),
    "skew, back": (network(3 * np.array(J), [[-2, -4], [-6, -8]], value=[R]), 2),
    "skew, three layers": (network(M, J, [[1, 1], [0, 1]], value=[R]), 3),
    "skew, last": (network([[1, 1], [0, 1]], M, J, value=[R]), 3),
    "linear factors": (network(np.outer(P, Q), [[0, 1], [0, 0]], value=[R]), 3),
    "both": (network(np.outer(P, Q), np.outer(P, R), value=[R]), 2),
}


@pytest.mark.parametrize("name", MOVABLE)
def test_moves_keep_the_function(name):
    weights, orbits = MOVABLE[name]
    virtual = virtual_weights(weights.layers)
    paths = list(known_partners(virtual, 2))
    assert len(paths) >= 2
    for path in paths[1:]:
        assert is_same_by_coefficients(virtual, path[-1][1])
        assert not same_orbit(virtual, path[-1][1], 2)
        found = same_function(weights, network(*path[-1][1].attention, value=path[-1][1].value), memory=0)
        assert found.reason == "symmetry"
        assert found.connection is not None
        assert found.connection.moves
        assert len(found.connection.moves) <= len(path)
    described = fiber(weights)
    assert [len(described.components), described.complete_over is None] == [orbits, weights.architecture(2).depth == 3]


@pytest.mark.parametrize(
    ("attention_ranks", "value_ranks", "layer"),
    [([1, 2], [1, 2], 1), ([1, 1], [1, 1], 1), ([2, 1], [6, 1], 2), ([2, 1], [6, 1], None)],
)
def test_the_moves_of_the_library_are_found(attention_ranks, value_ranks, layer):
    """No room for the coefficients: it must be a symmetry, with weights that a reader can apply."""
    shape = Architecture((6, 6, 2), (3, 3), 3)
    weights = Weights.random(shape, seed=1, attention_matrix_ranks=attention_ranks, value_ranks=value_ranks)
    swapped = swap(weights, layer=layer)
    found = same_function(weights, swapped, tokens=3)
    assert (found.answer, found.reason) == (Answer.SAME, "symmetry")
    group = found.connection
    assert group is not None
    assert [move.name for move in group.moves] == ["exchange"]
    assert group.query_key is not None
    again = transform(group.moved, query_key=group.query_key, between=group.between, scales=group.scales)
    assert again == swapped


def test_swap_then_transform_is_mapped_by_matrices():
    shape = Architecture((3, 3, 2), (2, 2), 2)
    weights = Weights.random(shape, seed=1, attention_matrix_ranks=[2, 1], value_ranks=[3, 1])
    other = transform(swap(weights), query_key={1: M, 2: M}, between={1: invertible(3, 7)}, scales={1: 3, 2: 5})
    group = same_function(weights, other).connection
    assert group is not None
    assert group.query_key is not None
    assert transform(group.moved, query_key=group.query_key, between=group.between, scales=group.scales) == other


def test_moved_weights_have_the_skew_parts_of_the_second():
    one = network(np.outer(P, Q), RR + SKEW, value=[R])
    other = network(np.outer(R, Q), PP - 3 * np.array(SKEW), value=[P])
    group = same_function(one, other).connection
    assert group is not None
    assert group.symmetric_parts
    assert group.moved is not None
    assert coefficients(group.moved) == coefficients(one)
    changed, target = virtual_weights(group.moved.layers), virtual_weights(other.layers)
    for factor, a, b in zip(group.factors, changed.attention, target.attention, strict=True):
        assert (factor * a == b).all()
    assert (group.value_factor * changed.value == target.value).all()


def test_two_small_layers_are_complete_over_the_rationals():
    found = fiber(network(E, F, value=SUM))
    assert (found.complete, found.complete_over, len(found.components)) == (False, "Q", 2)
    assert all(is_same_by_coefficients(found.virtual, c.point) for c in found.components)
    assert len(fiber(network(E, F, value=SUM), tokens=3).components) == 1
    wide = Weights.random(Architecture((5, 5, 1), (5, 5), 2), seed=0, attention_matrix_ranks=[1, 3])
    assert fiber(wide).complete_over is None
    assert fiber(network(M, J, M, value=[R])).complete_over is None
    assert fiber(network(M, M, value=[R]), tokens=1).complete_over is None


def test_different():
    shape = Architecture((2, 2), (1,), 2)
    one, other = Weights.random(shape, seed=0), Weights.random(shape, seed=1)
    found = same_function(one, other)
    assert found.answer is Answer.DIFFERENT
    assert found.input is not None
    assert found.outputs is not None
    assert (output(one, found.input) == rational_matrix(found.outputs[0])).all()
    assert (output(other, found.input) == rational_matrix(found.outputs[1])).all()
    assert (found.outputs[0] != found.outputs[1]).any()
    deeper = network(ONE, ONE, value=ONE)
    assert same_function(network(ONE, value=ONE), deeper).answer is Answer.DIFFERENT
    # a multiple of the function is another function: the factors have to cancel
    assert same_function(network(J, value=ONE), network(J, value=np.array(ONE) * 2)).answer is Answer.DIFFERENT
    # (lambda_1, lambda_2, mu) = (2, 1, 1/2) would cancel in one layer, and does not in two
    assert same_function(deeper, network(np.array(ONE) * 2, ONE, value=np.array(ONE) / 2)).answer is Answer.DIFFERENT


def test_zero_and_depth():
    assert same_function(network(J, value=ONE), network(J, J, value=ONE), tokens=1).reason == "zero"
    assert same_function(network(J, value=ONE), network(ONE, value=ONE), tokens=1).answer is Answer.DIFFERENT


def test_very_deep_networks_are_compared_by_virtual_weights():
    deep = network(*[ONE] * 40, value=ONE)
    assert same_function(deep, deep).answer is Answer.SAME
    doubled = network(*[np.array(ONE) * 2] * 40, value=ONE)
    found = same_function(deep, doubled)
    assert (found.answer, found.evaluations, found.error_bound) == (Answer.UNDECIDED, 0, 1)


def test_shapes_must_fit():
    one = Weights.random(Architecture((2, 1), (1,), 2))
    with pytest.raises(ShapeError, match="output width"):
        same_function(one, Weights.random(Architecture((2, 2), (1,), 2)))
    with pytest.raises(ShapeError, match="input width"):
        same_function(one, Weights.random(Architecture((3, 1), (1,), 2)))
    with pytest.raises(BadInput):
        same_function(one, one, evaluations=-1)


@pytest.fixture
def files(tmp_path):
    weights = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 6]]})
    deep = network(E, F, value=SUM)
    named = {
        "one": weights,
        "swapped": swap(weights),
        "doubled": rescale(weights, layer=1, by=2),
        "other": Weights.of({"Q1": [[1, 2]], "K1": [[1, 1]], "V1": [[3, 6]]}),
        "narrow": Weights.of({"Q1": [[1]], "K1": [[1]], "V1": [[3]]}),
        "deep": deep,
        "partner": network(F, E, value=SUM),
    }
    for name, matrices in named.items():
        save_weights(matrices, tmp_path / f"{name}.json")
    return lambda name: str(tmp_path / f"{name}.json")


def invoke(command, *arguments):
    """The command's own exit code is what it returns outside of click's standalone mode."""
    result = CliRunner().invoke(command, [str(a) for a in arguments], standalone_mode=False)
    return result, result.return_value


@pytest.mark.parametrize(("second", "code"), [("swapped", 0), ("doubled", 0), ("one", 0), ("other", 1)])
def test_same_command(files, second, code):
    result, returned = invoke(same_command.command, files("one"), files(second))
    assert result.exception is None
    assert returned == code
    assert ("same", "different")[code] in result.output
    result, returned = invoke(same_command.command, files("one"), files(second), "--json", "--tokens", 3)
    document = json.loads(result.output)
    assert returned == code
    assert document["schema"] == "lightning-sym/same/1"
    assert document["answer"] == ("same", "different")[code]
    assert (document["input"] is None) == (code == 0)


def test_launcher(files, tmp_path):
    """Exit codes as a shell sees them."""
    launcher = Path(__file__).parents[2] / "cli.py"
    for second, code in (("swapped", 0), ("other", 1), ("narrow", 2)):
        words = [sys.executable, str(launcher), "same", files("one"), files(second)]
        done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=False)
        assert done.returncode == code
        assert done.stderr.count("\n") == (code == 2)


def test_same_command_undecided_and_bad_input(files, monkeypatch):
    module = sys.modules["lightning_sym.fibers.same_function"]  # the package has a function of that name

    result, _ = invoke(same_command.command, files("one"), files("narrow"))
    assert isinstance(result.exception, BadInput)

    def small(first, second, tokens, *, seed, **options):
        return same_function(first, second, tokens, seed=seed, memory=0, **options)

    monkeypatch.setattr(module, "same_function", small)
    result, returned = invoke(same_command.command, files("deep"), files("partner"))
    assert returned == 3
    assert "10^-69" in result.output
    result, returned = invoke(same_command.command, files("deep"), files("partner"), "--json")
    assert (returned, json.loads(result.output)["evaluations"]) == (3, 8)


@pytest.mark.parametrize(("name", "tokens"), list(product(["one", "deep", "narrow"], [1, 2])))
def test_fiber_command(files, name, tokens):
    result, returned = invoke(fiber_command.command, files(name), "--tokens", tokens)
    code = 3 if tokens == 1 and name in ("one", "deep") else 0  # there the dimension in (Q, K, V) is open
    assert (result.exception, returned) == (None, code)
    assert "component 1" in result.output
    result, returned = invoke(fiber_command.command, files(name), "--tokens", tokens, "--json")
    document = json.loads(result.output)
    assert (returned, document["schema"]) == (code, "lightning-sym/fiber/1")
    over = {("deep", 1): "R", ("deep", 2): "Q"}.get((name, tokens), "R")
    assert (document["complete"], document["complete_over"]) == (over == "R", over)


def test_same_command_says_how_to_get_there(files):
    result, _ = invoke(same_command.command, files("one"), files("swapped"), "--json")
    symmetry = json.loads(result.output)["symmetry"]
    assert [(move["name"], move["layer"]) for move in symmetry["moves"]] == [("exchange", 1)]
    assert symmetry["exchanged"]
    assert symmetry["moved"]["V1"] == [["3", "0"]]
    assert symmetry["group_element"] == {"query_key": {"1": [["1"]]}, "between": {}, "scales": {"1": "1"}}
    result, _ = invoke(same_command.command, files("one"), files("swapped"))
    assert "moved V1" in result.output


def test_deep_networks_that_need_no_input_to_differ():
    def one(depth, first=1):
        matrices = {f"{letter}{i}": [[1]] for i in range(1, depth + 1) for letter in "QKV"}
        return Weights.of(matrices | {"V1": [[first]]})

    assert same_function(one(10), one(10, 0)).reason == "zero"
    assert same_function(one(10), one(11)).reason == "degree"
    assert {same_function(one(10), other).answer for other in (one(10, 0), one(11), one(3))} == {Answer.DIFFERENT}
