"""Do two networks with heads, skip connections, masks, embeddings or normalized scores compute the same function?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from lightning_sym.ask import TheoremPrice, TheoremRow, paid_by_steps
from lightning_sym.fibers.ball_pair import FIRST_BITS, INPUT_SCALES, MOST_BITS, READABLE, PairInBalls
from lightning_sym.fibers.comparison import Answer, Comparison, Reason
from lightning_sym.fibers.determined import TensorPair, apart_by_tensors, apart_by_theorem
from lightning_sym.fibers.hypotheses import ALONE, HEADS_PAGE, ONE_HEAD_PAGE, one_head_theorem
from lightning_sym.fibers.layer_tensors import lines_price
from lightning_sym.fibers.softmax import circuit_virtual_weights, first_difference
from lightning_sym.fibers.stream_symmetry import StreamSymmetry, group_element, head_classes
from lightning_sym.fibers.tensor_hypotheses import PAGE, TensorQuestion
from lightning_sym.fibers.transformer_cost import (
    arrangement_cost,
    graph_cost,
    graph_memory,
    sampling_cost,
    streams_cost,
    streams_memory,
    tensors_cost,
)
from lightning_sym.limits import DEFAULT_MEMORY, require_memory
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.virtual_weights import in_fractions
from lightning_sym.network.weights import Weights
from lightning_sym.system.arrangement import arranged, padded
from lightning_sym.system.circuits import NetworkCircuits
from lightning_sym.system.common_streams import CommonStreams, common_streams
from lightning_sym.system.graph_streams import GraphStreams
from lightning_sym.system.normal_circuits import without_uniform_heads
from lightning_sym.system.tensor_streams import tensor_streams

WIDE = Fraction(1, 2**16)
"""Outputs that may be farther apart are worth more bits at once."""

QUICK = 1.0
"""Seconds for the first outputs in balls, up to which these come before streams that are followed faster."""


def _names(shape: Architecture) -> list[list[str]]:
    return [[shape.head_name(i + 1, h + 1) for h in range(shape.heads)] for i in range(shape.depth)]


def _by_few_inputs(pair: PairInBalls) -> Comparison | None:
    """Return an input that tells the two apart, if one of a few does: most often one does at once."""
    for scale in INPUT_SCALES[::3]:
        found = pair.exactly(READABLE) if pair.polynomial else _with_bits_enough(pair, scale)
        if found is not None:
            return found
    return None


def _few_inputs_are_quick(pair: PairInBalls) -> bool:
    """Return whether outputs cost little: for equal networks they are waited for in vain, and streams are quick."""
    cost = 0.0 if pair.polynomial else pair.balls_cost(FIRST_BITS)
    return cost <= QUICK or cost <= sum(map(streams_cost, pair.shapes, pair.lengths))


def _with_bits_enough(pair: PairInBalls, scale: int) -> Comparison | None:
    """Return balls at one input, with more bits as long as they are too large to say anything."""
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


def _by_graph(pair: PairInBalls) -> Comparison | None:
    """Return the comparison of large networks, where a matrix takes one's streams to the other's.

    It comes before balls, which take longer; `None` if no such matrix is found.
    """
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


def _moving_together(pair: PairInBalls, streams: CommonStreams) -> Comparison:
    """Return equal functions, with the group element where there is one."""
    symmetry = StreamSymmetry(head_classes(streams, (_names(pair.shapes[0]), _names(pair.shapes[1]))))
    element = group_element(*pair.weights, streams)
    if element is not None:
        symmetry = replace(symmetry, **element)
    return Comparison(Answer.SAME, Reason.STREAMS, symmetry=symmetry)


def _by_streams(pair: PairInBalls) -> Comparison | None:
    needed = sum(streams_memory(s, bits, s.heads) for s, bits in zip(pair.shapes, pair.lengths, strict=True))
    require_memory(needed, DEFAULT_MEMORY, "the heads of a layer and the embeddings")
    streams = common_streams(*pair.circuits, pair.tokens, pair.work.tell)
    return _moving_together(pair, streams) if streams.same else None


def _by_tensors(pair: PairInBalls) -> Comparison | None:
    """Return that lightning networks are the same, if their layers do the same, whatever their heads do."""
    if (both := padded(*pair.circuits)) is None:
        return None
    streams = tensor_streams(*both, pair.tokens, pair.work.tell)
    if not streams.same:
        return None
    between = streams.between(both[0].widths)
    return Comparison(Answer.SAME, Reason.TENSORS, stream={i: m.fractions() for i, m in between.items()})


def _by_tensors_of_one(pair: PairInBalls) -> Comparison | None:
    """Return that functions differ if one of two lightning networks has layer tensors that its function determines."""
    for which, number in (("first", 0), ("second", 1)):
        asked = TensorPair(TensorQuestion(pair.weights[number], pair.tokens), pair.shapes[1 - number])
        theorem, tried = apart_by_tensors(asked)
        if theorem is not None:
            return _with_an_input(pair, Reason.DETERMINED, theorem)
        pair.tried += [each._replace(why=f"of the {which} network: {each.why}") for each in tried]
    return None


def _decided_by_virtual_weights(pair: PairInBalls, circuits: tuple[NetworkCircuits, NetworkCircuits]) -> Comparison:
    one, other = (in_fractions(circuit_virtual_weights(net)) for net in circuits)
    differing = first_difference(one, other, pair.tokens, pair.shapes[0].causal)
    answer = Answer.SAME if differing is None else Answer.DIFFERENT
    theorem = one_head_theorem(pair.shapes[0].causal, pair.tokens) or ALONE
    return Comparison(answer, Reason.VISIBLE, differing=differing, theorem=str(theorem))


def _by_arrangement(pair: PairInBalls) -> Comparison | None:
    """Return an answer for both networks with heads merged, left out and moved to earlier layers, or nothing."""
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


def _has_one_layer(pair: PairInBalls) -> bool:
    """Return whether no more than one layer is left in both, heads being merged and moved where that was tried."""
    depths = [shape.depth for shape in pair.shapes]
    if pair.arrangements is not None and (both := padded(*(a.circuits for a in pair.arrangements))) is not None:
        depths = [len(c.layers) for c in both]
    return max(depths) <= 1


def _with_an_input(pair: PairInBalls, reason: Reason, theorem: str) -> Comparison:
    """Return that functions differ: by an input that shows it if one is at hand, else by the theorem."""
    found = pair.by_inputs(FIRST_BITS)
    return Comparison(Answer.DIFFERENT, reason, theorem=theorem) if found is None else found


def _by_conditions(pair: PairInBalls) -> Comparison | None:
    """Return that networks differ, since one fulfils conditions under which its function determines it.

    They have softmax and two tokens or more; `None` if neither fulfils them.
    """
    nets: list[tuple[Weights | None, NetworkCircuits]] = list(zip(pair.weights, pair.circuits, strict=True))
    if pair.arrangements is not None:
        nets = [(None, a.circuits) for a in pair.arrangements]
        if pair.tokens == 2:
            nets = [(None, without_uniform_heads(circuits)) for _, circuits in nets]
    rearranged = (
        "" if pair.arrangements is None else ", its heads rearranged"
    )  # so numbers of layers and heads are others
    for which, ((weights, one), (_, other)) in zip(("first", "second"), (nets, nets[::-1]), strict=True):
        shown, tried = apart_by_theorem(weights, one, other, pair.tokens, pair.source, pair.work)
        if shown is not None:
            return _with_an_input(pair, *shown)
        pair.tried += [each._replace(why=f"of the {which} network{rearranged}: {each.why}") for each in tried]
    return None


# ---- what theorems are about, and what they cost


def _each(
    cost: Callable[[Architecture, int], float], stage: str, *, is_needed: bool
) -> Callable[[PairInBalls], TheoremPrice]:
    """Return the price of a step for each network, by its shape and the bits of its numbers."""
    return lambda pair: TheoremPrice(tuple(map(cost, pair.shapes, pair.lengths)), stage, is_needed)


def _is_lightning(pair: PairInBalls) -> bool:
    return pair.shapes[0].normalization is None and (pair.of_one_depth or pair.shapes[0].skip)


def _fits_a_matrix(pair: PairInBalls) -> bool:
    possible = GraphStreams.possible(*pair.weights, pair.tokens)
    return possible and sum(map(graph_memory, pair.shapes)) <= DEFAULT_MEMORY


def _can_be_arranged(pair: PairInBalls) -> bool:
    needed = (streams_memory(s, b, s.depth * s.heads) for s, b in zip(pair.shapes, pair.lengths, strict=True))
    return max(needed) <= DEFAULT_MEMORY // 2


STREAMS = f"Theorem 1 of {HEADS_PAGE}"
TRANSFORMERS: tuple[TheoremRow[PairInBalls, Comparison], ...] = (
    TheoremRow(
        f"Theorems 1 and 4 of {ONE_HEAD_PAGE}",
        lambda pair: pair.form_is_softmax and not pair.shapes[0].skip and all(s.heads == 1 for s in pair.shapes),
        _each(lambda s, bits: streams_cost(s, s.depth * bits), "virtual weights", is_needed=True),
        lambda pair: _decided_by_virtual_weights(pair, pair.circuits),
    ),
    TheoremRow(
        STREAMS, _fits_a_matrix,
        lambda pair: TheoremPrice((sum(map(sampling_cost, pair.shapes)),), "streams at a random vector"), _by_graph,
        "no matrix was found that takes the streams of one network to those of the other",
    ),
    TheoremRow("", _few_inputs_are_quick, paid_by_steps, _by_few_inputs),
    TheoremRow(
        STREAMS, lambda pair: pair.of_one_depth, _each(streams_cost, "common streams", is_needed=True),
        _by_streams, "the streams do not move together in all layers",
    ),
    TheoremRow(
        f"Lemma 2 of {PAGE}", _is_lightning,
        _each(tensors_cost, "layer tensors", is_needed=False),
        _by_tensors, "nor do their layers do the same on their streams",
    ),
    TheoremRow(
        STREAMS, _can_be_arranged, _each(arrangement_cost, "heads in the earliest layers", is_needed=False),
        _by_arrangement, "nor do they after heads are merged, left out and moved to earlier layers",
    ),
    TheoremRow(
        "", lambda pair: pair.form_is_softmax and _has_one_layer(pair), paid_by_steps,
        lambda pair: _with_an_input(pair, Reason.ONE_LAYER, f"Theorem 8 of {HEADS_PAGE}"),
    ),
    TheoremRow(
        "", lambda pair: pair.form_is_softmax and pair.tokens > 1,
        _each(lambda s, bits: 10 * streams_cost(s, bits), "conditions of theorems", is_needed=False), _by_conditions,
    ),
    TheoremRow(
        "", lambda pair: _is_lightning(pair) and pair.of_one_depth,
        _each(lambda s, bits: tensors_cost(s, bits) + lines_price(s), "conditions of theorems", is_needed=False),
        _by_tensors_of_one,
    ),
)  # fmt: skip
"""Of `same_function.SAME` what is about heads, skip connections, masks, embeddings or normalized scores."""
