r"""Where a condition fails: another network with the same function, if one of the known ones is there.

- *Equal scores*: heads with one score form act as one, and are merged.
- *Opposite scores*, two tokens: $P_{-A} = J - P_A$ and $P_0 = J/2$, so $(A, V_1), (-A, V_2)$ become
  $(A, V_1 - V_2), (0, 2 V_2)$.
- *Flips*, two tokens: where $\sum_{h \in N} V_h$ is not seen, the heads in `N` become $(-A_h, -V_h)$.
- *A head that is not seen*, or does nothing: it is left out.
- *Blind layers*: behind them scores do not matter.
- *A head that moves* to the layer before: it does not read what that layer writes, and no head beside it reads what it
  writes (Theorem 1 (v) of docs/transformer-fibers.md).

Residues say where to look; that the functions are equal is shown over the rationals, by common streams (Theorem 1), or
by the equations of Theorem 1 (v).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from lightning_sym.display import Lines, Result
from lightning_sym.exact.subspaces import Subspace
from lightning_sym.fibers.cost import entry_bits
from lightning_sym.fibers.observed_network import NetworkAtPoints
from lightning_sym.limits import Work
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.system.circuits import HeadCircuits, NetworkCircuits
from lightning_sym.system.common_streams import common_streams
from lightning_sym.system.fields import Q
from lightning_sym.system.reach import reached

COMPARISON = 2e-7
"""Seconds for a comparison by common streams, measured and rough: by the cube of the width and the number of heads."""

MOST_TRIED = 12
"""Networks that are compared at most."""


@dataclass(frozen=True, eq=False, repr=False)
class SecondNetwork(Result):
    """Another network with the same function.

    Attributes:
        description: how it differs.
        because: what shows that the function is the same.
        weights: the network.
    """

    description: str
    because: str
    weights: Weights

    def lines(self) -> Lines:
        """Return what differs, why that changes nothing, and the weights."""
        return [("another", self.description), ("because", self.because), *self.weights.lines()]

    _in_words = "{0.description}"


def second_network(weights: Weights, tests: NetworkAtPoints, budget: Work) -> SecondNetwork | None:
    """Return another network with the same function; `None` if none is found or `budget` does not allow it.

    Args:
        weights: the network.
        tests: its residues, which say where to look.
        budget: of exact work.

    Example:
        >>> from lightning_sym.network.form import NetworkForm
        >>> from lightning_sym.rings.normalization import SOFTMAX
        >>> one, form = [[1]], NetworkForm(SOFTMAX, skip=True)
        >>> w = Weights.of({f"{c}1.{h}": one for c in "QKV" for h in (1, 2)}, form)
        >>> found = second_network(w, NetworkAtPoints.of(w, tokens=3), Work())
        >>> found.description, found.weights["V1.1"].tolist()
        ('heads 1 and 2 of layer 1 as one', [[Fraction(2, 1)]])
    """
    weights.require_numbers("another network with the same function")
    shape, tokens = tests.shape, tests.shape.tokens
    cost = COMPARISON * max(*shape.widths, shape.input_width) ** 3 * (1 + shape.heads * shape.depth)
    if not budget.allows(cost):
        return None
    cost *= (1 + max(entry_bits(weights).values()) / 64) ** 1.5
    before = NetworkCircuits.of(weights)
    for tried, (description, other) in enumerate(_candidates(weights, tests)):
        if tried == MOST_TRIED or not budget.allows(cost):
            return None
        if other == weights:  # twice no scores are no scores
            continue
        budget.spend(cost, "another network")
        if common_streams(before, NetworkCircuits.of(other), tokens).same:
            return SecondNetwork(description, "Theorem 1 of docs/transformer-fibers.md", other)
    return _moved_head(weights) if shape.skip and budget.begins(cost, "heads that move") else None


Change = tuple[Fraction | int, Sequence[tuple[Fraction | int, int]]]
"""Of a head: the factor of its scores, and its values as a combination of those of heads of the layer."""


def _candidates(weights: Weights, tests: NetworkAtPoints) -> Iterator[tuple[str, Weights]]:
    """Yield networks that may have the same function, with what was changed."""
    shape, p = tests.shape, tests.prime
    for i, heads in enumerate(tests.net.layers, start=1):
        scores, written = [tuple(row) for row in tests.scores(i).entries], tests.seen_of_words(i)
        negative = [tuple(np.mod(-row, p)) for row in tests.scores(i).entries]
        seen = [bool(row.any()) for row in written.entries]
        for h in range(1, len(heads) + 1):
            if not seen[h - 1] and weights["V" + shape.head_name(i, h)].any():
                yield f"head {h} of layer {i} left out", _changed(weights, i, {h: (1, [])})
            elif not seen[h - 1] and any(scores[h - 1]):
                yield f"other scores for head {h} of layer {i}", _changed(weights, i, {h: (2, [(1, h)])})
            for g in range(1, h):
                if scores[g - 1] == scores[h - 1]:
                    if not (seen[g - 1] and seen[h - 1]):  # what does nothing merges with any head
                        continue
                    merged = {g: (1, [(1, g), (1, h)]), h: (1, [])}
                    yield f"heads {g} and {h} of layer {i} as one", _changed(weights, i, merged)
                elif shape.tokens == 2 and scores[g - 1] == negative[h - 1]:
                    split: dict[int, Change] = {g: (1, [(1, g), (-1, h)]), h: (0, [(2, h)])}
                    yield f"head {h} of layer {i}, opposite to head {g}, with scores 0", _changed(weights, i, split)
        flipped = next(written.sums(), ()) if shape.tokens == 2 and not written.independent().holds else ()
        if len(chosen := [h for h, c in enumerate(flipped, start=1) if c]) > 1:
            flips: dict[int, Change] = {h: (-1, [(-1, h)]) for h in chosen}
            named = ", ".join(map(str, chosen))
            yield f"heads {named} of layer {i} with opposite A and V", _changed(weights, i, flips)
    if not shape.skip and not shape.causal and shape.depth > 1:
        every: dict[int, Change] = {h: (2, [(1, h)]) for h in range(1, shape.heads + 1)}
        yield f"twice the scores of layer {shape.depth}, behind a blind one", _changed(weights, shape.depth, every)


def _changed(weights: Weights, layer: int, changes: Mapping[int, Change]) -> Weights:
    """Return the network with some heads of a layer replaced; values inside its heads become as wide as needed."""
    shape, matrices = weights.architecture(1), weights.numbers()
    most = max([1, *(len(parts) for _, parts in changes.values())])
    for h in range(1, shape.heads + 1):
        name, (factor, parts) = shape.head_name(layer, h), changes.get(h, (1, [(1, h)]))
        combined = [(Fraction(c), shape.head_name(layer, g)) for c, g in parts]
        values = [c * weights[f"V{other}"] for c, other in combined]
        nothing = Fraction(0) * weights[f"V{name}"]
        matrices[f"Q{name}"] = weights[f"Q{name}"] * Fraction(factor)
        if shape.value_ranks is None:
            matrices[f"V{name}"] = sum(values, start=nothing)
            continue
        blank = most - len(parts)
        outputs = [weights[f"O{other}"] for _, other in combined]
        matrices[f"V{name}"] = np.concatenate([*values, *[nothing] * blank], axis=0)
        matrices[f"O{name}"] = np.concatenate([*outputs, *[Fraction(0) * weights[f"O{name}"]] * blank], axis=1)
    return Weights.of(matrices, weights.form)


def _moved_head(weights: Weights) -> SecondNetwork | None:
    """Return a head of layer `i + 1` that may be one of layer `i`; every other layer gets a head that does nothing."""
    net = NetworkCircuits.of(weights).in_memory()
    layers = zip(pairwise(net.layers), pairwise(reached(net, Q)), strict=False)
    for i, ((below, above), (before, space)) in enumerate(layers, start=1):
        streams = before.basis
        written = Subspace.spanned(*(head.carried(streams) for head in below)).basis
        for h, head in enumerate(above, start=1):
            own = head.carried(space.basis)
            others = [other for g, other in enumerate(above, start=1) if g != h]
            if not own or not _is_apart(head, written, streams):
                continue
            if all(_is_apart(other, own, space.basis) for other in others):
                moved = _with_moved_head(weights, i, h)
                because = "Theorem 1 (v) of docs/transformer-fibers.md"
                return SecondNetwork(f"head {h} of layer {i + 1} in layer {i}, beside the others", because, moved)
    return None


def _is_apart(head: HeadCircuits, written: RationalMatrix, streams: RationalMatrix) -> bool:
    """Return whether a head does not read what others wrote, where streams lie in the span of `streams`' columns."""
    if head.carried(written):
        return False
    return not any(head.scores(*two) for two in ((streams, written), (written, streams), (written, written)))


