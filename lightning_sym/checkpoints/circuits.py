"""The heads of a checkpoint as circuits: ranks, sizes, likeness, and what the theorems say of the attention alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lightning_sym.arguments import require_arguments
from lightning_sym.checkpoints.bounded import Balls, Near, cosines, joined, singular_values
from lightning_sym.checkpoints.fingerprint import form_line
from lightning_sym.checkpoints.model import Array, Checkpoint, CheckpointForm, require_checkpoint
from lightning_sym.checkpoints.seen_maps import RankBounds, head_ranks, seen_heads
from lightning_sym.checkpoints.understood import Walker, block_of, require_form
from lightning_sym.citations import proof_in
from lightning_sym.display import Lines, Result, labelled
from lightning_sym.errors import BadInput
from lightning_sym.fibers.conditions import TransformerConditions, condition_lines, transformer_conditions
from lightning_sym.limits import DEFAULT_MEMORY, Progress, require_memory, unheard
from lightning_sym.network.foreign_features import LATENT
from lightning_sym.network.form import NetworkForm
from lightning_sym.network.weights import Weights
from lightning_sym.rings.normalization import SOFTMAX

SHARE = 0.01
"""Numerical rank: singular values of more than this share of the largest one."""

Number = tuple[float, float]
"""A real number: middle and radius."""


@dataclass(frozen=True)
class Circuit:
    """The QK or OV of a head.

    Attributes:
        rank: over the rationals.
        numerical: how many singular values are more than a hundredth of the largest.
        frobenius, spectral: norms, each with its radius.
        nearest: layer and head, from 0, of the other head with the largest cosine; `None` where there is no other.
        cosine: of the two, with its radius.
    """

    rank: RankBounds
    numerical: RankBounds
    frobenius: Number
    spectral: Number
    nearest: tuple[int, int] | None
    cosine: Number | None


@dataclass(frozen=True)
class Head:
    """A query head: layer and number from 0, and its two matrices; with rotary positions QK is that at distance 0."""

    layer: int
    head: int
    qk: Circuit
    ov: Circuit


@dataclass(frozen=True, eq=False, repr=False)
class Circuits(Result):
    """The heads of a checkpoint.

    Attributes:
        name: of the checkpoint.
        form: its network.
        heads: layer by layer.
        conditions: those of docs/transformer-fibers.md, of the attention alone: residual, causal, its queries, keys,
            values and outputs as they are stored, no biases, no embedding; `None` where that is not asked.
        absent: what the theorems do not know, so that they say nothing of the whole network.
    """

    name: str
    form: CheckpointForm
    heads: tuple[Head, ...]
    conditions: TransformerConditions | None
    absent: tuple[str, ...]

    def lines(self) -> Lines:
        """Return lines for the network, one for each head, and those of the conditions."""
        lines = [("checkpoint", self.name), ("network", form_line(self.form))]
        for h in self.heads:
            lines += [(f"head {h.layer}.{h.head}", f"QK {_line(h.qk)}"), ("", f"OV {_line(h.ov)}")]
        if self.conditions is not None:
            theorem = self.conditions.theorem
            lines += condition_lines(self.conditions.conditions)
            lines.append(("theorem", f"of the attention alone: {theorem or 'none: not certified by these theorems'}"))
            lines += labelled("tried", map(str, self.conditions.tried))
            lines.append(("no theorem", f"of the whole network, which has {', '.join(self.absent)}"))
            lines += [("proof", f"{proof_in(lines)}, of the attention alone")] * (theorem is not None)
        return lines


def _line(matrix: Circuit) -> str:
    near = ""
    if matrix.nearest is not None and matrix.cosine is not None:
        near = f", most like {matrix.nearest[0]}.{matrix.nearest[1]}: {matrix.cosine[0]:.3f}"
    return (
        f"rank {matrix.rank}, numerical {matrix.numerical}, norm {matrix.frobenius[0]:.4g}, "
        f"spectral {matrix.spectral[0]:.4g}{near}"
    )


def circuits(
    checkpoint: Checkpoint,
    *,
    conditions: bool = True,
    memory: int = DEFAULT_MEMORY,
    progress: Progress | None = None,
) -> Circuits:
    """Return the table of the heads of a checkpoint, with bounds on every number that is not exact.

    `QK` is the bilinear form of the scores and `OV` the map of a head, of the normed stream: gains and norm biases are
    folded, with LayerNorm the mean of the stream is taken out on both sides. So no gauge changes them, and rotations of
    the stream change no number here. With gains on queries and keys `QK` is what their norms divide. Maps that read
    latents are multiplied with those into them, as though the norms in between did nothing: these divide by a number a
    token; `QK` is then of the rows that no position turns.

    Args:
        checkpoint: of any family.
        conditions: test those of the theorems too, which know no latents.
        memory: bytes that may be used.
        progress: told of each layer.

    Raises:
        BadInput: the table does not know a piece, or a part of the form.
        TooLarge: the heads of all layers would not fit into memory, which the comparison of all of them needs.

    Example:
        >>> from lightning_sym.testing import small_checkpoint
        >>> found = circuits(small_checkpoint("gpt2"))
        >>> found.heads[0].ov.rank, str(found.conditions.theorem)
        (RankBounds(lower=4, upper=4), 'Corollary 5 of docs/transformer-fibers.md')
    """
    require_arguments(circuits, locals())
    require_checkpoint(checkpoint)
    form = checkpoint.form
    require_form(form, Walker.HEADS)
    need = 8 * form.heads * form.head_width * form.width * (4 * form.layers + 12)
    require_memory(need, memory, "the heads of all layers")
    ranks, kept, spectra = [], [], []
    for layer in range(form.layers):
        (progress or unheard)("heads", layer, form.layers)
        block = block_of(checkpoint, layer, Walker.HEADS)
        seen = seen_heads(block, form.at(layer))
        ranks += head_ranks(block, form.at(layer))
        parts = (seen.query.mT, seen.key), (seen.output, seen.value)
        kept.append(parts)
        spectra.append([singular_values(*part) for part in parts])
    table: list[list[Circuit]] = []
    for kind in (0, 1):
        values = joined(*(layer[kind] for layer in spectra), axis=0)
        norms = _frobenius(values)
        lefts, rights = ([layer[kind][side] for layer in kept] for side in (0, 1))
        likeness = cosines(lefts, _of_one_width(rights), norms, progress)
        table.append([
            _matrix(i, [pair[kind] for pair in ranks], values, norms, likeness, form.heads) for i in range(len(ranks))
        ])  # fmt: skip
    heads = tuple(Head(i // form.heads, i % form.heads, qk, ov) for i, (qk, ov) in enumerate(zip(*table, strict=True)))
    found = None
    if conditions and form.latent is None:
        found = transformer_conditions(attention_part(checkpoint), 3, memory=memory, progress=progress)
    return Circuits(checkpoint.name, form, heads, found, _absent(checkpoint))


def attention_part(checkpoint: Checkpoint) -> Weights:
    """Return the attention of a checkpoint as an attention-only network: causal, residual, no biases, no embedding.

    Example:
        >>> from lightning_sym.testing import small_checkpoint
        >>> attention_part(small_checkpoint("llama")).architecture(3).heads
        4
    """
    require_arguments(attention_part, locals())
    require_checkpoint(checkpoint)
    form = checkpoint.form
    require_form(form, Walker.HEADS)
    if form.latent is not None:
        raise BadInput(f"the attention of a network must read the stream alone, got {LATENT}")
    share = form.heads // form.groups
    matrices: dict[str, Array] = {}
    for layer in range(form.layers):
        block = block_of(checkpoint, layer, Walker.HEADS)
        for h in range(form.heads):
            place = f"{layer + 1}.{h + 1}" if form.heads > 1 else f"{layer + 1}"
            parts = block.query[h], block.key[h // share], block.value[h // share], block.output[h]
            matrices |= {f"{letter}{place}": part for letter, part in zip("QKVO", parts, strict=True)}
    return Weights.of(matrices, NetworkForm(SOFTMAX, causal=True, skip=True))


def _absent(checkpoint: Checkpoint) -> tuple[str, ...]:
    """Return what is in the network and not in the theorems."""
    form, block = checkpoint.form, block_of(checkpoint, 0, Walker.HEADS)
    found = ["norms", "MLPs"]
    if any(b is not None for b in (block.query_bias, block.value_bias, block.output_bias)):
        found.append("biases")
    found += ["norms of queries and keys"] * (form.head_norms is not None)
    found += ["experts"] * (form.experts is not None)
    found += [LATENT] * (form.latent is not None)
    found += ["attention and MLP side by side"] * (form.parallel is not None)
    found += ["norms behind attention and MLPs"] * (form.norms_behind is not None)
    return (*found, "learned positions" if form.theta is None else "rotary positions")


def _of_one_width(layers: list[Near]) -> list[Near]:
    """Return maps with columns of zeros in place of biases that are not seen in some of the layers."""
    width = max(layer.value.shape[-1] for layer in layers)
    return [Near(np.pad(x.value, ((0, 0), (0, 0), (0, width - x.value.shape[-1]))), x.error) for x in layers]


def _frobenius(values: Balls) -> Balls:
    """Return Frobenius norms from singular values."""
    middle = np.sqrt(np.square(values.middle).sum(axis=-1))
    radius = np.sqrt(np.square(values.radius).sum(axis=-1))
    return Balls(middle, radius * (1 + 1e-9) + values.middle.shape[-1] * 2.0**-52 * middle + 1e-140)


def _matrix(i: int, ranks: list[RankBounds], values: Balls, norms: Balls, likeness: Balls, heads: int) -> Circuit:
    own = values[i]
    lower, upper = own.lower(), own.upper()
    numerical = RankBounds(int((lower > SHARE * upper[0]).sum()), int((upper > SHARE * lower[0]).sum()))
    nearest, cosine = None, None
    if len(ranks) > 1:
        others = likeness.middle[i].copy()
        others[i] = -2
        best = int(others.argmax())
        nearest = (best // heads, best % heads)
        cosine = (float(likeness.middle[i, best]), float(likeness.radius[i, best]))
    return Circuit(
        rank=ranks[i],
        numerical=numerical,
        frobenius=(float(norms.middle[i]), float(norms.radius[i])),
        spectral=(float(own.middle[0]), float(own.radius[0])),
        nearest=nearest,
        cosine=cosine,
    )
