"""Do the tests notice? `python scripts/mutate_house.py [--seed N] [--changes N] [--long] [ROOM ...]`.

One token in the body of a function is changed, in a copy of the tracked files: a comparison, an operator, an `and`. The
tests of its room and the examples in its file are then run, the short ones, and with `--long` the others too. A change
that no test notices is printed with its line: a test is missing there, or the change alters nothing (a limit that is a
guess, a size that only saves time).
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ("lightning_sym", "proofs_check", "lightning_cli")
BUILT = {".so", ".pyd", ".dylib"}
CHANGED: dict[type[ast.AST], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}
ELSEWHERE = {"proofs_check/checker/kinds/coefficient/": "coefficients"}
"""Parts of a room whose tests stand in another one, with those of what writes their certificates."""
PYTEST = sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m"
NOTHING_RAN, IN_TIME = 5, 300


@dataclass(frozen=True)
class Change:
    """Bytes from `start` to `end` of a line become `new`."""

    file: str
    line: int
    start: int
    end: int
    new: str

    @property
    def room(self) -> str:
        """The room whose tests are asked: the name of a folder of tests."""
        package, *rest = Path(self.file).parts
        if package != "lightning_sym":
            checker = rest[0] == "checker"
            return "checker" if checker else {"proofs_check": "claims", "lightning_cli": "cli"}[package]
        return rest[0] if len(rest) > 1 and (ROOT / "tests" / rest[0]).is_dir() else "project"

    @property
    def tests(self) -> list[str]:
        """The folders of tests that are asked."""
        others = [room for part, room in ELSEWHERE.items() if self.file.startswith(part)]
        return [f"tests/{room}" for room in (self.room, *others)]

    def made_in(self, text: str) -> str:
        """Return the text with the change made."""
        lines = text.split("\n")
        line = lines[self.line - 1].encode()
        lines[self.line - 1] = (line[: self.start] + self.new.encode() + line[self.end :]).decode()
        return "\n".join(lines)


def changes(file: str, text: str) -> Iterator[Change]:
    """Yield each change of one token between two operands of a line, in the body of a function."""
    lines = text.split("\n")
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    for node in {node for function in functions for node in ast.walk(function)}:
        match node:
            case ast.Compare(left=left, ops=[sign], comparators=[right]):
                pass
            case ast.BinOp(left=left, op=sign, right=right) | ast.BoolOp(op=sign, values=[left, right, *_]):
                pass
            case _:
                continue
        if type(sign) not in CHANGED or left.end_lineno != right.lineno:
            continue
        start, end = left.end_col_offset or 0, right.col_offset
        between = lines[right.lineno - 1].encode()[start:end].decode()
        old, new = CHANGED[type(sign)]
        if old in between:
            yield Change(file, right.lineno, start, end, between.replace(old, new, 1))


def tracked() -> list[str]:
    """Return the names of the files that git tracks, and of what is built from them."""
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True, check=True)  # noqa: S603, S607
    built = (path for package in SOURCE for path in (ROOT / package).rglob("*") if path.suffix in BUILT)
    return [*listed.stdout.splitlines(), *(str(path.relative_to(ROOT)) for path in built)]


def noticed(change: Change, copy: Path, long: bool) -> bool:
    """Return whether a test fails in the copy with the change made; what takes far too long is noticed too."""
    environment = {**os.environ, "PYTHONPATH": str(copy), "OPENBLAS_NUM_THREADS": "1"}
    for which in ("not long", "long") if long else ("not long",):
        words = [*PYTEST, which, change.file, *change.tests]
        try:
            run = subprocess.run(words, cwd=copy, env=environment, capture_output=True, timeout=IN_TIME, check=False)  # noqa: S603
        except subprocess.TimeoutExpired:
            return True
        if run.returncode not in (0, NOTHING_RAN):
            return True
    return False


def main() -> int:
    """Make the changes one by one, and print those that no test noticed, then how many were by rooms."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="which changes are drawn")
    parser.add_argument("--changes", type=int, default=12, help="how many")
    parser.add_argument("--long", action="store_true", help="the long tests of the room as well")
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help="of these rooms only")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mutated-") as folder:
        copy = Path(folder)
        names = [name for name in tracked() if (ROOT / name).is_file()]
        for name in names:
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
        texts = {n: (ROOT / n).read_text(encoding="utf-8") for n in names if n.endswith(".py") and n.startswith(SOURCE)}
        every = sorted(
            (c for name, text in texts.items() for c in changes(name, text)), key=lambda c: (c.file, c.line, c.start)
        )
        every = [change for change in every if not words.rooms or change.room in words.rooms]
        drawn, killed = Counter[str](), Counter[str]()
        for change in random.Random(words.seed).sample(every, min(words.changes, len(every))):
            text = texts[change.file]
            (copy / change.file).write_text(change.made_in(text), encoding="utf-8")
            caught = noticed(change, copy, words.long)
            (copy / change.file).write_text(text, encoding="utf-8")
            drawn[change.room] += 1
            killed[change.room] += caught
            if not caught:
                line = text.split("\n")[change.line - 1].strip()
                print(f"{change.file}:{change.line}: {line}\n    ->{change.new}", flush=True)
    print("".join(f"{room:14}{killed[room]:4} of {drawn[room]}\n" for room in sorted(drawn)), end="")
    print(f"noticed: {killed.total()} of {drawn.total()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
