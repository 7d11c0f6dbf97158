"""Symmetries applied: the same function with other weights. Propositions 1 to 12 of docs/checkpoints.md prove them.

A checkpoint is rewritten one layer at a time, when the layer is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from numbers import Rational
from typing import Any

import numpy as np

from lightning_sym.arguments import require_arguments, shown
from lightning_sym.checkpoints.configurations import Configurations, chosen, require_neurons, with_idle
from lightning_sym.checkpoints.exact_arrays import Arithmetic, Exact, Numbers, Rounded
from lightning_sym.checkpoints.model import Block, Checkpoint, CheckpointForm, Ends, require_checkpoint
from lightning_sym.checkpoints.stream import Reading, StreamAction, require, require_order
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry
from lightning_sym.checkpoints.symmetry_sizes import require_sizes
from lightning_sym.checkpoints.understood import Walker, block_of, ends_of, require_form

_CENTRED = (
    "query_shift", "key_shift", "value_shift", "gate_shift", "up_shift", "output_shift", "output_bias_shift",
    "down_shift", "down_bias_shift", "embedding_shift", "positions_shift", "unembedding_shift",
)  # fmt: skip
"""Parts that only a norm allows that does not read the mean."""

ROWS = 4096
"""Of an embedding that are rewritten at a time."""


@dataclass(frozen=True, eq=False)
class Rewritten:
    """A checkpoint under a symmetry; its arrays are float64, or `Fraction` where an exact number is no float64.

    Attributes:
        form: as before, but for the epsilon, and what the symmetry says of groups, neurons and the tie.
        original: the checkpoint.
        symmetry: what is done to it.
        ring: exact or rounded.
        stream: what is done to the stream.
        configurations: the forms before, in between and after.
    """

    form: CheckpointForm
    original: Checkpoint
    symmetry: Symmetry
    ring: Arithmetic
    stream: StreamAction
    configurations: Configurations

    @property
    def name(self) -> str:
        """How answers call it."""
        return f"{self.original.name}, rewritten"

    def stored(self, piece: str) -> str:
        """`F64`, whatever the original is stored in."""
        return "F64"

    def called(self, piece: str) -> str:
        """The name that the original's files have for it."""
        return self.original.called(piece)

    def ends(self) -> Ends:
        """Embedding, positions, final norm and unembedding."""
        return _ends(self, ends_of(self.original, Walker.REWRITING))

    def block(self, layer: int) -> Block:
        """Layer `layer`, from 0."""
        forms = self.configurations
        found = _attention(self, layer, forms.written_out(block_of(self.original, layer, Walker.REWRITING)))
        found = forms.merged(found, isinstance(self.ring, Exact), f"layer {layer}: ")
        return _mlp(self, layer, found)


def apply(symmetry: Symmetry, checkpoint: Checkpoint, *, exact: bool = True) -> Rewritten:
    """The checkpoint that a symmetry makes of another one: other weights, the same logits.

    Args:
        symmetry: what to do.
        checkpoint: what to do it to.
        exact: over the rationals; else in float64, where the result is a rounding and no rotation is asked whether it
            is orthogonal.

    Raises:
        BadInput: it is no symmetry of this network; the message says which part, and what must be true. What depends
            on a layer, a piece in it that a rewriting does not know too, is said when that layer is asked for.
        TooLarge: exact numbers that are no floats of 64 bits, and too many of them.

    Example:
        >>> from lightning_sym.testing import small_checkpoint
        >>> one = small_checkpoint("gpt2")
        >>> two = apply(Symmetry((LayerSymmetry(heads=np.array([1, 0, 2, 3])), LayerSymmetry())), one)
        >>> bool((two.block(0).query[0] == one.block(0).query[1]).all())
        True
    """
    require_arguments(apply, locals())
    require_checkpoint(checkpoint)
    require_form(checkpoint.form, Walker.REWRITING)
    count = len(symmetry.layers)
    layers = checkpoint.form.layers
    require(count == layers, f"a symmetry must have as many layers as the network, {layers}, got {count}")
    scale: Any = symmetry.scale
    real = issubclass(type(scale), (Rational, float))
    require(real and 0 < scale < inf, f"scale must be positive, got {shown(scale)}")
    for number, layer in enumerate(symmetry.layers):
        require_neurons(layer, checkpoint.form.inner, f"layer {number}: ")
    forms = Configurations.of(symmetry, checkpoint.form)
    for part in symmetry.parts():
        _require_allowed(part, forms.between)
    require_sizes(symmetry, forms.between)
    for number, layer in enumerate(symmetry.layers):
        _require_numbers(layer, forms.between, f"layer {number}: ")
    ring: Arithmetic = Exact() if exact else Rounded()
    return Rewritten(forms.new, checkpoint, symmetry, ring, StreamAction(symmetry, forms.between, ring), forms)


