"""Certificates with random changes: the checker accepts none whose claim is false."""

from __future__ import annotations

import contextlib
import json
import random
from copy import deepcopy
from pathlib import Path
from types import ModuleType

import pytest
from change_certificates import CHANGES
from mutate_certificates import GOOD, certificates, is_true, mutate

from proofs_check.checker import verify


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
        if document["kind"] in ("transformer", "layers", "tensors"):
            false = document | {"dimension": (document["dimension"] or 0) - 1}
            assert (is_true(document, {}), is_true(false, {})) == (True, False)
        elif document["kind"] == "fiber":
            false = document | {"minimal": not document["minimal"]}
            assert (is_true(document, {}), is_true(false, {})) == (True, False)
        elif document["kind"] != "dimension":
            other = {"same": "different", "different": "same"}[document["kind"]]
            assert (is_true(document, {}), is_true(document | {"kind": other}, {})) == (True, False)
        elif "taylor" not in (document["network"]["normalization"] or {}):
            assert is_true(document, {})
            assert is_true(document | {"lower": document["upper"] + 1, "upper": document["upper"] + 1}, {}) is False


def test_changed_exponentials_would_catch_a_careless_checker() -> None:
    """They come with one row more than the dimension admits: without a look at the minor a false claim is accepted."""
    original = json.loads((GOOD / "transformer.json").read_text(encoding="utf-8"))
    source, clause = Path(verify.__file__).read_text(encoding="utf-8"), '== r, "the minor must not be 0"'
    assert source.count(clause) == 1
    careless = ModuleType("careless")
    careless.__file__ = verify.__file__
    exec(source.replace(clause, 'or True, ""'), vars(careless))  # noqa: S102 - the checker itself, with one clause bent

    def truth_of_accepted(checker: ModuleType) -> set[bool | None]:
        rng, found = random.Random(1), set[bool | None]()
        for _ in range(60):
            changed = deepcopy(original)
            CHANGES["exponentials"](changed, rng)
            with contextlib.suppress(checker.Rejected):
                checker.check(deepcopy(changed))
                found.add(is_true(changed, {}))
        return found

    assert truth_of_accepted(verify) == {True}
    assert truth_of_accepted(careless) == {True, False}
