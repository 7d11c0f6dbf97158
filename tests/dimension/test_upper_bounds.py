"""The rows of upper bounds: what each hypothesis keeps out, what fell short."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from lightning_sym import SOFTMAX, Architecture, certified_dimension
from lightning_sym.ask import Need, TheoremRow, failing
from lightning_sym.dimension import certify, varieties
from lightning_sym.dimension.evidence import Evidence
from lightning_sym.dimension.transformers import model_dimension
from lightning_sym.dimension.varieties import COUNTS
from lightning_sym.errors import BadInput
from lightning_sym.exact.elimination import echelon_mod_p
from lightning_sym.exact.krylov import rank_at_least
from lightning_sym.network.model_config import Model
from lightning_sym.rings.normalization import Normalization
from lightning_sym.rings.sizes import Price, Sizes
from lightning_sym.symmetries import families

HALVES = Normalization("1 + y", lambda k: Fraction(int(k < 2)))
NETWORKS = {
    "plain": Architecture((3, 3), (2,), 2),
    "deep": Architecture((2, 2, 2), (1, 1), 2),
    "masked": Architecture((2, 2, 2), (1, 1), 2, causal=True),
    "heads": Architecture((3, 3), (1,), 2, heads=2),
    "many heads": Architecture((2, 2), (1,), 2, heads=9),
    "deep heads": Architecture((2, 2, 2), (1, 1), 2, heads=2),
    "ends": Architecture((2, 2), (1,), 2, heads=2, embed=3, unembed=3),
    "deep skip": Architecture((3, 3, 3), (1, 1), 3, skip=True),
    "softmax heads": Architecture((2, 2), (2,), 2, SOFTMAX, heads=3),
    "one token": Architecture((2, 2), (1,), 1, heads=2),
    "one token, softmax": Architecture((2, 2), (1,), 1, SOFTMAX),
    "residual": Architecture((2, 2), (1,), 2, SOFTMAX, skip=True),
    "residual, one token": Architecture((2, 2), (1,), 1, SOFTMAX, skip=True),
    "residual, narrow": Architecture((3, 3, 3), (1, 1), 3, SOFTMAX, skip=True, embed=1, unembed=1),
    "residual, lightning": Architecture((2, 2), (1,), 3, skip=True, embed=1),
    "without skip": Architecture((2, 2), (2,), 2, SOFTMAX, embed=2, unembed=2),
    "deep, one token": Architecture((2,) * 5, (1,) * 4, 1),
    "another normalization": Architecture((2, 2), (2,), 1, HALVES, skip=True),
}
USEFUL = {
    "several heads",
    "a degree below twice the number of parameters",
}
"""Where one of these fails the bound is true, and of no use."""


def bounds_without(row: TheoremRow[Any, Any], need: Need) -> Iterator[tuple[Architecture, Any]]:
    """What a row says, that has lost a hypothesis, of networks of which it said nothing; `None` if it cannot."""
    others = [each for each in row.needs if each is not need]
    for network in NETWORKS.values():
        if failing(network, row.needs) is not None and failing(network, others) is None:
            try:
                yield network, row.prove(network)
            except (BadInput, ValueError):
                yield network, None


def is_false(network: Architecture, found: tuple[Evidence, int] | None) -> bool:
    """Whether a bound contradicts the dimension: of products it is the dimension itself."""
    lower = certified_dimension(network).lower
    return found is None or found[1] < lower or (found[0] is Evidence.PRODUCTS and found[1] != lower)


@pytest.mark.parametrize(("number", "need"), [(i, need) for i, row in enumerate(COUNTS) for need in row.needs])
def test_a_row_that_loses_a_hypothesis_gives_false_bounds(
    number: int, need: Need, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for those that only keep out what is of no use."""
    row = COUNTS[number]
    if need.must not in USEFUL:
        monkeypatch.setattr(varieties, "LARGEST_JACOBIAN", 0)
    given = list(bounds_without(row, need))
    monkeypatch.undo()
    false = [network for network, found in given if is_false(network, found)]
    assert given
    assert bool(false) != (need.must in USEFUL), [(str(network), found) for network, found in given]


def test_what_gives_no_bound_is_told_with_its_hypothesis() -> None:
    found = certified_dimension(Architecture((3, 3), (1,), 2, heads=2), all_bounds=True)
    assert set(found.upper_bounds) == {Evidence.FORMS, Evidence.SPAN, Evidence.DIRECTIONS}
    assert [str(each) for each in found.tried] == [
        "Proposition 18 of docs/transformers.md: it needs softmax",
        "Theorems 6 and 7 of docs/upper-bound.md: it needs one head and nothing added",
        "Proposition 10 of docs/transformers.md: it needs normalized scores",
    ]
    assert "tried" not in str(found)
    undecided = replace(found, upper=found.lower + 1)
    assert "\ntried        Proposition 18 of docs/transformers.md: it needs softmax" in str(undecided)


def test_too_many_symmetries_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certify, "ORBIT_LIMIT", 5)
    found = certified_dimension(Architecture((2, 2, 2), (1, 1), 2), all_bounds=True)
    assert Evidence.ORBIT not in found.upper_bounds
    assert found.tried[-1].citation == "Proposition 2 of docs/upper-bound.md"
    assert "got 8" in found.tried[-1].why
    heads = Architecture((2, 2, 2), (1, 1), 2, heads=2)  # nothing else is known of them
    assert Evidence.DIRECTIONS in certified_dimension(heads).upper_bounds


@pytest.mark.parametrize("seed", range(8))
def test_the_price_of_an_orbit_is_that_of_its_elimination(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    source = np.random.default_rng(seed)
    depth = int(source.integers(1, 4))
    sizes = source.integers(2, 13, size=2 * depth + 1).tolist()
    network = Architecture(tuple(sizes[: depth + 1]), tuple(sizes[depth + 1 :]), 2)
    done = Price("residues")

    def counted(rank: Callable[..., Any]) -> Callable[..., Any]:
        def told(matrix: Any, *words: Any, **options: Any) -> Any:
            Sizes(np.shape(getattr(matrix, "entries", matrix)), done).rank()
            return rank(matrix, *words, **options)

        return told

    monkeypatch.setattr(families, "rank_at_least", counted(rank_at_least))
    monkeypatch.setattr(families, "echelon_mod_p", counted(echelon_mod_p))
    certify.certified_dimension(network, all_bounds=True)
    price = families.price_of_orbit(network).done["eliminated"]
    assert done.done["eliminated"] / 3 <= price <= 3 * done.done["eliminated"]


def test_a_model_whose_vocabulary_is_small_tells_what_falls_short() -> None:
    found = model_dimension(Model(5, 1, 4, 1, 1, True, {}, value_width=4))
    assert (found.lower, found.upper) == (9, 45)
    assert list(map(str, found.tried)) == [
        "Proposition 18 of docs/transformers.md: it needs a vocabulary that reaches the hidden size, got 1 and 5",
        "Theorem 12 of docs/transformer-fibers.md: "
        "it needs n + h (2 min(a, f) + min(b, n)) that reaches f, got 4 and 5",
    ]
    assert "\ntried " in str(found)
    assert model_dimension(Model(3, 2, 2, 4, 1, True, {})).tried == ()
