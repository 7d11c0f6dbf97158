"""What a claim is, and what may be said of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from lightning_sym.errors import LightningError
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
    """A claim is refuted if a part is, else undecided if a part is."""
    found = set(verdicts)
    for verdict in (Verdict.REFUTED, Verdict.UNDECIDED):
        if verdict in found:
            return verdict
    return Verdict.HOLDS
