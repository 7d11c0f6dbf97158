"""What was found, as the `Symmetry` that `apply` takes, and in words: numbers of the guesses, and those of the second.

Gains and biases are the second's own wherever they are not the first's, carried along, and so are neurons that do
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from lightning_sym.checkpoints.bases import Places, StreamMap
from lightning_sym.checkpoints.model import CheckpointForm
from lightning_sym.checkpoints.nice_numbers import Floats, Ratio
from lightning_sym.checkpoints.pieces import NUMBERS
from lightning_sym.checkpoints.symmetry import LayerSymmetry

Gauge = Floats | Ratio | Places
"""A part of a symmetry of a layer, as it is guessed: numbers, nice or not, or an order."""

UNREAD = "of the second checkpoint has numbers that nothing depends on"


SHOWN = 16
"""Heads whose order is written out."""


def stream_words(stream: StreamMap, form: CheckpointForm) -> str:
    """Return what was done to the residual stream."""
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
        text = str(stream.scale)
        words.append(f"times {text if len(text) <= 20 else f'{float(stream.scale):.10g}'}")
    return ", ".join(words) or "as it is"


def layer_words(found: LayerSymmetry, gauge: Iterable[str], *, written_out: bool) -> tuple[str, ...]:
    """Return what was done in a layer: what was written out, the gauge in words, and norms."""
    words = ["keys and values written out for each head"] if written_out else []
    words += gauge
    for number in NUMBERS:
        gain, bias = getattr(found, f"gain{number}"), getattr(found, f"bias{number}", None)
        if gain is not None or bias is not None:
            words.append(
                f"norm {number} folded" if gain is not None and (gain == 1).all() else f"norm {number} rewritten"
            )
    return tuple(words)


def gauge_words(parts: Mapping[str, Gauge], form: CheckpointForm) -> dict[str, str]:
    """Return what was done inside a layer, by the part of the symmetry that does anything."""
    found: dict[str, str] = {}
    for name, words in GAUGES.items():
        if name not in parts:
            continue
        part = parts[name]
        if name not in ORDERS:
            said = _numbers_words(name, part)
        elif isinstance(part, Ratio) or not (count := int((part != np.arange(len(part))).sum())):
            said = ""
        elif name == "heads":
            said = f"{words} {' '.join(map(str, part)) if form.heads <= SHOWN else f'{count} of {form.heads}'}"
        else:
            said = words
        found |= {name: said} if said else {}
    return found


ORDERS = ("heads", "neurons")
"""Parts of a gauge that are orders; the others are numbers."""

GAUGES = {
    "heads": "heads",
    "values": "values",
    "queries": "queries and keys",
    "turns": "turns of frequencies",
    "latents": "latent keys and values turned",
    "query_latents": "latent queries turned",
    "shared_turns": "turns of the frequencies of the key that heads share",
    "gain_factors": "gains of queries and keys scaled",
    "row_factors": "gains of queries and keys scaled",
    "behind1": "signs in front of the norm behind attention",
    "neurons": "neurons permuted",
    "ups": "up scaled",
    "behind2": "signs in front of the norm behind the MLP",
}
"""Parts of a gauge in words, in the order in which they are told."""


def _numbers_words(name: str, numbers: Gauge) -> str:
    """Return numbers of a gauge in words; none where they are identity matrices, turns `1, 0` or scales 1."""
    said = GAUGES[name]
    if not isinstance(numbers, Ratio):
        return f"{said}, fitted"
    one = np.array([1.0, 0.0]) if name.endswith("turns") else np.array(1.0)
    if name in ("values", "queries", "latents", "query_latents"):
        one = np.eye(numbers.numerators.shape[-1])
    if (numbers.floats == one).all():
        return ""
    if np.ndim(numbers.denominator):
        return f"{said} by fractions"
    return said if numbers.denominator == 1 else f"{said} over {numbers.denominator}"
