"""`lightning-sym coefficient`: how singular a function is at one of its zeros."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lightning_cli import exit_codes, options
from lightning_cli.numbers import SizeList
from lightning_cli.writing.fields import JsonKind, by_name, field, json_answer, natural, optional
from lightning_cli.writing.output import write, write_certificate
from lightning_sym.errors import BadInput
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from lightning_sym.coefficients import coefficient as coefficients
    from lightning_sym.coefficients import linear_attention as linear
    from lightning_sym.coefficients import one_head as heads
    from lightning_sym.coefficients import polynomials as ideals
    from lightning_sym.network.readers import bounds

FRACTION = JsonKind({"type": "string", "pattern": "^[0-9]+(/[0-9]+)?$"}, str)

ANSWER = json_answer(
    "coefficient",
    field("lambda", optional(FRACTION), "the learning coefficient, null where the bounds do not meet", "value"),
    field("multiplicity", optional(natural(1)), "the order of the pole, null where it is not proved"),
    field("lower", FRACTION, "a bound of the coefficient from below"),
    field("upper", FRACTION, "one from above"),
    field("certified", bool, "whether the two bounds meet"),
    field("proof", str, "page and number of what proves the coefficient, or its bounds"),
    field("about", str, "what the coefficient is of"),
    field("ranks", by_name(natural()), "the numbers that the proof used, by name"),
)

ANSWERS = (ANSWER,)

LARGEST_IDEAL = 2**20
"""Bytes of a file of polynomials."""


class Point(click.ParamType[Any]):
    """Coordinates by name with commas between them, `x=0,y=1/2`."""

    name = "x=0,y=0"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, str]:
        """Return the texts by name."""
        found: dict[str, str] = {}
        for part in str(value).split(","):
            name, sign, number = (word.strip() for word in part.partition("="))
            if not (sign and name.isidentifier() and number and name not in found):
                self.fail(f"must be coordinates such as x=0,y=1/2, each once, got {part.strip()!r}", param, ctx)
            found[name] = number
        return found


@click.command(
    "coefficient",
    epilog="""\b
Examples:
  lightning-sym coefficient --of "x*y, x^2"
  lightning-sym coefficient --of "x^2 - 1, x*y" --at x=1 --certificate coefficient.json
  lightning-sym coefficient --linear-attention 2,6
  lightning-sym coefficient --one-head 3,2,4 --teacher 1 --json

\b
Exit codes: 0 the coefficient is certified, 2 bad input, 3 undecided: the bounds are shown.""",
)
@click.option("--of", "ideal", metavar="IDEAL", help="Polynomials with commas between them, or a file of them.")
@click.option("--at", type=Point(), help="The point, where all of them are zero; what is not named is 0.")
@click.option("--linear-attention", type=SizeList(), metavar="V,E", help="Linear attention: words, and width.")
@click.option("--one-head", type=SizeList(), metavar="V,T,E", help="One softmax head: words, tokens, and width.")
@click.option(
    "--teacher",
    type=SizeList(),
    metavar="E0",
    help="The width of a generic teacher; without it the truth is zero, at zero weights.",
)
@options.certificate("Write weights and multipliers, which prove both bounds,")
@options.AS_JSON
def command(
    *,
    ideal: str | None,
    at: dict[str, str] | None,
    linear_attention: tuple[int, ...] | None,
    one_head: tuple[int, ...] | None,
    teacher: tuple[int, ...] | None,
    certificate: str | None,
    as_json: bool,
) -> int:
    """Give the learning coefficient, also called the real log canonical threshold, with its multiplicity.

    Near a zero of a function K that is not negative the volume of K < eps is, up to constants, eps^lambda
    (log 1/eps)^(m-1). For polynomials K is the sum of their squares. Answers are exact, or two bounds.
    """
    asked = {"--of": ideal, "--linear-attention": linear_attention, "--one-head": one_head}
    given = [name for name, value in asked.items() if value is not None]
    if len(given) != 1:
        raise click.UsageError(f"give one of {', '.join(asked)}, got {' and '.join(given) or 'none'}")
    if at is not None and ideal is None:
        raise click.UsageError("--at is a point of --of, which is not given")
    if teacher is not None and ideal is not None:
        raise click.UsageError("--teacher is of --linear-attention or --one-head, not of --of")
    (width,) = _sizes("--teacher", teacher, "E0") if teacher is not None else (None,)
    if ideal is not None:
        found = ideals.polynomial_coefficient(_ideal(ideal), at)
    elif linear_attention is not None:
        words, own = _sizes(given[0], linear_attention, "V,E")
        found = linear.linear_attention_coefficient(words, own, width)
    else:
        words, tokens, own = _sizes(given[0], one_head, "V,T,E")
        found = heads.one_head_coefficient(words, tokens, own, width)
    return _answer(found, certificate, as_json=as_json)


def _answer(found: coefficients.LearningCoefficient, certificate: str | None, *, as_json: bool) -> int:
    """Write an answer, and its certificate where one is asked for."""
    if certificate is not None:
        if found.certificate is None:
            raise BadInput("a certificate is written of smaller sizes only")
        write_certificate(certificate, found.certificate)
    write(ANSWER, found, "coefficient", as_json=as_json, holds=True if found.certified else None)
    return exit_codes.AS_EXPECTED if found.certified else exit_codes.UNDECIDED


def _sizes(option: str, sizes: tuple[int, ...] | None, form: str) -> tuple[int, ...]:
    """Return the sizes of a model, as many as its form has."""
    if sizes is None or len(sizes) != len(form.split(",")):
        raise click.UsageError(f"{option} must be {form}, got {','.join(map(str, sizes or ()))}")
    return sizes


def _ideal(text: str) -> str:
    """Return a text of polynomials, that of a file where there is one of this name."""
    try:
        is_file = Path(text).is_file()
    except (OSError, ValueError):  # too long for a name
        is_file = False
    if not is_file:
        return text
    try:
        return bounds.read_whole(Path(text), LARGEST_IDEAL).decode()
    except UnicodeDecodeError as error:
        raise BadInput(f"{text}: it must be text in UTF-8") from error
