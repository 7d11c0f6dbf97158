"""Threads of this process that share large work in arrays: NumPy lets them run side by side."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import islice
from typing import TypeVar

from lightning_sym.processes import cores

A = TypeVar("A")
B = TypeVar("B")


def threads() -> int:
    """Return how many threads may work at once: as many as those of BLAS, which reads the same variables.

    So workers that are as many as the cores, and are told to use one thread each, start none of ours either.
    """
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        if (asked := os.environ.get(name, "")).isdecimal() and int(asked) > 0:
            return min(int(asked), cores())
    return cores()


def in_threads(work: Callable[[A], B], items: Sequence[A], workers: int) -> Iterator[B]:
    """Yield results in the order of the items; for one item, or one worker, without any thread.

    An exception, or an interrupt, ends it when the items that were begun are done.

    Example:
        >>> list(in_threads(lambda x: x * x, [1, 2, 3], 2))
        [1, 4, 9]
    """
    if min(workers, len(items)) < 2:
        yield from map(work, items)
        return
    from concurrent.futures import ThreadPoolExecutor  # here: most runs have no use for it, and it takes long to load

    with ThreadPoolExecutor(min(workers, len(items))) as pool:
        try:
            left = iter(items)
            begun = deque(pool.submit(work, item) for item in islice(left, 2 * workers))
            while begun:
                yield begun.popleft().result()
                begun.extend(pool.submit(work, item) for item in islice(left, 1))
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


@cache
def _openblas() -> tuple[Callable[[], int], Callable[[int], object]] | None:
    """Return how many threads the OpenBLAS that NumPy has loaded uses, and how to tell it; `None` for another BLAS."""
    import ctypes

    for module in ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath"):
        path = getattr(sys.modules.get(module), "__file__", None)
        if path is None:
            continue
        try:
            library = ctypes.CDLL(path)  # loaded already: names are looked up in what it depends on, too
        except OSError:
            return None
        for before in ("scipy_openblas", "openblas"):
            for behind in ("64_", ""):
                get = getattr(library, f"{before}_get_num_threads{behind}", None)
                tell = getattr(library, f"{before}_set_num_threads{behind}", None)
                if get is not None and tell is not None:
                    return get, tell
    return None


_lock = threading.Lock()
_users, _before = 0, 1


@contextmanager
def threads_of_our_own() -> Iterator[int]:
    """Yield how many threads to start, while BLAS uses one only: threads of both would wait for each other.

    One, where BLAS is one that cannot be told: it keeps its own. Callers at the same time get a share each, the second
    one half; when the last of them is done, BLAS uses as many threads as before the first.
    """
    global _users, _before
    blas = _openblas() if threads() > 1 else None
    if blas is None:
        yield 1
        return
    get, tell = blas
    with _lock:
        if not _users:
            _before = get()
            tell(1)
        _users += 1
        share = max(1, threads() // _users)
    try:
        yield share
    finally:
        with _lock:
            _users -= 1
            if not _users:
                tell(_before)
