"""What was done between two checkpoints, step by step, on the reader's matrices, for the blackboard.

A symmetry that was found is taken apart into parts that are symmetries themselves, one after the other; `apply` carries
out each, and what stood before and behind it is shown. Where the two differ, the mistakes are told that explain it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import Any, NamedTuple

import numpy as np

from lightning_sym.checkpoints.comparison import CheckpointAnswer, CheckpointComparison
from lightning_sym.checkpoints.model import Array, Block, Checkpoint, Ends
from lightning_sym.checkpoints.pieces import table
from lightning_sym.checkpoints.rewritings import apply
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry
from lightning_sym.errors import BadInput, ProgramError, TooLarge
from proofs_check.blackboard.step import Shown, ShownMatrix, Step

MOST_NUMBERS = 50_000_000
"""Of one layer and of what stands around the layers; they are rewritten once a step."""
CORNER, LONG = 3, 8
"""Rows and columns that are shown of a matrix; numbers of more characters are shown in a corner of two."""


class RewritingPart(NamedTuple):
    """Parts of a symmetry that go together: what a step is called, and what it says."""

    heading: str
    prose: str
    names: tuple[str, ...]


PARTS = (
    RewritingPart(
        "The configuration",
        "Heads of keys are written out, or copies of them are one; the head has a matrix of its own, or the embedding.",
        ("groups", "tied"),
    ),
    RewritingPart(
        "Gains move into the next matrices",
        "A norm multiplies each coordinate by its gain, and the next matrix reads the product: so the gain may stand "
        "in the columns of that matrix, $W \\operatorname{diag}(g)$, with another one left in the norm.",
        ("final_gain", "gain1", "bias1", "gain2", "bias2", "gain3", "gain4"),
    ),
    RewritingPart(
        "The stream is turned",
        "What is written to the stream is turned by $R$, what reads it by the inverse. A norm sees lengths alone, "
        "which $R$ leaves: $|R x| = |x|$.",
        ("scale", "order", "signs", "rotation"),
    ),
    RewritingPart(
        "The vector of ones",
        "LayerNorm takes the mean away, so whatever is added to all coordinates alike is not seen.",
        (
            "embedding_shift", "positions_shift", "moved", "unembedding_shift", "query_shift", "key_shift",
            "value_shift", "gate_shift", "up_shift", "output_shift", "output_bias_shift", "down_shift",
            "down_bias_shift",
        ),
    ),
    RewritingPart(
        "Heads change places",
        "The sum over heads has no order. Rows of queries, keys and values move, and columns behind them with them.",
        ("heads",),
    ),
    RewritingPart(
        "Values get another basis",
        "What a head reads and what it writes meet in a product, $O V = (O G^{-1}) (G V)$. A bias follows.",
        ("values", "value_bias"),
    ),
    RewritingPart(
        "Queries and keys get another basis",
        "Only their product is read, $q^\\top k = (A q)^\\top (A^{-\\top} k)$; with rotary positions $A$ must turn and "
        "scale the rows of each frequency together.",
        ("queries", "turns", "shared_turns", "key_bias", "gain_factors", "row_factors"),
    ),
    RewritingPart(
        "Latents are turned",
        "Keys, values and queries read latents behind a norm, which sees lengths alone: what makes them is turned, "
        "what reads them is turned back.",
        ("latents", "query_latents"),
    ),
    RewritingPart(
        "Neurons change places",
        "The sum over neurons has no order. Rows of gate and up move, and columns of down with them.",
        ("neurons", "idle_gate", "idle_gate_bias", "idle_up", "idle_up_bias", "idle_down"),
    ),
    RewritingPart(
        "One vector is added to all rows of the router",
        "Experts are chosen, and weighed by softmax, by the differences of their scores.",
        ("router_shift",),
    ),
    RewritingPart(
        "Up is scaled against down",
        "A neuron is linear in its row of up: what that is multiplied with, its column of down is divided by.",
        ("ups",),
    ),
    RewritingPart(
        "Signs and biases behind",
        "A sign in front of a norm may go into its gain; of two biases that are added to one stream the sum is seen.",
        ("behind1", "behind2", "attention_bias"),
    ),
)  # fmt: skip
"""In an order in which each step is a symmetry of what stands before it: gains before the turn."""


@dataclass(frozen=True, eq=False)
class ToldRewriting:
    """A comparison of two checkpoints, told.

    Attributes:
        found: the comparison.
        intro: what was asked and answered.
        steps: one after the other.
    """

    found: CheckpointComparison
    intro: str
    steps: tuple[Step, ...]


def told_rewriting(first: Checkpoint, second: Checkpoint, found: CheckpointComparison) -> ToldRewriting:
    """Return what was done between two checkpoints, step by step.

    Args:
        first, second: the checkpoints.
        found: what `same_checkpoints` says of them.

    Raises:
        TooLarge: a layer, with what stands around the layers, has too many numbers.
    """
    pieces = table(first.form)
    count = sum(prod(piece.shape) for piece in (*pieces.ends.values(), *pieces.layer.values()))
    if count > MOST_NUMBERS:
        raise TooLarge(f"a layer with its surroundings must have at most {MOST_NUMBERS:,} numbers, got {count:,}")
    if found.symmetry is not None and not found.reduced:
        exact = found.answer is CheckpointAnswer.SAME
        steps = tuple(_symmetry_steps(found.symmetry, first, second, exact=exact))
        said = "each is applied to what the one before it left" + (
            "" if exact else "; its numbers were fitted, and round"
        )
        intro = f"{first.name} becomes {second.name} in {_counted(len(steps) - 1)}; {said}."
        return ToldRewriting(found, intro, steps)
    intro = f"{first.name} and {second.name}: no symmetry that could be applied takes one to the other."
    return ToldRewriting(found, intro, tuple(_difference_steps(first, second, found)))


def _counted(steps: int) -> str:
    return "no step at all" if not steps else "one step" if steps == 1 else f"{steps} steps"


# ---- the same


def _symmetry_steps(symmetry: Symmetry, first: Checkpoint, second: Checkpoint, *, exact: bool) -> Iterator[Step]:
    """Yield a step for each part that moves anything; a part that is no symmetry by itself goes with the next one."""
    done, before = Symmetry(tuple(LayerSymmetry() for _ in symmetry.layers)), first
    headings, prose = list[str](), list[str]()
    for part in PARTS:
        taken = _with_parts(done, symmetry, part.names)
        if taken.parts() == done.parts() and (taken.groups, taken.tied) == (done.groups, done.tied):
            continue
        done = taken
        headings.append(part.heading)
        prose.append(part.prose)
        try:
            after: Checkpoint = apply(done, first, exact=exact)
            step = _step("; ".join(headings), " ".join(prose), before, after, exact=exact)
        except BadInput:
            continue
        before, headings, prose = after, [], []
        if step is not None:
            yield step
    yield _last(second, before, exact=exact)


def _with_parts(done: Symmetry, symmetry: Symmetry, names: tuple[str, ...]) -> Symmetry:
    """Return what is done, and some parts of the whole."""

    def taken(found: object, whole: object) -> dict[str, Any]:
        return {name: getattr(whole, name) for name in names if hasattr(whole, name)}

    layers = tuple(replace(one, **taken(one, all_)) for one, all_ in zip(done.layers, symmetry.layers, strict=True))
    return replace(done, layers=layers, **taken(done, symmetry))


def _step(heading: str, prose: str, before: Checkpoint, after: Checkpoint, *, exact: bool) -> Step | None:
    """Return a step with the first matrix that it moves, before and after; none where nothing moves."""
    moved = dict(_moved(before, after))
    if not moved:
        return None
    name, (old, new) = next(iter(sorted(moved.items(), key=lambda each: np.ndim(each[1][0]) < 2)))
    names = [before.called(each) for each in moved]
    shown = _corners({"before": old, "after": new}, exact=exact)
    said = f"{prose} Shown is a corner of {before.called(name)}{'' if exact else ', in hundredths'}."
    return Step(heading, said, shown, (("moves", ", ".join(names)), ("likewise", "in every layer where it is done")))


def _moved(before: Checkpoint, after: Checkpoint) -> Iterator[tuple[str, tuple[Array, Array]]]:
    """Yield what differs, as matrices: around the layers, and in the first layer in which anything does."""
    yield from _differing(before, after, None, before.ends(), after.ends())
    for layer in range(before.form.layers):
        found = list(_differing(before, after, layer, before.block(layer), after.block(layer)))
        if found:
            yield from found
            return


def _differing(
    before: Checkpoint, after: Checkpoint, layer: int | None, old: Ends | Block, new: Ends | Block
) -> Iterator[tuple[str, tuple[Array, Array]]]:
    arrays = dict(new.present())
    for name, array in old.present():
        other = arrays.get(name)
        if other is None or other.shape != array.shape or (array != other).any():
            full = name if layer is None else f"{layer}.{name}"
            there = array[:0] if other is None else table(after.form)[name].as_matrix(other)
            yield full, (table(before.form)[name].as_matrix(array), there)


def _last(second: Checkpoint, made: Checkpoint, *, exact: bool) -> Step:
    """Return the end: what the steps made is the second; where all is exact, every tensor is compared once more.

    Raises:
        ProgramError: it is not.
    """
    left = [second.called(name) for name, _ in _moved(made, second)] if exact else []
    if left:
        raise ProgramError(f"the steps must end at the second checkpoint, other is {left[0]}")
    said = "exactly: both give the same logits" if exact else "up to rounding of its tensors"
    return Step("And that is the second", f"What the steps have made is {second.name}, {said}.")


# ---- different


def _difference_steps(first: Checkpoint, second: Checkpoint, found: CheckpointComparison) -> Iterator[Step]:
    """Yield what was done rightly, what was not, and where the first wrong tensor stands."""
    if found.description is not None:
        yield Step(
            "What was done rightly", "As far as a symmetry goes, it is this one.", (), tuple(found.description.lines())
        )
    for each in found.explained:
        yield Step(f"The mistake: {each.mistake}", "Made on the first, with that symmetry, it gives the second.", (),
                   (("at", ", ".join(each.tensors) or "the configuration"), ("said", str(each))))  # fmt: skip
    not_so = "" if found.description is None else "; what that symmetry makes of the first is not the second"
    for residual in found.unexplained[:1]:
        arrays = {label: _matrix(one, residual.piece) for label, one in (("first", first), ("second", second))}
        shown = _corners({label: array for label, array in arrays.items() if array is not None}, exact=True)
        yield Step("The tensor that is off most", f"A corner of {residual.called}, in both files{not_so}.", shown,
                   (("off by", residual.said()),))  # fmt: skip
    if found.logits is not None and found.logits.apart is not None:
        apart = found.logits.apart
        said = f"that of token {apart.token} is {apart.first} and {apart.second}"
        yield Step("Logits are apart", f"Behind the token ids {' '.join(map(str, apart.prompt))} {said}.")


def _matrix(checkpoint: Checkpoint, piece: str) -> Array | None:
    """Return a piece as its matrix; none where it is not there."""
    layer, _, name = piece.rpartition(".")
    if layer and int(layer) >= checkpoint.form.layers:
        return None
    found = dict((checkpoint.block(int(layer)) if layer else checkpoint.ends()).present())
    return table(checkpoint.form)[name].as_matrix(found[name]) if name in found else None


# ---- corners


def _corners(matrices: Mapping[str, Array], *, exact: bool) -> tuple[Shown, ...]:
    """Return a corner of each matrix, all of one size: exact, or in hundredths."""
    found = {
        label: [
            [_number(x) if exact else Fraction(round(100 * float(x))) for x in row]
            for row in np.atleast_2d(matrix)[:CORNER, :CORNER]
        ]
        for label, matrix in matrices.items()
    }
    is_long = any(len(str(x)) > LONG for rows in found.values() for row in rows for x in row)
    size = CORNER - 1 if is_long else CORNER
    return tuple(
        Shown(rf"\text{{{label}}}", ShownMatrix(tuple(tuple(row[:size]) for row in rows[:size])))
        for label, rows in found.items()
    )


def _number(number: Fraction | np.floating) -> Fraction:
    """Return an entry, a fraction or a float of any width, as a fraction."""
    return number if isinstance(number, Fraction) else Fraction(float(number))
