"""What the conditions see of a layer: its maps modulo a prime, on a few random vectors that norms can show.

A rational number is taken to its residue, so that a relation between weights stays one between residues: what is
independent, or different, modulo the prime is so over the rationals, and nothing is ever refuted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.model import Block, CheckpointForm
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.rings.arrays import residues
from lightning_sym.rings.prime_field import PRIMES, matmul_mod, random_residues, reduce_mod

P = PRIMES[0]
Residues = npt.NDArray[np.float64]
"""Centred residues modulo `P`."""
Integers = npt.NDArray[np.int64]

GATES, PAIRS = 4, 2
"""Vectors on which gates are looked at, and pairs of them on which the forms of heads are."""


def of(array: Any) -> Residues:
    """Return the residues of an array of exact numbers."""
    return reduce_mod(residues(array, P).astype(np.float64), P)


def product(first: Residues, second: Residues) -> Residues:
    """Return the matrix product."""
    return matmul_mod(first, second, P)


def times(first: Residues, second: Residues) -> Residues:
    """Return the product entry by entry."""
    return reduce_mod(first * second, P)


def integers(array: Residues) -> Integers:
    """Return the residues as integers from 0 on."""
    return np.mod(array.astype(np.int64), P)


def seen(maps: Residues, form: CheckpointForm) -> Residues:
    """Return maps restricted to what norms show, columns being the stream.

    With LayerNorm they are times the width, less their mean.
    """
    if form.norm == "rms":
        return maps
    return reduce_mod(reduce_mod(maps * form.width, P) - reduce_mod(maps.sum(axis=-1, keepdims=True), P), P)


@dataclass(frozen=True, eq=False)
class Vectors:
    """Random vectors `(d, n)` that a norm can show, and what is added to a constant.

    Attributes:
        gates: on which the gates are looked at.
        left, right: pairs on which the forms of heads are.
        constants: of the left ones, one number each.
        columns: functionals on what is written.
    """

    gates: Residues
    left: Residues
    right: Residues
    constants: Residues
    columns: Residues

    @classmethod
    def draw(cls, form: CheckpointForm, seed: int) -> Vectors:
        """Return random vectors from a seed; with LayerNorm their sums are 0."""
        source = np.random.default_rng(seed)
        drawn = [shown_vectors(source, form, count) for count in (GATES, PAIRS, PAIRS, PAIRS)]
        constants = random_residues(source, (1, PAIRS), P).entries
        return cls(drawn[0], drawn[1], drawn[2], constants, drawn[3])


def shown_vectors(source: np.random.Generator, form: CheckpointForm, count: int) -> Residues:
    """Return random vectors `(d, count)`; with LayerNorm of sum 0."""
    found = random_residues(source, (form.width, count), P).entries
    if form.norm == "layer":
        found[-1] = reduce_mod(-found[:-1].sum(axis=0), P)
    return found


@dataclass(frozen=True, eq=False)
class LayerImage:
    """What is kept of a layer.

    Attributes:
        gates: what gates are on the vectors, `(m, n)`.
        alive: whether the column and the factor of each neuron are shown not to be 0.
        forms: of each head what its forms are on the pairs; with rotary positions two numbers a frequency. Behind them
            the squares of the lengths of queries and keys, where norms divide by them.
        short: the maps of heads whose rank is not shown to be the head's width.
        alike: pairs of groups that are not shown to read or to be asked differently.
    """

    gates: Residues
    alive: npt.NDArray[np.bool_]
    forms: Integers
    short: tuple[str, ...]
    alike: tuple[tuple[int, int], ...]


def image(block: Block, form: CheckpointForm, vectors: Vectors, *, rotary: bool) -> LayerImage:
    """Return what the conditions see of a layer."""
    neurons = Neurons.of(block)
    heads = {name: of(getattr(block, name)) for name in ("query", "key", "value", "output")}
    gain, bias = of(block.norm1_gain), residues_or_zero(block.norm1_bias, form.width)
    constant = constants_of(heads["query"], bias, block.query_bias)
    queries = product(heads["query"], times(vectors.left, gain[:, None]))
    queries = reduce_mod(queries + times(constant[..., None], vectors.constants), P)
    keys = product(heads["key"], times(vectors.right, gain[:, None]))
    queries, keys, lengths = behind_head_norms(block, queries, keys)
    each = form.heads // form.groups
    for name in ("query", "key") if form.head_norms else ():
        heads[name] = times(heads[name], of(getattr(block, f"{name}_norm_gain"))[:, None])
    folded = {name: seen(times(heads[name], gain), form) for name in ("query", "key", "value")}
    folded["query"] = np.concatenate([folded["query"], constant[..., None]], axis=-1)
    folded["output"] = seen(heads["output"].swapaxes(-1, -2), form)
    short = tuple(
        f"{name} {number}"
        for name, maps in folded.items()
        for number, matrix in enumerate(maps)
        if rank_mod_p(matrix, P) < form.head_width
    )
    return LayerImage(
        product(neurons.gates, times(vectors.gates, neurons.gain[:, None])),
        neurons.alive(vectors),
        np.concatenate([rotary_forms(queries, np.repeat(keys, each, axis=0), rotary=rotary), lengths], axis=1),
        short,
        _alike(folded["value"], folded["key"], lengths[::each, PAIRS:], each, rotary=rotary),
    )


@dataclass(frozen=True, eq=False)
class Neurons:
    """The maps of an MLP: gates and their gain, what each gate is multiplied with, and the columns."""

    gain: Residues
    gates: Residues
    factors: Residues | None
    constants: Residues | None
    columns: Residues

    @classmethod
    def of(cls, block: Block) -> Neurons:
        """Return the neurons of a layer; without gates `up` takes their place, and nothing is multiplied with."""
        gated = block.gate is not None
        factors = of(block.up) if gated else None
        constants = None
        if factors is not None:
            constants = constants_of(factors, residues_or_zero(block.norm2_bias, factors.shape[-1]), block.up_bias)
        gates = of(block.gate if gated else block.up)
        return cls(of(block.norm2_gain), gates, factors, constants, of(block.down))

    def without_gates(self, vectors: Residues) -> Residues:
        """Return what gates and factors are on vectors, multiplied, without activation and constants: `(m, n)`."""
        inputs = times(vectors, self.gain[:, None])
        opened = product(self.gates, inputs)
        return opened if self.factors is None else times(opened, product(self.factors, inputs))

    def alive(self, vectors: Vectors) -> npt.NDArray[np.bool_]:
        """Return which have a column and a factor that are shown not to be 0."""
        found = (product(vectors.columns.T, self.columns) != 0).any(axis=0)
        if self.factors is None or self.constants is None:
            return np.asarray(found)
        values = product(self.factors, times(vectors.left, self.gain[:, None]))
        values = reduce_mod(values + times(self.constants[:, None], vectors.constants), P)
        return np.asarray(found & (values != 0).any(axis=1))


def residues_or_zero(bias: npt.ArrayLike | None, width: int) -> Residues:
    """Return those of a vector; zeros where there is none."""
    return np.zeros(width) if bias is None else of(bias)


def constants_of(maps: Residues, norm_bias: Residues, bias: npt.ArrayLike | None) -> Residues:
    """Return what maps add to everything: their bias, and what they make of that of the norm."""
    found = product(maps, norm_bias[:, None])[..., 0]
    return found if bias is None else reduce_mod(found + of(bias), P)


def behind_head_norms(block: Block, queries: Residues, keys: Residues) -> tuple[Residues, Residues, Integers]:
    """Return queries and keys times the gains of their norms, and of each head squares of lengths.

    The norms divide by these lengths.
    """
    if block.query_norm_gain is None or block.key_norm_gain is None:
        return queries, keys, np.zeros((len(queries), 0), dtype=np.int64)
    of_heads = queries, np.repeat(keys, len(queries) // len(keys), axis=0)
    lengths = [integers(reduce_mod(times(rows, rows).sum(axis=1), P)) for rows in of_heads]
    queries, keys = (
        times(rows, of(gain)[:, None]) for rows, gain in ((queries, block.query_norm_gain), (keys, block.key_norm_gain))
    )
    return queries, keys, np.concatenate(lengths, axis=1)


def rotary_forms(queries: Residues, keys: Residues, *, rotary: bool) -> Integers:
    """Return a row a head, its form on each pair; with rotary positions both forms of each frequency."""
    if not rotary:
        return integers(reduce_mod(times(queries, keys).sum(axis=1), P))
    half = queries.shape[1] // 2
    (q, s), (k, m) = ((part[:, :half], part[:, half:]) for part in (queries, keys))
    along = reduce_mod(times(q, k) + times(s, m), P)
    across = reduce_mod(times(q, m) - times(s, k), P)
    return integers(np.concatenate([along, across], axis=1).reshape(len(queries), -1))


def _alike(
    values: Residues, keys: Residues, lengths: Integers, each: int, *, rotary: bool
) -> tuple[tuple[int, int], ...]:
    """Return the pairs of groups for which (C5) is not shown; with one head a group nothing is asked.

    Behind norms keys are known up to what is orthogonal: their lengths on some vectors must differ, if there are any.
    """
    if each == 1:
        return ()
    found = []
    width = values.shape[1]
    for first in range(len(values)):
        for second in range(first):
            if rank_mod_p(np.concatenate([values[first], values[second]]), P) > width:
                continue
            if lengths.size and (lengths[first] != lengths[second]).any():
                continue
            if lengths.size or not _another_basis(keys[first], keys[second], rotary=rotary):
                found.append((second, first))
    return tuple(found)


def _another_basis(first: Residues, second: Residues, *, rotary: bool) -> bool:
    """Return whether keys are shown not to be those of the other group in another basis."""
    if not rotary:
        return rank_mod_p(np.concatenate([first, second]), P) > len(first)
    half = len(first) // 2
    for k in range(half):
        x, y = first[k], first[k + half]
        plane = np.stack([np.concatenate([x, y]), np.concatenate([-y, x])])
        other = np.concatenate([second[k], second[k + half]])[None]
        if rank_mod_p(np.concatenate([plane, other]), P) > len(plane):  # a plane may lose rank modulo the prime
            return True
    return False
