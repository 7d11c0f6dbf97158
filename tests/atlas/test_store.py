"""The file of an atlas: ours or refused, asked and never harmed."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from lightning_sym import BadInput
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
        assert path.read_bytes()[100:] == before[100:]  # the header says how it is read
    for path in (tmp_path, tmp_path / "missing", Path("/dev/null")):
        with pytest.raises(BadInput, match="atlas"):
            Atlas(path)
    with pytest.raises(BadInput, match="folder"):
        Atlas(tmp_path / "no" / "folder", write=True)


def test_two_may_write(file: Path) -> None:
    with Atlas(file, write=True) as one, Atlas(file, write=True) as other:
        entries = list(one.entries())
        one.put(entries)
        other.put(entries)
        assert len(one) == len(other) == 4
