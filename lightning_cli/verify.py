"""`lightning-sym verify`: certificates, checked by `proofs_check/verify.py`."""

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

The checker is one file that needs nothing but Python: proofs_check/verify.py of this program, or a copy of it, does
the same as `python verify.py FILE...`.

Exit codes: 0 every file proves what it claims, 1 one does not, 2 nothing was given to check.""",
)
@click.argument("files", nargs=-1, type=click.Path(), metavar="FILE...")
def command(files: tuple[str, ...]) -> int:
    """Check certificates: one line a file, that it proves its claim, or the reason why not.

    A directory stands for all .json files below it.
    """
    from proofs_check.verify import main

    return main([name for file in files for name in _below(file)])


def _below(file: str) -> list[str]:
    return sorted(map(str, Path(file).rglob("*.json"))) if os.path.isdir(file) else [file]
