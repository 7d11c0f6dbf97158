r"""Corollary 3.3, Eq. 7: dimension of the one-layer neuromanifold.

For $t \ge 2$, $a > 1$ or $d' > 1$, and $\alpha = \min(a, d)$, the image of $(Q, K, V) \mapsto V X X^\top K^\top Q X$
has dimension $2 \alpha d - \alpha^2 + d d' - 1$. Where the formula is found to hold, the upper bound is that of an
orbit.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from lightning_sym import Architecture, certified_dimension
from lightning_sym.exact.rational import null_space, rank
from proofs_check.blackboard import own_weights
from proofs_check.blackboard.step import (
    SIX,
    Step,
    entry_labels,
    function_of,
    layer_of,
    must,
    one_layer_jacobian,
    rational,
    show,
    table,
)
from proofs_check.certificates import itself, itself_by_orbit, itself_if
from proofs_check.claim import (
    Claim,
    Formula,
    Part,
    Refutation,
    Scope,
    WalkThrough,
    expect_dimension,
    expect_formula_by_orbit,
)
from proofs_check.samples import every_network, random_networks


def printed_formula(network: Architecture, more: int = 0) -> int:
    (d, d_out), (a,) = network.widths, network.attention_ranks
    alpha = min(a, d)
    return 2 * alpha * d - alpha**2 + d * d_out - 1 + more


def rank_not_cut(network: Architecture) -> int:
    """Return the mutant: `a` in place of `min(a, d)`."""
    (d, d_out), (a,) = network.widths, network.attention_ranks
    return 2 * a * d - a * a + d * d_out - 1


def hypotheses_hold(network: Architecture) -> bool:
    (_, d_out), (a,) = network.widths, network.attention_ranks
    return network.tokens >= 2 and (a > 1 or d_out > 1)


def two_tokens(*, quick: bool) -> Iterator[Architecture]:
    top = 4 if quick else 7

    def small(network: Architecture) -> bool:
        return network.widths[1] < top and network.attention_ranks[0] <= network.widths[0] + 1

    return every_network((1,), range(1, top + 1), range(1, top + 2), (2,) if quick else (2, 3, 5), small)


def instances(*, quick: bool) -> Iterator[Architecture]:
    """Yield networks where the hypotheses hold; at the full size also random shapes with a width of eight."""
    yield from filter(hypotheses_hold, two_tokens(quick=quick))
    if not quick:
        yield from random_networks(40, 20261121, rank=(1, 9), fits=lambda n: max(n.widths) == 8 and hypotheses_hold(n))


def rank_one_one_output(*, quick: bool) -> Iterator[Architecture]:
    """Return networks with `a = d' = 1`: the one case of two tokens or more that the hypotheses leave out."""
    return (network for network in two_tokens(quick=quick) if not hypotheses_hold(network))


not_needed = partial(
    expect_formula_by_orbit,
    finding="the hypothesis a > 1 or d' > 1 is sufficient, not needed: the formula holds at a = d' = 1",
)


def one_token(*, quick: bool) -> Iterator[Architecture]:
    return (Architecture((d, d), (a,), 1) for d in (2, 3, 4) for a in range(2, d + 1))


def rank_one_one_token(*, quick: bool) -> Iterator[Architecture]:
    """Return networks of one token with attention matrices of rank one: `a = 1`, or `d = 1`."""
    shapes = [(d, d_out, 1) for d in (1, 2, 3) for d_out in (1, 2)] + [(1, 2, 2)]
    return (Architecture((d, d_out), (a,), 1) for d, d_out, a in shapes)


holds_all_the_same = partial(
    expect_formula_by_orbit, finding="the hypothesis t >= 2 is sufficient, not needed at alpha = 1"
)


def fails(network: Architecture, formula: Formula = printed_formula) -> str | None:
    try:
        expect_dimension(certified_dimension(network), formula(network))
    except Refutation as witness:
        if network.widths[0] > 2:
            return None
        return f"the hypothesis t >= 2 is needed when alpha >= 2: {witness}"
    raise Refutation(f"{network}: the formula holds although t = 1")


def _one_token_formula(network: Architecture) -> int:
    """Return the dimension for one token: only the symmetric part of A, of rank at most 2a, is seen."""
    (d, d_out), (a,) = network.widths, network.attention_ranks
    r = min(2 * a, d)
    return r * d - r * (r - 1) // 2 + d * d_out - 1


def walk() -> Iterator[Step]:
    attention, value = rational([[1, 2], [1, 0]]), rational([[1, 1]])
    phi = function_of(layer_of(attention, value))
    yield Step(
        "The weights and the polynomial",
        r"A layer with $d = 2$, $d' = 1$ has six weights: four in $A$, two in $V$. Its function is a list of "
        r"coefficients.",
        (show("A", attention), show("V", value), show(r"\varphi_1", phi[0, 0])),
    )
    six = one_layer_jacobian(attention, value)
    labels = [*entry_labels("a", 2, 2), "v_1", "v_2"]
    r = rank(six)
    yield Step(
        "The Jacobian",
        r"Move one weight at a time, and see how fast each coefficient moves. One row a weight, one column a "
        r"coefficient. Six coefficients suffice: those of the terms with one letter of token one and two of token two. "
        r"The others repeat them.",
        (table("J", six, labels, SIX),),
    )
    ((*kernel,),) = null_space(six.T)
    scale = -value[0, 1] / kernel[5]
    direction = rational([k * scale for k in kernel])
    must((direction == [*attention.ravel(), *(-value).ravel()]).all(), "the kernel vector is the rescaling")
    yield Step(
        f"Its rank is {r}",
        rf"Not six: the rank is {r}. One combination of the rows vanishes, with the coefficients below. Read it as "
        rf"matrices: "
        r"it is $A$ itself, and minus $V$. That is the rescaling $(\lambda A, V / \lambda)$, seen at $\lambda = 1$.",
        (
            show(r"\operatorname{rk} J", r), show(r"\dot A", direction[:4].reshape(2, 2)),
            show(r"\dot V", direction[4:].reshape(1, 2)),
        ),
    )  # fmt: skip
    network = Architecture((2, 1), (2,), 2)
    found = certified_dimension(network)
    must(found.value == r == 2 * 2 * 2 - 4 + 2 * 1 - 1, "the certified dimension is the formula's")
    yield Step(
        "The dimension",
        rf"So {r} is the dimension: five directions move the function here, and the rescaling is lost at every point. "
        rf"With $\alpha = 2$ the formula says $2 \alpha d - \alpha^2 + d d' - 1 = 8 - 4 + 2 - 1 = {r}$.",
        (show(r"\dim \mathcal M", r),),
    )
    yield Step(
        "Back to queries and keys",
        rf"Written with $Q$ and $K$ there are {network.parameter_count} weights. The function does not notice: of "
        rf"these, {found.fiber_dimension} directions are lost, four in the basis change $C$ of Lemma 3.1 and one in "
        rf"the rescaling. And ${network.parameter_count} - {found.fiber_dimension} = {found.value}$.",
        (show(r"\dim \text{fiber}", found.fiber_dimension or 0),),
    )
    small = certified_dimension(Architecture((2, 1), (1,), 2))
    must(small.value == 2 * 2 - 1 + 2 - 1, "the formula holds at a = 1")
    yield Step(
        "Narrower heads",
        rf"With $a = 1$ the matrix $A$ has rank one, and those have dimension $2 \alpha d - \alpha^2 = 3$. The total "
        rf"is $3 + 2 - 1 = {small.value}$.",
        (show(r"\dim \mathcal M", small.value or 0),),
    )


CLAIM = Claim(
    id="corollary-3.3",
    source="Corollary 3.3, Eq. 7",
    title="one layer, t >= 2: dim = 2 alpha d - alpha^2 + d d' - 1",
    statement=(
        r"t \ge 2,\ (a > 1 \text{ or } d' > 1),\ \alpha = \min(a, d) \;\Rightarrow\;"
        r" \dim \mathcal M = 2 \alpha d - \alpha^2 + d d' - 1"
    ),
    hypotheses=(
        r"One layer, one head, lightning, no mask. It is also true at $t \ge 2$, $a = d' = 1$, and at $t = 1$ if "
        r"and only if $\alpha = 1$."
    ),
    place=40,
    rests_on=("lemma-3.1", "theorem-3.2"),
    walk=WalkThrough(
        "How many directions of the weights change the function: a Jacobian and its rank.",
        walk,
        on=own_weights.count_dimensions,
    ),
    parts=(
        Part(
            "the formula, t >= 2 and a > 1 or d' > 1",
            Scope.GENERIC,
            instances,
            partial(expect_formula_by_orbit, stated=printed_formula),
            {
                "one more": partial(expect_formula_by_orbit, stated=partial(printed_formula, more=1)),
                "a in place of min(a, d)": partial(expect_formula_by_orbit, stated=rank_not_cut),
            },
            certifies=itself_by_orbit,
            at=itself_if(lambda network: network.depth == 1 and hypotheses_hold(network)),
        ),
        Part(
            "the formula holds at t >= 2, a = d' = 1",
            Scope.GENERIC,
            rank_one_one_output,
            partial(not_needed, stated=printed_formula),
            {"one less, two weights over each function": partial(not_needed, stated=partial(printed_formula, more=-1))},
            certifies=itself_by_orbit,
        ),
        Part(
            "the formula fails at t = 1, alpha >= 2",
            Scope.GENERIC,
            one_token,
            fails,
            {"symmetric parts counted": partial(fails, formula=_one_token_formula)},
            certifies=itself,
        ),
        Part(
            "the formula holds at t = 1, alpha = 1",
            Scope.GENERIC,
            rank_one_one_token,
            partial(holds_all_the_same, stated=printed_formula),
            {"one less": partial(holds_all_the_same, stated=partial(printed_formula, more=-1))},
            certifies=itself_by_orbit,
        ),
    ),
)
