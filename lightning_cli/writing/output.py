"""Consoles, JSON and progress: what every command writes with."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from lightning_sym.limits import Progress

PIPE_WIDTH = 120

_LONGEST_SHOWN = 60


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


def console() -> Console:
    """Stdout; a fixed width where it is not a terminal, so that tables read the same in every pipe without COLUMNS."""
    from rich.console import Console

    if sys.stdout.isatty():
        return Console(highlight=False, soft_wrap=False)
    return Console(file=_Trimmed(), width=_pipe_width(), highlight=False, soft_wrap=False)


def write_answer(result: Any, **colours: str) -> None:
    """The text of an answer: `str(result)` in a pipe, the same lines with colours on a terminal.

    Args:
        result: with the method `lines`, see `lightning_sym.display`.
        colours: by label, of what is said up to the first gap.
    """
    from lightning_sym.display import text_table

    if not sys.stdout.isatty():
        click.echo(text_table(result.lines(), _pipe_width()))
        return
    from rich.text import Text

    table = answer_table()
    for label, said in result.lines():
        text = Text(said)
        text.stylize(colours.get(label, ""), 0, len(said.partition("  ")[0]) if label else 0)
        table.add_row(Text(label), text)
    console().print(table)


def _pipe_width() -> int:
    """A fixed width, so that answers read the same in every pipe without COLUMNS."""
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdecimal() and 0 < int(columns) < 10_000 else PIPE_WIDTH


def answer_table() -> Table:
    """A table of names and what there is to say of them; both wrap, so that nothing vanishes however narrow it is."""
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", overflow="fold", min_width=10)
    table.add_column(overflow="fold", min_width=24)
    return table


def require_writable(directory: str, what: str) -> Path:
    """A directory that can be written to, found out by writing; nothing of this stays.

    Args:
        directory: its path; it need not be there.
        what: goes there, for the message.

    Raises:
        BadInput: it is none, or cannot be made, or cannot be written to.
    """
    from lightning_sym.errors import BadInput

    target = Path(directory)
    made: list[Path] = []
    if not directory:
        raise BadInput(f"{what} must go into a directory that can be written to, got no name")
    try:
        with suppress(FileNotFoundError):
            target.stat()  # a long name is refused at once, and so is one behind a file
        for folder in (*reversed(target.parents), target):
            if not os.path.lexists(folder):
                folder.mkdir()
                made.append(folder)
        import tempfile

        with tempfile.TemporaryFile(dir=target) as file:
            file.write(b"some")
    except OSError as error:
        shown = directory if len(directory) <= _LONGEST_SHOWN else directory[:_LONGEST_SHOWN] + "..."
        raise BadInput(
            f"{what} must go into a directory that can be written to, {shown!r} cannot: {error.strerror or error}"
        ) from error
    finally:
        for folder in reversed(made):
            with suppress(OSError):  # someone else uses it meanwhile
                folder.rmdir()
    return target


def exact(matrix: Any) -> list[list[str]]:
    """A matrix as rows of exact rational numbers, spelled out."""
    from lightning_sym.display import spelled_rows

    return spelled_rows(matrix)


def spelled(number: Any) -> str:
    """An exact number, spelled out."""
    from lightning_sym.display import spelled as in_full

    return in_full(number)


def write_json(document: dict[str, Any]) -> None:
    """One JSON object on stdout."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """A progress display on stderr that shows up after a moment, and only on a terminal."""
    if not sys.stderr.isatty():
        yield lambda stage, done, total: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
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
