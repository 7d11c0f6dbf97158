"""What is printed for other systems: legal names, balanced brackets, and polynomials with the right values."""

from __future__ import annotations

import ast
import json
import re
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import sympy
from command import run

from lightning_cli.commands import phi as command
from lightning_cli.writing.mathml import mathml
from lightning_sym import Architecture, BadInput, ShapeError, Weights, forward, polynomial_map, save_weights
from lightning_sym.network.formats import FORMATS, SYSTEMS, ideal_text, polynomial_text, variable_names
from lightning_sym.network.map_formats import map_text
from lightning_sym.network.weights import Layer

SHAPE = Architecture((2, 1), (2,), 2)
TWO = Architecture((2, 2, 1), (1, 1), 1)
NUMBERS = Weights.random(Architecture((2, 2), (1,), 2), seed=5, denominator=7)
MAPS = {
    "one layer": polynomial_map(SHAPE),
    "two layers": polynomial_map(TWO),
    "numbers": polynomial_map(NUMBERS.architecture(2), NUMBERS),
    "smallest": polynomial_map(Architecture((1, 1), (1,), 1)),
}
NAMES = {  # what each system takes for a variable
    "sympy": r"[A-Za-z]\w*", "sage": r"[A-Za-z]\w*", "oscar": r"[A-Za-z]\w*", "singular": r"[A-Za-z]\w*",
    "macaulay2": r"[A-Za-z]+\d*(?:_\(\d+(?:,\d+)+\)|_\d+)?",
}  # fmt: skip


def code(text: str, form: str) -> str:
    """The text without its comments."""
    mark = SYSTEMS[form].comment
    return "\n".join(line for line in text.splitlines() if not line.startswith(mark))


def value(form: str, text: str, point: dict[str, Fraction]) -> Fraction:
    """A printed polynomial at a point, by a reader of its own: sums of products of powers, and no more."""
    atom = NAMES[form] if form != "sympy" else rf"Rational\(\d+, \d+\)|{NAMES[form]}"
    token = re.compile(rf"({atom})|(\d+)|(\*\*|\^)|(//|/)|(\*)|([+-])")
    total, product, sign, power, divide = Fraction(0), Fraction(1), 1, False, False
    last: Any = Fraction(1)
    stripped = text.replace(" ", "") if form != "sympy" else text
    position, begun = 0, False
    for match in token.finditer(stripped):
        assert not stripped[position : match.start()].strip(), stripped[position : match.start()]
        position = match.end()
        name, digits, hat, slash, _, plus = match.groups()
        if plus:
            total, product, begun = (total + sign * product * last if begun else total), Fraction(1), False
            sign, last = (1 if plus == "+" else -1), Fraction(1)
        elif hat:
            power = True
        elif slash:
            divide = True
        elif name or digits:
            begun = True
            if power:
                last, power = last ** int(digits), False
            elif divide:
                last, divide = last / int(digits), False
            else:
                product *= last
                rational = re.fullmatch(r"Rational\((\d+), (\d+)\)", name or "")
                last = Fraction(*map(int, rational.groups())) if rational else point[name] if name else Fraction(digits)
    assert not stripped[position:].strip()
    return total + sign * product * last if begun else total


def inside(text: str, form: str) -> list[str]:
    """The polynomials of the matrix `phi`, as text."""
    (line,) = re.findall(r"^(?:matrix )?phi.*?;?$(?=\n\S|\Z)", code(text, form), flags=re.MULTILINE | re.DOTALL)
    body = line.partition(" = ")[2].rstrip(";")
    body = re.sub(r"^(?:matrix|Matrix)\((?:R, )?(?:\d+, \d+, )?(?:R\.\()?|^matrix ", "", body)
    if form == "sympy":
        body = re.sub(r"Rational\((\d+), (\d+)\)", r"Rational<\1; \2>", body)
    if form == "macaulay2":
        body = re.sub(r"\(([\d,]+)\)", lambda m: f"<{m[1].replace(',', ';')}>", body)
    parts = [p.strip() for p in re.sub(r"[\[\]{}()\n]", " ", body).split(",")]
    return [p.replace("<", "(").replace(">", ")").replace(";", ",") for p in parts]


@pytest.mark.parametrize("form", SYSTEMS)
@pytest.mark.parametrize("name", MAPS)
def test_outputs_have_the_right_values(name: str, form: str) -> None:
    phi, random = MAPS[name], Random(name)
    names = [*phi.weight_names, *phi.input_names]
    found = inside(map_text(phi, form), form)
    assert len(found) == phi.entries.size
    for _ in range(3):
        numbers = {n: Fraction(random.randint(-5, 5)) for n in names}
        point = dict(zip(variable_names(form, names), numbers.values(), strict=True))
        x = np.array([numbers[n] for n in phi.input_names], dtype=object).reshape(-1, phi.architecture.tokens)
        if phi.weight_names:
            matrices = [
                np.array([[numbers[f"{n}_{i + 1}_{j + 1}"] for j in range(size[1])] for i in range(size[0])], object)
                for n, size in phi.architecture.weight_shapes()
            ]
            layers = [Layer(*matrices[i : i + 3]) for i in range(0, len(matrices), 3)]
        else:
            layers = list(NUMBERS.layers)
        expected = forward(x, layers).ravel().tolist()
        assert [value(form, text, point) for text in found] == expected


