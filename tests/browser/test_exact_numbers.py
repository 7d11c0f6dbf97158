"""The arithmetic in the pages against Python's: fractions, matrices, polynomials, on random cases."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import sympy

from lightning_cli.writing.live_pages import source

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

DRAW = random.Random(16)


@pytest.fixture(scope="module")
def page(browser: Browser) -> Page:
    """Nothing but the arithmetic."""
    page = browser.new_page()
    page.set_content(f"<script>{source('exact.js')}</script>")
    return page


def number(large: bool = True) -> Fraction:
    size = DRAW.choice([3, 10, 10**25]) if large else 4
    return Fraction(DRAW.randint(-size, size), DRAW.randint(1, size))


def matrix(rows: int, columns: int) -> list[list[Fraction]]:
    return [[number() for _ in range(columns)] for _ in range(rows)]


def asked(page: Page, expression: str, *given: Any) -> Any:
    """What JavaScript makes of some numbers, which it gets and gives as texts."""
    spelled = json.loads(json.dumps(given, default=str))
    show = "(x) => JSON.stringify(x, (_, v) => v instanceof Exact.Fraction ? `${v}` : v)"
    return json.loads(page.evaluate(f"(given) => ({show})(({expression})(...given))", spelled))


def spelled(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str))


def test_fractions(page: Page) -> None:
    for _ in range(60):
        a, b = number(), number()
        found = asked(
            page, "(a, b) => { [a, b] = [a, b].map((n) => Exact.fraction(n));"
            " return [a.add(b), a.sub(b), a.mul(b), b.isZero() ? null : a.div(b), a.neg(), a.sign(), a.equals(b)]; }",
            a, b,
        )  # fmt: skip
        sign = (a > 0) - (a < 0)
        assert found == spelled([a + b, a - b, a * b, a / b if b else None, -a, sign, a == b])


def test_numbers_for_pixels(page: Page) -> None:
    for value in [number() for _ in range(60)] + [
        Fraction(10**400, 3),
        Fraction(-3, 10**300),
        Fraction(10**400, 10**399),
    ]:
        found = asked(page, "(a) => Exact.fraction(a).number()", value)
        if found is None:
            assert abs(value) > 10**308
        else:
            assert abs(Fraction(found) - value) <= abs(value) / 2**50


@pytest.mark.parametrize(
    ("text", "value"), [("3", 3), (" -3/4 ", Fraction(-3, 4)), ("0.25", Fraction(1, 4)), ("-1.5", -1.5)]
)
def test_what_people_type(page: Page, text: str, value: Any) -> None:
    assert Fraction(asked(page, "(text) => Exact.fraction(text)", text)) == value


@pytest.mark.parametrize("text", ["", "x", "1/0", "1//2", "1e3", "--1"])
def test_what_is_no_number_is_refused(page: Page, text: str) -> None:
    refused = "(text) => { try { Exact.fraction(text); return false; } catch (error) { return true; } }"
    assert asked(page, refused, text)


def test_matrices(page: Page) -> None:
    for n in (1, 2, 3, 4):
        for _ in range(5):
            a, b, row = matrix(n, n + 1), matrix(n + 1, n), matrix(1, n)
            square = matrix(n, n)
            square[-1] = DRAW.choice([square[-1], square[0]])
            found = asked(
                page, "(a, b, row, s) => { [a, b, row, s] = [a, b, row, s].map(Exact.matrix); return ["
                "Exact.product(a, b), Exact.transpose(a), Exact.rank(s), Exact.inverse(s), Exact.echelon(a).rows]; }",
                a, b, row, square,
            )  # fmt: skip
            A, B, S = (sympy.Matrix(m) for m in (a, b, square))
            inverse = S.inv().tolist() if S.rank() == n else None
            assert found == spelled([(A * B).tolist(), A.T.tolist(), S.rank(), inverse, A.rref()[0].tolist()])


def test_roots_of_polynomials(page: Page) -> None:
    x = sympy.Symbol("x")
    for _ in range(40):
        expression = sympy.prod([
            sympy.Poly([DRAW.randint(1, 4), *(DRAW.randint(-5, 5) for _ in range(DRAW.choice([1, 2])))], x).as_expr()
            ** DRAW.choice([1, 1, 2]) for _ in range(DRAW.choice([1, 2, 3]))
        ])  # fmt: skip
        p = sympy.Poly(expression, x)
        found = asked(
            page, "(p) => Exact.squareFree(Exact.polynomial(p)).map(({ factor, multiplicity }) =>"
            " [factor, multiplicity, Exact.realRoots(factor)])", [str(c) for c in reversed(p.all_coeffs())],
        )  # fmt: skip
        expected = [(f.monic(), m) for f, m in sympy.Poly(p, x, domain="QQ").sqf_list()[1]]
        assert found == [
            [[str(c) for c in reversed(f.all_coeffs())], m, f.count_roots()]
            for f, m in sorted(expected, key=lambda e: e[1])
        ]


def test_the_sources_are_small_and_readable() -> None:
    for path in sorted((Path(__file__).parents[2] / "lightning_cli" / "pages").iterdir()):
        if path.suffix in {".js", ".html", ".css"}:
            lines = path.read_text(encoding="utf-8").splitlines()
            assert len(lines) <= 400, path.name
            assert max(map(len, lines)) <= 160, path.name
