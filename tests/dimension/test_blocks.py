"""Residual softmax transformers: the theorem, ranks of their own matrices, and Jacobians, which share no code."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import blocks as benchmark
import numpy as np
import pytest

from lightning_sym import SOFTMAX, Architecture, certified_dimension
from lightning_sym.certificates.dimension import dimension_certificate
from lightning_sym.dimension import blocks, varieties
from lightning_sym.dimension.blocks import Layers, Transformer, transformer_of
from lightning_sym.dimension.certify import Evidence
from lightning_sym.dimension.transformers import narrow_count
from lightning_sym.errors import BadInput, ProgramError, TooLarge
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.network.jacobian import RandomJacobian
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix
from proofs_check.checker import verify

SMALL = Transformer(5, (Layers(2, 2, 3), Layers(1, 7, 6)), 4, 2, 6, 6, tied=True)


def network(d: int, ranks: tuple[int, ...], tokens: int, causal: bool, **more: Any) -> Architecture:
    return Architecture((d,) * (len(ranks) + 1), ranks, tokens, SOFTMAX, skip=True, causal=causal, **more)


@pytest.mark.parametrize("seed", range(3))
def test_four_roads_lead_to_the_same_number(seed: int) -> None:
    done = Counter[str]()
    assert list(benchmark.disagreements(15, seed, done)) == []
    assert done["wide"] == done["shared or tied"] == 15


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("tokens", [2, 3, 5])
@pytest.mark.parametrize(
    ("d", "ranks", "more"),
    [
        (1, (1,), {}),
        (1, (2, 1, 3), {"heads": 3}),  # all scores are symmetric
        (1, (1, 1), {"heads": 2, "value_ranks": (2, 1), "embed": 1, "unembed": 1}),
        (1, (1,), {"embed": 4}),
        (2, (3, 5), {"value_ranks": (4, 3), "embed": 2, "unembed": 2}),  # ranks above the width
        (3, (1,), {"value_ranks": (1,), "embed": 3, "unembed": 5}),
        (3, (2, 1), {"unembed": 4}),
        (2, (1, 1, 1, 1), {"value_ranks": (1, 2, 3, 1)}),
    ],
)
def test_edges(d: int, ranks: tuple[int, ...], tokens: int, causal: bool, more: dict[str, Any]) -> None:
    each = network(d, ranks, tokens, causal, **more)
    shape = transformer_of(each)
    assert shape is not None
    assert shape.parameters == each.parameter_count
    assert certified_dimension(each).value == shape.dimension == blocks.certify(shape, seed=1, memory=2**30).lower


@pytest.mark.parametrize(
    "change",
    [
        {"tokens": 1},
        {"skip": False},
        {"normalization": None},
        {"embed": 2},
        {"unembed": 1},
    ],
)
def test_other_networks_are_none_of_these(change: dict[str, Any]) -> None:
    plain = network(3, (2, 2), 2, True, embed=3, unembed=4)
    assert transformer_of(plain) is not None
    assert transformer_of(replace(plain, **change)) is None


def test_each_condition_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A point that misses one proves nothing, and no point is an error of the program, never a number."""
    shape = Transformer(3, (Layers(2, 2, 5),), 1, 1, None, None, tied=False)

    def certified_with(wrong: Any) -> bool:
        monkeypatch.setattr(blocks._DrawnWeights, "draw", wrong)
        try:
            return blocks.certify(shape, seed=0, memory=2**30).lower == shape.dimension
        except ProgramError:
            return False

    def unit(point: Any, rows: int, columns: int) -> Any:
        return np.eye(rows, columns)

    def no_product(point: Any, rows: int, columns: int) -> Any:  # O V = 0, though O and V have full rank
        if (rows, columns) == (3, 5):
            return np.hstack([np.eye(3), np.zeros((3, 2))])
        return np.vstack([np.zeros((2, 3)), np.eye(3)]) if (rows, columns) == (5, 3) else np.eye(rows, columns)

    def opposite(point: Any, rows: int, columns: int) -> Any:  # 1 + O V = 0
        return -np.eye(rows, columns) if (rows, columns) == (3, 5) else np.eye(rows, columns)

    def of_rank_one(point: Any, rows: int, columns: int) -> Any:
        return np.ones((2, 2)) if (rows, columns) == (2, 2) else np.eye(rows, columns)

    assert certified_with(unit)
    for wrong in (no_product, opposite, of_rank_one, lambda point, rows, columns: np.zeros((rows, columns))):
        assert not certified_with(wrong)


