"""The checker of large transformers: its count, against ranks at the point that the proposition names."""

from __future__ import annotations

import json
import random
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from checker import CORPUS
from flint import fmpz_mat

from proofs_check.checker import verify
from proofs_check.checker.kinds import transformer

Document = dict[str, Any]
Matrix = list[list[int]]


def good(name: str) -> Document:
    found: Document = json.loads((CORPUS / "good" / f"{name}.json").read_text(encoding="utf-8"))
    return found


def drawn(rng: random.Random) -> Document:
    """A shape, with no number."""
    groups, d = rng.randint(1, 2), rng.randint(1, 3)
    heads = groups * rng.randint(1, 2)
    values = [rng.randint(1, 4) if heads > groups or rng.random() < 0.5 else None for _ in range(2)]
    layers = [{"count": rng.randint(1, 2), "rank": rng.randint(1, 4), "value_rank": b} for b in values]
    embed, unembed = ([None, d, d + 1][rng.randrange(3)] for _ in range(2))
    tied = embed is not None and embed == unembed and rng.random() < 0.5
    return {"width": d, "layers": layers, "heads": heads, "groups": groups, "embed": embed, "unembed": unembed,
            "tied": tied}  # fmt: skip


def ones(rows: int, columns: int) -> Matrix:
    return [[int(i == j) for j in range(columns)] for i in range(rows)]


def rank_of_products(left: int, inner: int, right: int) -> int:
    """The rank of (X, Y) -> X Y, left x inner x right, at ones: of dX Y + X dY, column by column."""
    x, y, images = ones(left, inner), ones(inner, right), list[list[int]]()
    for i in range(left):
        for j in range(inner):
            images.append([y[j][c] * (r == i) for r in range(left) for c in range(right)])
    for j in range(inner):
        for c in range(right):
            images.append([x[r][j] * (k == c) for r in range(left) for k in range(right)])
    return int(fmpz_mat(images).rank())


def by_ranks(network: Document) -> int:
    """The sum of ranks of products at the point of Proposition 18, and of the ends up to a change of basis."""
    d, n, m, tied = (network[key] for key in ("width", "embed", "unembed", "tied"))
    share = network["heads"] // network["groups"]
    products = 0
    for each in network["layers"]:
        a, b = each["rank"], each["value_rank"] or d
        of_group = rank_of_products(d, a, share * d) + rank_of_products(share * d, b, d)
        products += each["count"] * network["groups"] * of_group
    if tied:  # skew motions G move E and E^T together
        return products + int(d * n) - len([(i, j) for i in range(d) for j in range(i)])
    return products + int(d * ((n or 0) + (m or 0)) - (d * d if n and m else 0))


def certificate(network: Document, dimension: int) -> Document:
    head = {"format": "lightning-sym/certificate", "version": 1, "kind": "transformer"}
    return json.loads(json.dumps({**head, "network": network, "dimension": dimension, "seed": 0}))  # type: ignore[no-any-return]


def is_proved(checker: ModuleType, document: Document) -> bool:
    network = document["network"]
    values = [[each["count"], each["rank"], each["value_rank"]] for each in network["layers"]]
    try:
        checker.prove([network["width"], values, *list(network.values())[2:]], document["dimension"], 0)
    except verify.Rejected:
        return False
    return True


@pytest.mark.parametrize("seed", range(3))
def test_the_number_is_the_rank_at_the_point_of_the_proposition(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(20):
        network = drawn(rng)
        number = by_ranks(network)
        assert verify.check(certificate(network, number)).startswith(f"dim M = {number}, ")
        for other in (number - 1, number + 1):
            with pytest.raises(verify.Rejected, match=f"the dimension must be {number}, it is {other}"):
                verify.check(certificate(network, other))


MUTANTS = [
    ("d * (d - 1) // 2 if tied", "d * (d + 1) // 2 if tied"),
    ("(0 if tied else m or 0)", "(m or 0)"),
    ("d * d * bool(n and m)", "d * d * bool(n or m)"),
    ("of_rank(share * d, d, a) +", "of_rank(d, d, a) +"),
    ("of_rank(share * d, d, b or d)", "of_rank(d, d, b or d)"),
    ("count * groups *", "count * heads *"),
    ("need(total == claimed,", "need(True,"),
]


@pytest.mark.parametrize(("clause", "other"), MUTANTS)
def test_each_part_of_the_count_is_looked_at(clause: str, other: str) -> None:
    """With one of them changed another number is proved."""
    source = Path(str(transformer.__file__)).read_text(encoding="utf-8")
    assert source.count(clause) == 1
    bent = ModuleType("bent")
    exec(source.replace(clause, other), vars(bent))  # noqa: S102 - the checker itself, with one clause changed
    rng, lies = random.Random(1), 0
    for _ in range(60):
        network = drawn(rng)
        number = by_ranks(network)
        documents = [certificate(network, k) for k in range(number - 20, number + 20) if k != number]
        assert not any(is_proved(transformer, document) for document in documents)
        lies += any(is_proved(bent, document) for document in documents)
    assert lies


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"groups": 3}, "the heads must be a multiple of the groups"),
        ({"layers": [{"count": 1, "rank": 2, "value_rank": None}]}, "values are shared only where"),
        ({"embed": 11, "unembed": 11}, "embed and unembed must reach the width"),
        ({"unembed": 21}, "tied embeddings must be embedding and unembedding of one width"),
        ({"embed": None, "unembed": None}, "tied embeddings must be embedding and unembedding of one width"),
    ],
)
def test_each_condition_on_shapes_is_looked_at(change: Document, reason: str) -> None:
    document = good("tied_and_grouped")
    document["network"] |= change
    with pytest.raises(verify.Rejected, match=reason):
        verify.check(document)


def test_seeds_are_read_and_need_not_be_any() -> None:
    said = {verify.check(good("tied_and_grouped") | {"seed": seed}) for seed in (0, 1, 2**64 - 1)}
    assert len(said) == 1
    for seed in (-1, 2**64, None, "0"):
        with pytest.raises(verify.Rejected, match="seed must be an integer from 0 to"):
            verify.check(good("tied_and_grouped") | {"seed": seed})


def test_sizes_take_no_time() -> None:
    """No matrix is made, so that the largest shapes take what small ones do."""
    budget, layer = verify.Budget(), {"count": 10**6, "rank": 10**6, "value_rank": 10**6}
    network = {"width": 10**6, "layers": [layer], "heads": 10**6, "groups": 1, "embed": None, "unembed": None,
               "tied": False}  # fmt: skip
    number = 10**6 * 2 * 10**18
    with pytest.raises(verify.Rejected, match="dimension must be an integer"):
        verify.check(certificate(network, number), budget)
    layer["count"] = 10
    assert verify.check(certificate(network, number // 10**5), budget).startswith("dim M = ")
    assert budget.steps > verify.STEPS - 1000


def test_what_it_says() -> None:
    said = verify.check(good("tied_and_grouped"))
    for words in ("dim M = 1994", "any mask", "two tokens or more", "of width 12", "2 of ranks 3, value ranks 2",
                  "1 of ranks 14, value ranks 15", "heads 4", "sets of keys and values 2", "tied embeddings",
                  "Proposition 18"):  # fmt: skip
        assert words in said
