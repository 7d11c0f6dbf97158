"""Write tests/long.txt: the tests that take longer than a fraction of a second of the processor, on this machine.

    python scripts/find_long_tests.py [--add]

All tests run. Then those that are not in the list run again, for who comes first pays for what is computed once; what
is long then is added, until nothing is. With `--add` the list as it stands is the beginning: what became shorter stays
in it, what names no test goes.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "tools"))
from long_tests import LIST, LONG, listed  # noqa: E402 - where tests have what they share

WORKERS = ["--numprocesses=auto", "--dist=worksteal"]


class Times:
    """The tests that there are, and the seconds of the processor that each took, wherever it ran."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.seconds: dict[str, float] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Keep the names of the tests where they are only collected: no worker has this object."""
        self.names = {item.nodeid for item in session.items}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what a test took, which its last report has."""
        for name, value in report.user_properties:
            if report.when == "teardown" and name == "processor":
                self.seconds[report.nodeid] = float(str(value))


def run(*words: str) -> tuple[int, Times]:
    """Return the exit code of the tests, and what they took; in a process of its own: pytest starts once in each."""
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        return process.submit(_run, words).result()


def _run(words: tuple[str, ...]) -> tuple[int, Times]:
    """Return the same in this process."""
    times = Times()
    return int(pytest.main(["--rootdir", str(ROOT), *words], plugins=[times])), times


def write(long: set[str]) -> None:
    """Write one line a test, in order."""
    LIST.write_text("".join(f"{name}\n" for name in sorted(long)), encoding="utf-8")


def main() -> int:
    """Measure until the others are short; the code of the last run, for its tests must pass."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--add", action="store_true", help="begin with the list as it stands")
    long = set(listed()) & run("--collect-only", "-qq")[1].names if parser.parse_args().add else set()
    while True:
        write(long)
        code, times = run("-m", "not long", *WORKERS)
        found = {name for name, seconds in times.seconds.items() if seconds > LONG}
        short = sum(seconds for name, seconds in times.seconds.items() if name not in found)
        print(f"{len(found)} more are long; the {len(times.seconds) - len(found)} others took {short:.0f} s")
        write(long := long | found)
        if code or not found:
            return code


if __name__ == "__main__":
    sys.exit(main())
