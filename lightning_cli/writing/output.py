"""Consoles, answers and progress: what every command writes with."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import click

from lightning_cli import exit_codes
from lightning_cli.writing.fields import JsonAnswer
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from rich import console as consoles
    from rich import progress as progresses
    from rich import table as tables
    from rich import text as texts

    from lightning_sym import citations, display, limits
    from lightning_sym.certificates import document as documents
    from lightning_sym.certificates import files

PIPE_WIDTH = 120

COLOURS = {True: "green", False: "red", None: "yellow"}
"""Of what holds, of what does not, and of what is open."""


class _Trimmed(io.StringIO):
    """Writes on to stdout, without the blanks that fill up the cells of a table."""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """That of stdout: where it has no lines for boxes, they are drawn with ASCII."""
        return getattr(sys.stdout, "encoding", None) or "utf-8"

    def write(self, text: str) -> int:
        sys.stdout.write(re.sub(r" +$", "", text, flags=re.MULTILINE))
        return len(text)

    def flush(self) -> None:
        sys.stdout.flush()


class HasLines(Protocol):
    """An answer, as `lightning_sym.display` has them."""

    def lines(self) -> list[tuple[str, str]]:
        """Return its text, label by label."""


def console() -> consoles.Console:
    """Return stdout; its width is fixed in a pipe, so that tables read the same in every one without COLUMNS."""
    if sys.stdout.isatty():
        return consoles.Console(highlight=False, soft_wrap=False)
    return consoles.Console(file=_Trimmed(), width=_pipe_width(), highlight=False, soft_wrap=False)


def write(
    answer: JsonAnswer,
    result: HasLines,
    label: str = "",
    *,
    as_json: bool,
    holds: bool | None = True,
    **given: object,
) -> int:
    """Write an answer as text or JSON, and return the exit code.

    Args:
        answer: its fields.
        result: what was found.
        label: of the line that says whether it holds, which gets a colour on a terminal.
        as_json: whether JSON is asked for.
        holds: whether all is as one would have it; `None` where that is open.
        given: values of fields that do not stand in the result.
    """
    if as_json:
        write_json(answer.document(result, **given))
    else:
        write_answer(result, **{label: COLOURS[holds]})
    return exit_codes.CODES[holds]


def write_answer(result: HasLines, **colours: str) -> None:
    """Write the text of an answer: `str(result)` in a pipe, the same lines with colours on a terminal.

    Args:
        result: what was found.
        colours: by label, of what is said up to the first gap.
    """
    if not sys.stdout.isatty():
        click.echo(display.text_table(citations.with_proof(result.lines()), _pipe_width()))
        return
    table = tables.Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", overflow="fold", min_width=10)  # both wrap: nothing vanishes however narrow it is
    table.add_column(overflow="fold", min_width=24)
    for label, said in citations.with_proof(result.lines()):
        text = texts.Text(said)
        text.stylize(colours.get(label, ""), 0, len(said.partition("  ")[0]) if label else 0)
        table.add_row(texts.Text(label), text)
    console().print(table)


def _pipe_width() -> int:
    """Return a fixed width, so that answers read the same in every pipe without COLUMNS."""
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdecimal() and 0 < int(columns) < 10_000 else PIPE_WIDTH


def write_certificate(path: str, certificate: documents.Document) -> None:
    """Write a certificate, and say where."""
    files.write_certificate(path, certificate)
    click.echo(f"certificate: {path}", err=True)


def write_json(document: dict[str, object]) -> None:
    """Write one JSON object on stdout."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


@contextmanager
def progress_bar() -> Iterator[limits.Progress]:
    """Show progress on stderr, after a moment, and only on a terminal."""
    if not sys.stderr.isatty():
        yield lambda stage, done, total: None
        return
    columns = (
        progresses.TextColumn("{task.description}"),
        progresses.BarColumn(),
        progresses.TaskProgressColumn(),
        progresses.TimeElapsedColumn(),
        progresses.TimeRemainingColumn(),
    )
    with progresses.Progress(*columns, console=consoles.Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)
        stage_now = "starting"

        def report(stage: str, done: int, total: int) -> None:
            nonlocal stage_now
            if stage != stage_now:
                stage_now = stage
                # a stage of one step has no inner progress: its bar pulses
                bar.reset(task, description=stage, total=total if total > 1 else None)
            bar.update(task, completed=done)

        yield report
