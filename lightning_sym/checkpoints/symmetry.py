"""One rewriting of all weights of a transformer that leaves its logits alone, part by part, and the sizes of its parts.

Sizes are letters, each one number in all parts, be the network known or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from math import prod
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.model import CheckpointForm
from lightning_sym.display import Lines, Result, latex_words

Part = npt.NDArray[np.floating | np.integer | np.object_]
"""Floats, taken as exact, or `Fraction` (dtype object); orders are integers."""


class SymmetryNeed(NamedTuple):
    """What a network must be for a part to be a symmetry of it, and what is said if it is not."""

    holds: Callable[[CheckpointForm], bool]
    otherwise: str


CENTRED = SymmetryNeed(
    lambda form: form.norm == "layer", "shifts along the vector of ones need LayerNorm, this network has RMSNorm"
)
NORM_BIAS = SymmetryNeed(lambda form: form.norm == "layer", "RMSNorm has no bias")
LEARNED = SymmetryNeed(lambda form: form.theta is None, "this network has no learned positions")
UNSCALED = SymmetryNeed(lambda form: form.embedding_square is None, "embeddings are scaled here, and positions are not")
NO_TURNS = SymmetryNeed(
    lambda form: form.turned < form.head_width,
    "with rotary positions queries and keys allow turns only, no matrices",
)
UNSEEN_KEYS = SymmetryNeed(
    lambda form: form.turned < form.head_width, "with rotary positions the function depends on key biases"
)
UNCAPPED = SymmetryNeed(lambda form: form.score_cap is None, "with caps on scores the function depends on key biases")
NO_GAINS = SymmetryNeed(
    lambda form: form.head_norms is None,
    "with gains on queries and keys no matrices are known",
)
GAINS = SymmetryNeed(lambda form: form.head_norms == "head", "this network has no gains on queries and keys of heads")
ROWS = SymmetryNeed(
    lambda form: form.head_norms == "width", "this network has no gains for each row of queries and keys"
)
FRONT = SymmetryNeed(lambda form: not form.bare, "this network has no norms in front of attention and MLPs")
EXPERTS = SymmetryNeed(lambda form: form.experts is not None, "this network has no experts")
UNNORMED = SymmetryNeed(lambda form: form.head_norms is None, "with norms of keys the function depends on key biases")
BEHIND = SymmetryNeed(lambda form: form.norms_behind is not None, "this network has no norms behind attention and MLPs")
UNTURNABLE = SymmetryNeed(
    lambda form: form.norms_behind is None, "norms behind attention and MLPs allow orders and signs of the stream only"
)
ROTARY = SymmetryNeed(lambda form: form.turned > 0, "turns belong to rotary positions, this network has none")
GATED = SymmetryNeed(
    lambda form: form.scales_neurons, "only the up map of a gated MLP may be scaled, or one in front of ReLU"
)
HAS_GATE = SymmetryNeed(lambda form: form.has_gate, "this MLP has no gate")
PARALLEL = SymmetryNeed(
    lambda form: form.parallel is not None, "attention and MLP are not side by side in this network"
)
LATENTS = SymmetryNeed(lambda form: form.latent is not None, "this network has no latent keys and values")
QUERY_LATENTS = SymmetryNeed(lambda form: form.query_latent is not None, "this network has no latent queries")
OF_HEADS = SymmetryNeed(
    lambda form: form.latent is None, "heads have their turned key in common here, and no biases; see shared_turns"
)
UNTIED = SymmetryNeed(lambda form: not form.tied, "the embedding is the unembedding too (tied); untie it first")


class PartKind(NamedTuple):
    """What a part of a symmetry is made of.

    Attributes:
        shape: its sizes as letters, see `Symmetry`; `k` of each layer the neurons that are -1, `n` the token ids.
        needs: what the network must be.
        integers: its entries are integers.
    """

    shape: tuple[str, ...]
    needs: tuple[SymmetryNeed, ...] = ()
    integers: bool = False


def made_of(*shape: str, needs: tuple[SymmetryNeed, ...] = (), integers: bool = False) -> dict[str, PartKind]:
    """Return what stands with a part of a symmetry where it is declared."""
    return {"kind": PartKind(shape, needs, integers)}


def kinds(symmetry: type[_Parts]) -> dict[str, PartKind]:
    """Return by name the parts that are made of numbers.

    Example:
        >>> kinds(LayerSymmetry)["turns"].shape
        ('G', 't/2', '2')
    """
    return {part.name: part.metadata["kind"] for part in fields(symmetry) if part.metadata}


@dataclass(frozen=True, eq=False, repr=False)
class _Parts(Result):
    """What is done and what is not: `None`, and of the numbers of the whole those that change nothing."""

    def having(self, parts: Mapping[str, object]) -> Self:
        """Return the same with these parts in place of its own, by their names."""
        return replace(self, **dict[str, Any](parts))

    def named(self) -> Iterator[tuple[str, Part | Fraction | float]]:
        """Yield each part that is there, by its name."""
        for each in fields(self):
            name, value = each.name, getattr(self, each.name)
            if value is not None and name != "layers" and (name != "scale" or not np.array_equal(value, 1)):
                yield name, value

    def parts(self) -> tuple[str, ...]:
        """Return names of what is done."""
        return tuple(name for name, _ in self.named())

    def lines(self) -> Lines:
        """Return each part and its shape, or its number."""
        found = [(name, f"{np.asarray(p).shape}" if np.asarray(p).ndim else str(p)) for name, p in self.named()]
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
        queries: `(G, u, u)`, invertible `g`, for the last `u` rows, which rotary positions do not turn, all `a` of a
            layer without them: `W_Q -> g W_Q` with its bias for every head of the group, `W_K -> g^-T W_K`, its bias
            too.
        turns: `(G, t / 2, 2)`, for the first `t` rows, which rotary positions turn, most often all `a`: `x, y`, not
            both 0, for each frequency. Rows `k` and `k + t/2` of the queries become `x row_k - y row_k'` and `y row_k +
            x row_k'`, those of the keys the same with `(x, y) / (x^2 + y^2)`; biases too. With gains on queries and
            keys `1, 0` or `-1, 0`, behind the signs of these.
        key_bias: `(G, u)`, the one to be had by those rows.
        value_bias: `(G, a)`, the one to be had; the difference goes through the outputs into the output bias.
        neurons: `(m,)`, new neuron `i` is the old neuron `neurons[i]`; -1: one that does nothing. Old neurons that are
            not in it must do nothing, so it is a permutation where all do something. The parts below that have `m`
            entries have one for each new neuron. Neurons of an expert stay together, so it is the order of the experts
            as well, and none is -1 there.
        idle_gate, idle_gate_bias, idle_up, idle_up_bias, idle_down: `(k, d)`, `(k,)`, `(k, d)`, `(k,)`, `(d, k)`: the
            numbers to be had by the new neurons that do nothing; `None`: zeros.
        ups: `(m,)`, not 0, only in a gated MLP, or with ReLU and positive: `up` and its bias times `ups`, columns of
            `down` divided by them.
        gain1, gain2: `(d,)`, gains to be had, not 0: the maps that read the norm take up the rest. Ones: folded.
        bias1, bias2: `(d,)`, biases to be had by a LayerNorm: the biases of the maps that read it take up the rest.
        query_shift, key_shift, value_shift, gate_shift, up_shift: `(H, a)`, `(G, a)`, `(G, a)`, `(m,)`, `(m,)`, `u` of
            the shifts of readers, LayerNorm only: `W -> W + u (1/gain)^T`, bias `-> bias - u sum(norm bias / gain)`.
        output_shift, down_shift: `(H, a)`, `(m,)`, LayerNorm only: added to all entries of a column.
        output_bias_shift, down_bias_shift: numbers, LayerNorm only: added to all entries.
        gain_factors: `(2, a)`, only with gains on queries and keys: what the two are multiplied with, `c, 1/c` up to
            signs, `c` the same for both rows of a frequency; rows of queries, or keys, change signs with their gain.
        row_factors: `(G, H/G + 1, a)`, only with gains for each row of them: of each group the factors of the gains of
            its query heads, and at the end of those of its keys; as `gain_factors`, with a `c` for each group.
        router_shift: `(d,)`, only with experts: added to all rows of the router.
        behind1, behind2: `(d,)`, 1 or -1, only with norms behind attention and MLPs: rows of what is written, and the
            gains of these norms, change signs.
        attention_bias: `(d,)`, the one to be had by the outputs, only where attention and MLP are side by side: the
            bias of `down` takes up the rest.
        latents, query_latents: `(r, r)` and `(q, q)`, orthogonal `S`, only with latents: the map into them becomes `S`
            times itself, and what reads them behind their norm follows as behind a turned stream.
        gain3, gain4: `(r,)` and `(q,)`, gains to be had by the norms of latents, as `gain1`.
        shared_turns: `(1, t / 2, 2)`, only with latents: as `turns`, of `query_turned` of all heads and `key_turned`.
    """

    heads: Part | None = field(default=None, metadata=made_of("H", integers=True))
    values: Part | None = field(default=None, metadata=made_of("G", "a", "a"))
    queries: Part | None = field(default=None, metadata=made_of("G", "u", "u", needs=(NO_TURNS, NO_GAINS)))
    turns: Part | None = field(default=None, metadata=made_of("G", "t/2", "2", needs=(OF_HEADS, ROTARY)))
    key_bias: Part | None = field(
        default=None, metadata=made_of("G", "u", needs=(OF_HEADS, UNSEEN_KEYS, UNCAPPED, UNNORMED))
    )
    value_bias: Part | None = field(default=None, metadata=made_of("G", "a", needs=(OF_HEADS,)))
    neurons: Part | None = field(default=None, metadata=made_of("m", integers=True))
    idle_gate: Part | None = field(default=None, metadata=made_of("k", "d"))
    idle_gate_bias: Part | None = field(default=None, metadata=made_of("k"))
    idle_up: Part | None = field(default=None, metadata=made_of("k", "d"))
    idle_up_bias: Part | None = field(default=None, metadata=made_of("k"))
    idle_down: Part | None = field(default=None, metadata=made_of("d", "k"))
    ups: Part | None = field(default=None, metadata=made_of("m", needs=(GATED,)))
    gain1: Part | None = field(default=None, metadata=made_of("d", needs=(FRONT,)))
    bias1: Part | None = field(default=None, metadata=made_of("d", needs=(NORM_BIAS,)))
    gain2: Part | None = field(default=None, metadata=made_of("d", needs=(FRONT,)))
    bias2: Part | None = field(default=None, metadata=made_of("d", needs=(NORM_BIAS,)))
    query_shift: Part | None = field(default=None, metadata=made_of("H", "a", needs=(CENTRED,)))
    key_shift: Part | None = field(default=None, metadata=made_of("G", "a", needs=(CENTRED,)))
    value_shift: Part | None = field(default=None, metadata=made_of("G", "a", needs=(CENTRED,)))
    gate_shift: Part | None = field(default=None, metadata=made_of("m", needs=(HAS_GATE, CENTRED)))
    up_shift: Part | None = field(default=None, metadata=made_of("m", needs=(CENTRED,)))
    output_shift: Part | None = field(default=None, metadata=made_of("H", "a", needs=(CENTRED,)))
    output_bias_shift: Fraction | float | None = field(default=None, metadata=made_of(needs=(CENTRED,)))
    down_shift: Part | None = field(default=None, metadata=made_of("m", needs=(CENTRED,)))
    down_bias_shift: Fraction | float | None = field(default=None, metadata=made_of(needs=(CENTRED,)))
    gain_factors: Part | None = field(default=None, metadata=made_of("2", "a", needs=(GAINS,)))
    row_factors: Part | None = field(default=None, metadata=made_of("G", "r+1", "a", needs=(ROWS,)))
    router_shift: Part | None = field(default=None, metadata=made_of("d", needs=(EXPERTS,)))
    behind1: Part | None = field(default=None, metadata=made_of("d", needs=(BEHIND,)))
    behind2: Part | None = field(default=None, metadata=made_of("d", needs=(BEHIND,)))
    attention_bias: Part | None = field(default=None, metadata=made_of("d", needs=(PARALLEL,)))
    latents: Part | None = field(default=None, metadata=made_of("r", "r", needs=(LATENTS,)))
    query_latents: Part | None = field(default=None, metadata=made_of("q", "q", needs=(QUERY_LATENTS,)))
    gain3: Part | None = field(default=None, metadata=made_of("r", needs=(LATENTS,)))
    gain4: Part | None = field(default=None, metadata=made_of("q", needs=(QUERY_LATENTS,)))
    shared_turns: Part | None = field(default=None, metadata=made_of("1", "p", "2", needs=(LATENTS,)))


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
    scale: Fraction = field(default=Fraction(1), metadata=made_of())
    order: Part | None = field(default=None, metadata=made_of("d", integers=True))
    signs: Part | None = field(default=None, metadata=made_of("d", integers=True))
    rotation: Part | None = field(default=None, metadata=made_of("d", "d", needs=(UNTURNABLE,)))
    final_gain: Part | None = field(default=None, metadata=made_of("d", needs=(UNTIED,)))
    embedding_shift: Part | None = field(default=None, metadata=made_of("n", needs=(CENTRED,)))
    positions_shift: Part | None = field(default=None, metadata=made_of("context", needs=(CENTRED, LEARNED)))
    moved: Part | None = field(default=None, metadata=made_of("d", needs=(UNTIED, LEARNED, UNSCALED)))
    unembedding_shift: Part | None = field(default=None, metadata=made_of("n", needs=(CENTRED, UNTIED)))
    groups: int | None = None
    tied: bool | None = None

    def parts(self) -> tuple[str, ...]:
        """Return names of what is done: `rotation`, or `3.values` for a layer."""
        inner = (f"{number}.{part}" for number, layer in enumerate(self.layers) for part in layer.parts())
        return (*super().parts(), *inner)

    def lines(self) -> Lines:
        """Return each part with its shape, layer by layer."""
        own = list(self.named())
        found = super().lines() if own else []
        for number, layer in enumerate(self.layers):
            found += [(f"{number}.{name}", said) for name, said in layer.lines()] if layer.parts() else []
        return found or [("nothing", "is done")]


