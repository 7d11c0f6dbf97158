"""Families of what is written and read: `unwritten`, `unread`, `inside`, `pattern` and `skew`."""

from collections.abc import Iterator

from proofs_check.checker.directions.spaces import S, Unseen, line
from proofs_check.checker.verify import T


def unwritten(at: Unseen) -> Iterator[int]:
    """What readers may gain where nothing is written."""
    for key, j in at.readers.items():
        yield from at.one_sided(key, at.F[j], len(at.F[j]))


def unread(at: Unseen) -> Iterator[int]:
    """What writers may gain where nothing is read."""
    for key, j in at.writers.items():
        yield from at.one_sided(key, at.R[j], len(at.R[j]), columns=True)


def inside(at: Unseen) -> Iterator[int]:
    """What V and O of a head may gain between the two."""
    for i, k in at.heads:
        F, R, b = at.F[i - 1], at.R[i], at.net.b[i]
        inner, outer = T(at.product(at.w["V", i, k], T(F))), at.product(R, at.w["O", i, k])
        yield from at.one_sided(("O", i, k), inner, min(b, len(F)))
        yield from at.one_sided(("V", i, k), outer, min(b, len(R)), columns=True)


def pattern(at: Unseen) -> Iterator[int]:
    """All of Q and K."""
    for key in at.w:
        if key[0] in "QK":
            yield from (1 << 64 * (at.place[key] + c) for c in range(len(at.w[key]) * len(at.w[key][0])))


def skew(at: Unseen) -> Iterator[int]:
    """Motions of Q and K that move scores by a skew form, where only symmetric parts count."""
    net, p, narrow, stream = at.net, at.p, False, min(at.net.d[0], at.net.n)
    for i, k in at.heads:
        F, f = T(at.F[i - 1]), len(at.F[i - 1])
        lone = net.h == 1 and not net.skip and not net.causal
        if line(net) or (narrow and lone):
            with at.motions("QK", i, k, F, at.R[i]) as moves:
                units, _, blocks = T(moves)
                images = [[(b[x][y] + b[y][x]) % p for x in range(f) for y in range(x + 1)] for b in blocks]
                yield from at.solve(units, images, S(f, 2 * min(net.a[i], f)))
        narrow, stream = narrow or min(net.a[i], stream) == 1, min(stream, net.b[i], net.d[i])
