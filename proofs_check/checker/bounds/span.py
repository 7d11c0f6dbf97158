"""Upper bounds of dimensions by that of a vector space that holds all functions (docs/certificate.md, section 2.2)."""

import math

from proofs_check.checker.verify import COUNT, Network, need


def prove(net: Network, bound: int) -> str:
    """Say by which theorem the bound holds."""
    n, top = net.n, 3**net.l
    if n == 1 and (net.t == 1 or not net.causal):
        count = (top + 1) // 2 if net.skip else 1
    elif net.t == 1 and n * top <= 10**5:
        count = sum(math.comb(n + k - 1, k) for k in range(1 if net.skip else top, top + 1, 2))
    else:
        count = (n * n * (n + 1) // 2 + n * net.skip) if net.t > 1 == net.l else 0
    want = net.m * (count - n * (net.skip and not net.ends)) if count and not net.normalized else "of another kind"
    need(bound == want, f"the bound must be {want}, it is {bound}")
    return "the linear span (docs/transformers.md, Proposition 14)"


ROWS = (({"bound": COUNT}, prove),)
