"""What a symmetry moved in most pieces and not in some: parts of it left out, piece by piece.

A layer, or the ends, of the first behind the symmetry that was found is the scene in which other mistakes are made.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import fields, replace

import numpy as np

from lightning_sym.checkpoints.bases import GAUGES
from lightning_sym.checkpoints.ends_accounts import TALL, EndsFound, compare_ends
from lightning_sym.checkpoints.identity import stored_types
from lightning_sym.checkpoints.layer_accounts import LayerFound
from lightning_sym.checkpoints.measured import Measured
from lightning_sym.checkpoints.mistaken_scenes import Arrays, Change, Scene, wide
from lightning_sym.checkpoints.model import Array, Block, Checkpoint, Ends
from lightning_sym.checkpoints.pieces import LAYER, NUMBERS
from lightning_sym.checkpoints.rewritings import apply
from lightning_sym.checkpoints.searched import Searched
from lightning_sym.checkpoints.stream import Stream
from lightning_sym.checkpoints.symmetry import LayerSymmetry
from lightning_sym.checkpoints.understood import Walker, ends_of
from lightning_sym.checkpoints.units import unit_at
from lightning_sym.checkpoints.walk import Differences
from lightning_sym.errors import BadInput, TooLarge

PARTS = {"stream": "layer-not-turned", "scale": "scale-one-side", "heads": "heads-one-side"} | {
    part: "scale-one-side" for _, part, _ in GAUGES
} | {f"gain{number}": "gain-not-folded" for number in NUMBERS}  # fmt: skip
"""By part of a symmetry, the mistake of leaving it out in a map; in a bias it is `bias-not-turned`."""

BIAS = "bias-not-turned"


def layers_behind(found: LayerFound, still: Stream) -> Iterator[Scene]:
    """Return a layer of the first behind the symmetry, and behind its orders alone, as fits may have met a mistake.

    What a LayerNorm does not see was taken out of differences; what is off is a factor, say, with it: of a map, and of
    the bias of one that reads a norm, which takes up what its map loses.

    Args:
        found: what was found in a layer.
        still: the stream as it is.
    """
    yield layer_behind(found, found.account.left, found.off())
    if found.pair.form.norm == "layer" and found.off():
        owners = {name: LAYER.get(LAYER[name].added_to, LAYER[name]) for name in found.off()}
        told = {name for name, owner in owners.items() if owner.columns and (owner.norm or owner is LAYER[name])}
        maps = {name: each for name, each in found.unsettled().items() if name in told}
        yield layer_behind(found, found.account.left | maps, found.off())
    fitted = [part for _, part, _ in GAUGES if getattr(found.account.guess.symmetry, part) is not None]
    if fitted:
        left = found.left_out(fitted, still)
        yield layer_behind(found, left, frozenset(n for n, each in left.items() if each.beyond(found.pair.limit).any()))


def layer_behind(found: LayerFound, left: Differences, off: frozenset[str]) -> Scene:
    """Return a layer of the first behind a symmetry, and the second's, with the units of what is left."""
    second = dict(found.pair.second.present())
    pieces = {name: each for name, each in left.items() if isinstance(each, Measured) and name in second}
    first = {name: wide(second[name]) - each.value for name, each in pieces.items()}
    second = {name: array for name, array in second.items() if name in first}
    squares = {name: np.broadcast_to(each.square, first[name].shape) for name, each in pieces.items()}
    return Scene(found.pair.form, first, second, off, found.pair.limit, found.pair.stored, squares)


def not_moved(found: LayerFound, still: Stream, original: Callable[[str], bool]) -> Iterator[Change]:
    """Yield for each piece that is off how it comes out if a part of the symmetry is left out.

    Args:
        found: what was found in a layer.
        still: the stream as it is.
        original: whether a piece of the second is the first's, number by number.
    """
    off, second = found.off(), found.pair.second
    done = found.account.guess.symmetry
    parts = [each.name for each in fields(done) if each.name in PARTS and getattr(done, each.name) is not None]
    parts += [f"gain{number}" for number in sorted(found.account.gains)]
    turned = not found.pair.stream.map.is_identity or found.pair.stream.map.scale != 1
    parts += ["stream"] if turned else []
    called = {"stream": "scale"} if found.pair.stream.map.is_identity else {}  # then it is longer, and no more
    for part in parts:
        try:
            without = found.left_out((part,), still)
        except BadInput:  # as a rotation does not go without folding
            continue
        right = {name for name, left in without.items() if not left.beyond(found.pair.limit).any()}
        yield from _by_map(off & right, called.get(part, part), second)
    if parts:
        part = next((part for part in parts if part in ("stream", "heads")), parts[0])
        for change in _by_map({name for name in off if original(name)}, called.get(part, part), second):
            yield replace(change, detail={"not_moved_by": "any part"} if len(parts) > 1 else change.detail)
    yield from _lost_behind(found)


