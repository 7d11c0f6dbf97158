"""`lightning-sym coefficient`: learning coefficients, exact or between two bounds."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from lightning_cli import options
from lightning_cli.numbers import Integer, NamedCoordinates, Size, SizeList
from lightning_cli.writing.fields import field, group, json_answer, natural, optional
from lightning_cli.writing.output import progress_bar, write, write_certificate
from lightning_cli.writing.shared_fields import NUMBER, PROOF, TRIED
from lightning_sym.errors import BadInput
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from lightning_sym.coefficients import at_weights, line
    from lightning_sym.coefficients import coefficient as coefficients
    from lightning_sym.coefficients import deep_linear as products
    from lightning_sym.coefficients import linear_attention as linear
    from lightning_sym.coefficients import one_head as heads
    from lightning_sym.coefficients import polynomials as ideals
    from lightning_sym.network import weight_files
    from lightning_sym.network.readers import bounds


MOST_FILES = 10_000
"""Files of a folder that are read."""


def files_in_order(folder: str) -> list[Path]:
    """Return the files of weights in a folder; `step_9` stands before `step_10`.

    Args:
        folder: folders inside it are left alone.

    Raises:
        BadInput: there are none, or more than are read, or the folder cannot be read.

    Example:
        >>> files_in_order("no such folder")
        Traceback (most recent call last):
        lightning_sym.errors.BadInput: a folder that can be read must be given, got no such folder
    """
    known = weight_files.SUFFIXES
    try:
        found = [path for path in Path(folder).iterdir() if path.suffix.lower() in known and path.is_file()]
    except OSError as error:
        raise BadInput(f"a folder that can be read must be given, got {folder}") from error
    if not 1 <= len(found) <= MOST_FILES:
        raise BadInput(
            f"a folder must hold from 1 to {MOST_FILES:,} files {', '.join(known)}, got {len(found):,} in {folder}"
        )
    return sorted(found, key=_in_order)


def _in_order(path: Path) -> list[tuple[int, int | str]]:
    """Return a name with its numbers compared as numbers."""
    parts = re.split(r"([0-9]{1,4000})", path.name)
    return [(1, int(part)) if place % 2 else (0, part) for place, part in enumerate(parts)]


COEFFICIENT = (
    field("lambda", optional(NUMBER), "the learning coefficient, null where the bounds differ", "value"),
    field("multiplicity", optional(natural(1)), "the order of the pole, null where it is not proved"),
    field("lower", NUMBER, "lambda is at least this"),
    field("upper", NUMBER, "lambda is at most this"),
    field("certified", bool, "whether the bounds meet"),
    field("proof", str, PROOF),
    field("about", str, "what it is the coefficient of"),
    field("ranks", {str: natural()}, "the numbers that the proof used, by name"),
    TRIED,
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

FILE_NAME = re.compile(r"[^\s,]*(?:\.[A-Za-z]\w*|[/\\][^\s,0-9][^\s,]*|[/\\])")
"""What is no polynomial, with an ending or in a folder."""

NO_CERTIFICATE = "a certificate is written of smaller sizes only, and of no product of matrices"

LARGEST_IDEAL = 2**20
"""Bytes of a file of polynomials."""


@click.command(
    "coefficient",
    epilog="""\b
Examples:
  lightning-sym coefficient examples/generic.json --tokens 2
  lightning-sym coefficient examples/generic.json --loss kl
  lightning-sym coefficient first.json last.json --steps 10
  lightning-sym coefficient checkpoints/ --tokens 2
  lightning-sym coefficient --of "x^2 - 1, x*y" --at x=1 --certificate coefficient.json
  lightning-sym coefficient --linear-attention 2,6
  lightning-sym coefficient --one-head 3,2,4 --teacher 1 --json
  lightning-sym coefficient --deep-linear 4,3,3,5 --rank 1
  lightning-sym coefficient --factors examples/factors.json

