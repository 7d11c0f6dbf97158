"""Files that commands write: refused before the work, by the true reason; and written before an answer is told."""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest
from command import run

from lightning_cli.commands import check
from lightning_cli.main import COMMANDS, module_of
from lightning_cli.output_file import OutputFile
from lightning_sym import Weights, save_weights

READ = {
    "baseline of check",  # written only where there is none
    "config_file of dimension", "weight_file of conserved", "weight_file of phi", "weights of explain",
    "against of circuits", "scan of circuits", "adapter of same", "tokenizer_a of same", "tokenizer_b of same",
    "second of align", "along of classify", "weights of page", "grade of exercise", "picture of explain",
}  # fmt: skip
FOLDERS = {"report of check", "certificates of check", "output of align", "output of apply", "output of convert"}
ENDINGS = {"canonical": ".json", "recover": ".json", "circuits": ".png", "exercise": ".html", "figure": ".svg"}
WORDS = {  # enough to be read; nothing of it is there
    "align": "none --to none -o none",
    "atlas": "none.sqlite", "canonical": "none.json", "check": "none", "circuits": "none", "coefficient": "--of x",
    "equations": "", "exercise": "",
    "dimension": "", "fiber": "none.json", "figure": "1", "page": "figure-1", "recover": "none.json",
    "same": "none.json none.json", "sweep": "", "symmetries": "none",
}  # fmt: skip


def files() -> list[tuple[str, str]]:
    """Command and option of every file that is written."""
    found = []
    for name in COMMANDS:
        for parameter in module_of(name).command.params:
            if isinstance(parameter, click.Option) and isinstance(parameter.type, click.Path):
                if isinstance(parameter.type, OutputFile):
                    found.append((name, parameter.opts[-1]))
                else:  # and no other option names a file to be written
                    assert f"{parameter.name} of {name}" in READ | FOLDERS
    return found


WRITTEN = files()


def test_all_commands_that_write_are_asked() -> None:
    assert {name for name, _ in WRITTEN} == WORDS.keys()
    assert len(WRITTEN) == 19  # `same` has three, `canonical` two


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("mine")
    return tmp_path


@pytest.mark.parametrize(("name", "option"), WRITTEN, ids=" ".join)
def test_what_cannot_be_written_is_refused_first_and_by_its_reason(
    name: str, option: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    end = ENDINGS.get(name, "") if option in ("--output", "-o", "--sheet") else ""
    (here / f"folder{end}").mkdir()
    (here / f"loop{end}").symlink_to(f"loop{end}")
    for target, reason in {
        "": "the name is empty",
        f"folder{end}": "Is a directory",
        f"missing/x{end}": "there is no such folder",
        f"file/x{end}": "Not a directory",
        f"loop{end}": "Too many levels of symbolic links",
        f"{'n' * 300}{end}": "File name too long",
        f"/proc/x{end}": "No such file or directory",  # a folder that is there and takes no files
    }.items():
        before = sorted(here.iterdir())
        code, out, err = run(capsys, name, *WORDS[name].split(), option, target)
        assert (code, out, err.count("\n")) == (2, "", 1), err
        assert err.startswith("error: ")
        assert err.endswith(f": {reason}\n"), err
        assert sorted(here.iterdir()) == before


@pytest.mark.parametrize(("name", "end"), ENDINGS.items(), ids=lambda value: value)
def test_endings(name: str, end: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, name, *WORDS[name].split(), "--sheet" if name == "exercise" else "--output", "x.txt")
    assert (code, out) == (2, "")
    assert end in err
    assert "'x.txt'" in err


def test_folders_have_names(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for option in sorted(word.split()[0] for word in FOLDERS if word.endswith("check")):
        code, out, err = run(capsys, "check", "equation-9", f"--{option}", "")
        assert (code, out) == (2, "")
        assert err.endswith("must go into a directory that can be written to, got no name\n")
    assert os.listdir(here) == ["file"]


SHAPE = ("--widths", "2,2", "--ranks", "1", "--tokens", "2")
CONFIG = '{"model_type": "attention-only", "hidden_size": 2, "num_attention_heads": 1, "num_hidden_layers": 1, '
CONFIG += '"vocab_size": 3}'


@pytest.mark.parametrize(
    "words",
    [
        ("dimension", *SHAPE, "--certificate"),
        ("dimension", *SHAPE, "--json", "--certificate"),
        ("dimension", "--config", "config.json", "--certificate"),
        ("same", "w.json", "w.json", "--certificate"),
        ("fiber", "w.json", "--normalization", "softmax", "--certificate"),
        ("equations", "--widths", "2,1", "--ranks", "1", "--tokens", "2", "--degree", "1", "--output"),
        ("page", "figure-1", "--output"),
        ("check", "equation-9", "--quick", "--write-baseline"),
    ],
    ids=lambda words: " ".join(words[::5]),
)
def test_no_answer_is_told_where_its_file_cannot_be_written(
    words: tuple[str, ...], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_weights(Weights.of({"Q1": [[1, 2]], "K1": [[3, 1]], "V1": [[1, -1]]}), "w.json")
    Path("config.json").write_text(CONFIG)
    before = sorted(here.iterdir())
    code, out, err = run(capsys, *words, "/dev/full")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.endswith("got '/dev/full': No space left on device\n")
    assert sorted(here.iterdir()) == before


def test_a_report_that_fails_is_no_answer(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("lightning_sym.whole_files.Path.replace", full)
    code, out, err = run(capsys, "check", "equation-9", "--quick", "--report", "report")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "No space left on device" in err
    assert check.command.name == "check"
