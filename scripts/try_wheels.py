"""Tries wheels that are installed apart, in the folder that is named: everything must come from there, whole.

PYTHONPATH=FOLDER python -P scripts/try_wheels.py FOLDER
"""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import lightning_cli
import lightning_sym
import proofs_check
from lightning_cli.schemas import schema_names
from lightning_cli.writing.live_pages import PAGES, page_text
from lightning_cli.writing.version_answer import kernel_state


def main() -> None:
    """Ask what is installed for its data, and the program for all quick claims."""
    apart = Path(sys.argv[1]).resolve()
    for package in (lightning_sym, lightning_cli, proofs_check):
        if not Path(str(package.__file__)).is_relative_to(apart):
            sys.exit(f"error: {package.__name__} must come from {apart}, not from {package.__file__}")
    if metadata.version("lightning-sym") != lightning_sym.__version__:
        sys.exit("error: the wheel must have the version of the program")
    pages = [len(page_text(name)) for name in PAGES]
    print(f"{len(schema_names())} schemas, {len(pages)} live pages, kernel: {kernel_state()}")
    if (apart / "lightning_sym_kernel.abi3.so").exists() and (kernel_state() or "not used").startswith("not used"):
        sys.exit("error: the wheel of the kernel must be used")
    done = subprocess.run([sys.executable, "-P", "-m", "lightning_cli", "check", "--quick"], check=False)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
