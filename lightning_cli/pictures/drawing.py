"""What all pictures share: where they go, how they are saved, colours, and the numbers that stand beside them.

In JSON `lightning-sym figure` says these numbers: the table beside a picture, and Figure 3 number by number.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from lightning_cli import exit_codes
from lightning_cli.output_file import write_file
from lightning_cli.writing.fields import (
    JsonAnswer,
    JsonField,
    constant,
    each,
    field,
    group,
    json_answer,
    natural,
    one_of,
    optional,
)
from lightning_cli.writing.shared_fields import ANY_MATRIX, STATUS
from lightning_sym.arguments import shown
from lightning_sym.errors import BadInput
from lightning_sym.lazy import import_extra, lazy_imports

with lazy_imports(__name__):
    from matplotlib import figure as figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure


PICTURE = json_answer(
    "picture",
    field("figure", one_of("1", "dimensions", "fiber", "roots", "singular"), "its name", "name"),
    field("title", str, "what is shown, one line"),
    field("caption", str, "what of it is exact"),
    field("columns", [str], "names of the columns of the table"),
    field("rows", ANY_MATRIX, "the table: exact numbers, matrices and words"),
    field("output", optional(str), "the picture that was drawn, null if none was asked for"),
    said="`lightning-sym figure NAME --json`, all but Figure 3.",
)

POINT = group(
    field("width", natural(1)),
    field("parameters", natural(1), of="estimated.architecture.parameter_count"),
    field("estimated", optional(natural()), of="estimated.value"),
    field("lower", natural(), of="estimated.lower"),
    field("upper", natural(), of="estimated.upper"),
    field("status", STATUS, of="estimated.status.value"),
    field("expected", natural()),
    field("agrees", optional(bool)),
)


def _fixed(word: str, value: object, meaning: str) -> JsonField:
    """Return a field that has one value."""
    return field(word, constant(value), meaning, lambda told: value)


FIGURE_3 = json_answer(
    "figure",
    _fixed("figure", 3, "the number in the paper"),
    _fixed("layers", 2, "l"),
    _fixed("attention_ranks", [2, 2], "a_1, a_2"),
    _fixed("tokens", 3, "t"),
    _fixed("normalization", "softmax", "of the scores"),
    field("points", each(POINT, 1), "one a width: certified, and by Eq. 16", "numbers"),
    field("output", optional(str), "the picture that was written"),
    said="`lightning-sym figure 3 --json`.",
)

ANSWERS = (PICTURE, FIGURE_3)


ENDINGS = (".png", ".svg", ".pdf")

GREY = "#767676"
"""Of words and axes: read on white and on black."""

BLUE, ORANGE, GREEN, PINK, SKY = "#0072b2", "#d98200", "#009e73", "#cc79a7", "#56b4e9"
"""Colours that colour-blind people tell apart."""


@dataclass(frozen=True)
class Picture:
    """A picture, and the exact numbers that it shows.

    Attributes:
        name: as the command has it.
        title: what is shown, one line.
        caption: what of it is exact.
        columns: names of the columns of the table beside it.
        rows: exact numbers and words.
        draw: draws it on an empty figure.
        size: inches.
        code: the exit code of the command.
        answer: the fields of its JSON.
        numbers: what they hold, where it is not the table.
    """

    name: str
    title: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    draw: Callable[[Figure], None]
    size: tuple[float, float] = (6.4, 4.4)
    code: int = exit_codes.AS_EXPECTED
    answer: JsonAnswer = PICTURE
    numbers: Sequence[object] = ()

    def image(self, kind: str) -> bytes:
        """Return the picture, the same bytes on every run: `kind` is `png`, `svg` or `pdf`."""
        return image(self.draw, self.size, kind)


_SILENT = {
    "png": ("Software",),
    "svg": ("Date", "Creator", "Format", "Type"),
    "pdf": ("CreationDate", "Creator", "Producer"),
}
"""What of a file is left out: dates, names and version numbers would make every file another one."""


def image(draw: Callable[[Figure], None], size: tuple[float, float], kind: str, needing: str = "the picture") -> bytes:
    """Return what is drawn on an empty figure of a size in inches, the same bytes on every run.

    Raises:
        MissingExtra: the package that draws, which `needing` needs, is not installed.
    """
    # the salt makes the names inside an SVG the same on every run
    with matplotlib(needing).rc_context({"font.size": 11, "svg.hashsalt": "lightning-sym", "axes.unicode_minus": True}):
        figure = figures.Figure(figsize=size, layout="constrained")
        figure.patch.set_alpha(0)
        draw(figure)
        file = BytesIO()
        figure.savefig(file, format=kind, dpi=200, metadata=dict.fromkeys(_SILENT[kind]))
    return _shorter(file.getvalue()) if kind == "svg" else file.getvalue()


def _shorter(svg: bytes) -> bytes:
    """Return a drawing with places to a hundredth of a point, one line a path."""
    svg = re.sub(rb" *\n([LQz\"])", rb"\1", svg)
    return re.sub(rb"(?<=[ \"ML])(-?\d+\.\d\d)\d+(?=[ \"\n])", rb"\1", svg)


def require_output(output: str, endings: tuple[str, ...] = ENDINGS) -> Path:
    """Refuse what of the picture's name and of this installation stands in the way, before anything is computed.

    Raises:
        MissingExtra: the package that draws is not installed.
        BadInput: the ending is of no known kind.
    """
    target = Path(output)
    if target.suffix.lower() not in endings:
        raise BadInput(f"the picture must end in {', '.join(endings[:-1])} or {endings[-1]}, got {shown(output)}")
    if target.suffix.lower() in ENDINGS:
        matplotlib()
    return target


def matplotlib(needing: str = "the picture") -> ModuleType:
    """Return the package that draws, whatever way to show pictures MPLBACKEND asks for: none is shown here.

    Raises:
        MissingExtra: it is not installed.
    """
    wanted = os.environ.pop("MPLBACKEND", None)  # notebooks set one that only they have
    try:
        return import_extra("matplotlib", "plot", needing)
    finally:
        if wanted is not None:
            os.environ["MPLBACKEND"] = wanted


def write_picture(target: Path, content: bytes) -> None:
    """Write a picture; the file appears complete, or nothing changes.

    Raises:
        BadInput: it cannot be written.
    """
    write_file("the picture", target, content)


def write_caption(figure: Figure, caption: str) -> None:
    """Write a caption below the picture; a long one in lines of the width of the picture."""
    wide = int(figure.get_size_inches()[0] * 15.5)
    lines = [caption] if "\n" in caption or "$" in caption else textwrap.wrap(caption, wide)
    figure.supxlabel("\n".join(lines), fontsize=8.5, color=GREY)


def plain_axes(
    figure: Figure, caption: str = "", place: tuple[int, int, int] = (1, 1, 1), *, framed: bool = False
) -> Axes:
    """Return axes that are read on white and on black, with a caption below, if there is one."""
    axes = figure.add_subplot(*place)
    axes.patch.set_alpha(0)
    axes.spines[["top", "right"]].set_visible(framed)
    for spine in axes.spines.values():
        spine.set_color(GREY)
    axes.tick_params(colors=GREY)
    for part in (axes.title, axes.xaxis.label, axes.yaxis.label):
        part.set_color(GREY)
    if caption:
        write_caption(figure, caption)
    return axes


def grey_bar(
    figure: Figure, colours: ScalarMappable, label: str = "", *, ax: Axes | list[Axes], shrink: float = 1.0
) -> None:
    """Draw a bar that says what colours stand for, its words in grey."""
    bar = figure.colorbar(colours, ax=ax, shrink=shrink)
    bar.ax.tick_params(colors=GREY)
    bar.outline.set_edgecolor(GREY)
    if label:
        bar.set_label(label, color=GREY)


def grey_legend(where: Axes, **options: Any) -> None:
    """Draw a legend without a frame, its words in grey."""
    for text in where.legend(frameon=False, **options).get_texts():
        text.set_color(GREY)
