r"""Transformers as checkpoints hold them: norms, positions and MLPs as pieces beside the one attention layer.

The stream is a matrix of shape `d x t`, a column a token; several prompts stand side by side, kept apart by a mask. It
may be over any ring that knows `@ + * mT like evaluate reciprocal` (`rings.protocol`) and, one operation each,

- `elementary(name)`: the reciprocal square root of norms and the activation of MLPs, `rings.elementary`;
- `rotary(theta, width, positions, scaling)`: cosines and sines, where positions are rotary;
- `after(weights)`, if it multiplies arrays of floats in a way of its own; else `like(weights) @` is done.

So balls of floats, balls of any precision, and variables free for every value of these functions all run through it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.affine_factors import Affine, Shared, Then, everywhere, in_every_column, ones
from lightning_sym.checkpoints.model import Array, Block, Checkpoint, CheckpointForm, Ends
from lightning_sym.checkpoints.understood import Walker, block_of, ends_of, require_form
from lightning_sym.network.attention import Form, attention_layer
from lightning_sym.network.layer import Layer
from lightning_sym.rings.normalization import SOFTMAX
from lightning_sym.rings.protocol import constants, masked, normalized, operation
from lightning_sym.rings.rotary import RotaryScaling

Prompts = Sequence[Sequence[int]]
Rotation = tuple[Fraction, RotaryScaling | None]
"""Base of the frequencies, and how they are scaled."""


class RotaryTables(NamedTuple):
    """What turns queries and keys: cosines and sines, `a x t`, and the turn by a right angle, `a x a`."""

    cosines: Any
    sines: Any
    turn: Any

    @classmethod
    def of(cls, rotation: Rotation, width: int, turned: int, positions: Sequence[int], like: Any) -> RotaryTables:
        """Return the tables over the ring of `like`, for the rotate-half convention.

        Of the first `turned` rows, `k` and `k + turned/2` turn together.
        """
        half, rest = np.eye(turned // 2, dtype=int), width - turned
        twice = np.concatenate([half, half, np.zeros((rest, turned // 2), dtype=int)]).astype(object)
        turn = np.pad(np.block([[0 * half, -half], [half, 0 * half]]), (0, rest)).astype(object)
        made = operation(like, "rotary", "rotary positions")(rotation[0], turned, positions, *rotation[1:])
        cosines, sines = (constants(like, twice, "rotary positions") @ each for each in made)
        if rest:
            still = np.concatenate([np.zeros((turned, 1), dtype=int), np.ones((rest, 1), dtype=int)]).astype(object)
            cosines = cosines + constants(like, still, "rotary positions") @ ones(like, 1, len(positions))
        return cls(cosines, sines, constants(like, turn, "rotary positions"))


@dataclass(frozen=True, eq=False)
class Rotated:
    """A factor whose rows turn by the angle of their frequency at each token's position.

    Attributes:
        part: a factor with `a` rows.
        tables: of the tokens.
    """

    part: Any
    tables: RotaryTables

    def __matmul__(self, x: Any) -> Any:
        y = self.part @ x
        return y * self.tables.cosines + (self.tables.turn @ y) * self.tables.sines


def over_root(x: Any, square: Fraction) -> Any:
    """Return `x` over the root of a number: rational where it is a square, else by the ring's `rsqrt`."""
    rows, columns = x.shape[-2:]
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    if root**2 == square:
        return times_number(x, 1 / root)
    inverse = operation(everywhere(square, x, 1, 1), "elementary", "a scale")("rsqrt")
    return x * (ones(x, rows, 1) @ inverse @ ones(x, 1, columns))


def times_number(x: Any, number: Fraction | None) -> Any:
    """Return `x` times a number, if there is one."""
    return x if number is None else x * everywhere(number, x, *x.shape[-2:])


def capped(x: Any, cap: Fraction | None) -> Any:
    """Return `cap tanh(x / cap)`, if there is a cap, else `x`."""
    if cap is None:
        return x
    return times_number(operation(times_number(x, 1 / cap), "elementary", "a cap")("tanh"), cap)


@dataclass(frozen=True, eq=False)
class Scaled:
    """A factor divided by the root of a number."""

    part: Any
    square: Fraction

    def __matmul__(self, x: Any) -> Any:
        return over_root(self.part @ x, self.square)


class Sight(NamedTuple):
    """What a layer knows of positions: who sees whom, and how queries and keys turn.

    Attributes:
        mask: entry `(j, i)` is 1 where token `i` attends to token `j`: one before it in its prompt, or itself.
        rotary: tables over the ring, `None` without rotary positions.
    """

    mask: npt.NDArray[np.object_]
    rotary: RotaryTables | None


