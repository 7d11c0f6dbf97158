"""Files that commands write: refused before the work if they cannot be written, complete or not there at all."""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

import click

from lightning_sym.arguments import shown
from lightning_sym.errors import BadInput
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    import pathlib
    import tempfile

    from lightning_sym import whole_files

if TYPE_CHECKING:
    from pathlib import Path

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

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the path as it was given.

        Raises:
            BadInput: it ends in something else, is a directory, or nothing can be written there.
        """
        path = str(value)
        if path and self.endings and os.path.splitext(path)[1] not in self.endings:
            known = f"{', '.join(self.endings[:-1])} or {self.endings[-1]}"
            raise BadInput(f"{self.what} must be written to {known}, got {shown(path)}")
        require_output_file(self.what, path)
        return path


class OutputFileOrFolder(OutputFile):
    """A file that ends as it has to, or, where it does not, what may be a folder: the command finds that out."""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the path as it was given.

        Raises:
            BadInput: as for a file, if it ends like one.
        """
        path = str(value)
        return super().convert(value, param, ctx) if os.path.splitext(path)[1] in self.endings else path

    def require_file(self, path: str) -> None:
        """Refuse what is no such file.

        Raises:
            BadInput: as for a file.
        """
        super().convert(path, None, None)


def require_output_file(what: str, path: str) -> None:
    """Refuse a file that cannot be written.

    Args:
        what: the file, in words.
        path: where it is to be.

    Raises:
        BadInput: with the reason.
    """
    with whole_files.in_words(what, path):
        whole_files.require_writable(path)


def write_file(what: str, path: str | Path, content: str | bytes) -> None:
    """Write a file; it appears complete, or nothing changes.

    Raises:
        BadInput: it cannot be written; the message calls it `what`.
    """
    with whole_files.in_words(what, path), whole_files.replacing(path) as file:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())


def require_directory(what: str, directory: str) -> Path:
    """Return a directory that can be written to, found out by writing; nothing of this stays.

    Args:
        what: goes there, for the message.
        directory: its path; it need not be there.

    Raises:
        BadInput: it is none, or cannot be made, or cannot be written to.
    """
    target = pathlib.Path(directory)
    made: list[Path] = []
    if not directory:
        raise BadInput(f"{what} must go into a directory that can be written to, got no name")
    try:
        with suppress(FileNotFoundError):
            target.stat()  # a long name is refused at once, and so is one behind a file
        for folder in (*reversed(target.parents), target):
            if not os.path.lexists(folder):
                folder.mkdir()
                made.append(folder)
        with tempfile.TemporaryFile(dir=target) as file:
            file.write(b"some")
    except OSError as error:
        raise _no_directory(what, directory, error) from error
    finally:
        for folder in reversed(made):
            with suppress(OSError):  # someone else uses it meanwhile
                folder.rmdir()
    return target


def write_files(what: str, directory: Path, texts: dict[str, str]) -> None:
    """Write texts into files of a directory, by name; all appear complete, or nothing changes.

    Raises:
        BadInput: the directory cannot be written to; the message calls the texts `what`.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with ExitStack() as together:
            for name, text in texts.items():
                file = together.enter_context(whole_files.replacing(directory / name))
                file.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise _no_directory(what, str(directory), error) from error


def _no_directory(what: str, directory: str, error: OSError) -> BadInput:
    reason = error.strerror or error
    return BadInput(f"{what} must go into a directory that can be written to, {shown(directory)} cannot: {reason}")
