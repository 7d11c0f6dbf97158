"""What was found, as the `Symmetry` that `apply` takes, and in words: numbers of the guesses, and those of the second.

Gains and biases are the second's own wherever they are not the first's, carried along, and so are neurons that do
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from lightning_sym.checkpoints.bases import Places, StreamMap
from lightning_sym.checkpoints.coded import rows_at_once
from lightning_sym.checkpoints.ends_accounts import EndsFound
from lightning_sym.checkpoints.identity import stored_type
from lightning_sym.checkpoints.measured import Fitted, Measured, fitted, measured
from lightning_sym.checkpoints.model import Checkpoint, CheckpointForm
from lightning_sym.checkpoints.nice_numbers import Floats, Ratio, as_part
from lightning_sym.checkpoints.pieces import NUMBERS
from lightning_sym.checkpoints.rewritings import apply
from lightning_sym.checkpoints.stream_fit import centred
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry, symmetry_memory
from lightning_sym.checkpoints.understood import Walker, ends_of
from lightning_sym.checkpoints.walk import Stream
from lightning_sym.errors import BadInput, TooLarge
from lightning_sym.limits import DEFAULT_MEMORY, require_memory

Gauge = Floats | Ratio | Places
"""A part of a symmetry of a layer, as it is guessed: numbers, nice or not, or an order."""

UNREAD = "of the second checkpoint has numbers that nothing depends on"


def stream_of(found: StreamMap, first: Checkpoint, second: Checkpoint) -> Stream:
    """Return what was done to the stream, and how well it is known where it was fitted."""
    symmetry = Symmetry((), found.scale, rotation=None if found.matrix is None else as_part(found.matrix))
    if found.matrix is None and not found.is_identity and found.order is not None:
        moves = (found.order != np.arange(len(found.order))).any()
        signs = None if found.signs is None else as_part(found.signs).astype(np.int64)
        symmetry = replace(symmetry, order=found.order if moves else None, signs=signs)
    fits: tuple[tuple[object, Fitted], ...] = ()
    if found.matrix is not None and not isinstance(found.matrix, Ratio):
        rows = ends_of(first, Walker.COMPARISON, coded=True).embedding
        some = measured(rows[: rows_at_once(rows)], stored_type(first, second, "embedding"))
        some = Measured(centred(some.value, second.form), some.square)  # what it makes of ones was not fitted
        fits = ((symmetry.rotation, fitted(symmetry.rotation, some.swapaxes(0, 1), rows=len(rows))),)
    stream = Stream(symmetry, second.form, found, fits)
    if isinstance(found.matrix, Ratio):
        try:
            stream.exactly  # noqa: B018 - whether nice numbers are orthogonal is asked here
        except (BadInput, TooLarge):
            left, _, right = np.linalg.svd(found.matrix.floats)
            return stream_of(replace(found, matrix=left @ right, exact=False), first, second)
    return stream


@dataclass(eq=False)
class Gathered:
    """The symmetry as it is found: first the stream, then layer by layer.

    Attributes:
        stream: what was done to the stream.
        first, second: the checkpoints.
        parts: of the whole, by name.
        layers: what was done in each.
        why_not: why there is none that can be applied, in one line.
    """

    stream: Stream
    first: Checkpoint
    second: Checkpoint
    parts: dict[str, object] = field(default_factory=dict)
    layers: list[LayerSymmetry] = field(default_factory=list)
    why_not: str = ""
    bytes: int = 0

    def __post_init__(self) -> None:
        old, new = self.first.form, self.second.form
        self.parts |= {"groups": new.groups} if old.groups != new.groups else {}
        self.parts |= {"tied": new.tied} if old.tied != new.tied else {}
        self._take(symmetry_memory(new))

    def _take(self, count: int) -> None:
        """Count bytes of its numbers; too many are not written down."""
        self.bytes += count
        try:
            require_memory(self.bytes, DEFAULT_MEMORY, "all of it")
        except TooLarge as error:
            self._refuse(str(error))

    def _refuse(self, *reasons: str) -> None:
        """Keep the first reason, if there is one, why the symmetry cannot be written down."""
        self.why_not = self.why_not or next(filter(None, reasons), "")

    def add_ends(self, found: EndsFound) -> None:
        """Add what was found before and behind the layers."""
        self.parts |= found.parts
        self._refuse(found.unread and f"{found.unread} {UNREAD}", found.why_not)

    def add_layer(self, symmetry: LayerSymmetry, idle: int, why_not: str) -> None:
        """Add a layer, its idle neurons with the numbers of the second: as `layer_looked.py` tells it."""
        self._take(idle)
        self._refuse(why_not)
        self.layers.append(symmetry)

    def as_symmetry(self, *, exact: bool) -> Symmetry | None:
        """Return all of it, if it can be applied."""
        try:
            symmetry = replace(self.stream.symmetry, layers=tuple(self.layers)).having(self.parts)
            form = apply(symmetry, self.first, exact=exact).form
        except (BadInput, TooLarge) as error:
            self._refuse(str(error))
            return None
        wanted = self.second.form  # whether its frequencies are the same is told by a residual
        if exact and replace(form, context=wanted.context, family=wanted.family, scaling=wanted.scaling) != wanted:
            self._refuse("it makes another form of network")
        return None if self.why_not else symmetry


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
