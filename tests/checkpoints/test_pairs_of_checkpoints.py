"""Many pairs of checkpoints, rewritten and stored: each has the answer it must have, and with a mistake another."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

import pytest
from changed_checkpoints import rounded
from pairs_of_checkpoints import NETWORKS, Pair, Stored, centred, pairs, wrong

from lightning_sym import same_checkpoints
from lightning_sym.checkpoints.comparison import CheckpointAnswer
from lightning_sym.testing import small_checkpoint

VERDICT = 1e-9
"""Work that leaves nothing for the search of known mistakes, which is no part of what is asked here."""
SAME, ROUNDING = CheckpointAnswer.SAME, CheckpointAnswer.ROUNDING
SHAPES: tuple[dict[str, Any], ...] = (
    {},
    {"heads": 8, "head_width": 8, "inner": 128, "vocabulary": 200},
    {"layers": 4, "heads": 2, "head_width": 8},
)


def require_answers(some: Iterable[Pair]) -> tuple[int, int]:
    """Ask for each of them, and for each with something wrong; how many there were of both."""
    counts = [0, 0]
    for number, right in enumerate(some):
        found = same_checkpoints(right.first, right.second)
        assert found.answer is (SAME if right.exact else ROUNDING), f"{right.name}: {found}"
        counts[0] += 1
        if (bad := wrong(right, number)) is not None:
            found = same_checkpoints(bad.first, bad.second, work=VERDICT)
            assert found.answer not in (SAME, ROUNDING), f"{bad.name}: {found}"
            counts[1] += 1
    return counts[0], counts[1]


@pytest.mark.parametrize("place", range(0, 36, 4))
@pytest.mark.parametrize(("family", "tied"), NETWORKS)
def test_some_pairs(family: str, tied: bool, place: int) -> None:
    right, _ = require_answers(islice(pairs(range(1), [(family, tied)]), place, place + 1))
    assert right == 1


@pytest.mark.parametrize(("family", "tied"), NETWORKS)
def test_many_pairs(family: str, tied: bool) -> None:
    right, bad = require_answers(islice(pairs(range(1, 3), [(family, tied)]), 0, None, 3))
    assert right > 30
    assert bad > 25


@pytest.mark.parametrize("shape", range(3))
@pytest.mark.parametrize("stored", ["F32", "BF16", "F16"])
def test_gpt2_may_be_centred(stored: Stored, shape: int) -> None:
    """Without the mean of what is written to the stream, as tools for interpreting networks store it: 72 pairs."""
    for tied in (False, True):
        for seed in (100, 103):
            one = small_checkpoint("gpt2", seed, tied=tied, **SHAPES[shape])
            two = rounded(centred(one), stored)
            for pair in ((one, two), (two, one)):
                found = same_checkpoints(*pair)
                assert found.answer is ROUNDING, str(found)
                assert found.description is not None
                assert found.description.stream == "as it is"


@pytest.mark.parametrize("shape", range(3))
@pytest.mark.parametrize("stored", ["BF16", "F16"])
def test_gpt2_may_be_stored_in_fewer_bits(stored: Stored, shape: int) -> None:
    """Every entry is within half a unit, and the identity is what was done: 60 pairs."""
    for seed in range(5):
        one = small_checkpoint("gpt2", seed, tied=seed % 2 == 0, **SHAPES[shape])
        for pair in ((one, rounded(one, stored)), (rounded(one, stored), one)):
            found = same_checkpoints(*pair)
            assert found.answer is ROUNDING, str(found)
            assert found.units <= 0.5
            assert found.description is not None
            assert set(found.description.layers) == {()}
