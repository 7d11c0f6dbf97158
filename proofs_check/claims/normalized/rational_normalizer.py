r"""Normalizers that are rational functions: $S(y) = 1 + y$ serves, $S(y) = y$ does not.

No rational $S : \mathbb{R} \to \mathbb{R}$ is injective and positive, because its limits at both ends agree. But the
network of Eq. 15 is a rational map of the inputs for $S(y) = 1 + y$, and Theorem 3.9 and Conjecture 3.10 can be asked
of it: the fiber is a point at depth one, and for bottleneck widths the dimension is that of Eq. 16.

$S(y) = y$ is injective too, but a score times a factor that depends on its column alone changes nothing: then each
$A_i$ counts only up to a factor (and at rank one, $A = k q^\top$, by $k$ alone), so $l$ dimensions are lost.
$S(0) = 0$ leaves no Taylor series at zero; the lower bound is found from values instead: the rank modulo $p$ of the
Jacobian of the rational functions at integer inputs where no denominator vanishes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import numpy.typing as npt

from lightning_sym import SOFTMAX, Architecture, Normalization
from lightning_sym.certificates.dimension import directions_document, minor_document
from lightning_sym.certificates.document import network_document, opening
from lightning_sym.errors import proved_to_be
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.network.attention import Form, network_output
from lightning_sym.network.jacobian import Sample, random_weights
from lightning_sym.rings.derivatives import Recorded, gradients
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix, random_residues
from lightning_sym.symmetries.families import directions_mod_p, families_of
from lightning_sym.symmetries.group import verify_identity
from proofs_check.blackboard.step import Step, must, normalized_network, rational, show
from proofs_check.certificates import itself_by_orbit
from proofs_check.claim import (
    Certifiable,
    Claim,
    Formula,
    Part,
    ProvedBounds,
    Scope,
    WalkThrough,
    dimension_by_orbit,
    expect,
    expect_formula_by_orbit,
    expect_value,
    meeting_bounds,
)
from proofs_check.claims.normalized.conjecture_3_10 import equation_16, hypotheses_hold, sized
from proofs_check.claims.normalized.theorem_3_9 import fiber_over_q, rational_weights
from proofs_check.ring_matrices import letters_of
from proofs_check.samples import random_bottlenecks

PRIME = PRIMES[0]


ZERO, ONE = Fraction(0), Fraction(1)


ONE_PLUS_Y = Normalization("1 + y", lambda k: ONE if k <= 1 else ZERO)


def pattern_at_values(shift: int) -> Callable[[Recorded], Recorded]:
    """Return the pattern of Eq. 15 for S(y) = shift + y, at residues, with first derivatives."""

    def pattern(scores: Recorded) -> Recorded:
        ones = np.ones(scores.value.entries.shape[-2:], dtype=object)
        weights = scores + scores.like(shift * ones)
        sums = scores.like(ones) @ weights
        residues = sums.value.residues()
        # the reciprocal modulo p fails for zero: there the function has no value
        found = np.array([pow(s, -1, PRIME) for s in residues.ravel().tolist()]).reshape(residues.shape)
        inverse = Recorded(PrimeFieldMatrix.of(found, PRIME), constant=True)
        # one Newton step from 1 / s: the same value, and the derivative -1 / s^2
        return weights * (inverse * (scores.like(2 * ones) + scores.like(-ones) * (sums * inverse)))

    return pattern


def values(
    network: Architecture, shift: int, inputs: int, *, all_outputs: bool = False
) -> tuple[list[PrimeFieldMatrix], Sample]:
    """Return a point, and gradients there of a random functional of the output at random inputs, or of all outputs."""
    generator = np.random.default_rng([0, inputs])
    point = random_weights(network, generator, PRIME)
    weights = [Recorded(w) for w in point]
    size = network.output_width * network.tokens
    shape = (inputs, network.output_width, network.tokens)
    x = random_residues(generator, (inputs, network.input_width, network.tokens), PRIME)
    if all_outputs:
        x = PrimeFieldMatrix(np.repeat(x.entries, size, axis=0), PRIME)
        functionals = PrimeFieldMatrix(np.tile(np.eye(size), (inputs, 1)).reshape(-1, *shape[1:]), PRIME)
    else:
        functionals = random_residues(generator, shape, PRIME)
    output = network_output(Recorded(x, constant=True), network, weights, Form(pattern_at_values(shift)))
    parts = gradients([output], [functionals], weights)
    count = len(x.entries)
    blocks = [np.broadcast_to(g.residues(), (count, *w.entries.shape)) for g, w in zip(parts, point, strict=True)]
    rows = np.concatenate([block.reshape(count, -1) for block in blocks], axis=1)
    return point, Sample(rows, x.residues(), functionals.residues()[:, None])


def jacobian_of_values(
    network: Architecture, shift: int, inputs: int, *, all_outputs: bool = False
) -> npt.NDArray[np.int64]:
    """Return the gradients alone."""
    return values(network, shift, inputs, all_outputs=all_outputs)[1].rows


def most_at_values(network: Architecture, shift: int) -> int:
    """Return the parameters minus an orbit of what S(y) = shift + y does not see.

    It does not see basis changes; S(y) = y does not see factors of A_i either.

    In a single layer with `a = 1` and S(y) = y all of `q` and the length of `k` are not seen, A = k q^T.
    """
    if shift == 0 and network.attention_ranks == (1,):
        factors_on_columns(0, network.tokens)
        return network.parameter_count - network.widths[0] - 1
    verify_identity()
    weights = random_weights(network, np.random.default_rng(0), PRIME)
    blocks = [block.residues() for block in directions_mod_p(network, weights, PRIME, symmetry=True)]
    if shift == 0:
        factors_on_columns(0, network.tokens)
        blocks.append(factors_of_queries(network, weights))
    return network.parameter_count - rank_mod_p(np.concatenate(blocks), PRIME)


def factors_of_queries(network: Architecture, weights: list[PrimeFieldMatrix]) -> npt.NDArray[np.int64]:
    """Return the directions of A_i -> c A_i, one row each."""
    directions = np.zeros((network.depth, network.parameter_count), dtype=np.int64)
    start = 0
    for (name, _), matrix in zip(network.weight_shapes(), weights, strict=True):
        if name.startswith("Q"):
            directions[int(name[1:]) - 1, start : start + matrix.entries.size] = matrix.residues().ravel()
        start += matrix.entries.size
    return directions


def dimension_at_values(network: Architecture, shift: int, upper: int | None = None) -> ProvedBounds:
    """Return bounds for S(y) = shift + y: ranks at values from below, from above an orbit.

    In place of the orbit, what is known already may be given.
    """
    upper = most_at_values(network, shift) if upper is None else upper
    return ProvedBounds(rank_mod_p(jacobian_of_values(network, shift, upper + 16), PRIME), upper)


def of_values(
    network: Architecture, shift: int, inputs: int | None = None, *, all_outputs: bool = False
) -> Certifiable:
    """Return the certificate of the dimension for S(y) = shift + y: values from below, an orbit from above."""

    def make() -> dict[str, object]:
        upper = most_at_values(network, shift)
        point, sample = values(network, shift, upper + 16 if inputs is None else inputs, all_outputs=all_outputs)
        lower = rank_mod_p(sample.rows, PRIME)
        minor = minor_document(point, sample, lower, PRIME, terms=None)
        minor = proved_to_be(minor, f"{network}, S(y) = {shift} + y: there must be a minor of {lower} rows")
        families = [family.name for family in families_of(network, symmetry=True)] + ([] if shift else ["homogeneous"])
        named = {"name": "1 + y" if shift else "y", "taylor": [str(shift), "1"]}
        return opening("dimension") | {
            "network": network_document(network) | {"normalization": named},
            "lower": lower,
            "upper": upper,
            "lower_bound": minor,
            "upper_bounds": [directions_document("orbit", upper, point, families, PRIME)],
        }

    return Certifiable(("values", shift, network), make)


def bottlenecks(*, quick: bool) -> Iterator[Architecture]:
    """Yield bottlenecks; at the full size also random shapes with inner widths from three to five."""
    yield from (n for n in sized(ONE_PLUS_Y, quick=quick) if hypotheses_hold(n))
    if not quick:
        yield from random_bottlenecks(
            10, 20261121, depth=(1, 2), inner=(3, 5), rank=(1, 5), parameters=(1, 120), fits=hypotheses_hold,
            normalization=ONE_PLUS_Y,
        )  # fmt: skip


def two_roads(network: Architecture, shift: int = 1) -> None:
    """Check that what the Taylor series at zero give is what values at random inputs give."""
    certified = dimension_by_orbit(network)
    by_series = meeting_bounds(certified.lower, certified.upper, network)
    found = dimension_at_values(network, shift, certified.upper if shift == 1 else None)
    expect_value(found, by_series, at=f"{network}, values of S(y) = {shift} + y")


def factors_on_columns(shift: int, tokens: int = 2) -> None:
    """Check that one factor a column of the scores keeps the normalized pattern.

    Both patterns are compared as polynomials multiplied crosswise.
    """
    _, (scores, factor) = letters_of({"s": (tokens, tokens), "c": (tokens, 1)})
    old, new = scores + shift, scores * factor.T + shift
    for j, i in product(range(tokens), repeat=2):
        expect(
            new[j, i] * sum(old[:, i]) == old[j, i] * sum(new[:, i]),
            f"S(y) = {shift} + y: a factor on column {i + 1} of the scores changes entry {j + 1}",
        )


def without_constant(network: Architecture, formula: Formula | None = None, shift: int = 0) -> str:
    """Return the finding for S(y) = y: basis changes and A_i -> c A_i bound the dimension from above.

    Ranks at values bound it from below.
    """
    factors_on_columns(shift, network.tokens)
    stated = (formula or (lambda n: equation_16(n) - n.depth))(network)
    expect_value(dimension_at_values(network, shift), stated, at=f"{network}, S(y) = y")
    return "S(y) = y loses one dimension a layer, where all attention matrices have rank two or more"


def one_rank(shape: tuple[int, int, int]) -> Architecture:
    d, d_out, tokens = shape
    return Architecture((d, d_out), (1,), tokens, normalization=SOFTMAX)


def rank_one(shape: tuple[int, int, int], stated: Callable[[int, int], int] | None = None) -> str:
    """Check one layer, a = 1, S(y) = y: the scores (k x_j)(q x_i) have the factor q x_i on column i."""
    d, d_out, _ = shape
    expected = stated(d, d_out) if stated else d + d * d_out - 1
    expect_value(dimension_at_values(one_rank(shape), 0), expected, at=f"d, d', t = {shape}, a = 1, S(y) = y")
    return "S(y) = y at rank one, A = k q^T: the function does not depend on q, and d dimensions are lost"


def walk() -> Iterator[Step]:
    x, attention, value = rational([[1, 1], [0, 1]]), rational([[1, 2], [3, 1]]), rational([[1, 2]])
    one, other = normalized_network(x, (attention, value)), normalized_network(x, (2 * attention, value))
    must((one != other).any(), "the factor is seen with S(y) = 1 + y")
    yield Step(
        "One plus the score",
        r"With $S(y) = 1 + y$ the layer is a rational function of its input. A score of zero still weighs something, "
        r"so twice the attention matrix is another function.",
        (show("A", attention), show("V", value), show("X", x), show(r"\varphi_{A, V}(X)", one),
         show(r"\varphi_{2 A, V}(X)", other)),
    )  # fmt: skip
    one, other = (normalized_network(x, (a, value), constant=0) for a in (attention, 2 * attention))
    must((one == other).all(), "the factor is not seen with S(y) = y")
    yield Step(
        "The bare score",
        r"$S(y) = y$ is injective too. But the factor stands in every term of the numerator and of the denominator, "
        r"and cancels. Each layer loses one dimension: only the direction of $A$ is left.",
        (show(r"\varphi_{A, V}(X)", one), show(r"\varphi_{2 A, V}(X)", other)),
    )
    key, query, another = rational([[1], [2]]), rational([[3, 1]]), rational([[1, 5]])
    one, other = (normalized_network(x, (key @ q, value), constant=0) for q in (query, another))
    must((one == other).all(), "q is not seen")
    yield Step(
        "Rank one",
        r"If $A = k q^\top$, the scores $(k^\top x_j)(q^\top x_i)$ of output token $i$ share the factor $q^\top x_i$. "
        r"It cancels as well: all of $q$ is invisible. Two of them, the same output.",
        (show(r"k q^\top", key @ query), show(r"k \tilde q^\top", key @ another), show(r"\varphi(X)", one)),
    )


CLAIM = Claim(
    id="rational-normalizer",
    source="Theorem 3.9, Conjecture 3.10",
    title="S(y) = 1 + y: generic fibers are points, Eq. 16 holds; S(y) = y: every A_i counts only up to a factor",
    statement=(
        r"\begin{aligned} S(y) = 1 + y &\;\Rightarrow\; \dim \mathcal M ="
        r"\sum_{i=1}^l \alpha_i (2 d_{i-1} - \alpha_i) + \delta (d_0 + d_l - \delta) \\"
        r"S(y) = y,\ \alpha_i \ge 2 &\;\Rightarrow\; \dim \mathcal M \le"
        r"\sum_{i=1}^l \alpha_i (2 d_{i-1} - \alpha_i) + \delta (d_0 + d_l - \delta) - l"
        r",\ \text{equal where tried} \qquad (t \ge 2,\ d_i = \delta\ (0 < i < l),\ d_0, d_l \ge \delta) \end{aligned}"
    ),
    hypotheses=(
        r"One head, no mask, no skip connection; $\alpha_i = \min(a_i, d_{i-1})$. For $S(y) = 1 + y$ proved for "
        "every depth (docs/softmax-fibers.md, Corollary 5). For $S(y) = y$ the bound holds for every shape; that "
        "it is reached is certified at the shapes that are listed, and open for others."
    ),
    place=170,
    rests_on=("theorem-3.9",),
    walk=WalkThrough(
        "Two normalizers that are rational functions: one keeps every weight visible, one does not.", walk
    ),
    parts=(
        Part(
            "one layer, S(y) = 1 + y: the whole fiber over Q is a point",
            Scope.INSTANCES,
            rational_weights,
            fiber_over_q,
            {"S(y) = y": partial(fiber_over_q, shift=0)},
        ),
        Part(
            "S(y) = 1 + y: the dimension of Eq. 16",
            Scope.GENERIC,
            bottlenecks,
            partial(expect_formula_by_orbit, stated=equation_16),
            {
                "without the rescalings of Eq. 14": partial(
                    expect_formula_by_orbit, stated=lambda n: equation_16(n) - n.depth
                )
            },
            certifies=itself_by_orbit,
        ),
        Part(
            "S(y) = 1 + y: the same rank from values instead of Taylor series",
            Scope.GENERIC,
            bottlenecks,
            two_roads,
            {"values of S(y) = y": partial(two_roads, shift=0)},
            certifies=lambda network: [*itself_by_orbit(network), of_values(network, 1)],
        ),
        Part(
            "S(y) = y: one less for every layer",
            Scope.GENERIC,
            lambda quick: (
                n
                for n in sized(SOFTMAX, quick=quick)
                if hypotheses_hold(n) and min(n.attention_ranks + n.widths[:-1]) >= 2
            ),
            without_constant,
            {
                "Eq. 16 as it stands": partial(without_constant, formula=equation_16),
                "S(y) = 1 + y": partial(without_constant, shift=1),
            },
            certifies=lambda network: [of_values(network, 0)],
        ),
        Part(
            "S(y) = y at rank one: q is invisible",
            Scope.GENERIC,
            lambda quick: [(2, 1, 2), (2, 2, 2), (3, 2, 3)],
            rank_one,
            {"only the length is lost": partial(rank_one, stated=lambda d, d_out: 2 * d - 1 + d * d_out - 1)},
            instance="d, d', t",
            certifies=lambda shape: [of_values(one_rank(shape), 0)],
        ),
    ),
)
