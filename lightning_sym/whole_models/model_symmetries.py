"""Every symmetry of a model: its group row by row, and whether there are others, near these weights and anywhere."""

from __future__ import annotations

import os
from dataclasses import dataclass

from lightning_sym.arguments import require_arguments
from lightning_sym.ask import FellShort
from lightning_sym.checkpoints.canonical_checkpoint import CanonicalCheckpoint
from lightning_sym.checkpoints.fingerprint import form_line
from lightning_sym.checkpoints.folders import open_checkpoint
from lightning_sym.checkpoints.model import Checkpoint, CheckpointForm, require_checkpoint
from lightning_sym.checkpoints.understood import Walker, block_of
from lightning_sym.display import Lines, Result, labelled
from lightning_sym.errors import BadInput
from lightning_sym.limits import DEFAULT_MEMORY, DEFAULT_WORK, Progress, Work, require_memory
from lightning_sym.whole_models.condition import ModelCondition
from lightning_sym.whole_models.conditions import at_weights
from lightning_sym.whole_models.covered import PAGE, not_covered, theorem_of
from lightning_sym.whole_models.groups import ModelGroup, model_groups, parameters
from lightning_sym.whole_models.of_config import at_almost_all, near_almost_all
from lightning_sym.whole_models.special import SpecialWeights

INPUTS = (
    "prompts of any length whose tokens are any real combinations of token embeddings; of token ids alone there are no "
    "others near weights at which the Jacobian of their table has the rank that the group leaves, which is not asked "
    f"here; nothing more is proved ({PAGE}, section 6)"
)
"""What the theorem is about."""

NOT_NEAR = frozenset(("(C3)", "(C5), groups", "(P3)", "(P4), signs", "(P5), groups"))
"""Conditions that are not needed near the weights."""

NEAR = 1e-12
"""Lengths that differ by less of themselves may stand in any order: products of floats are rounded."""


@dataclass(frozen=True, eq=False, repr=False)
class ModelSymmetries(Result):
    """What may be done to a model without changing its function.

    Attributes:
        name: of the checkpoint.
        form: its network.
        parameters: how many numbers it has.
        groups: the group, row by row.
        special: what is special at these weights, with the symmetry that it brings.
        conditions: of the theorem, at these weights; none where it is not about such networks.
        not_covered: what the theorem needs of such networks and that is not so, if anything.
        almost_all: whether the group is known to be all at almost all weights of such networks.
    """

    name: str
    form: CheckpointForm
    parameters: int
    groups: tuple[ModelGroup, ...]
    special: tuple[SpecialWeights, ...]
    conditions: tuple[ModelCondition, ...]
    not_covered: str | None
    almost_all: bool = False

    @property
    def dimension(self) -> int:
        """Of the group."""
        return sum(row.dimension for row in self.groups)

    @property
    def complete_near(self) -> bool:
        """Whether near these weights there are no others: Corollary 5."""
        return self.not_covered is None and all(c.holds for c in self.conditions if c.name not in NOT_NEAR)

    @property
    def complete(self) -> bool:
        """Whether there are no others at all: Theorems 1 and 2, and Corollary 2."""
        known = self.complete_near and all(c.holds for c in self.conditions)
        return known and not self._only_near

    @property
    def _only_near(self) -> str:
        """What keeps proofs near the weights, if anything."""
        return "GELU, whose layers are not known to be in order" * (self.form.activation == "gelu")

    @property
    def functions(self) -> int | None:
        """The dimension of the set of functions near this one; `None` where it is not certified.

        The parameters less the dimension of the group at almost all weights near these, which is that of the group here
        unless something is special here.
        """
        usual = self.dimension - sum(row.only_here for row in self.groups)
        return self.parameters - usual if self.complete_near or self.almost_all else None

    @property
    def first_unknown(self) -> str | None:
        """What keeps the list from being complete, if anything."""
        failing = (str(c) for c in self.conditions if not c.holds)
        return self.not_covered or next(failing, None) or self._only_near or None

    @property
    def _theorem(self) -> str:
        """What says that there are no others at all."""
        theorem = theorem_of(self.form)
        if self.form.tied and not self.form.norms_behind:
            last = "Proposition 7" if self.form.norm == "layer" else "Corollary 2"
            return f"{theorem}, {last}" if self.form.head_norms else last
        return theorem

    @property
    def _near(self) -> str:
        """What says that there are none near the weights."""
        return "Proposition 11" if self.form.norms_behind else near_almost_all(self.form)

    @property
    def tried(self) -> tuple[FellShort, ...]:
        """Theorems that would say more, each with what is not known to hold."""
        near = next((str(c) for c in self.conditions if not c.holds and c.name not in NOT_NEAR), None)
        asked = ((self._theorem, self.first_unknown), (self._near, near))
        return tuple(FellShort(f"{theorem} of {PAGE}", why) for theorem, why in asked if why)

    @property
    def proof(self) -> str:
        """What is proved, with its place."""
        if self.complete:
            return f"complete: {PAGE}, {self._theorem}"
        if self.complete_near:
            return f"complete near these weights: {PAGE}, {self._near}; elsewhere there may be others"
        if self.almost_all:
            return f"complete at almost all weights: {PAGE}, {theorem_of(self.form)}; at these there may be others"
        return "a list of symmetries; that there are no others is not proved"

    def lines(self) -> Lines:
        """Return the group, what is special, the conditions and what follows."""
        lines = [("checkpoint", self.name), ("network", form_line(self.form)), ("parameters", f"{self.parameters:,}")]
        lines += [(row.space, f"{row.dimension:,}: {row.group}; {row.proof}") for row in self.groups]
        lines.append(("group", f"dimension {self.dimension:,}"))
        if self.functions is not None:
            here = sum(row.only_here for row in self.groups)
            more = f"; {here:,} dimensions of the group are there at these weights only" * (here > 0)
            lines.append(("functions", f"dimension {self.functions:,}, near this model{more}"))
        lines += [("special", str(one)) for one in self.special]
        lines += [("" if place else "conditions", str(c)) for place, c in enumerate(self.conditions)]
        return [*lines, ("inputs", INPUTS), *labelled("tried", map(str, self.tried)), ("proof", self.proof)]

    _in_words = "{0.parameters:,} parameters, a group of dimension {0.dimension:,}; {0.proof}"


