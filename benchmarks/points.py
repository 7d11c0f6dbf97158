"""Points of one layer: time and peak memory of `classify`, width by width. `python benchmarks/points.py`.

Weights with entries of one digit, `d' = a = d`; `A` of rank `d / 2`, `V` of full rank. Each point is classified in a
process of its own, which is where its peak memory is measured (NumPy and all else loaded included). With `--against
DIR` the same is asked, in the same run, of the checkout of another release in that folder.
"""

from __future__ import annotations

import sys
from pathlib import Path

from measuring import Figures, answer_of, checkouts, parser

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
    """Return one cell: seconds and peak memory, or why there are none."""
    found = answer_of(ONE, [width], checkout, None, limit)
    if isinstance(found, str):
        return found if found.startswith("over ") else f"refused: {found.partition('estimated')[2].strip()}"
    label, dimension, seconds, peak = found
    return f"{label}, dim M = {dimension:,}: {seconds:.3f} s, {peak / 2**20:,.0f} MiB"


def main() -> int:
    """Print the table."""
    given = parser(__doc__, "largest", "against", "limit", largest=64, limit=120.0).parse_args()
    there = checkouts(given.against)
    title = "classify, one layer, d' = a = d, rk A = d / 2"
    table = Figures(title, "d", *("here", "there")[: len(there)], width=150)
    for width in (w for w in WIDTHS if w <= given.largest):
        table.add(width, *(measure(checkout, width, given.limit) for checkout in there))
    table.show()
    return 0


if __name__ == "__main__":
    sys.exit(main())
