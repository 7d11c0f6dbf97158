"""What a claim is, and what may be said of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from lightning_sym.dimension.certify import CertifiedDimension, Evidence, certified_dimension
from lightning_sym.errors import LightningError, ProgramError
from lightning_sym.network.architecture import Architecture


class Verdict(Enum):
    """The answer of a check."""

    HOLDS = "HOLDS"
    REFUTED = "REFUTED"
    UNDECIDED = "UNDECIDED"


class Scope(Enum):
    """What was shown; nothing is ever rounded up. The values are the explanations."""

    IDENTITY = "polynomial identity: every weight of the shape"
    GENERIC = "two bounds met: almost every weight of the shape"
    EXHAUSTIVE = "every weight over a finite field"
    EVERY_WIDTH = "finite checks and a written proof: every width and rank at the listed depths"
    INSTANCES = "the listed exact weights"


class Refutation(LightningError):
    """The statement is false at an instance; the message is the witness. Only this makes a verdict REFUTED."""


class Undecided(LightningError):
    """The bounds did not meet at an instance; the message shows both."""


def spell(matrix: Any) -> str:
    """A matrix of exact numbers in one line, for witnesses.

    Example:
        >>> from fractions import Fraction
        >>> spell([[1, Fraction(-2, 3)], [0, Fraction(4)]])
        '[[1, -2/3], [0, 4]]'
    """
    return "[" + ", ".join("[" + ", ".join(map(str, row)) + "]" for row in matrix) + "]"


def expect_equal(found: object, stated: object, at: object) -> None:
    """Refute unless what was computed equals what the statement says.

    Example:
        >>> expect_equal(3, 4, at="one layer, d = 2")
        Traceback (most recent call last):
        proofs_check.claim.Refutation: one layer, d = 2: found 3, stated 4
    """
    if found != stated:
        raise Refutation(f"{at}: found {found}, stated {stated}")


def expect_dimension(found: CertifiedDimension, stated: int) -> None:
    """Refute, or leave undecided, unless the certified dimension is the stated number."""
    at = found.architecture
    if found.value is None:
        if not found.lower <= stated <= found.upper:
            raise Refutation(f"{at}: between {found.lower} and {found.upper}, stated {stated}")
        raise Undecided(f"{at}: between {found.lower} and {found.upper}, stated {stated}")
    expect_equal(found.value, stated, at)


def meeting_bounds(lower: int, upper: int, at: object) -> int:
    """The number between two proved bounds that meet.

    Raises:
        Undecided: they do not meet.
        ProgramError: the lower one exceeds the upper one.

    Example:
        >>> meeting_bounds(3, 3, at="one layer")
        3
    """
    if lower > upper:
        raise ProgramError(f"{at}: the lower bound {lower} exceeds the upper bound {upper}")
    if lower < upper:
        raise Undecided(f"{at}: between {lower} and {upper}")
    return lower


def expect_orbit(found: CertifiedDimension) -> None:
    """Leave undecided unless an orbit of symmetries, with what else is not seen, gives the upper bound.

    The other bound is a count of virtual weights, which contains the formulas that the paper prints: a formula that
    meets it alone would be compared with itself.
    """
    if not {Evidence.ORBIT, Evidence.DIRECTIONS} & set(found.upper_evidence):
        orbit = found.upper_bounds.get(Evidence.ORBIT, found.upper_bounds.get(Evidence.DIRECTIONS))
        raise Undecided(
            f"{found.architecture}: the bound {orbit} by an orbit does not meet {found.upper}, the count of virtual "
            "weights, which contains the formula"
        )


def dimension_by_orbit(network: Architecture) -> CertifiedDimension:
    """A dimension that may be compared with a formula which is a count of virtual weights itself.

    Raises:
        Undecided: as `expect_orbit`, where the bounds meet.

    Example:
        >>> dimension_by_orbit(Architecture((3, 2), (2,), 2)).value
        13
    """
    found = certified_dimension(network, all_bounds=True)
    if found.value is not None:
        expect_orbit(found)
    return found


class Tally(str):
    """What a check counted: it comes with its part, but says nothing about the hypotheses as a finding does."""

    __slots__ = ()


Check = Callable[[Any], "str | None"]


@dataclass(frozen=True)
class Part:
    """One thing a claim says, at one scope.

    Attributes:
        name: what is shown, in a few words.
        scope: how far it reaches.
        instances: from `quick` to the instances, each cheap enough to report progress after it.
        check: raises `Refutation` or `Undecided`, or returns; a returned string is a finding about the hypotheses,
            unless it is a `Tally`.
        mutants: by name, the check with a deliberate fault in the statement; each must be refuted on the quick
            instances.
        expected: what we expect; `REFUTED` for statements that are known to fail.
    """

    name: str
    scope: Scope
    instances: Callable[[bool], Iterable[Any]]
    check: Check
    mutants: Mapping[str, Check] = field(default_factory=dict)
    expected: Verdict = Verdict.HOLDS


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, or beyond it.

    Attributes:
        id: as typed on the command line.
        source: where it stands in the paper.
        title: the statement in one line.
        statement: the statement in LaTeX, hypotheses included.
        parts: what is checked.
    """

    id: str
    source: str
    title: str
    statement: str
    parts: tuple[Part, ...]

    @property
    def expected(self) -> Verdict:
        """What the parts together are expected to give."""
        return worst(part.expected for part in self.parts)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """A claim is refuted if a part is, else undecided if a part is."""
    found = set(verdicts)
    for verdict in (Verdict.REFUTED, Verdict.UNDECIDED):
        if verdict in found:
            return verdict
    return Verdict.HOLDS
