"""The steps of `explain`."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from lightning_sym import SOFTMAX, Architecture, Layer, conserved_quantities
from lightning_sym.network.jacobian import weight_gradients
from proofs_check.blackboard.step import Step, must, rational, show

Q, K, V = rational([[1, 2], [0, 1]]), rational([[1, 0], [3, 1]]), rational([[1, -1], [2, 1]])
X, C = rational([[1, 2], [1, -1]]), rational([[1, 0], [0, 2]])


def walk() -> Iterator[Step]:
    """Yield a gradient, and matrices that do not change along it."""
    query, key, value = weight_gradients([Layer(Q, K, V)], X, C)
    yield Step(
        "One step of training",
        r"A layer with weights $Q, K, V$ sees one input $X$, and a loss pulls its output along a matrix $C$. The "
        r"weights move against a gradient; here it is.",
        (show("Q", Q), show("K", K), show("V", V), show(r"\nabla_Q", query), show(r"\nabla_K", key)),
    )
    queries, keys = query @ Q.mT + Q @ query.mT, key @ K.mT + K @ key.mT
    must((queries == keys).all(), "both products change alike")
    must((queries != 0).any(), "they change")
    yield Step(
        "Two matrices that change alike",
        r"Along this gradient $Q Q^\top$ changes, and $K K^\top$ changes by the same matrix. So $Q Q^\top - K K^\top$ "
        r"stays, whatever $X$ and $C$ are: it is the moment of basis changes $Q \mapsto C^{-\top} Q$, $K \mapsto C K$.",
        (show(r"d(Q Q^\top)", queries), show(r"d(K K^\top)", keys)),
    )
    of_queries = sum((query * Q).ravel().tolist(), Fraction(0))
    of_values = sum((value * V).ravel().tolist(), Fraction(0))
    must(of_queries == of_values, "both norms change alike")
    yield Step(
        "A number that stays",
        r"The rescalings $Q \mapsto c Q$, $V \mapsto V / c$ give one more: $|Q|^2$ and $|V|^2$, the sums of squares "
        r"of entries, change alike. Softmax has no such rescaling.",
        (show(r"d |Q|^2 / 2", of_queries), show(r"d |V|^2 / 2", of_values)),
    )
    network = Architecture((2, 2), (2,), 2)
    lightning, softmax = conserved_quantities(network), conserved_quantities(Architecture((2, 2), (2,), 2, SOFTMAX))
    must((lightning.count, softmax.count) == (4, 3), "the two counts")
    first, second = lightning.lie_ranks
    yield Step(
        "There are no more",
        r"Gradients for all $X$ and $C$ span fewer directions than the weights have, but what is kept is kept along "
        r"their brackets $[F, G]$ as well. With these the rank grows, and $12$ parameters less this rank are the four "
        r"numbers found: three of $Q Q^\top - K K^\top$ and one more. For softmax there are three.",
        (
            show(r"\text{rank of gradients}", first),
            show(r"\text{with brackets}", second),
            show(r"\text{kept, lightning}", lightning.lower),
            show(r"\text{kept, softmax}", softmax.lower),
        ),
    )
