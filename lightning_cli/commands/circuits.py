"""`lightning-sym circuits`: the heads of a checkpoint, and numbers by which a copy in disguise is found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lightning_cli import exit_codes, options
from lightning_cli.output_file import OutputFile
from lightning_cli.writing.fields import (
    FLOAT,
    SPELLED,
    TEXT,
    TRUTH,
    JsonAnswer,
    JsonField,
    JsonKind,
    by_name,
    each,
    group,
    natural,
    one_of,
    optional,
)
from lightning_cli.writing.shared_fields import CONDITION

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightning_sym.checkpoints.circuits import Circuits
    from lightning_sym.checkpoints.fingerprint import Fingerprint
    from lightning_sym.checkpoints.fingerprint_comparison import FingerprintComparison
    from lightning_sym.checkpoints.model import Checkpoint
    from lightning_sym.limits import Progress

FORM = group(
    JsonField("family", TEXT, "whose layout the files have"),
    JsonField("layers", natural(1), "number of layers"),
    JsonField("width", natural(1), "of the residual stream"),
    JsonField("heads", natural(1), "query heads of a layer"),
    JsonField("groups", natural(1), "heads of keys and values of a layer"),
    JsonField("head_width", natural(1), "of queries, keys and values"),
    JsonField("inner", natural(1), "neurons of an MLP"),
    JsonField("vocabulary", natural(1), "number of token ids"),
    JsonField("context", natural(1), "largest number of tokens"),
    JsonField("norm", one_of("layer", "rms"), "LayerNorm or RMSNorm"),
    JsonField("epsilon", SPELLED, "of the norms, exactly"),
    JsonField("theta", optional(SPELLED), "base of the rotary frequencies, null where positions are learned"),
    JsonField("activation", one_of("gelu", "gelu_new", "silu"), "of the MLP"),
    JsonField("tied", TRUTH, "whether the unembedding is the embedding"),
)

BOUNDS = each(natural(), 2, 2)

BALL = each(FLOAT, 2, 2)

CIRCUIT = group(
    JsonField("rank", BOUNDS, "bounds of the rank over the rationals"),
    JsonField("numerical", BOUNDS, "bounds of the number of singular values above a hundredth of the largest"),
    JsonField("frobenius", BALL, "norm, and its radius"),
    JsonField("spectral", BALL, "the largest singular value, and its radius"),
    JsonField(
        "nearest",
        optional(BOUNDS),
        "layer and number of the other head with the largest cosine, null where there is none",
    ),
    JsonField("cosine", optional(BALL), "of the two, and its radius"),
)

HEAD = group(
    JsonField("layer", natural(), "from 0"),
    JsonField("head", natural(), "query head of the layer, from 0"),
    JsonField("qk", CIRCUIT, "the form of its scores; with rotary positions at distance 0"),
    JsonField("ov", CIRCUIT, "the map that it writes with"),
)


def _theorem(found: Circuits) -> str | None:
    conditions = found.conditions
    return None if conditions is None or conditions.theorem is None else str(conditions.theorem)


ANSWER = JsonAnswer(
    "circuits",
    "`lightning-sym circuits --json`.",
    (
        JsonField("checkpoint", TEXT, "how it was called", "name"),
        JsonField("network", FORM, "the network", "form"),
        JsonField("heads", each(HEAD), "layer by layer"),
        JsonField(
            "conditions",
            optional(each(CONDITION)),
            "of the theorems, tested on the attention alone",
            lambda found: None if found.conditions is None else found.conditions.conditions,
        ),
        JsonField(
            "theorem",
            optional(TEXT),
            "what holds of the attention alone, null where no theorem is certified",
            _theorem,
        ),
        JsonField("absent", each(TEXT), "what the network has and the theorems do not know"),
        JsonField("output", optional(TEXT), "the picture that was drawn, null if none was asked for"),
    ),
)

LISTED = each(JsonKind({"type": ["number", "array"], "items": {"type": "number"}}))

NUMBERS = JsonKind(LISTED.schema, lambda array: array.tolist())

BALLS = group(
    JsonField("middle", NUMBERS, "of each number"),
    JsonField("radius", NUMBERS, "how far it is from the middle at most"),
)

FINGERPRINT = JsonAnswer(
    "fingerprint",
    "`lightning-sym circuits --fingerprint --json`.",
    (
        JsonField("checkpoint", TEXT, "how it was called", "name"),
        JsonField("network", FORM, "the network", "form"),
        JsonField(
            "numbers",
            by_name(BALLS),
            "by place; a list a head, or one list",
            lambda found: dict(found.named()),
        ),
    ),
)


def _said(found: FingerprintComparison) -> str:
    return "different" if found.different else "identical" if found.identical else "no_difference_seen"


COMPARISON = JsonAnswer(
    "fingerprint-comparison",
    "`lightning-sym circuits --against --json`.",
    (
        JsonField("first", TEXT, "how it was called"),
        JsonField("second", TEXT, "how it was called"),
        JsonField(
            "answer",
            one_of("different", "identical", "no_difference_seen"),
            "different: proved by balls, no listed symmetry takes one to the other; identical: every tensor, byte by "
            "byte; no difference seen proves nothing",
            _said,
        ),
        JsonField("apart", each(TEXT), "places that are proved different"),
        JsonField(
            "distance",
            optional(FLOAT),
            "largest difference of two numbers as a share of the largest of their list, null where the networks cannot "
            "be compared",
        ),
        JsonField("farthest", TEXT, "where that is"),
    ),
)

ANSWERS = (ANSWER, FINGERPRINT, COMPARISON)


@click.command(
    "circuits",
    epilog="""\b
