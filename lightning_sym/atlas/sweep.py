"""Many networks, side by side: certified dimensions into an atlas, in any order, each once."""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike

from lightning_sym.arguments import require_arguments
from lightning_sym.atlas.families import Family
from lightning_sym.atlas.store import Atlas, Entry, key_of
from lightning_sym.certificates.dimension import dimension_certificate
from lightning_sym.dimension.certify import certified_dimension
from lightning_sym.display import Lines, Result, latex_words
from lightning_sym.errors import BadInput
from lightning_sym.extras import import_extra
from lightning_sym.limits import DEFAULT_MEMORY, Progress, require_integer, unheard
from lightning_sym.network.architecture import Architecture
from lightning_sym.processes import cores, follow_parent, interrupts_postponed, kill_children

_CHUNK_PARAMETERS, _CHUNK_NETWORKS = 4000, 64
"""Networks that are handed out together: so many parameters or networks. Small ones take a millisecond each."""

_AHEAD = 3
"""Chunks that wait for each worker."""


def measure(networks: list[Architecture], seed: int, memory: int, certificates: bool) -> list[Entry]:
    """The rows of some networks: what a worker does."""
    return [_entry(network, seed, memory, certificates) for network in networks]


def _listed(sizes: Iterable[int]) -> str:
    return ",".join(map(str, sizes))


def _entry(network: Architecture, seed: int, memory: int, certificates: bool) -> Entry:
    start, reason, certificate, result = time.perf_counter(), None, None, None
    try:
        result = certified_dimension(network, seed=seed, memory=memory)
        if certificates and result.value is not None:
            certificate = json.dumps(dimension_certificate(result, memory=memory), separators=(",", ":"))
    except BadInput as error:  # too large, or an option without proof: the row says so
        reason = str(error)
    seconds = time.perf_counter() - start
    formula = None if result is None else result.formula
    agrees = None if result is None else result.formula_agrees
    return Entry(
        network=key_of(network),
        depth=network.depth,
        widths=_listed(network.widths),
        ranks=_listed(network.attention_ranks),
        tokens=network.tokens,
        normalization="none" if network.normalization is None else network.normalization.name,
        mask="causal" if network.causal else "none",
        skip=int(network.skip),
        heads=network.heads,
        value_ranks=None if network.value_ranks is None else _listed(network.value_ranks),
        embed=network.embed,
        unembed=network.unembed,
        parameters=network.parameter_count,
        lower=None if result is None else result.lower,
        upper=None if result is None else result.upper,
        dimension=None if result is None else result.value,
        status="refused" if result is None else result.status.value,
        reason=reason,
        evidence=None if result is None else ",".join(result.upper_evidence),
        formula=None if formula is None or formula.source == "none" else formula.source,
        formula_value=None if formula is None else formula.value,
        formula_applies=None if formula is None else int(formula.applies),
        formula_agrees=None if agrees is None else int(agrees),
        fiber_dimension=None if result is None else result.fiber_dimension,
        seed=seed,
        prime=None if result is None else result.prime,
        inputs=None if result is None else result.rows,
        seconds=seconds,
        certificate=certificate,
    )


@dataclass(frozen=True, eq=False, repr=False)
class Sweep(Result):
    """What a sweep has done.

    Attributes:
        file: the atlas.
        measured: networks that were measured now.
        known: networks of the family that were in the atlas before.
        counts: how many networks of the whole atlas are certified, undecided, refused.
    """

    file: str
    measured: int
    known: int
    counts: dict[str, int]

    def lines(self) -> Lines:
        """As the command `sweep` prints it."""
        now = f"{self.measured:,} networks measured" + (f", {self.known:,} known before" if self.known else "")
        return [
            ("sweep", now),
            ("atlas", f"{self.file}: " + ", ".join(f"{number:,} {status}" for status, number in self.counts.items())),
        ]

    def _latex(self) -> str:
        return latex_words("; ".join(said for _, said in self.lines()))


@contextmanager
def _processes(workers: int) -> Iterator[Executor]:
    """Processes of this machine; one thread each, they are as many as the cores."""
    others = multiprocessing.active_children()
    before = os.environ.get("OPENBLAS_NUM_THREADS")
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    try:
        with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), follow_parent) as pool:
            try:
                with interrupts_postponed():
                    for _ in range(workers):  # all are started here, where no interrupt reaches them
                        pool.submit(measure, [], 0, 0, False)
                yield pool
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                kill_children(others)
                raise
    finally:
        if before is None:
            del os.environ["OPENBLAS_NUM_THREADS"]
        else:
            os.environ["OPENBLAS_NUM_THREADS"] = before


