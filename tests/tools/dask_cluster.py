"""A Dask scheduler and workers, as one starts them from the shell."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import distributed

ROOT = Path(__file__).parents[2]


class Cluster(NamedTuple):
    """What was started."""

    address: str
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]]


@contextmanager
def cluster(folder: Path, program: Path = ROOT) -> Iterator[Cluster]:
    """A scheduler and two workers that import the program from a folder, once all of them answer."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    dask = [sys.executable, "-m"]
    quiet: dict[str, Any] = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    environment = os.environ | {"PYTHONPATH": str(program)}
    starts = [["distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]]
    starts += [["distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny"]] * 2
    started = [subprocess.Popen([*dask, *words], env=environment, **quiet) for words in starts]
    try:
        _until_there(address)
        yield Cluster(address, started[0], started[1:])
    finally:
        for process in started:
            process.kill()
            process.wait()


def _until_there(address: str) -> None:
    dask: Any = distributed  # it has no types
    end = time.monotonic() + 120
    while time.monotonic() < end:
        try:
            client = dask.Client(address, timeout=5)
        except OSError:
            time.sleep(0.2)
            continue
        with client:
            client.wait_for_workers(2, timeout=60)
        return
    raise TimeoutError("the scheduler did not answer")
