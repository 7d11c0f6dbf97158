"""Models that are proved to be different functions: Corollary 3 of docs/whole-models.md, modulo a prime.

Where the conditions hold on one side, another model of these sizes has the same function only if it is equivalent: by
one rotation R of the stream, which both unembeddings determine. So what equivalent models share is compared: products
of vectors, embeddings, and in each layer gates with what is multiplied by them, forms and products of heads. All of it
is rational without the prime in a denominator, so that what differs modulo the prime differs; nothing is called the
same here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from lightning_sym.ask import Need, TestedNeed, TheoremRow, any_question, ask, paid_by_steps
from lightning_sym.checkpoints.comparison import ApartByTheorem, CheckpointAnswer, CheckpointComparison
from lightning_sym.checkpoints.model import Checkpoint, CheckpointForm, Ends
from lightning_sym.checkpoints.same_checkpoints import numbers_of
from lightning_sym.checkpoints.transformer import unembedding
from lightning_sym.checkpoints.understood import Walker, block_of, ends_of, knows_all
from lightning_sym.exact.modular import pivots_mod_p, row_basis_mod_p
from lightning_sym.limits import DEFAULT_MEMORY, DEFAULT_WORK, Progress, Work, unheard
from lightning_sym.rings.arrays import rational_root
from lightning_sym.rings.prime_field import random_residues, reduce_mod
from lightning_sym.whole_models.components import Components, Read, components
from lightning_sym.whole_models.conditions import at_weights, ends_condition
from lightning_sym.whole_models.covered import BEHIND, PAGE, PROVED, not_covered, seen_width, theorem_of
from lightning_sym.whole_models.images import Integers, P, Residues, integers, of, product, shown_vectors, times

SEED, VECTORS = 20261126, 3
ALWAYS = 2**22
"""Numbers of a model up to which the theorem is asked where logits are proved apart already."""
INPUTS = "prompts whose tokens are real combinations of token embeddings"

BY_ENDS = frozenset(("(C1)", "(C2)", "(C4)", "(C5), ranks"))
"""Conditions under which both models have the same ends, neurons up to the signs of gates, and heads: Steps 1 to 4."""
BY_LAYERS = BY_ENDS | {"(C3)", "(C5), groups"}


def apart_by_theorem(
    first: Checkpoint,
    second: Checkpoint,
    *,
    work: float = DEFAULT_WORK,
    memory: int = DEFAULT_MEMORY,
    progress: Progress | None = None,
) -> ApartByTheorem | None:
    """Return why two models are different functions, by the theorem; `None` where it does not show it.

    Args:
        first, second: checkpoints; of one form, whether tied or not.
        work: seconds of exact arithmetic for the conditions, as in `symmetries_of`; without (C3) layers are compared
            together, and gates up to their signs.
        memory: bytes that may be used.
        progress: told of each layer.

    Example:
        >>> from lightning_sym.testing import small_checkpoint
        >>> one, two = (small_checkpoint("llama", seed=seed, tied=False) for seed in (1, 2))
        >>> apart_by_theorem(one, two).what
        'what the unembedding makes of the stream'
        >>> apart_by_theorem(one, one)
    """
    return ask(ModelPair(first, second, work, memory, progress), APART, Work())[0]


def told_by_theorem(
    found: CheckpointComparison,
    first: Checkpoint,
    second: Checkpoint,
    *,
    work: float = DEFAULT_WORK,
    progress: Progress | None = None,
) -> CheckpointComparison:
    """Return a comparison in which *undecided* becomes *different* if the theorem shows it.

    Of models of a few million numbers it is told beside logits that are apart. It is about prompts of real combinations
    of token embeddings; who asks about some token ids asks nothing here.

    Args:
        found: what `same_checkpoints` says of the two.
        first, second: they themselves.
        work, progress: as of `apart_by_theorem`.

    Example:
        >>> from lightning_sym import same_checkpoints
        >>> from lightning_sym.testing import small_checkpoint
        >>> one, two = (small_checkpoint("llama", seed=seed) for seed in (1, 2))
        >>> told_by_theorem(same_checkpoints(one, two, work=0.001), one, two).theorem.what
        'what the unembedding makes of the stream'
    """
    large = numbers_of(first.form) > ALWAYS
    if found.answer not in {CheckpointAnswer.UNDECIDED, *(() if large else (CheckpointAnswer.DIFFERENT,))}:
        return found
    theorem, tried = ask(ModelPair(first, second, work, DEFAULT_MEMORY, progress), APART, Work())
    if theorem is None:
        return replace(found, tried=(*found.tried, *map(str, tried)))
    return replace(found, answer=CheckpointAnswer.DIFFERENT, theorem=theorem)


STEP_1 = "Step 1 of Theorem 1"
BOUNDED = PROVED | BEHIND | {"rotary_width", "parallel", "bare"}
"""Parts with which halves are continuous and bounded; without norms in front of them there are some behind."""


Shown = tuple[str, frozenset[str], str]
"""What is proved of all models with the function of one, if anything; the conditions that hold; and what does not."""


def _proved_of_one(one: Checkpoint, work: Work, memory: int, progress: Progress | None) -> Shown:
    """Return what is proved of all models with the function of this one.

    That both ends agree needs halves that are bounded and continuous, whatever they are, and (C1).
    """
    form, held = one.form, frozenset[str]()
    why = not_covered(form, [name for name, _ in block_of(one, 0, Walker.GROUPS).present()])
    if covered := why is None:
        conditions = at_weights(one, work, memory, progress).conditions
        held = frozenset(c.name for c in conditions if c.holds)
        if form.norms_behind and len(held) == len(conditions):
            return theorem_of(form), BY_LAYERS, ""
        why = next((str(c) for c in conditions if not c.holds and (form.norms_behind or c.name in BY_ENDS)), None)
    if form.norms_behind or not covered:
        bounded = form.epsilon > 0 and BOUNDED.issuperset(name for name, _ in form.features())
        there = bounded and ends_condition(ends_of(one, Walker.GROUPS), form).holds
        return STEP_1 if there else "", frozenset(), why or ""
    if form.activation == "gelu":  # the order of layers is not known then
        held -= {"(C3)"}
    theorem = theorem_of(form)
    steps = f"{theorem} and Corollary 3" if form.head_norms else "Corollary 3"
    return (steps if held >= BY_LAYERS else f"Steps 1 to 4 of {theorem}") * (held >= BY_ENDS), held, why or ""


@dataclass(frozen=True, eq=False)
class ModelPair:
    """Two models, one of which is to determine what the other one is, and what may be spent on that."""

    first: Checkpoint
    second: Checkpoint
    seconds: float
    memory: int
    progress: Progress | None

    @property
    def of_one_form(self) -> bool:
        """Whether they are of one form, whose parts are known; tied or not, for texts of any length."""
        forms = self.first.form, self.second.form
        one, other = (replace(form, family="", tied=False, context=3, epsilon=Fraction(1)) for form in forms)
        return one == other and all(knows_all(form, Walker.GROUPS) for form in forms)

    @cached_property
    def shown(self) -> tuple[Checkpoint, Checkpoint, Shown]:
        """The model of which something is proved, the other one, and that; of none of them, what the first lacks."""
        found = (
            (one, other, _proved_of_one(one, Work(self.seconds, self.progress), self.memory, self.progress))
            for one, other in ((self.first, self.second), (self.second, self.first))
        )
        first = next(found)
        return first if first[2][0] else next((each for each in found if each[2][0]), first)

    def apart(self) -> ApartByTheorem | None:
        """Return what differs of what one of them determines."""
        one, other, (steps, held, _) = self.shown
        tell, strict = self.progress or unheard, held >= BY_LAYERS
        found = next(_differences(one, other, tell, only_ends=steps == STEP_1, strict=strict), None)
        return found and ApartByTheorem(*found, INPUTS, f"{PAGE}, {steps}, modulo {P}")


APART: tuple[TheoremRow[ModelPair, ApartByTheorem], ...] = (
    TheoremRow(
        f"Corollary 3 of {PAGE}", any_question, paid_by_steps, ModelPair.apart,
        "what models of one function have in common is the same in both, as far as it is proved",
        needs=(
            Need("two models of one form, all of whose parts are known", lambda pair: pair.of_one_form),
            TestedNeed(
                "one that determines others",
                lambda pair: None if pair.shown[2][0] else f"of the first model, {pair.shown[2][2]}",
            ),
        ),
    ),
)  # fmt: skip
"""What proves that two models are different functions."""


Unlike = tuple[int | None, str]
"""A layer, or none for the ends, and what differs there."""


def _differences(
    one: Checkpoint, other: Checkpoint, tell: Progress, *, only_ends: bool, strict: bool
) -> Iterator[Unlike]:
    """Yield what differs between a model with the conditions and another one: the ends, then layer by layer."""
    form, ends = one.form, [ends_of(each, Walker.GROUPS) for each in (one, other)]
    source = np.random.default_rng(SEED)
    theirs = shown_vectors(source, form, VECTORS)
    ours = _turned_back(ends, form, theirs)
    if ours is None:
        yield (None, "what the unembedding makes of the stream")
        return
    scale = rational_root(other.form.epsilon / form.epsilon)
    if scale is None:
        return
    both = ours, theirs
    inverse = float(scale.denominator * pow(scale.numerator, -1, P) % P)
    once = reduce_mod(theirs * inverse, P)
    against, twice = (ours, once), (ours, reduce_mod(once * inverse, P))
    if (integers(product(ours.T, ours)) != integers(product(theirs.T, theirs))).any():
        yield (None, "scalar products in the stream")
    entered = [_entered(each, vectors, strict=strict) for each, vectors in zip(ends, against, strict=True)]
    for name, shown, other_shown in list(zip(("embedding", "positions"), *entered, strict=True))[: 2 - only_ends]:
        count = min(len(shown), len(other_shown))
        if (apart := (shown[:count] != other_shown[:count]).any(axis=1)).any():
            yield (None, f"{name} {int(np.argmax(apart))}")
    constants = [_constant_logits(each) for each in ends]
    if (constants[0] != constants[1]).any():
        yield (None, "what the final norm's bias adds to logits")
    if only_ends:
        return
    beside = random_residues(source, (1, VECTORS), P).entries
    reads = [Read(vectors, beside, *divided) for vectors, *divided in zip(both, against, twice, strict=True)]
    pooled: Counter[bytes] = Counter()
    later: list[tuple[int, str, int, bytes]] = []
    for layer in range(form.layers):
        tell("components", layer, form.layers)
        found = [_layer(each, layer, read) for each, read in zip((one, other), reads, strict=True)]
        own = Counter(key for _, _, key in found[0].keys(signs=strict))
        if not strict:
            pooled += own
            later += [(layer, *each) for each in found[1].keys(signs=False)]
            continue
        for kind, number, key in found[1].keys(signs=True):
            if not own[key]:
                yield (layer, f"{kind} {number}")
            own[key] -= 1
        if (found[0].constants != found[1].constants).any():
            yield (layer, "what is added to everything")
    for layer, kind, number, key in later:
        if not pooled[key]:
            yield (layer, f"{kind} {number}, which no layer of the other has")
        pooled[key] -= 1


def _layer(checkpoint: Checkpoint, layer: int, read: Read) -> Components:
    form = checkpoint.form
    block = block_of(checkpoint, layer, Walker.GROUPS)
    return components(block, form, read, rotary=form.rotation_of(layer) is not None)


def _entered(ends: Ends, vectors: Residues, *, strict: bool) -> tuple[Integers, Integers]:
    """Return embeddings and positions against vectors; with positions, embeddings less the first, which these have.

    What is added to all embeddings and taken from all positions is not seen where shares of tokens add up to 1. That
    nothing else is added to all positions is Step 7, which needs all conditions; else they are told less the first.
    """
    embedding = integers(product(of(ends.embedding), vectors))
    if ends.positions is None:
        return embedding, embedding[:0]
    positions = integers(product(of(ends.positions), vectors))
    return (embedding - embedding[:1]) % P, (positions + (embedding[:1] if strict else -positions[:1])) % P


def _readers(ends: Ends, form: CheckpointForm) -> Residues:
    """Return the unembedding with the gains of the final norm, in coordinates of what norms show."""
    folded = times(of(unembedding(ends)), of(ends.final_gain))
    return folded if form.norm == "rms" else reduce_mod(folded[:, :-1] - folded[:, -1:], P)


def _turned_back(ends: list[Ends], form: CheckpointForm, theirs: Residues) -> Residues | None:
    """Return what the first unembedding takes where the second takes vectors; `None` where there is nothing."""
    first, second = (_readers(each, form) for each in ends)
    shown = theirs if form.norm == "rms" else theirs[:-1]
    right = product(second, shown)
    count = seen_width(form)
    rows = pivots_mod_p(integers(first[: 2 * count]), P)[0]
    if len(rows) < count:
        rows = pivots_mod_p(integers(first), P)[0]
    solved = row_basis_mod_p(np.concatenate([integers(first[rows]), integers(right[rows])], axis=1), P)
    found = reduce_mod(solved[:, count:].astype(np.float64), P)
    if (integers(product(first, found)) != integers(right)).any():
        return None
    if form.norm == "rms":
        return found
    return np.concatenate([found, reduce_mod(-found.sum(axis=0, keepdims=True), P)])


def _constant_logits(ends: Ends) -> Integers:
    """Return what the bias of the final norm adds to logits."""
    last = of(unembedding(ends))
    bias = np.zeros(last.shape[1]) if ends.final_bias is None else of(ends.final_bias)
    return integers(product(last, bias[:, None])[:, 0])
