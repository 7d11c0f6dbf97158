"""Components as families: their parameters, the weights at each of their points, and what is refused."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from virtual_networks import ONE, SUM, E, F, J, M, network

from lightning_sym import Architecture, BadInput, Weights, fiber, forward, same_function
from lightning_sym.errors import ProgramError
from lightning_sym.exact.rational import rank
from lightning_sym.fibers import points
from lightning_sym.fibers.answer import Fiber
from lightning_sym.fibers.points import Component
from lightning_sym.fibers.recovery import network_of
from lightning_sym.fibers.same_function import Answer
from lightning_sym.network.virtual_weights import VirtualWeights, exact_virtual_weights

CASES: dict[str, tuple[Weights, int]] = {
    "generic": (Weights.random(Architecture((3, 2), (2,), 2), seed=1), 2),
    "rank one": (network(np.outer([1, 2], [3, -1]), value=[[3, 4]]), 2),
    "zero": (network([[0, 0], [0, 0]], value=[[3, 6]]), 2),
    "zero at one token": (network(J, value=[[3, 6]]), 1),
    "skew at one token": (network([[1, 5], [-5, -4]], value=[[1, 0]]), 1),
    "one token, three dimensions": (Weights.random(Architecture((3, 3), (3,), 1), seed=4), 1),
    "two layers": (Weights.random(Architecture((3, 3, 2), (2, 3), 2), seed=2), 2),
    "two layers, last of rank one": (network([[1, 2], [3, 4]], [[1, 1], [1, 1]], value=[[1, 2]]), 2),
    "hidden skew part": (network([[1, 2], [2, 4]], [[1, 2], [3, 4]], value=[[1, 2]]), 2),
    "two layers, zero": (network([[1, 2], [2, 4]], J, value=[[1, 2]]), 2),
    "two layers, one token": (network(M, [[1, 1], [0, 2]], value=[[1, 2]]), 1),
    "two orbits over the rationals": (network(E, F, value=SUM), 2),
    "skew layers": (network(M, J, value=ONE), 2),
    "three layers": (network([[1, 2], [3, 4]], [[2, 1], [1, 1]], [[1, 0], [2, 1]], value=[[1, 2]]), 2),
    "narrow middle": (Weights.random(Architecture((3, 1, 2), (2, 1), 2), seed=3), 2),
}
FIBERS: dict[str, Fiber] = {name: fiber(w, tokens) for name, (w, tokens) in CASES.items()}
COMPONENTS = [(name, i) for name, found in FIBERS.items() for i in range(len(found.components))]


def arguments(component: Component, random: Random, d: int, d_out: int) -> dict[str, Any]:
    """Random values for all parameters."""

    def entry() -> Fraction:
        return Fraction(random.randint(-4, 4), random.randint(1, 3))

    found: dict[str, Any] = {}
    for each in component.parameters:
        rows = d if each.layer else d_out
        matrix = np.array([[entry() for _ in range(d)] for _ in range(rows)], dtype=object)
        values: dict[str, Any] = {
            "scale": entry() or Fraction(-2), "skew": matrix - matrix.T if rows == d else None, "any": matrix,
            "left": matrix[0], "right": list(matrix[-1]),
        }  # fmt: skip
        found[each.name] = values[each.kind]
    return found


def agree(first: Weights, second: Weights, tokens: int, random: Random) -> bool:
    """Equal outputs at three integer inputs, by the forward pass on fractions."""
    rows = first.architecture(tokens).widths[0]
    for _ in range(3):
        entries = [[Fraction(random.randint(-9, 9)) for _ in range(tokens)] for _ in range(rows)]
        x = np.array(entries, dtype=object)
        if not np.array_equal(forward(x, first.layers), forward(x, second.layers)):
            return False
    return True


def possible(shape: Architecture, target: VirtualWeights) -> bool:
    """Whether weights of this shape can have these virtual weights, by ranks."""
    fits = all(rank(a) <= most for a, most in zip(target.attention, shape.attention_ranks, strict=True))
    for i in range(1, shape.depth):
        later = [part for a in target.attention[i:] for part in (a, a.T)]
        fits = fits and rank(np.concatenate([*later, target.value])) <= shape.widths[i]
    return fits


@pytest.mark.parametrize(("name", "i"), COMPONENTS, ids=[f"{name} {i}" for name, i in COMPONENTS])
def test_every_point_has_the_function(name: str, i: int) -> None:
    (weights, tokens), component, random = CASES[name], FIBERS[name].components[i], Random(f"{name} {i}")
    shape = weights.architecture(tokens)
    if component.virtual is None:
        return
    for _ in range(3):
        given = arguments(component, random, shape.widths[0], shape.widths[-1])
        target = component.at(**given)
        assert agree(weights, network_of(target), tokens, random)
        if not possible(shape, target):
            with pytest.raises(BadInput, match="of rank at most"):
                component.point(**given)
            continue
        point = component.point(**given)
        assert point.architecture(tokens) == shape
        assert agree(weights, point, tokens, random)
        assert exact_virtual_weights(point) == target


@pytest.mark.parametrize(("name", "i"), COMPONENTS, ids=[f"{name} {i}" for name, i in COMPONENTS])
def test_there_are_as_many_parameters_as_dimensions(name: str, i: int) -> None:
    component, shape = FIBERS[name].components[i], FIBERS[name].architecture
    d, d_out = shape.widths[0], shape.widths[-1]
    if component.virtual is None:
        assert not component.parameters
        return
    sizes = {"scale": 1, "skew": d * (d - 1) // 2, "any": d * d, "left": d, "right": d - 1}  # p q^T = (p c)(q / c)^T
    free = sum(d * d_out if p.kind == "any" and not p.layer else sizes[p.kind] for p in component.parameters)
    assert free == component.dimension
    assert len({p.name for p in component.parameters}) == len(component.parameters)


def test_points_are_what_one_expects() -> None:
    w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
    ours, other = fiber(w).components
    assert ours.point(lam=1) == w
    assert ours.point(lam=2)["Q1"].tolist() == [[2, 4]]
    assert ours.point(lam=0.5, C=[[4]])["K1"].tolist() == [[4, 0]]
    assert same_function(other.point(lam=-3), w).answer is Answer.SAME
    assert [p.name for p in ours.parameters] == ["lam"]
    deep = FIBERS["two layers"].components[0]
    names = {"lam_1": 2, "lam_2": Fraction(1, 3), "G_1": np.diag([1, 2, 3]), "C_2": np.triu(np.ones((3, 3)))}
    moved = deep.point(**names)
    assert not np.array_equal(moved["V1"], CASES["two layers"][0]["V1"])
    assert agree(moved, CASES["two layers"][0], 3, Random(0))


def test_copies_are_callable_too() -> None:
    ours = FIBERS["rank one"].components[1]
    for other in (pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours)):  # noqa: S301 - our own
        assert other.point(lam=3) == ours.point(lam=3)


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("generic", {}, "needs lam, and may take C; lam is missing"),
        ("generic", {"mu": 1}, "lam is missing, mu is unknown"),
        ("generic", {"lam": 0}, "lam must not be 0"),
        ("generic", {"lam": "two"}, "lam must be an integer, a fraction or a float, got 'two'"),
        ("generic", {"lam": 1, "C": [[1, 1], [1, 1]]}, "C1 must be invertible"),
        ("generic", {"lam": 1, "C": [[1]]}, "C1 must be 2 x 2"),
        ("two layers", {"lam": 1}, "needs lam_1, lam_2, and may take C_1, C_2, G_1"),
        ("two layers", {"lam_1": 10**5 + 1, "lam_2": 0}, "lam_2 must not be 0"),
        ("skew at one token", {"lam": 1, "S": [[1, 0], [0, 1]]}, "S must be skew-symmetric, got 1 0; 0 1"),
        ("skew at one token", {"lam": 1, "S": [[0]]}, "S must be 2 x 2, got 1 x 1"),
        ("zero", {"V": [[1]]}, "A is missing, V is unknown"),
    ],
)
def test_what_is_wrong_is_named(name: str, given: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput) as caught:
        FIBERS[name].components[0].point(**given)
    assert said in str(caught.value)


def test_no_point_where_none_is_rational() -> None:
    found = fiber(network([[1, 0], [0, -2]], value=[[1, 0]]), tokens=1)
    assert [c.virtual is None for c in found.components] == [False, True, True]
    with pytest.raises(BadInput, match="real members only"):
        found.components[1].point()


def test_shapes_that_have_no_such_weights() -> None:
    weights = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
    ours = fiber(weights, tokens=1).components[0]
    assert ours.point(lam=1, S=[[0, 0], [0, 0]]) == weights
    with pytest.raises(BadInput, match="must have A of rank at most 1, this point has 2"):
        ours.point(lam=1, S=[[0, 1], [-1, 0]])
    any_value = FIBERS["two layers, zero"].components[1]
    assert any_value.parameters[-1].name == "V"


def test_long_powers_are_refused_before_they_are_computed() -> None:
    deep = network(*[[[1]]] * 14, value=[[2]])
    (component,) = fiber(deep).components
    ones = {p.name: 1 for p in component.parameters}
    assert component.point(**ones | {"lam_1": -1})["Q1"].tolist() == [[-1]]
    with pytest.raises(BadInput, match="at most 4,194,304 bits, 20 bits to the power 3\\^13 have more"):
        component.point(**ones | {"lam_1": 10**6})


def test_a_wrong_power_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(points, "_power", lambda factor, times: factor ** (3**times + 1))
    wrong = FIBERS["two layers"].components[0].at(lam_1=2, lam_2=3)
    assert not agree(CASES["two layers"][0], network_of(wrong), 2, Random(1))


def test_weights_that_miss_their_target_are_an_error_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(points, "realized", lambda origin, target: origin)
    with pytest.raises(ProgramError, match="must have the virtual weights"):
        FIBERS["generic"].components[0].point(lam=2)
