"""How long `same` takes: for networks that a symmetry connects, and for networks that differ in one entry.

    python benchmarks/comparisons.py [--largest 64] [--seed 0]

Weights are integers up to 3; the second network is the first one moved by unimodular matrices, in the stream and
inside of heads. Plain networks can be compared with an older release: run the file with its package in PYTHONPATH.
"""

from __future__ import annotations

import argparse
import random
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from lightning_sym import SOFTMAX, Architecture, Weights, same_function, transform

HOURS = 36000.0


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


def unimodular(n: int, source: random.Random) -> Any:
    """Of determinant 1, with small entries."""
    result = np.eye(n, dtype=int)
    for _ in range(2 * n):
        i, j = source.sample(range(n), 2)
        result[i] += source.choice((-1, 1)) * result[j]
    return result


def moved(weights: Weights, shape: Architecture, source: random.Random) -> Weights:
    """The same function, by other weights."""
    layers = range(1, shape.depth + 1)
    if shape.heads == 1:
        group = {i: unimodular(shape.attention_ranks[i - 1], source) for i in layers}
        return transform(
            weights, query_key=group, between={i: unimodular(shape.widths[i], source) for i in layers[:-1]}
        )
    heads = {f"{i}.{h}": shape.attention_ranks[i - 1] for i in layers for h in range(1, shape.heads + 1)}
    order = list(range(1, shape.heads + 1))
    return transform(
        weights,
        query_key={name: unimodular(a, source) for name, a in heads.items()},
        value_output={name: unimodular(a, source) for name, a in heads.items()},
        heads={i: source.sample(order, len(order)) for i in layers},
    )


def seconds(first: Weights, second: Weights) -> tuple[float, str]:
    """Processor time of an answer, and the answer."""
    start = time.process_time()
    found = same_function(first, second, work=HOURS)
    return time.process_time() - start, found.answer.value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=64, help="largest width")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    table = Table("network", "d", "l", "h", "parameters", "moved", "seconds", "changed", "seconds")
    for row in (row for row in ROWS if row.shape.widths[0] <= given.largest):
        source, shape = random.Random(given.seed), row.shape
        first = Weights.random(shape, seed=given.seed, bound=3)
        second = moved(first, shape, source)
        name = next(name for name in reversed(second.named()) if name[0] == "V")
        entries = second[name].copy()
        entries[0, 0] += 1
        other = Weights.of(second.named() | {name: entries}, second.form)
        numbers = (shape.widths[0], shape.depth, shape.heads, shape.parameter_count)
        cells = [
            text for pair in (second, other) for t, answer in [seconds(first, pair)] for text in (answer, f"{t:.2f}")
        ]
        table.add_row(row.name, *map(str, numbers), *cells)
    Console().print(table)


if __name__ == "__main__":
    main()
