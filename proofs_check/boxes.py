r"""Many networks at once: what of their Taylor series at zero tells them apart, and their Jacobians at given weights.

Along $X = \varepsilon Z$ the outputs of a normalized network are power series with rational coefficients. All networks
of a stack are computed side by side, modulo a prime that divides no denominator: different residues prove that two
functions are different, and a rank modulo the prime is a lower bound. Equal residues prove nothing. No formula for what
a function determines is used here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lightning_sym import SOFTMAX, Architecture, Normalization
from lightning_sym.errors import ProgramError
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.network.attention import network_output
from lightning_sym.rings.derivatives import Recorded, gradients
from lightning_sym.rings.power_series import PowerSeries
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix, matmul_mod, random_residues
from proofs_check.claim import ProvedBounds, Refutation, Tally, Undecided, expect_value, spell
from proofs_check.finite_matrices import Integers, Truths

PRIME = PRIMES[0]
Floats = npt.NDArray[np.float64]

PRINTS = 3
"""Random combinations of Taylor coefficients that stand for all of them."""

MOST_NUMBERS = 200_000
"""Entries of one matrix of series, all networks that are computed side by side together: the caches hold them."""


class Stack(NamedTuple):
    """Networks of one shape: `weights` in canonical order, each `count x rows x columns`."""

    shape: Architecture
    weights: tuple[Integers, ...]

    @property
    def size(self) -> int:
        """How many."""
        return len(self.weights[0])

    def parts(self, degree: int) -> Iterator[Stack]:
        """Yield pieces that fit into memory together with series of this degree."""
        most = _networks_at_once(self.shape, degree)
        for start in range(0, self.size, most):
            yield Stack(self.shape, tuple(m[start : start + most] for m in self.weights))

    def series(self, degree: int) -> list[PowerSeries]:
        """Return the weights as constant series modulo the prime."""
        return [PowerSeries.of({0: PrimeFieldMatrix.of(m, PRIME)}, degree) for m in self.weights]


def _networks_at_once(shape: Architecture, degree: int) -> int:
    largest = max(shape.tokens, *shape.widths, *shape.attention_ranks)
    return max(1, MOST_NUMBERS // (largest**2 * (degree + 1)))


def _drawn(generator: np.random.Generator, shape: Architecture, degree: int) -> tuple[Floats, Floats]:
    r"""Return a random input `Z`, and a random functional of all Taylor coefficients there, up to an odd degree.

    The functional is $\sum_k \langle F_{n-k}, Y_k \rangle$, the last coefficient of a product of two series.
    """
    if degree % 2 == 0:
        raise ProgramError(f"outputs are odd: the degree must be odd, got {degree}")
    x = random_residues(generator, (shape.input_width, shape.tokens), PRIME).entries
    return x, random_residues(generator, (shape.output_width, shape.tokens, (degree + 1) // 2), PRIME).entries


def fingerprints(stack: Stack, degree: int, seed: int = 0) -> Integers:
    """Return combinations of Taylor coefficients up to an odd degree, `count x PRINTS`: equal for equal functions."""
    found = []
    for part in stack.parts(degree):
        generator, weights = np.random.default_rng([seed, degree]), part.series(degree)
        columns = []
        for _ in range(PRINTS):
            x, functional = _drawn(generator, stack.shape, degree)
            inputs = PowerSeries.of({1: PrimeFieldMatrix(x, PRIME)}, degree)
            output = network_output(inputs, stack.shape, weights)
            # the coefficients that are stored are those from the valuation on
            first = (output.valuation - 1) // 2
            seen = functional[..., ::-1][..., first : first + output.terms]
            values = matmul_mod(output.entries.reshape(part.size, -1), seen.reshape(-1), PRIME)
            columns.append(PrimeFieldMatrix(values, PRIME).residues())
        found.append(np.stack(columns, axis=1))
    return np.concatenate(found)


def jacobians(stack: Stack, degree: int, rows: int, by: Sequence[int], seed: int = 0) -> list[Integers]:
    """Return gradients of such combinations by some of the weights, each `count x rows x entries`."""
    sizes = [stack.weights[i][0].size for i in by]
    found = [np.zeros((stack.size, rows, size), dtype=np.int64) for size in sizes]
    start = 0
    for part in stack.parts(degree):
        generator, weights = np.random.default_rng([seed, degree]), part.series(degree)
        for row in range(rows):
            drawn = _drawn(generator, stack.shape, degree)
            inputs, functionals = (np.broadcast_to(m, (part.size, *m.shape)) for m in drawn)
            x, functional = (
                PowerSeries.of({1: PrimeFieldMatrix(inputs, PRIME)}, degree),
                PowerSeries(functionals, PRIME, 0, degree),
            )
            recorded = [Recorded(w, constant=i not in by) for i, w in enumerate(weights)]
            output = network_output(Recorded(x, constant=True), stack.shape, recorded)
            for block, g in zip(found, gradients([output], [functional], [recorded[i] for i in by]), strict=True):
                if g is not None:
                    block[start : start + part.size, row] = g.coefficient(degree).residues().reshape(part.size, -1)
        start += part.size
    return found


def compare(
    prints: Integers,
    visible: Sequence[Hashable],
    name: Callable[[int], str],
    within: Truths | None = None,
) -> str:
    """Check that networks whose functions are said to be equal are not apart, and that any two others are.

    Args:
        prints: by network, as `fingerprints` gives them.
        visible: by network, what its function determines.
        name: of the network with this number.
        within: which ones are in the hypotheses, all if it is not given; of two others nothing is said.

    Raises:
        Refutation: the same is visible, and the functions are different.
        Undecided: something else is visible, and no difference is found.

    Example:
        >>> compare(np.array([[1], [2], [1]]), "aba", str)
        '3 networks, 2 functions'
    """
    rows = [row.tobytes() for row in np.ascontiguousarray(prints)]
    decided = [True] * len(rows) if within is None else within.tolist()
    by_visible: dict[Hashable, int] = {}
    by_print: dict[bytes, int] = {}
    for number, (row, key) in enumerate(zip(rows, visible, strict=True)):
        first = by_visible.setdefault(key, number)
        if rows[first] != row:
            raise Refutation(f"{name(first)} and {name(number)} have the same visible weights and different functions")
        if decided[number]:
            by_print.setdefault(row, number)
    for number, (row, key) in enumerate(zip(rows, visible, strict=True)):
        alike = by_print.get(row, number)
        if visible[alike] != key:
            raise Undecided(f"{name(alike)} and {name(number)}: no difference was found")
    if within is not None:
        return Tally(f"{sum(decided):,} of {len(rows):,} networks, each with a function of its own")
    return Tally(f"{len(rows):,} networks, {len(by_visible):,} functions")


@cache
def small_matrices(rows: int, columns: int, entries: tuple[int, ...]) -> Integers:
    """Return all matrices with these entries."""
    return np.array(list(product(entries, repeat=rows * columns)), dtype=np.int64).reshape(-1, rows, columns)


class VirtualBox(NamedTuple):
    """All networks whose virtual weights have these entries, with one output.

    If `few`, of the attention matrices only those which are skew or have no negative entry.
    """

    width: int
    depth: int
    tokens: int
    causal: bool = False
    normalization: Normalization = SOFTMAX
    entries: tuple[int, ...] = (-1, 0, 1)
    few: bool = False

    def __str__(self) -> str:
        mask = "causal, " if self.causal else ""
        entries = ", ".join(map(str, self.entries))
        return f"{self.normalization}, {mask}d = {self.width}, l = {self.depth}, t = {self.tokens}, entries {entries}"

    def virtual(self, keep: Callable[[Integers], Truths] | None = None) -> list[Integers]:
        """Return all `A~_1, ..., A~_l, V~`, stacked; `keep` says of the attention matrices which ones may occur."""
        matrices = small_matrices(self.width, self.width, self.entries)
        if self.few:
            matrices = matrices[(matrices >= 0).all(axis=(1, 2)) | ~(matrices + matrices.mT).any(axis=(1, 2))]
        if keep is not None:
            matrices = matrices[keep(matrices)]
        values = small_matrices(1, self.width, self.entries)
        sizes = [len(matrices)] * self.depth + [len(values)]
        *attention, value = np.indices(sizes).reshape(self.depth + 1, -1)
        return [*(matrices[i] for i in attention), values[value]]

    def stack(self, virtual: Sequence[Integers]) -> Stack:
        """Return the networks with these virtual weights: all inner values and keys are 1."""
        *attention, value = virtual
        d, one = self.width, np.broadcast_to(np.eye(self.width, dtype=np.int64), attention[0].shape)
        widths = (*(d,) * self.depth, value.shape[1])
        shape = Architecture(
            widths, (d,) * self.depth, self.tokens, normalization=self.normalization, causal=self.causal
        )
        values = [one] * (self.depth - 1) + [value]
        return Stack(shape, tuple(m for a, v in zip(attention, values, strict=True) for m in (a, one, v)))

    def name(self, virtual: Sequence[Integers]) -> Callable[[int], str]:
        """Return the network with a number, for witnesses."""

        def spelled(number: int) -> str:
            *attention, value = (spell(m[number].tolist()) for m in virtual)
            return f"{self}: A~ = {', '.join(attention)}, V~ = {value}"

        return spelled

    @property
    def places(self) -> list[int]:
        """Where the virtual weights stand among those of `stack`."""
        return [*range(0, 3 * self.depth, 3), 3 * self.depth - 1]


def ranks_as_shown(box: VirtualBox, virtual: Sequence[Integers], shown: Sequence[Truths], degree: int) -> str:
    """Check the differential at each of these weights: what is shown is independent, other directions are not felt.

    Args:
        box: where the weights are from.
        virtual: the weights, stacked.
        shown: by matrix and network, whether its directions are said to be felt.
        degree: of the Taylor series that are used.

    Raises:
        Refutation: a direction that is said not to be felt changes the output.
        Undecided: the rank that is found falls short.
    """
    size = sum(m[0].size for m in virtual)
    columns, name = jacobians(box.stack(virtual), degree, size + 4, box.places), box.name(virtual)
    for block, seen in zip(columns, shown, strict=True):
        if (wrong := np.flatnonzero(~seen & block.any(axis=(1, 2)))).size:
            raise Refutation(f"{name(wrong[0])}: a direction that is said to be invisible changes the output")
    for number in range(len(virtual[0])):
        felt = np.concatenate([c[number] for c, s in zip(columns, shown, strict=True) if s[number]], axis=1)
        bounds = ProvedBounds(rank_mod_p(felt, PRIME), felt.shape[1])
        expect_value(bounds, felt.shape[1], at=f"{name(number)}, rank of the differential")
    return Tally(f"{len(virtual[0]):,} networks")
