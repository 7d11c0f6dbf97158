"""Two fingerprints side by side: numbers that are apart prove that no listed symmetry joins the checkpoints."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from lightning_sym.arguments import require_arguments
from lightning_sym.checkpoints.bounded import Balls
from lightning_sym.checkpoints.fingerprint import Fingerprint
from lightning_sym.checkpoints.model import CheckpointForm
from lightning_sym.checkpoints.understood import CHANGEABLE
from lightning_sym.display import Lines, Result
from lightning_sym.errors import no_truth_value


@no_truth_value("found.different")
@dataclass(frozen=True, eq=False, repr=False)
class FingerprintComparison(Result):
    """What two fingerprints say of two checkpoints.

    Attributes:
        first, second: their names.
        apart: places where the numbers are proved different, or the networks are; none: no difference was seen, which
            proves nothing.
        distance: the largest difference of two numbers, as a share of the largest one of their list, heads matched as
            well as they can be; `None` where the networks cannot be compared. A rounded copy has a small one.
        farthest: where that is.
        identical: every tensor of the one is that of the other, byte by byte.
    """

    first: str
    second: str
    apart: tuple[str, ...]
    distance: float | None
    farthest: str
    identical: bool = False

    @property
    def different(self) -> bool:
        """Whether it is proved that no listed symmetry takes one to the other."""
        return bool(self.apart)

    def lines(self) -> Lines:
        """Return the answer, where, and how far."""
        lines = [("first", self.first), ("second", self.second)]
        if self.different:
            places = ", ".join(self.apart[:3]) + (f" and {len(self.apart) - 3} more" if len(self.apart) > 3 else "")
            lines.append(("answer", "different: proved by balls, no listed symmetry takes one to the other"))
            lines.append(("where", places))
        elif self.identical:
            lines.append(("answer", "identical: every tensor is the same, byte by byte"))
        else:
            lines.append(("answer", "no difference seen, which proves nothing; `same` finds the symmetry"))
        if self.distance is not None:
            lines.append(("distance", f"about {self.distance:.2g} of the largest number of its list: {self.farthest}"))
        return lines


def compare_fingerprints(first: Fingerprint, second: Fingerprint) -> FingerprintComparison:
    """Return whether two checkpoints could be the same one in disguise.

    Args:
        first, second: from `fingerprint`.

    Example:
        >>> from lightning_sym.checkpoints.fingerprint import fingerprint
        >>> from lightning_sym.testing import small_checkpoint
        >>> one, two = (fingerprint(small_checkpoint("llama", seed=seed)) for seed in (1, 2))
        >>> compare_fingerprints(one, one).different, compare_fingerprints(one, two).different
        (False, True)
    """
    require_arguments(compare_fingerprints, locals())
    if unlike := _unlike(first.form, second.form):
        return FingerprintComparison(first.name, second.name, unlike, None, "")
    apart, distances = [], {}
    theirs = dict(second.named())
    for place, mine in first.named():
        other = theirs.get(place)
        if other is None or mine.middle.shape != other.middle.shape:
            apart.append(place)
            continue
        if mine.middle.ndim == 2:
            known, distances[place] = _heads(mine, other, first.form.widest)
        else:
            known, distances[place] = bool(mine.apart(other).any()), _share(mine.middle, other.middle)
        if known:
            apart.append(place)
    apart += [place for place in theirs if place not in dict(first.named())]
    farthest = max(distances, key=lambda place: distances[place], default="")
    identical = first.digest == second.digest
    return FingerprintComparison(first.name, second.name, tuple(apart), distances.get(farthest), farthest, identical)


def _unlike(first: CheckpointForm, second: CheckpointForm) -> tuple[str, ...]:
    """Return what networks with the same function have in common, and these have not."""
    return tuple(
        f"{field.name} {getattr(first, field.name)} and {getattr(second, field.name)}"
        for field in fields(first)
        if getattr(first, field.name) != getattr(second, field.name)
        and (field.name not in CHANGEABLE or (field.name == "context" and first.theta is None))
    )


def _share(first: np.ndarray, second: np.ndarray) -> float:
    size = max(np.abs(first).max(initial=0.0), np.abs(second).max(initial=0.0))
    return float(np.abs(first - second).max(initial=0.0) / size) if size else 0.0


def _heads(first: Balls, second: Balls, width: int) -> tuple[bool, float]:
    """Return whether no order of heads makes all balls of one meet those of the other; and how far the best is."""
    count = len(first.middle)
    fits = np.array([~first[i].apart(second).any(axis=1) for i in range(count)])
    sizes = np.maximum(np.abs(first.middle).max(axis=0), np.abs(second.middle).max(axis=0))
    kinds = np.arange(len(sizes)) // width  # OV, QK, frequencies
    scale = np.array([sizes[kinds == kind].max() or 1.0 for kind in kinds])
    far = np.array([(np.abs(first.middle[i] - second.middle) / scale).max(axis=1) for i in range(count)])
    steps = np.unique(far)
    least = bisect_left(steps, True, key=lambda step: can_be_matched(far <= step))
    return not can_be_matched(fits), float(steps[least])


def can_be_matched(fits: npt.NDArray[np.bool_]) -> bool:
    """Return whether every row can have a column of its own where it is true (augmenting paths, Kuhn).

    Example:
        >>> can_be_matched(np.array([[True, True], [True, False]])), can_be_matched(np.array([[True, False]] * 2))
        (True, False)
    """
    owner: dict[int, int] = {}

    def placed(row: int, tried: set[int]) -> bool:
        for column in np.flatnonzero(fits[row]).tolist():
            if column not in tried:
                tried.add(column)
                if column not in owner or placed(owner[column], tried):
                    owner[column] = row
                    return True
        return False

    return all(placed(row, set()) for row in range(len(fits)))
