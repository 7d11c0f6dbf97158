"""What the paper prints of a dimension: it stands beside the answer, and nothing passes through it."""

from __future__ import annotations

from dataclasses import dataclass

from lightning_sym.network.architecture import Architecture


@dataclass(frozen=True)
class PrintedFormula:
    """A formula of the paper for this architecture.

    Attributes:
        source: where it is printed.
        value: what it gives, `None` where it cannot be evaluated.
        applies: whether its hypotheses hold.
        reason: the hypothesis that fails, or the ones that hold.
    """

    source: str
    value: int | None
    applies: bool
    reason: str


def printed_formula(architecture: Architecture) -> PrintedFormula:
    r"""Return the paper's formula for the dimension, with the verdict on its hypotheses.

    Corollary 3.3 for one layer: $2 \alpha d - \alpha^2 + d d' - 1$. Corollary 3.8 for more layers, inner widths all
    $\delta$: $\sum_i \alpha_i (2 d_{i-1} - \alpha_i) + \delta (d_0 + d_l - \delta) - l$. Theorem 3.9 and Conjecture
    3.10 for normalized networks: the same without $- l$ (Eq. 16).

    Example:
        >>> printed_formula(Architecture((4, 4, 4), (2, 2), 3)).value
        38
    """
    if not architecture.is_bare or architecture.causal:
        return PrintedFormula("none", None, False, "the paper has no formula for heads, skip, masks or embeddings")
    widths, depth, normalized = architecture.widths, architecture.depth, architecture.normalization is not None
    alpha = [min(a, d) for a, d in zip(architecture.attention_ranks, widths, strict=False)]
    source = "Corollary 3.3, Eq. 7" if depth == 1 else "Corollary 3.8, Eq. 14"
    if normalized:
        source = "Theorem 3.9, Eq. 16" if depth == 1 else "Conjecture 3.10, Eq. 16"
    delta = min(widths) if depth == 1 else min(widths[1:-1])
    if len(set(widths[1:-1])) > 1 or min(widths[0], widths[-1]) < delta:
        reason = "needs equal inner widths that the input and output widths reach"
        return PrintedFormula(source, None, False, reason)
    value = sum(a * (2 * d - a) for a, d in zip(alpha, widths, strict=False))
    value += delta * (widths[0] + widths[-1] - delta) - (0 if normalized else depth)
    if architecture.tokens < 2:
        return PrintedFormula(source, value, False, "needs at least two tokens")
    if depth == 1 and not normalized and architecture.attention_ranks[0] == widths[1] == 1:
        return PrintedFormula(source, value, False, "needs a > 1 or d' > 1")
    if architecture.normalization is not None and architecture.normalization.taylor(1) == 0:
        return PrintedFormula(source, value, False, "needs a normalization with S'(0) not 0")
    if depth > 1 and not normalized and min(alpha) < 2:
        return PrintedFormula(source, value, False, "needs attention matrices of rank two or more in every layer")
    ranks = ", ranks >= 2" if depth > 1 and not normalized else ""
    return PrintedFormula(
        source, value, True, "one layer, t >= 2" if depth == 1 else f"bottleneck widths{ranks}, t >= 2"
    )
