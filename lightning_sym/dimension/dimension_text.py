"""The text of a certified dimension, and what the paper prints beside it, through which nothing passes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from math import factorial
from typing import Any

from lightning_sym.citations import citations
from lightning_sym.dimension.evidence import Evidence
from lightning_sym.dimension.varieties import virtual_weight_variety
from lightning_sym.display import Lines, bounds_in_words, labelled, latex_bounds, latex_words
from lightning_sym.network.architecture import Architecture, network_line
from lightning_sym.network.pieces import SHAPED


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


MOST_ALIKE = 8
"""More pieces of a variety that differ by their numbers only are one line."""


def head_permutations(network: Architecture) -> int | None:
    """Return how many ways there are to reorder the heads of all layers: the function is the same after each.

    `None` where the number would have more than a thousand digits.
    """
    network.require("the permutations of the heads", SHAPED)
    if network.heads > 20 or network.depth > 50:
        return None
    return int(factorial(network.heads) ** network.depth)


def _pieces(network: Architecture) -> Lines:
    """Return what the variety of virtual weights is made of."""
    lines: Lines = []
    pieces = [piece for piece in virtual_weight_variety(network).pieces if piece.dimension]
    for (each, _), alike in groupby(pieces, lambda piece: (piece.dimension, re.sub(r"\d+", "", piece.name))):
        names = [piece.name for piece in alike]
        if len(names) > MOST_ALIKE:
            names = [f"{names[0]}, ..., {names[-1]}, {len(names)} times"]
        lines += [("", f"    {each:+,}  {name}") for name in names]
    return lines


def dimension_lines(result: Any) -> Lines:
    """Return the text of a `CertifiedDimension`."""
    network, formula = result.architecture, result.formula
    lines = [("network", str(network)), ("parameters", f"{network.parameter_count:,}")]
    met = "certified: the two bounds below meet"
    lines.append(("dimension", bounds_in_words(result.lower, result.upper, met)))
    if result.value is not None:
        permutations = head_permutations(network)
        heads = (
            f"; besides, {permutations:,} permutations of the heads"
            if permutations is not None and 1 < permutations < 10**9
            else ""
        )
        lines.append(("generic fiber", f"dimension {result.fiber_dimension:,}{heads}"))
    where = f"rank of the Jacobian modulo {result.prime} at integer weights, {result.rows:,} inputs"
    if result.layers is not None:
        where = f"the dimensions of its {result.layers:,} layers, each alone, and of both ends"
    elif result.matrices is not None:
        where = (
            f"by {result.matrices:,} full ranks modulo {result.prime} of the network's own matrices at integer weights"
        )
    elif network.normalization is not None:
        where += ", exponentials free" if result.has_free_exponentials else f", Taylor series of degree {result.order}"
    lines.append(("lower bound", f"{result.lower:,}  {where}"))
    for evidence in filter(result.upper_bounds.__contains__, Evidence):
        pieces = evidence is Evidence.FACTORIZATION
        lines.append(("upper bound", f"{result.upper_bounds[evidence]:,}  {evidence.meaning}{':' if pieces else ''}"))
        if pieces:
            lines += _pieces(network)
    if formula.value is None:
        lines.append(("paper", f"no formula applies: {formula.reason}"))
    else:
        scope = "its hypotheses hold" if formula.applies else f"outside its hypotheses: {formula.reason}"
        agreement = {True: "agrees", False: "differs", None: "not compared"}[result.formula_agrees]
        lines.append(("paper", f"{formula.value:,}  {formula.source} {agreement} ({scope})"))
    if result.value is None:
        return [*lines, *labelled("tried", map(str, result.tried))]
    statements = dict.fromkeys(
        [*_below(result), *(_statement(evidence, network) for evidence in result.upper_evidence)]
    )
    return [*lines, ("proof", "; ".join(citations([("", "; ".join(statements))])))]


def _statement(evidence: Evidence, network: Architecture) -> str:
    """Return which statement makes it a bound for this network; virtual weights have one for each kind of scores."""
    if evidence is not Evidence.FACTORIZATION:
        return evidence.citation
    return f"Theorem {6 if network.normalization is None else 7} of docs/upper-bound.md"


def _below(result: Any) -> Iterator[str]:
    """Yield the statement by which the lower bound is one, where it is more than a minor that is not zero."""
    if result.layers is not None:
        yield Evidence.LAYERS.citation
    elif result.matrices is not None:
        yield Evidence.PRODUCTS.citation
    elif result.has_free_exponentials:
        yield "Corollary B of docs/transformers.md"
    elif result.order is not None:
        yield "Proposition 2 of docs/transformers.md"


def dimension_latex(result: Any) -> str:
    """Return the answer as a formula."""
    said = latex_bounds(r"\dim \mathcal{M}", result.lower, result.upper)
    return rf"{said} \quad {latex_words('(' + network_line(result.architecture) + ')')}"
