"""`figure singular`: the tangent space jumps along a path into the singular locus, as it is and as it is printed."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from lightning_cli.pictures.drawing import BLUE, GREY, ORANGE, Picture, grey_legend, plain_axes
from lightning_sym.geometry.classify import Classification, classify
from lightning_sym.network.weights import Weights

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CAPTION = (
    "Exact: at each rational $s$ the dimension of the tangent space, by three ranks over the rationals.\n"
    "Layer of width 3, two outputs, $a = 2$, $A = \\mathrm{diag}(1, s, 0)$."
)
SAID = "Exact: dimensions of tangent spaces at rational s, by ranks over the rationals; A = diag(1, s, 0), a = 2."

PATHS = {2: [[1, 0, 0], [0, 1, 0]], 1: [[0, 0, 1], [0, 0, 0]]}
"""By its rank, the value matrix of a path."""

PLACES = tuple(Fraction(k, 4) for k in range(-6, 7))


def weights_at(s: Fraction, value_rank: int) -> Weights:
    """Return a point of a path: `A = diag(1, s, 0)`."""
    query: list[list[object]] = [[1, 0, 0], [0, s, 0]]
    return Weights.of({"Q1": query, "K1": [[1, 0, 0], [0, 1, 0]], "V1": PATHS[value_rank]})


def _row(rank: int, s: Fraction, found: Classification) -> tuple[str, ...]:
    ranks = found.ranks
    assert ranks is not None  # noqa: S101 - one layer
    printed = "singular" if ranks.attention == ranks.value == 1 else "regular"
    kind = ", ".join(label.value for label in found.labels)
    return str(rank), str(s), str(ranks.attention), str(found.tangent_dimension), kind, printed


def picture() -> Picture:
    """Return two paths that meet the singular locus at `s = 0`, in one of them where the paper has it."""
    found = {rank: [classify(weights_at(s, rank)) for s in PLACES] for rank in PATHS}
    dimension = found[2][0].dimension.lower
    heights = {rank: [point.tangent_dimension.lower for point in points] for rank, points in found.items()}
    rows = tuple(_row(rank, s, point) for rank in PATHS for s, point in zip(PLACES, found[rank], strict=True))
    return Picture(
        "singular",
        f"Along A = diag(1, s, 0), dim M = {dimension}",
        SAID,
        ("rk V", "s", "rk A", "tangent dimension", "kind", "Theorem 3.4 as printed"),
        rows,
        partial(_draw, heights=heights, dimension=dimension),
    )


def _draw(figure: Figure, heights: dict[int, list[int]], dimension: int) -> None:
    axes = plain_axes(figure, CAPTION)
    styles = {
        2: (BLUE, "o", "rk $V$ = 2: singular, not in the printed locus"),
        1: (ORANGE, "s", "rk $V$ = 1: singular, as printed"),
    }
    axes.axhline(dimension, color=GREY, linewidth=1, linestyle="--")
    axes.annotate(
        f"$\\dim\\, \\mathcal{{M}} = {dimension}$", (float(PLACES[-1]), dimension), xytext=(0, -24),
        textcoords="offset points", ha="right", color=GREY,
    )  # fmt: skip
    for rank, (colour, shape, label) in sorted(styles.items()):
        away = [(float(s), h) for s, h in zip(PLACES, heights[rank], strict=True) if s]
        shift = 0.035 if rank == 2 else -0.035  # the same height: one a little above the other
        axes.plot(
            *zip(*((s, h + shift * 4) for s, h in away), strict=True),
            color=colour,
            marker=shape,
            markersize=6,
            linestyle="",
        )
        (jump,) = [h for s, h in zip(PLACES, heights[rank], strict=True) if not s]
        axes.vlines(0, dimension, jump, color=colour, linewidth=2, linestyle=":")
        axes.plot([0], [jump], color=colour, marker=shape, markersize=12, linestyle="", label=label)
        axes.annotate(f"  {jump}", (0.06, jump), color=GREY, va="center")
    top = max(map(max, heights.values())) + 1
    axes.set(xlabel="$s$", ylabel="dimension of the tangent space")
    axes.set(ylim=(dimension - 2, top), yticks=range(dimension - 1, top))
    grey_legend(axes, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=1)
