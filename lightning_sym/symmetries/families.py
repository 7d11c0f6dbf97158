r"""The table of all families of directions in weight space that the function does not feel.

Each family says for which options of a network its directions are proved not to be felt; for a network with any other
option it gives none, also for options that do not exist yet. Bounds and certificates read this table, and nothing else
decides what applies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lightning_sym.exact.elimination import echelon_mod_p
from lightning_sym.exact.krylov import LARGEST, rank_at_least
from lightning_sym.exact.modular import independent_columns
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.columns import Fold
from lightning_sym.network.pieces import LIGHTNING, SHAPED, SIZED, spaces
from lightning_sym.rings.prime_field import PrimeFieldMatrix, Source, generator_of, random_residues
from lightning_sym.rings.sizes import Price, Sizes
from lightning_sym.symmetries import attention_motions, head_mixing, stream_directions
from lightning_sym.symmetries.group import tangent_directions
from lightning_sym.symmetries.point import Point
from lightning_sym.system.reach import pattern_is_constant

Directions = Callable[[Point], Iterator[PrimeFieldMatrix]]


class DirectionFamily(NamedTuple):
    """Directions that the function of a network does not feel.

    Attributes:
        name: as in certificates.
        proof: where it is proved that they are not felt.
        options: of a network, those for which this is proved.
        applies: whether there are any, for a network with no other options.
        directions: at a point, in blocks of rows.
        symmetry: whether they are tangent to an orbit of the group; else they count only at points where the spaces
            that the network writes and reads are the largest possible ones (`stream_directions`).
    """

    name: str
    proof: str
    options: frozenset[str]
    applies: Callable[[Architecture], bool]
    directions: Directions
    symmetry: bool = False

    def belongs_to(self, architecture: Architecture) -> bool:
        """Return whether the family is proved for the network, and is not empty by its shape."""
        return architecture.options <= self.options and self.applies(architecture)

    def at(self, point: Point) -> Iterator[PrimeFieldMatrix]:
        """Yield the directions at a point; none where the point is not generic enough.

        Raises:
            BadInput: the network has an option for which the family is not proved.
        """
        point.architecture.require(f"the family of directions {self.name!r}", self.options)
        if self.applies(point.architecture) and (self.symmetry or point.is_generic):
            yield from self.directions(point)


def _of_the_group(kind: str, options: frozenset[str]) -> DirectionFamily:
    """Return the tangent directions of the group in the spaces of one kind."""

    return DirectionFamily(
        kind,
        "docs/upper-bound.md, Proposition 2",
        options,
        lambda network: bool(spaces(network, kind, heads=1)),
        lambda point: tangent_directions(point, kind),
        symmetry=True,
    )


TABLE = (
    _of_the_group("query-key", SHAPED),
    _of_the_group("value-output", SHAPED),
    _of_the_group("stream", SHAPED),
    _of_the_group("scale", LIGHTNING),
    DirectionFamily(
        "unwritten", "docs/transformers.md, Proposition 5", SHAPED, lambda network: True, stream_directions.unwritten
    ),
    DirectionFamily(
        "unread", "docs/transformers.md, Proposition 5", SHAPED, lambda network: True, stream_directions.unread
    ),
    DirectionFamily(
        "inside",
        "docs/transformers.md, Proposition 5",
        SHAPED,
        lambda network: network.value_ranks is not None,
        stream_directions.inside,
    ),
    DirectionFamily(
        "pattern", "docs/transformers.md, Proposition 5", SHAPED, pattern_is_constant, stream_directions.pattern
    ),
    DirectionFamily(
        "skew",
        "docs/transformers.md, Proposition 6",
        LIGHTNING,
        lambda network: any(attention_motions.counts_symmetrically(network)),
        attention_motions.skew,
    ),
    DirectionFamily(
        "mixing",
        "docs/transformers.md, Propositions 8, 9, 15, 16",
        LIGHTNING,
        lambda network: network.heads > 1,
        head_mixing.mixing,
    ),
    DirectionFamily(
        "cancelling",
        "docs/transformers.md, Propositions 11, 12",
        SHAPED,
        lambda network: attention_motions.cancelling_equations(network) is not None,
        attention_motions.cancelling,
    ),
    DirectionFamily(
        "skew differences",
        "docs/transformers.md, Proposition 11",
        SHAPED,
        lambda network: network.normalization is not None and network.tokens == 2 and network.causal,
        partial(attention_motions.each_head, motions=lambda head: head.skew_on_differences(), first=1),
    ),
    DirectionFamily(
        "symmetric products",
        "docs/transformers.md, Proposition 13",
        SIZED | {"skip"},
        lambda network: network.skip and not attention_motions.sees_one_direction(network),
        partial(attention_motions.each_head, motions=lambda head: head.symmetric_products(), first=1),
    ),
    DirectionFamily(
        "first layers",
        "docs/transformers.md, Proposition 17",
        LIGHTNING,
        stream_directions.has_one_row,
        stream_directions.first_layers,
    ),
)


def families_of(architecture: Architecture, *, symmetry: bool | None = None) -> list[DirectionFamily]:
    """Return the families that a network has, in the order of the table.

    Args:
        architecture: the network.
        symmetry: only those of the group, or only the others; by default all.

    Example:
        >>> [family.name for family in families_of(Architecture((2, 2), (1,), 2, heads=2))]
        ['query-key', 'scale', 'unwritten', 'unread', 'mixing']
    """
    chosen = [family for family in TABLE if symmetry is None or family.symmetry == symmetry]
    return [family for family in chosen if family.belongs_to(architecture)]


def directions_mod_p(
    architecture: Architecture, weights: Sequence[PrimeFieldMatrix], p: int, *, symmetry: bool | None = None
) -> Iterator[PrimeFieldMatrix]:
    """Yield directions at the weights, in blocks of shape `(directions, parameters)`.

    With `symmetry` tangents of the orbit; without it the others, none where the point is not generic enough; else all.
    """
    point = Point(architecture, weights, p)
    for family in families_of(architecture, symmetry=symmetry):
        yield from family.at(point)


def symmetry_count(architecture: Architecture) -> int:
    """Return the dimension of the group: how many tangent directions there are.

    Raises:
        BadInput: an option for which the group is not known.

    Example:
        >>> symmetry_count(Architecture((3, 3, 3), (2, 2), tokens=2))       # 4 + 4 + 9 + 2
        19
    """
    architecture.require("the symmetry group", SHAPED)
    heads, total = architecture.heads, 0
    for space in spaces(architecture, heads=1):  # there may be very many, all alike
        total += space.size**2 * (heads if space.by_head else 1)
    return total


def price_of_orbit(architecture: Architecture) -> Price:
    """Return what the rank of the tangent directions takes.

    Raises:
        BadInput: an option for which the group is not known.
    """
    count, price = symmetry_count(architecture), Price("residues")
    Sizes((count, min(count + 16, architecture.parameter_count)), price).rank()
    return price


def orbit_dimension_at(
    architecture: Architecture, weights: Sequence[PrimeFieldMatrix], generator: Source, p: int, *, pivots: bool = False
) -> int:
    """Return a lower bound of the dimension of generic orbits: the rank modulo `p` of tangents at the weights.

    Every fiber of the parametrization is a union of orbits, so parameters minus this number is a rigorous *upper*
    bound of the dimension of the neuromanifold. Folding the columns keeps it a lower bound of the orbit. With `pivots`
    the rank is counted by elimination where there is a faster way that falls short once in a million.

    Raises:
        BadInput: an option for which the group is not known.
    """
    count, parameters = symmetry_count(architecture), architecture.parameter_count
    if count <= LARGEST and parameters <= 4 * count and not pivots:
        blocks = [block.entries for block in directions_mod_p(architecture, weights, p, symmetry=True)]
        return rank_at_least(PrimeFieldMatrix(np.concatenate(blocks), p))
    fold = Fold(parameters, count + 16, generator_of(generator), p) if count + 16 < parameters else None
    matrix = np.empty((count, parameters if fold is None else fold.columns))
    done = 0
    for block in directions_mod_p(architecture, weights, p, symmetry=True):
        part = matrix[done : done + len(block.entries)]
        done += len(part)
        if fold is None:
            part[:] = block.entries
        else:
            fold(block.entries, part)
    return echelon_mod_p(matrix, p, overwrite=True).rank


def _directions(architecture: Architecture, weights: Sequence[PrimeFieldMatrix], p: int) -> PrimeFieldMatrix:
    """Return all directions of the table, one a row."""
    blocks = [block.entries for block in directions_mod_p(architecture, weights, p)]
    return PrimeFieldMatrix(np.concatenate([np.empty((0, architecture.parameter_count)), *blocks]), p)


def determined_columns_at(
    architecture: Architecture, weights: Sequence[PrimeFieldMatrix], generator: Source, p: int
) -> npt.NDArray[np.int64]:
    r"""Return columns of the Jacobian that the others determine: a pivot column for each independent direction.

    Let $J$ be the Jacobian at these weights, $G$ independent directions, one a row, and $D$ columns in which $G$ is
    invertible. From $J G^T = 0$ follows $J_D = -J_S G_S^T (G_D^T)^{-1}$ for the other columns $S$: these alone have the
    rank of $J$. At other weights the columns $S$ have at most this rank.

    Raises:
        BadInput: an option for which no family is proved.
    """
    architecture.require("the table of directions", SHAPED)
    rows = _directions(architecture, weights, p).residues()
    if not len(rows):
        return np.empty(0, dtype=np.int64)
    if len(rows) > architecture.parameter_count:  # many directions say the same: as many random mixtures will do
        mixture = random_residues(generator_of(generator), (architecture.parameter_count, len(rows)), p)
        rows = (mixture @ PrimeFieldMatrix.of(rows, p)).residues()
    return independent_columns(rows, p)


def fiber_dimension_at(
    architecture: Architecture, weights: Sequence[PrimeFieldMatrix], generator: Source, p: int, *, pivots: bool = False
) -> int:
    """Return a lower bound of the dimension of generic fibers: the rank modulo `p` of all the table's directions.

    Parameters minus this number is a rigorous upper bound of the dimension of the neuromanifold. `pivots` as for the
    orbit.

    Raises:
        BadInput: an option for which no family is proved.
    """
    architecture.require("the table of directions", SHAPED)
    rows = _directions(architecture, weights, p)
    if len(rows.entries) <= LARGEST and not pivots:
        return rank_at_least(rows)
    return len(determined_columns_at(architecture, weights, generator, p))
