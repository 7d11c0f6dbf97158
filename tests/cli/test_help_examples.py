"""The examples of `--help`: each is spelled as the program takes it, and of each command one runs in a checkout."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from pathlib import Path

import click
import pytest

from lightning_cli.main import COMMANDS, module_of

ROOT = Path(__file__).parents[2]
FILE = re.compile(r"/$|\.(?:json|safetensors|gguf|sqlite|npz|toml|html|svg|py|bin|pdf|png|m2|tex)$|^[A-Z]+$")
"""What is a file, or a folder, in the line of an example; capitals stand for one."""
WRITTEN = {"-o", "--output", "--certificate", "--certificates", "--symmetry", "--page", "--sheet", "--picture", ">"}


def examples(epilog: str) -> list[list[str]]:
    """The lines that are typed, in words."""
    lines = re.sub(r"\\\n\s*", "", epilog).splitlines()
    return [shlex.split(line) for line in lines if line.strip().startswith("lightning-sym ")]


def misspelled(words: list[str]) -> list[str]:
    """Options of a line that its command does not have."""
    command: click.Command = module_of(words[1]).command
    known = {spelling for option in command.params for spelling in option.opts}
    return [
        word for word in words[: [*words, "|"].index("|")] if word.startswith("-") and word[1:] and word not in known
    ]


def runs_in(root: Path, lines: list[list[str]]) -> list[bool]:
    """Whether each of the lines, one after the other, finds every file that it names."""
    there, found = set[str](), list[bool]()
    for words in lines:
        pairs = list(pairwise(words))
        made = {word for before, word in pairs if before in WRITTEN}
        read = [part for _, word in pairs if word not in made for part in word.split() if FILE.search(part)]
        found.append(all(part in there or (root / part).exists() for part in read))
        there |= made if found[-1] else set()
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_are_spelled_and_one_runs_as_it_stands(name: str) -> None:
    lines = examples(module_of(name).command.epilog or "")
    assert lines
    assert not [told for words in lines if (told := misspelled(words))]
    assert any(found for words, found in zip(lines, runs_in(ROOT, lines), strict=True) if words[1] == name)


def test_what_is_misspelled_or_not_there_is_seen() -> None:
    lines = examples(
        "  lightning-sym same a.json b.json --toknes 3\n  lightning-sym phi --widths 2,1 \\\n    -o c.json"
    )
    assert [misspelled(words) for words in lines] == [["--toknes"], ["-o"]]
    assert runs_in(ROOT, [*lines, ["lightning-sym", "recover", "c.json"]]) == [False, True, True]
