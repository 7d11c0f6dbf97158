"""Do two networks with heads, skip connections, masks, embeddings or normalized scores compute the same function?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from lightning_sym.errors import TooLarge
from lightning_sym.exact.echelon import columns_of, row_echelon
from lightning_sym.fibers.arrangement import arranged, padded
from lightning_sym.fibers.common_streams import CommonStreams, common_streams
from lightning_sym.fibers.comparison import Answer, Comparison, Reason
from lightning_sym.fibers.determined import apart_by_theorem
from lightning_sym.fibers.graph_streams import GraphStreams
from lightning_sym.fibers.hypotheses import ALONE, HEADS_PAGE, one_head_theorem
from lightning_sym.fibers.normal_circuits import without_uniform_heads
from lightning_sym.fibers.pair import INPUT_SCALES, LARGE_INPUT, READABLE, Pair
from lightning_sym.fibers.softmax import first_difference
from lightning_sym.fibers.stream_symmetry import StreamSymmetry, group_element, head_classes
from lightning_sym.fibers.transformer_cost import (
    arrangement_cost,
    coefficients_cost,
    graph_cost,
    graph_memory,
    sampling_cost,
    streams_cost,
    streams_memory,
)
from lightning_sym.limits import DEFAULT_MEMORY, require_memory
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.circuits import NetworkCircuits
from lightning_sym.network.polynomial_map import polynomial_map
from lightning_sym.network.virtual_weights import VirtualWeights
from lightning_sym.network.weights import Weights
from lightning_sym.rings.rationals import RationalMatrix

FIRST_BITS, MOST_BITS = 128, 2048
"""Precisions of balls: four times as high each time that the outputs could not be told apart."""

WIDE = Fraction(1, 2**16)
"""Outputs that may be farther apart are worth more bits at once."""


def _names(shape: Architecture) -> list[list[str]]:
    return [[shape.head_name(i + 1, h + 1) for h in range(shape.heads)] for i in range(shape.depth)]


def _by_few_inputs(pair: Pair) -> Comparison | None:
    """Different networks are most often told apart at once."""
    for scale in INPUT_SCALES[::3]:
        found = pair.exactly(pair.draw(READABLE, 1)) if pair.polynomial else _with_bits_enough(pair, scale)
        if found is not None:
            return found
    return None


def _with_bits_enough(pair: Pair, scale: int) -> Comparison | None:
    """Balls at one input, with more bits as long as they are too large to say anything."""
    bits = FIRST_BITS
    if not pair.affords_balls(bits):
        return None
    x = pair.draw(READABLE, scale)
    while bits <= MOST_BITS and pair.affords_balls(bits):
        if (found := pair.by_balls(x, bits)) is not None:
            return found
        if pair.distance is not None and pair.distance < WIDE:
            return None
        bits *= 4
    return None


def _by_graph(pair: Pair) -> Comparison | None:
    """Large networks whose streams are a matrix times each other: before balls, which take longer."""
    if not GraphStreams.possible(*pair.weights, pair.tokens):
        return None
    cost = sum(map(sampling_cost, pair.shapes))
    if sum(map(graph_memory, pair.shapes)) > DEFAULT_MEMORY or not pair.work.allows(cost):
        return None
    pair.work.spend(cost, "streams at a random vector")
    # a matrix that takes the wider stream to the narrower one is not unique
    wider = pair.shapes[0].widths[0] > pair.shapes[1].widths[0]
    graph = GraphStreams(*(pair.weights[::-1] if wider else pair.weights), pair.tokens)
    if graph.classes is None:
        return None
    pair.work.spend(sum(graph_cost(s, graph.longest) for s in pair.shapes), "common streams")
    streams = graph.proved(pair.work.tell)
    if streams is None:
        return None
    if wider:
        layers = tuple(replace(layer, spelled=layer.spelled[::-1]) for layer in streams.layers)
        streams = replace(streams, layers=layers)
    return _moving_together(pair, streams)


def _moving_together(pair: Pair, streams: CommonStreams) -> Comparison:
    """Equal functions, with the group element where there is one."""
    symmetry = StreamSymmetry(head_classes(streams, (_names(pair.shapes[0]), _names(pair.shapes[1]))))
    element = group_element(*pair.weights, streams)
    if element is not None:
        symmetry = replace(symmetry, **element)
    return Comparison(Answer.SAME, Reason.STREAMS, symmetry=symmetry)


def _by_streams(pair: Pair) -> Comparison | None:
    if pair.shapes[0].depth != pair.shapes[1].depth:
        return None
    for number, (shape, bits) in enumerate(zip(pair.shapes, pair.lengths, strict=True)):
        pair.work.spend(streams_cost(shape, bits), "common streams", number, 2)
    needed = sum(streams_memory(s, bits, s.heads) for s, bits in zip(pair.shapes, pair.lengths, strict=True))
    require_memory(needed, DEFAULT_MEMORY, "the heads of a layer and the embeddings")
    streams = common_streams(*pair.circuits, pair.tokens, pair.work.tell)
    return _moving_together(pair, streams) if streams.same else None


def _by_virtual_weights(pair: Pair) -> Comparison | None:
    """Softmax, one head in each layer and no skip connections: docs/softmax-fibers.md, Theorems 1 and 4."""
    if not pair.form_is_softmax or pair.shapes[0].skip or pair.shapes[0].heads > 1 or pair.shapes[1].heads > 1:
        return None
    for number, (shape, bits) in enumerate(zip(pair.shapes, pair.lengths, strict=True)):
        pair.work.spend(streams_cost(shape, shape.depth * bits), "virtual weights", number, 2)
    return _decided_by_virtual_weights(pair, pair.circuits)


def _decided_by_virtual_weights(pair: Pair, circuits: tuple[NetworkCircuits, NetworkCircuits]) -> Comparison:
    one, other = map(_virtual_weights, circuits)
    differing = first_difference(one, other, pair.tokens, pair.shapes[0].causal)
    answer = Answer.SAME if differing is None else Answer.DIFFERENT
    theorem = one_head_theorem(pair.shapes[0].causal, pair.tokens) or ALONE
    return Comparison(answer, Reason.VISIBLE, differing=differing, theorem=str(theorem))


def _virtual_weights(circuits: NetworkCircuits) -> VirtualWeights:
    """Of one head a layer: scores and output in terms of the input."""
    stream, attention = circuits.embed, []
    for [head] in map(list, circuits.layers):
        attention.append((stream.mT @ head.attention @ stream).fractions())
        stream = head.value @ stream
    return VirtualWeights(tuple(attention), (circuits.unembed @ stream).fractions())


def _by_arrangement(pair: Pair) -> Comparison | None:
    """Heads merged, left out and moved to earlier layers, in both."""
    for shape, bits in zip(pair.shapes, pair.lengths, strict=True):
        cost = arrangement_cost(shape, bits)
        needed = streams_memory(shape, bits, shape.depth * shape.heads)
        if not pair.work.allows(cost) or needed > DEFAULT_MEMORY // 2:
            return None
        pair.work.spend(cost, "heads in the earliest layers")
    one, other = (arranged(circuits, pair.tokens) for circuits in pair.circuits)
    pair.arrangements = one, other
    if one.zero and other.zero:
        return Comparison(Answer.SAME, Reason.ZERO)
    if one.zero != other.zero:
        return None
    first, second = one.circuits, other.circuits
    heads = [len(list(layer)) for c in (first, second) for layer in c.layers]
    if pair.form_is_softmax and not pair.shapes[0].skip and all(n == 1 for n in heads):
        return _decided_by_virtual_weights(pair, (first, second))
    if (both := padded(first, second)) is None:
        return None
    streams = common_streams(*both, pair.tokens)
    if not streams.same:
        return None
    names = tuple(
        [["+".join(shape.head_name(i, h) for i, h in made_of) for made_of in layer] for layer in a.places]
        + [[]] * (len(both[0].layers) - len(a.places))
        for shape, a in zip(pair.shapes, (one, other), strict=True)
    )
    return Comparison(
        Answer.SAME,
        Reason.STREAMS,
        symmetry=StreamSymmetry(head_classes(streams, names), arranged=True),  # type: ignore[arg-type]
    )


def _by_one_layer(pair: Pair) -> Comparison | None:
    """Softmax, one layer: streams that do not move together are different functions, by Theorem 8."""
    if not pair.form_is_softmax:
        return None
    depths = [shape.depth for shape in pair.shapes]
    if pair.arrangements is not None:
        both = padded(*(a.circuits for a in pair.arrangements))
        depths = depths if both is None else [len(c.layers) for c in both]
    return None if max(depths) > 1 else _with_an_input(pair, Reason.ONE_LAYER, f"Theorem 8 of {HEADS_PAGE}")


def _with_an_input(pair: Pair, reason: Reason, theorem: str) -> Comparison:
    """Different functions: by an input that shows it if there is one at hand, else by the theorem that says so."""
    found = _by_inputs(pair, FIRST_BITS)
    return Comparison(Answer.DIFFERENT, reason, theorem=theorem) if found is None else found


def _by_conditions(pair: Pair) -> Comparison | None:
    """Softmax, two tokens or more: one network fulfils conditions under which its function determines it."""
    if not pair.form_is_softmax or pair.tokens < 2:
        return None
    cost = sum(10 * streams_cost(s, bits) for s, bits in zip(pair.shapes, pair.lengths, strict=True))
    if not pair.work.allows(cost):
        return None
    pair.work.spend(cost, "conditions of theorems")
    nets: list[tuple[Weights | None, NetworkCircuits]] = list(zip(pair.weights, pair.circuits, strict=True))
    if pair.arrangements is not None:
        nets = [(None, a.circuits) for a in pair.arrangements]
        if pair.tokens == 2:
            nets = [(None, without_uniform_heads(circuits)) for _, circuits in nets]
    for (weights, one), (_, other) in (nets, nets[::-1]):
        if (shown := apart_by_theorem(weights, one, other, pair.tokens, pair.source, pair.work)) is not None:
            return _with_an_input(pair, *shown)
    return None


def _by_inputs(pair: Pair, most_bits: int = MOST_BITS) -> Comparison | None:
    if pair.polynomial:
        return next((c for _ in range(pair.evaluations) if (c := pair.at_a_large_input()) is not None), None)
    bits = FIRST_BITS
    while bits <= most_bits:
        for scale in pair.scales:
            if not pair.affords_balls(bits):
                return None
            if (found := pair.by_balls(pair.draw(READABLE, scale), bits)) is not None:
                return found
        bits *= 4
    return None


def _by_coefficients(pair: Pair) -> Comparison | None:
    """Lightning networks that are small: all coefficients of both polynomials."""
    if pair.shapes[0].normalization is not None or pair.prefix is not None:
        return None
    networks = _on_what_is_read(*pair.weights)
    shapes = [network.architecture(pair.tokens) for network in networks]
    cost = sum(coefficients_cost(s, bits) for s, bits in zip(shapes, pair.lengths, strict=True))
    if not pair.work.allows(cost + 2 * pair.exact_cost()):
        return None
    try:
        maps = [polynomial_map(s, w, memory=pair.memory) for s, w in zip(shapes, networks, strict=True)]
    except TooLarge:
        return None
    pair.work.spend(cost, "all coefficients")
    first, second = (phi.ring_coefficients() for phi in maps)
    if first == second:
        return Comparison(Answer.SAME, Reason.COEFFICIENTS)
    while True:  # they hardly ever agree by chance, and each time is paid
        if (found := pair.at_a_large_input()) is not None:
            return found


def _on_what_is_read(first: Weights, second: Weights) -> tuple[Weights, Weights]:
    """Both networks on the inputs that `(E, E')` tells apart: fewer variables where it has more columns than its rank.

    With `(E, E') = B R`, columns of full rank times rows, outputs at all inputs agree if those of `B` do.
    """
    if not ("E" in first.all_held and "E" in second.all_held):
        return first, second
    embeds = RationalMatrix.of(first["E"]), RationalMatrix.of(second["E"])
    pivots = row_echelon(embeds[0].above(embeds[1])).pivots
    if not 0 < len(pivots) < embeds[0].shape[1]:
        return first, second
    one, other = (
        Weights.of(w.named() | {"E": columns_of(e, pivots).fractions()}, w.form)
        for w, e in zip((first, second), embeds, strict=True)
    )
    return one, other


STRATEGIES: tuple[Callable[[Pair], Comparison | None], ...] = (
    _by_virtual_weights,
    _by_graph,
    _by_few_inputs,
    _by_streams,
    _by_arrangement,
    _by_one_layer,
    _by_conditions,
    _by_inputs,
    _by_coefficients,
)
"""Each gives an answer that it has proved, or none; the first answer stands."""


def compare(pair: Pair) -> Comparison:
    """The first answer that is proved, else undecided with what was tried."""
    for strategy in STRATEGIES:
        if (found := strategy(pair)) is not None:
            return found
    if (tried := pair.large) and pair.prefix is None:
        each = min(Fraction(1), Fraction(max(s.degree for s in pair.shapes), 2 * LARGE_INPUT + 1))
        return Comparison(Answer.UNDECIDED, Reason.EVALUATIONS, evaluations=tried, error_bound=each**tried)
    found = Comparison(Answer.UNDECIDED, Reason.AGREEMENT, evaluations=pair.agreed)
    return replace(found, distance=pair.distance, precision=pair.bits or None, prefix=pair.prefix)
