r"""Exact Jacobians of the network with respect to its weights, by one sweep backwards.

Rows are *functionals*: for an input $X$ and a covector $c$ the row is the gradient of $W \mapsto
\langle c, \phi_W(X) \rangle$. One random functional per random input gives rows in general position, which all
outputs of few inputs do not: one layer with `d = 4, d' = 2, a = 1`, five inputs of three tokens, has 30 rows and
rank 13 where the dimension is 14.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lightning_sym.errors import BadInput
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.attention import Form, attended, form_of, forward, run
from lightning_sym.network.columns import Fold, Indices, Kept, kept_entries
from lightning_sym.network.gradient_programs import gradient_program
from lightning_sym.network.pieces import SHAPED
from lightning_sym.network.prices import inputs_at_once, sweep_bytes
from lightning_sym.network.weights import Layer
from lightning_sym.rings.derivatives import Recorded, gradients
from lightning_sym.rings.free_exponentials import FreeExponentials
from lightning_sym.rings.power_series import PowerSeries
from lightning_sym.rings.prime_field import (
    EXACT_PRODUCTS,
    SMALL_PRIMES,
    PrimeFieldMatrix,
    Source,
    generator_of,
    random_matrices,
    random_residues,
)
from lightning_sym.rings.protocol import M
from lightning_sym.threads import in_threads, threads_of_our_own

_Floats = npt.NDArray[np.float64]

_SMALL_BYTES = 2**22
"""Of inputs for which less is recorded nothing is dropped before the end: the interpreter's work is what takes time."""

_LARGEST = {np.dtype(np.float64): 2**53, np.dtype(np.float32): 2**24} | {
    np.dtype(kind): np.iinfo(kind).max for kind in (np.int64, np.int32, np.int16, np.int8)
}
"""By type of entries, up to where it has all integers."""


def weight_gradients(layers: Sequence[Layer[M]], x: M, functional: M) -> list[M]:
    r"""Return the gradients of $\langle c, \phi_W(X) \rangle$ with respect to `Q1, K1, V1, Q2, ...`.

    They are computed over any ring.

    Args:
        layers: the weights, matrices over the ring.
        x: the input, `d_0 x t`, or a batch of inputs where the ring has batches.
        functional: the covector `c`, `d_l x t`, batched like `x`.

    Example:
        >>> one = np.array([[1]])
        >>> [g.item() for g in weight_gradients([Layer(2 * one, 3 * one, 5 * one)], one, one)]
        [15, 10, 6]
    """
    recorded = [Layer(*map(Recorded, layer)) for layer in layers]
    output = forward(Recorded(x, constant=True), recorded)
    return gradients([output], [functional], [weight for layer in recorded for weight in layer])


def random_weights(architecture: Architecture, generator: Source, p: int) -> list[PrimeFieldMatrix]:
    """Return uniform random weights modulo `p`, in canonical order.

    For a small prime those matrices are drawn again whose first entry is zero, or whose first square block is not
    invertible: at one point of twenty the rank of the Jacobian would fall short by it.
    """
    architecture.require("random weights", SHAPED)
    shapes = [shape for _, shape in architecture.weight_shapes()]
    if p not in SMALL_PRIMES:
        return random_matrices(generator, shapes, p)
    result = []
    for shape in shapes:
        matrix = random_residues(generator_of(generator), shape, p)
        while not _is_general(matrix.entries, p):
            matrix = random_residues(generator_of(generator), shape, p)
        result.append(matrix)
    return result


def _is_general(entries: npt.NDArray[np.float64], p: int) -> bool:
    size = min(entries.shape)
    return bool(entries[0, 0]) and rank_mod_p(entries[:size, :size], p) == size


def random_layers(architecture: Architecture, generator: np.random.Generator, p: int) -> list[Layer[PrimeFieldMatrix]]:
    """Return uniform random weights modulo `p` of a plain network, layer by layer."""
    architecture.require_plain("a list of layers Q, K, V")
    weights = random_weights(architecture, generator, p)
    return [Layer(*weights[i : i + 3]) for i in range(0, len(weights), 3)]


