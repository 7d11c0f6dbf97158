"""`lightning-sym classify`: what a point of the neuromanifold is."""

from __future__ import annotations

import click

from lightning_cli import exit_codes, options
from lightning_cli.numbers import NamedCoordinates, Size
from lightning_cli.writing.fields import (
    SPELLED,
    TEXT,
    JsonKind,
    each,
    field,
    group,
    in_order,
    itself,
    json_answer,
    natural,
    one_of,
    optional,
)
from lightning_cli.writing.output import progress_bar, write
from lightning_cli.writing.shared_fields import BOUNDS, NETWORK, PROOF, TRIED, equations_of
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from lightning_sym.geometry import classify, layer_orbits, limits, orbit_table, singular_locus


def _labels(found: classify.Classification | layer_orbits.LayerOrbit) -> list[str]:
    """Return what a point is, in words."""
    return [label.value for label in found.labels]


LABELS = each(one_of("regular", "critical", "singular", "boundary")).having(uniqueItems=True)

COMMON_SPACE = "dimension of the intersection of the row space of V and the column space of A"

TANGENT = group(field("lower", natural()), field("upper", optional(natural())), field("source", str))

EQUATIONS = in_order(field("degree", natural()), field("bound", natural()))

RANK = group(field("lower", natural()), field("upper", natural()))

RANKS = group(
    field("attention", natural()),
    field("value", natural()),
    field("common", natural(), COMMON_SPACE),
    field("differential", natural()),
    field("domain", natural()),
    field("restricted", natural()),
    field("tangent", natural()),
    field("fiber_points", optional(natural(1))),
)

LIMITS = group(
    field("bounded", optional(bool), "whether rescalings make each of them bounded; null where that is not known"),
    field("rates", [str], "how weights of such families can grow"),
    field("tends_to", str, "where to, once they are rescaled; empty where that is not known"),
    field("reasons", [str], "what else is so"),
    field("proof", str, f"{PROOF}; empty where nothing is"),
    TRIED,
)

ANSWER = json_answer(
    "classify",
    *NETWORK,
    field("labels", LABELS, "what the point is", _labels),
    field("decided", bool, "whether all that is asked is decided"),
    field("reasons", [str], "in words"),
    field("dimension", BOUNDS, "of the set of functions"),
    field(
        "tangent_dimension",
        TANGENT,
        "of the Zariski tangent space, at the point, of the closure of the set of functions; null where no upper "
        "bound is known",
    ),
    field(
        "equations",
        optional(EQUATIONS),
        "the degree up to which all equations are known, and the dimension that they leave to the tangent space; "
        "null where they were not asked for",
    ),
    field("rank_in_weights", RANK, "of the differential in queries, keys and values", "weight_rank"),
    field("ranks", optional(RANKS), "the exact ranks that decide a point of one layer"),
    TRIED,
    field(
        "limits",
        optional(LIMITS),
        "families of weights, in eps, whose functions tend to this one with eps; null where it takes too much work",
    ),
)

ORBIT = group(
    field("value", natural(), "rk V"),
    field("attention", natural(), "rk A"),
    field("common", natural(), COMMON_SPACE),
    field("dimension", natural(), "of the set of functions of this orbit"),
    field(
        "tangent_dimension",
        group(field("lower", natural(), of="tangent_dimension"), field("upper", natural(), of="tangent_dimension")),
        "of the Zariski tangent space of the closure of the set of all functions",
        itself,
    ),
    field("fiber_points", optional(natural(1)), "points of the projective fiber, null for the function 0"),
    field("labels", LABELS, "what its points are", _labels),
)

ORBITS = json_answer(
    "orbits",
    *NETWORK,
    field("dimension", natural(), "of the set of functions"),
    field("singular_dimension", optional(natural()), "dimension of the singular locus, null if it is empty"),
    field("source", str, PROOF, lambda found: orbit_table.SOURCE),
    field("orbits", [ORBIT], "one for each orbit of functions, the function 0 first", itself),
    said="`lightning-sym classify --orbits --json`.",
)

SPELLED_POLYNOMIAL = JsonKind(TEXT.schema, lambda polynomial: str(polynomial.as_expr()))

SINGULAR_IDEAL = json_answer(
    "singular-ideal",
    *NETWORK,
    field("locus", str, "the singular points, in words"),
    field("source", str, PROOF, lambda found: singular_locus.SOURCE),
    field("dimension", optional(natural(-1)), "of the locus, -1 if it is empty, null where it is not known"),
    field("degree", optional(natural(1)), "of the locus, null where it is not known"),
    field(
        "equations",
        optional({str: [str]}),
        "generators of the ideal of the locus by degree, null where they were not looked for",
        lambda found: None if found.equations is None else equations_of(found.equations),
    ),
    field(
        "complete_to_degree",
        optional(natural()),
        "up to this degree all equations follow from these",
        lambda found: None if found.equations is None else found.equations.complete_to_degree,
    ),
    field(
        "partial_derivatives",
        optional([SPELLED_POLYNOMIAL]),
        "of the equation of the set of functions, where it is a hypersurface: with it they generate the singular ideal",
    ),
    field("coordinates", [SPELLED], "what the variables are"),
    said="`lightning-sym classify --singular-ideal --json`.",
    title="singular ideal",
)

RATE = optional(int)

