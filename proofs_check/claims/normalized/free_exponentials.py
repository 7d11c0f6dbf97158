r"""Beyond the paper: the exponentials of the scores of a softmax network are variables of their own.

As functions of weights and inputs they are algebraically independent over the rational functions, except that equal
scores have equal exponentials; scores $s_{jk} = s_{kj}$ are equal where all columns that a layer reads are multiples of
one vector and nothing is masked (`docs/transformers.md`, Theorem A). By Ax's theorem this is so if the scores are
linearly independent over the rationals as rational functions of weights, inputs and variables in the place of
exponentials, which is shown here for each network by a rank modulo a prime. What follows is the dimension of softmax
networks without Taylor series: exponentials are drawn like weights. Both roads must lead to the same rank.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import accumulate, product

import numpy as np
import numpy.typing as npt

from lightning_sym import SOFTMAX, Architecture, certified_dimension
from lightning_sym.errors import proved_to_be
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.network.attention import Form, attended, network_output
from lightning_sym.network.jacobian import RandomJacobian
from lightning_sym.rings.derivatives import Recorded
from lightning_sym.rings.free_exponentials import FreeExponentials
from lightning_sym.rings.prime_field import PRIMES, random_residues
from proofs_check.blackboard.step import BOARD, INPUT, Step, must, rational, show
from proofs_check.certificates import itself
from proofs_check.claim import Claim, Formula, Part, Scope, WalkThrough, expect, meeting_bounds

PRIME = PRIMES[0]

LONGEST = 200
"""Degree of the longest Taylor series that are tried."""


def scores_at(network: Architecture, points: int) -> npt.NDArray[np.int64]:
    """Return all scores that are not masked, one column each, at random weights, inputs and exponentials."""
    rng = np.random.default_rng(points)
    seen = attended(network)
    exponentials, columns = FreeExponentials(rng, seen, PRIME), list[npt.NDArray[np.int64]]()

    def pattern(scores: Recorded) -> Recorded:
        columns.append(scores.value.residues()[:, seen > 0])
        return exponentials(scores)

    # at other weights each time: for given ones scores do depend on each other
    weights = [Recorded(random_residues(rng, (points, *shape), PRIME)) for _, shape in network.weight_shapes()]
    x = random_residues(rng, (points, network.input_width, network.tokens), PRIME)
    network_output(Recorded(x, constant=True), network, weights, Form(pattern, network.skip))
    return np.concatenate(columns, axis=1)


def written(network: Architecture) -> list[int]:
    """Return for each layer the dimension of the space of the columns that it reads, at generic weights."""
    inside = network.value_ranks or network.widths
    return list(
        accumulate(
            zip(network.widths[1:-1], inside[:-1], strict=False),
            lambda f, size: min(size[0], network.skip * f + network.heads * min(size[1], f)),
            initial=min(network.input_width, network.widths[0]),
        )
    )


def different_scores(network: Architecture, *, equal: bool = True) -> int:
    """Return how many scores there are, equal ones counted once."""
    t = network.tokens
    half = t * (t + 1) // 2
    return sum(network.heads * (half if network.causal or (equal and f == 1) else t * t) for f in written(network))


def networks(*, quick: bool) -> Iterator[Architecture]:
    """Yield all options mixed; streams of rank one, also such that later layers widen again."""
    seen = set[Architecture]()
    for widths, heads, skip, causal, embed in product(
        ((2, 2), (3, 2, 2), (2, 1, 2), (1, 2, 2), (2, 2, 1, 2)), (1, 2), (False, True), (False, True), (None, 1, 2)
    ):
        if skip and len(set(widths)) > 1:
            widths = (2,) * len(widths)
        depth = len(widths) - 1
        for tokens in (1, 2, 3) if not quick else (2, 3) if depth < 3 else ():
            ranks = tuple(1 + (i + tokens) % 2 for i in range(depth))
            if not quick or (heads + depth + tokens + causal) % 3 == 0:
                inside = tuple(1 + i % 2 for i in range(depth)) if causal or heads == 2 else None
                network = Architecture(widths, ranks, tokens, SOFTMAX, heads, inside, skip, causal, embed)
                if network not in seen:
                    seen.add(network)
                    yield network


def independent(network: Architecture, count: Formula = different_scores) -> str | None:
    """Return a finding, if any: as many scores are linearly independent as there are different ones.

    These are no fewer than the rank.
    """
    stated, different = count(network), different_scores(network)
    found = rank_mod_p(scores_at(network, different + 16), PRIME)
    expect(found <= stated, f"{network}: {found} scores are linearly independent, stated {stated}")
    expect(
        stated <= different,
        f"{network}: no more than {different} scores are different, stated {stated} independent ones",
    )
    meeting_bounds(found, different, network)
    if different < different_scores(network, equal=False):
        return "equal scores s_jk = s_kj have equal exponentials: they occur where a stream has rank one, unmasked"
    return None


def rank_by_series(network: Architecture, enough: int) -> int:
    """Return the rank of Taylor series of growing degree, until it is large enough or they are long."""
    rank, order = 0, 2 * 3 ** (network.depth - 1) + 1
    while rank < enough and order <= LONGEST:
        jacobian = RandomJacobian(network, np.random.default_rng(order), PRIME, order=order)
        rank = max(rank, rank_mod_p(jacobian.rows(2 * enough + 16), PRIME))
        order = 2 * order + 1
    return rank


def two_roads(network: Architecture, lost: int = 0) -> None:
    """Check that Taylor series reach the rank at free exponentials.

    An upper bound says that no rank is larger there.
    """
    certified = certified_dimension(network)
    found = meeting_bounds(certified.lower, certified.upper, network)
    by_series = rank_by_series(network, found)
    expect(by_series <= found - lost, f"{network}: rank {by_series} by Taylor series, stated {found - lost}")
    meeting_bounds(by_series, found, network)


def walk() -> Iterator[Step]:
    from lightning_sym.exact.modular import rank_mod_p
    from lightning_sym.network.jacobian import RandomJacobian
    from lightning_sym.rings.prime_field import PRIMES
    from proofs_check.claims.normalized.free_exponentials import different_scores, rank_by_series

    attention = rational([[1, 2], [3, 1]])
    scores = INPUT.T @ BOARD.constants(attention) @ INPUT
    must(scores[0, 1] != scores[1, 0], "the scores are different")
    yield Step(
        "What is not rational in softmax",
        r"Everything in a softmax layer is rational in weights and inputs, except the exponentials of the scores. Here "
        r"are the scores of two tokens, $(x, y)$ and $(r, s)$. No combination of these four polynomials and the "
        r"coordinates, but zero, is constant. Then, says a theorem of Ax, no polynomial relation holds between "
        r"coordinates and exponentials: the four are variables of their own.",
        (show("A", attention), show(r"X^\top A X", scores)),
    )
    narrow = Architecture((2, 1, 2), (2, 2), tokens=2, normalization=SOFTMAX)
    row = INPUT[:1]
    equal = row.T @ row
    must((equal == equal.T).all(), "these scores are symmetric")
    must(different_scores(narrow) == 4 + 3, "seven different scores")
    yield Step(
        "Equal scores",
        r"Behind a width of one all tokens are multiples of one vector, and scores are products of two numbers: those "
        r"off the diagonal are the same, and share one exponential. Widths $2, 1, 2$ have $4 + 3$ different scores.",
        (show(r"\text{scores behind a width of one}", equal),),
    )
    network, p = Architecture((2, 2), (1,), tokens=2, normalization=SOFTMAX), PRIMES[0]
    jacobian = RandomJacobian(network, np.random.default_rng(0), p)
    sample = jacobian.sample(network.parameter_count)
    drawn = proved_to_be(sample.exponentials, "softmax has exponentials")[0, 0]
    must((drawn.sum(axis=0) % p == 1).all(), "columns add up to one")
    yield Step(
        "Draw them",
        rf"So modulo $p = {p}$ the exponentials may be any residues, like weights and inputs. A factor common to a "
        r"column cancels, so let columns add up to one modulo $p$: this is the pattern itself. The derivative of an "
        r"exponential is still itself times that of its score.",
        (show("E", rational(drawn.tolist())),),
    )
    rank = rank_mod_p(sample.rows, p)
    by_series = rank_by_series(network, rank)
    must(rank == by_series == certified_dimension(network).value, "both roads, and the dimension")
    yield Step(
        "Count",
        r"One layer of width two, $a = 1$, two tokens: the rank of the Jacobian with such exponentials modulo $p$ is a "
        r"lower bound for the dimension. It is the rank that Taylor series lead to, but no series was needed: softmax "
        r"costs what lightning costs, at any depth.",
        (show(r"\text{drawn}", rank), show(r"\text{by Taylor series}", by_series)),
    )


CLAIM = Claim(
    id="free-exponentials",
    source="beyond the paper; docs/transformers.md",
    title=(
        "softmax: exponentials of scores, of equal scores one, are algebraically independent over the "
        "rational functions"
    ),
    statement=(
        r"\{\exp s\}\ \text{algebraically independent over}\ \mathbb{C}(W, X),\quad"
        r" s = X_j^{\top} K^{\top} Q X_k\ \text{over all layers, heads and}\ (j, k),\ \text{equal scores once}"
    ),
    hypotheses=(
        "Every depth, all widths, any heads, without mask or causal, with skip connections and embeddings or "
        "without (docs/transformers.md, Theorem A). Scores $s_{jk}$ and $s_{kj}$ are equal where nothing is masked "
        "and all columns that the layer reads are multiples of one vector; $X_j$ are the columns that it reads."
    ),
    place=290,
    rests_on=("definition-1",),
    walk=WalkThrough("Why the exponentials in softmax may be any numbers.", walk),
    parts=(
        Part(
            "scores are linearly independent over the rationals",
            Scope.GENERIC,
            networks,
            independent,
            {
                "equal scores too": partial(independent, count=partial(different_scores, equal=False)),
                "half of them, as if all were symmetric": partial(
                    independent,
                    count=lambda network: network.depth * network.heads * network.tokens * (network.tokens + 1) // 2,
                ),
            },
        ),
        Part(
            "the same rank as by Taylor series",
            Scope.GENERIC,
            lambda quick: (n for n in networks(quick=quick) if n.depth < 3),
            two_roads,
            {"one dimension less by Taylor series": partial(two_roads, lost=1)},
            certifies=itself,
        ),
    ),
)
