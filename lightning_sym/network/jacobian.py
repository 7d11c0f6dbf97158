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
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.attention import Form, attended, form_of, forward, run
from lightning_sym.network.weights import Layer
from lightning_sym.rings.derivatives import Recorded, gradients
from lightning_sym.rings.free_exponentials import FreeExponentials
from lightning_sym.rings.power_series import PowerSeries
from lightning_sym.rings.prime_field import EXACT_PRODUCTS, PrimeFieldMatrix, random_matrices, random_residues, reduce_mod
from lightning_sym.rings.series_products import product_bytes

KNOWN = frozenset({"normalization", "heads", "value_ranks", "skip", "causal", "embed", "unembed"})
"""The options for which exponentials may be free (`docs/transformers.md`, Theorem A): with softmax the pattern is made
here, and not by `form_of`."""

_BATCH_BYTES = 16 * 2**20

_SWEEP_BYTES = 128 * 2**20
"""What a sweep may record: of more inputs at once than this holds the interpreter's work is a small part anyway."""

_CACHE_BYTES = 2**19

_NODE_BYTES = 2000
"""A recorded operation besides its entries: objects, closures, headers of arrays."""

_LARGEST_ORDER = 10**9
"""For estimates: no series this long fits anywhere, and degrees of deep networks have thousands of digits."""


