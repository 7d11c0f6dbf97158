"""What a condition on an atlas may do, and for how long: it comes from the command line, as SQL."""

from __future__ import annotations

import sqlite3
from time import monotonic


class Watch:
    """Ends a condition that takes too long; and is Python, so that Ctrl-C is seen while SQLite works."""

    def __init__(self, seconds: float) -> None:
        self.end = monotonic() + seconds

    @property
    def over(self) -> bool:
        """Whether the time is spent."""
        return monotonic() > self.end

    def __call__(self) -> bool:
        return self.over


def only_reads(action: int, first: str | None, second: str | None, _base: str | None, _trigger: str | None) -> int:
    """Return what a condition may do: read the table, and call functions that read nothing else."""
    harmless = action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ) or (
        action == sqlite3.SQLITE_FUNCTION and second not in ("load_extension", "readfile", "writefile")
    )
    return sqlite3.SQLITE_OK if harmless else sqlite3.SQLITE_DENY
