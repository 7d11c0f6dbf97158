"""How two answers differ: field by field where they are JSON, line by line where they are text."""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

NEVER_THE_SAME = (
    (r"(?m) *\b\d+\.\d s( \u2502)?$", " SECONDS"),  # at the end of a line: an estimate inside one is an answer
    (r'(?m)^  File ".*\n(?:    .*\n)*', ""),  # a traceback is an error of the program wherever it came from
    (r"/tmp/\w+", "TEMPORARY"),  # noqa: S108 - in a message
)
"""Patterns of texts that no two runs have in common, and what stands for them."""
KEYS_NEVER_THE_SAME = frozenset({"seconds"})
"""Keys of JSON whose values no two runs have in common."""

MOST_SHOWN, LONGEST = 240, 5000
"""Characters that are shown of a value, and that are looked at for what is alike."""


@dataclass(frozen=True)
class Difference:
    """What differs in the answers to a question, and where in them.

    Attributes:
        kind: `changed`, `gone`, `order` of keys, or `new`, which is none that needs a reason.
    """

    question: str
    where: str
    kind: str
    first: str
    second: str

    @property
    def group(self) -> tuple[str, ...]:
        """What alike differences have in common: question, place, and the words that differ, without numbers."""
        question = re.sub(r"^(networks|checkpoints)/[^/]+/.*?(-commands)?(?=/)", r"\1\2", self.question)
        where = re.sub(r"\b\d+\b", "N", self.where)
        return question, where, self.kind, *(_changed_words(self.first, self.second) if self.kind == "changed" else ())


def _changed_words(first: str, second: str) -> tuple[str, ...]:
    """Return the words that stand in one text only, numbers as N.

    Example:
        >>> _changed_words("it has 36 terms", "it had 45 terms")
        ('has N', 'had N')
    """
    one, other = first[:LONGEST].split(), second[:LONGEST].split()
    parts = [
        part for part in difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes() if part[0] != "equal"
    ]
    words = (
        " ".join(w for _, a, b, _, _ in parts for w in one[a:b]),
        " ".join(w for *_, c, d in parts for w in other[c:d]),
    )
    return tuple(re.sub(r"\d+", "N", each) for each in words)


def steady(text: str) -> str:
    """Return the text without what is never the same.

    Example:
        >>> steady("one claim   20.3 s") == steady("one claim   0.1 s")
        True
    """
    for pattern, word in NEVER_THE_SAME:
        text = re.sub(pattern, word, text)
    return text


def differences(first: Mapping[str, str], second: Mapping[str, str]) -> Iterator[Difference]:
    """Yield what differs between the answers of two states, which are texts in JSON."""
    for question in sorted({*first, *second}):
        if question not in second:
            yield Difference(question, "", "gone", first[question], "not asked")
        elif question not in first:
            yield Difference(question, "", "new", "not asked", second[question])
        elif first[question] != second[question]:
            for where, kind, one, other in _compared(json.loads(first[question]), json.loads(second[question])):
                yield Difference(question, where.lstrip("."), kind, one, other)


_REFUSED = {"raised", "stopped"}
"""Keys of answers that are none; one of these and an answer are compared as a whole."""
_Found = Iterator[tuple[str, str, str, str]]


def _compared(one: object, other: object, where: str = "") -> _Found:
    """Yield where two values differ, how, and what stands there."""
    if isinstance(one, str) and isinstance(other, str):
        yield from _texts(one, other, where)
    elif isinstance(one, dict) and isinstance(other, dict) and _REFUSED & one.keys() == _REFUSED & other.keys():
        yield from _objects(one, other, where)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for i, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from _compared(left, right, f"{where}.{i}")
    elif type(one) is not type(other) or one != other:
        yield where, "changed", value_as_text(one), value_as_text(other)


def _objects(one: dict[str, object], other: dict[str, object], where: str) -> _Found:
    for key in one:
        if key not in other:
            yield f"{where}.{key}", "gone", value_as_text(one[key]), "no such key"
        elif key not in KEYS_NEVER_THE_SAME:
            yield from _compared(one[key], other[key], f"{where}.{key}")
    for key in other:
        if key not in one:
            yield f"{where}.{key}", "new", "no such key", value_as_text(other[key])
    orders = [[key for key in each if key in one and key in other] for each in (one, other)]
    if orders[0] != orders[1]:
        yield where, "order", ", ".join(orders[0]), ", ".join(orders[1])


def _texts(one: str, other: str, where: str) -> _Found:
    documents = [_parsed(text) for text in (one, other)]
    if all(isinstance(document, dict | list) for document in documents):
        yield from _compared(documents[0], documents[1], where)
        return
    left, right = (steady(text).splitlines() for text in (one, other))
    if where.endswith("stderr"):  # work side by side is told in the order in which it ends
        left, right = (
            sorted(lines, key=lambda line: line if line.endswith("SECONDS") else "") for lines in (left, right)
        )
    for tag, a, b, c, d in difflib.SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if tag != "equal":
            yield where, "changed", "\n".join(left[a:b]), "\n".join(right[c:d])


def _parsed(text: str) -> Any:
    try:
        return json.loads(text) if text.startswith(("{", "[")) else None
    except ValueError:
        return None


def value_as_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def cut(first: str, second: str) -> tuple[str, str]:
    """Return both texts; of long ones what stands around the first place where they differ.

    Example:
        >>> cut("x" * 500 + "one", "x" * 500 + "two")[0] == "..." + "x" * 40 + "one"
        True
    """
    same = next(
        (i for i, (x, y) in enumerate(zip(first, second, strict=False)) if x != y), min(map(len, (first, second)))
    )
    start = max(same - 40, 0) if max(len(first), len(second)) > MOST_SHOWN else 0
    ends = [("..." * (start > 0) + text[start : start + MOST_SHOWN], len(text) - start) for text in (first, second)]
    one, other = (text + f"... ({left:,} characters)" * (left > MOST_SHOWN) for text, left in ends)
    return one, other


# ---- what is known


@dataclass
class Known:
    """A reason why some answers differ.

    Attributes:
        question, where: patterns as of file names.
        first, second: patterns as of `re`, found in what stands there.
        used: how many differences it explains.
    """

    reason: str
    question: str
    where: str = "*"
    first: str = ""
    second: str = ""
    used: int = 0

    def explains(self, found: Difference) -> bool:
        """Return whether this reason is one for the difference, and count it."""
        fits = fnmatchcase(found.question, self.question) and fnmatchcase(found.where, self.where)
        fits = fits and bool(re.search(self.first, found.first) and re.search(self.second, found.second))
        self.used += fits
        return fits


def known_differences(path: Path) -> list[Known]:
    """Return the reasons of a file: TOML, a table `[[known]]` each, with `question`, `reason` and perhaps the others.

    Raises:
        ValueError: the file has another form.
        OSError: it cannot be read.
    """
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    allowed = {"reason", "question", "where", "first", "second"}
    for table in tables.get("known", []):
        if not {"reason", "question"} <= table.keys() <= allowed or not all(
            isinstance(x, str) and x for x in table.values()
        ):
            raise ValueError(
                f"a known difference must have a question and a reason, perhaps where, first, second, got {table}"
            )
        re.compile(table.get("first", "")), re.compile(table.get("second", ""))
    if tables.keys() - {"known"}:
        raise ValueError(f"known differences must be tables [[known]], got {', '.join(sorted(tables))}")
    return [Known(**table) for table in tables.get("known", [])]
