"""Processes that work for this one: they do not outlive it, and an interrupt ends them all."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


def cores() -> int:
    """Return how many processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def follow_parent() -> None:
    """Make a worker end with the program, however that ends."""
    import multiprocessing  # here: most runs have no use for it, and it takes long to load

    parent = multiprocessing.parent_process()

    def follow() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


@contextmanager
def interrupts_postponed() -> Iterator[None]:
    """Let an interrupt wait until the end, where it is raised; processes started meanwhile never see one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came = []
    before = signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    can_block = hasattr(signal, "pthread_sigmask")
    if can_block:
        from multiprocessing import resource_tracker  # started by the first process, it would let interrupts in again

        resource_tracker.ensure_running()
    # what is blocked stays blocked in the processes that are started: an interrupt is for us, we end them
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if can_block else None
    try:
        yield
    finally:
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)  # what was held back arrives here
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)


def kill_children(others: Sequence[object]) -> None:
    """End the processes that this one has started, but for the others, and wait until they are gone."""
    import multiprocessing

    ours = [child for child in multiprocessing.active_children() if child not in others]
    for child in ours:
        child.kill()
    # killed, they end as soon as the machine lets them; asked again and again, because the pool's own thread
    # may have reaped one without having said so yet: then joining returns at once and it still counts as alive
    end = time.monotonic() + 60
    while any(child.is_alive() for child in ours) and time.monotonic() < end:
        time.sleep(0.01)
