"""Many small networks in one process: total time, the slowest ones, the share certified.

    python benchmarks/many.py [--count 1000] [--seed 0] [--profile] [--json FILE]
    python benchmarks/many.py --against PATH [--heads] [--rounds 20] [--json FILE]

Architectures are random and all different, up to six layers and 150 parameters. `--profile` runs them once more and
prints where the time goes.

`--against` compares single calls with another checkout of this project, such as release 0.1.0 (`git worktree add PATH
v0.1.0`): the same networks are asked of both in turn, each in a process of its own with one thread, a new object for
every call; times are of the processor, the least of all rounds.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from lightning_sym import SOFTMAX, Architecture, certified_dimension

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
            result = certified_dimension(Architecture(**options))
        seconds = (time.process_time() - start) / calls
        print(json.dumps([seconds, result.lower, result.upper, result.architecture.parameter_count]), flush=True)
    return 0


def ask(worker: subprocess.Popen[str], name: str) -> list[Any]:
    """One answer of `answer_timings` in another process."""
    if worker.stdin is None or worker.stdout is None:
        raise RuntimeError("the process has no pipes")
    print(name, file=worker.stdin, flush=True)
    if not (line := worker.stdout.readline()):
        raise RuntimeError(f"the process ended with code {worker.wait()}")
    found: list[Any] = json.loads(line)
    return found


def start_worker(script: Path, root: Path) -> subprocess.Popen[str]:
    """A process that answers from the checkout at `root`, with one thread."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(root)}
    command = [sys.executable, str(script), "--answer"]
    return subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)


def compare(other: Path, names: Iterable[str], rounds: int, target: Path | None) -> int:
    """Print ratios to another checkout; exit 1 if an answer differs."""
    if not (other / "lightning_sym" / "__init__.py").is_file():
        print(f"--against must be a checkout of this project, got {other}", file=sys.stderr)
        return 2
    here = Path(__file__).resolve()
    workers = [start_worker(here, root) for root in (other.resolve(), here.parents[1])]
    rows, same = [], True
    table = Table(title=f"one call of certified_dimension, the least of {rounds} rounds")
    for heading in ("network", "parameters", "dimension", "there, ms", "here, ms", "there / here"):
        table.add_column(heading, justify="left" if heading == "network" else "right")
    for name in names:
        found = [[ask(worker, name) for worker in workers] for _ in range(rounds)]
        there, here_seconds = (min(turn[i][0] for turn in found) for i in (0, 1))
        answers = {tuple(answer[1:]) for turn in found for answer in turn}
        same = same and len(answers) == 1
        lower, upper, parameters = min(answers)
        shown = f"{lower}" if lower == upper else f"{lower} to {upper}"
        rows.append({"network": name, "parameters": parameters, "there_milliseconds": 1000 * there,
                     "here_milliseconds": 1000 * here_seconds, "ratio": there / here_seconds})  # fmt: skip
        table.add_row(name, str(parameters), shown if len(answers) == 1 else "differs", f"{1000 * there:.3f}",
                      f"{1000 * here_seconds:.3f}", f"{there / here_seconds:.2f}")  # fmt: skip
    for worker in workers:
        worker.communicate()
    Console(width=120, highlight=False).print(table)
    if target:
        target.write_text(json.dumps({"rounds": rounds, "rows": rows}, indent=2) + "\n", encoding="utf-8")
    return 0 if same else 1


def main() -> int:
    """Run and print; exit 3 if a network stays undecided."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--profile", action="store_true", help="run again and print where the time goes")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--against", type=Path, help="compare single calls with the checkout there")
    parser.add_argument("--heads", action="store_true", help="compare larger networks with four heads")
    parser.add_argument("--rounds", type=int, default=20, help="how often each network is asked of both")
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.answer:
        return answer_timings()
    if arguments.against:
        return compare(arguments.against, HEADS if arguments.heads else COMPARED, arguments.rounds, arguments.json)

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
