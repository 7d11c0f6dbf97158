"""`page`: one file that loads nothing, or one line that says why not."""

from __future__ import annotations

import json
import re
import sys
import webbrowser
from pathlib import Path

import pytest
from command import run

from lightning_cli.writing.live_pages import PAGES, page_text
from lightning_sym import save_checkpoint
from lightning_sym.checkpoints.model import MadeCheckpoint
from lightning_sym.errors import BadInput, MissingExtra
from lightning_sym.testing import small_checkpoint

MODEL = Path(__file__).parents[2] / "examples" / "checkpoints" / "model"


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "page", "--list")
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == list(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_one_file_that_loads_nothing(name: str) -> None:
    text = page_text(name)
    assert len(text.encode()) < 2_000_000
    assert not re.search(r"""<(script|img|iframe|link)\b[^>]*\b(src|href)=|@import|url\(|\bfetch\(|XMLHttp""", text)
    assert "default-src 'none'" in text
    assert "$" not in re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.DOTALL), "a formula is left"
    for element in PAGES[name].data:
        assert re.search(rf'<script type="application/json" id="{element}">.', text), "data are left out"
    assert re.search(r'<html lang="en">', text)
    assert "<noscript>" in text


def test_it_is_written_where_it_is_asked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "page", "figure-1") == (0, "page: figure-1.html\n", "")
    assert run(capsys, "page", "figure-1", "--output", "other.html")[1] == "page: other.html\n"
    assert (tmp_path / "other.html").read_text(encoding="utf-8") == page_text("figure-1")
    code, out, _ = run(capsys, "page", "figure-1", "--json")
    assert (code, json.loads(out)["output"]) == (0, "figure-1.html")


def test_it_is_opened(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def found(address: str) -> bool:
        opened.append(address)
        return True

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(webbrowser, "get", lambda: None)
    monkeypatch.setattr(webbrowser, "open", found)
    assert run(capsys, "page", "figure-1", "--open") == (0, "page: figure-1.html\n", "")
    assert opened == [(tmp_path / "figure-1.html").as_uri()]
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    code, _, err = run(capsys, "page", "figure-1", "--open")
    assert (code, err) == (0, "the browser did not open it; open the page by hand\n")


def test_own_weights(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save_checkpoint(
        small_checkpoint("llama", layers=1, inner=6, head_width=2, vocabulary=5, tied=True), tmp_path / "mine"
    )
    assert run(capsys, "page", "playground", "--weights", "mine") == (0, "page: playground.html\n", "")
    said = re.search(r'id="model">(.*?)</script>', (tmp_path / "playground.html").read_text(encoding="utf-8"))
    assert said
    model = json.loads(said[1])
    assert (model["name"], model["form"]["vocabulary"], model["incidents"]) == ("mine", 5, [])
    assert model["tensors"]["embedding"] == model["tensors"]["unembedding"]
    assert "bias-not-turned" not in [fault["name"] for fault in model["faults"]]


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (small_checkpoint("gpt2", layers=1), "a model with norm rms, got layer"),
        (small_checkpoint("qwen3", layers=1), "a model with head_norms left out"),
        (small_checkpoint("llama", vocabulary=2000), "at most 20,000 numbers"),
        (small_checkpoint("llama", context=3), "at least 4 tokens, got 3"),
    ],
)
def test_what_the_page_does_not_draw_is_refused(made: MadeCheckpoint, reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        page_text("playground", made)


def test_without_a_browser_nothing_is_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> None:
        raise webbrowser.Error

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(webbrowser, "get", missing)
    code, out, err = run(capsys, "page", "figure-1", "--open")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: --open must find a browser")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "must be given a name, or --list"),
        (["figure-9"], "must be one of figure-1"),
        (["figure-1", "--list"], "must be given a name, or --list"),
        (["--list", "--output", "x.html"], "must stand alone"),
        (["--list", "--open"], "must stand alone"),
        (["--list", "--weights", "model"], "must stand alone"),
        (["figure-1", "--weights", str(MODEL)], "a checkpoint must go with the page playground, got figure-1"),
        (["playground", "--weights", "no/such"], "no/such"),
        (["figure-1", "--output", "."], "must be a file that can be written"),
        (["figure-1", "--output", "no/such/x.html"], "must be a file that can be written"),
        (["../figure-1"], "must be one of figure-1"),
    ],
)
def test_bad_words_are_one_line(
    words: list[str], reason: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, "page", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: ")
    assert reason in err
    assert list(tmp_path.iterdir()) == []


def test_the_extra_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "latex2mathml.converter", None)
    with pytest.raises(MissingExtra, match="extra `report`: pip install latex2mathml"):
        page_text("figure-1")
    with pytest.raises(BadInput, match="must be one of"):
        page_text("figure-2")


def test_the_wheel_has_the_sources() -> None:
    """Every file in the folder is of a kind that is packed."""
    folder = Path(__file__).parents[2] / "lightning_cli" / "pages"
    packed = {".html", ".js", ".css"}
    assert {path.suffix for path in folder.iterdir() if path.is_file()} == packed | {".py"}
    listed = (folder.parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    assert all(f'"pages/*{suffix}"' in listed for suffix in packed)
