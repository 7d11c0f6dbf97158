"""The file of an atlas: ours or refused, asked and never harmed."""

from __future__ import annotations

import signal
import sqlite3
import threading
from pathlib import Path

import pytest

from lightning_sym import BadInput, TooLarge
from lightning_sym.atlas import store
from lightning_sym.atlas.families import Family
from lightning_sym.atlas.store import Atlas
from lightning_sym.atlas.sweep import sweep

FAMILY = Family.of({"depth": 1, "widths": "1..2", "ranks": 1, "tokens": 2})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    sweep(FAMILY, tmp_path / "a.sqlite", workers=1)
    return tmp_path / "a.sqlite"


def test_networks_come_by_size(file: Path) -> None:
    with Atlas(file) as atlas:
        found = [entry.parameters for entry in atlas.entries()]
        assert found == sorted(found)
        assert len(list(atlas.entries(most=2))) == 2
        assert [e.widths for e in atlas.entries("widths = '2,1'")] == ["2,1"]
        assert len(atlas) == 4


@pytest.mark.parametrize(
    "where",
    [
        "1; drop table networks", "nothing = 1", "(", "1) union select 1 from sqlite_master --", "",
        "exists (with recursive n(k) as (select 1 union all select k from n) select k from n)", "load_extension('x')",
        "1 and attach database 'x' as y", "\0", "depth = ?",
        "pragma_x()", "widths = 'a", "(select sum(1) from networks a, networks b",
    ],
)  # fmt: skip
def test_a_condition_only_asks(file: Path, where: str) -> None:
    before = file.read_bytes()
    with Atlas(file, write=True) as atlas:
        if where:
            with pytest.raises(BadInput, match="condition"):
                list(atlas.entries(where))
        assert len(list(atlas.entries())) == 4  # and nothing stays behind
    assert len(before) == len(file.read_bytes())


def test_other_files_are_refused_and_left_alone(tmp_path: Path, file: Path) -> None:
    text, foreign, newer = tmp_path / "text", tmp_path / "foreign", tmp_path / "newer"
    text.write_text("not a database, and longer than the header of one, so that it is looked at" * 20)
    with sqlite3.connect(foreign) as connection:
        connection.execute("create table mine (a)")
    newer.write_bytes(file.read_bytes())
    with sqlite3.connect(newer) as connection:
        connection.execute("pragma user_version = 2")
    for path in (text, foreign, newer):
        before = path.read_bytes()
        for write in (False, True):
            with pytest.raises(BadInput, match="atlas"):
                Atlas(path, write=write)
        assert path.read_bytes() == before
        assert not [each for end in ("-wal", "-shm") if (each := Path(f"{path}{end}")).exists() and path != newer]
    for path in (tmp_path, tmp_path / "missing", Path("/dev/null")):
        with pytest.raises(BadInput, match="atlas"):
            Atlas(path)
    with pytest.raises(BadInput, match="folder"):
        Atlas(tmp_path / "no" / "folder", write=True)


@pytest.mark.parametrize(
    "change",
    [
        "parameters = 'many'", "lower = 1.5", "network = '{}'", "network = '[1'", "status = null", "widths = x'00'",
        "mask = 'odd'",
    ],
)  # fmt: skip
def test_a_damaged_row_is_refused(file: Path, change: str) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute(f"update networks set {change} where tokens = 2 and widths = '2,2'")  # noqa: S608
    with Atlas(file) as atlas, pytest.raises(BadInput, match="is damaged: a row of it is none, its"):
        list(atlas.entries())


def test_a_damaged_page_is_refused(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("pragma journal_mode = delete")
    data = bytearray(file.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    file.write_bytes(data)
    with Atlas(file) as atlas, pytest.raises(BadInput, match="is damaged: "):
        list(atlas.entries())


LONG = f"(select count(*) from {', '.join(f'networks {a}' for a in 'abcdefghijklmnopqrst')}) > 0"  # noqa: S608


def test_a_condition_ends(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "LONGEST", 0.3)
    with Atlas(file) as atlas, pytest.raises(TooLarge, match=r"within 0\.3 s"):
        list(atlas.entries(LONG))


def test_a_condition_can_be_interrupted(file: Path) -> None:
    timer = threading.Timer(1, signal.raise_signal, [signal.SIGINT])

    def interrupted(atlas: Atlas) -> None:
        timer.start()  # here: whenever it comes, it is expected
        list(atlas.entries(LONG))

    with Atlas(file) as atlas, pytest.raises(KeyboardInterrupt):
        interrupted(atlas)
    timer.join()


def test_two_may_write(file: Path) -> None:
    with Atlas(file, write=True) as one, Atlas(file, write=True) as other:
        entries = list(one.entries())
        one.put(entries)
        other.put(entries)
        assert len(one) == len(other) == 4
