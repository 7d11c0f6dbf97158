"""Ranks modulo p against the limit set by this machine's own dgemm, against other systems, and for mistakes.

    python benchmarks/ranks.py [--largest 8000] [--compare 20000] [--seed 0] [--json FILE]

The limit is the time of `(2/3) n^3` operations, one dense elimination, at the rate of a float64 matrix product
measured next to it. `ratio` is our time by that limit, from the quickest to the slowest run; `x` is the time of
another system by our median. Times of flint are with and without building its matrix from a NumPy array; those of
LinBox are taken inside Sage. NumPy's rank, by singular values, is inexact. `--compare` takes the ranks of so many
random, sparse, rectangular, deficient and degenerate matrices instead, and checks rank and pivots with flint.

Where the compiled kernel is installed (`make kernel`) there is a second table: `rank_mod_p` with it, for small matrices
modulo the same prime, by flint's bare rank, for large ones in bytes modulo 251, by the limit. Everything runs on as
many threads as the machine has cores, or as the variable OPENBLAS_NUM_THREADS says.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import fmpz_mat, nmod_mat
from measuring import Figures, dgemm_rate, median_seconds, parser, write_json

from lightning_sym.exact import kernel
from lightning_sym.exact.elimination import Echelon, echelon_mod_p
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.rings.prime_field import PRIMES, SMALL_PRIMES

SIZES = (20, 50, 80, 150, 300, 500, 1000, 2000, 4000, 8000)
BYTES = 251  # the prime of large matrices with a kernel
SMALL = 300  # up to which flint's bare rank is the measure
FLINT_LARGEST = 4000  # its matrices are built from Python's integers, 40 bytes each
SVD_LARGEST = 1000
SAGE = "from time import perf_counter as t; m = random_matrix(GF({p}), {n}); s = t(); m.rank(); print(t() - s)"

Matrix = npt.NDArray[np.int64]


def flint_matrix(matrix: Matrix, p: int) -> nmod_mat:
    """Return the matrix modulo `p` in flint, by way of integers, which is the quickest."""
    return nmod_mat(fmpz_mat(*matrix.shape, matrix.ravel().tolist()), p)


def is_right(found: Echelon, matrix: Matrix, p: int) -> bool:
    """Return whether flint finds the same rank, and the minor in the pivot rows and columns not zero."""
    minor = matrix[found.pivot_rows][:, found.pivot_columns]
    return int(flint_matrix(matrix, p).rank()) == found.rank and flint_matrix(minor, p).det() != 0


def _dense(generator: np.random.Generator, m: int, n: int, p: int) -> Matrix:
    return generator.integers(-(2**63), 2**63, size=(m, n), dtype=np.int64)


def _small_entries(generator: np.random.Generator, m: int, n: int, p: int) -> Matrix:
    return generator.integers(-1, 2, size=(m, n))


def _extreme_entries(generator: np.random.Generator, m: int, n: int, p: int) -> Matrix:
    return generator.choice([-(p // 2), p // 2], size=(m, n))


def _sparse(generator: np.random.Generator, m: int, n: int, p: int) -> Matrix:
    entries_in_a_row = generator.choice([0.5, 1, 3])
    return generator.integers(-p, p, size=(m, n)) * (generator.random((m, n)) * n < entries_in_a_row)


def _low_rank(generator: np.random.Generator, m: int, n: int, p: int) -> Matrix:
    rank = int(generator.integers(0, 1 + min(m, n)))
    return generator.integers(-p, p, size=(m, rank)) @ generator.integers(-9, 10, size=(rank, n))


def _repeated_rows(generator: np.random.Generator, m: int, n: int, p: int) -> Matrix:
    rows = generator.integers(-p, p, size=(1 + m // 3, n))
    return rows[generator.integers(0, len(rows), size=m)] * generator.integers(-2, 3, size=(m, 1))


def _zero_blocks(generator: np.random.Generator, m: int, n: int, p: int) -> Matrix:
    matrix = generator.integers(-p, p, size=(m, n))
    for _ in range(3):
        (top, bottom), (left, right) = (np.sort(generator.integers(0, size + 1, size=2)) for size in (m, n))
        matrix[top:bottom, left:right] = 0
    return matrix


def _large_entries(generator: np.random.Generator, m: int, n: int, p: int) -> Matrix:
    """Return a matrix that has low rank modulo `p` only, with large entries."""
    return p * generator.integers(-(2**40), 2**40, size=(m, n)) + _low_rank(generator, m, n, p)


def _staircase(generator: np.random.Generator, m: int, n: int, p: int) -> Matrix:
    """Return a matrix with any rank profile: the rows begin anywhere, then they are mixed."""
    first = np.sort(generator.integers(0, n + 1, size=m))
    stairs = generator.integers(-p, p, size=(m, n)) * (np.arange(n) >= first[:, None])
    mix = np.eye(m, dtype=np.int64) + np.tril(generator.integers(-1, 2, size=(m, m)), -1)
    return generator.permutation(mix @ stairs if generator.random() < 0.5 else stairs)


def _permutation(generator: np.random.Generator, m: int, n: int, p: int) -> Matrix:
    return generator.permutation(np.eye(m, n, k=int(generator.integers(-3, 4)), dtype=np.int64), axis=1)


KINDS = (
    _dense, _small_entries, _extreme_entries, _sparse, _low_rank, _repeated_rows, _zero_blocks, _large_entries,
    _staircase, _permutation,
)  # fmt: skip


def random_matrices(count: int, seed: int, largest: int = 250) -> Iterator[tuple[Matrix, int, dict[str, Any]]]:
    """Yield matrices of all kinds, each with a prime and with sizes of blocks, mostly far smaller than usual."""
    generator = np.random.default_rng(seed)
    for i in range(count):
        p = int(generator.choice(PRIMES + SMALL_PRIMES))
        m, n = (int(largest**x) - (x < 0.05) for x in generator.random(2))
        if generator.random() < 0.3:
            n = m
        matrix = KINDS[i % len(KINDS)](generator, m, n, p)
        if generator.random() < 0.3:
            matrix = np.asfortranarray(matrix)
        blocks = {"panel": int(generator.integers(1, 2 + m)), "base": int(generator.integers(1, 20))}
        yield matrix, p, blocks if generator.random() < 0.8 else {}


def compare(count: int, seed: int) -> int:
    """Return how many of our ranks or pivots flint does not confirm."""
    wrong = 0
    for matrix, p, blocks in random_matrices(count, seed):
        wrong += not is_right(echelon_mod_p(matrix, p, **blocks), matrix, p)
    return wrong


def linbox_seconds(n: int, p: int) -> float | None:
    """Return seconds for a random matrix in Sage, which has LinBox for it; `None` if it is not installed."""
    if not (sage := shutil.which("sage")):
        return None
    return float(subprocess.run([sage, "-c", SAGE.format(n=n, p=p)], capture_output=True, check=True, text=True).stdout)


def measure(n: int, runs: int) -> dict[str, Any]:
    """Return the times for one random matrix of this size."""
    p = PRIMES[0]
    matrix = np.random.default_rng(n).integers(-(p // 2), p // 2 + 1, size=(n, n))
    before, ours = dgemm_rate(), []
    for _ in range(runs + 1):
        work = matrix.astype(np.float64)
        start = time.perf_counter()
        rank = echelon_mod_p(work, p, overwrite=True).rank
        ours.append(time.perf_counter() - start)
    rate = max(before, dgemm_rate())
    row: dict[str, Any] = {
        "n": n, "rank": rank, "dgemm_operations_per_second": rate, "limit_seconds": 2 / 3 * n**3 / rate,
        "seconds": ours[1:], "median_seconds": statistics.median(ours[1:]), "linbox_seconds": linbox_seconds(n, p),
    }  # fmt: skip
    if kernel.COMPILED is not None:
        row |= measure_kernel(matrix, p, runs)
    if n <= FLINT_LARGEST:
        other = flint_matrix(matrix, p)
        row["flint_agrees"] = int(other.rank()) == rank
        row["flint_rank_seconds"] = min(median_seconds(other.rank, 1) for _ in range(runs if n <= SMALL else 1))
        row["flint_seconds"] = row["flint_rank_seconds"] + median_seconds(lambda: flint_matrix(matrix, p), 1)
    if n <= SVD_LARGEST:
        row["svd_seconds"] = median_seconds(lambda: np.linalg.matrix_rank(matrix.astype(np.float64)), 1)
    return row


def measure_kernel(matrix: Matrix, p: int, runs: int) -> dict[str, Any]:
    """Return times of the compiled kernel: for small matrices modulo `p`, for large ones in bytes."""
    n = len(matrix)
    small = n <= SMALL
    residues = np.mod(matrix, BYTES)
    source = matrix.astype(np.float64) if small else np.where(residues > BYTES // 2, residues - BYTES, residues)
    modulus, times = (p if small else BYTES), []
    for _ in range(runs + 1):
        work = source.copy() if small else source.astype(np.int8)
        start = time.perf_counter()
        rank = rank_mod_p(work, modulus, overwrite=True)
        times.append(time.perf_counter() - start)
    agrees = n > 1000 or rank == int(flint_matrix(matrix, modulus).rank())
    return {"kernel_seconds": times[1:], "kernel_prime": modulus, "kernel_agrees": agrees}


def digits(value: float) -> str:
    """Return two digits, and all those before the point."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def show(rows: list[dict[str, Any]]) -> None:
    """Print the table."""
    rates = [row["dgemm_operations_per_second"] / 1e9 for row in rows]
    title = f"rank modulo p of n x n matrices; dgemm here: {min(rates):.0f} to {max(rates):.0f} GFLOP/s"
    others = {"flint": "flint_rank", "flint, with building": "flint", "LinBox": "linbox", "NumPy SVD": "svd"}
    columns = ("n", "seconds", "limit", "ratio", *(heading for other in others for heading in (other, "x")))
    table = Figures(title, *columns)
    for row in rows:
        ours, limit = row["median_seconds"], row["limit_seconds"]
        ratios = [digits(extreme(row["seconds"]) / limit) for extreme in (min, max)]
        cells = [f"{row['n']:,}", digits(ours), digits(limit), " to ".join(ratios)]
        for name in others.values():
            seconds = row.get(f"{name}_seconds")
            cells += [digits(seconds), digits(seconds / ours)] if seconds else ["", ""]
        table.add(*cells)
    table.show()
    if all(row["linbox_seconds"] is None for row in rows):
        table.console.print("LinBox: not installed (looked for Sage)")
    if kernel.COMPILED is None:
        table.console.print("compiled kernel: not installed (make kernel)")
        return
    title = f"with the compiled kernel, {kernel.STATE}: the quickest run"
    table = Figures(title, "n", "modulo", "seconds", "by flint's bare rank", "by the limit", "x without")
    for row in rows:
        seconds, small = min(row["kernel_seconds"]), row["n"] <= SMALL
        table.add(
            f"{row['n']:,}", f"{row['kernel_prime']:,}", digits(seconds),
            digits(seconds / row["flint_rank_seconds"]) if small else "",
            "" if small else digits(seconds / row["limit_seconds"]), digits(min(row["seconds"]) / seconds),
        )  # fmt: skip
    table.show()


def main() -> int:
    """Print the table or the mismatches; write JSON if asked to; exit 1 if flint finds anything else."""
    options = parser(__doc__, "largest", "seed", "json", largest=8000)
    options.add_argument("--compare", type=int, metavar="COUNT", help="compare so many small matrices with flint")
    arguments = options.parse_args()

    document: dict[str, Any]
    if arguments.compare is not None:
        wrong = compare(arguments.compare, arguments.seed)
        print(f"{arguments.compare:,} matrices, {wrong:,} mismatches with flint")
        document = {"matrices": arguments.compare, "seed": arguments.seed, "mismatches": wrong}
    else:
        rows = [measure(n, runs=9 if n <= 1000 else 3) for n in SIZES if n <= arguments.largest]
        show(rows)
        wrong = sum(not (row.get("flint_agrees", True) and row.get("kernel_agrees", True)) for row in rows)
        document = {"rows": rows, "mismatches": wrong}
    write_json(arguments.json, document)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
