"""What commands take for small answers, which is what it takes to start them, against another checkout.

    python benchmarks/starts.py --against CHECKOUT [--rounds 20] [--only dimension]

Processor seconds of whole processes, the least of the rounds, in which the checkouts take turns; everything is compiled
by a first round that does not count. Run with `-S`: what the `.pth` files of an environment load is no part of it. An
exit code stands in place of the seconds where a release has no such command.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
SCRIPT = "from lightning_cli.main import main; main()"

SHAPE = ("--widths", "4,3,2", "--ranks", "2,2", "--tokens", "3")
WEIGHTS = {"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 6]]}
MOVED = {"Q1": [[2, 4]], "K1": [[1, 0]], "V1": [["3/2", 3]]}
CASES = {
    "--help": ("--help",),
    "dimension": ("dimension", *SHAPE),
    "dimension, softmax": ("dimension", *SHAPE, "--normalization", "softmax"),
    "check": ("check", "--quick", "equation-9"),
    "same": ("same", "first.json", "second.json"),
    "fiber": ("fiber", "first.json"),
    "classify": ("classify", "first.json"),
    "phi": ("phi", "--weights", "first.json", "--tokens", "2"),
    "verify": ("verify", "dimension.json"),
}


def started(checkout: Path, words: tuple[str, ...], folder: str) -> tuple[float, int]:
    """Processor seconds and the exit code."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    paths = os.pathsep.join((str(checkout), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
    child = subprocess.Popen(
        [sys.executable, "-S", "-c", SCRIPT, *words],  # as the command that pip installs
        env=kept | {"PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"},
        cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_utime + used.ru_stime, child.returncode


def files(folder: Path) -> None:
    """What the commands are given; the certificate is written by this release."""
    (folder / "first.json").write_text(json.dumps(WEIGHTS))
    (folder / "second.json").write_text(json.dumps(MOVED))
    words = ("dimension", *SHAPE, "--certificate", "dimension.json")
    if started(HERE, words, str(folder))[1]:
        raise SystemExit("the certificate could not be written")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, help="a checkout of another release")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", default="", help="cases with this in their names")
    given = parser.parse_args()
    checkouts = [HERE] + ([given.against.resolve()] if given.against else [])
    with tempfile.TemporaryDirectory() as folder:
        files(Path(folder))
        for name, words in CASES.items():
            if given.only not in name:
                continue
            seconds: list[list[float]] = [[] for _ in checkouts]
            codes = [started(checkout, words, folder)[1] for checkout in checkouts]
            for _ in range(given.rounds):
                for checkout, times in zip(checkouts, seconds, strict=True):
                    times.append(started(checkout, words, folder)[0])
            cells = [f"{min(t):.3f} s" if not c else f"exit {c}" for t, c in zip(seconds, codes, strict=True)]
            ratio = f"{min(seconds[-1]) / min(seconds[0]):.2f} times" if not any(codes) and given.against else ""
            print(f"{name:20}", " | ".join(cells), f"  {ratio}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
