"""`lightning-sym same`: do two networks compute the same function?"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from lightning_cli import exit_codes, options
from lightning_cli.output_file import OutputFile
from lightning_cli.writing.checkpoint_answer import CHECKPOINTS
from lightning_cli.writing.fields import (
    INTEGER,
    SPELLED,
    TEXT,
    TRUTH,
    JsonAnswer,
    JsonField,
    by_name,
    each,
    either,
    group,
    in_order,
    natural,
    one_of,
    optional,
)
from lightning_cli.writing.output import exact
from lightning_cli.writing.shared_fields import MATRICES, MATRIX, NUMBER, VIRTUAL_WEIGHTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightning_sym.fibers.comparison import Comparison
    from lightning_sym.fibers.connection import Connection
    from lightning_sym.fibers.stream_symmetry import StreamSymmetry

HEAD = in_order(
    JsonField("head", TEXT, "layer and head, such as 1.2; merged ones with + between"), JsonField("factor", NUMBER)
)

SIDES = in_order(JsonField("first", each(HEAD)), JsonField("second", each(HEAD)))


def _group_element(found: StreamSymmetry) -> StreamSymmetry | None:
    return None if found.between is None else found


def _named(name: str) -> Callable[[Any], Any]:
    """The part of a group element, by layer; empty where there is none."""
    return lambda found: getattr(found, name) or {}


STREAM_ELEMENT = group(
    JsonField("between", MATRICES),
    JsonField("query_key", MATRICES, of=_named("query_key")),
    JsonField("value_output", MATRICES, of=_named("value_output")),
    JsonField("scales", by_name(NUMBER), of=_named("scales")),
    JsonField(
        "heads",
        by_name(each(natural(1))),
        "by layer, the head of the first network that comes first, second, ...",
        _named("heads"),
    ),
)

STREAMS = group(
    JsonField("layers", each(each(SIDES)), "by layer, classes of heads with one pattern up to a factor"),
    JsonField("arranged", TRUTH, "whether heads were merged, left out or moved to earlier layers first"),
    JsonField("group_element", optional(STREAM_ELEMENT), of=_group_element),
)

MOVE = in_order(JsonField("name", TEXT), JsonField("layer", natural(1)), JsonField("description", TEXT))


def _moves(found: Connection) -> list[tuple[str, int, str]]:
    return [(move.name.value, move.layer, move.described(len(found.factors))) for move in found.moves]


def _plain_element(found: Connection) -> Connection | None:
    return None if None in (found.query_key, found.between, found.scales) else found


PLAIN_ELEMENT = group(
    JsonField("query_key", MATRICES), JsonField("between", MATRICES), JsonField("scales", by_name(NUMBER))
)

SYMMETRY = group(
    JsonField("factors", each(NUMBER)),
    JsonField("value_factor", NUMBER),
    JsonField("exchanged", TRUTH, of=lambda found: ("exchange", len(found.factors)) in found.moves),
    JsonField("moves", each(MOVE), of=_moves),
    JsonField("symmetric_parts", TRUTH),
    JsonField("virtual_weights", VIRTUAL_WEIGHTS, of="virtual"),
    JsonField("moved", optional(MATRICES), of=lambda found: None if found.moved is None else found.moved.named()),
    JsonField("group_element", optional(PLAIN_ELEMENT), of=_plain_element),
)

BALL = group(JsonField("midpoint", TEXT, "a decimal number, exact"), JsonField("radius", TEXT, "likewise"))

BALLS = each(each(BALL))


def _entry(number: Any) -> Any:
    """Integers as integers, other exact numbers as text, balls as midpoint and radius."""
    from lightning_sym.rings.ball_matrices import DecimalBall

    if isinstance(number, DecimalBall):
        midpoint, radius = number.written()
        return {"midpoint": midpoint, "radius": radius}
    return int(number) if number.denominator == 1 else str(number)


def _outputs(result: Comparison) -> Any:
    """The two outputs, spelled out: exact, or balls."""
    if result.outputs is None or result.entry is None:
        return None if result.outputs is None else list(map(exact, result.outputs))
    return [[[_entry(x) for x in row] for row in y] for y in result.outputs]


def _error_bound(result: Comparison) -> str | None:
    """The bound of the error, spelled out, where evaluations are what shows the answer."""
    return str(result.error_bound) if result.reason.value == "evaluations" else None


COLOURS = {"same": "green", "different": "red", "undecided": "yellow"}

REASONS = (
    "identical", "symmetry", "streams", "coefficients", "zero", "degree", "input", "balls", "visible", "one layer",
    "words", "determined", "evaluations", "agreement",
)  # fmt: skip

ANSWER = JsonAnswer(
    "same",
    "`lightning-sym same --json`.",
    (
        JsonField("network", TEXT, "in words, the kind of attention first"),
        JsonField("tokens", natural(1), "t"),
        JsonField("answer", one_of("same", "different", "undecided"), "the answer", "answer.value"),
        JsonField("reason", one_of(*REASONS), "what shows it", "reason.value"),
        JsonField("because", TEXT, "the same in a sentence, with the theorem that is used"),
        JsonField(
            "differing",
            optional(TEXT),
            "softmax, different: the first virtual weight that the functions show and do not share, such as A~2",
            "differing",
        ),
        JsonField(
            "symmetry",
            optional(SYMMETRY),
            "plain lightning networks: how one network is mapped to the other",
            "connection",
        ),
        JsonField(
            "streams",
            optional(STREAMS),
            "streams that move together: which heads have one pattern, and the group element that maps the first "
            "network to the second",
            "symmetry",
        ),
        JsonField(
            "input",
            optional(each(each(either(INTEGER, NUMBER, written=_entry)))),
            "where they differ",
            "input",
        ),
        JsonField(
            "outputs",
            optional(each(either(MATRIX, BALLS), 2, 2)),
            "the two outputs there: exact, or balls that contain them",
            _outputs,
        ),
        JsonField(
            "apart",
            optional(in_order(JsonField("row", natural(1)), JsonField("token", natural(1)))),
            "where two balls of the outputs do not meet",
            "entry",
        ),
        JsonField("precision", optional(natural(2)), "bits that balls were computed with"),
        JsonField(
            "evaluations",
            natural(),
            "evaluations at random inputs, all in agreement; exact ones, or for agreement by balls",
            "evaluations",
        ),
        JsonField(
            "error_bound",
            optional(TEXT),
            "a bound for the probability that different functions agree so often",
            _error_bound,
        ),
        JsonField(
            "distance",
            optional(SPELLED),
            "undecided: outputs at these inputs are no farther apart",
            "distance",
        ),
        JsonField(
            "prefix",
            optional(natural(1)),
            "with a mask, and too many tokens: inputs and outputs are those of the first so many tokens",
            "prefix",
        ),
        JsonField(
            "tried",
            each(TEXT),
            "theorems that were asked before in vain, each with its page and why",
            lambda result: list(map(str, result.tried)),
        ),
    ),
)

ANSWERS = (ANSWER, CHECKPOINTS)


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
        write_json(ANSWER.document(result, tokens=tokens, network=network))
    else:
        write_answer(result, function=COLOURS[result.answer.value])
    return {
        Answer.SAME: exit_codes.AS_EXPECTED,
        Answer.DIFFERENT: exit_codes.NOT_AS_EXPECTED,
        Answer.UNDECIDED: exit_codes.UNDECIDED,
    }[result.answer]
