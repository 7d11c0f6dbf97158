"""The compiled kernel against flint, on every instruction set of this machine, and kernels with a mistake."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import ranks
from build_kernel import mutant

from lightning_sym.errors import BadInput
from lightning_sym.exact import kernel
from lightning_sym.exact.kernel import Kernel, find
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.rings.prime_field import PRIMES, SMALL_PRIMES

P = 251


@pytest.fixture(scope="session")
def kernels(kernel_module: ModuleType) -> list[Kernel]:
    """The kernel with each instruction set that this machine has."""
    return [Kernel(kernel_module, name) for name in kernel_module.instruction_sets()]


def as_bytes(matrix: np.ndarray, p: int = P) -> np.ndarray:
    residues = np.mod(matrix, p)
    return np.ascontiguousarray(np.where(residues > p // 2, residues - p, residues).astype(np.int8))


def flint_rank(matrix: np.ndarray, p: int) -> int:
    return int(ranks.flint_matrix(np.mod(matrix.astype(np.int64), p), p).rank())


def special_bytes() -> list[np.ndarray]:
    """Matrices for which the first window of a panel is not enough, and others at the ends of what is possible."""
    generator = np.random.default_rng(0)

    def dense(*shape: int) -> np.ndarray:
        return generator.integers(-125, 126, size=shape)

    n = 140
    late = np.zeros((n, 3 * n), dtype=np.int64)  # pivots stand behind the window, and rows have few of them
    late[:, 2 * n :] = np.tril(dense(n, n))
    hidden = dense(n, 2 * n)  # the window has a rank of its own
    hidden[:, :100] = dense(n, 7) @ generator.integers(-2, 3, size=(7, 100))
    blocks = np.zeros((n, n), dtype=np.int64)
    for start in range(0, n, 20):
        blocks[start : start + 20, n - 20 - start : n - start] = dense(20, 20)
    sparse = dense(n, 4 * n) * (generator.random((n, 4 * n)) < 0.004)
    cases = [
        np.zeros((n, n)), np.zeros((0, 5)), np.zeros((5, 0)), np.zeros((0, 0)), dense(1, 50), dense(50, 1),
        dense(1, 1), np.full((n, n), 125), np.full((n, n), -125), np.full((n, n), 127), np.full((n, n), -128),
        np.where(generator.random((n, n)) < 0.5, 125, -125), np.where(generator.random((n, n)) < 0.5, 127, -128),
        np.repeat(dense(7, n), 20, axis=0), np.repeat(dense(n, 7), 20, axis=1), np.triu(dense(n, n)),
        np.tril(dense(n, n), -3), np.eye(n)[::-1], np.eye(n, 2 * n, n), blocks, late, late[:, ::-1], hidden, sparse,
        sparse.T, generator.integers(-128, 128, size=(n, n)), np.vstack([hidden, hidden[::-1]]),
    ]  # fmt: skip
    return [np.ascontiguousarray(case.astype(np.int8)) for case in cases]


@pytest.mark.parametrize("seed", range(2))
def test_random_matrices_of_all_kinds(kernels: list[Kernel], seed: int) -> None:
    generator = np.random.default_rng(seed)
    for i, (matrix, p, _) in enumerate(ranks.random_matrices(300, seed)):
        q, height = int(generator.choice(SMALL_PRIMES)), int(generator.integers(1, 60 if i % 2 else 513))
        small, floats = as_bytes(matrix, q), np.mod(matrix, p).astype(np.float64)
        expected = flint_rank(matrix, p), flint_rank(matrix, p), flint_rank(small, q)
        for k in kernels:
            found = k.rank(matrix, p), k.rank(floats, p), k.rank_of_bytes(small, q, height=height)
            assert found == expected, (k.instruction_set, matrix.shape, p, q, height)


@pytest.mark.parametrize("p", SMALL_PRIMES)
def test_special_matrices(kernels: list[Kernel], p: int) -> None:
    for number, matrix in enumerate(special_bytes()):
        expected = flint_rank(matrix, p)
        for k in kernels:
            for height in (1, 3, 64, 512):
                assert k.rank_of_bytes(matrix, p, height=height) == expected, (k.instruction_set, number, height)
            assert k.rank(matrix.astype(np.int64), p) == expected, (k.instruction_set, number)


def test_a_thousand_tiny_matrices(kernels: list[Kernel]) -> None:
    generator = np.random.default_rng(3)
    for _ in range(1000):
        matrix = generator.integers(-2, 3, size=generator.integers(0, 6, size=2)).astype(np.int8)
        expected, height = (flint_rank(matrix, P), flint_rank(matrix, PRIMES[1])), int(generator.integers(1, 6))
        for k in kernels:
            assert (k.rank_of_bytes(matrix, P, height=height), k.rank(matrix.astype(float), PRIMES[1])) == expected


def test_sums_are_exact_at_the_worst_residues(kernels: list[Kernel]) -> None:
    """All products that one panel adds up are as large as they can be, and one more decides about the rank."""
    n = 511
    for p in SMALL_PRIMES:
        half = p // 2 * np.random.default_rng(p).choice([-1, 1], size=n)
        above = np.hstack([np.eye(n, dtype=np.int64), half[:, None]])
        for left in (half, -np.sign(half)):  # -1 is p - 1 where residues are not centred
            below = np.append(left, left @ half)
            for more in (0, 1):
                below[n] += more
                matrix = as_bytes(np.vstack([above, below]), p)
                assert {k.rank_of_bytes(matrix, p, height=n) for k in kernels} == {n + more}


def test_sums_that_are_reduced_late_are_exact_in_float64(kernels: list[Kernel]) -> None:
    n = 700
    for p in PRIMES[:2]:
        half = p // 2
        above = np.hstack([np.eye(n, dtype=np.int64), np.full((n, 1), half)])
        for more in (0, 1):
            matrix = np.vstack([above, np.append(np.full(n, half), half**2 * n % p + more)])
            assert {k.rank(matrix, p) for k in kernels} == {n + more}


def test_large_matrices_of_every_rank_on_several_threads(
    kernels: list[Kernel], monkeypatch: pytest.MonkeyPatch
) -> None:
    generator, n = np.random.default_rng(5), 600
    for rank in (n, n - 1, n // 2, 3):
        factors = generator.integers(-9, 10, size=(n + 60, rank)), generator.integers(-9, 10, size=(rank, n))
        matrix = as_bytes(factors[0] @ factors[1])
        for count in (1, 3):
            monkeypatch.setattr(kernel, "threads", lambda count=count: count)
            for k in kernels:
                assert k.rank_of_bytes(matrix, P) == k.rank_of_bytes(matrix.T, P) == rank


def test_the_matrix_is_kept_unless_it_may_be_overwritten(kernels: list[Kernel]) -> None:
    before = as_bytes(np.random.default_rng(1).integers(0, P, size=(90, 80)))
    for k in kernels:
        matrix, frozen, wide = before.copy(), before.copy(), np.repeat(before, 2, axis=1)
        frozen.flags.writeable = False
        for shown in (matrix, wide[:, ::2], np.asfortranarray(matrix), matrix[::-1]):
            assert k.rank_of_bytes(shown, P) == k.rank(shown.astype(np.float64), P) == 80
        assert k.rank_of_bytes(frozen, P, overwrite=True) == 80
        assert k.rank_of_bytes(wide[:, ::2], P, overwrite=True) == 80
        assert k.rank(np.asfortranarray(before.astype(np.int64))[::-1, ::2], P) == 40
        assert (matrix == before).all()
        assert (frozen == before).all()
        assert (wide[:, ::2] == before).all()
        assert k.rank_of_bytes(matrix, P, overwrite=True) == 80
        assert (matrix != before).any()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda k: k.rank_of_bytes(np.eye(3), P), "the matrix must be int8 with two axes, got 2 of format 'd'"),
        (lambda k: k.rank_of_bytes(np.eye(3, dtype=np.uint8), P), "got 2 of format 'B'"),
        (lambda k: k.rank_of_bytes(np.zeros((2, 2, 2), np.int8), P, height=1), "two axes, got 3 of format 'b'"),
        (lambda k: k.rank_of_bytes(np.eye(3, dtype=np.int8), 257), "must be 233, 239, 241 or 251, got 257"),
        (lambda k: k.rank_of_bytes(np.eye(3, dtype=np.int8), 235), "must be 233, 239, 241 or 251, got 235"),
        (lambda k: k.rank_of_bytes(np.eye(3, dtype=np.int8), P, height=513), "with 1 to 512 rows"),
        (lambda k: k.rank_of_bytes(np.eye(3, dtype=np.int8), P, height=0), "with 1 to 512 rows"),
        (lambda k: k.rank(np.eye(3, dtype=np.float32), P), "float64 or int64 with two axes, got 2 of format 'f'"),
        (lambda k: k.rank(np.eye(3, dtype=">f8"), P), "got 2 of format '>d'"),
        (lambda k: k.rank(np.eye(3, dtype=object), P), "got 2 of format 'O'"),
        (lambda k: k.rank(np.ones(3), P), "got 1 of format 'd'"),
        (lambda k: k.rank([[1]], P), "a bytes-like object is required, not 'list'"),
        (lambda k: k.rank(np.full((2, 2), 0.5), P), "must be integers below 2\\^52"),
        (lambda k: k.rank(np.full((2, 2), np.nan), P), "must be integers below 2\\^52"),
        (lambda k: k.rank(np.full((2, 2), -(2.0**52)), P), "must be integers below 2\\^52"),
        (lambda k: k.rank(np.eye(3), 2**22), "must be odd and below 2\\^22, got 4194304"),
        (lambda k: k.rank(np.eye(3), -7), "must be odd and below 2\\^22, got -7"),
        (lambda k: k.rank(np.array([[3, 1], [1, 1]]), 15), "the modulus must be a prime, got 15"),
        (lambda k: k.rank(np.eye(2001), P), "at most 2000 rows or columns, got 2001 and 2001"),
    ],
)
def test_what_is_refused(kernels: list[Kernel], call: Any, message: str) -> None:
    for k in kernels:
        with pytest.raises(BadInput, match=message) as refusal:
            call(k)
        assert "\n" not in str(refusal.value)


def test_an_instruction_set_that_this_machine_lacks_is_refused(kernels: list[Kernel]) -> None:
    have = {k.instruction_set for k in kernels}
    assert "plain" in have
    for name in {"avx512vnni", "avx2", "neon", "no such", ""} - have:
        with pytest.raises(BadInput, match=f"the instruction set must be one that this machine has, got '{name}'"):
            Kernel(kernels[0].functions, name).rank(np.eye(2), P)


@pytest.mark.parametrize(("rows", "columns", "height"), [(8000, 8000, 256), (20000, 9000, 281), (300, 100, 32)])
def test_buffers_are_what_c_allocates(rows: int, columns: int, height: int) -> None:
    """The window, a panel and its next state, operations, and these and rows packed: `elimination.h`, of 16 bits."""
    deep, tall, wide = height + 2, height + 5, columns + 15  # at most: groups of 2, tiles of 6 rows and 16 columns
    allocated = 4 * height * (2 * height + 24) + 2 * height * columns + height**2 + 2 * deep * (tall + wide)
    assert allocated <= kernel.buffer_bytes(rows, columns) < 1.5 * allocated


def test_progress_and_an_early_end(kernels: list[Kernel]) -> None:
    rows: list[int] = []
    matrix = as_bytes(np.random.default_rng(2).integers(0, P, size=(200, 50)))
    assert kernels[0].rank_of_bytes(matrix, P, height=20, progress=rows.append) == 50
    assert rows == [0, 20, 40]


def test_ranks_are_the_same_with_a_kernel_and_without(kernels: list[Kernel], monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(9)
    kinds = (np.int8, np.int16, np.int64, np.uint64, np.float64)
    for i, (matrix, p, _) in enumerate(ranks.random_matrices(120, 9)):
        p = int(generator.choice([p, P, 7]))
        given = (matrix % 100).astype(kinds[i % len(kinds)])
        monkeypatch.setattr(kernel, "COMPILED", None)
        without = rank_mod_p(given, p)
        for k in kernels:
            monkeypatch.setattr(kernel, "COMPILED", k)
            assert rank_mod_p(given, p) == without == flint_rank(given, p)
    monkeypatch.setattr(kernel, "COMPILED", kernels[0])
    large = generator.integers(0, 50, size=(1300, 3)) @ generator.integers(-2, 3, size=(3, 700))
    for kind in (np.int16, np.float64, np.int64):
        assert rank_mod_p(large.astype(kind), P) == rank_mod_p(large.astype(kind), PRIMES[0]) == 3
    assert rank_mod_p(as_bytes(large), P, overwrite=True) == 3
    for bad in (large + 0.5, large * 1e300, large.astype(object)):
        with pytest.raises(BadInput, match="must be"):
            rank_mod_p(bad, P)


def test_a_kernel_of_another_version_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert find("no_such_kernel") == (None, "none")
    monkeypatch.setitem(sys.modules, "old_kernel", SimpleNamespace(VERSION=0))
    assert find("old_kernel") == (None, "not used, it has version 0 where 1 is needed: build it again")
    (tmp_path / "broken_kernel.py").write_text("raise ImportError('made for another machine')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert find("broken_kernel") == (None, "not used, it cannot be loaded: ImportError: made for another machine")
    faults = {
        "raise RuntimeError('two' + chr(10) + 'lines')": "RuntimeError: two lines",
        "import no_such_module": "ModuleNotFoundError: No module named 'no_such_module'",
        "VERSION = 1": "AttributeError: module 'fault_2' has no attribute 'instruction_sets'",
        "VERSION = 1\ninstruction_sets = tuple": "IndexError: tuple index out of range",
    }
    for i, (text, message) in enumerate(faults.items()):
        (tmp_path / f"fault_{i}.py").write_text(text, encoding="utf-8")
        assert find(f"fault_{i}") == (None, f"not used, it cannot be loaded: {message}")


def test_the_version_is_the_same_wherever_it_stands(kernel_module: ModuleType) -> None:
    text = (Path(__file__).parents[2] / "kernel" / "pyproject.toml").read_text(encoding="utf-8")
    assert kernel_module.VERSION == kernel.VERSION
    assert f'version = "{kernel.VERSION}"' in text


JUDGE = """
import pickle, sys
sys.path.insert(0, sys.argv[1])
from lightning_sym_kernel import eliminate, rank
for matrix, expected in pickle.load(sys.stdin.buffer):
    assert rank(matrix.astype("int64"), 251, "plain") == expected
    found = 0
    for row in range(0, len(matrix), 64):
        found += eliminate(matrix, 251, row, found, 64, 1, "plain")
    assert found == expected
