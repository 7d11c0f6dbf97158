"""Which conditions of the theorems on softmax networks given weights fulfil, with evidence, and what follows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import NoReturn

from lightning_sym.arguments import require_arguments
from lightning_sym.display import Lines, Result, latex_lines, latex_words
from lightning_sym.errors import no_truth_value
from lightning_sym.fibers.hypotheses import WORDS, Hypothesis, Theorem, one_head_theorem, places, strongest_theorem
from lightning_sym.fibers.tested_hypotheses import Condition, SoftmaxConditions, require_softmax, weaker_by
from lightning_sym.limits import DEFAULT_MEMORY, DEFAULT_WORK, Progress, Work, require_integer
from lightning_sym.network.architecture import Architecture, network_line
from lightning_sym.network.weights import Weights


@dataclass(frozen=True, eq=False, repr=False)
class TransformerConditions(Result):
    """The conditions that were tested, and what follows.

    Attributes:
        architecture: the network.
        conditions: in the order of the page; those of Theorem 11 only where the ranks of Corollary 5 fall short.
    """

    architecture: Architecture
    conditions: tuple[Condition, ...]

    def lines(self) -> Lines:
        """Network, conditions, and the theorem that they make true of these weights."""
        theorem = "none: not certified by these theorems" if self.theorem is None else str(self.theorem)
        return [("network", network_line(self.architecture)), *condition_lines(self.conditions), ("theorem", theorem)]

    def _latex(self) -> str:
        return latex_lines(latex_words(f"{label} {said}".strip()) for label, said in self.lines())

    def __bool__(self) -> NoReturn:
        no_truth_value(self, "found.theorem is not None")

    def hold(self, *names: str) -> bool:
        """Whether all conditions with these names hold, one of them at least having been tested."""
        mine = [c.holds for c in self.conditions if c.name in names]
        return bool(mine) and all(holds is True for holds in mine)

    def failing(self, needs: Sequence[Hypothesis]) -> str | None:
        """The first of these hypotheses that is not known to hold; one that was not tested is not."""
        known = {(c.name.replace("*", ""), c.layer): c for c in self.conditions}
        asked = ((h.name, known.get((h.name, i))) for h, i in places(needs, self.architecture))
        fell = (f"{name} was not tested" if c is None else c.failing for name, c in asked)
        return next((why for why in fell if why is not None), None)

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
    """A line for each kind of condition and evidence, with the layers that have it."""
    lines: Lines = []
    for (name, holds, evidence), group in groupby(conditions, key=lambda c: (c.name, c.holds, c.evidence)):
        places = [c.layer for c in group]
        what = "space" if "=" in name else "layer"
        range_ = f"{what} {places[0]}" if len(places) == 1 else f"{what}s {places[0]}-{places[-1]}"
        said = {True: "holds", False: "does not hold", None: "unknown"}[holds]
        lines.append(("" if lines else "conditions", f"{name} {said}, {range_}: {evidence}"))
    return lines


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
