"""The steps of `explain`."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from lightning_sym.rings.arrays import ObjectArray
from proofs_check.blackboard.series import exponents
from proofs_check.blackboard.step import Step, must, rational, show


def walk() -> Iterator[Step]:
    """Theorem 1 of docs/softmax-fibers.md."""
    attention, value = rational([[1, 2], [0, 1]]), rational([[1, 3]])
    skew = rational([[0, 1], [-1, 0]])
    x1, x2 = rational([2, 1]), rational([0, -1])
    m, y = (x1 + x2) / Fraction(2), x1 - x2
    first, second = exponents(attention, x1, x2)
    a, b = y @ attention @ m, y @ attention @ y
    must([first, second] == [a + b / 2, a - b / 2], "the exponents are a + b / 2 and a - b / 2")
    yield Step(
        "Mean and difference",
        r"Two tokens, $m$ their mean and $y = x_1 - x_2$. Query $k$ gives token one the weight "
        r"$p_k = 1 / (1 + e^{-T_k})$, where $T_k$ is how much higher token one scores. With $a = y^\top A m$ and "
        r"$b = y^\top A y$ the two numbers are $T_1 = a + b/2$ and $T_2 = a - b/2$.",
        (show("m", rational([m.tolist()])), show("y", rational([y.tolist()])), show("A", attention), show("a", a),
         show("b", b), show("T_1", first), show("T_2", second)),
    )  # fmt: skip
    yield Step(
        "The form is kept",
        r"The new tokens are $x_2 + p_k\, y$: averages of the old ones. So behind every layer the difference is a "
        r"multiple of $y$ and the mean is $m$ plus a multiple of $y$. A deep network only moves two numbers. The first "
        r"new difference is $(p_1 - p_2)\, y$, and $p_1 - p_2$ is not zero exactly if $T_1 \ne T_2$: if $b \ne 0$.",
        (show("T_1 - T_2", first - second),),
    )

    def third_order(mean: ObjectArray, difference: ObjectArray) -> Fraction:
        """p = 1/2 + T/4 to first order, so the mean moves by (p_1 + p_2 - 1) / 2 = (T_1 + T_2) / 8 times y."""
        half = difference / Fraction(2)
        term: Fraction = value[0] @ difference * sum(exponents(attention, mean + half, mean - half)) / 8
        return term

    units = [rational([1, 0]), rational([0, 1])]
    must(third_order(m, y) == (value[0] @ y) * a / 4, "the third order is (V y) a / 4")
    found = rational([[4 * third_order(e, u) / (value[0] @ u) for e in units] for u in units])
    must((found == attention).all(), "A is read off")
    yield Step(
        "What the third order shows",
        r"Near zero $p = \tfrac{1}{2} + \tfrac{1}{4} T$ to first order, so the mean output is $V m$, in degree one, "
        r"and then, in degree three, $\tfrac{1}{4} (V y)(y^\top A_1 m)$. Later layers see tokens that agree up to "
        r"degree three, and add nothing there. $y$ and $m$ are free: for $y, m \in \{e_1, e_2\}$ this is every entry "
        r"of $A_1$.",
        (
            show("V", value),
            show(r"\tfrac{1}{4} (V y)(y^\top A_1 m)", third_order(m, y)),
            show(r"A_1 \text{ recovered}", found),
        ),
    )
    yield Step(
        "Peel off the layer",
        r"$A_1$ is known, so the first layer is a known map, and the rest of the network is asked about its outputs. "
        r"If these fill an open set, the rest is known there, and by analyticity everywhere. To lowest order the new "
        r"difference is $\tfrac{1}{4} q(y)\, y$ with $q(y) = y^\top A_1 y$; the determinant of its derivative is "
        r"$3\, (q/4)^d$, not zero where $q$ is not. Then the next layer gives itself away in the same way, and so on.",
        (show("q(y)", b),),
    )
    hidden = exponents(skew, x1, x2)
    must(hidden[0] == hidden[1], "a skew matrix gives both queries the same")
    yield Step(
        "A layer that hides the rest",
        r"Let $A_1$ be skew. Then $b = 0$ for every $y$: both queries give the same weights, both new tokens are the "
        r"same, and averages of equal tokens stay what they are. No layer behind is visible. For three tokens a skew "
        r"matrix does not do this; the zero matrix always does.",
        (show("A_1", skew), show("T_1", hidden[0]), show("T_2", hidden[1])),
    )
