r"""When two networks compute the same function because their streams move together.

Theorem 1 of docs/transformer-fibers.md. Stack the streams of both networks, $z = (x, x')$, and follow two spaces
through the layers: $R_i$, where the columns of the stacked stream lie, and $D_i$, where differences of columns lie. A
head of either network reads its own half of $z$; two heads have the same pattern if their score forms agree: for
softmax, which sees differences of the scores of one query only, on $D \times R$, else on $R \times R$. Patterns are
written in *letters*, and patterns that are known to be related are written in the same letters:

- normalized: one letter for each form;
- softmax, two tokens: $P_{-M} = J - P_M$ and $P_0 = J / 2$ with a fixed matrix $J$, which is a letter of its own;
- lightning: patterns are linear in the form, so a basis of the forms gives the letters;
- one token, normalized: all patterns are 1.

Each letter carries a matrix that acts on both halves, the sum over its heads. If $(U, -U')$ vanishes on what is reached
behind the last layer, the outputs agree for all inputs. Nothing is supposed of the weights: heads may be merged,
missing, padded, widths may differ. Where it does not vanish nothing is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from lightning_sym.exact.subspaces import Subspace, in_a_basis
from lightning_sym.limits import Progress
from lightning_sym.network.form import NetworkForm
from lightning_sym.rings.normalization import SOFTMAX
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.system.circuits import HeadCircuits, NetworkCircuits

FIXED = -1
"""The letter of the pattern that does not depend on scores: `J`, and with one token 1."""

T = TypeVar("T")
Pair = tuple[T, T]

Spelling = dict[int, Fraction]
"""A pattern in letters: by letter, how often."""


@dataclass(frozen=True, eq=False)
class CommonLayer:
    """What two networks have in common in a layer.

    Attributes:
        reached: $R_{i-1}$, where the columns of the stacked stream in front of the layer lie.
        apart: $D_{i-1}$, where their differences lie.
        spelled: the patterns of the heads of the first network and of the second.
        blind: the letters whose patterns have equal columns.
    """

    reached: Subspace
    apart: Subspace
    spelled: tuple[tuple[Spelling, ...], tuple[Spelling, ...]]
    blind: frozenset[int]


@dataclass(frozen=True, eq=False)
class CommonStreams:
    """How far the streams of two networks move together.

    Attributes:
        same: whether the outputs agree for all inputs; if not, nothing is said about them.
        layers: layer by layer.
        reached: $R_l$, behind the last layer.
        split: rows of the first network's half of the stream, in front of each layer and behind the last.
    """

    same: bool
    layers: tuple[CommonLayer, ...]
    reached: Subspace
    split: tuple[int, ...]


def _halves(space: Subspace, split: int) -> Pair[RationalMatrix]:
    one, other = space.basis.apart((split, space.basis.shape[0] - split))
    return one, other


class _Scores:
    """The scores of a head on spaces, multiplied when they are asked for: all of a large layer take gigabytes."""

    def __init__(self, head: HeadCircuits, keys: RationalMatrix, queries: RationalMatrix) -> None:
        self._head, self._keys, self._queries = head, keys, queries
        self._sample: RationalMatrix | None = None
        if columns := queries.shape[1]:
            combination = RationalMatrix.of([[pow(3, j, 1009)] for j in range(columns)])
            # what differs here differs; what agrees here is compared as a whole
            self._sample = head.scores(keys, queries @ combination)

    def whole(self) -> RationalMatrix:
        """All scores."""
        return self._head.scores(self._keys, self._queries)

    def __bool__(self) -> bool:
        """Whether a score is not zero."""
        return self._sample is not None and (bool(self._sample) or bool(self.whole()))

    def agrees(self, other: _Scores, sign: int = 1) -> bool:
        """Whether these are the scores of the other head, or with the sign -1 their opposites."""
        if self._sample is None or other._sample is None or (self is other and sign == 1):
            return True
        if self._sample != other._sample.scaled(sign):
            return False
        return self.whole() == (other.whole() if sign == 1 else -other.whole())


def _spell(forms: Sequence[_Scores], form: NetworkForm, tokens: int) -> list[Spelling]:
    """The patterns that belong to score forms, in letters; the number of a letter is that of a form that has it."""
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
    """The letters of patterns whose entries are all equal."""
    if form.normalization is None or form.causal:
        return frozenset()
    return frozenset({FIXED, *(number for number, m in enumerate(forms) if not m)})


def _blind(
    heads: Sequence[HeadCircuits],
    forms: Sequence[_Scores],
    apart: Sequence[RationalMatrix],
    form: NetworkForm,
    tokens: int,
) -> frozenset[int]:
    """The letters whose patterns have equal columns: scores are zero on differences, or skew for two tokens."""
    if form.normalization is None or form.causal:
        return frozenset()
    found = {FIXED}
    for number, (m, head, half) in enumerate(zip(forms, heads, apart, strict=True)):
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


def _total(
    heads: Sequence[HeadCircuits], factors: Sequence[Fraction | int], rows: int, half: RationalMatrix
) -> RationalMatrix:
    """A sum of heads applied to the columns of one half."""
    result = RationalMatrix.zero(rows, half.shape[1])
    for head, factor in zip(heads, factors, strict=True):
        if factor:
            part = head.carried(half)
            result = result + (part if factor == 1 else part.scaled(factor))
    return result


def _images(
    halves: Sequence[Sequence[HeadCircuits]],
    factors: Sequence[Fraction | int],
    rows: Pair[int],
    on: Pair[RationalMatrix],
) -> Pair[RationalMatrix]:
    """The same sum of heads of both networks, each applied to its half."""
    cut = len(halves[0])
    one = _total(halves[0], factors[:cut], rows[0], on[0])
    if halves[1] is halves[0] and on[1] == on[0] and factors[cut:] == factors[:cut]:
        return one, one  # a network with itself
    return one, _total(halves[1], factors[cut:], rows[1], on[1])


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
    form, layers = first.form, []
    normalized, softmax = form.normalization is not None, form.normalization == SOFTMAX
    reached = Subspace.spanned(first.embed.above(second.embed))
    apart = Subspace.zero(reached.basis.shape[0]) if normalized and tokens == 1 else reached
    middle = reached  # where the mean of the tokens lies, or with a mask the first one
    for i, both in enumerate(zip(first.layers, second.layers, strict=True)):
        if progress is not None:
            progress("common streams, layers", i, len(first.layers))
        halves = [list(both[0])]
        halves.append(halves[0] if both[1] is both[0] else list(both[1]))
        rows = first.widths[i + 1], second.widths[i + 1]
        columns = _halves(reached, first.widths[i])
        differences = columns if apart is reached else _halves(apart, first.widths[i])
        heads = [*halves[0], *halves[1]]
        sides = [side for side, half in enumerate(halves) for _ in half]
        keys = differences if softmax else columns
        if halves[1] is halves[0] and columns[0] == columns[1] and keys[0] == keys[1]:
            forms = 2 * [_Scores(head, keys[0], columns[0]) for head in halves[0]]
        else:
            forms = [_Scores(head, keys[s], columns[s]) for s, head in zip(sides, heads, strict=True)]
        spelled = _spell(forms, form, tokens)
        blind = _blind(heads, forms, [differences[s] for s in sides], form, tokens)
        letters = sorted({letter for spelling in spelled for letter in spelling})
        cut = len(halves[0])
        layers.append(CommonLayer(reached, apart, (tuple(spelled[:cut]), tuple(spelled[cut:])), blind))

        def image(letter: int) -> RationalMatrix:  # one at a time
            factors = [spelling.get(letter, 0) for spelling in spelled]  # noqa: B023
            one, other = _images(halves, factors, rows, differences if normalized else columns)  # noqa: B023
            return one.above(other)

        start = apart if form.skip else Subspace.zero(sum(rows))
        visible = (image(letter) for letter in letters if letter not in blind)
        seen = start.extended(*(m for m in visible if not start.contains(m)))
        if normalized:
            mean = _halves(middle, first.widths[i])
            one, other = _images(halves, [1] * len(heads), rows, mean)
            if form.skip:
                one, other = one + mean[0], other + mean[1]
            uneven = set() if form.causal else set(letters) - _uniform(forms, form)
            found = [one.above(other), *map(image, uneven)]
            reached, apart = seen.extended(*found), seen
            middle = reached.within(*found)
        else:
            reached = apart = seen
    one, other = _halves(reached, first.widths[-1])
    same = first.unembed @ one == second.unembed @ other
    return CommonStreams(same, tuple(layers), reached, first.widths)
