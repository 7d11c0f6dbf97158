r"""Transformers as checkpoints hold them: norms, positions and MLPs as pieces beside the one attention layer.

The stream is a matrix of shape `d x t`, a column a token; several prompts stand side by side, kept apart by a mask. It
may be over any ring that knows `@ + * mT like evaluate reciprocal` (`rings.protocol`) and, one operation each,

- `elementary(name)`: the reciprocal square root of norms and the activation of MLPs, `rings.balls`;
- `rotary(theta, width, positions, scaling)`: cosines and sines, where positions are rotary;
- `after(weights)`, if it multiplies arrays of floats in a way of its own; else `like(weights) @` is done.

So balls of floats, balls of any precision, and variables free for every value of these functions all run through it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Generic, NamedTuple

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.affine_factors import (
    Affine,
    RowsOfTwo,
    S,
    Shared,
    Then,
    constant,
    elementary,
    everywhere,
    in_every_column,
    ones,
)
from lightning_sym.checkpoints.model import LATENT_EPSILON, Array, Block, Checkpoint, CheckpointForm, Ends
from lightning_sym.checkpoints.understood import Walker, block_of, ends_of, require_form
from lightning_sym.errors import BadInput
from lightning_sym.network.attention import Form, attention_layer
from lightning_sym.network.layer import Layer
from lightning_sym.rings.arrays import rational_root
from lightning_sym.rings.normalization import SOFTMAX
from lightning_sym.rings.protocol import Factor, masked, normalized, operation
from lightning_sym.rings.rotary import RotaryScaling

Prompts = Sequence[Sequence[int]]
Rotation = tuple[Fraction, RotaryScaling | None]
"""Base of the frequencies, and how they are scaled."""


class RotaryTables(NamedTuple, Generic[S]):
    """What turns queries and keys: cosines and sines, `a x t`, and the turn by a right angle, `a x a`."""

    cosines: S
    sines: S
    turn: S

    @classmethod
    def of(cls, rotation: Rotation, width: int, turned: int, positions: Sequence[int], like: S) -> RotaryTables[S]:
        """Return the tables over the ring of `like`, for the rotate-half convention.

        Of the first `turned` rows, `k` and `k + turned/2` turn together.
        """
        half, rest = np.eye(turned // 2, dtype=int), width - turned
        twice = np.concatenate([half, half, np.zeros((rest, turned // 2), dtype=int)]).astype(object)
        turn = np.pad(np.block([[0 * half, -half], [half, 0 * half]]), (0, rest)).astype(object)
        made = operation(like, "rotary", "rotary positions")(rotation[0], turned, positions, *rotation[1:])
        cosines, sines = (constant(like, twice, "rotary positions") @ each for each in made)
        if rest:
            still = np.concatenate([np.zeros((turned, 1), dtype=int), np.ones((rest, 1), dtype=int)]).astype(object)
            cosines = cosines + constant(like, still, "rotary positions") @ ones(like, 1, len(positions))
        return cls(cosines, sines, constant(like, turn, "rotary positions"))


@dataclass(frozen=True, eq=False)
class Rotated(Generic[S]):
    """A factor whose rows turn by the angle of their frequency at each token's position.

    Attributes:
        part: a factor with `a` rows.
        tables: of the tokens.
    """

    part: Factor[S]
    tables: RotaryTables[S]

    def __matmul__(self, x: S) -> S:
        y = self.part @ x
        return y * self.tables.cosines + (self.tables.turn @ y) * self.tables.sines


def over_root(x: S, square: Fraction) -> S:
    """Return `x` over the root of a number: rational where it is a square, else by the ring's `rsqrt`."""
    rows, columns = x.shape[-2:]
    if (root := rational_root(square)) is not None:
        return times_number(x, 1 / root)
    inverse = elementary(everywhere(square, x, 1, 1), "rsqrt", "a scale")
    return x * (ones(x, rows, 1) @ inverse @ ones(x, 1, columns))


def times_number(x: S, number: Fraction | None) -> S:
    """Return `x` times a number, if there is one."""
    return x if number is None else x * everywhere(number, x, *x.shape[-2:])


def capped(x: S, cap: Fraction | None) -> S:
    """Return `cap tanh(x / cap)`, if there is a cap, else `x`."""
    return x if cap is None else times_number(elementary(times_number(x, 1 / cap), "tanh", "a cap"), cap)


@dataclass(frozen=True, eq=False)
class Scaled(Generic[S]):
    """A factor divided by the root of a number."""

    part: Factor[S]
    square: Fraction

    def __matmul__(self, x: S) -> S:
        return over_root(self.part @ x, self.square)


class Sight(NamedTuple, Generic[S]):
    """What a layer knows of positions: who sees whom, and how queries and keys turn.

    Attributes:
        mask: entry `(j, i)` is 1 where token `i` attends to token `j`: one before it in its prompt, or itself.
        rotary: tables over the ring, `None` without rotary positions.
    """

    mask: npt.NDArray[np.object_]
    rotary: RotaryTables[S] | None


