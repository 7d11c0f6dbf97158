"""Answers written to files: complete, or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lightning_sym.whole_files import replacing, require_writable

if TYPE_CHECKING:
    from lightning_sym.errors import BadInput


def require_text_path(path: str) -> None:
    """Refuse, before anything is computed, a file that cannot be written.

    Raises:
        BadInput: it is a directory, or not in a writable one.
    """
    try:
        require_writable(Path(path))
    except (OSError, ValueError) as error:
        raise _cannot_write(path, error) from error


def write_text(path: str, text: str) -> None:
    """The file appears complete, or nothing changes.

    Raises:
        BadInput: it cannot be written.
    """
    try:
        with replacing(Path(path)) as file:
            file.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        raise _cannot_write(path, error) from error


def _cannot_write(path: str, error: Exception) -> BadInput:
    from lightning_sym.errors import BadInput

    shown = repr(path if len(path) <= 60 else path[:60] + "...")
    return BadInput(f"the output must be a file that can be written, got {shown}: {getattr(error, 'strerror', error)}")
