"""A small run of each attack; and that an attack notices what it is there for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ENVIRONMENT = os.environ | {"PYTHONPATH": str(HERE.parents[1])}


def attack(script: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(HERE / script), *words]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)


def test_a_small_run_of_all_finds_nothing() -> None:
    result = attack("run_all.py", "--scale", "0.001", "--seed", "7")
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("10 cases") == 7  # kinds of files
    assert "100 cases" in result.stdout
    assert "100 changed certificates" in result.stdout
    assert result.stdout.endswith("no fault\n")


@pytest.mark.parametrize("kind", ["json", "npz", "safetensors", "config", "map", "baseline", "certificate"])
def test_damaged_files_of_each_kind(kind: str) -> None:
    result = attack("damage.py", "--count", "200", "--seed", "8", "--kind", kind)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "200 cases" in result.stdout


FAULTS = """
import os, signal, time
from watched import report, run_watched
import watched
watched.SECONDS, watched.WAITING = 0.5, 5.0

def task(number):
    if number == 1:
        raise KeyError("a fault")
    if number == 2:
        time.sleep(60)
    if number == 6:
        while True:
            pass
    if number == 3:
        bytearray(2**31)
    if number == 4:
        os.kill(os.getpid(), signal.SIGSEGV)
    return "read", "wrong" if number == 5 else ""

findings = run_watched(task, 0, 8)
print(sorted(findings.faults), findings.faults)
raise SystemExit(not report("faults", findings, ""))
"""


def test_the_watchdog_barks() -> None:
    environment = ENVIRONMENT | {"PYTHONPATH": str(HERE)}
    words = [sys.executable, "-c", FAULTS]
    result = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 1, result.stderr
    assert result.stdout.startswith("[1, 2, 3, 4, 5, 6] ")
    for word in (
        "KeyError: 'a fault'",
        "over 0.5 s",
        "over 5 s by the clock",
        "over memory",
        "killed by signal 11",
        "wrong",
        "8 cases",
    ):
        assert word in result.stdout
