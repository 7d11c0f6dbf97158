"""Many networks, side by side: certified dimensions into an atlas, in any order, each once."""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from os import PathLike

from lightning_sym.arguments import require_arguments
from lightning_sym.atlas.families import Family
from lightning_sym.atlas.store import Atlas, Entry, key_of
from lightning_sym.atlas.workers import cluster, hand_out, processes
from lightning_sym.certificates.dimension import dimension_certificate
from lightning_sym.dimension.certify import certified_dimension
from lightning_sym.dimension.search import bytes_needed, degrees_of
from lightning_sym.display import Result
from lightning_sym.errors import BadInput
from lightning_sym.limits import DEFAULT_MEMORY, Progress, require_integer, unheard
from lightning_sym.network.architecture import Architecture
from lightning_sym.processes import cores
from lightning_sym.rings.prime_field import PRIMES

_SLICE = 0.25
"""Seconds of work that are handed out together, and after which rows are written; no network is divided."""

_MOST_TOGETHER = 1000
"""Networks that are handed out together at most."""

_BYTES_A_SECOND = 10**9
"""How much of a Jacobian is made and eliminated in a second, by a rough rate."""

_START = 0.5
"""Seconds of the processor that it takes to start other processes."""


def measure(networks: list[Architecture], seed: int, memory: int, *, certificates: bool) -> list[Entry]:
    """Return the rows of the first of some networks, as many as a slice of time allows, one at least."""
    end = time.monotonic() + _SLICE
    rows: list[Entry] = []
    for network in networks:
        rows.append(_entry(network, seed, memory, certificates=certificates))
        if time.monotonic() > end:
            break
    return rows


def _listed(sizes: Iterable[int]) -> str:
    return ",".join(map(str, sizes))


def _entry(network: Architecture, seed: int, memory: int, *, certificates: bool) -> Entry:
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

    _sentences = (
        (
            "sweep",
            lambda s: f"{s.measured:,} networks measured" + (f", {s.known:,} known before" if s.known else ""),
        ),
        ("atlas", lambda s: f"{s.file}: " + ", ".join(f"{number:,} {status}" for status, number in s.counts.items())),
    )


class _NetworkQueue:
    """Networks that wait, handed out in batches of about one slice of time by a rough rate."""

    def __init__(self, networks: Iterable[Architecture]) -> None:
        self._new, self._back = iter(networks), deque[Architecture]()

    def batch(self) -> list[Architecture]:
        """Return the next networks; none where all are handed out."""
        found: list[Architecture] = []
        seconds = 0.0
        while seconds < _SLICE and len(found) < _MOST_TOGETHER:
            network = self._back.popleft() if self._back else next(self._new, None)
            if network is None:
                break
            found.append(network)
            seconds += rough_seconds(network)
        return found

    def take_back(self, networks: Iterable[Architecture]) -> None:
        """Hand these out again."""
        self._back.extend(networks)


def rough_seconds(network: Architecture) -> float:
    """Return how long a network may take, from the bytes that its first Jacobian may need."""
    size, order = network.parameter_count, degrees_of(network)[0]
    return bytes_needed(network, size + 1, size, order, PRIMES[0]) / _BYTES_A_SECOND


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
        workers: processes; as many as cores unless said. What takes about a second in all is measured in this one.
        scheduler: the address of a Dask scheduler whose workers are to measure, with this program installed.
        progress: called as `progress(stage, done, total)`.

    Raises:
        BadInput: the file is no atlas, cannot be written, is damaged or locked; no scheduler answers, or it or workers
            were ended. What was measured before is in the atlas, and the message says how many networks.

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

        queue, begun = _NetworkQueue(new()), time.monotonic()

        def others_are_worth_it(batch: list[Architecture]) -> bool:
            """Return whether two would save more than it takes to start them, if what comes takes as long as before."""
            left = (total - known - measured) * (time.monotonic() - begun) / max(measured, 1)
            return max(map(rough_seconds, batch)) > _START or (measured > 0 and left > 2 * _START)

        work = partial(measure, seed=seed, memory=memory, certificates=certificates)
        many = workers or cores()
        try:
            if scheduler is not None:
                with cluster(scheduler) as (submit, threads, look):
                    hand_out(submit, threads, queue, work, kept, look)
            while batch := queue.batch():
                if many > 1 and others_are_worth_it(batch):
                    queue.take_back(batch)
                    with processes(many) as submit:
                        hand_out(submit, many, queue, work, kept)
                else:
                    rows = work(batch)
                    queue.take_back(batch[len(rows) :])
                    kept(rows)
        except BadInput as error:
            if not known + measured:
                raise
            raise BadInput(f"{error}; the {known + measured:,} networks measured before are in the atlas") from error
        return Sweep(os.fspath(file), measured, known, atlas.counts())
