"""Exact ranks of the QK and OV of each head, as the function sees them.

A rank modulo a prime is a lower bound, sizes are an upper one; where they do not meet the rank is computed over the
rationals if the matrices are small, and else known up to bounds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.exact_arrays import Exact, to_objects
from lightning_sym.checkpoints.model import Block, CheckpointForm
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.exact.rational import rank
from lightning_sym.rings.dyadic import residues_of
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
    norm = block.norm1_gain, block.norm1_bias, form
    rotary = form.theta is not None
    exactly: dict[str, Any] = {}
    residues = {
        "query": _read(block.query, block.query_bias, *norm, with_bias=True),
        "key": _read(block.key, block.key_bias, *norm, with_bias=rotary),
        "value": _read(block.value, None, *norm, with_bias=False),
        "output": _centred(_residues(block.output).swapaxes(-1, -2), form),
    }
    ranks = {name: [rank_mod_p(matrix, P) for matrix in maps] for name, maps in residues.items()}

    def exact(name: str, place: int) -> npt.NDArray[Any]:
        if name not in exactly:
            exactly[name] = _seen_exactly(block, form, name, rotary)
        return np.asarray(exactly[name][place])

    def found(first: str, i: int, second: str, j: int) -> RankBounds:
        least = min(residues[first][i].shape + residues[second][j].shape)
        if ranks[first][i] == ranks[second][j] == residues[first][i].shape[0]:
            return RankBounds(least, least)
        left, right = residues[first][i].T.astype(np.float64), residues[second][j].astype(np.float64)
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
    return int((used if bias is None else used | (np.asarray(bias[place]) != 0)).sum())


def _product(left: npt.NDArray[np.float64], right: npt.NDArray[np.float64]) -> Residues:
    found = matmul_mod(reduce_mod(left, P), reduce_mod(right, P), P)
    return np.asarray(found.astype(np.int64) % P)


def _residues(array: Any) -> Residues:
    array = np.asarray(array)
    if array.dtype == object:
        numbers = [int(x.numerator) * pow(int(x.denominator), -1, P) % P for x in array.ravel()]
        return np.array(numbers, dtype=np.int64).reshape(array.shape)
    return residues_of(array, P) % P


def _centred(maps: Residues, form: CheckpointForm) -> Residues:
    if form.norm != "layer":
        return maps
    mean = maps.sum(axis=-1, keepdims=True) % P * pow(form.width, -1, P) % P
    return np.asarray((maps - mean) % P)


def _read(weight: Any, bias: Any, gain: Any, norm_bias: Any, form: CheckpointForm, *, with_bias: bool) -> Residues:
    """Maps that read a norm, `(n, a, d)`, with the bias as a last column if it is seen and there is one."""
    maps = _residues(weight)
    seen = _centred(maps * _residues(gain) % P, form)
    if not with_bias or (bias is None and norm_bias is None):
        return seen
    column = np.zeros(maps.shape[:-1], dtype=np.int64) if bias is None else _residues(bias)
    if norm_bias is not None:
        column = (column + (maps * _residues(norm_bias) % P).sum(axis=-1)) % P
    return np.concatenate([seen, column[..., None]], axis=-1)


def _seen_exactly(block: Block, form: CheckpointForm, name: str, rotary: bool) -> npt.NDArray[Any]:
    """The same over the rationals, times the width of the stream where the mean is taken out."""
    weight = to_objects(np.asarray(getattr(block, name)))
    if name == "output":
        return _centred_exactly(weight.swapaxes(-1, -2), form)
    gain, norm_bias = (None if x is None else to_objects(np.asarray(x)) for x in (block.norm1_gain, block.norm1_bias))
    seen = _centred_exactly(weight * gain, form)
    bias = getattr(block, f"{name}_bias")
    if name == "value" or (name == "key" and not rotary) or (bias is None and norm_bias is None):
        return seen
    column = np.zeros(weight.shape[:-1], dtype=object) if bias is None else to_objects(np.asarray(bias))
    if norm_bias is not None:
        column = column + weight @ norm_bias
    return np.concatenate([seen, column[..., None]], axis=-1)


def _centred_exactly(maps: npt.NDArray[Any], form: CheckpointForm) -> npt.NDArray[Any]:
    if form.norm != "layer":
        return maps
    return np.asarray(maps * form.width - maps.sum(axis=-1, keepdims=True))
