"""`lightning-sym circuits`: the heads of a checkpoint, and numbers by which a copy in disguise is found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lightning_cli import exit_codes, options
from lightning_cli.output_file import OutputFile

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightning_sym.checkpoints.bounded import Balls
    from lightning_sym.checkpoints.circuits import Circuit, Circuits
    from lightning_sym.checkpoints.fingerprint import Fingerprint
    from lightning_sym.checkpoints.fingerprint_comparison import FingerprintComparison
    from lightning_sym.checkpoints.model import Checkpoint, CheckpointForm
    from lightning_sym.limits import Progress

SCHEMA = "lightning-sym/circuits/1"
FINGERPRINT_SCHEMA = "lightning-sym/fingerprint/1"
COMPARISON_SCHEMA = "lightning-sym/fingerprint-comparison/1"


def _form(form: CheckpointForm) -> dict[str, Any]:
    from dataclasses import asdict
    from fractions import Fraction

    return {name: str(value) if isinstance(value, Fraction) else value for name, value in asdict(form).items()}


def _matrix(matrix: Circuit) -> dict[str, Any]:
    return {
        "rank": list(matrix.rank),
        "numerical": list(matrix.numerical),
        "frobenius": list(matrix.frobenius),
        "spectral": list(matrix.spectral),
        "nearest": None if matrix.nearest is None else list(matrix.nearest),
        "cosine": None if matrix.cosine is None else list(matrix.cosine),
    }


def circuits_document(found: Circuits, output: str | None) -> dict[str, Any]:
    """The table as JSON; numbers that are not exact are pairs of middle and radius."""
    conditions = found.conditions
    return {
        "schema": SCHEMA,
        "checkpoint": found.name,
        "network": _form(found.form),
        "heads": [{"layer": h.layer, "head": h.head, "qk": _matrix(h.qk), "ov": _matrix(h.ov)} for h in found.heads],
        "conditions": None
        if conditions is None
        else [
            {"name": c.name, "layer": c.layer, "holds": c.holds, "evidence": c.evidence} for c in conditions.conditions
        ],
        "theorem": None if conditions is None or conditions.theorem is None else str(conditions.theorem),
        "absent": list(found.absent),
        "output": output,
    }


def _balls(balls: Balls) -> dict[str, Any]:
    return {"middle": balls.middle.tolist(), "radius": balls.radius.tolist()}


def fingerprint_document(found: Fingerprint) -> dict[str, Any]:
    """All numbers of a fingerprint as JSON, each with its radius."""
    return {
        "schema": FINGERPRINT_SCHEMA,
        "checkpoint": found.name,
        "network": _form(found.form),
        "numbers": {name: _balls(balls) for name, balls in found.named()},
    }


def comparison_document(found: FingerprintComparison) -> dict[str, Any]:
    """What two fingerprints say, as JSON."""
    return {
        "schema": COMPARISON_SCHEMA,
        "first": found.first,
        "second": found.second,
        "answer": "different" if found.different else "identical" if found.identical else "no_difference_seen",
        "apart": list(found.apart),
        "distance": found.distance,
        "farthest": found.farthest,
    }


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
        _write(compared, comparison_document, as_json, write_answer, write_json)
        if compared.different:
            return exit_codes.NOT_AS_EXPECTED
        return exit_codes.AS_EXPECTED if compared.identical else exit_codes.UNDECIDED
    if fingerprint:
        _write(numbers, fingerprint_document, as_json, write_answer, write_json)
    else:
        _write(table, lambda found: circuits_document(found, output), as_json, write_answer, write_json)
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
