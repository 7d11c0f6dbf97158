r"""When two networks compute the same function because their streams move together: their direct sum is followed.

Theorem 1 of docs/transformer-fibers.md. Stack the streams of both networks, $z = (x, x')$, and follow two spaces
through the layers: $R_i$, where the columns of the stacked stream lie, and $D_i$, where differences of columns lie. A
head of either network reads its own part of $z$; two heads have the same pattern if their score forms agree: for
softmax, which sees differences of the scores of one query only, on $D \times R$, else on $R \times R$. Patterns are
written in *letters*, and patterns that are known to be related are written in the same letters:

- normalized: one letter for each form;
- softmax, two tokens: $P_{-M} = J - P_M$ and $P_0 = J / 2$ with a fixed matrix $J$, which is a letter of its own;
- lightning: patterns are linear in the form, so a basis of the forms gives the letters;
- one token, normalized: all patterns are 1.

Each letter carries a matrix that acts on both parts, the sum over its heads. If $(U, -U')$ vanishes on what is reached
behind the last layer, the outputs agree for all inputs. Nothing is supposed of the weights: heads may be merged,
missing, padded, widths may differ. Where it does not vanish nothing is said. One network alone is followed as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from lightning_sym.exact.subspaces import Subspace, in_a_basis
from lightning_sym.limits import Progress, unheard
from lightning_sym.network.form import NetworkForm
from lightning_sym.rings.normalization import SOFTMAX
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.system.circuits import HeadCircuits, NetworkCircuits
from lightning_sym.system.fields import Q

FIXED = -1
"""The letter of the pattern that does not depend on scores: `J`, and with one token 1."""

Spelling = dict[int, Fraction]
"""A pattern in letters: by letter, how often."""


@dataclass(frozen=True, eq=False)
class CommonLayer:
    """What networks have in common in a layer.

    Attributes:
        reached: $R_{i-1}$, where the columns of the stacked stream in front of the layer lie.
        apart: $D_{i-1}$, where their differences lie.
        spelled: by network, the patterns of its heads.
        blind: the letters whose patterns have equal columns.
    """

    reached: Subspace
    apart: Subspace
    spelled: tuple[tuple[Spelling, ...], ...]
    blind: frozenset[int]


@dataclass(frozen=True, eq=False)
class CommonStreams:
    """How far the streams of networks move together.

    Attributes:
        same: whether the outputs agree for all inputs; if not, nothing is said about them.
        layers: layer by layer.
        reached: $R_l$, behind the last layer.
    """

    same: bool
    layers: tuple[CommonLayer, ...]
    reached: Subspace


def sampled(columns: RationalMatrix) -> RationalMatrix:
    """Return one combination of columns: where it is not zero, they are not."""
    rows, count = columns.shape
    return (
        columns @ RationalMatrix.of([[pow(3, j, 1009)] for j in range(count)])
        if count
        else RationalMatrix.zero(rows, 1)
    )


class _Scores:
    """The scores of a head on spaces, multiplied when they are asked for: all of a large layer take gigabytes."""

    def __init__(self, head: HeadCircuits, keys: RationalMatrix, queries: RationalMatrix) -> None:
        self._head, self._keys, self._queries = head, keys, queries
        # what differs here differs; what agrees here is compared as a whole
        self._sample = head.scores(keys, sampled(queries))

    def whole(self) -> RationalMatrix:
        """Return all scores."""
        return self._head.scores(self._keys, self._queries)

    def __bool__(self) -> bool:
        """Return whether a score is not zero."""
        return bool(self._sample) or bool(self.whole())

    def agrees(self, other: _Scores, sign: int = 1) -> bool:
        """Return whether these are the scores of the other head, or with the sign -1 their opposites."""
        if self._sample != other._sample.scaled(sign):
            return False
        return self.whole() == (other.whole() if sign == 1 else -other.whole())


def _spell(forms: Sequence[_Scores], form: NetworkForm, tokens: int) -> list[Spelling]:
    """Return the patterns that belong to score forms, in letters; a letter's number is that of a form that has it."""
    if form.normalization is None:
        return in_a_basis([m.whole() for m in forms])
    if tokens == 1:
        return [{FIXED: Fraction(1)} for _ in forms]
    opposites = form.normalization == SOFTMAX and tokens == 2
    letters: list[int] = []
    result: list[Spelling] = []
    for number, m in enumerate(forms):
        if opposites and not m:
            result.append({FIXED: Fraction(1, 2)})
        elif (equal := next((i for i in letters if forms[i].agrees(m)), None)) is not None:
            result.append({equal: Fraction(1)})
        elif opposites and (opposite := next((i for i in letters if forms[i].agrees(m, -1)), None)) is not None:
            result.append({FIXED: Fraction(1), opposite: Fraction(-1)})
        else:
            letters.append(number)
            result.append({number: Fraction(1)})
    return result


def _uniform(forms: Sequence[_Scores], form: NetworkForm) -> frozenset[int]:
    """Return the letters of patterns whose entries are all equal."""
    if form.normalization is None or form.causal:
        return frozenset()
    return frozenset({FIXED, *(number for number, m in enumerate(forms) if not m)})


def _blind(
    heads: Sequence[tuple[int, HeadCircuits]],
    forms: Sequence[_Scores],
    apart: Sequence[RationalMatrix],
    form: NetworkForm,
    tokens: int,
) -> frozenset[int]:
    """Return the letters whose patterns have equal columns: scores are zero on differences, or skew for two tokens."""
    if form.normalization is None or form.causal:
        return frozenset()
    found = {FIXED}
    for number, (m, (side, head)) in enumerate(zip(forms, heads, strict=True)):
        half = apart[side]
        if form.normalization != SOFTMAX:
            seen = bool(m)
        elif tokens == 2:
            square = head.scores(half, half)
            seen = bool(square + square.mT)
        else:
            seen = bool(_Scores(head, half, half))
        if not seen:
            found.add(number)
    return frozenset(found)


