"""Claims side by side, one process a core."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path

from lightning_sym.errors import BadInput
from lightning_sym.processes import cores
from proofs_check.claim import Claim
from proofs_check.registry import claim_by_id
from proofs_check.run import ClaimResult, Progress, run_claim


def _work(asked: tuple[str, bool, Path | None]) -> ClaimResult:
    """Run a claim in a process of its own, which tells how far it is."""
    from lightning_sym.atlas.workers import tell

    claim_id, quick, certificates = asked
    return run_claim(claim_by_id(claim_id), quick, lambda name, count: tell((name, count)), certificates)


def run_claims(
    claims: Sequence[Claim],
    quick: bool,
    progress: Progress = lambda claim_id, count: None,
    certificates: Path | None = None,
) -> Generator[ClaimResult, None, None]:
    """Run claims side by side, one process a core; results come as they finish.

    Whoever stops in the middle closes the iterator, which ends the processes.

    Args:
        claims: registered claims.
        quick: the quick sizes instead of the full ones.
        progress: called from another thread as `progress(claim id, instances done)`.
        certificates: where certificates of the generic parts are written.

    Raises:
        CannotWrite: a certificate cannot be written.
        BadInput: a process was ended by somebody else.
    """
    # one process a core that this process may use, and no more than there are claims
    workers = min(len(claims), cores())
    if workers <= 1:
        for claim in claims:
            progress(claim.id, 0)
            yield run_claim(claim, quick, progress, certificates)
        return
    # here: one claim has no use for these, and they take long to load
    from concurrent.futures import BrokenExecutor, as_completed

    from lightning_sym.atlas.workers import processes

    told = dict[str, int]()

    def heard(news: tuple[str, int]) -> None:
        """Tell how far a claim is, each count once."""
        claim_id, count = news
        if told.get(claim_id) != count:
            told[claim_id] = count
            progress(claim_id, count)

    with processes(workers, heard=heard) as submit:
        # the longest ones stand last in the paper's order: they start first
        begun = [submit(_work, (claim.id, quick, certificates)) for claim in reversed(claims)]
        try:
            for future in as_completed(begun):
                yield future.result()
        except BrokenExecutor as error:
            raise BadInput("workers must be left to work, one was ended") from error
