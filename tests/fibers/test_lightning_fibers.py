"""Fibers of lightning networks with masks, skip connections, heads, embeddings: what is claimed whole, and refusals."""

from __future__ import annotations

import itertools
import json
import random
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import run
from small_transformers import changed

from lightning_sym import SOFTMAX, Architecture, Fiber, NetworkForm, Weights, fiber, network_output, save_weights
from lightning_sym.errors import TooLarge
from lightning_sym.fibers.conditions import SoftmaxConditions
from lightning_sym.fibers.observed_network import points_needed
from lightning_sym.limits import Work
from lightning_sym.rings.rationals import RationalMatrix

FORMS = [NetworkForm(causal=causal, skip=skip) for causal in (False, True) for skip in (False, True)]


def same(first: Weights, second: Weights, tokens: int, inputs: int = 3) -> bool:
    """Whether the outputs at some inputs of large integers are equal, exactly."""
    source = random.Random(1)
    architecture = first.architecture(tokens)
    for _ in range(inputs):
        rows = [[source.randint(-999, 999) for _ in range(tokens)] for _ in range(architecture.input_width)]
        x = RationalMatrix.of(np.array(rows, dtype=object))
        one, two = (
            network_output(x, w.architecture(tokens), [RationalMatrix.of(m) for m in w.named().values()])
            for w in (first, second)
        )
        if one != two:
            return False
    return True


@pytest.mark.parametrize("tokens", [1, 2, 3])
@pytest.mark.parametrize("form", FORMS)
def test_one_layer_is_the_plain_one(form: NetworkForm, tokens: int) -> None:
    plain = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4], [6, 8]]})
    found, known = fiber(plain.with_form(form), tokens), fiber(plain, tokens)
    assert found.complete
    assert found.architecture == plain.with_form(form).architecture(tokens)
    assert [c.description for c in found.components] == [c.description for c in known.components]
    assert found.dimension == known.dimension == (2 if tokens > 1 else known.dimension)
    for component in found.components:
        skew = {p.name: [[0, 2], [-2, 0]] for p in component.parameters if p.kind == "skew"}
        if component.virtual is None or (tokens == 1 and skew):
            continue  # of rank one no more than forms of rank one
        point = component.point(lam=Fraction(-3, 2), **skew)
        assert point.form == form
        assert same(point, plain.with_form(form), tokens)


def test_the_virtual_weights_of_one_layer_with_everything() -> None:
    architecture = Architecture((2, 2), (1,), 2, value_ranks=(1,), skip=True, embed=3, unembed=2)
    weights = Weights.random(architecture, seed=3, bound=4)
    found = fiber(weights)
    assert (found.complete, found.source) == (True, "Theorem 3.2, case 1")
    assert found.reason.endswith("U E is determined too")
    named, virtual = weights.matrices, found.virtual
    assert virtual is not None
    assert (virtual.value == named["U"] @ named["O1"] @ named["V1"] @ named["E"]).all()
    # the exchange p <-> w of A = p q^T, V = v w^T is K <-> V, both of one row
    exchanged = changed(weights, K1=named["V1"], V1=named["K1"])
    assert same(weights, exchanged, 2)
    other = found.components[1].virtual
    assert other is not None
    (a,), v = other
    swapped = fiber(exchanged).virtual
    assert swapped is not None
    place = tuple(np.argwhere(a != 0)[0])
    factor = swapped.attention[0][place] / a[place]
    assert (swapped.attention[0] == factor * a).all()
    assert (factor * swapped.value == v).all()
    # bases of the stream, the factors, and the scale
    assert found.dimension == 4 + 1 + 1 + 1
    with pytest.raises(Exception, match="made without them"):
        found.components[0].point(lam=2)


VALUES = (-1, 0, 1)


