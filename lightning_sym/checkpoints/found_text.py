"""A symmetry that was found, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from lightning_sym.checkpoints.bases import StreamMap
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


def gauge_words(parts: Mapping[str, Any], form: CheckpointForm) -> dict[str, str]:
    """What was done inside a layer, by the part of the symmetry that does anything."""
    found = {}
    for name, part in parts.items():
        if name == "heads" and (count := _moved(part)):
            order = " ".join(map(str, part)) if form.heads <= SHOWN else f"{count} of {form.heads}"
            found[name] = f"heads {order}"
        elif name == "neurons" and _moved(part):
            found[name] = "neurons permuted"
        elif name in GAUGES and (said := _numbers_words(name, part)):
            found[name] = said
    return {name: found[name] for name in SAID if name in found}


GAUGES = {
    "values": "values",
    "queries": "queries and keys",
    "turns": "turns of frequencies",
    "gain_factors": "gains of queries and keys scaled",
    "row_factors": "gains of queries and keys scaled",
    "ups": "up scaled",
    "behind1": "signs in front of the norm behind attention",
    "behind2": "signs in front of the norm behind the MLP",
}
"""Parts that are numbers, in words."""

SAID = ("heads", "values", "queries", "turns", "gain_factors", "row_factors", "behind1", "neurons", "ups", "behind2")
"""Parts in the order in which they are told."""


def _moved(order: Any) -> int:
    """How many places of an order are not their own."""
    return int((order != np.arange(len(order))).sum())


def _numbers_words(name: str, numbers: Any) -> str:
    """Numbers of a gauge in words; none where they are identity matrices, turns `1, 0` or scales 1."""
    said = GAUGES[name]
    if not isinstance(numbers, Ratio):
        return f"{said}, fitted"
    one = np.array([1.0, 0.0]) if name == "turns" else np.array(1.0)
    if name in ("values", "queries"):
        one = np.eye(numbers.numerators.shape[-1])
    if (numbers.floats == one).all():
        return ""
    if np.ndim(numbers.denominator):
        return f"{said} by fractions"
    return said if numbers.denominator == 1 else f"{said} over {numbers.denominator}"
