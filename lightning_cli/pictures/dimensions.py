"""`figure dimensions`: certified dimensions over widths and ranks, beside the paper's formula, and where they part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from lightning_cli import exit_codes
from lightning_cli.pictures.drawing import ORANGE, Picture, grey_bar, matplotlib, plain_axes
from lightning_cli.writing.output import progress_bar
from lightning_sym.dimension.certify import certified_dimension
from lightning_sym.dimension.dimension_text import printed_formula
from lightning_sym.lazy import lazy_imports
from lightning_sym.network.architecture import Architecture

with lazy_imports(__name__):
    from matplotlib import cm, colors, patches

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

LARGEST, TOKENS = 6, 2

SAID = (
    "Exact: each number is certified by two bounds that meet. Framed: Eq. 14, outside of its hypotheses, gives the "
    "number in brackets instead. Dashed: the paper has no formula. Two layers of lightning attention, two tokens."
)

PANELS = {
    "ranks": ("all widths 6", "rank of layer 2", "rank of layer 1"),
    "widths": ("ranks 2, widths $d, m, d$", "width $m$ in the middle", "width $d$"),
}
"""What a panel varies: its title, and what goes across and up."""


@dataclass(frozen=True)
class Cell:
    """One network: its dimension, between two bounds, and what Eq. 14 gives."""

    panel: str
    across: int
    up: int
    network: Architecture
    lower: int
    upper: int
    formula: int | None
    applies: bool

    @property
    def certified(self) -> str:
        """The dimension in words."""
        return f"{self.lower}" if self.lower == self.upper else f"{self.lower} to {self.upper}"

    @property
    def kind(self) -> str:
        """The formula beside the dimension."""
        if self.formula is None:
            return "no formula"
        return "equal" if self.lower <= self.formula <= self.upper else "different"

    def row(self) -> tuple[str, ...]:
        """Return what the table says of it."""
        widths, ranks = (",".join(map(str, n)) for n in (self.network.widths, self.network.attention_ranks))
        formula = "" if self.formula is None else str(self.formula)
        holds = "yes" if self.applies else "no"
        return widths, ranks, str(self.network.parameter_count), self.certified, formula, holds, self.kind


def networks() -> Iterator[tuple[str, int, int, Architecture]]:
    """Yield the networks of both panels: which panel, where in it, the network."""
    for up in range(1, LARGEST + 1):
        for across in range(1, LARGEST + 1):
            yield "ranks", across, up, Architecture((LARGEST,) * 3, (up, across), TOKENS)
            yield "widths", across, up, Architecture((up, across, up), (2, 2), TOKENS)


def compute() -> list[Cell]:
    """Return all dimensions and formulas, neither of which knows of the other."""
    asked, cells = sorted(networks(), key=lambda each: each[0]), []
    with progress_bar() as report:
        for done, (panel, across, up, network) in enumerate(asked):
            report("certifying", done, len(asked))
            found, formula = certified_dimension(network), printed_formula(network)
            cells.append(Cell(panel, across, up, network, found.lower, found.upper, formula.value, formula.applies))
    return cells


def picture() -> Picture:
    """Return the picture; its code is 3 if a dimension is undecided, 1 if the formula fails where it should hold."""
    cells = compute()
    wrong = any(cell.kind == "different" and cell.applies for cell in cells)
    undecided = any(cell.lower != cell.upper for cell in cells)
    return Picture(
        "dimensions",
        "Two layers of lightning attention, t = 2",
        SAID,
        ("widths", "ranks", "parameters", "dimension (certified)", "Eq. 14", "its hypotheses hold", ""),
        tuple(cell.row() for cell in cells),
        partial(_draw, cells=cells),
        size=(9.6, 5.4),
        code=exit_codes.NOT_AS_EXPECTED if wrong else exit_codes.UNDECIDED if undecided else exit_codes.AS_EXPECTED,
    )


def _draw(figure: Figure, cells: list[Cell]) -> None:
    shades, every = matplotlib().colormaps["cividis"], []
    for place, (panel, (title, across, up)) in enumerate(PANELS.items(), start=1):
        axes = plain_axes(figure, SAID, place=(1, 2, place))
        every.append(axes)
        for cell in cells:
            if cell.panel == panel:
                _cell(axes, cell, shades)
        limits, ticks = (0.4, LARGEST + 0.6), range(1, LARGEST + 1)
        axes.set(xlim=limits, ylim=limits, aspect="equal", xticks=ticks, yticks=ticks)
        axes.set_title(title, fontsize=16)
        axes.set_xlabel(across, fontsize=15)
        axes.set_ylabel(up, fontsize=15)
        axes.tick_params(labelsize=14)
    colours = cm.ScalarMappable(colors.Normalize(0, 1), shades)
    grey_bar(figure, colours, "dimension / parameters", ax=every, shrink=0.75)


def _cell(axes: Axes, cell: Cell, shades: Colormap) -> None:
    part = cell.lower / cell.network.parameter_count
    colour = "black" if part > 0.45 else "white"
    edges: dict[str, dict[str, Any]] = {
        "equal": {"edgecolor": "none"},
        "different": {"edgecolor": ORANGE, "linewidth": 3},
        "no formula": {"edgecolor": colour, "linewidth": 1.2, "linestyle": (0, (3, 2))},
    }
    corner = (cell.across - 0.46, cell.up - 0.46)
    axes.add_patch(patches.Rectangle(corner, 0.92, 0.92, facecolor=shades(part), **edges[cell.kind]))
    differs = cell.kind == "different"
    said, size = (f"{cell.certified}\n[{cell.formula}]", 13) if differs else (cell.certified, 16)
    axes.text(cell.across, cell.up, said, ha="center", va="center", fontsize=size, color=colour, weight="bold")
