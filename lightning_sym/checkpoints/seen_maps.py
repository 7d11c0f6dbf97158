"""The maps of a checkpoint as its function sees them: gains and norm biases folded, the mean of the stream taken out.

They are matrices of floats with bounds, or exact, of which the ranks of each head's QK and OV are found: modulo a prime
from below, by sizes from above, and over the rationals where these do not meet and the matrices are small.

With LayerNorm the stream is read as `n = P x / sqrt(|P x|^2 / d + epsilon)`, `P = 1 - 1 1^T / d`; with RMSNorm
`P = 1`. A map `W (g n + b) + w` is the matrix `W diag(g) P` and the bias `w + W b`; what is written into the stream
counts as `P` times it, over the root of epsilon, which takes the scale out. Section 4 of docs/checkpoints.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.bounded import Near, near
from lightning_sym.checkpoints.exact_arrays import Exact, Numbers, to_objects
from lightning_sym.checkpoints.model import Array, Block, CheckpointForm
from lightning_sym.checkpoints.piece_table import LATENTS
from lightning_sym.checkpoints.pieces import read_by
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.exact.rational import rank
from lightning_sym.rings.arrays import residues
from lightning_sym.rings.prime_field import PRIMES, matmul_mod, reduce_mod


@dataclass(frozen=True, eq=False)
class SeenHeads:
    """The attention of a layer, one entry a query head `H`.

    Attributes:
        query, key: `(H, a, d)`, or `(H, a, d + 1)` with the bias as the last column; rows times their gains.
            Of rows that rotary positions do not turn no bias of the keys: softmax does not see it.
        value: `(H, a, d)`.
        output: `(H, d, a)`.
        bias: `(d, 1)`, what attention adds to the stream whatever it reads; `None` where there are no biases.
        turned: the rows that rotary positions turn, of queries and keys, where these are maps of their own.
        latents: by name, the maps into latents, `(r, d)`. What reads these is multiplied with them, as though the
            norm in between were none: it divides by one number a token.
    """

    query: Near
    key: Near
    value: Near
    output: Near
    bias: Near | None
    turned: tuple[Near, Near] | None = None
    latents: dict[str, Near] = field(default_factory=dict)


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
    weight: Array, bias: Array | None, gain: Array | None, norm_bias: Array | None, form: CheckpointForm, length: float
) -> tuple[Near, Near | None]:
    """Return a map `(n, a, d)` that reads a norm, and its bias as a column `(n, a, 1)`; `length` as of `seen_heads`."""
    matrix = near(weight)
    folded = matrix.times(near(np.array([[length]]) if gain is None else np.asarray(gain)[None, :]))
    seen = folded.centred() if form.norm == "layer" else folded
    column = None if bias is None else near(np.asarray(bias)[..., None])
    if norm_bias is not None:
        moved = matrix @ near(np.asarray(norm_bias)[:, None])
        column = moved if column is None else column + moved
    return seen, column


def written(array: Array, form: CheckpointForm) -> Near:
    """Return what is written into the stream, coordinates along the last axis."""
    found = near(array)
    return found.centred() if form.norm == "layer" else found


def seen_heads(block: Block, form: CheckpointForm, length: float = 1.0) -> SeenHeads:
    """Return the attention of a layer, keys and values once for every query head that reads them.

    Args:
        block, form: the layer.
        length: what a stream is divided by that is read without a norm in front.
    """
    share = form.heads // form.groups

    def read(name: str) -> tuple[Near, Near | None]:
        half = read_by(form, name)
        arrays = getattr(block, name), getattr(block, f"{name}_bias", None)
        found, bias = _read(*arrays, *half.norm_of(block), form, length)
        return (found @ read(latent)[0], bias) if (latent := LATENT_MAPS.get(half.norm)) else (found, bias)

    (query, query_bias), (key, key_bias), (value, value_bias) = map(read, ("query", "key", "value"))
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
        for part, gain in ((query, _row_gains(block, "query")), (key, _row_gains(block, "key")))
    )
    latents = {name: read(name)[0] for name in LATENT_MAPS.values() if getattr(block, name) is not None}
    turned = (read("query_turned")[0], read("key_turned")[0][0 * places]) if latents else None
    return SeenHeads(query, key[places], value[places], output, bias, turned, latents)


def seen_neurons(block: Block, form: CheckpointForm, length: float = 1.0) -> SeenNeurons:
    """Return the MLP of a layer, without neurons that write nothing, or ones if no mean is read; `length` as there."""
    columns = np.asarray(block.down).T
    nothing = (columns == columns[:, :1]).all(axis=1) if form.norm == "layer" else (columns == 0).all(axis=1)
    live = np.flatnonzero(~nothing)

    def read(weight: Array, bias: Array | None) -> tuple[Near, Near | None]:
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


LATENT_MAPS = {norm: space.replace(" ", "_") for norm, space in LATENTS.items()}
"""By the norm of latents, the map into these."""

P = PRIMES[0]
SMALL = 64
"""Width of the stream up to which a product is eliminated over the rationals."""

Residues = npt.NDArray[np.int64]


class RankBounds(NamedTuple):
    """The rank is one of `lower..upper`."""

    lower: int
    upper: int

    def __str__(self) -> str:
        return str(self.lower) if self.lower == self.upper else f"{self.lower}..{self.upper}"


def head_ranks(block: Block, form: CheckpointForm) -> list[tuple[RankBounds, RankBounds]]:
    """Return for each query head the ranks of its QK and of its OV.

    Rotary positions are at distance 0.

    Gains and norm biases are folded, and the mean of the stream is taken out where it is not read; query biases count
    as a column, key biases only with rotary positions.

    Example:
        >>> from lightning_sym.testing import small_checkpoint
        >>> one = small_checkpoint("gpt2")
        >>> [str(part) for part in head_ranks(one.block(0), one.form)[0]]
        ['4', '4']
    """
    share = form.heads // form.groups
    exactly: dict[str, Numbers] = {}
    reduced = {name: _seen_map(block, form, name, lambda x: residues(x, P), lambda x: x % P, _product) for name in HEAD}
    ranks = {name: [rank_mod_p(matrix, P) for matrix in maps] for name, maps in reduced.items()}

    def exact(name: str, place: int) -> Numbers:
        if name not in exactly:
            exactly[name] = _seen_map(
                block, form, name, lambda x: to_objects(np.asarray(x)), lambda x: x, Exact().product
            )
        return np.asarray(exactly[name][place])

    def found(first: str, i: int, second: str, j: int) -> RankBounds:
        least = min(reduced[first][i].shape + reduced[second][j].shape)
        if ranks[first][i] == ranks[second][j] == reduced[first][i].shape[0]:
            return RankBounds(least, least)
        lower = rank_mod_p(_product(reduced[first][i].T, reduced[second][j]), P)
        upper = min(least, *(_upper(block, name, k) for name, k in ((first, i), (second, j))))
        if lower < upper and form.width <= SMALL:
            lower = upper = rank(to_objects(Exact().product(exact(first, i).T, exact(second, j))))
        return RankBounds(lower, upper)

    return [(found("query", h, "key", h // share), found("output", h, "value", h // share)) for h in range(form.heads)]


def _upper(block: Block, name: str, place: int) -> int:
    """Return rows that are not zero: a head that was cut off is seen at once."""
    matrix = np.asarray(getattr(block, name)[place])
    axis = 0 if name == "output" else 1
    bias = getattr(block, f"{name}_bias") if name in ("query", "key") else None
    used = (matrix != 0).any(axis=axis)
    used = used if bias is None else used | (np.asarray(bias[place]) != 0)
    rows = _row_gains(block, name)
    gains = used if rows is None else np.broadcast_to(np.asarray(rows) != 0, getattr(block, name).shape[:2])[place]
    return int((used & gains).sum())


def _row_gains(block: Block, name: str) -> Array | None:
    """Return the gains of the rows of queries or keys, one for all heads or for each; `None` where there are none."""
    given = {"query": (block.query_norm_gain, block.query_row_gain), "key": (block.key_norm_gain, block.key_row_gain)}
    return next((gain for gain in given.get(name, ()) if gain is not None), None)


def _product(left: npt.NDArray[Any], right: npt.NDArray[Any]) -> Residues:
    one, two = (reduce_mod(side.astype(np.float64), P) for side in (left, right))
    found = matmul_mod(one, two, P)
    return np.asarray(found.astype(np.int64) % P)


HEAD = ("query", "key", "value", "output")
"""The maps of a head."""


def _seen_map(
    block: Block,
    form: CheckpointForm,
    name: str,
    of: Callable[[Array], Numbers],
    reduced: Callable[[Numbers], Numbers],
    product: Callable[[Any, Any], Numbers],
) -> Numbers:
    """Return a map as the norm shows the stream, `(n, a, d)`, with its bias, if it is seen, as a last column.

    Over the numbers that `of` makes, `reduced` reduces and `product` multiplies; times the width where the mean is
    taken out.
    """

    def centred(maps: Numbers) -> Numbers:
        less = maps * form.width - maps.sum(axis=-1, keepdims=True) if form.norm == "layer" else maps
        return reduced(less)

    maps = of(getattr(block, name))
    if name == "output":
        return centred(maps.swapaxes(-1, -2))
    half = read_by(form, name)
    (gain, norm_bias), bias = half.norm_of(block), getattr(block, f"{name}_bias", None)
    if (rows := _row_gains(block, name)) is not None:
        maps, bias = reduced(maps * of(rows)[..., None]), None if bias is None else reduced(of(bias) * of(rows))
    seen = centred(maps if gain is None else reduced(maps * of(gain)))
    if latent := LATENT_MAPS.get(half.norm):
        return product(seen.reshape(-1, seen.shape[-1]), _seen_map(block, form, latent, of, reduced, product)).reshape(
            *seen.shape[:-1], -1
        )
    unseen = name == "value" or (name == "key" and not form.turned)
    if unseen or (bias is None and norm_bias is None):
        return seen
    column = 0 * maps[..., 0] if bias is None else of(bias) if rows is None else bias
    if norm_bias is not None:
        column = reduced(column + reduced(maps * of(norm_bias)).sum(axis=-1))
    if name == "key":
        column = column * (np.arange(form.head_width) < form.turned)  # softmax does not see it in the others
    return np.concatenate([seen, column[..., None]], axis=-1)
