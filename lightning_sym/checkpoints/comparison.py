"""What is said of two checkpoints: the answer, the symmetry, what differs and where, and what the logits do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from lightning_sym.checkpoints.edited import Reduction
from lightning_sym.checkpoints.explanation import Explained
from lightning_sym.checkpoints.logits import LogitComparison, scientific
from lightning_sym.checkpoints.symmetry import Symmetry
from lightning_sym.checkpoints.units import DIGITS, Residual
from lightning_sym.display import Lines, Result, labelled
from lightning_sym.errors import no_truth_value

SHOWN = 8
"""Tensors that differ of which the text tells; JSON has them all."""

KNOWN = "known symmetries; that there are no others is a theorem for attention without norms and MLPs alone"
"""Whether the list of symmetries is complete, for a network of a family that is read here."""


@no_truth_value("answer is CheckpointAnswer.SAME")
class CheckpointAnswer(Enum):
    """Whether one checkpoint is a rewriting of another one."""

    SAME = "same"
    ROUNDING = "rounding"
    DIFFERENT = "different"
    UNDECIDED = "undecided"


SAYS = {
    CheckpointAnswer.SAME: "same  every tensor is what the symmetry makes of the first's, exactly",
    CheckpointAnswer.ROUNDING: "rounding  every tensor is what the symmetry makes of the first's, up to rounding",
    CheckpointAnswer.DIFFERENT: "different  logits are proved apart",
    CheckpointAnswer.UNDECIDED: "undecided  no symmetry was found that makes the second, and no logits proved apart",
}


CHECKED = {
    "exactly": "made on the first, with a symmetry, it gives the second exactly",
    "rounding": "made on the first, with a symmetry, it gives the second up to rounding",
}
"""How a mistake was seen to be the difference."""


OTHER_IDS = "different  they have other numbers of token ids"
"""What is said where no logits need to be compared."""


BY_THEOREM = "different  no symmetry leads from one to the other, and there are no other ones"
"""What is said where the theorem about whole models decides."""


FITTED = "fitted, in floating point"
NEAREST = "each code is the nearest for its block"


@dataclass(frozen=True)
class ApartByTheorem:
    """Why two models are different functions where no logits show it: the theorem about whole models.

    Attributes:
        layer: where they differ, from 0; `None` before and behind the layers.
        what: the invariant of the second that the first has not.
        inputs: on which inputs the functions differ.
        proof: where it is proved, and how it was computed.
    """

    layer: int | None
    what: str
    inputs: str
    proof: str

    def __str__(self) -> str:
        where = "" if self.layer is None else f"layer {self.layer}, "
        return f"{where}{self.what}; on {self.inputs}: {self.proof}"


@dataclass(frozen=True)
class FoundSymmetry:
    """What was done to the first checkpoint, as it was found.

    Attributes:
        exact: all its numbers are exact; else they are fitted floats.
        stream: what was done to the residual stream, in words.
        layers: what was done in each layer, in words.
    """

    exact: bool
    stream: str
    layers: tuple[tuple[str, ...], ...]

    def lines(self) -> Lines:
        """Return the lines of the answer, layers in which the same was done together."""
        found: dict[tuple[str, ...], list[int]] = {}
        for number, done in enumerate(self.layers):
            found.setdefault(done, []).append(number)
        lines = [("stream", self.stream)]
        for done, numbers in found.items():
            lines.append((f"layer {_ranges(numbers)}", "; ".join(done) or "nothing"))
        return lines


def _ranges(numbers: list[int]) -> str:
    """Return numbers, given in order, as text with neighbours together.

    Example:
        >>> _ranges([0, 1, 2, 5])
        '0-2,5'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def _said_of_logits(found: LogitComparison) -> Lines:
    """Return the bound, and the logits that are proved apart."""
    read = "; ".join(" ".join(map(str, prompt)) for prompt in found.prompts)
    lines = [("logits", f"of the token ids {read} differ by at most {scientific(found.bound)}")]
    if (apart := found.apart) is not None:
        after = " ".join(map(str, apart.prompt))
        lines.append(("apart", f"that of {apart.token} after {after}: {apart.first} and {apart.second}"))
    return lines


