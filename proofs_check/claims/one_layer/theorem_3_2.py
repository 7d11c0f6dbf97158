r"""Theorem 3.2: the fibers of one layer.

Let $t \ge 2$ and $\varphi_{A,V}(X) = V X X^\top A X$. Up to rescaling, $(\lambda A, V / \lambda)$, the fiber is

1. if $\operatorname{rk} A = \operatorname{rk} V = 1$, $A = p q^\top$, $V = v w^\top$: $(p q^\top, v w^\top)$ and
   $(w q^\top, v p^\top)$;
2. if $A = 0$ or $V = 0$: all $(A', V')$ with $A' = 0$ or $V' = 0$;
3. otherwise: $(A, V)$ alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import numpy as np

from lightning_sym import Architecture, Layer, Weights, forward, polynomial_map
from lightning_sym.exact.rational import rank, rank_one_factors
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.matrix_words import Words
from proofs_check.blackboard import own_weights
from proofs_check.blackboard.step import INPUT, Step, function_of, layer_of, must, quadratic_forms, rational, show
from proofs_check.certificates import weights_if
from proofs_check.claim import Claim, Part, Refutation, Scope, Tally, WalkThrough, expect, expect_equal, spell
from proofs_check.claims.one_layer import theorem_3_2_weights as finite
from proofs_check.claims.one_layer.theorem_3_2_weights import AllWeights, LayerOverField, Pair, solve
from proofs_check.finite_matrices import Integers, is_zero
from proofs_check.samples import listed

Names = tuple[str, str, str, str]
THE_EXCHANGE: Names = ("w", "q", "v", "p")


def named_weights(case: str, inverse: Callable[[Words], Words] = lambda c: c.inverse, to: Names = THE_EXCHANGE) -> None:
    """Check the weights that are named, over formal words, so for matrices of every shape.

    The attention matrix is the query, or key and query.
    """
    a, v, x, scale = Words.letter("A"), Words.letter("V"), Words.letter("X"), Words.scalar("lambda")
    one, zero = Words.identity(), Words(frozenset())
    if case == "rescaling":
        changed = forward(x, [Layer(scale @ a, one, inverse(scale) @ v)])
        expect_equal(str(changed), str(forward(x, [Layer(a, one, v)])), at="(lambda A, V / lambda)")
    elif case == "zero":
        for layer in (Layer(zero, one, v), Layer(a, one, zero)):
            expect_equal(str(forward(x, [layer])), str(zero), at="A = 0 or V = 0")
    else:
        vectors = {name: Words.letter(name) for name in "pqvw"}

        def phi(p: Words, q: Words, v: Words, w: Words) -> Words:
            return forward(x, [Layer(q.mT, p.mT, v @ w.mT)])

        # phi = v s q^T X, and s = w^T X X^T p is 1 x 1, so that it is its own transpose
        p, q, v, w = vectors.values()
        s = w.mT @ x @ x.mT @ p
        expect_equal(str(phi(p, q, v, w)), str(v @ s @ q.mT @ x), at="(p q^T, v w^T)")
        expect_equal(str(phi(*(vectors[n] for n in to))), str(v @ s.mT @ q.mT @ x), at=f"p, q, v, w to {', '.join(to)}")


def hypotheses_hold(tokens: int) -> bool:
    return tokens >= 2


def stated_classes(every: AllWeights, *, exchange: bool = True, zeros_together: bool = True) -> Integers:
    """Return a number for each weight, equal exactly where the theorem says that the functions are."""
    a, v, p = every.attention, every.value, every.p
    rows = finite.rescaling_class(a, v, p)
    if exchange:
        chosen = np.flatnonzero(finite.is_rank_one(a, p) & finite.is_rank_one(v, p))
        (left, right), (out, row) = (finite.rank_one_factors(m[chosen], p) for m in (a, v))
        other = finite.rescaling_class(row[:, :, None] * right[:, None], out[:, :, None] * left[:, None], p)
        order = p ** np.arange(rows.shape[1], dtype=np.int64)  # either of the two may stand for both: take the smaller
        smaller = other @ order < rows[chosen] @ order
        rows[chosen[smaller]] = other[smaller]
    if zeros_together:
        rows[is_zero(a) | is_zero(v)] = 0
    return finite.numbered(rows)


def every_fiber(field: LayerOverField, stated: Callable[[AllWeights], Integers] = stated_classes) -> str:
    """Check that two partitions of all weights, by function and by statement, are one and the same."""
    every = finite.all_weights(field)
    functions, classes = finite.numbered(every.coefficients), stated(every)
    for ours, theirs in ((functions, classes), (classes, functions)):
        first = np.unique(ours, return_index=True)[1]
        if (wrong := np.flatnonzero(theirs != theirs[first[ours]])).size:
            i, j = int(first[ours[wrong[0]]]), int(wrong[0])
            equal = "the same function" if functions[i] == functions[j] else "different functions"
            fiber = "one fiber" if classes[i] == classes[j] else "different fibers"
            raise Refutation(f"{field}: {every.show(i)} and {every.show(j)} have {equal}, {fiber} stated")
    found = Tally(f"{field}: {len(functions):,} weights, {functions.max() + 1:,} functions, each fiber as stated")
    return (
        found if hypotheses_hold(field.tokens) else f"the hypothesis t >= 2 is sufficient, not needed at d = {field.d}"
    )


def weights_of(attention: Integers | ObjectArray, value: Integers | ObjectArray) -> Weights:
    return Weights.of({"Q1": attention, "K1": np.eye(len(attention), dtype=np.int64), "V1": value})


def rank_pairs(*, quick: bool) -> Iterator[Weights]:
    for d, d_out in product((2, 3), (1, 2, 3)):
        shape = Architecture((d, d_out), (d,), 2)
        for rk_a, rk_v in product(range(d + 1), range(min(d, d_out) + 1)):
            for seed in range(2 if quick else 12):
                yield Weights.random(shape, seed=seed, denominator=2, attention_matrix_ranks=[rk_a], value_ranks=[rk_v])
        # A = h q^T, V = v h^T: the two weights of case 1 are one
        h, q, v = [1, -2, 3][:d], [2, 1, -1][:d], [1, 4, 2][:d_out]
        yield weights_of(np.outer(h, q), np.outer(v, h))


def stated_fiber(a: ObjectArray, v: ObjectArray) -> list[Pair] | None:
    if rank(a) == 0 or rank(v) == 0:
        return None
    if rank(a) == rank(v) == 1:
        (p, q), (out, w) = rank_one_factors(a), rank_one_factors(v)
        return [(a, v), (np.outer(w, q), np.outer(out, p))]
    return [(a, v)]


def up_to_rescaling(pairs: list[Pair] | None) -> set[tuple[object, ...]] | None:
    if pairs is None:
        return None
    leads = [next(x for x in a.ravel() if x != 0) for a, _ in pairs]
    return {(*(a / lead).ravel(), *(v * lead).ravel()) for (a, v), lead in zip(pairs, leads, strict=True)}


def solved_over_q(
    weights: Weights, stated: Callable[[ObjectArray, ObjectArray], list[Pair] | None] = stated_fiber
) -> None:
    (layer,) = weights.layers
    a, v = layer.key.T @ layer.query, layer.value
    pairs = solve(polynomial_map(weights.architecture(2), weights))
    found, expected = up_to_rescaling(pairs), up_to_rescaling(stated(a, v))
    if found != expected:
        count = ["all with A' = 0 or V' = 0" if s is None else str(len(s)) for s in (found, expected)]
        raise Refutation(
            f"A = {spell(a)}, V = {spell(v)}: "
            f"{count[0]} weights in the fiber up to rescaling, stated {count[1]}, and not the same ones"
        )
    phi = polynomial_map(weights.architecture(3), weights).entries
    for pair in pairs or ():  # what two tokens determine holds for three
        other = weights_of(*pair)
        of_other = polynomial_map(other.architecture(3), other).entries
        expect_equal(np.array_equal(of_other, phi), True, at=f"{pair}, t = 3")


def one_token(shape: tuple[int, int], tokens: int = 1) -> str:
    """Return two weights of case 3 with one function: a matrix and its transpose."""
    d, d_out = shape
    a, v = np.eye(d, dtype=np.int64), np.ones((d_out, d), dtype=np.int64)
    a[0, 1] = 1
    pair = weights_of(a, v), weights_of(a.T, v)
    one, other = (polynomial_map(w.architecture(tokens), w).ring_coefficients() for w in pair)
    expect(one == other, f"A = {spell(a)}, V = {spell(v)}: A and A^T give different functions at t = {tokens}")
    return "the hypothesis t >= 2 is needed for d >= 2: at t = 1 A = 1 + e_1 e_2^T and its transpose are one function"


def walk() -> Iterator[Step]:
    p, q, w = rational([[1], [2]]), rational([[2], [1]]), rational([[1], [-1]])
    attention, value = p @ q.T, w.T
    yield Step(
        "A layer of rank one",
        r"Build both matrices from vectors: $A = p\, q^\top$ and $V = w^\top$ (here $d' = 1$, so $v = 1$). Both have "
        r"rank one.",
        (show("p", p), show("q", q), show("w", w), show(r"A = p\, q^\top", attention), show(r"V = w^\top", value)),
    )
    phi = function_of(layer_of(attention, value))
    yield Step(
        "Its function",
        r"Two tokens $x_1 = (x, y)$ and $x_2 = (r, s)$ go in. The first output token is",
        (show(r"\varphi_1", phi[0, 0]),),
    )
    swapped, swapped_value = w @ q.T, p.T
    other = function_of(layer_of(swapped, swapped_value))
    must(np.array_equal(phi, other), "the swapped weights have the same function")
    must(rank([[*attention.ravel(), *value.ravel()], [*swapped.ravel(), *swapped_value.ravel()]]) == 2, "they differ")
    yield Step(
        "Swap p and w",
        r"Now let $p$ and $w$ change places: $A' = w\, q^\top$, $V' = p^\top$. These are other weights, no multiple of "
        r"the old ones. Run the network again, and compare term by term: it is the same polynomial.",
        (show(r"A' = w\, q^\top", swapped), show(r"V' = p^\top", swapped_value), show(r"\varphi'_1", other[0, 0])),
    )
    forms = quadratic_forms(phi)
    common = forms[0, 0].gcd(forms[0, 1])
    _, factors = common.factor()
    must(len(factors) == 2, "the common factor splits into two lines")
    yield Step(
        "Why",
        r"Look at what token two adds to output one. The coefficient of $x$ is a quadratic form $f$, that of $y$ is "
        r"$g$. Each is a product: a column of $A$ times $V$, as linear forms in $(r, s)$. Here the common factor of "
        r"$f$ and $g$ is a quadratic, and it splits into two linear forms (call them lines). One of them is "
        r"$V$, the other belongs to $A$; "
        r"nobody can tell which.",
        (
            show("f", forms[0, 0]), show("g", forms[0, 1]), show(r"\gcd(f, g)", common),
            *(show(r"\text{line}", line) for line, _ in factors),
        ),
    )  # fmt: skip
    full = rational([[1, 1], [0, 1]])
    forms = quadratic_forms(function_of(layer_of(full, value)))
    common = forms[0, 0].gcd(forms[0, 1])
    must(common.total_degree() == 1, "the common factor is one line")
    yield Step(
        "With rank two there is nothing to swap",
        r"Keep $V$, and take an $A$ of rank two. Again write down $f$ and $g$. Now the common factor is a single line, "
        r"and it must be $V$, up to a scalar. Divide by it, and the columns of $A$ appear. So only rescalings "
        r"$(\lambda A, V / \lambda)$ are left.",
        (
            show("A", full), show("f", forms[0, 0]), show("g", forms[0, 1]), show(r"\gcd(f, g)", common),
            show("f / V", forms[0, 0] / common), show("g / V", forms[0, 1] / common),
        ),
    )  # fmt: skip
    three = function_of(layer_of(3 * full, value / 3))
    must(np.array_equal(three, function_of(layer_of(full, value))), "rescaling changes nothing")
    nothing = function_of(layer_of(full, 0 * value))
    must(all(entry == 0 for entry in nothing.ravel()), "V = 0 gives zero")
    yield Step(
        "Zero",
        r"If $A = 0$ or $V = 0$, the output is zero, whatever the other matrix is. That is the third case of the "
        r"theorem.",
        (show("V", 0 * value), show(r"\varphi_1", nothing[0, 0])),
    )
    skew = rational([[0, 1], [-1, 0]])
    alone = INPUT[:, :1]
    one, two = (function_of(layer_of(m, value), x=alone) for m in (full, full + skew))
    must(np.array_equal(one, two), "a single token cannot see the skew part")
    yield Step(
        "One token is not enough",
        r"With $t = 1$ the token can only look at itself. The score $x^\top A x$ sees the symmetric part of $A$ alone. "
        r"Add a skew-symmetric matrix: the function stays, though $A + J$ is no multiple of $A$. So $t \ge 2$ is "
        r"needed.",
        (show("A", full), show("A + J", full + skew), show(r"\varphi", one[0, 0]), show(r"\varphi'", two[0, 0])),
    )


CLAIM = Claim(
    id="theorem-3.2",
    source="Theorem 3.2",
    title="one layer: rescalings, one exchange at rk A = rk V = 1, and zero",
    statement=(
        r"t \ge 2:\quad \varphi_{A',V'} = \varphi_{A,V} \iff (A', V') = (\lambda A, \tfrac1\lambda V), \text{ or }"
        r" (A', V') = (\lambda w q^\top, \tfrac1\lambda v p^\top) \text{ if } A = p q^\top,\ V = v w^\top \ne 0,"
        r" \text{ or } A = 0 \vee V = 0 \text{ and } A' = 0 \vee V' = 0"
    ),
    hypotheses=(
        r"One layer, one head, lightning, no mask; $A$ and $A'$ of rank at most $a$, $\lambda \ne 0$. At $t = 1$, "
        r"$d \ge 2$ it is false: there only $A + A^\top$ is seen."
    ),
    place=30,
    rests_on=("proposition-a.5",),
    walk=WalkThrough("Which weights of one layer have the same function.", walk, on=own_weights.swap),
    parts=(
        Part(
            "the named weights are in the fiber, matrices of every shape",
            Scope.IDENTITY,
            lambda quick: ("rescaling", "zero", "exchange"),
            named_weights,
            {
                "lambda V in place of V / lambda": partial(named_weights, inverse=lambda c: c),
                "q and w exchanged": partial(named_weights, to=("p", "w", "v", "q")),
            },
        ),
        Part(
            "nothing else is: every weight over small prime fields",
            Scope.EXHAUSTIVE,
            listed(
                [LayerOverField(3, 2, 1), LayerOverField(3, 2, 2), LayerOverField(5, 2, 1)],
                [
                    LayerOverField(3, 2, 1, tokens=3),
                    LayerOverField(3, 1, 3),
                    LayerOverField(5, 1, 2),
                    LayerOverField(7, 2, 1),
                ],
            ),
            every_fiber,
            {
                "without the exchange": partial(every_fiber, stated=partial(stated_classes, exchange=False)),
                "zero only by rescalings": partial(every_fiber, stated=partial(stated_classes, zeros_together=False)),
            },
        ),
        Part(
            "nothing else is: the fiber solved for over Q, every pair of ranks",
            Scope.INSTANCES,
            rank_pairs,
            solved_over_q,
            {
                "only rescalings": partial(solved_over_q, stated=lambda a, v: stated_fiber(a, v) and [(a, v)]),
                "A^T too": partial(
                    solved_over_q, stated=lambda a, v: (known := stated_fiber(a, v)) and [*known, (a.T, v)]
                ),
            },
            at=weights_if(
                lambda network: network.depth == 1, lambda weights, t: hypotheses_hold(t), lambda weights, _: weights
            ),
        ),
        Part(
            "one token: a matrix and its transpose give one function",
            Scope.INSTANCES,
            lambda quick: product((2, 3), (1, 2)),
            one_token,
            {"two tokens": partial(one_token, tokens=2)},
        ),
        Part(
            "one token and d = 1: the statement holds",
            Scope.EXHAUSTIVE,
            lambda quick: (
                LayerOverField(3, 1, 1, tokens=1),
                LayerOverField(3, 1, 2, tokens=1),
                LayerOverField(5, 1, 2, tokens=1),
            ),
            every_fiber,
            {"zero only by rescalings": partial(every_fiber, stated=partial(stated_classes, zeros_together=False))},
        ),
    ),
)
