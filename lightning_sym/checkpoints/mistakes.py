"""The known mistakes of conversion tools, one a row: what is asked for the ways in which it may have been made.

Rows of tensors are functions of a layer, or of the ends, of both checkpoints (`mistaken_scenes.py`), in the order in
which they are tried: what leaves least freedom comes first. Rows of the configuration are fields of a form. Who
searches (`diagnosis.py`) makes a mistake and asks whether it explains anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

from lightning_sym.checkpoints import mistaken_gains, mistaken_numbers, mistaken_orders, mistaken_rows
from lightning_sym.checkpoints.mistaken_scenes import Change, Row, Scene
from lightning_sym.checkpoints.model import CheckpointForm

ROWS: dict[str, Row] = {
    "rotary-rows": mistaken_orders.rotary_rows,
    "rotary-rows-k": mistaken_orders.rotary_rows_k,
    "rotary-rows-one-side": mistaken_orders.rotary_rows_one_side,
    "qkv-layout": mistaken_orders.qkv_layout,
    "gate-up-exchanged": mistaken_orders.gate_up_exchanged,
    "norms-exchanged": mistaken_orders.norms_exchanged,
    "qk-norms-exchanged": mistaken_orders.qk_norms_exchanged,
    "heads-one-side": mistaken_orders.heads_one_side,
    "transposed-square": mistaken_orders.transposed_square,
    "vocabulary-permuted": mistaken_rows.vocabulary_permuted,
    "gain-plus-one": partial(mistaken_gains.gain_plus, "gain-plus-one", 1),
    "gain-minus-one": partial(mistaken_gains.gain_plus, "gain-minus-one", -1),
    "bias-forgotten": mistaken_gains.bias_forgotten,
    "gain-not-folded": mistaken_gains.gain_not_folded,
    "gain-folded-twice": mistaken_gains.gain_folded_twice,
    "f16-overflow": mistaken_numbers.f16_overflow,
    "scale-one-side": mistaken_numbers.scale_one_side,
    "lora-unmerged": mistaken_numbers.lora_unmerged,
}
"""By identifier, the mistakes that change tensors; `scale-one-side` tells of `embed-scale-twice` too."""


def changes(scene: Scene, first: frozenset[str] = frozenset()) -> Iterator[Change]:
    """Return every change that may explain one of the pieces that are off.

    Args:
        scene: a layer, or the ends.
        first: identifiers that come before the others.
    """
    for _, row in sorted(ROWS.items(), key=lambda each: each[0] not in first):
        for change in row(scene):
            if scene.off & {*change.pieces}:
                yield change


class OfForm(NamedTuple):
    """A mistake of the configuration.

    Attributes:
        word: a part of the names of the fields of a form that it is about.
        dropped: what it is called where one side has no such number.
        other: what it is called where the two have different ones.
    """

    word: str
    dropped: str
    other: str


OF_FORMS = (
    OfForm("epsilon", "epsilon", "epsilon"),
    OfForm("theta", "rope-theta", "rope-theta"),
    OfForm("heads", "head-count", "head-count"),
    OfForm("groups", "head-count", "head-count"),
    OfForm("head_width", "head-count", "head-count"),
    OfForm("scaling", "rope-scaling-dropped", "rope-scaling-other"),
    OfForm("window", "window-dropped", "window-other"),
    OfForm("local", "window-other", "window-other"),
    OfForm("cap", "softcap-dropped", "softcap-dropped"),
    OfForm("residual", "multiplier-dropped", "multiplier-dropped"),
    OfForm("embedding_square", "multiplier-dropped", "multiplier-dropped"),
    OfForm("logit_divisor", "multiplier-dropped", "multiplier-dropped"),
    OfForm("score_width", "multiplier-dropped", "multiplier-dropped"),
)
"""The mistakes of the configuration; a form has the fields that its family needs."""

OTHERS = (
    "embed-scale-twice", "bias-not-turned", "head-not-turned", "layer-not-turned", "layers-exchanged", "layer-missing",
    "layer-repeated-noop", "neurons-duplicated", "vocabulary-padded",
)  # fmt: skip
"""Those that no row is about alone: parts of a symmetry left out, whole layers, what is there twice, more ids."""

IDENTIFIERS = tuple(dict.fromkeys((
    *ROWS,
    *(name for row in OF_FORMS for name in (row.dropped, row.other)), *OTHERS,
)))  # fmt: skip
"""Every mistake that is told."""

NO_MISTAKES = frozenset(("family", "context", "layers", "vocabulary", "inner", "tied"))
"""Fields of a form that are no numbers of the function, or that its tensors show."""


def of_forms(first: CheckpointForm, second: CheckpointForm) -> dict[str, str | None]:
    """Return the fields of two forms that differ, with the mistake that this is, if it is a known one.

    Example:
        >>> from dataclasses import replace
        >>> from lightning_sym.testing import small_checkpoint
        >>> form = small_checkpoint("llama").form
        >>> of_forms(form, replace(form, theta=form.theta * 2))
        {'theta': 'rope-theta'}
    """
    found: dict[str, str | None] = {}
    for name in (each.name for each in fields(first) if each.name not in NO_MISTAKES):
        old, new = getattr(first, name), getattr(second, name, None)
        if old != new:
            row = next((row for row in OF_FORMS if row.word in name.split("_") or row.word == name), None)
            row = row or next((row for row in OF_FORMS if row.word in name), None)
            found[name] = None if row is None else row.dropped if None in (old, new) else row.other
    return found


def written(value: Any) -> str | int | float | bool:
    """Return a number of a form as it is told."""
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else float(value)
    return str(value)
