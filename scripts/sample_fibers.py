"""Random lightning networks of two layers and more: how many fibers are complete, and why others are not.

Widths of the stream are equal; heads, ranks, value ranks, tokens, mask and ends, none narrower than it, are drawn.
Printed is how many are complete, with skip connections and without, and of each reason the smallest network.

    .venv/bin/python scripts/sample_fibers.py --count 300 --bound 9 --seed 1
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from random import Random

from lightning_sym import Architecture, Weights, fiber

PAGE = "docs/deep-lightning.md"


def drawn(rng: Random, *, skip: bool) -> Architecture:
    d, depth, heads = rng.randint(2, 4), rng.choice((2, 2, 3)), rng.randint(1, 3)
    n, m = (rng.choice((None, d, d + 1, d + 2)) for _ in range(2))
    values = tuple(rng.randint(1, d) for _ in range(depth)) if rng.random() < 0.5 else None
    return Architecture(
        (d,) * (depth + 1), tuple(rng.randint(1, d) for _ in range(depth)), rng.randint(1, 4), heads=heads, skip=skip,
        causal=rng.random() < 0.5, embed=n, unembed=m, value_ranks=values,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--bound", type=int, default=9, help="of the entries")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    for skip in (True, False):
        rng, reasons, complete = Random(asked.seed), defaultdict[str, list[Architecture]](list), 0
        for _ in range(asked.count):
            shape = drawn(rng, skip=skip)
            found = fiber(Weights.random(shape, seed=rng.randrange(10**6), bound=asked.bound), shape.tokens)
            complete += found.complete
            if not found.complete:
                cited = f"Theorem {1 if skip else 3} of {PAGE}"
                why = next((each.why for each in found.tried if each.citation == cited), "no theorem is asked")
                reasons[re.sub(r" to layer \d+|, layers? \d.*| \(.*", "", why)].append(shape)
        print(f"{'with' if skip else 'without'} skip connections: {complete} of {asked.count} are complete")
        for why, shapes in sorted(reasons.items(), key=lambda item: -len(item[1])):
            print(f"{len(shapes):5}  {why}: {min(shapes, key=lambda shape: shape.parameter_count)}")


if __name__ == "__main__":
    main()
