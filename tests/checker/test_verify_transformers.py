"""The checker of large transformers: its generator, its ranks, and every condition that it looks at."""

from __future__ import annotations

import copy
import json
from itertools import islice
from typing import Any

import numpy as np
import pytest
from checker import CORPUS
from flint import nmod_mat

from proofs_check.checker import verify
from proofs_check.checker.functions.matrices import LARGE_PRIME, Sparse, sparse_rank
from proofs_check.checker.kinds import transformer
from proofs_check.checker.kinds.transformer import add_product, draw, numbers

P = LARGE_PRIME
Document = dict[str, Any]


def good(name: str) -> Document:
    found: Document = json.loads((CORPUS / "good" / f"{name}.json").read_text(encoding="utf-8"))
    return found


def dense(matrix: list[Sparse], d: int) -> nmod_mat:
    return nmod_mat([[row.get(c, 0) for c in range(d)] for row in matrix], P)


def test_the_generator_is_splitmix64() -> None:
    """The first numbers from 0, as they are printed elsewhere."""
    known = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert list(islice(numbers(0), 3)) == [x % P for x in known]
    assert next(numbers(2**64 - 1)) != next(numbers(0))


def test_rows_lie_where_the_grammar_says() -> None:
    matrix = draw(iter(range(1, 100)), 3, 4, 1)
    assert matrix == [{3: 1, 0: 2}, {0: 3, 1: 4}, {1: 5, 2: 6}]
    assert draw(iter(range(1, 100)), 2, 1, 0) == [{0: 3}, {0: 7}]


@pytest.mark.parametrize("seed", range(20))
def test_ranks_are_those_of_flint(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, d = rng.integers(1, 9, size=2).tolist()
    matrix = [{int(c): int(rng.integers(0, 3)) for c in rng.integers(0, d, size=2)} for _ in range(rows)]
    assert sparse_rank(copy.deepcopy(matrix)) == dense(matrix, d).rank()
    drawn = draw(numbers(seed), rows, d, int(rng.integers(3)))
    assert sparse_rank(copy.deepcopy(drawn)) == dense(drawn, d).rank() == min(rows, d)


def test_products_are_those_of_flint() -> None:
    outputs, values = draw(numbers(1), 3, 5, 0), draw(numbers(2), 3, 5, 1)
    total: list[Sparse] = [{r: 1} for r in range(5)]
    assert add_product(total, outputs, values)
    unit = nmod_mat([[int(i == j) for j in range(5)] for i in range(5)], P)
    assert dense(total, 5) == unit + dense(outputs, 5).transpose() * dense(values, 5)
    assert not add_product(total, [{0: 1}, {0: 1}], [{0: 1}, {0: P - 1}])


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("gpt2_small", lambda k, rows: [{}] * len(rows), "Q, K, V, O must have full rank"),
        ("gpt2_small", lambda k, rows: [rows[0]] * len(rows), "Q, K, V, O must have full rank"),
        ("values_of_full_rank", lambda k, rows: [{}] * len(rows) if len(rows) == 3 else rows, "no O V may be 0"),
        (
            "values_of_full_rank",  # two heads, each with V = - 1 / 2
            lambda k, rows: [{r: (P - 1) // 2} for r in range(3)] if len(rows) == 3 else rows,
            "1 plus the sum of all O V of a layer must be invertible",
        ),
    ],
)
def test_each_condition_is_looked_at(monkeypatch: pytest.MonkeyPatch, name: str, change: Any, reason: str) -> None:
    document, plain, count = good(name), transformer.draw, iter(range(10**6))
    assert verify.check(copy.deepcopy(document))
    monkeypatch.setattr(transformer, "draw", lambda *given: change(next(count), plain(*given)))
    with pytest.raises(verify.Rejected, match=reason):
        verify.check(document)


def test_the_last_layer_may_be_singular(monkeypatch: pytest.MonkeyPatch) -> None:
    document = good("values_of_full_rank")
    document["network"]["layers"][0]["count"] = 1
    document["dimension"] -= 2 * (9 + 8)
    plain = transformer.draw
    singular: list[Sparse] = [{r: (P - 1) // 2} for r in range(3)]
    monkeypatch.setattr(transformer, "draw", lambda *given: singular if given[1] == 3 else plain(*given))
    assert verify.check(document).startswith(f"dim M = {document['dimension']}, ")


def test_another_seed_proves_the_same() -> None:
    for seed in (1, 2**64 - 1):
        assert f"of seed {seed} " in verify.check(good("tied_and_grouped") | {"seed": seed})


def test_steps_are_counted_before_rows_are_made() -> None:
    document = good("tied_and_grouped")
    budget = verify.Budget()
    budget.steps = 1000
    with pytest.raises(verify.Rejected, match="steps, this takes"):
        verify.check(document, budget)
    assert budget.steps < -10_000


def test_what_it_says() -> None:
    said = verify.check(good("tied_and_grouped"))
    for words in ("dim M = 1994", "any mask", "two tokens or more", "of width 12", "2 of ranks 3, value ranks 2",
                  "1 of ranks 14, value ranks 15", "heads 4", "sets of keys and values 2", "tied embeddings",
                  "Proposition 18"):  # fmt: skip
        assert words in said
