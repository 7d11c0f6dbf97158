"""`lightning-sym recover`: the weights of a polynomial map, of a jet, or of a program that answers questions."""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from lightning_cli import options
from lightning_cli.numbers import Amount, Rational, Size
from lightning_cli.output_file import WEIGHTS
from lightning_cli.writing.fields import constant, each, field, group, json_answer, natural, one_of, optional
from lightning_cli.writing.output import progress_bar, write
from lightning_cli.writing.shared_fields import ANY_MATRIX, ARCHITECTURE, SPELLED_MATRIX, SPELLED_NUMBER, TRIED
from lightning_sym.errors import BadInput, FileFormatError
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from lightning_sym import limits
    from lightning_sym.network import weight_files
    from lightning_sym.network.readers import bounds
    from lightning_sym.varieties import (
        asked_program,
        black_box,
        jet_files,
        jet_recovery,
        map_input,
        map_recovery,
        membership,
        query_plan,
        softmax_recovery,
    )

FIELD = group(
    field("minimal_polynomial", str),
    field("root", constant("r"), of=lambda result: "r"),
    field("between", each(str, 2, 2), of="root_between"),
)

COEFFICIENT = group(
    field("row", natural(1)),
    field("token", natural(1)),
    field("monomial", str),
    field("given", str),
    field("found", str),
)

ANSWER = json_answer(
    "recover",
    field("architecture", ARCHITECTURE, "the network"),
    field(
        "answer",
        one_of("weights", "none", "undecided"),
        "whether some network of the shape, with real weights, has this function",
        "answer.value",
    ),
    field(
        "weights",
        optional({str: ANY_MATRIX}),
        "matrices by name; entries are rational numbers, or polynomials in the root of the field",
        "matrices",
    ),
    field(
        "field",
        optional(FIELD),
        "the number field of the weights; null for the rationals",
        lambda result: None if None in (result.minimal_polynomial, result.root_between) else result,
    ),
    field("reasons", [str], "what fails, a line each"),
    field(
        "coefficient",
        optional(COEFFICIENT),
        "a coefficient that is not what it must be, where one shows the answer",
        "difference",
    ),
    field("complex_weights", optional(bool), "where there are no real weights: whether there are complex ones"),
    TRIED,
)


def _virtual(found: softmax_recovery.SoftmaxRecovery) -> dict[str, object]:
    """Return the virtual weights that are determined, by name."""
    value = {} if found.value is None else {"V": found.value}
    return {f"A{i}": a for i, a in enumerate(found.attention, 1)} | value


ASSUMPTIONS = "what the answer rests on beside the answers of a program, a line each"

OF_SOFTMAX = json_answer(
    "recover-softmax",
    field("architecture", ARCHITECTURE, "the network"),
    field(
        "answer",
        one_of("weights", "none", "undecided"),
        "whether some network of the shape has this jet, or gives these answers",
        "answer.value",
    ),
    field(
        "weights",
        optional({str: ANY_MATRIX}),
        "matrices by name, as in a file of weights; with a radius, their middles",
        "matrices",
    ),
    field(
        "radius",
        optional(SPELLED_NUMBER),
        "each entry of a virtual weight is within this of the true one; null where they are exact",
    ),
    field("virtual_weights", {str: SPELLED_MATRIX}, "A1, A2, ..., as far as they are determined, and V", _virtual),
    field("reasons", [str], "what fails, a line each"),
    field("assumptions", [str], ASSUMPTIONS),
    field("queries", natural(), "how many were asked"),
    field("digits", optional(natural(1)), "behind the point in each number of an answer; null without queries"),
    field("checked", str, "what was compared in the end"),
    TRIED,
    said="`lightning-sym recover --json` of a jet, and `lightning-sym recover --ask --json`.",
    title="recover of a jet, recover --ask",
)

NODES = group(field("size", natural(1)), field("places", natural()))

