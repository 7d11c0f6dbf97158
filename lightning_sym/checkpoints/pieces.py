"""What a transformer of a checkpoint is made of: every weight once, by its name, with the spaces of its axes.

The spaces and axes are those of exact networks (`lightning_sym.network.pieces`). This is the only place that lists
weights: shapes, the matrices of files, what a change of bases does to each of them, what a comparison goes through and
in which units it measures follow from here. A variant of attention, or of MLPs, is another function like those below.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from lightning_sym.checkpoints.model import CheckpointForm
from lightning_sym.checkpoints.piece_table import ATTENTION, LATENTS, MLP, CheckpointPiece, CheckpointTable, Half
from lightning_sym.network.pieces import Axis, WeightSpace


@lru_cache(maxsize=64)
def table(form: CheckpointForm) -> CheckpointTable:
    """Return the pieces of a form.

    Example:
        >>> from lightning_sym.testing import small_checkpoint
        >>> table(small_checkpoint("llama").form)["3.key"].shape
        (2, 4, 16)
    """

    def named(pieces: Iterable[CheckpointPiece]) -> dict[str, CheckpointPiece]:
        return {piece.name: piece for piece in pieces}

    of_attention = tuple(attention(form))
    norms = {each.norm or "norm1" for each in of_attention}
    halves = {ATTENTION: "norm1", MLP: "norm2"} | {half: name for name, half in LATENTS.items() if name in norms}
    maps = {name: [each for each in of_attention if (each.norm or "norm1") == name] for name in halves.values()}
    maps["norm2"] = [*mlp(form)]
    return CheckpointTable(
        named(ends(form)),
        {half: Half(name, named(norm(form, name)), named(maps[name])) for half, name in halves.items()},
    )


def stream(form: CheckpointForm, *, up: bool) -> Axis:
    """Return an axis of the residual stream, of what writes into it (`up`) or reads it."""
    return Axis(WeightSpace("stream", (), form.width), up)


LENGTH = WeightSpace("scale", (), 1)
"""The length of the stream: norms do not see it, but for their epsilon."""


def in_front(form: CheckpointForm, name: str) -> WeightSpace:
    """Return the space that a norm reads."""
    size = {"norm3": form.latent, "norm4": form.query_latent}.get(name) or form.width
    return WeightSpace(LATENTS.get(name, "stream"), (), size)


def behind(form: CheckpointForm, name: str) -> WeightSpace:
    """Return what rescales the coordinates behind a norm: gain and bias take it, what reads the norm its inverse."""
    return WeightSpace(name, (), 1, over=(in_front(form, name),))


def norm(form: CheckpointForm, name: str) -> Iterator[CheckpointPiece]:
    """Yield the gain of a norm, and its bias; none where layers read the stream as it is, no bias for latents."""
    if form.bare:
        return
    scales, axis = ((behind(form, name), 1),), Axis(in_front(form, name), up=True)
    yield CheckpointPiece(f"{name}_gain", (axis._replace(sized=True),), scales=scales)
    if name not in LATENTS:
        yield CheckpointPiece(f"{name}_bias", (axis,), scales=scales, added_to=name)


def signed(form: CheckpointForm, name: str) -> tuple[tuple[WeightSpace, int], ...]:
    """Return what changes signs of what is added to the stream in front of a norm, and of the gain of that norm."""
    return () if form.norms_behind is None else ((behind(form, name), 1),)


def norm_behind(form: CheckpointForm, name: str) -> Iterator[CheckpointPiece]:
    """Yield the gain of a norm behind a half of a layer: what it writes has the length of the stream."""
    if form.norms_behind is not None:
        axes = (stream(form, up=True)._replace(sized=True),)
        yield CheckpointPiece(f"{name}_gain", axes, scales=((LENGTH, 1), *signed(form, name)))


def reader_scale(form: CheckpointForm, name: str) -> tuple[WeightSpace, int]:
    """Return what rescales a map that reads a half's norm; one that reads the stream feels the length of that."""
    return (LENGTH, -1) if form.bare else (behind(form, name), -1)


