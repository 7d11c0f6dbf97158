"""`lightning-sym dimension`: the certified dimension of a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from lightning_cli import exit_codes, options
from lightning_cli.numbers import Integer
from lightning_cli.output_file import OutputFile
from lightning_cli.writing.fields import (
    INTEGER,
    TEXT,
    TRUTH,
    JsonAnswer,
    JsonField,
    by_name,
    group,
    itself,
    natural,
    one_of,
    optional,
)
from lightning_cli.writing.model_answer import MODEL
from lightning_cli.writing.shared_fields import ARCHITECTURE, STATUS

if TYPE_CHECKING:
    from lightning_sym.dimension.certify import CertifiedDimension

EVIDENCE = ("orbit", "factorization", "directions", "linear", "forms", "span", "products")


def _permutations(result: CertifiedDimension) -> int | None:
    from lightning_sym.dimension.answer_text import head_permutations

    return head_permutations(result.architecture)


FORMULA = group(
    JsonField("source", TEXT, of="formula.source"),
    JsonField("value", optional(INTEGER), of="formula.value"),
    JsonField("applies", TRUTH, of="formula.applies"),
    JsonField("reason", TEXT, of="formula.reason"),
    JsonField("agrees", optional(TRUTH), of="formula_agrees"),
)

LOWER_BOUND = group(
    JsonField("prime", natural(1)),
    JsonField("inputs", natural(), "0 where no Jacobian was taken", "rows"),
    JsonField("taylor_degree", optional(natural(1)), of="order"),
    JsonField(
        "exponentials",
        optional(one_of("free")),
        of=lambda result: "free" if result.has_free_exponentials else None,
    ),
    JsonField("matrices", optional(natural(1)), "full ranks of the network's own matrices, in place of a Jacobian"),
)

UPPER_BOUNDS = by_name(natural(), names={"enum": list(EVIDENCE)}).having(minProperties=1)

PERMUTATIONS = group(JsonField("head_permutations", optional(natural(1)), of=_permutations))

ANSWER = JsonAnswer(
    "dimension",
    "`lightning-sym dimension --json`.",
    (
        JsonField("architecture", ARCHITECTURE, "the network"),
        JsonField("parameters", natural(1), "entries of all weights", "architecture.parameter_count"),
        JsonField("dimension", optional(natural()), "the certified dimension, null while undecided", "value"),
        JsonField("lower", natural(), "the bound from below"),
        JsonField("upper", natural(), "the smallest bound from above"),
        JsonField("status", STATUS, "whether the two meet", "status.value"),
        JsonField("fiber_dimension", optional(natural()), "of a generic fiber"),
        JsonField(
            "discrete_symmetries",
            PERMUTATIONS,
            "besides, not counted in the dimension; null where the number is too long",
            itself,
        ),
        JsonField("formula", FORMULA, "what the paper prints, which was not used", itself),
        JsonField("upper_bounds", UPPER_BOUNDS, "by evidence, those that were computed"),
        JsonField("lower_bound", LOWER_BOUND, "how the bound from below was found", itself),
        JsonField("seed", natural(), "picked the points"),
    ),
)

ANSWERS = (ANSWER, MODEL)


@click.command(
    "dimension",
    epilog="""\b
Examples:
  lightning-sym dimension --widths 4,4,4 --ranks 2,2 --tokens 3
  lightning-sym dimension --widths 4,4,4 --ranks 2 --tokens 3 --normalization softmax
  lightning-sym dimension --widths 3,3,3 --ranks 1 --value-ranks 1 --tokens 2 --heads 2 --skip \\
      --mask causal --normalization softmax --embed 4 --unembed 4
  lightning-sym dimension --widths 4,4,4 --ranks 2,2 --tokens 3 --certificate dimension.json
  lightning-sym dimension --config config.json --attention-only --certificate dimension.json

\b
--config reads model_type, hidden_size, num_attention_heads, num_hidden_layers, vocab_size, and
where given head_dim, v_head_dim, num_key_value_heads, tie_word_embeddings and is_decoder (or the
names that GPT-2 and others have for them). model_type is one of bert, gemma, gpt2, gpt_neox,
llama, mistral, opt, qwen2, roberta, or attention-only for embedding, residual layers of softmax
attention, unembedding and no more. A model that has more (MLPs, layer norms, positions, rotary
positions, biases), by a key or because its type implies it, or a key not understood, is refused;
with --attention-only these parts are left out and listed. Tied embeddings and shared keys and
values are counted as they are.
The dimension is a theorem at every size; what makes it so is printed. Ranks of matrices of the
model's own shape prove it once more, and --certificate writes what an independent checker needs.

