"""Claims side by side, one process a core."""

from __future__ import annotations

import threading
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

from lightning_sym.processes import cores, follow_parent, interrupts_postponed, kill_children
from proofs_check.claim import Claim
from proofs_check.registry import claim_by_id
from proofs_check.run import ClaimResult, Progress, run_claim

_messages: Any = None


def _start_worker(messages: Any) -> None:
    global _messages
    _messages = messages
    follow_parent()


def _work(claim_id: str, quick: bool, certificates: Path | None) -> ClaimResult:
    return run_claim(claim_by_id(claim_id), quick, lambda name, count: _messages.put((name, count)), certificates)


def _worker_count(claims: Sequence[Claim]) -> int:
    """One process a core that this process may use, and no more than there are claims."""
    return min(len(claims), cores())


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
    """
    workers = _worker_count(claims)
    if workers <= 1:
        for claim in claims:
            progress(claim.id, 0)
            yield run_claim(claim, quick, progress, certificates)
        return
    import multiprocessing  # here: one claim has no use for these, and they take long to load
    from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait

    # spawned, not forked: threads of the linear algebra and of the progress display do not survive a fork
    context = multiprocessing.get_context("spawn")
    messages = context.Queue()
    others = multiprocessing.active_children()

    def listen() -> None:
        for message in iter(messages.get, None):
            progress(*message)

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    with ProcessPoolExecutor(workers, context, _start_worker, (messages,)) as pool:
        try:
            with interrupts_postponed():  # all workers are started here
                # the longest ones stand last in the paper's order: they start first
                pending = {pool.submit(_work, claim.id, quick, certificates) for claim in reversed(claims)}
            while pending:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            kill_children(others)
            messages.cancel_join_thread()  # a worker may have been killed while it held the lock of the queue
            raise
    messages.put(None)
    listener.join(timeout=5)
