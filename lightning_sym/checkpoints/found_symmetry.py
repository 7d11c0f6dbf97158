"""What was found, as the `Symmetry` that `apply` takes: the numbers of the guess, and those to be had by the second.

Gains and biases are the second's own wherever they are not the first's, carried along. Multiples of the vector of ones
are exact, from three entries, where all equations hold exactly; else they are means, in floats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from lightning_sym.checkpoints.bases import StreamMap, turned_matrices
from lightning_sym.checkpoints.configurations import IDLE
from lightning_sym.checkpoints.ends_compare import EndsFound
from lightning_sym.checkpoints.equations import LayerGauge, common, two_of_three
from lightning_sym.checkpoints.exact_arrays import Arithmetic, Exact, Rounded, narrow
from lightning_sym.checkpoints.exact_rings import Ratio
from lightning_sym.checkpoints.layer_compare import LayerFound
from lightning_sym.checkpoints.model import Block, Checkpoint, CheckpointForm, Ends
from lightning_sym.checkpoints.rewritings import ROWS, apply
from lightning_sym.checkpoints.stream import Reading, StreamAction
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry
from lightning_sym.checkpoints.understood import Walker, pieces_of
from lightning_sym.errors import BadInput, TooLarge
from lightning_sym.limits import DEFAULT_MEMORY, require_memory

FEW = 3  # entries from which a multiple of ones is told, where it is exact
NEURONS = ("gate_shift", "up_shift", "down_shift")


def as_part(numbers: Any) -> Any:
    """A part of a symmetry from a guess: floats that hold it, or fractions."""
    if not isinstance(numbers, Ratio):
        return np.asarray(numbers, dtype=np.float64)
    if numbers.is_dyadic:
        return numbers.floats
    parts = np.broadcast_arrays(numbers.numerators, numbers.denominator)
    return narrow(np.frompyfunc(lambda top, low: Fraction(int(top), int(low)), 2, 1)(*parts))


class NoSymmetry(Exception):
    """What was found is none that can be applied, in one line."""


def require_made(symmetry: Symmetry, first: Checkpoint, second: Checkpoint, exact: bool) -> None:
    """Apply it; exactly, every number is asked whether it is that of the second checkpoint.

    Raises:
        NoSymmetry: one of them is not; most often one that is multiplied by 0.
        BadInput: the symmetry cannot be applied.
        TooLarge: it cannot be applied exactly.
    """
    made = apply(symmetry, first, exact=exact)
    if replace(made.form, context=second.form.context, family=second.form.family) != second.form and exact:
        raise NoSymmetry("it makes another form of network")
    for layer in (None, *range(second.form.layers)):
        old, new = (dict(pieces_of(x, layer, Walker.COMPARISON).present()) for x in (made, second))
        for name in old.keys() | new.keys() if exact else ():
            if name not in old or name not in new or not np.array_equal(old[name], new[name]):
                called = name if layer is None else f"{layer}.{name}"
                raise NoSymmetry(f"{called} of the second checkpoint has numbers that nothing depends on")


@dataclass(eq=False)
class Gathered:
    """The symmetry as it is found, first the stream, then layer by layer."""

    stream: StreamMap
    old: CheckpointForm
    new: CheckpointForm
    parts: dict[str, Any] = field(default_factory=dict)
    layers: list[LayerSymmetry] = field(default_factory=list)
    why_not: str = ""
    bytes: int = 0

    def __post_init__(self) -> None:
        stream = self.stream
        if stream.scale != 1:
            self.parts["scale"] = stream.scale
        if stream.matrix is not None:
            self.parts["rotation"] = as_part(stream.matrix)
        elif not stream.is_identity and stream.order is not None:
            if (stream.order != np.arange(len(stream.order))).any():
                self.parts["order"] = stream.order
            if stream.signs is not None:
                self.parts["signs"] = as_part(stream.signs).astype(np.int64)
        if self.old.groups != self.new.groups:
            self.parts["groups"] = self.new.groups
        if self.old.tied != self.new.tied:
            self.parts["tied"] = self.new.tied

    def take(self, count: int) -> None:
        """Count bytes of its numbers, and refuse too many."""
        self.bytes += count
        require_memory(self.bytes, DEFAULT_MEMORY, "all of it")

    def add(self, change: Any, *given: Any) -> None:
        """Gather some of it, unless it has turned out that there is none."""
        if self.why_not:
            return
        try:
            change(self, *given)
        except (NoSymmetry, BadInput, TooLarge, np.linalg.LinAlgError) as error:
            self.why_not = str(error)

    def made(self, first: Checkpoint, second: Checkpoint, exact: bool) -> Symmetry | None:
        """All of it, if it can be applied; exactly, only if it makes the second checkpoint of the first."""
        symmetry = Symmetry(tuple(self.layers), **self.parts)
        self.add(lambda _: require_made(symmetry, first, second, exact))
        return None if self.why_not else symmetry

    def working(self, exact: bool) -> tuple[Arithmetic, StreamAction]:
        """The ring in which numbers to be had are computed, and the stream in it."""
        ring: Arithmetic = Exact() if exact and self.stream.exact else Rounded()
        parts = {name: part for name, part in self.parts.items() if name in ("scale", "order", "signs", "rotation")}
        return ring, StreamAction(Symmetry((), **parts), self.new, ring)


def _norm(stream: StreamAction, first: tuple[Any, Any], second: tuple[Any, Any], what: str) -> tuple[Any, Any]:
    """Gain and bias to be had; `None` where they are the first's, carried along."""
    ring = stream.ring
    gain = stream.carried(ring.numbers(first[0]))
    if gain is not None and np.array_equal(gain, ring.numbers(second[0])):
        gain = None
    elif not np.asarray(second[0]).all():
        raise NoSymmetry(f"gains of {what} are 0 in the second checkpoint, and not those of the first, moved")
    else:
        gain = np.asarray(second[0])
    if first[1] is None or second[1] is None:
        return gain, None
    if gain is not None and not np.asarray(first[0]).all():
        return gain, np.asarray(second[1])
    carried = Reading(stream, np.asarray(first[0]), np.asarray(first[1]), gain, None, what).bias
    same = carried is not None and np.array_equal(carried, ring.numbers(second[1]))
    return gain, None if same else np.asarray(second[1])


