"""Many small networks in one process: total time, the slowest ones, the share certified.

    python benchmarks/many.py [--count 1000] [--seed 0] [--profile] [--json FILE]

Architectures are random and all different, up to six layers and 150 parameters. `--profile` runs them once more and
prints where the time goes.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import sys
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from lightning_sym import Architecture, certified_dimension

LARGEST = 150
SLOWEST = 8
PROFILED = 25


def random_networks(count: int, seed: int) -> list[Architecture]:
    """Different architectures of at most `LARGEST` parameters, shallow and wide as well as deep and narrow."""
    generator = np.random.default_rng(seed)
    found: dict[Architecture, None] = {}
    while len(found) < count:
        depth = int(generator.integers(1, 7))
        widest = int(generator.integers(1, 10))  # one size for all layers: deep networks would be refused otherwise
        widths = tuple(int(d) for d in generator.integers(1, widest + 1, size=depth + 1))
        ranks = tuple(int(a) for a in generator.integers(1, widest + 1, size=depth))
        network = Architecture(widths, ranks, int(generator.integers(1, 5)))
        if network.parameter_count <= LARGEST:
            found[network] = None
    return list(found)


def main() -> int:
    """Run and print; exit 3 if a network stays undecided."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--profile", action="store_true", help="run again and print where the time goes")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()

    networks = random_networks(arguments.count, arguments.seed)
    certified_dimension(networks[0])  # what is done once a process
    rows = []
    for network in networks:
        start = time.perf_counter()
        result = certified_dimension(network)
        rows.append((time.perf_counter() - start, network, result))
    total = sum(seconds for seconds, _, _ in rows)
    undecided = [(network, result) for _, network, result in rows if result.value is None]

    console = Console(width=120, highlight=False)
    table = Table(title=f"the slowest of {len(rows):,} networks")
    for name in ("network", "parameters", "dimension", "milliseconds"):
        table.add_column(name, justify="left" if name == "network" else "right")
    rows.sort(key=lambda row: -row[0])
    for seconds, network, result in rows[:SLOWEST]:
        value = f"{result.lower} to {result.upper}" if result.value is None else str(result.value)
        table.add_row(str(network), str(network.parameter_count), value, f"{1000 * seconds:.1f}")
    console.print(table)
    for network, result in undecided:
        console.print(f"undecided, {result.lower} to {result.upper}: {network}")
    largest = max(network.parameter_count for network in networks)
    median = 1000 * rows[len(rows) // 2][0]
    share = 1 - len(undecided) / len(rows)
    console.print(
        f"{len(rows):,} networks, up to {largest} parameters: {total:.2f} s, median {median:.1f} ms, "
        f"certified {100 * share:g} %"
    )
    if arguments.profile:
        profile = cProfile.Profile()
        profile.enable()
        for network in networks:
            certified_dimension(network)
        profile.disable()
        pstats.Stats(profile).sort_stats("tottime").print_stats(PROFILED)
    if arguments.json:
        document = {
            "networks": len(rows), "largest_parameter_count": largest, "seconds": total, "median_milliseconds": median,
            "certified": len(rows) - len(undecided), "undecided": [str(network) for network, _ in undecided],
            "slowest": [{"network": str(n), "milliseconds": 1000 * s} for s, n, _ in rows[:SLOWEST]],
        }  # fmt: skip
        arguments.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 3 if undecided else 0


if __name__ == "__main__":
    sys.exit(main())
