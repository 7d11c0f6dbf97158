"""The elimination kernel over GF(p) against flint, at the bound of exactness, and against kernels with a mistake."""

from __future__ import annotations

import importlib.util
import sys
import tracemalloc
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import ranks
from hypothesis import given
from hypothesis import strategies as st

from lightning_sym import threads
from lightning_sym.errors import BadInput, ShapeError
from lightning_sym.exact import elimination, tiles
from lightning_sym.exact.elimination import echelon_mod_p
from lightning_sym.rings.prime_field import PRIMES, SMALL_PRIMES

P = PRIMES[0]


def random_residues(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-(P // 2), P // 2 + 1, size=shape)


def extreme_products(inner: int, p: int) -> np.ndarray:
    """Of rank `inner + 1`: eliminating `[I | U]` from `[M | M U + R]` adds up products of the largest odd residues.

    With `R` of rank one every bit counts; for `R = 0` two roundings too many would cancel.
    """
    largest, generator = p // 2 - (p // 2 + 1) % 2, np.random.default_rng(p)
    left, right = (largest - 2 * generator.integers(0, 50, size=size) for size in ((8, inner), (inner, 8)))
    return np.block(
        [[np.eye(inner, dtype=np.int64), right], [left, (left @ right + np.outer(left[:, 0], right[0])) % p]]
    )


@pytest.mark.parametrize("seed", range(4))
def test_ranks_and_pivots_agree_with_flint(seed: int) -> None:
    for matrix, p, blocks in ranks.random_matrices(250, seed):
        found = echelon_mod_p(matrix, p, **blocks)
        assert ranks.is_right(found, matrix, p), (matrix.shape, p, blocks)
        assert len(set(found.pivot_rows)) == len(set(found.pivot_columns)) == found.rank


@given(
    st.integers(1, 6).flatmap(
        lambda n: st.lists(st.lists(st.integers(-2, 2), min_size=n, max_size=n), min_size=1, max_size=7)
    ),
    st.integers(1, 8),
    st.integers(1, 4),
)
def test_any_small_matrix(rows: list[list[int]], panel: int, base: int) -> None:
    matrix = np.array(rows)
    assert ranks.is_right(echelon_mod_p(matrix, P, panel=panel, base=base), matrix, P)


@pytest.mark.parametrize("size", [31, 32, 33, 63, 64, 65, 97, 256, 257, 300])
def test_sizes_around_the_usual_blocks(size: int) -> None:
    """Rank deficient by three, pivots of the last rows in front; more rows than columns and fewer."""
    matrix = np.concatenate([random_residues(1, size - 3, size), random_residues(2, 6, size)])
    matrix[-6:] = 0
    matrix[-3:, 0], matrix[: size - 3, 0] = 1, 0
    for oriented in (matrix, matrix.T, np.asfortranarray(matrix)):
        found = echelon_mod_p(oriented, P)
        assert found.rank == size - 2
        assert ranks.is_right(found, oriented, P)


def test_tiles_and_strips_are_cut_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "_TILE", (3, 5))
    monkeypatch.setattr(tiles, "_STRIP", 450)
    for matrix, p, blocks in ranks.random_matrices(100, seed=5, largest=40):
        assert ranks.is_right(echelon_mod_p(matrix, p, **blocks), matrix, p)


def test_threads_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pivots too: the steps and their order do not depend on who does them."""
    monkeypatch.setattr(threads, "cores", lambda: 3)
    monkeypatch.setattr(tiles, "_TILE", (16, 16))
    for matrix, p, blocks in ranks.random_matrices(60, seed=6, largest=150):
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
        alone = echelon_mod_p(matrix, p, **blocks)
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
        with monkeypatch.context() as small:
            small.setattr(tiles, "_THREADS_FROM", 0)
            small.setattr(tiles, "_SHARED_FROM", 0)
            shared = echelon_mod_p(matrix, p, **blocks)
        assert (alone.pivot_rows == shared.pivot_rows).all()
        assert (alone.pivot_columns == shared.pivot_columns).all()


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0), (1, 1), (3, 4)])
def test_zero_matrices_have_no_pivots(shape: tuple[int, int]) -> None:
    for matrix in (np.zeros(shape, dtype=np.int64), np.zeros(shape), P * np.ones(shape, dtype=np.int64)):
        found = echelon_mod_p(matrix, P, overwrite=True)
        assert (found.rank, found.pivot_rows.tolist(), found.pivot_columns.tolist()) == (0, [], [])
        assert found.pivot_rows.dtype == np.int64


@pytest.mark.parametrize("p", [P, SMALL_PRIMES[0]])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64, np.float32, np.float64])
def test_every_type_of_integers(dtype: type, p: int) -> None:
    most = 2**52 - 1
    if dtype in (np.float32, np.float64):
        low, high = (-(2**23) + 1, 2**23 - 1) if dtype is np.float32 else (-most, most)
    else:
        low, high = max(-most, int(np.iinfo(dtype).min)), min(most, int(np.iinfo(dtype).max))
    if dtype in (np.int64, np.uint64):
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    exact = np.array([[low, high, 1], [high, low, 1], [low + high, low + high, 2]], dtype=object)
    matrix = exact.copy()
    matrix[2] = [0, 1, 2]
    assert echelon_mod_p(matrix.astype(dtype), p).rank == ranks.flint_matrix(matrix % p, p).rank()


@pytest.mark.parametrize("p", PRIMES + SMALL_PRIMES)
@pytest.mark.parametrize("longest", [False, True])
def test_products_are_exact_at_the_worst_residues(p: int, longest: bool) -> None:
    kind, most = tiles.limits_of(p)
    panel = most if longest else None
    matrix = extreme_products(2401, p).astype(kind)
    assert echelon_mod_p(matrix, p, panel=panel, overwrite=True).rank == 2402


def test_the_matrix_is_kept_unless_it_may_be_overwritten() -> None:
    for matrix in (random_residues(3, 50, 40), random_residues(3, 50, 40).astype(np.float64)):
        before = matrix.copy()
        echelon_mod_p(matrix, P)
        assert (matrix == before).all()
    frozen = matrix.copy()
    frozen.flags.writeable = False
    assert echelon_mod_p(frozen, P, overwrite=True).rank == 40
    sliced = np.repeat(matrix, 2, axis=1)[:, ::2]
    assert echelon_mod_p(sliced, P, overwrite=True).rank == 40
    assert (sliced == before).all()


@pytest.mark.parametrize("order", ["C", "F"])
def test_little_memory_in_place(monkeypatch: pytest.MonkeyPatch, order: Any) -> None:
    monkeypatch.setattr(tiles, "_TILE", (200, 20))  # as if the matrix were large
    matrix = np.array(random_residues(4, 20000, 200), dtype=np.float64, order=order)
    tracemalloc.start()
    assert echelon_mod_p(matrix, P, overwrite=True, panel=10, base=5).rank == 200
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < matrix.nbytes / 5


@pytest.mark.parametrize("zero", [0, 150])
def test_buffers_take_no_more_than_was_said(zero: int) -> None:
    matrix = random_residues(5, 2000, 256).astype(np.float64)
    matrix[:, :zero] = 0  # columns without a pivot stand first, and others move to their places
    for peak in (False, True):  # what is loaded when it is first needed is no buffer
        work = matrix.copy()
        tracemalloc.start()
        echelon_mod_p(work, P, overwrite=True)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert not peak or most < elimination.buffer_bytes(2000, 256, P) < 2 * most


def test_bad_input_is_named() -> None:
    good = np.eye(2, dtype=np.int64)
    with pytest.raises(BadInput, match="must be one of"):
        echelon_mod_p(good, 4194303)
    with pytest.raises(ShapeError, match="two axes"):
        echelon_mod_p(good[0], P)
    options: list[dict[str, Any]] = [{"panel": 0}, {"panel": 2047}, {"base": 0}]
    for blocks in options:
        with pytest.raises(BadInput, match="rows"):
            echelon_mod_p(good, P, **blocks)
    with pytest.raises(BadInput, match="1 to 1024 rows"):
        echelon_mod_p(good, SMALL_PRIMES[0], panel=1025)
    with pytest.raises(BadInput, match="integers below"):
        echelon_mod_p(np.array([[1, 2**23]], dtype=np.float32), P)
    for entry in (0.5, 2.0**52, -np.inf, np.nan):
        with pytest.raises(BadInput, match="integers below"):
            echelon_mod_p(np.array([[1, 2], [3, entry]]), P)
    for wrong in (good.astype(complex), good.astype(object), good.astype(np.float16), good.astype(bool)):
        with pytest.raises(BadInput, match="made of integers"):
            echelon_mod_p(wrong, P)


# mistakes that a kernel can have; most of them show nothing on random dense matrices
MUTANTS = {
    "pivots stand in the first columns": ("            if not live:", "            if pivots or not live:"),
    "first columns hold the pivots": ("            if stay:", "            if False:"),
    "moved columns keep their names": ("names[free] = names[stay]", "pass"),
    "no row without a pivot": ("block if len(pivots) == len(block) else", "block if pivots else"),
    "upper half not cleared": ("        self.clear(top, bottom, below)", ""),
    "lower half not cleared": ("        self.clear(bottom, top, above)", ""),
    "rows counted from the half": ("(half + row, column)", "(row, column)"),
    "multipliers not reduced": ("                self.tiles.reduce(multipliers)", "                pass"),
    "never reduced below": ("pending + rank + panel > self.tiles.products", "False"),
    "transposed as it was": ("if transposed else Echelon", "if False else Echelon"),
    "other rows not cleared": ("            both -= multipliers", "            both[i + 1 :] -= multipliers[i + 1 :]"),
}  # fmt: skip

TILE_MUTANTS = {
    "large integers rounded": ("np.mod(part, self.p)", "part"),
    "products not reduced": ("            if reduce:\n", "            if False:\n"),
    "rows of a product of others": ("buffers.multiply(multipliers[i], rows[:, j])",
                                    "buffers.multiply(multipliers[: len(multipliers[i])], rows[:, j])"),
    "last tile forgotten": ("for j in slices(width, columns)]", "for j in slices(width, columns)][: 3]"),
    "first row of a tile forgotten": ("target[i, j] -= buffers.multiply(multipliers[i], rows[:, j])",
                                      "target[i, j][1:] -= buffers.multiply(multipliers[i], rows[:, j])[1:]"),
}  # fmt: skip


def mutant(folder: Path, old: str, new: str, original: ModuleType = elimination) -> ModuleType:
    """A module with one change."""
    source = Path(str(original.__file__)).read_text(encoding="utf-8")
    assert source.count(old) == 1, old
    (folder / "mutant.py").write_text(source.replace(old, new), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("mutant", folder / "mutant.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutant"] = module  # where dataclasses look
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules["mutant"]
    return module


def is_caught(kernel: ModuleType) -> bool:
    """Whether matrices of this file show that the kernel is wrong."""
    for matrix, p, blocks in ranks.random_matrices(250, seed=0):
        try:
            if not ranks.is_right(kernel.echelon_mod_p(matrix, p, **blocks), matrix, p):
                return True
        except (IndexError, ValueError, RuntimeWarning):  # arrays that do not fit, numbers that overflow
            return True
    return bool(kernel.echelon_mod_p(extreme_products(2401, P), P).rank != 2402)


@pytest.mark.parametrize(("old", "new"), MUTANTS.values(), ids=MUTANTS)
def test_mistakes_are_caught(tmp_path: Path, old: str, new: str) -> None:
    assert is_caught(mutant(tmp_path, old, new))


@pytest.mark.parametrize(("old", "new"), TILE_MUTANTS.values(), ids=TILE_MUTANTS)
def test_mistakes_in_tiles_are_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    changed = mutant(tmp_path, old, new, tiles)
    monkeypatch.setattr(changed, "_TILE", (120, 90))
    monkeypatch.setattr(elimination, "Tiles", changed.Tiles)
    assert is_caught(elimination)


def test_nothing_is_caught_without_a_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = mutant(tmp_path, "_STRIP = 2**14", "_STRIP = 2**13", tiles)
    monkeypatch.setattr(changed, "_TILE", (120, 90))
    monkeypatch.setattr(elimination, "Tiles", changed.Tiles)
    assert not is_caught(elimination)


def test_a_generic_rank_profile_may_not_be_assumed() -> None:
    """Elimination with the next diagonal entry as pivot is right on random matrices only."""

    def leading_minors(matrix: np.ndarray, p: int) -> int:
        work, rank = np.mod(matrix, p).astype(object), 0
        while rank < min(work.shape) and work[rank, rank]:
            factors = work[rank + 1 :, rank] * pow(work[rank, rank], -1, p) % p
            work[rank + 1 :] = (work[rank + 1 :] - np.outer(factors, work[rank])) % p
            rank += 1
        return rank

    generator = np.random.default_rng(0)
    for m, n in generator.integers(1, 30, size=(20, 2)):
        matrix = random_residues(m, m, n)
        assert leading_minors(matrix, P) == echelon_mod_p(matrix, P).rank
    corpus = list(ranks.random_matrices(250, seed=0, largest=60))
    wrong = sum(leading_minors(matrix, p) != echelon_mod_p(matrix, p).rank for matrix, p, _ in corpus)
    assert wrong > len(corpus) / 4


@pytest.mark.parametrize(("old", "new"), [("(np.float64), 2046", "(np.float64), 2048"), (", 1024)", ", 1060)")])
def test_the_bound_is_checked_when_the_module_is_loaded(tmp_path: Path, old: str, new: str) -> None:
    with pytest.raises(AssertionError, match="exact"):
        mutant(tmp_path, old, new, tiles)