@pytest.mark.parametrize("form", [FORMS[0], FORMS[2]])
def test_all_small_networks_of_one_layer(form: NetworkForm) -> None:
    """Widths 2,1, entries -1, 0, 1: two have the same function exactly if one is in the fiber of the other."""
    classes: dict[Any, list[Weights]] = {}
    x = np.array([[3, -7], [11, 5]])
    inputs = [
        np.array([[a, b], [c, d]]) @ x for a, b, c, d in ((1, 0, 0, 1), (2, 1, -1, 1), (1, 3, 2, -2), (0, 1, 5, 1))
    ]
    for entries in itertools.product(VALUES, repeat=6):
        q, k, v = (np.array([entries[i : i + 2]]) for i in (0, 2, 4))
        mask = np.triu(np.ones((2, 2), dtype=int)) if form.causal else 1
        outputs = tuple(int(n) for y in inputs for n in (v @ y @ ((k @ y).T @ (q @ y) * mask)).ravel())
        classes.setdefault(outputs, []).append(Weights.of({"Q1": q, "K1": k, "V1": v}, form))
    assert len(classes) > 50
    for members in classes.values():
        found = fiber(members[0])
        assert found.complete
        for other in members:
            assert contains(found, other)
        for outsider in next(iter(classes.values())), list(classes.values())[-1]:
            if outsider is not members:
                assert not contains(found, outsider[0])


def contains(found: Fiber, other: Weights) -> bool:
    """Whether the virtual weights of one layer lie in a component, by its description alone."""
    a, v = other["K1"].T @ other["Q1"], other["V1"]
    for component in found.components:
        if component.description.startswith("V~' = 0"):
            inside = not v.any()
        elif component.description.startswith("A~1' = 0"):
            inside = not a.any()
        else:
            assert component.virtual is not None
            (b,), w = component.virtual
            place = tuple(np.argwhere(b != 0)[0])
            factor = a[place] / b[place]
            inside = bool(factor and (a == factor * b).all() and (v * factor == w).all())
        if inside:
            return True
    return False


@pytest.mark.parametrize("last", [1, 2])
@pytest.mark.parametrize("tokens", [1, 2, 3])
def test_a_mask_changes_no_fiber_under_the_hypotheses(tokens: int, last: int) -> None:
    architecture = Architecture((2, 2, 2), (2, last), tokens)
    plain = Weights.random(architecture, seed=2, value_ranks=[2, 1])
    masked = plain.with_form(NetworkForm(causal=True))
    found, known = fiber(masked, tokens), fiber(plain, tokens)
    assert [c.description for c in found.components] == [c.description for c in known.components]
    assert found.bounds == known.bounds
    if tokens > 1:
        assert found.complete
        assert len(found.components) == (2 if last == 1 else 1)
        for component in found.components:
            assert same(component.point(lam_1=2, lam_2=-1), masked, tokens)
        assert not same(changed(masked, V1=2 * masked["V1"]), masked, tokens)


def test_a_mask_makes_skew_layers_zero() -> None:
    """Two skew layers, two tokens: zero under a mask, not without; no theorem is claimed."""
    named = {
        f"{c}{i}": m for i in (1, 2) for c, m in zip("QKV", ([[0, 1], [-1, 0]], np.eye(2), np.eye(2)), strict=True)
    }
    plain = Weights.of({name: np.array(matrix, dtype=int) for name, matrix in named.items()})
    masked = plain.with_form(NetworkForm(causal=True))
    zero = changed(masked, V2=0 * masked["V2"])
    assert same(masked, zero, 2)
    assert not same(plain, changed(plain, V2=0 * plain["V2"]), 2)
    assert not same(masked, zero, 3)
    for tokens in (2, 3):
        found = fiber(masked, tokens)
        assert (found.complete, found.components) == (False, ())
        assert found.bounds is not None