@no_truth_value("comparison.answer is CheckpointAnswer.SAME")
@dataclass(frozen=True, eq=False, repr=False)
class CheckpointComparison(Result):
    """Whether one checkpoint is a rewriting of another one, and what shows it.

    Attributes:
        first, second: names of the checkpoints.
        answer: same, up to rounding, different or undecided.
        description: what was done in words, as far as it was found; `None` if their forms allow no comparison.
        residuals: tensors of the second that are not exactly what the symmetry makes of the first's, those that are off
            most first. Where the answer is `DIFFERENT` or `UNDECIDED`, those beyond `limit` units are the ones that no
            known symmetry explains, or, where these are fewer, those that the mistakes in `explained` changed, against
            what they were before.
        limit: units in the last place up to which a difference counts as rounding.
        logits: a bound for the change of logits (`ROUNDING`), or the logits that are apart (`DIFFERENT`).
        tried: what was not compared, or did not succeed, and why.
        symmetry: what was done, where the answer is `SAME` or `ROUNDING`. Where it is `SAME`, it is there, and `apply`
            makes exactly the second checkpoint of the first with it. Where it is `ROUNDING`, it is the symmetry that
            was fitted, and `apply` with `exact=False` makes a checkpoint that is off the second by about what
            `residuals` say; `None` where there are no such numbers, which `tried` says. No part of the one line, nor of
            whether two answers are equal.
        explained: where the answer is `DIFFERENT` or `UNDECIDED`, the known mistakes of conversion tools that, with a
            symmetry, make the second of the first: all that are needed, or none where that is not known.
        reduced: what was left out of either side before they were compared, as it is there twice or does nothing; then
            `symmetry` leads from what is left of the first to what is left of the second, as
            `lightning_sym.checkpoints.reduced.reduced` makes them.
        theorem: where the answer is `DIFFERENT`, what shows it by the theorem about whole models, if it was asked: the
            functions differ on real combinations of token embeddings, which says nothing of token ids alone.
    """

    first: str
    second: str
    answer: CheckpointAnswer
    description: FoundSymmetry | None
    residuals: tuple[Residual, ...]
    limit: float
    logits: LogitComparison | None = None
    tried: tuple[str, ...] = ()
    symmetry: Symmetry | None = field(default=None, repr=False, compare=False)
    explained: tuple[Explained, ...] = ()
    reduced: tuple[Reduction, ...] = field(default=(), repr=False)
    theorem: ApartByTheorem | None = field(default=None, repr=False)

    @property
    def units(self) -> float:
        """The largest difference of any tensor, in units in the last place."""
        return max((each.units for each in self.residuals), default=0.0)

    @property
    def unexplained(self) -> tuple[Residual, ...]:
        """The tensors that are off by more than rounding."""
        return tuple(each for each in self.residuals if each.units > self.limit)

    @property
    def quantised(self) -> tuple[str, ...]:
        """The types with blocks in which one side is a quantisation of the other, tensor by tensor."""
        return tuple(sorted({each.stored for each in self.residuals} - DIGITS.keys()))

    _sentences = (
        ("first", "{0.first}"),
        ("second", "{0.second}"),
        ("answer", lambda found: found._says()),
        ("explained", lambda found: found._mistakes()),
        ("checked", lambda found: found.explained and CHECKED[str(found.explained[0].detail["checked"])]),
        ("reduced", lambda found: map(str, found.reduced)),
        ("", lambda found: None if found.description is None else found.description.lines()),
        ("numbers", lambda found: FITTED if found.description is not None and not found.description.exact else None),
        ("quantised", lambda found: found.quantised and f"{', '.join(found.quantised)}: {NEAREST}"),
        ("", lambda found: found._off()),
        ("theorem", lambda found: None if found.theorem is None or found._is_apart else str(found.theorem)),
        ("", lambda found: None if found.logits is None else _said_of_logits(found.logits)),
        ("tried", lambda found: found.tried),
        ("list", lambda found: KNOWN),
    )
    _in_words = "{0.answer.value}, off by {0.units:.3g} units in the last place"

    def _off(self) -> Lines:
        """Return how far tensors are off, and those that are off most."""
        rounding = self.answer is CheckpointAnswer.ROUNDING
        off = self.residuals if rounding else self.unexplained
        if not off:
            return []
        rest = len(off) - SHOWN
        return [
            ("off by", f"{self.units:.3g} units in the last place at most, rounding is up to {self.limit:g}"),
            *labelled("differs" if rounding else "unexplained", (each.said() for each in off[:SHOWN])),
            *([("", f"and {rest} {'tensor' if rest == 1 else 'tensors'} more")] if rest > 0 else []),
        ]

    @property
    def _is_apart(self) -> bool:
        """Whether logits are proved apart."""
        return self.logits is not None and self.logits.apart is not None

    def _says(self) -> str:
        """Return the answer in a sentence."""
        shown = self.answer is not CheckpointAnswer.DIFFERENT or self._is_apart
        said = SAYS[self.answer] if shown else OTHER_IDS if self.theorem is None else BY_THEOREM
        return said.replace("every tensor", "every tensor that is left") if self.reduced else said

    def _mistakes(self) -> Iterator[str]:
        """Yield the known mistakes, with layers where they are in some of them."""
        layers = 0 if self.description is None else len(self.description.layers)
        for each in self.explained:
            some = 1 < len(each.layers) < layers
            yield f"{each}, in layers {_ranges(list(each.layers))}" if some else str(each)
