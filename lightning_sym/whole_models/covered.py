"""Which networks Theorems 1 to 3 of docs/whole-models.md are about: what they need of everything that is no weight."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from lightning_sym.ask import Need, TestedNeed, TheoremNeed, TheoremRow, ask, paid_by_steps
from lightning_sym.checkpoints.model import CheckpointForm
from lightning_sym.checkpoints.understood import FEATURES, Walker, require_form
from lightning_sym.limits import Work
from lightning_sym.rings.balls import precision
from lightning_sym.rings.rotary import BITS, Multiple, as_ball, rotary_frequency
from lightning_sym.rings.turned_forms import Ball

PAGE = "docs/whole-models.md"


def seen_width(form: CheckpointForm) -> int:
    """Return the dimension `D` of what a norm shows of the stream: with LayerNorm one less than the width.

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
    """Return the rotary frequencies of a form that has some, in balls."""
    theta = form.theta or Fraction(1)
    with precision(BITS):
        return [rotary_frequency(theta, form.head_width, k) * as_ball(each) for k, each in enumerate(_multiples(form))]


def frequencies_differ(form: CheckpointForm) -> bool:
    """Return whether the rotary frequencies of each layer, if any, are shown to be different and between 0 and 3."""
    bases = {form.rotation_of(layer) for layer in range(form.layers)} - {None}
    return all(_differ(replace(form, theta=base[0], scaling=base[1])) for base in bases if base is not None)


def _differ(form: CheckpointForm) -> bool:
    with precision(BITS):
        found = frequencies(form)
        found.sort(key=lambda ball: float(ball.mid()))
        return bool(found[0] > 0 and found[-1] < 3 and all(low < high for low, high in pairwise(found)))


def has_algebraic_frequencies(form: CheckpointForm) -> bool:
    """Return whether the rotary frequencies, multiples of powers of `theta`, are shown to be algebraic numbers."""
    return all(isinstance(each, Fraction) for each in _multiples(form))


PROVED = frozenset((
    "gated", "scaling", "window", "local", "score_width", "embedding_square", "residual", "logit_divisor", "logit_cap",
    "head_norms", "norms_behind", "unturned",
))  # fmt: skip
"""Parts that the theorems allow: constant factors are taken up by weights, caps on logits are injective, and windows of
three tokens let the proofs through, which look at three."""

BEHIND = frozenset(("score_cap", "local_theta"))
"""What Theorem 3 allows besides, as it compares heads inside of a layer."""


def unproved(form: CheckpointForm) -> str | None:
    """Return what the network has and the theorem does not know, in words."""
    known = PROVED | BEHIND if form.norms_behind else PROVED
    if form.head_norms and form.score_cap is not None:
        return f"{FEATURES['score_cap'][0]} beside {FEATURES['head_norms'][0]}"
    return next((FEATURES[name][0] for name, _ in form.features() if name not in known), None)


def read_at_one_token(form: CheckpointForm) -> int:
    """Return the rank that the map of the attention of a layer to one token has at almost all weights."""
    return min(form.width, form.groups * form.head_width)


class AskedModels(NamedTuple):
    """The models of a form whose layers have some pieces."""

    form: CheckpointForm
    parts: Collection[str]


def _unbiased(unknown: Callable[[CheckpointForm, str], bool]) -> TestedNeed:
    """Return that layers have none of the biases that a theorem does not know."""

    def why(asked: AskedModels) -> str | None:
        there = (name for name in sorted(asked.parts) if unknown(asked.form, name))
        return next((f"it needs no {name} in such networks" for name in there), None)

    return TestedNeed("no biases that it does not know", why)


def form_need(must: str, holds: Callable[[CheckpointForm], bool], given: Callable[[CheckpointForm], object]) -> Need:
    """Return a hypothesis on the form of models, whatever the pieces of their layers are."""
    return Need(must, lambda asked: holds(asked.form), lambda asked: str(given(asked.form)))


