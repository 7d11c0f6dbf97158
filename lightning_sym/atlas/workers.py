"""Who works: processes of this machine or the workers of a Dask scheduler, and how they are given what to do."""

from __future__ import annotations

import logging
import multiprocessing
import os
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Future,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Lock
from typing import Any, NamedTuple, Protocol, TypeVar

from lightning_sym.errors import BadInput
from lightning_sym.lazy import import_extra
from lightning_sym.processes import follow_parent, interrupts_postponed, kill_children

T = TypeVar("T")
R = TypeVar("R")


class Submit(Protocol):
    """Hands out something to be worked on, and says what will hold the result."""

    def __call__(self, work: Callable[[T], R], things: T, /) -> Future[R]: ...


_AHEAD = 3
"""Batches that wait for each worker."""

_PATIENCE = 30.0
"""Seconds that a cluster may be without workers."""


class Queue(Protocol[T]):
    """What waits to be done, in batches."""

    def batch(self) -> list[T]:
        """Return the next things to do; none where all are handed out."""

    def take_back(self, things: Iterable[T]) -> None:
        """Hand these out again."""


class _News(NamedTuple):
    """What a process says before its answer."""

    said: object


_parent: ContextVar[Connection] = ContextVar("parent")


def tell(news: object) -> None:
    """Say something to the process that waits for the answer: it is given to what `processes` was told to call."""
    _parent.get().send(_News(news))


def _serve(connection: Connection) -> None:
    """Do what comes and send back what it gives, an error too, until nobody sends any more."""
    follow_parent()
    _parent.set(connection)
    with suppress(EOFError, OSError):
        while True:
            work, things = connection.recv()
            try:
                answer = work(things)
            except Exception as error:  # noqa: BLE001 - it is raised in the process that waits
                error.add_note(traceback.format_exc())
                answer = error
            connection.send(answer)


