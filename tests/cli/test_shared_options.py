"""Options that come together: their order in `--help`, what is made of them, and which were typed."""

from __future__ import annotations

from typing import Any

import click
import pytest
from click.testing import CliRunner

from lightning_cli import exit_codes, options
from lightning_cli.writing.fields import field, group, json_answer, kind_of, natural
from lightning_cli.writing.output import write

PAIR = options.together(
    click.option("--first", type=int, default=1), click.option("--second", type=int, default=2),
    make=lambda first, second: {"total": first + second},
)  # fmt: skip


def invoked(*words: str) -> tuple[dict[str, Any], str]:
    """What a command is given, and its help."""
    given: dict[str, Any] = {}

    @click.command()
    @click.option("--before", is_flag=True)
    @PAIR
    @click.option("--after", is_flag=True)
    def command(**said: Any) -> None:
        """Say a total."""
        given.update(said, typed=options.typed(["second", "after", "first"]))

    runner = CliRunner()
    assert runner.invoke(command, words).exit_code == 0
    return given, runner.invoke(command, ["--help"]).output


def test_a_command_gets_what_is_made_of_its_options() -> None:
    given, help_text = invoked("--second", "5", "--after")
    assert given == {"before": False, "after": True, "total": 6, "typed": {"second": "--second", "after": "--after"}}
    names = [word for word in help_text.split() if word.startswith("--")]
    assert names == ["--before", "--first", "--second", "--after", "--help"]
    assert "Say a total." in help_text


def test_the_same_options_serve_several_commands() -> None:
    assert [invoked()[0]["total"], invoked("--first", "7")[0]["total"], invoked()[0]["total"]] == [3, 9, 3]


class Found:
    number = 3

    def lines(self) -> list[tuple[str, str]]:
        return [("number", "3  found")]


@pytest.mark.parametrize(("holds", "code"), [(True, 0), (False, 1), (None, 3)])
def test_an_answer_and_its_exit_code(holds: bool | None, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    kinds = json_answer("found", field("number", natural()), field("names", [str]))
    assert exit_codes.CODES[holds] == code
    assert write(kinds, Found(), "number", as_json=False, holds=holds) == code
    assert capsys.readouterr().out == "number      3  found\n"
    assert write(kinds, Found(), as_json=True, holds=holds, names=["a"]) == code
    assert '"names": [\n    "a"\n  ]' in capsys.readouterr().out
    with pytest.raises(TypeError, match="found has no field name"):
        write(kinds, Found(), as_json=True, name="a")


def test_short_forms_of_kinds() -> None:
    for short, schema in (
        (str, {"type": "string"}),
        (bool, {"type": "boolean"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        ([[int]], {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}),
        ({str: [bool]}, {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "boolean"}}}),
    ):
        assert kind_of(short).schema == schema
    both = kind_of({str: [group(field("number", int))]})
    assert both.written({1: [Found(), Found()]}) == {"1": [{"number": 3}, {"number": 3}]}
    with pytest.raises(KeyError):
        kind_of(bytes)
