"""Theorem 3 at given weights, for norms in front of and behind halves of layers: docs/whole-models.md, Proposition 11.

A wall is a vector `x` that is orthogonal to the gates of `d - 1` neurons of a layer. Along `x + i y`, `y` as long as
`x` and orthogonal to it, these neurons have any shares, as if they were free letters; of the others each is open or
shut, and what is left is algebra modulo a prime.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import lcm
from typing import NamedTuple

import numpy as np

from lightning_sym.checkpoints.affine_factors import Affine, in_every_column
from lightning_sym.checkpoints.exact_arrays import to_objects
from lightning_sym.checkpoints.model import Block, Checkpoint, CheckpointForm
from lightning_sym.checkpoints.transformer import mlp, normed
from lightning_sym.checkpoints.understood import Walker, block_of
from lightning_sym.exact.modular import rank_mod_p, row_basis_mod_p
from lightning_sym.exact.rational import null_space
from lightning_sym.limits import Work
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.balls import precision
from lightning_sym.rings.dual_balls import DualBalls
from lightning_sym.rings.prime_field import random_residues, reduce_mod
from lightning_sym.whole_models.condition import MUST, ModelCondition, shown, unknown
from lightning_sym.whole_models.covered import read_at_one_token
from lightning_sym.whole_models.images import Integers, LayerImage, Neurons, P, Residues, integers, of, product, times
from lightning_sym.whole_models.signs import moved_onto_cone

SEED, BITS, TRIES = 20261130, 128, 24
"""Of random numbers; of balls; and sets of neurons that are tried for the two walls of a layer."""


class Wall(NamedTuple):
    """Neurons, vectors `x` and `y` as columns of a rational matrix, and two isotropic `x + i y` modulo the prime."""

    neurons: Integers
    sides: ObjectArray
    vectors: Residues


def behind_conditions(checkpoint: Checkpoint, images: Sequence[LayerImage], work: Work) -> tuple[ModelCondition, ...]:
    """Return (P1) to (P3), and of (P4) what is about gains and gates; the rest is tested as (C3) to (C5) are."""
    form = checkpoint.form
    seconds = 1e-5 * (form.layers + TRIES) * form.layers * form.inner * form.width * (1 + form.width / 64)
    if not work.begins(seconds, "norms behind halves"):
        why = f"width {form.width:,}, for which it takes about {seconds:,.3g} s"
        return tuple(unknown(name, why) for name in ("(P1)", "(P2)", "(P3)", "(P4)"))
    source = np.random.default_rng(SEED)
    blocks = [block_of(checkpoint, layer, Walker.GROUPS) for layer in range(form.layers)]
    seen = [_attention_is_seen(block, form, source) for block in blocks]
    walls = [walls_of(block, form, source) for block in blocks]
    second = shown("(P2)", f"walls and forms of {form.layers:,} layers")
    if not all(seen):
        second = unknown("(P2)", f"layer {seen.index(False)}: gains behind attention may be seen only in part")
    if [] in walls:
        second = unknown("(P2)", f"layer {walls.index([])}: gains behind the MLP may be seen only in part")
    first = unknown("(P1)", "walls are not found in all layers")
    if [] not in walls:
        short = _squares(blocks, form, [pair[0] for pair in walls])
        first = unknown("(P1)", short) if short else shown("(P1)", f"walls of {form.layers:,} MLPs, and forms")
    third = ModelCondition("(P3)", MUST["(P3)"], True, "brackets lie in balls that are apart")
    if (pair := commuting_halves(blocks, form)) is not None:
        halves = (f"{('attention', 'the MLP')[half % 2]} of layer {half // 2}" for half in pair)
        third = unknown("(P3)", f"{' and '.join(halves)} may commute")
    return first, second, third, _coordinates(blocks, images)


def _coordinates(blocks: Sequence[Block], images: Sequence[LayerImage]) -> ModelCondition:
    gains = np.stack([np.abs(np.asarray(block.behind2_gain)) for block in blocks], axis=1)
    if len(set(map(tuple, gains.tolist()))) < len(gains):
        return unknown("(P4)", "gains behind MLPs are equal in size at two coordinates in all layers")
    for number, layer in enumerate(images):
        if not layer.alive.all() or not all_apart(integers(layer.gates)):
            return unknown("(P4)", f"layer {number}: a column or a factor may be 0, or two gates parallel")
    return shown("(P4)", "gains, and gates pair by pair")


def all_apart(rows: Integers) -> bool:
    """Return whether rows are shown to be no multiples of each other."""
    ratios = {tuple(int(x) * pow(int(row[0]), -1, P) % P for x in row[1:]) for row in rows if row[0]}
    return len(ratios) == len(rows)


def exact_gates(block: Block) -> ObjectArray:
    """Return the gates of a layer with the gain in front, as fractions."""
    return to_objects(np.asarray(block.gate)) * to_objects(np.asarray(block.norm2_gain))


def open_neurons(gates: ObjectArray, wall: Wall, activation: str) -> Integers:
    """Return 1 for neurons that are open far out along a wall, -1 for those that are shut, 0 for those between."""
    x, y = wall.sides.T
    along, across = gates @ x, gates @ y
    if activation == "gelu_new":  # the sign of the real part of the cube, where y is made as long as x
        along = along * (along**2 * (y @ y) - 3 * across**2 * (x @ x))
    return np.asarray((along > 0).astype(np.int64) - (along < 0))


def open_columns(neurons: Neurons, vectors: Residues, opened: Integers) -> Residues:
    """Return what open neurons write of isotropic vectors."""
    return product(neurons.columns, np.where(opened[:, None] > 0, neurons.without_gates(vectors), 0.0))


def walls_of(block: Block, form: CheckpointForm, source: np.random.Generator) -> list[Wall]:
    """Return two walls of a layer that show (P2) for its MLP, or nothing."""
    neurons, gates, found = Neurons.of(block), exact_gates(block), list[Wall]()
    for _ in range(TRIES):
        wall = _wall(gates, source.permutation(form.inner)[: form.width - 1], source)
        if wall is None or not shows(neurons, open_neurons(gates, wall, form.activation), wall):
            continue
        found = [*found[-1:], wall]
        if rank_mod_p(neurons.columns[:, np.concatenate([each.neurons for each in found])], P) == form.width:
            return found
    return []


def _wall(gates: ObjectArray, on: Integers, source: np.random.Generator) -> Wall | None:
    normals = null_space(gates[on])
    x = np.array(normals[0], dtype=object) * lcm(*(entry.denominator for entry in normals[0]))
    normal = of(x)[:, None]
    square, vectors = product(normal.T, normal), list[Residues]()
    if len(normals) > 1 or not integers(square)[0, 0]:
        return None
    drawn = np.array(source.integers(-9, 10, len(x)).tolist(), dtype=object)
    while len(vectors) < 2:
        beside = random_residues(source, (len(x), 2), P).entries
        beside = reduce_mod(times(beside, square) - times(normal, product(normal.T, beside)), P)
        if (moved := moved_onto_cone(reduce_mod(normal[:, 0] + beside[:, 0], P), beside[:, 1])) is not None:
            vectors.append(moved)
    sides = np.stack([x * int(source.choice([-1, 1])), drawn * (x @ x) - x * (x @ drawn)], axis=1)
    return Wall(on, sides, np.stack(vectors, axis=1))


def shows(neurons: Neurons, opened: Integers, wall: Wall) -> bool:
    """Return whether no form in what the MLP writes is a square but that of what is orthogonal to the wall's columns.

    In the basis of what open neurons write and the wall's columns, no functional that sees one column alone may see
    nothing of the others, nor nothing if that neuron is open.
    """
    on = wall.neurons
    if not opened[np.setdiff1d(np.arange(len(opened)), on)].all():
        return False
    written, own = open_columns(neurons, wall.vectors, opened), integers(neurons.without_gates(wall.vectors)[on])
    solved = _solved(np.concatenate([written[:, :1], neurons.columns[:, on]], axis=1), written[:, 1:])
    if solved is None:
        return False
    (along,), others = integers(solved[0]), integers(solved[1:, 0])
    return bool(np.all([own[:, 0], others, (others + own[:, 1] - along * own[:, 0]) % P]))


def _solved(matrix: Residues, right: Residues) -> Residues | None:
    """Return `matrix^-1 right`; `None` where the square matrix is not shown to be invertible."""
    size = len(matrix)
    found = row_basis_mod_p(integers(np.concatenate([matrix, right], axis=1)), P)
    return found[:, size:].astype(np.float64) if np.array_equal(found[:, :size], np.eye(size)) else None


def _attention_is_seen(block: Block, form: CheckpointForm, source: np.random.Generator) -> bool:
    """Return whether (P2) is shown for the attention of a layer.

    Below rank `d - 1` squares of the rows of its map must be independent. At full rank they are, and the inverse of the
    Gram matrix of the rows must not be the sum of a diagonal matrix and one of rank 1.
    """
    width, rank = form.width, read_at_one_token(form)
    if rank < width:
        left, right = (random_residues(source, (width, width + 4), P).entries for _ in range(2))
        squares = times(_map(block, form, left), _map(block, form, right))
        return rank < width - 1 and rank_mod_p(squares, P) == width
    whole, sides = _map(block, form, np.eye(width)), _sides(width, source)
    solved = _solved(product(whole, whole.T), sides[:, 2:])
    return solved is not None and bool(_minor(product(sides[:, :2].T, solved)))


def _map(block: Block, form: CheckpointForm, vectors: Residues) -> Residues:
    """Return what the attention of a layer makes of one token."""
    read = product(of(block.value), times(vectors, of(block.norm1_gain)[:, None]))
    written = product(of(block.output), np.repeat(read, form.heads // form.groups, axis=0))
    return reduce_mod(written.sum(axis=0), P)


def _sides(width: int, source: np.random.Generator) -> Residues:
    """Return two vectors in the first half of the coordinates, and two in the second: multiples of 1 are not seen."""
    found, half = random_residues(source, (width, 4), P).entries, width // 2
    found[half:, :2] = found[:half, 2:] = 0
    return found


def _minor(values: Residues) -> int:
    (a, b), (c, d) = integers(values)
    return int((a * d - b * c) % P)


def _squares(blocks: Sequence[Block], form: CheckpointForm, walls: Sequence[Wall]) -> str | None:
    """Return why (P1) is not shown; `None` where each length is 0 somewhere to first order, and no other one there.

    At the wall of an MLP its own length is an irreducible form in shares of open neurons, and all others are not 0. The
    forms of attention, and those under the roots of queries and keys, are compared among themselves.
    """
    vectors = np.stack([wall.vectors[:, 0] for wall in walls], axis=1)
    sides, seen = _sides(form.width, np.random.default_rng(SEED)), list[Integers]()
    for layer, block in enumerate(blocks):
        neurons, gates = Neurons.of(block), exact_gates(block)
        for other, wall in enumerate(walls):
            opened = open_neurons(gates, wall, form.activation)
            written = open_columns(neurons, wall.vectors[:, :1], opened)
            if other != layer and not (opened.all() and integers(product(written.T, written)).all()):
                return f"the MLP of layer {layer} may be short at the wall of layer {other}"
        for what, maps in _forms(block, form, np.concatenate([vectors, sides], axis=1)):
            values, far = product(maps[:, -4:-2].T, maps[:, -2:]), maps[:, :-4]
            if not integers(times(far, far).sum(axis=0)).all() or (what == "attention" and not _minor(values)):
                return f"layer {layer}: {what} may be short at a wall, or degenerate"
            seen.append(integers(values).reshape(4))
    return None if all_apart(np.stack(seen)) else "two halves, or queries and keys, may have one length"


def _forms(block: Block, form: CheckpointForm, vectors: Residues) -> Iterator[tuple[str, Residues]]:
    """Yield what attention makes of vectors, and its queries and keys where norms divide by their lengths."""
    yield "attention", _map(block, form, vectors)
    for name in ("query", "key") if form.head_norms else ():
        made = product(of(getattr(block, name)), times(vectors, of(block.norm1_gain)[:, None]))
        yield from ((f"{name} {number}", each) for number, each in enumerate(made))


def commuting_halves(blocks: Sequence[Block], form: CheckpointForm) -> tuple[int, int] | None:
    """Return two halves, from 0, whose brackets at a point of the sphere are not shown to differ, in balls; or `None`.

    Example:
        >>> from lightning_sym.testing import small_checkpoint
        >>> one = small_checkpoint("gemma2")
        >>> commuting_halves(one.blocks, one.form)
    """
    drawn = np.random.default_rng(SEED).integers(1, 9, form.width).tolist()
    turned = Fraction(2 * sum(drawn), sum(x * x for x in drawn))
    point = np.array([[1 - turned * x] for x in drawn])  # a reflection of the ones, as long as the root of the width
    blocks = [replace(block, **{name: to_objects(np.asarray(x)) for name, x in block.present()}) for block in blocks]
    with precision(BITS):
        still = DualBalls.of(point)
        at, written = still.values(), np.stack([half.values() for x in blocks for half in halves(x, form, still)])
        moving = DualBalls(at, written - at * (at.T @ written) / form.width)
        moved = [half.derivative() for block in blocks for half in halves(block, form, moving)]
        pairs = ((j, i) for i in range(len(moved)) for j in range(i))
        return next(((j, i) for j, i in pairs if not (moved[i][j] != moved[j][i]).any()), None)


def halves(block: Block, form: CheckpointForm, point: DualBalls) -> Iterator[DualBalls]:
    """Yield what both halves of a layer add at one token, behind norms."""
    values = np.repeat(block.value, form.heads // form.groups, axis=0).reshape(-1, form.width)
    outputs = np.moveaxis(block.output, 0, 1).reshape(form.width, -1)
    attention = Affine(outputs) @ (Affine(values) @ (point * in_every_column(block.norm1_gain, point)))
    yield normed(attention, form, block.behind1_gain)
    yield normed(mlp(point * in_every_column(block.norm2_gain, point), block, form), form, block.behind2_gain)
