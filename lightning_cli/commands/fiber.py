"""`lightning-sym fiber`: all weights with the same function."""

from __future__ import annotations

import click

from lightning_cli import exit_codes, options
from lightning_cli.writing.fields import each, field, group, in_order, json_answer, natural, one_of, optional
from lightning_cli.writing.output import progress_bar, write, write_certificate
from lightning_cli.writing.shared_fields import MATRICES, NETWORK, TRIED, VIRTUAL_WEIGHTS
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from lightning_sym.certificates import fibers as certificates
    from lightning_sym.fibers import answer, fiber


def _conditions(result: answer.Fiber) -> list[tuple[str, bool | None, str]]:
    """Return each condition that was tested: its name, whether it holds, and the evidence."""
    if result.components:
        failed = "; ".join(each.why for each in result.tried)
        return [("hypotheses", result.complete or None, result.reason if result.complete else failed or result.reason)]
    return [(str(c), c.holds, c.evidence) for c in result.conditions]


def _theorem(result: answer.Fiber) -> str | None:
    if result.theorem is not None:
        return str(result.theorem)
    return result.source if result.components and result.complete else None


COMPONENT = group(
    field("description", str),
    field("generators", [str]),
    field("dimension", natural()),
    field(
        "parameters",
        [str],
        "what Component.point in Python takes",
        lambda component: [parameter.name for parameter in component.parameters],
    ),
    field("point", optional(VIRTUAL_WEIGHTS), of="virtual"),
)

CONDITION = in_order(
    field("name", str, "as the page of the theorem has it, with its layer"),
    field("holds", optional(bool), "null if neither is known"),
    field("evidence", str, "a rank or residues modulo a prime, or what is so over the rationals"),
)

SECOND = group(
    field("description", str, "how it differs"),
    field("because", str, "what shows that the function is the same"),
    field("weights", MATRICES, "all matrices by name", lambda second: second.weights.numbers()),
)

ANSWER = json_answer(
    "fiber",
    *NETWORK,
    field(
        "virtual_weights",
        optional(VIRTUAL_WEIGHTS),
        "what the function depends on; null unless this is one-head lightning attention",
        "virtual",
    ),
    field("source", str, "what describes the fiber"),
    field(
        "reason",
        str,
        "the hypotheses that were seen to hold; where there are no components the fiber in words",
        lambda result: result.reason or result.description,
    ),
    TRIED,
    field("complete", bool, "whether this is the whole fiber"),
    field("complete_over", optional(one_of("R", "Q")), "the field over which it is; null if there may be more"),
    field("components", [COMPONENT], "families of virtual weights, for lightning attention with one head"),
    field("known_dimension", optional(natural()), "of the components, in virtual weights; null where there are none"),
    field(
        "dimension",
        optional(natural()),
        "of the fiber in all weights: by a theorem, or near these weights, where the bounds meet",
    ),
    field(
        "bounds",
        optional(each(natural(), 2, 2)),
        "lower and upper bound for the dimension of the fiber near these weights, in all weights; null if not computed",
    ),
    field(
        "orbit",
        optional(natural()),
        "dimension of the orbit of the symmetries that all weights have, from below; null if not computed",
        lambda result: None if result.near is None else result.near.orbit,
    ),
    field("conditions", [CONDITION], "what was tested", _conditions),
    field(
        "theorem",
        optional(str),
        "by number and page what says that this is the whole fiber; null if nothing does",
        _theorem,
    ),
    field("generators", [str], "what moves inside the fiber; where there are components they say it"),
    field("minimal", str, "in which sense no smaller network has this function; empty if that is not known"),
    field(
        "another",
        optional(SECOND),
        "another network with this function, where a condition fails and one was found",
        "second",
    ),
    field(
        "real_components",
        optional(natural()),
        "connected components of the set of all real weights with this function; null where not known",
    ),
    field(
        "virtual_real_components",
        optional(natural()),
        "the same of their virtual weights, matrices of any rank counted; null where not known",
        lambda result: None if result.real is None else result.real.virtual,
    ),
    field(
        "real_moves",
        [str],
        "what leads from each of these components of real weights to each other one",
        lambda result: [] if result.real is None else list(result.real.moves),
    ),
    field(
        "real_reason",
        str,
        "what proves the number, or why it is not known",
        lambda result: "" if result.real is None else result.real.reason,
    ),
)

ANSWERS = (ANSWER,)


@click.command(
    "fiber",
    epilog="""\b
Examples:
  lightning-sym fiber examples/rank_one.json --tokens 2
  lightning-sym fiber examples/transformer.json --tokens 3 --certificate fiber-certificate.json

Exit codes: 0 all of the fiber and its dimension, 2 bad input, 3 there may be more, or the dimension is not computed or
its bounds differ.""",
)
@click.argument("file", type=click.Path())
@options.TOKENS_OR_TWO
@options.FORM
@options.SEED
@options.AT_MOST_WORK
@options.certificate("Softmax, or lightning by its layer tensors: write the theorem and the evidence of its conditions")
@options.AS_JSON
def command(
    *,
    file: str,
    tokens: int,
    form: options.FormOptions,
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
    weights = options.load_weights(file, **form)
    with progress_bar() as progress:
        result = fiber.fiber(weights, tokens, seed=seed, work=work, progress=progress)
    if certificate is not None:
        write_certificate(certificate, certificates.fiber_certificate(result, weights))
    write(ANSWER, result, "complete", as_json=as_json, holds=result.complete or None)
    # of components over Q alone it is left open whether there are real ones
    known = result.complete_over is not None
    return exit_codes.AS_EXPECTED if known and result.dimension is not None else exit_codes.UNDECIDED
