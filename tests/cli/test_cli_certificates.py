"""The commands that write and check certificates, as a user meets them."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from checker import CORPUS
from command import run

from lightning_sym import Weights, save_weights, swap
from lightning_sym.certificates import limits as certificate_limits
from proofs_check.run import ClaimResult, run_claim

ROOT = Path(__file__).parents[2]

ONE = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 6]]})


SHAPE = ("dimension", "--widths", "2,2", "--ranks", "1", "--tokens", "2")


def test_dimension_writes_what_verify_proves(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    code, plain, _ = run(capsys, *SHAPE)
    assert code == 0
    code, out, err = run(capsys, *SHAPE, "--certificate", str(path))
    assert (code, out, err) == (0, plain, f"certificate: {path}\n")
    assert list(tmp_path.iterdir()) == [path]
    code, out, err = run(capsys, "verify", str(path))
    assert (code, err) == (0, "")
    assert out.startswith(f"{path}: proved: ")
    path.write_text(path.read_text().replace('"lower": 6', '"lower": 7'))
    code, out, err = run(capsys, "verify", str(path))
    assert (code, err) == (1, "")
    assert out.startswith(f"{path}: rejected: ")


def test_verify_takes_directories(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    for name in ("one_layer", "same_zero"):
        shutil.copy(CORPUS / "good" / f"{name}.json", tmp_path / "below")
    code, out, _ = run(capsys, "verify", str(tmp_path))
    assert code == 0
    assert out.count("proved: ") == 2
    code, out, _ = run(capsys, "verify")
    assert code == 2
    empty = tmp_path / "empty"
    empty.mkdir()
    code, out, _ = run(capsys, "verify", str(empty))
    assert code == 2


def test_same_writes_both_answers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    one, two, three = (tmp_path / f"{n}.json" for n in ("one", "two", "three"))
    save_weights(ONE, one)
    save_weights(swap(ONE), two)
    save_weights(Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 7]]}), three)
    for other, expected in ((two, 0), (three, 1)):
        answer = tmp_path / "answer.json"
        code, out, err = run(capsys, "same", str(one), str(other), "--certificate", str(answer))
        assert (code, err) == (expected, f"certificate: {answer}\n")
        code, out, _ = run(capsys, "verify", str(answer))
        assert code == 0
        assert "proved: " in out


@pytest.mark.parametrize("words", [SHAPE, ("same", "one.json", "one.json")])
@pytest.mark.parametrize("target", [".", "missing/c.json", "one.json/c.json", "n" * 300])
def test_what_cannot_be_written_is_said_in_one_line(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    words: tuple[str, ...],
    target: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    save_weights(ONE, "one.json")
    code, out, err = run(capsys, *words, "--certificate", target)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["one.json"]


def test_an_older_file_stays_if_the_new_one_fails(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "d.json"
    path.write_text("older")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("lightning_sym.certificates.files.os.replace", full)
    code, _, err = run(capsys, *SHAPE, "--certificate", str(path))
    assert code == 2
    assert "No space left on device" in err
    assert [p.read_text() for p in tmp_path.iterdir()] == ["older"]


def test_a_large_network_has_a_small_certificate(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    shape = ("--widths", "48,48", "--ranks", "8", "--tokens", "3", "--heads", "3", "--skip", "--embed", "60",
             "--unembed", "70")  # fmt: skip
    file = tmp_path / "large.json"
    code, out, err = run(capsys, "dimension", *shape, "--normalization", "softmax", "--certificate", str(file))
    assert (code, err) == (0, f"certificate: {file}\n")
    assert "full ranks modulo" in out
    assert file.stat().st_size < 400
    code, out, _ = run(capsys, "verify", str(file))
    # without projections every head has a matrix of values of its own
    assert (code, f"dim M = {48 * (60 + 70 - 48) + 3 * (8 * 88 + 48 * 48)}, " in out) == (0, True)


def test_check_writes_certificates_of_the_generic_parts(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "all"
    code, _, err = run(capsys, "check", "figure-1", "lemma-3.1", "--quick", "--certificates", str(folder))
    assert code == 0
    files = sorted(folder.glob("*/*.json"))
    assert {path.parent.name for path in files} == {"figure-1", "lemma-3.1"}
    assert err.endswith(f"certificates: {len(files)} in {folder}, checked by: lightning-sym verify {folder}\n")
    code, out, _ = run(capsys, "verify", *map(str, files))
    assert code == 0
    assert out.count("proved: ") == len(files)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest == {
        "format": "lightning-sym/certificates",
        "version": 1,
        "files": {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files},
    }
    softmax = tmp_path / "softmax"
    code, _, err = run(capsys, "check", "figure-3", "free-exponentials", "--quick", "--certificates", str(softmax))
    assert code == 0
    assert "no certificates: free-exponentials, scores are linearly independent over the rationals" in err
    code, out, _ = run(capsys, "verify", *map(str, sorted(softmax.glob("*/*.json"))))
    assert code == 0
    assert out.count("docs/transformers.md, section 1") > 50
    code, _, err = run(capsys, "check", "figure-1", "--quick", "--certificates", str(folder))
    assert code == 2
    assert "is not empty" in err
    code, _, err = run(capsys, "check", "--list", "--certificates", str(folder))
    assert code == 2


@pytest.mark.parametrize("claims", [["definition-1"], ["definition-1", "equation-9"]])
def test_a_set_may_be_empty_and_then_proves_nothing(
    claims: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = tmp_path / "all"
    code, _, err = run(capsys, "check", *claims, "--quick", "--certificates", str(folder))
    assert code == 0
    assert f"certificates: 0 in {folder}" in err
    assert json.loads((folder / "manifest.json").read_text())["files"] == {}
    code, out, _ = run(capsys, "verify", str(folder))
    assert code == 2
    assert "proved" not in out


class Stopped(ProcessPoolExecutor):
    """Nothing runs here: whoever asks for certificates in vain must not have started."""

    def __init__(self, *_: object, **__: object) -> None:
        pytest.fail("the checks were started")


@pytest.mark.parametrize("place", ["file", "file/below", "/proc/x", "x" * 300])
def test_certificates_need_a_directory_before_anything_runs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: str
) -> None:
    monkeypatch.setattr("concurrent.futures.ProcessPoolExecutor", Stopped)
    (tmp_path / "file").write_text("mine")
    code, out, err = run(capsys, "check", "--quick", "--certificates", str(tmp_path / place))
    assert (code, out) == (2, "")
    assert err.startswith("error: certificates must go into a directory that can be written to, ")
    assert err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


FULL = """
import resource, sys
from lightning_cli.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
main()
"""


@pytest.mark.parametrize("claims", [["figure-1"], ["figure-1", "lemma-3.1"]])
def test_a_full_disk_is_one_line_and_leaves_no_manifest(tmp_path: Path, claims: list[str]) -> None:
    """The system refuses longer files, as it does when there is no room: alone, and in processes side by side."""
    words = [sys.executable, "-c", FULL, "check", *claims, "--quick", "--json", "--certificates", str(tmp_path / "all")]
    result = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("error: certificates must have room in ")
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "all" / "manifest.json").exists()


def test_a_run_that_was_interrupted_leaves_no_manifest(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted(*words: Any) -> Iterator[ClaimResult]:
        claims, quick, _, certificates = words
        yield run_claim(claims[0], quick, certificates=certificates)
        raise KeyboardInterrupt

    monkeypatch.setattr("proofs_check.run.run_claims", interrupted)
    folder = tmp_path / "all"
    code, _, err = run(capsys, "check", "figure-1", "lemma-3.1", "--quick", "--certificates", str(folder))
    assert (code, err.splitlines()[-1]) == (130, "interrupted")
    assert len(list(folder.rglob("*.json"))) == 4
    assert not (folder / "manifest.json").exists()


def test_an_error_of_the_program_leaves_no_manifest(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def faulty(*words: Any) -> Iterator[ClaimResult]:
        yield replace(run_claim(words[0][0], words[1], certificates=words[3]), verdict=None, error="Bad: x")

    monkeypatch.setattr("proofs_check.run.run_claims", faulty)
    folder = tmp_path / "all"
    code, _, err = run(capsys, "check", "figure-1", "--quick", "--certificates", str(folder))
    assert code == 4
    assert "not all of them: there is no list of them" in err
    assert not (folder / "manifest.json").exists()


def test_the_result_is_not_lost_where_a_certificate_would_be_too_large(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certificate_limits, "MOST_STEPS", 200)
    code, out, err = run(capsys, *SHAPE, "--certificate", str(tmp_path / "c.json"))
    assert (code, out) == (2, "")
    assert "(the dimension, without --certificate: 6)" in err
    assert "a certificate must be checked in at most 200 steps of the checker, this one takes" in err
    assert not list(tmp_path.iterdir())


def test_nothing_to_check_is_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, err = run(capsys, "verify")
    assert (code, out, err) == (2, "", "error: there must be a FILE to check, got none\n")
    good = str(CORPUS / "good" / "one_layer.json")
    code, out, err = run(capsys, "verify", good, str(tmp_path))
    assert (code, out, err) == (2, "", f"error: there must be .json files below {tmp_path}, there is none\n")
