"""`lightning-sym circuits`: the heads of a checkpoint, and numbers by which a copy in disguise is found."""

from __future__ import annotations

import click

from lightning_cli import exit_codes, options
from lightning_cli.writing.fields import (
    SPELLED,
    JsonKind,
    each,
    field,
    group,
    json_answer,
    kind_of,
    natural,
    one_of,
    optional,
)
from lightning_cli.writing.output import progress_bar, write
from lightning_cli.writing.shared_fields import CONDITION, TRIED
from lightning_sym.errors import BadInput
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from lightning_cli.pictures import drawing, heads
    from lightning_sym.checkpoints import circuits, fingerprint_key, folders
    from lightning_sym.checkpoints import fingerprint as fingerprints
    from lightning_sym.checkpoints import fingerprint_comparison as comparisons

FORM = group(
    field("family", str, "whose layout the files have"),
    field("layers", natural(1), "number of layers"),
    field("width", natural(1), "of the residual stream"),
    field("heads", natural(1), "query heads of a layer"),
    field("groups", natural(1), "heads of keys and values of a layer"),
    field("head_width", natural(1), "of queries, keys and values"),
    field("inner", natural(1), "neurons of an MLP"),
    field("vocabulary", natural(1), "number of token ids"),
    field("context", natural(1), "largest number of tokens"),
    field("norm", one_of("layer", "rms"), "LayerNorm or RMSNorm"),
    field("epsilon", SPELLED, "of the norms, exactly"),
    field("theta", optional(SPELLED), "base of the rotary frequencies, null where positions are learned"),
    field("activation", one_of("gelu", "gelu_new", "silu"), "of the MLP"),
    field("tied", bool, "whether the unembedding is the embedding"),
)

BOUNDS = each(natural(), 2, 2)

BALL = each(float, 2, 2)

CIRCUIT = group(
    field("rank", BOUNDS, "bounds of the rank over the rationals"),
    field("numerical", BOUNDS, "bounds of the number of singular values above a hundredth of the largest"),
    field("frobenius", BALL, "norm, and its radius"),
    field("spectral", BALL, "the largest singular value, and its radius"),
    field(
        "nearest",
        optional(BOUNDS),
        "layer and number of the other head with the largest cosine, null where there is none",
    ),
    field("cosine", optional(BALL), "of the two, and its radius"),
)

HEAD = group(
    field("layer", natural(), "from 0"),
    field("head", natural(), "query head of the layer, from 0"),
    field("qk", CIRCUIT, "the form of its scores; with rotary positions at distance 0"),
    field("ov", CIRCUIT, "the map that it writes with"),
)


def _theorem(found: circuits.Circuits) -> str | None:
    """Return the theorem that holds of the attention alone, if one is certified."""
    conditions = found.conditions
    return None if conditions is None or conditions.theorem is None else str(conditions.theorem)


ANSWER = json_answer(
    "circuits",
    field("checkpoint", str, "how it was called", "name"),
    field("network", FORM, "the network", "form"),
    field("heads", [HEAD], "layer by layer"),
    field(
        "conditions",
        optional([CONDITION]),
        "of the theorems, tested on the attention alone",
        lambda found: None if found.conditions is None else found.conditions.conditions,
    ),
    field("theorem", optional(str), "what holds of the attention alone, null where no theorem is certified", _theorem),
    field(
        "tried",
        TRIED.kind,
        TRIED.meaning,
        lambda found: () if found.conditions is None else found.conditions.tried,
    ),
    field("absent", [str], "what the network has and the theorems do not know"),
    field("output", optional(str), "the picture that was drawn, null if none was asked for"),
)

LISTED = [JsonKind({"type": ["number", "array"], "items": {"type": "number"}})]

NUMBERS = JsonKind(kind_of(LISTED).schema, lambda array: array.tolist())

BALLS = group(
    field("middle", NUMBERS, "of each number"),
    field("radius", NUMBERS, "how far it is from the middle at most"),
)

FINGERPRINT = json_answer(
    "fingerprint",
    field("checkpoint", str, "how it was called", "name"),
    field("network", FORM, "the network", "form"),
    field("key", str, "a line that can be looked up"),
    field("numbers", {str: BALLS}, "by place; a list a head, or one list", lambda found: dict(found.named())),
    said="`lightning-sym circuits --fingerprint --json`.",
)


COMPARISON = json_answer(
    "fingerprint-comparison",
    field("first", str, "how it was called"),
    field("second", str, "how it was called"),
    field(
        "answer",
        one_of("different", "identical", "no_difference_seen"),
        "different: proved by balls, no listed symmetry takes one to the other; identical: every tensor, byte by "
        "byte; no difference seen proves nothing",
        lambda found: "different" if found.different else "identical" if found.identical else "no_difference_seen",
    ),
    field("apart", [str], "places that are proved different"),
    field(
        "distance",
        optional(float),
        "largest difference of two numbers as a share of the largest of their list, null where the networks cannot "
        "be compared",
    ),
    field("farthest", str, "where that is"),
    said="`lightning-sym circuits --against --json`.",
)

