"""Files that appear complete or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedWriter
from pathlib import Path
from typing import NamedTuple

from lightning_sym.errors import BadInput

_MOST_LINKS = 40
_LONGEST_SHOWN = 120


@contextmanager
def replacing(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a file to write in place of the target, which it becomes at the end; if anything fails, nothing changes.

    Links are followed, and stay links. A file that is there keeps its permissions; its other names, if it has any,
    keep the old content. A pipe, a terminal or another stream (`/dev/stdout`, `/dev/null`) is never replaced: what
    was written is copied to it at the end.

    Raises:
        OSError: the target cannot be written to.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     with replacing(Path(folder) / "a.txt") as file:
        ...         _ = file.write_text("all of it")
        ...     os.listdir(folder)
        ['a.txt']
    """
    import shutil  # here: commands that only read have no use for it

    goal = _goal(target)
    temporary = _beside(goal)
    try:
        yield temporary
        if goal.stream:
            with temporary.open("rb") as written, _open_stream(goal) as stream:
                shutil.copyfileobj(written, stream)
            return
        if goal.there is None:
            mask = os.umask(0)  # there is no other way to read it
            os.umask(mask)
            temporary.chmod(0o666 & ~mask)
        else:
            if hasattr(os, "chown"):  # Windows has none
                with suppress(PermissionError):  # only root gives files to others
                    os.chown(temporary, goal.there.st_uid, goal.there.st_gid)
            temporary.chmod(goal.there.st_mode & 0o777)
        temporary.replace(goal.path)
    finally:
        temporary.unlink(missing_ok=True)


def require_writable(target: str | os.PathLike[str]) -> None:
    """Refuse what can be known not to be writable before there is anything to write.

    Where a file is to appear one is made and taken away again: some folders refuse that and do not say so.

    Raises:
        OSError: the target cannot be written to.

    Example:
        >>> require_writable(os.devnull)
        >>> require_writable("/")
        Traceback (most recent call last):
        ...
        IsADirectoryError: [Errno 21] Is a directory: '/'
    """
    goal = _goal(target)
    if not goal.stream:
        _beside(goal).unlink()


@contextmanager
def in_words(what: str, target: str | os.PathLike[str]) -> Iterator[None]:
    """Refuse in one line, with the reason, where `replacing` or `require_writable` fails inside.

    Args:
        what: the file, in words.
        target: where it is to go.

    Raises:
        BadInput: it cannot be written.

    Example:
        >>> with in_words("a picture", ""):
        ...     require_writable("")
        Traceback (most recent call last):
        lightning_sym.errors.BadInput: a picture must be a file that can be written, got '': the name is empty
    """
    try:
        yield
    except OSError as error:
        path = os.fspath(target)
        reason = error.strerror or error
        if not path:
            reason = "the name is empty"
        elif isinstance(error, FileNotFoundError) and not os.path.isdir(os.path.dirname(path) or "."):
            reason = "there is no such folder"
        shown = repr(path if len(path) <= _LONGEST_SHOWN else path[:_LONGEST_SHOWN] + "...")
        raise BadInput(f"{what} must be a file that can be written, got {shown}: {reason}") from error


class _Goal(NamedTuple):
    """Where the links end, what is there, and whether it is written to as it stands."""

    path: Path
    there: os.stat_result | None
    stream: bool


def _goal(target: str | os.PathLike[str]) -> _Goal:
    if "\0" in os.fspath(target):
        raise _refusal(errno.EINVAL, target)
    if os.fspath(target).endswith(os.sep) or not os.fspath(target):  # names a folder, or nothing
        raise _refusal(errno.EISDIR if os.fspath(target) else errno.ENOENT, target)
    path = _end_of_links(os.fspath(target))
    try:
        there = path.stat()
    except FileNotFoundError:
        there = None
    kind = stat.S_IFREG if there is None else stat.S_IFMT(there.st_mode)
    if kind == stat.S_IFDIR:
        raise _refusal(errno.EISDIR, target)
    if kind not in (stat.S_IFREG, stat.S_IFIFO, stat.S_IFCHR):  # whole disks, and sockets, which cannot be opened
        raise _refusal(errno.EOPNOTSUPP, target)
    if _is_descriptor(path):
        return _Goal(path, there, stream=True)
    if there is not None and not os.access(path, os.W_OK):
        raise _refusal(errno.EACCES, target)
    if kind == stat.S_IFREG:
        if not path.parent.is_dir():
            raise _refusal(errno.ENOTDIR if path.parent.exists() else errno.ENOENT, target)
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise _refusal(errno.EACCES, target)
    return _Goal(path, there, stream=kind != stat.S_IFREG)


def _beside(goal: _Goal) -> Path:
    """Return a new file from which a name alone leads to the target; for a stream, somewhere."""
    import tempfile  # here: commands that only read have no use for it

    handle, name = tempfile.mkstemp(dir=None if goal.stream else goal.path.parent, prefix=".", suffix=".partial")
    os.close(handle)
    return Path(name)


def _end_of_links(target: str) -> Path:
    """Return the path behind all links, but no further than a descriptor of this process, as `/dev/stdout`."""
    path = Path(target)
    for _ in range(_MOST_LINKS):
        path = Path(os.path.realpath(path.parent)) / path.name
        if _is_descriptor(path) or not path.is_symlink():
            return path
        path = path.parent / os.readlink(path)
    raise _refusal(errno.ELOOP, target)


def _is_descriptor(path: Path) -> bool:
    return path.name.isdecimal() and str(path.parent) in ("/dev/fd", os.path.realpath("/proc/self/fd"))


def _open_stream(goal: _Goal) -> BufferedWriter:
    # what is open already is written to where it stands: opened once more, a file would begin at its first byte
    descriptor = os.dup(int(goal.path.name)) if _is_descriptor(goal.path) else os.open(goal.path, os.O_WRONLY)
    return os.fdopen(descriptor, "wb")


def _refusal(number: int, target: str | os.PathLike[str]) -> OSError:
    return OSError(number, os.strerror(number), os.fspath(target))
