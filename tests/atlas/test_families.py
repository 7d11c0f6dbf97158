"""Families of networks: every combination once, or so many of them, always the same."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from lightning_sym import Architecture, BadInput
from lightning_sym.atlas.families import Family, family_keys

SMALL: dict[str, Any] = {"depth": "1..2", "widths": [1, 2], "ranks": 1, "tokens": [2]}


def test_a_grid_is_every_combination_once() -> None:
    found = list(Family.of(SMALL).networks())
    expected = [Architecture((c, d), (1,), 2) for c in (1, 2) for d in (1, 2)]
    expected += [Architecture((c, d, e), (1, 1), 2) for c in (1, 2) for d in (1, 2) for e in (1, 2)]
    assert found == expected
    assert Family.of(SMALL).grid == len(found)


def test_every_option_is_a_dimension_of_the_grid() -> None:
    family = Family.of(
        SMALL
        | {"heads": "1..2", "value_ranks": ["none", 1], "embed": [None, 3], "unembed": 3, "skip": [False, True]}
        | {"normalization": ["none", "softmax"], "mask": ["none", "causal"], "depth": 1}
    )
    found = list(family.networks())
    assert len(set(found)) == len(found)
    # 4 pairs of widths, of which 2 can have skip connections; 2 heads, 2 value ranks, 2 embeddings, 2, 2
    assert len(found) == (4 + 2) * 2 * 2 * 2 * 2 * 2
    assert {n.value_ranks for n in found} == {None, (1,)}
    assert {(n.embed, n.unembed) for n in found} == {(None, 3), (3, 3)}
    assert all(len(set(n.widths)) == 1 for n in found if n.skip)
    assert family.grid >= len(found)


def test_uniform_and_largest() -> None:
    family = Family.of(SMALL | {"uniform": True, "widths": "1..3", "largest": 30})
    assert [n.widths for n in family.networks()] == [(1, 1), (2, 2), (3, 3), (1, 1, 1), (2, 2, 2), (3, 3, 3)]
    assert all(n.parameter_count <= 30 for n in family.networks())
    assert len(list(Family.of(SMALL | {"uniform": True, "widths": "1..3", "largest": 16}).networks())) == 5


def test_what_is_drawn_depends_on_the_seed_alone() -> None:
    wide = SMALL | {"widths": "1..9", "ranks": "1..9", "count": 50, "skip": [False, True]}
    first, again, other = (list(Family.of(wide | {"seed": seed}).networks()) for seed in (0, 0, 1))
    assert first == again
    assert len(set(first)) == 50
    assert first != other
    everything = set(Family.of({key: value for key, value in wide.items() if key != "count"}).networks())
    assert set(first) <= everything


def test_no_more_are_drawn_than_there_are() -> None:
    networks = Family.of(SMALL | {"count": 13}).networks()
    assert {next(networks) for _ in range(12)} == set(Family.of(SMALL).networks())
    with pytest.raises(BadInput, match="found only 12"):
        next(networks)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"widths": None}, "widths"), ({"widths": []}, "widths"), ({"widths": 0}, "widths"),
        ({"widths": 1.5}, "widths"),
        ({"widths": True}, "widths"), ({"widths": "3..1"}, "widths"), ({"widths": "1...3"}, "widths"),
        ({"widths": "1..99999999999"}, "widths"), ({"depth": 0}, "depth"), ({"depth": 10**6}, "depth"),
        ({"mask": "left"}, "mask"), ({"normalization": "gelu"}, "normalization"), ({"skip": "yes"}, "skip"),
        ({"skip": 1}, "skip"), ({"uniform": 1}, "uniform"), ({"count": 0}, "count"), ({"count": 10**9}, "count"),
        ({"largest": -1}, "largest"), ({"seed": -1}, "seed"), ({"rotary": True}, "rotary"),
        ({"depth": 9, "widths": "1..9", "ranks": "1..9"}, "grid"),
    ],
)  # fmt: skip
def test_what_is_no_family_is_refused_by_name(change: dict[str, Any], word: str) -> None:
    with pytest.raises(BadInput, match=word) as caught:
        Family.of(SMALL | change)
    assert "\n" not in str(caught.value)


def test_a_family_needs_its_sizes() -> None:
    with pytest.raises(BadInput, match="missing or unknown: ranks, tokens"):
        Family.of({"depth": 1, "widths": 1})


def test_a_file_is_toml(tmp_path: Path) -> None:
    file = tmp_path / "family.toml"
    file.write_text('depth = "1..2"\nwidths = [1, 2]\nranks = 1\ntokens = 2\n')
    assert Family.of(family_keys(file)) == Family.of(SMALL)
    for content in (b"depth = ", b"\xff\xfe", b"a" * (2**20 + 1)):
        file.write_bytes(content)
        with pytest.raises(BadInput, match="TOML"):
            family_keys(file)
    with pytest.raises(BadInput, match="cannot be read"):
        family_keys(tmp_path)


def test_a_pipe_is_no_family(tmp_path: Path) -> None:
    """Nobody writes into it: it would be waited for."""
    os.mkfifo(tmp_path / "pipe.toml")
    for place in (tmp_path / "pipe.toml", tmp_path):
        with pytest.raises(BadInput, match="cannot be read: it is no regular file"):
            family_keys(place)
