"""Exit codes where nobody reads: pipes that close, disks that are full, streams that are not there."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = {
    "cli.py": [sys.executable, str(ROOT / "cli.py")],
    "python -m": [sys.executable, "-m", "lightning_cli"],
    "python -m main": [sys.executable, "-m", "lightning_cli.main"],
}
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT)}
COMMANDS = {  # a command, and its answer
    "same": (["same", "a.json", "b.json"], 1),
    "rejected": (["verify", "nofile.json"], 1),
    "bad input": (["same", "a.json", "nofile.json"], 2),
    "phi": (["phi", "--widths", "2,1", "--ranks", "1", "--tokens", "1"], 0),
    "check": (["check", "equation-9", "--quick"], 0),
    "help": (["--help"], 0),
    "json": (["dimension", "--widths", "2,2", "--ranks", "1", "--tokens", "1", "--json"], 0),
}


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "a.json").write_text('{"Q1": [[1]], "K1": [[1]], "V1": [[1]]}')
    (tmp_path / "b.json").write_text('{"Q1": [[1]], "K1": [[1]], "V1": [[2]]}')
    return tmp_path


def in_shell(here: Path, line: str, program: str = "python -m", buffered: bool = True) -> tuple[int, str]:
    """Exit code of a line with `$P`, the program, in it, and what was said on stderr."""
    environment = ENVIRONMENT | {"P": " ".join(PROGRAMS[program]), "PYTHONUNBUFFERED": "" if buffered else "1"}
    words = ["bash", "-o", "pipefail", "-c", line]
    result = subprocess.run(words, cwd=here, env=environment, stderr=subprocess.PIPE, text=True, check=False)
    return result.returncode, result.stderr


def closed_pipe(here: Path, words: list[str], program: str = "python -m", unbuffered: str = "") -> tuple[int, str]:
    """Exit code and stderr of a command whose reader is gone before it writes."""
    reading, writing = os.pipe()
    os.close(reading)
    environment = ENVIRONMENT | {"PYTHONUNBUFFERED": unbuffered}
    with os.fdopen(writing, "wb") as stdout:
        result = subprocess.run(
            [*PROGRAMS[program], *words], cwd=here, env=environment, stdout=stdout, stderr=subprocess.PIPE, check=False
        )
    return result.returncode, result.stderr.decode()


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_reader_that_is_gone_is_no_answer(here: Path, name: str, unbuffered: str) -> None:
    words, answer = COMMANDS[name]
    code, err = closed_pipe(here, words, unbuffered=unbuffered)
    assert code in {answer, 141} - ({0} if answer else set())
    assert "Traceback" not in err
    assert "Exception" not in err
    assert bool(err) == (answer == 2)


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_way_to_start_it_says_so(here: Path, program: str) -> None:
    assert closed_pipe(here, ["same", "a.json", "b.json"], program)[0] in {1, 141}
    assert in_shell(here, "$P same a.json b.json >/dev/null", program)[0] == 1
    assert in_shell(here, "$P same a.json b.json | true", program)[0] in {1, 141}


@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk_is_bad_input(here: Path, name: str, buffered: bool) -> None:
    words, _ = COMMANDS[name]
    code, err = in_shell(here, f"$P {' '.join(words)} >/dev/full", buffered=buffered)
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith("error: ")
    code, err = in_shell(here, f"$P {' '.join(words)} 1</dev/null", buffered=buffered)  # a stream that is read only
    assert (code, err.count("\n")) == (2, 1)


@pytest.mark.parametrize("closed", [">&-", "2>/dev/full", "2>&-", ">&- 2>&-", ">/dev/null 2>&-"])
@pytest.mark.parametrize("name", ["same", "rejected", "bad input", "json"])
def test_streams_that_are_closed_do_not_change_the_answer(here: Path, name: str, closed: str) -> None:
    words, answer = COMMANDS[name]
    assert in_shell(here, f"$P {' '.join(words)} {closed}")[0] == answer


def test_bad_input_is_two_even_if_nobody_hears_it(here: Path) -> None:
    for redirected in ("2>/dev/full", "2>&-", "2>&1 | true", ">/dev/full 2>&1"):
        assert in_shell(here, f"$P same a.json nofile.json {redirected}")[0] == 2
        assert in_shell(here, f"$P same --unknown {redirected}")[0] == 2
        assert in_shell(here, f"$P {redirected}")[0] == 2


def test_a_certificate_never_replaces_a_device(here: Path) -> None:
    words = "dimension --widths 2,2 --ranks 1 --tokens 2 --certificate"
    os.mkfifo(here / "pipe")
    (here / "link.json").symlink_to("real.json")
    assert in_shell(here, f"$P {words} /dev/null >out")[0] == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert in_shell(here, f"$P {words} /dev/full >out")[0] == 2
    assert in_shell(here, f"timeout 60 cat pipe >copy & $P {words} pipe >out; code=$?; wait; exit $code")[0] == 0
    assert stat.S_ISFIFO((here / "pipe").stat().st_mode)
    assert in_shell(here, f"$P {words} link.json >out")[0] == 0
    assert (here / "link.json").is_symlink()
    assert in_shell(here, f"$P {words} /dev/fd/3 3>third >out")[0] == 0
    texts = {(here / name).read_text() for name in ("copy", "real.json", "third")}
    assert len(texts) == 1
    assert json.loads(texts.pop())["kind"] == "dimension"


def test_an_interrupt_is_130(here: Path) -> None:
    words = [*PROGRAMS["cli.py"], "check"]
    with subprocess.Popen(
        words, cwd=here, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while process.poll() is None and not children.read_text():  # until the checks run; they take a minute
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.strip() == "interrupted"