PLAN = json_answer(
    "query-plan",
    field("architecture", ARCHITECTURE, "the network"),
    field("queries", natural(1), "how many will be asked at most"),
    field("digits", natural(1), "behind the point in each number of an answer"),
    field("bound", SPELLED_NUMBER, "of the entries of the virtual attention matrices"),
    field("denominators", optional(natural(1)), "a bound of the denominators of all virtual weights; null for balls"),
    field(
        "nodes", [NODES], "of each layer: how many points of a line, and the power of ten that they are multiples of"
    ),
    field("assumptions", [str], "what the answer will rest on, a line each"),
    said="`lightning-sym recover --ask --plan --json`.",
    title="recover --ask --plan",
)


ANSWERS = (ANSWER, OF_SOFTMAX, PLAN)


HOLDS = {"weights": True, "none": False, "undecided": None}
"""Whether there are weights, by the word of the answer."""


def _read(file: str) -> bytes:
    """Return what a file, or for `-` standard input, holds."""
    if file != "-":
        return bounds.read_whole(Path(file))
    content = sys.stdin.buffer.read(bounds.LARGEST_FILE + 1)
    if not content.strip():
        raise FileFormatError("it must not be empty")
    return content


@click.command(
    "recover",
    epilog="""\b
Examples:
  lightning-sym phi --weights examples/rank_one.json --tokens 2 --json | lightning-sym recover -
  lightning-sym recover examples/map.json --ranks 2 --output weights.json
  lightning-sym recover examples/jet.json
  lightning-sym recover --ask "python examples/hidden_network.py" --widths 2,2,1 --tokens 2 --bound 8 --denominators 4

\b
A program is asked one line a question: how many digits behind the point are wanted, then the entries
of X, row by row, as decimals. It answers with one line, the entries of the output, row by row, each
with so many digits behind the point and within one in the last of the true number.

\b
Exit codes: 0 weights, 1 none, 2 bad input, 3 undecided.""",
)
@click.argument("file", type=click.Path(allow_dash=True), required=False)
@click.option("--ask", metavar="PROGRAM", help="Ask a program that answers as a softmax network, in place of FILE.")
@click.option("--plan", "plan_only", is_flag=True, help="With --ask: say what would be asked, and start nothing.")
@click.option(
    "--bound",
    type=Rational(),
    help="With --ask: no entry of a virtual attention matrix is larger in absolute value. An assumption.",
)
@click.option(
    "--denominators",
    type=Size(),
    help="With --ask: no entry of a virtual weight has a larger denominator. An assumption; weights are exact then.",
)
@click.option("--digits", type=Size(), help="With --ask: digits of the answers; without --denominators needed.")
@click.option(
    "--timeout",
    type=Amount("seconds", 10**6),
    metavar="SECONDS",
    help="With --ask: how long one answer may take.  [default: 60]",
)
@options.shape_if_given()
@options.output("weights", "--output", help="Write the weights, if they are rational, into FILE.", endings=WEIGHTS)
@options.MEMORY
@options.AT_MOST_WORK
@options.AS_JSON
def command(
    *,
    file: str | None,
    ask: str | None,
    plan_only: bool,
    timeout: float | None,
    output: str | None,
    widths: tuple[int, ...] | None,
    ranks: tuple[int, ...] | None,
    tokens: int | None,
    memory: int,
    work: float,
    as_json: bool,
    **of_a_program: Any,
) -> int:
    """Decide whether a map, a jet or a black box is the function of some network of a shape, and give its weights.

    FILE, or - for standard input, holds the map as `lightning-sym phi --json` prints it, or as an object with
    "outputs" or "coefficients". Ranks and inner widths may be others than those in the file: the question is whether
    some network of the shape asked about has this function, with real weights. Of lightning attention with one head and
    nothing added: other networks are refused by name.

    FILE may also hold a jet, as save_jet writes it: Taylor coefficients of a softmax network with one head, no mask and
    no skip connections, of two tokens or more. With --ask such a network is recovered from the answers of a program.
    """
    given = [f"--{name}" for name, value in {"plan": plan_only, "timeout": timeout, **of_a_program}.items() if value]
    options.refuse(
        (ask is None and given, f"{''.join(given[:1])} belongs to --ask"),
        (file is None and ask is None, "give a FILE, or --ask PROGRAM"),
        (file is not None and ask is not None, "give a FILE or --ask, not both"),
    )
    result: map_recovery.Recovery | softmax_recovery.SoftmaxRecovery
    if ask is not None:
        if widths is None or tokens is None:
            raise click.UsageError("--ask needs the shape of the network: --widths and --tokens")
        plan = _plan(widths, ranks, tokens, **of_a_program)
        if plan_only:
            return write(PLAN, plan, as_json=as_json)
        result = _from_answers(ask, plan, timeout, work)
    else:
        result = _from_file(str(file), widths, ranks, tokens, memory, work)
    if output is not None:
        if result.weights is not None:
            weight_files.save_weights(result.weights, output)
        else:
            click.echo(f"no exact rational weights to write into {output}", err=True)
    answer = ANSWER if isinstance(result, map_recovery.Recovery) else OF_SOFTMAX
    return write(answer, result, "answer", as_json=as_json, holds=HOLDS[result.answer.value])


