"""Kinds of values that several answers have: exact numbers and matrices, networks, bounds, trials of a formula."""

from __future__ import annotations

from collections.abc import Iterable

from lightning_cli.writing.fields import (
    SPELLED,
    TEXT,
    JsonKind,
    by_name,
    each,
    field,
    group,
    natural,
    one_of,
    optional,
    shared,
)
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from lightning_sym import display
    from lightning_sym.network import architecture as architectures
    from lightning_sym.varieties import equations_text, known_ideal


def exact(matrix: Iterable[Iterable[object]]) -> list[list[str]]:
    """Return a matrix as rows of exact numbers, spelled out."""
    return display.spelled_rows(matrix)


NUMBER = shared("number", "an exact number", SPELLED.having(pattern="^-?[0-9]+(/[0-9]+)?$"))

MATRIX = shared("matrix", "a matrix, row by row", JsonKind(each(each(NUMBER, 1), 1).schema, exact))

VIRTUAL_WEIGHTS = shared(
    "virtual_weights", "A~1, ..., A~l, and V~", group(field("attention", [MATRIX]), field("value", MATRIX))
)

_NETWORK = group(
    field("widths", each(natural(1), 2), "d_0, ..., d_l"),
    field("attention_ranks", each(natural(1), 1), "a_1, ..., a_l"),
    field("tokens", natural(1), "t"),
    field(
        "normalization",
        str,
        "none, softmax, or the name of another",
        lambda network: "none" if network.normalization is None else network.normalization.name,
    ),
    field("heads", natural(1)),
    field("value_ranks", optional(each(natural(1), 1)), "b_1, ..., b_l where there are output projections"),
    field("skip", bool),
    field("mask", one_of("none", "causal"), of=lambda network: "causal" if network.causal else "none"),
    field("embed", optional(natural(1))),
    field("unembed", optional(natural(1))),
)

OPTIONS = frozenset({"causal" if word == "mask" else word for word in _NETWORK.schema["properties"]})
"""What of networks has a field."""


def architecture_json(network: architectures.Architecture) -> object:
    """Return the architecture as it stands in every JSON answer.

    Raises:
        BadInput: the network has an option without a field.
    """
    network.require("the JSON form of a network", OPTIONS)
    return _NETWORK.written(network)


ARCHITECTURE = shared("architecture", "the network", JsonKind(_NETWORK.schema, architecture_json))

BOUNDS = shared(
    "bounds",
    "the value, null while undecided, and its two bounds",
    group(field("value", optional(natural())), field("lower", natural()), field("upper", natural())),
)

NETWORK = (
    field(
        "network",
        str,
        "in words, the kind of attention first",
        lambda result: architectures.network_line(result.architecture),
    ),
    field("architecture", ARCHITECTURE, "the network"),
)
"""The network that an answer is about, in words and by its options."""

SPELLED_NUMBER = JsonKind(TEXT.schema, lambda number: display.spelled(number))
"""A number that may be more than rational."""

ANY_MATRIX = JsonKind(each([str]).schema)
"""A matrix of entries that are spelled already."""

SPELLED_MATRIX = JsonKind(ANY_MATRIX.schema, exact)
"""A matrix whose entries may be more than rational numbers."""

MATRICES = {str: MATRIX}

CONDITION = group(
    field("name", str, "as the page has it"),
    field("layer", natural(), "its layer, or the number of the space"),
    field("holds", optional(bool), "null where it is not known"),
    field("evidence", str, "what shows it"),
)

TRIED = field(
    "tried",
    [SPELLED],
    "theorems that were asked before in vain, each with its page and why",
)
"""What was asked on the way to an answer."""

PROOF = "where it is proved: the page and its theorems"


def equations_of(found: known_ideal.Equations) -> dict[int, list[str]]:
    """Return all generators by degree, as SymPy reads them."""
    text = equations_text.equation_text
    return {degree: [text(terms, found, "sympy", None) for terms in s] for degree, s in found.terms.items()}


STATUS = one_of("certified", "undecided")

COUNTS = by_name(natural(1), names={"enum": ["certified", "undecided", "refused"]})
"""Networks of an atlas by their status."""

TRIAL = group(
    field("formula", str, "as it was typed"),
    field("agree", natural(), "certified networks where it gives the dimension"),
    field("refuted", natural(), "networks whose bounds exclude its value"),
    field("undecided", natural(), "networks whose bounds leave its value open"),
    field("without", natural(), "networks that it says nothing about, or that were refused"),
    field(
        "counterexample",
        optional(
            group(
                field("architecture", ARCHITECTURE, of="counterexample.architecture"),
                field("dimension", optional(natural()), "where its bounds meet", "counterexample.dimension"),
                field("lower", natural(), "lower bound", "counterexample.lower"),
                field("upper", natural(), "upper bound", "counterexample.upper"),
                field("value", int, "what the formula gives"),
            )
        ),
        "the smallest network of the refuted ones",
        lambda trial: trial if trial.counterexample is not None else None,
    ),
)
"""A formula against the certified dimensions of an atlas."""
