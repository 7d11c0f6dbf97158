"""Small softmax networks: drawn, moved inside their fiber, changed, and compared by balls."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
from ball_rank import ball_jacobian
from minors_of_balls import nonzero_minor

from lightning_sym import SOFTMAX, Architecture, Weights, network_output
from lightning_sym.exact.rational import unique_solution
from lightning_sym.rings.balls import precision
from lightning_sym.rings.dual_balls import DualBalls


def shape(
    tokens: int = 3,
    *,
    widths: tuple[int, ...] = (2, 2, 2),
    heads: int = 2,
    a: int = 1,
    b: int | None = None,
    skip: bool = True,
    causal: bool = False,
    embed: int | None = None,
    unembed: int | None = None,
) -> Architecture:
    depth = len(widths) - 1
    return Architecture(
        widths, (a,) * depth, tokens, SOFTMAX, heads=heads, value_ranks=None if b is None else (b,) * depth,
        skip=skip, causal=causal, embed=embed, unembed=unembed,
    )  # fmt: skip


def drawn(architecture: Architecture, seed: int, bound: int = 2) -> Weights:
    """Integers up to `bound`."""
    return Weights.random(architecture, seed=seed, bound=bound)


def changed(weights: Weights, **matrices: Any) -> Weights:
    """Some matrices replaced; `Q1_2` stands for `Q1.2`."""
    named = {name.replace("_", "."): matrix for name, matrix in matrices.items()}
    return Weights.of({**weights.matrices, **named}, weights.form)


def outputs(weights: Weights, x: Any, tokens: int, bits: int = 200) -> Any:
    with precision(bits):
        matrices = [DualBalls.of(matrix) for matrix in weights.named().values()]
        return network_output(DualBalls.of(x), weights.architecture(tokens), matrices).values()


def apart(first: Weights, second: Weights, tokens: int, tries: int = 3, seed: int = 0) -> bool:
    """Whether balls prove the outputs apart at one of some random inputs."""
    source = random.Random(seed)
    rows = first.architecture(tokens).input_width
    for _ in range(tries):
        entries = [[Fraction(source.randint(-6, 6), 5) for _ in range(tokens)] for _ in range(rows)]
        x = np.array(entries, dtype=object)
        pairs = zip(outputs(first, x, tokens).ravel(), outputs(second, x, tokens).ravel(), strict=True)
        if any(not one.overlaps(other) for one, other in pairs):
            return True
    return False


def has_rank(weights: Weights, tokens: int, rank: int, inputs: int, seed: int = 0) -> bool:
    """Whether balls prove that the differential of the function at these weights has at least this rank."""
    source, architecture = random.Random(seed), weights.architecture(tokens)
    rows = architecture.input_width
    points = [[[Fraction(source.randint(-8, 8), 7) for _ in range(tokens)] for _ in range(rows)] for _ in range(inputs)]
    with precision(200):
        return nonzero_minor(ball_jacobian(architecture, list(weights.named().values()), points), rank) is not None


def invertible(size: int, source: random.Random) -> tuple[Any, Any]:
    """A rational matrix and its inverse."""
    while True:
        matrix = np.array([[Fraction(source.randint(-2, 2)) for _ in range(size)] for _ in range(size)], dtype=object)
        inverse = unique_solution(matrix, np.array([[Fraction(i == j) for j in range(size)] for i in range(size)]))
        if inverse is not None:
            return matrix, inverse


def moved(weights: Weights, seed: int) -> Weights:
    """The image under a random element of the group of Corollary 5: heads, `GL(a)`, `GL(b)`, bases of the streams."""
    source, architecture = random.Random(seed), weights.architecture(1)
    widths, heads, old = architecture.widths, architecture.heads, weights.matrices
    named: dict[str, Any] = {}
    one = [np.array([[Fraction(i == j) for j in range(d)] for i in range(d)], dtype=object) for d in widths]
    bases = [(eye, eye) for eye in one]
    if architecture.skip:
        if "E" in old and "U" in old:
            bases = [invertible(widths[0], source)] * len(widths)
    else:
        first, last = 0 if "E" in old else 1, len(widths) - (0 if "U" in old else 1)
        bases[first:last] = [invertible(d, source) for d in widths[first:last]]
    if "E" in old:
        named["E"] = bases[0][0] @ old["E"]
    if "U" in old:
        named["U"] = old["U"] @ bases[-1][1]
    for i in range(1, architecture.depth + 1):
        order = source.sample(range(1, heads + 1), heads)
        (_, inverse), (behind, _) = bases[i - 1], bases[i]
        for h, g in enumerate(order, start=1):
            new, mine = (f"{i}", f"{i}") if heads == 1 else (f"{i}.{h}", f"{i}.{g}")
            scale, unscale = invertible(architecture.attention_ranks[i - 1], source)
            named[f"Q{new}"] = scale @ old[f"Q{mine}"] @ inverse
            named[f"K{new}"] = unscale.T @ old[f"K{mine}"] @ inverse
            if architecture.value_ranks is None:
                named[f"V{new}"] = behind @ old[f"V{mine}"] @ inverse
            else:
                scale, unscale = invertible(architecture.value_ranks[i - 1], source)
                named[f"V{new}"] = scale @ old[f"V{mine}"] @ inverse
                named[f"O{new}"] = behind @ old[f"O{mine}"] @ unscale
    return Weights.of(named, weights.form)
