"""The steps of `explain`."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from lightning_sym.rings.arrays import ObjectArray
from proofs_check.blackboard.step import Step, must, normalized_network, rational, show


def walk() -> Iterator[Step]:
    """Yield the steps of Theorem 3.9."""
    attention, value = rational([[1, 2], [3, 1]]), rational([[1, 2]])
    e1, e2, zero = rational([1, 0]), rational([0, 1]), rational([0, 0])

    def output(x1: ObjectArray, x2: ObjectArray, a: ObjectArray = attention, v: ObjectArray = value) -> Fraction:
        number: Fraction = normalized_network(np.array([x1, x2], dtype=object).T, (a, v))[0, 0]
        return number

    yield Step(
        "A normalized layer",
        r"Output token $i$ is now an average of the values $V x_j$ with weights $S(x_j^\top A x_i)$, divided by their "
        r"sum. Softmax has $S = \exp$. To keep all numbers rational the board takes $S(y) = 1 + y$; the argument needs "
        r"only that $S$ is known and injective, and that $S(0)$ is not zero.",
        (show("A", attention), show("V", value)),
    )
    other = 2 * attention, value / 2
    ours, theirs = output(e1, e2), output(e1, e2, *other)
    must(ours != theirs, "rescaling changes the function")
    yield Step(
        "Rescaling is seen",
        r"For lightning attention $(2A, V/2)$ was the same function. Not here. Let the tokens be $(1, 0)$ and $(0, 1)$ "
        r"and look at output one. An average does not forget the size of $V$.",
        (show(r"\varphi_{A, V}", ours), show(r"\varphi_{2A, V/2}", theirs)),
    )
    found_v = [2 * output(zero, e) for e in (e1, e2)]
    must(found_v == list(value[0]), "V is found")
    yield Step(
        "Read off V",
        r"Forget the weights; only the function may be asked. Let the first token be $0$. Then every score is $0$, "
        r"both tokens weigh the same, and the output is $\tfrac{1}{2} V x_2$. Ask for $x_2 = (1, 0)$ and $(0, 1)$, and "
        r"double the answers.",
        (show(r"2 \varphi(0, e_1)", found_v[0]), show(r"2 \varphi(0, e_2)", found_v[1])),
    )

    def share(x1: ObjectArray, x2: ObjectArray) -> Fraction:
        """Return the weight of token two in the average, from the output alone."""
        first, second = (sum(a * b for a, b in zip(found_v, x, strict=True)) for x in (x1, x2))
        weight: Fraction = (output(x1, x2) - first) / (second - first)
        return weight

    diagonal = []
    for e in (e1, e2):
        s = share(e, zero)  # 1 / (2 + c)
        diagonal.append(1 / s - 2)
    must(diagonal == [attention[0, 0], attention[1, 1]], "the diagonal is found")
    yield Step(
        "Read off the diagonal of A",
        r"Now $V$ is known. Let the second token be $0$. The output lies between $V x_1$ and $0$; where it lies tells "
        r"how much token two weighs: $S(0) / (S(c) + S(0)) = 1 / (2 + c)$ with $c = x_1^\top A x_1$. Solve for $c$.",
        (show(r"\text{weight at } e_1", share(e1, zero)), show(r"\text{weight at } e_2", share(e2, zero)),
         show("a_{11}", diagonal[0]), show("a_{22}", diagonal[1])),
    )  # fmt: skip
    off = []
    for i, (x1, x2) in enumerate(((e1, e2), (e2, e1))):
        s = share(x1, x2)  # (1 + b) / (2 + b + c)
        off.append((1 + diagonal[i]) * s / (1 - s) - 1)
    found = rational([[diagonal[0], off[1]], [off[0], diagonal[1]]])
    must((found == attention).all(), "A is found")
    yield Step(
        "Read off the rest",
        r"Two tokens, $x_1 = e_1$ and $x_2 = e_2$. The weights stand in the ratio $S(b) : S(c)$ with $b = x_2^\top A "
        r"x_1 = a_{21}$, and $c$ is known. Solve for $b$; exchange the tokens, and $a_{12}$ follows.",
        (show(r"\text{weight of } e_2 \text{ seen from } e_1", share(e1, e2)), show("a_{21}", off[0]),
         show("a_{12}", off[1]),
         show(r"A \text{ recovered}", found)),
    )  # fmt: skip
    must(output(e1, e2, attention, 0 * value) == output(e1, e2, 5 * attention, 0 * value) == 0, "V = 0 gives zero")
    yield Step(
        "A single point",
        r"The function has given away every entry of $V$ and $A$. No other weights have this function. Only $V = 0$ is "
        r"different: the average of zeros is zero, whatever $A$ is.",
        (show(r"V \text{ recovered}", rational([found_v])),),
    )
