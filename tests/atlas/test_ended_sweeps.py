"""Sweeps that something ends: one line, exit code 2, the rows are kept and their number is said."""

from __future__ import annotations

import multiprocessing
import re
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import run
from dask_cluster import cluster

from lightning_sym import BadInput, Family, sweep
from lightning_sym.atlas import store, workers

ROOT = Path(__file__).parents[2]
MANY: dict[str, Any] = {"depth": "1..4", "widths": "1..4", "ranks": "1..3", "tokens": "1..4", "count": 50_000}
WORDS = tuple(word for key, value in MANY.items() for word in (f"--{key}", str(value)))


def written(file: Path) -> int:
    """How many rows there are."""
    with sqlite3.connect(file) as connection:
        return int(connection.execute("select count(*) from networks").fetchone()[0])


def said(message: str, kept: int) -> bool:
    """Whether a message is one line that says how many networks are in the atlas."""
    return "\n" not in message and f"the {kept:,} networks measured before are in the atlas" in message


def ended_by(what: Callable[[], object], file: Path, **options: Any) -> str:
    """What a sweep says that is ended after its first rows."""
    done: list[int] = []

    def progress(stage: str, number: int, total: int) -> None:
        if not done:
            what()
        done.append(number)

    with pytest.raises(BadInput) as caught:
        sweep(Family.of(MANY), file, progress=progress, **options)
    return str(caught.value)


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_full_disk(tmp_path: Path, processes: str) -> None:
    file = tmp_path / "a.sqlite"
    call = [sys.executable, "-m", "lightning_cli", "sweep", *WORDS, "--workers", processes, "-o", str(file)]
    done = subprocess.run(
        call, cwd=ROOT, capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000)),
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot be written" in done.stderr
    assert said(done.stderr.strip(), written(file))
    assert written(file) > 100


@pytest.mark.parametrize("room", [1, 8192, 20_480])
def test_a_disk_that_is_full_from_the_first(tmp_path: Path, room: int) -> None:
    """It is one line, and what it left is taken up again where there is room."""
    file = tmp_path / "a.sqlite"
    call = [sys.executable, "-m", "lightning_cli", "sweep", "--depth", "1", "--widths", "1..2", "--ranks", "1",
            "--tokens", "2", "--workers", "1", "-o", str(file)]  # fmt: skip
    full = subprocess.run(
        call, cwd=ROOT, capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room)),
    )  # fmt: skip
    assert (full.returncode, full.stdout, full.stderr.count("\n")) == (2, "", 1)
    again = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (again.returncode, again.stderr) == (0, "")
    assert written(file) == 4


def test_an_atlas_that_another_program_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.sqlite"
    monkeypatch.setattr(store, "PATIENCE", 0.2)
    other = sqlite3.connect(":memory:", isolation_level=None)
    try:
        other.execute("attach ? as atlas", (str(file),))
        message = ended_by(lambda: other.execute("begin exclusive"), file, workers=1)
    finally:
        other.close()
    assert "was locked by another program for more than 0.2 s" in message
    assert said(message, written(file))


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """An atlas of which all but the first page was written over."""
    file = tmp_path / "damaged.sqlite"
    sweep(Family.of({"depth": 1, "widths": "1..3", "ranks": "1..2", "tokens": "1..2"}), file, workers=1)
    with sqlite3.connect(file) as connection:
        connection.execute("pragma journal_mode = delete")
    data = file.read_bytes()
    file.write_bytes(data[:4096] + b"\xa5" * (len(data) - 4096))
    return file


ASKED = [
    ("atlas", "{}"), ("atlas", "{}", "--most", "0"), ("atlas", "{}", "--where", "depth = 1"),
    ("atlas", "{}", "--page", "page.html"), ("atlas", "{}", "--conjecture", "l"),
    ("sweep", *WORDS, "--workers", "1", "-o", "{}"), ("sweep", *WORDS, "--workers", "2", "-o", "{}"),
    ("sweep", *WORDS, "--retry", "refused", "-o", "{}"),
]  # fmt: skip


@pytest.mark.parametrize("words", ASKED)
def test_a_damaged_atlas(
    words: tuple[str, ...], damaged: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(damaged.parent)
    code, out, err = run(capsys, *(word.format(damaged) for word in words))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "is damaged: " in err


def test_an_atlas_that_is_damaged_meanwhile(tmp_path: Path) -> None:
    file = tmp_path / "a.sqlite"

    def damage() -> None:
        with sqlite3.connect(file) as other:
            other.execute("drop table networks")

    message = ended_by(damage, file, workers=1)
    assert re.search(r"is damaged: .* networks measured before are in the atlas$", message)


def test_a_worker_that_is_killed(tmp_path: Path) -> None:
    kept = 0

    def progress(stage: str, number: int, total: int) -> None:
        nonlocal kept
        kept = number
        for child in multiprocessing.active_children():
            child.kill()

    with pytest.raises(BadInput, match="workers must be left to work") as caught:
        sweep(Family.of(MANY), tmp_path / "a.sqlite", workers=2, progress=progress)
    assert said(str(caught.value), written(tmp_path / "a.sqlite"))
    assert 0 < kept <= written(tmp_path / "a.sqlite")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_PATIENCE", 2.0)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("whom", ["scheduler", "workers"])
def test_a_cluster_that_is_killed(tmp_path: Path, whom: str, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.sqlite"
    with cluster(tmp_path) as started:
        killed = [started.scheduler] if whom == "scheduler" else started.workers

        def kill() -> None:
            for process in killed:
                process.kill()

        message = ended_by(kill, file, scheduler=started.address)
    assert "must be left to work" in message
    assert said(message, written(file))
    assert capfd.readouterr() == ("", "")


def test_a_cluster_without_the_program(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "lightning_sym").mkdir()
    (tmp_path / "lightning_sym" / "__init__.py").write_text("raise ImportError('it is not here')")
    with cluster(tmp_path, program=tmp_path) as started, pytest.raises(BadInput) as caught:
        sweep(Family.of(MANY), tmp_path / "a.sqlite", scheduler=started.address)
    assert str(caught.value) == "a Dask scheduler and its workers must have this program: it is not here"
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("processes", [1, 2])
def test_rows_are_written_every_second(tmp_path: Path, processes: int) -> None:
    family = Family.of({"depth": 1, "widths": 2, "ranks": 2, "tokens": "1200..1229"})
    times: list[int] = []
    file = tmp_path / "a.sqlite"
    sweep(family, file, workers=processes, progress=lambda stage, number, total: times.append(number))
    with sqlite3.connect(file) as connection:
        [(whole, longest)] = connection.execute("select sum(seconds), max(seconds) from networks").fetchall()
    assert len(times) >= whole / processes / (1 + longest)
    assert times[-1] == 30
