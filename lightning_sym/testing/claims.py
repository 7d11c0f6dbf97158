"""That a claim of the registry holds at a network. This floor stands above `proofs_check`, and nothing stands on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from lightning_sym.errors import BadInput
from lightning_sym.limits import require_integer
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.weights import Weights
from lightning_sym.testing.failures import LONGEST, Mismatch, NotDecided, failure
from proofs_check.claim import Claim, Part, Refutation, Undecided
from proofs_check.registry import all_claims, claim_by_id


@dataclass(frozen=True)
class Held:
    """What was checked where a claim holds at a network.

    Attributes:
        claim: its id.
        network: as it was given, with tokens.
        checked: of each part that says something of it, the name, the name of its scope and the number of instances.
    """

    claim: str
    network: Architecture
    checked: tuple[tuple[str, str, int], ...]

    def __str__(self) -> str:
        parts = (f"{name} ({scope}, {count} instance{'s' * (count > 1)})" for name, scope, count in self.checked)
        return f"{self.claim} holds at {self.network}: {'; '.join(parts)}"


def assert_holds(claim_id: str, network: Architecture | Weights, tokens: int | None = None) -> Held:
    """Fail unless a claim holds at a network.

    The parts of the claim that state it, and that are about a network within the claim's hypotheses, are checked at
    this one by what checks the claim itself. A claim about weights is checked at these weights; where only a shape is
    given, at two random ones of it. `lightning-sym check` is about all instances of a claim, this about one.

    Args:
        claim_id: as `lightning-sym check --list` names it.
        network: a shape, or exact weights.
        tokens: with weights, of the inputs; by default 2.

    Returns:
        What was checked, with its scope; `str` of it is a sentence.

    Raises:
        Mismatch: the claim is refuted there; the message is the witness.
        NotDecided: two bounds do not meet there.
        BadInput: there is no such claim, it is not about one network, or the network is outside of its hypotheses: the
            claim says nothing of it.
        TooLarge: the function of the network has too many coefficients to be written out.

    Example:
        >>> print(assert_holds("theorem-3.7", Architecture((2, 2, 1), (2, 2), 2)))
        theorem-3.7 holds at widths 2,2,1, ranks 2,2, tokens 2: the whole fiber of exact weights within the hypotheses \
(INSTANCES, 2 instances)
        >>> assert_holds("corollary-3.8", Architecture((4, 4, 4), (2, 2), 1))
        Traceback (most recent call last):
        lightning_sym.errors.BadInput: corollary-3.8 must be asked of what it is about (the formula under its \
hypotheses), got widths 4,4,4, ranks 2,2, tokens 1
    """
    __tracebackhide__ = True
    if not isinstance(claim_id, str):
        raise BadInput(f"the claim id must be text, got {type(claim_id).__name__}")
    claim = claim_by_id(claim_id)
    weights = network if isinstance(network, Weights) else None
    if weights is not None:
        t = 2 if tokens is None else tokens
        require_integer(t, "the number of tokens", 1)
        shape = weights.architecture(t)
    elif isinstance(network, Architecture):
        if tokens is not None:
            raise BadInput("an Architecture says how many tokens there are, so tokens must be left out")
        shape = network
    else:
        raise BadInput(f"the network must be an Architecture or Weights, got {type(network).__name__}")
    checked, undecided = [], []
    for part, instances in _said_of(claim, shape, weights):
        for instance in instances:
            lines = [("network", str(shape)), ("claim", claim.title), ("part", part.name)]
            try:
                part.check(instance)
            except Refutation as refutation:
                lines.append(("witness", str(refutation)))
                raise Mismatch(failure(f"{claim.id} does not hold at this network", lines)) from None
            except Undecided as open_question:
                lines.append(("known", str(open_question)[:LONGEST]))
                undecided.append(failure(f"it is undecided whether {claim.id} holds at this network", lines))
        checked.append((part.name, part.scope.name, len(instances)))
    if undecided:
        raise NotDecided(undecided[0])
    return Held(claim.id, shape, tuple(checked))


class _Said(NamedTuple):
    """What a claim says of one network.

    Attributes:
        part: with the check.
        instances: to be checked, at least one.
    """

    part: Part
    instances: tuple[object, ...]


def _said_of(claim: Claim, network: Architecture, weights: Weights | None = None) -> tuple[_Said, ...]:
    """Return every part of a claim that says something of a network, with the instances that it says it of.

    Raises:
        BadInput: there is none: the claim is about something else, or the network is outside of its hypotheses.
        TooLarge: the function of the network has too many coefficients to be written out.

    Example:
        >>> [said.part.name for said in _said_of(claim_by_id("corollary-3.3"), Architecture((3, 2), (2,), 2))]
        ["the formula, t >= 2 and a > 1 or d' > 1"]
        >>> _said_of(claim_by_id("corollary-3.3"), Architecture((3, 2), (2,), 1))
        Traceback (most recent call last):
        lightning_sym.errors.BadInput: corollary-3.3 must be asked of what it is about (the formula, t >= 2 \
and a > 1 or d' > 1), got widths 3,2, ranks 2, tokens 1
    """
    able = [part for part in claim.parts if part.at is not None]
    if not able:
        others = [other.id for other in all_claims() if any(part.at is not None for part in other.parts)]
        raise BadInput(f"{claim.id} is not about one network; claims that are: {', '.join(others)}")
    found = [_Said(part, tuple(part.at(network, weights))) for part in able if part.at is not None]
    if not any(said.instances for said in found):
        about = "; ".join(part.name for part in able)
        got = f"{network}" if weights is None else f"these weights of {network}"
        raise BadInput(f"{claim.id} must be asked of what it is about ({about}), got {got}")
    return tuple(said for said in found if said.instances)
