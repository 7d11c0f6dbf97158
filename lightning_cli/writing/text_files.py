"""Answers written to files: complete, or not at all."""

from __future__ import annotations

from lightning_sym.whole_files import cannot_write, replacing


def write_text(path: str, text: str) -> None:
    """The file appears complete, or nothing changes.

    Raises:
        BadInput: it cannot be written.
    """
    try:
        with replacing(path) as file:
            file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise cannot_write("the output", path, error) from error