class Sample(NamedTuple):
    """Rows of a Jacobian, and what they are gradients of.

    Attributes:
        rows: residues, `count x parameters`.
        inputs: residues, `count x n x t`.
        functionals: residues, `count x N x m x t`: one for each Taylor coefficient, or for the output itself, `N = 1`.
        exponentials: residues, `count x H x t x t`, of the scores of all `H` heads in order, for softmax by values.
    """

    rows: npt.NDArray[np.int64]
    inputs: npt.NDArray[np.int64]
    functionals: npt.NDArray[np.int64]
    exponentials: npt.NDArray[np.int64] | None = None


class _Drawn(NamedTuple):
    """What rows are gradients of: inputs, functionals, and the exponentials of each head."""

    inputs: PrimeFieldMatrix
    functionals: PrimeFieldMatrix
    exponentials: list[PrimeFieldMatrix]


class RandomJacobian:
    r"""Rows of the Jacobian over GF(p) at one random point of weight space, as many as asked for.

    Args:
        architecture: shapes of the network.
        generator: source of weights, inputs and functionals.
        p: the prime.
        columns: fold those that are kept to this many random combinations of them, by one fixed matrix: multiplied
            with it from the right, the Jacobian can only lose rank.
        order: `None` for lightning, and for softmax, where exponentials are residues of their own
            (`rings.free_exponentials`; `docs/transformers.md`, Theorem A): then ranks say something about generic
            weights, not about these. For any normalization: inputs are $\varepsilon Z$, functionals are of all Taylor
            coefficients up to this degree. Each coefficient is a polynomial in the weights with rational coefficients,
            and where the rank of the gradients of any of them modulo `p` (which divides no denominator) is `r`, the
            function of the weights, transcendental or not, has rank at least `r`: a functional that vanished to first
            order along a curve of equal functions would vanish for its Taylor coefficients too.
        each: so many rows in turn have the same input and the same exponentials.
        weights: the point, instead of a random one.
        keep: only these columns, in increasing order; the others are not even computed where a matrix has none of them.

    Attributes:
        program_inputs: up to so many inputs are swept by a program, which keeps all that it computes.

    The rank modulo `p` of all rows together is a lower bound of the dimension of the neuromanifold.

    Example:
        >>> network, generator = Architecture((4, 2), (1,), 3), np.random.default_rng(0)
        >>> jacobian = RandomJacobian(network, generator, p=4194301)
        >>> jacobian.rows(30).shape
        (30, 16)
    """

    def __init__(
        self,
        architecture: Architecture,
        generator: Source,
        p: int,
        columns: int | None = None,
        order: int | None = None,
        each: int = 1,
        weights: Sequence[PrimeFieldMatrix] | None = None,
        keep: Indices | None = None,
    ) -> None:
        architecture.require("the Jacobian", SHAPED)
        if order is None and architecture.normalization is not None and not architecture.normalization.is_exponential:
            raise BadInput(
                f"the Jacobian needs an order for a normalization that is no exponential, got none for "
                f"{architecture.normalization.name}"
            )
        self.architecture, self.generator, self.prime, self.order = architecture, generator, p, order
        self.each = each
        parameters, (_, bytes_each) = architecture.parameter_count, sweep_bytes(architecture, order)
        self._at_once = inputs_at_once(parameters, bytes_each)
        # no product of matrices is too long
        self.program_inputs = _SMALL_BYTES // bytes_each if order is None and parameters <= EXACT_PRODUCTS else 0
        self.weights = random_weights(architecture, generator, p) if weights is None else list(weights)
        self._kept = None if keep is None else kept_entries([w.entries.size for w in self.weights], keep)
        kept = parameters if keep is None else len(keep)
        self._fold = None if columns is None or columns >= kept else Fold(kept, columns, generator_of(generator), p)
        self.columns = kept if self._fold is None else self._fold.columns

    def draw(
        self, generator: Source, inputs: int, functionals: tuple[int, ...]
    ) -> tuple[PrimeFieldMatrix, PrimeFieldMatrix]:
        """Return inputs, `inputs x n x t`, and functionals of the next rows."""
        shape = inputs, self.architecture.input_width, self.architecture.tokens
        x, drawn = random_matrices(generator, (shape, functionals), self.prime)
        return x, drawn

    def _sweep(self, generator: Source, kept: Sequence[Kept] | None, rows: npt.NDArray[np.number]) -> _Drawn:
        r"""Fill rows for new random inputs, each with the gradient of a random functional of the outputs.

        Let the network be normalized, $Y = \sum_k \varepsilon^{2k+1} Y_k$ its output and $n$ an odd order. Then
        $\sum_k \langle C_k, Y_k \rangle$ is the coefficient of $\varepsilon^n$ of $\langle C, Y \rangle$ with $C =
        \sum_k \varepsilon^{n-2k-1} C_k$. The sweep is linear over series: $d \langle C, Y \rangle = \langle G, dW
        \rangle$, and as $dW$ is constant, the gradient wanted is the coefficient of $\varepsilon^n$ of $G$.
        """
        architecture, p, order, size = self.architecture, self.prime, self.order, len(rows)
        terms, t = 1 if order is None else (order + 1) // 2, architecture.tokens
        x, drawn = self.draw(generator, -(-size // self.each), (size, terms, architecture.output_width, t))
        if self.each > 1:
            x = PrimeFieldMatrix(np.repeat(x.entries, self.each, axis=0)[:size], p)
        functional = PrimeFieldMatrix(drawn.entries[:, 0], p)
        free = None
        if order is None and architecture.normalization is not None:
            free = FreeExponentials(generator, attended(architecture), p, self.each)
        if size <= self.program_inputs:
            self._run_program(kept, [x.entries, functional.entries], free, rows)
        else:
            self._record(kept, x, functional if order is None else drawn, free, rows)
        return _Drawn(x, drawn, [] if free is None else free.drawn)

    def _run_program(
        self,
        kept: Sequence[Kept] | None,
        given: list[_Floats],
        free: FreeExponentials | None,
        rows: npt.NDArray[np.number],
    ) -> None:
        """Run a sweep with few inputs: its steps are known."""
        architecture, size = self.architecture, len(rows)
        wanted = None if kept is None else frozenset(part.weight for part in kept)
        program, found = gradient_program(architecture, wanted)
        mask = [attended(architecture)] if architecture.causal and free is None else []
        matrices = [*(w.entries for w in self.weights), *given, *mask]
        blocks = program.run(matrices, [gradient.symbol for gradient in found], self.prime, free)
        if kept is None:
            start = 0
            for block in blocks:
                flat = block.reshape(size, -1)
                rows[:, start : start + flat.shape[1]] = flat
                start += flat.shape[1]
        else:
            for part, block in zip(kept, blocks, strict=True):
                rows[:, part.columns] = block.reshape(size, -1)[:, part.entries]

    def _record(
        self,
        kept: Sequence[Kept] | None,
        x: PrimeFieldMatrix,
        drawn: PrimeFieldMatrix,
        free: FreeExponentials | None,
        rows: npt.NDArray[np.number],
    ) -> None:
        """Record a sweep with many inputs, or of series: what has been passed on is dropped."""
        architecture, p = self.architecture, self.prime
        weights: Sequence[PrimeFieldMatrix | PowerSeries] = self.weights
        source: PrimeFieldMatrix | PowerSeries = x
        functional: PrimeFieldMatrix | PowerSeries = drawn
        if self.order is not None:
            highest = 2 * drawn.shape[1] - 1
            weights = [PowerSeries.of({0: w}, highest) for w in self.weights]
            source = PowerSeries.of({1: x}, highest)
            functional = PowerSeries(np.moveaxis(drawn.entries[:, ::-1], 1, -1), p, 0, highest)
        kept = kept_entries([w.entries.size for w in self.weights], None) if kept is None else kept
        wanted = {part.weight for part in kept}
        recorded = [Recorded(w, constant=i not in wanted) for i, w in enumerate(weights)]
        form = form_of(architecture) if free is None else Form(free, architecture.skip)
        output = run(Recorded(source, constant=True), architecture, recorded, form)
        for part, g in zip(kept, gradients([output], [functional], [recorded[k.weight] for k in kept]), strict=True):
            last = g.coefficient(g.order) if isinstance(g, PowerSeries) else g
            rows[:, part.columns] = 0 if last is None else last.entries.reshape(len(rows), -1)[:, part.entries]

    def _fill(
        self,
        rows: npt.NDArray[np.number],
        kept: Sequence[Kept] | None,
        fold: Fold | None,
        progress: Callable[[int], None] | None,
    ) -> Iterator[_Drawn]:
        """Fill rows batch by batch, on all cores: each batch has a generator of its own, so it does not matter when."""
        most = self._at_once
        most -= most % self.each if self.each < most else 0
        starts = range(0, len(rows), most)
        width = self.architecture.parameter_count if kept is None else max([k.columns.stop for k in kept], default=0)

        def fill(batch: tuple[int, Source]) -> _Drawn:
            start, generator = batch
            target = rows[start : start + most]
            if fold is None:
                return self._sweep(generator, kept, target)
            whole = np.empty((len(target), width))
            drawn = self._sweep(generator, kept, whole)
            fold(whole, target)
            return drawn

        if len(starts) == 1:  # draws from the generator itself
            drawn = fill((0, self.generator))
            if progress is not None:
                progress(len(rows))
            yield drawn
            return
        batches = list(zip(starts, generator_of(self.generator).spawn(len(starts)), strict=True))
        with threads_of_our_own() as workers:
            for start, drawn in zip(starts, in_threads(fill, batches, workers), strict=True):
                if progress is not None:
                    progress(min(start + most, len(rows)))
                yield drawn

    def matrix(
        self, count: int, progress: Callable[[int], None] | None = None, dtype: npt.DTypeLike = np.float64
    ) -> npt.NDArray[Any]:
        """Return rows as centred residues, `count x columns`, each for a new random input and functional.

        Args:
            count: how many rows.
            progress: called with the number of rows done.
            dtype: of the entries: float64, or where they fit float32, or int8 for `SMALL_PRIMES`.

        Raises:
            BadInput: the residues do not fit into the type.
        """
        kind = np.dtype(dtype)
        if self.prime // 2 + 2 > _LARGEST.get(kind, 0):
            raise BadInput(f"residues modulo {self.prime} must fit into the entries, got {kind.name}")
        rows = np.empty((count, self.columns), dtype=kind)
        for _ in self._fill(rows, self._kept, self._fold, progress):
            pass
        return rows

    def rows(self, count: int) -> npt.NDArray[np.int64]:
        """Return rows as residues in `0, ..., p - 1`, shape `count x columns`."""
        return PrimeFieldMatrix(self.matrix(count), self.prime).residues()

    def sample(self, count: int, progress: Callable[[int], None] | None = None) -> Sample:
        """Return more rows, all columns, with the inputs and functionals they belong to."""
        rows = np.empty((count, self.architecture.parameter_count))
        batches = list(self._fill(rows, None, None, progress))
        drawn = [
            np.stack([m.residues() for m in batch.exponentials], axis=1) for batch in batches if batch.exponentials
        ]
        return Sample(
            PrimeFieldMatrix(rows, self.prime).residues(),
            np.concatenate([batch.inputs.residues() for batch in batches]),
            np.concatenate([batch.functionals.residues() for batch in batches]),
            np.concatenate(drawn) if drawn else None,
        )
