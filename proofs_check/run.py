"""Running claims: the one place where an exception becomes a verdict.

Claims side by side, one process a core.
"""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from functools import partial
from pathlib import Path

import numpy as np

from lightning_sym.errors import BadInput, ProgramError
from lightning_sym.processes import cores
from proofs_check.certificates import CannotWrite, CertificateWriter, file_name
from proofs_check.claim import Certifiable, Claim, Kind, Part, Refutation, Scope, Tally, Undecided, Verdict, worst
from proofs_check.instances import key_in_claim, value_of
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
        instances: how many different ones were checked.
        witness: the refuting or undecided instance.
        findings: what the checks say about the hypotheses.
        tallies: what they counted.
        examples: the instances called `first`, `second` and `last`, in short, where they can be written down.
        certificates: the SHA-256 of those written, by their path, `None` where none were asked for.
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
    certificates: Mapping[str, str] | None = None


@dataclass(frozen=True)
class ClaimResult:
    """What was found for a claim; `error` is set, and `verdict` is not, when the program itself failed.

    Attributes:
        instances: how many different ones were checked, by all parts together: fewer than their sum where parts ask
            different things of the same weights.
    """

    id: str
    expected: Verdict
    verdict: Verdict | None
    parts: tuple[PartResult, ...]
    instances: int
    seconds: float
    error: str | None = None

    @property
    def as_expected(self) -> bool:
        """Every part gave what was expected of it."""
        return self.verdict is not None and all(p.verdict is p.expected for p in self.parts)


def run_part(
    part: Part,
    quick: bool,
    step: Callable[[object, Hashable], None] = lambda instance, value: None,
    write: Callable[[Certifiable], None] | None = None,
) -> PartResult:
    """Check a part, instance by instance; the first refutation ends it, an undecided instance does not.

    Args:
        part: the part; instances that are equal are checked once.
        quick: the quick sizes instead of the full ones.
        step: called with each instance and its value after it was checked.
        write: takes what the part certifies, of every instance that was checked.

    Raises:
        ProgramError: the part has no instances, so nothing was shown.
    """
    seen: set[Hashable] = set()
    undecided, refuted = None, None
    found: Counter[str] = Counter()  # in the order of their first appearance
    examples: dict[str, object] = {}
    for instance in part.instances(quick=quick):
        value = value_of(instance)
        if value in seen:
            continue
        examples["last" if len(seen) > 1 else ("first", "second")[len(seen)]] = instance
        seen.add(value)
        try:
            finding = part.check(instance)
        except Refutation as refutation:
            refuted = str(refutation)
        except Undecided as open_question:
            undecided = undecided or str(open_question)
        else:
            if finding is not None:
                found[finding] += 1
        if write is not None and part.certifies is not None:
            for certifiable in part.certifies(instance):
                write(certifiable)
        step(instance, value)
        if refuted is not None:
            break
    if not seen:
        raise ProgramError(f"the part {part.name!r} had no instances")
    verdict = Verdict.REFUTED if refuted is not None else Verdict.HOLDS if undecided is None else Verdict.UNDECIDED
    return PartResult(
        part.name,
        part.scope,
        part.expected,
        verdict,
        len(seen),
        undecided if refuted is None else refuted,
        findings=tuple(
            f"{text}: {times:,} of {len(seen):,} instances" if isinstance(text, Kind) else text
            for text, times in found.items()
            if not isinstance(text, Tally)
        ),
        tallies=tuple(str(text) for text in found if isinstance(text, Tally)),
        examples={place: text for place, instance in examples.items() if (text := _in_short(instance))},
    )


def _in_short(instance: object) -> str:
    """Return an instance in one short line; empty where it has no text but its address."""
    text = " ".join(_words(instance).split())
    if instance is None or " at 0x" in text:
        return ""
    return text if len(text) <= _LONGEST_EXAMPLE else text[: _LONGEST_EXAMPLE - 3] + "..."


def _words(value: object) -> str:
    """Return a value as people write it: no name of a class, no field's quotation marks."""
    if isinstance(value, np.ndarray):
        return _words(value.tolist())
    if isinstance(value, list):
        return f"[{', '.join(map(_words, value))}]"
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return ", ".join(f"{name} {_words(part)}" for name, part in zip(value._fields, value, strict=True))
    if isinstance(value, (tuple, frozenset, set)):
        return f"({', '.join(map(_words, value))})"
    if isinstance(value, Mapping):
        return ", ".join(f"{_words(key)} {_words(part)}" for key, part in value.items())
    if is_dataclass(value) and not isinstance(value, type) and type(value).__str__ is object.__str__:
        return ", ".join(f"{f.name} {_words(getattr(value, f.name))}" for f in fields(value))
    return str(value)


def run_claim(
    claim: Claim, quick: bool, progress: Progress = lambda claim_id, count: None, certificates: Path | None = None
) -> ClaimResult:
    """Check all parts of a claim. An exception that is not a refutation is an error of the program, never a verdict.

    Args:
        claim: the claim.
        quick: the quick sizes instead of the full ones.
        progress: called as `progress(claim id, instances done)`.
        certificates: where certificates of the generic parts are written, in a directory with the claim's id.

    Raises:
        CannotWrite: a certificate cannot be written.
    """
    start = time.perf_counter()
    last = start
    seen: set[Hashable] = set()

    def step(part: Part, instance: object, value: Hashable) -> None:
        nonlocal last
        seen.add(key_in_claim(part, instance, value))
        now = time.perf_counter()
        if now - last > _REPORT_EVERY:
            last = now
            progress(claim.id, len(seen))

    parts: list[PartResult] = []
    verdict, error = None, None
    try:
        for number, part in enumerate(claim.parts, start=1):
            if certificates is None or part.scope is not Scope.GENERIC:
                parts.append(run_part(part, quick, partial(step, part)))
                continue
            writer = CertificateWriter(certificates, claim.id, f"{number}-{file_name(part.name)}")
            found = run_part(part, quick, partial(step, part), writer.write)
            parts.append(replace(found, certificates=writer.written))
        verdict = worst(part.verdict for part in parts)
    except CannotWrite:
        raise
    except Exception:  # noqa: BLE001 - whatever it is, it is an error of the program and is reported as one
        error = traceback.format_exc()
    seconds = time.perf_counter() - start
    return ClaimResult(claim.id, claim.expected, verdict, tuple(parts), len(seen), seconds, error)


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
