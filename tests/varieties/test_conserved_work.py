"""What `conserved` may take: the brackets and differentials over sizes, against what is counted."""

from __future__ import annotations

import random
from typing import Any
from unittest.mock import patch

import pytest
from counted import counted

from lightning_sym import SOFTMAX, Architecture, TooLarge, conserved_quantities
from lightning_sym.limits import Work
from lightning_sym.varieties import conserved
from lightning_sym.varieties.gradient_brackets import price_of_brackets

FACTOR = 3


def random_shape(source: random.Random) -> Architecture:
    """One to three layers, all options."""
    depth, skip = source.randint(1, 3), source.random() < 0.4
    widths = [source.randint(2, 8) for _ in range(depth + 1)]
    options: dict[str, Any] = {"causal": source.random() < 0.3, "heads": source.choice((1, 1, 2, 3))}
    if source.random() < 0.5:
        options["value_ranks"] = tuple(source.randint(1, 3) for _ in range(depth))
    if source.random() < 0.3:
        options["embed"] = source.randint(2, 5)
    return Architecture(
        tuple(widths[:1] * (depth + 1) if skip else widths), tuple(source.randint(1, 3) for _ in range(depth)),
        source.randint(1, 3), source.choice((None, SOFTMAX)), skip=skip, **options,
    )  # fmt: skip


def ratio(shape: Architecture) -> float:
    """What is estimated by what is counted."""
    spent = list[float]()
    with counted() as done, patch.object(Work, "spend", lambda _, seconds, *step: spent.append(seconds)):
        conserved_quantities(shape)
    return sum(spent) / done.seconds


@pytest.mark.parametrize("seed", range(8))
def test_the_estimate_is_what_is_counted_within_a_factor_of_three(seed: int) -> None:
    assert 1 / FACTOR <= ratio(random_shape(random.Random(seed))) <= FACTOR


def test_brackets_that_are_priced_as_gradients_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    deep = Architecture((6, 7, 8), (3, 3), 2, SOFTMAX, heads=2, value_ranks=(1, 1))
    assert 1 / FACTOR <= ratio(deep) <= FACTOR
    monkeypatch.setattr(conserved, "price_of_brackets", lambda shape, _, rows: price_of_brackets(shape, 1, rows))
    assert ratio(deep) < 1 / FACTOR


@pytest.mark.parametrize(("heads", "depth"), [(7, 2), (2, 3)])
def test_many_heads_are_priced_like_few(heads: int, depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A head takes what one takes that is added to it, so all may be walked through as well."""
    shape = Architecture((3,) * (depth + 1), (1,) * depth, 2, SOFTMAX, heads=heads, skip=True)
    few = price_of_brackets(shape, 2, 10)
    monkeypatch.setattr("lightning_sym.network.prices.MOST_HEADS", heads)
    assert few.done == price_of_brackets(shape, 2, 10).done


def test_what_takes_too_long_is_refused_before_it_is_begun() -> None:
    with pytest.raises(TooLarge, match=r"gradients modulo \d+: exact work must take at most 0\.2 s in all.*--work"):
        conserved_quantities(Architecture((20, 20, 20), (5, 5), 3, heads=2), work=0.2)