def test_conditions_are_what_they_are_said_to_be() -> None:
    """At one point of the proposition the Jacobian has the rank; with O = 0 in one head it has not."""
    each = network(3, (2, 1), 2, True, heads=2, value_ranks=(2, 1), embed=4, unembed=3)
    shape = transformer_of(each)
    assert shape is not None

    def rank(zero: str | None) -> int:
        weights = [PrimeFieldMatrix.of(np.eye(*size, dtype=int) * (name != zero), PRIMES[0]) for name, size in
                   each.weight_shapes()]  # fmt: skip
        jacobian = RandomJacobian(each, np.random.default_rng(0), PRIMES[0], weights=weights)
        return rank_mod_p(np.asarray(jacobian.rows(shape.dimension + 10)).astype(np.int64), PRIMES[0])

    assert rank(None) == shape.dimension
    assert rank("O1.2") < shape.dimension
    assert rank("E") < shape.dimension
    assert rank("Q2.1") < shape.dimension


def test_large_networks_need_no_jacobian() -> None:
    large = network(64, (16, 80), 5, True, heads=4, value_ranks=(16, 70), embed=1000, unembed=900)
    result = certified_dimension(large, seed=3)
    # 64 (1000 + 900 - 64), and in each of four heads 16 (128 - 16) twice, and 64 x 64 twice
    assert result.value == 64 * 1836 + 4 * (2 * 16 * 112 + 2 * 64 * 64)
    assert result.upper_evidence == (Evidence.PRODUCTS,)
    assert "full ranks modulo" in str(result)
    certificate = dimension_certificate(result)
    assert certificate["kind"] == "transformer"
    assert verify.check(certificate).startswith(f"dim M = {result.value}, ")


def test_both_roads_agree_where_they_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    each = network(5, (2, 3), 3, False, heads=2, value_ranks=(1, 3), embed=6, unembed=6)
    ordinary = certified_dimension(each)
    monkeypatch.setattr(varieties, "LARGEST_JACOBIAN", 10)
    fast = certified_dimension(each)
    assert ordinary.matrices is None
    assert fast.matrices is not None
    assert ordinary.value == fast.value


def test_work_is_bounded_before_it_is_begun() -> None:
    huge = Transformer(8192, (Layers(80, 128, 128),), 64, 8, 128256, 128256, tied=False)
    with pytest.raises(TooLarge, match="80 layers must take at most"):
        blocks.certify(huge, seed=0, memory=2**40)
    with pytest.raises(TooLarge, match="matrices of one layer of width 8,192"):
        blocks.certify(huge, seed=0, memory=2**30)
    with pytest.raises(TooLarge, match="multiplications"):
        blocks.certify(replace(SMALL, layers=(Layers(10**12, 1, 1),)), seed=0, memory=2**30)


def test_progress_is_told_layer_by_layer() -> None:
    told = []
    blocks.certify(SMALL, seed=0, memory=2**30, progress=lambda stage, done, total: told.append((done, total)))
    assert told == [(0, 3), (1, 3), (2, 3)]


def test_theorem_12_and_where_its_inequality_fails() -> None:
    """The witness: Theorem 12 would say 45."""
    count = narrow_count(1, 5, 4, 1, 1, 4)
    assert count.value == 45
    assert count.left < count.right
    found = certified_dimension(network(5, (1,) * 4, 3, True, value_ranks=(4,) * 4, embed=1, unembed=1))
    assert found.value == 42
    # at two tokens the number may not be reached, with the inequality
    count = narrow_count(2, 4, 2, 1, 4, 4)
    assert count.left >= count.right
    two = network(4, (4, 4), 2, False, value_ranks=(4, 4), embed=2, unembed=2)
    assert (certified_dimension(two).value, count.value) == (34, 36)
    assert certified_dimension(replace(two, tokens=3)).value == 36
    with pytest.raises(BadInput, match="narrower than the stream"):
        narrow_count(3, 3, 1, 1, 1, 1)
