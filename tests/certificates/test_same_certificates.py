"""Certificates that two networks are the same function, or not: accepted as written, rejected when forged."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bad_certificates import changed
from checker import SCHEMA, matches, verdict, written

from lightning_sym import (
    Architecture,
    Weights,
    same_function,
    swap,
    transform,
)
from lightning_sym.certificates.same_function import same_certificate
from lightning_sym.errors import BadInput
from lightning_sym.fibers.comparison import Answer, Comparison, Reason


def weights_of(**matrices: Any) -> Weights:
    return Weights.of(matrices)


RANDOM = Weights.random(Architecture((3, 2, 3), (2, 2), 2), seed=1, denominator=3)
ONE = weights_of(Q1=[[1, 2]], K1=[[1, 0]], V1=[[3, 6]])
DEEP = Weights.random(Architecture((2, 2, 2), (1, 1), 2), seed=2)
BEHIND = Weights.of(DEEP.named() | {"V2": np.outer([1, 2], [3, 1])})  # ranks one in the last layer only
HIDDEN = weights_of(Q1=[[1, 2, 3]], K1=[[1, 0, 1]], V1=[[1, 0, 0], [0, 1, 0], [0, 0, 0]],
                    Q2=[[1, 2, 0], [0, 0, 1]], K2=[[1, 0, 0], [0, 0, 1]], V2=[[0, 1, 0], [0, 0, 1]])  # fmt: skip


SKEW = weights_of(Q1=[[1, 2], [0, 1]], K1=[[1, 0], [0, 1]], V1=[[3, 4]])
HUGE = weights_of(Q1=[[10**30, Fraction(1, 7**40)]], K1=[[1, 1]], V1=[[2, 3]])
SAME = {
    "a group element": (
        RANDOM,
        transform(
            RANDOM, query_key={1: [[1, 2], [3, 4]]}, between={1: [[1, 1], [0, 2]]}, scales={2: Fraction(1, 2)}
        ),
        2, ["group"],
    ),
    "the exchange": (ONE, swap(ONE), 2, ["layer"]),
    "an exchange, then a group element": (ONE, transform(swap(ONE), scales={1: 5}), 2, ["layer", "group"]),
    "an exchange behind a layer": (BEHIND, swap(BEHIND), 2, ["layer"]),
    "an exchange of virtual weights": (HIDDEN, swap(HIDDEN), 2, ["rescaling", "layer"]),
    "skew parts at one token": (
        SKEW, weights_of(Q1=[[1, 0], [2, 1]], K1=[[1, 0], [0, 1]], V1=[[3, 4]]), 1, ["rescaling"],
    ),
    "other inner widths": (
        weights_of(Q1=[[1]], K1=[[1]], V1=[[1]], Q2=[[1]], K2=[[1]], V2=[[1]]),
        weights_of(Q1=[[1]], K1=[[1]], V1=[[1], [0]], Q2=[[1, 5]], K2=[[1, 0]], V2=[[1, 3]]),
        2, ["rescaling"],
    ),
    "zero": (weights_of(Q1=[[0]], K1=[[1]], V1=[[1]]), weights_of(Q1=[[1]], K1=[[1]], V1=[[0]]), 2, ["zero"]),
    "zero at one token": (
        weights_of(Q1=[[0, 1], [-1, 0]], K1=[[1, 0], [0, 1]], V1=[[3, 4]]),
        weights_of(Q1=[[1, 1]], K1=[[1, 0]], V1=[[0, 0]]), 1, ["zero"],
    ),
    "long numbers": (HUGE, transform(HUGE, scales={1: Fraction(3, 10**25)}), 2, ["group"]),
}  # fmt: skip


def halves(depth: int) -> Weights:
    half: Any = [[Fraction(1, 2)]]
    return Weights.of({f"{letter}{i}": half for i in range(1, depth + 1) for letter in "QKV"})


DIFFERENT = {
    "another value": (ONE, weights_of(Q1=[[1, 2]], K1=[[1, 0]], V1=[[3, 7]]), 2),
    "skew parts at two tokens": (SKEW, weights_of(Q1=[[1, 0], [2, 1]], K1=[[1, 0], [0, 1]], V1=[[3, 4]]), 2),
    "other depths": (
        weights_of(Q1=[[1]], K1=[[1]], V1=[[1]]),
        weights_of(Q1=[[1]], K1=[[1]], V1=[[1]], Q2=[[1]], K2=[[1]], V2=[[1]]),
        1,
    ),
    "too deep for rational numbers": (halves(10), halves(11), 2),
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_function(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str) -> None:
    first, second, tokens, steps = SAME[name]
    document = same_certificate(same_function(first, second, tokens), first, second, tokens)
    assert [step["step"] for step in document["steps"]] == steps
    assert matches(SCHEMA, document)
    assert verdict(capsys, written(tmp_path, document)).startswith("proved: ")
    other = Weights.of(second.named() | {"V1": second["V1"] + 1})
    forged = document | {"second": same_certificate(same_function(other, other), other, other, 2)["first"]}
    assert verdict(capsys, written(tmp_path, forged)).startswith("rejected: ")


@pytest.mark.parametrize("name", DIFFERENT)
def test_different_functions(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str) -> None:
    first, second, tokens = DIFFERENT[name]
    document = same_certificate(same_function(first, second, tokens), first, second, tokens)
    assert matches(SCHEMA, document)
    assert verdict(capsys, written(tmp_path, document)).startswith("proved: ")
    forged = changed(document, ("input", lambda rows: [[0] * len(row) for row in rows]))
    assert verdict(capsys, written(tmp_path, forged)).startswith("rejected: ")


def test_without_an_answer_there_is_no_certificate() -> None:
    undecided = Comparison(Answer.UNDECIDED, Reason.EVALUATIONS)
    with pytest.raises(BadInput, match="a certificate needs an answer"):
        same_certificate(undecided, RANDOM, RANDOM, 2)
