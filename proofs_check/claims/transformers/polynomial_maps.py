r"""The polynomial maps that softmax transformers are finite over, and their ranks modulo a prime.

Words are the matrices $U W_w E$, $W_w$ a product of $O V$ of at most one head a layer, exactly one without skips, later
layers on the left. Blocks are the $E^\top W_a^\top A_{ih} W_b E$ for words $a, b$ below layer $i$. Two-token scores are
the polynomials $\delta^\top A_{ih} X_2$ in $x_1$, $\delta_0 = x_1 - x_2$ and the weights $g$ of the heads, which stand
for free variables; with skips

$$\text{causal: } X_1 \mapsto C X_1,\ \delta \mapsto \delta + \sum_h g_h V_h \delta;\qquad \text{no mask: }
X_1 \mapsto C X_1 - \sum_h g_{h1} V_h \delta,\ \delta \mapsto \delta + \sum_h (g_{h2} - g_{h1}) V_h \delta.$$

Coefficients of a multilinear map are not listed: its values at random arguments are functionals that span the same
space. Derivatives by all weights are carried along as dual numbers; nothing here is shared with `certified_dimension`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lightning_sym import Architecture
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.limits import require_memory

P = 4194287
MORE_ROWS = 12
"""Rows beyond the number of weights: values at random arguments are in general position, up to bad luck modulo `P`."""

Residues = npt.NDArray[np.int64]


MEMORY = 2**31
"""Bytes that the derivatives may take."""


class Moving(NamedTuple):
    """A vector in each row, and its derivatives by all weights: `N x d` and `N x P x d`."""

    value: Residues
    derivative: Residues

    def plus(self, other: Moving, factor: Residues | int = 1) -> Moving:
        """The sum with `factor` times another, one factor a row."""
        by: Residues = np.broadcast_to(np.asarray(factor, dtype=np.int64), (len(self.value),))
        value: Residues = (self.value + by[:, None] * other.value) % P
        derivative: Residues = (self.derivative + by[:, None, None] * other.derivative) % P
        return Moving(value, derivative)

    def times(self, other: Moving) -> Residues:
        """The derivatives of the scalar products, `N x P`."""
        left: Residues = np.einsum("nd,npd->np", self.value, other.derivative)
        right: Residues = np.einsum("nd,npd->np", other.value, self.derivative)
        return (left + right) % P


class MovingNetwork:
    """A softmax transformer at random residues, all weights of which move.

    Raises:
        TooLarge: the derivatives do not fit.
    """

    def __init__(self, network: Architecture, seed: int) -> None:
        self.network = network
        self.generator = np.random.default_rng(seed)
        self.count = network.parameter_count
        self.rows = self.count + MORE_ROWS
        size = max(network.input_width, network.output_width, *network.widths)
        require_memory(48 * self.rows * self.count * size, MEMORY, f"derivatives by {self.count:,} weights")
        self.matrices: dict[str, tuple[Residues, int]] = {}
        start = 0
        for name, shape in network.weight_shapes():
            self.matrices[name] = self.random(*shape), start
            start += shape[0] * shape[1]

    def random(self, *shape: int) -> Residues:
        """Residues."""
        drawn: Residues = self.generator.integers(0, P, size=shape, dtype=np.int64)
        return drawn

    def vectors(self, size: int) -> Moving:
        """Constant vectors at random, one a row."""
        return self.constants(self.random(self.rows, size))

    def constants(self, value: Residues) -> Moving:
        """Vectors that no weight moves, one a row."""
        return Moving(value, np.zeros((self.rows, self.count, value.shape[1]), dtype=np.int64))

    def apply(self, name: str, to: Moving) -> Moving:
        """`M v`, where `M` is the matrix with this name."""
        matrix, start = self.matrices[name]
        derivative = to.derivative @ matrix.T % P
        rows, columns = matrix.shape
        for i in range(rows):
            derivative[:, start + i * columns : start + (i + 1) * columns, i] += to.value
        return Moving(to.value @ matrix.T % P, derivative % P)

    def place(self, i: int, h: int) -> str:
        """How the names of a head end."""
        return f"{i}.{h}" if self.network.heads > 1 else f"{i}"

    def inputs(self) -> Moving:
        """`E x` at random `x`."""
        x = self.vectors(self.network.input_width)
        return x if self.network.embed is None else self.apply("E", x)

    def head(self, i: int, h: int, to: Moving) -> Moving:
        """`O V v`."""
        inside = self.apply(f"V{self.place(i, h)}", to)
        return inside if self.network.value_ranks is None else self.apply(f"O{self.place(i, h)}", inside)

    def form(self, i: int, h: int, left: Moving, right: Moving) -> Residues:
        """Derivatives of `left^T A right`, `A = K^T Q`."""
        name = self.place(i, h)
        return self.apply(f"K{name}", left).times(self.apply(f"Q{name}", right))

    def layer(self, i: int, to: Moving, factors: Residues | None = None) -> Moving:
        """`e v + sum_h c_h V_h v`; all `c_h = 1` by default."""
        result = to if self.network.skip else self.constants(np.zeros((self.rows, self.network.widths[i]), np.int64))
        for h in range(1, self.network.heads + 1):
            factor = 1 if factors is None else factors[:, h - 1]
            result = result.plus(self.head(i, h, to), factor)
        return result

    def words(self, stream_seen: bool = False) -> Residues:
        """Random functionals of all words at once: the words are the coefficients of `U prod (1 + sum c_ih V_ih) E`.

        With `stream_seen` of all `W_w E` in the place of the words: a fault, for mutants.
        """
        stream = self.inputs()
        for i in range(1, self.network.depth + 1):
            stream = self.layer(i, stream, self.random(self.rows, self.network.heads))
        output = stream if self.network.unembed is None or stream_seen else self.apply("U", stream)
        return self.vectors(output.value.shape[1]).times(output)

    def blocks(self) -> Residues:
        """Random functionals of all blocks."""
        sides = [self.inputs(), self.inputs()]
        total = np.zeros((self.rows, self.count), dtype=np.int64)
        for i in range(1, self.network.depth + 1):
            for h in range(1, self.network.heads + 1):
                total = (total + self.random(self.rows, 1) * self.form(i, h, *sides)) % P
            sides = [self.layer(i, side, self.random(self.rows, self.network.heads)) for side in sides]
        return total

    def two_token_scores(self) -> Residues:
        """Random functionals of all formal scores of two tokens."""
        first, delta = self.inputs(), self.inputs()
        total = np.zeros((self.rows, self.count), dtype=np.int64)
        for i in range(1, self.network.depth + 1):
            second = first.plus(delta, -1)
            for h in range(1, self.network.heads + 1):
                total = (total + self.random(self.rows, 1) * self.form(i, h, delta, second)) % P
            one, two = (self.random(self.rows, self.network.heads) for _ in range(2))
            moved = self.layer(i, first)
            if self.network.causal:
                one[:] = 0
            else:
                moved = moved.plus(self.layer(i, delta, one), -1)
                moved = moved.plus(delta) if self.network.skip else moved
            first, delta = moved, self.layer(i, delta, (two - one) % P)
        return total


def words_and_blocks(network: Architecture, stream_seen: bool = False) -> int:
    """A lower bound of the generic rank of `W -> (words, blocks)`, and the rank but for bad luck.

    Example:
        >>> from lightning_sym import SOFTMAX
        >>> words_and_blocks(Architecture((2, 2), (1,), 3, SOFTMAX, skip=True))
        7
    """
    moving = MovingNetwork(network, seed=1)
    return rank_mod_p((moving.words(stream_seen) + moving.blocks()) % P, P)


def words_and_two_token_scores(network: Architecture) -> int:
    """The same of `W -> (words, two-token scores)`.

    Example:
        >>> from lightning_sym import SOFTMAX
        >>> words_and_two_token_scores(Architecture((2, 2), (1,), 2, SOFTMAX, skip=True))
        7
    """
    moving = MovingNetwork(network, seed=1)
    return rank_mod_p((moving.words() + moving.two_token_scores()) % P, P)
