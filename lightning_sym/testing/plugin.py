"""The pytest plugin: what `assert first == second` says of weights that differ. It imports nothing before."""

from __future__ import annotations

import sys
from typing import Any

MOST_SHOWN = 6
"""Matrices that differ and are shown."""


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Return which matrices of two networks differ, and how; of anything else pytest says what it always says.

    Example:
        >>> from lightning_sym import Weights
        >>> one, two = (Weights.of({"Q1": [[1]], "K1": [[2]], "V1": [[n]]}) for n in (3, 4))
        >>> print(*pytest_assertrepr_compare("==", one, two), sep=chr(10))
        the weights are not equal
        V1 = 3
          != 4
        (they may compute the same function: lightning_sym.testing.assert_same_function)
    """
    module = sys.modules.get("lightning_sym.network.weights")
    if op != "==" or module is None or not (isinstance(left, module.Weights) and isinstance(right, module.Weights)):
        return None
    from lightning_sym.display import rows_in_line
    from lightning_sym.testing.failures import LONGEST

    lines = ["the weights are not equal"]
    if left.form != right.form:
        lines.append(f"form {left.form.to_json()} != {right.form.to_json()}")
    mine, theirs = left.numbers(), right.numbers()
    differing = [n for n in {**mine, **theirs} if n not in mine or n not in theirs or not _equal(mine[n], theirs[n])]
    for name in differing[:MOST_SHOWN]:
        pair = [rows_in_line(found[name])[:LONGEST] if name in found else "missing" for found in (mine, theirs)]
        lines += [f"{name} = {pair[0]}", " " * len(name) + f"!= {pair[1]}"]
    if len(differing) > MOST_SHOWN:
        lines.append(f"and {len(differing) - MOST_SHOWN} more matrices")
    return [*lines, "(they may compute the same function: lightning_sym.testing.assert_same_function)"]


def _equal(one: Any, other: Any) -> bool:
    return bool(one.shape == other.shape and (one == other).all())
