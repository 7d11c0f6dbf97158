"""What the benchmarks share: options, checkouts that take turns, processes of their own, and one table of figures.

A table is printed, and what it shows is also written as JSON where a file is named (`--json`).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parents[1]
HOURS = 36000.0
"""A limit of work that ends nothing."""

T = TypeVar("T")

_OPTIONS: dict[str, dict[str, Any]] = {
    "json": {"type": Path, "help": "also write the figures to this file"},
    "against": {"type": Path, "help": "the checkout of another release, asked the same in turn"},
    "rounds": {"type": int, "default": 1, "help": "how often each is measured; the least counts"},
    "seed": {"type": int, "default": 0},
    "count": {"type": int, "default": 500, "help": "random networks"},
    "largest": {"type": int, "help": "nothing larger than this"},
    "limit": {"type": float, "default": 60.0, "help": "seconds for each answer"},
    "only": {"default": "", "help": "what has this in its name"},
}


def parser(about: str | None, *options: str, **defaults: object) -> argparse.ArgumentParser:
    """Return the options of a benchmark: some of those that several have, and what is their default here."""
    result = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in options:
        given = _OPTIONS[name] | ({"default": defaults[name]} if name in defaults else {})
        result.add_argument(f"--{name}", **given)
    return result


def checkouts(other: Path | None, package: str = "lightning_sym") -> list[Path]:
    """Return this checkout, and another one if it is named.

    Raises:
        SystemExit: the other one is no checkout of this project.
    """
    if other is not None and not (other / package / "__init__.py").is_file():
        print(f"--against must be a checkout of this project, got {other}", file=sys.stderr)
        raise SystemExit(2)
    return [HERE, *([] if other is None else [other.resolve()])]


# ---- figures


class Figures:
    """A table, row by row, and the same figures for a file."""

    def __init__(self, title: str, *columns: str, width: int = 120) -> None:
        self.rows: list[dict[str, object]] = []
        self.table = Table(title=title)
        self.console = Console(width=width, highlight=False)
        for number, name in enumerate(columns):  # the first one is what is measured, in words
            self.table.add_column(name, justify="right" if number else "left")

    def add(self, *cells: object, **figures: object) -> None:
        """Add a row as it is shown, and its figures by name."""
        self.table.add_row(*map(str, cells))
        self.rows.append(figures)

    def show(self, target: Path | None = None, document: Callable[[list[Any]], object] | None = None) -> None:
        """Print the table, and write the rows, or what is made of them, to a file."""
        self.console.print(self.table)
        write_json(target, self.rows if document is None else document(self.rows))


def write_json(target: Path | None, document: object) -> None:
    """Write figures to a file, if one is named."""
    if target is not None:
        target.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def peak() -> int:
    """Return the most memory that this process has taken, in bytes, NumPy and all else included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def processor(action: Callable[[], T]) -> tuple[float, T]:
    """Return seconds of the processor for one call, and what it returns."""
    start = time.process_time()
    found = action()
    return time.process_time() - start, found


def median_seconds(action: Callable[[], object], runs: int) -> float:
    """Return the median seconds of several runs, after one that is not counted."""
    action()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def dgemm_rate(size: int = 2000) -> float:
    """Return how many float64 operations a second a matrix product reaches here."""
    a = np.random.default_rng(0).random((size, size))
    return 2 * size**3 / median_seconds(lambda: a @ a, 5)


# ---- processes of their own


def environment(checkout: Path, threads: int | None = 1, **more: str) -> dict[str, str]:
    """Return the environment of a process that runs the code of a checkout, with so many threads."""
    own = {} if threads is None else {"OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    return os.environ | own | {"PYTHONPATH": str(checkout)} | more


class Ended(NamedTuple):
    """How a process ended.

    Attributes:
        seconds: of the processor.
        peak: bytes.
        code: its exit code, negative where it was ended.
        last: the last line that it wrote to standard error.
    """

    seconds: float
    peak: int
    code: int
    last: str


def run(words: Sequence[str], folder: Path, given: Mapping[str, str], limit: float | None = None) -> Ended:
    """Run a command to its end, or until the processor has had so many seconds for it."""

    def limited() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit)))

    with tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(
            words, env=given, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors,
            preexec_fn=limited,
        )  # fmt: skip
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        last = (errors.read().strip().splitlines() or [""])[-1]
    scale = 1 if sys.platform == "darwin" else 1024
    return Ended(used.ru_utime + used.ru_stime, used.ru_maxrss * scale, child.returncode, last)


def answer_of(script: str, words: Iterable[object], checkout: Path, threads: int | None, limit: float | None) -> Any:
    """Return the JSON that a script prints, in a process of its own with the code of a checkout; or why none."""
    command = [sys.executable, "-P", "-c", script, *map(str, words)]
    given = environment(checkout, threads)
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env=given, timeout=limit, cwd=checkout
        )
    except subprocess.TimeoutExpired:
        return f"over {limit:g} s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]
    return json.loads(done.stdout)


class Worker:
    """A process that answers lines with the code of a checkout, as long as it is asked: `--answer` of a benchmark."""

    def __init__(self, script: Path, checkout: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(script), "--answer"], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=environment(checkout),
        )  # fmt: skip

    def ask(self, question: str) -> list[Any]:
        """Return one answer."""
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the process has no pipes")
        print(question, file=self._process.stdin, flush=True)
        if not (line := self._process.stdout.readline()):
            raise RuntimeError(f"the process ended with code {self._process.wait()}")
        found: list[Any] = json.loads(line)
        return found

    def end(self) -> None:
        """End the process: it is asked nothing more."""
        self._process.communicate()
