"""The text of a classified point, as the command prints it."""

from __future__ import annotations

from typing import Any

from lightning_sym.citations import citations
from lightning_sym.display import Lines, labelled, latex_lines, latex_words
from lightning_sym.network.architecture import network_line


def point_lines(point: Any) -> Lines:
    """Return the text of a `Classification`."""
    dimension, tangent, ranks = point.dimension, point.tangent_dimension, point.ranks
    labels = ", ".join(label.value for label in point.labels) or "not critical"
    lines = [("network", network_line(point.architecture)), ("point", labels if point.decided else "undecided")]
    lines += [("", reason) for reason in point.reasons]
    known, statement = ("", "") if dimension.value is None else ("  certified", "docs/every-width.md, Theorem 2")
    lines.append(("dimension of M", f"{dimension}{known}"))
    lines.append(("tangent space", f"dimension {tangent}: {tangent.source}"))
    if point.equations is not None:
        degree, bound = point.equations
        lines.append(("equations", f"up to degree {degree}: they leave dimension {bound:,}"))
    if ranks is not None:
        statement = "docs/one-layer.md, Proposition 3 and Theorems 4 and 5"
        points = "all of A = 0 or V = 0" if ranks.fiber_points is None else f"{ranks.fiber_points}"
        lines += [
            ("rank of A, of V", f"{ranks.attention:,}, {ranks.value:,}"),
            ("row V meet col A", f"dimension {ranks.common:,}"),
            ("differential in A, V", f"rank {ranks.differential:,} in all directions"),
            ("", f"rank {ranks.restricted:,} on the {ranks.domain:,} directions tangent to the matrices A allowed"),
            ("projective fiber", f"points: {points}"),
        ]
    lines.append(("differential in Q, K, V", f"rank {point.weight_rank}"))
    lines += [] if point.limits is None else point.limits.lines()
    lines += labelled("tried", map(str, (*point.tried, *(() if point.limits is None else point.limits.tried))))
    return [*lines, ("proof", "; ".join([statement] * bool(statement) + list(citations(lines))))]


def point_latex(point: Any) -> str:
    """Return the answer as formulas."""
    labels = ", ".join(label.value for label in point.labels) or "not critical"
    said = [latex_words(labels if point.decided else "undecided")]
    said.append(rf"\dim \mathcal M {point.dimension.latex}, \quad \dim T \mathcal M {point.tangent_dimension.latex}")
    if (ranks := point.ranks) is not None:
        known = rf"\operatorname{{rk}} A = {ranks.attention}, \quad \operatorname{{rk}} V = {ranks.value}, \quad "
        said.append(known + rf"\dim(\operatorname{{row}} V \cap \operatorname{{col}} A) = {ranks.common}")
    return latex_lines(said)
