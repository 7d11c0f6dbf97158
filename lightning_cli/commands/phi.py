"""`lightning-sym phi`: the polynomials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lightning_cli import options

if TYPE_CHECKING:
    from lightning_sym.network.polynomial_map import PolynomialMap

SCHEMA = "lightning-sym/phi/1"


def as_document(phi: PolynomialMap, latex: bool) -> dict[str, Any]:
    """The map as JSON: every output coordinate as a polynomial."""
    from numpy import ndindex

    from lightning_sym.network.polynomial_map import ambient_dimension

    return {
        "schema": SCHEMA,
        "architecture": options.architecture_json(phi.architecture),
        "degree": phi.architecture.degree,
        "ambient_dimension": ambient_dimension(phi.architecture),
        "terms": phi.term_count,
        "weights": list(phi.weight_names),
        "inputs": list(phi.input_names),
        "outputs": [
            {
                "row": k + 1,
                "token": j + 1,
                "polynomial": phi.latex(k, j) if latex else str(phi.entries[k, j]),
            }
            for k, j in ndindex(*phi.entries.shape)
        ],
    }


@click.command(
    "phi",
    epilog="""\b
Examples:
  lightning-sym phi --widths 2,1 --ranks 2 --tokens 2
  lightning-sym phi --weights weights.json --tokens 2 --latex
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
@click.option("--latex", is_flag=True, help="Print LaTeX; with --json the polynomials are in LaTeX.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["sympy", "latex", "macaulay2", "singular", "oscar", "sage", "json"]),
    help="Print what another system reads.",
)
@options.memory
@options.as_json
def command(
    widths: tuple[int, ...] | None,
    ranks: tuple[int, ...] | None,
    tokens: int,
    weight_file: str | None,
    normalization: str | None,
    mask: str | None,
    skip: bool,
    latex: bool,
    form: str | None,
    memory: float,
    as_json: bool,
) -> None:
    """Print phi_W as exact polynomials in the inputs, with symbolic weights or those of a file.

    Weights are variables such as Q1_2_3 (layer 1, row 2, column 3); inputs are x_k_j, coordinate k of token j. Of
    lightning attention with one head and nothing added: other networks are refused by name.
    """
    limit = options.memory_bytes(memory)
    if form is not None and (latex or as_json) and form not in ("latex" if latex else "", "json" if as_json else ""):
        raise click.UsageError(f"--format {form} is another form than {'--latex' if latex else '--json'}: give one")
    latex, as_json = latex or form == "latex", as_json or form == "json"
    if weight_file is None:
        if widths is None or ranks is None:
            raise click.UsageError("give --widths and --ranks, or --weights FILE")
        network = options.architecture(
            widths, ranks, tokens, normalization=normalization or "none", mask=mask or "none", skip=skip
        )
    elif widths is not None or ranks is not None:
        raise click.UsageError("--weights names the widths and ranks itself: leave out --widths and --ranks")

    from lightning_sym.network.polynomial_map import polynomial_map

    if weight_file is None:
        phi = polynomial_map(network, memory=limit)
    else:
        weights = options.load_weights(weight_file, normalization=normalization, mask=mask, skip=skip)
        network = weights.architecture(tokens)
        phi = polynomial_map(network, weights, memory=limit)
    if as_json:
        from lightning_cli.writing.output import write_json

        write_json(as_document(phi, latex))
        return
    if latex:
        click.echo(phi.to_latex())
    elif form is None or form == "latex":
        click.echo(str(phi))
    else:
        from lightning_sym.network.map_formats import map_text

        click.echo(map_text(phi, form))
