"""`lightning-sym same`: do two networks compute the same function?"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from lightning_cli import exit_codes, options
from lightning_cli.checkpoint_options import OF_CHECKPOINTS, is_checkpoint
from lightning_cli.writing.checkpoint_answer import CHECKPOINTS, HOLDS
from lightning_cli.writing.fields import (
    SPELLED,
    each,
    either,
    field,
    group,
    in_order,
    json_answer,
    natural,
    one_of,
    optional,
)
from lightning_cli.writing.output import progress_bar, write, write_answer, write_certificate
from lightning_cli.writing.shared_fields import MATRICES, MATRIX, NUMBER, TRIED, VIRTUAL_WEIGHTS, exact
from lightning_sym.errors import BadInput
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    import fractions

    from lightning_cli.pictures import distances as pictures
    from lightning_cli.pictures import drawing
    from lightning_sym.certificates import same_function as certificates
    from lightning_sym.checkpoints import distances as measuring
    from lightning_sym.checkpoints import folders, model, same_checkpoints, symmetry_files, tokenizers
    from lightning_sym.fibers import comparison, connection, same_function
    from lightning_sym.network import architecture as architectures
    from lightning_sym.network import weights as known
    from lightning_sym.rings import ball_matrices
    from lightning_sym.whole_models import apart as theorems

HEAD = in_order(field("head", str, "layer and head, such as 1.2; merged ones with + between"), field("factor", NUMBER))

SIDES = in_order(field("first", [HEAD]), field("second", [HEAD]))


def _named(name: str) -> Callable[[object], object]:
    """Return where a part of a group element is, by layer; it is empty where there is none."""
    return lambda found: getattr(found, name) or {}


STREAM_ELEMENT = group(
    field("between", MATRICES),
    field("query_key", MATRICES, of=_named("query_key")),
    field("value_output", MATRICES, of=_named("value_output")),
    field("scales", {str: NUMBER}, of=_named("scales")),
    field(
        "heads",
        {str: [natural(1)]},
        "by layer, the head of the first network that comes first, second, ...",
        _named("heads"),
    ),
)

STREAMS = group(
    field("layers", [[SIDES]], "by layer, classes of heads with one pattern up to a factor"),
    field("arranged", bool, "whether heads were merged, left out or moved to earlier layers first"),
    field("group_element", optional(STREAM_ELEMENT), of=lambda found: None if found.between is None else found),
)

MOVE = in_order(field("name", str), field("layer", natural(1)), field("description", str))


def _moves(found: connection.Connection) -> list[tuple[str, int, str]]:
    """Return name, layer and description of each move."""
    return [(move.name.value, move.layer, move.described(len(found.factors))) for move in found.moves]


PLAIN_ELEMENT = group(field("query_key", MATRICES), field("between", MATRICES), field("scales", {str: NUMBER}))

SYMMETRY = group(
    field("factors", [NUMBER]),
    field("value_factor", NUMBER),
    field("exchanged", bool, of=lambda found: ("exchange", len(found.factors)) in found.moves),
    field("moves", [MOVE], of=_moves),
    field("symmetric_parts", bool),
    field("virtual_weights", VIRTUAL_WEIGHTS, of="virtual"),
    field("moved", optional(MATRICES), of=lambda found: None if found.moved is None else found.moved.numbers()),
    field(
        "group_element",
        optional(PLAIN_ELEMENT),
        of=lambda found: None if None in (found.query_key, found.between, found.scales) else found,
    ),
)

BALL = group(field("midpoint", str, "a decimal number, exact"), field("radius", str, "likewise"))

BALLS = [[BALL]]


def _entry(number: fractions.Fraction | ball_matrices.DecimalBall) -> int | str | dict[str, str]:
    """Return integers as integers, other exact numbers as text, balls as midpoint and radius."""
    if isinstance(number, ball_matrices.DecimalBall):
        return dict(zip(("midpoint", "radius"), number.written(), strict=True))
    return int(number) if number.denominator == 1 else str(number)


def _outputs(result: comparison.Comparison) -> list[list[list[Any]]] | None:
    """Return the two outputs, spelled out: exact, or balls."""
    if result.outputs is None or result.entry is None:
        return None if result.outputs is None else list(map(exact, result.outputs))
    return [[[_entry(x) for x in row] for row in y] for y in result.outputs]


REASONS = (
    "identical", "symmetry", "streams", "coefficients", "zero", "degree", "input", "balls", "visible", "one layer",
    "words", "determined", "evaluations", "agreement", "tensors",
)  # fmt: skip

ANSWER = json_answer(
    "same",
    field("network", str, "in words, the kind of attention first"),
    field("tokens", natural(1), "t"),
    field("answer", one_of("same", "different", "undecided"), "the answer", "answer.value"),
    field("reason", one_of(*REASONS), "what shows it", "reason.value"),
    field("because", str, "the same in a sentence, with the theorem that is used"),
    field(
        "differing",
        optional(str),
        "softmax, different: the first virtual weight that the functions show and do not share, such as A~2",
    ),
    field(
        "symmetry", optional(SYMMETRY), "plain lightning networks: how one network is mapped to the other", "connection"
    ),
    field(
        "streams",
        optional(STREAMS),
        "streams that move together: which heads have one pattern, and the group element that maps the first "
        "network to the second",
        "symmetry",
    ),
    field("input", optional([[either(int, NUMBER, written=_entry)]]), "where they differ"),
    field(
        "outputs",
        optional(each(either(MATRIX, BALLS), 2, 2)),
        "the two outputs there: exact, or balls that contain them",
        _outputs,
    ),
    field(
        "apart",
        optional(in_order(field("row", natural(1)), field("token", natural(1)))),
        "where two balls of the outputs do not meet",
        "entry",
    ),
    field("precision", optional(natural(2)), "bits that balls were computed with"),
    field(
        "evaluations",
        natural(),
        "evaluations at random inputs, all in agreement; exact ones, or for agreement by balls",
    ),
    field(
        "error_bound",
        optional(str),
        "a bound for the probability that different functions agree so often",
        lambda result: str(result.error_bound) if result.reason.value == "evaluations" else None,
    ),
    field("distance", optional(SPELLED), "undecided: outputs at these inputs are no farther apart"),
    field(
        "prefix",
        optional(natural(1)),
        "with a mask, and too many tokens: inputs and outputs are those of the first so many tokens",
    ),
    field(
        "stream",
        optional(MATRICES),
        "lightning, layers that do the same on their streams: by space, the matrix that takes the first stream to the "
        "second, where all of the first is reached",
    ),
    TRIED,
)

ANSWERS = (ANSWER, CHECKPOINTS)


@click.command(
    "same",
    epilog="""\b
