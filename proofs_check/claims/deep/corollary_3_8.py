r"""Corollary 3.8, Eq. 14: dimension of the deep neuromanifold.

For bottleneck widths ($d_i = \delta$ for $0 < i < l$ and $d_0, d_l \ge \delta$), attention matrices of rank two or
more and $t \ge 2$, $\dim \mathcal M = \sum_i \alpha_i (2 d_{i-1} - \alpha_i) + \delta (d_0 + d_l - \delta) - l$.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import numpy as np

from lightning_sym import Architecture, Layer, certified_dimension
from lightning_sym.dimension.dimension_text import printed_formula as library_formula
from lightning_sym.exact.rational import rank
from lightning_sym.rings.arrays import ObjectArray
from proofs_check.blackboard import own_weights
from proofs_check.blackboard.step import Step, jacobian, must, rational, show, unit_directions
from proofs_check.certificates import itself_by_orbit, itself_if
from proofs_check.claim import (
    Claim,
    Formula,
    Part,
    Scope,
    WalkThrough,
    expect,
    expect_equal,
    expect_formula_by_orbit,
    expect_orbit,
    meeting_bounds,
)
from proofs_check.claims.deep.equation_9 import V1
from proofs_check.samples import random_bottlenecks


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


def holds_at_two_tokens(network: Architecture) -> bool:
    """Return the sharp condition for `t >= 2`: no attention matrix of rank two or more behind one of rank one."""
    alpha = [min(r, w) for r, w in zip(network.attention_ranks, network.widths, strict=False)]
    return 1 not in alpha or max(alpha[alpha.index(1) :]) == 1


def holds_at_one_token(network: Architecture) -> bool:
    """Return the sharp condition for `t = 1`: every attention matrix has rank one."""
    return all(min(r, w) == 1 for r, w in zip(network.attention_ranks, network.widths, strict=False))


def small_networks(*, quick: bool) -> Iterator[Architecture]:
    """Yield networks with equal inner widths, whether or not the other hypotheses hold."""
    sizes = (2, 3) if quick else (2, 3, 4)
    for depth in (2, 3) if quick else (2, 3, 4):
        for delta, extra_in, extra_out in product(sizes, (0, 1), (0, 2)):
            for ranks in product((1, 2, 3), repeat=depth):
                widths = (delta + extra_in, *(delta,) * (depth - 1), delta + extra_out)
                yield Architecture(widths, ranks, 2 + (sum(ranks) % 2))


def instances(*, quick: bool) -> Iterator[Architecture]:
    """Yield networks where the hypotheses hold.

    At the full size also random shapes with inner widths from five to eight.
    """
    yield from filter(hypotheses_hold, small_networks(quick=quick))
    if not quick:
        yield from random_bottlenecks(30, 20261121, inner=(5, 8), parameters=(1, 400), fits=hypotheses_hold)


def some_rank_one(*, quick: bool) -> Iterator[Architecture]:
    """Yield networks with bottleneck widths and two tokens: only the hypothesis on the ranks fails."""
    yield Architecture((4, 3, 3, 5), (2, 1, 1), 2)
    yield Architecture((2, 1, 1, 2), (2, 2, 1), 2)  # inner width one
    for network in small_networks(quick=quick):
        ranks = network.attention_ranks
        if 1 in ranks and max(ranks) <= 2 and (not quick or network.widths[0] == network.widths[1]):
            yield network


def one_token(*, quick: bool) -> Iterator[Architecture]:
    """Yield networks where only the hypothesis on the tokens fails, or that on the ranks as well."""
    for depth, delta in product((2, 3), (2, 3)):
        for ranks in product((1, 2, 3), repeat=depth):
            if depth == 2 or not quick or len(set(ranks)) == 1:
                yield Architecture((delta + 1, *(delta,) * depth), ranks, 1)


def holds_exactly_where(
    network: Architecture,
    condition: Callable[[Architecture], bool],
    finding: str,
    formula: Formula = printed_formula,
) -> str | None:
    """Check that Eq. 14 gives the certified dimension exactly where the condition holds, and too much elsewhere."""
    found = certified_dimension(network, all_bounds=True)
    value, stated = meeting_bounds(found.lower, found.upper, network), formula(network)
    if condition(network):
        expect_equal(value, stated, at=network)
        expect_orbit(found)
        return finding
    expect(value < stated, f"{network}: the dimension is {value}, Eq. 14 gives {stated} and should be too large")
    return None


rank_one = partial(
    holds_exactly_where,
    condition=holds_at_two_tokens,
    finding="alpha_i >= 2 is sufficient, not needed: for t >= 2 Eq. 14 holds exactly if no attention matrix of rank two"
    " or more stands behind one of rank one; elsewhere it is too large",
)
single_token = partial(
    holds_exactly_where,
    condition=holds_at_one_token,
    finding="t >= 2 is needed, except at rank one: for t = 1 Eq. 14 holds exactly if every alpha_i is 1; elsewhere it"
    " is too large",
)


def walk() -> Iterator[Step]:
    network = Architecture((2, 2, 2), (2, 2), 2)
    layers = [
        Layer(rational([[1, 0], [1, 1]]), rational([[1, 1], [0, 1]]), V1),
        Layer(rational([[1, 0], [0, 1]]), rational([[1, 2], [1, 1]]), rational([[1, 0], [1, 1]])),
    ]
    yield Step(
        "The network",
        rf"Two layers, all widths $2$, $a = 2$: {network.parameter_count} weights.",
        tuple(
            show(f"{letter}_{i}", m)
            for i, layer in enumerate(layers, 1)
            for letter, m in zip("QKV", layer, strict=True)
        ),
    )
    matrix, _ = jacobian(layers, [(i, slot) for i in range(2) for slot in ("query", "key", "value")])
    r = rank(matrix)
    found = certified_dimension(network)
    must(found.value == r, "the rank at these weights is the dimension")
    yield Step(
        "From below: the Jacobian",
        rf"Its function has degree $9$. The Jacobian of the coefficients, at exactly these weights, has "
        rf"{matrix.shape[0]} rows and {matrix.shape[1]} columns, too many for this board. Its rank is {r}. So at least "
        rf"{r} directions change the function.",
        (show(r"\operatorname{rk} J", r),),
    )
    lost = {"C_1": 4, "C_2": 4, "G": 4, r"\lambda": 2}
    moves = _symmetry_directions(layers)
    must(not (moves @ matrix).any(), "the symmetries do not move the function")
    must(rank(moves) == sum(lost.values()) == found.fiber_dimension, "the symmetries are independent")
    yield Step(
        "From above: the symmetries",
        r"Now count what cannot be seen. A basis change $C_i$ between queries and keys, in each layer: $4 + 4$. A "
        r"basis change between the layers: $4$. A rescaling in each layer: $2$. Their directions at our weights are "
        r"independent, rank "
        rf"${rank(moves)}$, and the Jacobian kills each. So at most ${network.parameter_count} - {rank(moves)} = "
        rf"{network.parameter_count - rank(moves)}$ directions can be seen.",
        (show(r"\dim \text{fiber}", rank(moves)),),
    )
    formula = library_formula(network)
    must(formula.value == r, "Eq. 14 gives the same")
    yield Step(
        "They meet",
        rf"Both bounds are ${r}$. Eq. 14 says $\sum_i \alpha_i (2 d_{{i-1}} - \alpha_i) + \delta (d_0 + d_l - \delta) "
        rf"- l = 4 + 4 + 4 - 2 = {formula.value}$.",
        (show(r"\dim \mathcal M", r),),
    )
    narrow = Architecture((2, 2, 2), (1, 2), 2)
    less, printed = certified_dimension(narrow), library_formula(narrow)
    must(less.value is not None and printed.value is not None and less.value < printed.value, "Eq. 14 is too large")
    yield Step(
        "A hypothesis at work",
        r"Eq. 14 asks for $a_i \ge 2$. Take $a_1 = 1$: behind a layer of rank one all tokens are multiples of one "
        r"vector, and of $A_2$ only the symmetric part is seen. The formula knows nothing of that and is too large.",
        (show(r"\text{Eq. 14}", printed.value or 0), show(r"\dim \mathcal M", less.value or 0)),
    )


def _symmetry_directions(layers: list[Layer[ObjectArray]]) -> ObjectArray:
    """Return tangent directions of the symmetries of a two-layer network at its weights, one a row, exact."""
    (q1, k1, v1), (q2, k2, v2) = layers
    zero = Layer(0 * q1, 0 * k1, 0 * v1), Layer(0 * q2, 0 * k2, 0 * v2)
    rows = []
    for e in unit_directions((2, 2)):
        rows.append((zero[0]._replace(key=e @ k1, query=-e.T @ q1), zero[1]))
        rows.append((zero[0], zero[1]._replace(key=e @ k2, query=-e.T @ q2)))
        rows.append((zero[0]._replace(value=e @ v1), Layer(-q2 @ e, -k2 @ e, -v2 @ e)))
    rows.append((zero[0]._replace(query=q1, value=-v1), zero[1]))
    rows.append((zero[0], zero[1]._replace(query=q2, value=-v2)))
    return np.array([[x for layer in row for m in layer for x in m.ravel()] for row in rows], dtype=object)


CLAIM = Claim(
    id="corollary-3.8",
    source="Corollary 3.8, Eq. 14",
    title=(
        "bottleneck widths, t >= 2, all alpha_i >= 2: dim = sum alpha_i (2 d_(i-1) - alpha_i) + delta (d_0 + "
        "d_l - delta) - l"
    ),
    statement=(
        r"t \ge 2,\ \alpha_i \ge 2,\ d_i = \delta\ (0 < i < l),\ d_0, d_l \ge \delta \;\Rightarrow\;"
        r"\dim \mathcal M = \sum_{i=1}^l \alpha_i (2 d_{i-1} - \alpha_i) + \delta (d_0 + d_l - \delta) - l"
    ),
    hypotheses=(
        r"Lightning attention, one head, no mask; $\alpha_i = \min(a_i, d_{i-1})$. Ranks one are allowed at $t \ge "
        "2$ if no rank of two or more stands behind one of them, and at $t = 1$ if all ranks are one. For all "
        "other shapes there is the claim dimension-all-widths."
    ),
    place=140,
    rests_on=("lemma-3.5", "theorem-3.7"),
    walk=WalkThrough(
        "The dimension for a deep network, bounded from below and from above.", walk, on=own_weights.count_dimensions
    ),
    parts=(
        Part(
            "the formula under its hypotheses",
            Scope.GENERIC,
            instances,
            partial(expect_formula_by_orbit, stated=printed_formula),
            {
                "without the rescalings": partial(
                    expect_formula_by_orbit, stated=lambda n: printed_formula(n) + n.depth
                ),
                "delta d_0 in place of delta (d_0 + d_l - delta)": partial(
                    expect_formula_by_orbit,
                    stated=lambda n: printed_formula(n) - n.widths[1] * (n.widths[-1] - n.widths[1]),
                ),
            },
            certifies=itself_by_orbit,
            at=itself_if(hypotheses_hold),
        ),
        Part(
            "t >= 2, some ranks one: the formula holds exactly if no rank >= 2 stands behind a rank one",
            Scope.GENERIC,
            some_rank_one,
            rank_one,
            {
                "exactly if alpha_1 >= 2": partial(rank_one, condition=lambda n: n.attention_ranks[0] >= 2),
                "never": partial(rank_one, condition=lambda n: False),
                "too large by more than one": partial(
                    rank_one, formula=lambda n: printed_formula(n) - (not holds_at_two_tokens(n))
                ),
            },
            certifies=itself_by_orbit,
        ),
        Part(
            "t = 1: the formula holds exactly if all ranks are one",
            Scope.GENERIC,
            one_token,
            single_token,
            {
                "as for two tokens": partial(single_token, condition=holds_at_two_tokens),
                "never": partial(single_token, condition=lambda n: False),
            },
            certifies=itself_by_orbit,
        ),
    ),
)
