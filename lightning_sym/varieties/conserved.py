r"""Quantities that gradient flow keeps, for every loss and all data, and how many there are (`docs/conserved.md`).

Along $W' = -\nabla L(\phi_W)$ a function $h$ of the weights is kept, whatever the loss and the data are, if and only if
it is constant along all gradients of coordinates of $\phi$, and so along the Lie algebra that they generate. Near
generic weights there are exactly as many independent ones as parameters minus the rank of this Lie algebra.

From below the number is the rank, modulo a prime, of the differentials of the moments of the network's own linear
symmetries; from above it is parameters minus the rank, modulo a prime, of gradients and their brackets. Where the two
meet it is certified.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from lightning_sym.arguments import require_arguments
from lightning_sym.ask import FellShort, ask, propositions
from lightning_sym.dimension.certify import Status
from lightning_sym.display import Lines, Result, bounds_in_words, labelled
from lightning_sym.errors import BadInput, ProgramError, ShapeError, no_truth_value
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.lazy import lazy_imports
from lightning_sym.limits import DEFAULT_MEMORY, DEFAULT_WORK, Progress, Work, require_integer, require_memory, unheard
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.jacobian import random_weights
from lightning_sym.network.pieces import SHAPED
from lightning_sym.network.prices import sweep_bytes
from lightning_sym.network.weight_values import variable_prefix
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.normalization import SOFTMAX
from lightning_sym.rings.polynomials import entry_names
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix
from lightning_sym.rings.sizes import Sizes
from lightning_sym.symmetries.group import verify_identity
from lightning_sym.symmetries.moments import (
    Quantity,
    differentials_of,
    moments_of,
    price_of_differentials,
    proved_by,
)
from lightning_sym.varieties.gradient_brackets import MORE_THAN_MOMENTS, bracket_rows, price_of_brackets

with lazy_imports(__name__):
    import sympy

if TYPE_CHECKING:
    from sympy import ImmutableMatrix

SURPLUS_ROWS = 8
"""Rows beyond those that are missing: with as many random rows as the rank, a minor may vanish by chance."""

LONGEST_BRACKET = 6
"""Each longer one takes four times as long; two gradients are nearly always enough."""

MOST_SHOWN = 12
"""Quantities in a notebook; of more the first ones."""

_SWEEP_BYTES = 64 * 2**20


@no_truth_value("result.status is Status.CERTIFIED")
@dataclass(frozen=True, repr=False, eq=False)
class ConservedQuantities(Result):
    """Quantities that gradient flow keeps, and bounds for how many independent ones there are.

    Attributes:
        architecture: the network.
        quantities: the moments of its linear symmetries, matrix by matrix.
        new: by how much each raises the rank, modulo the prime, of the differentials of those before it: its entries
            that are independent of each other and of them. The sum of these numbers is a lower bound.
        lower: at least so many independent functions are kept.
        upper: at most so many: parameters minus the rank of the Lie algebra that gradients generate, from below.
        lie_ranks: rank of gradients, then with brackets of two, of three, and so on.
        prime: the modulus of both ranks.
        seed: picked the points.
        tried: theorems by which more would be kept, each with the hypothesis that fails.

    Example:
        >>> found = conserved_quantities(Architecture((2, 2), (2,), 2))
        >>> found.count, [str(q) for q in found.quantities]
        (4, ['Q_1 Q_1^T - K_1 K_1^T: 3 entries (symmetric 2 x 2)', '|Q_1|^2 - |V_1|^2: 1 entry (a number)'])
    """

    architecture: Architecture
    quantities: tuple[Quantity, ...]
    new: tuple[int, ...]
    lower: int
    upper: int
    lie_ranks: tuple[int, ...]
    prime: int
    seed: int
    tried: tuple[FellShort, ...] = field(default=(), repr=False, compare=False)

    @property
    def status(self) -> Status:
        """`CERTIFIED` if and only if the bounds meet."""
        return Status.CERTIFIED if self.lower == self.upper else Status.UNDECIDED

    @property
    def count(self) -> int | None:
        """How many independent quantities are kept near generic weights; `None` while undecided."""
        return self.lower if self.lower == self.upper else None

    @property
    def source(self) -> str:
        """Where both bounds are proved: the page, and the propositions that were used."""
        more = [9 if self.tried else 5] * (self.lower > self.listed)
        return propositions("docs/conserved.md", proved_by(self.quantities, *more))

    @property
    def listed(self) -> int:
        """How many independent ones are among `quantities`."""
        return sum(self.new)

    def values(self, weights: Weights) -> dict[str, ObjectArray]:
        """Return the quantities at given weights, exactly: matrices of `Fraction` by their formulas.

        Raises:
            ShapeError: the weights are of another network.

        Example:
            >>> found = conserved_quantities(Architecture((1, 1), (1,), 2))
            >>> for name, matrix in found.values(Weights.of({"Q1": [[3]], "K1": [[0.5]], "V1": [[1]]})).items():
            ...     print(name, "=", matrix[0, 0])
            Q_1 Q_1^T - K_1 K_1^T = 35/4
            |Q_1|^2 - |V_1|^2 = 8
        """
        if not isinstance(weights, Weights):
            raise BadInput(f"the weights must be a Weights, got {type(weights).__name__}")
        weights.require_numbers("values of conserved quantities")
        if (other := weights.architecture(self.architecture.tokens)) != self.architecture:
            raise ShapeError(f"the weights must be of the network {self.architecture}, got those of {other}")
        return {q.name: q.value(weights.matrices) for q in self.quantities}

    def expressions(self) -> dict[str, ImmutableMatrix]:
        """Return the quantities in SymPy: matrices by their formulas, in the symbols of `polynomial_map`.

        Example:
            >>> found = conserved_quantities(Architecture((1, 1), (1,), 2))
            >>> print(found.expressions()["|Q_1|^2 - |V_1|^2"])
            Matrix([[Q1_1_1**2 - V1_1_1**2]])
        """
        shapes = dict(self.architecture.weight_shapes())
        symbols: dict[str, ObjectArray] = {}
        for name, (rows, columns) in shapes.items():
            entries = [sympy.Symbol(entry) for entry in entry_names(variable_prefix(name), rows, columns)]
            symbols[name] = np.array(entries, dtype=object).reshape(rows, columns)
        return {q.name: sympy.ImmutableMatrix(q.value(symbols)) for q in self.quantities}

    def __repr__(self) -> str:
        """Return the call that makes these quantities, as it would be typed."""
        return f"conserved_quantities({self.architecture!r}{f', seed={self.seed}' if self.seed else ''})"

    def lines(self) -> Lines:
        """Return the lines as the command prints them."""
        rank, parameters = self.lie_ranks[-1], self.architecture.parameter_count
        number = bounds_in_words(self.lower, self.upper, "certified: the two bounds below meet")
        by_shape = "the function is one of a number for each layer, and of E and U" if self.tried else ""
        by_shape = (by_shape or "all functions of this kind are multiples of one") * (self.lower > self.listed)
        length = len(self.lie_ranks)
        brackets = f" and brackets of up to {length} of them" if length > 1 else ""
        lines = [
            ("network", str(self.architecture)),
            ("parameters", f"{parameters:,}"),
            ("conserved", number),
            ("lower bound", f"{self.lower:,}  {by_shape or 'rank of the differentials of those below'}"),
            (
                "upper bound",
                f"{self.upper:,}  {parameters:,} parameters less {rank:,}, the rank modulo {self.prime} of gradients"
                f"{brackets}",
            ),
            ("proof", self.source),
        ]
        among = ", {:,} of them independent of each other and of those above"
        kept = zip(self.quantities, self.new, strict=True)
        lines += labelled("kept", (f"{q}{'' if new == q.entries else among.format(new)}" for q, new in kept))
        if self.listed < self.lower:
            lines.append(("", f"{self.lower - self.listed:,} more, not in this list"))
        return lines if self.count is not None else [*lines, *labelled("tried", map(str, self.tried))]

    def _latex(self) -> str:
        shown = list(zip(self.quantities, self.new, strict=True))
        rows = [rf"{q.latex} && {new}" for q, new in shown[:MOST_SHOWN]]
        if len(shown) > len(rows):
            rows.append(rf"\vdots && {sum(new for _, new in shown[MOST_SHOWN:])}")
        count = self.count if self.count is not None else rf"\text{{between {self.lower} and {self.upper}}}"
        return r"\begin{aligned}" + r"\\".join([*rows, rf"\text{{count}} && {count}"]) + r"\end{aligned}"


def _level(
    architecture: Architecture,
    point: Sequence[PrimeFieldMatrix],
    length: int,
    size: int,
    generator: np.random.Generator,
    report: Callable[[int, int], None],
) -> npt.NDArray[np.int64]:
    """Return rows of brackets of one length, as many at once as fit."""
    _, each = sweep_bytes(architecture, None)
    most = max(1, _SWEEP_BYTES // (each * 2**length))  # duals in duals: twice the entries for each bracket
    blocks = []
    for start in range(0, size, most):
        report(start, size)
        blocks.append(bracket_rows(architecture, point, length, min(most, size - start), generator))
    return np.concatenate(blocks)


def _require_orthogonal(
    architecture: Architecture, moments: npt.NDArray[np.int64], rows: npt.NDArray[np.int64], p: int
) -> None:
    if not moments.size:
        return
    products = PrimeFieldMatrix.of(moments, p) @ PrimeFieldMatrix.of(rows.T, p)
    if products.residues().any():
        raise ProgramError(f"a quantity listed as conserved is not kept by gradients of {architecture}")


def conserved_quantities(
    architecture: Architecture,
    *,
    seed: int = 0,
    memory: int = DEFAULT_MEMORY,
    work: float = DEFAULT_WORK,
    progress: Progress | None = None,
) -> ConservedQuantities:
    r"""Return the independent quantities that gradient flow keeps, for any loss and data, and their certified number.

    The metric is the Euclidean one on the weights as they are stored: $Q, K, V$, and $O$, $E$, $U$ where there are any.
    Each quantity listed is the moment of a linear symmetry, whose identity is proved before; that it is orthogonal to
    the gradients met on the way is checked besides.

    Args:
        architecture: the network; lightning attention, or softmax.
        seed: picks the points; it may change the evidence, never a certified number.
        memory: bytes that the matrices may take, by an estimate made before anything is computed.
        work: seconds that all exact work may take, by a rough estimate made before each step.
        progress: called as `progress(stage, done, total)`.

    Returns:
        The quantities, and bounds `lower <= number <= upper`.

    Raises:
        BadInput: the network has an option for which this is not proved, or another normalization than softmax, or the
            seed is negative.
        TooLarge: an estimate exceeds `memory` or `work`.
        ProgramError: a quantity is not kept, or the lower bound exceeds the upper bound.

    Example:
        >>> conserved_quantities(Architecture((3, 3, 3), (2, 2), tokens=2)).count      # 2 (3 + 1) + 6
        14
    """
    require_arguments(conserved_quantities, locals())
    architecture.require("the number of conserved quantities", SHAPED)
    require_integer(seed, "the seed")
    if architecture.normalization not in (None, SOFTMAX):
        raise BadInput(
            "the number of conserved quantities is proved for lightning attention and softmax, "
            f"got {architecture.normalization.name}"
        )
    parameters = architecture.parameter_count
    what = f"gradients and brackets ({parameters:,} parameters)"
    require_memory(8 * parameters * 4 * parameters, memory, what)  # this bounds the number of quantities too
    entries = sum(quantity.entries for quantity in moments_of(architecture))
    require_memory(8 * parameters * (4 * parameters + 3 * entries), memory, what)
    fixed, each = sweep_bytes(architecture, None)
    require_memory(4 * (fixed + each), memory, f"a bracket of gradients ({architecture.tokens:,} tokens)")

    verify_identity()
    report, budget = progress or unheard, Work(work, progress)
    quantities = tuple(moments_of(architecture))
    best = _at_a_point(architecture, quantities, (seed, 0), report, budget)
    if best.count is None and len(best.lie_ranks) < LONGEST_BRACKET:  # else longer brackets are missing, no better luck
        again = _at_a_point(architecture, quantities, (seed, 1), report, budget)
        best = min(best, again, key=lambda found: found.upper - found.lower)
    return best


def _at_a_point(
    architecture: Architecture, quantities: tuple[Quantity, ...], seeds: tuple[int, int], report: Progress, budget: Work
) -> ConservedQuantities:
    """Return both bounds at a random point modulo a prime."""
    p, generator, parameters = PRIMES[seeds[1]], np.random.default_rng(seeds), architecture.parameter_count
    point = random_weights(architecture, generator, p)
    names = [name for name, _ in architecture.weight_shapes()]
    budget.spend(price_of_differentials(architecture, quantities).seconds, "differentials of the quantities")
    blocks = differentials_of(quantities, names, point)
    new = _increments(blocks, p, partial(report, "differentials of the quantities"))
    by_shape, tried = ask(architecture, MORE_THAN_MOMENTS, Work())
    lower = max(sum(new), by_shape or 0)
    moments = np.concatenate(blocks)
    ranks, rows = list[int](), np.zeros((0, parameters), dtype=np.int64)
    for length in range(1, LONGEST_BRACKET + 1):
        missing = parameters - lower - (ranks[-1] if ranks else 0)
        stage = f"brackets of {length} gradients modulo {p}" if length > 1 else f"gradients modulo {p}"
        price = price_of_brackets(architecture, length, missing + SURPLUS_ROWS)
        Sizes((len(rows) + missing + SURPLUS_ROWS, parameters), price).rank()
        budget.spend(price.seconds, stage)
        found = _level(architecture, point, length, missing + SURPLUS_ROWS, generator, partial(report, stage))
        _require_orthogonal(architecture, moments, found, p)
        rows = np.concatenate([rows, found])
        ranks.append(rank_mod_p(rows, p))
        stalled = len(ranks) > 2 and ranks[-1] == ranks[-2]
        if ranks[-1] >= parameters - lower or stalled:
            break
    upper = parameters - ranks[-1]
    if lower > upper:
        raise ProgramError(f"lower bound {lower} exceeds upper bound {upper} for {architecture}")
    return ConservedQuantities(architecture, quantities, new, lower, upper, tuple(ranks), p, seeds[0], tried)


def _increments(blocks: Sequence[npt.NDArray[np.int64]], p: int, report: Callable[[int, int], None]) -> tuple[int, ...]:
    """Return for each block of rows by how much it raises the rank."""
    sizes = tuple(len(block) for block in blocks)
    if rank_mod_p(np.concatenate(blocks), p) == sum(sizes):
        return sizes
    increments, ranks = [], [0]
    for i in range(1, len(blocks) + 1):
        report(i, len(blocks))
        ranks.append(rank_mod_p(np.concatenate(blocks[:i]), p))
        increments.append(ranks[-1] - ranks[-2])
    return tuple(increments)
