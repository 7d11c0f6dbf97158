"""The family `first layers`: one row of input, skip connections, and what the first two layers write as a whole."""

import itertools
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from proofs_check.checker.directions.spaces import D, S, Unseen, holding, line, zipped
from proofs_check.checker.verify import T, spend


def first_layers(at: Unseen) -> Iterator[int]:
    """Motions of E and of two layers that leave the coefficients of what they write in place."""
    net, r, one = at.net, len(at.R[2]), line(at.net)
    a, b = min(net.a[2], 2), min(r, 2, net.b[2])
    moving = [key for key in at.w if key[0] == "E" or key[1] in (1, 2)]
    places = [(key, j, k) for key in moving for j in range(len(at.w[key])) for k in range(len(at.w[key][0]))]
    spend(len(places) * net.h * r * 4096)
    with holding(len(places) * (200 + 400 * r)):
        images = [moved_coefficients(at, place) for place in places]
        forms, most = (S(2, 2 * a), D(r, 3, net.h * b)) if one else (D(2, 2, a), D(r, 5, net.h * b))
        units = [at.entry(*place) for place in places]
        yield from at.solve(units, images, 2 * r + min(most, net.h * (forms + D(r, 2, b) - 1)))


def moved_coefficients(at: Unseen, place: tuple[Any, int, int]) -> list[int]:
    """How the motion of one entry moves R e, R (g + c_1), R c_2, ...; every matrix beside its derivative."""
    net, p, R, one = at.net, at.p, at.R[2], line(at.net)

    def still(x: Any) -> Any:
        return x, [[0] * len(x[0])] * len(x)

    def weight(name: Any) -> Any:
        x, dx = still(at.w[name])
        return x, [[int((name, i, j) == place) for j in range(len(row))] for i, row in enumerate(dx)]

    def times(x: Any, y: Any) -> Any:
        return at.product(x[0], y[0]), at.sum([at.product(x[1], y[0]), at.product(x[0], y[1])])

    def head(i: int, k: int, frame: Any) -> Any:
        keys, queries, v = (times(weight((s, i, k)), frame) for s in "KQV")
        return times((T(keys[0]), T(keys[1])), queries), times(weight(("O", i, k)), v) if "O" in net.letters else v

    e = weight(("E", 0, 0)) if net.embed else still([[1]])
    written = [times(v, a) for a, v in (head(1, k, e) for k in range(net.h))]
    g = [at.sum([w[side] for w in written]) for side in (0, 1)]
    frame = [[[*x, *y] for x, y in zipped(e[side], g[side])] for side in (0, 1)]
    _, ends = times(still(R), frame)
    found = defaultdict[Any, list[int]](lambda: [0] * len(R))
    found[0, 0, 0] = [row[1] for row in ends]
    for h in range(net.h):
        (a, da), v = head(2, h, frame)
        v, dv = times(still(R), v)
        for m, k, n in itertools.product((0, 1), repeat=3):
            name = tuple(sorted((m, k, n))) if one else (k, *sorted((m, n)))
            more = [da[m][k] * x[n] + a[m][k] * y[n] for x, y in zipped(v, dv)]
            found[name] = [(x + y) % p for x, y in zipped(found[name], more)]
    return [row[0] for row in ends] + [x for name in sorted(found) for x in found[name]]
