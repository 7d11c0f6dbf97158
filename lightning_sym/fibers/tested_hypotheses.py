"""Which hypotheses of the theorems given weights of a softmax network fulfil: tested where a theorem asks for them.

Residues can only show that one holds (Proposition 13 of docs/transformer-fibers.md); where they show nothing it is
decided over the rationals if the network is small, else refuted there if a simple reason is found, such as equal heads;
otherwise it is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial

from lightning_sym.errors import BadInput
from lightning_sym.fibers.cost import entry_bits
from lightning_sym.fibers.factored import added
from lightning_sym.fibers.head_rows import Finding, Relation
from lightning_sym.fibers.hypotheses import BEYOND_WORDS, COROLLARY_5, FORMAL, Hypothesis, narrow, places
from lightning_sym.fibers.observed_network import MORE, SOFTMAX_OPTIONS, NetworkAtPoints, NetworkSpaces, points_needed
from lightning_sym.fibers.transformer_cost import conditions_cost, three_tokens_cost
from lightning_sym.limits import DEFAULT_MEMORY, Progress, Work, require_memory, unheard
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.weights import Weights
from lightning_sym.rings.normalization import SOFTMAX
from lightning_sym.rings.rationals import RationalMatrix

SMALL, MOST_HEADS = 16, 32
"""Widths, and heads in all, up to which hypotheses are decided over the rationals, by bases of spaces."""

LARGEST, LONGEST_BITS = 256, 2048
"""Widths, and bits of the numbers, up to which anything is asked over the rationals."""


@dataclass(frozen=True)
class Condition:
    """A condition of a theorem, for one layer.

    Attributes:
        name: as the page has it, `(a)`, `(b)`, ..., `(a*)` and `(a'*)` where no more is shown, or a rank.
        layer: which one; for a rank the number of the space.
        holds: `None` where neither is known.
        evidence: a rank or residues modulo a prime, which only show that it holds; or what is so over the rationals.
    """

    name: str
    layer: int
    holds: bool | None
    evidence: str

    @property
    def is_rank(self) -> bool:
        """Whether it is about the rank of a space, not about a layer."""
        return "=" in self.name

    def __str__(self) -> str:
        return f"{self.name}, {'space' if self.is_rank else 'layer'} {self.layer}"

    @property
    def failing(self) -> str | None:
        """What is wrong where it is not known to hold."""
        said = {True: None, False: "does not hold", None: "is not known to hold"}[self.holds]
        return said and f"{self} {said} ({self.evidence})"


def weaker_by(conditions: Iterable[Condition]) -> str:
    """What allows (a*), (a'*) where these conditions have them in place of (a), (a')."""
    return "Proposition 15" if any(c.name.endswith("*)") for c in conditions) else ""


def require_softmax(weights: Weights, tokens: int) -> Architecture:
    """The network, refused unless it is a softmax network of numbers.

    Raises:
        BadInput: it is another one.
    """
    weights.require_numbers("the conditions of softmax networks")
    shape = weights.architecture(tokens)
    shape.require("the fiber of a softmax network", SOFTMAX_OPTIONS)
    if shape.normalization != SOFTMAX:
        raise BadInput(f"the network must be normalized by softmax, got {shape}")
    return shape


def is_small(shape: Architecture) -> bool:
    """Whether the conditions of a network of this shape are decided over the rationals.

    Example:
        >>> is_small(Architecture((4, 4), (2,), 2)), is_small(Architecture((64, 64), (2,), 2))
        (True, False)
    """
    shape.require("exact conditions", SOFTMAX_OPTIONS)
    return max(*shape.widths, shape.input_width, shape.output_width) <= SMALL and (
        shape.heads * shape.depth <= MOST_HEADS
    )


class SoftmaxConditions:
    """A softmax network whose hypotheses are tested where a theorem asks for them, each once.

    Args:
        weights: the network.
        tokens: at least two.
        budget: of exact work.
        seed: picks the points at which residues are taken.
        memory: bytes that the residues may take.
        progress: called with stage, steps done and steps in all.
        idle_heads: without them heads whose values are 0 are left out: the conditions are of a network without them.
    """

    def __init__(
        self,
        weights: Weights,
        tokens: int,
        budget: Work,
        *,
        seed: int = 0,
        memory: int = DEFAULT_MEMORY,
        progress: Progress | None = None,
        idle_heads: bool = True,
    ) -> None:
        shape = require_softmax(weights, tokens)
        points = max(*shape.widths, points_needed(shape)) + MORE
        beside = 8 * points * (sum(shape.widths) + shape.input_width + shape.output_width)
        require_memory(8 * (3 * shape.parameter_count + beside), memory, "residues of the weights")
        budget.spend(conditions_cost(shape), "the conditions")
        self._tell = unheard if progress is None else progress
        self._tell("residues", 0, 1)
        self.residues = NetworkAtPoints.of(weights, tokens, seed, idle_heads=idle_heads)
        self._weights, self.architecture, self._budget, self._idle_heads = weights, shape, budget, idle_heads
        self._known: dict[tuple[str, int], Condition] = {}

    @cached_property
    def _spaces(self) -> NetworkSpaces:
        return NetworkSpaces(self._weights, self.architecture.tokens, idle_heads=self._idle_heads)

    @cached_property
    def _affords_formal_scores(self) -> bool:
        """Whether the conditions for three tokens may be tested, which is then paid."""
        seconds = three_tokens_cost(self.architecture)
        if self._budget.allows(seconds):
            self._budget.spend(seconds, "the conditions for three tokens")
            return True
        return False

    @cached_property
    def _decidable(self) -> bool:
        """Whether anything is asked over the rationals."""
        return max(self.architecture.widths) <= LARGEST and max(entry_bits(self._weights).values()) <= LONGEST_BITS

    def tested(self, hypothesis: Hypothesis, i: int) -> Condition:
        """What is known of a hypothesis on layer, or space, `i`."""
        at = hypothesis.name, i
        if at not in self._known:
            self._known[at] = self._test(hypothesis, i)
        return self._known[at]

    def _test(self, hypothesis: Hypothesis, i: int) -> Condition:
        name = hypothesis.name
        if hypothesis.is_rank:
            if (short := narrow(self.architecture, hypothesis.letter, i)) is not None:
                return Condition(name, i, False, short.evidence)
        else:
            self._tell(f"condition {name}", i, self.architecture.depth)
        if hypothesis is FORMAL and not self._affords_formal_scores:
            return Condition(name, i, None, "not tested: more work than allowed")
        shown = hypothesis.test(self.residues, i)
        if not shown.holds:
            decided = self._decided(hypothesis, i) if self._decidable else None
            shown = decided or shown._replace(holds=None, evidence=f"not shown: {shown.evidence}")
        return Condition(name.replace(")", "*)") if shown.starred else name, i, shown.holds, shown.evidence)

    def _decided(self, hypothesis: Hypothesis, i: int) -> Finding | None:
        """What is known over the rationals, by spaces of a small network, else by a relation of matrices."""
        if is_small(self.architecture) and (decided := hypothesis.test(self._spaces, i)).holds is not None:
            return decided
        circuits = _HeadsOfLayer(self._weights, self.architecture, i, idle_heads=self._idle_heads)
        refuted = map(partial(circuits.relation, hypothesis.circuit), hypothesis.refuted_by(self.residues, i))
        evidence = next((found for found in refuted if found is not None), None)
        return None if evidence is None else Finding(False, evidence)

    def failing(self, needs: Sequence[Hypothesis]) -> str | None:
        """The first of these hypotheses that is not known to hold, with its evidence; those behind are not tested."""
        found = (self.tested(*at).failing for at in places(needs, self.architecture))
        return next((why for why in found if why is not None), None)

    @property
    def weaker_by(self) -> str:
        """What allows (a*), (a'*) where (a), (a') are not known to hold in full."""
        return weaker_by(self._known.values())

    def all(self) -> tuple[Condition, ...]:
        """All conditions; those of Theorem 11 alone only where the ranks of Corollary 5 fall short."""
        shape, known = self.architecture, [self.tested(*at) for at in places(COROLLARY_5, self.architecture)]
        if shape.depth > 1 and shape.tokens > 2 and not all(c.holds for c in known if c.is_rank):
            more = BEYOND_WORDS if self._affords_formal_scores else (FORMAL,)
            known += [self.tested(*at) for at in places(more, shape)]
        return tuple(known)


class _HeadsOfLayer:
    """The exact matrices of the heads of a layer, one combination of which may vanish."""

    def __init__(self, weights: Weights, shape: Architecture, i: int, *, idle_heads: bool) -> None:
        numbers = [shape.head_name(i, h) for h in range(1, shape.heads + 1)]
        self._weights = weights
        self._numbers = [number for number in numbers if idle_heads or weights["V" + number].any()]

    def _matrix(self, name: str) -> RationalMatrix:
        return RationalMatrix.of(self._weights[name])

    def _circuit(self, kind: str, number: str) -> RationalMatrix:
        if kind == "V":
            value = self._matrix("V" + number)
            return self._matrix("O" + number) @ value if "O" + number in self._weights.matrices else value
        scores = self._matrix("K" + number).mT @ self._matrix("Q" + number)
        return scores + scores.mT if kind == "skew A" else scores

    def relation(self, kind: str, relation: Relation) -> str | None:
        """A relation of rows in words, such as `A1.1 - 2 A1.3 = 0 over Q`, if it is one of the matrices themselves."""
        parts = [(c, number) for c, number in zip(relation, self._numbers, strict=True) if c]
        total = added([self._circuit(kind, number).scaled(c) for c, number in parts])
        return None if total else "".join(self._words(kind, parts))

    @staticmethod
    def _words(kind: str, parts: list[tuple[Fraction | int, str]]) -> Iterator[str]:
        for place, (c, number) in enumerate(parts):
            sign = (" - " if place else "-") if c < 0 else (" + " if place else "")
            yield f"{sign}{'' if abs(c) == 1 else f'{abs(c)} '}{kind[-1]}{number}"
        yield " is skew over Q" if kind == "skew A" else " = 0 over Q"
