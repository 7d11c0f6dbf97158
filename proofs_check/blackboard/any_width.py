"""Beyond the paper: the dimension for any widths."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

from lightning_sym import Architecture, Layer, certified_dimension
from lightning_sym.dimension.varieties import Piece, virtual_weight_variety
from lightning_sym.exact.rational import null_space
from lightning_sym.rings.polynomials import PolynomialRing
from proofs_check.blackboard.deep import A1, A2
from proofs_check.blackboard.step import (
    Matrix,
    Shown,
    Step,
    identity,
    jacobian,
    layer_of,
    must,
    rational,
    show,
    tokens_of,
)


def count_the_variety() -> Iterator[Step]:
    """Beyond the paper: the dimension for any widths."""
    network = Architecture((3, 2, 1), (2, 2), 2)
    pieces = virtual_weight_variety(network).pieces
    upper = virtual_weight_variety(network).dimension
    yield Step(
        "A network that narrows",
        rf"Widths $3, 2, 1$ with $a = 2$. It has {network.parameter_count} weights. The function knows only the "
        rf"virtual weights: "
        r"$\tilde A_1$, $\tilde A_2 = V_1^\top A_2 V_1$ and $\tilde V = V_2 V_1$, all matrices on the input space of "
        r"dimension $3$.",
    )
    yield Step(
        "Count the virtual weights",
        r"$V_1$ is $2 \times 3$, so behind it the network lives on a plane $F_1$. First count the matrices on nested "
        r"subspaces, then how the subspaces can lie in each other. Each rescaling takes one away. The sum bounds the "
        r"dimension from above.",
        (_counts(pieces, upper),),
    )
    found = certified_dimension(network)
    must(found.value == found.lower == upper, "the bounds meet")
    yield Step(
        "Count from below",
        rf"The Jacobian at integer weights has rank {found.lower} modulo the prime ${found.prime}$. A rank modulo a "
        rf"prime can only "
        r"be too small. So the dimension is at least that; the two numbers meet, and the dimension is proved.",
        (show(r"\text{lower}", Fraction(found.lower)), show(r"\text{upper}", Fraction(upper)),
         show(r"\dim \mathcal M", Fraction(upper))),
    )  # fmt: skip
    narrow = Architecture((3, 2, 1), (1, 2), 2)
    less = certified_dimension(narrow)
    must(less.value == virtual_weight_variety(narrow).dimension, "the bounds meet again")
    yield Step(
        "Rank one in front",
        r"With $a_1 = 1$ the first layer writes multiples of one vector. The second layer is then seen by its "
        r"symmetric part only, and the count changes by itself:",
        (
            _counts(virtual_weight_variety(narrow).pieces, less.value),
            show(r"\dim \mathcal M", Fraction(less.value or 0)),
        ),
    )


def _counts(pieces: Sequence[Piece], total: int | None) -> Shown:
    """A dimension count as a column with names."""
    counted = [piece for piece in pieces if piece.dimension]
    must(sum(piece.dimension for piece in counted) == total, "the pieces add up")

    def in_latex(name: str) -> str:
        name = re.sub(r"([AV])~(\w?)", lambda m: rf"}}\tilde {m[1]}" + (f"_{m[2]}" if m[2] else "") + r"\text{", name)
        name = re.sub(r"\bF(\d)", r"}F_\1\\text{", name)
        return rf"\text{{{name}}}".replace("<=", r"}\le\text{")

    rows = tuple((Fraction(n),) for n in [*(piece.dimension for piece in counted), total or 0])
    return Shown("", Matrix(rows, (*(in_latex(piece.name) for piece in counted), r"\text{sum}")))


def every_width() -> Iterator[Step]:
    """Beyond the paper: two coordinates decide all widths."""
    shown, counts = [], []
    layers: list[Layer] = []
    for depth in (1, 2, 3):
        layers = [layer_of(a, identity(2)) for a in (A1, A2, A1 + A2)[: depth - 1]]
        layers.append(layer_of((A1, A2, A1 + A2)[depth - 1], rational([[1, 2]])))
        matrix, _ = jacobian(layers, [*((i, "query") for i in range(depth)), (depth - 1, "value")])
        counts.append(len(null_space(matrix.T)))
        shown.append(show(rf"\dim \ker, \; l = {depth}", Fraction(counts[-1])))
    must(counts == [1, 2, 3], "the kernel has one dimension a layer")
    yield Step(
        "Width two, by computation",
        r"In virtual weights and with $d_0 = 2$, $d' = 1$, compute the kernel of the Jacobian at one point of full "
        r"rank. One dimension a layer: these are the rescalings, and nothing else.",
        tuple(shown),
    )
    ring = PolynomialRing(["x_1", "y_1", "z_1", "x_2", "y_2", "z_2"])
    tokens = tokens_of(ring)
    attention, value = rational([[1, 2, 0], [1, 1, 1], [0, 1, 3]]), rational([[1, 2, 1]])
    matrix, _ = jacobian([layer_of(attention, value)], [(0, "query"), (0, "value")], tokens, ring)
    kernel = null_space(matrix.T)
    must(len(kernel) == 1, "the kernel at width three has dimension one")
    vector = rational(kernel[0])
    vector = vector * (attention[0, 0] / vector[0])
    moved_a, moved_v = vector[:9].reshape(3, 3), vector[9:].reshape(1, 3)
    yield Step(
        "Width three, by reasoning",
        r"Let $(\dot A, \dot V)$ be a lost direction at $d_0 = 3$. Feed only tokens from the plane of two coordinates, "
        r"$e_k$ and $e_{k'}$. The network then sees the $2 \times 2$ block of $A$ and two entries of $V$. So the block "
        r"of the direction is lost at width two, and there it is a rescaling: $\dot A = c A$, $\dot V = -c V$ on the "
        r"block.",
        (show("A", attention), show("V", value)),
    )
    blocks = []
    for pair in combinations(range(3), 2):
        block, small = attention[np.ix_(pair, pair)], moved_a[np.ix_(pair, pair)]
        c = small[0, 0] / block[0, 0]
        must((small == c * block).all() and (moved_v[:, pair] == -c * value[:, pair]).all(), "each block is rescaled")
        k, m = (i + 1 for i in pair)
        blocks += [show(rf"\text{{block }} \{{{k}, {m}\}}", block), show(rf"c_{{{k}{m}}}", c)]
    yield Step(
        "Glue",
        r"There is one scalar for each pair. The blocks of $\{1, 2\}$ and $\{1, 3\}$ share the entry $a_{11}$, so "
        r"their scalars are equal; and so on. One scalar for all: the direction is the rescaling.",
        tuple(blocks),
    )
    yield Step(
        "And the computer agrees",
        rf"The kernel at width three, computed directly, has dimension {len(kernel)}. Scaled to begin like $A$, it is",
        (show(r"\dot A", moved_a), show(r"\dot V", moved_v)),
    )
