"""`lightning-sym same`: do two networks compute the same function?"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from lightning_cli import exit_codes, options
from lightning_cli.output_file import OutputFile
from lightning_cli.writing.output import exact

if TYPE_CHECKING:
    from lightning_sym.fibers.comparison import Comparison
    from lightning_sym.fibers.stream_symmetry import StreamSymmetry

SCHEMA = "lightning-sym/same/1"

COLOURS = {"same": "green", "different": "red", "undecided": "yellow"}


def _streams(found: StreamSymmetry) -> dict[str, Any]:
    """Which heads go together, and the group element."""
    element: dict[str, Any] | None = None
    if found.between is not None:
        groups = {"between": found.between, "query_key": found.query_key, "value_output": found.value_output}
        element = {name: {str(i): exact(m) for i, m in (group or {}).items()} for name, group in groups.items()}
        element |= {
            "scales": {str(i): str(x) for i, x in (found.scales or {}).items()},
            "heads": {str(i): list(order) for i, order in (found.heads or {}).items()},
        }
    classes = [
        [
            {
                side: [{"head": name, "factor": str(factor)} for name, factor in members]
                for side, members in zip(("first", "second"), c, strict=True)
            }
            for c in layer
        ]
        for layer in found.layers
    ]
    return {"layers": classes, "arranged": found.arranged, "group_element": element}


def _entry(number: Any) -> Any:
    """Integers as integers, other exact numbers as text, balls as midpoint and radius."""
    from lightning_sym.rings.ball_matrices import DecimalBall

    if isinstance(number, DecimalBall):
        midpoint, radius = number.written()
        return {"midpoint": midpoint, "radius": radius}
    return int(number) if number.denominator == 1 else str(number)


def as_document(result: Comparison, tokens: int, network: str) -> dict[str, Any]:
    """The result as JSON; matrices are rows of strings such as `-3/4`."""
    symmetry = None
    if (found := result.connection) is not None:
        group = None
        if found.query_key is not None and found.between is not None and found.scales is not None:
            group = {
                "query_key": {str(i): exact(c) for i, c in found.query_key.items()},
                "between": {str(i): exact(g) for i, g in found.between.items()},
                "scales": {str(i): str(s) for i, s in found.scales.items()},
            }
        symmetry = {
            "factors": [str(factor) for factor in found.factors],
            "value_factor": str(found.value_factor),
            "exchanged": ("exchange", len(found.factors)) in found.moves,
            "moves": [
                {"name": move.name.value, "layer": move.layer, "description": move.described(len(found.factors))}
                for move in found.moves
            ],
            "symmetric_parts": found.symmetric_parts,
            "virtual_weights": {
                "attention": [exact(a) for a in found.virtual.attention],
                "value": exact(found.virtual.value),
            },
            "moved": None if found.moved is None else {name: exact(m) for name, m in found.moved.named().items()},
            "group_element": group,
        }
    balls = result.entry is not None
    outputs = [[[_entry(x) for x in row] for row in y] if balls else exact(y) for y in result.outputs or ()]
    return {
        "schema": SCHEMA,
        "network": network,
        "tokens": tokens,
        "answer": result.answer.value,
        "reason": result.reason.value,
        "because": result.because,
        "differing": result.differing,
        "symmetry": symmetry,
        "streams": None if result.symmetry is None else _streams(result.symmetry),
        "input": None if result.input is None else [[_entry(x) for x in row] for row in result.input],
        "outputs": None if result.outputs is None else outputs,
        "apart": None if result.entry is None else {"row": result.entry[0], "token": result.entry[1]},
        "precision": result.precision,
        "evaluations": result.evaluations,
        "error_bound": str(result.error_bound) if result.reason.value == "evaluations" else None,
        "distance": None if result.distance is None else str(result.distance),
        "prefix": result.prefix,
    }


@click.command(
    "same",
    epilog="""\b
Examples:
  lightning-sym same first.json second.json --tokens 3
  lightning-sym same first.json second.json --certificate answer.json
  lightning-sym same model/ rewritten/ --output symmetry.json
  lightning-sym same model.gguf rewritten.gguf --exact --ids 1,2,3

Exit codes: 0 same (checkpoints: also up to rounding, without --exact), 1 different (most often with an input that
shows it), 2 bad input, 3 undecided.""",
)
@click.argument("first", type=click.Path())
@click.argument("second", type=click.Path())
@options.tokens_or_two
@options.weight_form
@options.seed
@options.work
@click.option(
    "--certificate",
    type=OutputFile("a certificate"),
    metavar="FILE",
    help="Write what proves the answer into FILE, for `lightning-sym verify`.",
)
@options.checkpoint_pair
@options.as_json
def command(first: str, second: str, as_json: bool, **given: Any) -> int:
    """Decide whether two networks compute the same function.

    FIRST and SECOND are files of exact weights (.json, .npz or .safetensors) of one form: softmax or not, masked or
    not, with skip connections or not. Depths, inner widths and numbers of heads may differ. The answer comes with
    what proves it: the symmetry, an input, or a theorem.

    Or they are checkpoints: folders as the transformers library writes them, or .gguf files. Then the answer is the
    symmetry by which one is a rewriting of the other, exactly or up to rounding, or logits that are proved apart.
    """
    from lightning_cli.writing import checkpoint_answer

    kinds = [checkpoint_answer.is_checkpoint(path) for path in (first, second)]
    options.require_kind(any(kinds))
    if any(kinds) and not all(kinds):
        from lightning_sym.errors import BadInput

        raise BadInput(f"both must be files of weights, or both checkpoints (folders, .gguf), got {first} and {second}")
    if any(kinds):
        asked = {name: given[name] for name in options.OF_CHECKPOINTS}
        return checkpoint_answer.compare(first, second, **asked, as_json=as_json)
    return _same_weights(first, second, as_json, **{k: v for k, v in given.items() if k not in options.OF_CHECKPOINTS})


def _same_weights(
    first: str,
    second: str,
    as_json: bool,
    *,
    tokens: int,
    normalization: str | None,
    mask: str | None,
    skip: bool,
    seed: int,
    work: float,
    certificate: str | None,
) -> int:
    """Two files of exact weights."""
    from lightning_cli.writing.output import progress_bar, write_answer, write_json
    from lightning_sym.fibers.same_function import Answer, same_function

    form: Any = {"normalization": normalization, "mask": mask, "skip": skip}
    weights = options.load_weights(first, **form), options.load_weights(second, **form)
    if certificate is not None:
        from lightning_sym.certificates.files import write_certificate
        from lightning_sym.certificates.same_function import same_certificate

    with progress_bar() as progress:
        result = same_function(*weights, tokens, seed=seed, work=work, progress=progress)
    network = options.network_line(*(w.architecture(tokens) for w in weights))
    if certificate is not None:
        write_certificate(certificate, same_certificate(result, *weights, tokens))
        click.echo(f"certificate: {certificate}", err=True)
    sys.set_int_max_str_digits(0)  # outputs of deep networks are long numbers, and exact
    if as_json:
        write_json(as_document(result, tokens, network))
    else:
        write_answer(result, function=COLOURS[result.answer.value])
    return {
        Answer.SAME: exit_codes.AS_EXPECTED,
        Answer.DIFFERENT: exit_codes.NOT_AS_EXPECTED,
        Answer.UNDECIDED: exit_codes.UNDECIDED,
    }[result.answer]
