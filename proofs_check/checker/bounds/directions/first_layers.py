"""The family `first layers`: one row of input, skip connections, and what the first two layers write as a whole."""

import itertools
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from proofs_check.checker.bounds import of_rank, symmetric_of_rank
from proofs_check.checker.bounds.directions.frames import side_by_side
from proofs_check.checker.bounds.directions.spaces import Unseen, holding, line
from proofs_check.checker.verify import Key, Matrix, spend, transposed

Dual = tuple[Matrix, Matrix]
"""A matrix, and its derivative."""


def first_layers(at: Unseen) -> Iterator[int]:
    """Yield motions of E and of two layers that leave the coefficients of what they write in place."""
    net, r, one = at.net, len(at.R[2]), line(at.net)
    a, b = min(net.a[2], 2), min(r, 2, net.b[2])
    moving = [piece for piece in at.point.pieces if piece.key[0] == "E" or piece.key[1] in (1, 2)]
    places = [(key, j, k) for key, rows, columns, _ in moving for j in range(rows.size) for k in range(columns.size)]
    spend(len(places) * net.h * r * 4096)
    with holding(len(places) * (200 + 400 * r)):
        images = [moved_coefficients(at, place) for place in places]
        forms, most = of_rank(2, 2, a), of_rank(r, 5, net.h * b)
        if one:
            forms, most = symmetric_of_rank(2, 2 * a), of_rank(r, 3, net.h * b)
        units = [at.entry(*place) for place in places]
        yield from at.solve(units, images, 2 * r + min(most, net.h * (forms + of_rank(r, 2, b) - 1)))


def moved_coefficients(at: Unseen, place: tuple[Key, int, int]) -> list[int]:
    """Return how the motion of one entry moves R e, R (g + c_1), R c_2, ..."""
    net, p, R, one = at.net, at.p, at.R[2], line(at.net)

    def still(x: Any) -> Dual:
        return x, [[0] * len(x[0])] * len(x)

    def weight(name: Key) -> Dual:
        x, dx = still(at.w[name])
        return x, [[int((name, i, j) == place) for j in range(len(row))] for i, row in enumerate(dx)]

    def times(x: Dual, y: Dual) -> Dual:
        return at.product(x[0], y[0]), at.sum([at.product(x[1], y[0]), at.product(x[0], y[1])])

    def head(i: int, k: int, frame: Dual) -> tuple[Dual, Dual]:
        keys, queries, v = (times(weight((s, i, k)), frame) for s in "KQV")
        scores = times((transposed(keys[0]), transposed(keys[1])), queries)
        return scores, times(weight(("O", i, k)), v) if "O" in net.letters else v

    e = weight(("E", 0, 0)) if net.embed else still([[1]])
    written = [times(v, a) for a, v in (head(1, k, e) for k in range(net.h))]
    g, dg = (at.sum([w[side] for w in written]) for side in (0, 1))
    frame = side_by_side(e[0], g), side_by_side(e[1], dg)
    _, ends = times(still(R), frame)
    found = defaultdict[Any, list[int]](lambda: [0] * len(R))
    found[0, 0, 0] = [row[1] for row in ends]
    for h in range(net.h):
        (a, da), v = head(2, h, frame)
        values, moved = times(still(R), v)
        for m, k, n in itertools.product((0, 1), repeat=3):
            name = tuple(sorted((m, k, n))) if one else (k, *sorted((m, n)))
            more = [da[m][k] * x[n] + a[m][k] * y[n] for x, y in zip(values, moved, strict=True)]
            found[name] = [(x + y) % p for x, y in zip(found[name], more, strict=True)]
    return [row[0] for row in ends] + [x for name in sorted(found) for x in found[name]]
