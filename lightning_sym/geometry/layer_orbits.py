r"""The orbits of the functions of one layer, `t >= 2`, with the tangent space at each: exact, for every width.

A pair $(A, V)$ is known up to $(g A h, k V g^\top)$ by the rank of $A$, the rank of $V$, and the dimension of the
intersection of the column space of $A$ and the row space of $V$ (`docs/one-layer.md`, Proposition 1). The group acts
on functions by linear maps that carry $\mathcal M$ to itself, so whatever is said of the tangent space, of the fiber
and of the ranks depends on these three numbers, on $d$, $d'$ and $\alpha = \min(a, d)$ only. The formulae here are the
ones that the page proves; nothing is computed, so they cost the same at every width.

Pairs of an attention and a value matrix up to changes of bases: one for each orbit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

import numpy as np

from lightning_sym.display import notebook
from lightning_sym.errors import ShapeError, no_truth_value
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import ObjectArray


@dataclass(frozen=True, eq=False)
class NormalForm:
    """A pair of matrices of zeros and ones, and what of it no change of bases can alter.

    Attributes:
        attention_rank: rank of `attention`.
        value_rank: rank of `value`.
        common: dimension of the intersection of the column space of `attention` and the row space of `value`.
        attention: `d x d`, diagonal.
        value: `d' x d`.
    """

    attention_rank: int
    value_rank: int
    common: int
    attention: ObjectArray
    value: ObjectArray

    @property
    def is_square(self) -> bool:
        r"""Whether $A = h q^\top$, $V = v h^\top$, neither of them zero."""
        return (self.attention_rank, self.value_rank, self.common) == (1, 1, 1)

    def weights(self, a: int) -> Weights:
        """Return weights with this attention matrix and `a` rows in `Q` and `K`."""
        rows = np.zeros((a, len(self.attention)), dtype=object)
        rows[: len(self.attention)] = self.attention[:a]
        return Weights.of({"Q1": rows, "K1": rows, "V1": self.value})


def triples(d: int, d_out: int, alpha: int) -> Iterator[tuple[int, int, int]]:
    r"""Yield `rk A`, `rk V` and the dimension of the intersection for every orbit.

    The orbits are those with $\operatorname{rk} A \le \alpha$.

    Example:
        >>> list(triples(2, 1, 1))
        [(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1)]
    """
    for r in range(min(alpha, d) + 1):
        for s in range(min(d, d_out) + 1):
            for common in range(max(0, r + s - d), min(r, s) + 1):
                yield r, s, common


def normal_form(d: int, d_out: int, r: int, s: int, common: int) -> NormalForm:
    """Return the pair of matrices of zeros and ones with these ranks and this intersection.

    Example:
        >>> normal_form(3, 2, 1, 2, 1).value.tolist()
        [[1, 0, 0], [0, 1, 0]]
    """
    attention, value = np.zeros((d, d), dtype=object), np.zeros((d_out, d), dtype=object)
    attention[range(r), range(r)] = 1
    value[range(common), range(common)] = 1
    value[range(common, s), range(r, r + s - common)] = 1
    return NormalForm(r, s, common, attention, value)


def normal_forms(d: int, d_out: int, alpha: int) -> Iterator[NormalForm]:
    r"""Yield one pair $(A, V)$ with $\operatorname{rk} A \le \alpha$ from each orbit of $(g A h, k V g^\top)$.

    For invertible $g, h, k$ this changes $(a_k v_m)$ by an invertible linear map, so ranks, fibers and singularities
    are the same along an orbit. $h$ and $k$ leave of $A$ and $V$ only the column space and the row space, and $g$
    leaves of two subspaces only their dimensions and that of their intersection (`docs/one-layer.md`, Proposition 1).

    Example:
        >>> [(form.attention_rank, form.value_rank, form.common) for form in normal_forms(2, 1, 1)]
        [(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1)]
    """
    for r, s, common in triples(d, d_out, alpha):
        yield normal_form(d, d_out, r, s, common)


@no_truth_value("label is Label.SINGULAR")
class Label(Enum):
    """What a point can be."""

    REGULAR = "regular"
    CRITICAL = "critical"
    SINGULAR = "singular"
    BOUNDARY = "boundary"

    def __repr__(self) -> str:
        return f"Label.{self.name}"


@dataclass(frozen=True)
class LayerOrbit:
    r"""One orbit of pairs $(A, V)$, `t >= 2`, and what is the same for all of its functions.

    Attributes:
        width: $d$.
        output_width: $d'$.
        alpha: $\min(a, d)$, the largest rank that $A$ can have.
        value: $\operatorname{rk} V$.
        attention: $\operatorname{rk} A$.
        common: dimension of the intersection of the row space of $V$ and the column space of $A$.

    Raises:
        ShapeError: there is no such pair.

    Example:
        >>> orbit = LayerOrbit(3, 2, 2, value=2, attention=1, common=1)
        >>> orbit.tangent_dimension, orbit.manifold_dimension, orbit.dimension
        (14, 13, 9)
    """

    width: int
    output_width: int
    alpha: int
    value: int
    attention: int
    common: int

    def __post_init__(self) -> None:
        d, r, s = self.width, self.attention, self.value
        fits = 0 <= r <= self.alpha <= d and 0 <= s <= min(d, self.output_width)
        if not (fits and max(0, r + s - d) <= self.common <= min(r, s)):
            raise ShapeError(
                f"rk V, rk A and the intersection must be those of a pair with d = {d}, d' = {self.output_width}, "
                f"rk A <= {self.alpha}, got {s}, {r}, {self.common}"
            )

    def _repr_latex_(self) -> str:
        return notebook(
            rf"\operatorname{{rk}} V = {self.value}, \quad \operatorname{{rk}} A = {self.attention}, \quad "
            rf"\dim(\operatorname{{row}} V \cap \operatorname{{col}} A) = {self.common}"
        )

    @property
    def vanishes(self) -> bool:
        r"""Whether $\phi = 0$."""
        return self.attention == 0 or self.value == 0

    @property
    def has_rank_one(self) -> bool:
        r"""Whether $A = p q^\top$, $V = v w^\top$, neither of them zero."""
        return self.attention == self.value == 1

    @property
    def is_square(self) -> bool:
        r"""Whether $A = h q^\top$, $V = v h^\top$ with the same $h$, neither of them zero."""
        return self.has_rank_one and self.common == 1

    @property
    def fiber_points(self) -> int | None:
        """Points of the projective fiber; `None` for `phi = 0`."""
        if self.vanishes:
            return None
        return 2 if self.has_rank_one and not self.is_square else 1

    @property
    def attention_directions(self) -> int:
        r"""Dimension of the Zariski tangent space at $A$ of the matrices of rank at most $\alpha$."""
        d, alpha = self.width, self.alpha
        return alpha * (2 * d - alpha) if self.attention == alpha else d * d

    @property
    def domain(self) -> int:
        r"""Dimension of the Zariski tangent space at $(A, V)$ of the pairs with $\operatorname{rk} A \le \alpha$."""
        return self.attention_directions + self.output_width * self.width

    def rank_along(self, directions: int) -> int:
        r"""Return the rank of $d\phi$ in `directions` dimensions of directions of $A$ and all of $V$ (Proposition 2).

        The directions of $A$ have to contain all $u q^\top$ with $q$ in the row space of $A$.
        """
        if self.attention == 0:
            return directions if self.value else 0
        if self.value == 0:
            return self.output_width * self.width
        kernel = self.width if self.is_square else 1
        return directions + self.output_width * self.width - kernel

    @property
    def manifold_dimension(self) -> int:
        r"""$\dim \mathcal M$, Corollary 3.3."""
        d, alpha = self.width, self.alpha
        return alpha * (2 * d - alpha) + d * self.output_width - 1

    @property
    def span(self) -> int:
        r"""Dimension of the linear span of $\mathcal M$."""
        d = self.width
        return d * self.output_width * d * (d + 1) // 2

    @property
    def dimension(self) -> int:
        """Dimension of the set of functions of this orbit."""
        if self.vanishes:
            return 0
        d, r, s, c = self.width, self.attention, self.value, self.common
        subspaces = c * (d - c) + (r - c) * (d - r) + (s - c) * (d - s)
        return subspaces + r * d + s * self.output_width - 1

    @property
    def tangent_dimension(self) -> int:
        r"""Dimension of the Zariski tangent space of the closure of $\mathcal M$ (`docs/one-layer.md`, Theorem 4)."""
        d, d_out = self.width, self.output_width
        forms = d * (d + 1) // 2
        if self.vanishes:
            return self.span
        if not self.has_rank_one:
            return self.domain - 1
        if self.is_square:
            return (d + d_out - 1) * forms if self.alpha > 1 else d_out * forms + d - 1
        return 2 * (self.domain - 1) - (3 * d + d_out - 3)

    @property
    def is_singular(self) -> bool:
        r"""Whether the tangent space is larger than $\mathcal M$."""
        return self.tangent_dimension > self.manifold_dimension

    @property
    def is_critical(self) -> bool:
        r"""Whether $d\phi$ in $(A, V)$ has more than the generic kernel, in the directions tangent to the pairs."""
        return self.rank_along(self.attention_directions) < self.domain - 1

    @property
    def is_boundary(self) -> bool:
        r"""Whether the function is on the relative boundary (Theorem 3.4)."""
        return self.width > 1 and (self.is_square or self.vanishes)

    @property
    def labels(self) -> tuple[Label, ...]:
        """All that the point is."""
        first = Label.SINGULAR if self.is_singular else Label.REGULAR
        more = ((Label.CRITICAL, self.is_critical), (Label.BOUNDARY, self.is_boundary))
        return (first, *(label for label, holds in more if holds))

    @property
    def normal_form(self) -> NormalForm:
        """A pair of matrices of zeros and ones in this orbit."""
        return normal_form(self.width, self.output_width, self.attention, self.value, self.common)

    def weights(self, a: int) -> Weights:
        """Return weights in this orbit, of query/key width `a`."""
        return self.normal_form.weights(a)


def pair_orbits(d: int, d_out: int, alpha: int) -> Iterator[LayerOrbit]:
    r"""Yield every orbit of pairs with $\operatorname{rk} A \le \alpha$, those with $\phi = 0$ among them.

    Example:
        >>> [(o.value, o.attention, o.common) for o in pair_orbits(2, 1, 1)]
        [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (1, 1, 1)]
    """
    for r, s, common in triples(d, d_out, alpha):
        yield LayerOrbit(d, d_out, alpha, s, r, common)
