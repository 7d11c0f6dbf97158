"""Files that appear complete or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(target: str | os.PathLike[str]) -> Iterator[Path]:
    """A file to write in place of the target, which it becomes at the end; if anything fails, nothing changes.

    Raises:
        OSError: the folder cannot be written to.

    Example:
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with replacing(Path(folder) / "a.txt") as file:
        ...         _ = file.write_text("all of it")
        ...     os.listdir(folder)
        ['a.txt']
    """
    goal = Path(target)
    handle, name = tempfile.mkstemp(dir=goal.parent, prefix=".", suffix=".partial")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        mask = os.umask(0)  # there is no other way to read it
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(goal)
    finally:
        temporary.unlink(missing_ok=True)