def _with_moved_head(weights: Weights, layer: int, head: int) -> Weights:
    """Return one head more in each layer: in `layer` the one that stood behind it, elsewhere one that does nothing."""
    shape = weights.architecture(1)
    letters = "QKV" if shape.value_ranks is None else "QKVO"
    matrices: dict[str, ObjectArray] = {name: weights[name] for name in "EU" if name in weights.matrices}
    for i in range(1, shape.depth + 1):
        for letter in letters:
            mine = [weights[letter + shape.head_name(i, h)] for h in range(1, shape.heads + 1)]
            more = weights[letter + shape.head_name(layer + 1 if i == layer else i, head)]
            if letter == letters[-1]:  # what a head writes
                if i == layer + 1:
                    mine[head - 1] = mine[head - 1] * Fraction(0)
                if i != layer:
                    more = more * Fraction(0)
            largest = [max(m.shape[axis] for m in (*mine, more)) for axis in (0, 1)]
            for h, matrix in enumerate([*mine, more], start=1):
                padded = np.full(largest, Fraction(0), dtype=object)  # heads of a layer have one inner width
                padded[: matrix.shape[0], : matrix.shape[1]] = matrix
                matrices[f"{letter}{i}.{h}"] = padded
    return Weights.of(matrices, weights.form)
