r"""Beyond the paper: lightning networks with skip connections have the dimensions of their layers.

With skip connections, $t \ge 2$ tokens, masked or not, as many heads in each layer, of any widths, and $n, m \ge d$
where there are ends, $\dim \mathcal M = \sum_i D_i + d (n + m - d)$, with $d n$, $d m$, $0$ in place of the last
summand where the unembedding, the embedding, both are absent. $D_i$ is the dimension of layer $i$ alone. Theorem 2 of
docs/deep-lightning.md: a general network is determined by its function up to what each layer leaves open by itself and
one basis of the stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from math import prod

from lightning_sym import Architecture, certified_dimension
from proofs_check.blackboard.step import Step, must, number, rational, show
from proofs_check.certificates import itself
from proofs_check.claim import (
    Claim,
    Part,
    ProvedBounds,
    Scope,
    WalkThrough,
    expect_formula,
    expect_less,
    meeting_bounds,
)
from proofs_check.samples import Dice, distinct, listed

LARGEST = 160
"""Parameters of the networks, whose dimension is taken from a Jacobian of the whole."""


def alone(network: Architecture) -> Iterator[Architecture]:
    """Yield each layer as a network of its own, without skip connection, mask and ends."""
    d, values = network.widths[0], network.value_ranks or (None,) * network.depth
    for a, b in zip(network.attention_ranks, values, strict=True):
        yield Architecture((d, d), (a,), 2, heads=network.heads, value_ranks=None if b is None else (b,))


def ends(network: Architecture, *, basis: bool = True) -> int:
    n, m, d = network.embed or 0, network.unembed or 0, network.widths[0]
    return d * (n + m) - (d * d if n and m and basis else 0)


def dimensions(network: Architecture) -> list[int]:
    found = map(certified_dimension, alone(network))
    return [meeting_bounds(each.lower, each.upper, each.architecture) for each in found]


def stated(network: Architecture) -> int:
    return ends(network) + sum(dimensions(network))


def networks(*, quick: bool) -> Iterator[Architecture]:
    """Return random networks: unequal ranks, ends or none, two and three layers."""

    def draw(dice: Dice) -> Architecture | None:
        d, depth, heads = dice.number((1, 3)), dice.number((2, 3)), dice.number((1, 3))
        a, b = (tuple(dice.number((1, d)) for _ in range(depth)) for _ in range(2))
        n, m = (d + dice.number((0, 2)) if dice.chance(0.6) else None for _ in range(2))
        network = Architecture(
            (d,) * (depth + 1), a, dice.number((2, 3)), heads=heads, skip=True, causal=dice.chance(0.5),
            value_ranks=b if dice.chance(0.7) else None, embed=n, unembed=m,
        )  # fmt: skip
        return network if network.parameter_count <= (LARGEST // 2 if quick else LARGEST) else None

    return distinct(draw, 8 if quick else 40, seed=20261124)


WIDE = Architecture((2, 2, 2), (1, 2), 2, skip=True, embed=2, unembed=2)


def narrow(network: Architecture, formula: Callable[[Architecture], int] = stated) -> str:
    found = certified_dimension(network)
    expect_less(ProvedBounds.of(found), formula(network), at=network)
    return f"t >= 2 and n, m >= d are needed: {network} has dimension {found.lower}, the sum is {formula(network)}"


SHOWN = Architecture((3, 3, 3), (1, 2), 2, skip=True, embed=4, unembed=3)


def walk() -> Iterator[Step]:
    parameters = rational([[prod(shape) for _, shape in SHOWN.weight_shapes()]])
    must(SHOWN.parameter_count == 57, "57 parameters")
    yield Step(
        "A network with skip connections",
        r"Width three, two layers, an embedding of four words, an unembedding of three rows. Here are the sizes of all "
        r"matrices.",
        (show(r"\text{entries}", parameters), number("parameters", SHOWN.parameter_count)),
    )
    layers = dimensions(SHOWN)
    must(layers == [13, 16], "13 and 16")
    yield Step(
        "Each layer alone",
        r"As a network of its own, without skip connection and ends, a layer has this dimension: that of $A$ of rank "
        r"$a$, and of $V$, less a factor between both.",
        (show("D_i", rational([[size] for size in layers])),),
    )
    both = ends(SHOWN)
    must(both == 12, "12")
    yield Step(
        "Both ends",
        r"$E$ and $U$ have $12 + 9$ entries. A change of basis of the stream is not seen: $9$ less.",
        (number("E and U", both),),
    )
    found = certified_dimension(SHOWN)
    must(found.value == sum(layers) + both == 41, "41")
    yield Step(
        "All together",
        r"A Jacobian of the whole network, at random integers modulo a prime, has the sum of these as its rank; and "
        r"more is not possible.",
        (number("lower", found.lower), number("upper", found.upper)),
    )


CLAIM = Claim(
    id="lightning-layer-sums",
    source="beyond the paper: docs/deep-lightning.md, Theorem 2",
    title="lightning networks with skip connections have the dimensions of their layers, and of both ends",
    statement=r"t \ge 2,\ n, m \ge d \;\Rightarrow\; \dim \mathcal M = \sum_i D_i + d (n + m - d)",
    hypotheses=(
        r"Skip connections, two tokens or more, without mask or causal, as many heads in each layer, any widths $a_i$, "
        r"$b_i$; $d n$, $d m$, $0$ in place of $d (n + m - d)$ where an end is absent. Proved at every size "
        "(docs/deep-lightning.md, Theorem 2). One token, narrow ends, and heads that decrease are outside."
    ),
    place=345,
    rests_on=("section-4-heads",),
    walk=WalkThrough("Add up a small network, and compare with the rank of its Jacobian.", walk),
    parts=(
        Part(
            "random shapes, by a Jacobian of the whole",
            Scope.GENERIC,
            networks,
            partial(expect_formula, stated=stated),
            {
                "no change of basis": partial(
                    expect_formula,
                    stated=lambda network: (
                        stated(network)
                        - ends(network)
                        + ends(network, basis=False)
                        + (not (network.embed and network.unembed))
                    ),
                ),
                "no factor in a head": partial(expect_formula, stated=lambda network: stated(network) + network.depth),
            },
            certifies=itself,
        ),
        Part(
            "one token and narrow ends are outside",
            Scope.GENERIC,
            listed(
                [
                    replace(WIDE, tokens=1),
                    replace(WIDE, attention_ranks=(2, 1), tokens=3, causal=True, embed=1, unembed=None),
                ],
                [replace(WIDE, unembed=1)],
            ),
            narrow,
            {"too large by more than eight": partial(narrow, formula=lambda n: stated(n) - 8)},
            certifies=itself,
        ),
    ),
)
