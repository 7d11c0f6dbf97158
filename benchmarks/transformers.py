"""Random attention-only transformers, all options mixed: how many are certified, and how long it takes.

    python benchmarks/transformers.py [--count 500] [--seed 0] [--narrow]

Prints the undecided ones with both bounds, and a table by kind. `--narrow` draws other networks: small, most with skip
connections, many embedded from one or two rows. There the upper bounds are hardest to attain.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

import numpy as np
from rich.console import Console
from rich.table import Table

from lightning_sym import SOFTMAX, Architecture, certified_dimension

LARGEST = 150
LARGEST_NARROW = 90


def random_transformer(generator: np.random.Generator) -> Architecture:
    """At most `LARGEST` parameters; widths, ranks and heads up to four."""

    def chance(share: float) -> bool:
        return bool(generator.random() < share)

    def size(most: int = 4) -> int:
        return int(generator.integers(1, most + 1))

    while True:
        depth, skip = int(generator.choice([1, 1, 2, 2, 3])), chance(0.4)
        widths = (size(),) * (depth + 1) if skip else tuple(size() for _ in range(depth + 1))
        network = Architecture(
            widths,
            tuple(size() for _ in range(depth)),
            int(generator.choice([1, 2, 2, 3])),
            normalization=SOFTMAX if chance(0.6) else None,
            heads=int(generator.choice([1, 1, 1, 2, 3])),
            value_ranks=tuple(size(3) for _ in range(depth)) if chance(0.5) else None,
            skip=skip,
            causal=chance(0.4),
            embed=size() if chance(0.4) else None,
            unembed=size() if chance(0.4) else None,
        )
        if network.parameter_count <= LARGEST:
            return network


def narrow_transformer(generator: np.random.Generator) -> Architecture:
    """At most `LARGEST_NARROW` parameters; widths, ranks and heads up to three, one or two rows of input."""

    def chance(share: float) -> bool:
        return bool(generator.random() < share)

    def size(most: int) -> int:
        return int(generator.integers(1, most + 1))

    while True:
        depth, skip = int(generator.choice([1, 2, 2, 2, 3])), chance(0.6)
        widths = (size(3),) * (depth + 1) if skip else tuple(size(3) for _ in range(depth + 1))
        network = Architecture(
            widths,
            tuple(size(3) for _ in range(depth)),
            int(generator.choice([1, 2, 2, 3])),
            normalization=SOFTMAX if chance(0.4) else None,
            heads=int(generator.choice([1, 1, 2, 2, 3])),
            value_ranks=tuple(size(2) for _ in range(depth)) if chance(0.6) else None,
            skip=skip,
            causal=chance(0.4),
            embed=size(2) if chance(0.5) else None,
            unembed=size(3) if chance(0.4) else None,
        )
        if network.parameter_count <= LARGEST_NARROW:
            return network


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--narrow", action="store_true")
    arguments = parser.parse_args()

    draw = narrow_transformer if arguments.narrow else random_transformer
    generator = np.random.default_rng(arguments.seed)
    console = Console(width=120, highlight=False)
    total, decided, seconds = Counter[str](), Counter[str](), Counter[str]()
    for _ in range(arguments.count):
        network = draw(generator)
        kind = "softmax" if network.normalization else f"lightning, {'one head' if network.heads == 1 else 'heads'}"
        start = time.perf_counter()
        result = certified_dimension(network)
        seconds[kind] += time.perf_counter() - start
        total[kind] += 1
        if result.value is None:
            console.print(f"undecided, {result.lower} to {result.upper}: {network}")
        else:
            decided[kind] += 1
    table = Table("kind", "networks", "certified", "seconds")
    for kind in sorted(total):
        table.add_row(kind, str(total[kind]), str(decided[kind]), f"{seconds[kind]:.1f}")
    console.print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
