"""Residual softmax transformers: the theorem against Jacobians on random small shapes, and large ones in seconds.

    python benchmarks/blocks.py [--count 500] [--seed 0] [--largest]

Each shape is asked of four roads that share no code: the formula, ranks of the network's own matrices, the certified
rank of a Jacobian (columns added up where keys are shared or embeddings tied), the certificate and its checker.
Embeddings narrower than the stream, at three tokens or more, are compared with Theorem 12. Prints every disagreement,
and by kind how many were compared. `--largest` then takes the ranks of GPT-2 from small to XL, and certifies a network
of some thousand parameters by its Jacobian, which was the only way of release 0.1.0, and by its blocks.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from measuring import parser

from lightning_sym import SOFTMAX, Architecture, certified_dimension
from lightning_sym.certificates.dimension import transformer_certificate
from lightning_sym.dimension.blocks import Layers, Transformer, certify, transformer_of
from lightning_sym.dimension.transformers import narrow_count
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.network.jacobian import RandomJacobian, random_weights
from lightning_sym.rings.prime_field import PRIMES
from proofs_check.checker import verify

LARGEST, MEMORY = 110, 2**32


def random_shape(generator: np.random.Generator, *, narrow: bool = False) -> Architecture:
    """Return a residual softmax transformer of at most `LARGEST` parameters, ranks up to twice the width."""

    def size(most: int) -> int:
        return int(generator.integers(1, most + 1))

    while True:
        d, depth = size(5), size(4)
        values = tuple(size(2 * d) for _ in range(depth)) if generator.random() < 0.7 or narrow else None
        ends = [None if generator.random() < 0.3 else d + size(3) - 1 for _ in range(2)]
        ranks = tuple(size(2 * d) for _ in range(depth))
        if narrow:
            ends = [size(max(d - 1, 1))] * 2
            ranks, values = (size(2 * d),) * depth, (size(2 * d),) * depth
        tokens = (3 if narrow else 2) + int(generator.integers(0, 3))
        network = Architecture(
            (d,) * (depth + 1), ranks, tokens, SOFTMAX, heads=size(3), value_ranks=values, skip=True,
            causal=bool(generator.integers(2)), embed=ends[0], unembed=ends[1],
        )  # fmt: skip
        if network.parameter_count <= LARGEST and not (narrow and d == 1):
            return network


def shared(generator: np.random.Generator) -> tuple[Transformer, Architecture]:
    """Return a shape with shared keys, tied embeddings or both, and the same network with nothing shared or tied."""
    while True:
        network = random_shape(generator)
        shape = transformer_of(network)
        assert shape is not None
        tied = network.embed is not None and network.embed == network.unembed and bool(generator.integers(4))
        divisors = [g for g in range(1, network.heads + 1) if network.heads % g == 0]
        groups = int(generator.choice(divisors)) if network.value_ranks else network.heads
        if tied or groups != network.heads:
            return replace(shape, groups=groups, tied=tied), network


def shared_rank(shape: Transformer, network: Architecture, generator: np.random.Generator) -> int:
    """Return the rank of the Jacobian at a point where weights are shared, its columns added up: a lower bound."""
    p, share = PRIMES[0], shape.heads // shape.groups
    weights = dict(zip(dict(network.weight_shapes()), random_weights(network, generator, p), strict=True))

    def original(name: str) -> str:
        layer, _, head = name[1:].partition(".")
        first = (int(head or 1) - 1) // share * share + 1
        if name == "U" and shape.tied:
            return "E"
        return f"{name[0]}{layer}.{first}" if head and name[0] in "KV" and network.value_ranks else name

    for name in weights:
        weights[name] = weights["E"].mT if original(name) == "E" != name else weights[original(name)]
    jacobian = RandomJacobian(network, generator, p, weights=list(weights.values()))
    rows = np.asarray(jacobian.rows(shape.dimension + 10)).astype(np.int64)
    columns: dict[str, np.ndarray] = {}
    start = 0
    for name, (r, c) in network.weight_shapes():
        part = rows[:, start : start + r * c].reshape(-1, r, c)
        start += r * c
        part = part.transpose(0, 2, 1) if original(name) == "E" != name else part
        columns[original(name)] = (columns.get(original(name), 0) + part) % p
    return rank_mod_p(np.concatenate([part.reshape(len(rows), -1) for part in columns.values()], axis=1), p)


def disagreements(count: int, seed: int, done: Counter[str]) -> Iterator[str]:
    """Compare `count` shapes of each of three kinds; what does not agree, in words."""
    generator = np.random.default_rng(seed)
    for number in range(count):
        network = random_shape(generator)
        shape = transformer_of(network)
        assert shape is not None
        verify.BUDGET.set(verify.Budget())
        proved = verify.check(transformer_certificate(shape))
        found = [certified_dimension(network, seed=number).value, certify(shape, seed=number, memory=MEMORY).lower]
        done["wide"] += 1
        if found != [shape.dimension] * 2 or not proved.startswith(f"dim M = {shape.dimension}, "):
            yield f"{found}, {shape.dimension}: {network}"
        tied, network = shared(generator)
        verify.check(transformer_certificate(tied))
        found = [shared_rank(tied, network, generator), certify(tied, seed=number, memory=MEMORY).lower]
        done["shared or tied"] += 1
        if found != [tied.dimension] * 2:
            yield f"{found}, {tied.dimension}: {tied}"
        network = random_shape(generator, narrow=True)
        n, d = network.input_width, network.widths[0]
        assert network.value_ranks is not None
        said = narrow_count(n, d, network.depth, network.heads, network.attention_ranks[0], network.value_ranks[0])
        result = certified_dimension(network, seed=number)
        equal = said.left >= said.right
        done["narrow, equality" if equal else "narrow, bounds"] += 1
        done["narrow, undecided"] += result.value is None
        if (
            result.lower > said.value
            or (equal and result.upper < said.value)
            or (equal and result.value not in (None, said.value))
        ):
            yield f"{result.lower} to {result.upper}, {said}: {network}"


def large() -> None:
    """Print the ranks of large shapes, and beside the blocks the Jacobian of a shape of middle size."""
    gpt2 = {"small": (768, 12, 12), "medium": (1024, 24, 16), "large": (1280, 36, 20), "XL": (1600, 48, 25)}
    for name, (d, depth, heads) in gpt2.items():
        shape = Transformer(d, (Layers(depth, 64, 64),), heads, heads, 50257, 50257, tied=False)
        start = time.perf_counter()
        found = certify(shape, seed=0, memory=MEMORY)
        middle = time.perf_counter()
        verify.BUDGET.set(verify.Budget())
        verify.check(transformer_certificate(shape))
        end = time.perf_counter()
        print(f"GPT-2 {name}: {found.lower:,} in {middle - start:.1f} s, certificate checked in {end - middle:.1f} s")
    middle_size = Architecture(
        (32,) * 3, (16,) * 2, 2, SOFTMAX, heads=2, value_ranks=(16,) * 2, skip=True, causal=True, embed=40, unembed=40
    )
    small = transformer_of(middle_size)
    assert small is not None
    start = time.perf_counter()
    certify(small, seed=0, memory=MEMORY)
    blocks = time.perf_counter() - start
    start = time.perf_counter()
    ordinary = certified_dimension(middle_size)
    jacobian = time.perf_counter() - start
    print(
        f"{ordinary.lower:,} of {middle_size}: Jacobian {jacobian:.1f} s, blocks {blocks:.3f} s, "
        f"ratio {jacobian / blocks:,.0f}"
    )


def main() -> int:
    """Run and print."""
    options = parser(__doc__, "count", "seed")
    options.add_argument("--largest", action="store_true")
    arguments = options.parse_args()
    done = Counter[str]()
    bad = 0
    for text in disagreements(arguments.count, arguments.seed, done):
        print(text, flush=True)
        bad += 1
    print(f"{dict(done)}, {bad} disagreements")
    if arguments.largest:
        large()
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
