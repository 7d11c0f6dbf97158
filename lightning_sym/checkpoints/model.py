"""What a checkpoint is once it is read: the pieces of a transformer, whatever its files call them.

Every matrix is (out, in), every number as it is stored: float16, float32, float64 as arrays of that type, bfloat16 as
float32, which holds it exactly. A family (one file each) says how its tensors become these pieces.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from fractions import Fraction
from types import EllipsisType
from typing import Any, Literal, Protocol, Self, SupportsIndex, TypeVar

import numpy as np
import numpy.typing as npt

from lightning_sym.arguments import shown
from lightning_sym.errors import BadInput
from lightning_sym.rings.rotary import RotaryScaling

Array = npt.NDArray[np.floating]
LATENT_EPSILON = Fraction(1, 10**6)
"""Of the norms of latents, whatever the others have: no key states it."""
N = TypeVar("N", bound=np.generic)
"""What stands in an array."""

_At = SupportsIndex | slice | EllipsisType | None | npt.NDArray[np.integer | np.bool_]
Index = _At | tuple[_At, ...]
"""What an array is asked for with brackets."""


@dataclass(frozen=True, repr=False)
class CheckpointForm:
    """Everything about a transformer that is not a weight; what stands last is `None` where the network lacks it.

    Attributes:
        family: which family's file it was read by, such as `gpt2` or `llama`.
        layers: number of blocks.
        width: `d`, of the residual stream.
        heads: query heads of a layer, `H`.
        groups: key and value heads of a layer, `G`; query head `h` belongs to group `h // (H // G)`.
        head_width: `a`, of queries, keys and values.
        inner: `m`, neurons of an MLP.
        vocabulary: number of token ids.
        context: largest number of tokens.
        norm: LayerNorm (centred) or RMSNorm.
        epsilon: what is added to the variance, the decimal of the configuration, exactly.
        theta: base of the rotary frequencies `theta^(-2k/a)`, in the rotate-half layout; `None`: learned positions.
        activation: of the MLP; `gelu_new` is the form with tanh.
        tied: the unembedding is the embedding.
        gated: the MLP has a gate; `None`: with SiLU it has.
        scaling: of the rotary frequencies.
        window: tokens that a token attends to, itself among them.
        local: the layers that have the window; `None`: all of them.
        unturned: the layers without rotary positions.
        score_width: scores are divided by its root; `None`: by that of the head width.
        embedding_square: embeddings are multiplied by its root.
        residual: what is added to the stream is multiplied by it.
        logit_divisor: logits are divided by it.
        score_cap, logit_cap: scores, or logits, `z` become `cap tanh(z / cap)`.
        head_norms: queries and keys go through a norm: those of each `head`, with gains that all heads have in common,
            or, all heads of a layer together, the whole `width`, with gains for each row.
        norms_behind: what attention, and the MLP, add goes through a norm of its own first.
        latent: heads read keys and values from so many numbers, a map of the stream behind a norm of its own, whose
            epsilon is `LATENT_EPSILON`; rotary positions turn further rows of queries, `rotary_width` of each head, and
            one further key, which all heads have in common.
        query_latent: heads read queries from so many numbers, made in the same way.
        value_width: of values; `None`: as wide as queries and keys.
        rotary_width: how many rows of queries and keys, the first ones, rotary positions turn; `None`: all.
        parallel: attention and MLP read the same stream, each behind its norm, and both are added to it.
        local_theta: base of the rotary frequencies, not scaled, in the layers that have the window.
        bare: layers read the stream as it is, with no norms in front.
        experts: how many parts the neurons of a layer are in, equally many in each; a router weighs them, a token at a
            time, by softmax.
        chosen: how many of these each token reads, those of largest weight; the others add nothing.
        normed_choice: their weights are divided by their sum.
    """

    family: str
    layers: int
    width: int
    heads: int
    groups: int
    head_width: int
    inner: int
    vocabulary: int
    context: int
    norm: Literal["layer", "rms"]
    epsilon: Fraction
    theta: Fraction | None
    activation: Literal["gelu", "gelu_new", "silu", "relu"]
    tied: bool
    gated: bool | None = None
    scaling: RotaryScaling | None = None
    window: int | None = None
    local: tuple[int, ...] | None = None
    unturned: tuple[int, ...] | None = None
    score_width: Fraction | None = None
    embedding_square: Fraction | None = None
    residual: Fraction | None = None
    logit_divisor: Fraction | None = None
    score_cap: Fraction | None = None
    logit_cap: Fraction | None = None
    head_norms: Literal["head", "width"] | None = None
    norms_behind: bool | None = None
    latent: int | None = None
    query_latent: int | None = None
    value_width: int | None = None
    local_theta: Fraction | None = None
    rotary_width: int | None = None
    parallel: bool | None = None
    bare: bool | None = None
    experts: int | None = None
    chosen: int | None = None
    normed_choice: bool | None = None

    @property
    def has_gate(self) -> bool:
        """Whether the MLP has a gate."""
        return self.activation == "silu" if self.gated is None else self.gated

    def window_of(self, layer: int) -> int | None:
        """Return how many tokens a token of a layer attends to; `None`: all before it, and itself."""
        return self.window if self.local is None or layer in self.local else None

    def rotation_of(self, layer: int) -> tuple[Fraction, RotaryScaling | None] | None:
        """Return base and scaling of the rotary positions of a layer, or `None` if it has none."""
        if self.local_theta is not None and self.window_of(layer) is not None:
            return self.local_theta, None
        turned = self.theta is not None and layer not in (self.unturned or ())
        return (self.theta, self.scaling) if turned and self.theta is not None else None

    def at(self, layer: int) -> CheckpointForm:
        """Return the form as a layer has it: without rotary positions where the layer has none.

        Example:
            >>> from lightning_sym.testing import small_checkpoint
            >>> form = small_checkpoint("smollm3").form
            >>> [form.at(layer).turned for layer in range(form.layers)]
            [4, 0]
        """
        if self.unturned is None:
            return self
        return self if self.rotation_of(layer) else replace(self, theta=None, scaling=None, unturned=None)

    @property
    def turned(self) -> int:
        """How many rows of queries, and of the keys of its own, of each head rotary positions turn.

        It is asked of a layer (`at`), where these differ.
        """
        return 0 if self.theta is None or self.latent is not None else self.rotary_width or self.head_width

    @property
    def rotating(self) -> int:
        """How many rows rotary positions turn together: of each head, or of the one key that heads have in common."""
        return self.rotary_width or self.head_width

    @property
    def values(self) -> int:
        """How many rows the values of a head have."""
        return self.value_width or self.head_width

    @property
    def widest(self) -> int:
        """How many rows the values, or the queries and keys, of a head have, whichever are more."""
        return max(self.values, self.head_width)

    @property
    def numbers_of_a_layer(self) -> int:
        """How many numbers the maps of a layer have, gates counted."""
        widest = max(self.width, self.latent or 0, self.query_latent or 0)
        return widest * ((self.head_width + self.values) * (self.heads + self.groups) + 3 * self.inner)

    @property
    def scales_neurons(self) -> bool:
        """Whether what a neuron reads, gates aside, may be rescaled against what it writes."""
        return self.has_gate or self.activation == "relu"

    def features(self) -> Iterator[tuple[str, object]]:
        """Yield what it has of the parts that most networks lack, by name."""
        for part in fields(self):
            if part.default is None and (value := getattr(self, part.name)) is not None:
                yield part.name, value

    def __repr__(self) -> str:
        basic = ((part.name, getattr(self, part.name)) for part in fields(self) if part.default is MISSING)
        return f"CheckpointForm({', '.join(f'{name}={value!r}' for name, value in (*basic, *self.features()))})"


@dataclass(frozen=True, eq=False)
class Pieces:
    """Named arrays, `None` where the family has none."""

    @classmethod
    def of(cls, arrays: Mapping[str, Array | None]) -> Self:
        """Return those of these names; what is not among them is `None`."""
        return cls(**{**dict.fromkeys(part.name for part in fields(cls)), **arrays})

    def having(self, arrays: Mapping[str, Array | None]) -> Self:
        """Return the same with these arrays in place of its own, by their names."""
        return self.of({**vars(self), **arrays})

    def present(self) -> Iterator[tuple[str, Array]]:
        """Name and array of each that is there, in the order of the fields."""
        for part in fields(self):
            if (array := getattr(self, part.name)) is not None:
                yield part.name, array


P = TypeVar("P", bound=Pieces)


@dataclass(frozen=True, eq=False)
class Block(Pieces):
    """One layer: norm, attention, norm, MLP; each of the two adds to the stream.

    Shapes, with the letters of `CheckpointForm`: gains and `norm*_bias`, `output_bias`, `down_bias` `(d,)`; `query`
    `(H, a, d)`, `query_bias` `(H, a)`; `key`, `value` `(G, a, d)`, their biases `(G, a)`; `output` `(H, d, a)`; `gate`,
    `up` `(m, d)`, their biases `(m,)`; `down` `(d, m)`; `query_norm_gain`, `key_norm_gain` `(a,)`, of norms over the
    whole width `query_row_gain` `(H, a)`, `key_row_gain` `(G, a)`; `behind1_gain`, `behind2_gain`, of the norms behind
    attention and behind the MLP, `(d,)`; `router` `(E, d)`, its bias `(E,)`. Without `gate` the MLP is `down act(up
    x)`, with it `down (act(gate x) * up x)`; with experts neurons `e m/E` to `(e + 1) m/E - 1` are those of expert `e`.

    With latents of `r` and `q` numbers, heads of `a` rows, values of `v` rows and `t` rows that are turned: `latent`
    `(r, d)`, `query_latent` `(q, d)`, the gains of their norms `norm3_gain` `(r,)` and `norm4_gain` `(q,)`; `key`
    `(H, a, r)`, `value` `(H, v, r)`, `output` `(H, d, v)`, `query` `(H, a, q)`, `query_turned` `(H, t, q)`, of both `d`
    in place of `q` without `query_latent`, and `key_turned` `(1, t, d)`.
    """

    norm1_gain: Any  # an array, or `None` where no norm stands in front
    norm1_bias: Array | None
    query: Array
    query_bias: Array | None
    key: Array
    key_bias: Array | None
    value: Array
    value_bias: Array | None
    output: Array
    output_bias: Array | None
    query_norm_gain: Array | None = field(default=None, kw_only=True)
    key_norm_gain: Array | None = field(default=None, kw_only=True)
    query_row_gain: Array | None = field(default=None, kw_only=True)
    key_row_gain: Array | None = field(default=None, kw_only=True)
    query_latent: Array | None = field(default=None, kw_only=True)
    query_turned: Array | None = field(default=None, kw_only=True)
    latent: Array | None = field(default=None, kw_only=True)
    key_turned: Array | None = field(default=None, kw_only=True)
    behind1_gain: Array | None = field(default=None, kw_only=True)
    norm2_gain: Any
    norm2_bias: Array | None
    router: Array | None = field(default=None, kw_only=True)
    router_bias: Array | None = field(default=None, kw_only=True)
    gate: Array | None
    gate_bias: Array | None
    up: Array
    up_bias: Array | None
    down: Array
    down_bias: Array | None
    behind2_gain: Array | None = field(default=None, kw_only=True)
    norm3_gain: Array | None = field(default=None, kw_only=True)
    norm4_gain: Array | None = field(default=None, kw_only=True)


@dataclass(frozen=True, eq=False)
class Ends(Pieces):
    """What stands before and behind the layers.

    `embedding` and `unembedding` are `(n, d)`, one row a token id, `positions` `(context, d)`, the final norm `(d,)`.
    `unembedding` is `None` where it is tied to the embedding.
    """

    embedding: Array
    positions: Array | None
    final_gain: Array
    final_bias: Array | None
    unembedding: Array | None


class Checkpoint(Protocol):
    """A transformer's weights, one layer at a time: from files, or made in memory."""

    @property
    def form(self) -> CheckpointForm: ...

    @property
    def name(self) -> str:
        """How answers call it."""
        ...

    def ends(self) -> Ends: ...

    def block(self, layer: int) -> Block:
        """Return layer `layer`, from 0."""
        ...

    def stored(self, piece: str) -> str:
        """Return the type a piece is stored in: `F16`, `BF16`, `F32` or `F64`; pieces are `embedding` or `3.query`.

        Of `epsilon`, a number of the configuration, it is `F64` only where numbers of 53 bits are computed with.
        """
        ...

    def called(self, piece: str) -> str:
        """Return what the files call a piece, such as `model.layers.3.self_attn.q_proj.weight`."""
        ...


def require_checkpoint(checkpoint: object, name: str = "checkpoint") -> None:
    """Refuse what is no checkpoint.

    Raises:
        BadInput: with what was given.
    """
    if not isinstance(getattr(checkpoint, "form", None), CheckpointForm) or not hasattr(checkpoint, "block"):
        raise BadInput(f"{name} must be a Checkpoint (open_checkpoint reads one), got {shown(checkpoint)}")


@dataclass(frozen=True, eq=False)
class MadeCheckpoint:
    """A checkpoint in memory: what a rewriting makes of another one, or a test of nothing."""

    form: CheckpointForm
    outer: Ends
    blocks: tuple[Block, ...]
    name: str = "made"
    type_stored: str = "F64"

    def ends(self) -> Ends:
        return self.outer

    def block(self, layer: int) -> Block:
        return self.blocks[layer]

    def stored(self, piece: str) -> str:
        return self.type_stored

    def called(self, piece: str) -> str:
        return piece
