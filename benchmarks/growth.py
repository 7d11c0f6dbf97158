"""Time and peak memory of a certified dimension, as the number of parameters grows.

    python benchmarks/growth.py [--smallest 0] [--largest 4000] [--runs 1] [--json FILE] [--picture FILE]
    python benchmarks/growth.py --against DIR [--threads 1 2] [--smallest 0] [--largest 4000] [--runs 1] [--json FILE]

Four layers, four tokens, all widths `d`, attention ranks about `d / 4`: from 128 to 100,880 parameters. Each network
runs in a process of its own, which is where its peak memory is measured (NumPy and all else loaded included). Seconds
are the least of all runs, and so is the time of all cores together, which says more on a machine that is shared.
`--against` runs another checkout, such as one of release 0.1.0, in turn with this one: ratios hold where times do not.
The compiled kernel is used where it is installed (`make kernel`), as the title of the table says.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from measuring import HERE, Figures, answer_of, dgemm_rate, parser, write_json

from lightning_sym import Architecture
from lightning_sym.exact.kernel import STATE

WIDTHS = (4, 6, 8, 11, 16, 22, 32, 45, 64, 91, 130)
DEPTH = TOKENS = 4

Row = dict[str, float]


def family(width: int) -> Architecture:
    """Return the network of this width.

    Example:
        >>> family(91).parameter_count
        49140
    """
    return Architecture((width,) * (DEPTH + 1), (max(2, width // 4),) * DEPTH, TOKENS)


ONE = """
import json, os, resource, sys, time
from lightning_sym import Architecture, certified_dimension
from lightning_sym.errors import LightningError

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

width, depth, tokens = map(int, sys.argv[1:])
small, large = (Architecture((d,) * (depth + 1), (max(2, d // 4),) * depth, tokens) for d in (4, width))
certified_dimension(small)  # what is done once a process
base, memory = peak(), os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
start, used = time.perf_counter(), time.process_time()
try:
    result = certified_dimension(large, memory=memory)
except LightningError as refusal:
    sys.exit(str(refusal))
print(json.dumps({"dimension": result.value, "seconds": time.perf_counter() - start,
                  "processor": time.process_time() - used, "peak": peak(), "base": base}))
"""
"""What the process of its own does: it prints one row as JSON; other releases can do it too."""


def measure(width: int, threads: int | None, checkout: Path = HERE) -> Row | str:
    """Return one row, from a process of its own; or why there is none."""
    found: dict[str, Any] | str = answer_of(ONE, [width, DEPTH, TOKENS], checkout, threads, None)
    return found if isinstance(found, str) else {"parameters": family(width).parameter_count, **found}


def best(rows: list[Row | str]) -> Row | str:
    """Return the least of each figure, or the first reason why there is none."""
    figures = [row for row in rows if not isinstance(row, str)]
    if len(figures) < len(rows):
        return next(row for row in rows if isinstance(row, str))
    return {key: min(row[key] for row in figures) for key in figures[0]}


def compare(widths: list[int], threads: list[int], against: Path, runs: int) -> Figures:
    """Return the table of ratios: this checkout and another one in turn, each with so many threads."""
    pairs_of = ("seconds", "there", "ratio", "all cores", "there", "ratio", "peak", "there")
    title = f"this checkout (compiled kernel: {STATE}) beside {against}"
    table = Figures(title, "parameters", "threads", *pairs_of)
    for width in widths:
        for number in threads:
            pairs = [(measure(width, number), measure(width, number, against)) for _ in range(runs)]
            ours, theirs = (best(list(side)) for side in zip(*pairs, strict=True))
            if isinstance(ours, str) or isinstance(theirs, str):
                reason = ours if isinstance(ours, str) else theirs
                table.console.print(f"not computed: {family(width)}: {reason}", soft_wrap=True)
                continue
            if ours["dimension"] != theirs["dimension"]:
                raise SystemExit(f"{family(width)}: dimension {ours['dimension']} here, {theirs['dimension']} there")
            cells = [f"{ours['parameters']:,}", str(number)]
            for key in ("seconds", "processor"):
                cells += [f"{ours[key]:.3f}", f"{theirs[key]:.3f}", f"{ours[key] / theirs[key]:.2f}"]
            cells += [f"{row['peak'] / 2**30:.2f} GiB" for row in (ours, theirs)]
            table.add(*cells, **ours, threads=number, **{f"{key}_there": value for key, value in theirs.items()})
    return table


def slope(rows: list[Row], key: str) -> float:
    """Return the exponent of the growth over the last decade of parameters: least squares on logarithms."""
    last = [row for row in rows if 10 * row["parameters"] >= rows[-1]["parameters"]]
    x, y = (np.log([row[k] for row in last]) for k in ("parameters", key))
    return float(np.polyfit(x, y, 1)[0])


def draw(rows: list[Row], path: Path) -> None:
    """Draw both curves on logarithmic axes."""
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
    options = parser(__doc__, "largest", "json", "against", largest=4000)
    options.add_argument("--picture", type=Path, help="also draw both curves into this file")
    options.add_argument("--smallest", type=int, default=0, help="no network with fewer parameters")
    options.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="with --against; 1 2 if not said")
    options.add_argument("--runs", type=int, default=1, help="how often; the least time counts")
    given = options.parse_args()
    widths = [d for d in WIDTHS if given.smallest <= family(d).parameter_count <= given.largest]
    if not widths:
        limits = f"{given.smallest} and {given.largest}"
        options.error(f"--smallest and --largest must leave a network of the family, got {limits}")
    if given.against:
        compare(widths, given.threads, given.against.resolve(), given.runs).show(given.json)
        return 0

    rows: list[Row] = []
    refused: dict[str, str] = {}
    for width in widths:
        row = best([measure(width, None) for _ in range(given.runs)])
        if isinstance(row, str):
            refused[str(family(width))] = row
        else:
            rows.append(row | {"width": width})
    rate = dgemm_rate()  # after the rest: a process inherits the peak of the one that started it
    title = f"four layers, widths d, ranks a, four tokens; dgemm: {rate / 1e9:.0f} GFLOP/s; compiled kernel: {STATE}"
    table = Figures(
        title, "d", "a", "parameters", "dimension", "seconds", "x limit (2/3) u^3", "peak GiB", "above start"
    )
    for row in rows:
        row["ratio"] = row["seconds"] / (2 / 3 * row["dimension"] ** 3 / rate)
        network = family(int(row["width"]))
        table.add(
            network.widths[0], network.attention_ranks[0], f"{row['parameters']:,}", f"{row['dimension']:,}",
            f"{row['seconds']:.3f}", f"{row['ratio']:,.1f}", f"{row['peak'] / 2**30:.3f}",
            f"{(row['peak'] - row['base']) / 2**30:.3f}",
        )  # fmt: skip
    table.show()
    for name, reason in refused.items():
        table.console.print(f"not computed: {name}: {reason}", soft_wrap=True)
    slopes = {key: slope(rows, key) for key in ("seconds", "peak")} if len(rows) > 1 else {}
    if slopes:
        table.console.print(f"over the last decade: time ~ P^{slopes['seconds']:.2f}, memory ~ P^{slopes['peak']:.2f}")
    document = {"dgemm_operations_per_second": rate, "rows": rows, "slopes": slopes, "not_computed": refused}
    write_json(given.json, document)
    if given.picture and len(rows) > 1:
        draw(rows, given.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
