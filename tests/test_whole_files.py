"""Files that appear whole or not at all, and what is no regular file stays what it is."""

from __future__ import annotations

import errno
import os
import resource
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from lightning_sym.whole_files import replacing, require_writable

TEXT = "all of it\n"


def write(target: str | os.PathLike[str], text: str = TEXT) -> None:
    with replacing(target) as file:
        file.write_text(text)


def write_half(target: Path, reason: type[BaseException]) -> None:
    with replacing(target) as file:
        file.write_text("half")
        raise reason("half")


def test_where_files_have_no_owners_they_are_replaced_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("old")
    monkeypatch.delattr(os, "chown")
    write(tmp_path / "file")
    assert (tmp_path / "file").read_text() == TEXT


def test_links_are_followed_and_stay(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_text("old")
    (tmp_path / "link").symlink_to("folder/file")
    (tmp_path / "chain").symlink_to(tmp_path / "link")
    write(tmp_path / "chain")
    assert (tmp_path / "folder" / "file").read_text() == TEXT
    assert (tmp_path / "chain").is_symlink()
    assert (tmp_path / "link").is_symlink()
    assert sorted(os.listdir(tmp_path / "folder")) == ["file"]


def test_a_dangling_link_leads_to_the_new_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("new")
    write(tmp_path / "link")
    assert (tmp_path / "new").read_text() == TEXT
    assert (tmp_path / "link").is_symlink()
    (tmp_path / "lost").symlink_to("missing/new")
    with pytest.raises(FileNotFoundError):
        write(tmp_path / "lost")


def test_a_loop_of_links_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    for action in (write, require_writable):
        with pytest.raises(OSError, match="symbolic links") as refusal:
            action(tmp_path / "a")
        assert refusal.value.errno == errno.ELOOP
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_a_folder_and_what_is_in_no_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(".")
    for target, refusal in [
        (tmp_path, IsADirectoryError),
        (tmp_path / "link", IsADirectoryError),
        (tmp_path / "missing" / "file", FileNotFoundError),
        (tmp_path / "file" / "file", NotADirectoryError),
        (tmp_path / ("x" * 300), OSError),
    ]:
        for action in (write, require_writable):
            with pytest.raises(refusal):
                action(target)
    assert sorted(os.listdir(tmp_path)) == ["file", "link"]


def test_a_device_is_written_to_and_stays() -> None:
    before = os.stat(os.devnull)
    write(os.devnull)
    after = os.stat(os.devnull)
    assert stat.S_ISCHR(after.st_mode)
    assert (after.st_mode, after.st_ino) == (before.st_mode, before.st_ino)
    with pytest.raises(OSError, match="No space left"):
        write("/dev/full")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


def test_a_device_of_our_own_stays(tmp_path: Path) -> None:
    """Where nothing else would keep the device: in a folder that can be written to."""
    try:
        os.mknod(tmp_path / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        (tmp_path / "null").symlink_to(os.devnull)  # only root makes devices
    write(tmp_path / "null")
    assert stat.S_ISCHR(os.stat(tmp_path / "null").st_mode)
    assert sorted(os.listdir(tmp_path)) == ["null"]


def test_a_pipe_gets_the_content_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with (tmp_path / "copy").open("w") as copy, subprocess.Popen(["timeout", "60", "cat", pipe], stdout=copy):  # noqa: S607
        write(pipe, TEXT * 50_000)  # replaced, the pipe would keep its reader waiting
    assert (tmp_path / "copy").read_text() == TEXT * 50_000
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert sorted(os.listdir(tmp_path)) == ["copy", "pipe"]


def test_a_pipe_gets_nothing_of_what_failed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reading = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(ValueError, match="half"):
        write_half(tmp_path / "pipe", ValueError)
    assert os.read(reading, 100) == b""
    os.close(reading)


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_what_is_open_already_is_written_to_where_it_stands(tmp_path: Path, name: str) -> None:
    """Replacing the file behind stdout would lose all that is printed before and after."""
    script = f"from test_whole_files import write\nprint(1, flush=True)\nwrite({name!r})\nprint(2, flush=True)"
    words = [sys.executable, "-c", script]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    with (tmp_path / "out").open("w") as out:
        subprocess.run(words, stdout=out, env=environment, check=True)
    assert (tmp_path / "out").read_text() == f"1\n{TEXT}2\n"
    assert os.listdir(tmp_path) == ["out"]
    piped = subprocess.run(words, capture_output=True, text=True, env=environment, check=True)
    assert piped.stdout == f"1\n{TEXT}2\n"


def test_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    monkeypatch.chdir(tmp_path)  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("s")
        for action in (write, require_writable):
            with pytest.raises(OSError, match="not supported"):
                action("s")
        assert stat.S_ISSOCK(os.stat("s").st_mode)


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755])
def test_permissions_stay(tmp_path: Path, mode: int) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "file").chmod(mode)
    write(tmp_path / "file")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode


def test_new_files_are_as_the_mask_says(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        write(tmp_path / "file")
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


def test_other_names_keep_the_old_content(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    os.link(tmp_path / "file", tmp_path / "other")
    write(tmp_path / "file")
    assert ((tmp_path / "file").read_text(), (tmp_path / "other").read_text()) == (TEXT, "old")


def test_what_may_not_be_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may write everywhere, so the answer of the system is replaced."""
    (tmp_path / "file").write_text("old")
    allowed = os.access
    for denied in (tmp_path / "file", tmp_path):
        monkeypatch.setattr(os, "access", lambda path, mode, no=denied: Path(path) != no and allowed(path, mode))
        with pytest.raises(PermissionError):
            require_writable(tmp_path / "file")
        with pytest.raises(PermissionError):
            write(tmp_path / "file")
        monkeypatch.undo()
    assert (tmp_path / "file").read_text() == "old"


def test_a_full_disk_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, old[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            write(tmp_path / "file", "x" * 2000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    assert (tmp_path / "file").read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("reason", [KeyboardInterrupt, ValueError])
def test_what_is_interrupted_changes_nothing(tmp_path: Path, reason: type[BaseException]) -> None:
    (tmp_path / "file").write_text("old")
    with pytest.raises(reason):
        write_half(tmp_path / "file", reason)
    assert (tmp_path / "file").read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]