class Tokens:
    """The tokens of all prompts, a column each.

    Args:
        prompts: token ids; positions count from 0 in every prompt.
        form: of the checkpoint.
        like: a matrix over the ring.
    """

    def __init__(self, prompts: Prompts, form: CheckpointForm, like: Any) -> None:
        self.form, self._like = form, like
        self.ids = [i for prompt in prompts for i in prompt]
        self.positions = [k for prompt in prompts for k in range(len(prompt))]
        self._number = np.array([n for n, prompt in enumerate(prompts) for _ in prompt])
        self._masks: dict[int | None, npt.NDArray[np.object_]] = {}
        self._tables: dict[Rotation | None, RotaryTables | None] = {None: None}

    def sight(self, layer: int) -> Sight:
        """Return what a layer knows of positions; layers with the same have it in common."""
        window, rotation = self.form.window_of(layer), self.form.rotation_of(layer)
        if window not in self._masks:
            places = np.array(self.positions)
            seen = np.triu(self._number[:, None] == self._number[None, :])
            if window is not None:
                seen &= places[None, :] - places[:, None] < window
            self._masks[window] = seen.astype(int).astype(object)
        if rotation is not None and rotation not in self._tables:
            self._tables[rotation] = RotaryTables.of(
                rotation, self.form.head_width, self.form.turned, self.positions, self._like
            )
        return Sight(self._masks[window], self._tables[rotation])


def norm(x: Any, form: CheckpointForm, gain: Array, bias: Array | None) -> Any:
    r"""Return $g\,x / \sqrt{|x|^2/d + \epsilon} + b$ of each column, with LayerNorm of it less its mean."""
    d, t = x.shape[-2:]
    average = everywhere(Fraction(1, d), x, 1, d)
    if form.norm == "layer":
        x = x + everywhere(Fraction(-1), x, d, 1) @ (average @ x)
    size = average @ (x * x) + everywhere(form.epsilon, x, 1, t)
    inverse = operation(size, "elementary", "a norm")("rsqrt")
    x = x * (ones(x, d, 1) @ inverse) * in_every_column(gain, x)
    return x if bias is None else x + in_every_column(bias, x)


@dataclass(frozen=True, eq=False)
class Normed:
    """A factor behind a norm of its own."""

    part: Any
    form: CheckpointForm
    gain: Array

    def __matmul__(self, x: Any) -> Any:
        return norm(self.part @ x, self.form, self.gain, None)


@dataclass(frozen=True, eq=False)
class RowsOfOneHead:
    """The rows of one head, of a factor that has those of all heads."""

    part: Any
    number: int
    width: int

    def __matmul__(self, x: Any) -> Any:
        y = self.part @ x
        count = y.shape[-2]
        mine = np.eye(count, dtype=int).astype(object)[self.number * self.width : (self.number + 1) * self.width]
        return constants(y, mine, "a norm") @ y


