"""Fibers of the zero function: Propositions 9 and 10 against points over small fields, Jacobians and local rings."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from lightning_sym import Architecture, NetworkForm, Weights, fiber, virtual_weights
from lightning_sym.errors import ProgramError
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.exact.rational import inertia
from lightning_sym.fibers import zero_strata
from lightning_sym.fibers.integer_steps import DifferenceBounds, least_value
from lightning_sym.fibers.local_dimension import local_dimension
from lightning_sym.fibers.virtual_moves import is_zero_function
from lightning_sym.fibers.zero_strata import zero_dimension
from lightning_sym.limits import Work
from lightning_sym.rings.rationals import RationalMatrix

LOCAL_RINGS: list[tuple[dict[str, Any], int, int]] = [
    ({"Q1": [[1, 1]], "K1": [[0, 0]], "V1": [[0, 0], [0, 0]]}, 1, 6),
    ({"Q1": [[0], [0]], "K1": [[0], [0]], "V1": [[0], [0]]}, 2, 5),
    ({"Q1": [[0, 0]], "K1": [[0, 0]], "V1": [[-1, 1]], "Q2": [[1], [1]], "K2": [[0], [-1]], "V2": [[0], [-1]]}, 2, 10),
    (
        {"Q1": [[-1], [0]], "K1": [[1], [0]], "V1": [[1], [1]], "Q2": [[0, 0]], "K2": [[0, 0]], "V2": [[1, 1], [1, 1]]},
        2,
        13,
    ),
    (
        {
            "Q1": [[0], [1]], "K1": [[1], [1]], "V1": [[0], [-1]],
            "Q2": [[0, 0]], "K2": [[0, 0]], "V2": [[-1, 1], [1, -1]],
        },
        1,
        13,
    ),
    ({"Q1": [[-2, 0], [0, 0]], "K1": [[0, 0], [-2, 0]], "V1": [[0, 0], [0, 0], [0, 0]]}, 2, 11),
    ({"Q1": [[0, 0]], "K1": [[0, 0]], "V1": [[0, 0]], "Q2": [[0], [0]], "K2": [[1], [1]], "V2": [[0]]}, 1, 10),
    ({"Q1": [[0], [1]], "K1": [[0], [0]], "V1": [[1]], "Q2": [[-1]], "K2": [[-1]], "V2": [[0], [0]]}, 2, 8),
    (
        {
            "Q1": [[0]], "K1": [[0]], "V1": [[1]], "Q2": [[1], [-1]], "K2": [[0], [0]], "V2": [[1]],
            "Q3": [[0], [1]], "K3": [[-1], [0]], "V3": [[0]],
        },
        2,
        12,
    ),
]  # fmt: skip
"""Weights, tokens, and the dimension at them by a standard basis of the equations of all outputs in the local ring."""


@pytest.mark.parametrize("case", range(len(LOCAL_RINGS)))
def test_it_is_the_dimension_of_the_local_ring(case: int) -> None:
    matrices, tokens, dimension = LOCAL_RINGS[case]
    weights = Weights.of(matrices)
    assert fiber(weights, tokens).dimension == dimension
    assert zero_dimension(weights, tokens, Work()).value == dimension  # type: ignore[union-attr]


def low(source: random.Random, rows: int, columns: int) -> Any:
    rank = source.randint(0, min(rows, columns))
    left = [[source.randint(-1, 1) for _ in range(rank)] for _ in range(rows)]
    right = [[source.randint(-1, 1) for _ in range(columns)] for _ in range(rank)]
    return np.array(left, dtype=object).reshape(rows, rank) @ np.array(right, dtype=object).reshape(rank, columns)


def drawn(source: random.Random, most: int = 3) -> Weights:
    """Weights of one to three layers, of low rank, one matrix or two of them zero."""
    depth = source.choice([1, 2, 2, 3])
    most = most if depth < 3 else 2
    widths, named = [source.randint(1, most) for _ in range(depth + 1)], dict[str, Any]()
    for i, (d, d_out) in enumerate(pairwise(widths), start=1):
        a = source.randint(1, most)
        named |= {f"Q{i}": low(source, a, d), f"K{i}": low(source, a, d), f"V{i}": low(source, d_out, d)}
        if source.random() < 0.2:
            named[f"Q{i}"] = named[f"K{i}"]
    for name in source.sample(list(named), source.choice([0, 1, 2])):
        named[name] = 0 * named[name]
    return Weights.of(named)


def zeros(seed: int, count: int) -> Iterator[tuple[Weights, int]]:
    source = random.Random(seed)
    while count:
        weights, tokens = drawn(source), source.choice([1, 2, 2])
        if is_zero_function(virtual_weights(weights), tokens):
            count -= 1
            yield weights, tokens


@pytest.mark.parametrize("seed", range(2))
def test_jacobians_and_known_directions_never_contradict(seed: int) -> None:
    kinds: Counter[str] = Counter()
    for weights, tokens in zeros(seed, 60):
        found, other = zero_dimension(weights, tokens, Work()), local_dimension(weights, tokens)
        assert found is not None
        assert other is not None
        assert other.lower <= found.lower <= found.upper <= other.upper, (weights, tokens)
        assert found.orbit <= other.orbit
        kinds["exact"] += found.value is not None
        kinds["exact before"] += other.value is not None
    assert kinds["exact"] > 55 > 30 > kinds["exact before"], kinds


def larger(function: Callable[..., int], by: int) -> Callable[..., int]:
    return lambda *args: function(*args) + by


MUTANTS: dict[str, tuple[str, Callable[..., Any]]] = {
    "spaces cost one less": ("_flags", larger(zero_strata._flags, -1)),
    "spaces cost one more": ("_flags", larger(zero_strata._flags, 1)),
    "forms that vanish cost all": ("_vanishing_cost", lambda a, u, t: u * a),
    "forms that vanish have any rank": ("_vanishing_cost", lambda a, u, t: u * a - (a // 2) * (a - a // 2)),
    "skew forms are like zero ones": ("_skew_cost", lambda a, u: u * u),
    "forms of rank one are free": ("_rank_one_cost", lambda a, u, t: 0),
    "squares cancel": ("inertia", lambda form: (form.rank() // 2, form.rank() // 2)),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zero_strata, *MUTANTS[name])
    wrong = 0
    cases: list[tuple[Weights, int, int | None]] = [(Weights.of(m), t, dimension) for m, t, dimension in LOCAL_RINGS]
    cases += [(w, t, None) for w, t in zeros(0, 40)]
    one, turn = [[1, 0], [0, 1]], [[0, 1], [-1, 0]]
    definite = {"Q1": [[1]], "K1": [[1]], "V1": [[0], [0]], "Q2": one, "K2": one, "V2": one}
    behind = {"Q1": [[1, 0], [0, 0]], "K1": one, "V1": one, "Q2": turn, "K2": one, "V2": [[1, 0]]}
    # V_1 = 0 alone; and a determinant, and three entries of a symmetric form
    cases += [(Weights.of(definite), 2, 14), (Weights.of(behind), 2, 22 - 4)]
    for weights, tokens, dimension in cases:
        found, other = zero_dimension(weights, tokens, Work()), local_dimension(weights, tokens)
        assert found is not None
        assert other is not None
        wrong += found.lower > other.upper or found.upper < other.lower
        wrong += dimension is not None and found.value != dimension
    assert wrong, name


def test_a_definite_form_vanishes_on_no_line_and_one_of_both_signs_does() -> None:
    """Behind a zero value: what can be written there and not be read depends on the reals."""
    one, turn = [[1, 0], [0, 1]], [[1, 0], [0, -1]]
    named = {"Q1": [[1]], "K1": [[1]], "V1": [[0], [0]], "Q2": one, "K2": one, "V2": one}
    assert fiber(Weights.of(named)).dimension == 16 - 2
    assert fiber(Weights.of(named | {"Q2": turn})).dimension == 16 - 1


@pytest.mark.parametrize("widths", [(3, 2, 1), (4, 3, 2), (5, 3, 3), (3, 2, 2, 1), (4, 3, 2, 2)])
def test_a_skew_form_behind_one_of_rank_one_and_narrow_layers(widths: tuple[int, ...]) -> None:
    """In the last two layers, special in nothing else, the kernel of the differential is the tangent space."""
    i, j = len(widths) - 2, len(widths) - 1
    source = random.Random(0)
    named: dict[str, Any] = {}
    for n, (d, d_out) in enumerate(pairwise(widths), start=1):
        shapes = {f"Q{n}": (d, d), f"K{n}": (d, d), f"V{n}": (d_out, d)}
        named |= {name: np.array([[source.randint(-9, 9) for _ in range(c)] for _ in range(r)], dtype=object)
                  for name, (r, c) in shapes.items()}  # fmt: skip
    named[f"Q{i}"] = np.outer(named[f"Q{i}"][0], named[f"Q{i}"][1])
    named[f"Q{j}"], named[f"K{j}"] = np.eye(widths[j - 1], dtype=int), named[f"K{j}"] - named[f"K{j}"].T
    weights = Weights.of(named)
    found, other = zero_dimension(weights, 2, Work()), local_dimension(weights, 2)
    assert found is not None
    assert other is not None
    assert found.value == other.upper


def test_a_special_point_behind_narrow_layers() -> None:
    """Scores of the first layer always have rank one; those of the second one are skew: 3 conditions."""
    named = {"Q1": [[1, 0, 0]], "K1": [[1, 0, 0]], "V1": [[1, 0, 0], [0, 1, 0]]}
    weights = Weights.of(named | {"Q2": [[1, 0], [0, 1]], "K2": [[0, 1], [-1, 0]], "V2": [[1, 0]]})
    assert fiber(weights).dimension == 22 - 3


@pytest.mark.parametrize("zero", ["Q1", "K1", "V1", "Q2", "V3", "K3"])
@pytest.mark.parametrize("width", [2, 5, 33])
def test_one_zero_matrix_at_any_width(zero: str, width: int) -> None:
    """All other matrices invertible: as many conditions as the matrix has entries."""
    one = np.eye(width, dtype=int)
    weights = Weights.of({f"{c}{i}": (f"{c}{i}" != zero) * one for i in (1, 2, 3) for c in "QKV"})
    found = fiber(weights)
    assert found.dimension == 9 * width**2 - width**2
    assert found.complete


def test_bounds_remain_where_a_form_of_both_signs_is_read_behind_a_zero_value() -> None:
    named = Weights.random(Architecture((6, 6, 6), (6, 6), 2), seed=1).named()
    found = fiber(Weights.of(named | {"V1": 0 * named["V1"]}))
    assert found.bounds == (196, 198)
    assert "at least 196 and at most 198 in (Q, K, V)" in str(found)


def test_one_layer_with_a_mask_or_a_skip_connection() -> None:
    named = Weights.random(Architecture((40, 40), (40,), 2), seed=1).named()
    for form in (NetworkForm(), NetworkForm(skip=True), NetworkForm(causal=True)):
        found = fiber(Weights.of(named | {"V1": 0 * named["V1"]}, form))
        assert found.dimension == 2 * 40**2


def test_what_is_not_zero_or_too_much_is_refused() -> None:
    weights = Weights.of({"Q1": [[1]], "K1": [[1]], "V1": [[1]]})
    with pytest.raises(ProgramError, match="must be zero"):
        zero_dimension(weights, 2, Work())
    idle = Weights.of({"Q1": [[0]], "K1": [[1]], "V1": [[1]]})
    assert zero_dimension(idle, 2, Work(1e-9)) is None
    deep = {f"{c}{i}": [[int(i > 1)]] for i in range(1, 13) for c in "QKV"}
    assert zero_dimension(Weights.of(deep), 2, Work()) is None


def spaces(p: int, n: int) -> dict[int, list[frozenset[tuple[int, ...]]]]:
    """All subspaces, by their dimension, as sets of vectors."""
    found: dict[int, set[frozenset[tuple[int, ...]]]] = {0: {frozenset([(0,) * n])}}
    every = list(itertools.product(range(p), repeat=n))
    for k in range(1, n + 1):
        found[k] = {
            frozenset(tuple((x + c * y) % p for x, y in zip(u, v, strict=True)) for u in space for c in range(p))
            for space in found[k - 1]
            for v in every
            if v not in space
        }
    return {k: list(v) for k, v in found.items()}


@pytest.mark.parametrize("p", [2, 3])
def test_spaces_that_maps_take_into_each_other(p: int) -> None:
    """Proposition 9, against all spaces over small fields."""
    source, seen = np.random.default_rng(p), Counter[bool]()
    all_spaces = {n: spaces(p, n) for n in (1, 2, 3)}
    for _ in range(12):
        sizes = [int(n) for n in source.integers(1, 4 if p == 2 else 3, 3)]
        maps = [source.integers(0, p, (b, a)) * source.integers(0, p, (b, 1)) % p for a, b in pairwise(sizes)]
        ranks = {(0, 1): maps[0], (1, 2): maps[1], (0, 2): maps[1] @ maps[0] % p}
        for dimensions in itertools.product(*(range(n + 1) for n in sizes)):
            fits = all(rank_mod_p(m % p, p) <= sizes[i] - dimensions[i] + dimensions[j] for (i, j), m in ranks.items())

            def inside(u: Any, m: Any, v: Any) -> bool:
                return all(tuple(int(x) for x in m @ np.array(vector) % p) in v for vector in u)

            last = all_spaces[sizes[2]][dimensions[2]]
            there = any(
                inside(u, maps[0], v) and any(inside(v, maps[1], w) for w in last)
                for v in all_spaces[sizes[1]][dimensions[1]]
                for u in all_spaces[sizes[0]][dimensions[0]]
            )
            assert fits == there, (sizes, maps, dimensions)
            seen[there] += 1
    assert min(seen.values()) > 20


def test_steps_find_what_a_search_of_all_finds() -> None:
    source, found = random.Random(0), Counter[bool]()
    for _ in range(300):
        n = source.randint(0, 4)
        low_ends = [source.randint(0, 2) for _ in range(n)]
        high = [x + source.randint(0, 3) for x in low_ends]
        pairs = [(i, j) for i in range(n) for j in range(n) if i != j and source.random() < 0.5]
        among = DifferenceBounds(low_ends, high, {pair: source.randint(-1, 3) for pair in pairs})
        widths = [source.randint(1, 6) for _ in range(n + 2)]
        ends = source.choice([(0,), ()])

        def cost(x: tuple[int, ...], widths: list[int] = widths, ends: tuple[int, ...] = ends) -> int:
            return zero_strata._flags(widths, (5, *x, *ends)) + zero_strata._skew_cost(2, (5, *x)[-1])

        points = [x for x in itertools.product(*map(range, low_ends, (h + 1 for h in high))) if x in among]
        assert least_value(cost, among) == min(map(cost, points), default=None)
        found[bool(points)] += 1
    assert min(found.values()) > 20


def test_signatures_by_diagonal_forms() -> None:
    source = random.Random(0)
    for size in (1, 2, 5, 9):
        signs = [source.choice([-1, 0, 1]) for _ in range(size)]
        turn = np.array([[int(i == j) or (source.randint(-3, 3) if j > i else 0) for j in range(size)]
                         for i in range(size)], dtype=object)  # fmt: skip
        form = turn.T @ np.diag(np.array(signs, dtype=object)) @ turn
        assert tuple(inertia(RationalMatrix.of(form))) == (signs.count(1), signs.count(-1))


def test_keys_leave_room_for_a_space_as_queries_do() -> None:
    """Were the rank that keys must have not taken from that room, a space would be found that is larger than any."""
    named = {
        "Q1": [[0, 0, -1, -1], [0, -1, 2, 1], [0, 1, -2, -1]], "K1": [[0, 1, -1, -1], [1, -2, 0, 0], [-1, 1, 1, 1]],
        "V1": [[0, 0, 0, 0], [-1, 1, -1, 0]], "Q2": [[0, 0], [0, 0]], "K2": [[0, 2], [1, -1]], "V2": [[0, 0], [1, -1]],
    }  # fmt: skip
    found = zero_dimension(Weights.of(named), 2, Work())
    assert found is not None
    assert found.lower <= found.upper
