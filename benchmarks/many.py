"""Many small networks in one process: total time, the slowest ones, how many of each kind are certified.

    python benchmarks/many.py [--kind plain] [--count 1000] [--seed 0] [--profile] [--json FILE]
    python benchmarks/many.py --against PATH [--heads] [--rounds 20] [--json FILE]

Kinds are `plain`, all different, up to six layers and 150 parameters; `transformers`, all options mixed; `narrow`,
small transformers, where the upper bounds are hardest to attain. Undecided ones are printed with both bounds.
`--profile` runs them once more and prints where the time goes.

`--against` compares single calls with another checkout of this project, such as release 0.1.0 (`git worktree add PATH
v0.1.0`): the same networks are asked of both in turn, each in a process of its own with one thread, a new object for
every call; times are of the processor, the least of all rounds.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import drawn
from measuring import Figures, Worker, checkouts, parser

from lightning_sym import SOFTMAX, Architecture, certified_dimension

SLOWEST = 8
PROFILED = 25

COMPARED: dict[str, dict[str, Any]] = {
    "P = 20": {"widths": (2, 2, 2), "attention_ranks": (2, 1)},
    "P = 40": {"widths": (4, 4), "attention_ranks": (3,)},
    "P = 64": {"widths": (4, 4, 4), "attention_ranks": (2, 2)},
    "P = 100": {"widths": (5, 5, 5), "attention_ranks": (2, 3)},
    "P = 140": {"widths": (5, 5, 5), "attention_ranks": (4, 5)},
    "softmax": {"widths": (4, 4, 4), "attention_ranks": (2, 2), "normalization": True},
    "causal": {"widths": (3, 3, 3), "attention_ranks": (2, 2), "causal": True},
    "skip": {"widths": (4, 4, 4), "attention_ranks": (2, 2), "skip": True},
    "two heads": {"widths": (4, 4), "attention_ranks": (2,), "heads": 2},
    "output projections": {"widths": (3, 3, 3), "attention_ranks": (1, 1), "heads": 2, "value_ranks": (2, 2)},
    "embeddings": {"widths": (3, 3, 3), "attention_ranks": (2, 2), "embed": 4, "unembed": 4},
    "softmax, skip, two heads": {
        "widths": (3, 3, 3), "attention_ranks": (1, 1), "normalization": True, "skip": True, "heads": 2
    },
}  # fmt: skip
"""What `--against` asks for, all of three tokens; `normalization` stands for softmax."""

HEADS: dict[str, dict[str, Any]] = {
    "6, no projections": {"widths": (6, 6), "attention_ranks": (3,)},
    "8 to 1": {"widths": (8, 1), "attention_ranks": (5,)},
    "8": {"widths": (8, 8), "attention_ranks": (4,), "value_ranks": (4,)},
    "8, 8, skip": {"widths": (8,) * 3, "attention_ranks": (2, 2), "value_ranks": (2, 2), "skip": True},
    "12, 12, skip": {"widths": (12,) * 3, "attention_ranks": (3, 3), "value_ranks": (3, 3), "skip": True},
    "16, 16, skip": {"widths": (16,) * 3, "attention_ranks": (4, 4), "value_ranks": (4, 4), "skip": True},
}
"""What `--against --heads` asks for: lightning, four heads, three tokens."""

WARM_CALLS, CALLS = 3, 12


def answer_timings() -> int:
    """Read names of `COMPARED` and `HEADS` from standard input; print seconds a call, and what the answer is."""
    for line in sys.stdin:
        name = line.strip()
        options = dict(COMPARED[name] if name in COMPARED else HEADS[name] | {"heads": 4}, tokens=3)
        if "normalization" in options:
            options["normalization"] = SOFTMAX
        warm, calls = (WARM_CALLS, CALLS) if name in COMPARED else (0, 1)
        for _ in range(warm):
            certified_dimension(Architecture(**options))
        start = time.process_time()
        for _ in range(calls):
            found = certified_dimension(Architecture(**options))
        seconds = time.process_time() - start
        print(json.dumps([seconds / calls, found.lower, found.upper, found.architecture.parameter_count]), flush=True)
    return 0


def compare(other: Path, names: Iterable[str], rounds: int, target: Path | None) -> int:
    """Print ratios to another checkout; exit 1 if an answer differs."""
    here, there = (Worker(Path(__file__).resolve(), checkout) for checkout in checkouts(other))
    same, title = True, f"one call of certified_dimension, the least of {rounds} rounds"
    table = Figures(title, "network", "parameters", "dimension", "there, ms", "here, ms", "there / here")
    for name in names:
        found = [[worker.ask(name) for worker in (there, here)] for _ in range(rounds)]
        old, new = (1000 * min(turn[i][0] for turn in found) for i in (0, 1))
        answers = {tuple(answer[1:]) for turn in found for answer in turn}
        same = same and len(answers) == 1
        lower, upper, parameters = min(answers)
        shown = _bounds(lower, upper) if len(answers) == 1 else "differs"
        table.add(
            name, parameters, shown, f"{old:.3f}", f"{new:.3f}", f"{old / new:.2f}", network=name,
            parameters=parameters, there_milliseconds=old, here_milliseconds=new, ratio=old / new,
        )  # fmt: skip
    for worker in (here, there):
        worker.end()
    table.show(target, lambda rows: {"rounds": rounds, "rows": rows})
    return 0 if same else 1


def _bounds(lower: int, upper: int) -> str:
    return str(lower) if lower == upper else f"{lower} to {upper}"


def _kind(network: Architecture) -> str:
    """Return how the network is counted."""
    return "softmax" if network.normalization else f"lightning, {'one head' if network.heads == 1 else 'heads'}"


def measure(networks: list[Architecture], target: Path | None) -> int:
    """Print the slowest networks, the undecided ones, and a table by kind; 3 if a network stays undecided."""
    certified_dimension(networks[0])  # what is done once a process
    rows = []
    for network in networks:
        start = time.perf_counter()
        result = certified_dimension(network)
        rows.append((time.perf_counter() - start, network, result))
    rows.sort(key=lambda row: -row[0])
    slowest = Figures(f"the slowest of {len(rows):,} networks", "network", "parameters", "dimension", "milliseconds")
    for seconds, network, result in rows[:SLOWEST]:
        shown, each = _bounds(result.lower, result.upper), 1000 * seconds
        slowest.add(network, network.parameter_count, shown, f"{each:.1f}", network=str(network), milliseconds=each)
    slowest.show()
    undecided = [(network, result) for _, network, result in rows if result.value is None]
    for network, result in undecided:
        slowest.console.print(f"undecided, {_bounds(result.lower, result.upper)}: {network}")
    kinds: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for seconds, network, result in rows:
        kinds[_kind(network)].append((seconds, result.value is not None))
    table = Figures("by kind", "kind", "networks", "certified", "seconds")
    for kind, found in sorted(kinds.items()):
        total, certified = (sum(column) for column in zip(*found, strict=True))
        table.add(
            kind, len(found), certified, f"{total:.1f}", kind=kind, networks=len(found), certified=certified,
            seconds=total,
        )  # fmt: skip
    seconds, median = sum(row[0] for row in rows), 1000 * rows[len(rows) // 2][0]
    largest = max(network.parameter_count for network in networks)
    table.show(target, lambda kinds: {
        "networks": len(rows), "largest_parameter_count": largest, "seconds": seconds, "median_milliseconds": median,
        "certified": len(rows) - len(undecided), "undecided": [str(network) for network, _ in undecided],
        "slowest": slowest.rows, "kinds": kinds,
    })  # fmt: skip
    table.console.print(
        f"{len(rows):,} networks, up to {largest} parameters: {seconds:.2f} s, median {median:.1f} ms, "
        f"certified {100 * (1 - len(undecided) / len(rows)):g} %"
    )
    return 3 if undecided else 0


def main() -> int:
    """Run and print; exit 3 if a network stays undecided."""
    options = parser(__doc__, "count", "seed", "json", "against", "rounds", count=1000, rounds=20)
    options.add_argument("--kind", choices=drawn.KINDS, default="plain")
    options.add_argument("--profile", action="store_true", help="run again and print where the time goes")
    options.add_argument("--heads", action="store_true", help="compare larger networks with four heads")
    options.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.answer:
        return answer_timings()
    if given.against:
        return compare(given.against, HEADS if given.heads else COMPARED, given.rounds, given.json)
    networks = drawn.networks(given.kind, given.count, given.seed)
    code = measure(networks, given.json)
    if given.profile:
        profile = cProfile.Profile()
        profile.enable()
        for network in networks:
            certified_dimension(network)
        profile.disable()
        pstats.Stats(profile).sort_stats("tottime").print_stats(PROFILED)
    return code


if __name__ == "__main__":
    sys.exit(main())
