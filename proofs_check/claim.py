"""What a claim is, and what may be said of it.

How checks conclude: from what is exact by `expect_equal`, from bounds by the others.

A rank modulo a prime is a lower bound and nothing else; parameters minus such a rank is an upper bound. A bound alone
refutes only in one direction: a statement is refuted by a lower bound that exceeds it, or by an upper bound that falls
short of it. So nothing here takes a lower bound without an upper one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from lightning_sym.dimension.certify import CertifiedDimension, Evidence, certified_dimension
from lightning_sym.errors import LightningError, ProgramError
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.weights import Weights

if TYPE_CHECKING:
    from proofs_check.blackboard.step import Step


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
    EVERY_WIDTH = "a written proof and finite checks: every size that the statement names"
    INSTANCES = "the listed exact weights"


class Refutation(LightningError):
    """The statement is false at an instance; the message is the witness. Only this makes a verdict REFUTED."""


class Undecided(LightningError):
    """The bounds did not meet at an instance; the message shows both."""


class Tally(str):
    """What a check counted: it comes with its part, but says nothing about the hypotheses as a finding does."""

    __slots__ = ()


class Kind(str):
    """A finding that says of which kind an instance is: it comes with the number of instances of this kind."""

    __slots__ = ()


class Certifiable(NamedTuple):
    """Something of which a certificate can be written.

    Attributes:
        about: what the certificate is about; equal things get one certificate a part.
        document: makes the certificate.
    """

    about: Hashable
    document: Callable[[], dict[str, Any]]


Check = Callable[[Any], "str | None"]


class InstancesOf(Protocol):
    """What makes the instances of a part, few of them or all."""

    def __call__(self, *, quick: bool) -> Iterable[Any]: ...


At = Callable[[Architecture, "Weights | None"], Iterable[Any]]


@dataclass(frozen=True)
class Part:
    """One thing a claim says, at one scope.

    Attributes:
        name: what is shown, in a few words.
        scope: how far it reaches.
        instances: from `quick` to the instances, each cheap enough to report progress after it. Equal ones are one.
        check: raises `Refutation` or `Undecided`, or returns; a returned string is a finding about the hypotheses,
            unless it is a `Tally`; of a `Kind` it is counted how often it is returned.
        mutants: by name, the check with a deliberate fault in the statement; each must be refuted on the quick
            instances.
        expected: what we expect; `REFUTED` for statements that are known to fail.
        instance: what one instance is, where its type does not say so. Numbers and plain tuples are the same instance
            of two parts of a claim only if both parts call them the same.
        certifies: from an instance to what of it can be certified; the runner writes the certificates.
        at: what the part says of one network, as instances: of the network, and of its weights if these are given; none
            outside of its hypotheses. `None` where the part is not the statement itself, or not about a network.
    """

    name: str
    scope: Scope
    instances: InstancesOf
    check: Check
    mutants: Mapping[str, Check] = field(default_factory=dict)
    expected: Verdict = Verdict.HOLDS
    instance: str = ""
    certifies: Callable[[Any], Iterable[Certifiable]] | None = None
    at: At | None = None


@dataclass(frozen=True)
class WalkThrough:
    """How a claim is explained at the blackboard, with small matrices and exact numbers.

    Attributes:
        intro: what is going to be shown, in a sentence or two with `$LaTeX$` in them.
        steps: the steps, computed when asked for.
        on: the steps on given weights; `None` where the claim says nothing of one network.
    """

    intro: str
    steps: Callable[[], Iterator[Step]]
    on: Callable[[Weights], Iterator[Step]] | None = None


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, or beyond it.

    Attributes:
        id: as typed on the command line.
        source: where it stands in the paper.
        title: what it is about in one line; true where it reads as a sentence.
        statement: the statement in LaTeX.
        parts: what is checked.
        hypotheses: in words with `$formulas$`: for which networks it is stated, where that is proved and where only
            certified or open, and what letters mean that the statement does not explain.
        rests_on: the ids of the claims that its argument uses, only the nearest.
        walk: its steps at the blackboard.
        place: where it stands in the list of all claims, which is the paper's order: they are sorted by this number,
            then by id.
    """

    id: str
    source: str
    title: str
    statement: str
    parts: tuple[Part, ...]
    hypotheses: str = ""
    rests_on: tuple[str, ...] = ()
    walk: WalkThrough | None = None
    place: int = 0

    @property
    def expected(self) -> Verdict:
        """What the parts together are expected to give."""
        return worst(part.expected for part in self.parts)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict of a claim by its parts: refuted if one is, else undecided if one is."""
    found = set(verdicts)
    for verdict in (Verdict.REFUTED, Verdict.UNDECIDED):
        if verdict in found:
            return verdict
    return Verdict.HOLDS


Formula = Callable[[Architecture], int]
"""A number that is stated of every network."""


def spell(matrix: Iterable[Iterable[object]]) -> str:
    """Return a matrix of exact numbers in one line, for witnesses.

    Example:
        >>> from fractions import Fraction
        >>> spell([[1, Fraction(-2, 3)], [0, Fraction(4)]])
        '[[1, -2/3], [0, 4]]'
    """
    return "[" + ", ".join("[" + ", ".join(map(str, row)) + "]" for row in matrix) + "]"


def expect(true: object, otherwise: str, error: type[LightningError] = Refutation) -> None:
    """Refute, with this witness, unless it is so; or leave undecided, by the error that is given.

    Example:
        >>> expect(2 + 2 == 5, "2 + 2 is not 5")
        Traceback (most recent call last):
        proofs_check.claim.Refutation: 2 + 2 is not 5
    """
    if not true:
        raise error(otherwise)


def expect_equal(found: object, stated: object, at: object) -> None:
    """Refute unless what was computed, exactly, equals what the statement says.

    Example:
        >>> expect_equal(3, 4, at="one layer, d = 2")
        Traceback (most recent call last):
        proofs_check.claim.Refutation: one layer, d = 2: found 3, stated 4
    """
    if found != stated:
        raise Refutation(f"{at}: found {found}, stated {stated}")


class ProvedBounds(NamedTuple):
    """Proved bounds of a number.

    Example:
        >>> print(ProvedBounds(3, 5), ProvedBounds(4, 4), sep=", ")
        between 3 and 5, found 4
    """

    lower: int | Fraction
    upper: int | Fraction

    @staticmethod
    def of(found: CertifiedDimension) -> ProvedBounds:
        """Return those of a dimension."""
        return ProvedBounds(found.lower, found.upper)

    def __str__(self) -> str:
        return f"found {self.lower}" if self.lower == self.upper else f"between {self.lower} and {self.upper}"


def _require_order(lower: int | Fraction, upper: int | Fraction, at: object) -> None:
    expect(lower <= upper, f"{at}: the lower bound {lower} exceeds the upper bound {upper}", ProgramError)


def _conclude(bounds: ProvedBounds, said: str, at: object, *, holds: bool, fails: bool) -> None:
    _require_order(*bounds, at)
    expect(not fails, f"{at}: {bounds}, {said}")
    expect(holds, f"{at}: {bounds}, {said}", Undecided)


def expect_value(bounds: ProvedBounds, stated: int | Fraction, at: object) -> None:
    """Refute, or leave undecided, unless the number is the stated one.

    Example:
        >>> expect_value(ProvedBounds(3, 5), 4, at="here")
        Traceback (most recent call last):
        proofs_check.claim.Undecided: here: between 3 and 5, stated 4
    """
    inside = bounds.lower <= stated <= bounds.upper
    _conclude(bounds, f"stated {stated}", at, holds=inside and bounds.lower == bounds.upper, fails=not inside)


def expect_less(bounds: ProvedBounds, stated: int, at: object) -> None:
    """Refute, or leave undecided, unless the number is less than the stated one.

    Example:
        >>> expect_less(ProvedBounds(3, 3), 3, at="here")
        Traceback (most recent call last):
        proofs_check.claim.Refutation: here: found 3, stated less than 3
    """
    _conclude(bounds, f"stated less than {stated}", at, holds=bounds.upper < stated, fails=bounds.lower >= stated)


def expect_more(bounds: ProvedBounds, stated: int, at: object) -> None:
    """Refute, or leave undecided, unless the number is more than the stated one.

    Example:
        >>> expect_more(ProvedBounds(3, 5), 4, at="here")
        Traceback (most recent call last):
        proofs_check.claim.Undecided: here: between 3 and 5, stated more than 4
    """
    _conclude(bounds, f"stated more than {stated}", at, holds=bounds.lower > stated, fails=bounds.upper <= stated)


def expect_apart(apart: bool, *, stated: bool, at: object) -> None:
    """Refute where functions that are said to be equal are shown apart; undecided where others were not shown apart.

    Balls and residues prove that two functions differ. That they are equal they never prove.

    Example:
        >>> expect_apart(True, stated=False, at="A and B")
        Traceback (most recent call last):
        proofs_check.claim.Refutation: A and B have different functions
    """
    expect(stated or not apart, f"{at} have different functions")
    expect(apart or not stated, f"{at}: no input was found that shows them apart", Undecided)


def expect_dimension(found: CertifiedDimension, stated: int) -> None:
    """Refute, or leave undecided, unless the certified dimension is the stated number."""
    expect_value(ProvedBounds.of(found), stated, found.architecture)


def expect_formula(network: Architecture, stated: Formula) -> None:
    """Refute, or leave undecided, unless the certified dimension of a network is what a formula says of it."""
    expect_dimension(certified_dimension(network), stated(network))


def expect_formula_by_orbit(network: Architecture, stated: Formula, finding: str | None = None) -> str | None:
    """Return the same with an orbit as upper bound, for formulas that count virtual weights; return the finding."""
    expect_dimension(dimension_by_orbit(network), stated(network))
    return finding


def meeting_bounds(lower: int, upper: int, at: object) -> int:
    """Return the number between two proved bounds that meet; undecided if they do not.

    Example:
        >>> meeting_bounds(3, 3, at="one layer")
        3
    """
    _require_order(lower, upper, at)
    expect(lower == upper, f"{at}: between {lower} and {upper}", Undecided)
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
    """Return a dimension that may be compared with a formula which is a count of virtual weights itself.

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
