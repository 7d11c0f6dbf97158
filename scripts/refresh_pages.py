"""The examples of all pages: run them, and write what they print into the pages. `python scripts/refresh_pages.py`.

In a page a block in the language `console` holds commands behind `$ ` and what they print; a line `...` stands for
lines left out. A block in the language `python` prints nothing, or what the block in the language `text` behind the
word "prints" says. All blocks of a page run one after the other in one folder that holds `examples`. The tests compare;
this script rewrites. Look at the difference before it is committed.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGES = sorted({ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")})

_FENCE = re.compile(r"^(`{3,})([^\n`]*)\n(.*?)^\1\n", flags=re.MULTILINE | re.DOTALL)
_PRINTS = re.compile(r"\nprints\n\n```text\n(.*?)^```\n", flags=re.MULTILINE | re.DOTALL)
LEFT_OUT = "..."
PICTURES = {
    "docs/pictures/figure-1.svg": "lightning-sym figure 1 --output",
    "docs/pictures/figure-3.svg": "lightning-sym figure 3 --output",
    "docs/pictures/dimensions.svg": "lightning-sym figure dimensions --output",
    "docs/pictures/fiber.svg": "lightning-sym figure fiber examples/rank_one.json --output",
    "docs/pictures/poles.svg": "lightning-sym figure poles --output",
    "docs/pictures/roots.svg": "lightning-sym figure roots --output",
    "docs/pictures/singular.svg": "lightning-sym figure singular --output",
    "docs/pictures/calibration.svg": "python examples/calibrate.py --picture examples/calibration/sgld.json "
    "examples/calibration/devinterp.json",
    "docs/pictures/mistake.svg": f"python {shlex.quote(str(ROOT))}/scripts/draw_answer.py answer,explained,checked "
    "different,bias-not-turned same examples/checkpoints/model examples/checkpoints/forgotten_bias",
}
"""Pictures of the pages, and the command that draws them."""


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: its language, its text, and where the text stands."""

    language: str
    text: str
    start: int
    line: int


@dataclass(frozen=True)
class Example:
    """Something that runs, what the page says it prints, and where the page says it."""

    kind: str
    source: str
    printed: str
    start: int
    line: int


def blocks(page: str) -> list[Block]:
    """Return all fenced blocks of a page."""
    return [
        Block(found[2].strip(), found[3], found.start(3), page.count("\n", 0, found.start()) + 1)
        for found in _FENCE.finditer(page)
    ]


def examples(page: str) -> Iterator[Example]:
    """Yield what runs on a page, in order."""
    for block in blocks(page):
        if block.language == "console":
            yield from _commands(block)
        elif block.language == "python":
            output = _PRINTS.match(page, block.start + len(block.text) + len("```\n"))
            end = block.start + len(block.text)
            yield Example(
                "python", block.text, output[1] if output else "", output.start(1) if output else end, block.line
            )