def mlp(x: Any, block: Block, form: CheckpointForm) -> Any:
    """Return `down act(up x)`, gated `down (act(gate x) * up x)`, each with its bias."""
    up = Affine(block.up, block.up_bias) @ x
    if block.gate is None:
        inner = operation(up, "elementary", "an MLP")(form.activation)
    else:
        gate = Affine(block.gate, block.gate_bias) @ x
        inner = operation(gate, "elementary", "an MLP")(form.activation) * up
    if block.router is not None:
        each = np.eye(len(block.router), dtype=int).repeat(len(block.up) // len(block.router), axis=0).astype(object)
        inner = inner * (constants(inner, each, "experts") @ routed(Affine(block.router, block.router_bias) @ x, form))
    return Affine(block.down, block.down_bias) @ inner


def routed(scores: Any, form: CheckpointForm) -> Any:
    """Return the weights of all experts, `E x t`, from what the router says: 0 of those that a token does not read."""
    chosen = operation(scores, "largest", "a choice of experts")(form.chosen)
    if form.normed_choice:
        return normalized(scores, normalization=SOFTMAX, mask=chosen)
    return masked(normalized(scores, normalization=SOFTMAX, mask=np.ones_like(chosen)), chosen)


def heads(block: Block, form: CheckpointForm, rotary: RotaryTables | None) -> Iterator[Layer]:
    """Yield the heads as the attention layer takes them: factors that multiply the stream behind the norm."""

    def positioned(part: Any, gain: Array | None) -> Any:
        part = part if gain is None else Normed(part, form, gain)
        return part if rotary is None else Rotated(part, rotary)

    def affine(weight: Array, bias: Array | None, number: int) -> Affine:
        return Affine(weight[number], None if bias is None else bias[number])

    each, square = form.heads // form.groups, form.score_width or Fraction(form.head_width)

    def rows(name: str, number: int) -> Any:
        weight, bias, gain = (getattr(block, f"{name}{part}") for part in ("", "_bias", "_row_gain"))
        return affine(weight, bias, number) if gain is None else RowsOfOneHead(wide[name], number, form.head_width)

    wide = {
        name: Shared(
            Normed(Affine(_flat(getattr(block, name)), _flat(getattr(block, f"{name}_bias"))), form, gain.ravel())
        )
        for name in ("query", "key")
        if (gain := getattr(block, f"{name}_row_gain")) is not None
    }
    for group in range(form.groups):
        key = Shared(positioned(rows("key", group), block.key_norm_gain))
        value = Shared(affine(block.value, block.value_bias, group))
        for head in range(group * each, (group + 1) * each):
            part = positioned(rows("query", head), block.query_norm_gain)
            query = Scaled(part, square)
            yield Layer(query, key, Then(value, block.output[head]))


def _flat(array: Array | None) -> Any:
    """Return all heads of a map, or of its bias, one below the other."""
    return None if array is None else array.reshape(-1, *array.shape[2:])


def after_block(x: Any, block: Block, form: CheckpointForm, sight: Sight) -> Any:
    """Return the stream behind a layer."""

    def pattern(scores: Any) -> Any:
        return normalized(capped(scores, form.score_cap), normalization=SOFTMAX, mask=sight.mask)

    seen = normed(x, form, block.norm1_gain, block.norm1_bias)
    added = attention_layer(seen, list(heads(block, form, sight.rotary)), Form(pattern))
    if block.output_bias is not None:
        added = added + in_every_column(block.output_bias, x)
    before, x = x, x + times_number(normed(added, form, block.behind1_gain), form.residual)
    read = before if form.parallel else x
    added = mlp(normed(read, form, block.norm2_gain, block.norm2_bias), block, form)
    return x + times_number(normed(added, form, block.behind2_gain), form.residual)


def normed(x: Any, form: CheckpointForm, gain: Array | None, bias: Array | None = None) -> Any:
    """Return what a half reads of the stream, or adds to it, behind a norm of its own if it has one there."""
    return x if gain is None else norm(x, form, gain, bias)


def first_stream(ends: Ends, tokens: Tokens, like: Any) -> Any:
    """Return what the first layer reads: embeddings, and positions where they are learned."""
    x = constants(like, np.ascontiguousarray(ends.embedding[list(tokens.ids)].T), "an embedding")
    if tokens.form.embedding_square is not None:
        x = over_root(x, 1 / tokens.form.embedding_square)
    if ends.positions is None:
        return x
    return x + constants(like, np.ascontiguousarray(ends.positions[list(tokens.positions)].T), "positions")


def last_stream(
    checkpoint: Checkpoint, prompts: Prompts, like: Any, told: Callable[[int, Any], None] = lambda layer, x: None
) -> Any:
    """Return what the unembedding is multiplied with, `d x t`, behind the final norm; one layer is in memory at a time.

    Args:
        checkpoint: the weights.
        prompts: token ids, not empty; all prompts side by side.
        like: a matrix over the ring, for its constants.
        told: of each layer, and the stream that it reads, before it is begun.
    """
    form = checkpoint.form
    require_form(form, Walker.FORWARD)
    ends = ends_of(checkpoint, Walker.FORWARD, coded=True)
    tokens = Tokens(prompts, form, like)
    x = first_stream(ends, tokens, like)
    for layer in range(form.layers):
        told(layer, x)
        x = after_block(x, block_of(checkpoint, layer, Walker.FORWARD, coded=True), form, tokens.sight(layer))
    return norm(x, form, ends.final_gain, ends.final_bias)


def as_logits(x: Any, form: CheckpointForm) -> Any:
    """Return what the unembedding makes, divided and capped as the form says."""
    return capped(times_number(x, None if form.logit_divisor is None else 1 / form.logit_divisor), form.logit_cap)


def unembedding(ends: Ends) -> Array:
    """Return the unembedding, `n x d`: one of its own, or the embedding where it is tied."""
    return ends.embedding if ends.unembedding is None else ends.unembedding
