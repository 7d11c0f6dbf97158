r"""The polynomial maps that softmax transformers are finite over, and their ranks modulo a prime.

Words are the matrices $U W_w E$, $W_w$ a product of $O V$ of at most one head a layer, exactly one without skips, later
layers on the left. Blocks are the $E^\top W_a^\top A_{ih} W_b E$ for words $a, b$ below layer $i$. Two-token scores are
the polynomials $\delta^\top A_{ih} X_2$ in $x_1$, $\delta_0 = x_1 - x_2$ and the weights $g$ of the heads, which stand
for free variables; with skips

$$\text{causal: } X_1 \mapsto C X_1,\ \delta \mapsto \delta + \sum_h g_h V_h \delta;\qquad \text{no mask: }
X_1 \mapsto C X_1 - \sum_h g_{h1} V_h \delta,\ \delta \mapsto \delta + \sum_h (g_{h2} - g_{h1}) V_h \delta.$$

Coefficients of a multilinear map are not listed: its values at random arguments are functionals that span the same
space. They are differentiated by all weights, one functional a batch.
"""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np
import numpy.typing as npt

from lightning_sym import Architecture
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.limits import require_memory
from lightning_sym.rings.derivatives import Recorded, gradients
from lightning_sym.rings.prime_field import PrimeFieldMatrix, random_residues

P = 4194287
MORE_ROWS = 12
"""Rows beyond the number of weights: values at random arguments are in general position, up to bad luck modulo `P`."""

Residues = npt.NDArray[np.int64]


MEMORY = 2**31
"""Bytes that the derivatives may take."""


class PolynomialNetwork:
    """A softmax transformer at random residues; vectors are columns and numbers `1 x 1`, one for each functional.

    Raises:
        TooLarge: the derivatives do not fit.
    """

    def __init__(self, network: Architecture, seed: int) -> None:
        self.network = network
        self.generator = np.random.default_rng(seed)
        self.rows = network.parameter_count + MORE_ROWS
        require_memory(
            32 * self.rows * network.parameter_count, MEMORY, f"derivatives by {network.parameter_count:,} weights"
        )
        self.matrices = {
            name: Recorded(random_residues(self.generator, shape, P)) for name, shape in network.weight_shapes()
        }

    def random(self, size: int) -> Recorded:
        """Return random constant vectors."""
        return Recorded(random_residues(self.generator, (self.rows, size, 1), P), constant=True)

    def apply(self, name: str, to: Recorded) -> Recorded:
        """Return `M v`, where `M` is the matrix with this name."""
        return self.matrices[name] @ to

    def place(self, i: int, h: int) -> str:
        """Return how the names of a head end."""
        return f"{i}.{h}" if self.network.heads > 1 else f"{i}"

    def inputs(self) -> Recorded:
        """Return `E x` at random `x`."""
        x = self.random(self.network.input_width)
        return x if self.network.embed is None else self.apply("E", x)

    def head(self, i: int, h: int, to: Recorded) -> Recorded:
        """Return `O V v` of a head."""
        inside = self.apply(f"V{self.place(i, h)}", to)
        return inside if self.network.value_ranks is None else self.apply(f"O{self.place(i, h)}", inside)

    def form(self, i: int, h: int, left: Recorded, right: Recorded) -> Recorded:
        """Return `left^T A right`, `A = K^T Q`."""
        name = self.place(i, h)
        return self.apply(f"K{name}", left).mT @ self.apply(f"Q{name}", right)

    def layer(self, i: int, to: Recorded, random: bool) -> Recorded:
        """Return `e v + sum_h c_h V_h v` with random `c_h`, or all `c_h = 1`."""
        heads = [self.head(i, h, to) for h in range(1, self.network.heads + 1)]
        parts = [head * self.random(1) for head in heads] if random else heads
        return sum_of([*([to] if self.network.skip else []), *parts])

    def words(self, *, stream_seen: bool = False) -> Recorded:
        """Return random functionals of all words at once: coefficients of `U prod (1 + sum c_ih V_ih) E`.

        With `stream_seen` of all `W_w E` in the place of the words: a fault, for mutants.
        """
        stream = self.inputs()
        for i in range(1, self.network.depth + 1):
            stream = self.layer(i, stream, random=True)
        output = stream if self.network.unembed is None or stream_seen else self.apply("U", stream)
        return self.random(output.shape[-2]).mT @ output

    def blocks(self) -> Recorded:
        """Return random functionals of all blocks."""
        sides, parts = [self.inputs(), self.inputs()], []
        for i in range(1, self.network.depth + 1):
            parts += [self.random(1) * self.form(i, h, *sides) for h in range(1, self.network.heads + 1)]
            sides = [self.layer(i, side, random=True) for side in sides]
        return sum_of(parts)

    def two_token_scores(self) -> Recorded:
        """Return random functionals of all formal scores of two tokens."""
        first, delta, parts = self.inputs(), self.inputs(), []
        minus = first.like(np.array([[-1]]))
        for i in range(1, self.network.depth + 1):
            second = first + minus * delta
            parts += [self.random(1) * self.form(i, h, delta, second) for h in range(1, self.network.heads + 1)]
            first = self.layer(i, first, random=False)
            # the factors g_h1 without mask, g_h2 - g_h1 are as free as g
            if not self.network.causal:
                first = sum_of(
                    [first, *(self.head(i, h, delta) * self.random(1) for h in range(1, self.network.heads + 1))]
                )
            delta = self.layer(i, delta, random=True)
        return sum_of(parts)

    def jacobian(self, functionals: Recorded) -> Residues:
        """Return the derivatives of the functionals by all weights, `rows x weights`."""
        ones = PrimeFieldMatrix.of(np.ones((self.rows, 1, 1), dtype=int), P)
        found = gradients([functionals], [ones], list(self.matrices.values()))
        blocks = [
            np.zeros((self.rows, *matrix.shape), dtype=np.int64) if g is None else g.residues()
            for matrix, g in zip(self.matrices.values(), found, strict=True)
        ]
        return np.concatenate([block.reshape(self.rows, -1) for block in blocks], axis=1)


def sum_of(parts: list[Recorded]) -> Recorded:
    """Return the sum of the parts."""
    return reduce(add, parts)


def words_and_blocks(network: Architecture, *, stream_seen: bool = False) -> int:
    """Return a lower bound of the generic rank of `W -> (words, blocks)`, and the rank but for bad luck.

    Example:
        >>> from lightning_sym import SOFTMAX
        >>> words_and_blocks(Architecture((2, 2), (1,), 3, SOFTMAX, skip=True))
        7
    """
    at = PolynomialNetwork(network, seed=1)
    return rank_mod_p(at.jacobian(at.words(stream_seen=stream_seen) + at.blocks()), P)


def words_and_two_token_scores(network: Architecture) -> int:
    """Return the same of `W -> (words, two-token scores)`.

    Example:
        >>> from lightning_sym import SOFTMAX
        >>> words_and_two_token_scores(Architecture((2, 2), (1,), 2, SOFTMAX, skip=True))
        7
    """
    at = PolynomialNetwork(network, seed=1)
    return rank_mod_p(at.jacobian(at.words() + at.two_token_scores()), P)