SCAN = json_answer(
    "fingerprint-scan",
    field("checkpoint", str, "how it was called"),
    field("key", str, "its line"),
    field("searched", natural(), "how many fingerprints there were"),
    field(
        "found",
        [
            group(
                field("file", str, "of the folder"),
                field("checkpoint", str, "what it is of, as it was called"),
                field("share", float, "of the parts of both keys that agree"),
            )
        ],
        "those of whose parts half or more agree, those with most first; which proves nothing",
    ),
    said="`lightning-sym circuits --scan --json`.",
)

ANSWERS = (ANSWER, FINGERPRINT, COMPARISON, SCAN)


@click.command(
    "circuits",
    epilog="""\b
Examples:
  lightning-sym circuits examples/checkpoints/model
  lightning-sym circuits model/ --output heads.png
  lightning-sym circuits examples/checkpoints/model --fingerprint
  lightning-sym circuits model/ --against copy/
  lightning-sym circuits model/ --scan fingerprints/

Exit codes: 0 the table or the numbers; with --against 0 every tensor is identical, 1 different,
3 no difference seen; with --scan 1 none is like it, 3 some are; 2 bad input.""",
)
@click.argument("checkpoint", type=click.Path())
@options.LAYOUT
@click.option("--fingerprint", is_flag=True, help="Give the numbers that no symmetry changes.")
@click.option(
    "--against",
    type=click.Path(),
    metavar="CHECKPOINT",
    help="Compare these numbers with those of another checkpoint.",
)
@click.option(
    "--scan",
    type=click.Path(),
    metavar="FOLDER",
    help="Search a folder of fingerprints, files of --fingerprint --json, for those like it.",
)
@options.output(
    "the picture", "--output", metavar="PICTURE", help="Draw the heads, .png, .svg or .pdf; needs the extra `plot`."
)
@options.MEMORY
@options.AS_JSON
def command(
    *,
    checkpoint: str,
    layout: str | None,
    fingerprint: bool,
    against: str | None,
    scan: str | None,
    output: str | None,
    memory: int,
    as_json: bool,
) -> int:
    """Show the heads of a checkpoint as circuits, or find a copy in disguise.

    CHECKPOINT is a folder as the transformers library, Meta, MLX or Megatron write it, or a .gguf file. Of each head
    the table has the form of its scores (QK) and the map that it writes with (OV): exact ranks, norms, and the head
    that is most like it; then the conditions of the theorems that the attention fulfils by itself. The fingerprint is
    made of numbers that no symmetry of the weights changes, with error bounds: numbers that are apart prove that no
    known symmetry takes one checkpoint to the other; numbers that agree prove nothing. Its key is a line that can be
    looked up: the same for every rewriting, nearly the same for a rounded one.
    """
    if against is not None and scan is not None:
        raise BadInput("one question at a time: --against goes without --scan")
    if output is not None and (fingerprint or against is not None or scan is not None):
        raise BadInput("a picture is drawn of the table: --output goes without --fingerprint, --against and --scan")
    target = None if output is None else drawing.require_output(output)
    with progress_bar() as progress:
        # what is wrong with either is said at once
        opened = [folders.open_checkpoint(checkpoint, layout=layout)]
        opened += [] if against is None else [folders.open_checkpoint(against)]
        if scan is not None:
            fingerprint_key.keys_of(scan)  # what is wrong with the folder too
        if fingerprint or against is not None or scan is not None:
            numbers = [fingerprints.fingerprint(one, memory=memory, progress=progress) for one in opened]
        else:
            table = circuits.circuits(opened[0], memory=memory, progress=progress)
            if target is not None:
                drawing.write_picture(target, heads.picture(table).image(target.suffix.lower()[1:]))
    if against is not None:
        compared = comparisons.compare_fingerprints(*numbers)
        holds = False if compared.different else True if compared.identical else None
        return write(COMPARISON, compared, as_json=as_json, holds=holds)
    if scan is not None:
        like = fingerprint_key.scan(numbers[0].name, numbers[0].key, scan)
        return write(SCAN, like, as_json=as_json, holds=None if like.found else False)
    if fingerprint:
        return write(FINGERPRINT, numbers[0], as_json=as_json)
    write(ANSWER, table, as_json=as_json, output=output)
    if output is not None and not as_json:
        click.echo(f"picture: {output}", err=True)
    return exit_codes.AS_EXPECTED
