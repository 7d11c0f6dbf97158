"""Theorem 3 at given weights: (P1) to (P5), for norms in front of and behind the halves of layers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from lightning_sym.checkpoints.model import Block, Checkpoint, CheckpointForm
from lightning_sym.checkpoints.understood import Walker, block_of
from lightning_sym.exact.modular import rank_mod_p, row_basis_mod_p
from lightning_sym.limits import Work
from lightning_sym.rings.midpoint_radius import MidpointRadius
from lightning_sym.rings.prime_field import random_residues, reduce_mod
from lightning_sym.rings.rates import RATES
from lightning_sym.whole_models.brackets import commuting_halves
from lightning_sym.whole_models.condition import MUST, ModelCondition, shown, unknown
from lightning_sym.whole_models.covered import frequencies, read_at_one_token
from lightning_sym.whole_models.images import (
    PAIRS,
    Integers,
    LayerImage,
    Neurons,
    P,
    Residues,
    integers,
    inverses,
    of,
    product,
    times,
)
from lightning_sym.whole_models.walls import Wall, gates_in_balls, open_columns, open_neurons, walls_of

SEED = 20261130


def behind_conditions(
    checkpoint: Checkpoint, images: Sequence[LayerImage], work: Work
) -> tuple[ModelCondition, ModelCondition, ModelCondition, ModelCondition]:
    """(P1) to (P3), and of (P4) what is about gains and gates; the rest is tested as (C3) to (C5) are."""
    form = checkpoint.form
    seconds = RATES["residues"].eliminated * form.layers * 12 * form.width**3
    if not work.allows(seconds):
        why = f"width {form.width:,}, for which it takes about {seconds:,.3g} s"
        return tuple(unknown(name, why) for name in ("(P1)", "(P2)", "(P3)", "(P4)"))  # type: ignore[return-value]
    work.spend(seconds, "norms behind halves")
    source, walls = np.random.default_rng(SEED), list[tuple[Wall, Wall]]()
    gains, second = list[Integers](), shown("(P2)", f"two walls and one form in each of {form.layers:,} layers")
    for layer in range(form.layers):
        block = block_of(checkpoint, layer, Walker.GROUPS)
        gains.append(np.abs(np.asarray(block.behind2_gain)))
        if not _attention_is_seen(block, form, source):
            second = unknown("(P2)", f"layer {layer}: gains behind attention may be seen only in part, modulo {P}")
        if (found := walls_of(block, form.activation, source)) is None:
            second = unknown("(P2)", f"layer {layer}: no walls were found that show it")
        else:
            walls.append(found)
    first = unknown("(P1)", "walls are not found for all layers")
    if len(walls) == form.layers:
        first = _no_squares(checkpoint, [pair[0] for pair in walls])
    return first, second, _brackets(checkpoint), _coordinates(gains, images)


def _brackets(checkpoint: Checkpoint) -> ModelCondition:
    found = commuting_halves(checkpoint)
    if found is not None:
        first, second = (f"{('attention', 'MLP')[half % 2]} {half // 2}" for half in found)
        return unknown("(P3)", f"{first} and {second} may commute")
    return ModelCondition("(P3)", MUST["(P3)"], True, "brackets lie in balls that are apart")


def _coordinates(gains: Sequence[Integers], images: Sequence[LayerImage]) -> ModelCondition:
    stacked = np.stack(gains)
    if not stacked.all() or len(np.unique(stacked.T, axis=0)) < stacked.shape[1]:
        return unknown("(P4)", "gains behind MLPs that are 0, or equal in size at two coordinates in all layers")
    for number, layer in enumerate(images):
        if not layer.alive.all():
            return unknown("(P4)", f"layer {number}: a column or a factor of a neuron may be 0")
        gates = integers(layer.gates)
        if not gates[:, 0].all() or len(np.unique(_ratios(gates), axis=0)) < len(gates):
            return unknown("(P4)", f"layer {number}: two gates may be parallel")
    return shown("(P4)", "gains, and gates pair by pair")


def _ratios(rows: Integers) -> Integers:
    """Return rows divided by their first entry, which is not 0."""
    return np.asarray(rows[:, 1:] * inverses(rows[:, 0])[:, None] % P)


def capped_condition(layers: Sequence[LayerImage], form: CheckpointForm) -> ModelCondition:
    """(P5) with caps: the forms of the largest frequency are not proportional, as complex ones, inside of a layer."""
    sizes = [float(each.mid()) for each in frequencies(form)]
    first, root = int(np.argmax(sizes)), pow(2, (P - 1) // 4, P)
    for number, layer in enumerate(layers):
        along, across = layer.forms.reshape(len(layer.forms), 2, len(sizes), PAIRS)[:, :, first].swapaxes(0, 1)
        values = (along + root * across) % P
        if not values[:, 0].all() or len(np.unique(_ratios(values), axis=0)) < len(values):
            return unknown("(P5), heads", f"layer {number}: two heads may have proportional forms")
    return shown("(P5), heads", "forms of the largest frequency")


def _attention_is_seen(block: Block, form: CheckpointForm, source: np.random.Generator) -> bool:
    """Return whether (P2) is shown for the attention of a layer.

    Below rank `d - 1` squares of the rows of its map must be independent. At full rank they are, and the inverse of the
    Gram matrix of the rows must not be diagonal and rank 1 together.
    """
    width, rank = form.width, read_at_one_token(form)
    if rank == width - 1:
        return False
    if rank < width:
        left, right = (random_residues(source, (width, width + 4), P).entries for _ in range(2))
        squares = times(_map(block, form, left), _map(block, form, right))
        return rank_mod_p(squares, P) == width
    whole = _map(block, form, np.eye(width))
    one, other = _halves(width, source)
    solved = row_basis_mod_p(integers(np.concatenate([product(whole, whole.T), other], axis=1)), P)
    if len(solved) < width or (np.argmax(solved != 0, axis=1) != np.arange(width)).any():
        return False
    return bool(_minor(product(one.T, solved[:, width:].astype(np.float64))))


def _map(block: Block, form: CheckpointForm, vectors: Residues) -> Residues:
    """Return what the attention of a layer makes of one token."""
    read = product(of(block.value), times(vectors, of(block.norm1_gain)[:, None]))
    outputs = product(of(block.output), np.repeat(read, form.heads // form.groups, axis=0))
    return reduce_mod(outputs.sum(axis=0), P)


def _halves(width: int, source: np.random.Generator) -> tuple[Residues, Residues]:
    """Return two vectors in the first half of the coordinates, and two in the second: multiples of 1 are not seen."""
    found = random_residues(source, (width, 4), P).entries
    half = width // 2
    found[half:, :2] = 0
    found[:half, 2:] = 0
    return found[:, :2], found[:, 2:]


def _minor(values: Residues) -> int:
    (a, b), (c, d) = integers(values)
    return int((a * d - b * c) % P)


def _no_squares(checkpoint: Checkpoint, walls: Sequence[Wall]) -> ModelCondition:
    """(P1): each length is 0 somewhere to first order where no other one is.

    At the wall of an MLP its own length is an irreducible form in shares of open neurons, and all others are not 0. The
    forms of attention, and those under the roots of queries and keys, are compared among themselves.
    """
    form, source = checkpoint.form, np.random.default_rng(SEED)
    vectors = np.stack([wall.vectors[:, 0] for wall in walls], axis=1)
    balls = MidpointRadius(
        *(
            np.concatenate([getattr(wall.shown, part)[:, [place]] for place in (0, 1) for wall in walls], axis=1)
            for part in MidpointRadius.__slots__
        )
    )
    halves, seen = np.concatenate(_halves(form.width, source), axis=1), set[bytes]()
    for layer in range(form.layers):
        block = block_of(checkpoint, layer, Walker.GROUPS)
        others = np.delete(np.arange(form.layers), layer)
        opened = open_neurons(gates_in_balls(block), balls, form.activation)
        written = open_columns(Neurons.of(block), vectors, opened.open)
        if not opened.decided[:, others].all() or not _squares(written)[others].all():
            return unknown("(P1)", f"layer {layer}: the MLP may be short at the wall of another")
        for place, (what, maps) in enumerate(_forms(block, form, np.concatenate([vectors, halves], axis=1))):
            values = product(maps[:, -4:-2].T, maps[:, -2:])
            if not _squares(maps[:, :-4]).all() or (not place and not _minor(values)) or not integers(values)[0, 0]:
                return unknown("(P1)", f"layer {layer}: {what} may be short at a wall, or degenerate")
            key = _ratios(integers(values.reshape(1, 4))).tobytes()
            if key in seen:
                return unknown("(P1)", f"layer {layer}: the lengths of {what} may be those of another form")
            seen.add(key)
    return shown("(P1)", f"walls of {len(walls):,} MLPs and {len(seen):,} forms")


def _forms(block: Block, form: CheckpointForm, vectors: Residues) -> Iterator[tuple[str, Residues]]:
    """Yield what attention makes of vectors, and its queries and keys where norms divide by their lengths."""
    yield "attention", _map(block, form, vectors)
    for name in ("query", "key") if form.head_norms else ():
        made = product(of(getattr(block, name)), times(vectors, of(block.norm1_gain)[:, None]))
        yield from ((f"{name} {number}", each) for number, each in enumerate(made))


def _squares(columns: Residues) -> Integers:
    """Return scalar products of columns with themselves."""
    return integers(reduce_mod(times(columns, columns).sum(axis=0), P))
