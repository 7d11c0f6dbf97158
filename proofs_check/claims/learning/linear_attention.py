r"""The learning coefficient of linear attention at the zero function.

Exponents of pivots of the embedding make a linear program: it is solved exactly, by the simplex method, and compared
with the formula. Small ideals are bounded from both sides by a program that knows no model. For all sizes in a range
the certificate is written and given to the checker. The proof for all sizes is in
`docs/learning-coefficients-linear-attention.md`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial

from lightning_sym import linear_attention_coefficient
from proofs_check.blackboard.step import Step, must, rational, show
from proofs_check.checker import verify
from proofs_check.claim import Claim, Part, Scope, WalkThrough, expect, expect_equal
from proofs_check.claims.learning.ideals import (
    bounds_of_linear_attention,
    expect_between,
    program_of_pivots,
    sizes,
)

Sizes = tuple[int, int]
Formula = Callable[[int, int], Fraction]


def stated(v: int, e: int) -> Fraction:
    """Return the formula of the claim, typed from its statement."""
    if v >= e:
        return min(Fraction(v * e, 6), Fraction(e * e, 2))
    return min(Fraction(v * e - r * (e - 2 * v) + r * r, 6) for r in range(v + 1))


def naive(v: int, e: int) -> Fraction:
    """Return the mutant: all pivots are small, however wide the embedding."""
    return Fraction(v * e, 6)


def pivots(instance: Sizes, formula: Formula = stated) -> None:
    """Check that the program, solved, has twice the stated value."""
    v, e = instance
    expect_equal(program_of_pivots(v, e), 2 * formula(v, e), f"{v} words, width {e}, exponents of pivots")


def ideal(instance: Sizes, formula: Formula = stated) -> None:
    """Check that two bounds of the ideal itself meet at the stated value."""
    v, e = instance
    expect_between(bounds_of_linear_attention(v, e), formula(v, e), f"{v} words, width {e}")


def certificate(instance: Sizes, formula: Formula = stated) -> None:
    """Check that the checker accepts weights and multipliers, and that their sums are twice the stated value."""
    document = json.loads(json.dumps(linear_attention_coefficient(*instance).certificate))
    said = verify.check(document)
    expect(
        said.startswith(f"lambda = {formula(*instance)}, for"),
        f"{instance}: stated {formula(*instance)}, and the checker says {said.partition(',')[0]}",
    )


def _mutants(check: Callable[..., None]) -> dict[str, Callable[[object], None]]:
    return {
        "the naive value v e / 6": partial(check, formula=naive),
        "no pivot is small": partial(check, formula=lambda v, e: Fraction(min(v, e) ** 2, 2)),
    }


def walk() -> Iterator[Step]:
    """Yield why one pivot stays at two words and width six."""
    weights = rational([[Fraction(2, 3), Fraction(1, 3)], [Fraction(1, 3), 0]])
    pivot, output = [Fraction(0), Fraction(1, 3)], [Fraction(1, 3), Fraction(0)]
    terms = rational([[pivot[i] + weights[i][j] + 2 * pivot[j] + output[j] for j in range(2)] for i in range(2)])
    must((terms >= 1).all(), "every term has weight 1")
    yield Step(
        "A function of three factors",
        r"Linear attention with $v = 2$ words and width $e = 6$ is zero at zero weights. Near them it is as large as "
        r"$d_i q_{ij} d_j \cdot d_j u_{jk}$, where $d_1 \ge d_2$ are the sizes of the words' embeddings, made "
        r"independent. How likely is it that all are below $\varepsilon$?",
    )
    cost = sum((7 - 2 * j) * x for j, x in enumerate(pivot)) + sum(weights.ravel().tolist()) + 2 * sum(output)
    must(cost == Fraction(11, 3), "the cost")
    yield Step(
        "One embedding may stay",
        r"Let $d_1$ stay as it is, and $d_2 = \varepsilon^{1/3}$. Then $q$ and $u$ need the exponents shown, and every "
        r"term has exponent $1$. A small $d_j$ costs $v + e + 1 - 2 j$, an entry of $q$ one, of $u$ two.",
        (show("q", weights), show(r"x_i + q_{ij} + 2 x_j + u_j", terms), show(r"2 \lambda \le", cost)),
    )
    small = Fraction(1, 3) * (7 + 5)
    must(small > cost, "it is less than with both of them small")
    yield Step(
        "The naive value is larger",
        r"With both embeddings small, $x = (1/3, 1/3)$, all else may stay, at a higher cost.",
        (show(r"v e / 3", small),),
    )
    multipliers = rational([[1, 1], [1, Fraction(2, 3)]])
    columns = [sum(multipliers[j]) + 2 * sum(multipliers[:, j]) for j in range(2)]
    must(columns[0] <= 7, "the first column fits")
    must(columns[1] == 5, "the second column fits")
    yield Step(
        "And nothing is cheaper",
        r"Multiply the inequality of $(i, j)$ by this matrix and add all: no cost is exceeded, and the right-hand "
        r"sides add up to the same number. So $\lambda = 11/6$.",
        (show("y", multipliers), show(r"\sum y", sum(multipliers.ravel().tolist()))),
    )


CLAIM = Claim(
    id="learning-coefficient-linear-attention",
    source="docs/learning-coefficients-linear-attention.md, Theorems 3 and 4",
    title="the learning coefficient of linear attention at zero weights, for every vocabulary and width",
    statement=(
        r"\lambda(0) = \min\bigl(\tfrac{v e}{6}, \tfrac{e^2}{2}\bigr)\ (v \ge e), \qquad \lambda(0) = \tfrac16 "
        r"\min_{0 \le r \le v} \bigl[v e - r (e - 2 v) + r^2\bigr]\ (v \le e)"
    ),
    hypotheses=(
        r"Linear attention $E Q E^\top$ with outputs $E U$, $v \ge 2$ words, width $e$, squared error over all strings "
        r"of $T \ge 2$ words, the zero function at zero weights. Proved for all sizes on the page; here the program of "
        r"exponents, small ideals and certificates are checked."
    ),
    rests_on=("definition-1",),
    place=470,
    walk=WalkThrough(r"Which weights make three factors small at the least cost, and what proves it.", walk),
    parts=(
        Part(
            "no more words than the width: the program of exponents, solved",
            Scope.EVERY_WIDTH,
            lambda quick: (each for v, e in sizes(3, 5, quick=quick) if v <= e for each in ((v, e), (v, e + 2 * v))),
            pivots,
            _mutants(pivots),
            instance="words and width",
        ),
        Part(
            "the ideal of two words or more, between two bounds that meet",
            Scope.INSTANCES,
            lambda quick: [(2, 1), (3, 1), (4, 1), *([] if quick else [(5, 1), (2, 2)])],
            ideal,
            _mutants(ideal),
            instance="words and width",
        ),
        Part(
            "certificates, by the checker",
            Scope.EVERY_WIDTH,
            lambda quick: sizes(6, 20, quick=quick),
            certificate,
            _mutants(certificate),
            instance="words and width",
        ),
    ),
)
