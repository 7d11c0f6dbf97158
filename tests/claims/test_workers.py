"""Claims side by side: an interrupt is never lost, and nothing outlives it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from lightning_sym.errors import BadInput
from lightning_sym.processes import interrupts_postponed
from proofs_check import run as workers
from proofs_check.registry import claim_by_id
from proofs_check.run import run_claims

ROOT = Path(__file__).parents[2]


def test_an_interrupt_waits_and_is_raised() -> None:
    reached = []

    def interrupted() -> None:
        with interrupts_postponed():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
            reached.append("the end")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert reached == ["the end"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_without_an_interrupt_nothing_is_raised() -> None:
    with interrupts_postponed():
        pass
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_processes_started_meanwhile_see_no_interrupt() -> None:
    script = "import os, signal; os.kill(os.getpid(), signal.SIGINT); print('unharmed')"
    with interrupts_postponed():
        result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "unharmed\n", "")


def test_an_interrupt_while_the_workers_start_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    start = BaseProcess.start

    def interrupted(self: BaseProcess) -> None:
        start(self)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(BaseProcess, "start", interrupted)
    monkeypatch.setattr(workers, "cores", lambda: 2)
    claims = [claim_by_id("definition-1"), claim_by_id("lemma-3.1")]
    with pytest.raises(KeyboardInterrupt):
        list(run_claims(claims, quick=True))
    assert multiprocessing.active_children() == []


def test_closing_the_iterator_ends_the_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "cores", lambda: 2)
    claims = [claim_by_id(name) for name in ("definition-1", "lemma-3.1", "theorem-3.7", "dimension-all-widths")]
    with closing(run_claims(claims, quick=True)) as found:
        next(found)
    assert multiprocessing.active_children() == []


def test_how_far_they_are_is_told_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "cores", lambda: 2)
    claims = [claim_by_id(name) for name in ("theorem-3.7", "dimension-all-widths")]  # long enough to say something
    told: dict[str, list[int]] = {claim.id: [] for claim in claims}
    results = {r.id: r for r in run_claims(claims, quick=True, progress=lambda name, count: told[name].append(count))}
    assert set(results) == set(told)
    for name, counts in told.items():
        assert counts
        assert counts == sorted(set(counts))
        assert counts[-1] <= results[name].instances


def test_a_worker_that_is_killed_ends_the_run_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it was writing: nobody waits for it."""
    monkeypatch.setattr(workers, "cores", lambda: 2)

    def kill_one(name: str, count: int) -> None:
        for child in multiprocessing.active_children()[:1]:  # what was said before is heard when all have ended, too
            child.kill()

    claims = [claim_by_id(name) for name in ("theorem-3.7", "dimension-all-widths")]
    with pytest.raises(BadInput, match="workers must be left to work, one was ended"):
        list(run_claims(claims, quick=True, progress=kill_one))
    assert multiprocessing.active_children() == []


def test_control_c_is_130_and_one_word() -> None:
    """As on a terminal: the whole group of processes gets it."""
    words = [sys.executable, "-c", "from lightning_cli.main import main; print('here', flush=True); main()", "check"]
    for delay in (0.2, 0.8):
        process = subprocess.Popen(
            words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        assert process.stdout is not None
        process.stdout.readline()  # however long the machine takes to start an interpreter
        time.sleep(delay)
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert (process.returncode, err.splitlines()[-1]) == (130, "interrupted")
        assert "Traceback" not in err


def test_a_worker_never_sees_an_interrupt() -> None:
    """It is blocked from the first moment: what is ended while it starts would say so at length."""
    script = """
from functools import partial
import signal
from lightning_sym.atlas.workers import processes
with processes(1) as submit:
    print(signal.SIGINT in submit(partial(signal.pthread_sigmask, signal.SIG_BLOCK), ()).result())
"""
    found = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout == "True\n"
