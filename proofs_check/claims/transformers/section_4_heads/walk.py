"""The steps of `explain`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lightning_sym import SOFTMAX, Architecture, certified_dimension
from proofs_check.blackboard.step import Step, must, number, show
from proofs_check.claims.transformers.section_4_skip import A1, A2, V1, V2, heads_output


def walk() -> Iterator[Step]:
    """Yield the steps for several heads."""
    together = heads_output((A1, V1), (A2, V2))
    must((together == heads_output((A2, V2), (A1, V1))).all(), "the same function in the other order")
    yield Step(
        "Two heads",
        r"The outputs of heads are added: $V_1 X X^\top A_1 X + V_2 X X^\top A_2 X$. A sum has no order, so heads may "
        r"be "
        r"exchanged.",
        (show("A_1", A1), show("V_1", V1), show("A_2", A2), show("V_2", V2)),
    )
    must((together == heads_output((A1 + 3 * A2, V1), (A2, V2 - 3 * V1))).all(), "the same function after mixing")
    yield Step(
        "Lightning heads mix",
        r"Add $3 A_2$ to $A_1$ and take $3 V_1$ from $V_2$. The term $3 V_1 X X^\top A_2 X$ appears twice, with "
        r"opposite "
        r"signs. These are other heads with the same function, and not by a permutation.",
        (show("A_1 + 3 A_2", A1 + 3 * A2), show("V_2 - 3 V_1", V2 - 3 * V1)),
    )
    network = Architecture((3, 3), (3,), 2, heads=2)
    lightning, softmax = (certified_dimension(n).value or 0 for n in (network, replace(network, normalization=SOFTMAX)))
    must((lightning, softmax) == (32, 36), "32 and 36")
    yield Step(
        "Count",
        r"Two full heads of width three have $36$ numbers. Lightning loses four of them, the $2 \times 2$ matrices "
        r"that "
        r"mix the heads. Softmax loses none: only permutations are left.",
        (number("lightning", lightning), number("softmax", softmax)),
    )
