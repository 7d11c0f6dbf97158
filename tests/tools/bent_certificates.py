"""Certificates bent in one place, or held against one limit."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from small_certificates import (
    Document,
    answer,
    point,
)

from proofs_check.checker import verify
from proofs_check.checker.functions import matrices, network, proofs, rings
from proofs_check.checker.kinds import same

MODULES = (verify, matrices, network, proofs, rings, same)
"""Where limits are read."""


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """All places in a certificate."""
    yield path
    for key in value if isinstance(value, dict) else range(min(2, len(value))) if isinstance(value, list) else ():
        yield from leaves(value[key], (*path, key))


def put(data: Any, path: tuple[Any, ...], value: Any) -> None:
    for key in path[:-1]:
        data = data[key]
    data[path[-1]] = value


def empty(network: Document) -> Document:
    """Nothing from below, and all parameters from above."""
    zeros = [[[0] * len(row) for row in matrix] for matrix in point(network, random.Random(0))[0]]
    size = sum(len(row) for matrix in zeros for row in matrix)
    bound = {"kind": "orbit", "bound": size, "prime": 2**22 - 3, "weights": zeros, "families": []}
    lower = {"prime": 2**22 - 3, "terms": None, "weights": zeros, "rows": [], "columns": []}
    head = {"format": "lightning-sym/certificate", "version": 1, "kind": "dimension", "network": network}
    return {**head, "lower": 0, "upper": size, "lower_bound": lower, "upper_bounds": [bound]}


def at_the_limit(
    name: str,
    limit: int,
    data: Document,
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for most, said in ((limit, ": proved: "), (limit - 1, reason)):
        for module in MODULES:
            if hasattr(module, name):
                monkeypatch.setattr(module, name, most)
        assert said in answer(data, tmp_path, capsys)
