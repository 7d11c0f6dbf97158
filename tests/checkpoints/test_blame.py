"""Which tensors are said to differ: those that do, no others that are as they were, and never none."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from changed_checkpoints import changed, rounded
from command import run
from made_mistakes import MADE
from mistaken_conversions import MISTAKES, in_memory

from lightning_sym import open_checkpoint, same_checkpoints, save_checkpoint
from lightning_sym.checkpoints import diagnosis
from lightning_sym.checkpoints.comparison import CheckpointAnswer, CheckpointComparison
from lightning_sym.checkpoints.model import Checkpoint, MadeCheckpoint
from lightning_sym.checkpoints.random_symmetries import random_symmetry
from lightning_sym.checkpoints.rewritings import apply
from lightning_sym.testing import small_checkpoint

DIFFERENT, ROUNDING = CheckpointAnswer.DIFFERENT, CheckpointAnswer.ROUNDING
MODEL = in_memory(open_checkpoint(Path(__file__).parents[2] / "examples" / "checkpoints" / "model"))


def pieces(one: Checkpoint) -> dict[str, Any]:
    found: dict[str, Any] = dict(one.ends().present())
    for layer in range(one.form.layers):
        found |= {f"{layer}.{name}": array for name, array in one.block(layer).present()}
    return found | {"epsilon": one.form.epsilon}


def differing(first: Checkpoint, second: Checkpoint) -> set[str]:
    """Pieces that are not the same, number by number."""
    old, new = pieces(first), pieces(second)
    return {name for name in old if not np.array_equal(old[name], new[name])}


def named(found: CheckpointComparison) -> set[str]:
    return {each.piece for each in found.unexplained}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_as_the_tensors_that_it_changed(name: str) -> None:
    second = MISTAKES[name](MODEL)
    truth = differing(MODEL, second)
    found = same_checkpoints(MODEL, second)
    assert found.answer is DIFFERENT
    assert named(found)
    assert named(found) <= truth
    if name == "stream turned, unembedding not":
        assert named(found) == {"unembedding"}, "the turn explains all others"
    else:
        assert named(found) == truth
        assert found.description is not None
        assert found.description.stream == "as it is"
        assert set(found.description.layers) == {()}


def test_a_factor_in_one_map_is_no_change_of_basis_that_the_other_lacks() -> None:
    one = small_checkpoint("phi3", 1, tied=True)
    turned = in_memory(apply(random_symmetry(one, ("stream",), 1), one))
    halved = replace(turned, blocks=tuple(replace(b, query=np.asarray(b.query) / 2) for b in turned.blocks))
    found = same_checkpoints(one, halved)
    assert named(found) == {"0.query", "1.query"}
    assert [(each.mistake, each.detail["factor"]) for each in found.explained] == [("scale-one-side", "1/2")]
    based = in_memory(apply(random_symmetry(one, ("queries",), 1), one))
    first = tuple(replace(b, key=one.block(layer).key) for layer, b in enumerate(based.blocks))
    found = same_checkpoints(one, replace(based, blocks=first))
    assert [(each.mistake, each.detail["not_moved_by"]) for each in found.explained] == [("scale-one-side", "turns")]


def test_no_adapter_in_a_matrix_that_is_the_first_s() -> None:
    """Queries of two heads are negated; a fit that exchanges the heads has outputs exchanged back by an update."""
    one = rounded(small_checkpoint("llama", tied=False))
    query = np.array(one.block(0).query)
    query[:2] *= -1
    found = same_checkpoints(one, rounded(changed(one, 0, query=query), "F16"))
    told = [(each.mistake, each.tensors, each.detail["factors_by"]) for each in found.explained]
    assert told == [("scale-one-side", ("0.query",), "heads")]


def test_the_final_gain_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, one in (("model", MODEL), ("wrong", MISTAKES["one taken from the final gain"](MODEL))):
        save_checkpoint(replace(one, type_stored="F32"), tmp_path / name, "F32")
    code, out, _ = run(capsys, "same", str(tmp_path / "model"), str(tmp_path / "wrong"), "--json")
    told = json.loads(out)
    assert (code, told["answer"]) == (1, "different")
    assert [each["tensor"] for each in told["residuals"] if not each["explained"]] == ["model.norm.weight"]


TRUE = {
    "rows of queries and keys interleaved", "norms exchanged", "one added to all gains",
    "one taken from the final gain", "epsilon of another configuration",
}  # fmt: skip
"""Those that are told exactly where the model was rewritten as well, its stream permuted at most."""


NOT_MOVED: dict[tuple[str, tuple[str, ...]], set[str]] = {
    ("values turned, their bias forgotten", ("stream", "heads")): {"value_bias"},
}
"""As they were in the first, where most others were moved, and nothing else is left unexplained."""


@pytest.mark.parametrize("kinds", [("values", "queries"), ("heads", "values", "neurons", "ups"), ("stream", "heads")])
@pytest.mark.parametrize("name", [name for name in MISTAKES if name != "stream turned, unembedding not"])
def test_a_mistake_behind_a_rewriting(name: str, kinds: tuple[str, ...]) -> None:
    right = rounded(apply(random_symmetry(MODEL, kinds, 3), MODEL), "F64")
    wrong = MISTAKES[name](right)
    found = same_checkpoints(MODEL, wrong)
    assert found.answer is DIFFERENT
    if name in TRUE:
        assert named(found) == differing(right, wrong)
    untouched = {piece.partition(".")[2] for piece in named(found) - differing(MODEL, wrong)}
    assert untouched == NOT_MOVED.get((name, kinds), set())


NETWORKS = [(family, tied) for family in ("gpt2", "llama", "mistral", "qwen2") for tied in (True, False)]


@pytest.mark.parametrize(("family", "tied"), NETWORKS)
def test_one_tensor_is_the_one(family: str, tied: bool) -> None:
    """Whatever is done to it, and wherever it stands."""
    one = small_checkpoint(family, 4, tied=tied, biases=family == "llama", stored="BF16")
    for layer in (None, 1):
        there = one.outer if layer is None else one.blocks[1]
        for name, array in there.present():
            if name == "key_bias" and one.form.theta is None:
                continue
            for wrong in (1.5 * array, 0 * array, -array, np.flip(array, -1)):
                if np.array_equal(wrong, array):
                    continue
                two = changed(one, layer, **{name: wrong.astype(np.float32)})
                found = same_checkpoints(one, two)
                piece = name if layer is None else f"1.{name}"
                assert found.answer is not ROUNDING
                assert named(found) <= {piece}, (piece, str(found))
                assert named(found) or found.answer is not DIFFERENT


def test_the_base_of_the_positions_is_named() -> None:
    one = small_checkpoint("llama")
    found = same_checkpoints(one, replace(one, form=replace(one.form, theta=Fraction(500000))))
    assert found.answer is DIFFERENT
    assert named(found) == {"theta"}


def test_a_longer_stream_is_no_change_of_all_that_it_touches() -> None:
    """Queries as they were, byte for byte, are those that were not made longer, and all others were, with epsilon."""
    one = small_checkpoint("qwen3", 5, biases=True)
    two = rounded(apply(random_symmetry(one, ["scale"], 3), one), "F32")
    two = MADE["scale-one-side"](two, np.random.default_rng(0))
    assert np.array_equal(one.blocks[0].query, two.blocks[0].query)
    found = same_checkpoints(one, two)
    assert named(found) == {f"{layer}.{name}" for layer in (0, 1) for name in ("query", "query_bias")}
    assert [each.mistake for each in found.explained] == ["scale-one-side"]


def test_a_longer_stream_beside_another_mistake_of_the_configuration_takes_epsilon_with_it() -> None:
    one = small_checkpoint("granite", 5)
    two = rounded(apply(random_symmetry(one, ["scale"], 3), one), "F32")
    found = same_checkpoints(one, replace(two, form=replace(two.form, theta=Fraction(500000))))
    assert named(found) == {"theta"}
    assert [each.mistake for each in found.explained] == ["rope-theta"]


@pytest.mark.parametrize(("mistake", "kinds"), [("gate-up-exchanged", ("neurons",)), ("gain-plus-one", ("gains",))])
def test_what_a_mistake_hides_from_a_fit_is_not_blamed(
    mistake: str, kinds: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Maps out of neurons that do not fit as their rows were exchanged, and maps behind gains that are not theirs."""
    one = small_checkpoint("mixtral", 25127, tied=False, inner=8)
    right = rounded(apply(random_symmetry(one, ("stream", "ups", *kinds), 25127), one), "BF16")
    two = rounded(MADE[mistake](right, np.random.default_rng(0)), "BF16")
    assert named(same_checkpoints(one, two)) == differing(right, two)
    monkeypatch.setattr(diagnosis._Diagnosing, "_residuals", lambda *_: iter(()))
    assert named(same_checkpoints(one, two)) - differing(right, two)


