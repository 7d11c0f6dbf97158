"""What the checker computes at the places of a network, against sums and products by hand."""

from __future__ import annotations

from itertools import islice, product
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from proofs_check.checker.functions.fibers import conditions, places
from proofs_check.checker.functions.fibers.places import Field, Spaces, numbers
from proofs_check.checker.functions.network import Form, Weights
from proofs_check.checker.verify import Rejected

P = 101
HALVES: dict[str, Any] = {
    "Q1": [[1, 2]], "K1": [[1, 1]], "V1": [["1/2", "1/3"], [1, 0]],
    "Q2": [[2, 1]], "K2": [[3, 1]], "V2": [[1, 2], [0, 1]],
    "Q3": [[2, 1]], "K3": [[3, 1]], "V3": [[1, 0], [0, 1]],
}  # fmt: skip


@pytest.mark.parametrize("skip", [False, True])
def test_sums_of_a_layer_have_denominators(skip: bool) -> None:
    """(1 +) V of the first layer on a basis, up to one factor."""
    form = Form(softmax=True, causal=True, skip=skip)
    columns = Spaces(Field(), form, 2, Weights(HALVES, form)).at["S"][1]
    want = [[3 + 6 * skip, 6], [2, 6 * skip]]  # six times the columns
    factors = {x * 10**6 // y if y else x for row, other in zip(columns, want, strict=True) for x, y in
               zip(row, other, strict=True) if x or y}  # fmt: skip
    assert len(factors) == 1


@pytest.mark.parametrize("skip", [False, True])
def test_squares_are_those_of_words_at_points(skip: bool) -> None:
    form = Form(softmax=True, skip=skip)
    net = Spaces(Field(P), form, 3, Weights(HALVES, form), seed=7)
    drawn, count = numbers(7, P), places.MORE + 2
    gamma, above, _ = (list(islice(drawn, count)) for _ in range(3))  # a head in each layer
    xi = [list(islice(drawn, 2)) for _ in range(count)]
    v = [[51, 34], [1, 0]]  # 1/2 and 1/3
    assert [2 * 51 % P, 3 * 34 % P] == [1, 1]
    second, third = [], []
    for g, h, x in zip(gamma, above, xi, strict=True):
        n = [g * sum(a * b for a, b in zip(row, x, strict=True)) for row in v]
        m = [a + skip * b for a, b in zip(n, x, strict=True)]
        m = [h * (m[0] + 2 * m[1]), h * m[1]]  # V of the second layer
        second.append((3 * n[0] + n[1]) * (2 * n[0] + n[1]) % P)
        third.append((3 * m[0] + m[1]) * (2 * m[0] + m[1]) % P)
    assert net.squares(1) == [[(a + b) * (a + 2 * b) % P for a, b in xi]]
    assert (net.squares(2), net.squares(3)) == ([second], [third])


@pytest.mark.parametrize(
    ("mask", "skip", "tokens", "there"),
    [
        ("causal", True, 2, "c"), ("causal", False, 3, "b unmasked, o"), ("causal", True, 4, "b unmasked"),
        ("none", True, 2, "a', c"), ("none", True, 3, "a words, a', s"), ("none", False, 3, "a words, a'"),
        ("none", True, 4, "a words, a'"),
    ],
)  # fmt: skip
def test_conditions_are_of_some_networks(mask: str, skip: bool, tokens: int, there: str) -> None:
    """(a), (b) of all of them; the others by the tables of docs/transformer-fibers.md, with three layers."""
    layers = {"a'": [1, 2], "o": [1, 2], "s": [1]}
    form = Form(softmax=True, causal=mask == "causal", skip=skip)
    found = [*conditions.places((*conditions.WORDS, *conditions.BLOCKS), form, tokens, 3)]
    assert sorted(found) == sorted(
        (name, i) for name in ("a", "b", *there.split(", ")) for i in layers.get(name, [1, 2, 3])
    )


# ---- sets of heads that are flipped, (c - v_N)^T A v_N

