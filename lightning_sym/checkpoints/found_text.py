"""A symmetry that was found, in words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from lightning_sym.checkpoints.equations import LayerGauge, StreamMap
from lightning_sym.checkpoints.exact_rings import Ratio
from lightning_sym.checkpoints.model import CheckpointForm
from lightning_sym.checkpoints.symmetry import LayerSymmetry

SHOWN = 16
"""Heads whose order is written out."""


def stream_words(stream: StreamMap, form: CheckpointForm) -> str:
    """What was done to the residual stream."""
    words = []
    if stream.matrix is not None:
        known = f" over {stream.matrix.denominator}" if isinstance(stream.matrix, Ratio) else ", fitted"
        words.append(f"a turn of all {form.width} coordinates{known}")
    elif stream.order is not None:
        places = int((stream.order != np.arange(form.width)).sum())
        words += [f"a permutation of {places} of {form.width} coordinates"] if places else []
        if stream.signs is not None:
            signs = int((stream.signs.floats < 0).sum())
            words += [f"{signs} signs"] if signs else []
    if stream.scale != 1:
        words.append(f"times {_number(stream.scale)}")
    return ", ".join(words) or "as it is"


def _number(number: Any) -> str:
    text = str(number)
    return text if len(text) <= 20 else f"{float(number):.10g}"


def layer_words(found: LayerSymmetry, gauge: Iterable[str], written_out: bool) -> tuple[str, ...]:
    """What was done in a layer: what was written out, the gauge in words, and norms."""
    words = ["keys and values written out for each head"] if written_out else []
    words += gauge
    for number in (1, 2):
        gain, bias = getattr(found, f"gain{number}"), getattr(found, f"bias{number}")
        if gain is not None or bias is not None:
            words.append(
                f"norm {number} folded" if gain is not None and (gain == 1).all() else f"norm {number} rewritten"
            )
    return tuple(words)


def gauge_words(gauge: LayerGauge, form: CheckpointForm) -> dict[str, str]:
    """What was done inside a layer, by part."""
    found = {}
    if count := moved(gauge.heads):
        order = " ".join(map(str, gauge.heads)) if form.heads <= SHOWN else f"{count} of {form.heads}"
        found["heads"] = f"heads {order}"
    one = np.eye(form.head_width)
    found["values"] = _numbers_words("values", gauge.values, one)
    found["queries"] = _numbers_words("queries and keys", gauge.queries, one)
    found["turns"] = _numbers_words("turns of frequencies", gauge.turns, np.array([1.0, 0.0]))
    found["neurons"] = "neurons permuted" if moved(gauge.neurons) else ""
    found["ups"] = _numbers_words("up scaled", gauge.ups, np.array(1.0))
    return {name: said for name, said in found.items() if said}


def moved(order: Any) -> int:
    """How many places of an order are not their own."""
    return int((order != np.arange(len(order))).sum())


def _numbers_words(name: str, numbers: Any, one: Any) -> str:
    """Numbers of a gauge in words; none where it does nothing."""
    if numbers is None or (isinstance(numbers, Ratio) and (numbers.floats == one).all()):
        return ""
    if not isinstance(numbers, Ratio):
        return f"{name}, fitted"
    if np.ndim(numbers.denominator):
        return f"{name} by fractions"
    return name if numbers.denominator == 1 else f"{name} over {numbers.denominator}"
