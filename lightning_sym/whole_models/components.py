"""What equivalent models share, layer by layer, on a few vectors modulo a prime: their neurons, heads and constants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.model import Block, CheckpointForm
from lightning_sym.rings.prime_field import reduce_mod
from lightning_sym.whole_models.images import (
    Integers,
    Neurons,
    P,
    Residues,
    behind_head_norms,
    constants_of,
    integers,
    of,
    product,
    residues_or_zero,
    rotary_forms,
    times,
)


class Read(NamedTuple):
    """Vectors `(d, n)` that are put into the maps of a model, and numbers that are put beside them.

    Attributes:
        vectors: what norms can show; those of an equivalent model are turned as its stream is.
        beside: of each vector, for what is added to a constant.
        against: the same vectors, which what is written is multiplied with; of a model whose epsilon is another, that
            writes so many times as much, they are divided by that.
        behind: they divided by that once more, as gains behind a half are so many times as large too.
    """

    vectors: Residues
    beside: Residues
    against: Residues
    behind: Residues


@dataclass(frozen=True, eq=False)
class Components:
    """What is seen of a layer.

    Attributes:
        neurons: a row each: what its gate is on the vectors and beside them; then products of column and factor.
        gates: how many entries of a row are the gate's.
        heads: a row each: its forms on pairs of vectors, and outputs times values.
        constants: what its halves add to everything, against the vectors; with norms behind, squares of their gains.
    """

    neurons: Integers
    gates: int
    heads: Integers
    constants: Integers

    def keys(self, *, signs: bool) -> Iterator[tuple[str, int, bytes]]:
        """Yield neurons and heads by what tells them apart; without signs a gate is its opposite too."""
        for number, row in enumerate(self.neurons):
            gate, rest = row[: self.gates], row[self.gates :]
            opposite = -gate % P
            found = gate if signs else min(gate.tolist(), opposite.tolist())
            yield "neuron", number, np.asarray(found, dtype=np.int64).tobytes() + rest.tobytes()
        for number, row in enumerate(self.heads):
            yield "head", number, row.tobytes()


def components(block: Block, form: CheckpointForm, read: Read, *, rotary: bool) -> Components:
    """Return the components of a layer."""
    neurons = Neurons.of(block)
    second = times(read.vectors, neurons.gain[:, None])
    gated = block.gate is not None
    biases = residues_or_zero(block.norm2_bias, form.width), block.gate_bias if gated else block.up_bias
    own = constants_of(neurons.gates, *biases)
    gates = np.concatenate([product(neurons.gates, second), own[:, None]], axis=1)
    written = product(_against(block.behind2_gain, read).T, neurons.columns).T
    if neurons.factors is None or neurons.constants is None:
        pairs = written
    else:
        factors = product(neurons.factors, second) + times(neurons.constants[:, None], read.beside)
        pairs = times(written[:, :, None], reduce_mod(factors, P)[:, None]).reshape(len(written), -1)
    return Components(
        np.concatenate([integers(gates), integers(pairs)], axis=1),
        gates.shape[1],
        _heads(block, form, read, rotary=rotary),
        _added(block, form, read),
    )


def _against(gain: npt.ArrayLike | None, read: Read) -> Residues:
    """Return what is written against, where there is a norm behind with its gain."""
    return read.against if gain is None else times(read.behind, of(gain)[:, None])


def _heads(block: Block, form: CheckpointForm, read: Read, *, rotary: bool) -> Integers:
    """Return the rows of heads: forms of queries with keys, and what outputs make of values, on all pairs."""
    gain = of(block.norm1_gain)[:, None]
    asked = read.against if form.head_norms else read.vectors  # their norms have the same epsilon as the others
    first = dict.fromkeys(("query", "key"), times(asked, gain)) | {"value": times(read.vectors, gain)}
    maps = {name: of(getattr(block, name)) for name in ("query", "key", "value", "output")}
    made = {name: product(maps[name], first[name]) for name in ("query", "key", "value")}
    for name in ("query", "key") if rotary else ("query",):
        own = constants_of(maps[name], residues_or_zero(block.norm1_bias, form.width), getattr(block, f"{name}_bias"))
        made[name] = reduce_mod(made[name] + times(own[..., None], read.beside), P)
    made["query"], made["key"], lengths = behind_head_norms(block, made["query"], made["key"])
    share, count = form.heads // form.groups, read.vectors.shape[1]
    left = np.repeat(made["query"], count, axis=2)
    right = np.tile(np.repeat(made["key"], share, axis=0), (1, 1, count))
    outputs = product(maps["output"].swapaxes(-1, -2), _against(block.behind1_gain, read))
    sums = product(outputs.swapaxes(-1, -2), np.repeat(made["value"], share, axis=0))
    forms = rotary_forms(left, right, rotary=rotary)
    return np.concatenate([forms, lengths, integers(sums).reshape(len(forms), -1)], axis=1)


def _added(block: Block, form: CheckpointForm, read: Read) -> Integers:
    """Return what both halves add to everything, biases of values too; with norms behind, their gains squared."""
    if block.behind1_gain is not None:
        both = (times(read.against, of(gain)[:, None]) for gain in (block.behind1_gain, block.behind2_gain))
        return integers(np.concatenate([product(vectors.T, vectors) for vectors in both], axis=1))
    values = constants_of(of(block.value), residues_or_zero(block.norm1_bias, form.width), block.value_bias)
    through = product(of(block.output), np.repeat(values, form.heads // form.groups, axis=0)[..., None])[..., 0]
    first, second = (residues_or_zero(bias, form.width) for bias in (block.output_bias, block.down_bias))
    halves = np.stack([reduce_mod(reduce_mod(through.sum(axis=0), P) + first, P), second], axis=1)
    return integers(product(read.against.T, halves))
