"""Which conditions of the theorems on softmax networks given weights fulfil, each with its evidence.

Conditions are tested modulo a prime (Proposition 13 of docs/transformer-fibers.md), which can only show that they hold;
where that shows nothing they are decided over the rationals if the network is small, else refuted there if a simple
reason is found, such as equal heads; otherwise they are unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import groupby

from lightning_sym.arguments import require_arguments
from lightning_sym.display import Lines, Result, latex_lines, latex_words
from lightning_sym.errors import BadInput, no_truth_value
from lightning_sym.fibers.condition_tests import MORE, ConditionTests, Shown, points_needed
from lightning_sym.fibers.cost import entry_bits
from lightning_sym.fibers.exact_conditions import ExactConditions, is_small
from lightning_sym.fibers.exact_relations import LARGEST, Relations, narrow
from lightning_sym.fibers.transformer_cost import conditions_cost, three_tokens_cost
from lightning_sym.limits import DEFAULT_MEMORY, DEFAULT_WORK, Progress, Work, require_integer, require_memory
from lightning_sym.network.architecture import Architecture, network_line
from lightning_sym.network.pieces import SHAPED
from lightning_sym.network.weights import Weights
from lightning_sym.rings.normalization import SOFTMAX

LONGEST_BITS = 2048
"""Of the numbers up to which conditions are decided over the rationals."""

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
    """What decides networks with one softmax head a layer and no skip connection; of one token it is `ALONE`."""
    return Theorem("Theorem 4" if causal else "Theorem 1", ONE_HEAD_PAGE) if tokens > 1 else None


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

    def __str__(self) -> str:
        return f"{self.name}, {'space' if '=' in self.name else 'layer'} {self.layer}"


@no_truth_value("found.theorem is not None")
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

    def hold(self, *names: str) -> bool:
        """Whether all conditions with these names hold, one of them at least having been tested."""
        mine = [c.holds for c in self.conditions if c.name in names]
        return bool(mine) and all(holds is True for holds in mine)

    @property
    def words_determined(self) -> bool:
        """Theorem 4: the function determines all words, and the scores of two tokens, up to the order of heads."""
        return all(c.holds is True for c in self.conditions if c.name in _WORDS) and bool(self.conditions)

    @property
    def weaker_by(self) -> str:
        """What allows (a*), (a'*) where (a), (a') are not known to hold in full."""
        return "Proposition 15" if any(c.name in _STARRED for c in self.conditions) else ""

    @cached_property
    def theorem(self) -> Theorem | None:
        """The strongest theorem that says what all weights with the same function are."""
        shape = self.architecture
        if shape.heads == 1 and not shape.skip:
            return one_head_theorem(shape.causal, shape.tokens)
        if self.words_determined and all(c.holds is True for c in self.conditions if c.name in _SPANS):
            return Theorem("Corollary 5", HEADS_PAGE, self.weaker_by)
        if shape.depth == 1:
            return Theorem("Theorem 8", HEADS_PAGE)
        if self.words_determined and shape.tokens == 2:
            return Theorem("Theorem 7", HEADS_PAGE)
        if self.words_determined and self.hold("(e)") and (not shape.causal or self.hold("(f)", "(b), unmasked")):
            return Theorem("Theorem 11", HEADS_PAGE, self.weaker_by)
        return None


_STARRED = ("(a*)", "(a'*)")
_WORDS = ("(a)", "(a')", "(b)", "(c)", *_STARRED)
_SPANS = ("rank E = d", "rank U = d", "F = R^d", "rank Uh = d", "rank S = d")


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
    return tested_conditions(
        weights, tokens, seed=seed, memory=memory, progress=progress, idle_heads=True, budget=budget
    )[0]


def tested_conditions(
    weights: Weights,
    tokens: int,
    *,
    seed: int,
    memory: int,
    progress: Progress | None,
    idle_heads: bool,
    budget: Work,
) -> tuple[TransformerConditions, ConditionTests]:
    """The same for a network with several heads or skip connections, and the residues that were made.

    Without `idle_heads` those whose values are 0 are left out: the conditions are of a network without them.
    """
    shape = require_softmax(weights, tokens)
    points = max(*shape.widths, points_needed(shape)) + MORE
    beside = 8 * points * (sum(shape.widths) + shape.input_width + shape.output_width)
    require_memory(8 * (3 * shape.parameter_count + beside), memory, "residues of the weights")
    budget.spend(conditions_cost(shape), "the conditions")
    if progress is not None:
        progress("residues", 0, 1)
    tests = ConditionTests(weights, tokens, seed, idle_heads=idle_heads)

    @cache
    def exact() -> ExactConditions | Relations | None:
        if max(shape.widths) > LARGEST or max(entry_bits(weights).values()) > LONGEST_BITS:
            return None
        if is_small(shape):
            return ExactConditions(weights, tokens, idle_heads=idle_heads)
        return Relations(weights, tests)

    found: list[Condition] = []

    def add(name: str, layer: int, shown: Shown, decide: Callable[[ExactConditions | Relations], Shown | None]) -> None:
        holds: bool | None = True
        if not shown.holds:
            decided = None if (over_q := exact()) is None else decide(over_q)
            holds = None if decided is None else decided.holds
            shown = decided or shown._replace(evidence=f"not shown: {shown.evidence}")
        found.append(Condition(name.replace(")", "*)") if shown.starred else name, layer, holds, shown.evidence))

    depth, layers = shape.depth, range(1, shape.depth + 1)

    def each(name: str, chosen: Iterable[int], test: Callable[[int], Shown], exactly: str, **options: bool) -> None:
        for i in chosen:
            if progress is not None:
                progress(f"condition {name}", i, depth)
            add(name, i, test(i), lambda net, i=i: getattr(net, exactly)(i, **options))  # type: ignore[misc]

    each("(a)", layers, tests.a, "a")
    if not shape.causal:
        each("(a')", range(1, depth), tests.a_prime, "a_prime")
    each("(b)", layers, lambda i: tests.b(i, causal=shape.causal), "b", causal=shape.causal)
    if tokens == 2:
        each("(c)", layers, tests.c, "c")
    for letter, i, shown in tests.spans():
        name = {("F", 0): "rank E = d", ("U", depth): "rank U = d"}.get(
            (letter, i), {"F": "F = R^d", "U": "rank Uh = d", "S": "rank S = d"}[letter]
        )
        if (short := narrow(shape, letter, i)) is not None:
            found.append(Condition(name, i, False, short.evidence))
            continue
        add(name, i, shown, lambda net, letter=letter, i=i: net.span(letter, i))  # type: ignore[misc]
    if tokens > 2 and depth > 1 and not all(c.holds for c in found if c.name in _SPANS):
        seconds = three_tokens_cost(shape)
        if not budget.allows(seconds):
            found += [Condition("(e)", i, None, "not tested: more work than allowed") for i in layers]
            return TransformerConditions(shape, tuple(found)), tests
        budget.spend(seconds, "the conditions for three tokens")
        for i in layers:
            if progress is not None:
                progress("condition (e)", i, depth)
            add("(e)", i, tests.e(i), lambda _: None)
        if shape.causal:
            each("(b), unmasked", layers, lambda i: tests.b(i, causal=False), "b", causal=False)
            each("(f)", layers, tests.f, "f")
    return TransformerConditions(shape, tuple(found)), tests


def require_softmax(weights: Weights, tokens: int) -> Architecture:
    """The network, refused unless it is a softmax network of numbers.

    Raises:
        BadInput: it is another one.
    """
    weights.require_numbers("the conditions of softmax networks")
    shape = weights.architecture(tokens)
    shape.require("the fiber of a softmax network", SHAPED)
    if shape.normalization != SOFTMAX:
        raise BadInput(f"the network must be normalized by softmax, got {shape}")
    return shape
