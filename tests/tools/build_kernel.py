"""Builds the kernel as `pip install ./kernel` does, and mutants of it in a hurry."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from types import ModuleType

import pytest

SOURCE = Path(__file__).parents[2] / "kernel"
NAME = "lightning_sym_kernel"


def require_compiler() -> str:
    """The C compiler; the test is skipped, with this reason, only where there is none or Python's headers are not."""
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is None or not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        pytest.skip("no C compiler with Python's headers on this machine")
    return compiler


def built(folder: Path) -> Path:
    """The folder with the module, built once for all test processes that share it."""
    require_compiler()
    done = folder / "done"
    try:
        folder.mkdir()
    except FileExistsError:  # another process builds it, or has
        end = time.monotonic() + 120
        while not done.exists():
            assert time.monotonic() < end, "another test process did not build the kernel"
            time.sleep(0.1)
        assert done.read_text() == "", done.read_text()
        return folder / "lib"
    into = [f"--build-lib={folder / 'lib'}", f"--build-temp={folder / 'temp'}"]
    command = [sys.executable, "setup.py", "-q", "build_ext", *into]
    result = subprocess.run(command, cwd=SOURCE, capture_output=True, text=True, check=False)
    message = result.stderr if result.returncode else ""
    done.with_suffix(".part").write_text(message)
    done.with_suffix(".part").rename(done)
    assert not message, message
    return folder / "lib"


def loaded(folder: Path) -> ModuleType:
    """The module in this folder, whatever is installed."""
    (path,) = folder.glob(f"{NAME}*")
    specification = importlib.util.spec_from_file_location(NAME, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def mutant(folder: Path, old: str, new: str) -> None:
    """Compile, with plain C only, a kernel in which one piece of text, which must be there once, is another."""
    compiler, count = require_compiler(), 0
    for name in ("kernel.c", "elimination.h"):
        text = (SOURCE / name).read_text(encoding="utf-8")
        count += text.count(old)
        text = text.replace(old, new).replace("defined(__aarch64__)", "0").replace("#ifdef __x86_64__", "#if 0")
        (folder / name).write_text(text, encoding="utf-8")
    assert count == 1, f"{count} places with {old!r}"
    target = folder / f"{NAME}{sysconfig.get_config_var('EXT_SUFFIX')}"
    include = f"-I{sysconfig.get_path('include')}"
    flags = ["-shared", "-fPIC", "-pthread", "-std=c11", "-O0"]
    if sys.platform == "darwin":
        flags += ["-undefined", "dynamic_lookup"]
    subprocess.run([compiler, *flags, include, folder / "kernel.c", "-o", target], check=True)
