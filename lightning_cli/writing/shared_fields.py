"""Kinds of values that several answers have: exact numbers and matrices, networks, bounds, trials of a formula."""

from __future__ import annotations

from typing import Any

from lightning_cli import options
from lightning_cli.writing.fields import (
    INTEGER,
    SPELLED,
    TEXT,
    TRUTH,
    JsonField,
    JsonKind,
    by_name,
    each,
    group,
    natural,
    one_of,
    optional,
    shared,
)
from lightning_cli.writing.output import exact, spelled

NUMBER = shared("number", "an exact number", SPELLED.having(pattern="^-?[0-9]+(/[0-9]+)?$"))

MATRIX = shared("matrix", "a matrix, row by row", JsonKind(each(each(NUMBER, 1), 1).schema, exact))

VIRTUAL_WEIGHTS = shared(
    "virtual_weights", "A~1, ..., A~l, and V~", group(JsonField("attention", each(MATRIX)), JsonField("value", MATRIX))
)

_NETWORK = group(
    JsonField("widths", each(natural(1), 2), "d_0, ..., d_l"),
    JsonField("attention_ranks", each(natural(1), 1), "a_1, ..., a_l"),
    JsonField("tokens", natural(1), "t"),
    JsonField(
        "normalization",
        TEXT,
        "none, softmax, or the name of another",
        lambda network: "none" if network.normalization is None else network.normalization.name,
    ),
    JsonField("heads", natural(1)),
    JsonField("value_ranks", optional(each(natural(1), 1)), "b_1, ..., b_l where there are output projections"),
    JsonField("skip", TRUTH),
    JsonField("mask", one_of("none", "causal"), of=lambda network: "causal" if network.causal else "none"),
    JsonField("embed", optional(natural(1))),
    JsonField("unembed", optional(natural(1))),
)

OPTIONS = frozenset({"normalization", "heads", "value_ranks", "skip", "causal", "embed", "unembed"})
"""Options of networks that have a field."""


def architecture_json(network: Any) -> dict[str, Any]:
    """The architecture as it stands in every JSON answer.

    Raises:
        BadInput: the network has an option without a field.
    """
    network.require("the JSON form of a network", OPTIONS)
    written: dict[str, Any] = _NETWORK.written(network)
    return written


ARCHITECTURE = shared("architecture", "the network", JsonKind(_NETWORK.schema, architecture_json))

BOUNDS = shared(
    "bounds",
    "the value, null while undecided, and its two bounds",
    group(JsonField("value", optional(natural())), JsonField("lower", natural()), JsonField("upper", natural())),
)

NETWORK = (
    JsonField(
        "network",
        TEXT,
        "in words, the kind of attention first",
        lambda result: options.network_line(result.architecture),
    ),
    JsonField("architecture", ARCHITECTURE, "the network"),
)
"""The network that an answer is about, in words and by its options."""

SPELLED_NUMBER = JsonKind(TEXT.schema, spelled)
"""A number that may be more than rational."""

ANY_MATRIX = JsonKind(each(each(TEXT)).schema)
"""A matrix of entries that are spelled already."""

SPELLED_MATRIX = JsonKind(ANY_MATRIX.schema, exact)
"""A matrix whose entries may be more than rational numbers."""

MATRICES = by_name(MATRIX)

CONDITION = group(
    JsonField("name", TEXT, "as the page has it"),
    JsonField("layer", natural(), "its layer, or the number of the space"),
    JsonField("holds", optional(TRUTH), "null where it is not known"),
    JsonField("evidence", TEXT, "what shows it"),
)

PROOF = "where it is proved: the page and its theorems"


def equations_of(found: Any) -> dict[int, list[str]]:
    """All generators by degree, as SymPy reads them."""
    from lightning_sym.varieties.equations_text import equation_text

    return {degree: [equation_text(terms, found, "sympy", None) for terms in s] for degree, s in found.terms.items()}


STATUS = one_of("certified", "undecided")

COUNTS = by_name(natural(1), names={"enum": ["certified", "undecided", "refused"]})
"""Networks of an atlas by their status."""

TRIAL = group(
    JsonField("formula", TEXT, "as it was typed"),
    JsonField("agree", natural(), "certified networks where it gives the dimension"),
    JsonField("refuted", natural(), "networks whose bounds exclude its value"),
    JsonField("undecided", natural(), "networks whose bounds leave its value open"),
    JsonField("without", natural(), "networks that it says nothing about, or that were refused"),
    JsonField(
        "counterexample",
        optional(
            group(
                JsonField("architecture", ARCHITECTURE, of="counterexample.architecture"),
                JsonField("dimension", optional(natural()), "where its bounds meet", "counterexample.dimension"),
                JsonField("lower", natural(), "lower bound", "counterexample.lower"),
                JsonField("upper", natural(), "upper bound", "counterexample.upper"),
                JsonField("value", INTEGER, "what the formula gives"),
            )
        ),
        "the smallest network of the refuted ones",
        lambda trial: trial if trial.counterexample is not None else None,
    ),
)
"""A formula against the certified dimensions of an atlas."""
