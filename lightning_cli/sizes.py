"""Numbers on the command line: sizes of a network, and token ids."""

from __future__ import annotations

from typing import Any

import click


class Sizes(click.ParamType[Any]):
    """Positive integers with commas between them."""

    name = "n,n,..."
    form = "positive integers below 10^18 with commas between them"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        words = str(value).split(",")
        sizes = []
        for word in words:
            text = word.strip()
            if not (text.isascii() and text.isdigit() and len(text) <= 18 and int(text) > 0):
                text = text or str(value)  # of `1,,2` all of it
                shown = text if len(text) <= 40 else text[:40] + "..."
                self.fail(f"must be {self.form}, got {shown!r}", param, ctx)
            sizes.append(int(text))
        return tuple(sizes)


class Size(Sizes):
    """One positive integer."""

    name = "n"
    form = "one positive integer below 10^18"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, int):
            return value
        sizes = super().convert(value, param, ctx)
        if len(sizes) != 1:
            self.fail(f"must be {self.form}, got {value!r}", param, ctx)
        return sizes[0]


class TokenIds(click.ParamType[Any]):
    """Token ids, integers from 0."""

    name = "i,i,..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        words = [word.strip() for word in str(value).split(",")]
        if not all(word.isascii() and word.isdigit() and len(word) <= 9 for word in words):
            shown = str(value) if len(str(value)) <= 40 else str(value)[:40] + "..."
            self.fail(f"must be token ids, integers of at least 0 with commas between them, got {shown!r}", param, ctx)
        return tuple(map(int, words))
