"""`lightning-sym equations` as it is used."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import run

from lightning_sym import Architecture, equations
from lightning_sym.varieties import equations as module

FIGURE_1 = ("equations", "--widths", "2,1", "--ranks", "2", "--tokens", "2")


def test_figure_1(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, *FIGURE_1)
    assert code == 0
    assert out == str(equations(Architecture((2, 1), (2,), 2))) + "\n"
    assert "c_1^2*c_6^2" in out


def test_json_has_the_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        capsys, "equations", "--widths", "3,1", "--ranks", "2", "--tokens", "2", "--degree", "3", "--json"
    )
    found = json.loads(out)
    assert code == 0
    assert found["linear_span"] == 18
    assert found["hilbert_function"] == [1, 18, 171, 1110]
    assert found["generators"] == {"3": 30}
    assert (found["complete_to_degree"], found["dimension"], found["degree"]) == (3, 10, 108)
    assert len(found["equations"]["3"]) == 30


@pytest.mark.parametrize("form", ["sympy", "latex", "macaulay2", "singular", "oscar", "sage", "json"])
def test_formats_into_files(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "ideal"
    words = ("equations", "--widths", "2,1", "--ranks", "1", "--tokens", "2", "--format", form)
    assert run(capsys, *words, "--output", str(file))[:2] == (0, "")
    assert file.read_text(encoding="utf-8") == run(capsys, *words)[1]
    assert "c_" in file.read_text(encoding="utf-8")


def test_sympy_reads_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    import sympy

    _, out, _ = run(capsys, *FIGURE_1, "--format", "sympy")
    names: dict[str, Any] = {}
    exec(out, names)  # noqa: S102 - our own
    (quartic,) = equations(Architecture((2, 1), (2,), 2)).generators[4]
    assert sympy.expand(names["I"][0] - quartic.as_expr()) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--normalization", "softmax"), "normalization"),
        (("--degree", "0"), "--degree"),
        (("--output", "/nowhere/at/all"), "output"),
        (("--output", "."), "output"),
        (("--json", "--format", "sage"), "--json"),
        (("--memory", "0.0000001"), "must fit into 107 bytes"),
        (("--work", "nan"), "work"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_bad_input_is_one_line(words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, *FIGURE_1, *words)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_a_degree_that_does_not_fit_is_undecided(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("equations", "--widths", "3,3", "--ranks", "3", "--tokens", "2", "--degree", "6", "--memory", "0.2")
    code, out, _ = run(capsys, *words)
    assert code == 3
    assert "stopped" in out
    assert "GiB" in out


def test_ctrl_c_keeps_what_is_finished(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = module.successive_equations

    def broken_off(*arguments: Any, **named: Any) -> Iterator[Any]:
        for found in whole(*arguments, **named):
            yield found
            if found.complete_to_degree == 3:
                raise KeyboardInterrupt

    monkeypatch.setattr(module, "successive_equations", broken_off)
    code, out, err = run(capsys, "equations", "--widths", "3,1", "--ranks", "2", "--tokens", "2", "--json")
    assert code == 130
    assert json.loads(out)["generators"] == {"3": 30}
    assert "degree 3" in err


def test_a_degree_that_takes_too_long_is_undecided(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("equations", "--widths", "3,1", "--ranks", "2", "--tokens", "2", "--degree", "9", "--work", "0.5")
    code, out, _ = run(capsys, *words)
    assert code == 3
    assert "exact work must take at most 0.5 s in all" in out
    code, out, _ = run(capsys, *words[:-4], *words[-2:])
    assert code == 0
    assert "complete" in out


@pytest.mark.parametrize("degree", [(), ("--degree", "2")], ids=["any degree", "degree 2"])
def test_coordinates_that_take_too_long_are_one_line(
    degree: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--widths", "2,2,1", "--ranks", "2,1", "--tokens", "3", "--heads", "2", "--unembed", "2")
    code, out, err = run(capsys, "equations", *words, "--value-ranks", "2,1", "--work", "0.3", *degree)
    assert (code, out) == (2, "")
    assert "exact work must take at most 0.3 s in all, estimated 0.3" in err
    assert err.count("\n") == 1
