"""Where an atlas is kept: an SQLite file, one row a network, written as it comes."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, get_args, get_type_hints

from lightning_sym.arguments import require_arguments, shown
from lightning_sym.atlas.guards import Watch, only_reads
from lightning_sym.certificates.document import network_document
from lightning_sym.errors import BadInput, LightningError, TooLarge
from lightning_sym.limits import require_integer
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.form import NetworkForm
from lightning_sym.whole_files import in_words, require_writable

APPLICATION, VERSION = 0x4C53594D, 1
"""What SQLite files of this kind carry: who wrote them (`LSYM`), and the version of the columns."""

_MOST_ROWS = 10**6

LONGEST, PATIENCE, LARGEST = 60, 60, 2**26
"""Seconds that a condition may take, and that another program may lock the file; bytes of a value: more than a
certificate has."""


@dataclass(frozen=True)
class Entry:
    """What an atlas says of a network; the fields are the columns of the table `networks`.

    Attributes:
        network: the architecture as certificates write it, JSON: the key.
        depth, widths, ranks, tokens, normalization, mask, skip, heads, value_ranks, embed, unembed: the same, to be
            asked for; lists are written with commas.
        parameters: number of weights.
        lower, upper: the two bounds, null where the network was refused.
        dimension: where they meet, else null.
        status: `certified`, `undecided` or `refused`.
        reason: what was refused, in a line.
        evidence: which upper bounds are the smallest, with commas.
        formula, formula_value, formula_applies, formula_agrees: what the paper prints.
        fiber_dimension: parameters minus dimension.
        seed, prime, inputs: what gave the lower bound.
        seconds: how long it took; the only column that differs from run to run.
        certificate: JSON, if asked for.
    """

    network: str
    depth: int
    widths: str
    ranks: str
    tokens: int
    normalization: str
    mask: str
    skip: int
    heads: int
    value_ranks: str | None
    embed: int | None
    unembed: int | None
    parameters: int
    lower: int | None
    upper: int | None
    dimension: int | None
    status: str
    reason: str | None
    evidence: str | None
    formula: str | None
    formula_value: int | None
    formula_applies: int | None
    formula_agrees: int | None
    fiber_dimension: int | None
    seed: int
    prime: int | None
    inputs: int | None
    seconds: float
    certificate: str | None

    @property
    def architecture(self) -> Architecture:
        """The network itself."""
        said = json.loads(self.network)
        form = NetworkForm.named(self.normalization, self.mask, bool(self.skip))
        return Architecture(
            tuple(said["widths"]), tuple(said["attention_ranks"]), said["tokens"], form.normalization, said["heads"],
            None if said["value_ranks"] is None else tuple(said["value_ranks"]), form.skip, form.causal,
            said["embed"], said["unembed"],
        )  # fmt: skip


COLUMNS = tuple(field.name for field in fields(Entry))

_TYPES: dict[str, tuple[type, ...]] = {name: get_args(kind) or (kind,) for name, kind in get_type_hints(Entry).items()}
"""What SQLite gives for each column of a file that is not damaged."""

_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
_DISK = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)

_TABLE = """
create table networks (
    network text primary key, depth integer, widths text, ranks text, tokens integer, normalization text, mask text,
    skip integer, heads integer, value_ranks text, embed integer, unembed integer, parameters integer, lower integer,
    upper integer, dimension integer, status text, reason text, evidence text, formula text, formula_value integer,
    formula_applies integer, formula_agrees integer, fiber_dimension integer, seed integer, prime integer,
    inputs integer, seconds real, certificate text
) without rowid
"""


def key_of(network: Architecture) -> str:
    """Return the key of a network: its certificate form, in one line of JSON.

    Raises:
        BadInput: the network has an option that certificates have no words for.

    Example:
        >>> key_of(Architecture((2, 1), (1,), 2))[:32]
        '{"attention_ranks":[1],"causal":'
    """
    return json.dumps(network_document(network), sort_keys=True, separators=(",", ":"))


class Atlas:
    """An atlas in an SQLite file, to be read, and with `write` to be written to as well.

    A row is there as soon as it was put in, whatever ends the program afterwards; others may read meanwhile.

    Args:
        file: the file; with `write` it may be missing.
        write: whether rows are put in.

    Raises:
        BadInput: the file is no atlas, or cannot be read or written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, Atlas(Path(folder) / "a.sqlite", write=True) as atlas:
        ...     len(atlas)
        0
    """

    def __init__(self, file: str | PathLike[str], *, write: bool = False) -> None:
        require_arguments(Atlas.__init__, {"self": self, "file": file, "write": write})
        self.path = Path(file)
        self._named = f"an atlas must be an SQLite file that `sweep` has written, {str(file)[:60]!r}"
        self._disk = f"an atlas must be on a disk that has room and can be read, {str(file)[:60]!r}"
        if write:
            with in_words("an atlas", file):
                require_writable(file)
        new = write and not os.path.exists(file)
        if not new and not os.path.isfile(file):
            raise BadInput(f"{self._named} is {'none' if os.path.exists(file) else 'not there'}")
        mode = "rwc" if new else "rw" if write else "ro"
        with self._refusals():
            self._open(mode, new=new)

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        """Turn what SQLite ends in into one line that says what the file must be."""
        try:
            yield
        except sqlite3.Error as error:
            raise self._refusal(error) from error

    def _refusal(self, error: Exception) -> BadInput:
        """Return the line for an error of SQLite that has to do with the file."""
        if (code := _code(error)) == sqlite3.SQLITE_NOTADB:
            return BadInput(f"{self._named} is none: {error}")
        if code in _LOCKED:
            return BadInput(f"{self._named} was locked by another program for more than {PATIENCE:g} s")
        if code in _FULL:
            return BadInput(f"{self._disk} cannot be written or read: {error}")
        return BadInput(f"{self._named} {'cannot be written or read' if code in _DISK else 'is damaged'}: {error}")

    def _open(self, mode: str, *, new: bool) -> None:
        # one statement is one transaction: a row is on its way to the disk when `put` returns
        self.connection = sqlite3.connect(
            f"{self.path.resolve().as_uri()}?mode={mode}", uri=True, isolation_level=None, timeout=PATIENCE
        )
        # before anything is set: a file that is not ours stays as it was, with nothing beside it
        if not (empty := new or (mode == "rw" and self._is_empty())):
            self._require_known()
        self.connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST)
        if mode != "ro":
            self.connection.execute("pragma journal_mode = wal")
            self.connection.execute("pragma synchronous = normal")
        if empty:
            with self._transaction():
                if not self._numbers()[0]:
                    self.connection.execute(f"pragma application_id = {APPLICATION}")
                    self.connection.execute(f"pragma user_version = {VERSION}")
                    self.connection.execute(_TABLE)
            self._require_known()

    def _is_empty(self) -> bool:
        """Return whether nothing was ever written into the file, as where the disk was full when it was made."""
        if not self.path.stat().st_size:
            return True
        tables = self.connection.execute("select count(*) from sqlite_master").fetchone()[0]
        return not tables and self._numbers() == (0, 0)

    def _require_known(self) -> None:
        application, version = self._numbers()
        if application != APPLICATION:
            raise BadInput(f"{self._named} is not of this kind")
        if version != VERSION:
            raise BadInput(f"{self._named} is of version {version}, this program reads version {VERSION}")

    def _numbers(self) -> tuple[int, int]:
        """Return the numbers in the file that say who wrote it, and which version."""
        first, second = (
            self.connection.execute(f"pragma {n}").fetchone()[0] for n in ("application_id", "user_version")
        )
        return int(first), int(second)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Do all of it or nothing, and not at the same time as another program."""
        self.connection.execute("begin immediate")
        try:
            yield
            self.connection.execute("commit")
        except BaseException:
            if self.connection.in_transaction:  # where the disk is full SQLite may have gone back by itself
                self.connection.execute("rollback")
            raise

    def __enter__(self) -> Atlas:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.connection.close()

    def _rows(self, query: str, *values: object) -> list[tuple[str | int, ...]]:
        """Return all rows of the answer to a query."""
        with self._refusals():
            return self.connection.execute(query, values).fetchall()

    def __len__(self) -> int:
        return int(self._rows("select count(*) from networks")[0][0])

    def __contains__(self, network: Architecture) -> bool:
        return bool(self._rows("select 1 from networks where network = ?", key_of(network)))

    def put(self, entries: Sequence[Entry]) -> None:
        """Add rows, all or none; a network that is there already keeps the row it has.

        Raises:
            BadInput: the file is damaged, cannot be written, or was locked for more than a minute.
        """
        require_arguments(Atlas.put, locals())
        if wrong := [entry for entry in entries if type(entry) is not Entry]:
            raise BadInput(f"rows of an atlas must be of the class Entry, got {shown(wrong[0])}")
        holes = ", ".join("?" * len(COLUMNS))
        with self._refusals(), self._transaction():
            self.connection.executemany(
                f"insert or ignore into networks ({', '.join(COLUMNS)}) values ({holes})",  # noqa: S608 - own columns
                [astuple(entry) for entry in entries],
            )

    def forget(self, status: str) -> int:
        """Take out the networks of a status, `refused` or `undecided`, to try them again; how many they were."""
        require_arguments(Atlas.forget, locals())
        if status not in ("refused", "undecided"):
            raise BadInput(f"the status must be refused or undecided, got {shown(status)}")
        with self._refusals():
            return self.connection.execute("delete from networks where status = ?", (status,)).rowcount

    def entries(self, where: str | None = None, most: int = _MOST_ROWS) -> Iterator[Entry]:
        """Yield rows in order of size: parameters, then the key.

        Args:
            where: a condition in SQL on the columns, such as `depth = 2 and lower < upper`.
            most: so many rows at most.

        Raises:
            BadInput: the condition is none, or does more than ask; or the file is damaged.
            TooLarge: the condition takes more than a minute.
        """
        require_arguments(Atlas.entries, locals())
        require_integer(most, "the number of rows", 0)
        condition = f"where ({where})" if where else ""
        query = f"select {', '.join(COLUMNS)} from networks {condition} order by parameters, network limit ?"  # noqa: S608
        self.connection.set_authorizer(only_reads)
        watch = Watch(LONGEST)
        self.connection.set_progress_handler(watch, 10**5)
        try:
            for row in self.connection.execute(query, (most,)):
                yield self._entry(row)
        except (sqlite3.Error, sqlite3.Warning) as error:
            if not where or _code(error) in (*_LOCKED, *_FULL, *_DISK, sqlite3.SQLITE_CORRUPT):
                raise self._refusal(error) from error
            given = " ".join(where.split())[:60]
            if watch.over:
                raise TooLarge(f"a condition must be answered within {LONGEST} s, got {given!r}") from error
            if str(error) == "interrupted":  # what Ctrl-C raises inside SQLite does not come out of it
                raise KeyboardInterrupt from error
            what = f"a condition must be one of SQL on the columns of an atlas, got {given!r}"
            raise BadInput(f"{what}: {str(error)[:80]}") from error
        finally:
            self.connection.set_authorizer(None)
            self.connection.set_progress_handler(None, 0)

    def _entry(self, row: tuple[Any, ...]) -> Entry:
        """Return a row of the file, which may be damaged."""
        entry = Entry(*row)
        wrong = [name for name, value in zip(COLUMNS, row, strict=True) if type(value) not in _TYPES[name]]
        try:
            same = not wrong and key_of(entry.architecture) == entry.network
        except (ValueError, TypeError, KeyError, RecursionError, LightningError):
            same = False
        if not same:
            wrongly = f"its {wrong[0]} is {type(getattr(entry, wrong[0])).__name__}" if wrong else "its network is none"
            raise BadInput(f"{self._named} is damaged: a row of it is none, {wrongly}")
        return entry

    def counts(self) -> dict[str, int]:
        """Return how many networks there are of each status."""
        found = self._rows("select status, count(*) from networks group by status order by status")
        return {str(status): int(number) for status, number in found}


def _code(error: Exception) -> int:
    """Return what SQLite calls an error, without where in SQLite it happened; 0 where Python raised it."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