def _lost_behind(found: LayerFound) -> Iterator[Change]:
    """Yield biases of values that were forgotten after a part of them, of any size, had moved into those of outputs."""
    had, second, form = found.pair.first.value_bias, found.pair.second, found.pair.form
    name = "output_bias" if form.parallel is None else "down_bias"  # where a sum of both is told
    if had is None or not had.any() or np.any(second.value_bias) or name not in found.off():
        return
    left = found.account.left[name]
    through = (
        wide(second.output)
        .reshape(form.groups, -1, form.width, form.head_width)
        .sum(axis=1)
        .swapaxes(1, 2)
        .reshape(-1, form.width)
    )
    if form.norm == "layer":
        through = through - through.mean(axis=1, keepdims=True)
    moved = np.linalg.lstsq(through.T, left.value, rcond=None)[0] @ through
    if not Measured(left.value - moved, left.square).beyond(found.pair.limit).any():
        yield replace(_as_it_is("bias-forgotten", (name,), second, {}), told=("value_bias",))


def _by_map(names: Collection[str], part: str, second: Block | Ends) -> Iterator[Change]:
    """Return the change of each map, with its bias where that was not moved either, and of each bias alone."""
    for name in sorted(names):
        owner = LAYER[name].added_to
        if owner in names:
            continue
        bias = f"{name}_bias"
        mistake = BIAS if owner and not part.startswith("gain") else PARTS[part]
        yield _as_it_is(mistake, (name, bias) if bias in names else (name,), second, {"not_moved_by": part})


def _as_it_is(mistake: str, names: tuple[str, ...], second: Block | Ends, detail: dict[str, str]) -> Change:
    """Return the change to what the second has there: it was seen to be the first's, with a part left out."""

    def made(_: Arrays) -> dict[str, Array]:
        return {name: getattr(second, name) for name in names}

    return Change(mistake, names, made, None, detail)


def ends_behind(
    first: Checkpoint, second: Checkpoint, stream: Stream, found: EndsFound, off: frozenset[str], limit: float,
    stored: Mapping[str, str],
) -> Scene | None:  # fmt: skip
    """Return the ends of the first behind the symmetry, and the second's; a number counts in the units of its row.

    Nothing where the symmetry cannot be applied to them.
    """
    form = second.form
    parts = {**found.parts, **({"tied": form.tied} if form.tied != first.form.tied else {})}
    symmetry = replace(stream.symmetry, layers=(LayerSymmetry(),) * form.layers).having(parts)
    try:
        made = ends_of(apply(symmetry, first, exact=False), Walker.COMPARISON)
    except (BadInput, TooLarge):
        return None
    old, new = (dict(each.present()) for each in (made, ends_of(second, Walker.COMPARISON)))
    squares = {  # the means of rows; a scene gives each entry its own
        name: np.square(unit_at(wide(array), stored[name])).mean(axis=-1, keepdims=True) for name, array in old.items()
    }
    return Scene(form, old, new, off, limit, stored, squares)


def ends_not_moved(searched: Searched, still: Stream, off: frozenset[str], limit: float) -> tuple[Change, ...]:
    """Return the pieces of the ends that are right if the stream is as it is: they were not turned with the others."""
    pair = ends_of(searched.first, Walker.COMPARISON), ends_of(searched.second, Walker.COMPARISON)
    forms = searched.first.form, searched.second.form
    found = compare_ends(*pair, forms, still, stored_types(searched.first, searched.second, None), limit)
    right = [name for name in sorted(off & {*TALL}) if found.tensors[name].units <= limit]
    return tuple(_as_it_is("head-not-turned", (name,), pair[1], {}) for name in right)