FUNCTION_LIMIT = json_answer(
    "function-limit",
    *NETWORK,
    field("rates", {str: RATE}, "by matrix the largest power of eps that divides it; null where it is zero"),
    field("virtual_rates", [RATE], "the same of A~1, ..., A~l, V~"),
    field("order", RATE, "the same of the function: it is bounded if this is not negative; null if it is zero"),
    field(
        "leading",
        optional([SPELLED]),
        "the coefficient of this power, output by output in the order of rows and tokens; null where it is zero",
        lambda found: None if found.leading is None else [entry for _, _, entry in found.leading.outputs()],
    ),
    field(
        "attained",
        optional(one_of("weights", "none", "undecided")),
        "whether weights of this shape have it as their function; null where there is none",
        lambda found: (
            "weights" if found.attained is not None else None if found.recovery is None else found.recovery.answer.value
        ),
    ),
    said="`lightning-sym classify --json` with `--along` or `--powers`.",
    title="limit of functions",
)

ANSWERS = (ANSWER, ORBITS, SINGULAR_IDEAL, FUNCTION_LIMIT)


@click.command(
    "classify",
    epilog="""\b
Examples:
  lightning-sym classify examples/singular.json --tokens 2
  lightning-sym classify weights.json --along direction.json --powers V2=-1
  lightning-sym classify --orbits --widths 3,2 --ranks 2
  lightning-sym classify --singular-ideal --widths 2,1 --ranks 2
  lightning-sym classify --singular-ideal --widths 2,1 --ranks 2 --format singular

Exit codes: 0 decided, 2 bad input, 3 undecided.""",
)
@click.argument("file", type=click.Path(), required=False)
@click.option("--along", type=click.Path(), help="The limit of the family FILE + eps ALONG, as eps tends to 0.")
@click.option(
    "--powers",
    type=NamedCoordinates(click.INT, "Q1=1,V1=-1"),
    metavar="V2=-1,...",
    help="Of such a family: powers of eps that its matrices are multiplied by.",
)
@click.option(
    "--orbits", is_flag=True, help="Of a shape, not of weights: all orbits of functions of one layer, with their kinds."
)
@click.option(
    "--singular-ideal", is_flag=True, help="Of a shape, not of weights: the singular locus and its equations."
)
@options.widths(required=False)
@options.ranks(required=False)
@options.tokens("Number of tokens t; from two on it makes no difference for one layer.", default=2, show_default=True)
@click.option(
    "--degree",
    type=Size(),
    help="Also find the equations of the set of functions up to this degree, which bound the tangent space from above.",
)
@click.option(
    "--format",
    "written",
    type=click.Choice([form for form in options.FORMATS if form != "json"]),
    help="With --singular-ideal: the ideal, ready to paste into another system.",
)
@options.FORM
@options.MEMORY
@options.AT_MOST_WORK
@options.AS_JSON
def command(
    *,
    file: str | None,
    along: str | None,
    powers: dict[str, int] | None,
    orbits: bool,
    singular_ideal: bool,
    widths: tuple[int, ...] | None,
    ranks: tuple[int, ...] | None,
    tokens: int,
    degree: int | None,
    written: str | None,
    form: options.FormOptions,
    memory: int,
    work: float,
    as_json: bool,
) -> int:
    """Say whether the function of the weights in FILE is a regular, critical, singular or boundary point.

    One layer, two or more tokens: all four are decided, with the dimension of the tangent space. More layers, or one
    token: whether the point is critical for the parametrization by queries, keys and values. Decided for lightning
    attention with one head and nothing added.

    With --along or --powers: what the functions of a family of weights tend to, and which weights blow up.

    With --orbits, for a shape of one layer: the table (rk V, rk A, dim row V meet col A) of all orbits of functions.
    With --singular-ideal: the singular locus and its equations, in small cases.
    """
    if written is not None and (as_json or not singular_ideal):
        raise click.UsageError("--format goes with --singular-ideal, without --json")
    if not (orbits or singular_ideal):
        if file is None or widths is not None or ranks is not None:
            raise click.UsageError(
                "a FILE of weights is needed; --widths and --ranks go with --orbits or --singular-ideal"
            )
        weights = options.load_weights(file, **form)
        if along is not None or powers is not None:
            options.refuse((degree is not None, "--degree is about one point, not about a family"))
            family = limits.family_of(weights, None if along is None else options.load_weights(along, **form), powers)
            with progress_bar() as progress:
                limit = limits.function_limit(family, tokens, memory=memory, work=work, progress=progress)
            return write(FUNCTION_LIMIT, limit, as_json=as_json)
        with progress_bar() as progress:
            point = classify.classify(weights, tokens, degree=degree, memory=memory, work=work, progress=progress)
        return write(ANSWER, point, "point", as_json=as_json, holds=point.decided or None)
    other = {*form.values(), along, None if powers is None else "powers"} - {None, "none", False}
    if orbits == singular_ideal or file is not None or widths is None or ranks is None or other:
        raise click.UsageError(
            "--orbits or --singular-ideal needs --widths and --ranks, no FILE and no other network than lightning"
        )
    options.refuse((orbits and degree is not None, "--degree goes with a FILE or with --singular-ideal"))
    network = options.network_of(widths, ranks, tokens)
    if orbits:
        return write(ORBITS, orbit_table.layer_orbits(network, memory=memory), as_json=as_json)
    with progress_bar() as progress:
        locus = singular_locus.singular_locus(network, degree, memory=memory, work=work, progress=progress)
    if written is not None:
        click.echo(locus.to_text(written))
        return exit_codes.AS_EXPECTED
    return write(SINGULAR_IDEAL, locus, as_json=as_json)
