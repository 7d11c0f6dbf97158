r"""Bounds by the faces of a Newton polyhedron, against coefficients that the rules for separate variables give.

Sums of powers in separate variables, and powers of these, have known coefficients (`docs/learning-coefficients.md`,
Proposition 1, and volumes of sums). Bounds by weights, faces and signs must contain them, and must meet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial

import sympy

from lightning_sym import polynomial_coefficient
from proofs_check.blackboard.step import Step, must, rational, show
from proofs_check.claim import Claim, Part, Scope, WalkThrough
from proofs_check.claims.learning.ideals import expect_between
from proofs_check.samples import listed

Case = tuple[tuple[int, ...], bool, int]
"""Exponents of a sum of powers, whether one of them has another sign, and the power that it is raised to."""
Answer = Callable[[Case], Fraction]


def polynomial(case: Case) -> sympy.Expr:
    """Return the sum, multiplied out."""
    exponents, changes, power = case
    signs = [-1 if changes and not i else 1 for i in range(len(exponents))]
    letters = sympy.symbols(f"x1:{len(exponents) + 1}")
    terms = (sign * x**a for sign, x, a in zip(signs, letters, exponents, strict=True))
    return sympy.expand(sympy.Add(*terms) ** power)


def by_rules(case: Case) -> Fraction:
    """Return the sum of the inverse exponents, at most 1 where both signs are met, by the power; half of it."""
    exponents, changes, power = case
    total = sum((Fraction(1, a) for a in exponents), Fraction(0))
    definite = not changes and not any(a % 2 for a in exponents)
    return (total if definite else min(total, Fraction(1))) / (2 * power)


def of_polyhedron(case: Case) -> Fraction:
    """Return the mutant: the number of the polyhedron, as if zeros off the coordinate planes did not count."""
    exponents, _, power = case
    return sum((Fraction(1, a) for a in exponents), Fraction(0)) / (2 * power)


def bounded(case: Case, answer: Answer = by_rules) -> None:
    """Check that both bounds are the number."""
    expect_between(polynomial_coefficient([polynomial(case)]), answer(case), str(polynomial(case)))


def walk() -> Iterator[Step]:
    """Yield a cusp, a cone and a square."""
    cusp, cone = polynomial_coefficient("x^2 + y^3"), polynomial_coefficient("x^2 + y^2 - z^2")
    must(cusp.value == Fraction(5, 12), "half of 1/2 + 1/3")
    must(cone.value == Fraction(1, 2), "a surface")
    yield Step(
        "A cusp",
        r"On the one face $x^2 + y^3$ has no singular zero off the axes, so weights are all that counts.",
        (show(r"\text{exponents}", rational([[2, 0], [0, 3]])), show(r"\lambda", cusp.lower)),
    )
    yield Step(
        "A cone",
        r"Weights give $3/2$, but near the origin $x^2 + y^2 - z^2$ has both signs: its zeros are a surface.",
        (show(r"\lambda", cone.lower),),
    )
    square = polynomial_coefficient("x^4 + 2*x^2*y^3 + y^6")
    must(square.value == Fraction(5, 24), "a square is small where its root is")
    yield Step(
        "A square",
        r"$(x^2 + y^3)^2$ is below $\varepsilon$ where $x^2 + y^3$ is below $\sqrt{\varepsilon}$: half the number.",
        (show(r"\lambda", square.lower),),
    )


CLAIM = Claim(
    id="learning-coefficient-faces",
    source="docs/learning-coefficients-linear-attention.md, Propositions 8 and 9",
    title="the faces of a Newton polyhedron bound a learning coefficient, and both signs do",
    statement=r"2 \lambda \ge \min(2 H, L), \qquad 2 \lambda \le 1 \text{ where } f \text{ has both signs}",
    hypotheses=(
        "$2 H$ is the number of the polyhedron, $L$ a rank of differentials, or one over an order, at all real zeros "
        r"of the terms on a face at which no variable is zero. Proved on the page; here sums of powers, whose "
        r"coefficient is $\sum 1/a_i$ or 1 by volumes, are compared."
    ),
    rests_on=("learning-coefficient-linear-attention",),
    place=475,
    walk=WalkThrough("What the faces say, and what signs do.", walk),
    parts=(
        Part(
            "sums of powers and powers of them",
            Scope.INSTANCES,
            listed(
                [
                    ((2, 3), False, 1),
                    ((2, 4), True, 1),
                    ((2, 3), False, 2),
                    ((2, 2, 3), False, 1),
                    ((2, 2, 2), False, 1),
                    ((2, 4, 4), True, 1),
                ],
                [((3, 3, 3), False, 1), ((2, 2, 2, 2), False, 2), ((4, 4, 6), False, 1), ((3, 5), False, 3)],
            ),
            bounded,
            {
                "zeros off the planes do not count": partial(bounded, answer=of_polyhedron),
                "both signs always": partial(
                    bounded, answer=lambda case: min(of_polyhedron(case), Fraction(1, 2 * case[2]))
                ),
            },
            instance="exponents, another sign, power",
        ),
    ),
)
