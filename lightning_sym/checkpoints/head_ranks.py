"""Exact ranks of the QK and OV of each head, as the function sees them.

A rank modulo a prime is a lower bound, sizes are an upper one; where they do not meet the rank is computed over the
rationals if the matrices are small, and else known up to bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.exact_arrays import Exact, to_objects
from lightning_sym.checkpoints.model import Block, CheckpointForm
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.exact.rational import rank
from lightning_sym.rings.dyadic import residues
from lightning_sym.rings.prime_field import PRIMES, matmul_mod, reduce_mod

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
    """Of each query head the ranks of its QK (with rotary positions at distance 0) and of its OV.

    Gains and norm biases are folded, and the mean of the stream is taken out where it is not read; query biases count
    as a column, key biases only with rotary positions.

    Example:
        >>> from lightning_sym.testing import small_checkpoint
        >>> one = small_checkpoint("gpt2")
        >>> [str(part) for part in head_ranks(one.block(0), one.form)[0]]
        ['4', '4']
    """
    share = form.heads // form.groups
    exactly: dict[str, Any] = {}
    reduced = {name: _seen(block, form, name, lambda x: residues(x, P), lambda x: x % P) for name in HEAD}
    ranks = {name: [rank_mod_p(matrix, P) for matrix in maps] for name, maps in reduced.items()}

    def exact(name: str, place: int) -> npt.NDArray[Any]:
        if name not in exactly:
            exactly[name] = _seen(block, form, name, lambda x: to_objects(np.asarray(x)), lambda x: x)
        return np.asarray(exactly[name][place])

    def found(first: str, i: int, second: str, j: int) -> RankBounds:
        least = min(reduced[first][i].shape + reduced[second][j].shape)
        if ranks[first][i] == ranks[second][j] == reduced[first][i].shape[0]:
            return RankBounds(least, least)
        left, right = reduced[first][i].T.astype(np.float64), reduced[second][j].astype(np.float64)
        lower = rank_mod_p(_product(left, right), P)
        upper = min(least, *(_upper(block, name, k) for name, k in ((first, i), (second, j))))
        if lower < upper and form.width <= SMALL:
            lower = upper = rank(to_objects(Exact().product(exact(first, i).T, exact(second, j))))
        return RankBounds(lower, upper)

    return [(found("query", h, "key", h // share), found("output", h, "value", h // share)) for h in range(form.heads)]


def _upper(block: Block, name: str, place: int) -> int:
    """Rows that are not zero: a head that was cut off is seen at once."""
    matrix = np.asarray(getattr(block, name)[place])
    axis = 0 if name == "output" else 1
    bias = getattr(block, f"{name}_bias") if name in ("query", "key") else None
    used = (matrix != 0).any(axis=axis)
    used = used if bias is None else used | (np.asarray(bias[place]) != 0)
    rows = _row_gains(block, name)
    gains = used if rows is None else np.broadcast_to(np.asarray(rows) != 0, getattr(block, name).shape[:2])[place]
    return int((used & gains).sum())


def _row_gains(block: Block, name: str) -> Any:
    """Return the gains of the rows of queries or keys, one for all heads or for each; `None` where there are none."""
    found = getattr(block, f"{name}_norm_gain", None)
    return getattr(block, f"{name}_row_gain", None) if found is None else found


def _product(left: npt.NDArray[np.float64], right: npt.NDArray[np.float64]) -> Residues:
    found = matmul_mod(reduce_mod(left, P), reduce_mod(right, P), P)
    return np.asarray(found.astype(np.int64) % P)


Numbers = Callable[[Any], Any]
"""What makes other numbers of an array."""

HEAD = ("query", "key", "value", "output")
"""The maps of a head."""


def _seen(
    block: Block, form: CheckpointForm, name: str, of: Callable[[Any], Any], reduced: Callable[[Any], Any]
) -> Any:
    """A map as the norm shows the stream, `(n, a, d)`, with its bias as a last column if it is seen and there is one.

    Over the numbers that `of` makes and `reduced` reduces; times the width where the mean is taken out.
    """

    def centred(maps: Any) -> Any:
        less = maps * form.width - maps.sum(axis=-1, keepdims=True) if form.norm == "layer" else maps
        return reduced(less)

    maps = of(getattr(block, name))
    if name == "output":
        return centred(maps.swapaxes(-1, -2))
    gain, norm_bias, bias = block.norm1_gain, block.norm1_bias, getattr(block, f"{name}_bias")
    if (rows := _row_gains(block, name)) is not None:
        maps, bias = reduced(maps * of(rows)[..., None]), None if bias is None else reduced(of(bias) * of(rows))
    seen = centred(maps if gain is None else reduced(maps * of(gain)))
    unseen = name == "value" or (name == "key" and not form.turned)
    if unseen or (bias is None and norm_bias is None):
        return seen
    column = 0 * maps[..., 0] if bias is None else of(bias) if rows is None else bias
    if norm_bias is not None:
        column = reduced(column + reduced(maps * of(norm_bias)).sum(axis=-1))
    if name == "key":
        column = column * (np.arange(form.head_width) < form.turned)  # softmax does not see it in the others
    return np.concatenate([seen, column[..., None]], axis=-1)