@pytest.mark.parametrize("tied", [True, False])
def test_what_is_zero_on_one_side_has_no_absurd_units(tied: bool) -> None:
    one = small_checkpoint("gpt2", 2, tied=tied)
    two = rounded(apply(random_symmetry(one, ("heads", "neurons", "values", "stream"), 1), one), "F32")
    biases = {name: array for name, array in two.blocks[1].present() if name.endswith("bias") and name != "key_bias"}
    for name, array in (biases | {"final_bias": two.outer.final_bias}).items():
        wrong = changed(two, None if name == "final_bias" else 1, **{name: 0 * np.asarray(array)})
        for pair in ((one, wrong), (wrong, one)):
            found = same_checkpoints(*pair)
            assert found.answer is DIFFERENT
            assert all(each.units < 2.0**40 and (each.own or 0) < 2.0**40 for each in found.residuals), str(found)


@pytest.mark.parametrize("stored", ["BF16", "F32"])
@pytest.mark.parametrize("tied", [True, False])
def test_the_first_rows_hide_nothing(tied: bool, stored: str) -> None:
    """What they have in common may be in the positions; what one of them has alone is not."""
    one = small_checkpoint("gpt2", 1, layers=1, tied=tied)
    two: MadeCheckpoint = rounded(apply(random_symmetry(one, ("stream",), 1), one), stored)
    assert same_checkpoints(one, two).answer is not DIFFERENT
    for piece in ("embedding", "positions"):
        for rows in ([0], [1], [0, 1], [0, 1, 2]):
            array = np.array(getattr(two.outer, piece))
            column = int(np.abs(array[0]).argmax())
            array[rows, column] += array[0, column]
            wrong = changed(two, None, **{piece: array})
            assert same_checkpoints(one, wrong, ids=[0, 1, 2, 3]).answer is DIFFERENT, (piece, rows)
