"""`explain ID`: every claim has a walk-through, and it is readable in words, as data and in LaTeX."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest
import sympy
from command import run
from walks import walked_once

from lightning_cli.commands import explain
from lightning_cli.writing import board_text
from lightning_cli.writing.math_text import plain, terms_latex
from lightning_sym.errors import ProgramError
from proofs_check import registry
from proofs_check.blackboard.step import Polynomial, Shown, ShownMatrix, Step, must
from proofs_check.claim import Claim
from proofs_check.registry import all_claims, claim_by_id, walk_through


@pytest.fixture(autouse=True)
def _walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "walk_through", walked_once)


@cache
def steps_of(claim_id: str) -> tuple[Step, ...]:
    return tuple(walked_once(claim_id)[1])


def texts(steps: tuple[Step, ...]) -> Iterator[str]:
    """Everything written on the board as LaTeX."""
    for step in steps:
        yield step.heading
        yield from step.prose.split("$")[1::2]
        for shown in step.shown:
            yield shown.label
            if isinstance(shown.value, str):
                yield shown.value
            if isinstance(shown.value, ShownMatrix):
                yield from shown.value.row_labels + shown.value.column_labels


@pytest.mark.parametrize("claim", all_claims(), ids=lambda claim: claim.id)
def test_every_claim_is_explained(claim: Claim, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "explain", claim.id)
    assert (code, err) == (0, "")
    assert claim.source in out
    assert out.rstrip().endswith(f"check it: lightning-sym check {claim.id}")
    for number, step in enumerate(steps_of(claim.id), start=1):
        assert f"\n{number}. " in out
        for shown in step.shown:
            if isinstance(shown.value, ShownMatrix):
                assert all(line in out for line in board_text.matrix_lines(shown.value, unicode=True))
    assert "⎡" in out
    assert "\x1b" not in out, "colours are for terminals"
    assert max(map(len, out.splitlines())) <= 120


@pytest.mark.parametrize("claim_id", [claim.id for claim in all_claims()])
def test_walk_throughs_are_well_formed(claim_id: str) -> None:
    steps = steps_of(claim_id)
    assert len(steps) >= 3
    for step in steps:
        assert step.heading
        assert step.prose.count("$") % 2 == 0
        assert step.prose
    for text in texts(steps):
        assert text.count("{") == text.count("}")
        for unicode in (True, False):
            line = plain(text, unicode=unicode)
            assert "\\" not in line, f"{text!r} is left as {line!r}"
            assert unicode or line.isascii()
    claim = Claim(claim_id, "source", "title", r"\alpha", ())
    document = explain.ANSWER.document(claim, intro=walked_once(claim_id)[0], steps=steps)
    assert json.loads(json.dumps(document)) == document


@pytest.mark.parametrize("claim", all_claims(), ids=lambda claim: claim.id)
def test_json(claim: Claim, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "explain", claim.id, "--json")
    document = json.loads(out)
    assert (code, err) == (0, "")
    assert document["schema"] == "lightning-sym/explain/1"
    assert document["id"] == claim.id
    assert document["check"] == f"lightning-sym check {claim.id}"
    assert len(document["steps"]) == len(steps_of(claim.id))
    matrices = [s for step in document["steps"] for s in step["shown"] if s["kind"] == "matrix"]
    assert matrices
    for matrix in matrices:
        assert len({len(row) for row in matrix["rows"]}) == 1


@pytest.mark.parametrize("claim", all_claims(), ids=lambda claim: claim.id)
def test_latex(claim: Claim, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "explain", claim.id, "--latex")
    assert (code, err) == (0, "")
    assert out.count("$") % 2 == 0
    assert out.count("{") == out.count("}")
    assert out.count(r"\begin{") == out.count(r"\end{")
    assert out.isascii()


def test_an_unknown_claim_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "explain", "theorem-9.9")
    assert (code, out) == (2, "")
    assert err.startswith(f"error: the claim id must be one of {len(all_claims())}, got 'theorem-9.9': did you mean")
    assert err.count("\n") == 1


def test_one_form_at_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "explain", "definition-1", "--json", "--latex")
    assert code == 2
    assert err.count("\n") == 1


def test_a_claim_without_a_walk_through(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    alone = replace(claim_by_id("definition-1"), walk=None)
    monkeypatch.setattr(registry, "claim_by_id", {"definition-1": alone}.__getitem__)
    monkeypatch.setattr(registry, "walk_through", walk_through)
    code, out, err = run(capsys, "explain", "definition-1")
    assert (code, out) == (2, "")
    assert "has none yet" in err


def shown_in(claim_id: str, label: str) -> list[object]:
    """Everything on the board under this label."""
    return [shown.value for step in steps_of(claim_id) for shown in step.shown if shown.label == label]


def test_the_swap_shows_two_weights_with_one_polynomial() -> None:
    (first, *_), (second,) = shown_in("theorem-3.2", r"\varphi_1"), shown_in("theorem-3.2", r"\varphi'_1")
    assert isinstance(first, Polynomial)
    assert first == second
    assert shown_in("theorem-3.2", r"A = p\, q^\top") != shown_in("theorem-3.2", r"A' = w\, q^\top")


def test_the_jacobian_on_the_board_has_the_rank_that_is_written() -> None:
    (jacobian,), (written,) = shown_in("corollary-3.3", "J"), shown_in("corollary-3.3", r"\operatorname{rk} J")
    assert isinstance(jacobian, ShownMatrix)
    rows = [[sympy.Rational(str(entry)) for entry in row] for row in jacobian.rows]
    assert sympy.Matrix(rows).rank() == written == 5


def test_the_resultant_agrees_with_sympy() -> None:
    (equation,) = shown_in("figure-1", r"\operatorname{Res}")
    assert isinstance(equation, Polynomial)
    f, g, z = sympy.symbols("f_:3"), sympy.symbols("g_:3"), sympy.Symbol("z")
    expected = sympy.resultant(*(c[0] * z**2 + c[1] * z + c[2] for c in (f, g)), z)
    found = sum(c * sympy.prod(x**e for x, e in zip((*f, *g), powers, strict=True)) for powers, c in equation.terms)
    assert sympy.expand(expected - found) == 0


def test_nothing_false_is_put_on_the_board() -> None:
    with pytest.raises(ProgramError, match="one is two"):
        must(False, "one is two")


def test_matrices_in_brackets() -> None:
    half = Fraction(1, 2)
    matrix = ShownMatrix(((half, Fraction(-10)), (Fraction(3), half)), ("a", "b"), ("x^2", "y"))
    assert board_text.matrix_lines(matrix, unicode=True) == [
        "     x²    y",
        "a ⎡ 1/2  -10 ⎤",
        "b ⎣   3  1/2 ⎦",
    ]
    one_row = Shown("V", ShownMatrix(((half,),)))
    assert board_text.shown_lines(one_row, unicode=False, width=80) == ["V = [ 1/2 ]"]
    three = board_text.shown_lines(Shown("M", ShownMatrix(((half,), (half,), (half,)))), unicode=True, width=80)
    assert three == ["    ⎡ 1/2 ⎤", "M = ⎢ 1/2 ⎥", "    ⎣ 1/2 ⎦"]
    assert board_text.side_by_side([three, ["x = 1"]], width=80) == [
        ["    ⎡ 1/2 ⎤", "M = ⎢ 1/2 ⎥    x = 1", "    ⎣ 1/2 ⎦"]
    ]


def test_polynomials_in_words() -> None:
    terms = (((2, 1), Fraction(-1)), ((0, 3), Fraction(1, 2)), ((0, 0), Fraction(1)))
    polynomial = Polynomial(("x", "a_1_2"), terms)
    assert terms_latex(polynomial) == ["-x^{2} a_{12}", r"+ \tfrac{1}{2} a_{12}^{3}", "+ 1"]
    (line,) = board_text.shown_lines(Shown("f", polynomial), unicode=True, width=80)
    assert line == "f = -x² a₁₂ + 1/2 a₁₂³ + 1"
    assert board_text.shown_lines(Shown("f", Polynomial(("x",), ())), unicode=True, width=80) == ["f = 0"]
