"""How long certified dimensions and symbolic maps take, as ratios to this machine's own dgemm in the same run.

    python benchmarks/dimensions.py [--json FILE]

For a dimension `u` the named limit is the time of `(2/3) u^3` operations, one dense elimination, at the measured rate
of a float64 matrix product. Times are medians; absolute ones drift with the machine, the ratios less so.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from lightning_sym import Architecture, certified_dimension, polynomial_map

DIMENSIONS = [
    (Architecture((4, 4, 4), (2, 2), 3), 15),
    (Architecture((10, 10, 10), (2, 2), 3), 15),
    (Architecture((16, 16, 16, 16), (4, 4, 4), 3), 5),
    (Architecture((24, 24, 24, 24, 24), (8, 8, 8, 8), 3), 3),
]
MAPS = [(Architecture((3, 3), (3,), 3), 9), (Architecture((2, 2, 2), (2, 2), 2), 5)]


def median_seconds(action: Callable[[], object], runs: int) -> float:
    """Median of several runs, after one that is not counted."""
    action()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def dgemm_rate(size: int = 2000) -> float:
    """Float64 operations a second of a matrix product."""
    a = np.random.default_rng(0).random((size, size))
    return 2 * size**3 / median_seconds(lambda: a @ a, 5)


def main() -> int:
    """Print the table; write JSON if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()

    rate = dgemm_rate()
    table = Table(title=f"dgemm here: {rate / 1e9:.0f} GFLOP/s")
    for name in ("network", "parameters", "result", "seconds", "limit (2/3) u^3", "ratio"):
        table.add_column(name, justify="left" if name == "network" else "right")
    rows: list[dict[str, object]] = []
    for network, runs in DIMENSIONS:
        value = certified_dimension(network).value
        assert value is not None
        seconds = median_seconds(lambda network=network: certified_dimension(network), runs)
        limit = 2 / 3 * value**3 / rate
        rows.append({"network": str(network), "parameters": network.parameter_count, "dimension": value,
                     "seconds": seconds, "limit_seconds": limit, "ratio": seconds / limit})  # fmt: skip
        table.add_row(str(network), f"{network.parameter_count:,}", f"dim {value:,}", f"{seconds:.3f}",
                      f"{limit:.2g}", f"{seconds / limit:,.0f}")  # fmt: skip
    for network, runs in MAPS:
        terms = polynomial_map(network).term_count
        seconds = median_seconds(lambda network=network: polynomial_map(network), runs)
        rows.append({"network": str(network), "terms": terms, "seconds": seconds})
        table.add_row(f"phi, {network}", f"{network.parameter_count:,}", f"{terms:,} terms", f"{seconds:.3f}", "", "")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    console = Console(width=120)
    console.print(table)
    console.print(f"peak memory of the whole run: {peak:.2f} GiB")
    if arguments.json:
        document = {"dgemm_operations_per_second": rate, "peak_memory_gib": peak, "rows": rows}
        arguments.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