def one_form(
    made: CanonicalCheckpoint, original: Checkpoint, *, memory: int = DEFAULT_MEMORY, progress: Progress | None = None
) -> tuple[bool, str]:
    """Return whether a canonical form is one for each function, up to rounding, by which proof, or what prevents it.

    Args:
        made: the form.
        original: the checkpoint that it was made of.
        memory: bytes that may be used for the conditions.
        progress: told of each layer.

    Example:
        >>> from lightning_sym.checkpoints.canonical_checkpoint import canonical_checkpoint
        >>> from lightning_sym.testing import small_checkpoint
        >>> one = small_checkpoint("llama", tied=False)
        >>> one_form(canonical_checkpoint(one), one)[0]
        True
    """
    short = "one form for the listed symmetries; not shown to be one for each function: "
    for there, why in (
        (made.exact, "only orders, signs, powers of two and gains are brought into one form"),
        (bool(made.left), "something was left as it was"),
        (made.closest < NEAR, "two lengths by which something was ordered are equal, or as near as roundings"),
        (bool(original.form.head_norms), "quarter turns of queries and keys are not brought into one form"),
    ):
        if there:
            return False, short + why
    try:
        found = symmetries_of(original, memory=memory, progress=progress)
    except BadInput as error:
        return False, short + str(error)
    if not found.complete:
        return False, f"{short}{found.first_unknown}"
    if any(row.space == "final bias" or (row.space, len(row.tensors)) == ("value biases", 1) for row in found.groups):
        return False, short + "biases of the final norm, or of values without one of outputs, stay as they are"
    if original.form.norm == "layer" and any(row.only_here for row in found.groups):
        return False, short + "turns of coordinates with equal final gains are not brought into one form"
    tested = ", ".join(condition.name for condition in found.conditions)
    return True, f"one form for each function, up to rounding; {found.proof}; tested: {tested}"


def symmetries_of(
    model: Checkpoint | str | os.PathLike[str],
    *,
    work: float = DEFAULT_WORK,
    memory: int = DEFAULT_MEMORY,
    progress: Progress | None = None,
) -> ModelSymmetries:
    """Return what may be done to a model without changing its function, and whether that is all.

    Args:
        model: a checkpoint, or where one lies.
        work: seconds of exact arithmetic, by a rough estimate; the condition (C3) costs the cube of the number of
            neurons, and is left unknown where it does not fit.
        memory: bytes that may be used.
        progress: told of each layer.

    Raises:
        BadInput: a part of the network is not known at all.
        TooLarge: a layer does not fit into memory.

    Example:
        >>> from lightning_sym.testing import small_checkpoint
        >>> found = symmetries_of(small_checkpoint("llama", tied=False))
        >>> found.parameters, found.dimension, found.functions, found.complete
        (5200, 328, 4872, True)
    """
    require_arguments(symmetries_of, locals())
    checkpoint = open_checkpoint(model, memory) if isinstance(model, (str, os.PathLike)) else model
    require_checkpoint(checkpoint)
    form = checkpoint.form
    block = block_of(checkpoint, 0, Walker.GROUPS)
    parts = [name for name, _ in block.present()]
    why, count = not_covered(form, parts), parameters(form, parts)
    largest = max(sum(array.size for _, array in block.present()), form.vocabulary * form.width)
    require_memory(32 * largest, memory, "the largest layer, or the embedding, modulo a prime")
    groups = model_groups(checkpoint)
    if why is not None:
        return ModelSymmetries(checkpoint.name, form, count, groups, (), (), why)
    found = at_weights(checkpoint, Work(work, progress), memory, progress)
    generic = bool(form.norms_behind) and at_almost_all(form, parts) is None
    return ModelSymmetries(checkpoint.name, form, count, groups, found.special, found.conditions, None, generic)
