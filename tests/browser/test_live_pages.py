"""Every live page in a real browser: it loads alone and in silence, is seen, and is usable small, dark and printed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from chromium import Reader

from lightning_cli.writing.live_pages import PAGES, page_text

if TYPE_CHECKING:
    from playwright.sync_api import Browser

MOST_BYTES = 2_000_000


@pytest.fixture(scope="module", params=PAGES)
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One page after the other, as a file."""
    file = tmp_path_factory.mktemp("pages") / f"{request.param}.html"
    file.write_text(page_text(request.param), encoding="utf-8")
    return file


@pytest.mark.parametrize("dark", [False, True])
def test_it_loads_without_a_word(browser: Browser, path: Path, dark: bool) -> None:
    reader = Reader(browser, path, dark=dark)
    reader.page.keyboard.press("Tab")
    reader.page.mouse.move(300, 400)
    reader.settle()
    assert reader.said == []
    assert path.stat().st_size < MOST_BYTES


def test_it_is_not_blank(browser: Browser, path: Path) -> None:
    reader = Reader(browser, path)
    pictures = reader.page.locator("canvas, svg").all()
    assert pictures
    for number in range(len(pictures)):
        pictures[number].evaluate(f"(node) => {{ node.id = node.id || 'picture-{number}'; }}")
        assert reader.colours(pictures[number].get_attribute("id") or "") > 8


def test_controls_have_names_and_pictures_have_words(browser: Browser, path: Path) -> None:
    reader = Reader(browser, path)
    unnamed = """() => [...document.querySelectorAll("input, select, textarea, button")]
        .filter((n) => !(n.labels && n.labels.length) && !n.getAttribute("aria-label") && !n.textContent.trim())
        .map((n) => n.outerHTML)"""
    assert reader.page.evaluate(unnamed) == []
    silent = """() => [...document.querySelectorAll("canvas, svg, img")].filter((n) => !n.closest("[aria-hidden=true]"))
        .filter((n) => !n.getAttribute("aria-label") && !n.getAttribute("aria-labelledby") && !n.alt)
        .map((n) => n.outerHTML)"""
    assert reader.page.evaluate(silent) == []
    homeless = """() => [...document.querySelectorAll("h1, h2, p")]
        .filter((n) => !n.closest("header, main, footer, section[aria-label], [aria-labelledby], [role=region]"))
        .filter((n) => !n.closest("noscript"))
        .map((n) => n.outerHTML)"""
    assert reader.page.evaluate(homeless) == [], "all text stands in a landmark"
    assert reader.page.locator("html").get_attribute("lang") == "en"
    assert reader.page.locator("h1").count() == 1


def test_all_of_it_fits_a_phone(browser: Browser, path: Path) -> None:
    reader = Reader(browser, path, width=380)
    assert reader.page.evaluate("() => document.documentElement.scrollWidth") <= 380


SMALL = """() => [...document.querySelectorAll("button, input, select, summary, [tabindex='0']")]
    .filter((n) => n.checkVisibility()).map((n) => (/checkbox|radio/.test(n.type) ? n.closest("label") : n))
    .map((n) => [n.getBoundingClientRect(), n.outerHTML])
    .filter(([{ width, height }]) => Math.min(width, height) < 24).map(([, html]) => html)"""
"""What a finger misses; a box is hit by its words as well."""


def test_fingers_hit_what_they_aim_at(browser: Browser, path: Path, tmp_path: Path) -> None:
    assert Reader(browser, path, width=390).page.evaluate(SMALL) == []
    # and what this test would see
    small = "input, select { height: 1rem !important; min-height: 0 !important; }</style>"
    text = path.read_text(encoding="utf-8").replace("</style>", small, 1)
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    assert Reader(browser, tmp_path / "page.html", width=390).page.evaluate(SMALL) != []


@pytest.mark.parametrize("dark", [False, True])
def test_text_has_contrast(browser: Browser, path: Path, dark: bool) -> None:
    """Of text to its page at least 4.5, as accessibility guidelines ask."""
    reader = Reader(browser, path, dark=dark)
    measured = """() => {
        const light = (text) => {
            const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map((n) => n / 255)
                .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const behind = (node) => {
            for (; node; node = node.parentElement) {
                const colour = getComputedStyle(node).backgroundColor;
                if (!/, 0\\)$/.test(colour)) return colour;
            }
        };
        return [...document.querySelectorAll("p, span, label, legend, output, h1, h2, td, th, button, figcaption")]
            .filter((n) => n.textContent.trim() && n.checkVisibility())
            .map((n) => [light(getComputedStyle(n).color), light(behind(n)), n.textContent.slice(0, 40)])
            .map(([a, b, text]) => [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), text]);
    }"""
    found = reader.page.evaluate(measured)
    assert len(found) > 5
    assert [pair for pair in found if pair[0] < 4.5] == []


def test_it_prints(browser: Browser, path: Path) -> None:
    reader = Reader(browser, path)
    assert len(reader.page.pdf()) > 5_000
    assert reader.said == []


# --- what these tests would see


@pytest.mark.parametrize(
    ("script", "heard"),
    [
        ("console.warn('look')", "look"),
        ("missing()", "missing is not defined"),
        ("fetch('http://127.0.0.1:9/x').catch(() => {})", "Content Security Policy"),
        ("document.body.append(Object.assign(new Image(), { src: 'other.png' }))", "Content Security Policy"),
    ],
)
def test_what_goes_wrong_is_heard(browser: Browser, tmp_path: Path, script: str, heard: str) -> None:
    page = page_text("figure-1").replace("</body>", f"<script>{script}</script></body>")
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    reader = Reader(browser, tmp_path / "page.html")
    assert any(heard in text for text in reader.said), reader.said


def test_a_blank_picture_is_seen(browser: Browser, tmp_path: Path) -> None:
    page = page_text("figure-1").replace("gl.drawElements(", "void (")
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    assert Reader(browser, tmp_path / "page.html").colours("surface") == 1
