r"""What a point of one layer is, by exact ranks computed at the point: nothing here passes through a formula.

`classify` reads labels and tangent spaces off the orbit of a pair $(A, V)$, by the formulae that `docs/one-layer.md`
proves for every width. Here the same is found by linear algebra at the given matrices: ranks of the differential,
the second point of the fiber, and vectors of which it is known that they lie in the tangent space.

*Singular*, if known tangent vectors span more than $\dim \mathcal M$ (certified), or the projective fiber has two
points and the parametrization is birational, or the point is a limit of such. *Regular*, if the fiber is one point
$x$, the differential has rank $\dim \mathcal M$ on the tangent space at $x$, and $x$ is a smooth point of the pairs.

*Known tangent vectors.* The image of the differential at each point of the fiber, on the Zariski tangent space of the
pairs: where every direction is tangent although $\alpha < d$, the curves $A + s\, u v^\top$ have rank at most $\alpha$.
At $A = h q^\top$, $V = v h^\top$ also limits of tangent spaces at $p = h + s u$, $w = h$: there $F(A', v w^\top)$,
tangent at one point of the fiber, less $F(A', v p^\top)$, tangent at the other, is $-s F(A', v u^\top)$, so
$F(A', v u^\top)$ is tangent at the limit, and so is $F(u q^\top, V')$; here $A'$ is any matrix if $\alpha > 1$, and
$a q^\top$ if $\alpha = 1$.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from lightning_sym import Architecture, CertifiedDimension, Label, ProgramError, Weights, certified_dimension
from lightning_sym.exact.rational import rank, rank_one_factors
from lightning_sym.geometry.classify import LayerRanks
from lightning_sym.geometry.layer_function import Integers, differential, layer_function, tangent_directions
from lightning_sym.network.virtual_weights import exact_virtual_weights
from lightning_sym.rings.arrays import ObjectArray, clear_denominators
from lightning_sym.rings.rationals import RationalMatrix

dimension_of = cache(certified_dimension)


@dataclass(frozen=True)
class MeasuredPoint:
    """A point and what was computed of it; `ranks.tangent` is a lower bound of the dimension of the tangent space."""

    architecture: Architecture
    labels: tuple[Label, ...]
    reason: str
    dimension: CertifiedDimension
    ranks: LayerRanks

    def __contains__(self, label: Label) -> bool:
        return label in self.labels

    @property
    def decided(self) -> bool:
        return self.dimension.value is not None


@cache
def linear_span(d: int, d_out: int) -> int:
    """Return the dimension of the linear span of $M$, from functions of elementary matrices, which have rank one."""
    a = np.eye(d * d, dtype=np.int64).reshape(-1, 1, d, d)
    v = np.eye(d, dtype=np.int64).reshape(1, -1, 1, d)
    functions = layer_function(a, v)
    # the rows of V enter different coordinates: d' equal blocks
    return d_out * rank(functions.reshape(-1, functions.shape[-1]))


def restricted_differential(attention: Integers, value: Integers, along: ObjectArray) -> RationalMatrix:
    """Return the differential at a pair: one row for each direction of `A`, then one for each entry of `V`."""
    jacobian = differential(attention, value).T
    by_attention, by_value = map(RationalMatrix.of, np.split(jacobian, [attention.size]))
    return (RationalMatrix.of(along) @ by_attention).above(by_value)


def limits_at_square(attention: Integers, value: Integers, alpha: int) -> RationalMatrix:
    """Return functions `F(A', v u^T)` and `F(u q^T, V')`, which are limits of tangent vectors; see above."""
    d, d_out = len(attention), len(value)
    (_, q), (v, _) = (map(clear_denominators, rank_one_factors(matrix)) for matrix in (attention, value))
    one = np.eye(d, dtype=np.int64).astype(object)
    by_q, by_v = np.array([np.outer(u, q) for u in one]), np.array([np.outer(v, u) for u in one])
    every = np.eye(d * d, dtype=np.int64).astype(object).reshape(-1, d, d)
    values = np.eye(d_out * d, dtype=np.int64).astype(object).reshape(-1, d_out, d)
    pairs = ((every if alpha > 1 else by_q, by_v), (by_q, values))
    limits = [layer_function(a[:, None], v[None]) for a, v in pairs]
    return RationalMatrix.of(np.concatenate([rows.reshape(-1, rows.shape[-1]) for rows in limits]))


def measured_ranks(attention: Integers, value: Integers, alpha: int) -> LayerRanks:
    """Return all ranks at a pair of integer matrices, over the rationals."""
    d, d_out = len(attention), len(value)
    rank_a, rank_v = rank(attention), rank(value)
    common = rank_a + rank_v - rank(np.concatenate([attention.T, value]))
    directions = tangent_directions(attention, alpha)
    here = restricted_differential(attention, value, directions)
    restricted = rank(here)
    full = restricted if len(directions) == d * d else rank(differential(attention, value))
    points: int | None = 1
    tangent = restricted
    if not layer_function(attention, value).any():
        points, tangent = None, linear_span(d, d_out)  # M is a cone: the line s F lies inside
    elif (rank_a, rank_v, common) == (1, 1, 1):
        tangent = rank(here.above(limits_at_square(attention, value, alpha)))
    elif (rank_a, rank_v) == (1, 1):
        (p, q), (v, w) = (map(clear_denominators, rank_one_factors(matrix)) for matrix in (attention, value))
        twin = np.outer(w, q), np.outer(v, p)  # up to scalars
        if (layer_function(*twin) != layer_function(np.outer(p, q), np.outer(v, w))).any():
            raise ProgramError(f"the swap changes the function at A = {attention.tolist()}, V = {value.tolist()}")
        points = 2
        tangent = rank(here.above(restricted_differential(*twin, tangent_directions(twin[0], alpha))))
    domain = len(directions) + d_out * d
    return LayerRanks(rank_a, rank_v, common, full, domain, restricted, tangent, points)


def _regular_or_singular(shape: Architecture, ranks: LayerRanks, dimension: int) -> tuple[Label, str]:
    (d, d_out), alpha = shape.widths, min(shape.attention_ranks[0], shape.widths[0])
    square = (ranks.attention, ranks.value, ranks.common) == (1, 1, 1)
    if d == 1:
        return Label.REGULAR, f"d = 1: M is a linear space of dimension {dimension}"
    if ranks.tangent > dimension:
        return Label.SINGULAR, f"tangent vectors span {ranks.tangent} dimensions, M has {dimension}"
    if alpha == 1 and d_out == 1:
        # F is two to one: M is the cone over {quadratic forms p w} x P^(d-1), and rank two forms are regular there
        if ranks.fiber_points == 2 and ranks.restricted == dimension:
            return Label.REGULAR, "a = d' = 1: p w has rank two; the fiber is one orbit of the swap, which moves it"
        if d == 2:
            return Label.REGULAR, "d = 2, a = d' = 1: away from 0 the closure of M is smooth, the cone over P^2 x P^1"
    elif ranks.fiber_points == 2:
        return Label.SINGULAR, "the projective fiber has two points"
    elif square:
        return Label.SINGULAR, "a limit of points whose projective fiber has two points, ((h + s u) q^T, v h^T)"
    elif ranks.fiber_points == 1 and ranks.restricted == dimension and (ranks.attention == alpha or alpha == d):
        return Label.REGULAR, "one point in the projective fiber, and the differential has rank dim M there"
    raise ProgramError(f"{shape}: no criterion applies to {ranks}, dimension {dimension}")


def measure(weights: Weights) -> MeasuredPoint:
    """Decide a point of one layer, `t >= 2`, by computing."""
    shape = weights.architecture(2)
    d, alpha = shape.widths[0], min(shape.attention_ranks[0], shape.widths[0])
    virtual = exact_virtual_weights(weights)
    ranks = measured_ranks(clear_denominators(virtual.attention[0]), clear_denominators(virtual.value), alpha)
    dimension = dimension_of(shape)
    labels = [Label.CRITICAL] if ranks.restricted < ranks.domain - 1 else []
    if d > 1 and (ranks.fiber_points is None or (ranks.attention, ranks.value, ranks.common) == (1, 1, 1)):
        labels.append(Label.BOUNDARY)
    if dimension.value is None:
        why = f"dim M is undecided, between {dimension.lower} and {dimension.upper}: so is regular or singular"
        return MeasuredPoint(shape, tuple(labels), why, dimension, ranks)
    label, why = _regular_or_singular(shape, ranks, dimension.value)
    return MeasuredPoint(shape, (label, *labels), why, dimension, ranks)
