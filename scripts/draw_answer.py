"""Draws what a command prints as a picture, for pages that cannot run it: some of its lines, some words in colour.

    python scripts/draw_answer.py LABEL,LABEL WORD,WORD same examples/checkpoints/model ... FILE.svg

draws the lines with these labels, and marks the words.
"""

from __future__ import annotations

import re
import sys
from functools import partial
from html import escape
from pathlib import Path
from textwrap import wrap

from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parents[1]))  # this checkout's program, whatever is installed

from lightning_cli.main import cli
from lightning_cli.output_file import write_file

WIDE, HIGH, EDGE = 8.43, 22, 20
"""Of a letter of 14 pixels in a font of one width, of a line, and of the margin."""

_WRAP = partial(wrap, width=66, subsequent_indent=" " * 13, break_on_hyphens=False)
"""A line in parts that can be read on a phone, those below the first behind the label."""

_STYLE = """
text { font: 14px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #24211d;
  white-space: pre; }
rect { fill: #fdfcf9; stroke: #ccc5b8; } .asked { fill: #6c6862; } .label { font-weight: 600; }
.word { fill: #a52a21; font-weight: 600; }
@media (prefers-color-scheme: dark) { text { fill: #e6e2da; } rect { fill: #171614; stroke: #4a463f; }
  .asked { fill: #a09a90; } .word { fill: #f0938a; } }
"""


def picture(asked: str, lines: list[str], words: list[str]) -> str:
    """Return the picture of a command and of lines that it prints."""
    shown = [part for line in (f"$ {asked}", *lines) for part in _WRAP(line)]
    width, height = EDGE * 2 + WIDE * max(map(len, shown)), EDGE * 2 + HIGH * len(shown) - 6
    asks = len(_WRAP(f"$ {asked}"))
    rows = [f'<tspan class="asked">{escape(line)}</tspan>' for line in shown[:asks]]
    rows += [_row(line, words) for line in shown[asks:]]
    texts = "\n".join(f'<text x="{EDGE}" y="{EDGE + 14 + HIGH * i}">{row}</text>' for i, row in enumerate(rows))
    said = escape("; ".join((f"$ {asked}", *lines)), quote=True)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" '
        f'height="{height}" role="img" aria-label="{said}">\n<style>{_STYLE}</style>\n'
        f'<rect x="1" y="1" width="{width - 2:.0f}" height="{height - 2}" rx="8"/>\n{texts}\n</svg>\n'
    )


def _row(line: str, words: list[str]) -> str:
    """Return a line with its label, and the words that are marked, in styles of their own."""
    label, gap, rest = re.fullmatch(r"(\S*)( *)(.*)", line).groups()  # type: ignore[union-attr]
    said = escape(rest)
    for word in words:
        said = said.replace(escape(word), f'<tspan class="word">{escape(word)}</tspan>')
    return f'<tspan class="label">{escape(label)}</tspan>{gap}{said}'


def main() -> None:
    """Draw what the command line says."""
    labels, words, *asked, file = sys.argv[1:]
    printed = CliRunner().invoke(cli, asked, env={"COLUMNS": "120"}, standalone_mode=False).output.splitlines()
    wanted = labels.split(",")
    lines = [line for line in printed if line.split(" ")[0] in wanted]
    if len(lines) < len(wanted):
        sys.exit(f"error: the command must print lines with the labels {labels}, got {printed}")
    write_file("the picture", file, picture(f"lightning-sym {' '.join(asked)}", lines, words.split(",")))


if __name__ == "__main__":
    main()
