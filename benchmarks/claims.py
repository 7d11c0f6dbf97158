"""How long each claim of `lightning-sym check` takes at full size, against another checkout of this project.

    python benchmarks/claims.py --against PATH [--only ID ...] [--rounds 1] [--json FILE]

PATH may be release 0.1.0 (`git worktree add PATH v0.1.0`). Claims that both have are run by both in turn, each in a
process of its own with one thread; times are of the processor, the least of all rounds, in seconds. What a claim checks
may have grown since, so instances are counted too.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from many import ask, start_worker
from rich.console import Console
from rich.table import Table


def answer_timings() -> int:
    """Read ids of claims from standard input, or a question mark for all ids; print answers as JSON."""
    from proofs_check.registry import all_claims
    from proofs_check.run import run_claim

    claims = {claim.id: claim for claim in all_claims()}
    for line in sys.stdin:
        if line.strip() == "?":
            print(json.dumps(list(claims)), flush=True)
            continue
        start = time.process_time()
        found = run_claim(claims[line.strip()], quick=False)
        seconds = time.process_time() - start
        print(json.dumps([seconds, found.instances, found.as_expected]), flush=True)
    return 0


def main() -> int:
    """Run and print; exit 1 if a verdict is not the expected one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, help="the other checkout")
    parser.add_argument("--only", nargs="+", default=[], help="these claims only")
    parser.add_argument("--rounds", type=int, default=1, help="how often each claim is asked of both")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.answer:
        return answer_timings()
    if arguments.against is None or not (arguments.against / "proofs_check" / "__init__.py").is_file():
        print(f"--against must be a checkout of this project, got {arguments.against}", file=sys.stderr)
        return 2

    here = Path(__file__).resolve()
    workers = [start_worker(here, root) for root in (arguments.against.resolve(), here.parents[1])]
    ids: list[list[Any]] = [ask(worker, "?") for worker in workers]
    both = [each for each in ids[1] if each in ids[0] and (not arguments.only or each in arguments.only)]
    if not both:
        print("--only must name claims that both have", file=sys.stderr)
        return 2
    table = Table(title="lightning-sym check at full size, seconds")
    for heading in ("claim", "instances there", "here", "seconds there", "here", "there / here"):
        table.add_column(heading, justify="left" if heading == "claim" else "right")
    rows, expected = [], True
    for each in both:
        found = [[ask(worker, each) for worker in workers] for _ in range(arguments.rounds)]
        there, now = (min(turn[i][0] for turn in found) for i in (0, 1))
        expected = expected and all(answer[2] for turn in found for answer in turn)
        rows.append([each, found[0][0][1], found[0][1][1], there, now])
        table.add_row(each, f"{rows[-1][1]:,}", f"{rows[-1][2]:,}", f"{there:.2f}", f"{now:.2f}", f"{there / now:.2f}")
    for worker in workers:
        worker.communicate()
    there, now = (sum(row[i] for row in rows) for i in (3, 4))
    table.add_row("all of them", "", "", f"{there:.1f}", f"{now:.1f}", f"{there / now:.2f}", style="bold")
    Console(width=120, highlight=False).print(table)
    if arguments.json:
        arguments.json.write_text(json.dumps({"rows": rows, "ratio": there / now}, indent=2) + "\n", encoding="utf-8")
    return 0 if expected else 1


if __name__ == "__main__":
    sys.exit(main())
