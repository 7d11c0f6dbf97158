r"""How large a fiber is near given weights, from both sides, for every network whose map can be differentiated.

**From below.** Where the linear systems of the table of `symmetries.families` have their largest ranks at $W$, their
solutions extend to vector fields near $W$ that the function does not feel anywhere; with the tangents of the symmetry
group, $m$ of them independent at $W$, their flows sweep out a manifold of dimension $m$ in the fiber. **From above.**
If the differential of the function has rank $r$ at $W$, the fiber lies near $W$ in a manifold of dimension $P - r$,
$P$ the number of weights. **Where both meet** the fiber near $W$ is that manifold, and if the tangents of the group
alone are as many, it is the orbit of the group (docs/fibers-near-weights.md, Proposition 1). A rank modulo a prime is
at most the rank, which widens both bounds. **Where no rank is larger**, by a count of all functions of this shape, the
rank is constant near $W$, and the fiber is that manifold too.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from lightning_sym.ask import ask
from lightning_sym.dimension.narrow import BY_PLACES
from lightning_sym.dimension.search import series_orders
from lightning_sym.dimension.varieties import counted_bounds
from lightning_sym.display import latex_bounds, notebook
from lightning_sym.errors import ProgramError
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.fibers.kept_layers import kept_layers
from lightning_sym.limits import Work
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.jacobian import RandomJacobian
from lightning_sym.network.pieces import SHAPED
from lightning_sym.network.prices import price_of_jacobian, sweep_bytes
from lightning_sym.network.weights import Weights
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix, Residues, modulo_a_prime
from lightning_sym.symmetries.families import directions_mod_p, symmetry_count

PARAMETER_LIMIT = 2000
"""Most weights, symmetry directions and tokens for which the bounds are computed."""

SWEEP_MEMORY = 2**30
"""Bytes that one sweep of one input may record."""

MOST_HEADS = 64
"""Heads of a layer up to which changes at these weights alone are looked for."""

MORE_ROWS = 16
"""Rows of the Jacobian beyond those that are needed."""

ELIMINATION = 1e-9
"""Seconds for a product in the elimination of directions."""

MIXTURE = 1e-5
"""Seconds for an unknown of a mixture of heads, and a head."""

LATER = 4
"""A longer series is tried where the budget allows so many of it."""


class LocalDimension(NamedTuple):
    """Bounds for the dimension of the fiber near the weights.

    Attributes:
        lower: of a manifold in the fiber that each neighbourhood of the weights meets.
        upper: of all manifolds in the fiber near the weights.
        orbit: of the orbit of the symmetry group, from below.
        shown_by: what makes the bounds meet, if they do.
    """

    lower: int
    upper: int
    orbit: int
    shown_by: str

    @property
    def value(self) -> int | None:
        """The dimension; `None` where the bounds differ."""
        return self.lower if self.lower == self.upper else None

    def _repr_latex_(self) -> str:
        return notebook(latex_bounds(r"\dim", self.lower, self.upper))

    def with_bounds(self, other: LocalDimension) -> LocalDimension:
        """Return the better of two bounds each.

        Raises:
            ProgramError: a lower bound exceeds an upper bound.

        Example:
            >>> LocalDimension(2, 5, 2, "some").with_bounds(LocalDimension(4, 4, 0, "others"))
            LocalDimension(lower=4, upper=4, orbit=2, shown_by='others')
        """
        lower, upper = max(self.lower, other.lower), min(self.upper, other.upper)
        if lower > upper:
            raise ProgramError(f"two bounds for one dimension must not contradict each other: {self}, {other}")
        shown_by = other.shown_by if (lower, upper) != (self.lower, self.upper) else self.shown_by
        return LocalDimension(lower, upper, max(self.orbit, other.orbit), shown_by)

    @property
    def is_orbit(self) -> bool:
        """Whether the fiber near the weights is the orbit of the symmetry group."""
        return self.orbit == self.upper


ORBIT = "orbit and differential agree"
DIRECTIONS = "known directions and differential agree"
GENERIC = "the differential has the generic rank"


def local_dimension(
    weights: Weights, tokens: int, *, seed: int = 0, budget: Work | None = None
) -> LocalDimension | None:
    """Return both bounds at these very weights.

    Args:
        weights: exact weights, of any network that can be differentiated.
        tokens: $t$.
        seed: picks the inputs; no bound is wrong for any.
        budget: of exact work.

    Returns:
        `None` where the network is too large, or the budget does not allow it, or each prime divides a denominator.

    Raises:
        BadInput: the network has an option for which the bounds are not proved.
        ProgramError: the lower bound exceeds the upper bound.

    Example:
        >>> from lightning_sym.network.form import NetworkForm
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4], [5, 6]]}, NetworkForm(skip=True))
        >>> local_dimension(w, 2)
        LocalDimension(lower=2, upper=2, orbit=2, shown_by='orbit and differential agree')
    """
    weights.require_numbers("the dimension of a fiber near weights")
    shape, budget = weights.architecture(tokens), Work() if budget is None else budget
    shape.require("the dimension of a fiber near weights", SHAPED)
    if max(shape.parameter_count, symmetry_count(shape), tokens) > PARAMETER_LIMIT:
        return None
    if not (orders := _taylor_degrees(shape)) or not budget.allows(_cost(shape, orders[0])):
        return None
    if (residues := _residues(weights, shape, orders[-1])) is None:
        return None
    budget.spend(_cost(shape, orders[0]), "the dimension near these weights")
    p, matrices, parameters = residues[0], list(residues[1].values()), shape.parameter_count
    directions = np.concatenate([block.residues() for block in directions_mod_p(shape, matrices, p, symmetry=True)])
    orbit, upper = rank_mod_p(directions, p), parameters
    lower = orbit
    for order in orders:
        if order != orders[0]:
            if lower == upper or not budget.allows(LATER * _cost(shape, order)):
                break
            budget.spend(_cost(shape, order), f"the dimension near these weights, series of degree {order}")
        jacobian = RandomJacobian(shape, np.random.default_rng(seed), p, order=order, weights=matrices)
        rows = jacobian.matrix(parameters - lower + MORE_ROWS)
        upper = min(upper, parameters - rank_mod_p(rows, p, overwrite=True))
        if order == orders[0] and lower < upper:  # more moves than the group does, or the differential falls short
            directions, lower = _with_others(directions, lower, shape, matrices, p, budget)
        if order == orders[0] and lower < upper and shape.heads <= MOST_HEADS:
            lower = _with_kept(directions, lower, weights, tokens, p, budget)
    if lower > upper:
        raise ProgramError(f"lower bound {lower} exceeds upper bound {upper} for the fiber of {shape}")
    if lower < upper and parameters - upper in _counts(shape):
        return LocalDimension(upper, upper, orbit, GENERIC)
    return LocalDimension(lower, upper, orbit, ORBIT if orbit == upper else DIRECTIONS)


def _counts(shape: Architecture) -> list[int]:
    """Return bounds for the rank of the differential at all weights, that need no weights."""
    if shape.tokens == 1:
        shape = replace(shape, causal=False)
    place, _ = ask(shape, BY_PLACES, Work())
    return [*counted_bounds(shape)[0].values(), *([] if place is None else [place])]


def _taylor_degrees(shape: Architecture) -> list[int | None]:
    """Return the degrees of the Taylor series to try; what is polynomial needs none."""
    if shape.normalization is None:
        return [None]
    if shape.depth > 4:  # degrees of deep networks have thousands of digits
        return []
    return [order for order in series_orders(shape.depth) if sum(sweep_bytes(shape, order)) <= SWEEP_MEMORY]


def _cost(shape: Architecture, order: int | None) -> float:
    """Return seconds for the Jacobian and its rank, and for the tangents of the symmetries."""
    tangents = ELIMINATION * symmetry_count(shape) ** 2 * shape.parameter_count
    return float(price_of_jacobian(shape, shape.parameter_count, order).seconds + tangents)


def _directions_cost(shape: Architecture) -> float:
    """Return seconds for the directions of the table: most are for mixtures of all heads, and of all pairs of heads."""
    if shape.normalization is not None or shape.heads == 1:
        return 0.0
    motions, heads = shape.parameter_count / (shape.depth * shape.heads), shape.heads
    columns = heads * motions + heads**2 + heads**2 * (motions + max(shape.widths))
    return float(MIXTURE * shape.depth * heads * columns)


def _residues(
    weights: Weights, shape: Architecture, order: int | None
) -> tuple[int, dict[str, PrimeFieldMatrix]] | None:
    """Return weights modulo the first prime that divides no denominator, also of the series."""
    scores = shape.normalization
    series = [] if scores is None or order is None else [Fraction(scores.taylor(k)) for k in range(order + 1)]
    divisors = [series[0].numerator, *(c.denominator for c in series)] if series else []
    return modulo_a_prime(weights.all_held, [p for p in PRIMES if all(divisor % p for divisor in divisors)])


def _with_others(
    tangents: Residues, orbit: int, shape: Architecture, matrices: list[PrimeFieldMatrix], p: int, budget: Work
) -> tuple[Residues, int]:
    """Return the tangents of the group with the other directions of the table, and the rank of all."""
    if not budget.begins(_directions_cost(shape), "directions near these weights"):  # then the bound is weaker
        return tangents, orbit
    others = [block.residues() for block in directions_mod_p(shape, matrices, p, symmetry=False)]
    directions = np.concatenate([tangents, *others])
    seconds = ELIMINATION * float(len(directions)) ** 2 * shape.parameter_count
    if len(directions) == len(tangents) or not budget.begins(seconds, "directions near these weights"):
        return tangents, orbit
    return directions, rank_mod_p(directions, p)


def _with_kept(directions: Residues, lower: int, weights: Weights, tokens: int, p: int, budget: Work) -> int:
    """Return the rank of the directions with changes that keep every layer: of each place the best ones there."""
    most = lower
    for places in kept_layers(weights, tokens, p, budget):
        chosen = [directions]
        for families in places:
            best, most_more = directions[:0], 0
            for family in families:
                seconds = ELIMINATION * float(len(directions) + len(family)) ** 2 * family.shape[1]
                if not budget.begins(seconds, "what moves at these weights"):
                    continue
                more = rank_mod_p(np.concatenate([directions, family]), p) - lower
                if more > most_more:
                    best, most_more = family, more
            chosen.append(best)
        together = np.concatenate(chosen)
        seconds = ELIMINATION * float(len(together)) ** 2 * together.shape[1]
        if budget.begins(seconds, "what moves at these weights"):
            most = max(most, rank_mod_p(together, p))
    return most
