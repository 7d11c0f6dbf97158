"""Time and peak memory of a certified dimension, as the number of parameters grows.

    python benchmarks/growth.py [--smallest 0] [--largest 4000] [--against CHECKOUT] [--json FILE] [--picture FILE]

Four layers, four tokens, all widths `d`, attention ranks about `d / 4`: from 128 to 100,880 parameters. Each network
runs in a process of its own, which is where its peak memory is measured (NumPy and all else loaded included). It uses
the compiled kernel where that is installed. `--against` measures each network in another checkout too, right before,
with the growth.py that is there, and prints our time and peak memory by those: the last release in one run.

    python benchmarks/growth.py --smallest 49140 --largest 49140 --against ../lightning-sym-0.1.0
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from dimensions import dgemm_rate
from rich.console import Console
from rich.table import Table

from lightning_sym import Architecture, certified_dimension
from lightning_sym.errors import TooLarge
from lightning_sym.exact.kernel import STATE

WIDTHS = (4, 6, 8, 11, 16, 22, 32, 45, 64, 91, 130)
DEPTH = TOKENS = 4

Row = dict[str, float]


def family(width: int) -> Architecture:
    """The network of this width.

    Example:
        >>> family(91).parameter_count
        49140
    """
    return Architecture((width,) * (DEPTH + 1), (max(2, width // 4),) * DEPTH, TOKENS)


def peak_memory() -> int:
    """Bytes this process held at most."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def run_here(width: int) -> None:
    """Print one row as JSON: what the process of its own does."""
    certified_dimension(family(WIDTHS[0]))  # what is done once a process
    base = peak_memory()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    start = time.perf_counter()
    try:
        result = certified_dimension(family(width), memory=memory)
    except TooLarge as refusal:
        sys.exit(str(refusal))
    seconds = time.perf_counter() - start
    print(json.dumps({"dimension": result.value, "seconds": seconds, "peak": peak_memory(), "base": base}))


def measure(width: int, checkout: Path | None = None) -> Row | str:
    """One row, from a process of its own; or why there is none."""
    script, environment = Path(__file__), dict(os.environ)
    if checkout is not None:
        script = checkout.resolve() / "benchmarks" / "growth.py"
        environment["PYTHONPATH"] = str(checkout.resolve())
    command = [sys.executable, str(script), "--one", str(width)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]
    return {"parameters": family(width).parameter_count, **json.loads(done.stdout)}


def slope(rows: list[Row], key: str) -> float:
    """The exponent of the growth over the last decade of parameters: least squares on logarithms."""
    last = [row for row in rows if 10 * row["parameters"] >= rows[-1]["parameters"]]
    x, y = (np.log([row[k] for row in last]) for k in ("parameters", key))
    return float(np.polyfit(x, y, 1)[0])


def draw(rows: list[Row], path: Path) -> None:
    """Both curves on logarithmic axes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import NullFormatter

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for axis, key, unit, scale in zip(
        axes, ("seconds", "peak"), ("seconds", "peak memory, GiB"), (1, 2**30), strict=True
    ):
        axis.loglog(
            [row["parameters"] for row in rows],
            [row[key] / scale for row in rows],
            "o-",
            label=f"slope of the last decade: {slope(rows, key):.2f}",
        )
        axis.xaxis.set_minor_formatter(NullFormatter())  # they would overlap
        axis.set_xlabel("parameters")
        axis.set_ylabel(unit)
        axis.grid(visible=True, which="both", alpha=0.3)
        axis.legend()
    figure.suptitle("certified dimension: four layers, four tokens")
    figure.savefig(path, dpi=150)


def main() -> int:
    """Print the table; write JSON and the picture if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=4000, help="no network with more parameters")
    parser.add_argument("--smallest", type=int, default=0, help="no network with fewer parameters")
    parser.add_argument("--against", type=Path, help="a checkout that is measured too, and compared with")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--picture", type=Path, help="also draw both curves into this file")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        run_here(arguments.one)
        return 0
    widths = [d for d in WIDTHS if arguments.smallest <= family(d).parameter_count <= arguments.largest]
    if not widths:
        counts = ", ".join(str(family(d).parameter_count) for d in WIDTHS)
        parser.error(
            f"one of {counts} must be from --smallest to --largest, got {arguments.smallest} and {arguments.largest}"
        )

    rows: list[Row] = []
    refused: dict[str, str] = {}
    for width in widths:
        other = measure(width, arguments.against) if arguments.against else {}
        row = measure(width)
        if isinstance(row, str) or isinstance(other, str):
            refused[str(family(width))] = row if isinstance(row, str) else f"{arguments.against}: {other}"
        else:
            ratios = {f"{key}_ratio": row[key] / other[key] for key in ("seconds", "peak") if other}
            rows.append(row | {"width": width} | {f"other_{key}": value for key, value in other.items()} | ratios)
    rate = dgemm_rate()  # after the rest: a process inherits the peak of the one that started it

    console = Console(width=120, highlight=False)
    title = f"four layers of width d and ranks a, four tokens; dgemm here: {rate / 1e9:.0f} GFLOP/s; kernel: {STATE}"
    table, compared = Table(title=title), ("their seconds", "GiB", "x time", "x peak") if arguments.against else ()
    names = ("d", "a", "parameters", "dimension", "seconds", "x limit (2/3) u^3", "peak GiB", "above start", *compared)
    for name in names:
        table.add_column(name, justify="right")
    for row in rows:
        row["ratio"] = row["seconds"] / (2 / 3 * row["dimension"] ** 3 / rate)
        network = family(int(row["width"]))
        table.add_row(
            f"{network.widths[0]}", f"{network.attention_ranks[0]}", f"{row['parameters']:,}",
            f"{row['dimension']:,}", f"{row['seconds']:.3f}",
            f"{row['ratio']:,.1f}", f"{row['peak'] / 2**30:.3f}", f"{(row['peak'] - row['base']) / 2**30:.3f}",
            *([f"{row['other_seconds']:.3f}", f"{row['other_peak'] / 2**30:.3f}", f"{row['seconds_ratio']:.2f}",
               f"{row['peak_ratio']:.2f}"] if arguments.against else []),
        )  # fmt: skip
    console.print(table)
    for name, reason in refused.items():
        console.print(f"not computed: {name}: {reason}", soft_wrap=True)
    slopes = {key: slope(rows, key) for key in ("seconds", "peak")} if len(rows) > 1 else {}
    if slopes:
        console.print(f"over the last decade: time ~ P^{slopes['seconds']:.2f}, memory ~ P^{slopes['peak']:.2f}")
    if arguments.json:
        document = {"dgemm_operations_per_second": rate, "rows": rows, "slopes": slopes, "not_computed": refused}
        arguments.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    if arguments.picture and len(rows) > 1:
        draw(rows, arguments.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
