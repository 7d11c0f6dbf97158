"""Cases that are asked in groups: each of them is asked, and each that fails is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from grouped import grouped

ASKED: list[int] = []


@grouped("number", range(10), lambda number: "odd" if number % 2 else "even")
def test_each_is_asked(number: int, tmp_path: Path) -> None:
    assert tmp_path.exists()
    ASKED.append(number)


def test_all_were_asked_and_what_fails_is_named() -> None:
    def check(number: int) -> None:
        if number > 7:
            raise ValueError("too large")

    whole = grouped("number", range(10), lambda _: "all")(check)
    with pytest.raises(AssertionError, match="8: ValueError: too large\n9: ValueError: too large"):
        whole(group=list(range(10)))
    whole(group=list(range(8)))
    assert not {*ASKED} - {*range(10)}
