r"""Theorem 3.7: the fiber of a deep network in virtual weights.

If $t \ge 2$, $\tilde V \ne 0$, every $\tilde A_i$ has rank two or more and none is skew-symmetric, the virtual weights
with the same function are exactly the rescalings (Eq. 13): $\tilde A_i \mapsto \lambda_i \tilde A_i$,
$\tilde V \mapsto \mu \tilde V$ with $\mu \prod_i \lambda_i^{3^{l-i}} = 1$.

Shown here for two layers; for every number of layers the proof is `docs/every-width.md`, Theorem 3, followed step by
step on exact weights in `theorem_3_7_peeling`. *Over GF(3)*, $d_0 = t = 2$: every fiber, hypotheses or not, is what six
kinds of moves connect; each kind is an identity for every $t$, and setting tokens to zero maps functions of more tokens
to functions of two, so the fibers are the same for every $t \ge 2$. *Over Q*: the whole fiber of exact weights by
`lightning_sym.fibers.recovery`, which finds everything rational, and under the hypotheses everything over every
extension field: factors of bilinear forms of rank two or more, solutions of linear systems with one solution, and
linear factors of products of rational linear forms are the same there.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice, product
from typing import NamedTuple

import numpy as np

from lightning_sym import Architecture, VirtualWeights, Weights, polynomial_map, virtual_weights
from lightning_sym.exact.rational import rank
from lightning_sym.fibers.recovery import is_rescaling, network_of, part_in_two_tokens, reconstruct
from proofs_check.blackboard import own_weights
from proofs_check.certificates import weights_if
from proofs_check.claim import Claim, Part, Refutation, Scope, Tally, WalkThrough, expect, expect_equal, spell
from proofs_check.claims.deep.theorem_3_7.exhaustive import MOVES, all_weights, classes, edges, functions
from proofs_check.claims.deep.theorem_3_7.ideal import confirmed
from proofs_check.claims.deep.theorem_3_7.moves import identities, identity, rescaled
from proofs_check.claims.deep.theorem_3_7.one_token import PRODUCTS, orbits, two_layers
from proofs_check.claims.deep.theorem_3_7.peeling import deep_weights, peeled
from proofs_check.claims.deep.theorem_3_7.walk import walk
from proofs_check.samples import listed


def hypotheses_hold(weights: VirtualWeights, tokens: int) -> bool:
    """Return whether the hypotheses hold, the last layer among those that must not be skew-symmetric."""
    attention_fits = all(rank(a) >= 2 and (a + a.T).any() for a in weights.attention)
    return tokens >= 2 and (weights.value != 0).any() and attention_fits


def all_fibers(d_out: int, without: str = "") -> str:
    """Check that the moves keep the function, and that there are as many classes under the moves as functions."""
    of = functions(d_out)
    moves = tuple(move for move in MOVES if move != without)
    for move in moves:
        left, right = edges(move, d_out)
        if (bad := np.flatnonzero(of[left] != of[right])).size:
            raise Refutation(f"{move}: {_spelled(left[bad[0]], d_out)} and {_spelled(right[bad[0]], d_out)} differ")
    smallest = classes(moves, d_out)
    count = int(of.max()) + 1
    heads = np.flatnonzero(smallest == np.arange(len(smallest)))
    if len(heads) != count:
        _, first, which = np.unique(of[heads], return_index=True, return_inverse=True)
        extra = next(i for i in range(len(heads)) if first[which[i]] != i)
        pair = (_spelled(heads[first[which[extra]]], d_out), _spelled(heads[extra], d_out))
        raise Refutation(f"{len(heads)} classes, {count} functions: {' and '.join(pair)} have one function")
    return Tally(
        f"GF(3), l = 2, d_0 = t = 2, d' = {d_out}: {len(of):,} virtual weights, {count:,} functions, none unexplained"
    )


def _spelled(number: int, d_out: int) -> str:
    return str(tuple(m[number].tolist() for m in all_weights(d_out)))


class Instance(NamedTuple):
    weights: Weights
    tokens: int


def within_hypotheses(*, quick: bool) -> Iterator[Instance]:
    """Yield random networks of every rank, and weights whose factors are not coprime: V~ x divides x^T A~_2 x."""
    shapes = [(2, 2, 1, 2), (2, 2, 2, 2), (2, 3, 1, 3), (3, 3, 1, 2), (3, 2, 2, 2)]
    if not quick:
        shapes += [(2, 2, 3, 3), (2, 3, 2, 4), (3, 3, 2, 2), (3, 3, 3, 2), (3, 2, 1, 2), (3, 4, 1, 2), (3, 3, 1, 3)]
    for (d, inner, d_out, t), seed in product(shapes, range(2 if quick else 4)):
        ranks = (2 + seed % (d - 1), 2 + (seed // 2) % (min(d, inner) - 1))
        weights = Weights.random(Architecture((d, inner, d_out), ranks, t), seed=seed, bound=3, denominator=2)
        if hypotheses_hold(virtual_weights(weights.layers), t):
            yield Instance(weights, t)
    generator = np.random.default_rng(0)
    for d, t, _ in product((2, 3), (2,) if quick else (2, 3), range(2 if quick else 4)):
        w, m = generator.integers(1, 5, size=(2, d))
        skew = np.triu(generator.integers(1, 5, size=(d, d)), 1)
        second = np.outer(w, m) + np.outer(m, w) + skew - skew.T
        network = network_of(VirtualWeights((np.outer(w, w) + np.outer(m, w) + skew, second), [w]))
        if hypotheses_hold(virtual_weights(network.layers), t):
            yield Instance(network, t)


def only_rescalings(instance: Instance, *, value_doubled: bool = False, first_of_rank_one: bool = False) -> None:
    given = virtual_weights(instance.weights.layers)
    network = instance.weights
    if first_of_rank_one:
        given = given._replace(attention=(np.outer(*given.attention[0][:2]), given.attention[1]))
        network = network_of(given)
    solutions = reconstruct(polynomial_map(network.architecture(instance.tokens), network))
    if value_doubled:
        given = given._replace(value=2 * given.value)
    others = [s for s in solutions if s.skew_part_is_free or not is_rescaling(s.weights, given)]
    if others or len(solutions) != 1:
        listed = [tuple(m.tolist() for m in (*s.weights.attention, s.weights.value)) for s in others]
        raise Refutation(f"t = {instance.tokens}, {_written(given)}: in the fiber {len(solutions)} orbits, {listed}")


def _written(weights: VirtualWeights) -> str:
    return ", ".join(map(spell, (*weights.attention, weights.value)))


class Violation(NamedTuple):
    """Weights that violate one hypothesis, and their fiber: orbits of rescalings, skew part free or not."""

    hypothesis: str
    weights: VirtualWeights
    tokens: int
    orbits: int
    free: bool = False


J, M, N = [[0, 1], [-1, 0]], [[1, 2], [3, 1]], [[2, 1], [0, 1]]
FLAT = [[0, 1, 0], [-1, 0, 0], [0, 0, 0]]
K, M3, N3 = (
    [[0, 1, 2], [-1, 0, 3], [-2, -3, 0]],
    [[1, 2, 0], [3, 1, 1], [0, 1, 1]],
    [[2, 1, 0], [0, 1, 1], [1, 0, 3]],
)
FULL = [[0, 1, 0], [-1, 0, 0], [0, 0, 1]]
IN_PLANE = [[1, 2, 0], [3, 1, 0], [0, 0, 0]]
RANK_ONE = np.outer([1, 2], [3, 1])
SQUARE = np.outer([1, 5], [1, 5])
ROW, ROW_3, ROWS = [[1, 3]], [[1, 3, 2]], [[1, 3], [2, 1]]
VIOLATIONS = listed(
    [
        Violation("A~_1 skew, d_0 = 2", two_layers(J, M, ROW), 2, orbits=2),
        Violation("A~_2 skew, d_0 = 2: the last layer cannot be left out", two_layers(M, J, ROW), 2, orbits=2),
        Violation("A~_1 and A~_2 skew, d_0 = 2", two_layers(J, J, ROW), 2, orbits=1),
        Violation("A~_1 skew, d_0 = 3, the others of rank 3", two_layers(K, N3, ROW_3), 2, orbits=1),
        Violation("A~_2 skew, d_0 = 3, the others of rank 3", two_layers(M3, K, ROW_3), 2, orbits=1),
        Violation("A~_2 skew, d_0 = 3, both A~_i in one plane", two_layers(IN_PLANE, FLAT, ROW_3), 2, orbits=2),
        Violation("A~_2 = J + 0 skew, d_0 = 3, A~_1 = J + 1 invertible", two_layers(FULL, FLAT, ROW_3), 2, orbits=2),
        Violation("A~_2 = J + 0 skew, d_0 = 3, A~_1 = J + 1 invertible", two_layers(FULL, FLAT, ROW_3), 3, orbits=1),
        Violation("rk A~_1 = 1, x^T A~_2 x irreducible", two_layers(RANK_ONE, M, ROW), 2, orbits=1, free=True),
        Violation(
            "rk A~_1 = 1, A~_2 = r r^T, V~ = v r^T", two_layers(RANK_ONE, SQUARE, [[1, 5]]), 2, orbits=2, free=True
        ),
        Violation(
            "rk A~_1 = 1, x^T A~_2 x reducible, rk V~ = 1", two_layers(RANK_ONE, [[0, 1], [0, 2]], ROW), 2, 3, free=True
        ),
        Violation("rk A~_2 = 1, rk V~ = 1", two_layers(M, RANK_ONE, ROW), 2, orbits=2),
        Violation("rk A~_2 = 1, rk V~ = 2", two_layers(N, RANK_ONE, ROWS), 2, orbits=1),
    ]
)


def violated(case: Violation, *, always_needed: bool = False, never_needed: bool = False) -> str:
    """Return the whole rational fiber where one hypothesis fails, as the stated number of orbits of rescalings."""
    network = network_of(case.weights)
    expect_equal(hypotheses_hold(virtual_weights(network.layers), case.tokens), False, at=case.hypothesis)
    solutions = reconstruct(polynomial_map(network.architecture(case.tokens), network))
    found = len(solutions), any(s.skew_part_is_free for s in solutions)
    expect(
        (not always_needed or found != (1, False)) and (not never_needed or found == (1, False)),
        f"{case.hypothesis}: orbits and freedom {found}, {_written(case.weights)}",
    )
    expect_equal(found, (case.orbits, case.free), at=f"{case.hypothesis}, {_written(case.weights)}")
    orbits = (
        "the rescalings alone: the hypothesis is not needed there"
        if found == (1, False)
        else (f"{found[0]} orbit{'s' * (found[0] > 1)} of rescalings" + ", any skew part in A~_2" * found[1])
    )
    return f"{case.hypothesis} (t = {case.tokens}): the fiber over Q is {orbits}"


def confirmed_by_ideals(instance: Instance, *, one_less: bool = False, one_doubled: bool = False) -> None:
    """Check that what `reconstruct` finds is the whole fiber over the complex numbers, by another road."""
    given = virtual_weights(instance.weights.layers)
    network = network_of(given)
    solutions = [s.weights for s in reconstruct(polynomial_map(network.architecture(instance.tokens), network))]
    if one_doubled:
        solutions[0] = solutions[0]._replace(value=2 * solutions[0].value)
    confirmed(given, instance.tokens, solutions[one_less:])


def small_instances(*, quick: bool) -> Iterator[Instance]:
    """Yield instances within the hypotheses, and of rank one in the last layer: there the fiber has two orbits."""
    few = (i for i in within_hypotheses(quick=quick) if i.weights["V1"].shape[1] == i.tokens == 2)
    yield from islice(few, 1 if quick else 6)
    for case in VIOLATIONS(quick=quick):
        if case.orbits == 2 and not case.free and case.weights.value.shape == (1, 2) and not quick:
            yield Instance(network_of(case.weights), case.tokens)
    swapped = VirtualWeights((np.array([[1, 2], [3, 1]]), np.outer([1, 2], [3, 1])), np.array([[1, 3]]))
    yield Instance(network_of(swapped), 2)


def factors_not_coprime(s: int, *, functions_too: bool = False) -> str:
    """Check that both weights satisfy the hypotheses, and that the part which the proof factors is the same."""
    first = np.array([[1, 2], [3, 1]])
    pair = (
        VirtualWeights((first, np.array([[0, 1 + s], [1 - s, 0]])), np.array([[1, 0]])),
        VirtualWeights((first, np.array([[2, s], [-s, 0]])), np.array([[0, 1]])),
    )
    maps = []
    for weights in pair:
        network = network_of(weights)
        expect_equal(hypotheses_hold(virtual_weights(network.layers), 2), True, at=f"hypotheses, {_written(weights)}")
        maps.append(polynomial_map(network.architecture(2), network))
        only_rescalings(Instance(network, 2))
    parts = [str(part_in_two_tokens(phi, 0, 1)) for phi in maps]
    expect_equal(parts[0], parts[1], at=" and ".join(map(_written, pair)))
    expect_equal(np.array_equal(maps[0].entries, maps[1].entries), functions_too, at="the functions are equal")
    return (
        "the hypotheses do not make V~ x and the forms x^T A~_i x coprime or irreducible, so unique factorization of"
        " the part linear in one token does not give V~ and the symmetric parts as the proof says; the whole fibers of"
        " these weights, solved for, are the rescalings all the same"
    )


CLAIM = Claim(
    id="theorem-3.7",
    source="Theorem 3.7, Eq. 13",
    title=(
        "t >= 2, V~ not 0, every A~_i of rank two or more and not skew: the fiber in virtual weights is "
        "exactly the rescalings"
    ),
    statement=(
        r"t \ge 2,\ \tilde V \ne 0,\ \operatorname{rk} \tilde A_i \ge 2,\ \tilde A_i^\top \ne -\tilde A_i \Rightarrow"
        r" \varphi^{-1}(\varphi(\tilde A, \tilde V)) = \Big\{(\lambda_i \tilde A_i, \mu \tilde V) :"
        r" \mu \prod_i \lambda_i^{3^{l-i}} = 1\Big\}"
    ),
    hypotheses=(
        r"Lightning attention, one head, no mask, real weights, networks of one depth; $\lambda_i, \mu \ne 0$. "
        "Proved for every $l$ (docs/every-width.md, Theorem 3). Whole fibers are computed for two layers, and at "
        "some weights of three and four. Where a hypothesis fails the fibers of the listed weights are found, and "
        "nothing is said of others."
    ),
    place=130,
    rests_on=("theorem-3.2", "equation-12"),
    walk=WalkThrough("The weights of a deep network, read off its function.", walk, on=own_weights.between_layers),
    parts=(
        Part(
            "rescalings keep the function, matrices of every shape, by depth",
            Scope.IDENTITY,
            lambda quick: range(1, 5 if quick else 6),
            rescaled,
            {"exponents 2^(l-i)": partial(rescaled, base=2)},
        ),
        Part(
            "the further moves keep the function, symbolic weights and inputs",
            Scope.IDENTITY,
            identities,
            identity,
            {
                "(M, J, V) and (J, M, V)": partial(identity, faulty="skew layer"),
                "p and r exchanged in the attention matrices only": partial(identity, faulty="squares"),
                "swap with a transpose": partial(identity, faulty="swap"),
                "symmetric part only, behind any layer": partial(identity, faulty="symmetric part"),
            },
        ),
        Part(
            "every fiber over GF(3) is connected by the moves",
            Scope.EXHAUSTIVE,
            lambda quick: (1,) if quick else (1, 2),
            all_fibers,
            {f"without the move {move}": partial(all_fibers, without=move) for move in MOVES},
        ),
        Part(
            "the whole fiber of exact weights within the hypotheses",
            Scope.INSTANCES,
            within_hypotheses,
            only_rescalings,
            {
                "V~ doubled": partial(only_rescalings, value_doubled=True),
                "first attention matrix of rank one": partial(only_rescalings, first_of_rank_one=True),
            },
            at=weights_if(
                lambda network: network.depth == 2,
                lambda weights, tokens: hypotheses_hold(virtual_weights(weights.layers), tokens),
                Instance,
            ),
        ),
        Part(
            "the same by Groebner bases over Q: no other point over the complex numbers",
            Scope.INSTANCES,
            small_instances,
            confirmed_by_ideals,
            {
                "V~ doubled": partial(confirmed_by_ideals, one_doubled=True),
                "one orbit less": partial(confirmed_by_ideals, one_less=True),
            },
        ),
        Part(
            "three layers and four, peeled off one by one by linear algebra",
            Scope.INSTANCES,
            deep_weights,
            peeled,
            {
                "first attention matrix of rank one": partial(peeled, first_rank_one=True),
                "first attention matrix transposed": partial(peeled, transposed=True),
            },
        ),
        Part(
            "one token: the ways to write the function as a product",
            Scope.INSTANCES,
            PRODUCTS,
            orbits,
            {
                "one orbit of symmetric parts": partial(orbits, always_one=True),
                "each quadratic factor once": partial(orbits, cube_forgotten=True),
            },
        ),
        Part(
            "the whole fiber where one hypothesis fails",
            Scope.INSTANCES,
            VIOLATIONS,
            violated,
            {
                "each hypothesis always needed": partial(violated, always_needed=True),
                "no hypothesis needed": partial(violated, never_needed=True),
            },
        ),
        Part(
            "the part of the function that the proof factors does not determine the quadratic forms",
            Scope.INSTANCES,
            lambda quick: (2, 3, 5),
            factors_not_coprime,
            {"the functions agree": partial(factors_not_coprime, functions_too=True)},
        ),
    ),
)
