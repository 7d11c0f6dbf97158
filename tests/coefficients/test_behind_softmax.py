"""The divergence of softmax of the outputs: against its own values, and what is refused."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from command import run

from lightning_sym import SOFTMAX, BadInput, NetworkForm, Weights, learning_coefficient, save_weights

Floats = npt.NDArray[np.float64]
LAYER = {"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[1, 0], [2, 0], [1, 0]]}


def test_differences_of_outputs_are_another_network() -> None:
    """Values (1, 0), (2, 0), (1, 0) differ by multiples of one form; that these are parallel to the scores stays."""
    found, plain = learning_coefficient(Weights.of(LAYER), loss="kl"), learning_coefficient(Weights.of(LAYER))
    assert (plain.value, found.value) == (Fraction(15, 4), Fraction(11, 4))
    assert learning_coefficient(Weights.of(LAYER | {"V1": [[0, 0], [1, 0]]})).value == found.value
    equal = Weights.of(LAYER | {"V1": [[3, 1], [3, 1]]})
    assert learning_coefficient(equal, loss="kl").value == 1  # no difference is seen: values of one output, zero
    assert learning_coefficient(equal).value == 3


def kl_and_square(shift: Floats) -> tuple[float, float]:
    """Both losses of a layer near its weights, over fixed inputs: the divergence, and the square of differences."""
    own = [np.array(LAYER[name], dtype=float) for name in ("Q1", "K1", "V1")]
    sizes = np.cumsum([m.size for m in own])[:-1]
    other = [m + d.reshape(m.shape) for m, d in zip(own, np.split(shift, sizes), strict=True)]
    inputs = np.random.default_rng(0).uniform(-1, 1, size=(300, 2, 2))
    first, second = (
        np.einsum("od,ndt,net,ae,af,nf->no", v, inputs, inputs, k, q, inputs[:, :, 0]) for q, k, v in (own, other)
    )
    logs = [z - np.log(np.exp(z).sum(axis=1, keepdims=True)) for z in (first, second)]
    difference = (second - first)[:, :2] - (second - first)[:, 2:]
    return float((np.exp(logs[0]) * (logs[0] - logs[1])).sum(axis=1).mean()), float((difference**2).sum(axis=1).mean())


def test_the_divergence_is_as_large_as_the_square_of_differences() -> None:
    rng = np.random.default_rng(1)
    ratios = []
    for scale in (1e-1, 1e-2, 1e-3):
        pairs = (kl_and_square(scale * rng.normal(size=10) * 10.0 ** rng.uniform(-2, 0, size=10)) for _ in range(40))
        ratios += [divergence / square for divergence, square in pairs]
    assert max(ratios) < 30 * min(ratios)
    seen = kl_and_square(np.array([0, 0, 0, 0, *[0.1] * 6]))  # the same for all outputs
    assert abs(seen[0]) < 1e-12
    assert seen[1] < 1e-12


def test_skip_connections_and_unembedding() -> None:
    skip = Weights.of(LAYER | {"V1": [[1, 0], [2, 1]]}, NetworkForm(skip=True))
    plain = Weights.of(LAYER | {"V1": [[-1, -1]]})
    assert learning_coefficient(skip, loss="kl").value == learning_coefficient(plain).value
    ends = {"E": [[1, 2]], "Q1": [[1]], "K1": [[1]], "V1": [[1]], "U": [[1], [-1]]}
    form = NetworkForm(SOFTMAX)
    found = learning_coefficient(Weights.of(ends, form), loss="kl")
    assert found.value == learning_coefficient(Weights.of(ends | {"U": [[2]]}, form)).value
    assert found.about.startswith("of the Kullback-Leibler divergence of softmax of the outputs of ")


def test_what_is_not_known_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="two outputs or more, got 1"):
        learning_coefficient(Weights.of({"Q1": [[1]], "K1": [[1]], "V1": [[1]]}), loss="kl")
    two = {f"{letter}{i}": [[1, 0], [0, 1]] for letter in "QKV" for i in (1, 2)}
    with pytest.raises(BadInput, match="skip connections is known of one layer, or with unembedding"):
        learning_coefficient(Weights.of(two, NetworkForm(skip=True)), loss="kl")
    with pytest.raises(BadInput, match="the loss must be one of squared, kl, got 'hinge'"):
        learning_coefficient(Weights.of(LAYER), loss="hinge")
    with pytest.raises(BadInput, match="of polynomials the loss must be squared"):
        learning_coefficient("x*y", loss="kl")
    path = tmp_path / "w.json"
    save_weights(Weights.of(LAYER), path)
    code, out, _ = run(capsys, "coefficient", str(path), "--loss", "kl", "--json")
    assert (code, json.loads(out)["lambda"]) == (0, "11/4")
    code, _, err = run(capsys, "coefficient", str(path), str(path), "--steps", "2", "--loss", "kl")
    assert code == 2
    assert "--loss is of one FILE of weights" in err
