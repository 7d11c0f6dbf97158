"""How long `same` and `fiber` take, and how much memory, for networks of GPT-2 small's shape in float32.

    python benchmarks/large_comparisons.py [--width 768] [--layers 12] [--heads 12] [--vocabulary 1000] [--no-fiber]

`--vocabulary 50257` is that of GPT-2.

Causal, skip connections, embedding and unembedding, random weights. The second network is the first one with the
coordinates of the stream in another order and times powers of two, heads in another order, and the same inside of
heads, all exact in float32; the third is the second one with one bit changed.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from lightning_sym import SOFTMAX, Architecture, Weights, fiber, same_function
from lightning_sym.network.form import NetworkForm

HOURS = 36000.0
Matrices = dict[str, npt.NDArray[np.float32]]


def drawn(shape: Architecture, source: np.random.Generator) -> Matrices:
    """Weights as they are before training."""
    return {name: (source.standard_normal(size) * 0.02).astype(np.float32) for name, size in shape.weight_shapes()}


def moved(matrices: Matrices, shape: Architecture, source: np.random.Generator) -> Matrices:
    """The same function."""
    order, scale = _signed(shape.widths[0], source)
    result = {"E": scale[:, None] * matrices["E"][order], "U": matrices["U"][:, order] / scale}
    for layer, inner in enumerate(shape.attention_ranks, start=1):
        for new, old in enumerate(source.permutation(shape.heads), start=1):
            inside, factor = _signed(inner, source)
            for letter, by in (("Q", 1 / factor), ("K", factor), ("V", factor)):
                before = matrices[f"{letter}{layer}.{old + 1}"]
                result[f"{letter}{layer}.{new}"] = by[:, None] * (before[:, order] / scale)[inside]
            before = matrices[f"O{layer}.{old + 1}"]
            result[f"O{layer}.{new}"] = (scale[:, None] * before[order])[:, inside] / factor
    return result


def _signed(n: int, source: np.random.Generator) -> tuple[Any, npt.NDArray[np.float32]]:
    scale = 2.0 ** source.integers(-2, 3, n) * source.choice([-1, 1], n)
    return source.permutation(n), scale.astype(np.float32)


def timed(what: str, answer: Callable[[], Any]) -> None:
    """Print processor seconds, and the most memory so far."""
    start = time.process_time()
    found = answer()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{what:10}{found:32}{time.process_time() - start:8.0f} s, peak {peak:.2f} GiB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, size in (("width", 768), ("layers", 12), ("heads", 12), ("vocabulary", 1000)):
        parser.add_argument(f"--{name}", type=int, default=size)
    parser.add_argument("--no-fiber", action="store_true")
    given = parser.parse_args()
    d, inner = given.width, (given.width // given.heads,) * given.layers
    shape = Architecture(
        (d,) * (given.layers + 1), inner, 3, normalization=SOFTMAX, causal=True, heads=given.heads, value_ranks=inner,
        skip=True, embed=given.vocabulary, unembed=given.vocabulary,
    )  # fmt: skip
    source = np.random.default_rng(0)
    first = drawn(shape, source)
    second = moved(first, shape, source)
    last = f"V{given.layers}.1"
    changed = second[last].copy()
    changed[0, 0] = np.nextafter(changed[0, 0], np.float32(1))
    form = NetworkForm.of(shape)
    one, other, third = (Weights.of(m, form) for m in (first, second, second | {last: changed}))
    timed("moved", lambda: same_function(one, other, 3).answer.value)
    timed("changed", lambda: same_function(one, third, 3).answer.value)
    if not given.no_fiber:
        timed("fiber", lambda: f"dimension {fiber(one, 3, work=HOURS).dimension:,}")


if __name__ == "__main__":
    main()
