r"""The learning coefficient of one softmax head at generic teachers, which does not depend on the number of tokens.

What is left of the ideal when coordinates are taken out is bounded from both sides by a program that knows no model,
and exponents of singular values are minimized on a finer grid. The proof for all sizes is in
`docs/learning-coefficients-linear-attention.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import product

from lightning_sym import one_head_coefficient
from proofs_check.blackboard.step import Step, must, rational, show
from proofs_check.claim import Claim, Part, Scope, WalkThrough, expect_equal
from proofs_check.claims.learning.ideals import bounds_of_rest, expect_between, program_of_chains
from proofs_check.samples import listed

Sizes = tuple[int, int, int, int]
"""Words, tokens, width, and the width of the teacher."""
Answer = Callable[[int, int, int, int], Fraction]


def stated(v: int, tokens: int, e: int, teacher: int) -> Fraction:
    """Return the coefficient that the program gives."""
    return one_head_coefficient(v, tokens, e, teacher).lower


def rest(instance: Sizes, answer: Answer = stated) -> None:
    """Check that bounds of what is left meet, and that with the coordinates taken out they are the stated value."""
    v, tokens, e, teacher = instance
    left = answer(v, tokens, e, teacher) - Fraction(teacher * (2 * v - 1), 2)
    expect_between(bounds_of_rest(v, e, teacher), left, f"{v} words, {tokens} tokens, width {e}, teacher {teacher}")


def chains(instance: Sizes, answer: Answer = stated) -> None:
    """Check that the smallest exponent on a grid of quarters is twice the stated value."""
    v, tokens, e, teacher = instance
    found = teacher * (2 * v - 1) + program_of_chains(v, e, teacher)
    expect_equal(found, 2 * answer(v, tokens, e, teacher), f"{v} words, {tokens} tokens, width {e}, teacher {teacher}")


def larger(*, quick: bool) -> Iterator[Sizes]:
    """Yield sizes of two or three chains, or four."""
    for v, e in product(range(2, 4 if quick else 5), range(2, 5 if quick else 7)):
        for teacher, tokens in product(range(max(1, v - 2), min(v, e)), (2, 5)):
            yield v, tokens, e, teacher


def _mutants(check: Callable[..., None]) -> dict[str, Callable[[object], None]]:
    return {
        "the number of tokens in the formula": partial(
            check, answer=lambda v, tokens, e, teacher: stated(v, tokens, e, teacher) + Fraction(tokens - 1, 2)
        ),
        "the value of the uniform distribution": partial(
            check, answer=lambda v, tokens, e, teacher: one_head_coefficient(v, tokens, e).lower
        ),
        "all weights seen": partial(check, answer=lambda v, tokens, e, teacher: Fraction(v * e + e * (v - 1), 2)),
    }


def walk() -> Iterator[Step]:
    """Yield two words, width two, a teacher of width one."""
    embed, form = rational([[1, 0], [2, 0]]), rational([[3, 0], [0, 0]])
    scores = embed @ form @ embed.T
    must((scores == rational([[3, 6], [6, 12]])).all(), "the scores")
    yield Step(
        "A teacher that is narrower",
        r"Two words, embedded by the rows of $E$ in width $2$, of which the teacher uses one column. $Q$ has a zero "
        r"row and column likewise: the second column of $E$, the second row of $U$ and most of $Q$ are free to move.",
        (show("E", embed), show("Q", form), show("E Q E^T", scores)),
    )
    found = one_head_coefficient(2, 2, 2, 1)
    must(found.value == 2, "the coefficient")
    must(found.multiplicity == 2, "its multiplicity")
    left = bounds_of_rest(2, 2, 1)
    must((left.value, left.multiplicity) == (Fraction(1, 2), 2), "what is left")
    yield Step(
        "Three numbers are seen, and a product",
        r"The logits show three coordinates, each once, and then a product $\varphi V$ of two that are both zero: the "
        r"second coordinate of a word and the second row of $U$. The product counts $1/2$, with a logarithm.",
        (show(r"\lambda(\varphi V)", left.lower), show(r"\lambda", found.lower)),
    )
    longer = one_head_coefficient(2, 100, 2, 1)
    must(longer == found, "it is the same for a hundred tokens")
    yield Step(
        "Longer strings show nothing more",
        r"Strings of one word, and of two words, show all differences of scores: the coefficient is the same for every "
        r"number of tokens from two on.",
        (show(r"\lambda, T = 100", longer.lower),),
    )


CLAIM = Claim(
    id="learning-coefficient-one-head",
    source="docs/learning-coefficients-linear-attention.md, Theorem 7",
    title="the learning coefficient of one softmax head at narrower teachers is the same for every number of tokens",
    statement=(
        r"2 \lambda = e_0 (2 v - 1) + \min_{0 \le s_1 \le t_1 \le s_2 \le \dots} \sum_j (h - j + 1) s_j"
        r" + \sum_i (p - i) t_i + (v - 1) \sum_j (1 - s_j)_+ + e_0 \sum_i (1 - t_i)_+ + \sum_{ij} (1 - s_j - t_i)_+"
    ),
    hypotheses=(
        r"One softmax head on strings of $T \ge 2$ of $v \ge 2$ words, width $e$, a generic teacher of width "
        r"$e_0 < \min(e, v)$ padded with zeros; $p = v - e_0$, $h = e - e_0$; $\min(p, h)$ numbers $s$ and "
        r"$\min(p - 1, h)$ numbers $t$. For $e_0 \ge v$ it is $v (v - 1)$. Proved for all sizes on the page; here "
        "small ideals and finer grids are checked."
    ),
    rests_on=("learning-coefficient-linear-attention",),
    place=480,
    walk=WalkThrough(r"What a head with room to spare does not show.", walk),
    parts=(
        Part(
            "what is left of the ideal, between two bounds that meet",
            Scope.INSTANCES,
            listed(
                (
                    (v, tokens, e, teacher)
                    for (v, e, teacher), tokens in product([(2, 2, 1), (2, 3, 1), (3, 2, 1), (3, 3, 2)], (2, 3))
                ),
                [(3, 2, 3, 1), (3, 3, 3, 1)],
            ),
            rest,
            _mutants(rest),
            instance="words, tokens, width, teacher",
        ),
        Part(
            "exponents of singular values, on a grid of quarters",
            Scope.INSTANCES,
            larger,
            chains,
            _mutants(chains),
            instance="words, tokens, width, teacher",
        ),
    ),
)
