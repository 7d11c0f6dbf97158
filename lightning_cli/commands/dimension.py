"""`lightning-sym dimension`: the certified dimension of a network."""

from __future__ import annotations

from typing import Any

import click

from lightning_cli import options
from lightning_cli.writing.fields import (
    TEXT,
    by_name,
    field,
    group,
    in_order,
    itself,
    json_answer,
    natural,
    one_of,
    optional,
)
from lightning_cli.writing.output import progress_bar, write, write_answer, write_certificate
from lightning_cli.writing.shared_fields import ARCHITECTURE, STATUS, TRIED
from lightning_sym.dimension.evidence import Evidence
from lightning_sym.errors import BadInput, TooLarge
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    import dataclasses
    import textwrap

    from lightning_sym.certificates import dimension as certificates
    from lightning_sym.certificates import dimension as model_certificates
    from lightning_sym.dimension import certify, dimension_text, transformers
    from lightning_sym.network import architecture, model_config, model_types
    from lightning_sym.whole_models import of_config

FORMULA = group(
    field("source", str, of="formula.source"),
    field("value", optional(int), of="formula.value"),
    field("applies", bool, of="formula.applies"),
    field("reason", str, of="formula.reason"),
    field("agrees", optional(bool), of="formula_agrees"),
)

LOWER_BOUND = group(
    field("prime", natural(1)),
    field("inputs", natural(), "0 where no Jacobian was taken", "rows"),
    field("taylor_degree", optional(natural(1)), of="order"),
    field("exponentials", optional(one_of("free")), of=lambda result: "free" if result.has_free_exponentials else None),
    field("matrices", optional(natural(1)), "full ranks of the network's own matrices, in place of a Jacobian"),
    field("layers", optional(natural(1)), "layers whose dimensions were added, in place of a Jacobian of the whole"),
)

UPPER_BOUNDS = by_name(natural(), names={"enum": list(Evidence)}).having(minProperties=1)

PERMUTATIONS = group(
    field(
        "head_permutations",
        optional(natural(1)),
        of=lambda result: dimension_text.head_permutations(result.architecture),
    )
)

ANSWER = json_answer(
    "dimension",
    field("architecture", ARCHITECTURE, "the network"),
    field("parameters", natural(1), "entries of all weights", "architecture.parameter_count"),
    field("dimension", optional(natural()), "the certified dimension, null while undecided", "value"),
    field("lower", natural(), "the bound from below"),
    field("upper", natural(), "the smallest bound from above"),
    field("status", STATUS, "whether the two meet", "status.value"),
    field("fiber_dimension", optional(natural()), "of a generic fiber"),
    field(
        "discrete_symmetries",
        PERMUTATIONS,
        "besides, not counted in the dimension; null where the number is too long",
        itself,
    ),
    field("formula", FORMULA, "what the paper prints, which was not used", itself),
    field("upper_bounds", UPPER_BOUNDS, "by evidence, those that were computed"),
    field("lower_bound", LOWER_BOUND, "how the bound from below was found", itself),
    field("seed", natural(), "picked the points"),
    TRIED,
)

MASKS = {True: "causal", False: "none", None: None}

READ = group(
    field("hidden_size", natural(1), of="width"),
    field("heads", natural(1)),
    field("key_value_heads", natural(1), of="groups"),
    field("layers", natural(1)),
    field("vocabulary", natural(1)),
    field("head_width", natural(1)),
    field("value_width", natural(1), of="values"),
    field("tied", bool),
    field("mask", optional(one_of("causal", "none")), of=lambda model: MASKS[model.causal]),
)

UNTIED = in_order(field("parameters", natural(1)), field("dimension", natural()))

CERTIFIED = group(
    field("lower", natural(), of="ranks.lower"),
    field("upper", natural()),
    field("prime", natural(1), of="ranks.prime"),
    field("matrices", natural(1), of="ranks.matrices"),
)


_WHOLE = (
    field("parameters", natural(1), "of all parts"),
    field("group", natural(), "the dimension of its known symmetries, at almost all weights"),
    field("dimension", optional(natural()), "of the set of its functions, null where it is not proved"),
    field("upper", natural(), "a proved upper bound of it"),
    field("proof", str, "what proves it, and on which inputs; or that it is not proved"),
    TRIED,
)
WHOLE = group(*_WHOLE)

