"""The text of a classified point, as the command prints it."""

from __future__ import annotations

from typing import Any

from lightning_sym.dimension.answer_text import dimension_latex
from lightning_sym.display import Lines, latex_lines, latex_words
from lightning_sym.network.architecture import network_line


def point_lines(point: Any) -> Lines:
    """The text of a `Classification`."""
    dimension, ranks = point.dimension, point.ranks
    labels = ", ".join(label.value for label in point.labels) or "not critical"
    lines = [("network", network_line(point.architecture)), ("point", labels if point.decided else "undecided")]
    lines += [("", reason) for reason in point.reasons]
    between = f"between {dimension.lower:,} and {dimension.upper:,}"
    lines.append(("dimension of M", between if dimension.value is None else f"{dimension.value:,}  certified"))
    if ranks is not None:
        points = "all of A = 0 or V = 0" if ranks.fiber_points is None else f"{ranks.fiber_points}"
        lines += [
            ("rank of A, of V", f"{ranks.attention:,}, {ranks.value:,}"),
            ("differential in A, V", f"rank {ranks.differential:,} in all directions"),
            ("", f"rank {ranks.restricted:,} on the {ranks.domain:,} directions tangent to the matrices A allowed"),
            ("tangent vectors of M", f"curves inside M span {ranks.tangent:,} dimensions"),
            ("projective fiber", f"points: {points}"),
        ]
    lower, upper = point.weight_rank_lower, point.weight_rank_upper
    rank = f"rank {lower:,}" if lower == upper else f"rank between {lower:,} and {upper:,}"
    return [*lines, ("differential in Q, K, V", rank)]


def point_latex(point: Any) -> str:
    """The answer as formulas."""
    labels = ", ".join(label.value for label in point.labels) or "not critical"
    said = [latex_words(labels if point.decided else "undecided"), dimension_latex(point.dimension)]
    if point.ranks is not None:
        said.append(
            rf"\operatorname{{rk}} A = {point.ranks.attention}, \quad \operatorname{{rk}} V = {point.ranks.value}"
        )
    return latex_lines(said)
