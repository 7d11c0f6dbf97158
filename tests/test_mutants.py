"""Certificates with random changes: the checker accepts none whose claim is false."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))
from mutate_certificates import certificates, is_true, mutate


@pytest.mark.parametrize("seed", range(4))
def test_no_false_claim_is_accepted(seed: int) -> None:
    found = mutate(500, seed)
    assert found.wrong == []
    assert len(found.undecided) <= 5
    assert found.total("rejected") > 200
    assert found.total("accepted, true") > 50  # else the changes are too coarse to try the checker


def test_the_other_road_tells_true_from_false() -> None:
    originals = certificates()
    for document in originals.values():
        if document["kind"] != "dimension":
            other = {"same": "different", "different": "same"}[document["kind"]]
            assert (is_true(document, {}), is_true(document | {"kind": other}, {})) == (True, False)
        elif "taylor" not in (document["network"]["normalization"] or {}):
            assert is_true(document, {})
            assert is_true(document | {"lower": document["upper"] + 1, "upper": document["upper"] + 1}, {}) is False
