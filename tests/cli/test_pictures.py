"""The pictures of `figure` besides Figure 3: exact numbers beside them, files that are whole, words that are true."""

from __future__ import annotations

import cmath
import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import sympy
from command import run

from lightning_cli.commands.figure import FIGURES
from lightning_cli.pictures import coefficients, dimensions, fiber, figure_1, poles, roots, singular
from lightning_cli.pictures.drawing import Picture
from lightning_cli.writing.live_pages import page_text
from lightning_sym import Architecture, certified_dimension, classify, learning_coefficient, load_weights, same_function
from lightning_sym.errors import BadInput
from lightning_sym.fibers.same_function import Answer
from lightning_sym.geometry.layer_orbits import Label

EXAMPLES = Path(__file__).parents[2] / "examples"
ALONE = [name for name, (_, takes_file, _) in FIGURES.items() if not takes_file and name != "3"]
FIBERS = ["rank_one", "two_layers", "generic"]
BEGINNINGS = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml"}


def words(name: str) -> list[str]:
    """How a figure is asked for."""
    return [name] if name in FIGURES else ["fiber", str(EXAMPLES / f"{name}.json")]


@pytest.mark.parametrize("name", [*ALONE, *FIBERS])
def test_every_kind_of_file(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for ending, begins in BEGINNINGS.items():
        files = [tmp_path / f"{number}{ending}" for number in (1, 2)]
        for file in files:
            code, out, err = run(capsys, "figure", *words(name), "--output", str(file))
            assert (code, err) == (0, f"picture: {file}\n")
            assert "Exact: " in out
        first, second = (file.read_bytes() for file in files)
        assert first == second, "the same on every run"
        assert first.startswith(begins)
        assert 5_000 < len(first) < 400_000
        if ending == ".svg":
            ElementTree.fromstring(first.decode())  # noqa: S314 - our own file
            assert not re.search(rb"<dc:date>|(?:href|src)=.http", first)


def test_figure_1_as_a_live_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "figure", "1", "--output", str(tmp_path / "f.html"))[0] == 0
    assert (tmp_path / "f.html").read_text(encoding="utf-8") == page_text("figure-1")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (["fiber"], "a file of weights must be given"),
        (["1", "x.json"], "must be given no file"),
        (["fiber", "no.json"], "no.json"),
        (["roots", "--output", "roots.html"], "must end in .png, .svg or .pdf"),
        (["1", "--output", "one.gif"], "must end in .png, .svg, .pdf or .html"),
        (["1", "--output", "no/one.html"], "must be a file that can be written"),
        (["fiber", str(EXAMPLES / "two_heads.json")], "lightning attention"),
        (["fiber", "zero.json"], "must not be zero"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(
    given: list[str], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    zero = {"schema": "lightning-sym/weights/1", "weights": {"Q1": [["1"]], "K1": [["1"]], "V1": [["0"]]}}
    (tmp_path / "zero.json").write_text(json.dumps(zero), encoding="utf-8")
    code, out, err = run(capsys, "figure", *given)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert reason in err
    assert [path.name for path in tmp_path.iterdir()] == ["zero.json"]


def table(picture: Picture) -> list[dict[str, str]]:
    """The rows of a picture by the names of its columns."""
    assert all(len(row) == len(picture.columns) for row in picture.rows)
    return [dict(zip(picture.columns, row, strict=True)) for row in picture.rows]


# --- what they say is true


def test_figure_1_has_its_equation() -> None:
    for row in table(figure_1.picture()):
        u, w, z = (Fraction(row[name]) for name in "uwz")
        assert u**2 + w**2 == z**2 * u**2
        assert (row["kind"] == "in the closure only") == (abs(z) < 1)
        assert (row["kind"] == "regular") == (u != 0)


def test_the_corners_that_are_drawn_are_on_the_surface() -> None:
    corners = [corner for patch in figure_1._patches() for corner in patch[0]]
    assert len(corners) > 1_000
    for u, z, w in corners:  # floats, within their rounding
        assert abs(u * u + w * w - z * z * u * u) < 1e-12


def test_a_corner_off_the_surface_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    moved = "lightning_sym.geometry.resultant_slice.SlicePoint.coordinates"
    monkeypatch.setattr(moved, (Fraction(1), Fraction(1), Fraction(1)))
    with pytest.raises(AssertionError):
        figure_1.picture().image("svg")


def test_where_the_formula_parts() -> None:
    cells = dimensions.compute()
    assert len(cells) == 72
    for cell in cells[::5]:
        assert cell.lower == cell.upper == certified_dimension(cell.network, seed=3).value
    parting = {cell.network.attention_ranks for cell in cells if cell.kind == "different"}
    assert parting == {(1, a) for a in range(2, 7)}
    assert not any(cell.applies for cell in cells if cell.kind != "equal")
    assert all(cell.network.widths[1] > cell.network.widths[0] for cell in cells if cell.kind == "no formula")


@pytest.mark.parametrize(("change", "code"), [({"formula": 7}, 1), ({"upper": 1_000}, 3)])
def test_exit_codes_of_dimensions(change: dict[str, Any], code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    cells = [cell for cell in dimensions.compute() if cell.applies]
    monkeypatch.setattr(dimensions, "compute", lambda: [replace(cells[0], **change), *cells[1:]])
    assert dimensions.picture().code == code


def test_the_tangent_space_jumps_at_zero_only() -> None:
    rows = table(singular.picture())
    jumps = {(row["rk V"], row["s"]): int(row["tangent dimension"]) for row in rows if row["tangent dimension"] != "13"}
    assert jumps == {("2", "0"): 14, ("1", "0"): 20}
    for row in rows:
        found = classify(singular.weights_at(Fraction(row["s"]), int(row["rk V"])))
        assert row["kind"].startswith("singular") == (Label.SINGULAR in found)
    missed = [row for row in rows if row["kind"].startswith("singular") and row["Theorem 3.4 as printed"] == "regular"]
    assert [(row["rk V"], row["s"]) for row in missed] == [("2", "0")]


def test_roots_by_the_factors_of_the_layers() -> None:
    x = sympy.Symbol("x")
    for s in roots.PLACES:
        t = sympy.Rational(str(s))
        first, second, last = x**2 + t, (x - 2) ** 2 + sympy.Rational(1, 2) - t, x + 3 - t
        expected = sympy.Poly(first**3 * second * last, x)
        factors, real = roots.factors_at(s)
        found = sympy.prod([sympy.Poly([sympy.Rational(str(c)) for c in f], x) ** m for f, m in factors])
        assert found.monic() == expected.monic()
        assert real == len(set(sympy.real_roots(expected)))
    kinds = {row["multiplicities"] for row in table(roots.picture())}
    assert kinds == {"3,3,1,1,1", "6,1,1,1", "3,3,2,1"}


@pytest.mark.parametrize("name", FIBERS)
def test_members_of_fibers(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(run(capsys, "figure", *words(name), "--json")[1])
    assert {row[-1] for row in document["rows"]} == {"same"}
    if name == "rank_one":
        assert {row[0] for row in document["rows"]} == {"1", "2"}
        swapped = load_weights(EXAMPLES / "rank_one_swapped.json")
        assert same_function(load_weights(EXAMPLES / "rank_one.json"), swapped).answer is Answer.SAME


def test_members_that_need_another_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = load_weights(EXAMPLES / "rank_one.json")

    def refused(*_: object, **__: object) -> None:
        raise BadInput("weights of this shape must have A of rank at most 1, this point has 2")

    monkeypatch.setattr("lightning_sym.fibers.points.Component.point", refused)
    assert {row[-1] for row in fiber.picture(weights).rows} == {"no weights of this shape"}


def test_a_network_of_one_token() -> None:
    network = Architecture((2, 2, 1), (2, 2), 1)
    assert roots.weights_at(Fraction(0)).architecture(1) == network


def test_coefficients_on_a_plane() -> None:
    rows = table(coefficients.picture())
    assert sum(int(row["points"]) for row in rows) == len(coefficients.SIDE) ** 2
    assert {(row["lambda"], row["points"]) for row in rows} == {("1", "9"), ("7/4", "8"), ("2", "64")}
    for row in rows:
        found = learning_coefficient(coefficients.weights_at((Fraction(row["x of one"]), Fraction(row["y of it"]))))
        assert (str(found.value), str(found.multiplicity)) == (row["lambda"], row["m"])


def test_poles_are_where_the_gate_is_an_odd_multiple_of_pi_i() -> None:
    for neuron in poles.NEURONS:
        for z in poles.poles(neuron):
            value = 2 * (neuron.gate[0] * cmath.cos(z) + neuron.gate[1] * cmath.sin(z)) / (cmath.pi * 1j)
            assert abs(value - round(value.real)) < 1e-12
            assert round(value.real) % 2 == 1
    assert all(poles.determinant(a, b) for a in poles.NEURONS for b in poles.NEURONS if a is not b)
