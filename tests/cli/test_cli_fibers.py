"""The commands `same` and `fiber`: answers, exit codes and documents."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from virtual_networks import SUM, E, F, network

from lightning_cli.commands import fiber as fiber_command
from lightning_cli.commands import same as same_command
from lightning_sym import Architecture, Weights, save_weights
from lightning_sym.errors import BadInput
from lightning_sym.fibers.same_function import Comparison, same_function
from lightning_sym.fibers.transform import rescale, swap


@pytest.fixture
def files(tmp_path: Path) -> Callable[[str], str]:
    weights = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 6]]})
    deep = network(E, F, value=SUM)
    named = {
        "one": weights,
        "swapped": swap(weights),
        "doubled": rescale(weights, layer=1, by=2),
        "other": Weights.of({"Q1": [[1, 2]], "K1": [[1, 1]], "V1": [[3, 6]]}),
        "narrow": Weights.of({"Q1": [[1]], "K1": [[1]], "V1": [[3]]}),
        "deep": deep,
        "partner": network(F, E, value=SUM),
    }
    for name, matrices in named.items():
        save_weights(matrices, tmp_path / f"{name}.json")
    return lambda name: str(tmp_path / f"{name}.json")


def invoke(command: click.Command, *arguments: object) -> tuple[Result, Any]:
    """The command's own exit code is what it returns outside of click's standalone mode."""
    result = CliRunner().invoke(command, [str(a) for a in arguments], standalone_mode=False)
    return result, result.return_value


@pytest.mark.parametrize(("second", "code"), [("swapped", 0), ("doubled", 0), ("one", 0), ("other", 1)])
def test_same_command(files: Callable[[str], str], second: str, code: int) -> None:
    result, returned = invoke(same_command.command, files("one"), files(second))
    assert result.exception is None
    assert returned == code
    assert ("same", "different")[code] in result.output
    result, returned = invoke(same_command.command, files("one"), files(second), "--json", "--tokens", 3)
    document = json.loads(result.output)
    assert returned == code
    assert document["schema"] == "lightning-sym/same/1"
    assert document["answer"] == ("same", "different")[code]
    assert (document["input"] is None) == (code == 0)


def test_launcher(files: Callable[[str], str], tmp_path: Path) -> None:
    """Exit codes as a shell sees them."""
    launcher = Path(__file__).parents[2] / "cli.py"
    for second, code in (("swapped", 0), ("other", 1), ("narrow", 2)):
        words = [sys.executable, str(launcher), "same", files("one"), files(second)]
        done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=False)
        assert done.returncode == code
        assert done.stderr.count("\n") == (code == 2)


def test_same_command_undecided_and_bad_input(files: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["lightning_sym.fibers.same_function"]  # the package has a function of that name

    result, _ = invoke(same_command.command, files("one"), files("narrow"))
    assert isinstance(result.exception, BadInput)

    def small(first: Weights, second: Weights, tokens: int, *, seed: int, **options: Any) -> Comparison:
        return same_function(first, second, tokens, seed=seed, memory=0, **options)

    monkeypatch.setattr(module, "same_function", small)
    result, returned = invoke(same_command.command, files("deep"), files("partner"))
    assert returned == 3
    assert "10^-69" in result.output
    result, returned = invoke(same_command.command, files("deep"), files("partner"), "--json")
    assert (returned, json.loads(result.output)["evaluations"]) == (3, 8)


@pytest.mark.parametrize(("name", "tokens"), list(product(["one", "deep", "narrow"], [1, 2])))
def test_fiber_command(files: Callable[[str], str], name: str, tokens: int) -> None:
    result, returned = invoke(fiber_command.command, files(name), "--tokens", tokens)
    code = 0  # each has its dimension
    assert (result.exception, returned) == (None, code)
    assert "component 1" in result.output
    result, returned = invoke(fiber_command.command, files(name), "--tokens", tokens, "--json")
    document = json.loads(result.output)
    assert (returned, document["schema"]) == (code, "lightning-sym/fiber/1")
    over = {("deep", 1): "R", ("deep", 2): "Q"}.get((name, tokens), "R")
    assert (document["complete"], document["complete_over"]) == (over == "R", over)


def test_fiber_command_without_a_dimension_is_undecided(tmp_path: Path) -> None:
    """Whether it is bounded or was not computed at all, and however much else is known."""
    shapes = [Architecture((30, 30, 30), (30, 30), 1), Architecture((3, 3, 2), (3, 3), 1)]
    for shape, said in zip(shapes, ("not computed", "at least"), strict=True):
        save_weights(Weights.random(shape, seed=0, attention_matrix_ranks=[1, 2]), tmp_path / "weights.json")
        result, returned = invoke(fiber_command.command, tmp_path / "weights.json", "--tokens", 1)
        assert (result.exception, returned) == (None, 3)
        assert said in result.output
    open_case = Weights.random(Architecture((6, 6, 6), (6, 6), 2), seed=1).named()
    save_weights(Weights.of(open_case | {"V1": 0 * open_case["V1"]}), tmp_path / "weights.json")
    result, returned = invoke(fiber_command.command, tmp_path / "weights.json", "--json")
    document = json.loads(result.output)
    assert (returned, document["complete"], document["dimension"]) == (3, True, None)
    assert document["bounds"][0] < document["bounds"][1]


def test_large_and_zero_matrices_are_short_in_the_text_and_whole_in_json(tmp_path: Path) -> None:
    named = Weights.random(Architecture((32, 32), (32,), 2), seed=0).named()
    save_weights(Weights.of(named | {"Q1": 0 * named["Q1"]}), tmp_path / "weights.json")
    result, returned = invoke(fiber_command.command, tmp_path / "weights.json")
    assert returned == 0
    assert "A~1 = 0 (32 x 32)" in result.output
    assert len(result.output) < 2000
    result, _ = invoke(fiber_command.command, tmp_path / "weights.json", "--json")
    value = json.loads(result.output)["components"][1]["point"]["value"]
    assert [[int(x) for x in row] for row in value] == named["V1"].tolist()


def test_same_command_says_how_to_get_there(files: Callable[[str], str]) -> None:
    result, _ = invoke(same_command.command, files("one"), files("swapped"), "--json")
    symmetry = json.loads(result.output)["symmetry"]
    assert [(move["name"], move["layer"]) for move in symmetry["moves"]] == [("exchange", 1)]
    assert symmetry["exchanged"]
    assert symmetry["moved"]["V1"] == [["3", "0"]]
    assert symmetry["group_element"] == {"query_key": {"1": [["1"]]}, "between": {}, "scales": {"1": "1"}}
    result, _ = invoke(same_command.command, files("one"), files("swapped"))
    assert "moved V1" in result.output
