"""Two locks: what the program needs, and what its tests and pages need besides, with the same pins."""

from __future__ import annotations

import re
import subprocess
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def pins(lock: str) -> dict[str, str]:
    """Each package of a lock, with all that the lock says of it."""
    blocks = re.split(r"\n(?=\S)", (ROOT / lock).read_text(encoding="utf-8").strip())
    return {block.partition("==")[0]: block for block in blocks}


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_the_locks_pin_with_hashes_and_name_no_address(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert "://" not in text
    assert "index" not in text
    for name, block in pins(lock).items():
        assert re.fullmatch(r"[a-z0-9-]+", name)
        assert re.match(r"[a-z0-9-]+==\S+", block)
        assert "--hash=sha256:" in block


def name_of(requirement: str) -> str:
    """The package of a requirement."""
    return re.split(r"[^A-Za-z0-9_.-]", requirement)[0].lower().replace("_", "-")


def test_the_short_lock_has_what_the_program_needs_and_pins_what_the_long_one_pins() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    short, long = pins("requirements.lock"), pins("requirements-dev.lock")
    assert [name for name, block in short.items() if long.get(name) != block] == []
    needed = {name_of(r) for r in project["project"]["dependencies"] + project["build-system"]["requires"]}
    assert needed <= short.keys()
    # and nothing else: what these need in turn, as far as it is installed here
    waiting, closure = list(needed), set()
    while waiting:
        closure.add(name := waiting.pop())
        required = [r for r in metadata.requires(name) or () if "extra ==" not in r]
        waiting += [found for r in required if (found := name_of(r)) in long and found not in closure]
    assert short.keys() == closure


def test_make_check_installs_what_the_program_needs_alone() -> None:
    def steps(target: str) -> str:
        make = ["make", "--dry-run", "--always-make", "--no-print-directory", target]
        return subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert "-r requirements.lock" in steps("check")
    assert "requirements-dev.lock" not in steps("check")
    for target in ("test", "test-long", "test-all", "lint", "docs", "kernel", "benchmark"):
        assert "-r requirements-dev.lock" in steps(target), target
