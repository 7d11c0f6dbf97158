"""Conditions of decoders: what fails has a definition on the page, and weights that are not covered say why."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from proofs_check.claim import Undecided
from proofs_check.claims.models.whole_models_conditions import BREAKING
from proofs_check.claims.models.whole_models_dimension import AtGiven, at_given_weights

ROOT = Path(__file__).parents[2]


def test_each_condition_that_fails_somewhere_is_defined_on_the_page() -> None:
    page = (ROOT / "docs/whole-models.md").read_text(encoding="utf-8")
    names = {name[: name.index(")") + 1] for name in BREAKING if name.startswith("(")}
    assert {name for name in names if f"**{name}**" not in page} == set()


def test_weights_that_no_theorem_covers_are_undecided_with_the_reason() -> None:
    with pytest.raises(Undecided, match=r"inner=3, seed=1\): .* more neurons than the stream is wide .* got 3 neurons"):
        at_given_weights(AtGiven("gemma2", 3, 1))


def test_a_claim_that_is_listed_does_not_wait_for_checkpoints() -> None:
    script = (
        "import sys; import proofs_check.claims.models.whole_models_dimension\n"
        "print([name for name in sys.modules if name.startswith('lightning_sym.checkpoints')])"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert ran.stdout == "[]\n"
