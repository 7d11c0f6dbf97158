"""The fiber to move along: its polynomials and values are Python's, motions stay in the fiber, controls work."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from chromium import Reader

from lightning_cli.writing.live_pages import page_text
from lightning_sym import Layer, Weights, change_basis, fiber, forward, rescale, same_function
from lightning_sym.rings.polynomials import PolynomialRing
from proofs_check.blackboard.step import tokens_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser

DRAW = random.Random(3)
RING = PolynomialRing(["x", "y", "r", "s"])


@pytest.fixture
def reader(browser: Browser, tmp_path: Path) -> Reader:
    """The page, just opened."""
    path = tmp_path / "fiber.html"
    path.write_text(page_text("fiber"), encoding="utf-8")
    return Reader(browser, path)


def asked(reader: Reader, expression: str, given: Any) -> Any:
    """What a function of the page gives; numbers go and come as texts, maps as pairs."""
    show = "(x) => JSON.stringify(x, (_, v) => v instanceof Exact.Fraction ? `${v}` : v instanceof Map ? [...v] : v)"
    deep = """(x) => typeof x === "string" ? Exact.fraction(x) : Array.isArray(x) ? x.map(deep) : typeof x === "object"
        ? Object.fromEntries(Object.entries(x).map(([k, v]) => [k, deep(v)])) : x"""
    call = f"(given) => {{ const deep = {deep}; return ({show})(({expression})(deep(given))); }}"
    return json.loads(reader.page.evaluate(call, json.loads(json.dumps(given, default=str))))


def number() -> Fraction:
    return Fraction(DRAW.randint(-6, 6), DRAW.randint(1, 4))


def drawn(a: int) -> dict[str, list[list[Fraction]]]:
    """Random weights of a layer, as the page has them."""
    return {"q": [[number(), number()] for _ in range(a)], "k": [[number(), number()] for _ in range(a)],
            "v": [[number(), number()]]}  # fmt: skip


def as_weights(given: dict[str, Any]) -> Weights:
    return Weights.of({f"{letter.upper()}1": [[Fraction(x) for x in row] for row in given[letter]] for letter in "qkv"})


@pytest.mark.parametrize("a", [1, 2])
def test_polynomials_and_values_are_python_s(reader: Reader, a: int) -> None:
    for _ in range(15):
        given = drawn(a)
        weights = as_weights(given)
        layers = [Layer(*(RING.constants(weights[f"{letter}1"]) for letter in "QKV"))]
        first = forward(tokens_of(RING), layers)[0, 0]
        expected = {tuple(map(int, e)): Fraction(int(c.p), int(c.q)) for e, c in first.to_dict().items()}
        found = {tuple(map(int, key.split())): Fraction(c) for key, c in asked(reader, "Fiber.polynomial", given)}
        assert {key: c for key, c in found.items() if c} == expected
        x = [[number(), number()], [number(), number()]]
        there = asked(reader, "(g) => Fiber.output(g, g.x)", {**given, "x": x})
        columns = Weights.of({"Q1": x, "K1": x, "V1": x})["Q1"]
        assert [[Fraction(c) for c in row] for row in there] == forward(columns, weights).tolist()


@pytest.mark.parametrize("a", [1, 2])
def test_motions_are_python_s_and_stay_in_the_fiber(reader: Reader, a: int) -> None:
    tried = 0
    while tried < 15:
        given = drawn(a)
        basis, scale = [[number() for _ in range(a)] for _ in range(a)], number()
        motion = {"lambda": scale, "basis": basis, "exchange": False}
        there = asked(reader, "(g) => Fiber.moved(g.weights, g.motion)", {"weights": given, "motion": motion})
        singular = (basis[0][0] if a == 1 else basis[0][0] * basis[1][1] - basis[0][1] * basis[1][0]) == 0
        assert (there is None) == (singular or scale == 0)
        if there is None:
            continue
        tried += 1
        scaled = rescale(as_weights(given), layer=1, by=scale)
        expected = change_basis(scaled, query_key={1: np.array(basis, dtype=object)})
        assert as_weights(there) == expected


def test_the_exchange_is_there_exactly_where_the_theorem_has_it(reader: Reader) -> None:
    for _ in range(40):
        given = {
            "q": [[DRAW.randint(-1, 1) for _ in range(2)] for _ in range(2)],
            "k": [[DRAW.randint(-1, 1) for _ in range(2)] for _ in range(2)],
            "v": [[DRAW.randint(-1, 1) for _ in range(2)]],
        }
        spelled = {name: [[str(x) for x in row] for row in rows] for name, rows in given.items()}
        there = asked(reader, "Fiber.exchanged", spelled)
        weights = as_weights(spelled)
        assert (there is not None) == ("rk A = 1, rk V = 1" in str(fiber(weights)))
        if there is not None:
            assert str(same_function(weights, as_weights(there)).answer) == "Answer.SAME"


def test_the_controls_do_what_they_say(reader: Reader) -> None:
    page = reader.page
    before = reader.text("polynomial")
    assert reader.text("verdict").lower() == "the same function"
    start = reader.text("moved-v")
    for values in ({"scale": -9}, {"c11": 5}, {"scale": 24, "c11": -3}):
        reader.slide(**values)
        assert reader.text("polynomial-moved") == reader.text("polynomial") == before
        assert reader.text("value") == reader.text("value-moved")
        assert reader.text("moved-v") != start or "scale" not in values
    page.check("#exchange")
    reader.settle()
    assert reader.text("polynomial-moved") == before
    reader.slide(scale=0)
    assert "must not be zero" in reader.text("refused")
    reader.slide(scale=6)
    page.select_option("#width", "2")
    reader.settle()
    assert page.is_disabled("#exchange")
    assert "the ranks of A and V are 2 and 1" in reader.text("exchange-said")
    reader.slide(c11=0, c22=0)
    assert "must have an inverse" in reader.text("refused")
    reader.slide(c12=3, c21=-1)
    assert reader.text("refused") == ""
    assert reader.text("verdict").lower() == "the same function"
    for wrong in ("", "x", "1/0", "1e9", "9" * 13):
        page.fill("#q11", wrong)
        reader.settle()
        assert "Q needs a number such as 3, -3/4 or 0.25, of at most 12 characters, in row 1" in reader.text("refused")
        assert page.locator("main.stale").count() == 1, "what is shown is of older numbers"
    page.fill("#q11", "-7/3")
    reader.settle()
    assert reader.text("refused") == ""
    assert page.locator("main.stale").count() == 0
    assert reader.said == []


def test_a_wrong_motion_is_seen(reader: Reader) -> None:
    """Mutant: K moves, and Q does not."""
    given = drawn(1) | {"q": [["1", "2"]], "k": [["3", "1"]], "v": [["1", "-1"]]}
    wrong = {**given, "k": [["6", "2"]]}
    same = "(g) => Fiber.sameFunction(Fiber.polynomial(g.one), Fiber.polynomial(g.other))"
    assert asked(reader, same, {"one": given, "other": given}) is True
    assert asked(reader, same, {"one": given, "other": wrong}) is False
