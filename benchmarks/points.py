"""Points of one layer: time and peak memory of `classify`, width by width. `python benchmarks/points.py`.

Weights with entries of one digit, `d' = a = d`; `A` of rank `d / 2`, `V` of full rank. Each point is classified in a
process of its own, which is where its peak memory is measured (NumPy and all else loaded included). With `--other DIR`
the same is asked, in the same run, of the checkout of another release in that folder.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parents[1]
WIDTHS = (4, 8, 12, 16, 32, 64, 100)

ONE = """
import json, resource, sys, time
from lightning_sym import Architecture, Weights, classify
d = int(sys.argv[1])
network = Architecture((d, d), (d,), 2)
weights = Weights.random(network, seed=1, bound=9, attention_matrix_ranks=[d // 2], value_ranks=[d])
start = time.perf_counter()
point = classify(weights)
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(json.dumps([point.labels[0].value, point.dimension.value, seconds, peak]))
"""


def measure(checkout: Path, width: int, limit: float) -> str:
    """One cell: seconds and peak memory, or why there are none."""
    environment = os.environ | {"PYTHONPATH": str(checkout)}
    words = [sys.executable, "-c", ONE, str(width)]
    try:
        done = subprocess.run(
            words, env=environment, capture_output=True, text=True, timeout=limit, check=False, cwd=checkout
        )
    except subprocess.TimeoutExpired:
        return f"over {limit:g} s"
    if done.returncode:
        return f"refused: {(done.stderr.strip().splitlines() or ['?'])[-1].partition('estimated')[2].strip()}"
    label, dimension, seconds, peak = json.loads(done.stdout)
    return f"{label}, dim M = {dimension:,}: {seconds:.3f} s, {peak / 2**20:,.0f} MiB"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=64, help="no layer wider than this")
    parser.add_argument("--other", type=Path, help="the checkout of another release")
    parser.add_argument("--limit", type=float, default=120, help="seconds for each point")
    arguments = parser.parse_args()
    if arguments.other is not None and not (arguments.other / "lightning_sym").is_dir():
        parser.error(f"--other must be a checkout with a folder lightning_sym, got {arguments.other}")
    checkouts = {"here": HERE} | ({} if arguments.other is None else {arguments.other.name: arguments.other.resolve()})
    table = Table(title="classify, one layer, d' = a = d, rk A = d / 2")
    for name in ("d", *checkouts):
        table.add_column(name, justify="right")
    for width in (w for w in WIDTHS if w <= arguments.largest):
        table.add_row(str(width), *(measure(checkout, width, arguments.limit) for checkout in checkouts.values()))
    Console(width=150, highlight=False).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
