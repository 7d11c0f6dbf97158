"""`lightning-sym classify`: what a point of the neuromanifold is."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from lightning_cli import exit_codes, options
from lightning_cli.numbers import Size
from lightning_cli.writing.fields import (
    SPELLED,
    TEXT,
    TRUTH,
    JsonAnswer,
    JsonField,
    JsonKind,
    by_name,
    each,
    group,
    in_order,
    itself,
    natural,
    one_of,
    optional,
)
from lightning_cli.writing.shared_fields import BOUNDS, NETWORK, PROOF, equations_of

if TYPE_CHECKING:
    from lightning_sym.geometry.classify import Classification
    from lightning_sym.geometry.layer_orbits import LayerOrbit
    from lightning_sym.geometry.orbit_table import OrbitTable
    from lightning_sym.geometry.singular_locus import SingularLocus


def _labels(found: Classification | LayerOrbit) -> list[str]:
    return [label.value for label in found.labels]


def _source(module: str) -> Callable[[Any], str]:
    """What proves an answer, which the module that finds it says."""
    return lambda found: import_module(f"lightning_sym.geometry.{module}").SOURCE


LABELS = each(one_of("regular", "critical", "singular", "boundary")).having(uniqueItems=True)

COMMON_SPACE = "dimension of the intersection of the row space of V and the column space of A"

TANGENT = group(JsonField("lower", natural()), JsonField("upper", optional(natural())), JsonField("source", TEXT))

EQUATIONS = in_order(JsonField("degree", natural()), JsonField("bound", natural()))

RANK = group(JsonField("lower", natural()), JsonField("upper", natural()))

RANKS = group(
    JsonField("attention", natural()),
    JsonField("value", natural()),
    JsonField("common", natural(), COMMON_SPACE),
    JsonField("differential", natural()),
    JsonField("domain", natural()),
    JsonField("restricted", natural()),
    JsonField("tangent", natural()),
    JsonField("fiber_points", optional(natural(1))),
)

ANSWER = JsonAnswer(
    "classify",
    "`lightning-sym classify --json`.",
    (
        *NETWORK,
        JsonField("labels", LABELS, "what the point is", _labels),
        JsonField("decided", TRUTH, "whether all that is asked is decided"),
        JsonField("reasons", each(TEXT), "in words"),
        JsonField("dimension", BOUNDS, "of the set of functions"),
        JsonField(
            "tangent_dimension",
            TANGENT,
            "of the Zariski tangent space, at the point, of the closure of the set of functions; null where no upper "
            "bound is known",
        ),
        JsonField(
            "equations",
            optional(EQUATIONS),
            "the degree up to which all equations are known, and the dimension that they leave to the tangent space; "
            "null where they were not asked for",
        ),
        JsonField("rank_in_weights", RANK, "of the differential in queries, keys and values", "weight_rank"),
        JsonField("ranks", optional(RANKS), "the exact ranks that decide a point of one layer"),
    ),
)

ORBIT = group(
    JsonField("value", natural(), "rk V"),
    JsonField("attention", natural(), "rk A"),
    JsonField("common", natural(), COMMON_SPACE),
    JsonField("dimension", natural(), "of the set of functions of this orbit"),
    JsonField(
        "tangent_dimension",
        group(
            JsonField("lower", natural(), of="tangent_dimension"), JsonField("upper", natural(), of="tangent_dimension")
        ),
        "of the Zariski tangent space of the closure of the set of all functions",
        itself,
    ),
    JsonField("fiber_points", optional(natural(1)), "points of the projective fiber, null for the function 0"),
    JsonField("labels", LABELS, "what its points are", _labels),
)

ORBITS = JsonAnswer(
    "orbits",
    "`lightning-sym classify --orbits --json`.",
    (
        *NETWORK,
        JsonField("dimension", natural(), "of the set of functions"),
        JsonField("singular_dimension", optional(natural()), "dimension of the singular locus, null if it is empty"),
        JsonField("source", TEXT, PROOF, _source("orbit_table")),
        JsonField("orbits", each(ORBIT), "one for each orbit of functions, the function 0 first", itself),
    ),
)

SPELLED_POLYNOMIAL = JsonKind(TEXT.schema, lambda polynomial: str(polynomial.as_expr()))

SINGULAR_IDEAL = JsonAnswer(
    "singular-ideal",
    "`lightning-sym classify --singular-ideal --json`.",
    (
        *NETWORK,
        JsonField("locus", TEXT, "the singular points, in words"),
        JsonField("source", TEXT, PROOF, _source("singular_locus")),
        JsonField("dimension", optional(natural(-1)), "of the locus, -1 if it is empty, null where it is not known"),
        JsonField("degree", optional(natural(1)), "of the locus, null where it is not known"),
        JsonField(
            "equations",
            optional(by_name(each(TEXT))),
            "generators of the ideal of the locus by degree, null where they were not looked for",
            lambda found: None if found.equations is None else equations_of(found.equations),
        ),
        JsonField(
            "complete_to_degree",
            optional(natural()),
            "up to this degree all equations follow from these",
            lambda found: None if found.equations is None else found.equations.complete_to_degree,
        ),
        JsonField(
            "partial_derivatives",
            optional(each(SPELLED_POLYNOMIAL)),
            "of the equation of the set of functions, where it is a hypersurface: with it they generate the singular "
            "ideal",
        ),
        JsonField("coordinates", each(SPELLED), "what the variables are"),
    ),
    title="singular ideal",
)

ANSWERS = (ANSWER, ORBITS, SINGULAR_IDEAL)


def _of_shape(network: Any, orbits: bool, degree: int | None, limit: int, work: float, as_json: bool) -> int:
    """What is asked of a shape and not of weights."""
    from lightning_cli.writing.output import progress_bar, write_answer, write_json
    from lightning_sym.geometry.orbit_table import layer_orbits
    from lightning_sym.geometry.singular_locus import singular_locus

    found: OrbitTable | SingularLocus
    if orbits:
        found = layer_orbits(network, memory=limit)
        document = ORBITS.document(found) if as_json else {}
    else:
        with progress_bar() as progress:
            found = singular_locus(network, degree, memory=limit, work=work, progress=progress)
        document = SINGULAR_IDEAL.document(found) if as_json else {}
    if as_json:
        write_json(document)
    else:
        write_answer(found)
    return exit_codes.AS_EXPECTED


@click.command(
    "classify",
    epilog="""\b
