"""How long `same` takes: for networks that a symmetry connects, and for networks that differ in one entry.

    python benchmarks/comparisons.py [--largest 64] [--seed 0]
    python benchmarks/comparisons.py --large [--width 768] [--layers 12] [--heads 12] [--vocabulary 1000] [--no-fiber]

Weights are integers up to 3; the second network is the first one moved by unimodular matrices, in the stream and
inside of heads. Plain networks can be compared with an older release: run the file with its package in PYTHONPATH.

With `--large` the network has GPT-2 small's shape, in float32: causal, skip connections, embedding and unembedding,
random weights (`--vocabulary 50257` is that of GPT-2), and `fiber` is asked too. The second network is the first one
with the coordinates of the stream in another order and times powers of two, heads in another order, and the same inside
of heads, all exact in float32; the third is the second one with one bit changed.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from measuring import HOURS, Figures, parser, peak, processor

from lightning_sym import SOFTMAX, Architecture, NetworkForm, Weights, fiber, same_function, transform

Matrices = dict[str, npt.NDArray[np.float32]]


@dataclass(frozen=True)
class Row:
    """A network: plain ones have one head with full queries, transformers eighth heads or so."""

    name: str
    shape: Architecture


def _transformer(d: int, depth: int, heads: int, a: int, causal: bool = False) -> Architecture:
    return Architecture(
        (d,) * (depth + 1), (a,) * depth, 2, normalization=SOFTMAX, heads=heads, value_ranks=(a,) * depth, skip=True,
        causal=causal,
    )  # fmt: skip


ROWS = [
    Row("plain lightning", Architecture((16,) * 4, (16,) * 3, 2)),
    Row("plain lightning", Architecture((32,) * 5, (32,) * 4, 2)),
    Row("plain lightning", Architecture((64,) * 5, (64,) * 4, 2)),
    Row("softmax, one head", Architecture((64,) * 5, (64,) * 4, 2, normalization=SOFTMAX)),
    Row("transformer", _transformer(16, 2, 4, 4)),
    Row("transformer", _transformer(32, 4, 8, 4)),
    Row("transformer", _transformer(64, 4, 8, 8)),
    Row("causal transformer", _transformer(64, 4, 8, 8, causal=True)),
    Row("transformer", _transformer(128, 4, 8, 16)),
    Row("transformer", _transformer(256, 6, 8, 32)),
    Row("a layer of GPT-2 small", _transformer(768, 1, 12, 64, causal=True)),
]


def random_unimodular(n: int, source: random.Random) -> Any:
    """Return a random integer matrix of determinant 1 with small entries."""
    result = np.eye(n, dtype=int)
    for _ in range(2 * n):
        i, j = source.sample(range(n), 2)
        result[i] += source.choice((-1, 1)) * result[j]
    return result


def moved(weights: Weights, shape: Architecture, source: random.Random) -> Weights:
    """Return the same function, by other weights."""
    layers = range(1, shape.depth + 1)
    if shape.heads == 1:
        group = {i: random_unimodular(shape.attention_ranks[i - 1], source) for i in layers}
        return transform(
            weights, query_key=group, between={i: random_unimodular(shape.widths[i], source) for i in layers[:-1]}
        )
    heads = {f"{i}.{h}": shape.attention_ranks[i - 1] for i in layers for h in range(1, shape.heads + 1)}
    order = list(range(1, shape.heads + 1))
    return transform(
        weights,
        query_key={name: random_unimodular(a, source) for name, a in heads.items()},
        value_output={name: random_unimodular(a, source) for name, a in heads.items()},
        heads={i: source.sample(order, len(order)) for i in layers},
    )


def drawn(shape: Architecture, source: np.random.Generator) -> Matrices:
    """Return weights as they are before training."""
    return {name: (source.standard_normal(size) * 0.02).astype(np.float32) for name, size in shape.weight_shapes()}


def moved_floats(matrices: Matrices, shape: Architecture, source: np.random.Generator) -> Matrices:
    """Return the same function."""
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


def small(largest: int, seed: int) -> None:
    """Print a table of random networks of all kinds."""
    columns = ("network", "d", "l", "h", "parameters", "moved", "seconds", "changed", "seconds")
    table = Figures("same, seconds of the processor", *columns)
    for row in (row for row in ROWS if row.shape.widths[0] <= largest):
        source, shape = random.Random(seed), row.shape
        first = Weights.random(shape, seed=seed, bound=3)
        second = moved(first, shape, source)
        name = next(name for name in reversed(second.named()) if name[0] == "V")
        entries = second[name].copy()
        entries[0, 0] += 1
        cells: list[object] = [row.name, shape.widths[0], shape.depth, shape.heads, shape.parameter_count]
        for other in (second, Weights.of(second.named() | {name: entries}, second.form)):
            seconds, found = processor(lambda pair=(first, other): same_function(*pair, work=HOURS))
            cells += [found.answer.value, f"{seconds:.2f}"]
        table.add(*cells)
    table.show()


def large(d: int, depth: int, heads: int, vocabulary: int, *, with_fiber: bool) -> None:
    """Print processor seconds, and the most memory so far, of each question."""
    inner = (d // heads,) * depth
    shape = Architecture(
        (d,) * (depth + 1), inner, 3, normalization=SOFTMAX, causal=True, heads=heads, value_ranks=inner, skip=True,
        embed=vocabulary, unembed=vocabulary,
    )  # fmt: skip
    source = np.random.default_rng(0)
    first = drawn(shape, source)
    second = moved_floats(first, shape, source)
    last = f"V{depth}.1"
    changed = second[last].copy()
    changed[0, 0] = np.nextafter(changed[0, 0], np.float32(1))
    form = NetworkForm.of(shape)
    one, other, third = (Weights.of(m, form) for m in (first, second, second | {last: changed}))
    questions: dict[str, Callable[[], str]] = {
        "moved": lambda: same_function(one, other, 3).answer.value,
        "changed": lambda: same_function(one, third, 3).answer.value,
    }
    if with_fiber:
        questions["fiber"] = lambda: f"dimension {fiber(one, 3, work=HOURS).dimension:,}"
    for what, ask in questions.items():
        seconds, answer = processor(ask)
        print(f"{what:10}{answer:32}{seconds:8.0f} s, peak {peak() / 2**30:.2f} GiB", flush=True)


def main() -> int:
    """Print the table, or the answers of one large network."""
    options = parser(__doc__, "largest", "seed", largest=64)
    options.add_argument("--large", action="store_true", help="one network of the shape of GPT-2 small")
    for name, size in (("width", 768), ("layers", 12), ("heads", 12), ("vocabulary", 1000)):
        options.add_argument(f"--{name}", type=int, default=size)
    options.add_argument("--no-fiber", action="store_true")
    given = options.parse_args()
    if given.large:
        large(given.width, given.layers, given.heads, given.vocabulary, with_fiber=not given.no_fiber)
    else:
        small(given.largest, given.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
