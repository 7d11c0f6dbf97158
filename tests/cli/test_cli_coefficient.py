"""`lightning-sym coefficient`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import run

from lightning_sym import Weights, save_weights

ROOT = Path(__file__).parents[2]
RANK_ONE, GENERIC = (str(ROOT / "examples" / f"{name}.json") for name in ("rank_one", "generic"))


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "coefficient", RANK_ONE, "--json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert list(found)[1:] == [
        "lambda",
        "multiplicity",
        "lower",
        "upper",
        "certified",
        "proof",
        "about",
        "ranks",
        "tried",
    ]
    assert (found["lambda"], found["multiplicity"], found["certified"]) == ("2", 1, True)
    assert found["lower"] == found["upper"] == found["lambda"]
    assert found["proof"] == "docs/learning-coefficients.md, Theorem 6, case 1"
    assert found["about"].startswith("of the mean squared error")
    assert "inputs with a density" in found["about"]
    assert found["ranks"]["rk K^T Q"] == 1


def test_only_bounds_are_an_exit_code(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    square = {"Q1": [[1, 0, 0], [0, 1, 0]], "K1": [[1, 0, 0], [0, 0, 0]], "V1": [[1, 0, 0]]}
    save_weights(Weights.of(square), tmp_path / "square.json")
    code, out, _ = run(capsys, "coefficient", str(tmp_path / "square.json"), "--tokens", "1", "--json")
    found = json.loads(out)
    assert (code, found["lambda"], found["multiplicity"], found["certified"]) == (3, None, None, False)
    assert found["lower"] != found["upper"]
    assert any("a < d and rk (Q; K) > 1" in why for why in found["tried"])
    code, out, _ = run(capsys, "coefficient", str(tmp_path / "square.json"), "--tokens", "1")
    assert code == 3
    assert out.startswith("coefficient  lambda undecided, between 19/6 and 4")


def test_a_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    other = Weights.of({"Q1": [[-1, -2]], "K1": [[1, 0]], "V1": [[3, 4]]})
    save_weights(Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]}), tmp_path / "a.json")
    save_weights(other, tmp_path / "b.json")
    ends = (str(tmp_path / "a.json"), str(tmp_path / "b.json"))
    code, out, _ = run(capsys, "coefficient", *ends, "--steps", "4", "--json")
    found = json.loads(out)
    assert (code, found["generic"]["lambda"]) == (0, "2")
    assert [(point["place"], point["coefficient"]["lambda"]) for point in found["drops"]] == [("s = 1/2", "1")]
    assert [point["coefficient"]["lambda"] for point in found["points"]] == ["2", "2", "1", "2", "2"]
    code, out, _ = run(capsys, "coefficient", *ends, "--steps", "4")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "at s = 1/2 lambda = 1, multiplicity 1 certified" in lines
    assert "s = 0 to s = 1/4 lambda = 2, multiplicity 1 certified" in lines


def test_a_folder_in_the_order_of_its_numbers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for step in (10, 9, 0):
        save_weights(Weights.of({"Q1": [[step]], "K1": [[1]], "V1": [[1]]}), tmp_path / f"step_{step}.json")
    (tmp_path / "notes.txt").write_text("none")
    code, out, _ = run(capsys, "coefficient", str(tmp_path), "--json")
    found = json.loads(out)
    assert (code, found["generic"], found["drops"]) == (0, None, [])
    assert [point["place"] for point in found["points"]] == ["step_0.json", "step_9.json", "step_10.json"]


def test_a_folder_says_which_network_each_answer_is_about(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for number, value in enumerate(([[1]], [[1]], [[1], [0]])):
        save_weights(Weights.of({"Q1": [[1]], "K1": [[1]], "V1": value}), tmp_path / f"{number}.json")
    code, out, _ = run(capsys, "coefficient", str(tmp_path))
    labels = [line.split()[0] for line in out.splitlines() if not line.startswith(" ")]
    assert (code, labels) == (0, ["about", "0.json", "about", "2.json"])
    assert "widths 1,1," in out
    assert "widths 1,2," in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "give FILES of weights"),
        ((RANK_ONE, GENERIC), "two files with --steps"),
        ((RANK_ONE, "--steps", "3"), "two files with --steps"),
        ((RANK_ONE, GENERIC, "--steps", "3"), "both ends of a line must be weights of one network"),
        ((RANK_ONE, RANK_ONE, "--steps", "20000"), "the number of steps must be an integer of at least 1"),
        (("nowhere.json",), "nowhere.json"),
        ((RANK_ONE, "--tokens", "0"), "'0'"),
        ((RANK_ONE, "--work", "1e-9"), "exact ranks of the weights"),
        ((str(ROOT / "tests"),), "a folder must hold from 1 to 10,000 files"),
    ],
)
def test_bad_input_is_one_line(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str) -> None:
    code, out, err = run(capsys, "coefficient", *words)
    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err
