"""Cases run one after the other in a process that may die: of a time limit, of a memory limit, of anything else."""

from __future__ import annotations

import os
import resource
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

SECONDS = 10.0
"""Of the processor: how fast the machine is otherwise does not matter."""
WAITING = 6 * SECONDS
"""By the clock, for what does nothing at all."""
MEMORY = 2**30
_A_PROCESS = 2_000
"""Cases for one process, so that what one leaves behind does not count against all that follow."""


@dataclass
class Findings:
    """How many cases ended how, and what must not have happened, by the number of its case."""

    outcomes: Counter[str] = field(default_factory=Counter)
    faults: dict[int, str] = field(default_factory=dict)
    slowest: tuple[float, int] = (0.0, -1)


def run_watched(task: Callable[[int], tuple[str, str]], first: int, count: int) -> Findings:
    """Run `task(n)` for each number; it returns an outcome and, if it is a fault, what is wrong.

    A case that takes longer than `SECONDS` or more address space than `MEMORY` is a fault.
    """
    findings = Findings()
    number, end = first, first + count
    while number < end:
        number = _one_process(task, number, min(number + _A_PROCESS, end), findings)
    return findings


def _one_process(task: Callable[[int], tuple[str, str]], start: int, stop: int, findings: Findings) -> int:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        code = 1
        try:
            _work(task, start, stop, writing)
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    number = start
    with os.fdopen(reading, encoding="utf-8") as lines:
        for line in lines:
            outcome, seconds, fault = line.rstrip("\n").split("\t")
            findings.outcomes[outcome] += 1
            findings.slowest = max(findings.slowest, (float(seconds), number))
            if fault:
                findings.faults[number] = fault
            number += 1
    _, status = os.waitpid(child, 0)
    if number < stop:  # it died of this case
        signal_number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        late = {signal.SIGPROF: f"over {SECONDS:g} s", signal.SIGALRM: f"over {WAITING:g} s by the clock"}
        reason = late.get(signal.Signals(signal_number or 1), f"killed by signal {signal_number}")
        findings.outcomes[reason] += 1
        findings.faults[number] = reason
        number += 1
    return number


def _work(task: Callable[[int], tuple[str, str]], start: int, stop: int, writing: int) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what libraries say when they are cut off
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for limit in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(limit, signal.SIG_DFL)  # it ends the process, whatever is running in C
    for number in range(start, stop):
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        signal.setitimer(signal.ITIMER_REAL, WAITING)
        began = time.process_time()
        try:
            outcome, fault = task(number)
        except MemoryError:
            outcome, fault = "over memory", "over memory"
        except BaseException as error:  # noqa: BLE001 - every one of them is what is looked for
            outcome = fault = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        seconds = time.process_time() - began
        os.write(writing, f"{outcome}\t{seconds:.3f}\t{fault}\n".encode("utf-8", "backslashreplace"))
    signal.setitimer(signal.ITIMER_REAL, 0)


def report(name: str, findings: Findings, reproduce: str, shown: Callable[[int], str] = str) -> bool:
    """Print what was found; whether there is no fault."""
    total = sum(findings.outcomes.values())
    counts = ", ".join(f"{count:,} {outcome}" for outcome, count in findings.outcomes.most_common(8))
    print(f"{name}: {total:,} cases: {counts}; slowest {findings.slowest[0]:.2f} s (case {findings.slowest[1]})")
    for number, fault in list(findings.faults.items())[:20]:
        print(f"  FAULT {fault}\n    {shown(number)}\n    {reproduce} --first {number} --count 1")
    return not findings.faults