def add_layer(
    found: Gathered, layer: LayerFound, raw: tuple[Block, Block], whole: tuple[Block, Block], kept: Any
) -> None:
    """The symmetry of a layer.

    Args:
        found: what is gathered.
        layer: what was found there.
        raw: the layer of both, as it was read.
        whole: the same as it was compared.
        kept: of both, which neurons do something.
    """
    gauge, parts = layer.gauge, dict[str, Any]()
    ring, stream = found.working(layer.equal)
    if (gauge.heads != np.arange(len(gauge.heads))).any():
        parts["heads"] = gauge.heads
    for name in ("values", "queries", "turns"):
        if gauge.does(name):
            parts[name] = as_part(getattr(gauge, name))
    norms = {}
    for number in (1, 2):
        pairs = [tuple(getattr(block, f"norm{number}_{part}") for part in ("gain", "bias")) for block in raw]
        norms[number] = _norm(stream, pairs[0], pairs[1], f"norm {number}")
        for part, numbers in zip(("gain", "bias"), norms[number], strict=True):
            if numbers is not None:
                parts[f"{part}{number}"] = numbers
    if found.new.theta is None and raw[1].key_bias is not None and raw[0].key_bias is not None:
        parts["key_bias"] = whole[1].key_bias
    if layer.moves and raw[1].value_bias is not None and raw[0].value_bias is not None:
        parts["value_bias"] = whole[1].value_bias
    parts |= _neurons(gauge, raw, kept)
    found.take(sum(array.nbytes for name, array in parts.items() if name.startswith("idle")))
    if found.new.norm == "layer":
        shifts = _ones(ring, stream, layer, *whole)
        if parts.get("neurons") is not None:
            shifts = {name: _placed(x, parts["neurons"]) if name in NEURONS else x for name, x in shifts.items()}
        parts |= {name: shift for name, shift in shifts.items() if np.asarray(shift != 0).any()}
    found.layers.append(LayerSymmetry(**parts))


def _placed(shift: Any, neurons: Any) -> Any:
    """Shifts of those neurons that do something, and 0 for the others."""
    placed = np.zeros(len(neurons), dtype=shift.dtype)
    placed[neurons >= 0] = shift
    return placed