def _from_file(
    file: str,
    widths: tuple[int, ...] | None,
    ranks: tuple[int, ...] | None,
    tokens: int | None,
    memory: int,
    work: float,
) -> map_recovery.Recovery | softmax_recovery.SoftmaxRecovery:
    """Return what is found for the map or the jet in a file, or another shape that is asked about."""
    with progress_bar() as progress:
        progress("reading the file", 0, 1)
        try:
            content = _read(file)
            if jet_files.is_jet(content):
                return _from_jet(content, widths, ranks, tokens, work, progress)
            document = map_input.read_document(content)
            phi = map_input.map_of(document, map_input.shape_of(document, widths, ranks, tokens))
        except BadInput as error:
            raise type(error)(f"{'standard input' if file == '-' else file}: {error}") from error
        return membership.recover(phi, memory=memory, work=work, progress=progress)


def _from_jet(
    content: bytes,
    widths: tuple[int, ...] | None,
    ranks: tuple[int, ...] | None,
    tokens: int | None,
    work: float,
    progress: limits.Progress,
) -> softmax_recovery.SoftmaxRecovery:
    """Return what is found for a jet, or another shape that is asked about."""
    jet = jet_files.read_jet(content)
    shape = jet.architecture
    depth = shape.depth if widths is None else len(widths) - 1
    asked = replace(
        shape,
        widths=widths or shape.widths,
        attention_ranks=(ranks * depth if ranks and len(ranks) == 1 else ranks) or shape.attention_ranks,
        tokens=tokens or shape.tokens,
    )
    return jet_recovery.recover_from_jet(jet, asked, work=work, progress=progress)


def _plan(
    widths: tuple[int, ...],
    ranks: tuple[int, ...] | None,
    tokens: int,
    *,
    bound: Fraction | None,
    denominators: int | None,
    digits: int | None,
) -> query_plan.QueryPlan:
    """Return what a program will be asked; without ranks no matrix is too large for the shape."""
    shape = options.network_of(widths, ranks or (widths[0],), tokens, normalization="softmax")
    if bound is None:
        raise click.UsageError(
            "--ask needs --bound: without a bound of the entries of the virtual attention matrices no finite number of "
            "answers says anything of them"
        )
    if denominators is None and digits is None:
        raise click.UsageError("--ask needs --denominators, for exact weights, or --digits, for balls")
    return query_plan.query_plan(shape, bound=bound, denominators=denominators, digits=digits)


def _from_answers(
    program: str, plan: query_plan.QueryPlan, timeout: float | None, work: float
) -> softmax_recovery.SoftmaxRecovery:
    """Return what is found by asking a program, the plan being said before the first question."""
    click.echo(f"will ask at most {plan.queries} queries, for {plan.digits} digits behind the point", err=True)
    rows, seconds = plan.architecture.output_width, timeout or asked_program.DEFAULT_TIMEOUT
    with progress_bar() as progress, asked_program.AskedProgram(program, rows, seconds) as ask:
        return black_box.recover_from_answers(ask, plan, work=work, progress=progress)
