r"""Regular, critical, singular and boundary points of the set of functions of one layer (Theorem 3.4, Lemma A.3).

**One layer, `t >= 2`.** The function is the array $(a_k(x)\, v_m(x))_{k,m}$, with $a_k$ the columns of $A$ and $v_m$
the rows of $V$ as linear forms in $x$ (Proposition A.5). Up to linear maps that carry $\mathcal M$ to itself it is
known by $\operatorname{rk} A$, $\operatorname{rk} V$ and the dimension of the intersection of the column space of $A$
and the row space of $V$: three exact ranks of the given matrices. All else is read off this orbit (`layer_orbits`), by
formulae that `docs/one-layer.md` proves for every width: the dimension of the Zariski tangent space of the closure of
$\mathcal M$ (Theorem 4), which is larger than $\dim \mathcal M$ exactly at the singular points.

**More layers, or one token.** Only whether the differential in all weights has the generic rank, which is the dimension
of $\mathcal M$ (`docs/every-width.md`, Theorem 2), and what that says of the tangent space: it is nowhere smaller.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lightning_sym.arguments import require_arguments
from lightning_sym.ask import FellShort, Need, TheoremRow, any_question, ask, paid_by_steps
from lightning_sym.dimension.varieties import virtual_weight_variety
from lightning_sym.display import Lines, Result
from lightning_sym.errors import ProgramError, ShapeError, TooLarge, no_truth_value, proved_to_be
from lightning_sym.exact.rational import rank
from lightning_sym.fibers.cost import number_bits, virtual_weights_cost
from lightning_sym.geometry.bounds import Bounds
from lightning_sym.geometry.layer_orbits import Label, LayerOrbit
from lightning_sym.geometry.point_text import point_latex, point_lines
from lightning_sym.lazy import lazy_imports
from lightning_sym.limits import DEFAULT_MEMORY, DEFAULT_WORK, Progress, Work, require_integer, require_memory
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.virtual_weights import exact_virtual_weights
from lightning_sym.network.weights import Weights

with lazy_imports(__name__):
    from lightning_sym.fibers import plain_differential  # one layer needs none of these
    from lightning_sym.geometry import limit_points
    from lightning_sym.geometry import weight_rank as weight_ranks
    from lightning_sym.varieties import equations as ideals

if TYPE_CHECKING:
    from lightning_sym.geometry.limit_points import LimitPoint


@dataclass(frozen=True)
class LayerRanks:
    r"""The numbers of a point of one layer, `t >= 2`; all ranks are over the rationals.

    Attributes:
        attention: $\operatorname{rk} A$.
        value: $\operatorname{rk} V$.
        common: dimension of the intersection of the row space of $V$ and the column space of $A$.
        differential: rank of the differential of $(A, V) \mapsto \phi$ in all directions.
        domain: dimension of the Zariski tangent space, at $(A, V)$, of the pairs with $\operatorname{rk} A \le \alpha$.
        restricted: rank of the differential on that tangent space.
        tangent: dimension of the Zariski tangent space of the closure of $\mathcal M$.
        fiber_points: points of the projective fiber, `None` for $\phi = 0$.
    """

    attention: int
    value: int
    common: int
    differential: int
    domain: int
    restricted: int
    tangent: int
    fiber_points: int | None

    @classmethod
    def of(cls, orbit: LayerOrbit) -> LayerRanks:
        """Return what the orbit says.

        Example:
            >>> LayerRanks.of(LayerOrbit(3, 2, 2, value=2, attention=1, common=1)).restricted
            14
        """
        full, restricted = (orbit.rank_along(n) for n in (orbit.width**2, orbit.attention_directions))
        return cls(
            orbit.attention, orbit.value, orbit.common, full, orbit.domain, restricted, orbit.tangent_dimension,
            orbit.fiber_points,
        )  # fmt: skip


@no_truth_value("Label.SINGULAR in point")
@dataclass(frozen=True, eq=False, repr=False)
class Classification(Result):
    r"""What a point is, and why.

    Attributes:
        architecture: the network.
        labels: what was proved of the point; `critical` refers to $(A, V) \mapsto \phi$ for one layer and `t >= 2`,
            to all of $(Q_i, K_i, V_i) \mapsto \phi$ otherwise.
        reasons: one sentence a label, and one for what is not decided.
        dimension: the dimension of $\mathcal M$.
        tangent_dimension: the dimension of the Zariski tangent space, at the point, of the closure of $\mathcal M$.
        weight_rank: the rank of the differential in all $(Q_i, K_i, V_i)$ at the point.
        ranks: the numbers for one layer and `t >= 2`, else `None`.
        decided: whether everything that is covered was decided.
        equations: if they were asked for, the degree up to which all equations of $\mathcal M$ are known, and the
            dimension of the space that they leave at the point, at most.
        tried: theorems that say more of other points, each with the hypothesis that fails.
        limits: which families of weights have functions that tend to this one; `None` if it was not asked for.
    """

    architecture: Architecture
    labels: tuple[Label, ...]
    reasons: tuple[str, ...]
    dimension: Bounds
    tangent_dimension: Bounds
    weight_rank: Bounds
    ranks: LayerRanks | None
    decided: bool
    equations: tuple[int, int] | None = None
    tried: tuple[FellShort, ...] = field(default=(), repr=False, compare=False)
    limits: LimitPoint | None = field(default=None, repr=False, compare=False)

    def lines(self) -> Lines:
        """Return the lines as the command `classify` prints them."""
        return point_lines(self)

    def _latex(self) -> str:
        return point_latex(self)

    def __contains__(self, label: Label) -> bool:
        return label in self.labels

    @property
    def weight_rank_lower(self) -> int:
        """Lower bound of the rank of the differential in all $(Q_i, K_i, V_i)$ at the point."""
        return self.weight_rank.lower

    @property
    def weight_rank_upper(self) -> int:
        """Upper bound; equal to the lower one for one layer and `t >= 2`."""
        upper = self.weight_rank.upper
        return self.architecture.parameter_count if upper is None else upper


BYTES_AN_ENTRY = 300
"""Of a matrix of rationals, as it is and made over for its rank, beside its digits."""

COVERED = "regular, singular, boundary: only one layer with two or more tokens is covered"
"""What is said of other networks."""


def orbit_of(weights: Weights, memory: int = DEFAULT_MEMORY, budget: Work | None = None) -> LayerOrbit:
    """Return the orbit of the function of one layer, `t >= 2`, by three exact ranks.

    Raises:
        BadInput: softmax, masked, with skip connections, several heads, embeddings, or more than one layer.
        TooLarge: the matrices do not fit into memory, or their ranks take more than the budget.

    Example:
        >>> orbit_of(Weights.of({"Q1": [[1, 0], [0, 0]], "K1": [[1, 0], [0, 0]], "V1": [[0, 1]]})).labels
        (Label.SINGULAR,)
    """
    weights.require_plain("the orbit of a function")
    shape = weights.architecture(2)
    if shape.depth > 1:
        raise ShapeError(f"the orbit must be asked of one layer, got {shape}")
    (d, d_out), (a,) = shape.widths, shape.attention_ranks
    (bits, fractions), budget = number_bits(weights), Work() if budget is None else budget
    entries = 2 * a * d + d * d + 2 * d * d_out
    needed = entries * (BYTES_AN_ENTRY + sum(bits.values()))
    require_memory(needed, memory, f"the matrices of a layer ({d:,} -> {d_out:,}, exact)")
    # the rank of A, of V, and of both beside each other
    budget.spend(3 * virtual_weights_cost(weights, bits, fractions), "ranks of the virtual weights")
    virtual = exact_virtual_weights(weights)
    attention, value = virtual.attention[0], virtual.value
    r, s = rank(attention), rank(value)
    common = r + s - rank(np.concatenate([attention.T, value])) if r and s else 0
    return LayerOrbit(d, d_out, min(a, d), value=s, attention=r, common=common)


def _why(orbit: LayerOrbit) -> str:
    """Return the reason for regular or singular."""
    dimension, tangent = orbit.manifold_dimension, orbit.tangent_dimension
    if orbit.is_singular:
        two = "; the projective fiber has two points" if orbit.fiber_points == 2 else ""
        return f"the tangent space has dimension {tangent:,}, M has {dimension:,}{two}"
    if orbit.width == 1:
        return f"d = 1: M is a linear space of dimension {dimension:,}"
    if orbit.has_rank_one and not orbit.is_square:
        return "a = d' = 1: p w has rank two; the fiber is one orbit of the swap, which moves it"
    if orbit.is_square:
        return "d = 2, a = d' = 1: away from 0 the closure of M is smooth, the cone over P^2 x P^1"
    return f"one point in the projective fiber, and the differential has rank dim M = {dimension:,} there"


def _reasons(orbit: LayerOrbit) -> Iterator[str]:
    """Yield one for each label."""
    yield _why(orbit)
    if orbit.is_critical:
        kernel = orbit.domain - orbit.rank_along(orbit.attention_directions)
        yield f"the differential in (A, V) has a kernel of dimension {kernel:,}, where a generic one has 1"
    if orbit.is_boundary:
        form = "phi = 0" if orbit.vanishes else "A = h q^T, V = v h^T with the same h"
        limit = "a limit of functions of complex weights with h, conj(h) in place of h, h"
        yield f"{form}: {limit} (docs/one-layer.md, section 5)"


def _classify_layer(weights: Weights, shape: Architecture, memory: int, budget: Work) -> Classification:
    orbit = orbit_of(weights, memory, budget)
    d = orbit.width
    query, key = rank(weights["Q1"]), rank(weights["K1"])
    # the directions K'^T Q + K^T Q' of A
    in_weights = orbit.rank_along(d * (query + key) - query * key)
    dimension, tangent = orbit.manifold_dimension, orbit.tangent_dimension
    return Classification(
        shape,
        orbit.labels,
        tuple(_reasons(orbit)),
        Bounds(dimension, dimension, "docs/one-layer.md, Proposition 3"),
        Bounds(tangent, tangent, "exact, by the orbit of (A, V)"),
        Bounds(in_weights, in_weights, "by the orbit of (A, V) and the ranks of Q and K"),
        LayerRanks.of(orbit),
        decided=True,
    )


def _classify_by_weights(weights: Weights, shape: Architecture, memory: int, budget: Work) -> Classification:
    """Return only whether the differential in all weights has the generic rank, for more layers or one token."""
    generic = virtual_weight_variety(shape).dimension
    dimension = Bounds(generic, generic, "certified for every width")
    if (rank := plain_differential.differential_rank(weights, shape.tokens, generic, budget)) is not None:
        found = Bounds(rank, rank, "ranks of products of the weights")
    else:
        lower, upper = weight_ranks.weight_rank_bounds(weights, shape, generic, budget, memory=memory)
        found = Bounds(lower, upper, "ranks, and kernel vectors that hold as identities")
    tangent = Bounds(generic, None, "no smaller than M; no bound from above is known")
    labels: tuple[Label, ...] = ()
    decided = found.value is not None
    why = f"critical: undecided, the rank is {found}, the dimension {generic:,}"
    if decided:
        why = f"not critical: the differential in the weights has the generic rank {found}"
        if found.lower > generic:
            raise ProgramError(f"the rank {found.lower} exceeds the generic rank {generic} for {shape}")
        if found.lower < generic:
            labels = (Label.CRITICAL,)
            why = f"the differential in the weights has rank {found}, below the generic rank {generic:,}"
    return Classification(shape, labels, (why, COVERED), dimension, tangent, found, None, decided)


class _AskedPoint(NamedTuple):
    """Weights whose function is to be classified."""

    weights: Weights
    shape: Architecture
    memory: int
    budget: Work


POINTS: tuple[TheoremRow[_AskedPoint, Classification], ...] = (
    TheoremRow(
        "Proposition 3 of docs/one-layer.md", any_question, paid_by_steps, lambda asked: _classify_layer(*asked),
        needs=(
            Need("one layer", lambda asked: asked.shape.depth == 1, lambda asked: str(asked.shape.depth)),
            Need("two tokens or more", lambda asked: asked.shape.tokens > 1, lambda asked: str(asked.shape.tokens)),
        ),
    ),
    TheoremRow(
        "Theorem 2 of docs/every-width.md", any_question, paid_by_steps, lambda asked: _classify_by_weights(*asked)
    ),
)  # fmt: skip
"""In the order of asking; what ranks cost is paid before each."""


def _with_equations(
    point: Classification, weights: Weights, degree: int, memory: int, work: Work, progress: Progress | None
) -> Classification:
    """Return the point with the bound from above by equations; it must not contradict the one from below."""
    shape, known = point.architecture, point.tangent_dimension
    *_, found = ideals.equations_within(shape, degree, work, memory=memory, progress=progress)
    if found.stopped is not None:
        raise TooLarge(f"equations up to degree {degree}: {found.stopped}")
    bound = found.tangent_dimension_bound(weights)
    if known.upper is None or bound < known.lower:
        source = f"at least dim M, at most what equations up to degree {found.complete_to_degree} leave"
        known = Bounds(known.lower, bound, source)
    point = replace(point, tangent_dimension=known, equations=(found.complete_to_degree, bound))
    if point.ranks is not None or bound != point.dimension.value:
        return point
    why = f"equations up to degree {found.complete_to_degree} leave a tangent space of dimension dim M = {bound:,}"
    return replace(point, labels=(Label.REGULAR, *point.labels), reasons=(why, *point.reasons[:-1]))


def _limits(weights: Weights, found: Classification, budget: Work) -> LimitPoint | None:
    """Return which families tend to the function, where the work for it is allowed."""
    if not budget.begins(virtual_weights_cost(weights, *number_bits(weights)), "families that tend to the function"):
        return None
    virtual = exact_virtual_weights(weights)
    return limit_points.limit_point(found.architecture, virtual, is_square=Label.BOUNDARY in found.labels)


def classify(
    weights: Weights,
    tokens: int = 2,
    *,
    degree: int | None = None,
    memory: int = DEFAULT_MEMORY,
    work: float = DEFAULT_WORK,
    progress: Progress | None = None,
) -> Classification:
    r"""Decide, exactly, what the function of the weights is as a point of the neuromanifold.

    One layer and `t >= 2`: `regular` or `singular` by the dimension of the tangent space; `critical` if the
    differential of $(A, V) \mapsto \phi$ on the tangent space of $\{\operatorname{rk} A \le \alpha\}$ has more than the
    generic kernel; `boundary` if $\phi = 0$ or $A = h q^\top$, $V = v h^\top$ (Theorem 3.4). At `d = 1` the
    neuromanifold is a linear space and all is regular. More layers, or one token: only `critical`, for the differential
    in all $(Q_i, K_i, V_i)$, and a lower bound for the tangent space.

    Args:
        weights: exact weights.
        tokens: the sequence length; from two on it makes no difference for one layer.
        degree: also find the equations of $\mathcal M$ up to this degree, which bound the tangent space from above.
        memory: bytes that the matrices may take, by an estimate made before anything is computed.
        work: seconds that all exact work may take, by a rough estimate made before each step.
        progress: called with stage, steps done and steps in all.

    Returns:
        Labels with the numbers that prove them.

    Raises:
        BadInput: the network is not decided: softmax, masked, with skip connections, several heads or embeddings.
        TooLarge: what has to be computed does not fit into memory, or takes more than `work`.

    Example:
        >>> w = Weights.of({"Q1": [[1, 0], [0, 0]], "K1": [[1, 0], [0, 0]], "V1": [[0, 1]]})
        >>> point = classify(w)
        >>> [label.value for label in point.labels], point.ranks.fiber_points, point.tangent_dimension.value
        (['singular'], 2, 6)
    """
    require_arguments(classify, locals())
    weights.require_plain("which point of the set of functions weights give")
    if degree is not None:
        require_integer(degree, "the degree", 1, 1000)
    shape, budget = weights.architecture(tokens), Work(work, progress)
    answer, tried = ask(_AskedPoint(weights, shape, memory, budget), POINTS, budget)
    found = proved_to_be(answer, f"something must be known of a point of {shape}")
    point = replace(found, tried=tried, limits=_limits(weights, found, budget))
    return point if degree is None else _with_equations(point, weights, degree, memory, budget, progress)
