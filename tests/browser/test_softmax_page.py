"""Softmax peeled: the series are Python's, what is read off is what was put in, a blind layer hides the rest."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from fractions import Fraction
from math import factorial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from chromium import Reader

from lightning_cli.writing.live_pages import page_text
from proofs_check.blackboard.series import mean_output

if TYPE_CHECKING:
    from playwright.sync_api import Browser

DRAW = random.Random(5)
Rows = Sequence[Sequence[Fraction]]


@pytest.fixture
def reader(browser: Browser, tmp_path: Path) -> Reader:
    """The page, just opened."""
    path = tmp_path / "softmax.html"
    path.write_text(page_text("softmax"), encoding="utf-8")
    return Reader(browser, path)


def asked(reader: Reader, expression: str, given: Any) -> Any:
    """What a function of the page gives; numbers go and come as texts."""
    show = "(x) => JSON.stringify(x, (_, v) => v instanceof Exact.Fraction ? `${v}` : v)"
    deep = "(x) => Array.isArray(x) ? x.map(deep) : Exact.fraction(x)"
    call = f"(given) => {{ const deep = {deep}; return ({show})(({expression})(...given.map(deep))); }}"
    return json.loads(reader.page.evaluate(call, json.loads(json.dumps(given, default=str))))


def number() -> Fraction:
    return Fraction(DRAW.randint(-4, 4), DRAW.randint(1, 3))


def square() -> Rows:
    return [[number(), number()], [number(), number()]]


def array(rows: Rows) -> Any:
    return np.array(rows, dtype=object)


def spelled(rows: Rows) -> list[list[str]]:
    return [[str(x) for x in row] for row in rows]


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_series_are_python_s(reader: Reader, depth: int) -> None:
    for _ in range(6):
        matrices, value = [square() for _ in range(depth)], [[number(), number()]]
        m, y = ([number(), number()] for _ in range(2))
        here = asked(reader, "(matrices, v, m, y) => Softmax.meanOutput(matrices, v, m, y)", [matrices, value, m, y])
        there = mean_output(
            array([m])[0],
            array([y])[0],
            [array(a) for a in matrices],
            array(value),
            lambda k: Fraction(1, factorial(k)),
            7,
        )
        assert list(map(Fraction, here)) == list(there)


def test_what_is_read_off_is_what_was_put_in(reader: Reader) -> None:
    for _ in range(12):
        first, second, value = square(), square(), [[number(), number()]]
        found = asked(reader, "(a, b, v) => Softmax.readOff([a, b], v)", [first, second, value])
        if not any(value[0]):
            assert found is None
            continue
        assert found == {"value": spelled(value), "attention": spelled(first)}
    for narrow in ([[0, 1]], [[1, 0]], [[1, -1]]):  # an output that does not see some differences
        found = asked(reader, "(a, b, v) => Softmax.readOff([a, b], v)", [first, second, narrow])
        assert found["attention"] == spelled(first)


def test_behind_a_blind_layer_nothing_is_seen(reader: Reader) -> None:
    script = "(a, b, v, m, y) => Softmax.meanOutput([a, b], v, m, y)"
    for first in ([[0, 2], [-2, 0]], [[0, 0], [0, 0]]):
        outputs = {str(asked(reader, script, [first, square(), [[1, 2]], [1, 2], [3, -1]])) for _ in range(4)}
        assert len(outputs) == 1
    outputs = {str(asked(reader, script, [[[1, 2], [-2, 0]], square(), [[1, 2]], [1, 2], [3, -1]])) for _ in range(4)}
    assert len(outputs) > 1, "a mutant that is not skew"


def test_the_controls_do_what_they_say(reader: Reader) -> None:
    page = reader.page
    assert reader.text("kind").lower() == "not blind"
    assert "your matrices" in reader.text("read-said")
    assert "not your" not in reader.text("read-said")
    before = reader.text("series")
    reader.slide(x1=-5, y2=7)
    assert reader.text("series") != before
    assert reader.text("x1-value") == "-5/4"
    page.click("#skew")
    reader.settle()
    assert reader.text("kind").lower() == "blind"
    assert "any matrix in the second one gives this function" in reader.text("peeled")
    assert reader.text("peeled-matrix") == ""
    for box in ("#v11", "#v12"):
        page.fill(box, "0")
    reader.settle()
    assert "V is zero" in reader.text("read-said")
    page.fill("#a12", "1/0")
    reader.settle()
    assert "needs a number" in reader.text("refused")
    page.fill("#a12", "1/2")
    page.fill("#v12", "1")
    reader.settle()
    assert reader.text("refused") == ""
    assert reader.said == []


def test_tokens_are_dragged(reader: Reader) -> None:
    box = reader.page.locator("#token-1").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    before = reader.text("scores"), reader.text("x1-value")
    reader.page.mouse.move(x, y)
    reader.page.mouse.down()
    reader.page.mouse.move(x - 90, y - 60, steps=4)
    reader.page.mouse.up()
    reader.settle()
    assert (reader.text("scores"), reader.text("x1-value")) != before
    moved = reader.text("x1-value")
    reader.page.mouse.move(x + 200, y + 100)
    reader.settle()
    assert reader.text("x1-value") == moved, "let go"