@contextmanager
def _cluster(address: str) -> Iterator[tuple[Executor, int]]:
    """The workers of a Dask scheduler.

    Raises:
        MissingExtra: Dask is not installed.
        BadInput: no scheduler answers at the address, or it has no workers.
    """
    dask = import_extra("distributed", "cluster", "a Dask cluster")
    try:
        client = dask.Client(address, timeout=10)
    except Exception as error:
        raise BadInput(f"a Dask scheduler must answer at the address, {address[:60]!r} does not") from error
    with client:
        threads = sum(client.nthreads().values())
        if not threads:
            raise BadInput(f"a Dask scheduler must have workers, the one at {address[:60]!r} has none")
        # a network is measured once or, if its worker dies, again: rows do not depend on who measures them
        yield client.get_executor(pure=False), threads


def _chunks(networks: Iterable[Architecture]) -> Iterator[list[Architecture]]:
    chunk: list[Architecture] = []
    parameters = 0
    for network in networks:
        chunk.append(network)
        parameters += network.parameter_count
        if parameters >= _CHUNK_PARAMETERS or len(chunk) == _CHUNK_NETWORKS:
            yield chunk
            chunk, parameters = [], 0
    if chunk:
        yield chunk


def _run(
    executor: Executor,
    workers: int,
    chunks: Iterable[list[Architecture]],
    options: tuple[int, int, bool],
    kept: Callable[[list[Entry]], None],
) -> None:
    """Hand out chunks, a few ahead for each worker, and keep what comes back as it comes."""
    pending: set[Future[list[Entry]]] = set()

    def collect() -> None:
        nonlocal pending
        done, pending = wait(pending, return_when=FIRST_COMPLETED)
        for future in done:
            kept(future.result())

    try:
        for chunk in chunks:
            pending.add(executor.submit(measure, chunk, *options))
            if len(pending) >= _AHEAD * workers:
                collect()
        while pending:
            collect()
    except BrokenExecutor as error:
        raise BadInput("workers must be left to work, one was ended; what was measured is in the atlas") from error


def sweep(
    family: Family,
    file: str | PathLike[str],
    *,
    seed: int = 0,
    memory: int = DEFAULT_MEMORY,
    certificates: bool = False,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Certify the dimensions of all networks of a family, side by side, into an atlas.

    A network that the atlas has is not measured again. So a sweep may be ended in any way and begun again, and goes on
    where it was; what the rows say but for the seconds depends on the network and the seed alone.

    Args:
        family: the networks.
        file: the atlas, an SQLite file; new, or one that goes on.
        seed: picks the points of each network; it may change the evidence, never a certified number.
        memory: bytes that one network may take; larger ones are put down as refused.
        certificates: keep a certificate of each certified dimension in its row.
        workers: processes; as many as cores unless said.
        scheduler: the address of a Dask scheduler whose workers are to measure, with this program installed.
        progress: called as `progress(stage, done, total)`.

    Raises:
        BadInput: the file is no atlas, or no scheduler answers.

    Example:
        >>> import tempfile
        >>> family = Family.of({"depth": 1, "widths": "1..2", "ranks": 1, "tokens": 2})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     print(sweep(family, f"{folder}/a.sqlite", workers=1).counts)
        {'certified': 4}
    """
    require_arguments(sweep, locals())
    require_integer(seed, "the seed")
    if workers is not None:
        require_integer(workers, "workers", 1, 1000)
    report = progress or unheard
    total = family.count if family.count is not None else family.grid
    with Atlas(file, write=True) as atlas:
        known = measured = 0

        def new() -> Iterator[Architecture]:
            nonlocal known
            for network in family.networks():
                if network in atlas:
                    known += 1
                else:
                    yield network

        def kept(entries: list[Entry]) -> None:
            nonlocal measured
            atlas.put(entries)
            measured += len(entries)
            report("networks", known + measured, total)

        chunks = _chunks(new())
        if scheduler is not None:
            with _cluster(scheduler) as (executor, threads):
                _run(executor, threads, chunks, (seed, memory, certificates), kept)
        elif (workers or cores()) == 1:
            for chunk in chunks:
                kept(measure(chunk, seed, memory, certificates))
        else:
            with _processes(workers or cores()) as executor:
                _run(executor, workers or cores(), chunks, (seed, memory, certificates), kept)
        return Sweep(os.fspath(file), measured, known, atlas.counts())
