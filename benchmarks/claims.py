"""How long the claims of `lightning-sym check` take at full size, against another checkout of this project.

    python benchmarks/claims.py --against PATH [--only ID ...] [--rounds 1] [--json FILE]

PATH may be release 0.1.0 (`git worktree add PATH v0.1.0`). Claims grow, so what is compared are their parts: those that
both have, under one name, are run by both in turn, each in a process of its own with one thread; times are of the
processor, the least of all rounds, in seconds. Instances are counted, as a part may have grown too; what the other
checkout does not check is counted and timed in columns of its own.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from measuring import Figures, Worker, checkouts, parser, processor, write_json


def answer_timings() -> int:
    """Read `[claim, part]` from standard input, as JSON, or a question mark for all of them; print answers as JSON."""
    from proofs_check.registry import all_claims
    from proofs_check.run import run_part

    parts = {(claim.id, part.name): part for claim in all_claims() for part in claim.parts}
    for line in sys.stdin:
        if line.strip() == "?":
            print(json.dumps(list(parts)), flush=True)
            continue
        part = parts[tuple(json.loads(line))]
        seconds, found = processor(lambda: run_part(part, quick=False))  # noqa: B023 - called at once
        print(json.dumps([seconds, found.instances, found.verdict is part.expected]), flush=True)
    return 0


def measured(there: Worker, here: Worker, only: list[str], rounds: int) -> Iterator[dict[str, Any]]:
    """Yield each part: claim, name, and `[seconds, instances, as expected]` of both checkouts, `there` or `None`."""
    known = {tuple(each) for each in there.ask("?")}
    for claim, part in here.ask("?"):
        if only and claim not in only:
            continue
        question = json.dumps([claim, part])
        workers = (there, here) if (claim, part) in known else (here,)
        turns = [[worker.ask(question) for worker in workers] for _ in range(rounds)]
        best = [[min(turn[i][0] for turn in turns), *turns[0][i][1:]] for i in range(len(workers))]
        yield {"claim": claim, "part": part, "there": best[0] if len(best) == 2 else None, "here": best[-1]}


def main() -> int:
    """Run and print; exit 1 if a verdict is not the expected one."""
    options = parser(__doc__, "against", "rounds", "json")
    options.add_argument("--only", nargs="+", default=[], help="these claims only")
    options.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    arguments = options.parse_args()
    if arguments.answer:
        return answer_timings()
    if arguments.against is None:
        options.error("--against must be a checkout of this project")
    here, there = (Worker(Path(__file__).resolve(), root) for root in checkouts(arguments.against, "proofs_check"))
    rows = list(measured(there, here, arguments.only, arguments.rounds))
    for worker in (here, there):
        worker.end()
    if not rows:
        print("--only must name claims", file=sys.stderr)
        return 2

    table = Figures(
        "lightning-sym check at full size, seconds",
        "claim", "parts", "instances there", "here", "seconds there", "here", "x", "new parts", "seconds",
    )  # fmt: skip
    for claim in [*dict.fromkeys(row["claim"] for row in rows), None]:
        of_claim = [row for row in rows if claim in (row["claim"], None)]
        both, new = [row for row in of_claim if row["there"]], [row for row in of_claim if not row["there"]]
        there, now = (sum(row[side][0] for row in both) for side in ("there", "here"))
        counts = (sum(row[side][1] for row in both) for side in ("there", "here"))
        table.table.add_row(
            claim or "all of them",
            f"{len(both)}",
            *(f"{count:,}" if both else "" for count in counts),
            *((f"{there:.2f}", f"{now:.2f}", f"{there / now:.2f}") if both else ("", "", "")),
            *((f"{len(new)}", f"{sum(row['here'][0] for row in new):.2f}") if new else ("", "")),
            style=None if claim else "bold",
        )
    table.show()
    write_json(arguments.json, rows)
    return 0 if all(side is None or side[2] for row in rows for side in (row["there"], row["here"])) else 1


if __name__ == "__main__":
    sys.exit(main())