ATTENTION = in_order(field("parameters", natural(1)), field("dimension", natural()))

WHOLE_MODEL = json_answer(
    "whole-model",
    field("config", str, "the file"),
    *_WHOLE,
    field("reason", optional(str), "what keeps the upper bound from being the dimension; null where it is"),
    field("attention", optional(ATTENTION), "of the attention alone; null where no theorem has it"),
    said="`lightning-sym dimension --config FILE --json`, of a model with MLPs.",
    title="dimension --config, all parts",
)


MODEL = json_answer(
    "config",
    field("config", str, "the file"),
    field("model", READ, "what was read from it"),
    field(
        "parameters",
        natural(1),
        "of the attention, with embedding and unembedding; what is tied or shared counts once",
        "model.parameters",
    ),
    field("dimension", optional(natural()), "null while undecided", "value"),
    field("lower", natural(), "a proved lower bound"),
    field("upper", natural(), "a proved upper bound"),
    field(
        "fiber_dimension",
        optional(natural()),
        "parameters less the dimension",
        lambda result: None if result.value is None else result.model.parameters - result.value,
    ),
    field(
        "percent",
        TEXT.having(pattern=r"^[0-9]+\.[0-9]{2}$"),
        "the upper bound in percent of the parameters, rounded down",
    ),
    field("untied", optional(UNTIED), "of the model with two matrices in place of tied ones; null where they are two"),
    field("theorem", str, "what proves the bounds"),
    field("conditions", [str], "what the theorem asks for, with this model's numbers"),
    field(
        "certified",
        optional(CERTIFIED),
        "bounds found by computation, null where there are none",
        lambda result: None if result.ranks is None else result,
    ),
    field("not_computed", optional(str), "why ranks were not taken", "reason"),
    field(
        "left_out",
        {str: [str]},
        "parts that `--attention-only` leaves out, and the keys that name them",
        "model.left_out",
    ),
    TRIED,
    field("whole", optional(WHOLE), "the whole model, all parts together; null where its parts are not known"),
    said="`lightning-sym dimension --config FILE --json`.",
    version=2,
    title="dimension --config",
)


ANSWERS = (ANSWER, MODEL, WHOLE_MODEL)


CONFIG = """--config reads model_type, hidden_size, num_attention_heads, num_hidden_layers, vocab_size, and where given
head_dim, v_head_dim, num_key_value_heads, tie_word_embeddings and is_decoder (or the names that GPT-2 and
others have for them). model_type is one of {others}, or {alone} for embedding, residual layers of softmax
attention, unembedding and no more. Of a model that has more (MLPs, layer norms, positions, biases) all parts
are counted where its checkpoints are read here, or bounds are given with the reason; others are refused.
With --attention-only these parts are left out and listed. Tied embeddings and shared keys and values are
counted as they are."""


class DimensionCommand(click.Command):
    """Names in its help, and nowhere else, the types of models that are read: their table loads slowly."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write examples and exit codes, and between them what a config may say."""
        alone, *others = model_types.MODEL_TYPES
        said = CONFIG.format(alone=alone, others=", ".join(others))
        config = textwrap.fill(said, width=98, break_on_hyphens=False)
        click.Command(None, epilog=(self.epilog or "").format(config=config)).format_epilog(ctx, formatter)


