"""Upper bounds at one token or without mask: composition at a narrow place (docs/certificate.md, section 2.2)."""

import math

from proofs_check.checker.verify import COUNT, Network, need


def prove(net: Network, bound: int) -> str:
    """Say by which theorem the bound holds."""
    need(not net.skip and not net.normalized and net.l <= 8, "the bound must be of no skip")
    need(net.t == 1 or not net.causal, "the bound must be of one token, or of no mask")
    written = [min(d, net.h * b) for d, b in zip(net.d[1:], net.b[1:], strict=True)]
    n, m = min(net.n, net.d[0]), min(net.m, written[-1])
    need(max(n, *net.d) * 3**net.l <= 10**6, "the degrees must be smaller")

    def count(variables: int, layers: int) -> int:
        """Return how many coefficients one coordinate of what layers make of so many variables has."""
        top = 3**layers
        if net.t == 1:
            return math.comb(variables + top - 1, top)
        return variables * math.comb(variables * (variables + 1) // 2 + top // 2 - 1, top // 2)

    forms = [count(n, k) for k in range(net.l + 1)]
    found = []
    for seen in (m, net.m):  # coordinates of the output, of which the others are combinations
        best = seen * forms[-1]
        for k in range(1, net.l):
            d = written[k - 1]
            if d <= forms[k]:  # so general forms are independent, and no change of basis keeps them
                best = min(best, d * forms[k] + seen * count(d, net.l - k) - d * d)
        found.append(best + n * (net.n - n) + seen * (net.m - seen))
    want = min(found)
    need(bound == want, f"the bound must be {want}, it is {bound}")
    return "compositions at a narrow place (docs/deep-lightning.md, Proposition 5)"


ROWS = (({"bound": COUNT}, prove),)
