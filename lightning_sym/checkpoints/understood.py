"""Who knows which pieces of a checkpoint: what a walker does not know it refuses by name.

A walker is what goes through all pieces: it computes with them, compares, rewrites or measures them. A piece that it
left out would be taken for one that does nothing, so walkers read layers and ends here, and only here. Rewritings and
comparisons follow the table of pieces (`pieces.py`) and know what stands there; who names pieces must say which. What
is said is held by tests: every piece changes what each of its walkers sees.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from enum import Enum

from lightning_sym.checkpoints.model import Block, Checkpoint, CheckpointForm, Ends, P, Pieces
from lightning_sym.checkpoints.pieces import table
from lightning_sym.errors import BadInput
from lightning_sym.limits import require_memory
from lightning_sym.network.foreign_features import LATENT


class Walker(Enum):
    """What goes through all pieces, as an error calls it."""

    FORWARD = "the forward pass"
    COMPARISON = "the comparison of checkpoints"
    REWRITING = "a rewriting"
    FINGERPRINT = "a fingerprint"
    HEADS = "the table of heads"
    GROUPS = "the symmetries of a model"


FOLLOWS = frozenset((Walker.COMPARISON, Walker.REWRITING))
"""Those that follow the table, whatever stands in it."""

NAMED: dict[str, frozenset[Walker]] = dict.fromkeys((
    "embedding", "positions", "final_gain", "final_bias", "unembedding", "norm1_gain", "norm1_bias", "query",
    "query_bias", "key", "key_bias", "value", "value_bias", "output", "output_bias", "norm2_gain", "norm2_bias",
    "gate", "gate_bias", "up", "up_bias", "down", "down_bias", "query_norm_gain", "key_norm_gain",
    "behind1_gain", "behind2_gain", "query_row_gain", "key_row_gain", "router", "router_bias", "query_latent",
    "query_turned", "latent", "key_turned", "norm3_gain", "norm4_gain",
), frozenset(Walker) - FOLLOWS)  # fmt: skip
"""By piece, those of the others that name it."""

FORM = frozenset((
    "family", "layers", "width", "heads", "groups", "head_width", "inner", "vocabulary", "context", "norm", "epsilon",
    "theta", "activation", "tied",
))  # fmt: skip
"""The fields of a form that all of them know; `family` says nothing about the function."""

ALL = frozenset(Walker)
FEATURES: dict[str, tuple[str, frozenset[Walker]]] = {
    "gated": ("gates", ALL),
    "scaling": ("scaled rotary frequencies", ALL),
    "window": ("a window on attention", ALL),
    "local": ("layers with a window and others", ALL),
    "unturned": ("layers without rotary positions", ALL),
    "score_width": ("a scale of scores of its own", ALL),
    "embedding_square": ("a scale of embeddings", ALL),
    "residual": ("a scale of what layers add", ALL),
    "logit_divisor": ("a scale of logits", ALL),
    "score_cap": ("caps on scores", ALL),
    "logit_cap": ("caps on logits", ALL),
    "head_norms": ("gains on queries and keys", ALL),
    "norms_behind": ("norms behind attention and MLPs", ALL),
    "rotary_width": ("rotary positions in a part of each head", ALL),
    "parallel": ("attention and MLP side by side", ALL),
    "local_theta": ("rotary frequencies of their own in layers with a window", ALL),
    "bare": ("no norms in front of attention and MLPs", ALL),
    "experts": ("experts", ALL),
    "chosen": ("as many experts a token", ALL),
    "normed_choice": ("weights of chosen experts that are divided by their sum", ALL),
    "latent": (LATENT, ALL),
    "query_latent": ("latent queries", ALL),
    "value_width": ("values of a width of their own", ALL),
}
"""By field of a form that most networks lack, what it is called, and the walkers that know it: no symmetry that they
use depends on it, or they follow the table of pieces, which says so."""

UNPROVED_BESIDE_LATENTS = ("head_norms", "norms_behind", "bare", "unturned")
"""Of a form: what nothing is proved of beside latents."""

CHANGEABLE = ("family", "groups", "inner", "context", "epsilon", "tied")
"""Of a form: what may differ though a symmetry leads from one to the other; `context` with rotary positions only."""


def require_form(form: CheckpointForm, walker: Walker) -> None:
    """Refuse what a walker does not know, by name.

    Raises:
        BadInput: a field that is not `None`, a norm or an activation is not known, or sizes do not fit together.
    """
    there = {field.name for field in fields(form) if getattr(form, field.name) is not None}
    known = FORM | {feature for feature, (_, walkers) in FEATURES.items() if walker in walkers}
    if unknown := sorted(there - known):
        raise BadInput(f"{walker.value} must know every part of a checkpoint's form, not known: {unknown[0]}")
    for name, found, allowed in (
        ("norm", form.norm, ("layer", "rms")),
        ("activation", form.activation, ("gelu", "gelu_new", "silu", "relu")),
    ):
        if found not in allowed:
            raise BadInput(f"the {name} of a checkpoint must be {' or '.join(allowed)}, got {found}")
    if form.experts is not None and (form.inner % form.experts or not 0 < (form.chosen or 0) <= form.experts):
        sizes = f"{form.inner} neurons in {form.experts} experts, {form.chosen} a token"
        raise BadInput(f"experts must have equally many neurons, and a token must read some of them, got {sizes}")
    if form.latent is not None or form.query_latent is not None:
        others = [FEATURES[name][0] for name in UNPROVED_BESIDE_LATENTS if getattr(form, name) is not None]
        others += ["LayerNorm"] * (form.norm == "layer") + ["other keys and values"] * (form.latent is None)
        if others or form.theta is None or form.groups < form.heads or form.rotating % 2:
            what = ", ".join(others) or "no rotary positions, an odd number of turned rows, or heads that share keys"
            raise BadInput(f"latents must stand in a network of which they are proved, not beside {what}")
    turned = all(form.at(layer).turned == form.head_width for layer in range(form.layers))
    if form.head_norms is not None and not turned:
        raise BadInput("gains on queries and keys must stand where rotary positions turn all rows, in each layer")
    if (form.norms_behind or form.bare) and (form.parallel is not None or form.norm == "layer"):
        beside = "attention and MLP side by side" if form.parallel is not None else "LayerNorm"
        what = "norms behind attention and MLPs, or none in front,"
        raise BadInput(f"{what} must stand in a network of which they are proved, not beside {beside}")
    if form.heads % form.groups or form.turned % 2:
        sizes = f"{form.heads} heads of width {form.head_width} in {form.groups} groups"
        raise BadInput(f"heads must be equally many a group, and of even width with rotary positions, got {sizes}")


def require_whole(form: CheckpointForm, memory: int, what: str) -> None:
    """Refuse what holds a whole layer, and the embeddings, in float64 several times, where they would not fit.

    Raises:
        TooLarge: with the bytes that they would take.
    """
    rows = form.vocabulary * form.width * (1 if form.tied else 2)
    require_memory(8 * max(6 * form.numbers_of_a_layer, 3 * rows), memory, what)


def ends_of(checkpoint: Checkpoint, walker: Walker, *, coded: bool = False) -> Ends:
    """Return what stands before and behind the layers, all of it known to a walker.

    Raises:
        BadInput: as for `pieces_of`.
    """
    return as_kind(pieces_of(checkpoint, None, walker, coded=coded), Ends)


def block_of(checkpoint: Checkpoint, layer: int, walker: Walker, *, coded: bool = False) -> Block:
    """Return a layer, all of it known to a walker.

    Raises:
        BadInput: as for `pieces_of`.
    """
    return as_kind(pieces_of(checkpoint, layer, walker, coded=coded), Block)


def as_kind(pieces: Pieces, kind: type[P]) -> P:
    """Return the pieces, which must be those of a layer (`Block`), or those before and behind the layers (`Ends`).

    Raises:
        BadInput: they are others.
    """
    if not isinstance(pieces, kind):
        raise BadInput(
            f"pieces of a checkpoint must be {kind.__name__} where these are asked for, got {type(pieces).__name__}"
        )
    return pieces


def pieces_of(checkpoint: Checkpoint, layer: int | None, walker: Walker, *, coded: bool = False) -> Pieces:
    """Return the ends for `None`, else a layer.

    Args:
        checkpoint: from a file, or made.
        layer: from 0, or none.
        walker: who asks.
        coded: for who looks at some entries at a time: a file's bfloat16 is `Coded`, and not in memory as a whole.

    Raises:
        BadInput: a piece that the walker does not know, that is missing, or of another shape than the form's.
    """
    found = unchecked_pieces(checkpoint, layer, coded=coded)
    require_pieces(found, checkpoint.form, "the ends" if layer is None else f"layer {layer}", walker)
    return found


def unchecked_pieces(checkpoint: Checkpoint, layer: int | None, *, coded: bool) -> Pieces:
    """Return the same, whatever they are."""
    read: Callable[[int | None], Pieces] | None = getattr(checkpoint, "coded", None) if coded else None
    if read is not None:
        return read(layer)
    return checkpoint.ends() if layer is None else checkpoint.block(layer)


def knows_all(form: CheckpointForm, walker: Walker) -> bool:
    """Return whether a walker knows every part of a form, and every piece that such models have."""
    parts = (FEATURES.get(name, ("", ()))[1] for name, _ in form.features())
    pieces = (NAMED.get(name, ()) for name in table(form).names)
    return walker in FOLLOWS or all(walker in walkers for walkers in (*parts, *pieces))


def require_pieces(pieces: Pieces, form: CheckpointForm, where: str, walker: Walker) -> None:
    """Refuse pieces of a layer, or of the ends, that a walker does not know, that are missing, or of another shape.

    Raises:
        BadInput: with the first one.
    """
    present, known = dict(pieces.present()), table(form)
    named = {name for name, walkers in NAMED.items() if walker in walkers or walker in FOLLOWS}
    if unknown := sorted(present.keys() - named - (known.names if walker in FOLLOWS else set())):
        raise BadInput(f"{walker.value} must know every piece of {where}, not known: {unknown[0]}")
    if isinstance(pieces, Ends) and (wrong := sorted(known.ends.keys() ^ present.keys())):
        raise BadInput(f"{where} must have the pieces of their form and no others, got another {wrong[0]}")
    needed = {name for name, piece in known.layer.items() if not piece.added_to}
    for half in ({"heads", "groups"}, {"neurons"}):  # a part of a large layer has heads, or neurons, alone
        inside = {name for name in needed if not half.isdisjoint(known[name].kinds)}
        if inside.isdisjoint(present):
            needed = {name for name in needed - inside if "experts" not in known[name].kinds}
    if isinstance(pieces, Block) and (lost := sorted(needed - present.keys())):
        raise BadInput(f"{where} must have the pieces of their form, missing is {lost[0]}")
    for name, array in present.items():
        if array.shape != known[name].shape:
            raise BadInput(f"{name} of {where} must have the shape {known[name].shape}, got {array.shape}")
