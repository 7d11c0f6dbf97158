"""What a command imports for a small answer: nothing that only other answers, or other commands, need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lightning_cli.main import COMMANDS
from lightning_sym import Architecture, certified_dimension, dimension_certificate, write_certificate

EXAMPLES = Path(__file__).parents[2] / "examples"
GENERIC, RESCALED = str(EXAMPLES / "generic.json"), str(EXAMPLES / "generic_rescaled.json")
SHAPE = ("--widths", "2,1", "--ranks", "1", "--tokens", "2")
SCRIPT = """
import sys
from lightning_cli.main import main
try:
    main()
except SystemExit as stopped:
    print(stopped.code, *sorted(sys.modules), file=sys.stderr)
"""

NEVER = {
    "asyncio", "concurrent.futures", "dask", "distributed", "gguf", "hypothesis", "matplotlib", "multiprocessing",
    "pytest", "scipy", "sqlite3", "sympy", "tempfile", "zipfile",
}  # fmt: skip
ARITHMETIC = {"flint", "numpy"}
OTHER_NETWORKS = {"fibers.conditions", "fibers.same_transformers", "fibers.softmax_fiber", "varieties.equations"}
CASES = {
    "--help": ((), {*ARITHMETIC, "lightning_sym", "rich"}),
    "verify": (("certificate.json",), {*ARITHMETIC, "lightning_sym.network.weights", "rich"}),
    "dimension": (SHAPE, {"rich"}),
    "same": ((GENERIC, RESCALED), {"lightning_sym.network.polynomial_map", "numpy.random", "rich"}),
    "fiber": ((GENERIC,), {"rich"}),
    "classify": ((GENERIC,), {"lightning_sym.dimension.certify", "numpy.random", "rich"}),
    "phi": (SHAPE, {"lightning_sym.dimension.certify", "numpy.random", "rich"}),
    "check": (("--quick", "lemma-3.1"), {"proofs_check.claims.one_layer.theorem_3_2"}),
}


@pytest.mark.parametrize("command", CASES)
def test_a_command_loads_what_its_answer_needs(command: str, tmp_path: Path) -> None:
    network = Architecture((2, 1), (1,), 2)
    file = tmp_path / "certificate.json"
    write_certificate(file, dimension_certificate(certified_dimension(network)))
    words, others = CASES[command]
    given = [str(file) if word == file.name else word for word in words]
    ran = subprocess.run([sys.executable, "-c", SCRIPT, command, *given], capture_output=True, text=True, check=True)
    code, *loaded = ran.stderr.split()
    assert code == "0", ran.stderr
    assert "click" in loaded
    unneeded = NEVER | others | {f"lightning_sym.{name}" for name in OTHER_NETWORKS}
    assert sorted(unneeded.intersection(loaded)) == []


HELP = """
import sys, click
from lightning_cli.main import COMMANDS, module_of
for name in COMMANDS:
    before = {*sys.modules}
    module_of(name).command.get_help(click.Context(module_of(name).command))
    print(name, *{"flint", "numpy"} & {*sys.modules} - before)
"""


def test_help_of_a_command_loads_no_arithmetic() -> None:
    """They would be most of the time that it takes."""
    told = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, check=True).stdout
    assert told.split() == [*COMMANDS]


def test_the_claim_of_an_id_is_found_without_the_others() -> None:
    """And where its module has another name, among all of them."""
    from proofs_check.registry import all_claims, claim_by_id

    assert [claim_by_id(claim.id) for claim in all_claims()] == list(all_claims())
