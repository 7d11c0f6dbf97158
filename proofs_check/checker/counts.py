"""Upper bounds of dimensions by counts, for verify.py beside it: of varieties, and of spaces that hold all functions.

verify.py imports this file when it meets a bound of kind `factorization` or `span` (docs/certificate.md, section 2.2);
nothing else needs it. The theorems are taken as given, the numbers are computed anew."""

import itertools
import math
from typing import Any

from proofs_check.checker.verify import COUNT, LONG, Network, need, of_rank, take


def prove(net: Network, data: Any) -> str:
    """Say by which theorem the bound holds."""
    return (_factorization if data["kind"] == "factorization" else _span)(net, data)


def _factorization(net: Network, data: Any) -> str:
    """Count the dimension of a variety that maps onto the functions."""
    form = {"kind": str, "bound": COUNT, "variety": str, "pieces": [range(-LONG, LONG)]}
    _, bound, variety, pieces = take(data, "an upper bound", form)
    d, a, b, depth, h, n, m, want, proof = net.d, net.a, net.b, net.l, net.h, net.n, net.m, list[int](), ""
    plain, bare = not (net.normalized or net.ends), h == 1 and not (net.skip or net.ends or "O" in net.letters)
    if variety == "virtual weights" and bare and (net.normalized or not net.causal):
        proof, r, used = f"docs/upper-bound.md, Theorem {6 + net.normalized}", [*itertools.accumulate(d, min)], min(d)
        alpha = [0] + [min(a[i], r[i - 1]) for i in range(1, depth + 1)]
        free = depth if net.normalized else 0 if net.t == 1 else [*alpha[:-1], 1].index(1)  # others: symmetric parts
        for size, i in ((r[i - 1], i) for i in range(1, depth + 1)):
            k = min(size, 2 * alpha[i])
            want.append(of_rank(size, size, alpha[i]) if i <= free else k * size - k * (k - 1) // 2)
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
    need(good, f"the pieces of {variety[:40]!a} must be {str(want)[:200]}, and the bound their sum, {sum(want)}")
    return f"{variety} ({proof})"


def _span(net: Network, data: Any) -> str:
    """Count the dimension of a vector space that holds all functions."""
    bound, n, top = take(data, "an upper bound", {"kind": str, "bound": COUNT})[1], net.n, 3**net.l
    if n == 1 and (net.t == 1 or not net.causal):
        count = (top + 1) // 2 if net.skip else 1
    elif net.t == 1 and n * top <= 10**5:
        count = sum(math.comb(n + k - 1, k) for k in range(1 if net.skip else top, top + 1, 2))
    else:
        count = (n * n * (n + 1) // 2 + n * net.skip) if net.t > 1 == net.l else 0
    want = net.m * (count - n * (net.skip and not net.ends)) if count and not net.normalized else "of another kind"
    need(bound == want, f"the bound must be {want}, it is {bound}")
    return "the linear span (docs/transformers.md, Proposition 14)"