OF_WHOLE, OF_LAYER = kinds(Symmetry), kinds(LayerSymmetry)
KINDS = OF_WHOLE | OF_LAYER
"""Of every part that is made of numbers, of the whole or of a layer, what it is made of."""


def allowed(name: str, form: CheckpointForm) -> bool:
    """Return whether a part is a symmetry of this kind of network.

    Example:
        >>> from lightning_sym.testing import small_checkpoint
        >>> [allowed(name, small_checkpoint("llama").form) for name in ("turns", "queries")]
        [True, False]
    """
    return all(need.holds(form) for need in KINDS[name].needs)


def sizes_of(form: CheckpointForm) -> dict[str, int]:
    """Return the numbers that the letters of parts stand for."""
    found = {"d": form.width, "n": form.vocabulary, "context": form.context, "H": form.heads, "G": form.groups}
    turned = {"t/2": form.turned // 2, "u": form.head_width - form.turned}
    latent = {"r": form.latent or 0, "q": form.query_latent or 0, "p": form.rotating // 2 if form.latent else 0, "1": 1}
    sizes = {"a": form.values, "2": 2, "m": form.inner, "r+1": form.heads // form.groups + 1}
    return found | turned | latent | sizes


def symmetry_memory(form: CheckpointForm) -> int:
    """Return bytes of all numbers that a symmetry of a network can have, each as a float, without idle neurons.

    Example:
        >>> from lightning_sym.testing import small_checkpoint
        >>> symmetry_memory(small_checkpoint("gpt2").form)
        11624
    """
    count = 0
    for parts, there in ((OF_WHOLE, form), *((OF_LAYER, form.at(layer)) for layer in range(form.layers))):
        sizes = sizes_of(there)
        count += sum(prod(map(sizes.__getitem__, kind.shape)) for kind in parts.values() if "k" not in kind.shape)
    return 8 * count
