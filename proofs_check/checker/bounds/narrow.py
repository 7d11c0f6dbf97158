"""Upper bounds at one token: functions are composed at a narrow place (docs/certificate.md, section 2.2)."""

import math

from proofs_check.checker.verify import COUNT, Network, need


def prove(net: Network, bound: int) -> str:
    """Say by which theorem the bound holds."""
    need(net.t == 1 and not net.skip and not net.normalized and net.l <= 8, "the bound must be of one token, no skip")
    n, m = min(net.n, net.d[0]), min(net.m, net.d[-1])
    need(max(n, *net.d) * 3**net.l <= 10**6, "the degrees must be smaller")
    forms = [math.comb(n + 3**k - 1, 3**k) for k in range(net.l + 1)]
    best = m * forms[-1]
    for k in range(1, net.l):
        d, degree = net.d[k], 3 ** (net.l - k)
        if d <= forms[k]:  # so general forms are independent, and no change of basis keeps them
            best = min(best, d * forms[k] + m * math.comb(d + degree - 1, degree) - d * d)
    want = best + n * (net.n - n) + m * (net.m - m)
    need(bound == want, f"the bound must be {want}, it is {bound}")
    return "compositions at a narrow place (docs/deep-lightning.md, Proposition 5)"


ROWS = (({"bound": COUNT}, prove),)
