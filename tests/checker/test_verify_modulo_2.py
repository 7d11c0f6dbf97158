"""The checker modulo 2: elimination by exclusive or, slots of 16 bits, and what may be claimed there."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import small_certificates
import test_verify_gradients
from small_certificates import (
    RATIONAL,
    SOFTMAX,
    SQUARE,
    Document,
    P,
    answer,
    certificate,
    gradients,
    point,
    shape,
    with_bound,
)
from test_verify_gradients import Jet, slow

from proofs_check.checker import verify

Matrix = list[list[int]]
SOURCE = Path(verify.__file__).read_text(encoding="utf-8")


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hand-made certificates and dual numbers are modulo 2, with exponentials that have odd sums."""

    def tables(net: verify.Network, rng: random.Random) -> list[Matrix] | None:
        found = list[Matrix]()
        for _ in net.heads:
            table = [[rng.randrange(2) for _ in range(net.t)] for _ in range(net.t)]
            if rng.random() < 0.7:
                table = [[table[min(i, j)][max(i, j)] for j in range(net.t)] for i in range(net.t)]
            for i, row in enumerate(table):
                row[i] ^= 1 ^ sum(row[: i + 1] if net.causal else row) & 1
            found.append(table)
        return found if net.normalized else None

    monkeypatch.setattr(small_certificates, "P", 2)
    monkeypatch.setattr(small_certificates, "tables", tables)
    monkeypatch.setattr(test_verify_gradients, "P", 2)


