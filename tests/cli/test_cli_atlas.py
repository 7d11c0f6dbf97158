"""`sweep` and `atlas` as they are called: exit codes, bad input in one line, the page."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from command import run

from lightning_sym import Family, certified_dimension, sweep
from lightning_sym.atlas.store import Atlas

SMALL = ("--depth", "1", "--widths", "1..2", "--ranks", "1..2", "--tokens", "1..2", "--workers", "1")


@pytest.fixture
def file(tmp_path: Path) -> str:
    family = Family.of({"depth": "1..2", "widths": "1..2", "ranks": "1..2", "tokens": "1..2"})
    sweep(family, tmp_path / "a.sqlite", workers=1)
    return str(tmp_path / "a.sqlite")


def test_a_sweep_and_a_conjecture(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = str(tmp_path / "a.sqlite")
    code, out, err = run(capsys, "sweep", *SMALL, "-o", file)
    assert (code, err) == (0, "")
    assert "16 networks measured" in out
    code, out, _ = run(capsys, "sweep", *SMALL, "-o", file, "--conjecture", "P - 1")
    assert (code, "16 known before" in out, "smallest" in out) == (1, True, True)
    assert run(capsys, "atlas", file, "--conjecture", "dim")[0] == 2
    assert run(capsys, "atlas", file, "--where", "tokens = 2", "--conjecture", "0*l")[0] == 1
    right = "min(a, n)*(2*n - min(a, n)) + n*m - 1"
    assert run(capsys, "atlas", file, "--where", "tokens = 2", "--conjecture", right)[0] == 0


def test_what_is_refused_is_said_by_the_exit_code(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = str(tmp_path / "a.sqlite")
    words = ("sweep", "--depth", "1", "--widths", "30", "--ranks", "2", "--tokens", "2", "--workers", "1", "-o", file)
    code, out, _ = run(capsys, *words, "--memory", "0.0001")
    assert (code, "1 refused" in out) == (3, True)
    assert run(capsys, *words)[0] == 3  # it is known
    assert run(capsys, *words, "--retry", "refused")[0] == 0


@pytest.mark.parametrize(
    ("option", "values"),
    [("normalization", ("none", "softmax")), ("mask", ("none", "causal")), ("skip", ("no", "yes"))],
)
def test_both_is_as_much_as_the_two(
    option: str, values: tuple[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ("sweep", "--depth", "1", "--widths", "2", "--ranks", "1", "--tokens", "2", "--workers", "1", "--json")
    networks = {}
    for said in ("both", ",".join(values), *values):
        file = str(tmp_path / f"{said}.sqlite")
        assert run(capsys, *words, f"--{option}", said, "-o", file)[0] == 0
        with Atlas(file) as atlas:
            networks[said] = {entry.network for entry in atlas.entries()}
    both, together, first, second = networks.values()
    assert both == together == first | second
    assert len(both) == 2
    (tmp_path / "family.toml").write_text(f'depth = 1\nwidths = 2\nranks = 1\ntokens = 2\n{option} = "both"\n')
    code, out, _ = run(capsys, "sweep", str(tmp_path / "family.toml"), "--workers", "1", "-o", str(tmp_path / "toml"))
    assert (code, "2 networks measured" in out) == (0, True)


@pytest.mark.parametrize(
    "words",
    [
        ("sweep", "-o", "{new}"), ("sweep", *SMALL), ("sweep", *SMALL, "-o", "{folder}"),
        ("sweep", "{folder}", "-o", "{new}"), ("sweep", *SMALL, "-o", "{text}"), ("sweep", "{text}", "-o", "{new}"),
        ("sweep", *SMALL, "--skip", "maybe", "-o", "{new}"),
        ("sweep", *SMALL, "--widths", "x", "-o", "{new}"), ("sweep", *SMALL, "--mask", "left", "-o", "{new}"),
        ("sweep", *SMALL, "--conjecture", "import os", "-o", "{new}"),
        ("sweep", *SMALL, "--count", "999", "-o", "{new}"),
        ("sweep", *SMALL, "--scheduler", "nowhere", "-o", "{new}"), ("sweep", *SMALL, "--retry", "all", "-o", "{new}"),
        ("atlas", "{text}"), ("atlas", "{folder}"), ("atlas", "{new}"),
        ("atlas", "{atlas}", "--where", "drop table networks"),
        ("atlas", "{atlas}", "--page", "{folder}"), ("atlas", "{atlas}", "--conjecture", "1.5"),
        ("sweep", *SMALL, "--skip", "", "-o", "{new}"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str], tmp_path: Path, file: str
) -> None:
    (tmp_path / "text").write_text("depth = [")
    places = {"{new}": tmp_path / "new", "{folder}": tmp_path, "{text}": tmp_path / "text", "{atlas}": file}
    code, out, err = run(capsys, *(str(places.get(word, word)) for word in words))
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert (tmp_path / "text").read_text() == "depth = ["


class Cells(HTMLParser):
    """The rows of all tables of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        if self.inside or tag == "td":
            self.inside = tag == "td"
        if tag == "td":
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag != "td"

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.rows[-1][-1] += data


def test_the_page_says_what_the_atlas_says(capsys: pytest.CaptureFixture[str], tmp_path: Path, file: str) -> None:
    page = tmp_path / "page.html"
    assert run(capsys, "atlas", file, "--page", str(page))[0] == 0
    text = page.read_text()
    assert not re.search(r"(src|href)=.(?!#)", text), "it needs nothing else"
    cells = Cells()
    cells.feed(text)
    with Atlas(file) as atlas:
        entries = list(atlas.entries())
    differing = [e for e in entries if e.formula_agrees == 0]
    shown = {row[0]: row for row in cells.rows if row and row[0].startswith("widths")}
    assert len(shown) == min(len(differing), 40)
    for entry in differing[:40]:
        dimension = certified_dimension(entry.architecture).value
        expected = [str(entry.parameters), str(dimension), str(entry.formula_value)]
        assert shown[str(entry.architecture)][1:] == expected
    counted = [row for row in cells.rows if row and ";" in row[0]]
    assert sum(int(number or 0) for row in counted for number in row[1:]) == len(entries)
