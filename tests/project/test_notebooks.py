"""The notebooks run, as files and cell by cell, and say what their pages say; they open in Jupyter too."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import MappingProxyType

import nbformat
import pytest
from refresh_notebooks import NOTEBOOKS, PAGES, ROOT, _shown, cells, for_jupyter, page, prose

EACH = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)


def test_every_notebook_has_a_page_and_every_page_a_notebook() -> None:
    assert len(NOTEBOOKS) == 6
    assert {p.stem.replace("_", "-") for p in NOTEBOOKS} == {p.stem for p in PAGES.glob("*.md")}


@EACH
def test_a_notebook_says_what_its_page_says(path: Path) -> None:
    written = PAGES / f"{path.stem.replace('_', '-')}.md"
    assert page(path) == written.read_text(encoding="utf-8"), "python scripts/refresh_notebooks.py"


def test_a_changed_number_changes_the_page(tmp_path: Path) -> None:
    """Mutant: a page that does not come from a run."""
    source = (ROOT / "examples" / "notebooks" / "certificates.py").read_text(encoding="utf-8")
    changed = tmp_path / "certificates.py"
    changed.write_text(source.replace("(3, 3, 3)", "(3, 3, 2)"), encoding="utf-8")
    old, new = page(ROOT / "examples" / "notebooks" / "certificates.py"), page(changed)
    assert "dim M = 23" in old
    assert "dim M = 23" not in new


@pytest.mark.parametrize("bare", [2, (4, 4), {"Q1": 1}, [1, 2], MappingProxyType({"Q1": 1}), True], ids=repr)
def test_a_number_or_a_mapping_alone_is_no_result(bare: object) -> None:
    with pytest.raises(TypeError, match="must show a formula, a text or an answer"):
        _shown(bare)


def test_the_jacobian_has_a_row_for_each_coordinate_shown() -> None:
    """The third cell shows coefficients that are different and not zero, the fourth has a row for each."""
    written = (PAGES / "neuromanifold.md").read_text(encoding="utf-8")
    coordinates, jacobian = (
        re.findall(r"\\begin\{matrix\}(.*?)\\end\{matrix\}", written.split(f"**{cell}.**")[1])[0].split(r"\\")
        for cell in (3, 4)
    )
    assert "0" not in coordinates
    assert len(set(coordinates)) == len(coordinates) == len(jacobian) > 1


@EACH
def test_prose_and_results_stand_in_cells_of_their_own(path: Path) -> None:
    """A cell shows its last line alone: prose before a result would not be seen."""
    for statements in cells(path.read_text(encoding="utf-8")):
        texts = [statement for statement in statements if prose(statement) is not None]
        assert not texts or len(statements) == 1


@EACH
def test_jupyter_opens_a_notebook(path: Path) -> None:
    beside = path.with_suffix(".ipynb").read_text(encoding="utf-8")
    assert beside == for_jupyter(path), "python scripts/refresh_notebooks.py"
    written = json.loads(beside)
    nbformat.validate(written)
    assert written["nbformat"] == 4
    assert len(written["cells"]) >= len(list(cells(path.read_text(encoding="utf-8"))))
    code = ["".join(cell["source"]) for cell in written["cells"] if cell["cell_type"] == "code"]
    assert not [source for source in code if "mo.md(" in source and "$" in source], (
        "Jupyter does not set these formulas"
    )
