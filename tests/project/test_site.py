"""The site: built with warnings as errors, whole, and readable without a network."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from refresh_pages import PAGES, ROOT

from lightning_cli.writing import live_pages
from lightning_cli.writing.mathml import mathml

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
MATHML = "{http://www.w3.org/1998/Math/MathML}"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """By the command of `make docs`, so that CI need not run it once more."""
    folder = tmp_path_factory.mktemp("site")
    (line,) = re.findall(r"^docs:.*\n\t\$\(BIN\)/python (-m sphinx .*) build/docs$", MAKEFILE, flags=re.MULTILINE)
    words = [sys.executable, *line.split(), "--doctree-dir", str(folder / "doctrees"), str(folder / "html")]
    assert {"--fresh-env", "--fail-on-warning"} <= {*words}
    built = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT)
    assert built.returncode == 0, built.stderr
    return folder / "html"


class Loaded(HTMLParser):
    """What a browser fetches for a page by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Scripts, pictures, frames, and links that are no links of the text."""
        for name, value in attrs:
            if value and (name == "src" or (name == "href" and tag == "link")):
                self.addresses.append(value)


def test_pages_of_the_site_load_nothing_from_elsewhere(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) >= 25
    for page in pages:
        loaded = Loaded()
        loaded.feed(page.read_text(encoding="utf-8"))
        assert bool(loaded.addresses) != (page.parent.name == "live"), "a live page is whole by itself"
        for address in loaded.addresses:
            assert not re.match(r"(\w+:)?//", address), f"{page.name} loads {address}"
            assert (page.parent / re.split(r"[?#]", address)[0]).exists() or not address, f"{page.name}: {address}"
    for style in site.rglob("*.css"):
        assert not re.search(r"@import|url\(['\"]?(\w+:)?//", style.read_text(encoding="utf-8")), style.name


def test_live_pages_stand_on_the_site(site: Path) -> None:
    assert sorted(path.stem for path in (site / "live").iterdir()) == sorted(live_pages.PAGES)
    shown = (site / "how-to" / "pictures.html").read_text(encoding="utf-8")
    assert all(f'href="../live/{name}.html"' in shown for name in live_pages.PAGES)


def test_every_page_is_reached_from_the_front(site: Path) -> None:
    front = (site / "index.html").read_text(encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").with_suffix(".html").as_posix()
        assert f'href="{name}"' in front or name == "index.html", name


def test_the_search_has_the_words_of_every_page_with_it(site: Path) -> None:
    # a browser fetches nothing for a page that is opened from disk
    assert "excerpts.js" in (site / "search.html").read_text(encoding="utf-8")
    assert "excerpts.js" not in (site / "index.html").read_text(encoding="utf-8")
    script = (site / "_static" / "excerpts.js").read_text(encoding="utf-8")
    texts = json.loads(re.findall(r"^const PAGES = (.*);$", script, flags=re.MULTILINE)[0])
    assert texts.keys() >= {page.relative_to(ROOT / "docs").with_suffix(".html").as_posix() for page in PAGES[2:]}
    assert "Two hours, with a sheet of exercises for each student" in texts["index.html"]
    assert not re.search(r"</?(?!div)[a-z]", texts["every-width.html"])


def test_formulas_are_mathml(site: Path) -> None:
    page = (site / "every-width.html").read_text(encoding="utf-8")
    assert page.count("<math") > 100
    assert '<span class="formula-tag">(T)</span>' in page


def test_no_mark_of_a_formula_or_of_code_is_left_in_the_text(site: Path) -> None:
    """A line that begins with a minus or a larger sign starts a list or a quotation, and cuts its formula in two."""
    for path in sorted(site.rglob("*.html")):
        page = path.read_text(encoding="utf-8")
        text = re.sub(r"<(pre|code|math|script|style|title|svg)\b.*?</\1>|<[^>]+>", "", page, flags=re.DOTALL)
        assert not (left := re.findall(r".{0,60}[$`].{0,60}", text)), f"{path.name}: {left}"
    assert not re.search(r"\\[a-z]+", text)


def test_cited_pages_are_links(site: Path) -> None:
    assert 'href="upper-bound.html"' in (site / "transformers.html").read_text(encoding="utf-8")


def test_docstrings_are_formatted(site: Path) -> None:
    page = (site / "reference" / "python.html").read_text(encoding="utf-8")
    for word in ("Args:", "Attributes:", "Example:", "$"):
        assert word not in re.sub(r"<[^>]+>", "", re.sub(r"<pre.*?</pre>", "", page, flags=re.DOTALL)), word
    assert page.count("<math") > 20


FORMULAS = sorted(
    {
        (page.name, formula.strip())
        for page in PAGES
        for pair in re.findall(
            r"\$\$(.+?)\$\$|(?<![\\$\w])\$([^$`]+?)\$(?![\w$])",
            re.sub(r"^(`{3,}).*?^\1$|`[^`\n]+`", "", page.read_text(encoding="utf-8"), flags=re.M | re.S),
            flags=re.DOTALL,
        )
        for formula in pair
        if formula
    }
)


def test_rows_of_tables_stand_below_a_heading() -> None:
    """A blank line ends a table; what comes behind it would be a paragraph of bars."""
    for page in PAGES:
        prose = re.sub(r"^(`{3,}).*?^\1", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for part in re.split(r"\n\s*\n", prose):
            if re.match(r"\s*\| .*\|$", part, flags=re.MULTILINE):
                assert re.match(r"\s*\|.*\|\n *\|[-:| ]+\|\n", part), f"{page.name}: {part[:60]}"


def test_every_formula_of_every_page_becomes_mathml() -> None:
    assert len(FORMULAS) > 300
    for name, formula in FORMULAS:
        found = ElementTree.fromstring(mathml(re.sub(r"\\tag\{.*?\}", "", formula)))  # noqa: S314 - our own pages
        assert found.tag == f"{MATHML}math", (name, formula)


@pytest.mark.parametrize(
    ("latex", "inside"),
    [
        (r"c = -1", '<mo form="prefix">&#x02212;</mo>'),
        (r"(-x, -y)", '<mo>&#x0002C;</mo><mo form="prefix">'),
        (r"a_1, \dots, a_l", "<mi>&#x02026;</mi>"),
        (r"m = \infty", "<mi>&#x0221E;</mi>"),
        (r"\dot W", '<mover accent="true"><mi>W</mi><mo accent="true">'),
        (r"\overline{\pi(\tilde W)}", '<mrow style="border-top:'),
    ],
)
def test_mathml_is_what_browsers_space_well(latex: str, inside: str) -> None:
    assert inside in mathml(latex, display="inline")


@pytest.mark.parametrize("latex", ["a - b", "(a) - b", "x_1 - y", r"a^\top - b"])
def test_a_minus_between_two_things_stays_one(latex: str) -> None:
    assert "prefix" not in mathml(latex)


def test_nested_bars_all_become_borders() -> None:
    found = mathml(r"\overline{a + \overline{\tilde b}}")
    assert found.count("border-top") == 2
    assert "&#x02015;" not in found


def test_a_keyboard_scrolls_what_is_wide_and_headings_have_a_level(site: Path) -> None:
    for path in (page for page in site.rglob("*.html") if page.parent.name != "live"):
        page = path.read_text(encoding="utf-8")
        assert not re.search(r'<pre>|<div class="(formula-block|table-wrapper)|role="heading">', page), path.name