def _require_allowed(part: str, form: CheckpointForm) -> None:
    """Refuse by name what is no symmetry of this kind of network."""
    name = part.rsplit(".", 1)[-1]
    if name in _CENTRED:
        require(
            form.norm == "layer", f"{part}: shifts along the vector of ones need LayerNorm, this network has RMSNorm"
        )
    if name in ("bias1", "bias2"):
        require(form.norm == "layer", f"{part}: RMSNorm has no bias")
    if name == "queries":
        require(form.theta is None, f"{part}: with rotary positions queries and keys allow turns only, no matrices")
    if name == "key_bias":
        require(form.theta is None, f"{part}: with rotary positions the function depends on key biases")
    if name == "turns":
        require(form.theta is not None, f"{part}: turns belong to rotary positions, this network has none")
    if name == "ups":
        require(form.activation == "silu", f"{part}: only the up map of a gated MLP may be scaled")
    if name in ("final_gain", "moved", "unembedding_shift"):
        require(not form.tied, f"{part}: the embedding is the unembedding too (tied); untie it first")
    if name in ("moved", "positions_shift"):
        require(form.theta is None, f"{part}: this network has no learned positions")


def _require_numbers(layer: LayerSymmetry, form: CheckpointForm, where: str) -> None:
    if layer.heads is not None:
        require_order(f"{where}heads", layer.heads, form.heads)
        share = form.heads // form.groups
        together = (np.asarray(layer.heads).reshape(form.groups, share) // share).T
        require((together == together[0]).all(), f"{where}heads must keep the heads of a group of keys together")
    if layer.ups is not None:
        require((np.asarray(layer.ups) != 0).all(), f"{where}ups must not be 0 anywhere")
    if layer.turns is not None:
        turns = np.asarray(layer.turns)
        require((turns != 0).any(axis=-1).all(), f"{where}turns must not be 0, 0 for any frequency")


def _shifted(ring: Arithmetic, array: Numbers, shift: Any) -> Numbers:
    """Plus a shift that broadcasts, if there is one."""
    return array if shift is None else ring.plus(array, ring.numbers(shift))


def _attention(new: Rewritten, number: int, block: Block) -> Block:
    """The first half of a layer: norm, queries, keys, values, outputs."""
    ring, stream, form, layer = new.ring, new.stream, new.configurations.between, new.symmetry.layers[number]
    share = form.heads // form.groups
    heads = np.arange(form.heads) if layer.heads is None else np.asarray(layer.heads, dtype=np.int64)
    groups = heads[::share] // share
    where = f"layer {number}: "
    norm = Reading(stream, block.norm1_gain, block.norm1_bias, layer.gain1, layer.bias1, f"{where}norm 1")
    query, query_bias = _gauged(block.query, block.query_bias, heads)
    key, key_bias = _gauged(block.key, block.key_bias, groups)
    value, value_bias = _gauged(block.value, block.value_bias, groups)
    output = ring.numbers(block.output[heads])
    if layer.values is not None:
        gauge = ring.numbers(layer.values)
        value, value_bias = _multiplied(ring, gauge, value, value_bias)
        output = ring.product(output, np.repeat(ring.inverse(gauge), share, axis=0))
    if layer.queries is not None:
        gauge = ring.numbers(layer.queries)
        query, query_bias = _multiplied(ring, np.repeat(gauge, share, axis=0), query, query_bias)
        key, key_bias = _multiplied(ring, ring.inverse(gauge).swapaxes(-1, -2), key, key_bias)
    if layer.turns is not None:
        turns = ring.numbers(layer.turns)
        query, query_bias = _multiplied(ring, np.repeat(turned_matrices(turns), share, axis=0), query, query_bias)
        sizes = ring.times(turns, turns)
        size = ring.plus(sizes[..., :1], sizes[..., 1:])
        key, key_bias = _multiplied(ring, turned_matrices(ring.over(turns, size)), key, key_bias)
    query, query_bias = norm.map(query, query_bias, layer.query_shift, f"{where}query")
    key, key_bias = norm.map(key, key_bias, layer.key_shift, f"{where}key")
    value, value_bias = norm.map(value, value_bias, layer.value_shift, f"{where}value")
    if layer.key_bias is not None:
        require(key_bias is not None, f"{where}key_bias: keys have no bias in this network")
        key_bias = ring.numbers(layer.key_bias)
    output = stream.written(output, 1)
    output_bias = None if block.output_bias is None else stream.written(ring.numbers(block.output_bias))
    if layer.value_bias is not None:
        require(value_bias is not None, f"{where}value_bias: values have no bias in this network")
        wanted = ring.numbers(layer.value_bias)
        lost = ring.plus(value_bias, -wanted)  # type: ignore[arg-type]
        wide = output.swapaxes(0, 1).reshape(form.width, -1)
        through = ring.product(wide, np.repeat(lost, share, axis=0).reshape(-1, 1))[:, 0]
        if output_bias is None:
            fits = (through == 0).all()
            require(fits, f"{where}value_bias: outputs have no bias in this network that could take up the difference")
        else:
            output_bias = ring.plus(output_bias, through)
        value_bias = wanted
    output = _shifted(ring, output, None if layer.output_shift is None else np.asarray(layer.output_shift)[:, None, :])
    output_bias = _constant(ring, output_bias, layer.output_bias_shift, f"{where}output_bias_shift")
    return replace(
        block,
        norm1_gain=norm.gain, norm1_bias=norm.bias, query=query, query_bias=query_bias, key=key, key_bias=key_bias,
        value=value, value_bias=value_bias, output=output, output_bias=output_bias,
    )  # fmt: skip


def _gauged(weight: Numbers, bias: Numbers | None, order: Numbers) -> tuple[Numbers, Numbers | None]:
    """A map and its bias in another order of heads."""
    return weight[order], None if bias is None else bias[order]


def _multiplied(
    ring: Arithmetic, gauge: Numbers, weight: Numbers, bias: Numbers | None
) -> tuple[Numbers, Numbers | None]:
    """Matrices times maps, head by head, and times their biases."""
    changed = ring.product(gauge, ring.numbers(weight))
    return changed, None if bias is None else ring.product(gauge, ring.numbers(bias)[..., None])[..., 0]


def turned_matrices(turns: Numbers) -> Numbers:
    """Numbers `x + iy` for each frequency as matrices in the rotate-half layout, `(G, a / 2, 2)` to `(G, a, a)`.

    Example:
        >>> turned_matrices(np.array([[[3.0, 4.0]]])).tolist()
        [[[3.0, -4.0], [4.0, 3.0]]]
    """
    groups, half, _ = turns.shape
    zero = 0.0 if turns.dtype != object else turns.flat[0] * 0
    found = np.full((groups, 2 * half, 2 * half), zero, dtype=turns.dtype)
    k = np.arange(half)
    found[:, k, k] = found[:, k + half, k + half] = turns[..., 0]
    found[:, k, k + half], found[:, k + half, k] = -turns[..., 1], turns[..., 1]
    return found


def _constant(ring: Arithmetic, bias: Numbers | None, shift: Any, what: str) -> Numbers | None:
    """A bias with one number added to all entries."""
    if shift is None:
        return bias
    require(bias is not None, f"{what}: there is no such bias in this network")
    return _shifted(ring, bias, np.array([shift], dtype=object))  # type: ignore[arg-type]


def _mlp(new: Rewritten, number: int, block: Block) -> Block:
    """The second half of a layer: norm, gate and up, down."""
    ring, stream, layer = new.ring, new.stream, new.symmetry.layers[number]
    where = f"layer {number}: "
    norm = Reading(stream, block.norm2_gain, block.norm2_bias, layer.gain2, layer.bias2, f"{where}norm 2")
    places, order = chosen(layer, block, where)

    def of_old(part: Any) -> Any:
        return None if part is None else np.asarray(part)[places]

    gate, gate_bias = block.gate, block.gate_bias
    if gate is not None:
        gate, gate_bias = _gauged(gate, gate_bias, order)
        gate, gate_bias = norm.map(gate, gate_bias, of_old(layer.gate_shift), f"{where}gate")
    else:
        require(layer.gate_shift is None, f"{where}gate_shift: this MLP has no gate")
    up, up_bias = _gauged(block.up, block.up_bias, order)
    down = ring.numbers(block.down[:, order])
    if layer.ups is not None:
        require(gate is not None, f"{where}ups: only the up map of a gated MLP may be scaled")
        factors = ring.numbers(of_old(layer.ups))
        up = ring.times(ring.numbers(up), factors[:, None])
        up_bias = None if up_bias is None else ring.times(ring.numbers(up_bias), factors)
        down = ring.over(down, factors)
    up, up_bias = norm.map(up, up_bias, of_old(layer.up_shift), f"{where}up")
    down = _shifted(ring, stream.written(down, 0), of_old(layer.down_shift))
    down_bias = None if block.down_bias is None else stream.written(ring.numbers(block.down_bias))
    down_bias = _constant(ring, down_bias, layer.down_bias_shift, f"{where}down_bias_shift")
    changed = replace(
        block,
        norm2_gain=norm.gain, norm2_bias=norm.bias, gate=gate, gate_bias=gate_bias, up=up, up_bias=up_bias, down=down,
        down_bias=down_bias,
    )  # fmt: skip
    return with_idle(layer, changed, places, where)


def _by_rows(change: Callable[[slice], Numbers], count: int) -> Numbers:
    """An embedding, some rows at a time, so that what is needed beside it stays small."""
    return np.concatenate([change(slice(start, start + ROWS)) for start in range(0, count, ROWS)])


def _ends(new: Rewritten, original: Ends) -> Ends:
    """What stands before and behind the layers."""
    ring, stream, asked, forms = new.ring, new.stream, new.symmetry, new.configurations
    form, old = forms.between, forms.untied(original)
    norm = Reading(stream, old.final_gain, old.final_bias, asked.final_gain, None, "the final norm")
    gain, bias = norm.gain, norm.bias
    if form.tied:  # c E R^T reads c^-1 diag(g') n
        gain, bias = stream.unscaled(gain), None if bias is None else stream.unscaled(bias)
    if asked.embedding_shift is not None and form.tied:
        what = "embedding_shift: tied, the gains of the final norm must be equal, and the sum of its bias 0"
        total = 0 if bias is None else sum(ring.numbers(bias).tolist())
        require((gain == gain[0]).all() and total == 0, what)

    def written(rows: Numbers, moved: Any, shift: Any) -> Numbers:
        def change(place: slice) -> Numbers:
            found = _shifted(ring, stream.written(ring.numbers(rows[place])), moved)
            return _shifted(ring, found, None if shift is None else np.asarray(shift)[place, None])

        return _by_rows(change, len(rows))

    def read(place: slice) -> Numbers:
        assert old.unembedding is not None  # noqa: S101 - for the type checker
        shift = None if asked.unembedding_shift is None else np.asarray(asked.unembedding_shift)[place]
        return norm.map(old.unembedding[place], None, shift, "the unembedding")[0]

    embedding = written(old.embedding, asked.moved, asked.embedding_shift)
    positions = None
    if old.positions is not None:
        less = None if asked.moved is None else -ring.numbers(asked.moved)
        positions = written(old.positions, less, asked.positions_shift)
    found = Ends(embedding, positions, gain, bias, None if form.tied else _by_rows(read, form.vocabulary))
    return forms.retied(found, isinstance(ring, Exact))
