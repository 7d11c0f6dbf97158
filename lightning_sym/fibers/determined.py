r"""When two networks are different functions because one of them is determined by its function.

Softmax: let one network fulfil conditions of docs/transformer-fibers.md, and let the other have at most as many heads
in each layer. If their functions are equal, then by Theorem 4 they have as many heads, and with the heads in some order
equal words and scores of two tokens that are equal functions. Then polynomials are equal, and values at a point show
that they are not. Where (a) and (a') hold in full, these are the formal scores, as the weights $g$ that tokens get are
independent variables (behind Theorem 7). By Proposition 15, where products of two of one layer may have relations, they
are only $(M_{i-1}(\gamma) E \xi)^\top A_{ih} S_{i-1} \eta$, which has none. By Theorem 11, and by Corollary 5 if widths
are at most as large, their streams move together (the corollary of Theorem 11).

Lightning: let one fulfil the conditions of Theorem 1 of docs/deep-lightning.md, and let the other have the same depth
and width, and layers whose $B_i$ have no larger rank. If the functions were equal, all layer tensors would be, up to
one change of basis, and then layers would do the same on the streams of both (Lemma 2 there), which `tensor_streams`
decides. So it is without skip connections by Theorem 3, of whatever ranks the layers of the other one are.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from lightning_sym.ask import FellShort, Need, TheoremNeed, TheoremRow, any_question, ask, paid_by_steps
from lightning_sym.errors import TooLarge
from lightning_sym.fibers.comparison import Reason
from lightning_sym.fibers.conditions import SoftmaxConditions
from lightning_sym.fibers.hypotheses import COROLLARY_5, HEADS_PAGE, WORDS, WORDS_AND_BLOCKS, Theorem
from lightning_sym.fibers.layer_tensors import ranks_bounding
from lightning_sym.fibers.tensor_hypotheses import PAGE, THEOREM_1, THEOREM_3, TensorQuestion, seen_widths
from lightning_sym.limits import Work
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import LIGHTNING
from lightning_sym.network.weights import Weights
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.system.arrangement import padded
from lightning_sym.system.circuits import HeadCircuits, NetworkCircuits
from lightning_sym.system.common_streams import common_streams
from lightning_sym.system.weights_of_circuits import weights_of


@dataclass(frozen=True)
class TensorPair:
    """A network whose hypotheses are asked for, and another one whose layers do not do the same on the streams of both.

    Attributes:
        tensors: the network.
        other: the shape of the other one.
    """

    tensors: TensorQuestion
    other: Architecture

    def __post_init__(self) -> None:
        self.other.require("layers that are determined", LIGHTNING)

    @property
    def shape(self) -> Architecture:
        """The network that fulfils the hypotheses."""
        return self.tensors.shape

    def has_no_larger_ranks(self) -> bool:
        """Return whether the layers of the other network have no larger ranks."""
        tensors = self.tensors.tested[0]
        return all(b <= a for a, b in zip(tensors.ranks, ranks_bounding(self.other, tensors.background), strict=True))


ALIKE = Need(
    "two networks of one width and depth, with E and U in both or in none",
    lambda pair: _size(pair.shape) == _size(pair.other),
)
OF_ONE_SIZE = Need(
    "two networks of one depth and one width between layers",
    lambda pair: seen_widths(pair.shape) == seen_widths(pair.other),
)
NO_LARGER_RANKS = Need("no larger ranks of layers in the other network", TensorPair.has_no_larger_ranks)


def _size(shape: Architecture) -> tuple[object, ...]:
    return shape.widths, shape.embed is None, shape.unembed is None


APART_BY_TENSORS: tuple[TheoremRow[TensorPair, str], ...] = (
    TheoremRow(
        f"Theorem 1 of {PAGE}", lambda pair: pair.shape.skip, paid_by_steps, lambda pair: f"Theorem 1 of {PAGE}",
        needs=(ALIKE, *THEOREM_1, NO_LARGER_RANKS),
    ),
    TheoremRow(
        f"Theorem 3 of {PAGE}", lambda pair: not pair.shape.skip, paid_by_steps, lambda pair: f"Theorem 3 of {PAGE}",
        needs=(OF_ONE_SIZE, *THEOREM_3),
    ),
)  # fmt: skip
"""Different functions by the hypotheses that one network fulfils."""


def apart_by_tensors(pair: TensorPair) -> tuple[str | None, tuple[FellShort, ...]]:
    """Return the theorem that says that two networks are different functions, if one does, and what fell short."""
    return ask(pair, APART_BY_TENSORS, Work())


POINTS = 3
"""Values that tell the scores of heads apart, of each."""

LARGEST = 1000
"""Of the random integers that they are taken at."""


class _TwoTokens:
    """Both tokens, with patterns that are numbers, and `S x_1`: (1) and (2) in section 4 of the page."""

    def __init__(self, net: NetworkCircuits, tokens: tuple[RationalMatrix, RationalMatrix]) -> None:
        self.first, self.second = (net.embed @ x for x in tokens)
        self.alike = self.first

    def scores(self, heads: Sequence[HeadCircuits], *, formal: bool) -> list[tuple[Fraction, ...]]:
        """Return for each head the score of the first key less that of the second.

        It is for the second query, or its part in x_1.
        """
        apart, query = self.first - self.second, self.second if formal else self.alike
        ones = RationalMatrix.of([[1] * apart.shape[0]]) if apart.shape[0] else RationalMatrix.zero(1, 0)
        return [tuple((ones @ (apart * (h.attention @ query))).fractions().ravel()) for h in heads]

    def carry(
        self, heads: Sequence[HeadCircuits], weights: Sequence[list[RationalMatrix]], rows: int, skip: bool
    ) -> None:
        """Go through a layer, query `k` of head `h` giving `weights[h][k - 1]` to the second token."""
        apart, behind, nothing = self.first - self.second, [], RationalMatrix.zero(rows, POINTS)
        self.alike = sum((head.value @ self.alike for head in heads), self.alike if skip else nothing)
        for k, token in enumerate((self.first, self.second)):
            total = token if skip else nothing
            for head, given in zip(heads, weights, strict=True):
                spread = RationalMatrix.of([[1]] * apart.shape[0]) @ given[k] if apart.shape[0] else apart
                total = total + head.value @ (self.first - apart * spread)
            behind.append(total)
        self.first, self.second = behind


def seen_apart(first: NetworkCircuits, second: NetworkCircuits, source: random.Random, *, formal: bool) -> bool:
    """Return whether no order of heads makes the words and the scores of two tokens of two networks equal.

    Args:
        first: scores of the heads of a layer are different functions.
        second: of the same form, depth, input and output width, and with as many heads in each layer.
        source: of the values that variables take.
        formal: compare formal scores, else their part that is linear in the first token and in the difference.

    Example:
        >>> from lightning_sym.network.form import NetworkForm
        >>> from lightning_sym.rings.normalization import SOFTMAX
        >>> w = {"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4], [5, 6]]}
        >>> form, other = NetworkForm(SOFTMAX, skip=True), w | {"K1": [[1, 1]]}
        >>> nets = [NetworkCircuits.of(Weights.of(matrices, form)) for matrices in (w, other)]
        >>> [seen_apart(nets[0], net, random.Random(0), formal=True) for net in nets]
        [False, True]
    """

    def drawn(rows: int) -> RationalMatrix:
        return RationalMatrix.of([[source.randint(-LARGEST, LARGEST) for _ in range(POINTS)] for _ in range(rows)])

    form, n = first.form, first.embed.shape[1]
    tokens = drawn(n), drawn(n)
    one, other = _TwoTokens(first, tokens), _TwoTokens(second, tokens)
    widths = zip(first.widths[1:], second.widths[1:], strict=True)
    for mine, theirs, rows in zip(first.layers, second.layers, widths, strict=True):
        heads, others = list(mine), list(theirs)
        known, found = one.scores(heads, formal=formal), other.scores(others, formal=formal)
        if len(set(known)) < len(known):  # these values do not say which head is which
            return False
        if sorted(known) != sorted(found):
            return True
        weights = [[RationalMatrix.zero(1, POINTS) if form.causal else drawn(1), drawn(1)] for _ in heads]
        one.carry(heads, weights, rows[0], form.skip)
        other.carry(others, [weights[known.index(score)] for score in found], rows[1], form.skip)
    return any(
        first.unembed @ a != second.unembed @ b for a, b in ((one.first, other.first), (one.second, other.second))
    )


class _Determined:
    """A softmax network, and another one with at most as many heads in each layer."""

    def __init__(self, known: SoftmaxConditions, one: NetworkCircuits, other: NetworkCircuits, source: random.Random):
        self.architecture, self.failing_at = known.architecture, known.failing_at
        self.known, self.one, self.other, self.source = known, one, other, source

    @cached_property
    def words_differ(self) -> bool:
        """Whether numbers of heads differ, or words, or the scores of two tokens."""
        heads, others = ([len(list(layer)) for layer in net.layers] for net in (self.one, self.other))
        formal = not self.known.weaker_by
        return heads != others or seen_apart(self.one, self.other, self.source, formal=formal)

    @cached_property
    def streams_differ(self) -> bool:
        """Whether the streams of both do not move together."""
        return not common_streams(self.one, self.other, self.architecture.tokens).same


def _row(
    number: str, about: Callable[[_Determined], bool], *needs: TheoremNeed
) -> TheoremRow[_Determined, tuple[Reason, str]]:
    """Return a theorem by which streams move together, or for Theorem 4 words and scores agree, if functions do."""
    words = needs == WORDS

    def prove(pair: _Determined) -> tuple[Reason, str] | None:
        if not (pair.words_differ if words else pair.streams_differ):
            return None
        weaker_by = "" if needs == (WORDS_AND_BLOCKS,) else pair.known.weaker_by
        return Reason.WORDS if words else Reason.DETERMINED, str(Theorem(number, HEADS_PAGE, weaker_by))

    silence = "words and scores of two tokens agree at random values" if words else "the streams of both move together"
    return TheoremRow(f"{number} of {HEADS_PAGE}", about, paid_by_steps, prove, silence, needs)


APART: tuple[TheoremRow[_Determined, tuple[Reason, str]], ...] = (
    _row("Theorem 4", any_question, *WORDS),
    _row(
        "Corollary 5",
        lambda pair: all(b <= a for a, b in zip(pair.one.widths, pair.other.widths, strict=True)),
        *COROLLARY_5,
    ),
    _row("Theorem 11", lambda pair: pair.architecture.tokens > 2, WORDS_AND_BLOCKS),
)
"""Different functions by the hypotheses that one network fulfils."""


def apart_by_theorem(
    weights: Weights | None,
    first: NetworkCircuits,
    second: NetworkCircuits,
    tokens: int,
    source: random.Random,
    budget: Work,
    theorems: slice = slice(None),
) -> tuple[tuple[Reason, str] | None, tuple[FellShort, ...]]:
    """Return whether two softmax networks are different functions, by the conditions that the first one fulfils.

    What is given back is the reason and its theorem, and which theorems fell short.

    Args:
        weights: of the first network, or `None` where it is only known by its circuits.
        first: its circuits.
        second: of the same form.
        tokens: two or more.
        source: of random numbers.
        budget: of exact work; nothing is said where it does not allow the conditions to be tested.
        theorems: of `APART`, those that are asked.
    """
    if (both := padded(*(_without_idle(net) for net in (first, second)))) is None:
        return None, ()
    heads, others = ([len(list(layer)) for layer in net.layers] for net in both)
    if not all(heads) or any(b > a for a, b in zip(heads, others, strict=True)):
        return None, ()
    try:
        known = SoftmaxConditions(
            weights_of(first, tokens) if weights is None else weights, tokens, budget, idle_heads=False
        )
    except TooLarge:
        return None, ()
    return ask(_Determined(known, *both, source), APART[theorems], budget)


def _without_idle(net: NetworkCircuits) -> NetworkCircuits:
    layers = [[head for head in layer if head.value] for layer in net.layers]
    return NetworkCircuits(net.embed, layers, net.widths, net.unembed, net.form)
