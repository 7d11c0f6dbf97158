"""Learning coefficients against volumes: how fast the weights with a small loss become few, by random walks.

    python benchmarks/singularities.py [--count 3000] [--seed 0] [--levels 40] [--only WORD]

For each of twenty networks the program's exact lambda and multiplicity m stand beside the slope of log volume by log
epsilon, which tends to lambda - (m - 1) / log(1 / epsilon). Volumes are found by splitting: walkers are kept below a
level of the loss that half of them are below, and walk. The loss is a mean over fixed random inputs, in floats, by a
forward pass of its own; nothing is shared with the program but the weights. It is an opinion, no proof: a slope tells
neighbouring values of lambda apart, and not m from m + 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from measuring import parser

from lightning_sym import SOFTMAX, NetworkForm, Weights, learning_coefficient

Floats = npt.NDArray[np.float64]
Loss = Callable[[Floats], Floats]

I2, E11, ZERO = [[1, 0], [0, 1]], [[1, 0], [0, 0]], [[0, 0], [0, 0]]
SOFT = NetworkForm(SOFTMAX)


class Case(NamedTuple):
    """A network at its weights, and how far walkers begin from them."""

    weights: Weights
    tokens: int
    radius: float


def _case(tokens: int, radius: float, form: NetworkForm | None = None, **matrices: Any) -> Case:
    named = {name.replace("_", "."): matrix for name, matrix in matrices.items()}
    return Case(Weights.of(named, form or NetworkForm()), tokens, radius)


CASES = {
    "layer, full ranks": _case(2, 0.15, Q1=I2, K1=[[1, 2], [0, 1]], V1=[[1, 2], [-1, 1]]),
    "layer, scores of rank one": _case(2, 0.15, Q1=E11, K1=E11, V1=[[1, 2], [0, 1]]),
    "layer, parallel, a = 1": _case(2, 0.15, Q1=[[1, 2]], K1=[[1, 0]], V1=[[1, 0], [2, 0]]),
    "layer, parallel, a = 2": _case(2, 0.15, Q1=[[1, 2], [0, 0]], K1=E11, V1=[[1, 0]]),
    "layer, parallel, rk K = 2": _case(2, 0.15, Q1=[[1, 2], [0, 0]], K1=[[1, 0], [3, 1]], V1=[[1, 0]]),
    "layer, values zero": _case(2, 0.1, Q1=[[1, 0]], K1=[[0, 1]], V1=ZERO),
    "layer, scores zero, rk K = 1": _case(2, 0.3, Q1=ZERO, K1=E11, V1=[[1, 2]]),
    "layer, all zero": _case(2, 1, Q1=ZERO, K1=ZERO, V1=[[0, 0]]),
    "layer, all zero, a = 1": _case(2, 1, Q1=[[0, 0]], K1=[[0, 0]], V1=ZERO),
    "layer, projected values": _case(2, 0.2, Q1=[[1, 0]], K1=[[1, 1]], V1=[[0, 1]], O1=[[1], [2]]),
    "one token, full ranks": _case(1, 0.15, Q1=I2, K1=[[1, 2], [0, 1]], V1=[[1, 2], [-1, 1]]),
    "one token, scores zero, a = 1": _case(1, 0.3, Q1=[[0, 0]], K1=[[0, 0]], V1=[[1, 2]]),
    "one token, scores skew, a = 2": _case(1, 0.3, Q1=ZERO, K1=ZERO, V1=[[1, 2]]),
    "one token, common factor": _case(1, 0.15, Q1=[[0, 1]], K1=[[1, 0]], V1=[[1, 0]]),
    "one token, square, a = 1": _case(1, 0.15, Q1=[[1, 0]], K1=[[1, 0]], V1=[[1, 0]]),
    "one token, square, a = 2": _case(1, 0.15, Q1=E11, K1=I2, V1=[[1, 0]]),
    "softmax, zero head": _case(
        3, 0.3, SOFT, Q1_1=[[1, 0.5]], K1_1=[[0.3, 1]], V1_1=[[1, 2]], O1_1=[[1], [-1]],
        Q1_2=[[-1, 1]], K1_2=[[1, 0.5]], V1_2=[[1, -0.5]], O1_2=[[0], [0]],
    ),
    "softmax, heads that attend alike": _case(
        3, 0.3, SOFT, Q1_1=[[1, 0.5]], K1_1=[[0.25, 1]], V1_1=[[1, 2]], O1_1=[[1], [-1]],
        Q1_2=[[1, 0.5]], K1_2=[[0.25, 1]], V1_2=[[1, -0.5]], O1_2=[[0.5], [1]],
    ),
    "softmax, embedding and unembedding": _case(
        2, 0.2, SOFT, E=[[1, 2]], Q1=[[1]], K1=[[0.5]], V1=[[1]], U=[[1], [-1]],
    ),
    "two softmax layers, first one zero": _case(
        2, 0.3, SOFT, Q1=[[1]], K1=[[1]], V1=[[0]], Q2=[[1]], K2=[[1]], V2=[[2]],
    ),
}  # fmt: skip


def loss_of(case: Case, generator: np.random.Generator) -> tuple[Loss, int]:
    """The mean squared difference to the function of the weights for a batch of changes, and the number of weights."""
    shape = case.weights.architecture(case.tokens)
    named, sizes = case.weights.named(), dict(shape.weight_shapes())
    true = {name: np.array(matrix, dtype=np.float64)[None] for name, matrix in named.items()}
    x = generator.normal(size=(6 + shape.parameter_count // case.tokens, shape.input_width, case.tokens))

    def outputs(weights: dict[str, Floats]) -> Floats:
        stream = x[None] if "E" not in weights else weights["E"][:, None] @ x
        for layer in range(1, shape.depth + 1):
            total = stream if shape.skip else 0.0
            for head in range(1, shape.heads + 1):
                name = shape.head_name(layer, head)
                query, key, value = (weights[letter + name][:, None] for letter in "QKV")
                scores = np.swapaxes(key @ stream, -1, -2) @ (query @ stream)
                if shape.normalization is not None:
                    scores = np.exp(scores - scores.max(axis=-2, keepdims=True))
                    scores = scores / scores.sum(axis=-2, keepdims=True)
                written = value @ (stream @ scores)
                total = total + (weights["O" + name][:, None] @ written if "O" + name in weights else written)
            stream = total
        return stream if "U" not in weights else weights["U"][:, None] @ stream

    target = outputs(true)

    def loss(changes: Floats) -> Floats:
        weights, start = dict[str, Floats](), 0
        for name, (rows, columns) in sizes.items():
            block = changes[:, start : start + rows * columns].reshape(-1, rows, columns)
            weights[name], start = true[name] + case.radius * block, start + rows * columns
        return np.mean((outputs(weights) - target) ** 2, axis=(1, 2, 3))

    return loss, shape.parameter_count


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
    """The slope over the last third of the levels, and the logarithm of the last one."""
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
    for name, case in CASES.items():
        if given.only not in name:
            continue
        found = learning_coefficient(case.weights, case.tokens)
        got, end = slope(case, given.count, given.levels, given.seed)
        known = f"{found.value}, {found.multiplicity}" if found.certified else f"{found.lower} to {found.upper}"
        expected = float(found.upper) - ((found.multiplicity or 1) - 1) / -end
        print(f"| {name} | {known} | {expected:.2f} | {got:.2f} | {end:.0f} |", flush=True)


if __name__ == "__main__":
    main()
