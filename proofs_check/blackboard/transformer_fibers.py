"""Which transformers are the same function: tables of heads, orbits, words and blocks, counts, common streams."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lightning_sym import certified_dimension
from proofs_check.blackboard.step import Shown, Step, must, number, rational, show, table
from proofs_check.claims.transformers.common_streams import common_streams, inputs_of
from proofs_check.claims.transformers.conditions import failing
from proofs_check.claims.transformers.differentials import rank_of_differential
from proofs_check.claims.transformers.formal_exponentials import ExactLayer
from proofs_check.claims.transformers.one_transformer_layer import sums
from proofs_check.claims.transformers.polynomial_maps import words_and_blocks, words_and_two_token_scores
from proofs_check.claims.transformers.small_networks import (
    Head,
    Matrix,
    Network,
    apart,
    as_array,
    as_rows,
    plus,
    same_for_any_exponential,
    times,
    zero,
)
from proofs_check.claims.transformers.transformer_dimension import formula
from proofs_check.claims.transformers.words_and_blocks import spans, transformer

A1: Matrix = ((1, 0), (2, 1))
A2: Matrix = ((0, 1), (1, 1))
V1: Matrix = ((1, 1), (0, 1))
V2: Matrix = ((1, 0), (1, -2))
ONE: Matrix = ((1, 0), (0, 1))
SKEW: Matrix = ((0, 1), (-1, 0))


def _show(label: str, matrix: Matrix) -> Shown:
    return show(label, rational(matrix))


def _network(*layers: tuple[Head, ...], tokens: int = 3, causal: bool = True) -> Network:
    return Network(ONE, layers, ONE, tokens, causal)


def _equal(one: Network, other: Network) -> bool:
    """For one layer, by an identity of rational functions."""
    return ExactLayer(one).same_as(ExactLayer(other))


def one_layer_tables() -> Iterator[Step]:
    """Theorem 8 of docs/transformer-fibers.md."""
    apart_heads = _network((Head(A1, V1), Head(A1, V2), Head(A2, V2)))
    together = _network((Head(A1, plus(V1, V2)), Head(A2, V2)))
    table = sums(apart_heads)
    must(_equal(apart_heads, together), "the same function with two heads as with three")
    must(set(table) == {A1, A2} and as_rows(table[A1]) == plus(V1, V2), "the table of the heads")
    yield Step(
        "A table of heads",
        r"One layer $X + \sum_h V_h X P_h$ with softmax patterns of $X^\top A_h X$. Heads with the same $A$ have the "
        r"same pattern, so only the sum of their $V$ counts. Write $M_m$ for the sum of the $V_h$ over the heads with "
        r"$A_h = m$. Here two of three heads have $A_1$, and a layer with two heads is the same function: with the "
        r"exponentials as variables this is an identity of rational functions.",
        (_show("A_1", A1), _show("A_2", A2), _show("M_{A_1} = V_1 + V_2", plus(V1, V2)), _show("M_{A_2} = V_2", V2)),
    )
    other = _network((Head(A1, V1), Head(A2, plus(V2, V2))))
    must(not _equal(together, other), "another table has another function")
    yield Step(
        "Three tokens see the table",
        r"Exponentials of different scores are independent, and $1/(1 + \omega e^\tau)$ with $\omega = t - 1 \ne 1$ "
        r"are linearly independent for different $\tau$. So the function gives every $M_m$ back, also $M_0$, and "
        r"nothing else: no condition on the weights.",
    )
    minus, constant = times(-1, A1), Head(zero(2), times(2, V1))
    two = _network((Head(A1, V1),), tokens=2)
    turned = _network((Head(minus, times(-1, V1)), constant), tokens=2)
    must(_equal(two, turned), "for two tokens a head can be turned around")
    must(not _equal(two._replace(tokens=3), turned._replace(tokens=3)), "for three tokens it can not")
    yield Step(
        "Two tokens see less",
        r"For two tokens $1/(1 + e^{-\tau}) = 1 - 1/(1 + e^\tau)$: opposite scores have opposite patterns, $P_{-A} = "
        r"2 P_0 - P_A$. So $(A, V)$ is the same as $(-A, -V)$ and $(0, 2V)$ together. What is left are the sum of all "
        r"$M_m$ and the differences $M_m - M_{-m}$.",
        (_show("-A_1", minus), _show("-V_1", times(-1, V1)), _show(r"2 V_1 \text{ without scores}", constant.value)),
    )


def exact_fiber() -> Iterator[Step]:
    """Theorem 4 and Corollary 5."""
    network = _network((Head(A1, V1),), (Head(A2, V2),), tokens=2)
    must(failing(network) == "", "all conditions hold")
    sum_1 = plus(ONE, V1)
    yield Step(
        "Two layers, given weights",
        r"Two causal layers with skips, $E = U = 1$, two tokens. The theorem has conditions on these very weights, "
        r"and each is a determinant: $A_1 \ne 0$; $V_1^\top A_2 (1 + V_1) \ne 0$, the second layer sees what the "
        r"first writes; $V_1, V_2 \ne 0$; $1 + V_1$ invertible; no sign may flip.",
        (_show("A_1", A1), _show("V_1", V1), _show("A_2", A2), _show("V_2", V2), _show("1 + V_1", sum_1),
         _show(r"V_1^\top A_2 (1 + V_1)", as_rows(as_array(V1).T @ as_array(A2) @ as_array(sum_1)))),
    )  # fmt: skip
    weights, group, bounds = rank_of_differential(network, ends=True)
    must((weights, group, bounds.lower, bounds.upper) == (24, 4, 20, 20), "24 weights, 4 basis changes, rank 20")
    yield Step(
        "The fiber is an orbit",
        r"Then all weights of this shape with this function come from a change of basis of the stream and, with "
        r"several heads, another order. To first order: of the $24$ entries of $E, A_1, V_1, A_2, V_2, U$ four "
        r"directions are changes of basis. The rank of the differential at these weights is at least what balls show, "
        r"and at most $24$ minus the tangent vectors of the orbit.",
        (number("weights", weights), number("changes of basis", group), number("rank", bounds.lower)),
    )
    flipped = Head(times(-1, A1), times(-1, V1)), Head(times(-1, A2), V1)
    one = _network((Head(A1, V1), Head(A2, times(-1, V1))), tokens=2)
    other = _network(flipped, tokens=2)
    must(failing(one) == "c", "the condition on flips fails, and no other")
    must(_equal(one, other), "the second network is the same function")
    yield Step(
        "Without a condition",
        r"Two heads with $V_1 + V_2 = 0$ and two tokens: both may be turned around, $(-A_1, -V_1)$, $(-A_2, -V_2)$. "
        r"This is no change of basis. The conditions find it: the first token does not notice the flips.",
        (_show("V_1", V1), _show("V_2", times(-1, V1))),
    )


def words() -> Iterator[Step]:
    """Theorems 7 and 11."""
    network = transformer((2, 4, 2, 1, 4, 4), 3, True)
    three, rank = certified_dimension(network).value, words_and_blocks(network)
    must(three == rank == 36, "36 on both roads")
    yield Step(
        "Words and blocks",
        r"Multiply a residual network out: $f = \sum_w U W_w E\, x P_w$, over words $W_w$ that pick at most one $V$ "
        r"in each layer. Scores are sums of blocks $E^\top W_a^\top A_{ih} W_b E$. For three tokens or more almost "
        r"every function gives all of these back. So its dimension is the rank of a polynomial map: two layers of "
        r"width four, two words of input.",
        (number("rank of the polynomial map", rank), number("certified dimension", 36)),
    )
    two = replace(network, tokens=2)
    seen, scores = certified_dimension(two).value, words_and_two_token_scores(two)
    must(seen == scores == 34, "34 on both roads")
    yield Step(
        "Two tokens",
        r"Two tokens do not see all blocks: their scores are $\delta^\top A X_2$ with $\delta = X_1 - X_2$, and some "
        r"forms cancel. With these polynomials in the place of blocks the rank is the dimension again.",
        (table(r"\text{rank}", rational([[rank], [scores]]), [r"\text{blocks}", r"\text{scores of two tokens}"]),
         number("certified dimension", 34)),
    )  # fmt: skip
    masked = transformer((1, 3, 2, 2, 3, 3), 2, True)
    free = replace(masked, causal=False)
    counts = [certified_dimension(n).value for n in (masked, free)]
    must(counts == [words_and_two_token_scores(n) for n in (masked, free)] == [27, 29], "27 and 29")
    yield Step(
        "A mask hides more",
        r"One word of input, width three, two layers of two heads. With a mask the first token sees itself only, so "
        r"its stream has no weights of heads in it, and more forms cancel in the scores of the second.",
        (table(r"\dim", rational([[27], [29]]), [r"\text{causal}", r"\text{no mask}"]),),
    )


def count_every_size() -> Iterator[Step]:
    """Corollary 6 and Theorem 12."""
    wide = transformer((4, 3, 2, 2, 1, 1), 2, True)
    must(certified_dimension(wide).value == formula(wide) == 55, "55")
    yield Step(
        "At least as many words as widths",
        r"Four words, width three, two layers, two heads, $a = b = 1$. The fiber is an orbit for almost all weights, "
        r"so the dimension is the number of parameters, less $9$ for the basis of the stream and less $a^2 + b^2$ for "
        r"each head: $d (2n - d) + l h (\alpha (2d - \alpha) + \beta (2d - \beta))$.",
        (number("parameters", wide.parameter_count), number("dimension", 55)),
    )
    narrow = transformer((1, 4, 3, 1, 2, 2), 3, True)
    every, stated = spans(narrow)[:-1], formula(narrow)
    must(certified_dimension(narrow).value == stated == words_and_blocks(narrow), "three roads to one number")
    must(every == [1, 2, 4], "what the layers meet")
    yield Step(
        "Fewer words than widths",
        r"One word in width four. The first layer meets one direction, and a head adds at most as many as it meets: "
        r"$f_0, f_1, f_2 = 1, 2, 4$. What a layer does elsewhere is not seen. Counting the rest, up to the basis of "
        r"$\mathbb R^{f_2}$, gives the dimension.",
        (show("f", rational([[f] for f in every])), number("dimension", stated)),
    )
    sharp = transformer((1, 5, 4, 1, 1, 4), 3, True)
    must((formula(sharp), certified_dimension(sharp).value) == (45, 42), "45 and 42")
    yield Step(
        "Where the count is too large",
        r"The last layer must show all of its stream: $\min(m, f) + h (2 \alpha_l + \beta_l) \ge f$. Here $1 + 2 + 1 "
        r"< 5$, and the formula is three too large.",
        (number("formula", 45), number("dimension", 42)),
    )


def streams() -> Iterator[Step]:
    """Theorem 1."""
    one = _network((Head(A1, V1), Head(A1, V2)), (Head(A2, V2),))
    other = _network((Head(A1, plus(V1, V2)), Head(SKEW, zero(2))), (Head(A2, V2),))
    must(common_streams(one, other), "merged heads are said to be equal")
    must(same_for_any_exponential(one, other, inputs_of(one, 3)), "they are for any exponential")
    yield Step(
        "Two streams, one above the other",
        r"When are two given networks one function? Stack their streams. Tokens differ in a space $D$, at first the "
        r"columns of $(E; E')$. Heads of both with the same scores there have the same pattern $P$, so that "
        r"$\operatorname{diag}(\sum V, \sum V') z P$ is what both add. Here $A_1$ has $V_1 + V_2$ above and below.",
        (_show("V_1", V1), _show("V_2", V2), _show("V_1 + V_2", plus(V1, V2))),
    )
    yield Step(
        "What is asked at the end",
        r"Columns of patterns add up to one, so the columns of the stacked stream stay in a space $L$, which follows "
        r"from $D$ and the $\sum V$ of the classes alone. If $U$ above and $U'$ below agree on $L$, the functions are "
        r"equal. No exponential was looked at, and no condition on the weights is asked.",
        (show("L_0 = D_0 = (E; E')", rational([*ONE, *ONE])),),
    )
    drift = Network(
        ((1,), (0,)), ((Head(((1, 0), (0, 0)), ((0, 0), (1, 0))),), (Head(zero(2), zero(2)),)), ((1, 0),), 3, False
    )
    value: Matrix = ((1, -1), (0, 0))
    moved = drift._replace(layers=(drift.layers[0], (Head(zero(2), value),)))
    must(common_streams(drift, moved, mean_stays=True), "differences alone do not tell them apart")
    must(not common_streams(drift, moved), "the criterion does not call them equal")
    must(apart(drift, moved, inputs_of(drift, 6)), "they are apart")
    yield Step(
        "Why differences are not enough",
        r"Without mask a head without scores adds $V$ times the mean: all tokens get the same, and no difference. But "
        r"the mean has moved in the layers before. A first layer that copies $x$ to a second coordinate, with "
        r"weights, and then $V = (1, -1; 0, 0)$ on the mean: the mean of $x_k$ and the mean of its averages are two "
        r"numbers.",
        (_show("V", value),),
    )