@pytest.mark.parametrize("form", SYSTEMS)
@pytest.mark.parametrize("name", MAPS)
def test_names_are_legal_and_brackets_close(name: str, form: str) -> None:
    phi = MAPS[name]
    written = variable_names(form, [*phi.weight_names, *phi.input_names, "c_1", "Q1.2_3_4"])
    assert all(re.fullmatch(NAMES[form], each) for each in written)
    assert len(set(written)) == len(written)
    text = map_text(phi, form)
    for pair in ("()", "[]", "{}"):
        assert code(text, form).count(pair[0]) == code(text, form).count(pair[1])
    assert ("M =" in text or "graph =" in text) == bool(phi.weight_names)
    if form in ("macaulay2", "singular", "oscar"):
        statements = re.split(r"\n(?=\S)", code(text, form))
        assert all(s.endswith(";") or s == "using Oscar" for s in statements), statements


def test_what_sympy_reads_is_python_and_says_the_same() -> None:
    phi = MAPS["one layer"]
    names: dict[str, Any] = {}
    exec(compile(ast.parse(map_text(phi, "sympy")), "phi", "exec"), names)  # noqa: S102 - our own text
    assert names["phi"] == phi.matrix()
    coefficients = {sympy.expand(c) for c in names["C"]}
    assert len(coefficients) == len(names["C"]) == len(names["S"]) == 8
    assert all(g.free_symbols & set(names["S"]) for g in names["graph"])


def test_what_sage_reads_is_python_but_for_powers() -> None:
    for phi in MAPS.values():
        ast.parse(map_text(phi, "sage").replace("^", "**"))


def test_every_coefficient_is_there_once() -> None:
    phi = MAPS["one layer"]
    comments = [line for line in map_text(phi, "singular").splitlines() if line.startswith("// c_")]
    places = [place for line in comments for place in line.split(" of ")[1].split("; ")]
    expected = {
        f"phi_{k}_{j}: {polynomial_text('singular', phi.input_names, {e: 1})}" for k, j, e in phi.coefficients()
    }
    assert set(places) == expected
    assert len(places) == len(expected) == 20


HALF = {(2, 0): Fraction(-3, 2), (0, 1): 1, (1, 1): 0}


@pytest.mark.parametrize("form", FORMATS)
def test_ideals(form: str) -> None:
    text = ideal_text(form, ["c_1", "c_2"], [HALF, {}], ["a comment"])
    if form == "json":
        assert json.loads(text) == {"ring": ["c_1", "c_2"], "ideal": ["-3/2*c_1**2 + c_2", "0"]}
        return
    assert text.splitlines()[0].endswith("a comment")
    if form == "latex":
        assert all(mathml(part).startswith("<math") for part in re.split(r"\n(?=I)", text.partition("\n")[2]))
    else:
        assert "c_1" + SYSTEMS[form].power + "2" in text
    assert ideal_text(form, ["c_1"], []).strip()


def test_every_form_of_polynomial_gives_the_same() -> None:
    ring, x, y = sympy.ring("x,y", sympy.QQ)
    flint = MAPS["numbers"].ring
    assert polynomial_text("singular", ["x", "y"], x**2 * -3 / 2 + y) == "-3/2*x^2 + y"
    assert polynomial_text("singular", ["x", "y"], ring(0)) == "0"
    a, b = flint.generators[:2]
    assert polynomial_text("singular", flint.names, a * a - b) == "x_1_1^2 - x_1_2"


@pytest.mark.parametrize("name", ["", "x-1", "1x", "x_", "λ_1", "x__1", None, 3])
def test_names_that_no_system_takes(name: Any) -> None:
    for form in FORMATS:
        with pytest.raises(BadInput, match="a variable must be letters"):
            ideal_text(form, [name], [])


def test_wrong_ideals() -> None:
    with pytest.raises(ShapeError, match="2 exponents"):
        ideal_text("sage", ["a", "b"], [{(1,): 1}])
    with pytest.raises(BadInput, match="different names"):
        ideal_text("sage", ["Q1.2_1", "Q1_2_1"], [])
    with pytest.raises(BadInput, match="the format must be"):
        ideal_text("maple", ["a"], [])


@pytest.mark.parametrize("form", FORMATS)
def test_the_command(form: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (option,) = (p for p in command.command.params if p.name == "form")
    assert tuple(option.type.choices) == FORMATS  # type: ignore[attr-defined]
    words = ("phi", "--widths", "2,1", "--ranks", "2", "--tokens", "2")
    code_, out, err = run(capsys, *words, "--format", form)
    assert (code_, err) == (0, "")
    if form in SYSTEMS:
        assert out == map_text(MAPS["one layer"], form) + "\n"
    else:
        assert out == run(capsys, *words, f"--{form}")[1]
    save_weights(NUMBERS, tmp_path / "w.json")
    assert run(capsys, "phi", "--weights", str(tmp_path / "w.json"), "--tokens", "2", "--format", form)[0] == 0


def test_two_forms_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("phi", "--widths", "2,1", "--ranks", "2", "--tokens", "2")
    for more in (["--format", "sage", "--json"], ["--format", "sage", "--latex"], ["--format", "maple"]):
        code_, out, err = run(capsys, *words, *more)
        assert (code_, out, err.count("\n")) == (2, "", 1)
    both = json.loads(run(capsys, *words, "--format", "json", "--latex")[1])
    assert "^{(1)}" in both["outputs"][0]["polynomial"]
