"""The README says what the program prints: every console example is run and compared, every Python example too."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
from pathlib import Path

import pytest

from lightning_cli.main import main
from proofs_check.registry import all_claims

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONSOLE = re.findall(r"```console\n\$ (.*)\n((?:.*\n)*?)```", README)


def steady(text: str) -> list[str]:
    """Lines with single spaces, and without the seconds of the table of claims."""
    lines = (re.sub(r"\d+\.\d │$", "s │", line.rstrip()) for line in text.rstrip().splitlines())
    return [re.sub(r" +", " ", line) for line in lines]


@pytest.mark.parametrize(("command", "expected"), CONSOLE, ids=[command for command, _ in CONSOLE])
def test_the_examples_print_what_the_readme_says(
    command: str, expected: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)  # some examples write files
    monkeypatch.setattr(sys, "argv", shlex.split(command))
    assert sys.argv[0] == "lightning-sym"
    with pytest.raises(SystemExit):
        main()
    assert steady(capsys.readouterr().out) == steady(expected)


def test_there_are_examples() -> None:
    assert len(CONSOLE) >= 8


def test_the_python_example_prints_what_the_readme_says() -> None:
    ((code, printed),) = re.findall(r"```python\n((?:.*\n)*?)```\n\nprints\n\n```text\n((?:.*\n)*?)```", README)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(code, {})  # noqa: S102 - our own README
    assert output.getvalue() == printed


def test_the_table_of_claims_is_the_registry() -> None:
    for claim in all_claims():
        assert f"| `{claim.id}` | {claim.source} | {claim.title} |" in README
