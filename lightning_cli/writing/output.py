"""Consoles, JSON and progress: what every command writes with."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

    from lightning_sym.limits import Progress

PIPE_WIDTH = 120


class _Trimmed(io.StringIO):
    """Writes on to stdout, without the blanks that fill up the cells of a table."""

    def write(self, text: str) -> int:
        sys.stdout.write(re.sub(r" +$", "", text, flags=re.MULTILINE))
        return len(text)

    def flush(self) -> None:
        sys.stdout.flush()


def console() -> Console:
    """Stdout; a fixed width where it is not a terminal, so that tables read the same in every pipe."""
    from rich.console import Console

    if sys.stdout.isatty():
        return Console(highlight=False, soft_wrap=False)
    return Console(file=_Trimmed(), width=PIPE_WIDTH, highlight=False, soft_wrap=False)


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
