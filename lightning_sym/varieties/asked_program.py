"""A program that answers questions line by line, as the function that `recover_from_answers` asks.

A question is one line on its standard input: how many digits behind the point are wanted, then the `d_0 t` entries of
`X`, row by row, as finite decimals with blanks between them. The answer is one line on its standard output: the
`d_l t` entries of the output, row by row, each with at least so many digits behind the point. The end of its input is
the end of the questions. The program is ended in any case.
"""

from __future__ import annotations

import os
import queue
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from types import TracebackType

from lightning_sym.arguments import require_arguments, shown
from lightning_sym.errors import BadInput
from lightning_sym.varieties.decimals import exact_decimal

LONGEST_LINE = 2**26
"""Characters of an answer."""

LAST_SAID = 4096
"""Bytes of its standard error that are kept, the last ones."""

DEFAULT_TIMEOUT = 60.0
"""Seconds that an answer may take."""


class AskedProgram:
    """A running program, to be used in a `with` block.

    Args:
        command: the program and its arguments: words, or one text as a shell would take it apart.
        rows: rows of an output.
        timeout: seconds that one answer may take.

    Raises:
        BadInput: the program cannot be started; later: it ends, takes too long, or does not answer with numbers.

    Example:
        >>> code = "for q in map(str.split, iter(input, None)): print('%.*f' % (int(q[0]), float(q[1])), flush=True)"
        >>> with AskedProgram([sys.executable, "-c", code], rows=1) as ask:
        ...     ask(((Fraction(1, 4),),), 3)
        [['0.250']]
    """

    def __init__(self, command: str | Sequence[str], rows: int, timeout: float = DEFAULT_TIMEOUT) -> None:
        require_arguments(AskedProgram.__init__, {**locals(), "self": self})
        if not 0 < timeout < 10**7:
            raise BadInput(f"the timeout must be a positive number of seconds, got {timeout}")
        self.rows, self.timeout = rows, timeout
        try:
            self.words = shlex.split(command) if isinstance(command, str) else list(command)
        except ValueError as error:
            raise BadInput(f"the program must be words as a shell takes them: {error}") from error
        if not self.words or not all(_is_word(word) for word in self.words):
            raise BadInput(f"the program must be at least one word, got {shown(command)}")
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(  # noqa: S603 - what the user says
                self.words, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise BadInput(f"the program {shown(self.words[0])} cannot be started: {reason}") from error
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._answers: queue.Queue[bytes] = queue.Queue()
        self._said, self._ended = b"", False
        self._worker = threading.Thread(target=self._talk, daemon=True)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        for thread in (self._worker, self._listener):
            thread.start()

    def _talk(self) -> None:
        """Write lines and read answers, in a thread that may block as long as the program pleases.

        It is not the thread that looks at the clock.
        """
        source, sink = self._process.stdout, self._process.stdin
        assert source is not None  # noqa: S101 - for the type checker
        assert sink is not None  # noqa: S101 - for the type checker
        while (line := self._lines.get()) is not None:
            with suppress(OSError, ValueError):
                sink.write(line)
                sink.flush()
            try:
                answer = source.readline(LONGEST_LINE)
            except (OSError, ValueError):
                answer = b""
            self._answers.put(answer)

    def _listen(self) -> None:
        """Read the program's standard error, as it waits otherwise; however much it says, keep little."""
        source = self._process.stderr
        assert source is not None  # noqa: S101 - for the type checker
        with suppress(OSError, ValueError):
            while said := os.read(source.fileno(), 2**16):
                self._said = (self._said + said)[-LAST_SAID:]

    def __enter__(self) -> AskedProgram:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.end()

    def __call__(self, x: Sequence[Sequence[Fraction]], digits: int) -> list[list[str]]:
        """Return one question.

        Raises:
            BadInput: the program has ended, or takes too long, or answers with another number of words.
        """
        entries = [exact_decimal(entry) for row in x for entry in row]
        self._lines.put((" ".join([str(digits), *entries]) + "\n").encode())
        try:
            line = self._answers.get(timeout=self.timeout)
        except queue.Empty:
            self.end()
            raise BadInput(f"the program must answer within {self.timeout:g} s (--timeout), it did not") from None
        if not line.endswith(b"\n"):
            raise BadInput(f"the program must answer with a line, {self._end_said(line)}")
        words = line.decode("ascii", "backslashreplace").split()
        columns = len(x[0])
        if len(words) != self.rows * columns:
            some = shown(" ".join(words[:8]))
            raise BadInput(f"an answer must be {self.rows * columns} numbers in a line, got {len(words)}: {some}")
        return [words[k * columns : (k + 1) * columns] for k in range(self.rows)]

    def _end_said(self, line: bytes) -> str:
        """Return why there is no whole line: how the program ended, and the last that it said on its standard error."""
        if len(line) >= LONGEST_LINE:
            return f"got one of more than {LONGEST_LINE:,} characters"
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=1)
        code = self._process.poll()
        if code is not None:
            self._listener.join(timeout=1)
        last = self._said.decode("utf-8", "replace").strip().splitlines()[-1:]
        ended = "it has closed its output" if code is None else f"it has ended with exit code {code}"
        return ended + "".join(f": {shown(text)}" for text in last)

    def end(self) -> None:
        """End the program and all that it has started in its session, if it is still there."""
        if self._ended:
            return
        self._ended = True
        self._lines.put(None)
        with suppress(OSError, ValueError):
            if sys.platform == "win32":
                self._process.kill()
            else:
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        readers = {self._worker: (self._process.stdin, self._process.stdout), self._listener: (self._process.stderr,)}
        for thread, streams in readers.items():
            thread.join(timeout=2)
            for stream in () if thread.is_alive() else streams:  # closing would wait for who still reads
                with suppress(OSError, ValueError):
                    if stream is not None:
                        stream.close()


def _is_word(word: object) -> bool:
    return isinstance(word, str) and "\0" not in word
