"""The dimension of a whole model from its configuration, against the group at weights and Jacobians."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from command import run

from lightning_sym import save_checkpoint, symmetries_of
from lightning_sym.checkpoints.families import FAMILIES
from lightning_sym.testing import small_checkpoint
from lightning_sym.whole_models.covered import not_covered
from lightning_sym.whole_models.of_config import whole_model
from proofs_check.claims.models.decoders import Decoder, jacobian_rank

SMALL: dict[str, Any] = {"heads": 2, "inner": 5, "vocabulary": 12}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_count_is_that_at_weights(family: str, tmp_path: Path) -> None:
    one = small_checkpoint(family, **SMALL)
    save_checkpoint(one, tmp_path / "one")
    found, here = whole_model(tmp_path / "one"), symmetries_of(one)
    usual = here.dimension - sum(row.only_here for row in here.groups)
    assert (found.parameters, found.group, found.dimension) == (here.parameters, usual, here.functions)
    assert (found.reason is None) is (here.not_covered is None)
    assert found.dimension in {None, found.upper}


def test_it_is_the_rank_of_a_jacobian(tmp_path: Path) -> None:
    sizes: dict[str, Any] = {"layers": 1, "heads": 2, "groups": 1, "head_width": 2, "inner": 3, "vocabulary": 5}
    save_checkpoint(small_checkpoint("llama", tied=True, **sizes), tmp_path / "one")
    found = whole_model(tmp_path / "one")
    one = Decoder(d=4, n=5, heads=2, groups=1, a=2, m=3, gains=True, tied=True)
    assert found.parameters == one.parameters
    assert found.dimension == jacobian_rank(one)


@pytest.mark.parametrize(
    ("change", "why"), [({"vocabulary": 7}, "token ids"), ({"head_width": 12, "config": {"hidden_size": 8}}, "heads")]
)
def test_what_is_not_so_leaves_a_bound(change: dict[str, Any], why: str, tmp_path: Path) -> None:
    save_checkpoint(small_checkpoint("llama", **SMALL | change), tmp_path / "one")
    found = whole_model(tmp_path / "one")
    assert found.dimension is None
    assert found.upper == found.parameters
    assert why in str(found.reason)
    assert [str(each) for each in found.tried] == [f"Corollary 5 of docs/whole-models.md: {found.reason}"]
    assert str(found.reason) not in found.proof
    assert why in dict(found.lines())["tried"]


@pytest.mark.parametrize(
    ("family", "change", "why"),
    [("qwen3", {"norm": "layer"}, "RMSNorm"), ("granite", {"residual": Fraction(0)}, "scales above 0")],
)
def test_what_no_proof_knows_of_a_form_is_refused(family: str, change: dict[str, Any], why: str) -> None:
    form = small_checkpoint(family).form
    assert not_covered(form) is None
    assert why in str(not_covered(replace(form, **change)))


def test_a_tied_embedding_beside_layer_norm_must_have_full_rank(tmp_path: Path) -> None:
    """What norms show has rank d - 1, which is enough if the ends are not tied."""
    told = []
    for name, tied, fewer in (("short", True, 1), ("full", True, 0), ("untied", False, 1)):
        one = small_checkpoint("gpt2", tied=tied, **SMALL | {"head_width": 4, "vocabulary": 8 - fewer})
        save_checkpoint(one, tmp_path / name)
        found, here = whole_model(tmp_path / name), symmetries_of(one)
        assert found.dimension == here.functions
        told.append(found.dimension is None)
    assert told == [True, False, False]


def test_with_gelu_there_are_no_others_near_these_weights() -> None:
    found = symmetries_of(small_checkpoint("llama", tied=False, config={"hidden_act": "gelu", "mlp_bias": True}))
    assert (found.complete, found.complete_near, found.functions is None) == (False, True, False)
    assert "Proposition 9" in found.proof


def test_the_command_has_it_beside_the_attention(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_checkpoint(small_checkpoint("llama", **SMALL), tmp_path / "one")
    words = ("dimension", "--config", str(tmp_path / "one" / "config.json"), "--attention-only")
    found = whole_model(tmp_path / "one")
    assert f"functions of dimension {found.dimension:,}" in " ".join(run(capsys, *words)[1].split())
    told = json.loads(run(capsys, *words, "--json")[1])
    assert told["whole"] == {
        "parameters": found.parameters, "group": found.group, "dimension": found.dimension, "upper": found.upper,
        "proof": found.proof, "tried": [],
    }  # fmt: skip
