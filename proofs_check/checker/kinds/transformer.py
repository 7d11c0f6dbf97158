"""The dimension of a residual softmax transformer of any size.

Weights come from a seed. They are sparse, so that ranks of them take no time; the theorem, docs/transformers.md,
Proposition 18, asks for one point, and any will do.
"""

import itertools
from collections.abc import Iterator
from typing import Any

from proofs_check.checker.bounds import of_rank
from proofs_check.checker.functions.matrices import LARGE_PRIME, Sparse, sparse_rank
from proofs_check.checker.verify import COUNT, SIZE, SOME, keep, need, spend

SEEDS, WORD = range(2**64), 2**64 - 1


def numbers(seed: int) -> Iterator[int]:
    """Yield the numbers of SplitMix64, each number modulo 2^61 - 1."""
    while True:
        seed = seed + 0x9E3779B97F4A7C15 & WORD
        z = (seed ^ seed >> 30) * 0xBF58476D1CE4E5B9 & WORD
        z = (z ^ z >> 27) * 0x94D049BB133111EB & WORD
        yield (z ^ z >> 31) % LARGE_PRIME


def draw(drawn: Iterator[int], rows: int, d: int, group: int) -> list[Sparse]:
    """Return rows of length d with two entries side by side, one column further from row to row."""
    matrix = []
    for j in range(group * rows, group * rows + rows):
        row = {j % d: next(drawn)}
        row[(j + 1) % d] = (row.get((j + 1) % d, 0) + next(drawn)) % LARGE_PRIME
        matrix.append(row)
    return matrix


def add_product(total: list[Sparse], outputs: list[Sparse], values: list[Sparse]) -> bool:
    """Add O V, where O is the transpose of `outputs`; return whether it is not zero."""
    spend(20 * len(values))
    seen: dict[tuple[int, int], int] = {}
    for column, row in zip(outputs, values, strict=True):
        for r, x in column.items():
            for c, y in row.items():
                seen[r, c] = (seen.get((r, c), 0) + x * y) % LARGE_PRIME
    for (r, c), x in seen.items():
        total[r][c] = (total[r].get(c, 0) + x) % LARGE_PRIME
    return any(seen.values())


def _full(matrix: list[Sparse], d: int) -> int:
    """Return the rank, which must be the largest one."""
    found = sparse_rank(matrix)
    need(found == min(len(matrix), d), f"Q, K, V, O must have full rank modulo 2^61 - 1, {found} was found")
    return found


def _layer(drawn: Iterator[int], d: int, a: int, b: int | None, share: int, groups: int, *, last: bool) -> int:
    """Return the rank of the differential of the products of a layer, its conditions being met."""
    total, found = [{r: 1} for r in range(d)], 0
    for group in range(groups):
        k = _full(draw(drawn, a, d, group), d)
        values = [] if b is None else draw(drawn, b, d, group)
        v = _full(values, d) if values else 0
        for _ in range(share):
            q = _full(draw(drawn, a, d, group), d)
            if b is None:
                values, outputs = draw(drawn, d, d, group), [{r: 1} for r in range(d)]
            else:
                outputs = draw(drawn, b, d, group)
                _full(outputs, d)
            need(add_product(total, outputs, values), "no O V may be 0 modulo 2^61 - 1")
        # of K and all Q, of V and all O of a group: d(O V) = dO V + O dV
        found += share * d * k + q * d - k * q
        found += d * d if b is None else share * d * v + v * d - v * v
    need(last or sparse_rank(total) == d, "1 plus the sum of all O V of a layer must be invertible modulo 2^61 - 1")
    return found


def prove(network: list[Any], claimed: int, seed: int) -> str:
    """Prove the dimension: the rank of the differential at one point, and as many parameters of products from above."""
    d, layers, heads, groups, n, m, tied = network
    need(heads % groups == 0, "the heads must be a multiple of the groups")
    need(groups == heads or all(b for _, _, b in layers), "values are shared only where there are value ranks")
    need((n or d) >= d <= (m or d), "embed and unembed must reach the width")
    need(not tied or (n and n == m), "tied embeddings must be embedding and unembedding of one width")
    inner = [(count, a, b or d) for count, a, b in layers]
    spend(100 * sum(count * ((heads + groups) * (a + b) + d) for count, a, b in inner))  # to make all rows
    keep(2000 * max(d, *(max(a, b) for _, a, b in inner)))  # rows of a matrix, and what elimination makes of them
    drawn, ends = numbers(seed), d * ((n or 0) + (0 if tied else m or 0))
    ends -= d * (d - 1) // 2 if tied else d * d * bool(n and m)
    lower, upper, share, depth = ends, ends, heads // groups, sum(count for count, _, _ in layers)
    for count, a, b in layers:
        values = heads * d * d if b is None else groups * of_rank(share * d, d, b)
        upper += count * (groups * of_rank(share * d, d, a) + values)
    need(upper == claimed, f"the dimension must be {upper}, it is {claimed}")
    every = itertools.chain.from_iterable(itertools.repeat(each[1:], each[0]) for each in layers)
    for i, (a, b) in enumerate(every, 1):
        lower += _layer(drawn, d, a, b, share, groups, last=i == depth)
    need(lower == claimed, f"the ranks must prove {claimed}, they prove {lower}")
    shape = "; ".join(f"{count} of ranks {a}" + f", value ranks {b}" * (b is not None) for count, a, b in layers)
    shape += f", heads {heads}, sets of keys and values {groups}, embed {n or 'no'}, unembed {m or 'no'}"
    shape += ", tied embeddings" * tied
    return (
        f"dim M = {claimed}, for softmax attention with skip connections, any mask, two tokens or more, of width {d}, "
        f"layers {shape}, over the real and over the complex numbers, by full ranks modulo "
        f"2^61 - 1 at the weights of seed {seed} (docs/transformers.md, Proposition 18)"
    )


LAYERS_ALIKE = {"count": SIZE, "rank": SIZE, "value_rank": (SIZE,)}
NETWORK: dict[str, Any] = {"width": SIZE, "layers": [LAYERS_ALIKE, SOME], "heads": SIZE, "groups": SIZE}
NETWORK |= {"embed": (SIZE,), "unembed": (SIZE,), "tied": bool}
ROWS = (({"network": NETWORK, "dimension": COUNT, "seed": SEEDS}, prove),)
