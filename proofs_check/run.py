"""Running claims: the one place where an exception becomes a verdict."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lightning_sym.errors import ProgramError
from proofs_check.certificates import certificates_into, file_name
from proofs_check.claim import Claim, Part, Refutation, Scope, Tally, Undecided, Verdict, worst
from proofs_check.registry import claim_by_id

Progress = Callable[[str, int], None]
_REPORT_EVERY = 0.1
_LONGEST_EXAMPLE = 80


@dataclass(frozen=True)
class PartResult:
    """What was found for one part.

    Attributes:
        name, scope, expected: as in the part.
        verdict: what the check gave.
        instances: how many were checked.
        witness: the refuting or undecided instance.
        findings: what the checks say about the hypotheses.
        tallies: what they counted.
        examples: the instances called `first`, `second` and `last`, in short, where they can be written down.
        certificates: how many were written, `None` where none were asked for.
    """

    name: str
    scope: Scope
    expected: Verdict
    verdict: Verdict
    instances: int
    witness: str | None
    findings: tuple[str, ...]
    tallies: tuple[str, ...] = ()
    examples: Mapping[str, str] = field(default_factory=dict)
    certificates: int | None = None


@dataclass(frozen=True)
class ClaimResult:
    """What was found for a claim; `error` is set, and `verdict` is not, when the program itself failed."""

    id: str
    expected: Verdict
    verdict: Verdict | None
    parts: tuple[PartResult, ...]
    seconds: float
    error: str | None = None

    @property
    def instances(self) -> int:
        """Instances of all parts together."""
        return sum(part.instances for part in self.parts)

    @property
    def as_expected(self) -> bool:
        """Every part gave what was expected of it."""
        return self.verdict is not None and all(p.verdict is p.expected for p in self.parts)


def run_part(part: Part, quick: bool, step: Callable[[], None] = lambda: None) -> PartResult:
    """Check a part, instance by instance; the first refutation ends it, an undecided instance does not.

    Raises:
        ProgramError: the part has no instances, so nothing was shown.
    """
    count = 0
    undecided, refuted = None, None
    found: dict[str, None] = {}
    examples: dict[str, Any] = {}
    for instance in part.instances(quick):
        examples["last" if count > 1 else ("first", "second")[count]] = instance
        count += 1
        try:
            finding = part.check(instance)
        except Refutation as refutation:
            refuted = str(refutation)
            break
        except Undecided as open_question:
            undecided = undecided or str(open_question)
        else:
            if finding is not None:
                found[finding] = None
        step()
    if count == 0:
        raise ProgramError(f"the part {part.name!r} had no instances")
    verdict = Verdict.REFUTED if refuted is not None else Verdict.HOLDS if undecided is None else Verdict.UNDECIDED
    return PartResult(
        part.name,
        part.scope,
        part.expected,
        verdict,
        count,
        undecided if refuted is None else refuted,
        findings=tuple(text for text in found if not isinstance(text, Tally)),
        tallies=tuple(str(text) for text in found if isinstance(text, Tally)),
        examples={place: text for place, instance in examples.items() if (text := _in_short(instance))},
    )


def _in_short(instance: Any) -> str:
    """An instance in one short line; empty where it has no text but its address."""
    text = " ".join(str(instance).split())
    if instance is None or " at 0x" in text:
        return ""
    text = re.sub(r"Fraction\((-?\d+), (\d+)\)", r"\1/\2", text).replace("/1,", ",").replace("/1]", "]")
    text = re.sub(r"array\((\[.*?\]), dtype=object\)", r"\1", text)
    return text if len(text) <= _LONGEST_EXAMPLE else text[: _LONGEST_EXAMPLE - 3] + "..."


def run_claim(
    claim: Claim, quick: bool, progress: Progress = lambda claim_id, count: None, certificates: Path | None = None
) -> ClaimResult:
    """Check all parts of a claim. An exception that is not a refutation is an error of the program, never a verdict.

    Args:
        claim: the claim.
        quick: the quick sizes instead of the full ones.
        progress: called as `progress(claim id, instances done)`.
        certificates: where certificates of the generic parts are written, in a directory with the claim's id.
    """
    start = time.perf_counter()
    last = start
    count = 0

    def step() -> None:
        nonlocal count, last
        count += 1
        now = time.perf_counter()
        if now - last > _REPORT_EVERY:
            last = now
            progress(claim.id, count)

    parts = []
    try:
        for number, part in enumerate(claim.parts, start=1):
            if certificates is None or part.scope is not Scope.GENERIC:
                parts.append(run_part(part, quick, step))
                continue
            with certificates_into(certificates / claim.id, f"{number}-{file_name(part.name)}") as written:
                found = run_part(part, quick, step)
            parts.append(replace(found, certificates=len(written)))
    except Exception:  # noqa: BLE001 - whatever it is, it is an error of the program and is reported as one
        seconds = time.perf_counter() - start
        return ClaimResult(claim.id, claim.expected, None, tuple(parts), seconds, traceback.format_exc())
    seconds = time.perf_counter() - start
    verdict = worst(part.verdict for part in parts)
    return ClaimResult(claim.id, claim.expected, verdict, tuple(parts), seconds)


_messages: Any = None


def _start_worker(messages: Any) -> None:
    global _messages
    _messages = messages
    parent = multiprocessing.parent_process()

    def follow() -> None:
        """A worker does not outlive the program, however that ends."""
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def _work(claim_id: str, quick: bool, certificates: Path | None) -> ClaimResult:
    return run_claim(claim_by_id(claim_id), quick, lambda name, count: _messages.put((name, count)), certificates)


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _worker_count(claims: Sequence[Claim]) -> int:
    """One process a core that this process may use, and no more than there are claims."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(len(claims), cores)


def run_claims(
    claims: Sequence[Claim],
    quick: bool,
    progress: Progress = lambda claim_id, count: None,
    certificates: Path | None = None,
) -> Iterator[ClaimResult]:
    """Run claims side by side, one process a core; results come as they finish.

    Args:
        claims: registered claims.
        quick: the quick sizes instead of the full ones.
        progress: called from another thread as `progress(claim id, instances done)`.
        certificates: where certificates of the generic parts are written.
    """
    workers = _worker_count(claims)
    if workers <= 1:
        for claim in claims:
            progress(claim.id, 0)
            yield run_claim(claim, quick, progress, certificates)
        return
    # spawned, not forked: threads of the linear algebra and of the progress display do not survive a fork
    context = multiprocessing.get_context("spawn")
    messages = context.Queue()

    def listen() -> None:
        for message in iter(messages.get, None):
            progress(*message)

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    try:
        with ProcessPoolExecutor(workers, context, _start_worker, (messages,)) as pool:
            try:
                # workers are started here; they inherit that an interrupt is not for them: it is for us to end them
                with _interrupts_ignored():
                    # the longest ones stand last in the paper's order: they start first
                    pending = {pool.submit(_work, claim.id, quick, certificates) for claim in reversed(claims)}
                while pending:
                    done, pending = wait(pending, return_when=FIRST_COMPLETED)
                    for future in done:
                        yield future.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                for child in multiprocessing.active_children():
                    child.kill()
                raise
    finally:
        messages.put(None)
        listener.join(timeout=5)
