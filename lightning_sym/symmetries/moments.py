r"""What gradient flow keeps, for every loss and all data: the moments of linear symmetries (`docs/conserved.md`).

If the function does not feel $W \mapsto e^{s G} W$ and $G$ is symmetric, then $\frac12 \langle G W, W \rangle$ is
constant along $W' = -\nabla L$: its derivative is $-\langle G W, \nabla L \rangle = 0$, because $G W$ is tangent to a
set of weights with one function (Proposition 1). Collected in matrices: $Q Q^\top - K K^\top$ for the basis changes
inside queries and keys, and so on; `moments_of` is the table.

The differentials of the moments of a network's symmetries, by sweeps backwards, and what they take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lightning_sym.display import notebook
from lightning_sym.errors import no_truth_value
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import SHAPED, WeightSpace, stream
from lightning_sym.network.prices import weights_over_sizes
from lightning_sym.network.stream_pieces import pieces_at_streams
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.derivatives import Recorded, gradients
from lightning_sym.rings.prime_field import PrimeFieldMatrix
from lightning_sym.rings.protocol import M
from lightning_sym.rings.sizes import Price, Sizes
from lightning_sym.symmetries.attention_motions import counts_symmetrically
from lightning_sym.system.circuits import HeadOver, added, layer_heads
from lightning_sym.system.reach import most_reached, pattern_is_constant

MOST_TERMS = 8
"""Terms of a quantity that its name spells out."""


@no_truth_value("kind is MatrixKind.SYMMETRIC")
class MatrixKind(Enum):
    """Which entries of a matrix of quantities count once."""

    SYMMETRIC = "symmetric"
    SKEW = "skew-symmetric"
    FULL = "full"
    SCALAR = "scalar"

    def __repr__(self) -> str:
        return f"MatrixKind.{self.name}"


class Term(NamedTuple):
    r"""$L R^\top$ (`outer`), $L^\top R$ (`inner`), its trace (`trace`) or $L$ (`plain`), with a sign."""

    sign: int
    form: str
    left: str
    right: str

    def over(self, weights: Mapping[str, M]) -> M:
        """Return the matrix without its sign; of a trace the matrix that the trace is taken of."""
        left, right = weights[self.left], weights[self.right]
        if self.form == "plain":
            return left
        return left.mT @ right if self.form == "inner" else left @ right.mT

    def __str__(self) -> str:
        left, right = _letter(self.left), _letter(self.right)
        return {
            "plain": left,
            "outer": f"{left} {right}^T",
            "inner": f"{left}^T {right}",
            "trace": f"|{left}|^2" if left == right else f"tr({left} {right}^T)",
        }[self.form]

    @property
    def latex(self) -> str:
        """The term in LaTeX, without its sign."""
        left, right = (_letter(name, "{{{}}}") for name in (self.left, self.right))
        return {
            "plain": left,
            "outer": rf"{left} {right}^\top",
            "inner": rf"{left}^\top {right}",
            "trace": rf"\|{left}\|^2" if left == right else rf"\operatorname{{tr}} {left} {right}^\top",
        }[self.form]


def _letter(name: str, index: str = "{}") -> str:
    return name if len(name) == 1 else f"{name[0]}_" + index.format(name[1:])


def _signed(terms: list[tuple[int, str]]) -> str:
    text = "".join((" + " if sign > 0 else " - ") + word for sign, word in terms)
    return text[3:] if terms[0][0] > 0 else "-" + text[3:]


@dataclass(frozen=True)
class Quantity:
    """A matrix of conserved quantities: a sum of products of weights.

    Attributes:
        kind: which of its entries are counted.
        shape: rows and columns; `(1, 1)` for a number.
        terms: what is added.
        reason: the symmetry that it comes from.

    Example:
        >>> found = next(moments_of(Architecture((2, 2), (3,), 2)))
        >>> print(found)
        Q_1 Q_1^T - K_1 K_1^T: 6 entries (symmetric 3 x 3)
    """

    kind: MatrixKind
    shape: tuple[int, int]
    terms: tuple[Term, ...]
    reason: str

    @property
    def name(self) -> str:
        """The matrix as a formula; of very many terms the first ones."""
        shown = [(term.sign, str(term)) for term in self.terms[:MOST_TERMS]]
        left_out = len(self.terms) - len(shown)
        return _signed(shown) + (f" ... ({left_out} more of the same kind)" if left_out else "")

    @property
    def latex(self) -> str:
        """The matrix as a formula in LaTeX."""
        shown = [(term.sign, term.latex) for term in self.terms[:MOST_TERMS]]
        return _signed(shown) + (r" \cdots" if len(self.terms) > len(shown) else "")

    def indices(self) -> list[tuple[int, int]]:
        """Return the entries that are counted, from 0."""
        rows, columns = self.shape
        first = {MatrixKind.SYMMETRIC: 0, MatrixKind.SKEW: 1}.get(self.kind)
        return [(i, j) for i in range(rows) for j in range(0 if first is None else i + first, columns)]

    @property
    def entries(self) -> int:
        """How many entries are counted."""
        rows, columns = self.shape
        return {
            MatrixKind.SYMMETRIC: rows * (rows + 1) // 2,
            MatrixKind.SKEW: rows * (rows - 1) // 2,
        }.get(self.kind, rows * columns)

    def value(self, weights: Mapping[str, ObjectArray]) -> ObjectArray:
        """Return the matrix at weights over any ring whose matrices are object arrays: rationals, polynomials, symbols.

        Args:
            weights: arrays by the names of `Architecture.weight_shapes()`.
        """
        parts = []
        for term in self.terms:
            matrix = term.over(weights)
            if term.form == "trace":
                matrix = np.array([[sum(matrix[i, i] for i in range(matrix.shape[0]))]], dtype=object)
            parts.append(term.sign * matrix)
        return added(parts)

    def _repr_latex_(self) -> str:
        return notebook(self.latex)

    def __str__(self) -> str:
        size = f"{self.shape[0]} x {self.shape[1]}"
        entries = f"{self.entries:,} {'entry' if self.entries == 1 else 'entries'}"
        kind = {MatrixKind.FULL: size, MatrixKind.SCALAR: "a number"}.get(self.kind, f"{self.kind.value} {size}")
        return f"{self.name}: {entries} ({kind})"


def sees_symmetric_parts(architecture: Architecture) -> list[bool]:
    r"""Return by layer whether for all weights only the symmetric part of attention matrices matters.

    Either symmetric parts count alone (`counts_symmetrically`), or all columns of the stream before the layer are
    multiples of one vector $f$, so that scores are multiples of $f^\top A f$.

    Example:
        >>> from lightning_sym import SOFTMAX
        >>> sees_symmetric_parts(Architecture((1, 3, 2), (2, 2), 2, SOFTMAX))
        [True, True]
    """
    architecture.require("what a layer sees of attention matrices", SHAPED)
    symmetric = zip(counts_symmetrically(architecture), most_reached(architecture), strict=False)
    return [counts or written == 1 for counts, written in symmetric]


def moments_of(architecture: Architecture) -> Iterator[Quantity]:
    """Yield all moments of a network, the table of `docs/conserved.md`, Propositions 2 and 3; some may depend.

    Raises:
        BadInput: the network has an option for which the table is not proved.

    Example:
        >>> for quantity in moments_of(Architecture((2, 3, 2), (2, 2), 2)):
        ...     print(quantity.name)
        Q_1 Q_1^T - K_1 K_1^T
        |Q_1|^2 - |V_1|^2
        Q_2 Q_2^T - K_2 K_2^T
        |Q_2|^2 - |V_2|^2
        V_1 V_1^T - Q_2^T Q_2 - K_2^T K_2 - V_2^T V_2
    """
    architecture.require("the table of conserved quantities", SHAPED)
    symmetric = sees_symmetric_parts(architecture)
    for i in range(architecture.depth):
        for head in layer_heads(architecture, i + 1, str):
            yield from _of_a_head(architecture, i, head, symmetric=symmetric[i])
        if pattern_is_constant(architecture):
            yield from _between_heads(architecture, i)
    yield from _of_the_stream(architecture)


def proved_by(quantities: Iterable[Quantity], *more: int) -> set[int]:
    """Return which propositions of `docs/conserved.md` prove how many are kept; by `more` there are more than these."""
    both = {3 if quantity.kind in (MatrixKind.SKEW, MatrixKind.FULL) else 2 for quantity in quantities}
    return both | {1, 4, *more}


def _of_a_head(architecture: Architecture, i: int, head: HeadOver[str], *, symmetric: bool) -> Iterator[Quantity]:
    a, d = architecture.attention_ranks[i], architecture.widths[i]
    q, k, v, o = head.query, head.key, head.inner_value, head.output
    if pattern_is_constant(architecture):
        reason = "one normalized token attends to itself, whatever queries and keys are"
        for matrix in (q, k):
            yield Quantity(MatrixKind.FULL, (a, d), (Term(1, "plain", matrix, matrix),), reason)
    else:
        terms = (Term(1, "outer", q, q), Term(-1, "outer", k, k))
        yield Quantity(MatrixKind.SYMMETRIC, (a, a), terms, "basis changes inside queries and keys")
        if symmetric and a > 1:
            terms = (Term(1, "outer", q, k), Term(-1, "outer", k, q))
            reason = "only the symmetric part of the attention matrix counts"
            yield Quantity(MatrixKind.SKEW, (a, a), terms, reason)
        if architecture.normalization is None:
            terms = (Term(1, "trace", q, q), Term(-1, "trace", v, v))
            yield Quantity(MatrixKind.SCALAR, (1, 1), terms, "rescaling of scores against values")
    if architecture.value_ranks is not None:
        b = architecture.value_ranks[i]
        terms = (Term(1, "outer", v, v), Term(-1, "inner", o, o))
        yield Quantity(MatrixKind.SYMMETRIC, (b, b), terms, "basis changes between values and output projection")


def _between_heads(architecture: Architecture, i: int) -> Iterator[Quantity]:
    """Yield what is kept between heads with constant patterns: a layer sees the sum of what they do."""
    heads = list(layer_heads(architecture, i + 1, str))
    if architecture.value_ranks is None:
        shape = (architecture.widths[i + 1], architecture.widths[i])
        for first, second in pairwise(head.inner_value for head in heads):
            terms = (Term(1, "plain", first, first), Term(-1, "plain", second, second))
            yield Quantity(MatrixKind.FULL, shape, terms, "only the sum of the heads counts")
    else:
        b = architecture.value_ranks[i]
        for one, two in combinations(heads, 2):
            values = Term(1, "outer", one.inner_value, two.inner_value)
            terms = (values, Term(-1, "inner", one.output, two.output))
            yield Quantity(MatrixKind.FULL, (b, b), terms, "basis changes of all heads together")


def _of_the_stream(architecture: Architecture) -> Iterator[Quantity]:
    """Yield what basis changes between layers keep: what is written there against what is read there."""
    constant, by_space = pattern_is_constant(architecture), dict[WeightSpace, list[Term]]()
    for i, (writers, readers) in enumerate(pieces_at_streams(architecture)):
        read = [piece.name for piece in readers if not (constant and piece.rows.space.kind == "query-key")]
        terms = by_space.setdefault(stream(architecture, i), [])
        terms += [Term(1, "outer", piece.name, piece.name) for piece in writers]
        terms += [Term(-1, "inner", name, name) for name in read]
    for space, terms in by_space.items():
        if space.free:
            where = "the stream" + "".join(f" of width {space.size} behind layer {i}" for i in space.place)
            yield Quantity(MatrixKind.SYMMETRIC, (space.size,) * 2, tuple(terms), f"basis changes of {where}")


def _swept(
    quantity: Quantity, weights: dict[str, Recorded], functional: Callable[[Recorded, int], M]
) -> list[M | None]:
    """Return the gradients of the counted entries of a quantity by all weights, by one sweep backwards."""
    outputs = [term.over(weights) for term in quantity.terms]
    functionals = [functional(output, term.sign) for output, term in zip(outputs, quantity.terms, strict=True)]
    return gradients(outputs, functionals, list(weights.values()))


def differentials_of(
    quantities: Sequence[Quantity], names: Sequence[str], point: Sequence[PrimeFieldMatrix]
) -> list[npt.NDArray[np.int64]]:
    """Return differentials of the counted entries of each quantity at a point."""
    blocks = []
    for quantity in quantities:
        indices = quantity.indices()

        def picked(output: Recorded, sign: int) -> PrimeFieldMatrix:
            found = np.zeros((len(indices), *output.shape[-2:]))  # noqa: B023
            for entry, place in zip(found, indices, strict=True):  # noqa: B023
                if quantity.kind is MatrixKind.SCALAR:  # noqa: B023
                    np.fill_diagonal(entry, sign)
                else:
                    entry[place] = sign
            return PrimeFieldMatrix(found, point[0].prime)

        found = _swept(quantity, dict(zip(names, map(Recorded, point), strict=True)), picked)
        parts = [
            np.zeros((len(indices), w.entries.size), dtype=np.int64)
            if g is None
            else g.residues().reshape(len(indices), -1)
            for g, w in zip(found, point, strict=True)
        ]
        blocks.append(np.concatenate(parts, axis=1))
    return blocks


def price_of_differentials(architecture: Architecture, quantities: Sequence[Quantity]) -> Price:
    """Return what the differentials of the quantities and their rank take."""
    architecture.require("the price of differentials", SHAPED)
    price, total = Price("residues"), 0
    for quantity in quantities:
        part = price.empty()
        names = [name for name, _ in architecture.weight_shapes()]
        weights = dict(zip(names, map(Recorded, weights_over_sizes(architecture, part)), strict=True))
        _swept(quantity, weights, lambda output, sign: Sizes(output.shape, output.value.price))
        price.add(part.repeated(quantity.entries, at_once=True))
        total += quantity.entries
    Sizes((total, architecture.parameter_count), price).rank()
    return price
