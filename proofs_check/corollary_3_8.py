r"""Corollary 3.8, Eq. 14: dimension of the deep neuromanifold.

For bottleneck widths ($d_i = \delta$ for $0 < i < l$ and $d_0, d_l \ge \delta$), attention matrices of rank two or
more and $t \ge 2$, $\dim \mathcal M = \sum_i \alpha_i (2 d_{i-1} - \alpha_i) + \delta (d_0 + d_l - \delta) - l$.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

from lightning_sym import Architecture, certified_dimension
from proofs_check.claim import Claim, Part, Refutation, Scope, expect_dimension

Formula = Callable[[Architecture], int]


def printed_formula(network: Architecture) -> int:
    d, a, depth = network.widths, network.attention_ranks, network.depth
    delta = d[1]
    total = delta * (d[0] + d[-1] - delta) - depth
    for i in range(depth):
        alpha = min(a[i], d[i])
        total += alpha * (2 * d[i] - alpha)
    return total


def hypotheses_hold(network: Architecture) -> bool:
    d, a = network.widths, network.attention_ranks
    delta = d[1]
    bottleneck = all(x == delta for x in d[1:-1]) and d[0] >= delta and d[-1] >= delta
    return bottleneck and network.tokens >= 2 and all(min(r, w) >= 2 for r, w in zip(a, d, strict=False))


def small_networks(quick: bool) -> Iterator[Architecture]:
    """Networks with equal inner widths, whether or not the other hypotheses hold."""
    sizes = (2, 3) if quick else (2, 3, 4)
    for depth in (2, 3) if quick else (2, 3, 4):
        for delta, extra_in, extra_out in product(sizes, (0, 1), (0, 2)):
            for ranks in product((1, 2, 3), repeat=depth):
                widths = (delta + extra_in, *(delta,) * (depth - 1), delta + extra_out)
                yield Architecture(widths, ranks, 2 + (sum(ranks) % 2))


def instances(quick: bool) -> Iterator[Architecture]:
    return filter(hypotheses_hold, small_networks(quick))


def check(network: Architecture, formula: Formula = printed_formula) -> None:
    expect_dimension(certified_dimension(network), formula(network))


def rank_one_first(quick: bool) -> Iterator[Architecture]:
    """One hypothesis fails: the first attention matrix has rank one, a later one does not."""
    return (n for n in small_networks(quick) if n.attention_ranks[0] == 1 and max(n.attention_ranks) > 1)


def too_large(network: Architecture, formula: Formula = printed_formula) -> str:
    found = certified_dimension(network)
    if found.upper >= formula(network):
        raise Refutation(f"{network}: at most {found.upper}, the formula gives {formula(network)}")
    return "the hypothesis alpha_1 >= 2 is needed: at a_1 = 1 with a later a_i >= 2 the formula is too large"


CLAIM = Claim(
    id="corollary-3.8",
    source="Corollary 3.8, Eq. 14",
    title="bottleneck widths: sum alpha_i (2 d_(i-1) - alpha_i) + delta (d_0 + d_l - delta) - l",
    statement=(
        r"t \ge 2,\ \alpha_i \ge 2,\ d_i = \delta\ (0 < i < l),\ d_0, d_l \ge \delta \;\Rightarrow\;"
        r"\dim \mathcal M = \sum_{i=1}^l \alpha_i (2 d_{i-1} - \alpha_i) + \delta (d_0 + d_l - \delta) - l"
    ),
    parts=(
        Part(
            "the formula under its hypotheses",
            Scope.GENERIC,
            instances,
            check,
            {
                "without the rescalings": partial(check, formula=lambda n: printed_formula(n) + n.depth),
                "delta d_0 in place of delta (d_0 + d_l - delta)": partial(
                    check,
                    formula=lambda n: printed_formula(n) - n.widths[1] * (n.widths[-1] - n.widths[1]),
                ),
            },
        ),
        Part(
            "too large when a_1 = 1 and a later a_i >= 2",
            Scope.GENERIC,
            rank_one_first,
            too_large,
            {"too large by more than one": partial(too_large, formula=lambda n: printed_formula(n) - 1)},
        ),
    ),
)