Examples:
  lightning-sym classify weights.json --tokens 2
  lightning-sym classify --orbits --widths 3,2 --ranks 2
  lightning-sym classify --singular-ideal --widths 2,1 --ranks 2

Exit codes: 0 decided, 2 bad input, 3 undecided.""",
)
@click.argument("file", type=click.Path(), required=False)
@click.option(
    "--orbits", is_flag=True, help="Of a shape, not of weights: all orbits of functions of one layer, with their kinds."
)
@click.option(
    "--singular-ideal", is_flag=True, help="Of a shape, not of weights: the singular locus and its equations."
)
@options.widths(required=False)
@options.ranks(required=False)
@click.option(
    "--tokens",
    type=Size(),
    default=2,
    show_default=True,
    help="Number of tokens t; from two on it makes no difference for one layer.",
)
@click.option(
    "--degree",
    type=Size(),
    help="Also find the equations of the set of functions up to this degree, which bound the tangent space from above.",
)
@options.weight_form
@options.memory
@options.work
@options.as_json
def command(
    file: str | None,
    orbits: bool,
    singular_ideal: bool,
    widths: tuple[int, ...] | None,
    ranks: tuple[int, ...] | None,
    tokens: int,
    degree: int | None,
    normalization: str | None,
    mask: str | None,
    skip: bool,
    memory: float,
    work: float,
    as_json: bool,
) -> int:
    """Say whether the function of the weights in FILE is a regular, critical, singular or boundary point.

    One layer, two or more tokens: all four are decided, with the dimension of the tangent space. More layers, or one
    token: whether the point is critical for the parametrization by queries, keys and values. Decided for lightning
    attention with one head and nothing added.

    With --orbits, for a shape of one layer: the table (rk V, rk A, dim row V meet col A) of all orbits of functions.
    With --singular-ideal: the singular locus and its equations, in small cases.
    """
    limit = options.memory_bytes(memory)
    if orbits or singular_ideal:
        other = {normalization, mask} - {None, "none"} or skip
        if orbits == singular_ideal or file is not None or widths is None or ranks is None or other:
            raise click.UsageError(
                "--orbits or --singular-ideal needs --widths and --ranks, no FILE and no other network than lightning"
            )
        if orbits and degree is not None:
            raise click.UsageError("--degree goes with a FILE or with --singular-ideal")
        network = options.architecture(widths, ranks, tokens)
        return _of_shape(network, orbits, degree, limit, work, as_json)
    if file is None or widths is not None or ranks is not None:
        raise click.UsageError("a FILE of weights is needed; --widths and --ranks go with --orbits or --singular-ideal")

    from lightning_cli.writing.output import progress_bar, write_answer, write_json
    from lightning_sym.geometry.classify import classify

    weights = options.load_weights(file, normalization=normalization, mask=mask, skip=skip)
    with progress_bar() as progress:
        point = classify(weights, tokens, degree=degree, memory=limit, work=work, progress=progress)
    if as_json:
        write_json(ANSWER.document(point))
    else:
        write_answer(point, point="green" if point.decided else "yellow")
    return exit_codes.AS_EXPECTED if point.decided else exit_codes.UNDECIDED
