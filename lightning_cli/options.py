"""Options shared by the commands that take an architecture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


class Sizes(click.ParamType[Any]):
    """Positive integers with commas between them."""

    name = "n,n,..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        words = str(value).split(",")
        sizes = []
        for word in words:
            text = word.strip()
            if not (text.isascii() and text.isdigit() and len(text) <= 18 and int(text) > 0):
                shown = text if len(text) <= 40 else text[:40] + "..."
                self.fail(f"must be positive integers with commas between them, got {shown!r}", param, ctx)
            sizes.append(int(text))
        return tuple(sizes)


class Size(Sizes):
    """One positive integer."""

    name = "n"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, int):
            return value
        sizes = super().convert(value, param, ctx)
        if len(sizes) != 1:
            self.fail(f"must be one positive integer, got {value!r}", param, ctx)
        return sizes[0]


def widths(required: bool = True) -> Callable[[F], F]:
    """The option `--widths`."""
    return click.option("--widths", type=Sizes(), required=required, help="Widths d_0,...,d_l; at least two of them.")


def ranks(required: bool = True) -> Callable[[F], F]:
    """The option `--ranks`."""
    return click.option(
        "--ranks",
        type=Sizes(),
        required=required,
        help="Query/key widths a_1,...,a_l; one value stands for all layers.",
    )


tokens = click.option("--tokens", type=Size(), required=True, help="Number of tokens t.")

as_json = click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout, nothing else.")

memory = click.option(
    "--memory",
    type=click.FloatRange(min=0, min_open=True),
    default=4.0,
    show_default=True,
    metavar="GIB",
    help="Refuse what is estimated to need more memory than this.",
)


def memory_bytes(gibibytes: float) -> int:
    """The limit in bytes.

    Raises:
        click.UsageError: it is not a finite number.
    """
    if not gibibytes < 2**40:
        raise click.UsageError(f"--memory must be a number of GiB below 2^40, got {gibibytes}")
    return int(gibibytes * 2**30)


def architecture(widths: tuple[int, ...], ranks: tuple[int, ...], tokens: int) -> Any:
    """The architecture the options name; a single rank is repeated."""
    from lightning_sym.architecture import Architecture

    if len(ranks) == 1 and len(widths) > 2:
        ranks = ranks * (len(widths) - 1)
    return Architecture(widths, ranks, tokens)


def architecture_json(network: Any) -> dict[str, Any]:
    """The architecture as it stands in every JSON answer."""
    return {
        "widths": list(network.widths),
        "attention_ranks": list(network.attention_ranks),
        "tokens": network.tokens,
    }
