"""All attacks, one after the other: what was tried, and that nothing false, no traceback and no excess came out of it.

    PYTHONPATH=. python tests/attack/run_all.py [--scale 1] [--seed 0]

At scale 1: 10,000 damaged files of each kind, 100,000 random command lines, 10,000 pairs of networks, 100,000 random
changes of certificates;
some two hours of one core. Exits with 1 if there was a fault. What the last full run printed stands in
docs/explanation/attacks.md.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ATTACKS = {
    HERE / "damage.py": 10_000,
    HERE / "command_lines.py": 100_000,
    HERE / "same_pairs.py": 10_000,
    HERE.parent / "corpus" / "mutate_certificates.py": 100_000,
}


def main() -> int:
    """Whether any of them found a fault."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="of the numbers of cases")
    parser.add_argument("--seed", type=int, default=0)
    words = parser.parse_args()
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")])}
    failed = []
    for script, count in ATTACKS.items():
        number = str(max(1, round(count * words.scale)))
        print(f"{script.name} --count {number} --seed {words.seed}", flush=True)
        command = [sys.executable, str(script), "--count", number, "--seed", str(words.seed)]
        if subprocess.run(command, env=environment, check=False).returncode:
            failed.append(script.name)
    print(f"faults in {', '.join(failed)}" if failed else "no fault")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
