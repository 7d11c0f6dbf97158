"""Numbers that steer a computation are integers in their range, or refused in one line: also from Python."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lightning_sym import Architecture, Weights, certified_dimension, fiber, load_weights, same_function
from lightning_sym.errors import BadInput, ShapeError, TooLarge
from lightning_sym.whole_files import require_writable

NETWORK = Architecture((2, 1), (1,), 2)
WEIGHTS = Weights.random(NETWORK)
ASK: dict[str, Callable[[Any], Any]] = {
    "a seed of weights": lambda n: Weights.random(NETWORK, seed=n),
    "a bound of weights": lambda n: Weights.random(NETWORK, bound=n),
    "a denominator of weights": lambda n: Weights.random(NETWORK, denominator=n),
    "a seed of a dimension": lambda n: certified_dimension(NETWORK, seed=n),
    "a seed of a comparison": lambda n: same_function(WEIGHTS, WEIGHTS, seed=n),
    "a number of evaluations": lambda n: same_function(WEIGHTS, WEIGHTS, evaluations=n),
    "a seed of a fiber": lambda n: fiber(WEIGHTS, seed=n),
}


@pytest.mark.parametrize("number", [1.5, "1", True, None, -1, 10**300], ids=str)
@pytest.mark.parametrize("ask", ASK.values(), ids=ASK)
def test_no_other_number_is_taken(ask: Callable[[Any], Any], number: object) -> None:
    with pytest.raises(BadInput, match=r"must be an integer of at least"):
        ask(number)


def test_a_memory_that_is_no_number_allows_nothing() -> None:
    with pytest.raises(TooLarge):
        certified_dimension(NETWORK, memory=float("nan"))  # type: ignore[arg-type]


def test_a_key_behind_a_gap_is_named_alone() -> None:
    one = [[1]]
    with pytest.raises(ShapeError, match=r"missing or unknown: Q3$"):
        Weights.of({"Q1": one, "K1": one, "V1": one, "Q3": one})
    with pytest.raises(ShapeError, match=r"missing or unknown: V2$"):
        Weights.of({"Q1": one, "K1": one, "V1": one, "Q2": one, "K2": one})


def test_a_name_that_ends_like_a_folder_is_none_of_a_file(tmp_path: Path) -> None:
    for name in (f"{tmp_path}{os.sep}new{os.sep}", ""):
        with pytest.raises(OSError, match=r"Is a directory|No such file"):
            require_writable(name)


def test_endings_of_files_may_be_capitals(tmp_path: Path) -> None:
    (tmp_path / "W.JSON").write_text('{"Q1": [[1]], "K1": [[1]], "V1": [[1]]}')
    assert load_weights(tmp_path / "W.JSON")["V1"].tolist() == [[1]]
