"""Which tests are long: measured, in seconds of the processor, and kept in a list beside the tests.

`make test` runs the others. The list is tests/long.txt; `python scripts/find_long_tests.py` measures and writes it.
"""

from __future__ import annotations

import resource
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

LIST = Path(__file__).parents[1] / "long.txt"
LONG = 0.1
"""A test is long that takes more seconds of the processor than this, its own processes and its fixtures with it."""
NEVER = 5.0
"""What no test may take that is not in the list, on no machine, where all tests run."""


def listed() -> list[str]:
    """The long tests, by their names in pytest."""
    return LIST.read_text(encoding="utf-8").splitlines() if LIST.exists() else []


def used() -> float:
    """Seconds that this process and those it has waited for have used the processor."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in both)


class LongTests:
    """Marks the tests of the list, and measures every test.

    What a fixture takes that several tests share is counted in each of them: whichever comes first pays for it.

    Attributes:
        gone: lines of the list that name no test, if all tests were collected.
    """

    def __init__(self, names: list[str], never: float = NEVER) -> None:
        self.names, self.never = frozenset(names), never
        self.gone: list[str] = []
        self.whole = False
        self._shared: dict[tuple[str, str], float] = {}
        self._elsewhere = 0.0
        self._began: dict[str, float] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        for item in items:
            if item.nodeid in self.names:
                item.add_marker(pytest.mark.long)
        self.whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
        if self.whole:
            self.gone = sorted(self.names - {item.nodeid for item in items})

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        if fixturedef.scope == "function":  # a part of its test
            return (yield)
        before, inside = used(), self._elsewhere
        found = yield
        took = used() - before - (self._elsewhere - inside)
        self._shared[fixturedef.baseid, fixturedef.argname] = took
        self._elsewhere += took
        return found

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        self._began[item.nodeid] = used() - self._elsewhere
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, object, object]:
        try:
            found = yield
        finally:
            took = self._took(item)
            item.user_properties.append(("processor", round(took, 3)))
        if self.whole and took > self.never and item.get_closest_marker("long") is None:
            pytest.fail(f"it took {took:.1f} s of the processor: python scripts/find_long_tests.py --add")
        return found

    def _took(self, item: pytest.Item) -> float:
        own = used() - self._elsewhere - self._began.pop(item.nodeid)
        names = getattr(item, "fixturenames", ())
        shared = (t for (base, name), t in self._shared.items() if name in names and item.nodeid.startswith(base))
        return own + sum(shared)