def naive_rank(matrix: Matrix, p: int) -> int:
    """Column after column, entry after entry."""
    rows, rank = [[x % p for x in row] for row in matrix], 0
    for c in range(len(matrix[0]) if matrix else 0):
        pivot = next((r for r in range(rank, len(rows)) if rows[r][c]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        inverse = pow(rows[rank][c], -1, p)
        for r in range(rank + 1, len(rows)):
            factor = rows[r][c] * inverse
            rows[r] = [(x - factor * y) % p for x, y in zip(rows[r], rows[rank], strict=True)]
        rank += 1
    return rank


def random_matrix(rng: random.Random, p: int) -> Matrix:
    """Of any rank: random ones, thin ones, ones with zeros, and with rows that come again."""
    rows, columns = rng.randrange(1, 9), rng.choice([1, 2, 3, 5, 8, 31, 32, 33, 40])
    kind = rng.randrange(4)
    if kind == 0:  # a product
        k = rng.randrange(min(rows, columns) + 1)
        a = [[rng.randrange(p) for _ in range(k)] for _ in range(rows)]
        b = [[rng.randrange(p) for _ in range(columns)] for _ in range(k)]
        return [[sum(x * b[i][c] for i, x in enumerate(row)) % p for c in range(columns)] for row in a]
    sparse = rng.random() if kind == 1 else 1
    matrix = [[rng.randrange(p) * (rng.random() < sparse) for _ in range(columns)] for _ in range(rows)]
    return [rng.choice(matrix) for _ in matrix] if kind == 2 else matrix


def ranks_differ(module: ModuleType, p: int, count: int) -> bool:
    """Whether some rank, or what is said of some row, is not as it should be."""
    rng = random.Random(p)
    for _ in range(count):
        matrix = random_matrix(rng, p)
        module.BUDGET.set(module.Budget())
        echelon, before = (module.EchelonOfBits if p == 2 else module.Echelon)(p, len(matrix[0])), 0
        for i, row in enumerate(matrix, 1):
            packed = module.pack(row)
            new = echelon.add(module.parities(packed) if p == 2 else packed) is None
            rank = naive_rank(matrix[:i], p)
            if (len(echelon.rows), new) != (rank, rank > before):
                return True
            before = rank
    return False


@pytest.mark.parametrize("p", [2, 3, 5, 4194301])
def test_ranks_agree_with_naive_elimination(p: int) -> None:
    assert not ranks_differ(verify, p, 3000 if p == 2 else 500)


MUTANTS = [  # (what stands there, what a careless checker has)
    ("row ^= self.rows[row.bit_length()]", "row = row & ~self.rows[row.bit_length()]"),
    ("while row and row.bit_length() in self.rows", "if row and row.bit_length() in self.rows"),
    ("return None if row else 0", "return None"),
    ('"01" * 8', '"0" + "1" * 15'),
]


@pytest.mark.parametrize(("old", "new"), MUTANTS)
def test_careless_eliminations_would_be_caught(old: str, new: str) -> None:
    assert SOURCE.count(old) == 1
    careless = ModuleType("careless")
    exec(SOURCE.replace(old, new), vars(careless))  # noqa: S102 - the checker itself, with one clause bent
    if "01" in old:
        assert [careless.parities(verify.pack([x])) for x in (2, 3)] != [verify.parities(x) for x in (2, 3)]
    else:
        assert ranks_differ(careless, 2, 300)


@pytest.mark.parametrize("slot", [16, 64])
def test_parities_of_any_numbers(slot: int) -> None:
    rng = random.Random(slot)
    for size in (0, 1, 2, 7, 100):
        for most in (2, 2**slot):
            numbers = [rng.randrange(most) for _ in range(size)]
            packed = sum(x << slot * i for i, x in enumerate(numbers))
            assert verify.parities(packed, slot) == sum((x & 1) << i for i, x in enumerate(numbers))
    assert verify.parities((1 << 64 * 50) - 1) == (1 << 50) - 1


@pytest.mark.parametrize(("p", "n", "inner"), [(2, 1, 8191), (2, 1, 8190), (4194301, 1, 3000), (4194301, 3, 2000)])
def test_slots_do_not_overflow(p: int, n: int, inner: int) -> None:
    """All entries p - 1, as many side by side as there may be, and products as long as there may be, or long ones."""
    tape = verify.Tape(p, n, 64 * (n > 1))
    assert n * 2 * inner * p * p < 2**tape.slot
    full = sum((p - 1) << tape.slot * i for i in range(n))  # 1 + u + ..., times -1
    side = sum(full << tape.bits * i for i in range(tape.side))
    ((found,),) = tape.product([[side] * inner], [[full] * inner], tape.side)
    one = sum((i + 1) * inner * (p - 1) ** 2 % p << tape.slot * i for i in range(n))
    assert found == sum(one << tape.bits * i for i in range(tape.side))
    ((total,),) = tape.add(*[[[side]]] * (verify.HEADS + 1))
    one = sum((verify.HEADS + 1) * (p - 1) % p << tape.slot * i for i in range(n))
    assert total == sum(one << tape.bits * i for i in range(tape.side))


@pytest.mark.parametrize(("m", "t", "fits"), [(127, 128, True), (128, 128, False), (1, 8191, True), (1, 8192, False)])
def test_what_might_overflow_is_refused(
    m: int, t: int, fits: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bound = {"kind": "factorization", "bound": 1, "variety": "virtual weights", "pieces": [1, 1, -1]}
    network = shape([1, m], [1], t)
    weights = [[[0]], [[0]], [[0]] * m]
    data = with_bound(network, bound | {"bound": m, "pieces": [1, m, -1]})
    data["lower_bound"] = {"prime": 2, "terms": None, "weights": weights, "rows": [], "columns": []}
    line = answer(data | {"lower": 0, "upper": m}, tmp_path, capsys)
    assert (": proved: " if fits else "so that sums fit into 16 bits") in line


NETWORKS = [
    shape([2, 3, 2], [2, 1], 2, h=2, b=[1, 2], causal=True, n=3, m=1),
    shape([2, 2, 2], [1, 2], 3, skip=True),
    shape([3, 3], [2], 2),
    shape([2, 2, 2], [2, 1], 3, SOFTMAX, h=2, skip=True, causal=True),
    shape([2, 3, 1], [1, 2], 3, SOFTMAX, b=[1, 2], m=2),
    shape([2, 1, 2], [2, 2], 3, SOFTMAX, h=2),
]


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("network", NETWORKS)
def test_gradients_modulo_2_agree_with_dual_numbers(network: Document) -> None:
    seen = set[int]()
    for seed in range(400):
        rng = random.Random(seed)
        _, at = point(network, rng)
        found = list[tuple[Document, list[int]]]()
        with contextlib.suppress(verify.Rejected):  # equal scores have other exponentials
            found += gradients(at, None, rng, 1, 1)
        if not found:
            continue
        ((row, gradient),) = found
        move = [rng.randrange(2) for _ in gradient]
        steps = iter(move)
        w: dict[Any, Any] = {
            key: [[Jet([v], [next(steps)]) for v in line] for line in rows] for key, rows in at.w.items()
        }
        x = [[Jet([v], [0]) for v in line] for line in row["input"]]
        output = slow(at.net, w, None, x, row.get("exponentials"))
        pairs = zip(row["functional"][0], output, strict=True)
        slope = sum(c * y.parts[1][0] for line, ys in pairs for c, y in zip(line, ys, strict=True))
        assert slope % 2 == sum(a * b for a, b in zip(gradient, move, strict=True)) % 2
        seen.add(slope % 2)
    assert seen == {0, 1}


@pytest.mark.usefixtures("two")
def test_many_functionals_of_an_input_are_as_one_by_one() -> None:
    """More than stand side by side, of more than two inputs in turn."""
    rng, network = random.Random(5), shape([3, 3, 3], [2, 2], 2)
    _, at = point(network, rng)
    rows = list(gradients(at, None, rng, 3, 400))
    tape = verify.Tape(2, 1, 0)
    for k in range(3):
        some = rows[400 * k : 400 * k + 400]
        tape.ways = []
        out = at.output(verify.transposed(some[0][0]["input"]), [], tape)
        every = at.gradients(out, tape, [row["functional"] for row, _ in some], list(range(at.size)))
        assert [f"{x:0{at.size}b}" for x in every] == ["".join(map(str, gradient)) for _, gradient in some]


def test_series_and_directions_are_modulo_odd_primes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = certificate(shape([2, 2, 2], [1, 2], 3, SOFTMAX), 3)
    data["lower_bound"]["prime"] = data["upper_bounds"][0]["prime"] = 2
    for m in (*data["lower_bound"]["weights"], *(row["input"] for row in data["lower_bound"]["rows"])):
        m[:] = [[x % 2 for x in row] for row in m]
    for row in data["lower_bound"]["rows"]:
        row["functional"] = [[[x % 2 for x in line] for line in m] for m in row["functional"]]
        row["exponentials"] = [[[1, 0, 0], [0, 1, 0], [0, 0, 1]]] * 2
    data["lower_bound"] |= {"rows": [], "columns": []}
    assert "the prime must be an integer from 3" in answer(data | {"lower": 0}, tmp_path, capsys)
    for g in (RATIONAL, SQUARE):
        network = shape([2, 2], [1], 2, g)
        weights = [[[0, 0]], [[0, 0]], [[0, 0], [0, 0]]]
        bound = {"kind": "orbit", "bound": 8, "prime": P, "weights": weights, "families": []}
        data = with_bound(network, bound)
        data["lower_bound"] = {"prime": 2, "terms": None, "weights": weights, "rows": [], "columns": []}
        line = answer(data | {"lower": 0, "upper": 8}, tmp_path, capsys)
        assert "without g it may be 2" in line
