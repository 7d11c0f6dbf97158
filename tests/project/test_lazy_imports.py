"""Lazy imports: nothing is loaded before it is asked for, and others who import meanwhile get what they ask for."""

from __future__ import annotations

import builtins
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from types import ModuleType

import pytest

from lightning_sym.lazy import LazyModule, lazy_imports, public_names

with lazy_imports(__name__) as PLACES:
    from lightning_sym.fibers import fiber


def test_modules_are_loaded_when_something_of_them_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert PLACES == {"fiber": "lightning_sym.fibers"}
    assert fiber.fiber.__module__ == "lightning_sym.fibers.fiber"
    assert fiber is sys.modules["lightning_sym.fibers.fiber"], "nobody goes round by what stood for it"
    monkeypatch.setattr("lightning_sym.fibers.fiber.fiber", abs)
    assert vars(sys.modules["lightning_sym.fibers.fiber"])["fiber"] == fiber.fiber, "what a test replaces is seen"
    missing = LazyModule("there_is_none")
    assert not hasattr(missing, "__wrapped__"), "tools ask for it"
    with pytest.raises(ModuleNotFoundError, match="there_is_none"):
        _ = missing.name
    with pytest.raises(AttributeError, match="no attribute 'fibre'"):
        getattr(fiber, "fib" + "re")


def test_an_import_of_somebody_else_is_no_lazy_one() -> None:
    """Meanwhile, in another thread say, and afterwards."""
    before = builtins.__import__
    with lazy_imports(__name__):
        found: dict[str, ModuleType] = {"__name__": "another"}  # type: ignore[dict-item]
        exec("import json; from os import path", found)  # noqa: S102
    assert builtins.__import__ is before
    assert not isinstance(found["json"], LazyModule)
    assert not isinstance(found["path"], LazyModule)
    with pytest.raises(ZeroDivisionError), lazy_imports(__name__):
        raise ZeroDivisionError
    assert builtins.__import__ is before


def test_two_threads_wait_for_each_other() -> None:
    """Who ends first would else put back what the other one needs, and the other one what was of the first."""
    before, begun, inside = builtins.__import__, Event(), Event()

    def first() -> dict[str, str]:
        with lazy_imports("first") as places:
            begun.set()
            assert not inside.wait(0.05), "one at a time"
        return places

    def second() -> dict[str, str]:
        begun.wait()
        with lazy_imports("second") as places:
            inside.set()
            exec("from there_is_none import name", {"__name__": "second"})  # noqa: S102
        return places

    with ThreadPoolExecutor(2) as pool:
        assert [ran.result() for ran in (pool.submit(first), pool.submit(second))] == [{}, {"name": "there_is_none"}]
    assert builtins.__import__ is before


def test_nothing_is_there_before_it_is_needed(tmp_path: Path) -> None:
    package = tmp_path / "lazy_package"
    package.mkdir()
    (package / "room.py").write_text("NAME = 1\nOTHER = 2\n")
    (package / "__init__.py").write_text(
        "from lightning_sym.lazy import lazy_imports, public_names\n"
        "with lazy_imports(__name__) as _places:\n"
        "    from lazy_package.room import NAME as NAME\n"
        "__all__, __getattr__, __dir__ = public_names(__name__, _places)\n"
    )
    script = (
        "import sys, lazy_package as p; loaded = lambda: 'lazy_package.room' in sys.modules\n"
        "print(loaded(), p.__all__, 'NAME' in dir(p), loaded(), p.NAME, 'NAME' in vars(p), loaded())"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert ran.stdout == "False ['NAME'] True False 1 True True\n"


def test_a_package_has_no_other_names() -> None:
    module = sys.modules["lazy_names_of_a_test"] = ModuleType("lazy_names_of_a_test")
    try:
        vars(module)["sqrt"] = None
        names, get, listed = public_names(module.__name__, {"sqrt": "math"})
        assert (names, "sqrt" in listed(), vars(module).get("sqrt")) == (["sqrt"], True, None)
        assert get("sqrt") == vars(module)["sqrt"]
        with pytest.raises(AttributeError, match="'lazy_names_of_a_test' has no attribute 'cos'"):
            get("cos")
    finally:
        del sys.modules["lazy_names_of_a_test"]
