"""The note on linear attention: its table, its certificate and its commands are what the program says."""

from __future__ import annotations

import json
import re

import write_note_table

from lightning_cli.main import COMMANDS
from lightning_sym import linear_attention_coefficient
from proofs_check.checker import verify
from proofs_check.registry import all_claims

NOTE = write_note_table.FILE.with_name("linear-attention.tex").read_text(encoding="utf-8")


def test_the_table_is_what_the_program_proves() -> None:
    table = write_note_table.FILE.read_text(encoding="utf-8")
    assert table == write_note_table.text(), "python scripts/write_note_table.py"
    assert "$11/6, 1$" in table
    assert f"\\input{{{write_note_table.FILE.stem}}}" in NOTE


def test_the_appendix_is_a_certificate_that_the_checker_accepts() -> None:
    found = re.search(r"\\begin\{verbatim\}(.*)\\end\{verbatim\}", NOTE, flags=re.DOTALL)
    assert found is not None
    printed = json.loads(found[1])
    assert printed == json.loads(json.dumps(linear_attention_coefficient(2, 6).certificate))
    assert verify.check(json.loads(found[1])).startswith("lambda = 11/6, for linear attention")


def test_what_the_note_tells_to_type_is_there() -> None:
    commands = re.findall(r"lightning-sym\s+([a-z]+)", NOTE)
    assert {"check", "coefficient", "verify"} <= set(commands) <= set(COMMANDS)
    assert "learning-coefficient-linear-attention" in {claim.id for claim in all_claims()}
