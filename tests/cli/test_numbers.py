"""Numbers on the command line: what is none is refused in one line, in which stands what was typed."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from command import run

from lightning_cli.main import COMMANDS, module_of
from lightning_cli.numbers import Amount, Integer, NamedCoordinates, Rational, Size, SizeList, TokenIds
from lightning_sym.errors import BadInput, TooLarge
from lightning_sym.limits import require_memory

NUMBERS = (Integer, Amount, SizeList, TokenIds, Rational)
NONE = ["-1", "nan", "-inf", "", " ", "x", "0x10", "1_0", "\u0661", "1e", "1,,2", "--", "\udcff", "a\nb"]
"""What no option takes for a number."""


def numbers() -> Iterator[tuple[str, click.Parameter]]:
    for name in COMMANDS:
        for parameter in module_of(name).command.params:
            kind = parameter.type
            known = isinstance(kind, (*NUMBERS, NamedCoordinates, click.Path, click.Choice, click.types.BoolParamType))
            assert known or type(kind) is click.types.StringParamType, f"{parameter.name} of {name}: {kind}"
            if isinstance(kind, NUMBERS):
                yield name, parameter


EVERY = [pytest.param(name, parameter, id=f"{name} {parameter.opts[0]}") for name, parameter in numbers()]


@pytest.mark.parametrize(("name", "parameter"), EVERY)
def test_what_is_no_number_is_refused(
    name: str, parameter: click.Parameter, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [parameter.opts[0]] if isinstance(parameter, click.Option) else ["--"]
    refused = [*NONE] if getattr(parameter.type, "endless", False) else [*NONE, "inf", "1e400", "9" * 5000]
    if isinstance(parameter.type, Size) or not isinstance(parameter.type, (Amount, Rational)):
        refused += ["1.5", "1e-9", "1e3"]
    if not getattr(parameter.type, "zero", True):
        refused += ["0", "-0", "1e-400"]
    for typed in refused:
        code, out, err = run(capsys, name, *given, typed)
        assert (code, out, err.count("\n")) == (2, "", 1), (typed, err)
        assert "must be" in err, typed
        assert len(err) < 250
        assert ascii(typed)[1:-1][:40] in err, err


def test_numbers_that_are_taken() -> None:
    assert Integer(1, 10).convert(" 10 ", None, None) == 10
    assert Integer().convert(str(2**63 - 1), None, None) == 2**63 - 1
    assert Amount("s").convert("1e-9", None, None) == 1e-9
    assert Amount("s", endless=True).convert("inf", None, None) == float("inf")
    assert Amount("s", zero=True).convert("0", None, None) == 0
    for integer in ("0", "11"):
        with pytest.raises(click.BadParameter, match="must be an integer from 1 to 10, got"):
            Integer(1, 10).convert(integer, None, None)
    with pytest.raises(click.BadParameter, match=r"must be a positive number of GiB below 2\^40, got '1099511627776'"):
        Amount("GiB", 2**40).convert(str(2**40), None, None)


def test_small_memory_is_told_in_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    shape = ("--widths", "2,2", "--ranks", "1", "--tokens", "2")
    code, out, err = run(capsys, "dimension", *shape, "--memory", "1e-9")
    assert (code, out) == (2, "")
    assert "must fit into 1 byte, estimated need 529," in err
    for allowed, said in ((5.5, "6 bytes"), (2**31, "2 GiB"), (float("nan"), "nan bytes")):
        with pytest.raises(TooLarge, match=f"the answer must fit into {said}, estimated need 3.73 GiB"):
            require_memory(4 * 10**9, allowed, "the answer")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="memory must be a number of bytes"):
        require_memory(1, "1", "the answer")  # type: ignore[arg-type]
