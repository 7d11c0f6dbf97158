r"""How many connected components the set of all real weights with one function has (docs/real-fibers.md).

Virtual weights of a plain network that is not zero: the rescalings are $(\mathbb R^*)^l$, $2^l$ branches for each
orbit. Over each branch lies a product, and the weights with given virtual weights have $2^k$ components, where `k`
counts what is tight: inner widths of queries and keys, and of the stream, that are as small as they can be (Proposition
1). With one layer and one token it is the signature of a form that counts (Proposition 2). All is decided by exact
ranks and signs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from lightning_sym.display import Lines, labelled
from lightning_sym.exact.rational import inertia, inertia_cost
from lightning_sym.fibers.cost import product_cost
from lightning_sym.fibers.factorizations import Reader, Space
from lightning_sym.fibers.points import Component
from lightning_sym.fibers.virtual_moves import is_zero_function
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import SCORES, SIZED
from lightning_sym.network.virtual_weights import VirtualWeights
from lightning_sym.rings.rationals import RationalMatrix

PAGE = "docs/real-fibers.md"

_COUNTED = SIZED | {"causal"}
"""What is in a chain of spaces, or does not change it."""


@dataclass(frozen=True)
class RealComponents:
    """Connected components of a fiber over the real numbers.

    Attributes:
        count: of the set of real weights with this function; `None` where it is not known.
        virtual: of the set of their virtual weights, matrices of any rank counted; `None` where it is not known.
        moves: what leads from any component to any other one.
        reason: what shows the count, or why it is not known.
        over: family by family, how many components of weights lie over each of its branches in virtual weights.
    """

    count: int | None
    virtual: int | None
    moves: tuple[str, ...]
    reason: str
    over: tuple[int, ...] = ()

    def lines(self) -> Lines:
        """Return what the text of a fiber says of it."""
        if self.count is None:
            return [("real", f"number of connected components not known: {self.reason}")]
        plural = "" if self.count == 1 else "s"
        beside = "" if self.virtual is None else f", {self.virtual:,} in virtual weights"
        first = f"{self.count:,} connected component{plural} of real weights{beside} ({self.reason})"
        return [("real", first), *labelled("", [f"joined by {'; '.join(self.moves)}"] if self.moves else [])]


def chain_of(shape: Architecture, forms: Sequence[RationalMatrix | None], value: RationalMatrix) -> list[Space]:
    """Return the spaces of a network with one head a layer, and what of each is determined by its virtual weights.

    Args:
        shape: no skip connections.
        forms: the matrices `A~_i`, `None` in place of those that are free.
        value: `V~`.

    Raises:
        BadInput: the network has an option that is not counted here.
    """
    shape.require("the spaces of a chain", _COUNTED | SCORES)
    rows, contained = value, [value.rank()]
    for form in reversed(forms):  # what the row space in front of a layer must contain, the last layer first
        if form is None or contained[-1] == rows.shape[1]:
            contained.append(contained[-1])
        else:
            rows = rows.above(form, form.mT)
            contained.append(rows.rank())
    contained.reverse()
    spaces = [] if shape.embed is None else [Space(shape.embed, shape.embed, None)]
    for i, (a, form) in enumerate(zip(shape.attention_ranks, forms, strict=True)):
        reader = Reader(a, None if form is None else form.rank())
        width = shape.widths[i]
        name = f"the stream behind layer {i}" if i else "the stream behind E"
        spaces.append(Space(width, contained[i] if spaces else width, reader, name))
        if shape.value_ranks is not None:
            spaces.append(Space(shape.value_ranks[i], contained[i + 1], None, f"values of layer {i + 1}"))
    spaces.append(Space(shape.widths[-1], contained[-1], None, f"the stream behind layer {shape.depth}"))
    if shape.unembed is not None:
        spaces.append(Space(shape.unembed, contained[-1], None))
    return spaces


def tight_widths(spaces: Sequence[Space]) -> list[str] | None:
    """Return the widths of a chain that are as small as its products allow, by name: of inner spaces, and of readers.

    The weights with these products have two to this power connected components over the reals
    (`docs/real-fibers.md`, Proposition 1).

    Args:
        spaces: the input first, the output last.

    Returns:
        `None` if the products demand more: then there are no such weights.

    Example:
        >>> tight_widths([Space(3, 3, Reader(2, 2)), Space(3, 2, Reader(2, 1), "the stream"), Space(1, 1, None)])
        ['queries and keys of layer 1']
    """
    tight, layer = [], 0
    for place, space in enumerate(spaces):
        inner = 0 < place < len(spaces) - 1
        if inner and space.contained > space.width:
            return None
        if inner and space.contained == space.width:
            tight.append(space.name)
        if space.reader is None:
            continue
        layer += 1
        width, rank = space.reader
        if rank is not None and rank > width:
            return None
        if rank == width:
            tight.append(f"queries and keys of layer {layer}")
    return tight


def of_determined(chains: Sequence[Sequence[Space]]) -> RealComponents:
    """Return the components where virtual weights are points, each with its chain of spaces: softmax, one head."""
    counts = [tight_widths(chain) for chain in chains]
    over = _over(counts)
    virtual = len(chains)
    moves = _basis_moves(counts)
    if virtual > 1:
        moves = (*moves, "zero layers moved past skew ones")
    return RealComponents(sum(over), virtual, moves, f"{PAGE}, Proposition 1", over)


def _over(counts: Sequence[Sequence[str] | None]) -> tuple[int, ...]:
    """Return how many components lie over a branch of each family, by what is tight there."""
    return tuple(0 if tight is None else 2 ** len(tight) for tight in counts)


def _basis_moves(counts: Sequence[Sequence[str] | None]) -> tuple[str, ...]:
    """Return what joins the components over the same virtual weights."""
    tight = dict.fromkeys(name for found in counts if found is not None for name in found)
    return tuple(f"a basis of {name} with negative determinant" for name in tight)


def of_lightning(
    shape: Architecture, virtual: VirtualWeights | None, components: Sequence[Component], complete_over: str | None
) -> RealComponents:
    """Return the components of the fiber of a lightning network that is described by families of virtual weights.

    Args:
        shape: the network.
        virtual: the virtual weights.
        components: the families.
        complete_over: `"R"` where they are all of it.

    Raises:
        BadInput: the network has an option that is not counted here.
    """
    shape.require("connected components of a fiber", _COUNTED | {"skip"})
    if virtual is None or complete_over != "R":
        return unknown("more weights than are described may have this function")
    ends = bool(shape.options & SIZED)
    if shape.skip and ends:
        return unknown("the skip connection is read through E and U, which no proposition counts")
    if is_zero_function(virtual, shape.tokens):
        return RealComponents(1, 1, (), f"{PAGE}, Proposition 3: all weights may be scaled to zero")
    if shape.depth == shape.tokens == 1:
        if ends:
            return unknown("one token with embeddings or output projections, which no proposition counts")
        return _of_one_token(shape, virtual, components)
    if any(each.kind != "scale" for component in components for each in component.parameters):
        return unknown("families with more parameters than scales, which no proposition counts")
    points = [component.virtual for component in components if component.virtual is not None]
    if len(points) < len(components):
        return unknown("a family without rational members, which no proposition counts")
    without = replace(shape, skip=False)  # which adds to the function, and reads no weight
    chains = [
        chain_of(without, [RationalMatrix.of(a) for a in point.attention], RationalMatrix.of(point.value))
        for point in points
    ]
    counts = [tight_widths(chain) for chain in chains]
    branches = 2**shape.depth
    over = _over(counts)
    moves = (*_rescalings(shape.depth), *_basis_moves(counts), *_exchanges(components))
    return RealComponents(branches * sum(over), branches * len(points), moves, f"{PAGE}, Proposition 1", over)


def _rescalings(depth: int) -> tuple[str, ...]:
    several = range(1, depth + 1)
    return ("a negative rescaling",) if depth == 1 else tuple(f"a negative rescaling of layer {i}" for i in several)


def _exchanges(components: Sequence[Component]) -> tuple[str, ...]:
    return ("the exchanges that lead to the other families",) if len(components) > 1 else ()


def _of_one_token(shape: Architecture, virtual: VirtualWeights, components: Sequence[Component]) -> RealComponents:
    """Return the components by Proposition 2: pairs whose form has a given symmetric part, by signature."""
    ((inner,),) = (shape.attention_ranks,)
    over, swapped = [], False
    for component in components:
        # a family without rational members is the product of two forms that are not proportional
        squares = (1, 1) if component.virtual is None else _squares(component.virtual)
        over.append(2 ** squares.count(inner) if max(squares) <= inner else 0)
        swapped = swapped or (over[-1] > 0 and inner in squares)
    moves = ["a negative rescaling", *_exchanges(components)]
    if swapped:
        moves.insert(1, "k and q exchanged in one row of K and Q, or k and -q")
    return RealComponents(2 * sum(over), 2 * len(components), tuple(moves), f"{PAGE}, Proposition 2", tuple(over))


def _squares(virtual: VirtualWeights) -> tuple[int, int]:
    """Return how many positive and negative squares the quadratic form of the scores has."""
    attention = RationalMatrix.of(np.array(virtual.attention[0]) * Fraction(1))
    positive, negative = inertia(attention + attention.mT)
    return positive, negative


def counting_cost(virtual: VirtualWeights | None, families: int) -> float:
    """Return seconds for the ranks and signs of so many families."""
    if virtual is None:
        return 0.0
    matrices = (*virtual.attention, virtual.value)
    bits = max(max(x.numerator.bit_length(), x.denominator.bit_length()) for m in matrices for x in m.ravel())
    size = max(virtual.value.shape)
    ranks = 6 * len(matrices) * product_cost(size, size, size, 2 * bits, 2 * bits)
    return families * (ranks + inertia_cost(size, 4 * bits))


def unknown(reason: str) -> RealComponents:
    """Return that the number is not known, and why."""
    return RealComponents(None, None, (), reason)
