"""Sweeps: whatever ends them, they go on; nothing is lost, nothing twice, the same numbers."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from dask_cluster import cluster

from lightning_sym import Architecture, BadInput, certified_dimension
from lightning_sym.atlas.families import Family
from lightning_sym.atlas.formulas import try_formula
from lightning_sym.atlas.store import COLUMNS, Atlas, key_of
from lightning_sym.atlas.sweep import sweep
from lightning_sym.certificates.dimension import dimension_certificate

ROOT = Path(__file__).parents[2]
KEYS: dict[str, Any] = {"depth": "1..3", "widths": "1..4", "ranks": "1..3", "tokens": "1..3", "count": 60}
WIDE = KEYS | {"count": 1500, "depth": "2..4"}
SAME_EVERY_TIME = ", ".join(name for name in COLUMNS if name != "seconds")


def rows(file: Path) -> list[tuple[Any, ...]]:
    """All that a sweep has written and that must not depend on the run."""
    with sqlite3.connect(file) as connection:
        return connection.execute(f"select {SAME_EVERY_TIME} from networks order by network").fetchall()  # noqa: S608


def words(family: dict[str, Any]) -> list[str]:
    return [word for key, value in family.items() for word in (f"--{key}", str(value))]


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "lightning_cli", *arguments]


def test_rows_say_what_the_dimension_is(tmp_path: Path) -> None:
    family = Family.of(KEYS)
    result = sweep(family, tmp_path / "a.sqlite", workers=1)
    assert (result.measured, result.known) == (60, 0)
    with Atlas(tmp_path / "a.sqlite") as atlas:
        found = {entry.architecture: entry for entry in atlas.entries()}
    assert set(found) == set(family.networks())
    for network, entry in found.items():
        expected = certified_dimension(network)
        assert (entry.lower, entry.upper, entry.dimension) == (expected.lower, expected.upper, expected.value)
        assert entry.status == expected.status.value
        assert entry.formula_value == expected.formula.value
        assert entry.fiber_dimension == expected.fiber_dimension
        assert entry.network == key_of(network)


def test_processes_write_the_same_rows_and_a_second_sweep_nothing(tmp_path: Path) -> None:
    family = Family.of(KEYS)
    sweep(family, tmp_path / "one.sqlite", workers=1)
    sweep(family, tmp_path / "two.sqlite", workers=2)
    assert rows(tmp_path / "one.sqlite") == rows(tmp_path / "two.sqlite")
    again = sweep(family, tmp_path / "two.sqlite", workers=2)
    assert (again.measured, again.known) == (0, 60)
    more = sweep(Family.of(KEYS | {"seed": 1}), tmp_path / "two.sqlite", workers=2)
    assert more.measured + more.known == 60
    assert sum(more.counts.values()) == 60 + more.measured


def test_killed_in_the_middle_it_goes_on(tmp_path: Path) -> None:
    file, whole = tmp_path / "killed.sqlite", tmp_path / "whole.sqlite"
    call = command("sweep", *words(WIDE), "--workers", "2", "-o", str(file))
    counts: list[int] = []
    for wanted in (1, 200):
        process = subprocess.Popen(call, cwd=ROOT, start_new_session=True)
        try:
            end = time.monotonic() + 120
            while time.monotonic() < end and process.poll() is None:
                if file.exists() and len(_written(file)) >= wanted:
                    break
                time.sleep(0.01)
        finally:
            os.kill(process.pid, signal.SIGKILL)  # the program alone: its workers must end by themselves
            process.wait()
        counts.append(len(_written(file)))
        end = time.monotonic() + 60
        while _in_session(process.pid) and time.monotonic() < end:
            time.sleep(0.05)
        assert not _in_session(process.pid)
    assert wanted <= counts[1] < 1500, "it was to be killed in the middle"
    assert counts[0] <= counts[1]
    before = rows(file)
    subprocess.run(call, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    after = rows(file)
    assert set(before) <= set(after)
    sweep(Family.of(WIDE), whole, workers=2)
    assert after == rows(whole)


def _written(file: Path) -> list[Any]:
    try:
        with sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True) as connection:
            return connection.execute("select network from networks").fetchall()
    except sqlite3.OperationalError:  # not there yet
        return []


def _in_session(session: int) -> list[str]:
    """Processes of a session that are still alive."""
    alive = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, its_session = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
        except OSError:  # gone meanwhile
            continue
        if its_session == str(session) and state != "Z":
            alive.append(folder.name)
    return alive


def test_a_dask_cluster_writes_the_same_rows(tmp_path: Path) -> None:
    sweep(Family.of(KEYS), tmp_path / "here.sqlite", workers=1)
    with cluster(tmp_path) as started:
        call = command("sweep", *words(KEYS), "-o", str(tmp_path / "there.sqlite"), "--scheduler", started.address)
        done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert rows(tmp_path / "here.sqlite") == rows(tmp_path / "there.sqlite")


def test_no_scheduler_there(tmp_path: Path) -> None:
    for address in ("tcp://127.0.0.1:1", "nonsense", "ftp://x"):
        with pytest.raises(BadInput, match="Dask scheduler"):
            sweep(Family.of(KEYS), tmp_path / "a.sqlite", scheduler=address)


def test_what_is_too_large_is_put_down_and_may_be_tried_again(tmp_path: Path) -> None:
    family, file = Family.of({"depth": 1, "widths": [2, 30], "ranks": 2, "tokens": 2, "uniform": True}), tmp_path / "a"
    assert sweep(family, file, memory=1_000_000, workers=1).counts == {"certified": 1, "refused": 1}
    with Atlas(file, write=True) as atlas:
        [entry] = atlas.entries("status = 'refused'")
        assert "estimated need" in (entry.reason or "")
        assert entry.dimension is entry.lower is None
        assert atlas.forget("refused") == 1
    assert sweep(family, file, workers=1).counts == {"certified": 2}


def test_certificates_are_kept_if_asked_for(tmp_path: Path) -> None:
    import json

    family = Family.of({"depth": 1, "widths": 2, "ranks": 1, "tokens": 2})
    sweep(family, tmp_path / "a", workers=1, certificates=True)
    with Atlas(tmp_path / "a") as atlas:
        [entry] = atlas.entries()
    expected = dimension_certificate(certified_dimension(Architecture((2, 2), (1,), 2)))
    assert json.loads(entry.certificate or "") == json.loads(json.dumps(expected))


def test_formulas_on_an_atlas(tmp_path: Path) -> None:
    family = Family.of({"depth": "1..2", "widths": "1..3", "ranks": "1..2", "tokens": 2, "uniform": True})
    sweep(family, tmp_path / "a", workers=1)
    with Atlas(tmp_path / "a") as atlas:
        right = try_formula(
            atlas, "l*min(a,d)*(2*d - min(a,d)) + d*d - l", "depth = 1 or (ranks <> '1,1' and widths <> '1,1,1')"
        )
        wrong = try_formula(atlas, "l*a*(2*d - a) + d*d")
        assert (right.refuted, right.undecided, right.without) == (0, 0, 0)
        assert right.agree > 0
        assert wrong.counterexample is not None
        assert wrong.counterexample.architecture == Architecture((1, 1), (1,), 2)
        assert (wrong.counterexample.dimension, wrong.value) == (1, 2)
