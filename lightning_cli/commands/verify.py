"""`lightning-sym verify`: certificates, checked by `proofs_check/checker/verify.py`."""

from __future__ import annotations

import os
from pathlib import Path

import click


@click.command(
    "verify",
    epilog="""\b
Examples:
  lightning-sym verify dimension.json
  lightning-sym verify DIR

The checker is one file that needs nothing but Python: proofs_check/checker/verify.py of this
program, or a copy of it, does the same as `python verify.py FILE...`.

Exit codes: 0 every file proves what it claims, 1 one does not, 2 nothing was given to check.""",
)
@click.argument("files", nargs=-1, type=click.Path(), metavar="FILE...")
def command(files: tuple[str, ...]) -> int:
    """Check certificates: one line a file, that it proves its claim, or the reason why not.

    A directory stands for all .json files below it. Most files take milliseconds, the largest that are allowed some
    four minutes.
    """
    if not files:
        raise click.UsageError("there must be a FILE to check, got none")
    from proofs_check.checker.verify import main

    return main([name for file in files for name in _below(file)])


def _below(file: str) -> list[str]:
    if not os.path.isdir(file):
        return [file]
    found = sorted(map(str, Path(file).rglob("*.json")))
    if not found:
        raise click.UsageError(f"there must be .json files below {file}, there is none")
    return found
