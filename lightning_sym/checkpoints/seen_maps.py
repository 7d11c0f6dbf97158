"""The maps of a checkpoint as its function sees them: gains and norm biases folded, the mean of the stream taken out.

With LayerNorm the stream is read as `n = P x / sqrt(|P x|^2 / d + epsilon)`, `P = 1 - 1 1^T / d`; with RMSNorm
`P = 1`. A map `W (g n + b) + w` is the matrix `W diag(g) P` and the bias `w + W b`; what is written into the stream
counts as `P` times it, over the root of epsilon, which takes the scale out. Section 4 of docs/checkpoints.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lightning_sym.checkpoints.bounded import Near, near
from lightning_sym.checkpoints.model import Block, CheckpointForm


@dataclass(frozen=True, eq=False)
class SeenHeads:
    """The attention of a layer, one entry a query head `H`.

    Attributes:
        query, key: `(H, a, d)`, or `(H, a, d + 1)` with the bias as the last column; rows times their gains.
            Of rows that rotary positions do not turn no bias of the keys: softmax does not see it.
        value: `(H, a, d)`.
        output: `(H, d, a)`.
        bias: `(d, 1)`, what attention adds to the stream whatever it reads; `None` where there are no biases.
    """

    query: Near
    key: Near
    value: Near
    output: Near
    bias: Near | None


@dataclass(frozen=True, eq=False)
class SeenNeurons:
    """The MLP of a layer, one entry a neuron that writes something.

    Attributes:
        gate: `(m, 1, d)` or `(m, 1, d + 1)` with the bias; `None` without a gate.
        up: `(m, 1, d)`, in a gated MLP, or with ReLU, with the bias as `gate`.
        up_bias: `(m, 1, 1)`, in other MLPs.
        down: `(m, 1, d)`, columns of `down`.
        scaled: what a neuron reads may be rescaled against what it writes.
        bias: `(d, 1)`, of the MLP.
        router: `(E, 1, d)`, or `(E, 1, d + 1)` with the bias, times `E` and less the sum of its rows; `None` without
            experts.
    """

    gate: Near | None
    up: Near
    up_bias: Near | None
    down: Near
    bias: Near | None
    scaled: bool
    router: Near | None = None


def _read(
    weight: Any, bias: Any, gain: Any, norm_bias: Any, form: CheckpointForm, length: float
) -> tuple[Near, Near | None]:
    """A map `(n, a, d)` that reads a norm, and its bias as a column `(n, a, 1)`; `length` as of `seen_heads`."""
    matrix = near(weight)
    folded = matrix.times(near(np.array([[length]]) if gain is None else np.asarray(gain)[None, :]))
    seen = folded.centred() if form.norm == "layer" else folded
    column = None if bias is None else near(np.asarray(bias)[..., None])
    if norm_bias is not None:
        moved = matrix @ near(np.asarray(norm_bias)[:, None])
        column = moved if column is None else column + moved
    return seen, column


def written(array: Any, form: CheckpointForm) -> Near:
    """What is written into the stream, coordinates along the last axis."""
    found = near(array)
    return found.centred() if form.norm == "layer" else found


def seen_heads(block: Block, form: CheckpointForm, length: float = 1.0) -> SeenHeads:
    """The attention of a layer, keys and values once for every query head that reads them.

    Args:
        block, form: the layer.
        length: what a stream is divided by that is read without a norm in front.
    """
    share = form.heads // form.groups
    norm = block.norm1_gain, block.norm1_bias, form, length
    query, query_bias = _read(block.query, block.query_bias, *norm)
    key, key_bias = _read(block.key, block.key_bias, *norm)
    value, value_bias = _read(block.value, block.value_bias, *norm)
    places = np.repeat(np.arange(form.groups), share)
    output = written(np.asarray(block.output).swapaxes(-1, -2), form).mT
    bias = None if block.output_bias is None else written(np.asarray(block.output_bias)[None, :], form).mT
    if value_bias is not None:
        through = (output @ value_bias[places]).total()
        bias = through if bias is None else bias + through
    if query_bias is not None:
        query = query.beside(query_bias)
    if key_bias is not None and form.turned:
        if form.turned < form.head_width:
            seen_rows = np.arange(form.head_width)[:, None] < form.turned
            key_bias = key_bias.times(near(seen_rows.astype(np.float64)))
        key = key.beside(key_bias)
    query, key = (
        part if gain is None else part.times(near(np.asarray(gain)[..., None]))
        for part, gain in (
            (query, block.query_norm_gain if block.query_row_gain is None else block.query_row_gain),
            (key, block.key_norm_gain if block.key_row_gain is None else block.key_row_gain),
        )
    )
    return SeenHeads(query, key[places], value[places], output, bias)


def seen_neurons(block: Block, form: CheckpointForm, length: float = 1.0) -> SeenNeurons:
    """The MLP of a layer, without neurons that write nothing, or ones where the mean is not read; `length` as there."""
    columns = np.asarray(block.down).T
    nothing = (columns == columns[:, :1]).all(axis=1) if form.norm == "layer" else (columns == 0).all(axis=1)
    live = np.flatnonzero(~nothing)

    def read(weight: Any, bias: Any) -> tuple[Near, Near | None]:
        of_live = np.asarray(weight)[live, None, :], None if bias is None else np.asarray(bias)[live, None]
        return _read(*of_live, block.norm2_gain, block.norm2_bias, form, length)

    up, up_bias = read(block.up, block.up_bias)
    gate = None
    if block.gate is not None:
        gate, gate_bias = read(block.gate, block.gate_bias)
        gate = gate if gate_bias is None else gate.beside(gate_bias)
    if form.scales_neurons:
        up, up_bias = up if up_bias is None else up.beside(up_bias), None
    down = written(columns[live, None, :], form)
    bias = None if block.down_bias is None else written(np.asarray(block.down_bias)[None, :], form).mT
    router = None
    if block.router is not None:
        rows, bias_column = _read(block.router, block.router_bias, block.norm2_gain, None, form, length)
        rows = rows if bias_column is None else rows.beside(bias_column)
        count = len(block.router)
        less = near(count * np.eye(count) - 1) @ rows  # softmax does not see what all rows have in common
        router = Near(less.value[:, None, :], np.broadcast_to(less.error, (count,)))
    return SeenNeurons(gate, up, up_bias, down, bias, form.scales_neurons, router)