@click.command(
    "dimension",
    cls=DimensionCommand,
    epilog="""\b
Examples:
  lightning-sym dimension --widths 4,4,4 --ranks 2,2 --tokens 3
  lightning-sym dimension --widths 4,4,4 --ranks 2 --tokens 3 --normalization softmax
  lightning-sym dimension --widths 3,3,3 --ranks 1 --value-ranks 1 --tokens 2 --heads 2 --skip \\
      --mask causal --normalization softmax --embed 4 --unembed 4
  lightning-sym dimension --widths 4,4,4 --ranks 2,2 --tokens 3 --certificate dimension.json
  lightning-sym dimension --config examples/config.json
  lightning-sym dimension --config examples/config.json --attention-only --certificate dimension.json

\b
{config}
The dimension is a theorem at every size; what makes it so is printed. Ranks of matrices of the
model's own shape prove it once more, and --certificate writes what an independent checker needs.

\b
Exit codes: 0 certified (with --config: proved), 2 bad input, 3 undecided (both bounds are shown).""",
)
@options.shape_if_given()
@options.TRANSFORMER
@click.option("--config", "config_file", type=click.Path(), help="A model's config.json in place of a shape.")
@click.option("--attention-only", is_flag=True, help="Leave out, and list, what --config names besides attention.")
@options.SEED_OF_POINTS
@options.MEMORY
@options.certificate("Write what proves both bounds")
@options.AS_JSON
def command(
    *,
    config_file: str | None,
    attention_only: bool,
    seed: int,
    memory: int,
    certificate: str | None,
    as_json: bool,
    **shape: Any,
) -> int:
    """Certify the dimension of the set of functions (the neuromanifold) of a network.

    Lightning attention, or with the options below softmax, heads, skip connections, masks and embeddings. The lower
    bound is the rank of a Jacobian modulo a prime (of large softmax networks with skip connections: ranks of their
    own matrices), the upper bound comes from symmetries or from a variety through which the map factors. Where they
    meet the dimension is proved; the paper's formula stands beside it and is never used.
    """
    if config_file is None:
        missing = [name for name in ("widths", "ranks", "tokens") if shape[name] is None]
        options.refuse(
            (attention_only, "--attention-only says how to read --config FILE: give both"),
            (missing, f"Missing option '--{''.join(missing[:1])}' (or give --config FILE)"),
        )
        result = _certified(options.network_of(**shape), seed, memory, certificate)
        return write(ANSWER, result, "dimension", as_json=as_json, holds=_is_known(result))
    options.require_no_shape("--config", shape)
    config, whole = model_config.read(config_file), _whole(config_file)
    if whole is not None and not attention_only:
        if certificate is not None:
            raise BadInput("--certificate is for attention alone: give --attention-only too")
        found = dataclasses.replace(whole, attention=_attention(config))
        holds = None if found.dimension is None else True
        return write(WHOLE_MODEL, found, "whole model", as_json=as_json, holds=holds, config=config_file)
    model = model_config.model_of(config, attention_only=attention_only)
    if certificate is not None:
        document = model_certificates.transformer_certificate(transformers.shape_of(model))
    with progress_bar() as progress:
        alone = transformers.model_dimension(model, seed=seed, memory=memory, progress=progress)
    if certificate is not None:
        write_certificate(certificate, document)
    code = write(MODEL, alone, "dimension", as_json=as_json, holds=_is_known(alone), config=config_file, whole=whole)
    if whole is not None and not as_json:
        write_answer(whole)
    return code


def _whole(config_file: str) -> of_config.WholeModel | None:
    """Return what is known of the whole model; nothing where checkpoints of this kind are not read."""
    try:
        return of_config.whole_model(config_file)
    except BadInput:
        return None


def _attention(config: dict[str, object]) -> tuple[int, int] | None:
    """Return parameters and dimension of the attention alone; nothing where no theorem has them."""
    try:
        model = model_config.model_of(config, attention_only=True)
        return model.parameters, transformers.shape_of(model).dimension
    except BadInput:
        return None


def _is_known(result: certify.CertifiedDimension | transformers.ModelDimension) -> bool | None:
    """Return whether the dimension is proved; `None` if it is not."""
    return None if result.value is None else True


def _certified(
    network: architecture.Architecture, seed: int, memory: int, certificate: str | None
) -> certify.CertifiedDimension:
    """Return the dimension of a network; its certificate is written if it is asked for.

    Raises:
        TooLarge: also for the certificate alone; then the message has the dimension.
    """
    with progress_bar() as progress:
        result = certify.certified_dimension(network, seed=seed, memory=memory, all_bounds=True, progress=progress)
        if certificate is not None:
            try:
                document = certificates.dimension_certificate(result, memory=memory, progress=progress)
                write_certificate(certificate, document)
            except TooLarge as error:  # what was found is not lost
                found = f"from {result.lower} to {result.upper}" if result.value is None else str(result.value)
                raise TooLarge(f"{error} (the dimension, without --certificate: {found})") from error
    return result