def _neurons(gauge: LayerGauge, raw: tuple[Block, Block], kept: Any) -> dict[str, Any]:
    """Orders and scales of neurons, those that do nothing with the second's numbers."""
    old, new = kept
    parts: dict[str, Any] = {}
    alive = bool(old.any()) and bool(new.any())
    neurons = np.full(len(new), -1)
    if alive:
        neurons[new] = np.flatnonzero(old)[gauge.neurons]
    if len(old) != len(new) or (neurons != np.arange(len(new))).any():
        parts["neurons"] = neurons
    if not new.all():
        for name in IDLE:
            if (array := getattr(raw[1], name)) is not None:
                numbers = array[:, ~new] if name == "down" else array[~new]
                parts |= {f"idle_{name}": numbers} if numbers.any() else {}
    if alive and gauge.does("ups"):
        scales = as_part(gauge.ups)
        ups = np.full(len(new), 1.0 if scales.dtype != object else scales.flat[0] ** 0, dtype=scales.dtype)
        ups[new] = scales
        parts["ups"] = ups
    return parts


def _common(array: Any, axis: int, exact: bool) -> Any:
    """What the entries along an axis have in common; exactly, of three of them the one that two of them are."""
    if not exact:
        return common(array, axis).squeeze(axis)
    return two_of_three(np.moveaxis(np.asarray(array), axis, 0))


