"""A layer without its norms' gains and biases, in any ring: the maps that read the norm have taken them up.

Tensors that a family lacks are zeros here; groups may be written out (`spread`), neurons that do nothing left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lightning_sym.checkpoints.model import Array, Block, CheckpointForm

Turn = Callable[[Any], Any]
"""What makes a ring's array of a stored one."""

READERS = {"query": "norm1", "key": "norm1", "value": "norm1", "gate": "norm2", "up": "norm2"}
"""Maps that read a norm, and which."""


@dataclass(frozen=True, eq=False)
class Folded:
    """A layer in a ring: shapes as in `Block`; `gate` is `None` without one."""

    query: Any
    query_bias: Any
    key: Any
    key_bias: Any
    value: Any
    value_bias: Any
    output: Any
    output_bias: Any
    gate: Any
    gate_bias: Any
    up: Any
    up_bias: Any
    down: Any
    down_bias: Any


def whole(block: Block, form: CheckpointForm, groups: int, keep: np.ndarray[Any, Any] | None = None) -> Block:
    """A block with all its biases, zeros where the family has none, and with `groups` key and value heads.

    Args:
        block: as it was read.
        form: of its checkpoint.
        groups: a multiple of those it has; each is repeated.
        keep: which neurons; `None` for all.
    """
    times = groups // form.groups

    def repeated(array: Array) -> Array:
        return array if times == 1 else np.repeat(array, times, axis=0)

    def zeros(array: Array | None, *shape: int) -> Array:
        return np.zeros(shape, dtype=np.float32) if array is None else array

    if keep is not None and not keep.any():  # one neuron that does nothing, in place of none
        still = {name: getattr(block, name)[:1] * 0 for name in ("gate", "up") if getattr(block, name) is not None}
        block = replace(block, **still, gate_bias=None, up_bias=None, down=block.down[:, :1] * 0)
        keep, form = None, replace(form, inner=1)
    neurons: Any = slice(None) if keep is None else keep
    width, a, inner = form.width, form.head_width, form.inner
    return Block(
        norm1_gain=block.norm1_gain,
        norm1_bias=zeros(block.norm1_bias, width),
        query=block.query,
        query_bias=zeros(block.query_bias, form.heads, a),
        key=repeated(block.key),
        key_bias=repeated(zeros(block.key_bias, form.groups, a)),
        value=repeated(block.value),
        value_bias=repeated(zeros(block.value_bias, form.groups, a)),
        output=block.output,
        output_bias=zeros(block.output_bias, width),
        norm2_gain=block.norm2_gain,
        norm2_bias=zeros(block.norm2_bias, width),
        gate=None if block.gate is None else block.gate[neurons],
        gate_bias=None if block.gate is None else zeros(block.gate_bias, inner)[neurons],
        up=block.up[neurons],
        up_bias=zeros(block.up_bias, inner)[neurons],
        down=block.down[:, neurons],
        down_bias=zeros(block.down_bias, width),
    )


def alive(block: Block) -> Any:
    """Which neurons may do something: those whose column of `down` is not zero, and whose factors are not."""
    found = (block.down != 0).any(axis=0)
    maps = ((block.up, block.up_bias), (block.gate, block.gate_bias)) if block.gate is not None else ()
    for weight, bias in maps:
        if weight is not None:
            found &= (weight != 0).any(axis=1) | (np.zeros(len(weight), dtype=bool) if bias is None else bias != 0)
    return found


ATTENTION, MLP = "attention", "mlp"
"""The two halves of a layer; each reads a norm of its own."""


def fold(block: Block, of: Turn, halves: tuple[str, ...] = (ATTENTION, MLP)) -> Folded:
    """The folded layer of a `whole` block, or one half of it; the other half is `None`."""
    made: dict[str, Any] = {}
    for half, norm, writer in ((ATTENTION, "norm1", "output"), (MLP, "norm2", "down")):
        there = half in halves
        made[writer] = of(getattr(block, writer)) if there else None
        made[f"{writer}_bias"] = of(_with(getattr(block, f"{writer}_bias"))) if there else None
        gain = of(getattr(block, f"{norm}_gain")) if there else None
        stored_bias = _with(getattr(block, f"{norm}_bias"))
        bias = of(stored_bias).reshape(-1, 1) if there and stored_bias.any() else None
        for name in (name for name, read in READERS.items() if read == norm):
            stored = getattr(block, name)
            if stored is None or not there:
                made |= {name: None, f"{name}_bias": None}
                continue
            weight, own = of(stored), of(_with(getattr(block, f"{name}_bias")))
            if bias is not None:
                own = own + (weight.reshape(-1, stored.shape[-1]) @ bias).reshape(*stored.shape[:-1])
            made |= {name: weight * gain, f"{name}_bias": own}
    return Folded(**made)


def _with(array: Array | None) -> Array:
    if array is None:
        raise TypeError("a block must have its biases here")
    return array


def attention_bias(folded: Folded, form: CheckpointForm, groups: int) -> Any:
    """All that the attention adds to the stream whatever the scores are: the output bias and that of the values."""
    return folded.output_bias + through_output(folded, folded.value_bias, form, groups)


def through_output(folded: Folded, bias: Any, form: CheckpointForm, groups: int) -> Any:
    """What a bias `(G, a)` of the values adds to the stream."""
    repeated = bias[np.arange(form.heads) // (form.heads // groups)]
    wide = folded.output.transpose(1, 0, 2).reshape(form.width, -1)
    return (wide @ repeated.reshape(-1, 1)).reshape(-1)
