"""`same`, `fiber`, `classify`, `phi`: the first line says which network; what is not decided is refused in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import run

from lightning_sym import SOFTMAX, NetworkForm, Weights, rescale, save_weights

PLAIN = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4], [5, 6]]})
DOUBLE = rescale(PLAIN, layer=1, by=2)  # Q doubled, V halved: the same function, but not with softmax
LINE = "lightning attention, one head, widths 2,2, ranks 1, tokens 2"
COMMANDS = {"same": ("one", "two"), "fiber": ("one",), "classify": ("one",)}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    made = {"one": PLAIN, "two": DOUBLE}
    made |= {f"soft {name}": w.with_form(NetworkForm(SOFTMAX)) for name, w in list(made.items())}
    for name, weights in made.items():
        save_weights(weights, tmp_path / f"{name}.json")
    return {name: str(tmp_path / f"{name}.json") for name in made}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_first_line_names_the_network(
    command: str, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = (command, *(files[name] for name in COMMANDS[command]))
    _, out, err = run(capsys, *words)
    assert out.splitlines()[0].split(maxsplit=1) == ["network", LINE]
    assert err == ""
    _, out, _ = run(capsys, *words, "--json")
    assert json.loads(out)["network"] == LINE
    assert json.loads(out)["schema"] == f"lightning-sym/{command}/1"


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--normalization", "softmax"), "softmax"),
        (("--mask", "causal"), "causal"),
        (("--skip",), "skip"),
        (("--normalization", "softmax", "--mask", "causal", "--skip"), "softmax, causal, skip"),
    ],
)
def test_options_name_the_network_and_it_is_refused(
    command: str, options: tuple[str, ...], word: str, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, command, *(files[name] for name in COMMANDS[command]), *options)
    if (command, word) == ("same", "softmax"):  # DOUBLE is another function there
        assert (code, err) == (1, "")
        assert "softmax attention" in out.splitlines()[0]
        assert "V~ differs" in out
        return
    if command == "fiber":
        assert (code, err) == (0, "")
        assert all(each in out.splitlines()[0] for each in word.split(", "))
        return
    if command == "same":
        softmax = word.startswith("softmax")  # Eq. 13 is for scores as they are
        assert (code, err) == ((1, "") if softmax else (0, ""))
        assert f"function    {'different' if softmax else 'same'}" in out
        return
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"is not yet decided for {word}, only for one-head lightning attention" in err


@pytest.mark.parametrize("command", COMMANDS)
def test_files_name_the_network_and_it_is_refused(
    command: str, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"soft {name}" for name in COMMANDS[command]]
    code, out, err = run(capsys, command, *(files[name] for name in names))
    if command == "same":
        assert (code, err) == (1, "")
        assert "V~ differs" in out
        return
    if command == "fiber":
        assert (code, err) == (0, "")
        assert "Theorem 1 of docs/softmax-fibers.md" in out
        return
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "is not yet decided for softmax" in err


@pytest.mark.parametrize("command", ["phi", *COMMANDS])
def test_options_that_contradict_a_file_are_refused(
    command: str, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    file = files["soft one"]
    words = ("--weights", file, "--tokens", "2") if command == "phi" else (file,) * len(COMMANDS[command])
    for option, message in (
        (
            ("--normalization", "none"),
            f"--normalization none must agree with {file}, whose form says normalization softmax",
        ),
        (("--mask", "causal"), f"--mask causal must agree with {file}, whose form says mask none"),
        (("--skip",), f"--skip must agree with {file}, whose form says skip false"),
    ):
        code, out, err = run(capsys, command, *words, *option)
        assert (code, out, err) == (2, "", f"error: {message}\n")


def test_the_same_weights_are_the_same_function_of_any_network(
    files: dict[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for words in ((files["soft one"],) * 2, (files["one"], files["one"], "--normalization", "softmax")):
        code, out, _ = run(capsys, "same", *words)
        assert code == 0
        assert out.splitlines()[0].split(maxsplit=1)[1] == "softmax attention, one head, widths 2,2, ranks 1, tokens 2"
        assert "all weights are equal" in out
    certificate = tmp_path / "c.json"
    code, out, err = run(capsys, "same", *(files["soft one"],) * 2, "--certificate", str(certificate))
    assert (code, err) == (0, f"certificate: {certificate}\n")
    assert run(capsys, "verify", str(certificate))[0] == 0


def test_phi_is_refused_for_normalized_networks(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    for words in (("--weights", files["soft one"]), ("--widths", "2,2", "--ranks", "1", "--normalization", "softmax")):
        code, out, err = run(capsys, "phi", *words, "--tokens", "2")
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "the polynomial map must be of a network without normalization" in err


def test_phi_says_which_degrees_there_are(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    for words, degrees, ambient in (
        (("--weights", files["one"], "--mask", "causal"), "homogeneous of degree 3", 80),
        (("--weights", files["one"], "--skip"), "not homogeneous, of odd degrees from 1 to 3", 96),
        (("--widths", "1,1,1", "--ranks", "1", "--skip", "--heads", "2"), "not homogeneous, of odd degrees", 60),
        (("--widths", "1,1", "--ranks", "1", "--embed", "2", "--unembed", "3"), "homogeneous of degree 3", 120),
    ):
        code, out, _ = run(capsys, "phi", *words, "--tokens", "2")
        assert code == 0
        assert degrees in out.splitlines()[0]
        assert out.splitlines()[0].endswith(f"ambient dimension {ambient}")


@pytest.mark.parametrize("command", COMMANDS)
def test_work_is_refused_and_lifted_by_the_option_that_is_named(
    command: str, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = (command, *(files[name] for name in COMMANDS[command]), "--work")
    code, out, err = run(capsys, *words, "1e-9")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "a larger work (--work) lifts this" in err
    assert run(capsys, *words, "10")[0] in (0, 3)
    assert run(capsys, *words, "0")[0] == 2


@pytest.mark.parametrize("command", COMMANDS)
def test_weights_are_no_option_where_they_are_an_argument(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, error = run(capsys, command, "--weights", "one.json")
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert error.endswith("FILE is given by itself.\n")


@pytest.mark.parametrize("command", ["phi", "conserved"])
def test_weights_are_no_argument_where_they_are_an_option(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, error = run(capsys, command, "one.json", "--tokens", "2")
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert error.endswith("--weights FILE\n")


def test_other_commands_say_nothing_of_weights(capsys: pytest.CaptureFixture[str]) -> None:
    assert "FILE" not in run(capsys, "dimension", "one.json")[2] + run(capsys, "dimension", "--weights", "one.json")[2]
