"""`figure 3` and the claims around it: two curves from two computations, and a picture that is whole or not there."""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from command import run

from lightning_cli.pictures import drawing
from lightning_cli.pictures import figure_3 as figure
from lightning_sym import SOFTMAX, Architecture, Normalization, certified_dimension
from lightning_sym.errors import BadInput, ShapeError
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.network.attention import Form, network_output
from lightning_sym.rings.derivatives import Recorded, gradients
from lightning_sym.rings.prime_field import PrimeFieldMatrix
from proofs_check.claim import Refutation
from proofs_check.claims.normalized import figure_3
from proofs_check.claims.normalized.conjecture_3_10 import equation_16
from proofs_check.claims.normalized.rational_normalizer import (
    ONE_PLUS_Y,
    PRIME,
    factors_on_columns,
    jacobian_of_values,
    pattern_at_values,
    without_constant,
)
from proofs_check.registry import walk_through

points = cache(figure.compute)
DIMENSIONS = [25, 40, 57, 76, 97, 120, 145, 172]


@pytest.fixture
def nothing_may_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bad input is refused before anything is computed."""

    def refuse() -> None:
        pytest.fail("the dimensions were computed")

    monkeypatch.setattr(figure, "compute", refuse)


def changed(index: int, **fields: Any) -> Callable[[], list[figure.CertifiedWidth]]:
    """The true points, one of them changed."""
    result = list(points())
    point = result[index]
    expected = fields.pop("expected", point.expected)
    result[index] = figure.CertifiedWidth(replace(point.estimated, **fields), expected)
    return lambda: result


# --- the two curves


def test_the_published_numbers() -> None:
    assert [point.estimated.value for point in points()] == DIMENSIONS
    assert [point.expected for point in points()] == DIMENSIONS
    assert [figure_3.estimated(n).value for n in figure_3.published_networks()] == [37, 52, 61, 64]
    assert [figure_3.expected(n) for n in figure_3.published_networks()] == [37, 52, 61, 64]


def test_the_whole_figure_is_certified() -> None:
    assert all(point.agrees for point in figure.compute())


def test_neither_curve_enters_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong formula moves the second curve alone, a wrong rank the first one alone."""
    monkeypatch.setattr(figure_3, "equation_16", lambda network: 0)
    assert [(p.estimated.value, p.expected) for p in figure.compute()] == [(d, 0) for d in DIMENSIONS]
    monkeypatch.undo()
    other = replace(certified_dimension(figure_3.figure_networks()[0]), lower=1)
    monkeypatch.setattr(figure_3, "dimension_by_orbit", lambda network: other)
    assert [(p.estimated.lower, p.expected) for p in figure.compute()] == [(1, d) for d in DIMENSIONS]
    monkeypatch.undo()
    monkeypatch.setattr("lightning_sym.dimension.certify.printed_formula", lambda network: None)
    assert figure_3.estimated(figure_3.figure_networks()[0]).value == DIMENSIONS[0]


# --- the command


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "figure", "3")
    assert (code, err) == (0, "")
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in out.splitlines() if "equal" in line]
    parameters = [42, 64, 90, 120, 154, 192, 234, 280]
    assert rows == [
        [str(d), str(p), str(n), str(n), "equal"] for d, p, n in zip(range(3, 11), parameters, DIMENSIONS, strict=True)
    ]


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "figure", "3", "--json")
    document = json.loads(out)
    assert (code, err) == (0, "")
    assert (document["schema"], document["figure"], document["output"]) == ("lightning-sym/figure/1", 3, None)
    assert document["points"][-1] == {
        "width": 10, "parameters": 280, "estimated": 172, "lower": 172, "upper": 172, "status": "certified",
        "expected": 172, "agrees": True,
    }  # fmt: skip


