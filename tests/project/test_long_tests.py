"""Which tests are long: the list names tests, all that are in it are marked, and what takes long is noticed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from long_tests import LongTests, listed

THEIRS = """
import time
import pytest

def busy(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

@pytest.fixture(scope="module")
def shared():
    busy(0.4)

def test_first(shared): pass
def test_second(shared): pass
def test_alone(): busy(0.2)
def test_short(): pass
"""
CONFTEST = """
from long_tests import LongTests

class Printed:
    def pytest_runtest_logreport(self, report):
        if report.when == "teardown":
            print(report.nodeid, dict(report.user_properties)["processor"] > 0.15)

def pytest_configure(config):
    config.addinivalue_line("markers", "long: long")
    config.pluginmanager.register(LongTests(["test_theirs.py::test_alone", "test_theirs.py::test_gone"], never=0.3))
    config.pluginmanager.register(Printed())

def pytest_sessionfinish(session):
    (plugin,) = (p for p in session.config.pluginmanager.get_plugins() if isinstance(p, LongTests))
    print("gone", plugin.gone)
"""


def pytest_run(folder: Path, *words: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1] / "tools")}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False).stdout


def test_every_line_of_the_list_names_a_test(request: pytest.FixtureRequest) -> None:
    """Where all tests are collected; the list is in order, so that it is written in one way only."""
    plugin = request.config.pluginmanager.get_plugin("long tests")
    assert isinstance(plugin, LongTests)
    assert plugin.gone == [], "python scripts/find_long_tests.py"
    assert listed() == sorted(set(listed()))
    assert len(listed()) > 100


def test_what_takes_long_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\ntestpaths = .\n", encoding="utf-8")
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (tmp_path / "test_theirs.py").write_text(THEIRS, encoding="utf-8")
    told = pytest_run(tmp_path)
    for name, long in (("first", True), ("second", True), ("alone", True), ("short", False)):
        assert f"test_theirs.py::test_{name} {long}\n" in told, "who does not pay for a shared fixture needs it too"
    assert "4 passed, 2 errors" in told
    assert "find_long_tests.py --add" in told
    assert "gone ['test_theirs.py::test_gone']" in told
    told = pytest_run(tmp_path, "-m", "not long", "test_theirs.py")
    assert "3 passed, 1 deselected" in told, "a file alone is not held to any time"
    assert "gone []" in told
