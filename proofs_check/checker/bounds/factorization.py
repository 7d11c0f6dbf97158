"""Upper bounds of dimensions by the dimension of a variety that maps onto the functions (docs/certificate.md, 2.2).

The theorems are taken as given, the numbers are computed anew.
"""

import itertools

from proofs_check.checker.bounds import of_rank, symmetric_of_rank
from proofs_check.checker.verify import COUNT, LONG, Network, need


def prove(net: Network, bound: int, variety: str, pieces: list[int]) -> str:
    """Say by which theorem the bound holds."""
    d, a, b, depth, h, n, m, want, proof = net.d, net.a, net.b, net.l, net.h, net.n, net.m, list[int](), ""
    plain, bare = not (net.normalized or net.ends), h == 1 and not (net.skip or net.ends or "O" in net.letters)
    if variety == "virtual weights" and bare and (net.normalized or not net.causal):
        proof, r, used = f"docs/upper-bound.md, Theorem {6 + net.normalized}", [*itertools.accumulate(d, min)], min(d)
        alpha = [0] + [min(a[i], r[i - 1]) for i in range(1, depth + 1)]
        free = depth if net.normalized else 0 if net.t == 1 else [*alpha[:-1], 1].index(1)  # others: symmetric parts
        for size, i in ((r[i - 1], i) for i in range(1, depth + 1)):
            want.append(of_rank(size, size, alpha[i]) if i <= free else symmetric_of_rank(size, 2 * alpha[i]))
        want.append(of_rank(d[depth], r[depth - 1], r[depth]))
        for i in range(depth - 1, 0, -1):
            used = min(r[i], used + 2 * alpha[i + 1])
            want.append(used * (r[i - 1] - r[i]))
        want += [] if net.normalized else [-depth]
    elif variety == "linear maps" and net.t == 1 and net.normalized:
        proof, q = "docs/transformers.md, Proposition 10", [min(d[i - 1], d[i], h * b[i]) for i in range(1, depth + 1)]
        most = min(of_rank(d[0], d[0], sum(q)), sum(of_rank(d[0], d[0], x) for x in q))
        most = of_rank(m, n, d[0]) if net.ends else most
        want = [most if net.skip else of_rank(m, n, min(d + q))]
    elif variety == "head forms" and plain and depth == 1 < h:
        proof, k, q = "docs/transformers.md, Proposition 9", h * min(*d, b[1]), d[0] * (d[0] + 1) // 2
        want = [min(of_rank(d[1], d[0] * q, k), of_rank(d[0] * d[1], q, a[1] * k))]
    good = want and pieces == want and bound == sum(want)
    need(good, f"the pieces of {variety!a} must be {str(want)[:200]}, and the bound their sum, {sum(want)}")
    return f"{variety} ({proof})"


VARIETIES = frozenset({"virtual weights", "linear maps", "head forms"})
ROWS = (({"bound": COUNT, "variety": VARIETIES, "pieces": [range(-LONG, LONG)]}, prove),)
