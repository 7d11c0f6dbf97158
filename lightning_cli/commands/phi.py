"""`lightning-sym phi`: the polynomials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lightning_cli import options
from lightning_cli.writing.fields import TEXT, TRUTH, JsonAnswer, JsonField, each, in_order, natural
from lightning_cli.writing.shared_fields import ARCHITECTURE

if TYPE_CHECKING:
    from lightning_sym.network.polynomial_map import PolynomialMap


def _ambient(phi: PolynomialMap) -> int:
    from lightning_sym.network.ambient import ambient_dimension

    return ambient_dimension(phi.architecture)


def _outputs(phi: PolynomialMap, latex: bool) -> list[tuple[int, int, str]]:
    """Row, token and polynomial of each output coordinate."""
    from numpy import ndindex

    places = ndindex(*phi.entries.shape)
    return [(k + 1, j + 1, phi.latex(k, j) if latex else str(phi.entries[k, j])) for k, j in places]


ANSWER = JsonAnswer(
    "phi",
    "`lightning-sym phi --json`.",
    (
        JsonField("architecture", ARCHITECTURE, "the network"),
        JsonField(
            "degree",
            natural(1),
            "of every polynomial in the inputs; the largest one where they are not homogeneous",
            "architecture.degree",
        ),
        JsonField(
            "homogeneous",
            TRUTH,
            "false with skip connections: then all odd degrees up to the largest",
            lambda phi: not phi.architecture.skip,
        ),
        JsonField("ambient_dimension", natural(1), "of all polynomial maps of these degrees and this shape", _ambient),
        JsonField("terms", natural(), "of all outputs together", "term_count"),
        JsonField("weights", each(TEXT), "names of symbolic weights", "weight_names"),
        JsonField("inputs", each(TEXT, 1), "names of the inputs", "input_names"),
        JsonField(
            "outputs",
            each(
                in_order(JsonField("row", natural(1)), JsonField("token", natural(1)), JsonField("polynomial", TEXT)), 1
            ),
            "the polynomials, as text or LaTeX",
        ),
    ),
)

ANSWERS = (ANSWER,)


def map_document(phi: PolynomialMap, latex: bool) -> dict[str, Any]:
    """The map as JSON, which `recover` reads."""
    return ANSWER.document(phi, outputs=_outputs(phi, latex))


@click.command(
    "phi",
    epilog="""\b
Examples:
  lightning-sym phi --widths 2,1 --ranks 2 --tokens 2
  lightning-sym phi --weights weights.json --tokens 2 --latex
  lightning-sym phi --widths 1,1 --ranks 1 --tokens 2 --heads 2 --skip --mask causal
  lightning-sym phi --widths 2,1 --ranks 2 --tokens 2 --format macaulay2 > phi.m2

\b
--format writes a session for SymPy, Macaulay2, Singular, OSCAR or Sage: R, the ring of weights and
inputs; phi, the matrix of outputs; C, the coefficients; and M, the ideal of all functions of this
kind, as the kernel of the map that C gives. latex is --latex, json is --json.

\b
Exit codes: 0 printed, 2 bad input.""",
)
@options.widths(required=False)
@options.ranks(required=False)
@options.tokens
@click.option(
    "--weights",
    "weight_file",
    type=click.Path(),
    help="Exact weights from a .json, .npz or .safetensors file, in place of --widths and --ranks.",
)
@options.weight_form
@options.more_weights
@click.option("--latex", is_flag=True, help="Print LaTeX; with --json the polynomials are in LaTeX.")
@click.option(
    "--format",
    "form",
    type=click.Choice(options.FORMATS),
    help="Print what another system reads.",
)
@options.memory
@options.as_json
def command(
    tokens: int,
    weight_file: str | None,
    latex: bool,
    form: str | None,
    memory: float,
    as_json: bool,
    **shape: Any,
) -> None:
    """Print phi_W as exact polynomials in the inputs, with symbolic weights or those of a file.

    Of any network without normalization: heads, output projections, skip connections, a mask, an embedding and an
    unembedding as the options or the file say. Weights are variables such as Q1_2_3 (layer 1, row 2, column 3), with
    several heads Q1_2_3_4 (layer 1, head 2, row 3, column 4), and E_1_2, U_1_2; inputs are x_k_j, coordinate k of
    token j. The map is homogeneous of degree 3^l; with skip connections it has all odd degrees up to 3^l.
    """
    limit = options.memory_bytes(memory)
    if form not in (None, "latex", "json") and (latex or as_json):
        raise click.UsageError(f"--format {form} is another form than {'--latex' if latex else '--json'}: give one")
    latex, as_json = latex or form == "latex", as_json or form == "json"
    weights, network = options.weights_or_shape(weight_file, tokens, **shape)

    from lightning_sym.network.polynomial_map import polynomial_map

    phi = polynomial_map(network, weights, memory=limit)
    if as_json:
        from lightning_cli.writing.output import write_json

        write_json(map_document(phi, latex))
        return
    if latex:
        click.echo(phi.to_latex())
    elif form is None or form == "latex":
        click.echo(str(phi))
    else:
        from lightning_sym.network.map_formats import map_text

        click.echo(map_text(phi, form))
