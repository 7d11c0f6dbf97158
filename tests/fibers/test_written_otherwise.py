"""Answers about a function do not depend on the weights that are given for it: canonical forms, fibers, seeds."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from command import run
from form_pairs import matrix, unitriangular
from hypothesis import given, settings
from hypothesis import strategies as st

from lightning_sym import Answer, Weights, canonical, fiber, same_function, save_weights, virtual_weights
from lightning_sym.errors import BadInput
from lightning_sym.fibers import same_transformers
from lightning_sym.fibers.comparison import Reason
from lightning_sym.network.form import NetworkForm
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.normalization import SOFTMAX

SEEDS = st.integers(0, 2**32)


def entry(rng: Random, *sizes: int) -> ObjectArray:
    """Integers, and fractions with other denominators, so that numbers become long."""
    found = np.empty(sizes, dtype=object)
    for place in np.ndindex(*sizes):
        found[place] = Fraction(rng.randint(-9, 9), rng.choice((1, 1, 1, 2, 7, 9)))
    return found


def thin(rng: Random, rows: int, columns: int) -> ObjectArray:
    """Of rank one often."""
    if rng.random() < 0.4:
        return np.outer(entry(rng, rows, 1), entry(rng, 1, columns))
    return entry(rng, rows, columns)


def lightning(rng: Random) -> tuple[Weights, int]:
    depth, tokens = rng.choice((1, 2, 2, 2, 3)), rng.choice((2, 2, 3, 4))
    widths = [rng.choice((1, 2, 2, 3)) for _ in range(depth + 1)]
    named: dict[str, ObjectArray] = {}
    for i, (d, behind) in enumerate(pairwise(widths), start=1):
        a = rng.randint(1, 3)
        query, key = thin(rng, a, d), thin(rng, a, d)
        if rng.random() < 0.2:  # skew
            product = entry(rng, d, d)
            query, key = product - product.T, np.eye(d, dtype=int) + Fraction(0)
        named |= {f"Q{i}": query, f"K{i}": key, f"V{i}": thin(rng, behind, d)}
    return Weights.of(named), tokens


def softmax(rng: Random) -> tuple[Weights, int]:
    form = NetworkForm(SOFTMAX, causal=rng.random() < 0.5, skip=rng.random() < 0.7)
    depth, d, heads = rng.randint(1, 2), rng.randint(1, 3), rng.randint(1, 2)
    named: dict[str, ObjectArray] = {"E": matrix(rng, d, rng.randint(1, 3))} if rng.random() < 0.5 else {}
    for i in range(1, depth + 1):
        a, b = rng.randint(1, 2), rng.randint(1, 2)
        for h in range(1, heads + 1):
            key = matrix(rng, a, d) * rng.choice((1, 1, 0))
            name = f"{i}" if heads == 1 else f"{i}.{h}"
            named |= {f"Q{name}": matrix(rng, a, d), f"K{name}": key}
            named |= {f"V{name}": matrix(rng, b, d), f"O{name}": matrix(rng, d, b)}
    return Weights.of(named, form), rng.choice((2, 3))


def refactored(rng: Random, weights: Weights) -> Weights:
    """Other factors of the same products, of the same shapes."""
    named = dict(weights.named())
    for name in [name for name in named if name[0] == "Q"]:
        place = name[1:]
        g, inverse = unitriangular(rng, len(named[name]))
        scale = Fraction(rng.choice((1, -2, 3)), rng.choice((1, 5)))
        named[name], named["K" + place] = scale * g @ named[name], inverse.T @ named["K" + place] / scale
        if "O" + place in named:
            g, inverse = unitriangular(rng, len(named["V" + place]))
            named["V" + place], named["O" + place] = g @ named["V" + place], named["O" + place] @ inverse
    return Weights.of(named, weights.form)


def from_the_function(rng: Random, weights: Weights) -> Weights:
    """The network that has the virtual weights for its weights, longer numbers in them."""
    attention, value = virtual_weights(weights.layers)
    d, depth = value.shape[1], len(attention)
    one = np.eye(d, dtype=int) + Fraction(0)
    named: dict[str, ObjectArray] = {}
    for i, a in enumerate(attention, start=1):
        scale = Fraction(rng.randint(1, 2**60), rng.randint(1, 2**60)) if depth - i < 2 else Fraction(1)
        value = value / scale ** (3 ** (depth - i))
        named |= {f"Q{i}": scale * a, f"K{i}": one, f"V{i}": one}
    return Weights.of(named | {f"V{depth}": value})


def known(weights: Weights, tokens: int) -> str:
    try:
        return canonical(weights, tokens).text
    except BadInput as error:
        return str(error)


def said(weights: Weights, tokens: int) -> list[Any]:
    """What `fiber` says of the function."""
    found = fiber(weights, tokens)
    near = None if found.near is None else found.near.value
    conditions = [(str(condition), condition.holds) for condition in found.conditions]
    theorem = None if found.theorem is None else str(found.theorem)
    return [
        found.source, found.complete_over, theorem, conditions, sorted(c.dimension for c in found.components),
        found.total, near, found.minimal, found.second is None, found.blind,
    ]  # fmt: skip


def check_canonical(seed: int) -> None:
    rng = Random(seed)
    weights, tokens = (lightning if rng.random() < 0.7 else softmax)(rng)
    text = known(weights, tokens)
    others = [refactored(rng, weights)]
    if weights.form.normalization is None:
        others.append(from_the_function(rng, weights))
    if text.startswith("{"):
        others.append(canonical(weights, tokens).weights)
    for other in others:
        assert known(other, tokens) == text


def check_fiber(seed: int) -> None:
    rng = Random(seed)
    weights, tokens = (lightning if rng.random() < 0.5 else softmax)(rng)
    assert said(refactored(rng, weights), tokens) == said(weights, tokens)
    if weights.form.normalization is None:  # in other shapes
        others = fiber(from_the_function(rng, weights), tokens), fiber(weights, tokens)
        first, second = ([f.source, f.complete_over, sorted(c.dimension for c in f.components)] for f in others)
        assert first == second


@settings(max_examples=15)
@given(seed=SEEDS)
def test_canonical_forms(seed: int) -> None:
    check_canonical(seed)


@settings(max_examples=10)
@given(seed=SEEDS)
def test_fibers(seed: int) -> None:
    check_fiber(seed)


@settings(max_examples=150)
@given(seed=SEEDS)
def test_canonical_forms_of_many_networks(seed: int) -> None:
    check_canonical(seed)


@settings(max_examples=100)
@given(seed=SEEDS)
def test_fibers_of_many_networks(seed: int) -> None:
    check_fiber(seed)


def long_numbers() -> Weights:
    """Two layers that are reconstructed from their polynomial; their canonical form has longer numbers."""
    rows = {
        "Q1": "-5/2 1 1/2", "K1": "-6/7 -2/7 -5", "V1": "-21 12 -18, 7/9 -4/9 2/3, 56/9 -32/9 16/3",
        "Q2": "7 5 1/2, -5/2 3 1/2, -4 2 7", "K2": "5/3 0 2/7, 0 -1 -2/7, -3/7 -3 -5",
        "V2": "-6 -6 2/3, 2/7 -4/7 1, 1/3 5/3 5/2",
    }  # fmt: skip
    return Weights.of({name: [[Fraction(x) for x in row.split()] for row in m.split(",")] for name, m in rows.items()})


def test_the_command_takes_what_it_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second, third = (tmp_path / f"{name}.json" for name in ("first", "second", "third"))
    save_weights(long_numbers(), first)
    for source, target in ((first, second), (second, third)):
        code, out, _ = run(capsys, "canonical", str(source), "--tokens", "3", "-o", str(target), "--json")
        assert code == 0
    assert third.read_bytes() == second.read_bytes()
    hashes = {run(capsys, "canonical", str(file), "--tokens", "3", "--hash")[1] for file in (first, second, third)}
    assert hashes == {json.loads(out)["hash"] + "\n"}


def test_a_factor_of_what_is_seen_symmetrically_in_a_middle_layer() -> None:
    """What is skew there does not matter, to known symmetries either."""
    p, q, r, s = ([1, 0], [1, 1], [1, 2], [2, -1])
    skew, one = np.array([[0, 3], [-3, 0]]), np.eye(2, dtype=int)

    def network(middle: Any) -> Weights:
        forms = np.outer(s, q), middle, np.outer(r, r)
        named = {f"{c}{i}": m for i, a in enumerate(forms, start=1) for c, m in (("Q", a), ("K", one), ("V", one))}
        return Weights.of(named | {"V3": [r]})

    ours, other = (fiber(network(np.outer(p, q) + more)).components for more in (0 * skew, skew))
    assert len(ours) == len(other) > 2


# ---- the search for an input

SATURATED: Any = {  # where a score is not 0 softmax attends to one token alone, in both
    "Q1.1": [[10**9, 0]], "K1.1": [[1, 1]], "V1.1": [[1, 0], [0, 0]],
    "Q1.2": [[0, 0]], "K1.2": [[1, 0]], "V1.2": [[0, 1], [1, 0]],
    "Q2.1": [[10**14, 10**14]], "K2.1": [[1, 0]], "V2.1": [[1, 1], [0, 0]],
    "Q2.2": [[10**14, 10**14]], "K2.2": [[1, 0]], "V2.2": [[0, 0], [0, 1]],
}  # fmt: skip


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("place", ["Q1.1", "K1.1", "Q2.1", "K2.2"])
def test_no_answer_depends_on_the_seed(causal: bool, place: str) -> None:
    form = NetworkForm(SOFTMAX, causal=causal, skip=True)
    first = Weights.of(SATURATED, form)
    second = Weights.of(SATURATED | {place: [[SATURATED[place][0][0], SATURATED[place][0][1] + Fraction(1, 10)]]}, form)
    found = [same_function(first, second, 2, seed=seed) for seed in range(20)]
    assert {each.answer for each in found} == {Answer.DIFFERENT}
    assert all(each.input is not None for each in found)


# ---- all coefficients


def heads_with_two_readings(width: int, columns: int) -> tuple[Weights, Weights]:
    """Lightning heads o (v x)(k x)(q x), four a layer; in some of them v and k change places."""
    rng, depth = Random(1), 3
    embed: ObjectArray = matrix(rng, width, columns, 3)
    one = {"E": embed}
    for name in (f"{i}.{h}" for i in range(1, depth + 1) for h in range(1, 5)):
        rows = {c + name: matrix(rng, 1, width, 3) for c in "QKV"}
        one |= rows | {"O" + name: matrix(rng, width, 1, 3)}
    other = dict(one)
    for name in (name[1:] for name in one if name[0] == "Q"):
        if rng.random() < 0.8:
            other["V" + name], other["K" + name] = one["K" + name], one["V" + name]
    return Weights.of(one), Weights.of(other)


def test_all_coefficients_of_what_embeddings_tell_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three inputs, a stream of width two: the polynomials in three take twenty seconds; tensors show it sooner."""
    first, second = heads_with_two_readings(2, 3)
    assert same_function(first, second, 2, work=0.005).reason is Reason.TENSORS
    rows = tuple(row for row in same_transformers.TRANSFORMERS if "Lemma 2" not in row.citation)
    monkeypatch.setattr(same_transformers, "TRANSFORMERS", rows)
    assert same_function(first, second, 2).answer is Answer.SAME
    assert same_function(first, second, 2, work=0.005).answer is Answer.UNDECIDED  # it is paid
    changed = Weights.of(second.named() | {"U": [[1, 0], [0, 2]]})
    assert same_function(first, changed, 2).answer is Answer.DIFFERENT
