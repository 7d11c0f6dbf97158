"""Upper bounds of dimensions by directions that the function of a network does not see, symmetries and others.

The families are those of section 3 of docs/certificate.md, the proofs in docs/transformers.md, 2 to 7: `spaces` is what
all of them share; those that look at what is written and read are here, and then there are `mixing`, `cancelling`,
`frames` and `first_layers`.
"""

from collections.abc import Callable, Iterator
from typing import Any

from proofs_check.checker.bounds import symmetric_of_rank
from proofs_check.checker.bounds.directions.cancelling import cancelling
from proofs_check.checker.bounds.directions.frames import first_layers, skew_differences, symmetric_products
from proofs_check.checker.bounds.directions.mixing import mixing
from proofs_check.checker.bounds.directions.spaces import StreamSpaces, is_line
from proofs_check.checker.verify import BY_ORBIT, ORBIT, Network, Point, odd_prime, orbit, transposed


def unwritten(at: StreamSpaces) -> Iterator[int]:
    """Yield what readers may gain where nothing is written."""
    for key, _, columns, _ in at.point.pieces:
        if columns.kind == "stream":
            written = at.F[key[1] - 1]
            yield from at.one_sided(key, written, len(written))


def unread(at: StreamSpaces) -> Iterator[int]:
    """Yield what writers may gain where nothing is read."""
    for key, rows, _, _ in at.point.pieces:
        if rows.kind == "stream":
            yield from at.one_sided(key, at.R[key[1]], len(at.R[key[1]]), columns=True)


def inside(at: StreamSpaces) -> Iterator[int]:
    """Yield what V and O of a head may gain between the two."""
    for i, k in at.net.heads:
        F, R, b = at.F[i - 1], at.R[i], at.net.b[i]
        inner, outer = transposed(at.product(at.heads[i, k].v, transposed(F))), at.product(R, at.heads[i, k].o)
        yield from at.one_sided(("O", i, k), inner, min(b, len(F)))
        yield from at.one_sided(("V", i, k), outer, min(b, len(R)), columns=True)


def pattern(at: StreamSpaces) -> Iterator[int]:
    """Yield all of Q and K."""
    for key, rows, columns, _ in at.point.pieces:
        if rows.kind == "query-key":
            yield from (1 << 64 * (at.entry(key, 0, 0) + c) for c in range(rows.size * columns.size))


def skew(at: StreamSpaces) -> Iterator[int]:
    """Yield motions of Q and K that move scores by a skew form, where only symmetric parts count."""
    net, p, narrow, stream = at.net, at.p, False, min(at.net.d[0], at.net.n)
    for i, k in net.heads:
        F, f = transposed(at.F[i - 1]), len(at.F[i - 1])
        lone = net.h == 1 and not net.skip and not net.causal
        if is_line(net) or (narrow and lone):
            motions = at.motions(i, k, F, at.R[i], values=False)
            moves = ((n, [(b[x][y] + b[y][x]) % p for x in range(f) for y in range(x + 1)]) for n, _, b in motions)
            yield from at.solve(moves, symmetric_of_rank(f, 2 * min(net.a[i], f)))
        narrow, stream = narrow or min(net.a[i], stream) == 1, min(stream, net.b[i], net.d[i])


UNSEEN: dict[str, tuple[Callable[[StreamSpaces], Iterator[int]], Callable[[Network], bool]]] = {
    "unwritten": (unwritten, lambda net: True),
    "unread": (unread, lambda net: True),
    "inside": (inside, lambda net: "O" in net.letters),
    "pattern": (pattern, lambda net: net.normalized and net.t == 1),
    "skew": (skew, lambda net: not net.normalized),
    "mixing": (mixing, lambda net: not net.normalized and net.h > 1),
    "cancelling": (cancelling, lambda net: net.t == 2 if net.normalized else is_line(net)),
    "skew differences": (skew_differences, lambda net: net.normalized and net.t == 2 and net.causal),
    "symmetric products": (
        symmetric_products,
        lambda net: not (net.causal or net.normalized or is_line(net)) and net.h == 1 and net.skip and net.n > 1,
    ),
    "first layers": (first_layers, lambda net: not net.normalized and net.skip and net.l > 1 and net.n == 1),
}
"""By family its directions, and the networks that have them."""

FAMILIES = ORBIT | {name: has for name, (_, has) in UNSEEN.items()}


def along(point: Point, family: str) -> Iterator[int]:
    """Return the directions of a family at a point, packed."""
    return UNSEEN[family][0](StreamSpaces(point)) if family in UNSEEN else point.tangents(family)


def prove(*given: Any) -> str:
    """Say what shows a bound by all families."""
    return f"{orbit(FAMILIES, along, *given)} and others (docs/transformers.md)"


ROWS = ((BY_ORBIT | {"prime": odd_prime, "families": [frozenset(FAMILIES)]}, prove),)