def _ones(ring: Arithmetic, stream: StreamAction, layer: LayerFound, first: Any, second: Any) -> dict[str, Any]:
    """The multiples of ones by which the second differs from what the rest makes of the first."""
    gauge, exact, numbers, product = layer.gauge, isinstance(ring, Exact), ring.numbers, ring.product
    few = stream.few(FEW) if exact else stream
    share = len(gauge.heads) // len(gauge.groups)
    left: dict[str, Any] = {}

    def gauged(name: str, columns: Any, inverse: bool = False) -> Any:
        matrices = as_part(getattr(gauge, f"{name}_inverse" if inverse else name))
        matrices = turned_matrices(numbers(matrices)) if name == "turns" else numbers(matrices)
        matrices = matrices.swapaxes(-1, -2) if inverse and name != "turns" else matrices
        return product(np.repeat(matrices, len(columns) // len(matrices), axis=0), columns)

    def folded(block: Block, name: str, norm: int, order: Any) -> tuple[Any, Any]:
        """Some rows with the gain, and what they make of the bias of the norm."""
        weight = numbers(getattr(block, name)[order])
        bias = numbers(getattr(block, f"norm{norm}_bias"))[:, None]
        return ring.times(weight, numbers(getattr(block, f"norm{norm}_gain"))), product(weight, bias)

    rows = {"query": (1, gauge.heads), "key": (1, gauge.groups), "value": (1, gauge.groups)}
    rows |= {name: (2, gauge.neurons) for name in ("gate", "up") if getattr(first, name) is not None}
    for name, (norm, order) in rows.items():
        columns = few.read(folded(first, name, norm, order)[0])
        gain = numbers(getattr(second, f"norm{norm}_gain"))[: columns.shape[-1]]
        for part, inverse in PARTS.get(name, ()):
            if getattr(gauge, part) is not None and gauge.does(part):
                columns = gauged(part, columns, inverse)
        if name == "up" and gauge.ups is not None:
            columns = ring.times(columns, numbers(as_part(gauge.ups))[:, None])
        new = ring.times(numbers(getattr(second, name)[..., : columns.shape[-1]]), gain)
        left[f"{name}_shift"] = _common(ring.plus(new, -columns), -1, exact)
    output = few.written(numbers(first.output[gauge.heads]), 1)
    if gauge.does("values"):
        output = product(output, np.repeat(numbers(as_part(gauge.values_inverse)), share, axis=0))
    left["output_shift"] = _common(ring.plus(numbers(second.output[:, : output.shape[1]]), -output), 1, exact)
    bias = few.written(numbers(first.output_bias))
    if layer.moves:
        lost = ring.plus(numbers(first.value_bias[gauge.groups])[..., None], folded(first, "value", 1, gauge.groups)[1])
        lost = gauged("values", lost) if gauge.does("values") else lost
        kept = ring.plus(numbers(second.value_bias)[..., None], folded(second, "value", 1, slice(None))[1])
        lost = np.repeat(ring.plus(lost, -kept), share, axis=0)
        bias = ring.plus(bias, product(output.swapaxes(0, 1).reshape(len(bias), -1), lost.reshape(-1, 1))[:, 0])
    left["output_bias_shift"] = _common(ring.plus(numbers(second.output_bias[: len(bias)]), -bias), 0, exact).item()
    down = few.written(numbers(first.down[:, gauge.neurons]), 0)
    if gauge.ups is not None:
        down = ring.times(down, numbers(as_part(gauge.ups_inverse)))
    left["down_shift"] = _common(ring.plus(numbers(second.down[: len(down)]), -down), 0, exact)
    bias = few.written(numbers(first.down_bias))
    left["down_bias_shift"] = _common(ring.plus(numbers(second.down_bias[: len(bias)]), -bias), 0, exact).item()
    return left


PARTS: dict[str, tuple[tuple[str, bool], ...]] = {
    "query": (("queries", False), ("turns", False)),
    "key": (("queries", True), ("turns", True)),
    "value": (("values", False),),
}
"""The gauges of maps, and whether their inverse, transposed."""


def add_ends(found: Gathered, ends: EndsFound, first: Ends, second: Ends) -> None:
    """What stands before and behind the layers."""
    ring, stream = found.working(ends.equal)
    parts: dict[str, Any] = {}
    if not (found.old.tied and found.new.tied):
        norms = (first.final_gain, first.final_bias), (second.final_gain, second.final_bias)
        gain, bias = _norm(stream, *norms, "the final norm")
        parts |= {} if gain is None else {"final_gain": gain}
        if bias is not None and ends.equal:
            raise NoSymmetry("the final norm's bias is another one, which is seen by nothing")
    if found.new.norm == "layer":
        shifts = _rows(ring, stream, found, first, second, ends.shift)
        parts |= {name: shift for name, shift in shifts.items() if (shift != 0).any()}
    found.parts |= parts


def free_rows(first: Ends, second: Ends) -> bool:
    """Whether multiples of ones may be added to rows of the embedding, with LayerNorm: tied only sometimes."""
    if first.unembedding is not None or second.unembedding is not None:
        return True
    gain, bias = second.final_gain, second.final_bias
    return bool((gain == gain[0]).all()) and (bias is None or math.fsum(map(float, bias)) == 0)


def _rows(
    ring: Arithmetic, stream: StreamAction, found: Gathered, first: Ends, second: Ends, fitted: Any
) -> dict[str, Any]:
    """What all rows have in common, and the multiples of ones of each."""
    exact = isinstance(ring, Exact)
    few, place = (stream.few(FEW), slice(FEW)) if exact else (stream, slice(ROWS))
    tied = found.old.tied and found.new.tied
    shifts: dict[str, Any] = {}
    moved: Any = np.zeros(1)
    if second.positions is not None and not tied:
        if exact:
            old, new = (ring.numbers(end.embedding[place]) for end in (first, second))
            excess = ring.plus(new, -stream.written(old))
            shifts["moved"] = _common(ring.plus(excess, -excess[:, :1]), 0, exact)
            moved = shifts["moved"][:FEW]
        elif (moved := fitted).any():
            shifts["moved"] = moved

    def rows(old: Any, new: Any, less: Any, change: Any, gain: Any = None) -> Any:
        made = []
        for start in range(0, len(new), ROWS):
            place = slice(start, start + ROWS)
            image = ring.plus(change(ring.numbers(old[place])), less)
            wanted = ring.numbers(new[place, : image.shape[1]])
            wanted = wanted if gain is None else ring.times(wanted, gain[: image.shape[1]])
            made.append(_common(ring.plus(wanted, -image), 1, exact))
        return np.concatenate(made)

    if free_rows(first, second):
        shifts["embedding_shift"] = rows(first.embedding, second.embedding, moved, few.written)
    if first.positions is not None and second.positions is not None:
        shifts["positions_shift"] = rows(first.positions, second.positions, -moved, few.written)
    if not tied:
        gain, new_gain = (ring.numbers(end.final_gain) for end in (first, second))
        old, new = ((end.embedding if end.unembedding is None else end.unembedding) for end in (first, second))

        def read(part: Any) -> Any:
            return few.read(ring.times(part, gain))

        shift = rows(old, new, np.zeros(1), read, new_gain)
        if exact or second.final_bias is None or not second.final_bias.any():
            shifts["unembedding_shift"] = shift
        else:  # sums with a bias are 0 exactly, or there is none
            left = ring.times(ring.numbers(new[place]), new_gain) - read(ring.numbers(old[place]))
            if (abs(shift[place]) > abs(left - shift[place, None]).max(axis=1)).any():
                raise NoSymmetry("rows of the unembedding moved along the vector of ones, and not exactly")
    return shifts
