r"""The dimension of the neuromanifold, certified: a lower and an upper bound that meet.

Lower bound: the rank modulo a prime of the Jacobian at integer weights and inputs. A minor that is non-zero modulo
$p$ is non-zero, and the rank at a point is at most the generic rank, which is the dimension. Columns that add nothing
are not computed (`search`). With softmax the exponentials are variables of their own (`rings.free_exponentials`); other
normalizations are Taylor series.

Of residual softmax transformers too large for that the lower bound comes from ranks of their own matrices (`blocks`);
of lightning networks with skip connections it is the sum of those of the layers (`layers`).

Upper bound: parameters minus the dimension of an orbit of a verified symmetry group (`symmetries`), or the dimension
of a variety through which the map factors (`varieties`, proof in `docs/upper-bound.md`).

The formulas of the paper are printed beside the result; nothing that is certified passes through them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from typing import NamedTuple

import numpy as np

from lightning_sym.arguments import require_arguments
from lightning_sym.ask import FellShort, Need, TheoremPrice, TheoremRow, ask
from lightning_sym.dimension.blocks import certify, residual
from lightning_sym.dimension.dimension_text import PrintedFormula, dimension_latex, dimension_lines, printed_formula
from lightning_sym.dimension.evidence import Evidence as Evidence
from lightning_sym.dimension.layers import BY_LAYERS, NetworkByLayers
from lightning_sym.dimension.narrow import BY_PLACES
from lightning_sym.dimension.search import Search, bytes_needed, degrees_of, first_shape, gauge_columns, primes_for
from lightning_sym.dimension.varieties import counted_bounds
from lightning_sym.display import Lines, Result
from lightning_sym.errors import ProgramError, TooLarge, no_truth_value
from lightning_sym.exact.krylov import LARGEST
from lightning_sym.limits import DEFAULT_MEMORY, Progress, Work, require_integer, require_memory, unheard
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.columns import Indices
from lightning_sym.network.jacobian import random_weights
from lightning_sym.network.pieces import SHAPED
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix, SeededResidues
from lightning_sym.symmetries.families import (
    determined_columns_at,
    fiber_dimension_at,
    orbit_dimension_at,
    price_of_orbit,
    symmetry_count,
)

ORBIT_LIMIT = 3000
"""Largest number of symmetry directions for which the orbit is computed; beyond it costs more than the Jacobian."""

LARGEST_DEGREE = 40_000
"""Ten normalized layers; each further one takes nine times as long, and ten are an hour."""


@no_truth_value("status is Status.CERTIFIED")
class Status(Enum):
    """Whether the two bounds met."""

    CERTIFIED = "certified"
    UNDECIDED = "undecided"


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
        layers: how many layers gave both bounds by theirs, where no Jacobian of the whole was taken.
        matrices: how many full ranks of the network's own matrices gave `lower`, where no Jacobian was taken.
        tried: theorems that give no upper bound here, each with the hypothesis that fails.
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
    tried: tuple[FellShort, ...] = field(default=(), repr=False, compare=False)
    layers: int | None = None

    def __post_init__(self) -> None:
        if self.lower > self.upper:
            raise ProgramError(f"lower bound {self.lower} exceeds upper bound {self.upper} for {self.architecture}")

    def lines(self) -> Lines:
        """Return the lines as the command `dimension` prints them."""
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


class _AtPoint(NamedTuple):
    """A network whose directions at a point are asked for.

    Attributes:
        is_alone: whether no other upper bound is known.
        pivots: whether ranks are counted by elimination where there is a faster way that may fall short.
    """

    architecture: Architecture
    seed: int
    is_alone: bool
    pivots: bool = False

    def drawn(self) -> tuple[Architecture, list[PrimeFieldMatrix], SeededResidues, int]:
        """Return the network, its weights there, what drew them, and the modulus."""
        generator = SeededResidues((self.seed, 0), PRIMES[0])
        return self.architecture, random_weights(self.architecture, generator, PRIMES[0]), generator, PRIMES[0]

    @property
    def symmetries(self) -> int:
        """How many directions the symmetry group has."""
        return symmetry_count(self.architecture)


def _by_orbit(asked: _AtPoint) -> tuple[Evidence, int, Indices | None]:
    fiber = orbit_dimension_at(*asked.drawn(), pivots=asked.pivots)
    return Evidence.ORBIT, asked.architecture.parameter_count - fiber, None


def _by_directions(asked: _AtPoint) -> tuple[Evidence, int, Indices | None]:
    """Return the bound, and columns of the Jacobian that have no direction."""
    parameters = asked.architecture.parameter_count
    if parameters <= LARGEST:  # of a small Jacobian all columns are taken
        return Evidence.DIRECTIONS, parameters - fiber_dimension_at(*asked.drawn(), pivots=asked.pivots), None
    keep = np.delete(np.arange(parameters), determined_columns_at(*asked.drawn()))
    return Evidence.DIRECTIONS, len(keep), keep


FEW = Need(
    f"at most {ORBIT_LIMIT:,} symmetries where another bound is known, beyond which the Jacobian is faster",
    lambda asked: asked.is_alone or asked.symmetries <= ORBIT_LIMIT,
    lambda asked: f"{asked.symmetries:,}",
)


def _price(asked: _AtPoint) -> TheoremPrice:
    return TheoremPrice((price_of_orbit(asked.architecture).seconds,), "upper bound")


COMPUTED = (
    TheoremRow(
        Evidence.ORBIT.citation, lambda asked: asked.architecture.is_plain, _price, _by_orbit,
        needs=(FEW,),
    ),
    TheoremRow(
        Evidence.DIRECTIONS.citation, lambda asked: not asked.architecture.is_plain, _price,
        _by_directions, needs=(FEW,),
    ),
)  # fmt: skip
"""Upper bounds by ranks at a point: parameters minus what the function does not see there."""


def _by_blocks(
    architecture: Architecture, upper_bounds: Mapping[Evidence, int], tried: Sequence[FellShort], seed: int,
    memory: int, progress: Progress | None,
) -> CertifiedDimension:  # fmt: skip
    """Return the dimension of a residual softmax transformer by ranks of matrices of the size of one layer."""
    found = certify(residual(architecture), seed=seed, memory=memory, progress=progress)
    upper = min(upper_bounds.values())
    return CertifiedDimension(
        architecture, found.lower, upper, upper_bounds, printed_formula(architecture), seed,
        found.prime, 0, None, found.matrices, tuple(tried),
    )  # fmt: skip


def _by_layers(
    architecture: Architecture, upper_bounds: Mapping[Evidence, int], tried: list[FellShort], seed: int, memory: int,
    progress: Progress | None, *, is_open: bool,
) -> CertifiedDimension | None:  # fmt: skip
    """Return the dimension of lightning with skip connections by those of its layers, where proved and worth it."""

    def one_layer(shape: Architecture) -> tuple[int, int]:
        found = certified_dimension(shape, seed=seed, memory=memory, progress=progress)
        return found.lower, found.upper

    found, short = ask(NetworkByLayers(architecture, one_layer, is_open), BY_LAYERS, Work(inf, progress))
    tried += short
    if found is None:
        return None
    lower, upper = found
    upper_bounds = {**upper_bounds, Evidence.LAYERS: upper}
    return CertifiedDimension(
        architecture, lower, min(upper_bounds.values()), upper_bounds, printed_formula(architecture), seed,
        PRIMES[0], 0, None, tried=tuple(tried), layers=architecture.depth,
    )  # fmt: skip


def certified_dimension(
    architecture: Architecture,
    *,
    seed: int = 0,
    memory: int = DEFAULT_MEMORY,
    all_bounds: bool = False,
    progress: Progress | None = None,
) -> CertifiedDimension:
    r"""Return the dimension of the neuromanifold of a lightning network, exactly.

    For $W \mapsto \phi_W$ this is the generic rank of the Jacobian. Starts with a few more inputs than the upper bound,
    one random functional each; while the bounds differ, twice and four times as many inputs are tried, and all is
    tried again at three more points, each modulo its own prime; for a large bound two points modulo small primes come
    before. When this budget is spent, the result is undecided.
    Softmax transformers with skip connections, whose embedding and unembedding are not narrower than the stream, need
    no Jacobian where it would have more than `varieties.LARGEST_JACOBIAN` rows: see `blocks`.

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
    architecture.require("the dimension", SHAPED)
    require_integer(seed, "the seed")
    upper_bounds, tried = counted_bounds(architecture)
    if Evidence.PRODUCTS in upper_bounds:
        return _by_blocks(architecture, upper_bounds, tried, seed, memory, progress)
    summed = _by_layers(architecture, upper_bounds, tried, seed, memory, progress, is_open=False)
    if summed is not None:
        return summed
    report = progress or unheard
    parameters = architecture.parameter_count
    orders = degrees_of(architecture)
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

    def compute(*, pivots: bool = False) -> Indices | None:
        """Return the bound that is not counted, where it does not cost too much; and columns that are enough."""
        asked = _AtPoint(architecture, seed, not upper_bounds, pivots)
        found, short = ask(asked, COMPUTED, Work(inf, report))
        tried.extend(short)
        if found is None:
            return None
        evidence, bound, columns = found
        upper_bounds[evidence] = min(bound, upper_bounds.get(evidence, bound))
        return columns

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
    if search.lower < upper:
        bound, short = ask(architecture, BY_PLACES, Work(inf, report))
        tried.extend(short)
        if bound is not None:
            upper_bounds[Evidence.NARROW], upper = bound, min(bound, upper)
    if search.lower < upper:
        summed = _by_layers(architecture, upper_bounds, tried, seed, memory, progress, is_open=True)
        if summed is not None and summed.lower == summed.upper:
            return summed
    return CertifiedDimension(
        architecture, search.lower, upper, upper_bounds, printed_formula(architecture), seed,
        search.prime, search.rows, search.order, tried=tuple(dict.fromkeys(tried)),
    )  # fmt: skip