def affine(
    name: str, axes: tuple[Axis, ...], columns: tuple[int, ...], *scales: tuple[WeightSpace, int]
) -> Iterator[CheckpointPiece]:
    """Yield a map and its bias, which lives where the rows of the map do."""
    both = tuple(each for each in scales if (each[0], -each[1]) not in scales)
    piece = CheckpointPiece(name, axes, columns, both)
    yield piece
    read = {axes[place].space for place in columns}
    kept = tuple(each for each in scales if each != (LENGTH, -1) and not read & {*each[0].over})
    yield CheckpointPiece(f"{name}_bias", tuple(axes[place] for place in piece.rows), (), kept, added_to=name)


def attention(form: CheckpointForm) -> Iterator[CheckpointPiece]:
    """Yield the pieces of attention: query heads in groups, each with one set of keys and values."""
    groups = WeightSpace("groups", (), form.groups)
    heads = Axis(WeightSpace("heads", (), form.heads, over=(groups,)), up=True)
    scores = WeightSpace("query-key", (), form.head_width, over=(groups,))
    value = WeightSpace("value-output", (), form.values, over=(groups,))
    if form.latent is not None:
        yield from latent_attention(form, heads, groups, scores, value)
        return
    shared, read, taken = Axis(groups, up=True), stream(form, up=False), reader_scale(form, "norm1")
    grown = () if form.head_norms is None else ((LENGTH, 1),)  # their norm has the same epsilon as the others
    yield from affine("query", (heads, Axis(scores, up=True), read), (2,), taken, *grown)
    yield from affine("key", (shared, Axis(scores, up=False), read), (2,), taken, *grown)
    yield from affine("value", (shared, Axis(value, up=True), read), (2,), taken)
    added = signed(form, "behind1")
    yield from affine("output", (heads, stream(form, up=True), Axis(value, up=False)), (0, 2), (LENGTH, 1), *added)
    of_rows = Axis(scores, up=True, sized=True), Axis(scores, up=False, sized=True)
    if form.head_norms == "head":
        yield CheckpointPiece("query_norm_gain", of_rows[:1])
        yield CheckpointPiece("key_norm_gain", of_rows[1:])
    if form.head_norms == "width":
        yield CheckpointPiece("query_row_gain", (heads, of_rows[0]))
        yield CheckpointPiece("key_row_gain", (shared, of_rows[1]))
    yield from norm_behind(form, "behind1")


def latent_attention(
    form: CheckpointForm, heads: Axis, groups: WeightSpace, scores: WeightSpace, value: WeightSpace
) -> Iterator[CheckpointPiece]:
    """Yield the pieces of attention that reads keys and values, perhaps queries too, from latents behind norms.

    Each head has keys and values of its own; the rows that rotary positions turn have one key for all heads.
    """
    one, rotary = WeightSpace("shared keys", (), 1, free=False), WeightSpace("rotary", (), form.rotating)
    queries = "norm1" if form.query_latent is None else "norm4"

    def reading(name: str, norm: str, *rows: Axis) -> CheckpointPiece:
        axes = (*rows, Axis(in_front(form, norm), up=False))
        return CheckpointPiece(name, axes, (len(rows),), ((behind(form, norm), -1),), biased=False)

    yield reading("query", queries, heads, Axis(scores, up=True))
    yield reading("key", "norm3", Axis(groups, up=True), Axis(scores, up=False))
    yield reading("value", "norm3", Axis(groups, up=True), Axis(value, up=True))
    yield CheckpointPiece("output", (heads, stream(form, up=True), Axis(value, up=False)), (0, 2), ((LENGTH, 1),))
    if form.query_latent is not None:
        yield reading("query_latent", "norm1", Axis(in_front(form, "norm4"), up=True))
    yield reading("query_turned", queries, heads, Axis(rotary, up=True))
    yield reading("latent", "norm1", Axis(in_front(form, "norm3"), up=True))
    yield reading("key_turned", "norm1", Axis(one, up=True), Axis(rotary, up=False))


