"""Upper bounds of the checker by symmetries: directions that all gradients annihilate, as many as there should be."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterable
from pathlib import Path

import pytest
from small_certificates import GOOD, RATIONAL, SOFTMAX, SQUARE, Document, P, answer, gradients, point, shape

from proofs_check.checker import verify
from proofs_check.checker.bounds import directions as unseen

ORBIT = ("query-key", "value-output", "stream", "scale", "homogeneous")


def directions(at: verify.Point, family: str) -> Iterable[int]:
    return at.tangents(family) if family in ORBIT else unseen.along(at, family)


FAMILIES = [
    ("query-key", shape([2, 3, 2], [2, 1], 2, SOFTMAX, h=2)),
    ("value-output", shape([3, 3], [2], 2, h=2, b=[2], causal=True)),
    ("stream", shape([2, 3, 2], [1, 2], 2, SOFTMAX, h=2, n=2, m=3)),
    ("stream", shape([3, 3, 3], [1, 2], 2, h=2, b=[2, 1], skip=True, n=2, m=3)),
    ("scale", shape([2, 3, 2], [1, 2], 2, h=2, skip=False, causal=True)),
    ("homogeneous", shape([2, 3], [2], 3, SQUARE, h=2)),
    ("homogeneous", shape([2, 3, 1], [1, 2], 2, SQUARE, causal=True)),
    ("unwritten", shape([4, 2, 4, 3], [2, 1, 2], 2, SOFTMAX, b=[2, 1, 3])),
    ("unwritten", shape([4, 4, 4], [2, 1], 2, skip=True, n=1, m=2)),
    ("unwritten", shape([1, 3, 4], [1, 2], 2, h=2, m=2)),
    ("unread", shape([4, 4, 4], [2, 1], 2, b=[2, 2], m=1)),
    ("unread", shape([3, 4, 4], [1, 1], 2, SOFTMAX, n=2, m=1, causal=True)),
    ("inside", shape([4, 3], [2], 2, SOFTMAX, b=[3], n=2)),
    ("inside", shape([3, 2, 3], [1, 1], 2, b=[2, 3], m=1)),
    ("pattern", shape([2, 3, 2], [1, 2], 1, SOFTMAX, skip=False, h=2)),
    ("skew", shape([3, 3, 2], [2, 2], 1, h=2)),
    ("skew", shape([3, 3, 3], [2, 2], 2, skip=True, n=1)),
    ("skew", shape([3, 3, 2], [1, 3], 2)),
    ("mixing", shape([3, 1], [3], 2, h=3)),
    ("mixing", shape([2, 3, 2], [2, 1], 2, h=2, causal=True)),
    ("mixing", shape([5, 1], [3], 2, h=2)),
    ("mixing", shape([3, 3, 2], [1, 2], 1, h=2, b=[1, 2])),
    ("mixing", shape([4, 1], [1], 1, h=3, m=2)),
    ("mixing", shape([2, 2, 2], [1, 1], 3, h=2, skip=True, n=1)),
    ("cancelling", shape([4, 4, 4], [4, 4], 2, SOFTMAX, skip=True, n=2)),
    ("cancelling", shape([4, 4, 4], [4, 3], 2, RATIONAL, skip=True, n=2, causal=True)),
    ("cancelling", shape([3, 3, 3], [3, 3], 2, skip=True, n=1)),
    ("cancelling", shape([4, 4, 4], [1, 4], 2, SOFTMAX, n=2, h=2, causal=True)),
    ("skew differences", shape([4, 4, 4], [2, 4], 2, SOFTMAX, n=2, skip=True, causal=True)),
    ("symmetric products", shape([4, 4, 4], [4, 4], 2, skip=True, n=2)),
    ("symmetric products", shape([6, 6, 6, 6], [1, 6, 6], 2, skip=True, n=2, b=[2, 2, 2])),
    ("first layers", shape([2, 2, 2], [2, 1], 2, skip=True, n=1, b=[2, 1])),
    ("first layers", shape([3, 3, 3, 3], [1, 2, 1], 3, skip=True, n=1, h=2, causal=True, m=2)),
    ("first layers", shape([3, 3, 3], [1, 1], 1, skip=True, n=1, h=2, b=[1, 1])),
]


@pytest.mark.parametrize(("family", "network"), FAMILIES)
def test_directions_are_annihilated_by_gradients(family: str, network: Document) -> None:
    rng = random.Random(5)
    _, at = point(network, rng)
    terms = 6 if network["normalization"] == RATIONAL else None
    rows = [flat for _, flat in gradients(at, terms, rng, 3, 4)]
    count = 0
    for direction in directions(at, family):
        vector = [x % P for x in verify.unpack(direction)]
        count += any(vector)
        assert len(vector) <= at.size
        assert not [row for row in rows if sum(a * b for a, b in zip(row, vector, strict=False)) % P]
    assert count
    wrong = verify.unpack(direction)  # a direction bent in one entry is seen, so that the test can fail
    if family in ("scale", "cancelling", "symmetric products", "mixing", "first layers"):
        bent = [x + (j == next(k for k, v in enumerate(wrong) if v % P)) for j, x in enumerate(wrong)]
        assert [row for row in rows if sum(a * b for a, b in zip(row, bent, strict=False)) % P]


COUNTS = [  # family, network, how many directions: one for each entry of X at each place
    ("query-key", shape([2, 3, 2], [2, 1], 2, h=2), 2 * (4 + 1)),
    ("value-output", shape([3, 3, 3], [2, 2], 2, h=2, b=[2, 1]), 2 * (4 + 1)),
    ("stream", shape([2, 3, 2], [1, 2], 2), 9),
    ("stream", shape([2, 3, 2], [1, 2], 2, n=2), 4 + 9),
    ("stream", shape([2, 3, 2], [1, 2], 2, h=2, b=[2, 1], n=2, m=3), 4 + 9 + 4),
    ("stream", shape([3, 3, 3], [1, 2], 2, skip=True, n=2, m=3), 9),
    ("stream", shape([3, 3, 3], [1, 2], 2, skip=True, n=2), 0),
    ("stream", shape([3, 3, 3], [1, 2], 2, skip=True), 0),
    ("scale", shape([2, 3, 2], [2, 1], 2, h=2), 4),
    ("homogeneous", shape([2, 3, 2], [2, 1], 2, SQUARE), 1 + 3),
]


@pytest.mark.parametrize(("family", "network", "count"), COUNTS)
def test_there_are_as_many_directions_as_the_grammar_says(family: str, network: Document, count: int) -> None:
    _, at = point(network, random.Random(7))
    found, echelon = list(at.tangents(family)), verify.Echelon(P, at.size)
    assert len(found) == count
    assert sum(echelon.add(direction) is None for direction in found) == count


def test_a_point_where_spaces_are_too_small_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bent = copy.deepcopy(GOOD)
    bent["upper_bounds"][0]["weights"] = [
        *bent["lower_bound"]["weights"][:2],
        [[1, 1]] * 3,
        *bent["lower_bound"]["weights"][3:],
    ]
    assert "must have its largest dimension" in answer(bent, tmp_path, capsys)
    families = bent["upper_bounds"][0]["families"]
    assert families[:2] == ["query-key", "stream"]
    for first in (families, families[::-1]):  # but if the families before prove the bound nobody looks at the spaces
        bent["upper"] = bent["upper_bounds"][0]["bound"] = 15
        bent["upper_bounds"][0]["families"] = first
        reason = "proved: 11 <= dim M <= 15" if first is families else "must have its largest dimension"
        assert reason in answer(bent, tmp_path, capsys)
