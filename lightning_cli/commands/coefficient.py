"""`lightning-sym coefficient`: learning coefficients, exact or between two bounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lightning_cli import options
from lightning_cli.numbers import Size
from lightning_cli.writing.fields import field, group, json_answer, natural, optional
from lightning_cli.writing.output import progress_bar, write
from lightning_cli.writing.shared_fields import NUMBER, PROOF
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from lightning_sym.coefficients import at_weights, line, path_files

COEFFICIENT = (
    field("lambda", optional(NUMBER), "the learning coefficient, null where the bounds differ", "value"),
    field("multiplicity", optional(natural(1)), "the order of the pole, null where it is not proved"),
    field("lower", NUMBER, "lambda is at least this"),
    field("upper", NUMBER, "lambda is at most this"),
    field("certified", bool, "whether the bounds meet"),
    field("proof", str, PROOF),
    field("about", str, "what it is the coefficient of"),
    field("ranks", {str: natural()}, "the numbers that the proof used, by name"),
)

ANSWER = json_answer("coefficient", *COEFFICIENT)

POINT = group(
    field("place", str, "the number s, an interval that it lies in, or the name of a file"),
    field("coefficient", group(*COEFFICIENT)),
)

PATH = json_answer(
    "coefficient-path",
    field("generic", optional(group(*COEFFICIENT)), "at all weights of a line but those of drops, null if not known"),
    field("drops", [POINT], "all weights of a line with another coefficient, where one is known in general"),
    field("points", [POINT], "the weights that were asked for"),
    said="`lightning-sym coefficient A B --steps N --json`, `lightning-sym coefficient FOLDER --json`.",
    title="coefficients along a path",
)

ANSWERS = (ANSWER, PATH)


@click.command(
    "coefficient",
    epilog="""\b
Examples:
  lightning-sym coefficient weights.json --tokens 2
  lightning-sym coefficient first.json last.json --steps 10
  lightning-sym coefficient checkpoints/ --tokens 2

Exit codes: 0 certified, 2 bad input, 3 only bounds.""",
)
@click.argument("files", type=click.Path(), nargs=-1)
@options.TOKENS_OR_TWO
@click.option("--steps", type=Size(), help="Of two files: in how many parts the line between them is cut.")
@options.FORM
@options.SEED_OF_POINTS
@options.MEMORY
@options.AT_MOST_WORK
@options.AS_JSON
def command(*, files: tuple[str, ...], steps: int | None, as_json: bool, **asked: Any) -> int:
    """Give the learning coefficient of the network with the weights in FILES, and its multiplicity.

    The volume of the weights near these whose mean squared error against their own function is below e goes like
    e^lambda log(1/e)^(m-1). Exact for a lightning layer with one head at almost every weights, and for networks
    wherever their circuits are seen up to symmetries; elsewhere two bounds.

    With two files and --steps: along the line between them; for one lightning layer also all weights of the line where
    the coefficient is another one. With a folder: at each weight file in it, by name.
    """
    if len(files) == 2 and steps is not None:
        return _along_line(*files, steps, as_json=as_json, **asked)
    if len(files) != 1 or steps is not None:
        raise click.UsageError("give a FILE of weights, a FOLDER of weight files, or two files with --steps")
    if Path(files[0]).is_dir():
        return _along_folder(files[0], as_json=as_json, **asked)
    return _at_weights(files[0], as_json=as_json, **asked)


def _at_weights(file: str, *, form: dict[str, Any], as_json: bool, **asked: Any) -> int:
    """Answer for the weights of one file."""
    weights = options.load_weights(file, **form)
    with progress_bar() as progress:
        found = at_weights.learning_coefficient(weights, progress=progress, **asked)
    return write(ANSWER, found, "coefficient", as_json=as_json, holds=found.certified or None)


def _along_line(first: str, last: str, steps: int, *, form: dict[str, Any], as_json: bool, **asked: Any) -> int:
    """Answer for the line between the weights of two files."""
    one, other = (options.load_weights(file, **form) for file in (first, last))
    with progress_bar() as progress:
        found = line.coefficients_between(one, other, steps=steps, progress=progress, **asked)
    return write(PATH, found, as_json=as_json, holds=found.certified or None)


def _along_folder(folder: str, *, form: dict[str, Any], as_json: bool, **asked: Any) -> int:
    """Answer for each weight file of a folder."""
    named = {path.name: options.load_weights(str(path), **form) for path in path_files.weight_files(folder)}
    with progress_bar() as progress:
        found = line.coefficients_of(named, progress=progress, **asked)
    return write(PATH, found, as_json=as_json, holds=found.certified or None)
