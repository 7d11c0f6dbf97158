r"""Degrees of products of forms that live on nested subspaces: intersection numbers on flag varieties, exactly.

Matrices of bounded rank on the subspaces of a flag form cones over the flag variety; a torus acts with finitely many
fixed points, and the degree is a sum over these of rational numbers (Atiyah and Bott). `docs/degree.md`, Section 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, pairwise, product
from math import comb, prod

from lightning_sym.errors import ProgramError
from lightning_sym.exact.determinantal import (
    determinantal,
    determinantal_degree,
    symmetric_determinantal,
    symmetric_determinantal_degree,
)

Indices = tuple[int, ...]


@dataclass(frozen=True)
class Cone:
    r"""Non-zero matrices of bounded rank on one subspace `F` of the flag, up to scale, and how often they are factors.

    Attributes:
        step: which subspace.
        size: its dimension.
        rank: the bound of the rank, at most `size`.
        exponent: the degree in which the function depends on these matrices.
        symmetric: elements of $\mathrm{Sym}^2 F$; otherwise of $F \otimes F$.
        rows: for elements of $\mathbb{C}^{rows} \otimes F$ instead.
    """

    step: int
    size: int
    rank: int
    exponent: int
    symmetric: bool = False
    rows: int | None = None

    @property
    def dimension(self) -> int:
        """Of the projective variety, on one subspace."""
        if self.symmetric:
            return symmetric_determinantal(self.size, self.rank) - 1
        return determinantal(self.rows or self.size, self.size, self.rank) - 1

    @property
    def degree(self) -> int:
        """Of the projective variety, on one subspace."""
        if self.symmetric:
            return symmetric_determinantal_degree(self.size, self.rank)
        return determinantal_degree(self.rows or self.size, self.size, self.rank)

    @property
    def choices(self) -> int:
        """Number of fixed points of the Grassmannians that resolve the cone."""
        return comb(self.size, self.rank) ** (1 if self.symmetric or self.rows is not None else 2)

    @property
    def weights(self) -> int:
        """Of the linear space over a fixed point."""
        return comb(self.rank + 1, 2) if self.symmetric else self.rank * (self.rows or self.rank)

    def spaces(self, inside: Indices) -> Iterator[tuple[int, list[Indices]]]:
        """Yield fixed points over the subspace of these coordinates: Euler number, weights of the linear space."""
        if self.rows is not None:
            for chosen in combinations(inside, self.rank):
                rows: list[Indices] = [(s,) for s in chosen]
                yield _tangent(chosen, inside), rows * self.rows
        elif self.symmetric:
            for chosen in combinations(inside, self.rank):
                yield _tangent(chosen, inside), list(combinations_with_replacement(chosen, 2))
        else:
            for left, right in product(combinations(inside, self.rank), repeat=2):
                yield _tangent(left, inside) * _tangent(right, inside), list(product(left, right))

    def segre(self, inside: Indices, most: int) -> list[int]:
        r"""Return classes of degree 0 to `most`, pushed forward to the flag variety, at a fixed point.

        These are $\pi_* h^{c + j}$, `c` the dimension above, `h` the hyperplane class.
        """
        result = [Fraction(0)] * (most + 1)
        for euler, weights in self.spaces(inside):
            first = self.dimension - len(weights) + 1  # the dimension of the Grassmannians
            series = _complete_homogeneous([sum(w) for w in weights], first + most)
            for j in range(most + 1):
                result[j] += Fraction(series[first + j], euler)
        return [_integer(value) for value in result]


def _integer(value: Fraction) -> int:
    """Return an intersection number as an integer: it is a sum of fractions."""
    if value.denominator != 1:
        raise ProgramError(f"an intersection number must be an integer, got {value}")
    return value.numerator


def _tangent(chosen: Indices, inside: Indices) -> int:
    """Return the Euler number of a Grassmannian at a fixed point; coordinate `i` has weight `i`."""
    number = 1
    for s in chosen:
        for q in inside:
            if q not in chosen:
                number *= s - q
    return number


def _complete_homogeneous(values: Sequence[int], most: int) -> list[int]:
    """Return the complete homogeneous symmetric polynomials of degree 0 to `most`."""
    series = [1] + [0] * most
    for value in values:
        for k in range(1, most + 1):
            series[k] += value * series[k - 1]
    return series


def flags(sizes: Sequence[int]) -> Iterator[tuple[int, list[Indices]]]:
    """Yield fixed points of the variety of flags of these dimensions: Euler number and coordinates.

    The first dimension is that of the whole space.
    """

    def below(spaces: list[Indices], euler: int) -> Iterator[tuple[int, list[Indices]]]:
        if len(spaces) == len(sizes):
            yield euler, spaces
            return
        for chosen in combinations(spaces[-1], sizes[len(spaces)]):
            yield from below([*spaces, chosen], euler * _tangent(chosen, spaces[-1]))

    yield from below([tuple(range(sizes[0]))], 1)


def flag_dimension(sizes: Sequence[int]) -> int:
    """Return the dimension of the variety of flags of these dimensions.

    Example:
        >>> flag_dimension([3, 2, 1]), flag_dimension([4, 4, 2])
        (3, 4)
    """
    return sum(small * (large - small) for large, small in pairwise(sizes))


FRACTION, PAIR = 6, 2  # products that a sum of fractions takes as long as, and one of classes of two cones, roughly
LONG = 375  # bits that make a product or a fraction take as long again: measured at widths 9 to 70, and rough


def products_of_sum(sizes: Sequence[int], cones: Sequence[Cone]) -> int:
    """Return how many products the sum over fixed points has: of weights and classes, of classes of two cones.

    Numbers grow with the degrees of the classes; what has long ones counts as more.

    Example:
        >>> products_of_sum([3, 2], [Cone(1, 2, 2, 1, symmetric=True)])
        108
    """
    most, of_cones = flag_dimension(sizes), 0
    for cone in cones:
        degree = cone.dimension - cone.weights + 1 + most
        length = degree * (2 * cone.size).bit_length()
        of_cones += cone.choices * (cone.weights * degree + FRACTION * (most + 1)) * (LONG + length) // LONG
    of_flag = of_cones + len(cones) * PAIR * comb(most + 2, 2)
    return of_flag * prod(comb(large, small) for large, small in pairwise(sizes))


def intersection_number(sizes: Sequence[int], cones: Sequence[Cone]) -> int:
    r"""Return $\int (\sum_i e_i h_i)^D$ over all flags with a point of each cone on it, up to scale.

    `D` is the dimension.

    Args:
        sizes: the dimensions of the subspaces, falling, the first one of all.
        cones: `e_i` are their exponents.

    Example:
        >>> intersection_number([3], [Cone(0, 3, 2, 1, symmetric=True)])         # a hypersurface of degree three
        3
        >>> intersection_number([3, 1], [Cone(1, 1, 1, 1, symmetric=True)])      # the squares of linear forms
        4
    """
    most = flag_dimension(sizes)
    if most == 0:
        return _product(cones, [[cone.degree] for cone in cones])[0]
    total = Fraction(0)
    for euler, spaces in flags(sizes):
        classes = [cone.segre(spaces[cone.step], most) for cone in cones]
        total += Fraction(_product(cones, classes)[most], euler)
    return _integer(total)


def _product(cones: Sequence[Cone], classes: Sequence[list[int]]) -> list[int]:
    r"""Push forward $(\sum_i e_i h_i)^{c + j}$, `c` the sum of the dimensions, from what $h_i^{c_i + j}$ give."""
    result, dimension = [1] + [0] * (len(classes[0]) - 1), 0
    for cone, own in zip(cones, classes, strict=True):
        scaled = [cone.exponent ** (cone.dimension + j) * value for j, value in enumerate(own)]
        dimension += cone.dimension
        result = [
            sum(
                comb(dimension + j, cone.dimension + i) * scaled[i] * result[j - i]
                for i in range(j + 1)
                if scaled[i] and result[j - i]
            )
            for j in range(len(result))
        ]
    return result
