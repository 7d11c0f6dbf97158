"""(C3): that no set of neurons may have its gates turned over, by an elimination over all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lightning_sym.checkpoints.model import Checkpoint, CheckpointForm
from lightning_sym.checkpoints.understood import Walker, block_of
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.limits import Work
from lightning_sym.rings.prime_field import reduce_mod
from lightning_sym.rings.rates import RATES
from lightning_sym.whole_models.condition import ModelCondition, shown, unknown
from lightning_sym.whole_models.covered import seen_width
from lightning_sym.whole_models.images import Neurons, P, Residues, integers, product, shown_vectors, times

SEED = 20261125


def signs_condition(checkpoint: Checkpoint, form: CheckpointForm, work: Work, memory: int) -> ModelCondition:
    """Return (C3): what the neurons write without their gates is independent, on isotropic vectors.

    With norms behind halves each layer is asked by itself.
    """
    layers = range(form.layers)
    for part in ([layer] for layer in layers) if form.norms_behind else (layers,):
        if (why := _dependent(checkpoint, part, work, memory)) is not None:
            return unknown("(C3)", f"layer {part[0]}: {why}" if form.norms_behind else why)
    count = form.layers * form.inner
    each = ", layer by layer" * bool(form.norms_behind)
    return shown("(C3)", f"rank {count:,} of {count:,} neurons{each}")


def _dependent(checkpoint: Checkpoint, layers: Sequence[int], work: Work, memory: int) -> str | None:
    """Return why the neurons of layers are not shown to be independent; `None` where they are."""
    form = checkpoint.form
    count, width = len(layers) * form.inner, seen_width(form)
    room = width * (width * (width + 1) // 2 - 1 if form.has_gate else width)
    if count > room:
        return f"{count:,} neurons, and only {room:,} dimensions in which they may be independent"
    points = count + 4
    seconds, size = RATES["residues"].eliminated * count * count * points, 24 * count * points
    if not work.allows(seconds) or size > memory:
        return f"{count:,} neurons, for which it takes about {seconds:,.3g} s and {size / 2**30:,.3g} GiB"
    work.spend(seconds, "signs of gates")
    source = np.random.default_rng(SEED)
    columns, vectors = shown_vectors(source, form, points), shown_vectors(source, form, points)
    if form.has_gate:
        vectors = _isotropic(vectors, source, form)
    rows = []
    for layer in layers:
        neurons = Neurons.of(block_of(checkpoint, layer, Walker.GROUPS))
        rows.append(times(product(columns.T, neurons.columns).T, neurons.without_gates(vectors)))
    rank = rank_mod_p(np.concatenate(rows), P, overwrite=True)
    return None if rank == count else f"rank {rank:,} of {count:,} neurons, modulo {P}"


def _isotropic(vectors: Residues, source: np.random.Generator, form: CheckpointForm) -> Residues:
    """Return vectors whose squares add up to 0, in the direction of others from given ones."""
    found = vectors.copy()
    for place in range(vectors.shape[1]):
        while (moved := moved_onto_cone(found[:, place], shown_vectors(source, form, 1)[:, 0])) is None:
            found[:, place] = shown_vectors(source, form, 1)[:, 0]
        found[:, place] = moved
    return found


def moved_onto_cone(vector: Residues, direction: Residues) -> Residues | None:
    """Return `vector + t direction` with squares that add up to 0; `None` where there is no such `t`."""
    square, mixed, last = (
        int(integers(product(a[None], b[:, None]))[0, 0])
        for a, b in ((direction, direction), (vector, direction), (vector, vector))
    )
    if square == 0 or (root := _root(mixed * mixed - square * last)) is None:
        return None
    step = (root - mixed) * pow(square, -1, P) % P
    return reduce_mod(vector + reduce_mod(direction * float(step), P), P)


def _root(number: int) -> int | None:
    """Return a square root modulo the prime, which is 5 modulo 8; `None` where there is none."""
    root = pow(number, (P + 3) // 8, P)
    for turned in (root, root * pow(2, (P - 1) // 4, P) % P):
        if (turned * turned - number) % P == 0:
            return turned
    return None
