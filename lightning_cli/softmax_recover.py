"""The parts of `recover` that are about softmax networks: weights from a jet, or from the answers of a program."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from lightning_cli import exit_codes, options
from lightning_cli.writing.fields import TEXT, JsonAnswer, JsonField, by_name, each, group, natural, one_of, optional
from lightning_cli.writing.shared_fields import ANY_MATRIX, ARCHITECTURE, SPELLED_MATRIX, SPELLED_NUMBER

if TYPE_CHECKING:
    from lightning_sym.limits import Progress
    from lightning_sym.network.architecture import Architecture
    from lightning_sym.varieties.membership import Recovery
    from lightning_sym.varieties.query_plan import QueryPlan
    from lightning_sym.varieties.softmax_recovery import SoftmaxRecovery


def _virtual(found: SoftmaxRecovery) -> dict[str, Any]:
    value = {} if found.value is None else {"V": found.value}
    return {f"A{i}": a for i, a in enumerate(found.attention, 1)} | value


ASSUMPTIONS = "what the answer rests on beside the answers of a program, a line each"

ANSWER = JsonAnswer(
    "recover-softmax",
    "`lightning-sym recover --json` of a jet, and `lightning-sym recover --ask --json`.",
    (
        JsonField("architecture", ARCHITECTURE, "the network"),
        JsonField(
            "answer",
            one_of("weights", "none", "undecided"),
            "whether some network of the shape has this jet, or gives these answers",
            "answer.value",
        ),
        JsonField(
            "weights",
            optional(by_name(ANY_MATRIX)),
            "matrices by name, as in a file of weights; with a radius, their middles",
            "matrices",
        ),
        JsonField(
            "radius",
            optional(SPELLED_NUMBER),
            "each entry of a virtual weight is within this of the true one; null where they are exact",
        ),
        JsonField(
            "virtual_weights",
            by_name(SPELLED_MATRIX),
            "A1, A2, ..., as far as they are determined, and V",
            _virtual,
        ),
        JsonField("reasons", each(TEXT), "what fails, a line each"),
        JsonField("assumptions", each(TEXT), ASSUMPTIONS),
        JsonField("queries", natural(), "how many were asked"),
        JsonField("digits", optional(natural(1)), "behind the point in each number of an answer; null without queries"),
        JsonField("checked", TEXT, "what was compared in the end"),
    ),
    title="recover of a jet, recover --ask",
)

NODES = group(JsonField("size", natural(1)), JsonField("places", natural()))

PLAN = JsonAnswer(
    "query-plan",
    "`lightning-sym recover --ask --plan --json`.",
    (
        JsonField("architecture", ARCHITECTURE, "the network"),
        JsonField("queries", natural(1), "how many will be asked at most"),
        JsonField("digits", natural(1), "behind the point in each number of an answer"),
        JsonField("bound", SPELLED_NUMBER, "of the entries of the virtual attention matrices"),
        JsonField(
            "denominators",
            optional(natural(1)),
            "a bound of the denominators of all virtual weights; null for balls",
        ),
        JsonField(
            "nodes",
            each(NODES),
            "of each layer: how many points of a line, and the power of ten that they are multiples of",
        ),
        JsonField("assumptions", each(TEXT), "what the answer will rest on, a line each"),
    ),
    title="recover --ask --plan",
)


class Rational(click.ParamType[Any]):
    """A positive rational number."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Fraction:
        if isinstance(value, Fraction):
            return value
        text = str(value)
        try:
            plain = len(text) <= 100 and text.isascii() and not {*text.lower()} & {*"e_"}
            number = Fraction(text) if plain else Fraction(0)
        except (ValueError, ZeroDivisionError):
            number = Fraction(0)
        if number <= 0:
            shown = text if len(text) <= 40 else text[:40] + "..."
            self.fail(f"must be a positive number, such as 4 or 5/2, got {shown!r}", param, ctx)
        return number


def write(found: Recovery | SoftmaxRecovery, document: dict[str, Any], output: str | None, as_json: bool) -> int:
    """The answer, or its document; the file of weights if one is asked for; the exit code."""
    from lightning_cli.writing.output import write_answer, write_json
    from lightning_sym.network.weight_files import save_weights
    from lightning_sym.varieties.membership import Membership

    if output is not None:
        if found.weights is not None:
            save_weights(found.weights, output)
        else:
            click.echo(f"no exact rational weights to write into {output}", err=True)
    if as_json:
        write_json(document)
    else:
        colours = {Membership.WEIGHTS: "green", Membership.NONE: "red", Membership.UNDECIDED: "yellow"}
        write_answer(found, answer=colours[found.answer])
    return {
        Membership.WEIGHTS: exit_codes.AS_EXPECTED,
        Membership.NONE: exit_codes.NOT_AS_EXPECTED,
        Membership.UNDECIDED: exit_codes.UNDECIDED,
    }[found.answer]


def from_jet(
    content: bytes,
    widths: tuple[int, ...] | None,
    ranks: tuple[int, ...] | None,
    tokens: int | None,
    work: float,
    progress: Progress,
) -> SoftmaxRecovery:
    """What `recover` finds for the jet in a file, or another shape that is asked about."""
    from dataclasses import replace

    from lightning_sym.varieties.jet_files import read_jet
    from lightning_sym.varieties.jet_recovery import recover_from_jet

    jet = read_jet(content)
    shape = jet.architecture
    depth = shape.depth if widths is None else len(widths) - 1
    asked = replace(
        shape,
        widths=widths or shape.widths,
        attention_ranks=(ranks * depth if ranks and len(ranks) == 1 else ranks) or shape.attention_ranks,
        tokens=tokens or shape.tokens,
    )
    return recover_from_jet(jet, asked, work=work, progress=progress)


def shape_asked(widths: tuple[int, ...] | None, ranks: tuple[int, ...] | None, tokens: int | None) -> Architecture:
    """The shape that `recover --ask` asks about; without ranks no matrix is too large for it."""
    if widths is None or tokens is None:
        raise click.UsageError("--ask needs the shape of the network: --widths and --tokens")
    shape: Architecture = options.architecture(widths, ranks or (widths[0],), tokens, normalization="softmax")
    return shape


def from_answers(program: str, plan: QueryPlan, timeout: float | None, work: float) -> SoftmaxRecovery:
    """What `recover --ask` finds, the plan being said before the first question."""
    from lightning_cli.writing.output import progress_bar
    from lightning_sym.varieties.asked_program import DEFAULT_TIMEOUT, AskedProgram
    from lightning_sym.varieties.black_box import recover_from_answers

    click.echo(f"will ask at most {plan.queries} queries, for {plan.digits} digits behind the point", err=True)
    rows, seconds = plan.architecture.output_width, timeout or DEFAULT_TIMEOUT
    with progress_bar() as progress, AskedProgram(program, rows, seconds) as ask:
        return recover_from_answers(ask, plan, work=work, progress=progress)
