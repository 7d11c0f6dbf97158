"""Pages to read and to print: they fit a phone, what scrolls takes the keyboard, and a sheet is two pages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from chromium import Reader
from command import run

from lightning_cli.writing.board_page import steps_page
from lightning_cli.writing.exercise_sheet import html_lines
from proofs_check.exercises import exercises

if TYPE_CHECKING:
    from playwright.sync_api import Browser

STUCK = """() => [...document.querySelectorAll("*")]
    .filter((n) => n.scrollWidth > n.clientWidth + 1 && getComputedStyle(n).overflowX === "auto" && n.tabIndex < 0)
    .map((n) => n.outerHTML)"""
"""What a finger can scroll, and a keyboard cannot reach."""


def written(folder: Path, text: str) -> Path:
    """The text as a page."""
    file = folder / "page.html"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize("claim", ["theorem-3.2", "figure-1"])
def test_a_walk_fits_a_phone(browser: Browser, tmp_path: Path, capsys: pytest.CaptureFixture[str], claim: str) -> None:
    text = run(capsys, "explain", claim, "--html")[1]
    seen = Reader(browser, written(tmp_path, text), width=380)
    assert seen.page.evaluate("() => document.documentElement.scrollWidth") <= 380
    assert seen.page.evaluate(STUCK) == []
    assert seen.said == []
    # and what these tests would see
    assert Reader(browser, written(tmp_path, text.replace(' tabindex="0"', "")), width=380).page.evaluate(STUCK) != []


def test_long_names_break(browser: Browser, tmp_path: Path) -> None:
    text = "\n".join(steps_page(f"models/{'checkpoint' * 9}: same", "Nothing was done.", ()))
    for changed, fits in ((text, True), (text.replace("overflow-wrap: break-word", ""), False)):
        page = Reader(browser, written(tmp_path, changed), width=380).page
        assert (page.evaluate("() => document.documentElement.scrollWidth") <= 380) is fits


@pytest.mark.parametrize("solutions", [False, True])
def test_a_sheet_is_two_pages(browser: Browser, tmp_path: Path, solutions: bool) -> None:
    text = "\n".join(html_lines(exercises(17), 17, solutions=solutions))
    for changed, fits in ((text, True), (text.replace("10.5pt", "24pt"), False)):
        page = Reader(browser, written(tmp_path, changed)).page
        for paper in ("A4", "Letter"):
            assert (len(re.findall(rb"/Type\s*/Page\b", page.pdf(format=paper))) == 2) is fits
    seen = Reader(browser, written(tmp_path, text), width=380)
    assert seen.page.evaluate("() => document.documentElement.scrollWidth") <= 380
    assert seen.page.evaluate(STUCK) == []