Examples:
  lightning-sym circuits model/
  lightning-sym circuits model/ --output heads.png
  lightning-sym circuits model/ --fingerprint
  lightning-sym circuits model/ --against copy/

Exit codes: 0 the table or the numbers; with --against 0 every tensor is identical, 1 different,
3 no difference seen; 2 bad input.""",
)
@click.argument("checkpoint", type=click.Path())
@click.option("--fingerprint", is_flag=True, help="Give the numbers that no symmetry changes.")
@click.option(
    "--against",
    type=click.Path(),
    metavar="CHECKPOINT",
    help="Compare these numbers with those of another checkpoint.",
)
@click.option(
    "--output",
    type=OutputFile("the picture"),
    metavar="PICTURE",
    help="Draw the heads, .png, .svg or .pdf; needs the extra `plot`.",
)
@options.memory
@options.as_json
def command(
    checkpoint: str, fingerprint: bool, against: str | None, output: str | None, memory: float, as_json: bool
) -> int:
    """Show the heads of a checkpoint as circuits, or find a copy in disguise.

    CHECKPOINT is a folder as the transformers library writes it, or a .gguf file. Of each head the table has the form
    of its scores (QK) and the map that it writes with (OV): exact ranks, norms, and the head that is most like it; then
    the conditions of the theorems that the attention fulfils by itself. The fingerprint is made of numbers that no
    symmetry of the weights changes, with error bounds: numbers that are apart prove that no known symmetry takes one
    checkpoint to the other; numbers that agree prove nothing.
    """
    from lightning_cli.writing.output import progress_bar, write_answer, write_json
    from lightning_sym.errors import BadInput

    limit = options.memory_bytes(memory)
    if output is not None and (fingerprint or against is not None):
        raise BadInput("a picture is drawn of the table: --output goes without --fingerprint and --against")
    with progress_bar() as progress:
        if against is not None:
            compared = _compared(checkpoint, against, limit, progress)
        elif fingerprint:
            numbers = _fingerprint(checkpoint, limit, progress)
        else:
            table = _table(checkpoint, output, limit, progress)
    if against is not None:
        _write(compared, COMPARISON.document, as_json, write_answer, write_json)
        if compared.different:
            return exit_codes.NOT_AS_EXPECTED
        return exit_codes.AS_EXPECTED if compared.identical else exit_codes.UNDECIDED
    if fingerprint:
        _write(numbers, FINGERPRINT.document, as_json, write_answer, write_json)
    else:
        _write(table, lambda found: ANSWER.document(found, output=output), as_json, write_answer, write_json)
        if output is not None and not as_json:
            click.echo(f"picture: {output}", err=True)
    return exit_codes.AS_EXPECTED


def _write(
    found: Any,
    document: Callable[[Any], dict[str, Any]],
    as_json: bool,
    write_answer: Callable[[Any], None],
    write_json: Callable[[dict[str, Any]], None],
) -> None:
    if as_json:
        write_json(document(found))
    else:
        write_answer(found)


def _open(path: str) -> Checkpoint:
    from lightning_sym.checkpoints.folders import open_checkpoint

    return open_checkpoint(path)


def _fingerprint(path: str, limit: int, progress: Progress) -> Fingerprint:
    from lightning_sym.checkpoints.fingerprint import fingerprint

    return fingerprint(_open(path), memory=limit, progress=progress)


def _compared(first: str, second: str, limit: int, progress: Progress) -> FingerprintComparison:
    from lightning_sym.checkpoints.fingerprint import fingerprint
    from lightning_sym.checkpoints.fingerprint_comparison import compare_fingerprints

    opened = [_open(path) for path in (first, second)]  # what is wrong with either is said at once
    found = [fingerprint(one, memory=limit, progress=progress) for one in opened]
    return compare_fingerprints(*found)


def _table(path: str, output: str | None, limit: int, progress: Progress) -> Circuits:
    from lightning_cli.pictures.drawing import require_output, write_picture
    from lightning_cli.pictures.heads import picture
    from lightning_sym.checkpoints.circuits import circuits

    target = None if output is None else require_output(output)
    found = circuits(_open(path), memory=limit, progress=progress)
    if target is not None:
        write_picture(target, picture(found).image(target.suffix.lower()[1:]))
    return found