Examples:
  lightning-sym same examples/rank_one.json examples/rank_one_swapped.json --tokens 3
  lightning-sym same examples/generic.json examples/generic_rescaled.json --certificate answer.json
  lightning-sym same examples/checkpoints/model examples/checkpoints/rewritten --output symmetry.json
  lightning-sym same model.gguf rewritten.gguf --exact --ids 1,2,3
  lightning-sym same model/ trained/ --layout-b megatron
  lightning-sym same base/ merged/ --adapter lora/
  lightning-sym same base/ tuned/ --distances --picture distances.svg
  lightning-sym same base/ other/ --tokenizer-a base/tokenizer.json --tokenizer-b other/tokenizer.json
  lightning-sym same large/ rewritten/ --scheduler tcp://host:8786

Exit codes: 0 same (checkpoints: also up to rounding, without --exact), 1 different (most often with an input that
shows it), 2 bad input, 3 undecided.""",
)
@click.argument("first", type=click.Path())
@click.argument("second", type=click.Path())
@options.TOKENS_OR_TWO
@options.FORM
@options.SEED
@options.WORK_OF_SAME
@options.certificate("Write what proves the answer")
@OF_CHECKPOINTS
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Checkpoints: a Dask scheduler whose workers look at the layers, such as tcp://host:8786.",
)
@options.AS_JSON
def command(
    *,
    first: str,
    second: str,
    as_json: bool,
    work: float,
    of_checkpoints: dict[str, Any],
    scheduler: str | None,
    form: options.FormOptions,
    **of_weights: Any,
) -> int:
    """Decide whether two networks compute the same function.

    FIRST and SECOND are files of exact weights (.json, .npz or .safetensors) of one form: softmax or not, masked or
    not, with skip connections or not. Depths, inner widths and numbers of heads may differ. The answer comes with
    what proves it: the symmetry, an input, or a theorem.

    Or they are checkpoints: folders as the transformers library, Meta, MLX or Megatron write them, or .gguf files. Then
    the answer is the symmetry by which one is a rewriting of the other, exactly or up to rounding, or logits that are
    proved apart, with the known mistakes of conversion tools that explain the difference; or, without --ids,
    the theorem that there are no other symmetries: then functions differ on real combinations of token embeddings.
    """
    kinds = [is_checkpoint(path) for path in (first, second)]
    told = ("files of weights", "checkpoints (folders, .gguf)")
    for option in options.typed([*of_weights, *form] if any(kinds) else [*of_checkpoints, "scheduler"]).values():
        right, given = told if any(kinds) else told[::-1]
        raise BadInput(f"{option} must go with two {right}, got {given}")
    if any(kinds) and not all(kinds):
        raise BadInput(f"both must be files of weights, or both checkpoints (folders, .gguf), got {first} and {second}")
    if any(kinds):
        return _same_checkpoints(first, second, as_json=as_json, work=work, scheduler=scheduler, **of_checkpoints)
    weights = [options.load_weights(path, **form) for path in (first, second)]
    return _same_weights(*weights, as_json=as_json, work=work, **of_weights)


def _same_weights(
    first: known.Weights,
    second: known.Weights,
    *,
    as_json: bool,
    tokens: int,
    seed: int,
    work: float,
    certificate: str | None,
) -> int:
    """Compare two networks, write the answer and its certificate, and return the exit code."""
    with progress_bar() as progress:
        result = same_function.same_function(first, second, tokens, seed=seed, work=work, progress=progress)
    network = architectures.network_line(*(w.architecture(tokens) for w in (first, second)))
    if certificate is not None:
        write_certificate(certificate, certificates.same_certificate(result, first, second, tokens))
    sys.set_int_max_str_digits(0)  # outputs of deep networks are long numbers, and exact
    holds = HOLDS[result.answer.value]
    return write(ANSWER, result, "function", as_json=as_json, holds=holds, tokens=tokens, network=network)


def _same_checkpoints(
    first: str,
    second: str,
    *,
    exact: bool,
    output: str | None,
    ids: tuple[int, ...],
    units: float,
    layout_a: str | None,
    layout_b: str | None,
    adapter: str | None,
    distances: bool,
    picture: str | None,
    tokenizer_a: str | None,
    tokenizer_b: str | None,
    work: float,
    scheduler: str | None,
    as_json: bool,
) -> int:
    """Compare two checkpoints, write the answer, and the symmetry, if there is one, into a file; the exit code."""
    target = None if picture is None else drawing.require_output(picture)
    if (tokenizer_a is None) is not (tokenizer_b is None):
        raise BadInput("--tokenizer-a and --tokenizer-b must be given together, got one of them")
    ordered: tokenizers.IdOrder | None = None
    apart: measuring.Distances | None = None
    with progress_bar() as progress:
        opened = (
            folders.open_checkpoint(first, layout=layout_a, adapter=adapter),
            folders.open_checkpoint(second, layout=layout_b),
        )
        if output is not None:
            symmetry_files.require_output(output, opened[1].form)
        pair: tuple[model.Checkpoint, model.Checkpoint] = opened
        if tokenizer_a is not None and tokenizer_b is not None:
            counts = [each.form.vocabulary for each in opened]
            if counts[0] != counts[1]:
                raise BadInput(f"with tokenizers both must have as many token ids, got {counts[0]} and {counts[1]}")
            ordered = tokenizers.id_order(tokenizer_a, tokenizer_b, counts[0])
            pair = opened[0], ordered.read(opened[1])
        result = same_checkpoints.same_checkpoints(
            *pair, ids=ids, units=units, work=work, scheduler=scheduler, progress=progress
        )
        if not ids:
            result = theorems.told_by_theorem(result, *pair, work=work, progress=progress)
        if distances or target is not None:
            apart = measuring.checkpoint_distances(*pair, units=units, work=work)
        if target is not None and apart is not None:
            drawing.write_picture(target, pictures.picture(apart).image(target.suffix.lower()[1:]))
    written, about_files = None, not result.reduced and (ordered is None or not ordered.moved)
    if output is not None and result.symmetry is not None and about_files:
        symmetry_files.save_symmetry(result.symmetry, output)
        written = output
    answer = result.answer.value
    moved = None if ordered is None else ordered.moved
    more: dict[str, object] = {"output": written, "distances": apart, "picture": picture, "ids_moved": moved}
    code = write(CHECKPOINTS, result, "answer", as_json=as_json, holds=HOLDS[answer], **more)
    if not as_json:
        for told in (ordered, apart):
            if told is not None:
                write_answer(told)
        if picture is not None:
            click.echo(f"picture: {picture}", err=True)
    if output is not None and not as_json:
        click.echo(f"symmetry: {written or 'none to be written'}", err=True)
    return exit_codes.NOT_AS_EXPECTED if exact and answer == "rounding" else code