def _commands(block: Block) -> Iterator[Example]:
    """Yield the commands of a console block; a backslash at the end of a line goes on with the next."""
    if not block.text.startswith("$ "):
        raise ValueError(f"line {block.line}: a console block must begin with `$ `")
    for found in re.finditer(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", block.text, flags=re.MULTILINE):
        yield Example("console", found[1].replace("\\\n", " "), found[2], block.start + found.start(2), block.line)


@dataclass
class Session:
    """One reader who types all examples of a page, in a folder of their own."""

    folder: Path
    names: dict[str, object] = field(default_factory=lambda: {"__name__": "__main__"})

    def __post_init__(self) -> None:
        """Link into the folder what a checkout holds."""
        for name in ("examples", "proofs_check"):
            (self.folder / name).symlink_to(ROOT / name)

    def run(self, example: Example) -> str:
        """Return what an example prints on stdout.

        Raises:
            ValueError: it is no command that pages may show.
        """
        with contextlib.chdir(self.folder):
            if example.kind == "python":
                return self._captured(lambda: exec(example.source, self.names))  # noqa: S102 - our own pages
            words = shlex.split(example.source)
            if words[0] == "lightning-sym":
                return self._captured(lambda: self._command(words))
            if words[0] == "python":
                done = subprocess.run([sys.executable, *words[1:]], capture_output=True, text=True, check=False)  # noqa: S603
                return done.stdout
            if words[0] == "cp":
                return str(shutil.copy(words[1], words[2]) and "")
            if words[0] == "cat":
                return "".join(Path(word).read_text(encoding="utf-8") for word in words[1:])
        raise ValueError(f"line {example.line}: pages show lightning-sym, python, cp and cat, not {words[0]!r}")

    @staticmethod
    def _captured(what: Any) -> str:
        stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n")
        with contextlib.redirect_stdout(stream):
            what()
            stream.flush()
            stream.seek(0)
            return stream.read()

    @staticmethod
    def _command(words: list[str]) -> None:
        from lightning_cli.main import main

        old = sys.argv
        sys.argv = words
        try:
            main()
        except SystemExit:
            pass
        finally:
            sys.argv = old


def steady(text: str) -> list[str]:
    """Return lines without the seconds at their ends, which are never the same, nor the spaces before these.

    Example:
        >>> steady("one claim    0.1 s\\n") == steady("one claim   20.3 s")
        True
        >>> steady("network  one") == steady("network    one")
        False
    """
    return [re.sub(r" *\d+\.\d( s| │)$", r" _\1", line.rstrip()) for line in text.rstrip().splitlines()]


def shown(printed: str, found: str) -> str:
    """Return what was found, shortened where the page leaves lines out.

    As many first and last lines as the page has; in the middle the lines that begin with the same words.

    Example:
        >>> shown("...\\nb old\\n...\\nold end\\n", "a 1\\nb 2\\nc 3\\nnew end\\n")
        '...\\nb 2\\n...\\nnew end\\n'
    """
    lines, all_found = printed.splitlines(), found.rstrip("\n").splitlines()
    if LEFT_OUT in lines and all_found:
        first, last = lines.index(LEFT_OUT), len(lines) - 1 - lines[::-1].index(LEFT_OUT)
        tail = len(lines) - 1 - last
        middle = [
            line if line == LEFT_OUT else next((f for f in all_found if f.split(" ")[0] == line.split(" ")[0]), line)
            for line in lines[first : last + 1]
        ]
        all_found = [*all_found[:first], *middle, *all_found[len(all_found) - tail :]]
    return "".join(line.rstrip() + "\n" for line in all_found)


def refreshed(page: str, session: Session) -> str:
    """Return the page with what its examples print now."""
    out, at = [], 0
    for example in examples(page):
        found = session.run(example)
        new = shown(example.printed, found)
        out += [page[at : example.start], example.printed if steady(new) == steady(example.printed) else new]
        at = example.start + len(example.printed)
    return "".join(out) + page[at:]


def drawn(command: str, session: Session, suffix: str) -> bytes:
    """Return the picture that a command draws."""
    file = f"picture{suffix}"
    session.run(Example("console", f"{command} {file}", "", 0, 0))
    return (session.folder / file).read_bytes()


def main() -> None:
    """Rewrite the given pages, or all of them and their pictures."""
    os.environ.pop("COLUMNS", None)
    sys.path.insert(0, str(ROOT))  # this checkout's program, whatever is installed
    for page in [Path(name).resolve() for name in sys.argv[1:]] or PAGES:
        old = page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            new = refreshed(old, Session(Path(folder)))
        if new != old:
            page.write_text(new, encoding="utf-8", newline="\n")
            print(f"changed: {page.relative_to(ROOT)}")
    if sys.argv[1:]:
        return
    for name, command in PICTURES.items():
        picture = ROOT / name
        with tempfile.TemporaryDirectory() as folder:
            content = drawn(command, Session(Path(folder)), picture.suffix)
        if not picture.exists() or picture.read_bytes() != content:
            picture.write_bytes(content)
            print(f"changed: {name}")


if __name__ == "__main__":
    main()
