"""The figures of the house: a walk counts files, functions and arrows; the page has the figures that are measured."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import measure_house
import pytest

ROOT = Path(__file__).parents[2]


def loaded(path: Path, text: str) -> ModuleType:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(f"walked_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_walk_counts_files_functions_and_arrows(tmp_path: Path) -> None:
    """From one file into another and back, through code that is not ours."""
    one = loaded(tmp_path / "lightning_sym" / "one.py", "def first(f):\n    return [f(), sorted([2, 1], key=f)]\n")
    two = loaded(
        tmp_path / "lightning_cli" / "two.py", "def second(*x):\n    return third()\ndef third():\n    return 0\n"
    )
    elsewhere = loaded(tmp_path / "elsewhere" / "three.py", "def fourth(f, *x):\n    return f(*x)\n")
    assert measure_house.walked(lambda: one.first(two.second), str(tmp_path)) == (2, 3, 2)
    assert measure_house.walked(lambda: elsewhere.fourth(two.third), str(tmp_path)) == (1, 1, 0)
    assert measure_house.walked(lambda: elsewhere.fourth(one.first, lambda *x: 0), str(tmp_path)) == (1, 1, 0)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="what is tracked is known in a repository only")
def test_the_page_has_the_figures_that_are_measured() -> None:
    page = (ROOT / "docs" / "development" / "house.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| ([^|]+) \| ([\d.,; ]+) \|$", page, flags=re.MULTILINE))
    found = measure_house.measured(ROOT)
    assert table.keys() == found.keys()
    for name, numbers in found.items():
        assert numbers.count(";") == table[name].count(";")
        assert re.fullmatch(r"[\d,.]+(; [\d,.]+)*", numbers)
