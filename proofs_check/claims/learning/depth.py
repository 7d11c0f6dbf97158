r"""Learning coefficients of several layers, against ranks of Jacobians, fibers and ideals.

Where the hypotheses of Theorem 13 or 14 of `docs/learning-coefficients.md` hold, what they add up over layers is
compared with half of the rank of the Jacobian and half of what is left beside the fiber, which know nothing of circuits
that are seen. Where the function is zero both are far apart: there Propositions 15 and 16 are compared with bounds of
the ideal of all coefficients, by monomials and weights alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

from lightning_sym import SOFTMAX, Architecture, Weights, learning_coefficient, polynomial_coefficient, polynomial_map
from lightning_sym.coefficients.seen_circuits import AtWeights
from lightning_sym.coefficients.two_bounds import two_bounds
from lightning_sym.limits import Work
from proofs_check.blackboard.step import Step, must, number, rational, show
from proofs_check.claim import Claim, Part, Scope, Undecided, WalkThrough, expect_equal
from proofs_check.claims.learning.ideals import expect_between
from proofs_check.samples import listed

Rows = list[list[int]]
Added = Callable[["AtDepth"], Fraction]


@dataclass(frozen=True)
class AtDepth:
    """A network at random weights, some of them others, and what proves its coefficient."""

    shape: Architecture
    statement: str = ""
    others: dict[str, Rows] = field(default_factory=dict)

    @property
    def weights(self) -> Weights:
        """The weights."""
        drawn = Weights.random(self.shape, seed=1, bound=20)
        return Weights.of({**drawn.matrices, **self.others}, drawn.form)

    def stated(self) -> tuple[Fraction, int | None]:
        """Return the number and the multiplicity, by this statement."""
        found = learning_coefficient(self.weights, self.shape.tokens)
        if found.value is None or self.statement not in found.proof:
            raise Undecided(f"{self.shape}: {found.lower} to {found.upper} by {found.proof}, not by {self.statement}")
        return found.value, found.multiplicity

    def __str__(self) -> str:
        return f"{self.shape} with {self.others}"


def nothing(case: AtDepth) -> Fraction:
    """Return what is proved."""
    return Fraction(0)


def bases_of_the_stream(case: AtDepth) -> Fraction:
    """Return the number as if bases of the stream were seen."""
    shape = case.shape
    both = shape.embed is not None and shape.unembed is not None
    return Fraction(shape.widths[0] ** 2 * both, 2)


SOFT = Architecture((2, 2, 2), (1, 1), 3, SOFTMAX, 2, skip=True, embed=2, unembed=3)
ALIKE = {"Q1.1": [[1, 2]], "K1.1": [[3, 1]], "Q1.2": [[1, 2]], "K1.2": [[3, 1]]}
NETWORKS = {
    "Theorem 13": listed(
        [
            AtDepth(SOFT, "Theorem 13"),
            AtDepth(SOFT, "Theorem 13", ALIKE),
            AtDepth(Architecture((2, 2, 2), (1, 1), 3, SOFTMAX, causal=True, embed=2, unembed=2), "Theorem 13"),
        ],
        [
            AtDepth(SOFT, "Theorem 13", {"V2.1": [[0, 0], [0, 0]]}),
            AtDepth(Architecture((3, 3, 3), (2, 1), 2, SOFTMAX, 2, (1, 2), True, embed=4, unembed=3), "Theorem 13"),
        ],
    ),
    "Theorem 14": listed(
        [
            AtDepth(Architecture((2, 2, 2), (1, 1), 2, skip=True, embed=2, unembed=2), "Theorem 14"),
            AtDepth(Architecture((2, 2, 2), (1, 2), 3, skip=True, causal=True, embed=3, unembed=2), "Theorem 14"),
        ],
        [AtDepth(Architecture((3, 3, 3), (2, 2), 2, skip=True, embed=3, unembed=3), "Theorem 14")],
    ),
}  # by what speaks about them


def between_rank_and_fiber(case: AtDepth, added: Added = nothing, order: int = 1) -> None:
    """Check that half of the rank, and half of what is left beside the fiber, are the stated number."""
    value, multiplicity = case.stated()
    question = AtWeights(case.weights, case.weights.architecture(case.shape.tokens), Work(), 0)
    expect_between(two_bounds(question, counted=False), value + added(case), str(case))
    expect_equal(multiplicity, order, at=f"{case}: multiplicity")


END = {"E": [[2]], "V1": [[0]], "K1": [[0]]}
ZERO_FUNCTIONS = listed(
    [
        AtDepth(
            Architecture((1, 1, 1), (1, 1), 2),
            "Proposition 16",
            {f"{letter}{i}": [[0]] for letter in "QKV" for i in (1, 2)},
        ),
        AtDepth(Architecture((1, 1), (1,), 2, embed=1), "Proposition 15", {**END, "Q1": [[0]]}),
        AtDepth(Architecture((1, 1, 2), (1, 1), 1), "Proposition 16", {"K1": [[0]], "V1": [[0]], "V2": [[0], [0]]}),
    ],
    [
        AtDepth(Architecture((1, 1, 1), (1, 1), 1), "Proposition 16", {"K1": [[0]], "V1": [[0]], "Q2": [[0]]}),
        AtDepth(Architecture((1, 2), (1,), 2, embed=1), "Proposition 16", {"E": [[0]], "V1": [[0], [0]]}),
        AtDepth(Architecture((1, 1), (1,), 2, embed=1, unembed=1), "Proposition 15", {**END, "U": [[3]]}),
    ],
)  # in two factors or more


def by_the_ideal(case: AtDepth, added: Added = nothing) -> None:
    """Check that both bounds of the ideal of all coefficients are the stated number."""
    phi = polynomial_map(case.shape)
    values = (x for matrix in case.weights.matrices.values() for x in matrix.ravel().tolist())
    bounds = polynomial_coefficient(phi, dict(zip(phi.weight_names, values, strict=True)))
    expect_between(bounds, case.stated()[0] + added(case), str(case))


def walk() -> Iterator[Step]:
    """Yield two softmax layers, two lightning layers, and a function that is zero."""
    shape = Architecture((2, 2, 2), (1, 1), 3, SOFTMAX, skip=True, embed=2, unembed=2)
    weights = Weights.random(shape, seed=1, bound=20)
    found = learning_coefficient(weights, 3)
    must(found.proof.endswith("Theorem 13"), "the hypotheses hold")
    must(found.value == 9, "it is nine")
    yield Step(
        "Two softmax layers with skip connections",
        "Four numbers of $E$ and four of $U$, three of each $K^\\top Q$ of rank one and four of each $V$, less "
        "the four of a basis of the stream: $4 + 4 + 3 + 3 + 4 + 4 - 4 = 18$, of which $\\lambda$ is half.",
        (show("E", weights["E"]), number("seen", 18), show("\\lambda", found.lower)),
        tuple(found.lines()[:1]),
    )
    bounds = two_bounds(AtWeights(weights, shape, Work(), 0), counted=False)
    must(bounds.lower == bounds.upper == 9, "both bounds are nine")
    yield Step(
        "The same without circuits",
        "The Jacobian by all weights has the rank 18, and beside the fiber 18 directions are left.",
        (number("rank", bounds.ranks["rank of the Jacobian"]), number("fiber", bounds.ranks["dimension of the fiber"])),
    )
    zero = Weights.of({"Q1": [[0]], "K1": [[0]], "V1": [[2]], "Q2": [[1]], "K2": [[0]], "V2": [[3]]})
    cubed = learning_coefficient(zero, 2)
    must(cubed.value == Fraction(1, 6), "a third of one half")
    yield Step(
        "A function that is zero",
        "Behind the first layer $2 q k x^3$ is left, whose coefficient is $(\\tfrac12, 2)$. The second layer cubes it: "
        "a third of $\\tfrac12$, with the same multiplicity, since its own factors cost more.",
        (show("V_1", rational([[2]])), show("\\lambda", cubed.lower), number("m", cubed.multiplicity or 0)),
    )


CLAIM = Claim(
    id="learning-coefficient-depth",
    source="beyond the paper",
    title="Learning coefficients of layers that are seen add up, and a layer that reads zero takes a third of them",
    statement=(
        r"\lambda = \tfrac12(\#E + \#U) + \sum_i \lambda_i - \tfrac12 \dim G; \qquad \lambda(f_l) = \tfrac13 "
        r"\lambda(f_{l-1}) \text{ where } f_{l-1} = 0,\ \tfrac23 \lambda(f_{l-1}) < \min(d_l, H)"
    ),
    hypotheses=(
        "Softmax, two tokens or more, under the conditions of Theorem 13 of docs/learning-coefficients.md, and "
        r"lightning attention with skip connections under those of Theorem 14; $\lambda_i$ is of layer $i$ alone, $G$ "
        "the bases of streams. The third: lightning attention without skip connections, a stream that is zero behind "
        "layer $l - 1$ (Proposition 16). Proved on that page; compared at the listed weights with ranks of Jacobians "
        "and fibers, and with ideals."
    ),
    place=462,
    rests_on=("learning-coefficient-heads",),
    walk=WalkThrough("How layers add up, and what is left of a function that is zero.", walk),
    parts=(
        *(
            Part(
                f"{words}: half of the rank and of what is left beside the fiber",
                Scope.INSTANCES,
                NETWORKS[theorem],
                between_rank_and_fiber,
                {
                    "bases of the stream are seen": partial(between_rank_and_fiber, added=bases_of_the_stream),
                    "each layer has a basis": partial(
                        between_rank_and_fiber,
                        added=lambda case: (
                            -Fraction(sum(width**2 for width in case.shape.widths[1:-1]) * case.shape.skip, 2)
                        ),
                    ),
                    "scales of layers are seen": partial(
                        between_rank_and_fiber, added=lambda case: Fraction(case.shape.depth, 2)
                    ),
                    "another multiplicity": partial(between_rank_and_fiber, order=2),
                },
            )
            for theorem, words in (("Theorem 13", "softmax"), ("Theorem 14", "lightning with skip connections"))
        ),
        Part(
            "zero functions: bounds of the ideal of all coefficients",
            Scope.INSTANCES,
            ZERO_FUNCTIONS,
            by_the_ideal,
            {
                "a layer does not cube": partial(by_the_ideal, added=lambda case: case.stated()[0] * 2),
                "half more": partial(by_the_ideal, added=lambda case: Fraction(1, 2)),
                "a twelfth less": partial(by_the_ideal, added=lambda case: Fraction(-1, 12)),
            },
        ),
    ),
)
