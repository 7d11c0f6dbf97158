"""One rewriting of all weights of a transformer that leaves its logits alone, part by part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from lightning_sym.display import Lines, Result, latex_words

Part = npt.NDArray[Any]
"""float64, taken as exact, or `Fraction` (dtype object); orders are integers."""


class _Parts(Result):
    """What is done and what is not: `None`, and of the numbers of the whole those that change nothing."""

    def named(self) -> Iterator[tuple[str, Any]]:
        """Each part that is there, by its name."""
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if value is not None and field.name != "layers" and (field.name != "scale" or not np.array_equal(value, 1)):
                yield field.name, value

    def parts(self) -> tuple[str, ...]:
        """Names of what is done."""
        return tuple(name for name, _ in self.named())

    def lines(self) -> Lines:
        """Each part and its shape, or its number."""
        found = [(name, f"{np.shape(p)}" if np.shape(p) else str(p)) for name, p in self.named()]
        return found or [("nothing", "is done")]

    def _latex(self) -> str:
        return latex_words(", ".join(self.parts()).replace("_", " ") or "nothing is done")


@dataclass(frozen=True, eq=False, repr=False)
class LayerSymmetry(_Parts):
    """What is done to one layer; `None`: nothing. Letters as in `CheckpointForm`, `G` groups.

    Orders come first, so that all other parts are numbered as in the new checkpoint; gains and biases *to be had* are
    those of the new checkpoint, in the new coordinates of the stream.

    Attributes:
        heads: `(H,)`, a permutation: new head `h` is the old head `heads[h]`. Heads of a group stay together, so it is
            the order of the groups as well.
        values: `(G, a, a)`, invertible `g`: `W_V -> g W_V`, its bias too, `W_O -> W_O g^-1` for every head of a group.
        queries: `(G, a, a)`, invertible `g`, only without rotary positions: `W_Q -> g W_Q` with its bias for every head
            of the group, `W_K -> g^-T W_K`, its bias too.
        turns: `(G, a / 2, 2)`, only with rotary positions: `x, y`, not both 0, for each frequency. Rows `k` and
            `k + a/2` of the queries become `x row_k - y row_k'` and `y row_k + x row_k'`, those of the keys the same
            with `(x, y) / (x^2 + y^2)`; biases too.
        key_bias: `(G, a)`, the one to be had; only without rotary positions.
        value_bias: `(G, a)`, the one to be had; the difference goes through the outputs into the output bias.
        neurons: `(m,)`, new neuron `i` is the old neuron `neurons[i]`; -1: one that does nothing. Old neurons that are
            not in it must do nothing, so it is a permutation where all do something. The parts below that have `m`
            entries have one for each new neuron.
        idle_gate, idle_gate_bias, idle_up, idle_up_bias, idle_down: `(k, d)`, `(k,)`, `(k, d)`, `(k,)`, `(d, k)`: the
            numbers to be had by the new neurons that do nothing; `None`: zeros.
        ups: `(m,)`, not 0, only in a gated MLP: `up` and its bias times `ups`, columns of `down` divided by them.
        gain1, gain2: `(d,)`, gains to be had, not 0: the maps that read the norm take up the rest. Ones: folded.
        bias1, bias2: `(d,)`, biases to be had by a LayerNorm: the biases of the maps that read it take up the rest.
        query_shift, key_shift, value_shift, gate_shift, up_shift: `(H, a)`, `(G, a)`, `(G, a)`, `(m,)`, `(m,)`, `u` of
            the shifts of readers, LayerNorm only: `W -> W + u (1/gain)^T`, bias `-> bias - u sum(norm bias / gain)`.
        output_shift, down_shift: `(H, a)`, `(m,)`, LayerNorm only: added to all entries of a column.
        output_bias_shift, down_bias_shift: numbers, LayerNorm only: added to all entries.
    """

    heads: Part | None = None
    values: Part | None = None
    queries: Part | None = None
    turns: Part | None = None
    key_bias: Part | None = None
    value_bias: Part | None = None
    neurons: Part | None = None
    idle_gate: Part | None = None
    idle_gate_bias: Part | None = None
    idle_up: Part | None = None
    idle_up_bias: Part | None = None
    idle_down: Part | None = None
    ups: Part | None = None
    gain1: Part | None = None
    bias1: Part | None = None
    gain2: Part | None = None
    bias2: Part | None = None
    query_shift: Part | None = None
    key_shift: Part | None = None
    value_shift: Part | None = None
    gate_shift: Part | None = None
    up_shift: Part | None = None
    output_shift: Part | None = None
    output_bias_shift: Fraction | float | None = None
    down_shift: Part | None = None
    down_bias_shift: Fraction | float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Symmetry(_Parts):
    """A symmetry of a whole transformer: `apply` rewrites a checkpoint with it, or says why it is none there.

    The stream `x` becomes `c R x`. `R` is orthogonal, with LayerNorm `R 1 = 1` or `R 1 = -1`; it is the identity, or
    `order` and `signs`, or `rotation`.

    Attributes:
        layers: one for each layer.
        scale: `c > 0`; the epsilon of all norms becomes `c^2 epsilon`.
        order: `(d,)`, a permutation: new coordinate `j` is the old coordinate `order[j]`, times `signs[j]`.
        signs: `(d,)`, 1 or -1; `None`: all 1.
        rotation: `(d, d)`, `R` as a matrix.
        final_gain: `(d,)`, the gain to be had by the final norm, not 0; only where the unembedding is its own.
        embedding_shift: `(n,)`, LayerNorm only: added to all entries of a row.
        positions_shift: `(context,)`, the same.
        moved: `(d,)`, added to every row of the embedding, taken from every row of the positions; only where the
            unembedding is its own.
        unembedding_shift: `(n,)`, `u` of `U -> U + u (1/gain)^T`, LayerNorm only, where `sum(bias / gain) = 0`.
        groups: the number of key and value heads to be had. A multiple of the old number: each is written out first, so
            that all parts of a layer are numbered as the copies are; a divisor of it: copies, which must be equal, are
            one in the end.
        tied: whether the unembedding is to be the embedding. Where it is and is not to be, it is a copy first; where it
            is not and is to be, the two must be equal in the end.

    Example:
        >>> import numpy as np
        >>> swap = LayerSymmetry(heads=np.array([1, 0]))
        >>> Symmetry((swap, LayerSymmetry()), scale=Fraction(2)).parts()
        ('scale', '0.heads')
    """

    layers: tuple[LayerSymmetry, ...]
    scale: Fraction = Fraction(1)
    order: Part | None = None
    signs: Part | None = None
    rotation: Part | None = None
    final_gain: Part | None = None
    embedding_shift: Part | None = None
    positions_shift: Part | None = None
    moved: Part | None = None
    unembedding_shift: Part | None = None
    groups: int | None = None
    tied: bool | None = None

    def parts(self) -> tuple[str, ...]:
        """Names of what is done: `rotation`, or `3.values` for a layer."""
        inner = (f"{number}.{part}" for number, layer in enumerate(self.layers) for part in layer.parts())
        return (*super().parts(), *inner)

    def lines(self) -> Lines:
        """Each part with its shape, layer by layer."""
        own = list(self.named())
        found = super().lines() if own else []
        for number, layer in enumerate(self.layers):
            found += [(f"{number}.{name}", said) for name, said in layer.lines()] if layer.parts() else []
        return found or [("nothing", "is done")]
