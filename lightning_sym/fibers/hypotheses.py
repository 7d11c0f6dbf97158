r"""The hypotheses of the theorems of docs/transformer-fibers.md on a softmax network, each stated once, over any field.

Residues at random points show that one holds, and nothing else (Proposition 13); bases of spaces over the rationals
decide most of them; a relation of heads over the rationals shows that one fails (docs/certificate.md, section 4.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, cast

from lightning_sym.ask import FellShort, OneOf, TheoremNeed, TheoremRow, any_question, ask, paid_by_steps
from lightning_sym.fibers.head_rows import (
    INDEPENDENT,
    NO_SUM_ZERO,
    NOT_OPPOSITE,
    NOT_SKEW,
    NOT_ZERO,
    Demand,
    Finding,
    HeadRows,
    Relation,
    different,
)
from lightning_sym.fibers.observed_network import NetworkAtPoints, ObservedNetwork, OfLayer
from lightning_sym.limits import Work
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import SHAPED
from lightning_sym.system.fields import M


class HasConditions(Protocol):
    """A network, or two, whose hypotheses were tested, or are when they are asked for."""

    @property
    def architecture(self) -> Architecture:
        """The network, or the one that fulfils them."""

    @property
    def weaker_by(self) -> str:
        """What allows weaker ones where some are not known to hold in full."""

    def failing_at(self, hypothesis: Hypothesis, i: int) -> str | None:
        """Return what is wrong with a hypothesis on layer, or space, `i` where it is not known to hold."""


@dataclass(frozen=True)
class Hypothesis:
    """A hypothesis on each of some layers, or on each of some spaces.

    Attributes:
        name: as the page has it.
        letter: as certificates have it.
        layers: of a network; for a rank the numbers of the spaces.
        rows: what it is about, mostly a row for each head of a layer; `None` where that is not written out.
        demand: what it demands of them, in a layer.
        circuit: relations of the heads' `A`, of their symmetric parts, or of `V`, contradict it as those of rows do.
        forbidden: the rows of heads of which no relation may be there, where these are others.
        weaker: a test of its own, for what Proposition 15 asks in its place.
    """

    name: str
    letter: str
    layers: Callable[[Architecture], Iterable[int]]
    rows: OfLayer[HeadRows | None]
    demand: Callable[[Architecture, int], Demand] = lambda shape, i: INDEPENDENT
    circuit: str = ""
    forbidden: OfLayer[HeadRows | None] | None = None
    weaker: OfLayer[Finding] | None = None

    @property
    def is_rank(self) -> bool:
        """Whether it is about the rank of a space."""
        return self.letter in RANK_LETTERS

    def failing(self, question: HasConditions) -> str | None:
        """Return what is wrong where it is not known to hold in some layer; those behind that are not tested."""
        question.architecture.require("the hypotheses of theorems", SHAPED)
        found = (question.failing_at(self, i) for i in self.layers(question.architecture))
        return next((why for why in found if why is not None), None)

    def test(self, net: ObservedNetwork[M], i: int) -> Finding:
        """Return what a network over a field shows of a layer."""
        if self.weaker is not None:
            return self.weaker(net, i)
        rows = self.rows(net, i)
        return _not_tested(net, i) if rows is None else self.demand(net.shape, i).test(rows)

    def refuted_by(self, net: ObservedNetwork[M], i: int) -> Iterable[Relation]:
        """Return relations of the heads of a layer: each contradicts it, if it is one over the rationals."""
        rows = (self.forbidden or self.rows)(net, i) if self.circuit else None
        return () if rows is None else self.demand(net.shape, i).contradicted_by(rows)


RANK_LETTERS = ("F", "U", "S")


def _not_tested(net: ObservedNetwork[M], i: int) -> Finding:
    return Finding(None, f"not tested for {len(net.net.layers[i - 1])} heads")


def _layers(
    applies: Callable[[Architecture], bool] = lambda shape: True, *, but_the_last: int = 0
) -> Callable[[Architecture], range]:
    """Return each layer, `but_the_last` so many, of the networks that a hypothesis is about."""
    return lambda shape: range(1, shape.depth + 1 - but_the_last if applies(shape) else 1)


# ---- scores


def _on_scores(shape: Architecture, i: int) -> Demand:
    """Return the demand on scores: different ones do in the last layer and for three tokens (Proposition 15)."""
    two, last = shape.tokens == 2, i == shape.depth
    return INDEPENDENT if two and not last else different(opposites=two, weaker=not last)


def _squares_or_weaker(net: ObservedNetwork[M], i: int) -> Finding:
    """Return whether squares are independent; for three tokens it can do that none is zero (Proposition 15)."""
    rows = net.squares(i)
    shown = _not_tested(net, i) if rows is None else rows.independent()
    if net.shape.tokens == 2:
        return shown
    below = _independent_below(net, i)
    if shown.holds and below:
        return shown
    # of each head one of two forms, this one without conditions on layers below; without skip connections the stream
    # may be narrower behind a layer
    first = net.quadratic(i, net.reached[0]) if net.net.skip or i == 1 else None
    if first is not None and (alone := first.none_zero()).holds:
        return alone._replace(starred=True)
    if rows is None:
        return shown
    either = (rows if first is None else first.beside(rows)).none_zero()
    if not either.holds or below:
        return either._replace(starred=bool(either.holds) or net.prime is not None)
    evidence = f"scores of a layer below are dependent {rows.over}"
    return Finding(None if below is None else False, evidence, starred=True)


def _independent_below(net: ObservedNetwork[M], i: int) -> bool | None:
    """Return whether scores and squares of all layers below are independent; `None` if that is not known."""
    rows = [each for j in range(1, i) for each in (net.scores(j), net.squares(j))]
    if any(each is not None and not each.independent().holds for each in rows):
        return False
    return None if None in rows else True


def _forms_that_words_see(net: ObservedNetwork[M], i: int) -> HeadRows:
    r"""Return forms of the heads on all that (a') and (a'\*) look at."""
    columns = net.written[i - 1]
    if net.shape.tokens > 2 and net.net.skip:
        columns = net.combined([columns, net.reached[0]])
    return net.quadratic(i, columns)


SCORES = Hypothesis(
    "(a)", "a", _layers(), lambda net, i: net.scores(i), _on_scores, "A",
)  # fmt: skip
"""The scores of its heads are independent; in the last layer not zero and different is enough."""
SQUARES = Hypothesis(
    "(a')", "a'",
    _layers(lambda shape: not shape.causal, but_the_last=1), lambda net, i: net.squares(i),
    lambda shape, i: INDEPENDENT if shape.tokens == 2 else NOT_ZERO, "skew A",
    _forms_that_words_see, _squares_or_weaker,
)  # fmt: skip
"""The quadratic forms of its heads are independent on what the layer before writes."""
SCORES_OF_WORDS = Hypothesis(
    "(a), words", "a words", _layers(lambda shape: shape.tokens > 2 and not shape.causal),
    lambda net, i: net.scores_of_words(i), lambda shape, i: different(opposites=False, weaker=False), "A",
)  # fmt: skip
"""The scores of its heads are not zero and different, on all words of the query."""
OPPOSITE = Hypothesis(
    "(o)", "o", _layers(lambda shape: shape.tokens == 3 and shape.causal, but_the_last=1),
    lambda net, i: net.first_scores(i), lambda shape, i: NOT_OPPOSITE, "A",
)  # fmt: skip
"""No two of its heads have opposite scores."""
SKEW = Hypothesis(
    "(s)", "s", _layers(lambda shape: shape.tokens == 3 and not shape.causal and shape.skip, but_the_last=2),
    lambda net, i: net.forms_of_words(i), lambda shape, i: NOT_SKEW, "skew A",
    lambda net, i: net.quadratic(i, net.reached[i - 1]),
)  # fmt: skip
"""No head's form is skew, and no two are opposite with one transposed."""

