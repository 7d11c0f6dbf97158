"""`verify DIR`: a set of certificates with a list of what belongs to it, and one without."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest
from checker import CORPUS
from command import run

NAMES = ("one_layer.json", "below/same_zero.json")


def listed(folder: Path) -> None:
    """Write the list of what is there now."""
    files = {
        path.relative_to(folder).as_posix(): path for path in folder.rglob("*.json") if path.name != "manifest.json"
    }
    hashes = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}
    data = {"format": "lightning-sym/certificates", "version": 1, "files": hashes}
    (folder / "manifest.json").write_text(json.dumps(data), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "all"
    (found / "below").mkdir(parents=True)
    for name in NAMES:
        shutil.copy(CORPUS / "good" / Path(name).name, found / name)
    listed(found)
    return found


def test_a_complete_set(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "verify", str(folder))
    assert (code, err, out.count(": proved: "), out.count("\n")) == (0, "", 2, 3)
    assert out.endswith(f"{folder}: complete: all files of manifest.json are there and unchanged, and no others\n")


def test_a_set_without_a_list_is_said_to_be_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "manifest.json").unlink()
    code, out, _ = run(capsys, "verify", str(folder))
    assert (code, out.count(": proved: ")) == (0, 2)
    assert f"{folder}: no manifest.json says whether this set is complete; one of an interrupted check has none" in out
    (folder / NAMES[0]).write_text("{}", encoding="utf-8")
    assert run(capsys, "verify", str(folder))[0] == 1


def test_sets_in_a_directory_each_have_a_list(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "verify", str(folder.parent))
    assert (code, out.count("no manifest.json"), out.count(f"{folder}: complete: ")) == (0, 0, 1)
    shutil.copy(folder / NAMES[0], folder.parent / "alone.json")
    code, out, _ = run(capsys, "verify", str(folder.parent))
    assert (code, out.count(f"{folder}: complete: ")) == (0, 1)
    assert f"{folder.parent}: no manifest.json" in out
    assert "(certificates without it: 1)" in out


@pytest.mark.parametrize("name", NAMES)
def test_what_is_missing_changed_or_not_listed_is_named(
    folder: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path, text = folder / name, (folder / name).read_text(encoding="utf-8")
    for change, word in (
        (lambda: path.unlink(), "missing: "),
        (lambda: path.write_text(text + " ", encoding="utf-8"), "changed: "),
        (lambda: shutil.copy(path, path.with_name("More.JSON")), "not listed: "),
    ):
        change()
        code, out, _ = run(capsys, "verify", str(folder))
        assert code == 1
        assert "complete: " not in out
        assert "rejected: " not in out
        about = path.with_name("More.JSON") if word == "not listed: " else path
        assert next(line for line in out.splitlines() if ": proved: " not in line).startswith(f"{about}: {word}")
        path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    "text",
    ["{}", "[]", "", '{"format": "lightning-sym/certificates", "version": 2, "files": {}}',
     '{"format": "lightning-sym/certificates", "version": 1, "files": []}',
     '{"format": "lightning-sym/certificates", "version": 1, "files": {"a.json": 1}}',
     '{"format": "lightning-sym/certificate", "version": 1, "files": {}}', "[" * 10**5],
)  # fmt: skip
def test_a_list_that_is_none_is_refused(folder: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "manifest.json").write_text(text, encoding="utf-8")
    code, out, _ = run(capsys, "verify", str(folder))
    assert (code, out.count(": proved: ")) == (1, 2)
    assert f"{folder / 'manifest.json'}: rejected: a list of what belongs to a set must be one of format 1, " in out


def test_upper_case_and_links_are_not_passed_over(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "X.JSON").write_text("{}", encoding="utf-8")
    (folder / "device.json").symlink_to("/dev/zero")
    (folder / "elsewhere").symlink_to(CORPUS)
    os.mkfifo(folder / "pipe.json")
    code, out, _ = run(capsys, "verify", str(folder))
    assert code == 1
    for name in ("X.JSON", "device.json", "elsewhere", "pipe.json"):
        assert f"{folder / name}: rejected: " in out
        assert f"{folder / name}: not listed: " in out
    assert out.count("same_zero.json") == 1


def test_a_missing_file_cannot_be_a_device(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / NAMES[0]).unlink()
    (folder / NAMES[0]).symlink_to("/dev/zero")
    code, out, _ = run(capsys, "verify", str(folder))
    assert code == 1
    assert f"{folder / NAMES[0]}: missing: " in out


def test_a_file_may_be_called_like_an_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, "verify", "--", "-h")
    assert (code, err) == (1, "")
    assert out == "./-h: rejected: there must be a file of this name, of at most 16 MiB\n"
