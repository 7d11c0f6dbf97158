"""Why two checkpoints differ: the fewest known mistakes that, with a symmetry, make the second of the first.

Nothing that is said here is guessed: each mistake was made on the first (or undone on the second), and what came out
was compared as two checkpoints are, number by number or under the symmetry that was found. What was not tried is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from lightning_sym.checkpoints.explained_places import FIT, Explanation, NoWork, Places
from lightning_sym.checkpoints.explaining import MOST
from lightning_sym.checkpoints.explanation import Checked, Explained, tensors_called
from lightning_sym.checkpoints.identity import beyond, called_by, stored_type
from lightning_sym.checkpoints.measured import measured
from lightning_sym.checkpoints.measuring import Measuring
from lightning_sym.checkpoints.mistaken_scenes import Change
from lightning_sym.checkpoints.mistakes import written
from lightning_sym.checkpoints.model import Checkpoint
from lightning_sym.checkpoints.overlap import Overlap
from lightning_sym.checkpoints.searched import Searched
from lightning_sym.checkpoints.understood import Walker, pieces_of
from lightning_sym.checkpoints.units import NUMBERS, Residual, Worst, number_residual, number_type
from lightning_sym.errors import BadInput, MissingExtra, TooLarge
from lightning_sym.limits import DEFAULT_WORK, Work, unheard


@dataclass(frozen=True)
class Diagnosis:
    """What explains a difference.

    Attributes:
        explained: the mistakes; none where nothing explains it.
        tried: what was not tried, and why.
        residuals: how far all that the mistakes changed is from what it was before; none where one cannot be undone.
    """

    explained: tuple[Explained, ...] = ()
    tried: tuple[str, ...] = ()
    residuals: tuple[Residual, ...] = ()


def diagnose(met: Overlap, found: Searched, units: float, work: Work | None = None) -> Diagnosis:
    """Search the known mistakes that make the second checkpoint of the first, with a symmetry.

    Args:
        met: both as far as they go.
        found: what the comparison of that has found.
        units: up to which a difference counts as rounding.
        work: bounds the search.
    """
    try:
        with np.errstate(all="ignore"):
            asked = _Diagnosing(
                met.first, met.second, units, work or Work(DEFAULT_WORK), dict(met.numbers), met.alone, met.kept
            )
            return asked.diagnosis(found)
    except NoWork:
        return Diagnosis((), ("known mistakes: the search was ended by its work; a larger one (--work) goes on",))
    except (BadInput, MissingExtra, TooLarge, np.linalg.LinAlgError) as error:
        return Diagnosis((), (f"known mistakes were not searched: {error}",))


@dataclass(eq=False)
class _Diagnosing:
    """The search as it goes.

    Attributes:
        first, second: the checkpoints, of one form once the mistakes of the configuration are told.
        units: up to which a difference counts as rounding.
        work: what is left.
        numbers: the mistakes of the configuration, with what there is to say of them.
        before: layers that one side alone has.
        kept: what the second calls its layers, where some of them were left out.
    """

    first: Checkpoint
    second: Checkpoint
    units: float
    work: Work
    numbers: dict[str, dict[str, Any]] = field(default_factory=dict)
    before: tuple[tuple[int | None, Change], ...] = ()
    kept: Mapping[int, int] = field(default_factory=dict)

    def diagnosis(self, found: Searched) -> Diagnosis:
        """Return the mistakes of the configuration, then number by number, then under a symmetry."""
        places = Places.of(self.first, self.second, self.units, self.work)
        best = self._by_number(places)
        by_symmetry = found.searched is not None and {e.piece for e in beyond(found.residuals, self.units)} <= {
            *NUMBERS
        }
        if best is not None and self._size(*best)[0] <= 1 - by_symmetry:
            return self._told(*best)
        if self.first is not found.first or found.searched is None:
            found = Searched(self.first, self.second, self.units, unheard)
            places.spend(FIT * 4)
            begun, _, ends = found.best_stream()
            found.searched = begun, ends
        for stream, made in places.of_ends(found, *found.searched):
            for layer in range(self.second.form.layers):
                explained = places.layer(layer, stream, made.mistakes)
                if explained is None:
                    break
                made = made + explained
            else:
                square = stream.map.scale**2
                if best is None or self._size(made, square) < self._size(*best):
                    best = made, square
                if len(made.mistakes) <= 1:
                    break
        return Diagnosis() if best is None else self._told(*best)

    def _by_number(self, places: Places) -> tuple[Explanation, Fraction] | None:
        """Return what explains all places with no symmetry at all, and the square of the length of the stream."""
        made = Explanation()
        for place in (None, *range(self.second.form.layers)):
            found = places.by_number(place, made.mistakes)
            if found is None:
                return None
            made += found
        return made, Fraction(1)

    # ---- what is told

    def _epsilon(self, square: Fraction) -> tuple[Fraction, float]:
        """Return the epsilon that follows the length of the stream, and by how many units the second's is off."""
        expected, stored = self.first.form.epsilon * square, number_type(self.first, self.second)
        return expected, number_residual("epsilon", expected, self.second.form.epsilon, stored).units

    def _size(self, made: Explanation, square: Fraction) -> tuple[int, int]:
        """Return how many mistakes there are, an epsilon that is off among them, and how many pieces they changed."""
        return made.size[0] + (self._epsilon(square)[1] > self.units), made.size[1]

    def _residuals(self, made: Explanation) -> Iterator[Residual]:
        """Yield how far each piece that a mistake changed is from what it was, as far as that can be undone."""
        for place, change in made.changes:
            there = dict(pieces_of(self.second, place, Walker.COMPARISON).present())
            for name, before in change.undone(there).items() if change.undone is not None else ():
                piece, worst = name if place is None else f"{self.kept.get(place, place)}.{name}", Worst()
                stored = stored_type(self.first, self.second, piece)
                left = Measuring().less(measured(there[name], stored), measured(before, stored))
                worst.add(left.value, left.units, there[name])
                yield worst.residual(
                    piece, called_by(self.first, self.second, piece), stored, self.second.form, exact=False
                )

    def _told(self, made: Explanation, square: Fraction) -> Diagnosis:
        expected, off = self._epsilon(square)
        if off > self.units:
            self.numbers["epsilon"] = {
                "epsilon": {"first": written(expected), "second": written(self.second.form.epsilon)}
            }
        checked: Checked = "exactly" if made.exact and (off == 0 or off > self.units) else "rounding"
        by: dict[str, list[tuple[int | None, Change]]] = {}
        for place, change in (*self.before, *made.changes):
            by.setdefault(change.mistake, []).append((place, change))
        if len(by) + len(self.numbers) > MOST:
            return Diagnosis((), (f"known mistakes: more than {MOST} would be needed",))
        found = [Explained(mistake, (), (), {**told, "checked": checked}) for mistake, told in self.numbers.items()]
        for mistake, changes in by.items():
            pieces = [(place, name) for place, change in changes for name in change.told or change.pieces]
            renamed = {} if changes[0] in self.before else self.kept
            layers = sorted({renamed.get(place, place) for place, _ in changes if place is not None})
            called = tensors_called(self.second, self.first, pieces, renamed)
            detail = {**_common(changes, self.second, self.first), "checked": checked}
            found.append(Explained(mistake, called, tuple(layers), detail))
        residuals = {} if self.before else {each.piece: each for each in self._residuals(made)}
        whole = len(residuals) == sum(len(change.pieces) + len(change.told) for _, change in made.changes)
        return Diagnosis(tuple(found), (), tuple(residuals.values()) if whole else ())


def _common(changes: list[tuple[int | None, Change]], *checkpoints: Checkpoint) -> dict[str, Any]:
    """Return what there is to say of several changes: what is the same of all once, the rest by tensor."""
    found: dict[str, Any] = {}
    for word in {word: None for _, change in changes for word in change.detail}:
        told: dict[str, Any] = {
            _first_called(*each, *checkpoints): each[1].detail[word] for each in changes if word in each[1].detail
        }
        values = list(told.values())
        if all(isinstance(value, dict) for value in values):
            found[word] = {key: each for value in values for key, each in value.items()}
        else:
            found[word] = values[0] if all(value == values[0] for value in values) else told
    return found


def _first_called(place: int | None, change: Change, *checkpoints: Checkpoint) -> str:
    """Return what the first tensor of a change is called; a layer that one side alone has goes by its number there."""
    if not change.pieces:
        return f"layer {place}"
    piece = change.pieces[0] if place is None else f"{place}.{change.pieces[0]}"
    return tensors_called(checkpoints[0], checkpoints[1], [(None, piece)])[0]
