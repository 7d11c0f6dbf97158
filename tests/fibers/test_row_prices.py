"""Every row of theorems has a price: what is paid up to its end bounds what is counted up to there."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any
from unittest.mock import patch

import pytest
from counted import counted

from lightning_sym import (
    SOFTMAX,
    Architecture,
    NetworkForm,
    Weights,
    classify,
    fiber,
    polynomial_map,
    recover,
    rescale,
    same_function,
    transform,
)
from lightning_sym import ask as asking
from lightning_sym.ask import LaterRows, TheoremRow, any_question, paid_by_steps
from lightning_sym.fibers import plain_fiber, same_transformers
from lightning_sym.limits import Work

FACTOR = 3
SAME, FIBER = (sys.modules[f"lightning_sym.fibers.{name}"] for name in ("same_function", "fiber"))


def drawn(seed: int, depth: int, form: Any = None, *, more: int = 0, square: bool = False, **options: Any) -> Weights:
    """Weights of a random shape; `more` picks others of the same shape."""
    source = random.Random(seed)
    width = source.randint(3, 7)
    widths = (width,) * (depth + 1) if square else tuple(source.randint(3, 7) for _ in range(depth + 1))
    shape = Architecture(widths, tuple(source.randint(2, 4) for _ in range(depth)), 2, **options)
    weights = Weights.random(shape, seed=seed + more, bound=10**4, denominator=10**4)
    return weights.with_form(NetworkForm() if form is None else form)


SMALL = Architecture((2, 2), (1,), 2)
SKIP, NO_SKIP, MASK = NetworkForm(SOFTMAX, skip=True), NetworkForm(SOFTMAX), NetworkForm(causal=True)


def heads(seed: int, more: int = 0) -> Weights:
    return drawn(seed, 2, SKIP, more=more, square=True, heads=2, value_ranks=(2, 2))


def thin(seed: int, *, exchanged: bool = False) -> Weights:
    """Heads of rank one, keys and values exchanged or not."""
    shape = Architecture((3, 3, 3), (1, 1), 2, value_ranks=(1, 1), skip=True)
    named = Weights.random(shape, seed=seed, bound=99).named()
    if exchanged:
        named |= {f"{c}{i}": named[f"{other}{i}"] for c, other in ("KV", "VK") for i in (1, 2)}
    return Weights.of(named, NetworkForm(skip=True))


QUESTIONS: dict[str, Callable[[int], Any]] = {
    "plain, equal": lambda s: same_function(drawn(s, 2), rescale(drawn(s, 2), layer=1, by=2)),
    "plain, different": lambda s: same_function(drawn(s, 1), drawn(s, 1, more=9)),
    "one head": lambda s: same_function(drawn(s, 2, NO_SKIP), drawn(s, 2, NO_SKIP, more=9)),
    "heads, different": lambda s: same_function(heads(s), heads(s, 9)),
    "heads, equal": lambda s: same_function(heads(s), transform(heads(s), heads={1: [2, 1]})),
    "plain fiber": lambda s: fiber(drawn(s, 2)),
    "one layer": lambda s: fiber(drawn(s, 1, NetworkForm(skip=True), square=True)),
    "masked fiber": lambda s: fiber(drawn(s, 2, MASK)),
    "softmax, one head": lambda s: fiber(drawn(s, 2, NO_SKIP)),
    "softmax heads": lambda s: fiber(heads(s)),
    "layer tensors": lambda s: fiber(drawn(s, 2, NetworkForm(skip=True), square=True, heads=2)),
    "layers alike": lambda s: same_function(thin(s), thin(s, exchanged=True)),
    "point": lambda s: classify(drawn(s, 1)),
    "deep point": lambda s: classify(drawn(s, 2, square=True)),
    "map": lambda s: recover(polynomial_map(SMALL, Weights.random(SMALL, seed=s))),
}


class Followed:
    """What was paid and what was counted, at the end of each row."""

    def __init__(self) -> None:
        self.paid, self.ends = 0.0, list[tuple[Any, float, float]]()

    def proved(self, question: Any, rows: Any, work: Any, tried: Any, inner: Any = asking.proved) -> Iterator[Any]:
        yield from inner(question, list(map(self.row, rows)), work, tried)

    def row(self, row: Any) -> Any:
        if isinstance(row, LaterRows):
            return row._replace(rows=lambda: list(map(self.row, row.rows())))

        def prove(question: Any) -> Any:
            found = row.prove(question)
            self.ends.append((row, self.paid, self.counted.seconds))
            return found

        return row._replace(prove=prove)

    def unpaid(self) -> list[tuple[Any, float, float]]:
        """Rows at whose end more was done than paid for."""
        return [end for end in self.ends if end[2] > FACTOR * end[1]]

    def ask(self, question: Callable[[], Any]) -> None:
        spend = Work.spend

        def told(work: Work, seconds: float, *step: Any) -> None:
            self.paid += seconds
            spend(work, seconds, *step)

        with patch.object(Work, "spend", told), patch.object(asking, "proved", self.proved), counted() as self.counted:
            question()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", QUESTIONS)
def test_what_is_paid_bounds_what_is_done(name: str, seed: int) -> None:
    followed = Followed()
    followed.ask(lambda: QUESTIONS[name](seed))
    assert followed.ends
    assert followed.unpaid() == []


FREE = {
    "plain fiber": (plain_fiber, "VIRTUAL", 0),
    "plain, equal": (SAME, "SAME", 0),
    "one head": (same_transformers, "TRANSFORMERS", 0),
}


@pytest.mark.parametrize("name", FREE)
def test_a_row_that_costs_nothing_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file, rows, place = FREE[name]
    every = list(getattr(file, rows))
    every[place] = every[place]._replace(price=paid_by_steps)
    monkeypatch.setattr(file, rows, tuple(every))
    followed = Followed()
    followed.ask(lambda: QUESTIONS[name](0))
    assert followed.unpaid() != []


def test_no_row_is_made_without_a_price() -> None:
    with pytest.raises(TypeError, match="price"):
        TheoremRow("a theorem", any_question, prove=lambda question: question)  # type: ignore[call-arg]


BY_SIZES = {"COUNTS", "COMPUTED", "BY_LAYERS", "BY_PLACES", "MODELS", "DEGREES", "HILBERT", "APART", "THEOREMS"}
BY_SIZES |= {"MORE_THAN_MOMENTS", "APART_BY_TENSORS"}
"""Lists of rows that no budget is asked for, or whose questions come by chance; orbits have a test of their own."""


def test_rows_of_every_list_are_followed() -> None:
    for name in (
        "dimension.transformers",
        "varieties.degree",
        "varieties.gradient_brackets",
        "varieties.hilbert_polynomial",
        "fibers.determined",
        "coefficients.at_weights",
    ):
        import_module(f"lightning_sym.{name}")
    rows = {
        name: found
        for module in list(sys.modules.values())
        if getattr(module, "__name__", "").startswith("lightning_sym.")
        for name, found in vars(module).items()
        if isinstance(found, tuple) and any(isinstance(each, TheoremRow) for each in found)
    }
    followed = Followed()
    for question in QUESTIONS.values():
        followed.ask(lambda ask=question: ask(1))  # type: ignore[misc]
    ends = {id(row) for row, _, _ in followed.ends}
    assert {name for name, of in rows.items() if not ends & set(map(id, of))} == BY_SIZES
