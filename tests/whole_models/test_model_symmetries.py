"""The group of a model against its Jacobian, the conditions at weights that break them, and the command."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import run
from soft_prompts import jacobian_singular_values, soft_logits, weights_of

from lightning_sym import load_symmetry, save_checkpoint, symmetries_of
from lightning_sym.checkpoints.families import FAMILIES
from lightning_sym.checkpoints.model import Block, MadeCheckpoint
from lightning_sym.errors import BadInput
from lightning_sym.limits import Work
from lightning_sym.testing import small_checkpoint
from lightning_sym.whole_models import conditions, images, signs

TINY: dict[str, Any] = {
    "layers": 1,
    "heads": 2,
    "groups": 1,
    "head_width": 2,
    "inner": 2,
    "vocabulary": 4,
    "context": 3,
}
SHAPES: dict[str, tuple[str, dict[str, Any]]] = {
    "untied": ("llama", TINY | {"tied": False}),
    "tied": ("llama", TINY | {"tied": True}),
    "biases of values are all seen": ("qwen2", TINY | {"tied": False}),
    "biases everywhere": ("llama", TINY | {"biases": True, "groups": 2}),
    "LayerNorm": ("gpt2", TINY | {"groups": 2, "tied": False}),
    "LayerNorm, tied": ("gpt2", TINY | {"groups": 2, "tied": True}),
    "gates with GELU": ("gemma", TINY),
}


@pytest.mark.parametrize("name", SHAPES)
def test_the_group_is_the_kernel_of_the_jacobian(name: str) -> None:
    family, sizes = SHAPES[name]
    one = small_checkpoint(family, **sizes, stored="F64")
    found = symmetries_of(one)
    values = jacobian_singular_values(one, np.random.default_rng(7))
    usual = found.parameters - found.dimension + sum(row.only_here for row in found.groups)
    assert len(values) == found.parameters
    assert values[usual - 1] > 1e-11 * values[0], "the group has no fewer dimensions"
    assert values[usual] < 1e-13 * values[0], "the group has no more dimensions"


def changed(one: MadeCheckpoint, layer: int, **parts: Callable[[Any], Any]) -> MadeCheckpoint:
    """Return a checkpoint with other pieces in a layer."""
    blocks: list[Block] = list(one.blocks)
    new: dict[str, Any] = {name: change(np.array(getattr(blocks[layer], name))) for name, change in parts.items()}
    blocks[layer] = replace(blocks[layer], **new)
    return replace(one, blocks=tuple(blocks))


def with_copy(first: int, second: int, factor: float = 1.0) -> Callable[[Any], Any]:
    """Return what puts one row, or head, in the place of another, times a number."""

    def change(array: Any) -> Any:
        array[second] = factor * array[first]
        return array

    return change


def without(*place: Any) -> Callable[[Any], Any]:
    """Return what makes entries zero."""

    def change(array: Any) -> Any:
        array[place] = 0
        return array

    return change


def with_signs(count: int) -> Callable[[Any], Any]:
    """Return what turns the first rows over."""
    return lambda array: np.concatenate([-array[:count], array[count:]])


LLAMA, GPT = small_checkpoint("llama", seed=3, tied=False), small_checkpoint("gpt2", seed=3, tied=False)
QWEN = small_checkpoint("qwen3", seed=3, tied=False)
BASIS = np.array([[0, 0, -2, 0], [0, 1, 0, 0], [2, 0, 0, 0], [0, 0, 0, 1]])
OTHER_BASIS = changed(  # the second head asks as the first does, of a group that has the first one's keys
    LLAMA,
    0,
    query=lambda query: np.stack([query[0], query[1], BASIS @ query[0], query[3]]),
    key=lambda key: np.stack([key[0], np.linalg.inv(BASIS).T @ key[0]]),
)
BROKEN: dict[str, tuple[MadeCheckpoint, str, str]] = {
    "no column": (changed(LLAMA, 1, down=without(slice(None), 5)), "(C2)", "dead neurons"),
    "no factor": (changed(LLAMA, 1, up=without(5)), "(C2)", "dead neurons"),
    "no gate": (changed(LLAMA, 1, gate=without(5)), "(C2)", "dead neurons"),
    "equal gates": (changed(LLAMA, 0, gate=with_copy(2, 9)), "(C2)", "neurons with one gate"),
    "opposite gates": (changed(LLAMA, 0, gate=with_copy(2, 9, -1)), "(C2)", "neurons with opposite gates"),
    "equal heads": (changed(LLAMA, 0, query=with_copy(0, 1)), "(C4)", "heads with equal queries and keys"),
    "no output": (changed(LLAMA, 0, output=without(2)), "(C5), ranks", "output of a rank below the head's width"),
    "a query of lower rank": (
        changed(LLAMA, 0, query=lambda q: np.concatenate([q[:, :3], q[:, :1]], axis=1)),
        "(C5), ranks",
        "query of a rank below the head's width",
    ),
    "groups that read alike": (changed(LLAMA, 0, key=with_copy(0, 1), value=with_copy(0, 1)), "(C5), groups", ""),
    "a gain of 0": (changed(LLAMA, 0, norm1_gain=without(3)), "(N)", "norm1_gain of 0"),
    "without gates, one column and opposite maps": (
        changed(GPT, 0, up=with_copy(0, 1, -1), down=lambda d: np.stack([d[:, 0], d[:, 0], *d.T[2:]], axis=1)),
        "(C3)",
        "",
    ),
    "no gain on keys": (changed(QWEN, 1, key_norm_gain=without(2)), "(C5), ranks", "key_norm_gain of 0"),
    "equal heads in two bases": (OTHER_BASIS, "(C4)", "heads with equal queries and keys"),
    "heads alike behind norms": (changed(QWEN, 0, query=with_copy(0, 1)), "(C4)", "heads with equal queries and keys"),
    "groups that norms do not tell apart": (
        changed(QWEN, 0, key=lambda k: np.stack([k[0], -k[0]]), value=with_copy(0, 1)),
        "(C5), groups",
        "",
    ),
    "no token more than coordinates": (
        small_checkpoint("llama", vocabulary=16, tied=False),
        "",
        "no more token ids than coordinates of the stream",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_special_is_seen_and_no_theorem_is_cited(name: str) -> None:
    one, condition, what = BROKEN[name]
    found = symmetries_of(one)
    assert what in {"", *(special.what for special in found.special)}
    unknown = [c.name for c in found.conditions if not c.holds]
    assert (condition in unknown) if condition else not unknown
    assert found.complete is not bool(condition)


def test_near_these_weights_signs_and_groups_do_not_matter() -> None:
    one = changed(LLAMA, 0, key=with_copy(0, 1), value=with_copy(0, 1))
    found = symmetries_of(one)
    assert found.complete_near
    assert not found.complete
    assert found.functions == symmetries_of(LLAMA).functions
    assert [each.citation for each in found.tried] == ["Theorem 1 of docs/whole-models.md"]


def test_equal_final_gains_are_a_symmetry_here_and_not_nearby() -> None:
    one = small_checkpoint("llama", tied=True)
    gain = np.array(one.outer.final_gain)
    gain[[4, 7, 9]] = gain[1]
    found = symmetries_of(replace(one, outer=replace(one.outer, final_gain=gain)))
    assert found.dimension == symmetries_of(one).dimension + 6  # O(4)
    assert found.functions == symmetries_of(one).functions


def test_equal_gains_of_a_frequency_free_an_angle_of_each_group_here() -> None:
    gains = np.array([2.0, 3.0, -2.0, 5.0])
    found = symmetries_of(
        changed(QWEN, 1, query_norm_gain=lambda _: gains, key_norm_gain=lambda _: gains[[0, 1, 0, 2]])
    )
    assert [(row.dimension, row.only_here) for row in found.groups if "angle" in row.group] == [(2, 2)]
    assert [special.what for special in found.special] == ["equal gains on both rows of a frequency"]
    assert (found.functions, found.complete) == (symmetries_of(QWEN).functions, True)
    alone = symmetries_of(changed(QWEN, 1, query_norm_gain=lambda _: gains))  # those of keys stay different
    assert alone.dimension == symmetries_of(QWEN).dimension


def test_norms_behind_are_proved_at_almost_all_weights() -> None:
    found = symmetries_of(small_checkpoint("gemma2"), work=1e-9)  # too little for the conditions at these
    assert (found.complete, found.complete_near) == (False, False)
    assert found.functions == found.parameters - found.dimension
    assert "complete at almost all weights: docs/whole-models.md, Theorem 3" in found.proof
    short: list[dict[str, Any]] = [{"inner": 16}, {"heads": 8, "groups": 1, "head_width": 2}, {"vocabulary": 12}]
    for sizes in short:
        assert symmetries_of(small_checkpoint("gemma2", **sizes)).functions is None


def test_bias_over_gain_of_the_final_norm_must_not_add_up_to_nothing() -> None:
    gain, bias = np.ones(16), np.zeros(16)
    bias[:2] = 1, -1
    one = replace(GPT, outer=replace(GPT.outer, final_gain=gain, final_bias=bias))
    found = symmetries_of(one)
    assert [c.name for c in found.conditions if not c.holds] == ["(N)"]
    assert found.functions is None
    bias[0] = 2
    assert symmetries_of(replace(GPT, outer=replace(GPT.outer, final_gain=gain, final_bias=bias))).functions is not None


def test_two_gates_that_may_change_signs_together_are_found() -> None:
    """(g, w) and (w, -g) with one column: (C3) fails, and both gates turned over are the same function."""
    one = LLAMA

    def swapped(name: str) -> Callable[[Any], Any]:
        other = np.array(getattr(one.blocks[0], {"gate": "up", "up": "gate"}[name]))

        def change(array: Any) -> Any:
            array[1] = other[0] * (1 if name == "gate" else -1)
            return array

        return change

    def one_column(down: Any) -> Any:
        down[:, 1] = down[:, 0]
        return down

    pair = changed(one, 0, gate=swapped("gate"), up=swapped("up"), down=one_column)
    found = symmetries_of(pair)
    assert [c.name for c in found.conditions if not c.holds] == ["(C3)"]
    assert found.complete_near
    assert not found.complete
    inputs = np.random.default_rng(1).normal(size=(one.form.vocabulary, 3))
    both, alone = (changed(pair, 0, gate=with_signs(count)) for count in (2, 1))
    first, second, third = (soft_logits(one.form, weights_of(each), inputs) for each in (pair, both, alone))
    assert np.abs(first - second).max() < 1e-12 < 1e-4 < np.abs(first - third).max()


@pytest.mark.parametrize("family", FAMILIES)
def test_each_family_is_covered_or_says_why(family: str) -> None:
    found = symmetries_of(small_checkpoint(family, tied=False) if family != "gemma" else small_checkpoint(family))
    assert (found.functions is None) == (found.not_covered is not None)
    assert found.dimension == sum(row.dimension for row in found.groups) > 0


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"context": 2}, "3 tokens"),
        ({"head_width": 2, "heads": 1, "groups": 1}, "4 dimensions"),
        ({"config": {"rope_theta": Fraction(1)}}, "different"),
    ],
)
def test_what_the_theorem_needs_of_a_form(change: dict[str, Any], why: str) -> None:
    found = symmetries_of(small_checkpoint("llama", **{"tied": False} | change))
    assert why in str(found.not_covered)
    assert found.functions is None
    assert not found.conditions
    assert [str(each) for each in found.tried] == [f"Theorem 1 of docs/whole-models.md: {found.not_covered}"]


def test_too_many_neurons_leave_one_condition_open() -> None:
    found = symmetries_of(LLAMA, work=1e-9)
    assert [c.name for c in found.conditions if not c.holds] == ["(C3)"]
    assert found.functions == symmetries_of(LLAMA).functions


def test_isotropic_vectors_are_isotropic() -> None:
    random = np.random.default_rng(1)
    for one in (LLAMA, GPT):
        vectors = signs._isotropic(images.shown_vectors(random, one.form, 5), random, one.form)
        assert not images.integers((vectors * vectors).sum(axis=0)).any()
        if one.form.norm == "layer":
            assert not images.integers(vectors.sum(axis=0)).any()


def test_keys_that_vanish_modulo_the_prime_are_not_another_basis() -> None:
    random = np.random.default_rng(2)
    keys = random.integers(-9, 10, (4, 6)).astype(float)
    times_prime = images.of(keys * images.P)
    assert not images._another_basis(times_prime, images.of(keys), rotary=True)
    turned = np.concatenate([-keys[2:], keys[:2]])
    assert not images._another_basis(images.of(keys), images.of(turned), rotary=True)
    assert images._another_basis(images.of(keys), images.of(turned[::-1]), rotary=True)


def test_a_condition_that_is_not_tested_is_not_there() -> None:
    names = [c.name for c in conditions.at_weights(LLAMA, Work(), 2**30).conditions]
    assert names == ["(C1)", "(C2)", "(C3)", "(C4)", "(C5), ranks", "(C5), groups", "(N)"]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_checkpoint(LLAMA, tmp_path / "one")
    code, out, _ = run(capsys, "symmetries", str(tmp_path / "one"))
    assert code == 0
    assert "complete: docs/whole-models.md, Theorem 1" in out.replace("\n", " ")
    code, out, _ = run(
        capsys, "symmetries", str(tmp_path / "one"), "--json", "--output", str(tmp_path / "s.json"), "--seed", "2"
    )
    told, two = json.loads(out), str(tmp_path / "two")
    assert told["parameters"] - told["dimension"] == told["functions"]
    assert sum(row["dimension"] for row in told["groups"]) == told["dimension"]
    assert run(capsys, "apply", str(tmp_path / "s.json"), str(tmp_path / "one"), "-o", two, "--rounded")[0] == 0
    assert json.loads(run(capsys, "same", str(tmp_path / "one"), two, "--json")[1])["answer"] == "rounding"
    for kinds, code in (("values,neurons", 0), ("valves", 2)):
        words = ("--output", str(tmp_path / kinds), "--kinds", kinds)
        assert run(capsys, "symmetries", str(tmp_path / "one"), *words)[0] == code
        assert (tmp_path / kinds).exists() is (code == 0)
    assert set(load_symmetry(tmp_path / "values,neurons").layers[0].parts()) == {"values", "neurons"}
    assert run(capsys, "symmetries", str(tmp_path / "one"), "--kinds", "values")[0] == 2
    save_checkpoint(small_checkpoint("opt"), tmp_path / "other")
    assert run(capsys, "symmetries", str(tmp_path / "other"))[0] == 3
    assert run(capsys, "symmetries", str(tmp_path / "none"))[0] == 2
    with pytest.raises(BadInput, match="checkpoint"):
        symmetries_of(3)  # type: ignore[arg-type]