# ---- values


def _seen_in_means(net: ObservedNetwork[M], i: int) -> HeadRows:
    return net.seen(i, net.means[i], net.reached[i - 1])


def _seen(net: ObservedNetwork[M], i: int) -> HeadRows:
    return net.seen_of_words(i) if net.shape.causal else _seen_in_means(net, i)


def _flips(net: ObservedNetwork[M], i: int) -> HeadRows | None:
    """Return what sets of heads may not add up to; `None` if it is no sum: in inner layers with mask and skip."""
    if not net.shape.causal:
        return net.seen(i, net.means[i], net.written[i - 1])
    if not net.net.skip:
        return net.seen_of_words(i)
    return net.seen(i, net.means[i], net.first[i - 1]) if i == net.shape.depth else None


def _flips_or_written(net: ObservedNetwork[M], i: int) -> HeadRows:
    """Return the sums of (c); where a form decides, what writes nothing is not read by the next layer either."""
    return _flips(net, i) or net.rows(i, lambda head: net.field.entries(head.carried(net.first[i - 1])))


def _not_zero(shape: Architecture, i: int) -> Demand:
    return NOT_ZERO


SEEN = Hypothesis("(b)", "b", _layers(), _seen, _not_zero, "V")
"""Every head is seen."""
FLIPS = Hypothesis(
    "(c)", "c", _layers(lambda shape: shape.tokens == 2),
    lambda net, i: _flips(net, i) or (net.flip_forms(i) if isinstance(net, NetworkAtPoints) else None),
    lambda shape, i: NO_SUM_ZERO, "V",
    _flips_or_written,
)  # fmt: skip
"""No set of its heads can be flipped, A and V to -A and -V."""
SEEN_IN_MEANS = Hypothesis(
    "(b), unmasked", "b unmasked", _layers(lambda shape: shape.tokens > 2 and shape.causal), _seen_in_means, _not_zero,
    "V",
)  # fmt: skip
"""Every head is seen in the means of all tokens."""

