"""Write tests/long.txt: the tests that take longer than a fraction of a second of the processor, on this machine.

    python scripts/find_long_tests.py [--add]

All tests run. Then those that are not in the list run again, for who comes first pays for what is computed once; what
is long then is added, until nothing is. With `--add` the list as it stands is the beginning: what became shorter stays.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "tools"))
from long_tests import LIST, LONG, listed  # noqa: E402 - where tests share what they share

WORKERS = ["--numprocesses=auto", "--dist=worksteal"]


class Times:
    """Seconds of the processor that every test took, wherever it ran."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if report.when == "teardown" and name == "processor":
                self.seconds[report.nodeid] = float(str(value))


def main() -> int:
    """Measure until the others are short; the code of the last run, for its tests must pass."""
    long = set(listed()) if "--add" in sys.argv[1:] else set()
    while True:
        LIST.write_text("".join(f"{name}\n" for name in sorted(long)), encoding="utf-8")
        times = Times()
        code = pytest.main(["-m", "not long", *WORKERS, "--rootdir", str(ROOT)], plugins=[times])
        found = {name for name, seconds in times.seconds.items() if seconds > LONG}
        short = sum(seconds for name, seconds in times.seconds.items() if name not in found)
        print(f"{len(found)} more are long; the {len(times.seconds) - len(found)} others took {short:.0f} s")
        long |= found
        if code or not found:
            return int(code)


if __name__ == "__main__":
    sys.exit(main())
