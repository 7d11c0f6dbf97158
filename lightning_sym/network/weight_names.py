"""The names of weights: what is read, and what is canonical."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from lightning_sym.errors import ShapeError
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.form import NetworkForm
from lightning_sym.network.pieces import HEAD_WORDS, LAYER_WORDS, LISTED, pieces

_NAME = rf"({'|'.join(HEAD_WORDS + LAYER_WORDS)})([1-9][0-9]{{0,8}})(?:\.([1-9][0-9]{{0,8}}))?|[EU]"


class WeightPlace(NamedTuple):
    """Where a matrix belongs; layer 0 for the embedding and the unembedding."""

    letter: str
    layer: int
    head: int


def places_of(names: Iterable[object]) -> tuple[dict[WeightPlace, str], list[str]]:
    """Return the places of the names, and the names that have none; with one head `Q1` and `Q1.1` are one place."""
    places: dict[WeightPlace, str] = {}
    unknown = []
    for name in names:
        if not isinstance(name, str) or (match := re.fullmatch(_NAME, name)) is None:
            unknown.append(str(name))
            continue
        letter, layer, head = match.groups()
        place = WeightPlace(letter or name, int(layer or 0), int(head or 1))
        if place in places:
            raise ShapeError(f"{places[place]} and {name} name the same matrix")
        places[place] = name
    return places, unknown


def split(name: str) -> tuple[str, str]:
    """Return the word that a name of a weight begins with, and its place.

    Example:
        >>> split("bQ1.2"), split("E")
        (('bQ', '1.2'), ('E', ''))
    """
    place = re.sub("^[a-zA-Z]+", "", name)
    return name[: len(name) - len(place)], place


def canonical_name(place: WeightPlace, heads: int) -> str | None:
    """Return the name that `Architecture.weight_shapes()` prints; `None` if networks of so many heads have none."""
    if heads > 1 and place.layer and place.letter not in LAYER_WORDS:
        return f"{place.letter}{place.layer}.{place.head}"
    return f"{place.letter}{place.layer or ''}" if place.head == 1 else None


def weight_names(depth: int, heads: int, form: NetworkForm, *, projected: bool) -> Iterable[str]:
    """Return the names of all weights of a network, in canonical order, embedding and unembedding among them.

    Args:
        depth: how many layers.
        heads: of each layer.
        form: says which biases there are, for one.
        projected: whether there are output projections.

    Example:
        >>> list(weight_names(1, 2, NetworkForm(key_heads=1, biases="O"), projected=False))
        ['E', 'Q1.1', 'K1.1', 'V1.1', 'Q1.2', 'bO1', 'U']
    """
    if heads * depth > LISTED:
        return _names(depth, heads, form, projected=projected)
    return _listed(depth, heads, form, projected=projected)


@lru_cache(maxsize=64)
def _listed(depth: int, heads: int, form: NetworkForm, *, projected: bool) -> tuple[str, ...]:
    """Return the same, of a network of few heads: weights are made often."""
    return tuple(_names(depth, heads, form, projected=projected))


def _names(depth: int, heads: int, form: NetworkForm, *, projected: bool) -> Iterator[str]:
    """Yield the names of weights, one after the other."""
    # sizes change no name: all are such that they fit whatever the form says
    ones, large = (1,) * depth, (2**40,) * depth
    network = Architecture(
        (1, *ones), large, 1, heads=heads, value_ranks=ones if projected else None, embed=1, unembed=1,
        neurons=None if form.gated is None else ones, **form.added,
    )  # fmt: skip
    return (piece.name for piece in pieces(network))
