r"""What a network is made of: every weight by its name, and the spaces in which its rows and its columns live.

This is the only place that knows which weights an option adds. Shapes and numbers of parameters follow from it, and so
does the group that acts on the weights: one $GL$ for each space whose basis can be chosen freely, and one scalar for
each head of lightning attention. An axis moves with its space (`up`, by $g$) or against it (by $g^{-\top}$), so that
whatever is written in a basis is read in the same one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple, Protocol, TypeVar

from lightning_sym.network.variant import ADDED

SCORES = frozenset({"normalization", "causal"})
FORM = SCORES | {"skip"}
SIZED = frozenset({"value_ranks", "embed", "unembed"})
"""Options of what is done to scores; those that no shape shows, so that weights carry them; sizes of what they add."""

SHAPED = FORM | SIZED | {"heads"}
LIGHTNING = SHAPED - {"normalization"}
"""The options that theorems are about, and those of networks whose scores are not normalized. What is proved for
another one as well says so where it is proved."""

DECLARED = SHAPED | ADDED
"""The options whose weights are listed here, and that the forward pass carries out."""

HEAD_FACTORS, ENDS = ("Q", "V", "K", "O"), ("E", "U")
"""The letters of the factors of a head, with projections or without, as circuits have them; and of what stands at ends.
"""

HEAD_WORDS = ("Q", "bQ", "K", "bK", "V", "bV", "O")
"""What names of weights begin with that every head has, or every group of heads; `b` is a bias."""

LAYER_WORDS = ("gQ", "gK", "bO", "gate", "up", "down")
"""The same of weights that a layer has once; `g` is a gain."""


class Shaped(Protocol):
    """What the table reads of a network, which `lightning_sym.Architecture` is."""

    @property
    def widths(self) -> tuple[int, ...]: ...
    @property
    def attention_ranks(self) -> tuple[int, ...]: ...
    @property
    def value_ranks(self) -> tuple[int, ...] | None: ...
    @property
    def normalization(self) -> object | None: ...
    @property
    def heads(self) -> int: ...
    @property
    def skip(self) -> bool: ...
    @property
    def embed(self) -> int | None: ...
    @property
    def unembed(self) -> int | None: ...
    @property
    def key_heads(self) -> int | None: ...
    @property
    def biases(self) -> str | tuple[str, ...]: ...
    @property
    def gains(self) -> bool: ...
    @property
    def rotary(self) -> object | None: ...
    @property
    def query_key_norm(self) -> object | None: ...
    @property
    def gated(self) -> object | None: ...
    @property
    def neurons(self) -> tuple[int, ...] | None: ...
    @property
    def options(self) -> frozenset[str]: ...
    @property
    def depth(self) -> int: ...
    def head_name(self, layer: int, head: int) -> str: ...
    def require(self, what: str, proved: Collection[str]) -> None: ...


class WeightSpace(NamedTuple):
    """Where rows or columns of weights live, or what rescales them.

    Attributes:
        kind: `query-key`, `value-output`, `stream`, `middle` (between attention and gated neurons, without skip
            connections), `neuron`, `scale`, `input`, `output`, or `one` for the column of a bias.
        place: the layer behind which a stream is, none where skip connections make all of them one; else the layer and
            head, or group of heads, all from 1.
        size: its dimension; 1 for a scale.
        free: whether the network is the same in every basis of it.
        over: the spaces above each point of which it has a basis of its own, such as values above groups of heads.
    """

    kind: str
    place: tuple[int, ...]
    size: int
    free: bool = True
    over: tuple[WeightSpace, ...] = ()

    @property
    def by_head(self) -> bool:
        """Whether every head has one."""
        return len(self.place) == 2


class Axis(NamedTuple):
    r"""The rows or the columns of a weight: they move with their space, by $g$, or against it, by $g^{-\top}$.

    What is `sized` moves by the sizes of the entries of $g$ alone, and only where each row has one: gains of norms do.
    """

    space: WeightSpace
    up: bool
    sized: bool = False


class WeightPiece(NamedTuple):
    """A weight.

    Attributes:
        name: such as `Q1.2`.
        rows: the space of its rows.
        columns: the space of its columns.
        scale: the scalar that may act on it, and its exponent; none where there is none.
        by_head: whether every head has such a weight.
        by_group: whether every group of heads has one.
    """

    name: str
    rows: Axis
    columns: Axis
    scale: tuple[WeightSpace, int] | None = None
    by_head: bool = True
    by_group: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.rows.space.size, self.columns.space.size

    @property
    def spaces(self) -> tuple[WeightSpace, ...]:
        """Every space that it moves with or against."""
        both = (self.rows.space, self.columns.space)
        return both if self.scale is None else (*both, self.scale[0])


def stream(network: Shaped, layer: int) -> WeightSpace:
    """Return the residual stream behind a layer, in front of the first one for 0.

    Example:
        >>> from lightning_sym import Architecture
        >>> stream(Architecture((2, 3, 1), (1, 1), 2), 1)
        WeightSpace(kind='stream', place=(1,), size=3, free=True, over=())
    """
    network.require("the list of streams", DECLARED)
    ends, last = (network.embed is not None, network.unembed is not None), network.depth
    if network.skip:
        return WeightSpace("stream", (), network.widths[0], all(ends))
    free = ends[0] if layer == 0 else ends[1] if layer == last else True
    return WeightSpace("stream", (layer,), network.widths[layer], free)


LISTED = 256
"""Heads of all layers together up to which a network keeps its table: there may be very many."""


def pieces(network: Shaped, heads: int | None = None) -> Iterator[WeightPiece]:
    """Return every weight of a network, in the canonical order; with `heads`, of each layer only the first so many.

    Raises:
        BadInput: an option whose weights are not known.

    Example:
        >>> from lightning_sym import Architecture
        >>> [(piece.name, piece.shape) for piece in pieces(Architecture((2, 1), (3,), 2, unembed=4))]
        [('Q1', (3, 2)), ('K1', (3, 2)), ('V1', (1, 2)), ('U', (4, 1))]
    """
    network.require("the list of weights", DECLARED)
    count = network.heads if heads is None else heads
    listed = _kept(network, "pieces", count, lambda: tuple(_pieces(network, count)))
    return _pieces(network, count) if listed is None else iter(listed)


T = TypeVar("T")


def _kept(network: Shaped, what: str, heads: int, make: Callable[[], T]) -> T | None:
    """Return what was made for this network before, unless there are too many heads to keep it."""
    if heads * network.depth > LISTED:
        return None
    kept: dict[tuple[str, int], T] = network.__dict__.setdefault("_kept", {})  # it cannot change: networks are frozen
    if (what, heads) not in kept:
        kept[what, heads] = make()
    return kept[what, heads]


def _pieces(network: Shaped, heads: int) -> Iterator[WeightPiece]:
    """Yield the weights of a network in their order."""
    if network.embed is not None:
        read = Axis(WeightSpace("input", (), network.embed, free=False), up=False)
        yield WeightPiece(ENDS[0], Axis(stream(network, 0), up=True), read, by_head=False)
    for layer in range(1, network.depth + 1):
        yield from _layer(network, layer, heads)
    if network.unembed is not None:
        written = Axis(WeightSpace("output", (), network.unembed, free=False), up=True)
        yield WeightPiece(ENDS[1], written, Axis(stream(network, network.depth), up=False), by_head=False)


def _layer(network: Shaped, layer: int, heads: int) -> Iterator[WeightPiece]:
    """Yield the weights of a layer, of the first so many heads."""
    for head in range(1, heads + 1):
        yield from attention_head(network, layer, head)
    if not network.options.issubset(SHAPED):
        yield from _once_a_layer(network, layer)


def layer_names(network: Shaped, layer: int) -> tuple[str, ...]:
    """Return the names of the weights of a layer, in their order.

    Example:
        >>> from lightning_sym import Architecture
        >>> layer_names(Architecture((2, 1), (3,), 2, biases="V", gains=True), 1)
        ('Q1', 'K1', 'V1', 'bV1', 'gQ1', 'gK1')
    """
    network.require("the weights of a layer", DECLARED)

    def listed() -> tuple[str, ...]:
        return tuple(piece.name for piece in _layer(network, layer, network.heads))

    return _kept(network, f"layer {layer}", network.heads, listed) or listed()


_ONE = Axis(WeightSpace("one", (), 1, free=False), up=True)


def _middle(network: Shaped, layer: int) -> WeightSpace:
    """Return what attention writes into: the stream behind the layer, unless neurons stand between."""
    if network.gated is None or network.skip:
        return stream(network, layer)
    return WeightSpace("middle", (layer,), network.widths[layer])


def _scores(network: Shaped, layer: int, group: tuple[int, int]) -> WeightSpace:
    """Return the space of queries and keys of a group of heads; positions, norms and gains have its basis fixed."""
    size = network.attention_ranks[layer - 1]
    if network.gains:  # those of a layer, in all heads alike
        return WeightSpace("query-key", (layer,), size, free=False)
    return WeightSpace("query-key", group, size, network.rotary is None and network.query_key_norm is None)


def attention_head(network: Shaped, layer: int, head: int) -> Iterator[WeightPiece]:
    """Yield the weights of one head, and those of its group with the first head of a group."""
    network.require("the weights of a head", DECLARED)
    name, place = network.head_name(layer, head), (layer, head)
    group, is_first, grouped = place, True, network.key_heads is not None
    if network.key_heads is not None:
        number, member = divmod(head - 1, network.heads // network.key_heads)
        group, is_first = (layer, number + 1), member == 0
    shared = network.head_name(layer, group[1])
    scores = _scores(network, layer, group)
    # with projections each head has an output of its own, that its scale can shrink
    scaled_by = place if network.value_ranks is not None else group
    is_linear = network.normalization is None and network.query_key_norm is None
    scale = WeightSpace("scale", scaled_by, 1) if is_linear else None
    grows, shrinks = (None, None) if scale is None else ((scale, 1), (scale, -1))
    read, write = Axis(stream(network, layer - 1), up=False), Axis(_middle(network, layer), up=True)
    yield WeightPiece("Q" + name, Axis(scores, up=False), read, grows)
    if "Q" in network.biases:
        yield WeightPiece("bQ" + name, Axis(scores, up=False), _ONE, grows)
    value, shrunk = write, shrinks
    if network.value_ranks is not None:
        value = Axis(WeightSpace("value-output", group, network.value_ranks[layer - 1]), up=True)
        shrunk = None if grouped else shrinks
    if is_first:
        key = Axis(scores, up=True)
        yield WeightPiece("K" + shared, key, read, None, not grouped, grouped)
        if "K" in network.biases:
            yield WeightPiece("bK" + shared, key, _ONE, None, not grouped, grouped)
        yield WeightPiece("V" + shared, value, read, shrunk, not grouped, grouped)
        if "V" in network.biases:
            yield WeightPiece("bV" + shared, value, _ONE, shrunk, not grouped, grouped)
    if network.value_ranks is not None:
        yield WeightPiece("O" + name, write, value._replace(up=False), shrinks if grouped else None)


def _once_a_layer(network: Shaped, layer: int) -> Iterator[WeightPiece]:
    """Yield the weights that a layer has once: gains, the bias of its output, gated neurons."""
    write = Axis(_middle(network, layer), up=True)
    if network.gains:
        gained = Axis(_scores(network, layer, (layer, 1)), up=True, sized=True)
        yield WeightPiece(f"gQ{layer}", gained, _ONE, by_head=False)
        yield WeightPiece(f"gK{layer}", gained, _ONE, by_head=False)
    if "O" in network.biases:
        yield WeightPiece(f"bO{layer}", write, _ONE, by_head=False)
    if network.neurons is not None:
        neurons = WeightSpace("neuron", (layer,), network.neurons[layer - 1], free=False)
        for word in ("gate", "up"):
            yield WeightPiece(f"{word}{layer}", Axis(neurons, up=True), write._replace(up=False), by_head=False)
        behind = Axis(stream(network, layer), up=True)
        yield WeightPiece(f"down{layer}", behind, Axis(neurons, up=False), by_head=False)


def spaces(network: Shaped, kind: str | None = None, heads: int | None = None) -> dict[WeightSpace, list[WeightPiece]]:
    """Return the spaces whose basis is free, each with the weights that move with or against it; of these heads.

    Example:
        >>> from lightning_sym import Architecture
        >>> [space.kind for space in spaces(Architecture((2, 1), (3,), 2))]
        ['query-key', 'scale']
    """
    count = network.heads if heads is None else heads
    by_kind = _kept(network, "spaces", count, lambda: _spaces(network, count)) or _spaces(network, count)
    return {k: v for found in by_kind.values() for k, v in found.items()} if kind is None else by_kind.get(kind, {})


def _spaces(network: Shaped, heads: int) -> dict[str, dict[WeightSpace, list[WeightPiece]]]:
    """Return the free spaces of a network by their kinds, each with the weights that live there."""
    found: dict[str, dict[WeightSpace, list[WeightPiece]]] = {}
    for piece in pieces(network, heads):
        for space in piece.spaces:
            if space.free:
                found.setdefault(space.kind, {}).setdefault(space, []).append(piece)
    return found
