"""How results look: a line that can be typed, the text of the command, a formula that converts; and they travel."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import run
from example_results import GENERIC, HEADS, RANK_ONE, RESULTS, example
from grouped import grouped

import lightning_sym
from lightning_cli.writing.mathml import mathml
from lightning_sym import (
    SOFTMAX,
    Architecture,
    NetworkForm,
    Weights,
    canonical,
    certified_dimension,
    classify,
    fiber,
    load_jet,
    polynomial_map,
    recover_from_jet,
    singular_locus,
)
from lightning_sym.display import LONGEST_NUMBER, latex_matrix, latex_number, one_line, text_table
from lightning_sym.fibers.virtual_moves import MoveName
from lightning_sym.symmetries.moments import MatrixKind
from lightning_sym.varieties.coordinates import coordinate_system

ROOT = Path(__file__).parents[2]
LONG = 2100
"""Characters of the one line, for examples as small as these."""


def inside(value: Any) -> Iterator[Any]:
    """A result, and the results that it holds."""
    if dataclasses.is_dataclass(value) and type(value).__module__.startswith("lightning_sym"):
        yield value
        for field in dataclasses.fields(value):
            if field.repr:
                yield from inside(getattr(value, field.name))
    elif isinstance(value, tuple):
        if hasattr(value, "_fields") and type(value).__module__.startswith("lightning_sym"):
            yield value
        for part in value:
            yield from inside(part)


EVERY = {f"{name}, {type(v).__name__} {i}": v for name, r in RESULTS.items() for i, v in enumerate(inside(r))}
NO_FORMULA = {
    "Condition",
    "Theorem",
    "PrintedFormula",
    "LayerRanks",
    "Parameter",
    "Move",
    "Coordinate",
    "CoordinateSystem",
    "Term",
    "Entry",
    "JetLine",
    "Nodes",
    "CheckpointForm",
    "Head",
    "Circuit",
    "RankBounds",
    "Balls",
    "FoundSymmetry",
    "Residual",
    "ModelGroup",
    "SpecialWeights",
    "ModelCondition",
}
"""Numbers and words beside an answer, which its formula and its text say."""

SHOWN = {name: value for name, value in EVERY.items() if type(value).__name__ not in NO_FORMULA}
NAMES = {name: getattr(lightning_sym, name) for name in lightning_sym.__all__} | {"Fraction": Fraction}
FOUND = {type(value) for value in EVERY.values()} - set(NAMES.values())
NAMES |= {kind.__name__: kind for kind in FOUND} | {
    "inf": float("inf"),  # units that a zero row makes endless
    "MoveName": MoveName,
    "MatrixKind": MatrixKind,
    "coordinate_system": coordinate_system,
}


def result_of(name: str) -> str:
    """The result that a part of it belongs to."""
    return name.partition(",")[0]


def test_every_kind_of_result_is_here() -> None:
    public = {
        kind
        for kind in NAMES.values()
        if isinstance(kind, type) and (dataclasses.is_dataclass(kind) or hasattr(kind, "_fields"))
    }
    assert public <= {type(value) for value in EVERY.values()}


@grouped("name", EVERY, by=result_of)
def test_the_line_can_be_typed(name: str) -> None:
    line = repr(EVERY[name])
    assert "\n" not in line
    assert len(line) < LONG
    assert "array(" not in line
    assert "<" not in line
    assert "Fraction(1, 1)" not in line
    if not line.startswith("PolynomialMap"):  # of numbers: polynomials are text
        assert eval(line, dict(NAMES)) == EVERY[name]  # noqa: S307 - our own line


@grouped("name", SHOWN, by=result_of)
def test_the_formula_converts(name: str) -> None:
    latex = SHOWN[name]._repr_latex_()
    assert latex[0] == latex[-1] == "$"
    assert len(latex) < 5 * LONG
    assert mathml(latex.strip("$").removeprefix(r"\displaystyle")).startswith("<math")


@grouped("name", EVERY, by=result_of)
def test_results_travel(name: str) -> None:
    value = EVERY[name]
    for other in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value), copy.copy(value)):  # noqa: S301 - our own
        assert other == value
        assert (other != value) is False
        assert repr(other) == repr(value)
        assert str(other) == str(value)


def test_different_results_are_not_equal() -> None:
    values = list(RESULTS.values())
    for i, value in enumerate(values):
        assert [j for j, other in enumerate(values) if type(other) is type(value) and other == value] == [i]
        assert (value == "something else") is False


COMMANDS: dict[str, tuple[list[str], Any]] = {
    "dimension": (
        ["dimension", "--widths", "4,4,4", "--ranks", "2", "--tokens", "3"],
        certified_dimension(Architecture((4, 4, 4), (2, 2), 3), all_bounds=True),
    ),
    "dimension of softmax": (
        ["dimension", "--widths", "3,3", "--ranks", "1", "--tokens", "2", "--heads", "2", "--value-ranks", "1",
         "--skip", "--mask", "causal", "--normalization", "softmax"], certified_dimension(HEADS, all_bounds=True)),
    "same": (["same", "examples/generic.json", "examples/generic_rescaled.json"], RESULTS["same"]),
    "exchanged": (["same", "examples/rank_one.json", "examples/rank_one_swapped.json"], RESULTS["exchanged"]),
    "different": (["same", "examples/rank_one.json", "examples/two_layers.json"], RESULTS["different"]),
    "canonical": (["canonical", "examples/rank_one.json"], canonical(RANK_ONE)),
    "fiber": (["fiber", "examples/rank_one.json"], RESULTS["fiber"]),
    "fiber of two layers": (["fiber", "examples/two_layers.json"], fiber(example("two_layers"))),
    "fiber of heads": (["fiber", "examples/lightning_heads.json", "--tokens", "3"], RESULTS["lightning fiber"]),
    "fiber of softmax": (["fiber", "examples/generic.json", "--normalization", "softmax"],
                         fiber(GENERIC.with_form(NetworkForm(SOFTMAX)))),
    "classify": (["classify", "examples/singular.json"], RESULTS["singular"]),
    "coefficient": (["coefficient", "examples/generic.json"], RESULTS["coefficient"]),
    "critical": (["classify", "examples/two_layers.json"], classify(example("two_layers"))),
    "recover a jet": (["recover", "examples/jet.json"], recover_from_jet(load_jet(ROOT / "examples" / "jet.json"))),
    "phi": (["phi", "--widths", "2,1", "--ranks", "1", "--tokens", "2"], RESULTS["map"]),
    "phi of numbers": (["phi", "--weights", "examples/generic.json", "--tokens", "2"], RESULTS["map of numbers"]),
}  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_print_what_the_result_says(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("COLUMNS", raising=False)
    words, result = COMMANDS[name]
    _, out, err = run(capsys, *words)
    assert out == f"{result}\n"
    assert err == ""


@pytest.mark.parametrize("name", [name for name in COMMANDS if not name.startswith("phi")])
def test_a_terminal_shows_the_same_words(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    words, result = COMMANDS[name]
    _, out, _ = run(capsys, *words)
    assert out.split() == str(result).split()


def test_large_things_are_cut() -> None:
    many = Weights.random(Architecture((40,) * 30, (30,) * 29, 2))
    line, text = repr(many), str(many)
    assert len(line) < 30_000
    assert "[[" in line
    assert "..." in line
    assert max(map(len, text.splitlines())) <= 120
    assert len(text) < 60_000
    assert len(many._repr_latex_()) < 20_000
    assert r"\ldots" in many._repr_latex_()
    with pytest.raises(lightning_sym.BadInput):
        eval(repr(Weights.random(Architecture((20, 20), (20,), 2))), dict(NAMES))  # noqa: S307 - our own line


def test_long_numbers_are_cut() -> None:
    huge = Fraction(10**6000 + 1, 3)
    weights = Weights.of({"Q1": [[huge]], "K1": [[1]], "V1": [[1]]})
    for text in (repr(weights), weights._repr_latex_(), str(weights)):
        assert len(text) < 500
    assert latex_number(Fraction(10**LONGEST_NUMBER, 7)).startswith(r"\frac{100000000000 \ldots ")
    assert mathml(latex_number(huge)).startswith("<math")


def test_the_ends_of_a_matrix_are_shown() -> None:
    matrix = np.arange(120).reshape(10, 12)
    assert one_line(matrix).startswith("[[0, 1, 2, ..., 9, 10, 11], [12,")
    assert latex_matrix(matrix, most=3).endswith(r"108 & \cdots & 119\end{bmatrix}")
    assert latex_matrix(matrix).count("&") == 10 * 9


def test_text_is_wrapped_and_loses_nothing() -> None:
    words = [f"word{i}" for i in range(100)]
    for width in (10, 40, 120):
        text = text_table([("label", " ".join(words)), ("", "x" * 300)], width)
        assert [w for w in text.split() if w.startswith("word")] == words
        assert "".join(w for w in text.split() if set(w) == {"x"}) == "x" * 300
        assert max(map(len, text.splitlines())) <= max(width, 36)


def test_a_certified_rank_is_one_number_in_a_notebook() -> None:
    found = polynomial_map(Architecture((2, 1), (1,), 2)).generic_rank()
    assert found._repr_latex_() == r"$\displaystyle \operatorname{rk} J = 4$"
    assert dataclasses.replace(found, upper=5)._repr_latex_() == r"$\displaystyle 4 \le \operatorname{rk} J \le 5$"


def test_powers_are_written_alike_in_all_answers() -> None:
    text = str(singular_locus(Architecture((2, 1), (2,), 2)))
    assert "**" not in text
    assert "2*c_1*c_5*c_6 - 2*c_2*c_5^2" in text


def test_a_session_completes_public_names_only() -> None:
    assert {name for name in dir(lightning_sym) if not name.startswith("__")} == set(lightning_sym.__all__)
