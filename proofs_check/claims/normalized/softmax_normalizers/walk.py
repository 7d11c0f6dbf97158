"""The steps of `explain`."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from lightning_sym.rings.arrays import ObjectArray
from proofs_check.blackboard.series import FIRST, UNITS, VALUE, mean_output, spelled
from proofs_check.blackboard.step import Step, must, rational, show
from proofs_check.normalizers import CUBE, EVEN


def walk() -> Iterator[Step]:
    """Yield the steps of Corollary 5 of docs/softmax-fibers.md."""
    attention, y, m = FIRST, rational([2, 1]), rational([1, 1])
    x1, x2 = m + y / Fraction(2), m - y / Fraction(2)
    cubes = [[(u @ attention @ x) ** 3 for u in (x1, x2)] for x in (x1, x2)]
    phi = sum(first - second for first, second in cubes) / 2
    seen = mean_output(m, y, [attention], VALUE, CUBE.taylor, 7)
    must(not any(seen[2:7]), "nothing before degree seven")
    must(seen[7] == (VALUE[0] @ y) * phi / 4, "degree seven is (V y) Phi / 4")
    yield Step(
        "Another function in place of exp",
        r"If $S$ is injective and analytic, it is monotone, and $S(y) = S(0) (1 + c\, y^k + ...)$ with an odd $k$. "
        r"Take $S(y) = e^{y^3}$: $c = 1$, $k = 3$. The mean of the outputs has $V m$ in degree one and next, in degree "
        r"$2 k + 1$, the number $\tfrac{1}{4} c (V y) F$, $F = \tfrac{1}{2} \sum_q (s_{1q}^k - s_{2q}^k)$ in "
        r"the scores.",
        (show("A", attention), show(r"\text{mean output}", spelled(seen)), show(r"F", phi)),
    )

    def linear(mean: ObjectArray, difference: ObjectArray) -> Fraction:
        """Return the part of Phi that is linear in the difference: from seven multiples of it, through a polynomial."""
        points = [Fraction(n) for n in range(-3, 4) if n]
        values = {
            s: 4
            * mean_output(mean, s * difference, [attention], VALUE, CUBE.taylor, 7)[7]
            / (s * (VALUE[0] @ difference))
            for s in points
        }
        # Phi is a polynomial of degree five in s without constant term: Phi / s by Lagrange at 0
        total = Fraction(0)
        for s in points:
            weight = Fraction(1)
            for other in points:
                if other != s:
                    weight *= -other / (s - other)
            total += weight * values[s] / s
        return total

    q = {i: UNITS[i] @ attention @ UNITS[i] for i in (0, 1)}
    parts = rational([[linear(UNITS[i], u) for i in (0, 1)] for u in UNITS])
    must(all(parts[i, i] == 3 * q[i] ** 3 for i in (0, 1)), "the diagonal is 3 q^3")
    found = rational([[parts[u, i] / (3 * q[i] ** 2) for i in (0, 1)] for u in (0, 1)])
    must((found == attention).all(), "A is read off")
    yield Step(
        "Read off A",
        r"The part of $F$ that is linear in $y$ is $k\, q(m)^{k-1} y^\top A m$. Here it is for $y, m \in \{e_1, "
        r"e_2\}$, from values of the network alone. On the diagonal stands $k\, q(m)^k$, and a real number has one "
        r"$k$-th root, as $k$ is odd: so $q$ is known. Divide by $k\, q(m)^{k-1}$: every entry of $A$.",
        (show(r"k\, q(m)^{k-1} y^\top A m", parts), show(r"A \text{ read off}", found)),
    )
    pair = [mean_output(m, y, [a], VALUE, EVEN.taylor, 9) for a in (attention, -attention)]
    must(pair[0] == pair[1], "A and -A are the same")
    yield Step(
        "Why k must be odd",
        r"With $S(y) = e^{y^2}$ the sign of a score does not matter: $A$ and $-A$ are the same layer. This $S$ is not "
        r"injective. An $S$ that is injective but not analytic, or not even continuous, is not covered by this proof.",
        (show(r"A", spelled(pair[0])), show(r"-A", spelled(pair[1]))),
    )