# ---- ranks


def stream(net: ObservedNetwork[M], letter: str, i: int) -> HeadRows:
    """Return coordinates of what is written into space `i`, is read of it, or is reached there by the first token."""
    wide = cast(ObservedNetwork[M], net.at_more_points) if isinstance(net, NetworkAtPoints) else net
    spaces = wide.reached if letter == "F" else wide.readers if letter == "U" else wide.first
    return HeadRows(net.field.entries(spaces[i]), net.prime)


def _rank(name: str, letter: str, spaces: Callable[[Architecture], Iterable[int]]) -> Hypothesis:
    return Hypothesis(name, letter, spaces, lambda net, i: stream(net, letter, i))


RANKS = (
    # the embedding is onto, and the output shows all
    _rank("rank E = d", "F", lambda shape: range(shape.embed is not None)),
    _rank("rank U = d", "U", lambda shape: (shape.depth,) if shape.unembed is not None else ()),
    # words span the stream, all of it is read, and the first token reaches all of it
    _rank("F = R^d", "F", _layers(lambda shape: not shape.skip)),
    _rank("rank Uh = d", "U", lambda shape: range(0 if shape.skip else shape.depth)),
    _rank("rank S = d", "S", lambda shape: range(1, shape.depth)),
)


def narrow(shape: Architecture, letter: str, i: int) -> Finding | None:
    """Return whether a rank falls short because the input or the output is narrower than the stream.

    Example:
        >>> narrow(Architecture((4, 4), (1,), 2, embed=3), "F", 0).evidence
        'rank at most 3, the input width, of 4'
    """
    shape.require("ranks of a narrow network", SHAPED)
    if letter == "S" or (letter, i) == ("F", 0):
        most, name = shape.input_width, "input"
    elif (letter, i) == ("U", shape.depth):
        most, name = shape.output_width, "output"
    else:
        return None
    width = shape.widths[i]
    return Finding(False, f"rank at most {most}, the {name} width, of {width}") if most < width else None


