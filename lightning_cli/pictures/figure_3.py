"""The paper's Figure 3: the dimension of deep softmax networks, estimated against expected."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from lightning_cli import exit_codes
from lightning_cli.pictures.drawing import BLUE, FIGURE_3, GREY, ORANGE, Picture, grey_legend, plain_axes
from lightning_cli.writing.output import progress_bar
from lightning_sym.dimension.certify import CertifiedDimension
from proofs_check.claims.normalized import figure_3

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class CertifiedWidth(NamedTuple):
    """One width: what was certified, and what Eq. 16 says."""

    estimated: CertifiedDimension
    expected: int

    @property
    def width(self) -> int:
        """The width of all layers."""
        return self.estimated.architecture.widths[0]

    @property
    def agrees(self) -> bool | None:
        """Whether the two are the same; `None` if the bounds leave both possible."""
        found, expected = self.estimated, self.expected
        if not found.lower <= expected <= found.upper:
            return False
        return None if found.value is None else True


def compute() -> list[CertifiedWidth]:
    """Return both curves side by side, each computed by itself."""
    networks = figure_3.figure_networks()
    estimated = []
    with progress_bar() as report:
        for done, network in enumerate(networks):
            report("certifying", done, len(networks))
            estimated.append(figure_3.estimated(network))
    expected = [figure_3.expected(network) for network in networks]
    return [CertifiedWidth(*pair) for pair in zip(estimated, expected, strict=True)]


def _draw(figure: Figure, points: Sequence[CertifiedWidth]) -> None:
    widths = [point.width for point in points]
    lower = [point.estimated.lower for point in points]
    open_ranges = [point.estimated.upper - point.estimated.lower for point in points]
    axes = plain_axes(figure, CAPTION)
    axes.grid(axis="y", color=GREY, alpha=0.25)
    axes.set_axisbelow(True)
    axes.errorbar(
        widths,
        lower,
        yerr=[[0] * len(points), open_ranges] if any(open_ranges) else None,
        color=BLUE,
        linewidth=5,
        marker="o",
        markersize=12,
        zorder=2,
        label="estimated (certified)",
    )
    axes.plot(
        widths,
        [point.expected for point in points],
        color=ORANGE,
        linewidth=2,
        linestyle=":",
        marker="x",
        markersize=6,
        markeredgewidth=2,
        zorder=3,
        label="expected (Eq. 16)",
    )
    axes.set(xticks=widths, ylim=(0, None), xlabel="width $d$", ylabel="dimension")
    axes.set_title("Softmax attention, $l = 2$ layers, $t = 3$ tokens, $a = 2$", fontsize=12, pad=30)
    # between the title and the axes: off the grid
    grey_legend(axes, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)


CAPTION = "Each point is an integer that two bounds certify; neither curve knows of the other."


def _row(point: CertifiedWidth) -> tuple[str, ...]:
    found = point.estimated
    certified = f"{found.lower:,}" if found.value is not None else f"between {found.lower:,} and {found.upper:,}"
    word = {True: "equal", False: "different", None: "undecided"}[point.agrees]
    return str(point.width), f"{found.architecture.parameter_count:,}", certified, f"{point.expected:,}", word


def picture() -> Picture:
    """Return Figure 3; the exit code says whether the two curves are equal."""
    points = compute()
    return Picture(
        "3",
        "Figure 3: softmax, l = 2, t = 3, a = 2, all widths d",
        CAPTION,
        ("d", "parameters", "estimated (certified)", "expected (Eq. 16)", ""),
        tuple(map(_row, points)),
        partial(_draw, points=points),
        code=exit_codes.worst(exit_codes.CODES[point.agrees] for point in points),
        answer=FIGURE_3,
        numbers=points,
    )
