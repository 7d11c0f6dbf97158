"""`lightning-sym phi`: the polynomials."""

from __future__ import annotations

import click

from lightning_cli import exit_codes, options
from lightning_cli.writing.fields import each, field, in_order, json_answer, natural
from lightning_cli.writing.output import write_json
from lightning_cli.writing.shared_fields import ARCHITECTURE
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from lightning_sym.network import ambient, map_formats, polynomial_map
    from lightning_sym.network import architecture as architectures
    from lightning_sym.network import weights as known


ANSWER = json_answer(
    "phi",
    field("architecture", ARCHITECTURE, "the network"),
    field(
        "degree",
        natural(1),
        "of every polynomial in the inputs; the largest one where they are not homogeneous",
        "architecture.degree",
    ),
    field(
        "homogeneous",
        bool,
        "false with skip connections: then all odd degrees up to the largest",
        lambda phi: not phi.architecture.skip,
    ),
    field(
        "ambient_dimension",
        natural(1),
        "of all polynomial maps of these degrees and this shape",
        lambda phi: ambient.ambient_dimension(phi.architecture),
    ),
    field("terms", natural(), "of all outputs together", "term_count"),
    field("weights", [str], "names of symbolic weights", "weight_names"),
    field("inputs", each(str, 1), "names of the inputs", "input_names"),
    field(
        "outputs",
        each(in_order(field("row", natural(1)), field("token", natural(1)), field("polynomial", str)), 1),
        "the polynomials, as text or LaTeX",
    ),
)

ANSWERS = (ANSWER,)


def map_document(phi: polynomial_map.PolynomialMap, *, latex: bool) -> dict[str, object]:
    """Return the map as JSON, which `recover` reads."""
    return ANSWER.document(
        phi, outputs=[(k, j, phi.latex(k, j) if latex else str(polynomial)) for k, j, polynomial in phi.outputs()]
    )


@click.command(
    "phi",
    epilog="""\b
Examples:
  lightning-sym phi --widths 2,1 --ranks 2 --tokens 2
  lightning-sym phi --weights examples/generic.json --tokens 2 --latex
  lightning-sym phi --widths 1,1 --ranks 1 --tokens 2 --heads 2 --skip --mask causal
  lightning-sym phi --widths 2,1 --ranks 2 --tokens 2 --format macaulay2 > phi.m2

\b
--format writes a session for SymPy, Macaulay2, Singular, OSCAR or Sage: R, the ring of weights and
inputs; phi, the matrix of outputs; C, the coefficients; and M, the ideal of all functions of this
kind, as the kernel of the map that C gives. latex is --latex, json is --json.

\b
Exit codes: 0 printed, 2 bad input.""",
)
@options.weights_or_network(options.weight_file("--widths and --ranks."), options.FORM_APART, options.MORE_WEIGHTS)
@click.option("--latex", is_flag=True, help="Print LaTeX; with --json the polynomials are in LaTeX.")
@click.option(
    "--format",
    "form",
    type=click.Choice(options.FORMATS),
    help="Print what another system reads.",
)
@options.MEMORY
@options.AS_JSON
def command(
    *,
    network: architectures.Architecture,
    weights: known.Weights | None,
    latex: bool,
    form: str | None,
    memory: int,
    as_json: bool,
) -> int:
    """Print phi_W as exact polynomials in the inputs, with symbolic weights or those of a file.

    Of any network without normalization: heads, output projections, skip connections, a mask, an embedding and an
    unembedding as the options or the file say. Weights are variables such as Q1_2_3 (layer 1, row 2, column 3), with
    several heads Q1_2_3_4 (layer 1, head 2, row 3, column 4), and E_1_2, U_1_2; inputs are x_k_j, coordinate k of
    token j. The map is homogeneous of degree 3^l; with skip connections it has all odd degrees up to 3^l.
    """
    options.refuse(
        (
            form not in (None, "latex", "json") and (latex or as_json),
            f"--format {form} is another form than {'--latex' if latex else '--json'}: give one",
        )
    )
    phi = polynomial_map.polynomial_map(network, weights, memory=memory)
    latex = latex or form == "latex"
    if as_json or form == "json":
        write_json(map_document(phi, latex=latex))
    elif latex or form is None:
        click.echo(phi.to_latex() if latex else phi.whole_text())
    else:
        click.echo(map_formats.map_text(phi, form))
    return exit_codes.AS_EXPECTED
