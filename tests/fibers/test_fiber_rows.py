"""The rows of fibers: what each hypothesis keeps out, and what fell short for every kind of network."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from lightning_sym import SOFTMAX, Architecture, NetworkForm, Weights, fiber, same_function
from lightning_sym.ask import LaterRows, Need, TheoremRow
from lightning_sym.errors import BadInput, ProgramError
from lightning_sym.fibers import plain_fiber
from lightning_sym.fibers.answer import Fiber
from lightning_sym.fibers.comparison import Answer

FIBER = sys.modules["lightning_sym.fibers.fiber"]
ONE, TURN = [[1, 0], [0, 1]], [[0, 1], [-1, 0]]


def drawn(widths: tuple[int, ...], ranks: tuple[int, ...], seed: int, form: Any = None, **options: Any) -> Weights:
    shape = Architecture(widths, ranks, 2, **options)
    return Weights.random(shape, seed=seed, bound=3).with_form(NetworkForm() if form is None else form)


def skew() -> Weights:
    """Fibers with another orbit, that reconstruction finds."""
    named = Weights.random(Architecture((2, 2, 2), (2, 2), 2), seed=7, bound=1).named()
    return Weights.of(named | {"Q1": TURN, "K1": ONE})


def claims_too_much(weights: Weights, tokens: int, right: Fiber) -> bool:
    """Whether a fiber contradicts itself, is refused, lacks an orbit, or has a point with another function."""
    try:
        found = fiber(weights, tokens)
    except (BadInput, ProgramError, ValueError):
        return True
    known = {"lam_1": 2, "lam_2": 3}
    for component in found.components[:1]:
        if {each.name for each in component.parameters} == set(known):
            point = component.point(**known)
            if same_function(weights, point, tokens).answer is Answer.DIFFERENT:
                return True
    return found.complete and len(found.components) < len(right.components)


TURNED = Weights.of(
    {"Q1": ONE, "K1": ONE, "V1": TURN, "Q2": ONE, "K2": [[1, 2], [0, 1]], "V2": [[1, 1], [0, 2]]},
    NetworkForm(skip=True),
)
"""With skip connections no theorem is about it: A_1 V_1 is skew. Without them Theorem 3.7 is."""

SEEN_BY_ONE = drawn((2, 2), (2,), 0, NetworkForm(skip=True), heads=2, unembed=1, skip=True)

PLACES: dict[str, tuple[Any, str, str, Weights, int]] = {
    "one token": (
        plain_fiber, "VIRTUAL", "two tokens or more",
        Weights.random(Architecture((2, 2, 2), (2, 2), 1), seed=5, bound=1), 1,
    ),
    "skew": (plain_fiber, "VIRTUAL", "matrices A~_i that are not skew-symmetric", skew(), 2),
    "heads": (FIBER, "FIBERS", "one head", SEEN_BY_ONE, 2),
    "layers": (FIBER, "FIBERS", "one layer", TURNED, 2),
    "skip": (FIBER, "FIBERS", "a mask and nothing else added", TURNED, 2),
}  # fmt: skip


@pytest.mark.parametrize("name", PLACES)
def test_a_row_that_loses_a_hypothesis_says_what_is_false(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file, rows, must, weights, tokens = PLACES[name]
    right = fiber(weights, tokens)
    assert not right.complete
    assert not claims_too_much(weights, tokens, right)

    def less(row: TheoremRow[Any, Any] | LaterRows[Any, Any]) -> TheoremRow[Any, Any] | LaterRows[Any, Any]:
        if isinstance(row, LaterRows):
            return row
        return row._replace(needs=tuple(need for need in row.needs if getattr(need, "must", "") != must))

    changed = tuple(map(less, getattr(file, rows)))
    assert changed != getattr(file, rows)
    monkeypatch.setattr(file, rows, changed)
    assert claims_too_much(weights, tokens, right)


def test_every_hypothesis_is_tried_without_it() -> None:
    """That ranks are two or more is needed by the proof: no other function with the same components is known."""
    rows = (*plain_fiber.VIRTUAL, *FIBER.FIBERS)
    needs = (need for row in rows if isinstance(row, TheoremRow) for need in row.needs)
    every = {need.must for need in needs if isinstance(need, Need)}
    assert every == {must for _, _, must, _, _ in PLACES.values()} | {"rk A~_i of at least two before the last layer"}


FLAT: dict[str, Any] = {"Q1": [[1, 2]], "K1": [[2, 4]], "V1": ONE, "Q2": ONE, "K2": ONE, "V2": [[1, 2]]}
NEAR, DEEP = "docs/fibers-near-weights.md", "docs/deep-lightning.md"
FULL = "it needs one width between layers, and as many rows of input and output at least"
TRIED: dict[str, tuple[Callable[[], Weights], list[str]]] = {
    "plain": (
        lambda: Weights.of(FLAT),
        ["Theorem 3.7: it needs rk A~_i of at least two before the last layer, got rk A~1 = 1"],
    ),
    "one layer": (lambda: drawn((2, 2), (2,), 0), []),
    "masked": (
        lambda: Weights.of(FLAT, NetworkForm(causal=True)),
        [
            f"Proposition 3 of {NEAR}: it needs one layer, got 2",
            f"Proposition 4 of {NEAR}: without the mask no theorem describes all of the fiber, or the function is zero",
            *(f"Theorem 3 of {DEEP}{near}: {FULL}, got 2, 2, 1" for near in ("", ", near these weights")),
            "Theorem 3.7: it needs rk A~_i of at least two before the last layer, got rk A~1 = 1",
        ],
    ),
    "heads": (
        lambda: drawn((2, 2), (2,), 0, heads=2),
        [
            f"Proposition 3 of {NEAR}: it needs one head, got 2",
            f"Proposition 4 of {NEAR}: it needs a mask and nothing else added",
        ],
    ),
    "softmax": (
        lambda: Weights.of({f"{c}1.{h}": ONE for c in "QKV" for h in (1, 2)}, NetworkForm(SOFTMAX, skip=True)),
        [
            "Corollary 5 of docs/transformer-fibers.md: (a), layer 1 does not hold "
            "(the scores of heads 1 and 2 are equal)"
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TRIED)
def test_what_fell_short_is_told_of_every_kind(name: str) -> None:
    make, said = TRIED[name]
    found = fiber(make(), 2)
    assert list(map(str, found.tried)) == said
    assert ("tried" in str(found)) == bool(said)
    assert not any(each.citation in found.reason for each in found.tried)
