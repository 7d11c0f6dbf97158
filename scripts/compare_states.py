"""Two states of the project, asked the same, compared: `python scripts/compare_states.py A B`.

A and B are checkouts, git revisions, or files that `--record` has written. Each is asked in processes of its own, with
its own code and this interpreter, under a limit of memory: every command and every block of Python of the pages, the
examples under each question, random networks, questions that are too large, pairs of checkpoints, certificates, public
names and options. Pages and examples are those of A, or of the record. Every difference is printed; keys and questions
that only B has are reported as new. Differences are forgiven from a list with a reason each. A refusal is an answer,
and so is what a limit ends: a guard that is gone shows.

Exit codes: 0 no difference but those with a reason, 1 differences, 2 bad input.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from states.differences import Difference, Known, cut, differences, known_differences
from states.questions import PARTS, Corpus, corpus
from states.sides import BadSide, Limits, Side, opened, write_record

KNOWN = Path(__file__).with_name("known_differences.toml")
QUICK = 30
"""Networks a kind of `--quick`."""


def ask_corpus(sides: list[Side], shared: Corpus, folder: Path, limits: Limits, workers: int) -> None:
    """Ask the sides that are checkouts all of the corpus, group by group, some groups side by side."""
    shared.written(folder)
    jobs = [(side, group) for group in shared.groups for side in sides if side.checkout is not None]
    began, state = time.monotonic(), {"told": 0.0, "questions": 0, "groups": 0}

    def told(question: str) -> None:
        state["questions"] += 1
        if time.monotonic() - state["told"] > 5:
            state["told"] = time.monotonic()
            groups, minutes = f"{state['groups']:.0f} of {len(jobs)} groups", (state["told"] - began) / 60
            print(f"{minutes:5.1f} min  {groups}, {state['questions']:,.0f} answers  {question}", file=sys.stderr)

    def ask(side: Side, group: str) -> None:
        side.ask(group, folder, limits, told)
        state["groups"] += 1

    with ThreadPoolExecutor(workers) as pool:
        try:
            for each in [pool.submit(ask, side, group) for side, group in jobs]:
                each.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for side in sides:
                side.end()
            raise


def certificate_differences(sides: list[Side], shared: Corpus, folder: Path, limits: Limits) -> Iterator[Difference]:
    """Yield the certificates that some checker judges wrongly: of the corpus, and those that the states have made."""
    states = dict(zip(("first", "second"), sides, strict=True))
    for checker, side in states.items():
        for kind in ("good", "bad"):
            answer = json.loads(side.answers.get(f"certificates/{kind}/1", "{}"))
            said = dict(line.split(": ", 1) for line in answer.get("stdout", "").splitlines())
            for name in (name for name in shared.files if name.startswith(f"certificates/{kind}/")):
                verdict = said.get(name, "nothing is said")
                if not verdict.startswith("proved: " if kind == "good" else "rejected: "):
                    yield Difference(name, "verify", "changed", f"a {kind} certificate", f"{checker}: {verdict}")
        if side.checkout is None:
            print(f"the checker of the {checker} state is not in its record, and judges none that the states have made")
            continue
        for maker, made in states.items():
            documents = {q: json.loads(a) for q, a in made.answers.items() if q.endswith("-certificate")}
            documents = {name: document for name, document in documents.items() if "format" in document}
            for name, verdict in side.verdicts(documents, folder / f"{maker}-{checker}", limits).items():
                if not verdict.startswith("proved: "):
                    yield Difference(name, "verify", "changed", f"made by the {maker}", f"{checker}: {verdict}")


def report(found: list[Difference], known: list[Known], *, every: bool) -> int:
    """Print the differences, alike ones together, and how many reasons were used; the exit code."""
    groups: dict[tuple[str, ...], list[Difference]] = {}
    new = 0
    for each in found:
        if not sum(reason.explains(each) for reason in known):  # of several each one counts
            groups.setdefault(each.group, []).append(each)
    for alike in sorted(groups.values(), key=lambda alike: alike[0].kind == "new"):
        one, more = alike[0], len(alike) - 1
        new += (more + 1) * (one.kind == "new")
        places = [f"{each.question}  {each.where}".rstrip() for each in (alike if every else alike[:1])]
        print(f"{one.kind}: " + "\n         ".join(places) + (f"  and {more} more" if more and not every else ""))
        for mark, text in zip("-+", cut(one.first, one.second), strict=True):
            print("\n".join(f"    {mark} {line}" for line in text.splitlines() or [""]))
    for reason in known:
        told = f"explained: {reason.used}" if reason.used else "unused"
        print(f"{told}: {reason.question}  {reason.where}: {reason.reason}")
    unexplained = sum(len(alike) for alike in groups.values()) - new
    print(f"{unexplained} differences without a reason, {sum(bool(r.used) for r in known)} reasons used, {new} new")
    return 1 if unexplained else 0


def arguments(given: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", metavar="A", help="a checkout, a revision, or a record")
    parser.add_argument("second", metavar="B", nargs="?", help="another one; left out with --record")
    parser.add_argument("--networks", type=int, metavar="N", help="random networks a kind; 1000, with --quick 30")
    parser.add_argument("--quick", action="store_true", help="in about a minute: fewer networks and checkpoints")
    parser.add_argument("--only", action="append", choices=PARTS, help="a part of the questions; can be given again")
    parser.add_argument("--known", type=Path, metavar="FILE", help="known differences; scripts/known_differences.toml")
    parser.add_argument("--memory", type=float, default=3.0, metavar="GIB", help="what a process may take; 3")
    parser.add_argument("--seconds", type=int, default=60, metavar="S", help="of the processor, for a question; 60")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="processes side by side; 2")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write the answers of A, to stand for it later")
    parser.add_argument("--every", action="store_true", help="print each question, also where many differ alike")
    found = parser.parse_args(given)
    if (found.second is None) == (found.record is None):
        parser.error("two states must be given, or one and --record FILE")
    if (
        found.workers < 1
        or found.seconds < 1
        or found.memory <= 0
        or (found.networks is not None and found.networks < 1)
    ):
        parser.error("--networks, --seconds, --workers and --memory must be positive")
    return found


def run(given: argparse.Namespace, folder: Path) -> int:
    """Ask, compare and print; the exit code."""
    known = known_differences(given.known or KNOWN)
    sides = [opened(name, folder) for name in (given.first, given.second) if name]
    shared = next((side.corpus for side in sides if side.corpus), None)
    if any(side.corpus and shared and side.corpus.digest != shared.digest for side in sides):
        raise BadSide("two records must answer the same questions")
    if shared is None:
        assert sides[0].checkout is not None  # noqa: S101 - what has no corpus is a checkout
        count = given.networks or (QUICK if given.quick else 1000)
        shared = corpus(sides[0].checkout, count, tuple(given.only or PARTS), quick=given.quick)
    work = folder / "asked"
    limits = Limits(int(given.memory * 2**30), given.seconds)
    ask_corpus(sides, shared, work, limits, given.workers)
    if given.record:
        sides[0].corpus = shared
        write_record(sides[0], given.record)
        print(f"{len(sides[0].answers):,} answers: {given.record}")
        return 0
    found = [*differences(sides[0].answers, sides[1].answers), *certificate_differences(sides, shared, work, limits)]
    return report(found, known, every=given.every)


def main(given: list[str] | None = None) -> int:
    """Compare two states, or record one; the exit code."""
    options = arguments(given)
    with tempfile.TemporaryDirectory() as folder:
        try:
            return run(options, Path(folder))
        except (BadSide, ValueError, OSError) as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            return 130


if __name__ == "__main__":
    sys.exit(main())
