"""What a run of the claims gave, kept in a file, and how a later run differs: verdicts, counts and witnesses."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from lightning_sym.errors import FileFormatError
from lightning_sym.version import __version__
from lightning_sym.whole_files import in_words, replacing

SCHEMA = "lightning-sym/baseline/1"

LARGEST = 16 * 2**20
"""Bytes of a file that is read."""

LONGEST = 120
"""Characters of a text that a line shows."""

_COUNTED = ("instances", "witness", "findings", "tallies")
"""What is said of a part besides its verdict; other sizes give others."""


class BaselineDifference(NamedTuple):
    """Something that is not as it was.

    Attributes:
        claim: its id.
        part: its name; empty where the claim as a whole is meant.
        what: a key of the baseline, or `claim` or `part` where one is gone.
        before, now: the values; `None` where there is none.
    """

    claim: str
    part: str
    what: str
    before: object
    now: object

    def __str__(self) -> str:
        place = f"{self.claim}, {self.part}" if self.part else self.claim
        if self.what in ("claim", "part"):
            return f"{place}: gone"
        return f"{place}: {self.what} {_short(self.before)}, now {_short(self.now)}"


@dataclass(frozen=True)
class Compared:
    """A run beside its baseline.

    Attributes:
        differences: what is not as it was.
        compared: how many claims stand in both.
        notes: what could not be compared, and why, a line each.
    """

    differences: tuple[BaselineDifference, ...]
    compared: int
    notes: tuple[str, ...]


def _short(value: object) -> str:
    text = "none" if value is None else " ".join(str(value).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def write_baseline(path: str | os.PathLike[str], kept: Mapping[str, object]) -> None:
    """Write what is kept of a run into a file, whole or not at all.

    Raises:
        BadInput: the file cannot be written.
    """
    text = json.dumps(kept, indent=1, ensure_ascii=False) + "\n"
    with in_words("a baseline", path), replacing(path) as file:
        file.write_text(text, encoding="utf-8")


def read_baseline(path: str | os.PathLike[str], ids: Collection[str]) -> dict[str, object]:
    """Return a baseline from its file.

    Args:
        path: of the file.
        ids: of the claims that will run; one of them at least must stand in it.

    Raises:
        FileFormatError: it is not there, is no baseline, or has nothing to compare with.
    """
    shown = ascii(os.fspath(path)[:LONGEST])
    try:
        with Path(path).open("rb") as file:
            raw = file.read(LARGEST + 1)
    except OSError as error:
        hint = "; --write-baseline makes one" if isinstance(error, FileNotFoundError) else ""
        raise FileFormatError(
            f"a baseline must be a file that can be read, {shown} cannot: {error.strerror}{hint}"
        ) from error
    if len(raw) > LARGEST:
        raise FileFormatError(f"a baseline must have at most {LARGEST:,} bytes, {shown} has more")
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"a baseline must be JSON, {shown} is not: {str(error)[:LONGEST]}") from error
    if wrong := next(_wrong(document), ""):
        raise FileFormatError(f"a baseline must be what --write-baseline writes, {shown} has {wrong}")
    if not document["claims"].keys() & set(ids):
        raise FileFormatError(f"a baseline must have a claim that is run, {shown} has none of {_listed(list(ids))}")
    known: dict[str, object] = document
    return known


_OF_A_PART: dict[str, tuple[type, ...]] = {
    "scope": (str,), "verdict": (str,), "instances": (int,), "witness": (str, type(None)), "findings": (list,),
    "tallies": (list,),
}  # fmt: skip


def _wrong(document: object) -> Iterator[str]:
    """Yield what is not as it is written, in words."""
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        found = document.get("schema") if isinstance(document, dict) else None
        yield f"the schema {str(found)[:LONGEST]!a}, not {SCHEMA}"
        return
    yield from _mistyped(document, {"schema": (str,), "version": (str,), "size": (str,), "claims": (dict,)}, "it")
    if document["size"] not in ("quick", "full"):
        yield f"the size {document['size'][:LONGEST]!a}"
    for name, claim in document["claims"].items():
        yield from _mistyped(claim, {"verdict": (str,), "instances": (int,), "parts": (dict,)}, name)
        for part_name, part in claim["parts"].items():
            yield from _mistyped(part, _OF_A_PART, part_name)


def _mistyped(value: object, types: Mapping[str, tuple[type, ...]], where: str) -> Iterator[str]:
    if not isinstance(value, dict) or value.keys() != types.keys():
        yield f"other keys than {', '.join(types)} in {where[:LONGEST]!a}"
        return
    for key, allowed in types.items():
        if not isinstance(value[key], allowed) or isinstance(value[key], bool):
            yield f"a {type(value[key]).__name__} for {key} in {where[:LONGEST]!a}"


def compare(baseline: Mapping[str, Any], run: Mapping[str, Any], *, everything: bool) -> Compared:
    """Return how a run differs from a baseline.

    Verdicts are compared always. Counts, witnesses and findings are those of a size, and compared where both runs are
    of one. A claim or a part that is new is named; one that is gone is a difference.

    Args:
        baseline: as `read_baseline` gives it.
        run: what is kept of it.
        everything: all claims ran, so that one that stands in the baseline alone is gone.
    """
    before, now, size = baseline["claims"], run["claims"], run["size"]
    same_size = baseline["size"] == size
    notes = []
    if baseline["version"] != __version__:
        notes.append(f"the baseline is of version {baseline['version'][:LONGEST]}, this is {__version__}")
    if not same_size:
        notes.append(
            f"only verdicts are compared: the baseline is of the {baseline['size']} size, this run of the {size} one"
        )
    differences = list(_differences(before, now, same_size=same_size))
    absent = [name for name in before if name not in now]
    if everything:
        differences += [BaselineDifference(name, "", "claim", before[name]["verdict"], None) for name in absent]
    elif absent:
        notes.append(f"not run, so not compared: {_listed(absent)}")
    if new := [name for name in now if name not in before]:
        notes.append(f"not in the baseline: {_listed(new)}")
    for name in now:
        more = [part for part in now[name]["parts"] if name in before and part not in before[name]["parts"]]
        notes += [f"not in the baseline: {name}, {part}" for part in more]
    return Compared(tuple(differences), len(before.keys() & now.keys()), tuple(notes))


def nothing_compared(path: str) -> Compared:
    """Return what is said of a run whose baseline was not there."""
    return Compared((), 0, (f"there was no {path[:LONGEST]!a}: nothing is compared",))


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:3])} and {len(names) - 3} more" if len(names) > 4 else ", ".join(names)


def _differences(before: Mapping[str, Any], now: Mapping[str, Any], *, same_size: bool) -> Iterator[BaselineDifference]:
    for name in now:
        if name not in before:
            continue
        old, new = before[name], now[name]
        keys = ("verdict", "instances") if same_size else ("verdict",)
        yield from (BaselineDifference(name, "", key, old[key], new[key]) for key in keys if old[key] != new[key])
        for part, was in old["parts"].items():
            if part not in new["parts"]:
                yield BaselineDifference(name, part, "part", was["verdict"], None)
                continue
            found = new["parts"][part]
            for key in ("scope", "verdict", *(_COUNTED if same_size else ())):
                if not isinstance(was[key], list):
                    pairs = [(was[key], found[key])]
                else:  # texts, one difference each
                    gone = [text for text in was[key] if text not in found[key]]
                    pairs = list(zip_longest(gone, (text for text in found[key] if text not in was[key])))
                yield from (BaselineDifference(name, part, key, *pair) for pair in pairs if pair[0] != pair[1])
