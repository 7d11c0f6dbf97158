"""Processor time of the checker for certified dimensions, as the number of parameters grows.

    python benchmarks/verification.py [--largest 3000] [--against verify.py]

The networks of `growth.py`. With another `verify.py`, an older one say, both check the same files in turn; of each the
least of three times is shown.
"""

from __future__ import annotations

import argparse
import runpy
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from growth import WIDTHS, family

from lightning_sym import certified_dimension, dimension_certificate, write_certificate


def seconds(checker: dict[str, Any], path: Path) -> float:
    """Of the processor, to read and check one file."""
    checker["left"][0], checker["room"][0] = checker["STEPS"], checker["ROOM"]
    start = time.process_time()
    checker["check"](checker["read"](str(path)))
    return time.process_time() - start


def main() -> None:
    """Print a line for each network."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=3000, help="no network with more parameters")
    parser.add_argument("--against", type=Path, help="another verify.py")
    arguments = parser.parse_args()
    here = Path(__file__).parents[1] / "proofs_check" / "checker" / "verify.py"
    checkers = [runpy.run_path(str(path)) for path in (here, arguments.against) if path]
    with TemporaryDirectory() as folder:
        for network in (family(width) for width in WIDTHS):
            if network.parameter_count > arguments.largest:
                break
            path = Path(folder) / "dimension.json"
            result = certified_dimension(network)
            write_certificate(path, dimension_certificate(result))
            best = [min(times) for times in zip(*([seconds(c, path) for c in checkers] for _ in range(3)), strict=True)]
            ratio = f", {best[1]:.2f} s, {best[1] / best[0]:.2f} times as long" if best[1:] else ""
            print(f"{network.parameter_count:,} parameters, dimension {result.value:,}: {best[0]:.2f} s{ratio}")


if __name__ == "__main__":
    main()