EACH = (
    form_need("a stream that norms see in 4 dimensions or more", lambda form: seen_width(form) >= 4, seen_width),
    form_need("room for 3 tokens or more", lambda form: form.context >= 3, lambda form: form.context),
    form_need("heads of width 2 or more", lambda form: form.head_width >= 2, lambda form: form.head_width),
    form_need(
        "SiLU or GELU, that with tanh beside norms of queries and keys or behind halves",
        lambda form: (
            form.activation != "relu" and not (form.activation == "gelu" and (form.norms_behind or form.head_norms))
        ),
        lambda form: form.activation,
    ),
    form_need("an epsilon above 0", lambda form: form.epsilon > 0, lambda form: form.epsilon),
    form_need(
        "scales above 0",
        lambda form: all(value > 0 for _, value in form.features() if isinstance(value, Fraction)),
        lambda form: 0,
    ),
    form_need("parts that it is proved for", lambda form: unproved(form) is None, unproved),
    form_need(
        "windows of 3 tokens or more", lambda form: form.window is None or form.window >= 3, lambda form: form.window
    ),
    form_need(
        "rotary frequencies that are different and between 0 and 3",
        frequencies_differ,
        lambda form: f"theta {form.theta}",
    ),
    form_need(
        "RMSNorm, rotary positions and heads narrower than the stream where queries and keys have gains",
        lambda form: (
            not form.head_norms
            or (form.head_norms, form.norm, form.theta is None, form.head_width < form.width)
            == ("head", "rms", False, True)
        ),
        lambda form: f"{form.norm}, theta {form.theta}, head width {form.head_width}",
    ),
    form_need(
        "rotary frequencies that are algebraic, and no gains or norms behind, where layers have no rotary positions",
        lambda form: (
            form.unturned is None or (has_algebraic_frequencies(form) and not form.head_norms and not form.norms_behind)
        ),
        lambda form: f"theta {form.theta}",
    ),
)
"""What each of the theorems needs of a form."""


def _row(number: str, *needs: TheoremNeed) -> TheoremRow[AskedModels, str]:
    """Return a row: hypotheses on a form cost nothing, and weights have conditions besides."""
    return TheoremRow(
        f"{number} of {PAGE}", lambda asked: theorem_of(asked.form) == number, paid_by_steps, lambda asked: number,
        needs=(*EACH, *needs),
    )  # fmt: skip


MODELS = (
    _row("Theorem 1", _unbiased(lambda form, name: name == "key_bias" and bool(form.unturned))),
    _row("Theorem 2", _unbiased(lambda form, name: name in ("query_bias", "key_bias"))),
    _row(
        "Theorem 3",
        form_need(
            "RMSNorm, gates and rotary positions where norms stand behind",
            lambda form: form.norm == "rms" and form.has_gate and form.theta is not None,
            lambda form: f"{form.norm}, theta {form.theta}",
        ),
        form_need(
            "more neurons than the stream is wide where norms stand behind",
            lambda form: form.inner > form.width,
            lambda form: f"{form.inner} neurons, width {form.width}",
        ),
        form_need(
            "values of rank k with k (k + 1) / 2 no less than the width where norms stand behind",
            lambda form: (k := read_at_one_token(form)) * (k + 1) // 2 >= form.width,
            lambda form: f"k = {read_at_one_token(form)}, width {form.width}",
        ),
        _unbiased(lambda form, name: name.endswith("_bias")),
    ),
)
"""Which symmetries there are, of each kind of models."""


def theorem_of(form: CheckpointForm) -> str:
    """Return which theorem of the page is about such networks: norms behind, gains on queries and keys, or else."""
    return "Theorem 3" if form.norms_behind else "Theorem 2" if form.head_norms else "Theorem 1"


def not_covered(form: CheckpointForm, parts: Collection[str] = ()) -> str | None:
    """Return the first thing that the theorem needs of a form and that is not so; `None` where it applies.

    Args:
        form: of the network.
        parts: the pieces of its layers; biases are looked for.

    Raises:
        BadInput: a part of the form is not known here at all.

    Example:
        >>> from lightning_sym.testing import small_checkpoint
        >>> not_covered(small_checkpoint("llama").form)
        >>> not_covered(small_checkpoint("opt").form)
        'it needs SiLU or GELU, that with tanh beside norms of queries and keys or behind halves, got relu'
    """
    require_form(form, Walker.GROUPS)
    _, tried = ask(AskedModels(form, parts), MODELS, Work())
    return tried[0].why if tried else None
