r"""Deep linear networks: products of matrices, at given factors, or at the most singular factors of a map.

Factors of a map of rank $r$ are, in other coordinates, factors of the zero map with $r$ less at each width; of these
the coefficient is a smallest codimension (docs/learning-coefficients.md, Theorem 11).

Near given matrices with product zero it is counted which ranks partial products can have, and the best: let $C_k$ be
matrices of sizes $w_k \times w_{k-1}$, $C_L \cdots C_1 = 0$, and $r_{ik}$ the rank of $C_k \cdots C_{i+1}$. Near them
the rank of the first $k$ factors may be $z_k$, where $z_0 = w_0$, $z_L = 0$, $z_k \le z_{k-1}$ and $z_k \ge z_i - w_i +
r_{ik}$. Twice the learning coefficient is the smallest codimension $\sum_k (w_k - z_k)(z_{k-1} - z_k)$, and $m$ the
length of the longest chain of the best ones for which the given matrices leave spaces of these dimensions invariant,
each in the next one (docs/learning-coefficients.md, Theorem 11).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, pairwise

from lightning_sym.arguments import require_arguments
from lightning_sym.coefficients.coefficient import LearningCoefficient
from lightning_sym.coefficients.lightning_layer import PAGE
from lightning_sym.errors import BadInput, ProgramError, ShapeError
from lightning_sym.limits import DEFAULT_WORK, Progress, Work, require_integer
from lightning_sym.rings.arrays import Rows, exact_matrix
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.rings.sizes import Price, Sizes

Dimensions = tuple[int, ...]
Counts = list[list[int]]

MOST_BEST, MOST_CHAINS = 200, 20_000
"""Best dimensions, and steps from one to a smaller one, up to which all chains are gone through."""


@dataclass(frozen=True)
class PartialProducts:
    """Matrices with product zero, by the ranks of their partial products.

    Attributes:
        widths: $w_0, ..., w_L$, at least two.
        ranks: `ranks[i][k - i - 1]` is that of the product from place `i` to place `k`, `i < k`; of all of them 0.

    Example:
        >>> PartialProducts.all_zero((2, 2, 2, 2)).best()
        [(2, 1, 0, 0), (2, 1, 1, 0), (2, 2, 1, 0)]
        >>> PartialProducts((2, 2, 2), ((1, 0), (1,))).best()
        [(2, 1, 0)]
    """

    widths: tuple[int, ...]
    ranks: tuple[tuple[int, ...], ...]

    @classmethod
    def all_zero(cls, widths: Sequence[int]) -> PartialProducts:
        """Return the ranks of factors that are all zero."""
        size = len(widths)
        return cls(tuple(widths), tuple((0,) * (size - 1 - i) for i in range(size - 1)))

    def rank(self, first: int, last: int) -> int:
        """Return the rank of the product from one place to another; that of none is the width, and 0 beyond the end."""
        if first == last:
            return self.widths[first]
        return self.ranks[first][last - first - 1] if last < len(self.widths) else 0

    @cached_property
    def _bounds(self) -> list[tuple[int, int, int]]:
        """The conditions `z_k >= z_i - c`, as `(i, k, c)`, that do not follow from `0 <= z <= w`."""
        places = range(len(self.widths))
        return [(i, k, self.widths[i] - r) for i in places for k in places[i + 1 :] if (r := self.rank(i, k))]

    @cached_property
    def moves(self) -> list[tuple[int, ...]]:
        """Places that are moved together: intervals, and where a condition ties other places to each other all sets."""
        last = len(self.widths) - 1
        if any(i and k < last and k - i > 1 for i, k, _ in self._bounds):
            return [chosen for size in range(1, last) for chosen in combinations(range(1, last), size)]
        return [tuple(range(a, a + size)) for size in range(1, last) for a in range(1, last - size + 1)]

    def codimension(self, z: Dimensions) -> int:
        """Return the codimension of the matrices whose first `k` factors have a product of rank `z_k`."""
        return sum((w - after) * (before - after) for w, before, after in zip(self.widths[1:], z, z[1:], strict=False))

    def allows(self, z: Dimensions) -> bool:
        """Return whether there are such matrices near the given ones."""
        falls = all(0 <= after <= min(before, w) for w, before, after in zip(self.widths[1:], z, z[1:], strict=False))
        return falls and all(z[k] >= z[i] - c for i, k, c in self._bounds)

    def best(self) -> list[Dimensions]:
        """Return a longest chain of dimensions with the smallest codimension, each at least as large as the last."""
        z = tuple(self.rank(0, k) for k in range(len(self.widths)))
        step = 1 << max(self.widths).bit_length()
        while step:
            while (found := next(self._moved(z, (step, -step), below=0), None)) is not None:
                z = found
            step //= 2
        while (found := next(self._moved(z, (-1,), below=1), None)) is not None:
            z = found
        chain = [z]
        while (found := next(self._moved(z, (1,), below=1), None)) is not None:  # the fewest places first: no leaps
            z = found
            chain.append(z)
        return chain

    def _moved(self, z: Dimensions, steps: Sequence[int], *, below: int) -> Iterator[Dimensions]:
        """Yield what some places moved by a step give, where the codimension changes by less than a number."""
        w = self.widths
        slopes = [0, *(w[k + 1] - w[k] - z[k - 1] - z[k + 1] + 2 * z[k] for k in range(1, len(w) - 1))]
        for chosen in self.moves:
            slope = sum(slopes[k] for k in chosen)
            curve = len(chosen) - sum(b == a + 1 for a, b in pairwise(chosen))
            for step in steps:
                if step * slope + step * step * curve < below:
                    found = list(z)
                    for k in chosen:
                        found[k] += step
                    if self.allows(tuple(found)):
                        yield tuple(found)

    def longest_nested(self, chain: Sequence[Dimensions]) -> int | None:
        """Return the length of the longest chain of best dimensions of nested spaces that the matrices leave invariant.

        Args:
            chain: what `best` gives, a longest one of any.

        Returns:
            `None` where there are too many chains to be gone through.
        """
        spaces: Counts | None = None
        if all((spaces := self._spaces(z, spaces)) is not None for z in reversed(chain)):
            return len(chain)
        known, new = {chain[0]}, [chain[0]]
        while new:
            new = [z for old in new for z in self._moved(old, (1, -1), below=1) if z not in known]
            known |= set(new)
            if len(known) > MOST_BEST:
                return None
        steps = iter(range(MOST_CHAINS))
        found = max(self._longest(z, known, None, steps) for z in known)
        return None if next(steps, None) is None else found

    def _longest(self, z: Dimensions, known: set[Dimensions], within: Counts | None, steps: Iterator[int]) -> int:
        """Return the longest chain from these dimensions downwards, while there are steps left."""
        if next(steps, None) is None or (spaces := self._spaces(z, within)) is None:
            return 0
        smaller = (y for y in known if y != z and all(a <= b for a, b in zip(y, z, strict=True)))
        return 1 + max((self._longest(y, known, spaces, steps) for y in smaller), default=0)

    def _spaces(self, z: Dimensions, within: Counts | None) -> Counts | None:
        """Return by place how many of the lines mapped on to each last place span the space there; none if too few.

        Lines of the first place are all in it; then those that are mapped there, and those that end soonest.

        Args:
            z: the dimensions.
            within: the same of a larger space; none for all lines.
        """
        size, found = len(self.widths), Counts()
        for s in range(size):
            ends = [self.rank(s, k) - self.rank(s, k + 1) if k >= s else 0 for k in range(size)]
            room = ends if within is None else within[s]
            row = [n if k >= s else 0 for k, n in enumerate(found[-1] if found else ends)]
            missing = z[s] - sum(row)
            if missing < 0:
                return None
            for k in range(s, size):
                more = min(missing, room[k] - row[k])
                row[k] += more
                missing -= more
            found.append(row)
        return found


MOST_WIDTHS, LARGEST_WIDTH, MOST_GIVEN = 32, 10**6, 12
"""Widths of a network by its sizes, the largest one, and matrices that are given; all work grows with these alone."""

THEOREM_11 = f"{PAGE}, Theorem 11"


def deep_linear_coefficient(widths: Sequence[int], rank: int = 0) -> LearningCoefficient:
    r"""Return the learning coefficient of a product of matrices, the least over all weights with a map of this rank.

    Args:
        widths: of the inputs, of all hidden layers, and of the outputs: from 2 to 32 numbers.
        rank: of the map; at most the smallest width.

    Returns:
        The coefficient with its multiplicity; for rank 0 it is that at zero weights.

    Raises:
        BadInput: there are fewer than two widths or more than 32, one is none, or no such map has the rank.

    Example:
        >>> found = deep_linear_coefficient([2, 2, 2, 2])
        >>> found.value, found.multiplicity
        (Fraction(3, 2), 3)
    """
    require_arguments(deep_linear_coefficient, locals())
    if not 2 <= len(widths) <= MOST_WIDTHS:
        raise BadInput(f"there must be from 2 to {MOST_WIDTHS} widths, got {len(widths):,}")
    for width in widths:
        require_integer(width, "a width", 1, LARGEST_WIDTH)
    require_integer(rank, "the rank", 0, LARGEST_WIDTH)
    if rank > min(widths):
        raise BadInput(f"the rank must be at most the smallest width, {min(widths)}; got {rank}")
    near = PartialProducts.all_zero([width - rank for width in widths])
    return _answer(near, widths, rank, f"the least one over all weights of a map of rank {rank}")


def factorization_coefficient(
    factors: Sequence[Rows], *, work: float = DEFAULT_WORK, progress: Progress | None = None
) -> LearningCoefficient:
    r"""Return the learning coefficient of a product of matrices at these: factorization at a point of the fiber.

    Args:
        factors: exact matrices, at most 12; the first one is applied to the inputs, $W_L \cdots W_1 x$.
        work: seconds that exact work may take, by a rough estimate made before.
        progress: called with stage, steps done and steps in all.

    Raises:
        BadInput: there are none or more than 12, or an entry is not a finite number.
        ShapeError: two next to each other do not fit.
        TooLarge: the estimate exceeds `work`.

    Example:
        >>> found = factorization_coefficient([[[1, 0], [0, 0]], [[0, 0], [0, 1]], [[0, 0], [0, 0]]])
        >>> found.value, found.multiplicity
        (Fraction(3, 2), 3)
    """
    require_arguments(factorization_coefficient, locals())
    if not 1 <= len(factors) <= MOST_GIVEN:
        raise BadInput(f"there must be from 1 to {MOST_GIVEN} matrices, got {len(factors):,}")
    exact = [RationalMatrix.of(exact_matrix(factor, f"matrix {n}")) for n, factor in enumerate(factors, 1)]
    for place, (before, factor) in enumerate(pairwise(exact), 2):
        if before.shape[0] != factor.shape[1]:
            raise ShapeError(
                f"matrix {place} must have {before.shape[0]} columns, as many as matrix {place - 1} has rows, "
                f"got {factor.shape[1]}"
            )
    return factorization_within(exact, Work(work, progress))


def factorization_within(exact: Sequence[RationalMatrix], budget: Work) -> LearningCoefficient:
    """Return the same of at most 12 matrices that fit, within a budget that others spend too.

    Raises:
        TooLarge: the estimate exceeds the budget.
    """
    widths = [exact[0].shape[1], *(factor.shape[0] for factor in exact)]
    budget.spend(_ranks_cost(exact), "exact ranks of all partial products")
    ranks: list[list[int]] = []
    for first in range(len(exact)):
        product, row = exact[first], [exact[first].rank()]
        for factor in exact[first + 1 :]:
            product = factor @ product
            row.append(product.rank())
        ranks.append(row)
    rank = ranks[0][-1]
    near = PartialProducts(tuple(w - rank for w in widths), tuple(tuple(r - rank for r in row) for row in ranks))
    return _answer(near, widths, rank, "at these matrices")


def _ranks_cost(factors: Sequence[RationalMatrix]) -> float:
    """Return seconds for the ranks of all partial products."""
    price = Price("rationals")
    sizes = [Sizes(factor.shape, price, bits=factor.bits, lowest=factor.bits) for factor in factors]
    for first, product in enumerate(sizes):
        product.rank()
        for factor in sizes[first + 1 :]:
            product = factor @ product
            product.rank()
    return price.seconds


def _answer(near: PartialProducts, widths: Sequence[int], rank: int, where: str) -> LearningCoefficient:
    """Return the coefficient of a map of this rank, whose other directions are a product that is zero."""
    chain = near.best()
    codimension = near.codimension(chain[0])
    if not near.allows(chain[0]):
        raise ProgramError(f"ranks {chain[0]} of partial products must be possible near {near}")
    order = near.longest_nested(chain)
    value = Fraction(rank * (widths[0] + widths[-1] - rank) + codimension, 2)
    sizes = ",".join(map(str, widths))
    named = {f"rk W{k}..W1" if k > 1 else "rk W1": rank + z for k, z in enumerate(chain[0][1:-1], 1)}
    if order is None:
        named["multiplicity at most"] = len(chain)
    return LearningCoefficient(
        value,
        value,
        order,
        THEOREM_11,
        f"of the mean squared error of a deep linear network of widths {sizes}, for inputs with a regular covariance, "
        f"{where}",
        {"rank": rank, "codimension": codimension, **named},
    )
