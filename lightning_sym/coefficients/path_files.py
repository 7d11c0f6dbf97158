"""The weight files of a folder, such as those of a training run, in the order of the numbers in their names."""

from __future__ import annotations

import os
import re
from pathlib import Path

from lightning_sym.errors import BadInput
from lightning_sym.network.weight_files import SUFFIXES

MOST_FILES = 10_000
"""Files of a folder that are read."""


def weight_files(folder: str | os.PathLike[str]) -> list[Path]:
    """Return the files of weights in a folder; `step_9` stands before `step_10`.

    Args:
        folder: folders inside it are left alone.

    Raises:
        BadInput: there are none, or more than are read, or the folder cannot be read.

    Example:
        >>> weight_files("no such folder")
        Traceback (most recent call last):
        lightning_sym.errors.BadInput: a folder that can be read must be given, got no such folder
    """
    try:
        found = [path for path in Path(folder).iterdir() if path.suffix.lower() in SUFFIXES and path.is_file()]
    except OSError as error:
        raise BadInput(f"a folder that can be read must be given, got {folder}") from error
    if not 1 <= len(found) <= MOST_FILES:
        raise BadInput(
            f"a folder must hold from 1 to {MOST_FILES:,} files {', '.join(SUFFIXES)}, got {len(found):,} in {folder}"
        )
    return sorted(found, key=_in_order)


def _in_order(path: Path) -> list[tuple[int, int | str]]:
    """Return a name with its numbers compared as numbers."""
    parts = re.split(r"([0-9]{1,4000})", path.name)
    return [(1, int(part)) if place % 2 else (0, part) for place, part in enumerate(parts)]
