"""A symmetry that was found, in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from lightning_sym.checkpoints.bases import StreamMap
from lightning_sym.checkpoints.exact_compare import without_norm
from lightning_sym.checkpoints.exact_rings import Ratio
from lightning_sym.checkpoints.layer_compare import LayerFound
from lightning_sym.checkpoints.layer_fit import floats
from lightning_sym.checkpoints.model import Block, CheckpointForm

SHOWN = 16
"""Heads whose order is written out."""


def stream_words(stream: StreamMap, form: CheckpointForm) -> str:
    """What was done to the residual stream."""
    words = []
    if stream.matrix is not None:
        known = f" over {stream.matrix.denominator}" if isinstance(stream.matrix, Ratio) else ", fitted"
        words.append(f"a turn of all {form.width} coordinates{known}")
    elif stream.order is not None:
        moved = int((stream.order != np.arange(form.width)).sum())
        words += [f"a permutation of {moved} of {form.width} coordinates"] if moved else []
        if stream.signs is not None:
            signs = int((floats(stream.signs) < 0).sum())
            words += [f"{signs} signs"] if signs else []
    if stream.scale != 1:
        words.append(f"times {_number(stream.scale)}")
    return ", ".join(words) or "as it is"


def _number(number: Any) -> str:
    text = str(number)
    return text if len(text) <= 20 else f"{float(number):.10g}"


def layer_words(
    found: LayerFound, form: CheckpointForm, first: Block, second: Block, stream: StreamMap, written_out: bool
) -> tuple[str, ...]:
    """What was done in a layer."""
    gauge, words = found.gauge, []
    if written_out:
        words.append("keys and values written out for each head")
    if _moved(gauge.heads):
        order = " ".join(map(str, gauge.heads)) if form.heads <= SHOWN else f"{_moved(gauge.heads)} of {form.heads}"
        words.append(f"heads {order}")
    words += _gauge_words("values", gauge.values, np.eye(form.head_width))
    words += _gauge_words("queries and keys", gauge.queries, np.eye(form.head_width))
    words += _gauge_words("turns of frequencies", gauge.turns, np.array([1.0, 0.0]))
    if _moved(gauge.neurons):
        words.append("neurons permuted")
    words += _gauge_words("up scaled", gauge.ups, np.array(1.0))
    for number in (1, 2):
        gains = [getattr(block, f"norm{number}_gain") for block in (first, second)]
        if without_norm(first, second, f"norm{number}", stream)[0] is first:
            words.append(f"norm {number} folded" if (gains[1] == 1).all() else f"norm {number} rewritten")
    return tuple(words)


def _moved(order: Any) -> int:
    return int((order != np.arange(len(order))).sum())


def _gauge_words(name: str, numbers: Any, one: Any) -> list[str]:
    if numbers is None:
        return []
    if not isinstance(numbers, Ratio):
        return [f"{name}, fitted"]
    if (numbers.floats == one).all():
        return []
    if np.ndim(numbers.denominator):
        return [f"{name} by fractions"]
    return [name if numbers.denominator == 1 else f"{name} over {numbers.denominator}"]
