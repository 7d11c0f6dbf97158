"""Processor time of the checker for certified dimensions, as the number of parameters grows.

    python benchmarks/verification.py [--largest 3000] [--against verify.py] [--odd]

The networks of `growth.py`. Certificates of large ones are modulo 2; with `--odd` all are modulo a prime near 2^22, as
in release 0.1.0. With another `verify.py`, an older one say, both check the same files in turn, where it can read them;
of each the least of three times is shown. `--largest 13000` takes two minutes.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from unittest import mock

from growth import WIDTHS, family
from measuring import parser, processor

from lightning_sym import certified_dimension, dimension_certificate, write_certificate
from lightning_sym.certificates import dimension


def checker(path: Path, name: str) -> ModuleType:
    """Return a `verify.py`, as a module of its own."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} must be a Python file")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def processor_seconds(module: ModuleType, path: Path) -> float | None:
    """Return the processor's seconds to read and check one file; `None` if it is rejected."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        spent, _ = processor(lambda: module.main([str(path)]))
    return spent if ": proved: " in said.getvalue() else None


def main() -> None:
    """Print a line for each network."""
    options = parser(__doc__, "largest", "against", largest=3000)
    options.add_argument("--odd", action="store_true", help="certificates modulo a prime near 2^22 only")
    arguments = options.parse_args()
    here = Path(__file__).parents[1] / "proofs_check" / "checker" / "verify.py"
    paths = [here] + [arguments.against] * bool(arguments.against)
    checkers = [checker(path, f"checker_{k}") for k, path in enumerate(paths)]
    least = 10**9 if arguments.odd else dimension.SMALLEST_RANK
    with TemporaryDirectory() as folder, mock.patch.object(dimension, "SMALLEST_RANK", least):
        for network in (family(width) for width in WIDTHS if family(width).parameter_count <= arguments.largest):
            path, result = Path(folder) / "dimension.json", certified_dimension(network)
            start = time.process_time()
            document = dimension_certificate(result)
            write_certificate(path, document)
            made = time.process_time() - start
            times = [[processor_seconds(module, path) for module in checkers] for _ in range(3)]
            best = [min((x for x in each if x is not None), default=None) for each in zip(*times, strict=True)]
            if best[0] is None:
                raise SystemExit(f"the certificate of {network} was rejected")
            prime, size = document["lower_bound"]["prime"], path.stat().st_size
            other = "".join(
                ", not read there" if x is None else f"; {x:.3f} s, {x / best[0]:.2f} times as long" for x in best[1:]
            )
            print(
                f"{network.parameter_count:,} parameters, dimension {result.value:,}, modulo {prime:,}: written in "
                f"{made:.1f} s, {size / 1e6:.2f} MB; checked in {best[0]:.3f} s{other}",
                flush=True,
            )


if __name__ == "__main__":
    main()
