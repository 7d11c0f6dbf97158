r"""Figure 3: the dimension of deep softmax networks, estimated and expected.

The paper draws, for `l = 2, t = 3, a = 2` and all widths $d = 3, \dots, 10$, a rank found in floating point on 250
inputs against Eq. 16. Here *estimated* is the certified dimension (a rank modulo a prime and a count of symmetries that
meet), *expected* is Eq. 16; the two are computed apart and meet in the comparison only. So too for the networks of the
program published with the paper, `l = 3, t = 3, d = 4` and $a = 1, \dots, 4$.

That program takes all outputs of ten inputs. Few inputs can be too few, however exact the rank: every normalized
pattern has columns with sum one, products of such matrices too, so the output at $X_n$ is $\tilde V X_n S_n$ with
column sums one in $S_n$. All outputs of $N$ inputs depend on the $d_0 d_l$ entries of $\tilde V$ and $N t (t - 1)$
numbers, whatever $S$ is; no rank exceeds $d_0 d_l + N t (t - 1)$.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from lightning_sym import SOFTMAX, Architecture, CertifiedDimension
from lightning_sym.exact.modular import rank_mod_p
from proofs_check.blackboard.step import Step, must, rational, show, table
from proofs_check.certificates import itself_by_orbit
from proofs_check.claim import (
    Claim,
    Formula,
    Part,
    ProvedBounds,
    Scope,
    WalkThrough,
    dimension_by_orbit,
    expect_dimension,
    expect_more,
    expect_value,
)
from proofs_check.claims.normalized.conjecture_3_10 import equation_16
from proofs_check.claims.normalized.rational_normalizer import PRIME, jacobian_of_values, most_at_values, of_values

Instance = tuple[Architecture, int]


def figure_networks() -> list[Architecture]:
    """Return one for each point of the curves, widths 3 to 10."""
    return [Architecture((d, d, d), (2, 2), 3, normalization=SOFTMAX) for d in range(3, 11)]


def published_networks() -> list[Architecture]:
    """Return those of the published program."""
    return [Architecture((4, 4, 4, 4), (a, a, a), 3, normalization=SOFTMAX) for a in range(1, 5)]


def estimated(network: Architecture) -> CertifiedDimension:
    """Return the first curve: from the network alone."""
    return dimension_by_orbit(network)


def expected(network: Architecture) -> int:
    """Return the second curve: Eq. 16 alone."""
    return equation_16(network)


def curves_agree(network: Architecture, formula: Formula = expected) -> str:
    found = estimated(network)
    expect_dimension(found, formula(network))
    d, a, depth = network.widths[0], network.attention_ranks[0], network.depth
    return f"l = {depth}, d = {d}, a = {a}: {network.parameter_count} parameters, dimension {found.value}"


def most_with(network: Architecture, inputs: int) -> int:
    """Return what the rank of the Jacobian of all outputs of so many inputs cannot exceed."""
    return network.widths[0] * network.widths[-1] + inputs * network.tokens * (network.tokens - 1)


def rank_of_outputs(network: Architecture, inputs: int) -> ProvedBounds:
    """Return bounds of the rank for S(y) = 1 + y: from below modulo a prime, from above by two bounds.

    The latter are the bound for so many inputs, and an orbit.
    """
    lower = rank_mod_p(jacobian_of_values(network, 1, inputs, all_outputs=True), PRIME)
    return ProvedBounds(lower, min(most_with(network, inputs), most_at_values(network, 1)))


def too_few(instance: Instance, most: Callable[[Architecture, int], int] = most_with) -> str:
    """Check that ten inputs miss the dimension; at S(y) = 1 + y they reach all that the bound leaves them."""
    network, inputs = instance
    bound, found = most(network, inputs), estimated(network)
    expect_more(ProvedBounds.of(found), bound, at=f"{network}, dimension")
    expect_value(rank_of_outputs(network, inputs), bound, at=f"{network}, S(y) = 1 + y, outputs of {inputs} inputs")
    return f"d = {network.widths[0]}: all outputs of {inputs} inputs have rank at most {bound}, the dimension is " + (
        f"{found.lower}"
    )


def enough(instance: Instance) -> str:
    """Return the finding for S(y) = 1 + y: the rank of all outputs of the inputs is that of Eq. 16."""
    network, inputs = instance
    at = f"{network}, S(y) = 1 + y, all outputs of {inputs} inputs"
    expect_value(rank_of_outputs(network, inputs), expected(network), at)
    return "l = 3, d = 4, S(y) = 1 + y: ten inputs are enough there, an exact rank of their outputs is Eq. 16"


def walk() -> Iterator[Step]:
    from proofs_check.claims.normalized.figure_3 import estimated, expected, figure_networks, most_with

    networks = figure_networks()
    first, found = networks[0], estimated(networks[0])
    invisible = first.parameter_count - found.upper
    must(invisible == 2 * 2 * 2 + 3 * 3, "the invisible directions are the basis changes")
    yield Step(
        "One point of the figure, from above",
        r"Two softmax layers of width $3$ with $a = 2$. Each layer has $2 \cdot 2 \cdot 3$ entries in $Q$ and $K$ and "
        r"$9$ in $V$. Basis changes inside queries and keys ($2 \times 2$, twice) and between the layers "
        r"($3 \times 3$) are invisible.",
        (show(r"\text{weights}", first.parameter_count), show(r"\text{invisible}", invisible),
         show(r"\text{at most}", found.upper)),
    )  # fmt: skip
    must(found.lower == found.upper, "the two bounds meet")
    yield Step(
        "The same point, from below",
        r"The exponentials of the scores are algebraically independent, so they may be taken for variables. With "
        rf"integers in the place of weights, inputs and exponentials the Jacobian has this rank modulo {found.prime}, "
        r"and a rank modulo a prime is never too large. The bounds meet: the dimension is certified, without a float.",
        (show(r"\text{at least}", found.lower),),
    )
    both = rational([[estimated(n).value for n in networks], [expected(n) for n in networks]])
    must((both[0] == both[1]).all(), "the curves are equal")
    widths = [str(n.widths[0]) for n in networks]
    yield Step(
        "The two curves",
        r"So for every width. Apart from that, Eq. 16: $\sum_i \alpha_i (2 d - \alpha_i) + d^2 = 4 (2 d - 2) + d^2$.",
        (table(r"\text{dimension}", both, (r"\text{estimated}", r"\text{expected}"), widths),),
    )
    most = rational([[most_with(n, 10) for n in networks], [expected(n) for n in networks]])
    must(
        [m < e for m, e in most.T.tolist()] == [d in ("9", "10") for d in widths], "ten inputs are too few at 9 and 10"
    )
    yield Step(
        "Ten inputs are not enough",
        r"The output at an input $X_n$ is $\tilde V X_n S_n$, and the columns of $S_n$ sum to one. So all outputs of "
        r"ten inputs depend on $d^2 + 10 \cdot 6$ numbers only. For $d = 9$ and $10$ this is less than the dimension: "
        r"a rank of so few outputs, exact or not, is too low there.",
        (table(r"\text{ten inputs}", most, (r"\text{at most}", r"\text{dimension}"), widths),),
    )


CLAIM = Claim(
    id="figure-3",
    source="Figure 3",
    title="softmax, l = 2, t = 3, a = 2, widths 3 to 10: estimated equals expected",
    statement=(
        r"l = 2,\ t = 3,\ a = 2,\ d_0 = d_1 = d_2 = d \in \{3, \dots, 10\},\ S = \exp \;\Rightarrow\;"
        r"\dim \mathcal M = 2 \cdot 2 (2 d - 2) + d^2"
    ),
    hypotheses=(
        "One head, no mask, no skip connection. Said of the networks of the figure, and of those of the published "
        "program ($l = 3$, $t = 3$, $d = 4$, $a$ from 1 to 4)."
    ),
    place=180,
    rests_on=("conjecture-3.10",),
    walk=WalkThrough("One point of the figure from above and from below, then all of them.", walk),
    parts=(
        Part(
            "the networks of the figure",
            Scope.GENERIC,
            lambda quick: figure_networks(),
            curves_agree,
            {
                "one less for every layer": partial(curves_agree, formula=lambda n: expected(n) - n.depth),
                "the number of parameters": partial(curves_agree, formula=lambda n: n.parameter_count),
            },
            certifies=itself_by_orbit,
        ),
        Part(
            "the networks of the published program",
            Scope.GENERIC,
            lambda quick: published_networks(),
            curves_agree,
            {"one less for every layer": partial(curves_agree, formula=lambda n: expected(n) - n.depth)},
            certifies=itself_by_orbit,
        ),
        Part(
            "ten inputs are too few at widths 9 and 10, whatever the arithmetic",
            Scope.GENERIC,
            lambda *, quick: ((n, 10) for n in figure_networks() if n.widths[0] >= 9),
            too_few,
            {
                "one number less an input": partial(too_few, most=lambda n, count: most_with(n, count) - count),
                "250 inputs are too few": lambda at: too_few((at[0], 250)),
            },
            instance="network and number of inputs",
            certifies=lambda at: itself_by_orbit(at[0]),
        ),
        Part(
            "ten inputs of the published program, S(y) = 1 + y",
            Scope.GENERIC,
            lambda quick: ((n, 10) for n in published_networks()),
            enough,
            {"two inputs": lambda at: enough((at[0], 2))},
            instance="network and number of inputs",
            certifies=lambda at: [of_values(at[0], 1, at[1], all_outputs=True)],
        ),
    ),
)