def sweep_bytes(architecture: Architecture, order: int | None) -> tuple[int, int]:
    r"""Memory that one sweep needs: a part that does not grow with the batch, and a part for each of its inputs.

    Counts what the recorded operations keep. A series of degree `order` has $n = \lceil order / 2 \rceil$ coefficients
    that are not zero, all of them in one array.

    Example:
        >>> sweep_bytes(Architecture((2, 2), (1,), 2), None)
        (16000, 576)
    """
    architecture.require("an estimate of memory", KNOWN)
    n = 1 if order is None else (min(order, _LARGEST_ORDER) + 1) // 2
    t = architecture.tokens
    squares = 2 + architecture.causal + (0 if order is None else 3)
    nodes = entries = 0
    for i, a in enumerate(architecture.attention_ranks):
        d_out = architecture.widths[i + 1]
        inside = d_out if architecture.value_ranks is None else architecture.value_ranks[i]
        nodes += architecture.heads * (8 if order is None else 20)
        entries += n * architecture.heads * (squares * t * t + t * (3 * a + inside + 2 * d_out))
    temporaries, fixed = 4 * t * t, _NODE_BYTES * nodes
    if order is not None:
        largest = max(t, *architecture.widths, *architecture.attention_ranks)
        temporaries = n * t * (8 * t + 4 * largest + 5 * architecture.output_width)
        fixed += 2 * product_bytes(largest, t, n)
    # every recorded value once; of the gradients only those not yet passed on
    return fixed, 8 * (entries + entries // 4 + temporaries + 3 * architecture.parameter_count)


def batch_size(architecture: Architecture, order: int | None) -> int:
    """How many inputs are swept at once."""
    _, each = sweep_bytes(architecture, order)
    return max(1, min(_BATCH_BYTES // (8 * architecture.parameter_count), _SWEEP_BYTES // each))


def weight_gradients(layers: Sequence[Layer], x: Any, functional: Any) -> list[Any]:
    r"""Gradients of $\langle c, \phi_W(X) \rangle$ with respect to `Q1, K1, V1, Q2, ...`, over any ring.

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


def random_weights(architecture: Architecture, generator: np.random.Generator, p: int) -> list[PrimeFieldMatrix]:
    """Uniform random weights modulo `p`, in canonical order."""
    architecture.require("random weights", KNOWN)
    return random_matrices(generator, (shape for _, shape in architecture.weight_shapes()), p)


def random_layers(architecture: Architecture, generator: np.random.Generator, p: int) -> list[Layer]:
    """Uniform random weights modulo `p` of a plain network, layer by layer."""
    architecture.require_plain("a list of layers Q, K, V")
    weights = random_weights(architecture, generator, p)
    return [Layer(*weights[i : i + 3]) for i in range(0, len(weights), 3)]


class Fold:
    """Random combinations of columns, fewer than there are: a matrix that needs no memory to speak of.

    Every column goes, times a random number, into one new column of each of two partitions, one in order, which is
    read fast, and one shuffled. One partition is not enough: nine of 326 random networks lost rank by it; by two, four
    of 12,083, which costs another try.

    Args:
        parameters: how many columns there are.
        columns: how many there will be.
        generator: source of partitions and factors.
        p: the prime.
    """

    def __init__(self, parameters: int, columns: int, generator: np.random.Generator, p: int) -> None:
        self.columns, self.prime = columns, p
        self._parts: list[tuple[slice | npt.NDArray[np.int64], npt.NDArray[np.float64]]] = []
        for order in (None, generator.permutation(parameters)):
            factors = random_residues(generator, (parameters,), p).entries
            for start in range(0, parameters, columns):
                part = slice(start, start + columns)
                self._parts.append((part if order is None else order[part], factors[part]))

    def __call__(self, rows: npt.NDArray[np.float64], target: npt.NDArray[np.float64]) -> None:
        """Fold centred residues into `target`, centred again."""
        height = max(1, _CACHE_BYTES // (8 * rows.shape[1]))  # gathers are several times faster in the cache
        for start in range(0, len(rows), height):
            source, result = rows[start : start + height], target[start : start + height]
            result[:] = 0
            for count, (chosen, factors) in enumerate(self._parts, start=1):
                result[:, : len(factors)] += source[:, chosen] * factors
                if count % EXACT_PRODUCTS == 0:
                    result[:] = reduce_mod(result, self.prime)
            result[:] = reduce_mod(result, self.prime)


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


class _Batch(NamedTuple):
    """Rows in float64, what they are gradients of, and the exponentials of each head."""

    rows: npt.NDArray[np.float64]
    inputs: PrimeFieldMatrix
    functionals: PrimeFieldMatrix
    exponentials: list[PrimeFieldMatrix]


class RandomJacobian:
    r"""Rows of the Jacobian over GF(p) at one random point of weight space, as many as asked for.

    Args:
        architecture: shapes of the network.
        generator: source of weights, inputs and functionals.
        p: the prime.
        columns: fold the columns to this many random combinations of them, by one fixed matrix: multiplied with it from
            the right, the Jacobian can only lose rank.
        order: `None` for lightning, and for softmax, where exponentials are residues of their own
            (`rings.exponentials`): then ranks say something about generic weights, not about these. For any
            normalization: inputs are $\varepsilon Z$, functionals are of all Taylor coefficients up to this degree.
            Each coefficient is a polynomial in the weights with rational coefficients, and where the rank of the
            gradients of any of them modulo `p` (which divides no denominator) is `r`, the function of the weights,
            transcendental or not, has rank at least `r`: a functional that vanished to first order along a curve of
            equal functions would vanish for its Taylor coefficients too.
        each: so many rows in turn have the same input and the same exponentials.
        weights: the point, instead of a random one.

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
        generator: np.random.Generator,
        p: int,
        columns: int | None = None,
        order: int | None = None,
        each: int = 1,
        weights: Sequence[PrimeFieldMatrix] | None = None,
    ) -> None:
        architecture.require("the Jacobian", KNOWN)
        if order is None and architecture.normalization is not None and not architecture.normalization.is_exponential:
            raise BadInput(
                f"the Jacobian needs an order for a normalization that is no exponential, got none for "
                f"{architecture.normalization.name}"
            )
        self.architecture, self.generator, self.prime, self.order = architecture, generator, p, order
        self.each = each
        self.weights = random_weights(architecture, generator, p) if weights is None else list(weights)
        self.form = form_of(architecture)
        parameters = architecture.parameter_count
        self._fold = None if columns is None or columns >= parameters else Fold(parameters, columns, generator, p)
        self.columns = parameters if self._fold is None else self._fold.columns

    def _sweep(self, size: int) -> _Batch:
        r"""Rows for new random inputs, each the gradient of a random functional of the outputs.

        Let the network be normalized, $Y = \sum_k \varepsilon^{2k+1} Y_k$ its output and $n$ an odd order. Then
        $\sum_k \langle C_k, Y_k \rangle$ is the coefficient of $\varepsilon^n$ of $\langle C, Y \rangle$ with $C =
        \sum_k \varepsilon^{n-2k-1} C_k$. The sweep is linear over series: $d \langle C, Y \rangle = \langle G, dW
        \rangle$, and as $dW$ is constant, the gradient wanted is the coefficient of $\varepsilon^n$ of $G$.
        """
        architecture, p, order, generator = self.architecture, self.prime, self.order, self.generator
        terms, t = 1 if order is None else (order + 1) // 2, architecture.tokens
        inputs = (-(-size // self.each), architecture.input_width, t)
        x, drawn = random_matrices(generator, (inputs, (size, terms, architecture.output_width, t)), p)
        if self.each > 1:
            x = PrimeFieldMatrix(np.repeat(x.entries, self.each, axis=0)[:size], p)
        weights: Sequence[Any] = self.weights
        source: Any = x
        functional: Any = PrimeFieldMatrix(drawn.entries[:, 0], p)
        form = self.form
        exponentials: list[PrimeFieldMatrix] = []
        if order is not None:
            weights = [PowerSeries.of({0: w}, 2 * terms - 1) for w in weights]
            source = PowerSeries.of({1: x}, 2 * terms - 1)
            functional = PowerSeries(np.moveaxis(drawn.entries[:, ::-1], 1, -1), p, 0, 2 * terms - 1)
        elif architecture.normalization is not None:
            free = FreeExponentials(generator, attended(architecture), p, self.each)
            form, exponentials = Form(free, architecture.skip), free.drawn
        recorded = [Recorded(w) for w in weights]
        output = run(Recorded(source, constant=True), architecture, recorded, form)
        blocks = []
        for g, w in zip(gradients([output], [functional], recorded), self.weights, strict=True):
            if isinstance(g, PowerSeries):
                g = g.coefficient(g.order)
            blocks.append(np.zeros((size, w.entries.size)) if g is None else g.entries.reshape(size, -1))
        return _Batch(np.concatenate(blocks, axis=1), x, drawn, exponentials)

    def _batches(self, count: int, progress: Callable[[int], None] | None) -> Iterator[tuple[slice, _Batch]]:
        """Rows batch by batch, and where they stand."""
        most = batch_size(self.architecture, self.order)
        most -= most % self.each if self.each < most else 0
        for start in range(0, count, most):
            size = min(most, count - start)
            batch = self._sweep(size)
            if progress is not None:
                progress(start + size)
            yield slice(start, start + size), batch

    def matrix(self, count: int, progress: Callable[[int], None] | None = None) -> npt.NDArray[np.float64]:
        """Rows as centred residues, `count x columns`, each for a new random input and functional.

        Args:
            count: how many rows.
            progress: called with the number of rows done.
        """
        rows = np.empty((count, self.columns))
        for where, batch in self._batches(count, progress):
            if self._fold is not None:
                self._fold(batch.rows, rows[where])
            elif len(batch.rows) == count:
                return batch.rows
            else:
                rows[where] = batch.rows
        return rows

    def rows(self, count: int) -> npt.NDArray[np.int64]:
        """Rows as residues in `0, ..., p - 1`, shape `count x columns`."""
        return PrimeFieldMatrix(self.matrix(count), self.prime).residues()

    def sample(self, count: int, progress: Callable[[int], None] | None = None) -> Sample:
        """More rows, not folded, with the inputs and functionals they belong to."""
        batches = [batch for _, batch in self._batches(count, progress)]
        rows = np.concatenate([batch.rows for batch in batches])
        drawn = [
            np.stack([m.residues() for m in batch.exponentials], axis=1) for batch in batches if batch.exponentials
        ]
        return Sample(
            PrimeFieldMatrix(rows, self.prime).residues(),
            np.concatenate([batch.inputs.residues() for batch in batches]),
            np.concatenate([batch.functionals.residues() for batch in batches]),
            np.concatenate(drawn) if drawn else None,
        )
