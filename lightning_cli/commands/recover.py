"""`lightning-sym recover`: the weights of a polynomial map, of a jet, or of a program that answers questions."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from lightning_cli import exit_codes, options, softmax_recover
from lightning_cli.numbers import Amount, Size
from lightning_cli.output_file import WEIGHTS, OutputFile
from lightning_cli.writing.fields import (
    TEXT,
    TRUTH,
    JsonAnswer,
    JsonField,
    by_name,
    constant,
    each,
    group,
    natural,
    one_of,
    optional,
)
from lightning_cli.writing.shared_fields import ANY_MATRIX, ARCHITECTURE

if TYPE_CHECKING:
    from fractions import Fraction

    from lightning_sym.network.architecture import Architecture

FIELD = group(
    JsonField("minimal_polynomial", TEXT),
    JsonField("root", constant("r"), of=lambda result: "r"),
    JsonField("between", each(TEXT, 2, 2), of="root_between"),
)

COEFFICIENT = group(
    JsonField("row", natural(1)),
    JsonField("token", natural(1)),
    JsonField("monomial", TEXT),
    JsonField("given", TEXT),
    JsonField("found", TEXT),
)

ANSWER = JsonAnswer(
    "recover",
    "`lightning-sym recover --json`.",
    (
        JsonField("architecture", ARCHITECTURE, "the network"),
        JsonField(
            "answer",
            one_of("weights", "none", "undecided"),
            "whether some network of the shape, with real weights, has this function",
            "answer.value",
        ),
        JsonField(
            "weights",
            optional(by_name(ANY_MATRIX)),
            "matrices by name; entries are rational numbers, or polynomials in the root of the field",
            "matrices",
        ),
        JsonField(
            "field",
            optional(FIELD),
            "the number field of the weights; null for the rationals",
            lambda result: None if None in (result.minimal_polynomial, result.root_between) else result,
        ),
        JsonField("reasons", each(TEXT), "what fails, a line each"),
        JsonField(
            "coefficient",
            optional(COEFFICIENT),
            "a coefficient that is not what it must be, where one shows the answer",
            "difference",
        ),
        JsonField(
            "complex_weights", optional(TRUTH), "where there are no real weights: whether there are complex ones"
        ),
    ),
)

ANSWERS = (ANSWER, softmax_recover.ANSWER, softmax_recover.PLAN)


def _read(file: str) -> bytes:
    from pathlib import Path

    from lightning_sym.errors import FileFormatError
    from lightning_sym.network.readers.bounds import LARGEST_FILE, read_whole

    if file != "-":
        return read_whole(Path(file))
    content = sys.stdin.buffer.read(LARGEST_FILE + 1)
    if not content.strip():
        raise FileFormatError("it must not be empty")
    return content


@click.command(
    "recover",
    epilog="""\b
Examples:
  lightning-sym phi --weights weights.json --tokens 2 --json | lightning-sym recover -
  lightning-sym recover map.json --ranks 1 --output weights.json
  lightning-sym recover jet.json
  lightning-sym recover --ask "python program.py" --widths 2,2,1 --tokens 2 --bound 4 --denominators 4

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
    type=softmax_recover.Rational(),
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
@options.widths(required=False)
@options.ranks(required=False)
@options.tokens_option(required=False)
@click.option(
    "-o",
    "--output",
    type=OutputFile("weights", WEIGHTS),
    metavar="FILE",
    help="Write the weights, if they are rational, into FILE.",
)
@options.memory
@options.work
@options.as_json
def command(
    file: str | None,
    ask: str | None,
    plan_only: bool,
    bound: Fraction | None,
    denominators: int | None,
    digits: int | None,
    timeout: float | None,
    widths: tuple[int, ...] | None,
    ranks: tuple[int, ...] | None,
    tokens: int | None,
    output: str | None,
    memory: float,
    work: float,
    as_json: bool,
) -> int:
    """Decide whether a map, a jet or a black box is the function of some network of a shape, and give its weights.

    FILE, or - for standard input, holds the map as `lightning-sym phi --json` prints it, or as an object with
    "outputs" or "coefficients". Ranks and inner widths may be others than those in the file: the question is whether
    some network of the shape asked about has this function, with real weights. Of lightning attention with one head and
    nothing added: other networks are refused by name.

    FILE may also hold a jet, as save_jet writes it: Taylor coefficients of a softmax network with one head, no mask and
    no skip connections, of two tokens or more. With --ask such a network is recovered from the answers of a program.
    """
    from lightning_cli.writing.output import progress_bar
    from lightning_sym.errors import BadInput
    from lightning_sym.varieties.jet_files import is_jet
    from lightning_sym.varieties.map_input import map_of, read_document, shape_of
    from lightning_sym.varieties.membership import recover

    limit = options.memory_bytes(memory)
    of_a_program = {
        "plan": plan_only or None, "bound": bound, "denominators": denominators, "digits": digits, "timeout": timeout,
    }  # fmt: skip
    given = [f"--{name}" for name, value in of_a_program.items() if value is not None]
    if ask is None and given:
        raise click.UsageError(f"{given[0]} belongs to --ask")
    if (file is None) == (ask is None):
        raise click.UsageError("give a FILE, or --ask PROGRAM" if ask is None else "give a FILE or --ask, not both")
    if ask is not None:
        shape = softmax_recover.shape_asked(widths, ranks, tokens)
        return _asked(ask, shape, {**of_a_program, "work": work}, output, as_json)
    found = None
    with progress_bar() as progress:
        progress("reading the file", 0, 1)
        try:
            content = _read(str(file))
            if is_jet(content):
                found = softmax_recover.from_jet(content, widths, ranks, tokens, work, progress)
            else:
                document = read_document(content)
                shape = shape_of(document, widths, ranks, tokens)
                phi = map_of(document, shape)
        except BadInput as error:
            raise type(error)(f"{'standard input' if file == '-' else file}: {error}") from error
        if found is None:
            result = recover(phi, memory=limit, work=work, progress=progress)
    if found is not None:
        return softmax_recover.write(found, softmax_recover.ANSWER.document(found), output, as_json)
    return softmax_recover.write(result, ANSWER.document(result), output, as_json)


def _asked(program: str, shape: Architecture, said: dict[str, Any], output: str | None, as_json: bool) -> int:
    """`recover --ask`: the plan, and unless nothing else is wanted the answer."""
    from lightning_cli.writing.output import write_answer, write_json
    from lightning_sym.varieties.query_plan import query_plan

    if said["bound"] is None:
        raise click.UsageError(
            "--ask needs --bound: without a bound of the entries of the virtual attention matrices no finite number of "
            "answers says anything of them"
        )
    if said["denominators"] is None and said["digits"] is None:
        raise click.UsageError("--ask needs --denominators, for exact weights, or --digits, for balls")
    plan = query_plan(shape, bound=said["bound"], denominators=said["denominators"], digits=said["digits"])
    if not said["plan"]:
        found = softmax_recover.from_answers(program, plan, said["timeout"], said["work"])
        return softmax_recover.write(found, softmax_recover.ANSWER.document(found), output, as_json)
    if as_json:
        write_json(softmax_recover.PLAN.document(plan))
    else:
        write_answer(plan)
    return exit_codes.AS_EXPECTED
