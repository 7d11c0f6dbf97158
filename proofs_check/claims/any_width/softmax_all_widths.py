r"""Beyond the paper: the dimension of every softmax network with one head, any widths, ranks and tokens.

With $r_i = \min(d_0, \dots, d_i)$, $\alpha_i = \min(a_i, r_{i-1})$, $w_l = r_l$ and $w_i = \min(r_i, w_{i+1} + 2
\alpha_{i+1})$: for $t \ge 2$, masked or not,
$\dim \mathcal M = \sum_i \alpha_i (2 r_{i-1} - \alpha_i) + r_l (d_l + r_{l-1} - r_l) + \sum_{i=1}^{l-1} w_i (r_{i-1} -
r_i)$, the count for lightning networks without its $- l$, and no layer ever counts by its symmetric part only. For
$t = 1$ the function is a linear map, and $\dim \mathcal M = r_l (d_0 + d_l - r_l)$.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from lightning_sym import SOFTMAX, Architecture, certified_dimension
from lightning_sym.network.pieces import SCORES
from proofs_check.blackboard.step import Step, must, number, rational, table
from proofs_check.certificates import itself_by_orbit, itself_if
from proofs_check.claim import Claim, Part, Scope, WalkThrough, expect_formula_by_orbit
from proofs_check.claims.any_width.dimension_all_widths import formula as lightning_formula
from proofs_check.samples import Dice, distinct, every_network
from proofs_check.samples import random_networks as random_shapes


def formula(
    network: Architecture, *, rescalings: bool = False, symmetric_parts: bool = False, one_token: bool = True
) -> int:
    """Return the count for lightning networks, with no rescalings and no layer by its symmetric part."""
    if network.tokens == 1 and one_token:
        r = min(network.widths)
        return r * (network.widths[0] + network.widths[-1] - r)
    return lightning_formula(network, rescalings=rescalings, symmetric_parts=symmetric_parts)


def hypotheses_hold(network: Architecture) -> bool:
    return network.normalization is SOFTMAX and network.heads == 1 and not network.skip


def random_networks(*, quick: bool, seed: int = 20261121) -> Iterator[Architecture]:
    """Yield 300 random networks at the quick size, 560 in full, up to three layers; half of them causal."""

    def draw(dice: Dice) -> Architecture:
        depth, sizes = dice.one_of((0.55, 0.43, 0.02) if quick else (0.3, 0.4, 0.3)), (1, 3 if quick else 5)
        widths, ranks = dice.numbers(sizes, depth + 1), dice.numbers(sizes, depth)
        t, causal = dice.number((1, 3)), bool(dice.number((0, 1)))
        return Architecture(widths, ranks, t, normalization=SOFTMAX, causal=causal)

    yield from distinct(draw, 300 if quick else 500, seed)
    if not quick:  # beyond the sizes where the formula was found
        for causal in (False, True):
            yield from random_shapes(
                30, seed, depth=(1, 3), tokens=(1, 4), fits=lambda n: max(n.widths) > 6, normalization=SOFTMAX,
                causal=causal,
            )  # fmt: skip


def small_networks(*, quick: bool) -> Iterator[Architecture]:
    """Yield all networks with sizes up to two (quick) or three, one and two layers, masked and not."""
    sizes = range(1, 3 if quick else 4)
    for causal in (False,) if quick else (False, True):
        yield from every_network((1, 2), sizes, sizes, (1, 2), normalization=SOFTMAX, causal=causal)


MUTANTS = {
    "with the rescalings of lightning networks": partial(
        expect_formula_by_orbit, stated=partial(formula, rescalings=True)
    ),
    "symmetric parts behind rank one": partial(expect_formula_by_orbit, stated=partial(formula, symmetric_parts=True)),
    "one token as two": partial(expect_formula_by_orbit, stated=partial(formula, one_token=False)),
}


def walk() -> Iterator[Step]:
    network = Architecture((2, 2, 2), (1, 2), 2)
    lightning, masked = (certified_dimension(n).value or 0 for n in (network, replace(network, causal=True)))
    softmax = certified_dimension(replace(network, normalization=SOFTMAX)).value or 0
    must((lightning, masked, softmax) == (8, 9, 11), "the three counts")
    yield Step(
        "Rank one in front",
        r"Widths $2, 2, 2$ with ranks $1, 2$. Behind a lightning layer of rank one, the second layer is seen by its "
        r"symmetric part only. With a causal mask it is seen in full, which is one more. Softmax has no rescalings "
        r"either, which are two more.",
        (
            table(
                r"\dim \mathcal M",
                rational([[lightning], [masked], [softmax]]),
                [r"\text{lightning}", r"\text{lightning, causal}", r"\text{softmax}"],
            ),
        ),
    )
    narrow = Architecture((3, 2, 1), (2, 2), 2, normalization=SOFTMAX)
    plain, same = (certified_dimension(n).value or 0 for n in (narrow, replace(narrow, normalization=None)))
    must(plain == same + narrow.depth, "softmax has one more for each layer")
    yield Step(
        "A network that narrows",
        r"Widths $3, 2, 1$ with $a = 2$. What counts is the same as for lightning; only the rescalings, one for each "
        r"of "
        r"the two layers, are not taken away.",
        (number("lightning", same), number("softmax", plain)),
    )
    token = certified_dimension(replace(narrow, tokens=1)).value or 0
    must(token == 3, "a linear form")
    yield Step(
        "One token",
        r"A single token attends to itself with weight one. The function is $V_2 V_1 x$, one row of three numbers.",
        (number("dimension", token),),
    )


CLAIM = Claim(
    id="softmax-all-widths",
    source="beyond the paper",
    title="softmax, one head: the dimension for any widths, ranks and tokens, causal or not",
    statement=(
        r"\dim \mathcal M = \sum_i \alpha_i (2 r_{i-1} - \alpha_i) + r_l (d_l + r_{l-1} - r_l) + \sum_{i=1}^{l-1} w_i"
        r" (r_{i-1} - r_i)\ (t \ge 2),\quad r_l (d_0 + d_l - r_l)\ (t = 1),\quad r_i = \min(d_0, \dots, d_i)"
    ),
    hypotheses=(
        r"One head, no skip connection, no embedding; $\alpha_i = \min(a_i, r_{i-1})$, $w_l = r_l$, $w_i = "
        r"\min(r_i, w_{i+1} + 2 \alpha_{i+1})$. Proved for every size (docs/softmax-fibers.md, Corollary 2 and the "
        "end of section 4)."
    ),
    place=330,
    rests_on=("free-exponentials", "softmax-fibers"),
    walk=WalkThrough("What softmax sees more than lightning, at any widths.", walk),
    parts=(
        Part(
            "seeded random architectures",
            Scope.GENERIC,
            lambda quick: filter(hypotheses_hold, random_networks(quick=quick)),
            partial(expect_formula_by_orbit, stated=formula),
            MUTANTS,
            certifies=itself_by_orbit,
        ),
        Part(
            "every architecture of small sizes",
            Scope.GENERIC,
            small_networks,
            partial(expect_formula_by_orbit, stated=formula),
            MUTANTS,
            certifies=itself_by_orbit,
            at=itself_if(hypotheses_hold, SCORES),
        ),
    ),
)
