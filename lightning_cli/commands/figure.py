"""`lightning-sym figure 3`: the paper's Figure 3, estimated against expected, as a table and as a picture."""

from __future__ import annotations

import os
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from lightning_cli import exit_codes, options
from lightning_sym.whole_files import replacing, require_writable

if TYPE_CHECKING:
    from lightning_sym.dimension.certify import CertifiedDimension
    from lightning_sym.errors import BadInput

SCHEMA = "lightning-sym/figure/1"

ENDINGS = (".png", ".svg")

FIGURES = ("3",)


class Point(NamedTuple):
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


def compute() -> list[Point]:
    """Both curves, each computed by itself, laid side by side."""
    from lightning_cli.writing.output import progress_bar
    from proofs_check.claims.normalized import figure_3

    networks = figure_3.figure_networks()
    estimated = []
    with progress_bar() as report:
        for done, network in enumerate(networks):
            report("certifying", done, len(networks))
            estimated.append(figure_3.estimated(network))
    expected = [figure_3.expected(network) for network in networks]
    return [Point(*pair) for pair in zip(estimated, expected, strict=True)]


# --- where it goes


def require_output(output: str) -> Path:
    """Everything that can be known to stand in the way of the picture, said before anything is computed.

    Raises:
        MissingExtra: the package that draws is not installed.
        BadInput: the ending is of no known kind, or the file cannot be written.
    """
    from lightning_sym.errors import BadInput, MissingExtra

    target = Path(output)
    if target.suffix.lower() not in ENDINGS:
        raise BadInput(f"the picture must end in {' or '.join(ENDINGS)}, got {_shown(output)}")
    try:
        _matplotlib()
    except ImportError as error:
        raise MissingExtra("the picture needs the extra: pip install lightning-sym[plot]") from error
    try:
        require_writable(target)
    except OSError as error:
        raise _cannot_write(output, error) from error
    return target


def _matplotlib() -> Any:
    """The package that draws, whatever way to show pictures is asked for in MPLBACKEND: none is shown here."""
    wanted = os.environ.pop("MPLBACKEND", None)  # notebooks set one that only they have
    try:
        import matplotlib as mpl
    finally:
        if wanted is not None:
            os.environ["MPLBACKEND"] = wanted
    return mpl


def _shown(path: str) -> str:
    return repr(path if len(path) <= 60 else path[:60] + "...")


def _cannot_write(path: str, error: OSError) -> BadInput:
    from lightning_sym.errors import BadInput

    reason = error.strerror or error
    return BadInput(f"the picture must be a file that can be written, got {_shown(path)}: {reason}")


def write_picture(target: Path, content: bytes) -> None:
    """The file appears complete, or nothing changes.

    Raises:
        BadInput: it cannot be written.
    """
    try:
        with replacing(target) as file:
            file.write_bytes(content)
    except OSError as error:
        raise _cannot_write(str(target), error) from error


# --- what it shows


def draw(points: Sequence[Point], kind: str) -> bytes:
    """The picture, the same bytes on every run: `kind` is `png` or `svg`."""
    mpl = _matplotlib()
    from matplotlib.figure import Figure

    widths = [point.width for point in points]
    lower = [point.estimated.lower for point in points]
    open_ranges = [point.estimated.upper - point.estimated.lower for point in points]
    # the salt makes the names inside an SVG the same on every run
    with mpl.rc_context({"font.size": 11, "svg.hashsalt": "lightning-sym"}):
        figure = Figure(figsize=(6.4, 4.4), layout="constrained")
        axes = figure.add_subplot()
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="0.9")
        axes.set_axisbelow(True)
        estimated = axes.errorbar(
            widths,
            lower,
            yerr=[[0] * len(points), open_ranges] if any(open_ranges) else None,
            color="cornflowerblue",
            linewidth=5,
            marker="o",
            markersize=12,
            zorder=2,
            label="Estimated (certified, exact)",
        )
        (expected,) = axes.plot(
            widths,
            [point.expected for point in points],
            color="crimson",
            linewidth=2,
            linestyle=":",
            marker="x",
            markersize=6,
            markeredgewidth=2,
            zorder=3,
            label="Expected (Eq. 16)",
        )
        axes.set_xticks(widths)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("Width $d$")
        axes.set_ylabel("Neuromanifold dimension")
        axes.set_title("Softmax attention, $l = 2$ layers, $t = 3$ tokens, $a = 2$", fontsize=12, pad=12)
        axes.legend(
            handles=[estimated, expected], loc="upper left", frameon=True, framealpha=1, edgecolor="none", borderpad=0.6
        )
        file = BytesIO()
        # dates and version numbers would make every file another one
        figure.savefig(file, format=kind, dpi=200, metadata={"Date": None} if kind == "svg" else {"Software": None})
    return file.getvalue()


def as_document(points: Sequence[Point], output: str | None) -> dict[str, Any]:
    """The figure as JSON."""
    return {
        "schema": SCHEMA,
        "figure": 3,
        "layers": 2,
        "attention_ranks": [2, 2],
        "tokens": 3,
        "normalization": "softmax",
        "points": [
            {
                "width": point.width,
                "parameters": point.estimated.architecture.parameter_count,
                "estimated": point.estimated.value,
                "lower": point.estimated.lower,
                "upper": point.estimated.upper,
                "status": point.estimated.status.value,
                "expected": point.expected,
                "agrees": point.agrees,
            }
            for point in points
        ],
        "output": output,
    }


def _print(points: Sequence[Point]) -> None:
    from rich.table import Table

    from lightning_cli.writing.output import console

    table = Table(
        title="Figure 3: softmax, l = 2, t = 3, a = 2, all widths d", title_justify="left", title_style="bold"
    )
    for name in ("d", "parameters", "estimated (certified)", "expected (Eq. 16)"):
        table.add_column(name, justify="right")
    table.add_column("")
    for point in points:
        found = point.estimated
        certified = f"{found.lower:,}" if found.value is not None else f"between {found.lower:,} and {found.upper:,}"
        word = {True: "[green]equal[/green]", False: "[red]different[/red]", None: "[yellow]undecided[/yellow]"}
        parameters = f"{found.architecture.parameter_count:,}"
        table.add_row(str(point.width), parameters, certified, f"{point.expected:,}", word[point.agrees])
    console().print(table)


@click.command(
    "figure",
    epilog="""\b
Examples:
  lightning-sym figure 3
  lightning-sym figure 3 --output figure-3.png

Exit codes: 0 certified and equal, 1 different somewhere, 2 bad input, 3 undecided somewhere.""",
)
@click.argument("number", type=click.Choice(FIGURES))
@click.option(
    "--output",
    type=click.Path(),
    metavar="FILE",
    help="Also draw a picture, .png or .svg; needs the extra `plot`.",
)
@options.as_json
def command(number: str, output: str | None, as_json: bool) -> int:
    """Draw the paper's Figure 3: the dimension of deep softmax networks, estimated and expected.

    Estimated is the certified dimension, bounds from below and above that meet; expected is Eq. 16. Neither
    computation knows of the other.
    """
    target = None if output is None else require_output(output)
    points = compute()
    if target is not None:
        write_picture(target, draw(points, target.suffix.lower()[1:]))
    if as_json:
        from lightning_cli.writing.output import write_json

        write_json(as_document(points, output))
    else:
        _print(points)
        if target is not None:
            click.echo(f"picture: {target}", err=True)
    codes = {True: exit_codes.AS_EXPECTED, False: exit_codes.NOT_AS_EXPECTED, None: exit_codes.UNDECIDED}
    return exit_codes.worst(codes[point.agrees] for point in points)
