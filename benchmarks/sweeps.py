"""A sweep of many small networks by several processes and by one, in turn: how many times as fast.

    python benchmarks/sweeps.py [--counts 500,5000,20000] [--workers 2] [--rounds 3] [--json FILE]

Both are measured within one run, whole sweeps into new files; times are of the wall, the least of all rounds. A ratio
below one would mean that several processes are slower.
"""

from __future__ import annotations

import sys
import time
from tempfile import TemporaryDirectory

from measuring import Figures, parser

from lightning_sym import Family, sweep

SMALL = {"depth": "1..4", "widths": "1..3", "ranks": "1..3", "tokens": "1..4"}
"""Networks of some tenths of a millisecond each."""


def seconds_of(count: int, workers: int) -> float:
    """Return how long one sweep takes."""
    with TemporaryDirectory() as folder:
        start = time.perf_counter()
        found = sweep(Family.of(SMALL | {"count": count}), f"{folder}/a.sqlite", workers=workers)
        if found.counts != {"certified": count}:
            raise RuntimeError(f"all networks must be certified, got {found.counts}")
        return time.perf_counter() - start


def main() -> int:
    """Run and print."""
    options = parser(__doc__, "rounds", "json", rounds=3)
    options.add_argument("--counts", default="500,5000,20000", help="how many networks, with commas")
    options.add_argument("--workers", type=int, default=2)
    arguments = options.parse_args()
    seconds_of(10, 1)  # what is done once a process
    title, several = f"sweeps, the least of {arguments.rounds} rounds", f"{arguments.workers} processes, s"
    table = Figures(title, "networks", "one process, s", several, "ratio")
    for count in map(int, arguments.counts.split(",")):
        found = [[seconds_of(count, workers) for workers in (1, arguments.workers)] for _ in range(arguments.rounds)]
        one, more = (min(turn[i] for turn in found) for i in (0, 1))
        table.add(
            f"{count:,}", f"{one:.2f}", f"{more:.2f}", f"{one / more:.2f}", networks=count, one=one, more=more,
            workers=arguments.workers, ratio=one / more,
        )  # fmt: skip
    table.show(arguments.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
