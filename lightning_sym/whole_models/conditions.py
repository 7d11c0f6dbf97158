"""The conditions (C1) to (C5) of docs/whole-models.md at given weights, tested modulo a prime: shown, or not known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from lightning_sym.checkpoints.model import Block, Checkpoint, CheckpointForm, Ends
from lightning_sym.checkpoints.pieces import LAYER, table
from lightning_sym.checkpoints.transformer import unembedding
from lightning_sym.checkpoints.understood import Walker, block_of, ends_of
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.limits import Progress, Work, unheard
from lightning_sym.rings.prime_field import reduce_mod
from lightning_sym.rings.turned_forms import Ball, all_differ
from lightning_sym.whole_models.behind import all_apart, behind_conditions
from lightning_sym.whole_models.condition import MUST, ModelCondition, shown, unknown
from lightning_sym.whole_models.covered import frequencies, has_algebraic_frequencies, seen_width
from lightning_sym.whole_models.forms_in_balls import first_forms
from lightning_sym.whole_models.groups import fixed_biases
from lightning_sym.whole_models.images import (
    GATES,
    PAIRS,
    Integers,
    LayerImage,
    P,
    Residues,
    Vectors,
    image,
    integers,
    of,
    seen,
    times,
)
from lightning_sym.whole_models.signs import signs_condition
from lightning_sym.whole_models.special import SpecialWeights, special_ends, special_layer

SEED = 20261124
BEHIND = {"(C3)": "(P4), signs", "(C4)": "(P5), heads", "(C5), ranks": "(P5), ranks", "(C5), groups": "(P5), groups"}
"""What is asked inside of each layer where norms stand behind halves."""
CANDIDATES = 8
"""Neurons of a layer that are tried for (C2)."""


def ends_condition(ends: Ends, form: CheckpointForm) -> ModelCondition:
    """Return whether (C1) is shown: embedding and unembedding have full rank on what norms show."""
    need = seen_width(form)
    last = unembedding(ends)
    for called, matrix, gain in (("embedding", ends.embedding, None), ("unembedding", last, ends.final_gain)):
        if (rank := _rank_of_rows(matrix, gain, form, need)) < need:
            return unknown("(C1)", f"rank of the {called} {rank} of {need}, modulo {P}")
    return shown("(C1)", f"ranks {need}")


def _rank_of_rows(matrix: object, gain: object, form: CheckpointForm, need: int) -> int:
    """Return the rank of rows as norms see them: of the first ones, and of all where these are too few."""
    rows = np.asarray(matrix)
    found = 0
    for count in (2 * need, len(rows)):
        part = of(rows[:count])
        found = rank_mod_p(seen(part if gain is None else times(part, of(gain)), form), P)
        if found == need or count >= len(rows):
            break
    return found


def tied_condition(ends: Ends, form: CheckpointForm) -> ModelCondition:
    """Return (T): final gains and embedding leave only orders, all signs at once, and turns inside of equal gains."""
    rank = rank_mod_p(of(np.asarray(ends.embedding)[: 2 * form.width]), P)
    if rank < form.width:
        rank = rank_mod_p(of(ends.embedding), P)
    if rank < form.width:
        return unknown("(T)", f"rank of the embedding {rank} of {form.width}, modulo {P}")
    if not hold_the_stream(integers(of(ends.final_gain))):
        return unknown("(T)", f"sums of powers of final gains may allow another final norm, modulo {P}")
    return shown("(T)", f"rank {form.width} of the embedding, and sums of powers of final gains")


def hold_the_stream(gains: Integers) -> bool:
    """Return whether the number of Proposition 7 is not 0, by sums of powers of what final gains, residues, vary by.

    Example:
        >>> hold_the_stream(np.array([1, 4, 9, 16, 25])), hold_the_stream(np.array([1, 1, 1, 1, 2]))
        (True, False)
    """
    d = len(gains)
    varied = [(int(gain) - int(gains.sum()) * pow(d, -1, P)) % P for gain in gains]
    second, third, fourth = (sum(pow(x, k, P) for x in varied) for k in (2, 3, 4))
    first = (d - 2) * (3 * d * (d - 1) * second * fourth - (d * d + d - 3) * second**3)
    return bool((first - 2 * d * (d - 1) * (d - 3) * third**2) % P)


def neurons_condition(layers: Sequence[LayerImage]) -> ModelCondition:
    """Return whether (C2) is shown: on vectors that a gate does not see all others are pairwise independent."""
    for number, layer in enumerate(layers):
        if not layer.alive.all():
            return unknown(
                "(C2)", f"layer {number}, neuron {int(np.argmin(layer.alive))}: a column or a factor may be 0"
            )
    gates = np.concatenate([layer.gates for layer in layers])
    start = 0
    for number, layer in enumerate(layers):
        tried = range(start, start + min(len(layer.gates), CANDIDATES))
        if not any(_is_independent_of_pairs(gates, candidate) for candidate in tried):
            return unknown(
                "(C2)", f"layer {number}: no gate of {len(tried)} is shown to be independent of any two others"
            )
        start += len(layer.gates)
    return shown("(C2)", f"{len(gates):,} gates on {GATES} vectors")


def _is_independent_of_pairs(gates: Residues, candidate: int) -> bool:
    """Return whether a gate is shown to be independent of any two others: these are different points of a plane."""
    own = gates[candidate]
    if own[-1] == 0:
        return False
    ratios = reduce_mod(own[:-1] * float(pow(int(own[-1]) % P, -1, P)), P)
    others = np.delete(gates, candidate, axis=0)
    points = integers(reduce_mod(others[:, :-1] - times(others[:, -1:], ratios), P))
    if not (points[:, 0] != 0).all():
        return False
    inverse = _inverses(points[:, 0])
    places = (points[:, 1] * inverse % P) * P + points[:, 2] * inverse % P
    return len(np.unique(places)) == len(places)


def _inverses(numbers: Integers) -> Integers:
    """Return inverses of residues that are not 0, by their powers."""
    found, power, left = np.ones_like(numbers), numbers, P - 2
    while left:
        if left & 1:
            found = found * power % P
        power, left = power * power % P, left >> 1
    return found


def heads_in_balls(values: list[Ball], form: CheckpointForm) -> ModelCondition:
    """Return whether (C4) is shown: the forms of distance 1 differ at one pair, in balls.

    This is for frequencies that are not shown to be algebraic numbers.
    """
    if (alike := all_differ(values)) is None:
        return ModelCondition(
            "(C4)", MUST["(C4)"], True, f"values of {len(values):,} forms lie in balls that are apart"
        )
    first, second = (f"{place // form.heads}.{place % form.heads}" for place in alike)
    return unknown("(C4)", f"values of heads {first} and {second} lie in balls that meet")


def heads_condition(layers: Sequence[LayerImage], *, inside: bool | None = False) -> ModelCondition:
    """Return (C4): the forms of any two heads, or of those inside of a layer, differ on a few vectors."""
    seen_before: dict[bytes, tuple[int, int]] = {}
    for number, layer in enumerate(layers):
        if inside:
            seen_before = {}
        for head, form_values in enumerate(layer.forms):
            key = form_values.tobytes()
            if key in seen_before:
                other = seen_before[key]
                return unknown(
                    "(C4)", f"heads {other[0]}.{other[1]} and {number}.{head} are alike on all vectors tried"
                )
            seen_before[key] = (number, head)
    return shown("(C4)", f"forms of {sum(len(layer.forms) for layer in layers):,} heads")


def everywhere(
    name: str, layers: Iterable[LayerImage], wrong: Callable[[LayerImage], str], evidence: str
) -> ModelCondition:
    """Return that nothing is wrong in any layer: `wrong` says what, or nothing."""
    reasons = (f"layer {number}: {why}" for number, layer in enumerate(layers) if (why := wrong(layer)))
    first = next(reasons, None)
    return shown(name, evidence) if first is None else unknown(name, first)


def capped_condition(layers: Sequence[LayerImage], form: CheckpointForm) -> ModelCondition:
    """Return (P5) with caps: forms of the largest frequency are not proportional, as complex ones, inside a layer."""
    first, root = int(np.argmax([float(each.mid()) for each in frequencies(form)])), pow(2, (P - 1) // 4, P)

    def wrong(layer: LayerImage) -> str:
        along, across = layer.forms.reshape(len(layer.forms), 2, -1, PAIRS)[:, :, first].swapaxes(0, 1)
        told = has_algebraic_frequencies(form) and all_apart((along + root * across) % P)
        return "two heads may have proportional forms" * (not told)

    return everywhere("(P5), heads", layers, wrong, "forms of the largest frequency")


def ranks_condition(layers: Sequence[LayerImage]) -> ModelCondition:
    """Return whether (C5) is shown for the ranks of the maps of each head."""
    said = f"below the head's width, modulo {P}"
    return everywhere(
        "(C5), ranks",
        layers,
        lambda layer: f"the rank of {layer.short[0]} is {said}" if layer.short else "",
        "ranks of all heads",
    )


def groups_condition(layers: Sequence[LayerImage]) -> ModelCondition:
    """Return whether (C5) is shown for groups: any two of them differ."""
    return everywhere(
        "(C5), groups",
        layers,
        lambda layer: f"groups {' and '.join(map(str, layer.alike[0]))} are not shown to differ" if layer.alike else "",
        "ranks of the values of two groups, or of their keys",
    )


def norms_condition(ends: Ends, layers: Sequence[str | None], form: CheckpointForm) -> ModelCondition:
    """Return whether (N) is shown: what the dimension of gains and biases needs where they are not folded.

    Args:
        ends: before and behind the layers.
        layers: of each what is wrong, if anything.
        form: of the network.
    """
    if not (np.asarray(ends.final_gain) != 0).all():
        return unknown("(N)", "a gain of the final norm is 0")
    for number, why in enumerate(layers):
        if why is not None:
            return unknown("(N)", f"layer {number}: {why}")
    if form.norm == "layer" and not form.tied and _sum_of_ratios(ends) == 0:
        return unknown("(N)", f"the sum of bias over gain of the final norm is 0, modulo {P}")
    return shown("(N)", "gains and biases")


def norms_of(block: Block, form: CheckpointForm) -> str | None:
    """Return what keeps gains and biases of a layer from being counted, if anything."""
    for name, piece in LAYER.items():
        gain = getattr(block, name) if piece.axes[-1].sized and piece.place("stream") is not None else None
        if gain is not None and not (np.asarray(gain) != 0).all():
            return f"an entry of {name} is 0"
    for half in table(form).halves.values():
        there = [getattr(block, name) for name, piece in half.maps.items() if piece.reads]
        seen_by = [(np.asarray(part) != 0).reshape(-1, form.width).any(axis=0) for part in there if part is not None]
        if not np.logical_or.reduce(seen_by).all():
            return f"a coordinate behind {half.norm} is read by nothing"
    return _biases_of(block, form)


def _sum_of_ratios(ends: Ends) -> int:
    gains, biases = integers(of(ends.final_gain)), integers(of(ends.final_bias))
    return 0 if not gains.all() else int((biases * _inverses(gains) % P).sum() % P)


def _biases_of(block: Block, form: CheckpointForm) -> str | None:
    """Return what keeps the biases of a layer from being counted."""
    if form.norm == "layer":
        present = {name for name, _ in block.present()}
        halves = table(form).halves.values()
        pairs = ((map_.name, bias) for half in halves for map_, bias in half.affine if bias is not None)
        if missing := [name for name, bias in pairs if name in present and bias.name not in present]:
            return f"{missing[0]} has no bias beside LayerNorm"
    if block.value_bias is not None and block.output_bias is None and fixed_biases(block, form) is None:
        return "the rank of what values' biases add is not known"
    return None


class ConditionsHere(NamedTuple):
    """What is known at given weights."""

    conditions: tuple[ModelCondition, ...]
    special: tuple[SpecialWeights, ...]


def at_weights(checkpoint: Checkpoint, work: Work, memory: int, progress: Progress | None = None) -> ConditionsHere:
    """Return all conditions, and all that is special, at the weights of a checkpoint; one layer is in memory at a time.

    Example:
        >>> from lightning_sym.testing import small_checkpoint
        >>> for condition in at_weights(small_checkpoint("llama"), Work(), 2**30).conditions:
        ...     print(condition)
        (C1) holds: ranks 16, modulo 4194301
        ...
    """
    form, told = checkpoint.form, progress or unheard
    vectors = Vectors.draw(form, SEED)
    ends = ends_of(checkpoint, Walker.GROUPS)
    images, norms, special = [], [], list(special_ends(checkpoint, ends))
    algebraic, values = form.head_norms or has_algebraic_frequencies(form), list[Ball]()
    for layer in range(form.layers):
        told("conditions", layer, form.layers)
        block = block_of(checkpoint, layer, Walker.GROUPS)
        images.append(image(block, form, vectors, rotary=form.rotation_of(layer) is not None))
        norms.append(norms_of(block, form))
        values += [] if algebraic else first_forms(block, form)
        special += special_layer(layer, block, form, images[-1])
    if form.head_norms and not has_algebraic_frequencies(form):  # then lengths alone must tell heads apart
        images = [replace(each, forms=each.forms[:, -2 * PAIRS :]) for each in images]
    heads = heads_condition(images, inside=form.norms_behind) if algebraic else heads_in_balls(values, form)
    if form.norms_behind and form.score_cap is not None:
        heads = (
            capped_condition(images, form) if algebraic else unknown("(P5), heads", "frequencies may not be algebraic")
        )
    last = (heads, ranks_condition(images), groups_condition(images), norms_condition(ends, norms, form))
    signs = signs_condition(checkpoint, form, work, memory)
    if form.norms_behind:
        last = (signs, *last[:-1])
        inside = tuple(replace(c, name=(name := BEHIND.get(c.name, c.name)), must=MUST[name]) for c in last)
        lengths = behind_conditions(checkpoint, images, work)
        found = (ends_condition(ends, form), *lengths, *inside, norms_condition(ends, norms, form))
        return ConditionsHere(found, tuple(special))
    tied = (tied_condition(ends, form),) if form.tied and form.norm == "layer" else ()
    found = (ends_condition(ends, form), *tied, neurons_condition(images), signs, *last)
    return ConditionsHere(found, tuple(special))
