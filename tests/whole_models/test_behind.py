"""Theorem 3 at given weights: walls, brackets and forms, at weights that break them, and what is proved by them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from lightning_sym import apply, symmetries_of
from lightning_sym.checkpoints.exact_arrays import to_objects
from lightning_sym.checkpoints.model import MadeCheckpoint
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry
from lightning_sym.rings.dual_balls import DualBalls
from lightning_sym.testing import small_checkpoint
from lightning_sym.whole_models import behind
from lightning_sym.whole_models.apart import apart_by_theorem
from lightning_sym.whole_models.images import Neurons, P, integers

GEMMA, THIRD = small_checkpoint("gemma2", seed=3), small_checkpoint("gemma3_text", seed=3)


def changed(one: MadeCheckpoint, layer: int, **parts: Callable[[Any], Any]) -> MadeCheckpoint:
    """Return a checkpoint with other pieces in a layer."""
    blocks = list(one.blocks)
    new: dict[str, Any] = {name: change(np.array(getattr(blocks[layer], name))) for name, change in parts.items()}
    blocks[layer] = replace(blocks[layer], **new)
    return replace(one, blocks=tuple(blocks))


def without(*place: Any) -> Callable[[Any], Any]:
    """Return what makes entries zero."""

    def change(array: Any) -> Any:
        array[place] = 0
        return array

    return change


def copied(first: int, second: int, factor: float = 1.0) -> Callable[[Any], Any]:
    """Return what puts one row, or head, in the place of another, times a number."""

    def change(array: Any) -> Any:
        array[second] = factor * array[first]
        return array

    return change


def given(array: Any) -> Callable[[Any], Any]:
    """Return what puts an array in the place of another."""
    return lambda _: array


ATTENTION = {name: given(getattr(THIRD.blocks[0], name)) for name in ("norm1_gain", "value", "output", "behind1_gain")}
ONE_VECTOR = changed(GEMMA, 0, value=lambda value: 0 * value + value[:1, :1])
BROKEN: dict[str, tuple[MadeCheckpoint, set[str]]] = {
    "equal layers": (replace(GEMMA, blocks=(GEMMA.blocks[0],) * 2), {"(P1)", "(P3)"}),
    "one attention twice": (changed(THIRD, 1, **ATTENTION), {"(P1)", "(P3)"}),
    "attention that reads one vector": (ONE_VECTOR, {"(P1)", "(P2)", "(P5), ranks"}),
    "a coordinate that attention does not write": (changed(GEMMA, 0, output=without(slice(None), 3)), {"(P2)"}),
    "a coordinate that the MLP does not write": (changed(GEMMA, 0, down=without(3)), {"(P1)", "(P2)"}),
    "two rows of the MLP alike": (changed(GEMMA, 0, down=copied(3, 4)), {"(P1)", "(P2)"}),
    "a gain behind of 0": (changed(GEMMA, 0, behind1_gain=without(3)), {"(N)"}),
    "a query times 2 beside it, capped": (changed(GEMMA, 0, query=copied(0, 1, 2.0)), {"(P5), heads"}),
    "equal heads behind norms": (changed(THIRD, 0, query=copied(0, 1)), {"(P5), heads"}),
    "opposite gates": (changed(GEMMA, 0, gate=copied(2, 9, -1.0)), {"(P4)"}),
    "no factor": (changed(GEMMA, 0, up=without(2)), {"(P4)", "(P4), signs"}),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_what_breaks_a_condition_is_not_certified(name: str) -> None:
    one, broken = BROKEN[name]
    found = symmetries_of(one)
    assert broken <= {c.name for c in found.conditions if not c.holds}
    assert not found.complete


@pytest.mark.parametrize(("heads", "missing"), [(2, set()), (3, {"(P2)"}), (4, set())])
def test_attention_of_rank_one_less_than_the_width_is_not_proved(heads: int, missing: set[str]) -> None:
    """Heads of width 2 and a stream of 7: rank 4 is below 7 - 1, rank 6 is not, and 4 heads have full rank."""
    sizes: dict[str, Any] = {"heads": heads, "groups": heads, "head_width": 2, "layers": 1, "inner": 20}
    found = symmetries_of(small_checkpoint("gemma2", seed=3, config={"hidden_size": 7}, **sizes))
    assert {c.name for c in found.conditions if not c.holds} == missing


@pytest.mark.parametrize("family", ["gemma2", "gemma3_text"])
def test_random_weights_fulfil_all(family: str) -> None:
    found = symmetries_of(small_checkpoint(family, seed=5, tied=False))
    assert all(c.holds for c in found.conditions)
    assert (found.complete, found.complete_near) == (True, True)
    assert found.proof == "complete: docs/whole-models.md, Theorem 3"


def test_fractions_are_told_as_floats_are() -> None:
    one = small_checkpoint("gemma2", seed=4, layers=1, heads=2, groups=2, head_width=2, inner=9, vocabulary=5)
    exact = apply(Symmetry((LayerSymmetry(),), scale=Fraction(1, 3)), one)
    assert np.asarray(exact.block(0).behind2_gain).dtype == object
    assert symmetries_of(exact).complete
    assert apart_by_theorem(exact, one) is None


def test_equal_gains_behind_all_mlps_leave_coordinates_together() -> None:
    one = GEMMA
    for layer in range(2):
        one = changed(one, layer, behind2_gain=copied(2, 5, -1.0))
    assert [c.name for c in symmetries_of(one).conditions if not c.holds] == ["(P4)"]
    assert symmetries_of(changed(GEMMA, 0, behind2_gain=copied(2, 5, -1.0))).complete, "another layer tells them apart"


def test_near_these_weights_order_and_signs_do_not_matter() -> None:
    one = small_checkpoint("gemma2", seed=3, heads=8, groups=4, head_width=2)
    found = symmetries_of(changed(one, 0, key=copied(0, 1), value=copied(0, 1)))
    assert [c.name for c in found.conditions if not c.holds] == ["(P5), groups"]
    assert (found.complete_near, found.complete) == (True, False)
    assert "Proposition 11" in found.proof


def test_little_work_leaves_them_open() -> None:
    found = symmetries_of(GEMMA, work=1e-9)
    assert {"(P1)", "(P2)", "(P3)", "(P4)"} <= {c.name for c in found.conditions if not c.holds}
    assert found.functions == symmetries_of(GEMMA).functions, "as at almost all weights"


@pytest.mark.parametrize(("name", "what"), [("down", "neuron"), ("behind2_gain", "neuron"), ("output", "head")])
def test_a_change_is_told_with_its_layer(name: str, what: str) -> None:
    other = changed(GEMMA, 1, **{name: lambda array: array + (np.arange(array.size) == 3).reshape(array.shape) / 4})
    found = apart_by_theorem(GEMMA, other)
    assert found is not None
    assert (found.layer, "Theorem 3" in found.proof, what in found.what) == (1, True, True)
    blind = apart_by_theorem(GEMMA, other, work=1e-9)
    assert blind is None, "by the ends alone nothing differs"


def small_wall(activation: Any) -> tuple[MadeCheckpoint, behind.Wall]:
    one = small_checkpoint("gemma2", seed=4, layers=1, heads=2, groups=2, head_width=2, inner=9, vocabulary=5)
    one = changed(one, 0, norm2_gain=lambda gain: 0 * gain + 1)
    form = replace(one.form, activation=activation)
    return one, behind.walls_of(one.blocks[0], form, np.random.default_rng(1))[0]


def far_out(gate: Any, wall: behind.Wall, shares: Any, activation: str) -> tuple[Any, Any, float]:
    """Return a complex vector of the quadric where the wall's neurons have these shares, `x + i y`, and how far it is.

    Gates must be what Newton's iteration finds; a multiple of `x` then makes the square right.
    """
    x, y = wall.sides.astype(float).T
    x, y = x / np.linalg.norm(x), y / np.linalg.norm(y)
    far = 5e3 if activation == "silu" else 400.0
    cubic, slope = (0.0, 1.0) if activation == "silu" else (0.044715, np.sqrt(8 / np.pi))
    z = 1j * far * (gate[wall.neurons] @ y)
    target = np.log(shares / (1 - shares))
    target = target + 2j * np.pi * np.round((slope * (z + cubic * z**3) - target).imag / (2 * np.pi))
    for _ in range(50):
        z = z - (slope * (z + cubic * z**3) - target) / (slope * (1 + 3 * cubic * z**2))
    first = np.linalg.lstsq(gate[wall.neurons], z, rcond=None)[0]
    return first + x * np.sqrt(len(x) - first @ first + 0j), x + 1j * y, far


def shares_at(inner: Any, activation: str) -> Any:
    """Return `1 / (1 + e^-p)` of gates, without overflow."""
    p = inner if activation == "silu" else np.sqrt(8 / np.pi) * (inner + 0.044715 * inner**3)
    return 1 / (1 + np.exp(np.clip(-p.real, -300, 300) - 1j * p.imag))


@pytest.mark.parametrize("activation", ["silu", "gelu_new"])
def test_far_out_along_a_wall_the_shares_of_its_neurons_are_free(activation: str) -> None:
    one, wall = small_wall(activation)
    block = one.blocks[0]
    gate, up, down = (np.asarray(part, dtype=float) for part in (block.gate, block.up, block.down))
    gates = behind.exact_gates(block)
    assert not (gates[wall.neurons] @ wall.sides[:, 0]).any(), "exactly"
    assert wall.sides[:, 0] @ wall.sides[:, 1] == 0
    assert not (integers(wall.vectors * wall.vectors).sum(axis=0) % P).any()
    opened = behind.open_neurons(gates, wall, activation)
    free = np.array([0.3 + 0.2j, 1.7, -0.4 + 1j])
    r, v, far = far_out(gate, wall, free, activation)
    weights = (opened > 0).astype(complex)
    weights[wall.neurons] = free
    found = shares_at(gate @ r, activation)
    assert np.abs(found - weights).max() < 1e-5
    limit = down @ (weights * (gate @ v) * (up @ v))
    added = down @ (found * (gate @ r) * (up @ r)) / far**2
    assert np.abs(added - limit).max() < 0.05 * np.abs(limit).max()
    assert np.abs(down @ ((1 - weights) * (gate @ v) * (up @ v)) - limit).max() > 0.1 * np.abs(limit).max()


def test_neurons_between_are_not_shown() -> None:
    one, wall = small_wall("silu")
    neurons, opened = Neurons.of(one.blocks[0]), behind.open_neurons(behind.exact_gates(one.blocks[0]), wall, "silu")
    assert behind.shows(neurons, opened, wall)
    outside = np.setdiff1d(np.arange(9), wall.neurons)
    opened[outside[0]] = 0
    assert not behind.shows(neurons, opened, wall)
    opened[outside] = -1  # what no neuron writes shows nothing
    assert not behind.shows(neurons, opened, wall)


def test_halves_that_commute_are_found() -> None:
    assert behind.commuting_halves(GEMMA.blocks, GEMMA.form) is None
    assert behind.commuting_halves((GEMMA.blocks[0],) * 2, GEMMA.form) == (0, 2)


def test_derivatives_of_halves_are_differences() -> None:
    exact = replace(GEMMA.blocks[0], **{name: to_objects(np.array(x)) for name, x in GEMMA.blocks[0].present()})
    at, along, step = (np.array([[Fraction(k % m - 2, 3)] for k in range(16)]) for m in (5, 7, 1))
    small = Fraction(1, 10**6)
    up, down = (at + sign * small * along for sign in (1, -1))
    moved, above, below = (
        list(behind.halves(exact, GEMMA.form, DualBalls.of(x, y))) for x, y in ((at, along), (up, step), (down, step))
    )
    for one, high, low in zip(moved, above, below, strict=True):
        slope = (high.values() - low.values()).astype(float) / float(2 * small)
        assert np.abs(slope - one.derivative().astype(float)).max() < 1e-8


def test_at_full_rank_a_gain_is_seen_unless_the_gram_matrix_is_nearly_diagonal() -> None:
    """M with rows that are orthogonal: gains behind it give a form that is a square, 1 and rank 1, and are not told."""
    one = small_checkpoint("gemma2", seed=4, layers=1, heads=4, groups=4, head_width=2, inner=12, vocabulary=9)
    assert behind._attention_is_seen(one.blocks[0], one.form, np.random.default_rng(1))
    columns = np.eye(8).reshape(4, 2, 8)
    orthogonal = changed(one, 0, value=lambda _: columns, output=lambda _: columns.swapaxes(1, 2))
    orthogonal = changed(orthogonal, 0, norm1_gain=lambda gain: np.arange(1.0, 9.0))
    assert not behind._attention_is_seen(orthogonal.blocks[0], one.form, np.random.default_rng(1))
