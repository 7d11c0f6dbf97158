"""Running a command in this process, as its user would."""

from __future__ import annotations

import sys

import pytest

from lightning_cli.main import main


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command, in this process."""
    old = sys.argv
    sys.argv = ["lightning-sym", *words]
    try:
        with pytest.raises(SystemExit) as stop:
            main()
    finally:
        sys.argv = old
    captured = capsys.readouterr()
    assert isinstance(stop.value.code, int)
    return stop.value.code, captured.out, captured.err