class Tokens(Generic[S]):
    """The tokens of all prompts, a column each.

    Args:
        prompts: token ids; positions count from 0 in every prompt.
        form: of the checkpoint.
        like: a matrix over the ring.
    """

    def __init__(self, prompts: Prompts, form: CheckpointForm, like: S) -> None:
        self.form, self._like = form, like
        self.ids = [i for prompt in prompts for i in prompt]
        self.positions = [k for prompt in prompts for k in range(len(prompt))]
        self._number = np.array([n for n, prompt in enumerate(prompts) for _ in prompt])
        self._masks: dict[int | None, npt.NDArray[np.object_]] = {}
        self._tables: dict[Rotation | None, RotaryTables[S] | None] = {None: None}

    def sight(self, layer: int) -> Sight[S]:
        """Return what a layer knows of positions; layers with the same have it in common."""
        window, rotation = self.form.window_of(layer), self.form.rotation_of(layer)
        if window not in self._masks:
            places = np.array(self.positions)
            seen = np.triu(self._number[:, None] == self._number[None, :])
            if window is not None:
                seen &= places[None, :] - places[:, None] < window
            self._masks[window] = seen.astype(int).astype(object)
        if rotation is not None and rotation not in self._tables:
            turned = self.form.rotating
            width = self.form.head_width if self.form.latent is None else turned
            self._tables[rotation] = RotaryTables.of(rotation, width, turned, self.positions, self._like)
        return Sight(self._masks[window], self._tables[rotation])


def norm(x: S, form: CheckpointForm, gain: Array, bias: Array | None) -> S:
    r"""Return $g\,x / \sqrt{|x|^2/d + \epsilon} + b$ of each column, with LayerNorm of it less its mean."""
    d, t = x.shape[-2:]
    average = everywhere(Fraction(1, d), x, 1, d)
    if form.norm == "layer":
        x = x + everywhere(Fraction(-1), x, d, 1) @ (average @ x)
    size = average @ (x * x) + everywhere(form.epsilon, x, 1, t)
    x = x * (ones(x, d, 1) @ elementary(size, "rsqrt", "a norm")) * in_every_column(gain, x)
    return x if bias is None else x + in_every_column(bias, x)


@dataclass(frozen=True, eq=False)
class Normed(Generic[S]):
    """A factor behind a norm of its own."""

    part: Factor[S]
    form: CheckpointForm
    gain: Array

    def __matmul__(self, x: S) -> S:
        return norm(self.part @ x, self.form, self.gain, None)


@dataclass(frozen=True, eq=False)
class RowsOfOneHead(Generic[S]):
    """The rows of one head, of a factor that has those of all heads."""

    part: Factor[S]
    number: int
    width: int

    def __matmul__(self, x: S) -> S:
        y = self.part @ x
        count = y.shape[-2]
        mine = np.eye(count, dtype=int).astype(object)[self.number * self.width : (self.number + 1) * self.width]
        return constant(y, mine, "a norm") @ y


