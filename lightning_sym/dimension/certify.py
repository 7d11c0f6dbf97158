r"""The dimension of the neuromanifold, certified: a lower and an upper bound that meet.

Lower bound: the rank modulo a prime of the Jacobian at integer weights and inputs. A minor that is non-zero modulo
$p$ is non-zero, and the rank at a point is at most the generic rank, which is the dimension. Columns that add nothing
are not computed (`gauge`). With softmax the exponentials are variables of their own (`rings.free_exponentials`); other
normalizations are Taylor series.

Of residual softmax transformers too large for that the lower bound comes from ranks of their own matrices (`blocks`).

Upper bound: parameters minus the dimension of an orbit of a verified symmetry group (`symmetries`), or the dimension
of a variety through which the map factors (`varieties`, proof in `docs/upper-bound.md`).

The formulas of the paper are printed beside the result; nothing that is certified passes through them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum

import numpy as np

from lightning_sym.arguments import require_arguments
from lightning_sym.dimension.answer_text import dimension_latex, dimension_lines
from lightning_sym.dimension.blocks import Transformer, certify, transformer_of
from lightning_sym.dimension.gauge import gauge_columns
from lightning_sym.dimension.printed_formulas import PrintedFormula, printed_formula
from lightning_sym.dimension.search import Search, bytes_needed, first_shape, orders_of, primes_for
from lightning_sym.dimension.varieties import (
    COUNTED,
    has_virtual_weights,
    linear_maps,
    linear_span,
    quadratic_forms,
    virtual_weight_variety,
)
from lightning_sym.display import Lines, Result
from lightning_sym.errors import ProgramError, TooLarge, no_truth_value
from lightning_sym.exact.krylov import LARGEST
from lightning_sym.limits import DEFAULT_MEMORY, Progress, require_integer, require_memory, unheard
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.columns import Indices
from lightning_sym.network.jacobian import random_weights
from lightning_sym.rings.prime_field import PRIMES, SeededResidues
from lightning_sym.symmetries.families import (
    determined_columns_at,
    fiber_dimension_at,
    orbit_dimension_at,
    symmetry_count,
)

KNOWN = frozenset({"normalization", "heads", "value_ranks", "skip", "causal", "embed", "unembed"})
"""The options for which the bounds below are proved, all of them."""

LARGEST_JACOBIAN = 5000
"""Rows beyond which a residual softmax transformer is certified by ranks of its own matrices: seconds, not hours."""

ORBIT_LIMIT = 3000
"""Largest number of symmetry directions for which the orbit is computed; beyond it costs more than the Jacobian."""

LARGEST_DEGREE = 40_000
"""Ten normalized layers; each further one takes nine times as long, and ten are an hour."""


@no_truth_value("status is Status.CERTIFIED")
class Status(Enum):
    """Whether the two bounds met."""

    CERTIFIED = "certified"
    UNDECIDED = "undecided"


class Evidence(StrEnum):
    """What an upper bound is; the values are the keys of JSON answers, `meaning` says it in words."""

    ORBIT = "orbit"
    DIRECTIONS = "directions"
    FORMS = "forms"
    SPAN = "span"
    LINEAR = "linear"
    FACTORIZATION = "factorization"
    PRODUCTS = "products"

    @property
    def meaning(self) -> str:
        """The bound in words, with the proof that it is one."""
        return _MEANINGS[self]


_MEANINGS = {
    Evidence.ORBIT: "parameters minus the dimension of a symmetry orbit",
    Evidence.DIRECTIONS: "parameters minus the orbit and all else that the function does not see",
    Evidence.FORMS: "matrices of quadratic forms of bounded rank, which is what the heads of one layer make",
    Evidence.SPAN: "the linear span of all functions of this kind",
    Evidence.LINEAR: "linear maps of bounded rank, which is all that one token leaves",
    Evidence.FACTORIZATION: "the variety of virtual weights",
    Evidence.PRODUCTS: "products of keys and queries, of values and outputs, up to changes of basis of the stream",
}


@no_truth_value("result.status is Status.CERTIFIED")
@dataclass(frozen=True, eq=False, repr=False)
class CertifiedDimension(Result):
    """The dimension of a neuromanifold with the two bounds that prove it.

    Attributes:
        architecture: the network.
        lower: rank modulo `prime` of a Jacobian at integer points.
        upper: the smallest of the upper bounds.
        upper_bounds: by evidence, those that were computed.
        formula: what the paper prints.
        seed: picked the points.
        prime: the modulus that gave `lower`.
        rows: how many inputs, with one functional each, gave `lower`; 0 where no Jacobian was taken.
        order: the degree of the Taylor series that gave `lower`, for a normalization that is no exponential.
        matrices: how many full ranks of the network's own matrices gave `lower`, where no Jacobian was taken.
    """

    architecture: Architecture
    lower: int
    upper: int
    upper_bounds: Mapping[Evidence, int]
    formula: PrintedFormula
    seed: int
    prime: int
    rows: int
    order: int | None
    matrices: int | None = None

    def lines(self) -> Lines:
        """As the command `dimension` prints it."""
        return dimension_lines(self)

    def _latex(self) -> str:
        return dimension_latex(self)

    @property
    def status(self) -> Status:
        """`CERTIFIED` if and only if the bounds meet."""
        return Status.CERTIFIED if self.lower == self.upper else Status.UNDECIDED

    @property
    def value(self) -> int | None:
        """The dimension; `None` while undecided."""
        return self.lower if self.lower == self.upper else None

    @property
    def has_free_exponentials(self) -> bool:
        """Whether `lower` was found with exponentials of scores as variables of their own."""
        return self.architecture.normalization is not None and self.order is None

    @property
    def fiber_dimension(self) -> int | None:
        """Dimension of a generic fiber of `W -> phi_W`: parameters minus dimension."""
        return None if self.value is None else self.architecture.parameter_count - self.value

    @property
    def upper_evidence(self) -> tuple[Evidence, ...]:
        """Which of the upper bounds are the smallest."""
        return tuple(name for name, bound in self.upper_bounds.items() if bound == self.upper)

    @property
    def formula_agrees(self) -> bool | None:
        """Whether the printed formula gives the certified dimension; `None` where either is missing."""
        if self.value is None or self.formula.value is None:
            return None
        return self.formula.value == self.value


def _counted_bounds(architecture: Architecture) -> dict[Evidence, int]:
    """Upper bounds that are counts of a variety or of a vector space, by their evidence: no linear algebra."""
    bounds: dict[Evidence, int] = {}
    if not architecture.options <= COUNTED:
        return bounds
    if has_virtual_weights(architecture):
        bounds[Evidence.FACTORIZATION] = virtual_weight_variety(architecture).dimension
    counts = ((Evidence.LINEAR, linear_maps), (Evidence.FORMS, quadratic_forms), (Evidence.SPAN, linear_span))
    for evidence, count in counts:
        if (found := count(architecture)) is not None:
            bounds[evidence] = found
    return bounds


def _computed_bound(
    architecture: Architecture, seed: int, pivots: bool = False
) -> tuple[dict[Evidence, int], Indices | None]:
    """Parameters minus the directions at a point that the function does not see; and columns that have no direction."""
    p, parameters = PRIMES[0], architecture.parameter_count
    generator = SeededResidues((seed, 0), p)
    weights = random_weights(architecture, generator, p)
    if architecture.is_plain:
        fiber = orbit_dimension_at(architecture, weights, generator, p, pivots=pivots)
        return {Evidence.ORBIT: parameters - fiber}, None
    if parameters <= LARGEST:  # of a small Jacobian all columns are taken
        fiber = fiber_dimension_at(architecture, weights, generator, p, pivots=pivots)
        return {Evidence.DIRECTIONS: parameters - fiber}, None
    keep = np.delete(np.arange(parameters), determined_columns_at(architecture, weights, generator, p))
    return {Evidence.DIRECTIONS: len(keep)}, keep


def _by_blocks(
    architecture: Architecture, shape: Transformer, seed: int, memory: int, progress: Progress | None
) -> CertifiedDimension:
    """The dimension of a residual softmax transformer by ranks of matrices of the size of one layer."""
    found, upper = certify(shape, seed=seed, memory=memory, progress=progress), shape.dimension
    if found.lower > upper:
        raise ProgramError(f"lower bound {found.lower} exceeds upper bound {upper} for {architecture}")
    return CertifiedDimension(
        architecture, found.lower, upper, {Evidence.PRODUCTS: upper}, printed_formula(architecture), seed,
        found.prime, 0, None, found.matrices,
    )  # fmt: skip


def certified_dimension(
    architecture: Architecture,
    *,
    seed: int = 0,
    memory: int = DEFAULT_MEMORY,
    all_bounds: bool = False,
    progress: Progress | None = None,
) -> CertifiedDimension:
    r"""The dimension of the neuromanifold of a lightning network, exactly.

    For $W \mapsto \phi_W$ this is the generic rank of the Jacobian. Starts with a few more inputs than the upper bound,
    one random functional each; while the bounds differ, twice and four times as many inputs are tried, and all is
    tried again at three more points, each modulo its own prime; for a large bound two points modulo small primes come
    before. When this budget is spent, the result is undecided.
    Softmax transformers with skip connections, whose embedding and unembedding are not narrower than the stream, need
    no Jacobian where it would have more than `LARGEST_JACOBIAN` rows: see `blocks`.

    Args:
        architecture: the network.
        seed: picks the points; it may change the evidence, never a certified number.
        memory: bytes that the matrices may take, by an estimate made before anything is computed.
        all_bounds: compute every upper bound (the orbit only up to `ORBIT_LIMIT` directions), not only those needed.
        progress: called as `progress(stage, done, total)`.

    Returns:
        Bounds `lower <= dimension <= upper` with what proves them.

    Raises:
        BadInput: the network has an option for which the bounds are not proved, or the seed is negative.
        TooLarge: the estimate exceeds `memory`.
        ProgramError: the lower bound exceeds the upper bound.

    Example:
        >>> result = certified_dimension(Architecture((4, 4, 4), (2, 2), tokens=3))
        >>> result.value, result.fiber_dimension, result.formula_agrees
        (38, 26, True)
    """
    require_arguments(certified_dimension, locals())
    architecture.require("the dimension", KNOWN)
    require_integer(seed, "the seed")
    if (shape := transformer_of(architecture)) is not None and shape.dimension > LARGEST_JACOBIAN:
        return _by_blocks(architecture, shape, seed, memory, progress)
    report = progress or unheard
    parameters = architecture.parameter_count
    upper_bounds = _counted_bounds(architecture)
    orders = orders_of(architecture)
    most = min(parameters, *upper_bounds.values()) if upper_bounds else parameters
    first_rows, columns = first_shape(architecture, most, parameters)
    if (orders[0] or 0) > LARGEST_DEGREE:
        raise TooLarge(
            f"the Taylor series must have degree at most {LARGEST_DEGREE:,}, {architecture.depth} normalized layers "
            f"need 2 * 3^{architecture.depth - 1} + 1"
        )
    primes = primes_for(architecture, most, orders[0])
    needed = bytes_needed(architecture, first_rows, columns, orders[0], primes[0])
    what = f"the Jacobian ({first_rows:,} inputs of {architecture.tokens:,} tokens, {parameters:,} parameters)"
    require_memory(needed, memory, what)

    # the variety of virtual weights is nearly always met: what must be computed waits for what is left
    fixed = Evidence.FACTORIZATION in upper_bounds and most > LARGEST  # of a small Jacobian all columns are taken
    keep = gauge_columns(architecture) if fixed else None
    waits = Evidence.FACTORIZATION in upper_bounds and not all_bounds

    def compute(pivots: bool = False) -> Indices | None:
        """The bound that is not counted, where it does not cost too much; and columns that are enough."""
        if upper_bounds and symmetry_count(architecture) > ORBIT_LIMIT:
            return None
        report("upper bound", 0, 1)
        bound, others = _computed_bound(architecture, seed, pivots)
        for evidence, found in bound.items():
            upper_bounds[evidence] = min(found, upper_bounds.get(evidence, found))
        return others

    others = None if waits else compute()
    upper = min(upper_bounds.values())
    search = Search(architecture, seed, memory, report)
    again = symmetry_count(architecture) <= LARGEST  # the rank of few directions is found in a way that may fall short
    for _ in search.attempts(upper, others if keep is None else keep, primes):
        if search.lower < upper and (waits or again):
            compute(pivots=again)
            upper, waits, again = min(upper_bounds.values()), False, False
        if search.lower >= upper:
            break
    if search.lower > upper:
        raise ProgramError(f"lower bound {search.lower} exceeds upper bound {upper} for {architecture}")
    return CertifiedDimension(
        architecture, search.lower, upper, upper_bounds, printed_formula(architecture), seed,
        search.prime, search.rows, search.order,
    )  # fmt: skip