@contextmanager
def processes(workers: int, heard: Callable[[Any], None] = lambda news: None) -> Iterator[Submit]:
    """Yield a function that submits work to processes of this machine, one thread each.

    They are as many as the cores.

    Each has a pipe of its own, which ends with it: a process that is killed leaves nobody waiting.

    Args:
        workers: how many.
        heard: called with what they `tell` while they work, one thing at a time, from another thread.
    """
    context = multiprocessing.get_context("spawn")
    others = multiprocessing.active_children()
    free: SimpleQueue[Connection] = SimpleQueue()
    one_at_a_time = Lock()

    def ask(work: Callable[[T], R], things: T) -> Any:
        connection = free.get()
        try:
            connection.send((work, things))
            while isinstance(answer := connection.recv(), _News):
                with one_at_a_time:
                    heard(answer.said)
        except (EOFError, OSError) as error:
            raise BrokenExecutor("a process was ended") from error
        finally:
            free.put(connection)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def submit(work: Callable[[T], R], things: T, /) -> Future[R]:
        return threads.submit(ask, work, things)

    with ThreadPoolExecutor(workers) as threads:  # each waits for a process
        try:
            with _one_thread_each(), interrupts_postponed():  # all are started here, where no interrupt reaches them
                for _ in range(workers):
                    ours, theirs = context.Pipe()
                    context.Process(target=_serve, args=(theirs,), daemon=True).start()
                    theirs.close()
                    free.put(ours)
            yield submit
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
            kill_children(others)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Let processes that are started meanwhile use one thread for linear algebra."""
    before = os.environ.get("OPENBLAS_NUM_THREADS")
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["OPENBLAS_NUM_THREADS"]
        else:
            os.environ["OPENBLAS_NUM_THREADS"] = before


@contextmanager
def cluster(address: str) -> Iterator[tuple[Submit, int, Callable[[], None]]]:
    """Yield the workers of a Dask scheduler: who hands out, how many they are, and what looks after them.

    Raises:
        MissingExtra: Dask is not installed.
        BadInput: no scheduler answers at the address, or it has no workers.
    """
    with _connected(address) as (client, threads, look):
        # a network is measured once or, if its worker dies, again: rows do not depend on who measures them
        yield client.get_executor(pure=False).submit, threads, look


class Spread(Protocol):
    """Does one thing to each of several, as `map` does: in this process, or wherever there are hands."""

    def __call__(self, work: Callable[[T], R], things: Iterable[T], /) -> Iterable[R]:
        """Return the results, in the order of the things."""


@contextmanager
def spread_over(address: str) -> Iterator[Spread]:
    """Yield what does things side by side by the workers of a Dask scheduler.

    What is done to all things is sent once, and held where it is asked for. If a worker dies, what it was doing is done
    again by another one.

    Raises:
        MissingExtra: Dask is not installed.
        BadInput: no scheduler answers at the address, it has no workers, or they were ended.
    """
    with _connected(address) as (client, _, look):

        def spread(work: Callable[[T], R], things: Iterable[T], /) -> Iterable[R]:
            with warnings.catch_warnings():  # it may be large
                warnings.simplefilter("ignore", UserWarning)
                held = client.submit(_itself, work, pure=False)  # a task, which is done again where its worker dies
            futures = [client.submit(_done, held, thing, pure=False) for thing in things]
            for future in futures:
                yield _waited_for(future, look)

        yield spread


def _itself(work: Callable[[T], R]) -> Callable[[T], R]:
    return work


def _done(work: Callable[[T], R], thing: T) -> R:
    return work(thing)


def _waited_for(future: Future[R], look: Callable[[], None]) -> R:
    """Return what a future holds, and look about once a second while it holds nothing.

    What is done is lost again where its worker dies before it was fetched, so nobody waits without a limit.
    """
    while True:
        with suppress(TimeoutError):
            return future.result(timeout=1)
        look()


@contextmanager
def _connected(address: str) -> Iterator[tuple[Any, int, Callable[[], None]]]:
    """Yield a Dask client, how many threads its workers have, and what is to be called while one waits.

    Raises:
        MissingExtra: Dask is not installed.
        BadInput: no scheduler answers at the address, or it has no workers.
    """
    dask = import_extra("distributed", "cluster", "a Dask cluster")
    with _silent("distributed", "tornado", "asyncio"):  # what they log is said in a line below
        try:
            client = dask.Client(address, timeout=10)
        except Exception as error:
            raise BadInput(f"a Dask scheduler must answer at the address, {address[:60]!r} does not") from error
        with client:
            threads = sum(client.nthreads().values())
            if not threads:
                raise BadInput(f"a Dask scheduler must have workers, the one at {address[:60]!r} has none")
            seen = time.monotonic()

            def look() -> None:
                nonlocal seen
                if client.status != "running":
                    raise OSError("the scheduler went away")
                if client.nthreads():
                    seen = time.monotonic()
                elif time.monotonic() > seen + _PATIENCE:
                    raise BadInput(f"workers must be left to work, there was none for {_PATIENCE:g} s")

            try:
                yield client, threads, look
            except (CancelledError, OSError, dask.KilledWorker) as error:
                raise BadInput("a Dask scheduler and its workers must be left to work, one was ended") from error
            except (ImportError, RuntimeError) as error:
                missing = error if isinstance(error, ImportError) else error.__cause__
                if not isinstance(missing, ImportError):
                    raise
                raise BadInput(f"a Dask scheduler and its workers must have this program: {missing}") from error


@contextmanager
def _silent(*packages: str) -> Iterator[None]:
    """Keep the loggers of packages from writing."""
    names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] in packages]
    loggers = [logging.getLogger(name) for name in {*packages, *names}]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def hand_out(
    submit: Submit,
    workers: int,
    queue: Queue[T],
    work: Callable[[list[T]], list[R]],
    kept: Callable[[list[R]], None],
    look: Callable[[], None] = lambda: None,
) -> None:
    """Hand out batches, a few ahead for each worker, and keep what comes back as it comes.

    Args:
        submit: hands out one batch.
        workers: how many there are.
        queue: what is to be done; what was not done of a batch is given back to it.
        work: does the first things of a batch, one at least, and returns as many results.
        kept: called with results.
        look: called about once a second while nothing comes.

    Raises:
        BadInput: a worker was ended.
    """
    pending: dict[Future[list[R]], list[T]] = {}
    while True:
        try:
            while len(pending) < _AHEAD * workers and (batch := queue.batch()):
                pending[submit(work, batch)] = batch
            if not pending:
                return
            done, _ = wait(pending, timeout=1, return_when=FIRST_COMPLETED)
            if not done:
                look()
            for future in done:
                rows, batch = future.result(), pending.pop(future)
                queue.take_back(batch[len(rows) :])
                kept(rows)
        except BrokenExecutor as error:
            raise BadInput("workers must be left to work, one was ended") from error
