"""The steps of `explain`."""

from __future__ import annotations

from collections.abc import Iterator

from proofs_check.blackboard.step import Step, must, rational, show
from proofs_check.claims.transformers.common_streams.criterion import common_streams, inputs_of
from proofs_check.claims.transformers.one_transformer_layer import A1, A2, ONE, V1, V2, shown, small_network
from proofs_check.claims.transformers.row_matrices import Matrix, plus, zero
from proofs_check.claims.transformers.small_networks import HeadAV, SmallNetwork, apart, same_for_any_exponential

SKEW: Matrix = ((0, 1), (-1, 0))


def walk() -> Iterator[Step]:
    """Theorem 1."""
    one = small_network((HeadAV(A1, V1), HeadAV(A1, V2)), (HeadAV(A2, V2),))
    other = small_network((HeadAV(A1, plus(V1, V2)), HeadAV(SKEW, zero(2))), (HeadAV(A2, V2),))
    must(common_streams(one, other), "merged heads are said to be equal")
    must(same_for_any_exponential(one, other, inputs_of(one, 3)), "they are for any exponential")
    yield Step(
        "Two streams, one above the other",
        r"When are two given networks one function? Stack their streams. Tokens differ in a space $D$, at first the "
        r"columns of $(E; E')$. Heads of both with the same scores there have the same pattern $P$, so that "
        r"$\operatorname{diag}(\sum V, \sum V') z P$ is what both add. Here $A_1$ has $V_1 + V_2$ above and below.",
        (shown("V_1", V1), shown("V_2", V2), shown("V_1 + V_2", plus(V1, V2))),
    )
    yield Step(
        "What is asked at the end",
        r"Columns of patterns add up to one, so the columns of the stacked stream stay in a space $L$, which follows "
        r"from $D$ and the $\sum V$ of the classes alone. If $U$ above and $U'$ below agree on $L$, the functions are "
        r"equal. No exponential was looked at, and no condition on the weights is asked.",
        (show("L_0 = D_0 = (E; E')", rational([*ONE, *ONE])),),
    )
    drift = SmallNetwork(
        ((1,), (0,)),
        ((HeadAV(((1, 0), (0, 0)), ((0, 0), (1, 0))),), (HeadAV(zero(2), zero(2)),)),
        ((1, 0),),
        3,
        False,
    )
    value: Matrix = ((1, -1), (0, 0))
    moved = drift._replace(layers=(drift.layers[0], (HeadAV(zero(2), value),)))
    must(common_streams(drift, moved, mean_stays=True), "differences alone do not tell them apart")
    must(not common_streams(drift, moved), "the criterion does not call them equal")
    must(apart(drift, moved, inputs_of(drift, 6)), "they are apart")
    yield Step(
        "Why differences are not enough",
        r"Without mask a head without scores adds $V$ times the mean: all tokens get the same, and no difference. But "
        r"the mean has moved in the layers before. A first layer that copies $x$ to a second coordinate, with "
        r"weights, and then $V = (1, -1; 0, 0)$ on the mean: the mean of $x_k$ and the mean of its averages are two "
        r"numbers.",
        (shown("V", value),),
    )
