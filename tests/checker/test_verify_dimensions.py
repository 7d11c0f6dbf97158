"""The checker on whole certificates of dimensions: what is known is proved, what is bent is rejected."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_certificates import (
    GOOD,
    LIGHTNING,
    RANK_ONE,
    RATIONAL,
    SERIES,
    SOFTMAX,
    VIRTUAL,
    Document,
    P,
    answer,
    certificate,
    shape,
)

KNOWN = [
    (shape([4, 2], [1], 3), 14, None, None),
    (shape([4, 4, 4], [2, 2], 3), 38, None, None),
    (shape([2, 2, 2], [1, 2], 2), 8, VIRTUAL, None),
    (
        shape([3, 2], [1], 1, SOFTMAX),
        6,
        [{"kind": "factorization", "bound": 6, "variety": "linear maps", "pieces": [6]}],
        None,
    ),
    (shape([3, 3], [2], 3, SOFTMAX), 17, None, None),
    (shape([3, 3], [2], 2, SOFTMAX, causal=True, h=2), 34, None, None),
    (shape([2, 1, 2], [2, 2], 3, SOFTMAX), 8, RANK_ONE, None),
    (shape([3, 3], [2], 2, RATIONAL), 17, None, None),
    (shape([3, 3], [2], 2, RATIONAL), 17, None, 4),
    (shape([2, 2, 2], [1, 2], 2, RATIONAL, causal=True), 11, None, 6),
    (shape([4, 4, 4], [4, 4], 2, SOFTMAX, skip=True, n=2), 50, None, None),
    (shape([4, 4, 4], [4, 4], 3, SOFTMAX, skip=True, n=2), 52, None, None),
    (shape([4, 4, 4], [4, 4], 2, skip=True, n=2), 49, None, None),
    (
        shape([3, 2], [1], 2, h=5, b=[1]),
        35,
        [{"kind": "factorization", "bound": 35, "variety": "head forms", "pieces": [35]}],
        None,
    ),
    (shape([2, 2], [2], 2), 7, None, None),
    (shape([1, 3, 2], [1, 1], 2, skip=False), 2, [{"kind": "span", "bound": 2}], None),
]


@pytest.mark.parametrize(("network", "r", "bounds", "terms"), KNOWN)
def test_known_dimensions_are_proved(
    network: Document,
    r: int,
    bounds: list[Document] | None,
    terms: int | None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = answer(certificate(network, r, bounds, terms), tmp_path, capsys)
    assert f"proved: dim M = {r}, for " in line
    assert ", over the real and over the complex numbers, by " in line
    assert ("(docs/transformers.md, section 1)" in line) == (network["normalization"] == SOFTMAX or terms is not None)


def all_of(values: list[Any], value: int) -> None:
    values[:] = [value] * len(values)


BENT = [
    ("version", lambda c: c.update(version=2), "version must be 1"),
    ("version", lambda c: c.update(version=True), "version must be 1"),
    ("format", lambda c: c.update(format="other"), "format must be"),
    ("kind", lambda c: c.update(kind=["dimension"]), '"kind" of a certificate must be one of'),
    ("unknown", lambda c: c.update(extra=1), "missing or unknown: ['extra']"),
    ("missing", lambda c: c.pop("lower"), "missing or unknown: ['lower']"),
    ("size", lambda c: c["network"].update(tokens=10**6 + 1), "tokens must be an integer from 1 to 1000000"),
    ("boolean", lambda c: c["network"].update(heads=True), "heads must be an integer"),
    ("flag", lambda c: c["network"].update(skip=1), "skip must be of type bool"),
    ("skip", lambda c: c["network"].update(skip=True), "all widths must be equal"),
    ("ranks", lambda c: c["network"].update(attention_ranks=[2]), "there must be 2 ranks, one for each layer"),
    (
        "name",
        lambda c: c["network"].update(normalization={"name": "softmax", "taylor": ["1"]}),
        "taylor must not be of softmax",
    ),
    (
        "zero",
        lambda c: c["network"].update(normalization={"name": "g", "taylor": ["0"]}),
        "taylor must not be of softmax, nor 0",
    ),
    ("composite", lambda c: c["lower_bound"].update(prime=4194303), "must be a prime, 4194303 is none"),
    ("large", lambda c: c["lower_bound"].update(prime=2**22 + 15), "the prime must be an integer from 2"),
    ("small", lambda c: c["lower_bound"].update(prime=7), "larger than tokens and twice the terms"),
    ("terms", lambda c: c["lower_bound"].update(terms=2), "terms must be null without Taylor coefficients"),
    ("fewer", lambda c: c["lower_bound"].update(terms=3), "functional must be a list of 3"),
    ("exponentials", lambda c: c["lower_bound"]["rows"][0].update(exponentials=[]), "unknown: ['exponentials']"),
    ("series", lambda c: c["lower_bound"].update(terms=513), "terms must be an integer from 2 to 512"),
    ("weights", lambda c: c["lower_bound"]["weights"].pop(), "weights must be a list of"),
    (
        "entry",
        lambda c: c["lower_bound"]["weights"][0][0].__setitem__(0, P),
        "Q of layer 1 must be an integer from 0 to 4194300",
    ),
    (
        "negative",
        lambda c: c["lower_bound"]["weights"][0][0].__setitem__(0, -1),
        "Q of layer 1 must be an integer from 0 to 4194300",
    ),
    ("row of them", lambda c: all_of(c["lower_bound"]["weights"][0][0], P), "Q of layer 1 must be an integer from 0"),
    ("all negative", lambda c: all_of(c["lower_bound"]["weights"][0][0], -1), "Q of layer 1 must be an integer from 0"),
    ("all true", lambda c: all_of(c["lower_bound"]["weights"][0][0], True), "Q of layer 1 must be an integer from 0"),
    ("no rank", lambda c: all_of(c["network"]["attention_ranks"], 0), "attention_ranks must be an integer from 1"),
    ("shape", lambda c: c["lower_bound"]["weights"][0][0].append(1), "Q of layer 1 must be a list of 2"),
    ("columns", lambda c: c["lower_bound"]["columns"].reverse(), "columns must increase"),
    (
        "column",
        lambda c: c["lower_bound"]["columns"].__setitem__(-1, 10**5),
        "columns must increase, and be parameters",
    ),
    ("rows", lambda c: c["lower_bound"]["rows"].pop(), "rows must be a list of"),
    ("minor", lambda c: c["lower_bound"]["rows"].__setitem__(0, c["lower_bound"]["rows"][1]), "minor must not be 0"),
    ("functional", lambda c: c["lower_bound"]["rows"][0]["functional"].append([[1]]), "functional must be a list of"),
    ("none", lambda c: c.update(upper_bounds=[]), "upper_bounds must be a list that is not empty"),
    ("upper", lambda c: c.update(upper=39), "upper must be the smallest bound"),
    ("bound", lambda c: (c.update(upper=2), c["upper_bounds"][0].update(bound=2)), "the bound must be at least"),
    (
        "unknown bound",
        lambda c: c["upper_bounds"][0].update(kind="wish"),
        '"kind" of an upper bound must be one of orbit',
    ),
    (
        "family",
        lambda c: c["upper_bounds"][0]["families"].append("value-output"),
        "families must be ones of this network",
    ),
    ("orbit", lambda c: c["upper_bounds"][0].update(kind="orbit", families=["unread"]), "families must be one of"),
    ("few", lambda c: c["upper_bounds"][0].update(families=["stream"]), "the bound must be at least"),
]


@pytest.mark.parametrize("good", [GOOD, LIGHTNING], ids=["softmax", "lightning"])
@pytest.mark.parametrize(("name", "bend", "reason"), BENT, ids=[f"{k}-{bent[0]}" for k, bent in enumerate(BENT)])
def test_a_bent_certificate_is_rejected(
    good: Document,
    name: str,
    bend: Callable[[Document], object],
    reason: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if good is LIGHTNING and name in ("ranks", "shape", "few", "skip"):
        good = GOOD  # where the reason is another one for lightning layers
    if name in ("small", "fewer", "exponentials"):
        good = SERIES
    bent = copy.deepcopy(good)
    bend(bent)
    assert reason in answer(bent, tmp_path, capsys)


def test_a_weaker_bound_is_still_true(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weaker = copy.deepcopy(GOOD)
    weaker["upper"] = weaker["upper_bounds"][0]["bound"] = 12
    assert "proved: 11 <= dim M <= 12," in answer(weaker, tmp_path, capsys)
    weaker["upper"] = weaker["upper_bounds"][0]["bound"] = 10
    assert "rejected" in answer(weaker, tmp_path, capsys)
