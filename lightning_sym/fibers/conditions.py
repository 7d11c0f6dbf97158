"""Which hypotheses of the theorems given weights of a softmax network fulfil: tested where a theorem asks for them.

Residues can only show that one holds (Proposition 13 of docs/transformer-fibers.md); where they show nothing it is
decided over the rationals if the network is small, else refuted there if a simple reason is found, such as equal heads;
otherwise it is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import groupby

from lightning_sym.arguments import require_arguments
from lightning_sym.ask import failing
from lightning_sym.display import Lines, Result, latex_lines, latex_words
from lightning_sym.errors import BadInput, no_truth_value
from lightning_sym.fibers.cost import entry_bits
from lightning_sym.fibers.head_rows import Finding
from lightning_sym.fibers.hypotheses import (
    BEYOND_WORDS,
    COROLLARY_5,
    WORDS,
    Hypothesis,
    Theorem,
    narrow,
    one_head_theorem,
    places,
    strongest_theorem,
)
from lightning_sym.fibers.observed_network import MORE, NetworkAtPoints, NetworkSpaces, points_needed
from lightning_sym.fibers.transformer_cost import conditions_cost
from lightning_sym.limits import (
    DEFAULT_MEMORY,
    DEFAULT_WORK,
    Progress,
    Work,
    require_integer,
    require_memory,
    unheard,
)
from lightning_sym.network.architecture import Architecture, network_line
from lightning_sym.network.pieces import SHAPED
from lightning_sym.network.weights import Weights
from lightning_sym.rings.normalization import SOFTMAX
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.system.circuits import HeadCircuits, added, layer_heads
from lightning_sym.system.fields import Q

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


@no_truth_value("found.theorem is not None")
@dataclass(frozen=True, eq=False, repr=False)
class TransformerConditions(Result):
    """The conditions that were tested, and what follows.

    Attributes:
        architecture: the network.
        conditions: in the order of the page; those of Theorem 11 alone only where Corollary 5 falls short.
    """

    architecture: Architecture
    conditions: tuple[Condition, ...]

    def lines(self) -> Lines:
        """Return lines with network, conditions, and the theorem that they make true of these weights."""
        theorem = "none: not certified by these theorems" if self.theorem is None else str(self.theorem)
        return [("network", network_line(self.architecture)), *condition_lines(self.conditions), ("theorem", theorem)]

    def _latex(self) -> str:
        return latex_lines(latex_words(f"{label} {said}".strip()) for label, said in self.lines())

    def hold(self, *names: str) -> bool:
        """Return whether all conditions with these names hold, one of them at least having been tested."""
        mine = [c.holds for c in self.conditions if c.name in names]
        return bool(mine) and all(holds is True for holds in mine)

    def failing_at(self, hypothesis: Hypothesis, i: int) -> str | None:
        """Return what is wrong where a hypothesis is not known to hold; one that was not tested is not."""
        found = self._tested.get((hypothesis.name, i))
        return f"{hypothesis.name} was not tested" if found is None else found.failing

    def failing(self, needs: Sequence[Hypothesis]) -> str | None:
        """Return the first of these hypotheses that is not known to hold."""
        return failing(self, needs)

    @cached_property
    def _tested(self) -> dict[tuple[str, int], Condition]:
        return {(c.name.replace("*", ""), c.layer): c for c in self.conditions}

    @property
    def words_determined(self) -> bool:
        """Theorem 4: the function determines all words, and the scores of two tokens, up to the order of heads."""
        return bool(self.conditions) and self.failing(WORDS) is None

    @property
    def weaker_by(self) -> str:
        """What allows (a*), (a'*) where (a), (a') are not known to hold in full."""
        return weaker_by(self.conditions)

    @cached_property
    def theorem(self) -> Theorem | None:
        """The strongest theorem that says what all weights with the same function are."""
        shape = self.architecture
        if shape.heads == 1 and not shape.skip:
            return one_head_theorem(shape.causal, shape.tokens)
        return strongest_theorem(self)[0]


def condition_lines(conditions: Iterable[Condition]) -> Lines:
    """Return a line for each kind of condition and evidence, with the layers that have it."""
    lines: Lines = []
    for (name, holds, evidence), group in groupby(conditions, key=lambda c: (c.name, c.holds, c.evidence)):
        places = [c.layer for c in group]
        what = "space" if "=" in name else "layer"
        range_ = f"{what} {places[0]}" if len(places) == 1 else f"{what}s {places[0]}-{places[-1]}"
        said = {True: "holds", False: "does not hold", None: "unknown"}[holds]
        lines.append(("" if lines else "conditions", f"{name} {said}, {range_}: {evidence}"))
    return lines


def weaker_by(conditions: Iterable[Condition]) -> str:
    """Return what allows (a*), (a'*) where these conditions have them in place of (a), (a')."""
    return "Proposition 15" if any(c.name.endswith("*)") for c in conditions) else ""


def require_softmax(weights: Weights, tokens: int) -> Architecture:
    """Return the network, refused unless it is a softmax network of numbers.

    Raises:
        BadInput: it is another one.
    """
    weights.require_numbers("the conditions of softmax networks")
    shape = weights.architecture(tokens)
    shape.require("the fiber of a softmax network", SHAPED)
    if shape.normalization != SOFTMAX:
        raise BadInput(f"the network must be normalized by softmax, got {shape}")
    return shape


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
    def _decidable(self) -> bool:
        """Whether anything is asked over the rationals."""
        return max(self.architecture.widths) <= LARGEST and max(entry_bits(self._weights).values()) <= LONGEST_BITS

    def tested(self, hypothesis: Hypothesis, i: int) -> Condition:
        """Return what is known of a hypothesis on layer, or space, `i`."""
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
        shown = hypothesis.test(self.residues, i)
        if not shown.holds:
            decided = self._decided(hypothesis, i) if self._decidable else None
            shown = decided or shown._replace(holds=None, evidence=f"not shown: {shown.evidence}")
        return Condition(name.replace(")", "*)") if shown.starred else name, i, shown.holds, shown.evidence)

    def _decided(self, hypothesis: Hypothesis, i: int) -> Finding | None:
        """Return what is known over the rationals, by spaces of a small network, else by a relation of matrices."""
        shape, weights = self.architecture, self._weights
        is_small = max(*shape.widths, shape.input_width, shape.output_width) <= SMALL
        if is_small and shape.heads * shape.depth <= MOST_HEADS:
            decided = hypothesis.test(self._spaces, i)
            if decided.holds is not None:
                return decided
        names = [shape.head_name(i, h) for h in range(1, shape.heads + 1)] if hypothesis.circuit else []
        kept = [h for h, name in enumerate(names) if self._idle_heads or weights["V" + name].any()]
        heads = layer_heads(shape, i, lambda name: Q.of(weights.held(name)))
        for relation in hypothesis.refuted_by(self.residues, i):
            parts = [(c, h) for c, h in zip(relation, kept, strict=True) if c]
            if not added([_circuit(heads[h], hypothesis.circuit).scaled(c) for c, h in parts]):
                return Finding(False, _in_words(hypothesis.circuit, [(c, names[h]) for c, h in parts]))
        return None

    def failing_at(self, hypothesis: Hypothesis, i: int) -> str | None:
        """Return what is wrong with a hypothesis on layer, or space, `i` if it is not known to hold, with evidence."""
        return self.tested(hypothesis, i).failing

    @property
    def weaker_by(self) -> str:
        """What allows (a*), (a'*) where (a), (a') are not known to hold in full."""
        return weaker_by(self._known.values())

    def all(self) -> tuple[Condition, ...]:
        """Return all conditions; those of Theorem 11 alone only where Corollary 5 falls short without it."""
        shape, known = self.architecture, [self.tested(*at) for at in places(COROLLARY_5, self.architecture)]
        if shape.depth > 1 and shape.tokens > 2 and not all(c.holds for c in known):
            known += [self.tested(*at) for at in places(BEYOND_WORDS, shape)]
        return tuple(known)


def _circuit(head: HeadCircuits, kind: str) -> RationalMatrix:
    """Return a matrix of a head that a relation is about: its values, its scores, or twice their symmetric part."""
    if kind == "V":
        return head.value
    return head.attention + head.attention.mT if kind == "skew A" else head.attention


def _in_words(kind: str, parts: list[tuple[Fraction | int, str]]) -> str:
    """Return a relation that holds over the rationals, such as `A1.1 - 2 A1.3 = 0 over Q`."""
    text = ""
    for c, number in parts:
        sign = (" - " if text else "-") if c < 0 else (" + " if text else "")
        text += f"{sign}{'' if abs(c) == 1 else f'{abs(c)} '}{kind[-1]}{number}"
    return text + (" is skew over Q" if kind == "skew A" else " = 0 over Q")


def transformer_conditions(
    weights: Weights,
    tokens: int = 2,
    *,
    seed: int = 0,
    memory: int = DEFAULT_MEMORY,
    work: float = DEFAULT_WORK,
    progress: Progress | None = None,
) -> TransformerConditions:
    """Test the conditions under which the function of a softmax network determines its weights up to symmetries.

    Args:
        weights: exact weights of a softmax network, with or without mask, skip connections, heads, embeddings.
        tokens: at least two.
        seed: picks the points at which residues are taken; no answer is wrong for any.
        memory: bytes that the residues may take.
        work: seconds that all tests may take, by a rough estimate made before each step.
        progress: called with stage, steps done and steps in all.

    Raises:
        BadInput: another normalization, letters, or fewer than two tokens.
        TooLarge: the residues would not fit into `memory`, or the estimate exceeds `work`.

    Example:
        >>> from lightning_sym.network.form import NetworkForm
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4], [5, 6]]}, NetworkForm(SOFTMAX, skip=True))
        >>> found = transformer_conditions(w, tokens=3)
        >>> found.theorem, found.conditions[0].name, found.conditions[0].holds
        (Theorem(number='Corollary 5', page='docs/transformer-fibers.md', weaker_by=''), '(a)', True)
    """
    require_arguments(transformer_conditions, locals())
    require_integer(seed, "the seed")
    require_integer(tokens, "the number of tokens", 2)
    shape, budget = require_softmax(weights, tokens), Work(work, progress)
    if shape.heads == 1 and not shape.skip:
        return TransformerConditions(shape, ())
    tests = SoftmaxConditions(weights, tokens, budget, seed=seed, memory=memory, progress=progress)
    return TransformerConditions(shape, tests.all())
