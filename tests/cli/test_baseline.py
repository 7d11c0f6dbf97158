"""`check --write-baseline` and `--baseline`: what is kept, what differs, and what is refused."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import run
from jsonschema import Draft202012Validator

from lightning_cli.schemas import schema
from lightning_cli.writing.check_answer import CHECK, kept_run
from proofs_check.baseline import compare, write_baseline
from proofs_check.claim import Scope, Verdict
from proofs_check.registry import claim_by_id
from proofs_check.run import ClaimResult, PartResult, run_claim

ROOT = Path(__file__).parents[2]
SCHEMA = schema("baseline")
IDS = ("definition-1", "section-4-skip")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A baseline of two claims, one of them refuted."""
    path = tmp_path_factory.mktemp("baseline") / "kept.json"
    write_baseline(path, kept_run({name: run_claim(claim_by_id(name), quick=True) for name in IDS}, quick=True))
    return path


def changed(kept: Path, folder: Path, change: Callable[[Any], Any]) -> str:
    document = json.loads(kept.read_text(encoding="utf-8"))
    change(document)
    path = folder / "changed.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


def test_a_baseline_is_of_its_schema_and_the_same_every_time(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(kept.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(SCHEMA)
    Draft202012Validator(SCHEMA).validate(document)
    assert list(document["claims"]) == list(IDS)
    assert "seconds" not in kept.read_text(encoding="utf-8")
    again = tmp_path / "again.json"
    code, _, err = run(capsys, "check", *IDS, "--quick", "--write-baseline", str(again), "--baseline", str(kept))
    assert code == 0
    assert f"baseline: {again}, compared with by: lightning-sym check --quick --baseline {again}" in err
    assert again.read_bytes() == kept.read_bytes()


def test_no_difference_is_said(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "check", *IDS, "--quick", "--baseline", str(kept))
    assert code == 0
    assert out.splitlines()[-1] == f"baseline {kept}: no difference in 2 claims"
    code, out, _ = run(capsys, "check", "definition-1", "--quick", "--baseline", str(kept))
    assert code == 0
    assert out.splitlines()[-2:] == [
        "baseline: not run, so not compared: section-4-skip",
        f"baseline {kept}: no difference in 1 claim",
    ]


def test_a_baseline_that_is_not_there_is_recorded_and_does_not_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A path with a mistake must not look like an agreement: exit code 3, and said before anything runs."""
    schema = CHECK.schema()
    words = ("check", "definition-1", "--quick", "--baseline")
    path = str(tmp_path / "new.json")
    code, out, err = run(capsys, *words, path)
    assert code == 3
    assert err.startswith(f"baseline: there is no {path}: this run is recorded in it, compared with nothing\n")
    assert out.splitlines()[-1] == f"baseline: there was no '{path}': nothing is compared"
    Draft202012Validator(SCHEMA).validate(json.loads(Path(path).read_text(encoding="utf-8")))
    code, out, _ = run(capsys, *words, path)
    assert (code, out.splitlines()[-1]) == (0, f"baseline {path}: no difference in 1 claim")
    again = str(tmp_path / "json.json")
    code, out, _ = run(capsys, *words, again, "--json")
    Draft202012Validator(schema).validate(json.loads(out))
    assert code == 3
    assert json.loads(out)["baseline"]["compared"] == 0
    assert Path(again).read_text(encoding="utf-8") == Path(path).read_text(encoding="utf-8")


def claim(document: Any) -> Any:
    return document["claims"]["definition-1"]


def first_part(document: Any) -> Any:
    return next(iter(claim(document)["parts"].values()))


CHANGES: list[tuple[Callable[[Any], Any], str]] = [
    (lambda d: claim(d).update(verdict="REFUTED"), "definition-1: verdict REFUTED, now HOLDS"),
    (lambda d: first_part(d).update(verdict="UNDECIDED"), "verdict UNDECIDED, now HOLDS"),
    (lambda d: first_part(d).update(instances=99), "instances 99, now"),
    (lambda d: first_part(d).update(witness="A = 1"), "witness A = 1, now none"),
    (lambda d: first_part(d).update(findings=["t >= 2 is needed"]), "findings t >= 2 is needed, now none"),
    (lambda d: first_part(d).update(scope="GENERIC"), "scope GENERIC, now IDENTITY"),
    (lambda d: claim(d)["parts"].update({"an old part": first_part(d)}), "definition-1, an old part: gone"),
]


@pytest.mark.parametrize(("change", "line"), CHANGES, ids=[line for _, line in CHANGES])
def test_every_difference_is_a_line_and_exit_code_1(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], change: Callable[[Any], Any], line: str
) -> None:
    path = changed(kept, tmp_path, change)
    code, out, _ = run(capsys, "check", "definition-1", "--quick", "--baseline", path)
    assert code == 1
    assert any(line in found for found in out.splitlines() if found.startswith("differs: "))
    assert out.splitlines()[-1] == f"baseline {path}: 1 difference in 1 claim"


def test_json_has_the_differences(kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema = CHECK.schema()
    path = changed(kept, tmp_path, lambda d: first_part(d).update(instances=99))
    code, out, err = run(capsys, "check", "definition-1", "--quick", "--json", "--baseline", path)
    document = json.loads(out)
    Draft202012Validator(schema).validate(document)
    assert (code, err) == (1, "")
    (found,) = document["baseline"]["differences"]
    assert (found["claim"], found["what"], found["before"]) == ("definition-1", "instances", 99)
    assert document["baseline"]["compared"] == 1


def test_other_sizes_and_versions_are_compared_where_they_can_be(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def change(document: Any) -> None:
        document.update(version="0.0.1", size="full")
        first_part(document).update(instances=99, witness="only the full size has it")

    path = changed(kept, tmp_path, change)
    code, out, _ = run(capsys, "check", "definition-1", "--quick", "--baseline", path)
    assert code == 0
    assert "baseline: the baseline is of version 0.0.1, this is" in out
    assert "baseline: only verdicts are compared: the baseline is of the full size, this run of the quick one" in out

    def refuted(document: Any) -> None:
        change(document)
        claim(document).update(verdict="REFUTED")

    verdict = changed(kept, tmp_path, refuted)
    assert run(capsys, "check", "definition-1", "--quick", "--baseline", verdict)[0] == 1


def result(name: str, verdict: Verdict | None, parts: int = 1) -> ClaimResult:
    found = tuple(
        PartResult(f"part {i}", Scope.GENERIC, Verdict.HOLDS, Verdict.HOLDS, 2, None, ()) for i in range(parts)
    )
    return ClaimResult(name, Verdict.HOLDS, verdict, found, 2, 0.1)


def test_gone_and_new_claims() -> None:
    kept = {"scope": "GENERIC", "verdict": "HOLDS", "instances": 2, "witness": None, "findings": [], "tallies": []}
    one = {"verdict": "HOLDS", "instances": 2, "parts": {"part 0": kept}}
    baseline = {"version": "0", "size": "quick", "claims": {"old": one, "stays": copy.deepcopy(one)}}
    results = {"stays": result("stays", Verdict.HOLDS, parts=2), "new": result("new", Verdict.HOLDS)}
    found = compare(baseline, kept_run(results, quick=True), everything=True)
    assert [str(d) for d in found.differences] == ["old: gone"]
    assert found.notes[1:] == ("not in the baseline: new", "not in the baseline: stays, part 1")
    assert compare(baseline, kept_run(results, quick=True), everything=False).differences == ()
    broken = compare(baseline, kept_run({"stays": result("stays", None)}, quick=True), everything=False)
    assert [str(d) for d in broken.differences] == ["stays: verdict HOLDS, now none"]


BAD: list[tuple[str, str]] = [
    ("", "must be JSON"),
    ("[" * 100_000, "must be JSON"),
    ("[]", "the schema 'None'"),
    ('{"schema": "lightning-sym/check/1"}', "the schema 'lightning-sym/check/1'"),
    ('{"schema": "lightning-sym/baseline/1"}', "other keys than"),
    ('{"schema": "lightning-sym/baseline/1", "version": "1", "size": "big", "claims": {}}', "the size 'big'"),
    ('{"schema": "lightning-sym/baseline/1", "version": 1, "size": "full", "claims": {}}', "a int for version"),
    ('{"schema": "lightning-sym/baseline/1", "version": "1", "size": [], "claims": {}}', "a list for size"),
    ('{"schema": "lightning-sym/baseline/1", "version": "1", "size": "full", "claims": {"x": 3}}', "other keys than"),
    (
        '{"schema": "lightning-sym/baseline/1", "version": "1", "size": "full", "claims": {}}',
        "has none of definition-1",
    ),
]


@pytest.mark.parametrize(("content", "said"), BAD, ids=[said for _, said in BAD])
def test_files_that_are_no_baseline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, said: str
) -> None:
    path = tmp_path / "bad.json"
    path.write_text(content, encoding="utf-8")
    code, out, err = run(capsys, "check", "definition-1", "--baseline", str(path))
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_what_cannot_be_read_or_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in (
        (("--baseline", str(tmp_path / "no" / "b.json")), "there is no such folder"),
        (("--baseline", str(tmp_path)), "Is a directory"),
        (("--write-baseline", str(tmp_path)), "Is a directory"),
        (("--write-baseline", str(tmp_path / "no" / "b.json")), "there is no such folder"),
        (("--list", "--baseline", "b.json"), "leave out --baseline"),
        (("--list", "--write-baseline", "b.json"), "leave out --write-baseline"),
    ):
        code, out, err = run(capsys, "check", "definition-1", *words)
        assert (code, out) == (2, "")
        assert said in err
