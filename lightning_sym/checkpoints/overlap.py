"""Two checkpoints of other depths or configurations, compared as far as both go.

The layers that both have are paired by numbers that no listed symmetry changes much; that is a guess, of which the
comparison of the layers decides what is told. The first is read by the configuration of the second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from lightning_sym.checkpoints.configurations import whole
from lightning_sym.checkpoints.edited import Edited, does_nothing
from lightning_sym.checkpoints.layer_parts import fold
from lightning_sym.checkpoints.mistaken_scenes import Change
from lightning_sym.checkpoints.mistakes import of_forms, written
from lightning_sym.checkpoints.model import Checkpoint
from lightning_sym.checkpoints.nice_numbers import Floats
from lightning_sym.checkpoints.understood import Walker, block_of
from lightning_sym.checkpoints.units import number_residual, number_type

Numbers = dict[str, dict[str, object]]
"""By mistake of the configuration, what there is to say of each field."""

SHARES = np.linspace(0, 1, 33)
"""Of the neurons, those whose lengths describe a layer."""


@dataclass(frozen=True, eq=False)
class Overlap:
    """What two checkpoints have in common.

    Attributes:
        first, second: as far as both go, of one form.
        numbers: the mistakes of the configuration.
        alone: layers that one side has and the other has not.
        kept: by number of a layer in `second`, its number in the checkpoint that it was made of.
    """

    first: Checkpoint
    second: Checkpoint
    numbers: Numbers = field(default_factory=dict)
    alone: tuple[tuple[int | None, Change], ...] = ()
    kept: Mapping[int, int] = field(default_factory=dict)

    @property
    def said(self) -> tuple[str, ...]:
        """Which layers were compared, where some of them were not."""
        if not self.alone:
            return ()
        side = self.alone[0][1].detail["in_the"]
        without = " ".join(str(layer) for layer, _ in self.alone)
        return (f"layers: compared are those that both have, all but {without} of the {side}",)

    def piece(self, name: str) -> str:
        """Return what the second calls a piece of a layer that both have."""
        layer, dot, rest = name.partition(".")
        return f"{self.kept[int(layer)]}.{rest}" if dot and self.kept else name


def overlap(first: Checkpoint, second: Checkpoint, units: float) -> Overlap | None:
    """Return two checkpoints as far as both go; `None` where no reading makes them of one form.

    Args:
        first, second: of equally many token ids.
        units: up to which a number of the configuration counts as rounded.

    Example:
        >>> from lightning_sym.testing import small_checkpoint
        >>> one = small_checkpoint("llama", layers=3)
        >>> less = Edited.with_layers(one, (0, 2))
        >>> found = overlap(one, less, 4.0)
        >>> found.first.form.layers, found.alone[0][0], found.alone[0][1].mistake
        (2, 1, 'layer-missing')
    """
    old, new = first.form, second.form
    if (old.vocabulary, old.width) != (new.vocabulary, new.width):
        return None
    kept: dict[int, int] = {}
    alone: tuple[tuple[int | None, Change], ...] = ()
    if old.layers != new.layers:
        first, second, kept, alone = _of_one_depth(first, second)
        old, new = first.form, second.form
    numbers: Numbers = {}
    read: dict[str, Any] = {}
    stored = number_type(first, second)
    for name, mistake in of_forms(old, new).items():
        if name == "epsilon":  # which may follow the length of the stream
            continue
        pair = getattr(old, name), getattr(new, name)
        near = mistake == "rope-theta" and None not in pair and number_residual(name, *pair, stored).units <= units
        read[name] = pair[1]
        if near:
            continue
        if mistake is None:
            return None
        numbers.setdefault(mistake, {})[name] = {"first": written(pair[0]), "second": written(pair[1])}
    if "groups" in read and not read.keys() & {"heads", "head_width"}:  # written out, perhaps
        del read["groups"]
        numbers.pop("head-count", None)
    cut = [[form.heads * form.head_width, form.groups * form.head_width] for form in (replace(old, **read), old)]
    if cut[0] != cut[1]:
        return None
    return Overlap(Edited(first, replace(old, **read)) if read else first, second, numbers, alone, kept)


def _of_one_depth(
    first: Checkpoint, second: Checkpoint
) -> tuple[Checkpoint, Checkpoint, dict[int, int], tuple[tuple[int | None, Change], ...]]:
    """Return both with the layers that have a partner, which of the second these are, and the others."""
    deeper, other = (first, second) if first.form.layers > second.form.layers else (second, first)
    kept = aligned(described(other), described(deeper))
    more = [layer for layer in range(deeper.form.layers) if layer not in kept]
    idle = deeper is second and all(does_nothing(block_of(deeper, layer, Walker.COMPARISON)) for layer in more)
    mistake = "layer-repeated-noop" if idle else "layer-missing"
    side = "first" if deeper is first else "second"
    alone = tuple((layer, Change(mistake, (), None, None, {"in_the": side})) for layer in more)
    cut = Edited.with_layers(deeper, kept)
    pair = (cut, second) if deeper is first else (first, cut)
    return *pair, dict(enumerate(kept)) if deeper is second else {}, alone


def described(checkpoint: Checkpoint) -> Floats:
    """Return numbers of each layer that turns of the stream, orders and changes of basis leave as they are, or nearly.

    They are lengths: of what goes into the activation of each neuron, norms folded, and of each head's outputs times
    values.
    """
    return np.stack([_described(checkpoint, layer) for layer in range(checkpoint.form.layers)])


def _described(checkpoint: Checkpoint, layer: int) -> Floats:
    """Return those of one layer, as logarithms."""
    form = checkpoint.form
    block = block_of(checkpoint, layer, Walker.COMPARISON)
    made = fold(whole(block, form, form.heads), form)
    rows = np.square(made.up if made.gate is None else made.gate).sum(axis=1)
    values, outputs = made.value @ made.value.swapaxes(1, 2), made.output.swapaxes(1, 2) @ made.output
    heads = np.sort((values * outputs).sum(axis=(1, 2)))
    return np.asarray(np.log(np.maximum(np.concatenate([np.quantile(rows, SHARES), heads]), TINY)))


TINY = 1e-30
"""Where a length counts as zero."""


def aligned(shallow: Floats, deep: Floats) -> tuple[int, ...]:
    """Return which layer of the deeper one each layer of the other is nearest to, in their order.

    Example:
        >>> aligned(np.array([[1.0], [3.0]]), np.array([[1.0], [2.0], [3.0]]))
        (0, 2)
    """
    counts = len(shallow), len(deep)
    apart = np.abs(shallow[:, None] - deep[None]).mean(axis=-1)
    best = np.full((counts[0] + 1, counts[1] + 1), np.inf)  # of the first so many of both
    best[0] = 0
    for one in range(counts[0]):
        for other in range(one, counts[1]):
            best[one + 1, other + 1] = min(best[one + 1, other], best[one, other] + apart[one, other])
    kept, place = [], counts[1]
    for one in reversed(range(counts[0])):
        while place > one + 1 and best[one + 1, place - 1] <= best[one + 1, place]:
            place -= 1
        place -= 1
        kept.append(place)
    return tuple(reversed(kept))