class Summands:
    """The heads of a layer of a direct sum: those of each network read its part of the stream, and write to it.

    Attributes:
        counts: how many heads each network has.
        heads: each with the number of its network.
        behind: the widths behind the layer, by network.
    """

    def __init__(self, networks: Sequence[NetworkCircuits], layer: int) -> None:
        halves = [list(network.layers[layer]) for network in networks]
        self.counts = list(map(len, halves))
        self.heads = [(side, head) for side, half in enumerate(halves) for head in half]
        self._before, self.behind = ([network.widths[i] for network in networks] for i in (layer, layer + 1))

    def parts(self, space: Subspace) -> list[RationalMatrix]:
        """Return a basis in front of the layer, by network."""
        return _parts_of(space, self._before)

    def total(self, factors: Sequence[Fraction | int], parts: Sequence[RationalMatrix]) -> RationalMatrix:
        """Return a sum of heads applied to columns."""
        sums = [RationalMatrix.zero(rows, part.shape[1]) for rows, part in zip(self.behind, parts, strict=True)]
        for (side, head), factor in zip(self.heads, factors, strict=True):
            if factor:
                carried = head.carried(parts[side])
                sums[side] = sums[side] + (carried if factor == 1 else carried.scaled(factor))
        return Q.stacked(sums)


def _parts_of(space: Subspace, sizes: Sequence[int]) -> list[RationalMatrix]:
    """Return a basis of a space of the direct sum in so many coordinates of each network."""
    return [space.basis] if len(sizes) == 1 else space.basis.apart(sizes)


def embedded(networks: Sequence[NetworkCircuits]) -> Subspace:
    """Return where the stream of the direct sum lies in front of the layers."""
    return Subspace.spanned(Q.stacked([network.embed for network in networks]))


def outputs_agree(networks: Sequence[NetworkCircuits], reached: Subspace) -> bool:
    """Return whether all networks have the same outputs, where the stream of their direct sum lies there at the end."""
    ends = _parts_of(reached, [network.widths[-1] for network in networks])
    first, *others = (network.unembed @ end for network, end in zip(networks, ends, strict=True))
    return all(other == first for other in others)


def common_streams(
    first: NetworkCircuits, second: NetworkCircuits, tokens: int, progress: Progress | None = None
) -> CommonStreams:
    """Follow the streams of two networks of one form and one depth.

    Args:
        first: a network.
        second: one with the same form, depth, input width and output width.
        tokens: how many tokens inputs have.
        progress: called in front of each layer.

    Example:
        >>> from lightning_sym.network.weights import Weights
        >>> form = NetworkForm(SOFTMAX, skip=True)
        >>> one = {"Q1.1": [[1, 2]], "K1.1": [[1, 0]], "V1.1": [[3, 4], [0, 1]]}
        >>> two = {"Q1.2": [[2, 4]], "K1.2": [[0.5, 0]], "V1.2": [[1, 1], [1, 1]]}
        >>> merged = {"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[4, 5], [1, 2]]}
        >>> both, one_head = (NetworkCircuits.of(Weights.of(w, form)) for w in (one | two, merged))
        >>> common_streams(both, one_head, tokens=3).same
        True
    """
    return streams((first, second), tokens, progress)


def streams(networks: Sequence[NetworkCircuits], tokens: int, progress: Progress | None = None) -> CommonStreams:
    """Follow the stream of the direct sum of networks of one form and one depth; of one, its own stream.

    Args:
        networks: one or more, with the same input width and output width.
        tokens: how many tokens inputs have.
        progress: called in front of each layer.
    """
    form, layers, depth = networks[0].form, [], len(networks[0].layers)
    normalized, softmax = form.normalization is not None, form.normalization == SOFTMAX
    reached = embedded(networks)
    apart = Subspace.zero(reached.basis.shape[0]) if normalized and tokens == 1 else reached
    middle = reached  # where the mean of the tokens lies, or with a mask the first one
    for i in range(depth):
        (progress or unheard)("common streams, layers", i, depth)
        layer = Summands(networks, i)
        columns = layer.parts(reached)
        differences = columns if apart is reached else layer.parts(apart)
        keys = differences if softmax else columns
        forms = [_Scores(head, keys[side], columns[side]) for side, head in layer.heads]
        spelled = _spell(forms, form, tokens)
        blind = _blind(layer.heads, forms, differences, form, tokens)
        letters = sorted({letter for spelling in spelled for letter in spelling})
        by_network, rest = [], tuple(spelled)
        for count in layer.counts:
            by_network.append(rest[:count])
            rest = rest[count:]
        layers.append(CommonLayer(reached, apart, tuple(by_network), blind))

        def image(letter: int) -> RationalMatrix:  # one at a time
            factors = [spelling.get(letter, 0) for spelling in spelled]  # noqa: B023
            return layer.total(factors, differences if normalized else columns)  # noqa: B023

        start = apart if form.skip else Subspace.zero(sum(layer.behind))
        visible = (image(letter) for letter in letters if letter not in blind)
        seen = start.extended(*(m for m in visible if not start.contains(m)))
        if normalized:
            mean = layer.total([1] * len(forms), layer.parts(middle))
            uneven = set() if form.causal else set(letters) - _uniform(forms, form)
            found = [mean + middle.basis if form.skip else mean, *map(image, uneven)]
            reached, apart = seen.extended(*found), seen
            middle = reached.within(*found)
        else:
            reached = apart = seen
    return CommonStreams(outputs_agree(networks, reached), tuple(layers), reached)
