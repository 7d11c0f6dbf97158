r"""The dimension of the neuromanifold, certified: a lower and an upper bound that meet.

Lower bound: the rank modulo a prime of the Jacobian at integer weights and inputs. A minor that is non-zero modulo
$p$ is non-zero, and the rank at a point is at most the generic rank, which is the dimension. With softmax the
exponentials are variables of their own (`rings.exponentials`); other normalizations are Taylor series.

Of residual softmax transformers too large for that the lower bound comes from ranks of their own matrices (`blocks`).

Upper bound: parameters minus the dimension of an orbit of a verified symmetry group (`symmetries`), or the dimension
of a variety through which the map factors (`varieties`, proof in `docs/upper-bound.md`).

The formulas of the paper are printed beside the result; nothing that is certified passes through them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from functools import partial
from itertools import product
from typing import NoReturn

from lightning_sym.arguments import require_arguments
from lightning_sym.dimension.answer_text import dimension_latex, dimension_lines
from lightning_sym.dimension.blocks import Transformer, certify, transformer_of
from lightning_sym.dimension.printed_formulas import PrintedFormula, printed_formula
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
from lightning_sym.exact.krylov import LARGEST, rank_at_least
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.limits import DEFAULT_MEMORY, Progress, require_integer, require_memory
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.jacobian import RandomJacobian, batch_size, random_weights, sweep_bytes
from lightning_sym.rings.normalization import divided_by
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix, SeededResidues
from lightning_sym.symmetries.families import fiber_dimension_at, orbit_dimension_at, symmetry_count

KNOWN = frozenset({"normalization", "heads", "value_ranks", "skip", "causal", "embed", "unembed"})
"""The options for which the bounds below are proved, all of them."""

SURPLUS_ROWS = 16
"""Rows beyond the upper bound in the first try of large networks, for which another try takes long."""

LARGEST_JACOBIAN = 5000
"""Rows beyond which a residual softmax transformer is certified by ranks of its own matrices: seconds, not hours."""

ORBIT_LIMIT = 3000
"""Largest number of symmetry directions for which the orbit is computed; beyond it costs more than the Jacobian."""


LONGEST_SERIES = 63
"""Taylor series are lengthened until their degree reaches this, and at least once."""


LARGEST_DEGREE = 40_000
"""Ten normalized layers; each further one takes nine times as long, and ten are an hour."""


class Status(Enum):
    """Whether the two bounds met."""

    CERTIFIED = "certified"
    UNDECIDED = "undecided"

    def __bool__(self) -> NoReturn:
        no_truth_value(self, "status is Status.CERTIFIED")


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

    def __bool__(self) -> NoReturn:
        no_truth_value(self, "result.status is Status.CERTIFIED")

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


def _report_rows(report: Progress, stage: str, total: int, done: int) -> None:
    report(stage, done, total)


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


def _computed_bound(architecture: Architecture, seed: int) -> dict[Evidence, int]:
    """Parameters minus the directions at a point that the function does not see."""
    p = PRIMES[0]
    generator = SeededResidues((seed, 0), p)
    weights = random_weights(architecture, generator, p)
    if architecture.is_plain:
        name, found = Evidence.ORBIT, orbit_dimension_at(architecture, weights, generator, p)
    else:
        name, found = Evidence.DIRECTIONS, fiber_dimension_at(architecture, weights, generator, p)
    return {name: architecture.parameter_count - found}


def _orders(architecture: Architecture) -> tuple[int | None, ...]:
    """Degrees of the Taylor series to try: a rank that stalls at one is no reason to stop."""
    if architecture.normalization is None or architecture.normalization.is_exponential:
        return (None,)
    orders = [2 * 3 ** (architecture.depth - 1) + 1]
    while len(orders) < 2 or orders[-1] < LONGEST_SERIES:  # three layers of three heads have needed 79
        orders.append(2 * orders[-1] + 1)
    return tuple(orders)


def _bytes_needed(architecture: Architecture, rows: int, columns: int, order: int | None) -> int:
    """The Jacobian, and beside it one sweep with everything it records, or the buffers of the elimination."""
    fixed, each = sweep_bytes(architecture, order)
    sweep = fixed + min(rows, batch_size(architecture, order)) * each
    return 8 * rows * columns + max(sweep, rows * columns)


def _first_shape(architecture: Architecture, upper: int) -> tuple[int, int]:
    """Rows and columns of the Jacobian in the first try, for a bound that is not more than `upper`.

    A small one, whose rank is found in another way, has one row more than the bound, to see if it is too small, and is
    not folded.
    """
    parameters = architecture.parameter_count
    rows = upper + (1 if upper <= LARGEST else SURPLUS_ROWS)
    return rows, parameters if upper <= LARGEST and parameters <= 4 * rows else min(upper + SURPLUS_ROWS, parameters)


class _Search:
    """The best lower bound so far, and what gave it."""

    def __init__(self, architecture: Architecture, seed: int, memory: int, report: Progress) -> None:
        self.architecture, self.seed, self.memory, self.report = architecture, seed, memory, report
        self.lower, self.prime, self.rows, self.order = 0, PRIMES[0], 0, _orders(architecture)[0]

    def attempts(self, upper: int) -> Iterator[None]:
        """Try points, primes, degrees and more inputs, for a bound that is not more than `upper`."""
        architecture = self.architecture
        least, columns = _first_shape(architecture, upper)
        orders = [k for k in _orders(architecture) if _bytes_needed(architecture, least, columns, k) <= self.memory]
        for attempt, (p, order) in enumerate(product(PRIMES, orders), start=1):
            if divided_by(architecture.normalization, p, order):
                continue
            jacobian = RandomJacobian(architecture, SeededResidues((self.seed, attempt), p), p, columns, order)
            for rows in (least, 2 * least, 4 * least):
                if rows > least and _bytes_needed(architecture, rows, columns, order) > self.memory:
                    break
                stage = f"Jacobian modulo {p}"
                self.report(stage, 0, rows)
                matrix = jacobian.matrix(rows, partial(_report_rows, self.report, stage, rows))
                stage = f"rank modulo {p}"
                self.report(stage, 0, rows)
                eliminated = partial(_report_rows, self.report, stage, rows)
                if upper <= LARGEST:
                    found = rank_at_least(PrimeFieldMatrix(matrix, p), upper + 1)
                else:
                    found = rank_mod_p(matrix, p, overwrite=True, progress=eliminated)
                if found > self.lower:
                    self.lower, self.prime, self.rows, self.order = found, p, rows, order
                yield


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
    tried again at three more points, each modulo its own prime. When this budget is spent, the result is undecided.
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
    report = progress or (lambda stage, done, total: None)
    parameters = architecture.parameter_count
    upper_bounds = _counted_bounds(architecture)
    orders = _orders(architecture)
    most = min(parameters, *upper_bounds.values()) if upper_bounds else parameters
    first_rows, columns = _first_shape(architecture, most)
    if (orders[0] or 0) > LARGEST_DEGREE:
        raise TooLarge(
            f"the Taylor series must have degree at most {LARGEST_DEGREE:,}, {architecture.depth} normalized layers "
            f"need 2 * 3^{architecture.depth - 1} + 1"
        )
    needed = _bytes_needed(architecture, first_rows, columns, orders[0])
    what = f"the Jacobian ({first_rows:,} inputs of {architecture.tokens:,} tokens, {parameters:,} parameters)"
    require_memory(needed, memory, what)

    # the variety of virtual weights is nearly always met: what must be computed waits for what is left
    waits = Evidence.FACTORIZATION in upper_bounds and not all_bounds

    def smallest() -> int:
        """Of all upper bounds, those that must be computed too."""
        if not upper_bounds or symmetry_count(architecture) <= ORBIT_LIMIT:
            report("upper bound", 0, 1)
            upper_bounds.update(_computed_bound(architecture, seed))
        return min(upper_bounds.values())

    upper = min(upper_bounds.values()) if waits else smallest()
    search = _Search(architecture, seed, memory, report)
    for _ in search.attempts(upper):
        if search.lower < upper and waits:
            upper, waits = smallest(), False
        if search.lower >= upper:
            break
    if search.lower > upper:
        raise ProgramError(f"lower bound {search.lower} exceeds upper bound {upper} for {architecture}")
    return CertifiedDimension(
        architecture, search.lower, upper, upper_bounds, printed_formula(architecture), seed,
        search.prime, search.rows, search.order,
    )  # fmt: skip
