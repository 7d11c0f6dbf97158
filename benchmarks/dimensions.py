"""How long certified dimensions and symbolic maps take, as ratios to this machine's own dgemm in the same run.

    python benchmarks/dimensions.py [--json FILE]

For a dimension `u` the named limit is the time of `(2/3) u^3` operations, one dense elimination, at the measured rate
of a float64 matrix product. Times are medians; absolute ones drift with the machine, the ratios less so.
"""

from __future__ import annotations

import sys

from measuring import Figures, dgemm_rate, median_seconds, parser, peak

from lightning_sym import Architecture, certified_dimension, polynomial_map

DIMENSIONS = [
    (Architecture((4, 4, 4), (2, 2), 3), 15),
    (Architecture((10, 10, 10), (2, 2), 3), 15),
    (Architecture((16, 16, 16, 16), (4, 4, 4), 3), 5),
    (Architecture((24, 24, 24, 24, 24), (8, 8, 8, 8), 3), 3),
]
MAPS = [(Architecture((3, 3), (3,), 3), 9), (Architecture((2, 2, 2), (2, 2), 2), 5)]


def main() -> int:
    """Print the table; write JSON if asked to."""
    arguments = parser(__doc__, "json").parse_args()
    rate = dgemm_rate()
    title = f"dgemm here: {rate / 1e9:.0f} GFLOP/s"
    table = Figures(title, "network", "parameters", "result", "seconds", "limit (2/3) u^3", "ratio")
    for network, runs in DIMENSIONS:
        value = certified_dimension(network).value
        assert value is not None
        seconds = median_seconds(lambda network=network: certified_dimension(network), runs)
        limit = 2 / 3 * value**3 / rate
        table.add(
            network, f"{network.parameter_count:,}", f"dim {value:,}", f"{seconds:.3f}", f"{limit:.2g}",
            f"{seconds / limit:,.0f}", network=str(network), parameters=network.parameter_count, dimension=value,
            seconds=seconds, limit_seconds=limit, ratio=seconds / limit,
        )  # fmt: skip
    for network, runs in MAPS:
        terms = polynomial_map(network).term_count
        seconds = median_seconds(lambda network=network: polynomial_map(network), runs)
        cells = (f"phi, {network}", f"{network.parameter_count:,}", f"{terms:,} terms", f"{seconds:.3f}")
        table.add(*cells, network=str(network), terms=terms, seconds=seconds)
    gib = peak() / 2**30
    table.show(arguments.json, lambda rows: {"dgemm_operations_per_second": rate, "peak_memory_gib": gib, "rows": rows})
    table.console.print(f"peak memory of the whole run: {gib:.2f} GiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
