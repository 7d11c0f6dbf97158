"""One form for all members of an orbit, and the symmetry that makes it: for diffs, for merging, for a name.

What is done is a symmetry, so the form is a member of the orbit itself, whatever was computed on the way. It is put
together in the order in which a symmetry is: what the norms have, the stream, what is inside of heads and neurons, and
last the orders.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from lightning_sym.arguments import require_arguments
from lightning_sym.checkpoints.align import added_to_ends, along_ones
from lightning_sym.checkpoints.canonical_latents import BALANCED_LATENTS, EXACT_LATENTS, LatentWay, maps_into
from lightning_sym.checkpoints.canonical_ways import (
    Rows,
    are_told,
    balanced_gauge,
    balanced_keys,
    balanced_stream,
    cubes_are_told,
    exact_gauge,
    exact_keys,
    exact_stream,
    ordered_sets,
    rows_are_told,
    sign_of_sums,
    signs_are_told,
)
from lightning_sym.checkpoints.coded import slices
from lightning_sym.checkpoints.configurations import Configurations, has_equal_experts
from lightning_sym.checkpoints.exact_arrays import Exact, Numbers, Rounded
from lightning_sym.checkpoints.layer_parts import SIGNED_BY
from lightning_sym.checkpoints.measured import value_of
from lightning_sym.checkpoints.model import Block, Checkpoint, CheckpointForm, Ends, MadeCheckpoint, require_checkpoint
from lightning_sym.checkpoints.pieces import LAYER, table
from lightning_sym.checkpoints.rewritings import Rewritten, apply, layer_under
from lightning_sym.checkpoints.stream import StreamAction
from lightning_sym.checkpoints.stream_fit import scale_to_one
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Part, Symmetry, allowed
from lightning_sym.checkpoints.understood import Walker, block_of, ends_of, require_form, require_whole
from lightning_sym.display import Result, latex_words
from lightning_sym.errors import BadInput, TooLarge
from lightning_sym.limits import DEFAULT_MEMORY, Progress, unheard


@dataclass(frozen=True, eq=False, repr=False)
class CanonicalCheckpoint(Result):
    """The one form of all members of an orbit.

    Attributes:
        checkpoint: it, rewritten layer by layer when it is asked for.
        symmetry: what makes it of the one that was given.
        exact: only orders, signs, powers of two and gains were brought into one form, and no number was rounded.
        closest: the least relative distance of two lengths by which something was ordered; 1 where it is `exact`.
            What rounding changes by more may stand in another order.
        left: what was left as it was, and why.
        proof: whether it is one form for each function, if that was asked.
    """

    checkpoint: Rewritten
    symmetry: Symmetry
    exact: bool
    closest: float
    left: tuple[str, ...] = ()
    proof: str = ""

    _sentences = (
        ("form", lambda c: "orders, signs, powers of two and gains, exactly" if c.exact else EVERY),
        (
            "ordered",
            lambda c: None if c.exact else f"by lengths; the nearest two differ by {c.closest:.1g} of themselves",
        ),
        ("left", lambda c: c.left),
        ("proof", lambda c: c.proof or None),
    )

    def _latex(self) -> str:
        return latex_words("; ".join(said for _, said in self.lines()))


EVERY = "every symmetry, in float64"


class _Way(NamedTuple):
    """How the one form is found.

    Attributes:
        ring: of its numbers.
        stream: what is done to the stream.
        gauge: what is done inside of heads and neurons; to the list it adds what nothing tells.
        keys: what groups, heads, experts and neurons are ordered by.
        told: whether what was chosen in the layer is told by its numbers.
        untold: what is said where it is not.
        latents: what is done to latents before.
    """

    ring: Exact | Rounded
    stream: Callable[[Ends, CheckpointForm], dict[str, Part]]
    gauge: Callable[[Block, CheckpointForm, list[str]], dict[str, Part]]
    keys: Callable[[Block], Iterable[Rows]]
    told: Callable[[Block, CheckpointForm, Collection[str]], bool]
    untold: str
    latents: LatentWay


ZERO_OR_EQUAL = "signs, or orders, of rows that are zero, or equal up to what may be done to each"
CUBES = "signs, or turns, by which the cubes of a row add up to nothing"
EXACT = _Way(Exact(), exact_stream, exact_gauge, exact_keys, rows_are_told, ZERO_OR_EQUAL, EXACT_LATENTS)
ROUNDED = _Way(Rounded(), balanced_stream, balanced_gauge, balanced_keys, signs_are_told, CUBES, BALANCED_LATENTS)


def canonical_checkpoint(
    checkpoint: Checkpoint, *, exact: bool = False, memory: int = DEFAULT_MEMORY, progress: Progress | None = None
) -> CanonicalCheckpoint:
    """Bring a checkpoint into the one form that all members of its orbit have.

    In float64 every listed symmetry is taken out: scale of the stream (exactly), its rotation, gains and biases of
    norms, matrices and turns of heads, scales of neurons, the orders of groups, heads and neurons, with LayerNorm what
    is added along ones; the unembedding gets its own matrix, since tied ones allow no rotation. Two members have one
    form up to what their own roundings become; lengths that are as near to each other may change places.

    Exactly, only orders, signs, powers of two, with RMSNorm gains, and rational scales of the stream are: then members
    that differ by these have one form, number for number.

    Args:
        checkpoint: from `open_checkpoint`, or made.
        exact: whether no number may be rounded.
        memory: bytes that a layer, or the embedding, with what is made of it, may take.
        progress: is told of each layer.

    Raises:
        BadInput: a piece or a part of the form is not known, members of an orbit of such networks are not brought into
            one form, or a checkpoint in memory has fractions.
        TooLarge: exact numbers that are no floats of 64 bits, and too many of them; or what would not fit.

    Example:
        >>> from lightning_sym import apply
        >>> from lightning_sym.testing import small_checkpoint
        >>> one = small_checkpoint("llama")
        >>> two = apply(Symmetry((LayerSymmetry(neurons=np.arange(24)[::-1]), LayerSymmetry())), one)
        >>> first, second = (canonical_checkpoint(each, exact=True).checkpoint for each in (one, two))
        >>> bool((first.block(0).gate == second.block(0).gate).all())
        True
    """
    require_arguments(canonical_checkpoint, locals())
    require_checkpoint(checkpoint)
    form, tell = checkpoint.form, progress or unheard
    require_form(form, Walker.REWRITING)
    require_whole(form, memory, "one form of a checkpoint, a whole layer or its embeddings,")
    way, left = EXACT if exact else ROUNDED, list[str]()
    tell("the residual stream", 0, form.layers + 1)
    parts = _whole(checkpoint, way, left)
    prepared = apply(Symmetry((LayerSymmetry(),) * form.layers).having(parts), checkpoint, exact=exact)
    layers, closest = list[LayerSymmetry](), 1.0
    if not exact and "order" in parts:
        closest = _nearest(np.linalg.norm(np.asarray(ends_of(prepared, Walker.REWRITING).embedding, float), axis=0))
    for layer in range(form.layers):
        tell(f"layer {layer}", layer + 1, form.layers + 1)
        norms, kept = _norms(block_of(checkpoint, layer, Walker.REWRITING), form.at(layer), way)
        found, near = _layer(_with_norms(prepared, layer, norms), prepared.form.at(layer), way, kept)
        left += [f"layer {layer}: {each}" for each in kept]
        layers.append(LayerSymmetry().having(norms | found))
        closest = min(closest, near)
    parts |= {} if exact else added_to_ends(ends_of(prepared, Walker.REWRITING), None, prepared.form)
    symmetry = Symmetry(tuple(layers)).having(parts)
    return CanonicalCheckpoint(apply(symmetry, checkpoint, exact=exact), symmetry, exact, closest, tuple(left))


def _whole(checkpoint: Checkpoint, way: _Way, left: list[str]) -> dict[str, object]:
    """Return what is done to the stream and to the final norm."""
    form, exact = checkpoint.form, way is EXACT
    ends = ends_of(checkpoint, Walker.REWRITING)
    parts: dict[str, object] = {} if (scale := scale_to_one(form.epsilon)) == 1 else {"scale": scale}
    fixed = form.tied and form.norm == "layer"  # then the stream is only ordered, and both ends stay one
    if form.tied and not exact and not fixed:
        parts["tied"] = False
    if not fixed and (not exact or (form.norm == "rms" and not form.tied)):
        if exact and ends.unembedding is not None and not _are_floats(ends.unembedding, ends.final_gain):
            left.append(f"gains of the final norm{LONG}")
        else:
            parts["final_gain"] = np.ones(form.width)
    found = (EXACT if fixed else way).stream(ends, form)
    if not found:
        left.append("the residual stream: the rows of the embedding do not fill it")
    ordered = exact or fixed
    if ordered and form.norm == "layer" and not sign_of_sums(ends.embedding):
        left.append("the residual stream: its sign, as the rows of the embedding add up to 0")
    if ordered and not are_told(
        np.asarray(ends.embedding).T * value_of(found["signs"])[np.argsort(found["order"]), None]
    ):
        left.append(f"the residual stream: {ZERO_OR_EQUAL}")
    if not exact and form.norms_behind and not cubes_are_told(np.asarray(ends.embedding, dtype=np.float64).T):
        left.append(f"the residual stream: {CUBES}")
    return parts | found


LONG = ", which times weights are no floats of 64 bits"


def _are_floats(rows: Rows, gain: Rows, operation: Callable[[Exact, Numbers, Numbers], Numbers] = Exact.times) -> bool:
    """Return whether rows times gains, or what another operation makes of both, are floats of 64 bits, exactly."""
    ring = Exact(0)
    try:
        for some in slices(rows):
            operation(ring, ring.numbers(rows[some]), ring.numbers(gain))
    except TooLarge:
        return False
    return True


def _norms(block: Block, form: CheckpointForm, way: _Way) -> tuple[dict[str, Part], list[str]]:
    """Return norms that do nothing, with no biases that others take up; and which norms stay as they are."""
    parts, left = dict[str, Part](), list[str]()
    if way is EXACT and form.norm == "layer":
        return parts, left
    for half in table(form).halves.values():
        number, (gain, bias) = half.number, half.norm_of(block)
        if gain is None:
            continue
        maps = (getattr(block, name) for name, piece in half.maps.items() if piece.norm and not piece.added_to)
        if way is EXACT and not all(_are_floats(rows, gain) for rows in maps if rows is not None):
            left.append(f"gains of norm {number}{LONG}")
            continue
        parts[f"gain{number}"] = np.ones(len(gain))
        if bias is not None:
            parts[f"bias{number}"] = np.zeros(len(bias))
    for name, taken in () if way is EXACT else (("key_bias", block.key_bias), ("value_bias", block.output_bias)):
        if allowed(name, form) and taken is not None and (bias := getattr(block, name)) is not None:
            parts[name] = np.zeros(bias.shape) if name != "key_bias" else np.zeros(bias[:, form.turned :].shape)
    if way is ROUNDED and form.parallel and block.output_bias is not None:
        parts["attention_bias"] = np.zeros(form.width)  # the MLP beside it has it
    return parts, left


def _with_norms(prepared: Rewritten, layer: int, norms: dict[str, Part]) -> Block:
    """Return a layer of a checkpoint whose stream is as it will be, its norms too."""
    block = block_of(layer_under(prepared, layer, LayerSymmetry().having(norms)), layer, Walker.REWRITING)
    if long := next((name for name, array in block.present() if array.dtype == object), ""):
        raise BadInput(f"an exact form must be made of floats of 64 bits, got fractions in {layer}.{long}")
    return block


def _layer(block: Block, form: CheckpointForm, way: _Way, left: list[str]) -> tuple[dict[str, Part], float]:
    """Return what is done inside of a layer whose norms and stream are as they will be, and how near two lengths are.

    To what is left as it is, it adds what nothing tells.
    """
    latents = way.latents.made(block)
    block = changed(block, form, way.ring, latents) if latents else block
    if not way.latents.is_told(block):
        left.append(way.latents.untold)
    flat = block if form.norm == "rms" or way is EXACT else _centred(block)
    gauge = way.gauge(flat, form, left)
    for name in ("behind1", "behind2"):
        if (gain := getattr(flat, f"{name}_gain")) is not None:
            gauge[name] = np.where(np.asarray(gain) < 0, -1.0, 1.0)
    made = changed(flat, form, way.ring, gauge)
    groups, heads, experts, neurons = way.keys(made)
    found = {**latents}
    order, found["heads"] = ordered_sets(groups, heads)
    if kept := has_equal_experts(block, form):
        left.append("experts, in their order, as two have equal rows of the router")
    sets, found["neurons"] = ordered_sets(experts, neurons, kept=kept)
    moved = {"values": order, "queries": order, "turns": order, "ups": found["neurons"]}
    found |= {name: part[moved[name]] if name in moved else part for name, part in gauge.items()}
    if (part := gauge.get("row_factors")) is not None:
        rows = part[:, :-1].reshape(form.heads, -1)[found["heads"]].reshape(part[:, :-1].shape)
        found["row_factors"] = np.concatenate([rows, part[order, -1:]], axis=1)
    if made.router is not None:
        row = np.asarray(made.router[sets[0]] if way is EXACT else made.router.mean(axis=0))
        if way is EXACT and not _are_floats(made.router, -row, Exact.plus):
            left.append("what all rows of the router have in common, without which they are no floats of 64 bits")
        else:
            found["router_shift"] = -row
    if not way.told(made, form, gauge):
        left.append(way.untold)
    gains = (getattr(block, name) for name in SIGNED_BY)
    if not all(gain is None or np.all(gain) for gain in gains):
        left.append("signs of rows that a gain of 0 is behind")
    if way is EXACT:
        return found, 1.0
    if form.norm == "layer":
        found |= along_ones(changed(block, form, way.ring, found), None)
    ways = (groups, *heads.reshape(form.groups, -1, 2), experts, *neurons.reshape(len(experts), -1, 2))
    inside = [made.value] * ("values" in gauge) + [made.key[:, form.turned :]] * ("queries" in gauge)
    inside += [np.asarray(rows)[None] for _, rows in maps_into(made)]
    rows = (np.linalg.norm(group, axis=1) for part in inside for group in part)  # singular values stand in order
    return found, min(map(_nearest, (*(each[:, 0] for each in ways), *rows)))


def changed(block: Block, form: CheckpointForm, ring: Exact | Rounded, parts: Mapping[str, Part]) -> Block:
    """Return a layer under parts of a symmetry of it, the stream as it is."""
    alone = replace(form, layers=1)
    part = MadeCheckpoint(alone, None, (block,))  # type: ignore[arg-type]
    symmetry, stream = Symmetry((LayerSymmetry().having(parts),)), StreamAction(Symmetry(()), form, ring)
    made = Rewritten(part, alone, symmetry, ring, stream, Configurations(alone, alone, alone))
    return block_of(made, 0, Walker.REWRITING)


def _nearest(lengths: Rows) -> float:
    """Return the least relative distance of two of some lengths."""
    sizes = np.sort(np.abs(lengths))
    return float((np.diff(sizes) / np.maximum(sizes[1:], 1e-300)).min(initial=1.0))


def _centred(block: Block) -> Block:
    """Return a layer without what its maps have along the vector of ones."""
    found: dict[str, Rows] = {}
    for name, array in block.present():
        axis = LAYER[name].place("stream")
        if axis is not None and not name.startswith("norm"):
            found[name] = array - array.mean(axis=axis, keepdims=True)
    return block.having(found)