"""

MUTANTS = [
    ("tile[i] = (int8_t)reduced((float)(tile[i] - sums[i]), p, inverse);", "tile[i] = (int8_t)(tile[i] - sums[i]);"),
    ("if (!more)", "if (more >= 0)"),
    ("panel->to[panel->moves++] = panel->pivots[i];", "panel->to[panel->moves] = panel->pivots[i];"),
    ("const double multiple = reduced_double(other[found], p, by);", "const double multiple = other[found];"),
    ("other[j] = reduced(other[j] - factor * row[j], p, inverse);", "other[j] = other[j];"),
    ("other[found] = other[column], other[column] = moved;", "other[found] = moved;"),
    ("return left == 1 ? old : 0;", "return old + 1;"),
]


def test_kernels_with_a_mistake_are_caught(tmp_path: Path) -> None:
    cases = pickle.dumps([(matrix, flint_rank(matrix, P)) for matrix in special_bytes()])
    for number, change in enumerate([("VERSION 1", "VERSION 2"), *MUTANTS]):
        folder = tmp_path / str(number)
        folder.mkdir()
        mutant(folder, *change)
        command = [sys.executable, "-c", JUDGE, str(folder)]
        judged = subprocess.run(command, input=cases, capture_output=True, check=False, timeout=100)
        assert (judged.returncode == 0) == (number == 0), (change, judged.stderr.decode()[-300:])
