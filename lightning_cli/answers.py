"""Every kind of answer in JSON, by the commands that give it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from lightning_cli.main import COMMANDS
from lightning_cli.writing.fields import COMMON, JsonAnswer, Schema, common_schema


def all_answers() -> Iterator[JsonAnswer]:
    """Each kind of answer once, command by command."""
    for module, _ in COMMANDS.values():
        yield from getattr(import_module(module), "ANSWERS", ())


def schema_files() -> dict[str, Schema]:
    """The JSON Schema of each answer, and of what they refer to, by the names of their files."""
    files = {f"{answer.name}.schema.json": answer.schema() for answer in all_answers()}
    return dict(sorted((files | {COMMON: common_schema()}).items()))
