"""Figure 1 to turn: its numbers are Python's, its words are `classify`'s, its controls do what they say."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import sympy
from chromium import Reader

from lightning_cli.writing.live_pages import page_text
from lightning_sym import Weights, classify
from lightning_sym.geometry.resultant_slice import SlicePoint, forms, resultant

if TYPE_CHECKING:
    from playwright.sync_api import Browser

DRAW = random.Random(1)


@pytest.fixture
def reader(browser: Browser, tmp_path: Path) -> Reader:
    """The page, just opened."""
    path = tmp_path / "figure-1.html"
    path.write_text(page_text("figure-1"), encoding="utf-8")
    return Reader(browser, path)


def asked(reader: Reader, expression: str, *given: Any) -> Any:
    """What a function of the page gives; numbers go and come as texts."""
    show = "(x) => JSON.stringify(x, (_, v) => v instanceof Exact.Fraction ? `${v}` : v)"
    fractions = "(x) => Array.isArray(x) ? x.map(deep) : Exact.fraction(x)"
    spelled = json.loads(json.dumps(given, default=str))
    call = f"(given) => {{ const deep = {fractions}; return ({show})(({expression})(...given.map(deep))); }}"
    return json.loads(reader.page.evaluate(call, spelled))


def chosen() -> list[tuple[Fraction, Fraction, Fraction]]:
    """Common zeros and distances, special ones too."""
    draw = [Fraction(DRAW.randint(-20, 20), DRAW.randint(1, 12)) for _ in range(90)]
    some = [(draw[3 * i], draw[3 * i + 1], draw[3 * i + 2]) for i in range(30)]
    some += [(Fraction(s), Fraction(t), Fraction(r)) for s, t in ((0, 1), (1, 0), (1, 3)) for r in (0, 1)]
    return [(s, t, r) for s, t, r in some if s**2 != t**2]


def rows(matrix: Any) -> list[list[str]]:
    return [[str(entry) for entry in row] for row in matrix]


def test_points_and_their_kinds_are_python_s(reader: Reader) -> None:
    for s, t, r in chosen():
        point, there = SlicePoint((s, t), r), asked(reader, "Figure1.pointAt", s, t, r)
        weights = point.weights
        assert [there["u"], there["w"], there["z"]] == [str(c) for c in point.coordinates]
        assert (there["attention"], there["value"]) == (rows(weights["Q1"]), rows(weights["V1"]))
        assert asked(reader, "Figure1.forms", *point.coordinates) == rows(forms(*point.coordinates))
        found = classify(weights)
        orbit = asked(reader, "Figure1.orbitOf", weights["Q1"].tolist(), weights["V1"].tolist())
        assert orbit["labels"] == [label.value for label in found.labels]
        assert orbit["reasons"] == list(found.reasons)


def test_any_weights_get_their_kind(reader: Reader) -> None:
    for _ in range(40):
        attention = [[DRAW.randint(-1, 1) for _ in range(2)] for _ in range(2)]
        value = [[DRAW.randint(-1, 1) for _ in range(2)]]
        found = classify(Weights.of({"Q1": attention, "K1": [[1, 0], [0, 1]], "V1": value}))
        orbit = asked(reader, "Figure1.orbitOf", attention, value)
        assert (orbit["labels"], orbit["reasons"]) == ([label.value for label in found.labels], list(found.reasons))


def test_the_exchange_gives_the_same_forms(reader: Reader) -> None:
    for s, t, _ in chosen():
        weights = SlicePoint((s, t), Fraction(0)).weights
        other = asked(reader, "Figure1.exchanged", weights["Q1"].tolist(), weights["V1"].tolist())
        assert (other is None) == (0 in (s, t))
        if other is not None:
            pairs = [(weights["Q1"], weights["V1"]), (other["attention"], other["value"])]
            x = sympy.Matrix(sympy.symbols("x y"))
            first, second = (
                [sympy.expand(form) for form in (x.T * sympy.Matrix(a)) * (sympy.Matrix(v) * x)[0]] for a, v in pairs
            )
            assert first == second
            assert pairs[0][1].tolist() != other["value"]


def test_a_line_meets_the_surface_in_four_points(reader: Reader) -> None:
    tau = sympy.Symbol("tau")
    top = Fraction(5, 2)
    lines = [[Fraction(DRAW.randint(-24, 24), 16) for _ in range(4)] for _ in range(25)]
    lines += [
        [Fraction(c) for c in each] for each in ((0, 1, 0, -1), (1, 0, 1, 0), (0, 0, 0, 0), (0, 0, 1, 0), (0, 1, 0, 1))
    ]
    for a, b, c, d in lines:
        foot, head = (a, b, -top), (c, d, top)
        polynomial = asked(reader, "Figure1.alongLine", foot, head)
        place = [sympy.Rational(str(p)) + tau * sympy.Rational(str(q - p)) for p, q in zip(foot, head, strict=True)]
        expected = sympy.Poly(sympy.expand(resultant(*forms(*place)) / 4), tau)
        assert polynomial == ([] if expected.is_zero else [str(k) for k in reversed(expected.all_coeffs())])
        found = asked(reader, "Figure1.countPoints", polynomial)
        if expected.is_zero:
            assert found is None
            continue
        parts = expected.sqf_list()[1]
        real = sum(f.count_roots() * m for f, m in parts)
        assert found["infinite"] == 4 - expected.degree()
        assert (found["real"], found["complex"]) == (real, expected.degree() - real)


def test_sliders_move_the_point(reader: Reader) -> None:
    reader.slide(along=24, radius=24)
    point = SlicePoint((Fraction(1, 2), Fraction(1)), Fraction(1))
    assert reader.text("along-value") == "1/2 : 1"
    assert [str(c) for c in point.coordinates] == ["3/5", "4/5", "5/3"]
    assert "".join(reader.text("place").split()) == "u=35,w=45,z=53"
    assert reader.text("kind").lower() == "regular"
    reader.slide(radius=0)
    assert reader.text("kind").lower() == "singular"
    assert "two points" in reader.text("reasons")
    assert reader.text("other-point").startswith("The same function:")
    reader.slide(along=0)
    assert reader.text("kind").lower() == "singular, critical, boundary"
    assert reader.text("other-point") == ""
    assert reader.said == []


def test_the_part_that_is_not_reached(reader: Reader) -> None:
    reader.page.check("input[value=between]")
    reader.settle()
    assert reader.text("kind").lower() == "not in m"
    assert "complex conjugates" in reader.text("reasons")
    assert reader.page.locator("#radius").is_disabled()
    reader.page.check("input[value=lower]")
    reader.settle()
    assert reader.text("along-value") == "1 : 7/24"


def test_what_is_said_of_lines(reader: Reader) -> None:
    reader.slide(foot_u=0, foot_w=0, top_u=0, top_w=0)
    assert reader.text("roots-said") == "The line lies in the surface."
    reader.slide(foot_u=24, foot_w=1, top_u=24, top_w=1)
    assert reader.text("roots-said") == "Two real points, two at infinity."
    reader.slide(foot_u=0, foot_w=16, top_u=0, top_w=-16)
    assert reader.text("roots-said") == "Two real points, two at infinity, a point counted twice."
    assert reader.said == []


def test_places_on_the_surface_find_their_settings(reader: Reader) -> None:
    back = """(given) => {
        const { u, w, z } = Figure1.currentPoint(given);
        return Figure1.nearest({ u: u.number(), w: w.number(), z: z.number() });
    }"""
    for sheet in ("upper", "lower"):
        for along in (-31, -14, -1, 0, 1, 9, 31):
            for radius in (-45, -20, -3, 3, 17, 45):
                settings = {"sheet": sheet, "along": along, "radius": radius}
                assert reader.page.evaluate(back, settings) == settings


def dragged(reader: Reader, x: float, y: float) -> tuple[float, float]:
    """Take the point to a place on the canvas, from -1 to 1; where it is then."""
    box = reader.page.locator("#surface").bounding_box()
    assert box is not None

    def pixels(x: float, y: float) -> tuple[float, float]:
        return box["x"] + (x + 1) / 2 * box["width"], box["y"] + (1 - y) / 2 * box["height"]

    reader.page.mouse.move(*pixels(*reader.page.evaluate("Figure1.onCanvas()")))
    reader.page.mouse.down()
    reader.page.mouse.move(*pixels(x, y), steps=4)
    reader.page.mouse.up()
    reader.settle()
    found = reader.page.evaluate("Figure1.onCanvas()")
    return found[0], found[1]


def test_the_point_is_dragged_over_all_of_it(reader: Reader) -> None:
    """It stays under the hand, on a sheet, on the singular line, and where the line is dotted."""
    x, y = reader.page.evaluate("Figure1.onCanvas()")
    old = reader.text("place")
    found = dragged(reader, x + 0.1, y + 0.1)
    assert reader.text("place") != old
    assert abs(found[0] - x - 0.1) < 0.06
    assert abs(found[1] - y - 0.1) < 0.06
    assert reader.text("kind").lower() == "regular"
    x, y = reader.page.evaluate("Figure1.shown().scene.project([0, 0.5, 0])")
    found = dragged(reader, x, y)
    assert reader.text("kind").lower() == "not in m"
    assert abs(found[1] - y) < 0.06
    x, y = reader.page.evaluate("Figure1.shown().scene.project([0, -1.2, 0])")
    dragged(reader, x, y)
    assert reader.page.is_checked("input[value=lower]")
    assert reader.text("kind").lower() == "singular"
    assert reader.said == []


def test_the_surface_turns(reader: Reader) -> None:
    canvas = reader.page.locator("#surface")
    before = canvas.screenshot()
    canvas.focus()
    for key in ("ArrowLeft", "ArrowUp", "+"):
        reader.page.keyboard.press(key)
        reader.settle()
        after = canvas.screenshot()
        assert after != before, key
        before = after
    reader.page.keyboard.press("x")
    reader.settle()
    assert canvas.screenshot() == before
    assert reader.said == []


def test_the_picture_comes_back(reader: Reader) -> None:
    """A computer that slept may take the graphics away; they return where the surface was turned to, and turn again."""
    canvas = reader.page.locator("#surface")
    canvas.focus()
    reader.page.keyboard.press("ArrowLeft")
    reader.settle()
    before = canvas.screenshot()
    reader.page.evaluate("""() => new Promise((done) => {
        const canvas = document.getElementById("surface");
        const lose = canvas.getContext("webgl").getExtension("WEBGL_lose_context");
        canvas.addEventListener("webglcontextlost", () => setTimeout(() => lose.restoreContext(), 50));
        canvas.addEventListener("webglcontextrestored", done);
        lose.loseContext();
    })""")
    reader.settle()
    assert canvas.screenshot() == before
    reader.page.keyboard.press("ArrowLeft")
    reader.settle()
    assert canvas.screenshot() != before
    assert all("context" in words for words in reader.said), reader.said