def test_what_differs_and_what_is_open(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(figure, "compute", changed(0, lower=24))
    code, out, _ = run(capsys, "figure", "3")
    assert (code, out.count("undecided"), out.count("equal")) == (3, 1, 7)
    assert "between 24 and 25" in out
    code, out, _ = run(capsys, "figure", "3", "--json", "--output", str(tmp_path / "open.svg"))
    assert (code, json.loads(out)["points"][0]["estimated"]) == (3, None)
    monkeypatch.setattr(figure, "compute", changed(0, lower=20, upper=24))
    code, out, _ = run(capsys, "figure", "3")
    assert (code, out.count("different")) == (1, 1)
    monkeypatch.setattr(figure, "compute", changed(7, expected=173))
    assert run(capsys, "figure", "3")[0] == 1


def test_a_picture_of_each_kind(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(figure, "compute", points)
    code, out, err = run(capsys, "figure", "3", "--output", str(tmp_path / "f.PNG"))
    assert (code, err) == (0, f"picture: {tmp_path / 'f.PNG'}\n")
    assert "172" in out
    png = (tmp_path / "f.PNG").read_bytes()
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", png[16:24]) == (1280, 880)
    code, out, err = run(capsys, "figure", "3", "--json", "--output", str(tmp_path / "f.svg"))
    assert (code, json.loads(out)["output"]) == (0, str(tmp_path / "f.svg"))
    assert err == ""
    svg = (tmp_path / "f.svg").read_text(encoding="utf-8")
    assert ElementTree.fromstring(svg).tag.endswith("svg")  # noqa: S314 - our own file
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f.PNG", "f.svg"]
    assert (tmp_path / "f.svg").stat().st_mode & 0o444


def test_a_picture_is_the_same_on_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn(compute: Callable[[], list[figure.CertifiedWidth]], kind: str) -> bytes:
        monkeypatch.setattr(figure, "compute", compute)
        return figure.picture().image(kind)

    for kind in ("png", "pdf", "svg"):
        assert drawn(points, kind) == drawn(points, kind)
    assert drawn(changed(3, expected=77), "svg") != drawn(points, "svg"), "both curves are drawn"
    assert drawn(changed(3, lower=70), "svg") != drawn(points, "svg")


@pytest.mark.usefixtures("nothing_may_run")
@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("figure.html", "must end in .png, .svg or .pdf"),
        ("figure", "must end in .png, .svg or .pdf"),
        ("taken.png", "Is a directory"),
        ("missing/figure.png", "there is no such folder"),
        ("file/figure.png", "Not a directory"),
        ("x" * 300 + ".png", "must be a file that can be written"),
    ],
)
def test_bad_places_are_one_line(place: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "taken.png").mkdir()
    (tmp_path / "file").write_text("mine")
    code, out, err = run(capsys, "figure", "3", "--output", str(tmp_path / place))
    assert (code, out) == (2, "")
    assert err.startswith("error: the picture must")
    assert err.count("\n") == 1
    assert reason in err.replace("'", "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "taken.png"]


@pytest.mark.usefixtures("nothing_may_run")
@pytest.mark.parametrize("words", [[], ["2"], ["4"], ["3", "3"], ["three"]])
def test_bad_numbers_are_one_line(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "figure", *words)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1


@pytest.mark.usefixtures("nothing_may_run")
def test_the_extra_is_asked_for_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, out, err = run(capsys, "figure", "3", "--output", str(tmp_path / "f.png"))
    assert (code, out) == (2, "")
    assert err == "error: the picture needs the extra `plot`: pip install matplotlib\n"


@pytest.mark.parametrize("step", ["pathlib.Path.write_bytes", "os.replace"])
def test_a_disk_that_fails_leaves_the_old_picture(step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "f.png").write_bytes(b"the old one")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(step, full)
    with pytest.raises(BadInput, match="No space left"):
        drawing.write_picture(tmp_path / "f.png", b"a new one")
    assert [path.name for path in tmp_path.iterdir()] == ["f.png"]
    assert (tmp_path / "f.png").read_bytes() == b"the old one"


# --- the claims


def test_values_and_taylor_series_give_the_same_rank() -> None:
    for widths, ranks, tokens in [((2, 2), (2,), 2), ((3, 2, 3), (1, 3), 3), ((2, 2, 2, 2), (2, 1, 2), 2)]:
        network = Architecture(widths, ranks, tokens, normalization=ONE_PLUS_Y)
        rank = rank_mod_p(jacobian_of_values(network, 1, network.parameter_count), PRIME)
        assert rank == certified_dimension(network).value == equation_16(network)


def test_gradients_of_values_against_pencil_and_paper() -> None:
    """One layer of width one, two tokens, Eq. 15 by hand."""
    network = Architecture((1, 1), (1,), 2, normalization=ONE_PLUS_Y)
    q, k, v = (Fraction(n) for n in (2, 3, 5))
    x = (Fraction(1), Fraction(4))

    def output(q: Fraction, k: Fraction, v: Fraction, i: int) -> Fraction:
        s = [1 + q * k * y * x[i] for y in x]
        return v * (s[0] * x[0] + s[1] * x[1]) / (s[0] + s[1])

    def residue(n: Fraction) -> int:
        return n.numerator * pow(n.denominator, -1, PRIME) % PRIME

    def recorded(rows: list[list[int]]) -> Recorded:
        return Recorded(PrimeFieldMatrix.of(np.array(rows), PRIME))

    weights = [recorded([[n]]) for n in (2, 3, 5)]
    found = network_output(recorded([[1, 4]]), network, weights, Form(pattern_at_values(1)))
    assert found.value.residues().tolist() == [[residue(output(q, k, v, i)) for i in (0, 1)]]
    first = PrimeFieldMatrix.of(np.array([[1, 0]]), PRIME)
    slopes = [int(g.residues()[0, 0]) for g in gradients([found], [first], weights)]
    # in c = q k the first output is 5 (5 + 17 c) / (2 + 5 c), its slope 45 / (2 + 5 c)^2
    slope = Fraction(45, (2 + 5 * 6) ** 2)
    assert slopes == [residue(3 * slope), residue(2 * slope), residue(output(q, k, v, 0) / 5)]


def test_the_bare_score_loses_a_dimension() -> None:
    assert equation_16(Architecture((2, 2), (2,), 2)) == 8
    network = Architecture((2, 2), (2,), 2, normalization=SOFTMAX)
    without_constant(network, formula=lambda n: 7)
    with pytest.raises(Refutation, match="found 7, stated 8"):
        without_constant(network, formula=equation_16)
    with pytest.raises(Refutation, match="a factor on column 1"):
        factors_on_columns(1)
    with pytest.raises(ShapeError, match=r"S\(0\) must not be 0"):
        Normalization("y", lambda k: Fraction(int(k == 1)))


@pytest.mark.parametrize("claim_id", ["conjecture-3.10", "figure-3", "rational-normalizer"])
def test_the_walk_throughs_run(claim_id: str) -> None:
    assert len(walk_through(claim_id)[1]) >= 3


HEADS = {"Q1.1": [[1]], "K1.1": [[2]], "V1.1": [[3]], "Q1.2": [[1]], "K1.2": [[1]], "V1.2": [[1]]}
PLAIN = {"Q1": [[1]], "K1": [[2]], "V1": [[3]]}


@pytest.mark.parametrize(
    ("form", "matrices", "named"),
    [
        ({}, HEADS, "2 heads"), ({"skip": True}, PLAIN, "skip"), ({"mask": "causal"}, PLAIN, "causal"),
        ({"normalization": "softmax"}, PLAIN, "softmax"), ({}, PLAIN | {"O1": [[1]]}, "output projections"),
        ({}, PLAIN | {"E": [[1]]}, "an embedding"), ({}, PLAIN | {"U": [[1]]}, "an unembedding"),
    ],
)  # fmt: skip
def test_a_fiber_that_is_not_drawn_is_named(
    form: dict[str, Any], matrices: dict[str, Any], named: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "weights.json"
    said = {"normalization": "none", "mask": "none", "skip": False} | form
    file.write_text(json.dumps({"schema": "lightning-sym/weights/1", "form": said, "weights": matrices}))
    code, out, err = run(capsys, "figure", "fiber", str(file))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert named in err
