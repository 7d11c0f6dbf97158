r"""Beyond the paper: the dimension for any widths, any query/key widths and any number of tokens.

With $r_i = \min(d_0, \dots, d_i)$ and $\alpha_i = \min(a_i, r_{i-1})$,
$\dim \mathcal M = \sum_i s_i + r_l (d_l + r_{l-1} - r_l) + \sum_{i=1}^{l-1} w_i (r_{i-1} - r_i) - l$. Here
$s_i = \alpha_i (2 r_{i-1} - \alpha_i)$, except where a layer counts only by its symmetric part (all layers if $t = 1$,
else those behind the first one with $\alpha = 1$): there $s_i = r(r+1)/2$ if $2 \alpha_i \ge r = r_{i-1}$ and
$2 \alpha_i r - 2 \alpha_i^2 + \alpha_i$ if not. $w_l = r_l$, $w_i = \min(r_i, w_{i+1} + 2 \alpha_{i+1})$.

The lower bound is a rank and knows no formula. The upper bound is that of an orbit of symmetries wherever this meets:
where no layer counts by its symmetric part only, each row space is used ($w_i = r_i$ or $r_{i-1} = r_i$), and each
inner width is a rank, $d_i = r_i$, or as large as all that reads it, $d_i \ge 2 a_{i+1} + d_{i+1}$. There the orbit is
asked for. Elsewhere the upper bound is the count of virtual weights (proof in `docs/upper-bound.md`), which is this
formula: for these networks, counted in the findings, the formula is confirmed by the rank alone to be reached.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import accumulate, pairwise

from lightning_sym import Architecture, certified_dimension
from lightning_sym.dimension.varieties import Piece, virtual_weight_variety
from proofs_check.blackboard.step import Shown, ShownMatrix, Step, must, show
from proofs_check.certificates import itself_if, of_network
from proofs_check.claim import (
    Certifiable,
    Claim,
    Formula,
    Kind,
    Part,
    Scope,
    WalkThrough,
    expect_dimension,
    expect_orbit,
)
from proofs_check.samples import Dice, distinct, every_network
from proofs_check.samples import random_networks as random_shapes

BY_ORBIT = Kind("a rank and an orbit of symmetries meet, neither of which contains the formula")
BY_COUNT = Kind("a rank meets the count of virtual weights, which contains the formula")


def rank_pattern(network: Architecture) -> tuple[list[int], list[int], list[bool]]:
    """Return `r_0, ..., r_l`; `alpha_1, ..., alpha_l`; by layer whether it enters by its symmetric part."""
    r = list(accumulate(network.widths, min))
    alpha = [min(a, size) for a, size in zip(network.attention_ranks, r, strict=False)]
    return r, alpha, [network.tokens == 1 or 1 in alpha[:i] for i in range(len(alpha))]


def variety_dimension(network: Architecture, *, symmetric_parts: bool = True, unused_parts: bool = True) -> int:
    """Return the dimension of flags and the matrices on them, minus the flags that share the same matrices."""
    r, alpha, symmetric = rank_pattern(network)
    drops = [before - after for before, after in pairwise(r)]
    flags = sum(r[i] * drops[i - 1] for i in range(1, network.depth))
    matrices = network.widths[-1] * r[-2]
    for size, a, by_symmetric_part in zip(r, alpha, symmetric, strict=False):
        if by_symmetric_part and symmetric_parts:
            rank = min(2 * a, size)
            matrices += rank * size - rank * (rank - 1) // 2
        else:
            matrices += a * (2 * size - a)
    used = r[-1]
    shared = 0
    for i in range(network.depth - 1, 0, -1):
        used = min(r[i], used + 2 * alpha[i])  # alpha[i] is that of layer i + 1
        shared += (r[i] - used) * drops[i - 1] if unused_parts else 0
    return flags + matrices - shared


def formula(
    network: Architecture, *, symmetric_parts: bool = True, unused_parts: bool = True, rescalings: bool = True
) -> int:
    counted = variety_dimension(network, symmetric_parts=symmetric_parts, unused_parts=unused_parts)
    return counted - network.depth if rescalings else counted


def random_networks(*, quick: bool, seed: int = 20261121) -> Iterator[Architecture]:
    """Yield 1,000 random networks at the quick size, 3,060 in full: up to four layers, sizes up to six, or eight."""

    def draw(dice: Dice) -> Architecture:
        depth = dice.number((1, 4))
        return Architecture(dice.numbers((1, 6), depth + 1), dice.numbers((1, 6), depth), dice.number((1, 4)))

    yield from distinct(draw, 1000 if quick else 3000, seed)
    if not quick:  # beyond the sizes where the formula was found
        yield from random_shapes(60, seed, depth=(1, 4), tokens=(1, 4), fits=lambda n: max(n.widths) > 6)


def small_networks(*, quick: bool) -> Iterator[Architecture]:
    """Return all networks with sizes up to two (quick) or three, up to three layers."""
    sizes = range(1, 3 if quick else 4)
    return every_network((1, 2) if quick else (1, 2, 3), sizes, sizes, (1, 2))


def orbit_meets(network: Architecture) -> bool:
    """Return whether the symmetries are all that the function does not see."""
    d, a, r = network.widths, network.attention_ranks, list(accumulate(network.widths, min))
    seen = all(d[i] == r[i] or d[i] >= 2 * a[i] + d[i + 1] for i in range(1, network.depth))  # a[i] is a_{i+1}
    counted = formula(network)
    return seen and counted == formula(network, symmetric_parts=False) == formula(network, unused_parts=False)


def expect_by_orbit(network: Architecture, stated: int) -> Kind:
    """Return the dimension, with an orbit as upper bound where one must meet; which bound it was."""
    by_orbit = orbit_meets(network)
    found = certified_dimension(network, all_bounds=by_orbit)
    expect_dimension(found, stated)
    if by_orbit:
        expect_orbit(found)
    return BY_ORBIT if by_orbit else BY_COUNT


def by_its_bounds(network: Architecture) -> Iterator[Certifiable]:
    yield of_network(network, all_bounds=orbit_meets(network))


def check(network: Architecture, stated: Formula = formula) -> Kind:
    return expect_by_orbit(network, stated(network))


MUTANTS = {
    "no layer by its symmetric part only": partial(check, stated=partial(formula, symmetric_parts=False)),
    "without the rescalings": partial(check, stated=partial(formula, rescalings=False)),
}


def walk() -> Iterator[Step]:
    network = Architecture((3, 2, 1), (2, 2), 2)
    pieces = virtual_weight_variety(network).pieces
    upper = virtual_weight_variety(network).dimension
    yield Step(
        "A network that narrows",
        rf"Widths $3, 2, 1$ with $a = 2$. It has {network.parameter_count} weights. The function knows only the "
        rf"virtual weights: "
        r"$\tilde A_1$, $\tilde A_2 = V_1^\top A_2 V_1$ and $\tilde V = V_2 V_1$, all matrices on the input space of "
        r"dimension $3$.",
    )
    yield Step(
        "Count the virtual weights",
        r"$V_1$ is $2 \times 3$, so behind it the network lives on a plane $F_1$. First count the matrices on nested "
        r"subspaces, then how the subspaces can lie in each other. Each rescaling takes one away. The sum bounds the "
        r"dimension from above.",
        (_counts(pieces, upper),),
    )
    found = certified_dimension(network)
    must(found.value == found.lower == upper, "the bounds meet")
    yield Step(
        "Count from below",
        rf"The Jacobian at integer weights has rank {found.lower} modulo the prime ${found.prime}$. A rank modulo a "
        rf"prime can only "
        r"be too small. So the dimension is at least that; the two numbers meet, and the dimension is proved.",
        (show(r"\text{lower}", found.lower), show(r"\text{upper}", upper),
         show(r"\dim \mathcal M", upper)),
    )  # fmt: skip
    narrow = Architecture((3, 2, 1), (1, 2), 2)
    less = certified_dimension(narrow)
    must(less.value == virtual_weight_variety(narrow).dimension, "the bounds meet again")
    yield Step(
        "Rank one in front",
        r"With $a_1 = 1$ the first layer writes multiples of one vector. The second layer is then seen by its "
        r"symmetric part only, and the count changes by itself:",
        (
            _counts(virtual_weight_variety(narrow).pieces, less.value),
            show(r"\dim \mathcal M", less.value or 0),
        ),
    )


def _counts(pieces: Sequence[Piece], total: int | None) -> Shown:
    """Return a dimension count as a column with names."""
    counted = [piece for piece in pieces if piece.dimension]
    must(sum(piece.dimension for piece in counted) == total, "the pieces add up")

    def in_latex(name: str) -> str:
        name = re.sub(r"([AV])~(\w?)", lambda m: rf"}}\tilde {m[1]}" + (f"_{m[2]}" if m[2] else "") + r"\text{", name)
        name = re.sub(r"\bF(\d)", r"}F_\1\\text{", name)
        return rf"\text{{{name}}}".replace("<=", r"}\le\text{")

    rows = tuple((Fraction(n),) for n in [*(piece.dimension for piece in counted), total or 0])
    return Shown("", ShownMatrix(rows, (*(in_latex(piece.name) for piece in counted), r"\text{sum}")))


CLAIM = Claim(
    id="dimension-all-widths",
    source="beyond the paper",
    title="the dimension for any widths, ranks and tokens",
    statement=(
        r"\begin{aligned} \dim \mathcal M &= \sum_{i=1}^l s_i + r_l (d_l + r_{l-1} - r_l)"
        r" + \sum_{i=1}^{l-1} w_i (r_{i-1} - r_i) - l, \\"
        r" r_i &= \min(d_0, \dots, d_i),\quad \alpha_i = \min(a_i, r_{i-1}),"
        r"\quad \rho_i = \min(2 \alpha_i, r_{i-1}), \\"
        r" w_l &= r_l,\quad w_i = \min(r_i, w_{i+1} + 2 \alpha_{i+1}), \\"
        r" s_i &= \begin{cases} \rho_i r_{i-1} - \tfrac12 \rho_i (\rho_i - 1)"
        r" & \text{if } t = 1 \text{ or } \alpha_j = 1 \text{ for some } j < i \\"
        r" \alpha_i (2 r_{i-1} - \alpha_i) & \text{else} \end{cases} \end{aligned}"
    ),
    hypotheses=(
        "Lightning attention, one head, no mask, no skip connection, no embedding; every $l$, $t$, $a_i$ and all "
        "widths. Proved (docs/every-width.md, Theorem 2)."
    ),
    place=270,
    rests_on=("theorem-3.7", "equation-9"),
    walk=WalkThrough("The dimension for any widths: count a variety, and meet it from below.", walk),
    parts=(
        Part(
            "seeded random architectures",
            Scope.GENERIC,
            random_networks,
            check,
            {
                **MUTANTS,
                "all of each row space counted": partial(check, stated=partial(formula, unused_parts=False)),
            },
            certifies=by_its_bounds,
        ),
        Part(
            "every architecture of small sizes",
            Scope.GENERIC,
            small_networks,
            check,
            MUTANTS,
            certifies=by_its_bounds,
            at=itself_if(lambda network: True),
        ),
    ),
)