@pytest.mark.parametrize("skip", [False, True])
def test_heads_have_an_orbit_of_known_dimension(skip: bool) -> None:
    """GL(a) and a scale for each head, GL(b), bases of the stream between the layers or with both ends."""
    bare = Architecture((3, 3, 3), (1, 2), 3, heads=2, skip=skip)
    found = fiber(Weights.random(bare, seed=1), 3)
    assert found.near is not None
    assert found.near.is_orbit
    assert found.dimension == 2 * (1 + 4) + 4 + (0 if skip else 9)
    assert "permutations of the heads of a layer" in found.generators
    assert found.complete is skip  # the tensors are determined then, at every depth
    assert ("near these weights the fiber is the orbit of the symmetries" in str(found)) is not skip
    ends = Architecture((3, 3, 3), (1, 2), 3, heads=2, skip=skip, value_ranks=(2, 2), embed=4, unembed=3, causal=True)
    assert fiber(Weights.random(ends, seed=1), 3).dimension == 2 * (1 + 4) + 4 + 4 * 4 + (9 if skip else 27)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    heads = Weights.random(Architecture((2, 2, 2), (1, 1), 2, heads=2), seed=5, bound=5)
    layer = Weights.random(Architecture((2, 2), (1,), 2, skip=True, causal=True), seed=5, bound=5)
    for weights, code in ((heads, 3), (layer, 0)):
        save_weights(weights, file := tmp_path / "weights.json")
        status, out, err = run(capsys, "fiber", str(file), "--json")
        document, found = json.loads(out), fiber(weights)
        assert (status, err) == (code, "")
        assert found.near is not None
        assert (document["complete"], document["dimension"]) == (found.complete, found.dimension)
        assert (document["bounds"], document["orbit"]) == (list(found.bounds or ()), found.near.orbit)
        assert document["generators"] == list(found.generators)
        status, out, err = run(capsys, "fiber", str(file))
        assert out.rstrip("\n") == str(found)


def test_matrices_that_no_embedding_leads_to_are_named() -> None:
    """A skip connection keeps E = 0, so that no weights of this shape have other virtual weights than zero."""
    one, zero = [[1, 0], [0, 1]], [[0, 0], [0, 0]]
    embedded = Weights.of({"E": zero, "Q1": one, "K1": one, "V1": one}, NetworkForm(skip=True))
    assert "also those that no E and U of this shape lead to" in str(fiber(embedded))
    plain = Weights.of({"Q1": one, "K1": one, "V1": one}, NetworkForm(skip=True))
    assert "lead to" not in str(fiber(plain))


def test_work_bounds_conditions_and_components() -> None:
    many = Weights.random(Architecture((1, 1), (1,), 3, SOFTMAX, heads=600, skip=True), seed=1, bound=2)
    began = time.monotonic()
    SoftmaxConditions(many, 3, Work(), memory=2**32).all()
    assert time.monotonic() - began < 30  # 50 s when there were points for all pairs of heads; less than one now
    deep = Architecture((2,) * 1001, (1,) * 1000, 2)
    zero = Weights.random(deep, seed=1, bound=1)
    narrow = Weights.random(
        Architecture((2,) * 201, (1,) * 200, 3, SOFTMAX, heads=2, skip=True, embed=1), seed=1, bound=2
    )
    for weights, tokens, work in ((zero, 2, 60.0), (narrow, 3, 0.01), (many, 3, 0.01)):
        with pytest.raises(TooLarge) as caught:
            fiber(weights, tokens, work=work)
        assert "\n" not in str(caught.value)
    assert any(c.name == "(a), words" for c in fiber(narrow, 3, work=2).conditions)


def test_points_for_pairs_of_heads_where_they_are_needed() -> None:
    forms = Architecture((2, 2, 2), (1, 1), 2, SOFTMAX, heads=5, skip=True, causal=True)
    assert points_needed(forms) == 15 + 8
    assert points_needed(Architecture((2, 2), (1,), 2, SOFTMAX, heads=5, skip=True, causal=True)) == 5 + 8
    assert points_needed(Architecture((2, 2, 2), (1, 1), 2, SOFTMAX, heads=50, skip=True, causal=True)) == 50 + 8