def mlp(x: S, block: Block, form: CheckpointForm) -> S:
    """Return `down act(up x)`, gated `down (act(gate x) * up x)`, each with its bias."""
    up = Affine(block.up, block.up_bias) @ x
    inner = up if block.gate is None else Affine(block.gate, block.gate_bias) @ x
    inner = elementary(inner, form.activation, "an MLP")
    inner = inner if block.gate is None else inner * up
    if block.router is not None:
        each = np.eye(len(block.router), dtype=int).repeat(len(block.up) // len(block.router), axis=0).astype(object)
        inner = inner * (constant(inner, each, "experts") @ routed(Affine(block.router, block.router_bias) @ x, form))
    return Affine(block.down, block.down_bias) @ inner


def routed(scores: S, form: CheckpointForm) -> S:
    """Return the weights of all experts, `E x t`, from what the router says: 0 of those that a token does not read."""
    chosen = operation(scores, "largest", "a choice of experts")(form.chosen)
    seen = chosen if form.normed_choice else np.ones_like(chosen)
    found: S = normalized(scores, normalization=SOFTMAX, mask=seen)
    return found if form.normed_choice else masked(found, chosen)


def heads(block: Block, form: CheckpointForm, rotary: RotaryTables[S] | None) -> Iterator[Layer[Factor[S]]]:
    """Yield the heads as the attention layer takes them: factors that multiply the stream behind the norm."""

    def positioned(part: Factor[S], gain: Array | None) -> Factor[S]:
        part = part if gain is None else Normed(part, form, gain)
        return part if rotary is None else Rotated(part, rotary)

    def affine(weight: Array, bias: Array | None, number: int) -> Affine:
        return Affine(weight[number], None if bias is None else bias[number])

    each, square = form.heads // form.groups, form.score_width or Fraction(form.head_width)

    def rows(name: str, number: int) -> Factor[S]:
        weight, bias, gain = (getattr(block, f"{name}{part}") for part in ("", "_bias", "_row_gain"))
        return affine(weight, bias, number) if gain is None else RowsOfOneHead(wide[name], number, form.head_width)

    def flat(array: Array) -> Array:  # all heads of a map, or of its bias, one below the other
        return array.reshape(-1, *array.shape[2:])

    wide: dict[str, Factor[S]] = {}
    for name in ("query", "key"):
        weight, bias, gain = (getattr(block, f"{name}{part}") for part in ("", "_bias", "_row_gain"))
        if gain is not None:
            all_heads: Factor[S] = Affine(flat(weight), None if bias is None else flat(bias))
            wide[name] = Shared(Normed(all_heads, form, gain.ravel()))
    for group in range(form.groups):
        key = Shared(positioned(rows("key", group), block.key_norm_gain))
        value: Shared[S] = Shared(affine(block.value, block.value_bias, group))
        for head in range(group * each, (group + 1) * each):
            query = Scaled(positioned(rows("query", head), block.query_norm_gain), square)
            yield Layer(query, key, Then(value, block.output[head]))


def latent_heads(block: Block, form: CheckpointForm, rotary: RotaryTables[S] | None) -> Iterator[Layer[Factor[S]]]:
    """Yield the heads whose keys and values, and perhaps queries, read latents; all have one key that is turned."""
    inside = replace(form, epsilon=LATENT_EPSILON)

    def latent(weight: Array | None, gain: Array | None) -> Factor[S] | None:
        return None if weight is None or gain is None else Shared(Normed(Affine(weight), inside, gain))

    read, queries = latent(block.latent, block.norm3_gain), latent(block.query_latent, block.norm4_gain)
    if rotary is None or read is None or block.key_turned is None or block.query_turned is None:
        raise BadInput("a layer with latents must have all of its pieces")
    turned: Shared[S] = Shared(Rotated(Affine(block.key_turned[0]), rotary))
    square = form.score_width or Fraction(form.head_width + form.rotating)
    for head in range(form.heads):
        both = [weight[head] for weight in (block.query, block.query_turned)]
        plain, other = (Affine(each) if queries is None else Then(queries, each) for each in both)
        query = Scaled(RowsOfTwo(plain, Rotated(other, rotary)), square)
        yield Layer(
            query,
            RowsOfTwo(Then(read, block.key[head]), turned),
            Then(Then(read, block.value[head]), block.output[head]),
        )


def after_block(x: S, block: Block, form: CheckpointForm, sight: Sight[S]) -> S:
    """Return the stream behind a layer."""

    def pattern(scores: S) -> S:
        found: S = normalized(capped(scores, form.score_cap), normalization=SOFTMAX, mask=sight.mask)
        return found

    seen = normed(x, form, block.norm1_gain, block.norm1_bias)
    table = sight.rotary
    of_layer = heads(block, form, table) if form.latent is None or table is None else latent_heads(block, form, table)
    added = attention_layer(seen, list(of_layer), Form(pattern))
    if block.output_bias is not None:
        added = added + in_every_column(block.output_bias, x)
    before, x = x, x + times_number(normed(added, form, block.behind1_gain), form.residual)
    read = before if form.parallel else x
    added = mlp(normed(read, form, block.norm2_gain, block.norm2_bias), block, form)
    return x + times_number(normed(added, form, block.behind2_gain), form.residual)


def normed(x: S, form: CheckpointForm, gain: Array | None, bias: Array | None = None) -> S:
    """Return what a half reads of the stream, or adds to it, behind a norm of its own if it has one there."""
    return x if gain is None else norm(x, form, gain, bias)


def first_stream(ends: Ends, tokens: Tokens[S], like: S) -> S:
    """Return what the first layer reads: embeddings, and positions where they are learned."""
    x = constant(like, np.ascontiguousarray(ends.embedding[list(tokens.ids)].T), "an embedding")
    if tokens.form.embedding_square is not None:
        x = over_root(x, 1 / tokens.form.embedding_square)
    if ends.positions is None:
        return x
    return x + constant(like, np.ascontiguousarray(ends.positions[list(tokens.positions)].T), "positions")


def last_stream(
    checkpoint: Checkpoint, prompts: Prompts, like: S, told: Callable[[int, S], None] = lambda layer, x: None
) -> S:
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


def as_logits(x: S, form: CheckpointForm) -> S:
    """Return what the unembedding makes, divided and capped as the form says."""
    return capped(times_number(x, None if form.logit_divisor is None else 1 / form.logit_divisor), form.logit_cap)


def unembedding(ends: Ends) -> Array:
    """Return the unembedding, `n x d`: one of its own, or the embedding where it is tied."""
    return ends.embedding if ends.unembedding is None else ends.unembedding
