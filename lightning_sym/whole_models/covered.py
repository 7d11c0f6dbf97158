"""Which networks Theorem 1 of docs/whole-models.md is about: what it needs of everything that is no weight."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from lightning_sym.ask import Need, failing
from lightning_sym.checkpoints.model import CheckpointForm
from lightning_sym.checkpoints.understood import FEATURES, Walker, require_form
from lightning_sym.rings.balls import precision
from lightning_sym.rings.rotary import BITS, Multiple, as_ball, rotary_frequency
from lightning_sym.rings.turned_forms import Ball


def seen_width(form: CheckpointForm) -> int:
    """The dimension `D` of what a norm shows of the stream: with LayerNorm one less than the width.

    Example:
        >>> from lightning_sym.testing import small_checkpoint
        >>> seen_width(small_checkpoint("llama").form), seen_width(small_checkpoint("gpt2").form)
        (16, 15)
    """
    return form.width - (form.norm == "layer")


def _multiples(form: CheckpointForm) -> Sequence[Multiple]:
    """Return what each rotary frequency is multiplied with."""
    if form.theta is None or form.scaling is None:
        return [Fraction(1)] * (form.head_width // 2)
    return form.scaling.multiples(form.theta, form.head_width)


def frequencies(form: CheckpointForm) -> list[Ball]:
    """The rotary frequencies of a form that has some, in balls."""
    theta = form.theta or Fraction(1)
    with precision(BITS):
        return [rotary_frequency(theta, form.head_width, k) * as_ball(each) for k, each in enumerate(_multiples(form))]


def frequencies_differ(form: CheckpointForm) -> bool:
    """Whether the rotary frequencies, if there are any, are shown to be different and between 0 and 3."""
    if form.theta is None:
        return True
    with precision(BITS):
        found = frequencies(form)
        found.sort(key=lambda ball: float(ball.mid()))
        return bool(found[0] > 0 and found[-1] < 3 and all(low < high for low, high in pairwise(found)))


def has_algebraic_frequencies(form: CheckpointForm) -> bool:
    """Whether the rotary frequencies, which are multiples of powers of `theta`, are shown to be algebraic numbers."""
    return all(isinstance(each, Fraction) for each in _multiples(form))


PROVED = frozenset((
    "gated", "scaling", "window", "local", "score_width", "embedding_square", "residual", "logit_divisor", "logit_cap",
))  # fmt: skip
"""Parts that the theorem allows: constant factors are taken up by weights, caps on logits are injective, and windows of
three tokens let the proof through, which looks at three."""


def unproved(form: CheckpointForm) -> str | None:
    """What the network has and the theorem does not know, in words."""
    return next((FEATURES[name][0] for name, _ in form.features() if name not in PROVED), None)


NEEDS = (
    Need(
        "a stream that norms see in 4 dimensions or more",
        lambda form: seen_width(form) >= 4,
        lambda form: f"{seen_width(form)}",
    ),
    Need("room for 3 tokens or more", lambda form: form.context >= 3, lambda form: f"{form.context}"),
    Need("heads of width 2 or more", lambda form: form.head_width >= 2, lambda form: f"{form.head_width}"),
    Need(
        "an activation with infinitely many poles, SiLU or GELU with tanh",
        lambda form: form.activation in ("silu", "gelu_new"),
        lambda form: form.activation,
    ),
    Need("an epsilon above 0", lambda form: form.epsilon > 0, lambda form: f"{form.epsilon}"),
    Need("no part that it does not know", lambda form: unproved(form) is None, lambda form: unproved(form) or "none"),
    Need(
        "windows of 3 tokens or more",
        lambda form: form.window is None or form.window >= 3,
        lambda form: f"{form.window}",
    ),
    Need(
        "rotary frequencies that are different and between 0 and 3",
        frequencies_differ,
        lambda form: f"theta {form.theta}",
    ),
)
"""What the theorem needs of a form; weights have conditions besides."""


def not_covered(form: CheckpointForm) -> str | None:
    """The first thing that the theorem needs of a form and that is not so; `None` where it is about these networks.

    Raises:
        BadInput: a part of the form is not known here at all.

    Example:
        >>> from lightning_sym.testing import small_checkpoint
        >>> not_covered(small_checkpoint("llama").form)
        >>> not_covered(small_checkpoint("qwen3").form)
        'it needs no part that it does not know, got gains on queries and keys'
    """
    require_form(form, Walker.GROUPS)
    return failing(form, NEEDS)