def mlp(form: CheckpointForm) -> Iterator[CheckpointPiece]:
    """Yield the pieces of an MLP; what a gate multiplies may be rescaled, neuron by neuron."""
    experts = WeightSpace("experts", (), form.experts or 1)
    neurons = WeightSpace("neurons", (), form.inner, over=() if form.experts is None else (experts,))
    ups = WeightSpace("ups", (), 1, over=(neurons,))
    more, less = ([(ups, exponent)] if form.scales_neurons else [] for exponent in (1, -1))
    rows, read, taken = Axis(neurons, up=True), stream(form, up=False), reader_scale(form, "norm2")
    if form.experts is not None:  # their softmax does not see a vector that is added to all rows
        yield from affine("router", (Axis(experts, up=True), read), (1,), taken)
    if form.has_gate:
        yield from affine("gate", (rows, read), (1,), taken)
    yield from affine("up", (rows, read), (1,), taken, *more)
    added = signed(form, "behind2")
    yield from affine("down", (stream(form, up=True), Axis(neurons, up=False)), (1,), (LENGTH, 1), *added, *less)
    yield from norm_behind(form, "behind2")


def ends(form: CheckpointForm) -> Iterator[CheckpointPiece]:
    """Yield what stands before and behind the layers; a tied unembedding reads what the embedding writes."""
    ids = Axis(WeightSpace("token ids", (), form.vocabulary, free=False), up=True)
    yield CheckpointPiece("embedding", (ids, stream(form, up=True)), (1,), ((LENGTH, 1),))
    if form.theta is None:
        places = Axis(WeightSpace("positions", (), form.context, free=False), up=True)
        yield CheckpointPiece("positions", (places, stream(form, up=True)), (1,), ((LENGTH, 1),))
    scale = (LENGTH, -1) if form.tied else (behind(form, "final"), 1)
    yield CheckpointPiece("final_gain", (stream(form, up=True)._replace(sized=True),), scales=(scale,))
    if form.norm == "layer":
        yield CheckpointPiece("final_bias", (stream(form, up=True),), scales=(scale,), added_to="final")
    if not form.tied:
        yield CheckpointPiece("unembedding", (ids, stream(form, up=False)), (1,), ((behind(form, "final"), -1),))


SHAPELESS_FORM = CheckpointForm(
    "", 1, 1, 1, 1, 1, 1, 1, 1, "layer", Fraction(1), None, "silu", tied=False, head_norms="head",
    norms_behind=True, experts=1,
)  # fmt: skip


LATENT_FORM = replace(SHAPELESS_FORM, head_norms=None, norms_behind=None, experts=None, latent=1, query_latent=1)


def _of_all_forms() -> CheckpointTable:
    """Return all pieces of all forms: the kinds of norms of queries and keys exclude each other, and latents both."""
    found, wide = table(SHAPELESS_FORM), table(replace(SHAPELESS_FORM, head_norms="width"))
    latent, maps = table(LATENT_FORM), found.halves[ATTENTION].maps
    behind = {name: piece for name, piece in maps.items() if name.startswith("behind")}
    more = {name: piece for name, piece in wide.halves[ATTENTION].maps.items() if name not in maps}
    more |= {name: latent.layer[name] for name in ("query_latent", "query_turned", "latent", "key_turned")}
    half = replace(
        found.halves[ATTENTION], maps={**{n: p for n, p in maps.items() if n not in behind}, **more, **behind}
    )
    of_latents = {name: latent.halves[name] for name in LATENTS.values()}
    return CheckpointTable(found.ends, {**found.halves, ATTENTION: half, **of_latents})


SHAPELESS = _of_all_forms()
"""All pieces of all forms, for what does not depend on sizes."""
HALVES, LAYER = SHAPELESS.halves, SHAPELESS.layer
NUMBERS = tuple(half.number for half in HALVES.values())
"""Those of all norms that maps read."""
STREAM_NORMS = (1, 2)
"""Those of the norms that read the stream."""
OF_MLP = frozenset((*HALVES[MLP].norms, *HALVES[MLP].maps))
OF_HALF = {1: frozenset(LAYER) - OF_MLP, 2: OF_MLP}
"""By the number of the norm in front, the pieces of a half of a layer."""


def read_by(form: CheckpointForm, name: str) -> Half:
    """Return the half of a layer that a map is in: what reads the same norm."""
    return next(half for half in table(form).halves.values() if name in half.maps)