\b
Exit codes: 0 certified, 2 bad input, 3 only bounds.""",
)
@click.argument("files", type=click.Path(), nargs=-1)
@options.TOKENS_OR_TWO
@click.option("--steps", type=Size(), help="Of two files: in how many parts the line between them is cut.")
@click.option(
    "--loss", type=click.Choice(["squared", "kl"]), help="Of one file: squared error, or the divergence of softmax."
)
@click.option("--of", "ideal", metavar="IDEAL", help="Polynomials with commas between them, or a file of them.")
@click.option("--at", type=NamedCoordinates(), help="The point, where all of them are zero; what is not named is 0.")
@click.option("--linear-attention", type=SizeList(), metavar="V,E", help="Linear attention: words, and width.")
@click.option("--one-head", type=SizeList(), metavar="V,T,E", help="One softmax head: words, tokens, and width.")
@click.option("--deep-linear", type=SizeList(), metavar="W0,...,WL", help="A product of matrices: all widths.")
@click.option("--factors", metavar="FILE", help="A product of matrices W1, W2, ... at these ones, W1 applied first.")
@click.option("--rank", type=Integer(0), help="Of --deep-linear: the rank of the true map; 0 if not given.")
@click.option(
    "--teacher",
    type=SizeList(),
    metavar="E0",
    help="The width of a generic teacher; without it the truth is zero, at zero weights.",
)
@options.certificate("Write weights and multipliers, which prove both bounds of --of or of a model by its sizes,")
@options.FORM
@options.SEED_OF_POINTS
@options.MEMORY
@options.AT_MOST_WORK
@options.AS_JSON
def command(
    *,
    files: tuple[str, ...],
    steps: int | None,
    loss: str | None,
    ideal: str | None,
    at: dict[str, str] | None,
    linear_attention: tuple[int, ...] | None,
    one_head: tuple[int, ...] | None,
    deep_linear: tuple[int, ...] | None,
    factors: str | None,
    rank: int | None,
    teacher: tuple[int, ...] | None,
    certificate: str | None,
    as_json: bool,
    **asked: Any,
) -> int:
    """Give a learning coefficient, also called real log canonical threshold, with its multiplicity.

    Near a zero of a loss K the volume of K < e is, up to constants, e^lambda log(1/e)^(m-1). Answers are exact, or two
    bounds.

    With FILES: of the network with these weights, by its mean squared error against its own function. With two files
    and --steps: along the line between them; for one lightning layer also all weights of the line where the coefficient
    is another one. With a folder: at each weight file in it, by name.

    Without: of the squares of polynomials (--of), or of a model by its sizes (--linear-attention, --one-head,
    --deep-linear), or of a product of matrices at given ones (--factors).
    """
    models = {"--of": ideal, "--linear-attention": linear_attention, "--one-head": one_head}
    models |= {"--deep-linear": deep_linear, "--factors": factors}
    given = [name for name, value in models.items() if value is not None]
    said = " and ".join([*["FILES"] * bool(files), *given]) or "none"
    options.refuse(
        (len(given) + bool(files) != 1, f"give FILES of weights or one of {', '.join(models)}, got {said}"),
        (at is not None and ideal is None, "--at is a point of --of, which is not given"),
        (
            teacher is not None and linear_attention is None and one_head is None,
            "--teacher is of --linear-attention or --one-head, which are not given",
        ),
        (rank is not None and deep_linear is None, "--rank is of --deep-linear, which is not given"),
        (loss is not None and (len(files) != 1 or Path(files[0]).is_dir()), "--loss is of one FILE of weights"),
        (not files and steps is not None, "--steps is of two FILES, which are not given"),
        (
            files and certificate is not None,
            "--certificate is of --of or of a model by its sizes; that of weights is a proof by ranks",
        ),
    )
    if not files:
        for option in options.typed(["tokens", *asked["form"]]).values():
            raise click.UsageError(f"{option} is of FILES, which are not given")
        limits = {name: asked[name] for name in ("work", "memory")}
        (width,) = _sizes("--teacher", teacher, "E0") if teacher is not None else (None,)
        if ideal is not None:
            with progress_bar() as progress:
                found = ideals.polynomial_coefficient(_ideal(ideal), at, progress=progress, **limits)
        elif linear_attention is not None:
            words, own = _sizes(given[0], linear_attention, "V,E")
            found = linear.linear_attention_coefficient(words, own, width, **limits)
        elif factors is not None:
            with progress_bar() as progress:
                given_factors = weight_files.load_factors(factors)
                found = products.factorization_coefficient(given_factors, progress=progress, work=limits["work"])
        elif deep_linear is not None:
            found = products.deep_linear_coefficient(deep_linear, rank or 0)
        else:
            words, tokens, own = _sizes(given[0], one_head, "V,T,E")
            found = heads.one_head_coefficient(words, tokens, own, width, **limits)
        return _answer(found, certificate, as_json=as_json)
    form = asked.pop("form")
    find: Callable[..., coefficients.LearningCoefficient | line.CoefficientPath]
    if len(files) == 2 and steps is not None:
        one, other = (options.load_weights(file, **form) for file in files)
        find = partial(line.coefficients_between, one, other, steps=steps)
    elif len(files) != 1 or steps is not None:
        raise click.UsageError("give a FILE of weights, a FOLDER of weight files, or two files with --steps")
    elif Path(files[0]).is_dir():
        named = {path.name: options.load_weights(str(path), **form) for path in files_in_order(files[0])}
        find = partial(line.coefficients_of, named)
    else:
        find = partial(at_weights.learning_coefficient, options.load_weights(files[0], **form), loss=loss or "squared")
    with progress_bar() as progress:
        answer = find(progress=progress, **asked)
    return write(
        PATH if isinstance(answer, line.CoefficientPath) else ANSWER,
        answer,
        "coefficient",
        as_json=as_json,
        holds=answer.certified or None,
    )


def _answer(found: coefficients.LearningCoefficient, certificate: str | None, *, as_json: bool) -> int:
    """Write an answer, and its certificate where one is asked for."""
    if certificate is not None:
        if found.certificate is None:
            raise BadInput(NO_CERTIFICATE)
        write_certificate(certificate, found.certificate)
    return write(ANSWER, found, "coefficient", as_json=as_json, holds=found.certified or None)


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
    if not is_file and FILE_NAME.fullmatch(text):
        raise BadInput(f"--of must be polynomials, or a file of them that exists, got {text}")
    if not is_file:
        return text
    try:
        return bounds.read_whole(Path(text), LARGEST_IDEAL).decode()
    except UnicodeDecodeError as error:
        raise BadInput(f"{text}: it must be text in UTF-8") from error
