r"""Lemma 3.1: the fiber of $(Q, K) \mapsto K^\top Q$.

If $K^\top Q = K'^\top Q'$ has rank $a \le d$, there is exactly one $C \in GL_a$ with $K' = C K$, $Q' = C^{-\top} Q$.
Hence the $d \times d$ matrices of rank at most $\alpha = \min(a, d)$ form a variety of dimension
$\alpha (2d - \alpha)$.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from lightning_sym import SOFTMAX, Architecture, ProgramError, Weights
from lightning_sym.errors import proved_to_be
from lightning_sym.exact.modular import rank_mod_p, ranks_mod_p
from lightning_sym.exact.rational import null_space, rank, unique_solution
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.matrix_words import Words
from lightning_sym.rings.prime_field import PRIMES
from proofs_check.blackboard import own_weights
from proofs_check.blackboard.step import Step, entry_labels, identity, must, rational, show, table, unit_directions
from proofs_check.certificates import of_network
from proofs_check.claim import (
    Certifiable,
    Claim,
    Part,
    Refutation,
    Scope,
    WalkThrough,
    expect,
    expect_equal,
    meeting_bounds,
    spell,
)
from proofs_check.claims.deep.equation_9 import random_basis_changes
from proofs_check.finite_matrices import Integers, every_matrix, general_linear, numbers


def hypotheses_hold(score: ObjectArray, a: int) -> bool:
    """Return whether `K^T Q` has rank `a`, the number of rows of `K`, so that `a <= d`."""
    return rank(score) == a


def named_weights_are_in_the_fiber(inverse: Callable[[Words], Words]) -> None:
    c, k, q = Words.letter("C"), Words.letter("K"), Words.letter("Q")
    changed = (c @ k).mT @ (inverse(c).mT @ q)
    expect_equal(str(changed), str(k.mT @ q), at="(C K)^T (C^-T Q)")


class ProductFiber(NamedTuple):
    """All pairs (K, Q) over GF(p) with one product."""

    p: int
    d: int
    a: int
    key: Integers
    query: Integers


def fibers(*, quick: bool) -> Iterator[ProductFiber]:
    """Yield every fiber over a product of rank `a`."""
    sizes = [(3, 1, 1), (3, 2, 1), (2, 2, 2), (5, 2, 1)] + ([] if quick else [(3, 2, 2), (2, 3, 2)])
    for p, d, a in sizes:
        every = every_matrix(a, d, p)
        key, query = (every[i] for i in np.indices((len(every),) * 2).reshape(2, -1))
        products, which = np.unique(numbers([key.mT @ query % p], p), return_index=True, return_inverse=True)[1:]
        full = np.flatnonzero(ranks_mod_p(key.mT[products] @ query[products] % p, p) == a)
        if not len(full):
            raise ProgramError(f"GF({p}), d = {d}, a = {a}: there must be products of rank a")
        yield from (ProductFiber(p, d, a, key[which == n], query[which == n]) for n in full)


def one_matrix_connects(fiber: ProductFiber, *, only_diagonal: bool = False) -> None:
    p, group = fiber.p, general_linear(fiber.a, fiber.p, diagonal=only_diagonal)
    k, q = fiber.key[0], fiber.query[0]
    reached = numbers([np.array([c @ k % p for c, _ in group]), np.array([e.T @ q % p for _, e in group])], p)
    expect(
        sorted(reached) == sorted(numbers([fiber.key, fiber.query], p)),  # every pair is reached, and by one C only
        f"GF({p}), d = {fiber.d}, a = {fiber.a}, K = {k.tolist()}, Q = {q.tolist()}: "
        f"{len(fiber.key)} pairs in the fiber, {len(set(reached))} reached by {len(group)} matrices C",
    )


def rational_pairs(*, quick: bool) -> Iterator[tuple[int, int, int]]:
    for d in range(1, 4 if quick else 6):
        for a in range(1, d + 1):
            for seed in range(3):
                yield d, a, seed


def rank_factorization(matrix: ObjectArray) -> tuple[ObjectArray, ObjectArray]:
    """Return `(L, R)` with `matrix = L R`.

    `L` are the pivot columns, `R` the non-zero rows of the reduced row echelon form.
    """
    pivots: list[int] = []
    for j in range(matrix.shape[1]):
        if rank(matrix[:, [*pivots, j]]) > len(pivots):
            pivots.append(j)
    right = proved_to_be(unique_solution(matrix[:, pivots], matrix), "the pivot columns must span all columns")
    return matrix[:, pivots], right


def recovered_over_q(instance: tuple[int, int, int], missing_rank: int = 0, *, inverse: bool = True) -> None:
    """Check another pair with the same product, made from it alone: one `C` leads to it.

    `C` is found by elimination.
    """
    d, a, seed = instance
    shape = Architecture((d, d), (a,), 2)
    (layer,) = Weights.random(shape, seed=seed, denominator=4, attention_matrix_ranks=[a - missing_rank]).layers
    score = layer.key.T @ layer.query
    expect_equal(hypotheses_hold(score, a), missing_rank == 0, at=f"d = {d}, a = {a}, seed {seed}, rank of K^T Q")
    left, right = rank_factorization(score)
    padding = np.zeros((a - left.shape[1], d), dtype=object)
    _, (change, change_inverse), _ = random_basis_changes((a, a, a), seed + 1)
    new_key = change @ np.concatenate([left.T, padding])
    new_query = change_inverse.T @ np.concatenate([right, padding])
    at = f"K = {spell(layer.key)}, Q = {spell(layer.query)}, K' = {spell(new_key)}, Q' = {spell(new_query)}"
    expect_equal((new_key.T @ new_query).tolist(), score.tolist(), at=f"{at}, the products")
    c_transposed = unique_solution(layer.key.T, new_key.T)
    if c_transposed is None or rank(c_transposed) < a:
        raise Refutation(f"{at}: C K = K' does not have exactly one solution, an invertible one")
    found = c_transposed @ new_query if inverse else unique_solution(c_transposed.T, new_query)
    expect(
        found is not None and (not (found != layer.query).any()),
        f"{at}: Q' is not C{'^-T' * inverse} Q, C = {spell(c_transposed.T)}",
    )


def variety_shapes(*, quick: bool) -> Iterator[tuple[int, int]]:
    top = 4 if quick else 6
    return ((d, a) for d in range(1, top + 1) for a in range(1, top + 3))


def determinantal_dimension(instance: tuple[int, int], correction: int = 0) -> None:
    """Check the rank of the Jacobian from below, parameters minus orbit from above; both at one integer point."""
    d, a = instance
    p = PRIMES[0]
    generator = np.random.default_rng([d, a])
    k, q = generator.integers(0, p, size=(2, a, d))
    moves = np.eye(a * d, dtype=np.int64).reshape(-1, a, d)
    jacobian = [(move.T @ q % p).ravel() for move in moves] + [(k.T @ move % p).ravel() for move in moves]
    lower = rank_mod_p(np.array(jacobian), p)
    lie = np.eye(a * a, dtype=np.int64).reshape(-1, a, a)
    orbit = [np.concatenate([(e @ k % p).ravel(), (-e.T @ q % p).ravel()]) for e in lie]
    upper = 2 * a * d - rank_mod_p(np.array(orbit), p)
    found = meeting_bounds(lower, upper, f"d = {d}, a = {a}")
    alpha = min(a, d)
    expect_equal(found, alpha * (2 * d - alpha) + correction, at=f"d = {d}, a = {a}")


def these_matrices(instance: tuple[int, int]) -> Iterator[Certifiable]:
    """Yield the network of two layers of widths d, a, d: normalized, at one token, it is one of these matrices."""
    d, a = instance
    yield of_network(Architecture((d, a, d), (1, 1), 1, normalization=SOFTMAX))


def walk() -> Iterator[Step]:
    key, query = rational([[1, 0, 1], [0, 1, 1]]), rational([[1, 1, 0], [0, 1, 2]])
    attention = key.T @ query
    a, d = key.shape
    must(rank(attention) == a, "the product has rank a")
    yield Step(
        "A product of two thin matrices",
        rf"Here $d = {d}$ and $a = {a}$: keys and queries have {a} rows. Their product is ${d} \times {d}$ but has "
        rf"only rank ${rank(attention)}$.",
        (show("K", key), show("Q", query), show(r"A = K^\top Q", attention)),
    )
    c, inverse = rational([[2, 1], [1, 1]]), rational([[1, -1], [-1, 2]])
    must((c @ inverse == identity(a)).all(), "C has this inverse")
    new_key, new_query = c @ key, inverse.T @ query
    must((new_key.T @ new_query == attention).all(), "the product stays")
    yield Step(
        "Change the basis in between",
        r"Take an invertible $C$. Set $K' = C K$ and $Q' = C^{-\top} Q$. In the product $C^\top$ meets $C^{-\top}$, "
        r"and both are gone: $K'^\top Q' = A$ again.",
        (
            show("C", c), show("K' = C K", new_key), show(r"Q' = C^{-\top} Q", new_query),
            show(r"K'^\top Q'", new_key.T @ new_query),
        ),
    )  # fmt: skip
    must(not null_space(key.T), "the rows of K are independent")
    found = new_key[:, :a]  # the first columns of K are the identity
    must((key[:, :a] == identity(a)).all() and (found == c).all(), "C can be read off")
    yield Step(
        "There is only one such C",
        r"Suppose somebody shows us $K$ and $K'$. The rows of $K$ are independent, so $K' = C K$ has one solution at "
        r"most. Our $K$ begins with the identity, so $C$ stands in the first columns of $K'$. Then $Q'$ is known as "
        r"well.",
        (show(r"\text{first columns of } K'", found),),
    )
    rows = [(move.T @ query).ravel() for move in unit_directions(key.shape)]
    rows += [(key.T @ move).ravel() for move in unit_directions(query.shape)]
    matrix = np.array(rows, dtype=object)
    r, kernel = rank(matrix), len(null_space(matrix.T))
    must(r == a * (2 * d - a) and kernel == a * a, "the counts of Lemma 3.1 hold here")
    yield Step(
        "Counting the matrices of rank two",
        rf"Move one entry of $K$ or $Q$ at a time and write down how $A$ moves: {len(rows)} weights, {d * d} entries. "
        rf"The rank is ${r}$. The {kernel} lost directions are the $a^2 = {a * a}$ entries of $C$. So the matrices of "
        rf"rank at most ${a}$ have dimension $\alpha (2d - \alpha) = {a} \cdot {2 * d - a} = {r}$.",
        (table("J", matrix, entry_labels("k", a, d) + entry_labels("q", a, d), entry_labels("A", d, d)),),
    )


CLAIM = Claim(
    id="lemma-3.1",
    source="Lemma 3.1",
    title="K^T Q of rank a determines (K, Q) up to one C in GL_a",
    statement=(
        r"K^\top Q = K'^\top Q' \text{ of rank } a \le d \;\Rightarrow\; \exists!\, C \in GL_a:\;"
        r" K' = C K,\ Q' = C^{-\top} Q; \qquad \dim\{A : \operatorname{rk} A \le \alpha\} = \alpha (2d - \alpha)"
    ),
    hypotheses=r"$a \le d$ for the fiber, $\alpha = \min(a, d)$ for the dimension.",
    place=20,
    rests_on=(),
    walk=WalkThrough(
        r"How much of $Q$ and $K$ can be known if only $K^\top Q$ is seen.", walk, on=own_weights.query_and_key
    ),
    parts=(
        Part(
            "(C K, C^-T Q) has the same product, matrices of every shape",
            Scope.IDENTITY,
            lambda quick: (None,),
            lambda _: named_weights_are_in_the_fiber(lambda c: c.inverse),
            {"C instead of its inverse": lambda _: named_weights_are_in_the_fiber(lambda c: c)},
        ),
        Part(
            "every fiber of a product of rank a is one free GL_a orbit",
            Scope.EXHAUSTIVE,
            fibers,
            one_matrix_connects,
            {"C diagonal": partial(one_matrix_connects, only_diagonal=True)},
        ),
        Part(
            "C exists and is unique over the rationals, (K', Q') from the product alone",
            Scope.INSTANCES,
            rational_pairs,
            recovered_over_q,
            {
                "rank below a": partial(recovered_over_q, missing_rank=1),
                "Q' = C Q": partial(recovered_over_q, inverse=False),
            },
        ),
        Part(
            "dimension of the matrices of rank <= alpha",
            Scope.GENERIC,
            variety_shapes,
            determinantal_dimension,
            {"one more": partial(determinantal_dimension, correction=1)},
            instance="width d and query/key width a",
            certifies=these_matrices,
        ),
    ),
)
