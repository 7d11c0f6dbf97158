"""A side of a comparison: a checkout or a revision, which is asked in processes of its own, or a record of answers."""

from __future__ import annotations

import base64
import gzip
import io
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from states.questions import Corpus

ROOT = Path(__file__).parents[2]
ASKED = Path(__file__).with_name("asked.py")
VERIFY = Path("proofs_check", "checker", "verify.py")
SIDE_BY_SIDE = 500
"""Certificates that one process of a checker judges."""
FORMAT = "lightning-sym/record/1"

Answers = dict[str, str]
"""Answers by question, as text in JSON: they are many, and most are equal."""
Told = Callable[[str], None]
"""Called with each question that is answered."""


class BadSide(Exception):
    """What was given is no checkout, no revision and no record."""


@dataclass(frozen=True)
class Limits:
    """What a process may take: bytes in all, seconds of the processor for one question."""

    memory: int
    seconds: int = 60


@dataclass
class Side:
    """One of the two states."""

    name: str
    checkout: Path | None
    corpus: Corpus | None = None
    answers: Answers = field(default_factory=dict)
    running: set[int] = field(default_factory=set)
    ended: bool = False

    def environment(self) -> dict[str, str]:
        """Return the same environment for every state: its own code first, one thread, no terminal."""
        kept = {key: value for key, value in os.environ.items() if key in ("PATH", "HOME", "TMPDIR", "SYSTEMROOT")}
        one = {"OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8"}
        return kept | one | {"PYTHONPATH": str(self.checkout)}

    def ask(self, group: str, folder: Path, limits: Limits, told: Told) -> None:
        """Ask the items of a group; where a question ends the process, that is its answer, and the others follow.

        Raises:
            BadSide: the program does not start.
        """
        after: list[str] = []
        while not self.ended and (stopped := self._asked_once(folder / group, limits, after, told)):
            question, why = stopped
            self.answers[question] = json.dumps({"stopped": why})
            after = [question]

    def end(self) -> None:
        """Stop asking: nobody waits for the answers any more."""
        self.ended = True
        for process in tuple(self.running):
            os.killpg(process, signal.SIGKILL)

    def _asked_once(self, items: Path, limits: Limits, after: list[str], told: Told) -> tuple[str, str] | None:
        """Ask until all is answered, or until a question ends the process: this one, and how it ended."""
        given = map(str, (ASKED, self.checkout, items, limits.memory, limits.seconds, *after))
        with tempfile.TemporaryFile() as errors, subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-P", *given], stdout=subprocess.PIPE, stderr=errors, env=self.environment(),
            cwd=items.parent, start_new_session=True,
        ) as process:  # fmt: skip
            begun, why = "", ""
            self.running.add(process.pid)
            try:
                for line in _lines(process, 10 * limits.seconds):
                    if line is None:
                        why = f"more than {10 * limits.seconds} s"
                        break
                    question, _, answer = line.decode().partition("\t")
                    begun = "" if answer else json.loads(question)
                    if answer:
                        self.answers[json.loads(question)] = answer
                        told(json.loads(question))
            finally:
                self.running.discard(process.pid)
                if process.poll() is None and (why or sys.exc_info()[0]):
                    os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            errors.seek(0)
            heard = errors.read()[-2000:].decode(errors="replace").strip()
        if self.ended or (process.returncode == 0 and not begun):
            return None
        if not begun:
            raise BadSide(f"{self.name} must be a state that can be asked: {heard}")
        if process.returncode == -signal.SIGPROF:
            why = f"more than {limits.seconds} s of the processor"
        return begun, why or f"ended by {process.returncode}"

    def verdicts(self, documents: dict[str, Any], folder: Path, limits: Limits) -> dict[str, str]:
        """Return what this state's checker, by itself, says of certificates, by their names."""
        assert self.checkout is not None  # noqa: S101 - a record has no checker
        folder.mkdir()
        paths = {str(folder / f"{i}.json"): name for i, name in enumerate(documents)}
        for path, name in paths.items():
            Path(path).write_text(json.dumps(documents[name]), encoding="utf-8")
        said: dict[str, str] = {}
        for i in range(0, len(paths), SIDE_BY_SIDE):
            now = list(paths)[i : i + SIDE_BY_SIDE]
            words = [sys.executable, "-I", "-S", str(self.checkout / VERIFY), *now]
            with suppress(subprocess.TimeoutExpired):
                done = subprocess.run(  # noqa: S603 - our own program
                    words, capture_output=True, text=True, check=False, timeout=10 * limits.seconds,
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limits.memory, limits.memory)),
                )  # fmt: skip
                said |= dict(line.split(": ", 1) for line in done.stdout.splitlines())
        return {name: said.get(path, "nothing was said") for path, name in paths.items()}


def _lines(process: subprocess.Popen[bytes], patience: float) -> Iterator[bytes | None]:
    """Yield the lines of a process as they come; `None` where none comes for too long."""
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    waiting, descriptor = b"", process.stdout.fileno()
    while True:
        if not select.select([descriptor], [], [], patience)[0]:
            yield None
            return
        data = os.read(descriptor, 1 << 16)
        if not data:
            return
        *lines, waiting = (waiting + data).split(b"\n")
        yield from lines


def opened(given: str, folder: Path) -> Side:
    """Return the side that a word names: a folder, a file, or a revision of this project.

    Raises:
        BadSide: it is none of them.
    """
    path = Path(given)
    if path.is_dir():
        if not (path / "lightning_sym" / "__init__.py").is_file():
            raise BadSide(f"a folder must be a checkout of the project, got {given}")
        return Side(given, path.resolve())
    if path.is_file():
        return recorded(path)
    done = subprocess.run(["git", "-C", str(ROOT), "archive", given], capture_output=True, check=False)  # noqa: S603, S607
    if done.returncode:
        raise BadSide(f"a state must be a checkout, a record or a revision, got {given}")
    target = folder / given.replace("/", "-")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(target, filter="data")
    return Side(given, target.resolve())


def write_record(side: Side, path: Path) -> None:
    """Write what was asked and answered, as compressed lines of JSON."""
    assert side.corpus is not None  # noqa: S101 - it was asked
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=6) as file:
        file.write(json.dumps({"format": FORMAT, "state": side.name}) + "\n")
        for name, data in side.corpus.files.items():
            file.write(json.dumps({"file": name, "base64": base64.b64encode(data).decode()}) + "\n")
        for item in side.corpus.items:
            file.write(json.dumps({"item": item}) + "\n")
        for question, answer in side.answers.items():
            file.write(f"{json.dumps(question)}\t{answer}\n")


def recorded(path: Path) -> Side:
    """Return the side that a record holds.

    Raises:
        BadSide: the file is no record, or not whole.
    """
    files, items, answers = {}, [], {}
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            head = json.loads(file.readline())
            if head["format"] != FORMAT:
                raise BadSide(f"a record must have the format {FORMAT}, got {head['format']}")
            for line in file:
                question, _, answer = line.rstrip("\n").partition("\t")
                said = json.loads(question)
                if answer:
                    answers[said] = answer
                elif "file" in said:
                    files[said["file"]] = base64.b64decode(said["base64"])
                else:
                    items.append(said["item"])
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise BadSide(f"a file must be a whole record, got {path}: {error}") from error
    return Side(f"{path} ({head['state']})", None, Corpus(tuple(items), files), answers)
