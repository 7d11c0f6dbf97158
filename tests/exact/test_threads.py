"""Threads of several callers at once: right answers, a share for each, and BLAS has its own again when all are done."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest

from lightning_sym import Architecture, certified_dimension, threads
from lightning_sym.exact import tiles
from lightning_sym.exact.elimination import echelon_mod_p
from lightning_sym.rings.prime_field import PRIMES

P = PRIMES[0]


class Blas:
    """In place of OpenBLAS: how many threads it uses, and what it was told."""

    def __init__(self) -> None:
        self.number, self.told = 7, list[int]()

    def get(self) -> int:
        return self.number

    def tell(self, number: int) -> None:
        self.number = number
        self.told.append(number)


@pytest.fixture
def blas(monkeypatch: pytest.MonkeyPatch) -> Blas:
    found = Blas()
    monkeypatch.setattr(threads, "_openblas", lambda: (found.get, found.tell))
    monkeypatch.setattr(threads, "cores", lambda: 8)
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    return found


def test_one_caller_has_all_threads(blas: Blas) -> None:
    with threads.threads_of_our_own() as workers:
        assert (workers, blas.number) == (8, 1)
    assert (blas.number, blas.told) == (7, [1, 7])


def test_callers_that_overlap_in_any_order(blas: Blas) -> None:
    first, second, third = (threads.threads_of_our_own() for _ in range(3))
    assert first.__enter__() == 8
    assert second.__enter__() == 4
    first.__exit__(None, None, None)
    assert blas.number == 1  # the second one still works
    assert third.__enter__() == 4
    second.__exit__(None, None, None)
    assert blas.number == 1
    third.__exit__(None, None, None)
    assert (blas.number, blas.told) == (7, [1, 7])
    with ExitStack() as many:
        assert [many.enter_context(threads.threads_of_our_own()) for _ in range(12)][-4:] == [1] * 4
    assert blas.number == 7


def test_an_exception_gives_it_back(blas: Blas) -> None:
    with threads.threads_of_our_own(), pytest.raises(ValueError, match="inner"), threads.threads_of_our_own():
        raise ValueError("inner")
    with pytest.raises(KeyboardInterrupt), threads.threads_of_our_own():
        raise KeyboardInterrupt
    assert blas.number == 7
    with threads.threads_of_our_own() as workers:
        assert workers == 8


def test_a_blas_that_cannot_be_told_keeps_its_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_openblas", lambda: None)
    with threads.threads_of_our_own() as workers, threads.threads_of_our_own() as more:
        assert (workers, more) == (1, 1)


def matrix(rank: int, seed: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    generator = np.random.default_rng(seed)
    left, right = generator.integers(0, 1000, (300, rank)), generator.integers(0, 1000, (rank, 280))
    return left @ right


def test_callers_at_once_find_what_one_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "cores", lambda: 3)
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(tiles, "_TILE", (64, 64))
    monkeypatch.setattr(tiles, "_THREADS_FROM", 0)
    monkeypatch.setattr(tiles, "_SHARED_FROM", 0)
    ranks = [200 + 13 * k for k in range(6)]
    before = None if (blas := threads._openblas()) is None else blas[0]()
    start = Barrier(len(ranks), timeout=60)

    def found(rank: int) -> tuple[int, bool]:
        entries = matrix(rank, rank)
        start.wait()
        pivots = echelon_mod_p(entries, P)
        minor = entries[np.ix_(pivots.pivot_rows, pivots.pivot_columns)]
        return pivots.rank, echelon_mod_p(minor, P).rank == pivots.rank

    with ThreadPoolExecutor(len(ranks)) as pool:
        assert list(pool.map(found, ranks)) == [(rank, True) for rank in ranks]
    if blas is not None:
        assert blas[0]() == before
    network = Architecture((3, 3, 3), (1, 1), 3)
    expected = certified_dimension(network)
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: certified_dimension(network), range(8))) == {expected}


OVERLAP = """
import threading
import numpy
from lightning_sym import threads
threads.cores = lambda: 4
blas = threads._openblas()
if blas is not None:
    get, tell = blas
    tell(3)
    def use():
        for _ in range(200):
            with threads.threads_of_our_own() as workers:
                assert get() == 1 and 1 <= workers <= 4
    users = [threading.Thread(target=use) for _ in range(5)]
    [user.start() for user in users]
    [user.join() for user in users]
    assert (get(), threads._users) == (3, 0), (get(), threads._users)
print("as before")
"""


def test_the_blas_of_this_numpy_is_left_as_it_was() -> None:
    """In a process of its own: the number is one of all of it."""
    environment = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")}
    environment["PYTHONPATH"] = str(Path(__file__).parents[2])
    words = [sys.executable, "-c", OVERLAP]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "as before\n", "")
