"""Ctrl-C while the program is imported: exit code 130 and one word, however it was started."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = "import re, sys; from lightning_cli.__main__ import main; sys.exit(main())"
PROGRAMS = {
    "python -m": ("-m", "lightning_cli"),
    "cli.py": (str(ROOT / "cli.py"),),
    "the console script": ("-c", SCRIPT),
}
INTERRUPTS = {  # what stands in for a package that is imported
    "raised": "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nos.listdir()\n",
    "hidden": "class A:\n    def __set_name__(self, owner, name): raise KeyboardInterrupt\nclass B:\n    a = A()\n",
    "lost": "class A:\n    def __del__(self): raise KeyboardInterrupt\nA()\nimport time\ntime.sleep(60)\n",
}
INTERRUPTS["lost twice"] = (  # a thread that is slow to start
    "import threading, time\nstart = threading.Thread.start\ndef slow(self):\n    threading.Thread.start = start\n"
    "    start(self)\n    time.sleep(60)\nthreading.Thread.start = slow\n" + INTERRUPTS["lost"]
)


def started(program: str, folder: Path) -> tuple[int, str, str]:
    environment = os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}
    words = [sys.executable, *PROGRAMS[program], "--version"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("how", INTERRUPTS)
def test_an_interrupt_while_click_is_imported(program: str, how: str, tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text(INTERRUPTS[how])
    assert started(program, tmp_path) == (130, "", "interrupted\n")


def test_what_else_goes_wrong_is_told(tmp_path: Path) -> None:
    assert started("python -m", tmp_path)[0] == 0
    (tmp_path / "click.py").write_text("class A:\n    def __del__(self): raise OSError('other')\nA()\nraise OSError")
    code, _, err = started("python -m", tmp_path)
    assert code == 1
    assert "Exception ignored in" in err
    assert "OSError: other" in err
    (tmp_path / "click.py").write_text("raise ModuleNotFoundError('no click', name='click')")
    assert started("cli.py", tmp_path)[0] == 2


def test_the_console_script_is_this_function() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["scripts"] == {"lightning-sym": "lightning_cli.__main__:main"}
