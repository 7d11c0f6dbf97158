r"""Beyond the paper: the dimension for every width, as a theorem.

With $r_i = \min(d_0, \dots, d_i)$ and $\alpha_i = \min(a_i, r_{i-1})$ let $\mathcal Z$ be the variety of virtual
weights: $\tilde A_i \in F_{i-1} \otimes F_{i-1}$ of rank at most $\alpha_i$ and $\tilde V$ with rows in $F_{l-1}$, for
a flag $F_0 \supseteq \dots \supseteq F_{l-1}$ with $\dim F_i = r_i$; the $\tilde A_i$ enter by their symmetric parts
if $t = 1$, or behind the first layer with $\alpha = 1$. Then $\dim \mathcal M = \dim \mathcal Z - l$.

Proof in `docs/every-width.md`. Two roads lead there. For $l \le 5$: the statement for $d_0 = 2$, $d_l = 1$, where
finitely many patterns of $(r_i)$ and $(\alpha_i)$ exist, implies it for all widths and ranks with those patterns, by
restricting inputs to pairs of coordinates (Theorem 1); the patterns are the instances below. For every $l$: the
identities of `every_width_kernel` (Theorem 2).

That $\dim \mathcal M \le \dim \mathcal Z - l$ is proved in `docs/upper-bound.md`: the upper bound is the count that the
statement is about, and what is checked is that ranks reach it. Where an orbit of symmetries gives the same bound
(`orbit_meets`) it is asked for as well; the findings count the patterns of both kinds. So with Lemma 1: its upper bound
is the count as the library has it, its lower bound a rank.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import combinations, product

import numpy as np

from lightning_sym import Architecture, Layer, virtual_weights
from lightning_sym.dimension.varieties import virtual_weight_variety
from lightning_sym.exact.krylov import LARGEST, rank_at_least
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.exact.rational import null_space
from lightning_sym.network.jacobian import random_layers
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.derivatives import Recorded, gradients
from lightning_sym.rings.polynomials import PolynomialRing
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix, random_residues
from proofs_check.blackboard.step import Step, identity, jacobian, layer_of, must, rational, show, tokens_of
from proofs_check.claim import Claim, Formula, Kind, Part, ProvedBounds, Scope, WalkThrough, expect_value
from proofs_check.claims.any_width.dimension_all_widths import expect_by_orbit, rank_pattern, variety_dimension
from proofs_check.claims.any_width.every_width_kernel import (
    depths_and_widths,
    dominance,
    larger_kernel,
    positive,
    second_token,
)
from proofs_check.claims.deep.equation_9 import A1, A2


def all_virtual_weights(network: Architecture) -> int:
    """Return the `A~_i` and `V~` without any condition."""
    return network.depth * network.widths[0] ** 2 + network.widths[-1] * network.widths[0]


def patterns(tokens: int, *, quick: bool) -> Iterator[Architecture]:
    """Yield every `(r_i)` and `(alpha_i)` at `d_0 = 2`, `d_l = 1`, one to five layers, at the quick size too."""
    for depth in range(1, 6):
        for wide in range(1, depth + 1):  # r_i = 2 for i < wide, and 1 from there on
            widths = (2,) * wide + (1,) * (depth + 1 - wide)
            for ranks in product((1, 2), repeat=wide):
                if tokens == 1 and 1 in ranks:  # all symmetric 2 x 2 matrices, whether alpha is 1 or 2
                    continue
                yield Architecture(widths, ranks + (1,) * (depth - wide), tokens)


def kernel_is_rescalings(network: Architecture, count: Formula = variety_dimension, rescalings: int = 1) -> Kind:
    return expect_by_orbit(network, count(network) - rescalings * network.depth)


def random_networks(*, quick: bool, seed: int = 48) -> Iterator[Architecture]:
    generator = np.random.default_rng(seed)
    for _ in range(60 if quick else 400):
        depth = int(generator.integers(1, 6))
        widths = [int(x) for x in generator.integers(1, 8, size=depth + 1)]
        if generator.integers(2):
            widths.sort(reverse=True)  # narrowing at every layer, which random widths seldom do
        ranks = tuple(int(x) for x in generator.integers(1, 4, size=depth))
        yield Architecture(tuple(widths), ranks, int(generator.integers(1, 3)))


def virtual_weight_rank(network: Architecture, rows: int, p: int = PRIMES[0]) -> int:
    """Return the rank modulo `p`, or a lower bound, of the differential, at a point, of weights to virtual weights.

    Rows are gradients of random functionals `sum_i u_i^T A~_i w_i + u^T V~ w`; with `w_i = u_i` where only the
    symmetric part counts.
    """
    generator = np.random.default_rng(network.parameter_count)
    layers = [Layer(*map(Recorded, layer)) for layer in random_layers(network, generator, p)]
    attention, value = virtual_weights(layers)
    _, _, symmetric = rank_pattern(network)

    def batch(size: int) -> Recorded:
        return Recorded(random_residues(generator, (rows, size, 1), p))

    total = batch(network.widths[-1]).mT @ value @ batch(network.widths[0])
    for matrix, by_symmetric_part in zip(attention, symmetric, strict=True):
        u = batch(network.widths[0])
        total = total + u.mT @ matrix @ (u if by_symmetric_part else batch(network.widths[0]))
    one = random_residues(generator, (1, 1), p)
    found = gradients([total], [one], [weight for layer in layers for weight in layer])
    matrix = PrimeFieldMatrix(np.concatenate([g.entries.reshape(rows, -1) for g in found], axis=1), p)
    return rank_at_least(matrix) if rows <= LARGEST else rank_mod_p(matrix.entries, p)


def count_of_the_variety(network: Architecture, count: Formula = variety_dimension) -> None:
    stated, upper = count(network), virtual_weight_variety(network).dimension + network.depth
    lower = virtual_weight_rank(network, upper + 8)
    expect_value(ProvedBounds(lower, upper), stated, at=f"{network}, dimension of the variety of virtual weights")


def walk() -> Iterator[Step]:
    shown, counts = [], []
    layers: list[Layer[ObjectArray]] = []
    for depth in (1, 2, 3):
        layers = [layer_of(a, identity(2)) for a in (A1, A2, A1 + A2)[: depth - 1]]
        layers.append(layer_of((A1, A2, A1 + A2)[depth - 1], rational([[1, 2]])))
        matrix, _ = jacobian(layers, [*((i, "query") for i in range(depth)), (depth - 1, "value")])
        counts.append(len(null_space(matrix.T)))
        shown.append(show(rf"\dim \ker, \; l = {depth}", counts[-1]))
    must(counts == [1, 2, 3], "the kernel has one dimension a layer")
    yield Step(
        "Width two, by computation",
        r"In virtual weights and with $d_0 = 2$, $d' = 1$, compute the kernel of the Jacobian at one point of full "
        r"rank. One dimension a layer: these are the rescalings, and nothing else.",
        tuple(shown),
    )
    ring = PolynomialRing(["x_1", "y_1", "z_1", "x_2", "y_2", "z_2"])
    tokens = tokens_of(ring)
    attention, value = rational([[1, 2, 0], [1, 1, 1], [0, 1, 3]]), rational([[1, 2, 1]])
    matrix, _ = jacobian([layer_of(attention, value)], [(0, "query"), (0, "value")], tokens, ring)
    kernel = null_space(matrix.T)
    must(len(kernel) == 1, "the kernel at width three has dimension one")
    vector = rational(kernel[0])
    vector = vector * (attention[0, 0] / vector[0])
    moved_a, moved_v = vector[:9].reshape(3, 3), vector[9:].reshape(1, 3)
    yield Step(
        "Width three, by reasoning",
        r"Let $(\dot A, \dot V)$ be a lost direction at $d_0 = 3$. Feed only tokens from the plane of two coordinates, "
        r"$e_k$ and $e_{k'}$. The network then sees the $2 \times 2$ block of $A$ and two entries of $V$. So the block "
        r"of the direction is lost at width two, and there it is a rescaling: $\dot A = c A$, $\dot V = -c V$ on the "
        r"block.",
        (show("A", attention), show("V", value)),
    )
    blocks = []
    for pair in combinations(range(3), 2):
        block, small = attention[np.ix_(pair, pair)], moved_a[np.ix_(pair, pair)]
        c = small[0, 0] / block[0, 0]
        must((small == c * block).all() and (moved_v[:, pair] == -c * value[:, pair]).all(), "each block is rescaled")
        k, m = (i + 1 for i in pair)
        blocks += [show(rf"\text{{block }} \{{{k}, {m}\}}", block), show(rf"c_{{{k}{m}}}", c)]
    yield Step(
        "Glue",
        r"There is one scalar for each pair. The blocks of $\{1, 2\}$ and $\{1, 3\}$ share the entry $a_{11}$, so "
        r"their scalars are equal; and so on. One scalar for all: the direction is the rescaling.",
        tuple(blocks),
    )
    yield Step(
        "And the computer agrees",
        rf"The kernel at width three, computed directly, has dimension {len(kernel)}. Scaled to begin like $A$, it is",
        (show(r"\dot A", moved_a), show(r"\dot V", moved_v)),
    )


CLAIM = Claim(
    id="dimension-every-width",
    source="beyond the paper; docs/every-width.md",
    title="the dimension for every width and rank: the variety of virtual weights modulo l rescalings",
    statement=(
        r"\dim \mathcal M = \dim \mathcal Z - l,\quad \mathcal Z = \overline{\{(N_1, \dots, N_l, \tilde V)\}},\quad"
        r" N_i = \begin{cases} \tfrac12 (\tilde A_i + \tilde A_i^\top) & \text{if } t = 1 \text{ or }"
        r" \min(a_j, d_0, \dots, d_{j-1}) = 1 \text{ for some } j < i \\ \tilde A_i & \text{else} \end{cases}"
    ),
    hypotheses=(
        "Lightning attention, one head, no mask, no skip connection, no embedding; every $l$, $t$, $a_i$ and all "
        r"widths. The patterns prove it for $l \le 5$ (docs/every-width.md, Theorem 1); for every $l$ there is a "
        "proof without computation (Theorem 2)."
    ),
    place=280,
    rests_on=("dimension-all-widths",),
    walk=WalkThrough("How a computation at width two settles all widths.", walk),
    parts=(
        Part(
            "t >= 2: every pattern of ranks and widths at d_0 = 2, d_l = 1, l <= 5",
            Scope.EVERY_WIDTH,
            partial(patterns, tokens=2),
            kernel_is_rescalings,
            {
                "all virtual weights in place of their variety": partial(
                    kernel_is_rescalings, count=all_virtual_weights
                ),
                "no layer by its symmetric part only": partial(
                    kernel_is_rescalings, count=partial(variety_dimension, symmetric_parts=False)
                ),
                "without the rescalings": partial(kernel_is_rescalings, rescalings=0),
            },
        ),
        Part(
            "t = 1: every pattern of widths at d_0 = 2, d_l = 1, l <= 5",
            Scope.EVERY_WIDTH,
            partial(patterns, tokens=1),
            kernel_is_rescalings,
            {
                "all of A~_i visible": partial(
                    kernel_is_rescalings, count=partial(variety_dimension, symmetric_parts=False)
                )
            },
        ),
        Part(
            "Lemma 1: the count of the variety, random architectures",
            Scope.GENERIC,
            random_networks,
            count_of_the_variety,
            {
                "all of each row space counted": partial(
                    count_of_the_variety, count=partial(variety_dimension, unused_parts=False)
                )
            },
        ),
        Part(
            "why a pattern needs the tangent space of the variety",
            Scope.IDENTITY,
            lambda quick: [1],
            larger_kernel,
            {"the other sign": lambda sign: larger_kernel(-sign)},
        ),
        Part(
            "Lemma 4: the part linear in a second token shows the first attention matrix",
            Scope.IDENTITY,
            depths_and_widths,
            second_token,
            {"A_1 transposed": partial(second_token, transpose=True)},
        ),
        Part(
            "Lemma 5: a layer of rank >= 2 is dominant on two tokens",
            Scope.IDENTITY,
            lambda quick: [positive],
            dominance,
            {"the factor p^2 + p t + t^2 alone": lambda _: dominance(lambda p, q, r, t: p * p + p * t + t * t)},
        ),
    ),
)
