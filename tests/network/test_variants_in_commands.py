"""No command answers for weights of a variant of attention: one line that names the option, and exit code 2."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click
import pytest
from command import run
from variants import ONE_BY_ONE, QUARTER

from lightning_cli.main import COMMANDS, module_of
from lightning_cli.output_file import OutputFile
from lightning_sym import SOFTMAX, Architecture, NetworkForm, Weights, load_weights, save_weights
from proofs_check.registry import all_claims

NOT_OF_WEIGHTS = {
    "align": "reads checkpoints",
    "apply": "reads symmetries and checkpoints",
    "atlas": "reads an atlas",
    "check": "its paths are reports and baselines",
    "circuits": "reads checkpoints, whose tables have their own pieces",
    "convert": "reads checkpoints",
    "explain-rewriting": "reads checkpoints",
    "page": "--weights is a checkpoint",
    "dimension": "--config is a configuration of a checkpoint",
    "exercise": "reads the answers of a class, and refuses weights by what an exercise asks",
    "recover": "reads polynomial maps, whose file has no variants, and jets, of which a test beside this one is",
    "symmetries": "reads checkpoints",
    "sweep": "reads a family, which cannot say a variant",
    "verify": "reads certificates; none is written of a variant",
}
"""Commands that read files, and none of weights."""

NO_WEIGHTS = ("must be given no file", "--weights must be given with one of")
"""What is said of a figure, or a claim, that is about no weights."""

ALLOWED = {"phi": "prints what the forward pass gives over polynomials"}

OTHER_WORDS = {"phi": "--json"}
"""With which an allowed command refuses: JSON answers have no field for a variant."""


def calls(name: str, file: str) -> Iterator[list[str]]:
    """Every way to give the command a file of weights, with each choice of its other arguments."""
    command = module_of(name).command
    words: list[list[str]] = [[name]]
    tokens = any(option.name == "tokens" and isinstance(option, click.Option) for option in command.params)
    optional = []
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            choices = parameter.type.choices if isinstance(parameter.type, click.Choice) else [file]
            if name == "explain":
                choices = [claim.id for claim in all_claims()]
            words = [[*known, choice] for known in words for choice in choices]
        elif isinstance(parameter.type, click.Path) and parameter.name in ("weight_file", "weights"):
            optional.append([parameter.opts[0], file])
    for known in words:
        for more in optional or [[]]:
            yield [*known, *more, *(["--tokens", "2"] if tokens else [])]


def is_read(parameter: click.Parameter) -> bool:
    """Whether it is the path of a file that is read."""
    return isinstance(parameter.type, click.Path) and not isinstance(parameter.type, OutputFile)


ASKED = [
    name for name in COMMANDS
    if name not in NOT_OF_WEIGHTS and any(map(is_read, module_of(name).command.params))
]  # fmt: skip


def test_the_commands_are_those_that_read_weights() -> None:
    assert {"same", "fiber", "canonical", "classify", "conserved", "phi", "explain", "figure"} <= {*ASKED}
    assert NOT_OF_WEIGHTS.keys() | ALLOWED.keys() <= COMMANDS.keys()


@pytest.mark.parametrize("option", ONE_BY_ONE)
@pytest.mark.parametrize("name", ASKED)
def test_every_command_refuses_by_name(
    name: str, option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, network in enumerate((ONE_BY_ONE[option], replace(ONE_BY_ONE[option], normalization=SOFTMAX))):
        file = str(tmp_path / f"{number}.json")
        save_weights(Weights.random(network, seed=1, bound=2), file)
        for words in calls(name, file):
            if name in ALLOWED:
                words = [*words, OTHER_WORDS[name]]
            code, out, err = run(capsys, *words)
            assert (code, out) == (2, ""), words
            assert err.count("\n") == 1, words
            takes_none = any(said in err for said in NO_WEIGHTS)
            assert option in err.replace(" ", "_") or takes_none, (words, err)


def test_phi_prints_the_map(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "w.json"
    turned = Architecture((1, 1), (2,), 2, rotary=QUARTER, biases="V")
    save_weights(Weights.of({
        "Q1": [[1], [2]], "K1": [[1], [0]], "V1": [[1]], "bV1": [[0.5]],
    }, NetworkForm.of(turned)), file)  # fmt: skip
    code, out, _ = run(capsys, "phi", "--weights", str(file), "--tokens", "2")
    assert code == 0
    # the second token at the first: (x_1 + 1/2) x_1 (1, 0) R (1, 2) x_2, and R (1, 2) = (-2, 1)
    assert "phi_1_2 = -2*x_1_1^2*x_1_2" in out
    assert load_weights(file).architecture(2) == turned
