"""All claims, in the paper's order: whatever stands in a chapter of `claims/` and has a `CLAIM`; and their walks."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from importlib import import_module
from pathlib import Path

from lightning_sym.errors import BadInput
from lightning_sym.lazy import lazy_imports
from lightning_sym.network.weights import Weights
from proofs_check import claims
from proofs_check.blackboard.own_weights import require_readable
from proofs_check.blackboard.step import Step
from proofs_check.claim import Claim

with lazy_imports(__name__):
    import difflib

_LONGEST_SHOWN = 40


def _modules(name: str = "*") -> list[str]:
    """Return the modules and the folders of this name in the chapters, claims and what they share."""
    found = [path for folder in claims.__path__ for path in Path(folder).glob(f"*/{name}")]
    found += [path.with_suffix("") for folder in claims.__path__ for path in Path(folder).glob(f"*/{name}.py")]
    return sorted({f"{path.parent.name}.{path.name}" for path in found if path.name.isidentifier()})


def _claim(module: str) -> Claim | None:
    """Return the claim of a module; what several claims share has none."""
    return getattr(import_module(f"proofs_check.claims.{module}"), "CLAIM", None)


@cache
def claims_by_module() -> dict[str, Claim]:
    """Return every claim by the module or folder where it stands, below `proofs_check.claims`, in the paper's order."""
    found = [(claim, module) for module in _modules() if (claim := _claim(module)) is not None]
    return {module: claim for claim, module in sorted(found, key=lambda pair: (pair[0].place, pair[0].id))}


def all_claims() -> tuple[Claim, ...]:
    """Return every claim, in the paper's order."""
    return tuple(claims_by_module().values())


def claim_by_id(claim_id: str) -> Claim:
    """Return the claim with this id.

    Raises:
        BadInput: there is none; the message names the ones that look like it.
    """
    named = claim_id.replace("-", "_").replace(".", "_")
    for module in _modules(named) if named.isidentifier() else ():  # the others need not be imported
        if (found := _claim(module)) is not None and found.id == claim_id:
            return found
    known = {claim.id: claim for claim in all_claims()}
    if claim_id not in known:
        alike = [name for name in known if name.startswith(claim_id.lower())][:3]
        alike = alike or difflib.get_close_matches(claim_id.lower(), known, n=3)
        hint = f"did you mean {', or '.join(alike)}?" if alike else "`lightning-sym check --list` names them"
        shown = claim_id if len(claim_id) <= _LONGEST_SHOWN else claim_id[:_LONGEST_SHOWN] + "..."
        raise BadInput(f"the claim id must be one of {len(known)}, got {shown!r}: {hint}")
    return known[claim_id]


def supports(claim_id: str) -> tuple[str, ...]:
    """Return what rests on a claim.

    Example:
        >>> supports("theorem-3.4-singular")
        ('figure-1', 'tangent-spaces')
    """
    return tuple(claim.id for claim in all_claims() if claim_id in claim.rests_on)


def levels(ids: Collection[str]) -> dict[str, int]:
    """Return how many steps a claim stands above the lowest, among the given ones.

    Example:
        >>> levels(["lemma-3.1", "equation-9", "lemma-3.5"])
        {'lemma-3.1': 0, 'equation-9': 1, 'lemma-3.5': 2}
    """
    found: dict[str, int] = {}

    def level(claim_id: str) -> int:
        if claim_id not in found:
            below = claim_by_id(claim_id).rests_on
            found[claim_id] = max((level(each) + 1 for each in below if each in ids), default=0)
        return found[claim_id]

    return {claim_id: level(claim_id) for claim_id in ids}


def walk_through(claim_id: str, weights: Weights | None = None) -> tuple[str, list[Step]]:
    """Return how a claim is explained: what is going to be shown, and the steps; on given weights if there are any.

    Raises:
        BadInput: it has no walk-through, or says nothing of given weights, or not of such a network; or matrices are
            too large.
    """
    walk = claim_by_id(claim_id).walk
    if walk is None:
        raise BadInput(f"the claim must have a walk-through; {claim_id} has none yet")
    if weights is None:
        return walk.intro, list(walk.steps())
    if walk.on is None:
        able = ", ".join(claim.id for claim in all_claims() if claim.walk is not None and claim.walk.on is not None)
        raise BadInput(f"--weights must be given with one of {able}, got {claim_id}")
    require_readable(weights)
    return walk.intro, list(walk.on(weights))
