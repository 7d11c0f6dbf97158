r"""A network with the same function whose heads are few and stand as early as they can.

So networks are compared that differ in what does not matter: equal heads, heads that do nothing or are not read, heads
that stand in a later layer than they must, layers that are empty. Each step below leaves the function alone.

*Letters.* The patterns of a layer are written in letters (`common_streams`, a network with itself); the sum over the
heads becomes one over the letters, a head each: a combination of scores is the score of one head, and `J` is twice the
pattern of the score zero (two tokens), or that pattern (one token).

*What is not read* (Theorem 1 (v) of docs/transformer-fibers.md). With skip connections the input of a layer is `E x`
plus the outputs of the heads before. Heads that neither `U` nor a later head reads are left out, and the others stand
in the least levels.

*Behind equal tokens.* If differences are zero in front of a layer with normalized scores, each head multiplies all
tokens by `V`: the layers from there on are the matrix `prod (e + sum V)`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain

from lightning_sym.exact.subspaces import Subspace
from lightning_sym.rings.normalization import SOFTMAX
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.system.circuits import HeadCircuits, NetworkCircuits
from lightning_sym.system.common_streams import FIXED, CommonStreams, sampled, streams

Place = tuple[int, int]
"""Layer and head, from 1."""

Places = list[list[tuple[Place, ...]]]
"""By layer and head, the heads that it is made of."""


@dataclass(frozen=True, eq=False)
class Arrangement:
    """A network by circuits, and where its heads stood.

    Attributes:
        circuits: all heads in memory.
        places: by layer and head of `circuits`, the heads of the first network that it is made of.
        zero: whether the function is zero.
        stages: the networks on the way, each with the function of the one before; the last one is `circuits`.
    """

    circuits: NetworkCircuits
    places: tuple[tuple[tuple[Place, ...], ...], ...]
    zero: bool
    stages: tuple[NetworkCircuits, ...] = ()


@dataclass(eq=False)
class _Placed:
    """A head on its way."""

    circuit: HeadCircuits
    layer: int
    made_of: tuple[Place, ...]
    reached: RationalMatrix
    apart: RationalMatrix


def arranged(circuits: NetworkCircuits, tokens: int) -> Arrangement:
    """Return the same function by few heads in early layers.

    Args:
        circuits: a network.
        tokens: how many tokens inputs have.

    Example:
        >>> from lightning_sym.network.form import NetworkForm
        >>> from lightning_sym.network.weights import Weights
        >>> one, other = {"Q1": [[1, 0]], "K1": [[1, 0]]}, {"Q2": [[1, 0]], "K2": [[2, 0]]}
        >>> weights = one | {"V1": [[0, 0], [1, 0]]} | other | {"V2": [[0, 0], [3, 0]]}
        >>> found = arranged(NetworkCircuits.of(Weights.of(weights, NetworkForm(SOFTMAX, skip=True))), tokens=3)
        >>> found.places        # the second layer reads the first coordinate alone, the first writes the other one
        ((((1, 1),), ((2, 1),)),)
    """
    found = circuits.in_memory()
    places: Places = [[((i, h),) for h, _ in enumerate(heads, 1)] for i, heads in enumerate(found.layers, 1)]

    @lru_cache(maxsize=1)  # most often nothing changes any more
    def stream(network: NetworkCircuits) -> CommonStreams:
        return streams((network,), tokens)

    stages = list[NetworkCircuits]()
    while True:
        size, common = list(map(len, found.layers)), stream(found)
        found, places = _cut(*_in_letters(found, places, common, tokens), common)
        stages.append(found)
        if found.form.skip:
            found, places = _in_levels(found, places, stream(found))
            stages.append(found)
        if list(map(len, found.layers)) == size:
            break
    zero = not (found.unembed @ stream(found).reached.basis)
    return Arrangement(found, tuple(map(tuple, places)), zero, tuple(stages))


def _in_letters(
    circuits: NetworkCircuits, places: Places, common: CommonStreams, tokens: int
) -> tuple[NetworkCircuits, Places]:
    """Return one head for each letter whose values are not zero on what is reached."""
    layers, names = [], []
    for i, (known, layer) in enumerate(zip(circuits.layers, common.layers, strict=True)):
        spelled, reached = layer.spelled[0], layer.reached.basis
        new, made_of = [], []
        for letter in sorted({letter for spelling in spelled for letter in spelling}):
            if letter != FIXED and [s for s in spelled if letter in s] == [{letter: 1}]:
                if known[letter].value @ reached:
                    new.append(known[letter])
                    made_of.append(places[i][letter])
                continue
            total = RationalMatrix.zero(circuits.widths[i + 1], circuits.widths[i])
            for head, spelling in zip(known, spelled, strict=True):
                if factor := spelling.get(letter):
                    total = total + head.value.scaled(factor)
            attention = RationalMatrix.zero(circuits.widths[i], circuits.widths[i])
            if letter != FIXED:
                attention = known[letter].attention
            elif tokens == 2:
                total = total.scaled(2)
            if total @ reached:
                new.append(HeadCircuits(attention, total))
                parts = (places[i][h] for h, spelling in enumerate(spelled) if letter in spelling)
                made_of.append(tuple(sorted(set(chain.from_iterable(parts)))))
        layers.append(new)
        names.append(made_of)
    return _with_heads(circuits, layers), names


def _with_heads(circuits: NetworkCircuits, layers: list[list[HeadCircuits]]) -> NetworkCircuits:
    """Return the network with these heads; this very object where they are those that it has."""
    if [list(map(id, heads)) for heads in layers] == [list(map(id, heads)) for heads in circuits.layers]:
        return circuits
    return replace(circuits, layers=layers, widths=circuits.widths[: len(layers) + 1])


def _cut(circuits: NetworkCircuits, places: Places, common: CommonStreams) -> tuple[NetworkCircuits, Places]:
    """Return the layers up to where all tokens are equal; those behind are a matrix."""
    form = circuits.form
    if form.normalization is None:
        return circuits, places
    cut = next((i for i, layer in enumerate(common.layers) if not layer.apart.dimension), len(common.layers))
    if cut == len(common.layers):
        return circuits, places
    unembed = circuits.unembed
    for i in range(len(common.layers) - 1, cut - 1, -1):
        nothing = RationalMatrix.zero(circuits.widths[i + 1], circuits.widths[i])
        total = unembed @ sum((head.value for head in circuits.layers[i]), nothing)
        unembed = total + unembed if form.skip else total
    shorter = replace(circuits, layers=circuits.layers[:cut], widths=circuits.widths[: cut + 1], unembed=unembed)
    return shorter, places[:cut]


def _in_levels(circuits: NetworkCircuits, places: Places, common: CommonStreams) -> tuple[NetworkCircuits, Places]:
    """Leave out what is not read, and let the rest stand as early as it can."""
    heads = _placed(circuits, places, common)
    reads = _readings(circuits, heads)
    live: set[int] = set()
    for number in range(len(heads) - 1, -1, -1):  # later layers first
        g = heads[number]
        later = (h for h in live if heads[h].layer > g.layer)
        if circuits.unembed @ g.reached or any(number in reads[h] for h in later):
            live.add(number)
    level = dict.fromkeys(live, 1)
    pairs = [(reader, read) for reader in live for read in reads[reader] & live]
    changed = True
    while changed:
        changed = False
        for reader, read in pairs:
            if heads[read].layer < heads[reader].layer and level[reader] <= level[read]:
                level[reader], changed = level[read] + 1, True
            elif heads[read].layer >= heads[reader].layer and level[read] < level[reader]:
                level[read], changed = level[reader], True
    layers: list[list[HeadCircuits]] = [[] for _ in range(max(level.values(), default=0))]
    names: Places = [[] for _ in layers]
    for number in sorted(live):
        layers[level[number] - 1].append(heads[number].circuit)
        names[level[number] - 1].append(heads[number].made_of)
    return _with_heads(circuits, layers), names


def heads_in_levels(circuits: NetworkCircuits, tokens: int) -> tuple[NetworkCircuits, list[list[int | None]]]:
    """Return a network with skip connections whose heads stand in the earliest layers, nothing else done to them.

    Args:
        circuits: a network.
        tokens: how many tokens inputs have.

    Returns:
        The network, and by layer and head where each stands, `None` if it is left out.
    """
    circuits = circuits.in_memory()
    places: Places = [[((i, h),) for h in range(len(heads))] for i, heads in enumerate(circuits.layers)]
    found, names = _in_levels(circuits, places, streams((circuits,), tokens))
    level = {place: number for number, layer in enumerate(names, start=1) for (place,) in layer}
    return found, [[level.get((i, h)) for h in range(len(heads))] for i, heads in enumerate(circuits.layers)]


def _placed(circuits: NetworkCircuits, places: Places, common: CommonStreams) -> list[_Placed]:
    """Return all heads, layer by layer, with what they write."""
    return [
        _Placed(head, i, made_of, head.value @ layer.reached.basis, head.value @ layer.apart.basis)
        for i, (heads, layer) in enumerate(zip(circuits.layers, common.layers, strict=True))
        for head, made_of in zip(heads, places[i], strict=True)
    ]


def _readings(circuits: NetworkCircuits, heads: list[_Placed]) -> list[set[int]]:
    """Return for each head, by number, the heads that it reads."""
    softmax = circuits.form.normalization == SOFTMAX
    whole = Subspace.spanned(circuits.embed, *(head.reached for head in heads)).basis
    between = Subspace.spanned(circuits.embed, *(head.apart for head in heads)).basis if softmax else whole
    written = [(head.reached, head.apart if softmax else head.reached) for head in heads]
    samples = [[sampled(matrix) for matrix in pair] for pair in written]
    result: list[set[int]] = []
    for head in heads:
        attention, value = head.circuit.attention, head.circuit.value
        as_key, as_query = between.mT @ attention, attention @ whole
        # a random combination that is not zero shows that the whole is not
        samples_of = [sampled(m.mT).mT for m in (value, as_key)], sampled(as_query)
        result.append(
            {
                g
                for g, (columns, differences) in enumerate(written)
                if any(row @ samples[g][0] for row in samples_of[0])
                or samples[g][1].mT @ samples_of[1]
                or value @ columns
                or as_key @ columns
                or differences.mT @ as_query
            }
        )
    return result


def padded(first: NetworkCircuits, second: NetworkCircuits) -> tuple[NetworkCircuits, NetworkCircuits] | None:
    """Return both with equally many layers: with skips a layer without heads is the identity. Else `None`."""
    depth = max(len(first.layers), len(second.layers))
    if not first.form.skip:
        return (first, second) if len(first.layers) == len(second.layers) else None

    def pad(circuits: NetworkCircuits) -> NetworkCircuits:
        more = depth - len(circuits.layers)
        layers, widths = (*circuits.layers, *([],) * more), circuits.widths + circuits.widths[-1:] * more
        return replace(circuits, layers=layers, widths=widths)

    return pad(first), pad(second)