\b
Exit codes: 0 certified (with --config: proved), 2 bad input, 3 undecided (both bounds are shown).""",
)
@options.widths(required=False)
@options.ranks(required=False)
@options.tokens_option(required=False)
@options.transformer
@click.option("--config", "config_file", type=click.Path(), help="A model's config.json in place of a shape.")
@click.option("--attention-only", is_flag=True, help="Leave out, and list, what --config names besides attention.")
@click.option(
    "--seed",
    type=Integer(),
    default=0,
    show_default=True,
    help="Picks the points; never changes a certified number.",
)
@options.memory
@click.option(
    "--certificate",
    type=OutputFile("a certificate"),
    metavar="FILE",
    help="Write what proves both bounds into FILE, for `lightning-sym verify`.",
)
@options.as_json
def command(
    widths: tuple[int, ...] | None,
    ranks: tuple[int, ...] | None,
    tokens: int | None,
    config_file: str | None,
    attention_only: bool,
    seed: int,
    memory: float,
    certificate: str | None,
    as_json: bool,
    **transformer: Any,
) -> int:
    """Certify the dimension of the set of functions (the neuromanifold) of a network.

    Lightning attention, or with the options below softmax, heads, skip connections, masks and embeddings. The lower
    bound is the rank of a Jacobian modulo a prime (of large softmax networks with skip connections: ranks of their
    own matrices), the upper bound comes from symmetries or from a variety through which the map factors. Where they
    meet the dimension is proved; the paper's formula stands beside it and is never used.
    """
    limit = options.memory_bytes(memory)
    if config_file is not None:
        _require_no_shape(click.get_current_context())
        return _of_config(
            config_file,
            attention_only=attention_only,
            seed=seed,
            memory=limit,
            certificate=certificate,
            as_json=as_json,
        )
    if attention_only:
        raise click.UsageError("--attention-only says how to read --config FILE: give both")
    for name, value in (("--widths", widths), ("--ranks", ranks), ("--tokens", tokens)):
        if value is None:
            raise click.UsageError(f"Missing option '{name}' (or give --config FILE)")
    assert widths is not None and ranks is not None and tokens is not None  # noqa: S101, PT018 - for the type checker
    network = options.architecture(widths, ranks, tokens, **transformer)

    from lightning_cli.writing.output import progress_bar, write_answer, write_json
    from lightning_sym.dimension.certify import Status, certified_dimension

    with progress_bar() as progress:
        result = certified_dimension(network, seed=seed, memory=limit, all_bounds=True, progress=progress)
        if certificate is not None:
            from lightning_sym.certificates.dimension import dimension_certificate
            from lightning_sym.certificates.files import write_certificate
            from lightning_sym.errors import TooLarge

            try:
                write_certificate(certificate, dimension_certificate(result, memory=limit, progress=progress))
            except TooLarge as error:  # what was found is not lost
                found = f"from {result.lower} to {result.upper}" if result.value is None else str(result.value)
                raise TooLarge(f"{error} (the dimension, without --certificate: {found})") from error
    if certificate is not None:
        click.echo(f"certificate: {certificate}", err=True)
    if as_json:
        write_json(ANSWER.document(result))
    else:
        write_answer(result, dimension="green" if result.value is not None else "yellow")
    certified = result.status is Status.CERTIFIED
    return exit_codes.AS_EXPECTED if certified else exit_codes.UNDECIDED


def _of_config(
    file: str, *, attention_only: bool, seed: int, memory: int, certificate: str | None, as_json: bool
) -> int:
    """Read the model, say what is proved of its dimension; the exit code."""
    from lightning_cli.writing.output import progress_bar, write_answer, write_json
    from lightning_sym.dimension.transformers import model_dimension, shape_of
    from lightning_sym.network.model_config import model_of, read

    model = model_of(read(file), attention_only=attention_only)
    if certificate is not None:
        from lightning_sym.certificates.files import write_certificate
        from lightning_sym.certificates.transformers import transformer_certificate

        document = transformer_certificate(shape_of(model))
    with progress_bar() as progress:
        result = model_dimension(model, seed=seed, memory=memory, progress=progress)
    if certificate is not None:
        write_certificate(certificate, document)
        click.echo(f"certificate: {certificate}", err=True)
    if as_json:
        write_json(MODEL.document(result, config=file))
    else:
        write_answer(result, dimension="green" if result.value is not None else "yellow")
    return exit_codes.UNDECIDED if result.value is None else exit_codes.AS_EXPECTED


def _require_no_shape(context: click.Context) -> None:
    """A config names the shape itself."""
    own = {"config_file", "attention_only", "seed", "memory", "certificate", "as_json"}
    typed = [
        option.opts[0]
        for option in context.command.params
        if option.name not in own and context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
    ]
    if typed:
        raise click.UsageError(f"--config names the shape itself: leave out {', '.join(typed)}")