PAIRED: dict[str, Any] = {
    "V1.1": [[1, 2], [0, 1]], "V1.2": [[0, 1], [3, -1]], "V1.3": [[2, 0], [1, 1]],
    **{f"{letter}1.{h}": [[1, h]] for letter in "QK" for h in (1, 2, 3)},
    "Q2.1": [[1, 2]], "K2.1": [[0, 1]], "V2.1": [[1, 0], [0, 1]],
    "Q2.2": [[3, 1]], "K2.2": [[1, 5]], "V2.2": [[1, 1], [0, 1]],
}  # fmt: skip
OPPOSITE: dict[str, Any] = {
    "V1.1": [[2]], "V1.2": [[-2]], "Q1.1": [[1]], "K1.1": [[1]],
    "Q1.2": [[3]], "K1.2": [[1]], "Q2.1": [[1]], "K2.1": [[1]], "V2.1": [[1]],
}  # fmt: skip
CAUSAL = Form(softmax=True, causal=True, skip=True)
BENT = [
    ("(-1, [square[g, h] for g, h in both])", "(1, [square[g, h] for g, h in both])"),
    ("(-1, [square[g, h] for g, h in both])", "(0, [square[g, h] for g, h in both])"),
    ("(-1, [square[h, g] for g, h in both])", "(1, [square[h, g] for g, h in both])"),
    ("(-1, [square[h, g] for g, h in both])", "(-1, [square[g, h] for g, h in both])"),
    ("(-1, [square[h, h] for h in heads])", "(0, [square[h, h] for h in heads])"),
    ("if h < g]", "if h < g - 1]"),
    ("form(first[i], v[h])", "form(first[i - 1], v[h])"),
]


def times(m: Any, x: list[int]) -> list[int]:
    return [sum(a * b for a, b in zip(row, x, strict=True)) for row in m]


def by_hand(chosen: tuple[int, ...], x: list[int]) -> list[int]:
    """What heads of layer 2 make of c - v_N as key and v_N as query, at a vector."""
    written = [times(PAIRED[f"V1.{h}"], x) for h in (1, 2, 3)]
    v = [sum(column) for column in zip([0, 0], *(w for w, n in zip(written, chosen, strict=True) if n), strict=True)]
    left = [a + sum(column) - b for a, b, *column in zip(x, v, *written, strict=True)]
    return [times(PAIRED[f"K2.{g}"], left)[0] * times(PAIRED[f"Q2.{g}"], v)[0] for g in (1, 2)]


def of_sets(spaces: Any) -> list[list[int]]:
    """The same forms, twice, at vectors, as sums over heads and pairs of the set."""
    alone, pairs = spaces.flips(1, [0, 1, 2])
    found = []
    for chosen, x in product(product((0, 1), repeat=3), ([1, 0], [0, 1], [1, 1])):
        parts = [row for row, n in zip(alone, chosen, strict=True) if n]
        parts += [row for (g, h), row in pairs.items() if chosen[g] and chosen[h]]
        total = [sum(column) for column in zip([0] * 8, *parts, strict=True)]
        squares = [a * b for a, b in product(x, repeat=2)]
        found.append([sum(a * b for a, b in zip(total[k : k + 4], squares, strict=True)) % P for k in (0, 4)])
    return found


def wanted() -> list[list[int]]:
    return [
        [2 * y % P for y in by_hand(chosen, x)]
        for chosen, x in product(product((0, 1), repeat=3), ([1, 0], [0, 1], [1, 1]))
    ]


def test_a_set_that_is_flipped_is_its_heads_and_their_pairs() -> None:
    assert of_sets(Spaces(Field(P), CAUSAL, 2, Weights(PAIRED, CAUSAL))) == wanted()


@pytest.mark.parametrize(("clause", "other"), BENT)
def test_each_part_of_a_pair_is_looked_at(clause: str, other: str) -> None:
    source = Path(str(places.__file__)).read_text(encoding="utf-8")
    assert source.count(clause) == 1
    bent = ModuleType("bent")
    exec(source.replace(clause, other), vars(bent))  # noqa: S102 - the checker itself, with one clause changed
    assert of_sets(bent.Spaces(Field(P), CAUSAL, 2, Weights(PAIRED, CAUSAL))) != wanted()


@pytest.mark.parametrize("value", [-2, 3])
def test_two_heads_that_cancel_are_seen_as_a_pair(value: int) -> None:
    """Values 2, -2 give -2 and -6 alone, 8 as a pair: flipped both, they are not seen by the next layer."""
    w = Weights(OPPOSITE | {"V1.2": [[value]]}, CAUSAL)
    alone, pairs = Spaces(Field(P), CAUSAL, 2, w).flips(1, [0, 1])
    total = sum(row[0] for row in [*alone, *pairs.values()]) % P
    assert total == 2 * (2 + value) % P
    assert conditions.holds(Spaces(Field(P), CAUSAL, 2, w), "c", 1) is (total != 0)
    exact = Spaces(Field(), CAUSAL, 2, w)
    if total:
        with pytest.raises(Rejected, match="the relation must show that c of layer 1 fails"):
            conditions.fails(exact, "c", 1, {"relation": ["1", "1"]})
    else:
        assert conditions.fails(exact, "c", 1, {"relation": ["1", "1"]}) == "c of layer 1 (1 of head 1, 1 of head 2)"
