"""The options `--output`, `--certificate` and their like: a file that cannot be written is refused before the work."""

from __future__ import annotations

import os
from typing import Any

import click

WEIGHTS = (".json", ".npz", ".safetensors")
"""What a file of weights may end in."""


class OutputFile(click.Path):
    """A file that a command writes: looked at while the command line is read, before anything else.

    Args:
        what: the file, in words.
        endings: those that it may have; none: any.
    """

    def __init__(self, what: str, endings: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.what, self.endings = what, endings

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The path as it was given.

        Raises:
            BadInput: it ends in something else, is a directory, or nothing can be written there.
        """
        path = str(value)
        if path and self.endings and os.path.splitext(path)[1] not in self.endings:
            from lightning_sym.arguments import shown
            from lightning_sym.errors import BadInput

            known = f"{', '.join(self.endings[:-1])} or {self.endings[-1]}"
            raise BadInput(f"{self.what} must be written to {known}, got {shown(path)}")
        require_output_file(self.what, path)
        return path


def require_output_file(what: str, path: str) -> None:
    """Refuse a file that cannot be written.

    Args:
        what: the file, in words.
        path: where it is to be.

    Raises:
        BadInput: with the reason.
    """
    from lightning_sym.whole_files import cannot_write, require_writable

    try:
        require_writable(path)
    except OSError as error:
        raise cannot_write(what, path, error) from error