# ---- theorems

ALONE = "patterns of one token are 1"
"""What decides networks with normalized scores at one token."""

HEADS_PAGE, ONE_HEAD_PAGE = "docs/transformer-fibers.md", "docs/softmax-fibers.md"


@dataclass(frozen=True)
class Theorem:
    """A theorem by its number, the page with its proof, and what of that page allows weaker conditions."""

    number: str
    page: str
    weaker_by: str = ""

    def __str__(self) -> str:
        return f"{self.number}{' with ' * bool(self.weaker_by)}{self.weaker_by} of {self.page}"


def one_head_theorem(causal: bool, tokens: int) -> Theorem | None:
    """Return what decides networks with one softmax head a layer and no skip connection; of one token it is `ALONE`."""
    return Theorem("Theorem 4" if causal else "Theorem 1", ONE_HEAD_PAGE) if tokens > 1 else None


WORDS = (SCORES, SQUARES, SEEN, FLIPS)
"""Theorem 4: the function determines all words, and the scores of two tokens, up to the order of heads."""

COROLLARY_5 = (*WORDS, *RANKS)
BEYOND_WORDS = (SCORES_OF_WORDS, SEEN_IN_MEANS, OPPOSITE, SKEW)
HYPOTHESES = (*COROLLARY_5, *BEYOND_WORDS)


WORDS_AND_BLOCKS = OneOf((
    (lambda net: net.architecture.causal, (SCORES, SEEN_IN_MEANS, OPPOSITE)),
    (lambda net: not net.architecture.causal, (SCORES_OF_WORDS, SEEN, SKEW)),
    (lambda net: not net.architecture.causal and net.architecture.tokens == 3, (SCORES, SQUARES, SEEN)),
))  # fmt: skip
"""Theorem 11, three tokens or more: the function determines all words and blocks, up to the order of heads."""

SPANS = tuple(rank for rank in RANKS if rank.letter != "S")


def _row(
    number: str, about: Callable[[Architecture], bool], *needs: TheoremNeed, by: str | None = ""
) -> TheoremRow[HasConditions, Theorem]:
    """Return a row of the table; hypotheses are paid when they are tested, and without `by` weaker ones may do."""
    return TheoremRow(
        f"{number}{' with ' * bool(by)}{by or ''} of {HEADS_PAGE}", lambda net: about(net.architecture), paid_by_steps,
        lambda net: Theorem(number, HEADS_PAGE, net.weaker_by if by is None else by), needs=needs,
    )  # fmt: skip


DETERMINED = (
    _row("Corollary 5", any_question, *COROLLARY_5, by=None),
    _row("Corollary 5", lambda shape: shape.tokens > 2 and shape.depth > 1, WORDS_AND_BLOCKS, *SPANS, by="Theorem 11"),
    _row("Theorem 8", lambda shape: shape.depth == 1),
    _row("Theorem 7", lambda shape: shape.tokens == 2, *WORDS, by=None),
    _row("Theorem 11", lambda shape: shape.tokens > 2, WORDS_AND_BLOCKS),
)
"""What all weights with the function of given weights are, the strongest first."""


def strongest_theorem(network: HasConditions) -> tuple[Theorem | None, tuple[FellShort, ...]]:
    """Return the strongest theorem that says what the whole fiber of a softmax network is, and what fell short.

    Args:
        network: with several heads or skip connections, and at least two tokens.
    """
    return ask(network, DETERMINED, Work())


def places(needs: Iterable[Hypothesis], shape: Architecture) -> Iterator[tuple[Hypothesis, int]]:
    """Return each of these hypotheses, with each layer or space of a network that it is about."""
    shape.require("the hypotheses of theorems", SHAPED)
    return ((hypothesis, i) for hypothesis in needs for i in hypothesis.layers(shape))
