"""`lightning-sym fiber`: all weights with the same function."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lightning_cli import exit_codes, options
from lightning_cli.output_file import OutputFile
from lightning_cli.writing.fields import (
    TEXT,
    TRUTH,
    JsonAnswer,
    JsonField,
    each,
    group,
    in_order,
    natural,
    one_of,
    optional,
)
from lightning_cli.writing.shared_fields import MATRICES, NETWORK, VIRTUAL_WEIGHTS

if TYPE_CHECKING:
    from lightning_sym.fibers.answer import Fiber


def _conditions(result: Fiber) -> list[tuple[str, bool | None, str]]:
    """Each condition that was tested: its name, whether it holds, and the evidence."""
    if result.components:
        return [("hypotheses", result.complete or None, result.tried or result.reason)]
    return [(str(c), c.holds, c.evidence) for c in result.conditions]


def _theorem(result: Fiber) -> str | None:
    if result.theorem is not None:
        return str(result.theorem)
    return result.source if result.components and result.complete else None


COMPONENT = group(
    JsonField("description", TEXT),
    JsonField("generators", each(TEXT)),
    JsonField("dimension", natural()),
    JsonField(
        "parameters",
        each(TEXT),
        "what Component.point in Python takes",
        lambda component: [parameter.name for parameter in component.parameters],
    ),
    JsonField("point", optional(VIRTUAL_WEIGHTS), of="virtual"),
)

CONDITION = in_order(
    JsonField("name", TEXT, "as the page of the theorem has it, with its layer"),
    JsonField("holds", optional(TRUTH), "null if neither is known"),
    JsonField("evidence", TEXT, "a rank or residues modulo a prime, or what is so over the rationals"),
)

SECOND = group(
    JsonField("description", TEXT, "how it differs"),
    JsonField("because", TEXT, "what shows that the function is the same"),
    JsonField("weights", MATRICES, "all matrices by name", lambda second: second.weights.named()),
)

ANSWER = JsonAnswer(
    "fiber",
    "`lightning-sym fiber --json`.",
    (
        *NETWORK,
        JsonField(
            "virtual_weights",
            optional(VIRTUAL_WEIGHTS),
            "what the function depends on; null unless this is one-head lightning attention",
            "virtual",
        ),
        JsonField("source", TEXT, "what describes the fiber"),
        JsonField(
            "reason",
            TEXT,
            "the hypotheses that were seen to hold; where there are no components the fiber in words",
            lambda result: result.reason or result.description,
        ),
        JsonField(
            "tried",
            each(TEXT),
            "theorems that were tried and are not used, each with the hypothesis that fails",
            lambda result: [result.tried] if result.tried else [],
        ),
        JsonField("complete", TRUTH, "whether this is the whole fiber"),
        JsonField("complete_over", optional(one_of("R", "Q")), "the field over which it is; null if there may be more"),
        JsonField("components", each(COMPONENT), "families of virtual weights, for lightning attention with one head"),
        JsonField(
            "known_dimension",
            optional(natural()),
            "of the components, in virtual weights; null where there are none",
        ),
        JsonField(
            "dimension",
            optional(natural()),
            "of the fiber in all weights: by a theorem, or near these weights, where the bounds meet",
        ),
        JsonField(
            "bounds",
            optional(each(natural(), 2, 2)),
            "lower and upper bound for the dimension of the fiber near these weights, in all weights; null if not "
            "computed",
        ),
        JsonField(
            "orbit",
            optional(natural()),
            "dimension of the orbit of the symmetries that all weights have, from below; null if not computed",
            lambda result: None if result.near is None else result.near.orbit,
        ),
        JsonField("conditions", each(CONDITION), "what was tested", _conditions),
        JsonField(
            "theorem",
            optional(TEXT),
            "by number and page what says that this is the whole fiber; null if nothing does",
            _theorem,
        ),
        JsonField("generators", each(TEXT), "what moves inside the fiber; where there are components they say it"),
        JsonField(
            "minimal",
            TEXT,
            "in which sense no smaller network has this function; empty if that is not known",
        ),
        JsonField(
            "another",
            optional(SECOND),
            "another network with this function, where a condition fails and one was found",
            "second",
        ),
    ),
)

ANSWERS = (ANSWER,)


@click.command(
    "fiber",
    epilog="""\b
Examples:
  lightning-sym fiber weights.json --tokens 2
  lightning-sym fiber weights.json --tokens 3 --certificate fiber-certificate.json

Exit codes: 0 all of the fiber and its dimension, 2 bad input, 3 there may be more, or the dimension is not computed or
its bounds differ.""",
)
@click.argument("file", type=click.Path())
@options.tokens_or_two
@options.weight_form
@options.seed
@options.work
@click.option(
    "--certificate",
    type=OutputFile("a certificate"),
    metavar="FILE",
    help="Softmax: write the theorem and the evidence of its conditions into FILE, for `lightning-sym verify`.",
)
@options.as_json
def command(
    file: str,
    tokens: int,
    normalization: str | None,
    mask: str | None,
    skip: bool,
    seed: int,
    work: float,
    certificate: str | None,
    as_json: bool,
) -> int:
    """Describe all weights that give the same function as those in FILE.

    FILE holds exact weights (.json, .npz or .safetensors), with any heads, mask, skip connections, embeddings.
    One-head lightning attention: components are families of virtual weights A~_i = P^T A_i P, V~ = V_l ... V_1.
    Softmax: each condition of the theorems is tested for these weights, and says with its evidence whether it holds.
    Where no theorem applies the answer says that there may be more, names another network with the same function if a
    known one is there, and bounds the dimension of the fiber near these weights from both sides.
    """
    from lightning_cli.writing.output import progress_bar, write_answer, write_json
    from lightning_sym.fibers.fiber import fiber

    weights = options.load_weights(file, normalization=normalization, mask=mask, skip=skip)
    if certificate is not None:
        from lightning_sym.certificates.fibers import fiber_certificate
        from lightning_sym.certificates.files import write_certificate
        from lightning_sym.errors import BadInput

        if weights.form.normalization is None:
            raise BadInput(f"a certificate of a fiber needs a softmax network, got {weights.form}")
    with progress_bar() as progress:
        result = fiber(weights, tokens, seed=seed, work=work, progress=progress)
    if certificate is not None:
        write_certificate(certificate, fiber_certificate(result, weights))
        click.echo(f"certificate: {certificate}", err=True)
    if as_json:
        write_json(ANSWER.document(result))
    else:
        write_answer(result, complete="green" if result.complete else "yellow")
    # of components over Q alone it is left open whether there are real ones
    known = result.complete_over is not None
    return exit_codes.AS_EXPECTED if known and result.dimension is not None else exit_codes.UNDECIDED
