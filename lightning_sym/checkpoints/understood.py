"""What the forward pass knows of checkpoints; anything else is refused by name, never left out."""

from __future__ import annotations

from dataclasses import fields

from lightning_sym.checkpoints.layout import end_pieces, piece_shape
from lightning_sym.checkpoints.model import CheckpointForm, Ends, Pieces
from lightning_sym.errors import BadInput

FORM = frozenset({
    "family", "layers", "width", "heads", "groups", "head_width", "inner", "vocabulary", "context", "norm", "epsilon",
    "theta", "activation", "tied",
})  # fmt: skip
"""Fields of a form; `family` says nothing about the function."""

PIECES = frozenset({
    "embedding", "positions", "final_gain", "final_bias", "unembedding", "norm1_gain", "norm1_bias", "query",
    "query_bias", "key", "key_bias", "value", "value_bias", "output", "output_bias", "norm2_gain", "norm2_bias",
    "gate", "gate_bias", "up", "up_bias", "down", "down_bias",
})  # fmt: skip


def require_form(form: CheckpointForm) -> None:
    """Refuse what the forward pass does not know, by name.

    Raises:
        BadInput: a field, a norm or an activation is not known, or sizes do not fit together.
    """
    if unknown := sorted({field.name for field in fields(form)} - FORM):
        raise BadInput(f"the forward pass must know every part of a checkpoint's form, not known: {unknown[0]}")
    for name, found, known in (
        ("norm", form.norm, ("layer", "rms")),
        ("activation", form.activation, ("gelu", "gelu_new", "silu")),
    ):
        if found not in known:
            raise BadInput(f"the {name} of a checkpoint must be {' or '.join(known)}, got {found}")
    if form.heads % form.groups or (form.theta is not None and form.head_width % 2):
        sizes = f"{form.heads} heads of width {form.head_width} in {form.groups} groups"
        raise BadInput(f"heads must be equally many a group, and of even width with rotary positions, got {sizes}")


def require_pieces(pieces: Pieces, form: CheckpointForm, where: str) -> None:
    """Refuse pieces that are not known, missing, or of other shapes than the form's.

    Raises:
        BadInput: by name.
    """
    present = dict(pieces.present())
    if unknown := sorted({field.name for field in fields(pieces)} - PIECES):
        raise BadInput(f"the forward pass must know every piece of {where}, not known: {unknown[0]}")
    if isinstance(pieces, Ends) and (wrong := sorted(end_pieces(form) ^ set(present))):
        raise BadInput(f"{where} must have the pieces of their form and no others, got another {wrong[0]}")
    if "gate_bias" in present and "gate" not in present:
        raise BadInput(f"{where} must have a gate where the gate has a bias")
    for name, array in present.items():
        if array.shape != piece_shape(form, name):
            raise BadInput(f"{name} of {where} must have the shape {piece_shape(form, name)}, got {array.shape}")
