"""Learning coefficients against volumes: how fast the weights with a small loss become few, by random walks.

    python benchmarks/singularities.py [--count 3000] [--seed 0] [--levels 40] [--only WORD]

For each model of examples/calibration/cases.json its exact lambda and multiplicity m stand beside the slope of log
volume by log epsilon, which tends to lambda - (m - 1) / log(1 / epsilon). Volumes are found by splitting: walkers are
kept below a level of the loss that half of them are below, and walk. The loss is a mean over fixed random inputs, or
over all strings, in floats, by a forward pass of its own; nothing is shared with the program but the weights. It is an
opinion, no proof: a slope tells neighbouring values of lambda apart, and not m from m + 1.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from measuring import HERE, parser

Floats = npt.NDArray[np.float64]
Loss = Callable[[Floats], Floats]
Case = dict[str, Any]
"""A model at its weights, as the file has it."""

CASES: list[Case] = json.loads((HERE / "examples" / "calibration" / "cases.json").read_text(encoding="utf-8"))["cases"]


def _softmax(scores: Floats, axis: int) -> Floats:
    powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return np.asarray(powers / powers.sum(axis=axis, keepdims=True))


def _attention(weights: dict[str, Floats], x: Floats, case: Case) -> Floats:
    """Return outputs of a network for each of many weights."""
    stream = x[None] if "E" not in weights else weights["E"][:, None] @ x
    depth = max(int(name[1:].split(".")[0]) for name in weights if name[0] == "Q")
    for layer in range(1, depth + 1):
        total: Floats | float = stream if case["form"].get("skip") else 0.0
        for name in (name[1:] for name in weights if name[0] == "Q" and int(name[1:].split(".")[0]) == layer):
            query, key, value = (weights[letter + name][:, None] for letter in "QKV")
            scores = np.swapaxes(key @ stream, -1, -2) @ (query @ stream)
            written = value @ (stream @ (_softmax(scores, -2) if _is_softmax(case) else scores))
            total = total + (weights["O" + name][:, None] @ written if "O" + name in weights else written)
        stream = np.asarray(total)
    return stream if "U" not in weights else weights["U"][:, None] @ stream


def _is_softmax(case: Case) -> bool:
    return bool(case["model"] == "one head" or case.get("form", {}).get("normalization") == "softmax")


def _over_strings(weights: dict[str, Floats], x: npt.NDArray[Any], case: Case) -> Floats:
    """Return outputs at the last words of strings for each of many weights."""
    words = weights["E"][:, x]
    scores = np.einsum("nsi,nij,nstj->nst", words[:, :, -1], weights["Q"], words)
    pattern = _softmax(scores, -1) if _is_softmax(case) else scores / x.shape[1]
    return np.asarray(np.einsum("nst,nsti,niv->nsv", pattern, words, weights["U"]))


def _product(weights: dict[str, Floats], x: Floats, case: Case) -> Floats:
    return weights["B"][:, None] @ (weights["A"][:, None] @ x)


OUTPUTS: dict[str, Callable[..., Floats]] = {
    "attention": _attention, "linear attention": _over_strings, "one head": _over_strings, "product": _product,
}  # fmt: skip


def _inputs(case: Case, size: int, generator: np.random.Generator) -> npt.NDArray[Any]:
    """Return all strings, or as many random inputs as there are weights and some more."""
    law = case["inputs"]
    if law["law"] == "all strings":
        return np.array(list(product(range(law["words"]), repeat=law["length"])))
    shape = (6 + size // law["shape"][1], *law["shape"])
    return generator.normal(size=shape) if law["law"] == "normal" else generator.uniform(law["from"], law["to"], shape)


def loss_of(case: Case, generator: np.random.Generator) -> tuple[Loss, int]:
    """Return the loss against the model at its own weights for a batch of changes, and the number of weights."""
    true = {
        name: np.array([[float(Fraction(entry)) for entry in row] for row in rows])[None]
        for name, rows in case["weights"].items()
    }
    count = sum(matrix.size for matrix in true.values())
    x = _inputs(case, count, generator)
    target = OUTPUTS[case["model"]](true, x, case)

    def loss(changes: Floats) -> Floats:
        weights, start = dict[str, Floats](), 0
        for name, matrix in true.items():
            block = changes[:, start : start + matrix.size].reshape(-1, *matrix.shape[1:])
            weights[name], start = matrix + case["radius"] * block, start + matrix.size
        found = OUTPUTS[case["model"]](weights, x, case)
        if case["loss"] == "Kullback-Leibler divergence":
            found, own = found - _log_sum(found), target - _log_sum(target)
            return np.asarray((np.exp(own) * (own - found)).sum(axis=-1).mean(axis=1))
        return np.asarray(((found - target) ** 2).mean(axis=tuple(range(1, found.ndim))))

    return loss, count


def _log_sum(logits: Floats) -> Floats:
    most = logits.max(axis=-1, keepdims=True)
    return np.asarray(most + np.log(np.exp(logits - most).sum(axis=-1, keepdims=True)))


def walk(loss: Loss, places: Floats, values: Floats, level: float, generator: np.random.Generator) -> None:
    """Move walkers below a level, in place; the normal distribution around 0 stays what it is, cut off at the level."""
    count, size = places.shape
    for step in range(30):
        logs = np.zeros(count)
        some = generator.random(places.shape) < generator.choice([1.0, 0.4, 1 / size], size=(count, 1))
        if step % 3 == 0:  # a little of a new place, more or less
            part = 10 ** (-4 * generator.random((count, 1)))
            moved = np.sqrt(1 - part**2) * places + part * generator.normal(size=places.shape)
        elif step % 3 == 1:  # along the difference of two others
            one, other = generator.integers(count, size=(2, count))
            moved = places + some * generator.random((count, 1)) * (places[one] - places[other])
            logs = ((places**2).sum(axis=1) - (moved**2).sum(axis=1)) / 2
        else:  # some coordinates times a number
            power = generator.normal(size=(count, 1)) * generator.choice([0.1, 1.0], size=(count, 1))
            moved = np.where(some, places * np.exp(power), places)
            logs = ((places**2).sum(axis=1) - (moved**2).sum(axis=1)) / 2 + power[:, 0] * some.sum(axis=1)
        found = loss(moved)
        goes = (found < level) & (np.log(generator.random(count)) < logs)
        places[goes], values[goes] = moved[goes], found[goes]


def slope(case: Case, count: int, levels: int, seed: int) -> tuple[float, float]:
    """Return the slope over the last third of the levels, and the logarithm of the last one."""
    generator = np.random.default_rng(seed)
    loss, size = loss_of(case, generator)
    places = generator.normal(size=(count, size))
    values, seen = loss(places), []
    for number in range(1, levels + 1):
        level = float(np.median(values))
        seen.append((np.log(level), -number * np.log(2)))
        chosen = generator.choice(np.flatnonzero(values < level), size=count)
        places, values = places[chosen].copy(), values[chosen].copy()
        walk(loss, places, values, level, generator)
    last = np.array(seen[-(levels // 3) :])
    return float(np.polyfit(last[:, 0], last[:, 1], 1)[0]), float(last[-1, 0])


def main() -> None:
    """Print a line for each case."""
    asked = parser(__doc__)
    asked.add_argument("--count", type=int, default=3000)
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--levels", type=int, default=40)
    asked.add_argument("--only", default="")
    given = asked.parse_args()
    print("| network | lambda, m | slope expected | slope | log epsilon |\n|---|---|---|---|---|")
    for case in CASES:
        if given.only not in case["name"]:
            continue
        got, end = slope(case, given.count, given.levels, given.seed)
        expected = float(Fraction(case["lambda"])) - (case["m"] - 1) / -end
        pair = f"{case['lambda']}, {case['m']}"
        print(f"| {case['name']} | {pair} | {expected:.2f} | {got:.2f} | {end:.0f} |", flush=True)


if __name__ == "__main__":
    main()
