"""Processes and threads that work for this process: they do not outlive it, and an interrupt ends them all."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

A = TypeVar("A")
B = TypeVar("B")


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads() -> int:
    """How many threads may work at once: as many as the BLAS beside them, which asks the same variables.

    So workers that are as many as the cores, and told to use one thread each, start none of ours either.
    """
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        if (asked := os.environ.get(name, "")).isdecimal() and int(asked) > 0:
            return min(int(asked), cores())
    return cores()


def in_threads(work: Callable[[A], B], items: Sequence[A]) -> Iterator[B]:
    """Results in the order of the items, on all cores; for one item, or one core, without any thread.

    An exception, or an interrupt, ends it when the items that were begun are done.

    Example:
        >>> list(in_threads(lambda x: x * x, [1, 2, 3]))
        [1, 4, 9]
    """
    if (workers := min(threads(), len(items))) < 2:
        yield from map(work, items)
        return
    from concurrent.futures import ThreadPoolExecutor  # here: most runs have no use for it, and it takes long to load

    with ThreadPoolExecutor(workers) as pool:
        try:
            left = iter(items)
            begun = deque(pool.submit(work, item) for item in islice(left, 2 * workers))
            while begun:
                yield begun.popleft().result()
                begun.extend(pool.submit(work, item) for item in islice(left, 1))
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def follow_parent() -> None:
    """For a worker: it does not outlive the program, however that ends."""
    import multiprocessing

    parent = multiprocessing.parent_process()

    def follow() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


@contextmanager
def interrupts_postponed() -> Iterator[None]:
    """An interrupt waits until the end, where it is raised; processes started meanwhile never see one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came = []
    before = signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    can_block = hasattr(signal, "pthread_sigmask")
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


def kill_children(others: Sequence[Any]) -> None:
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
