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

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from lightning_sym import Architecture
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.limits import require_memory
from lightning_sym.network.pieces import ENDS
from lightning_sym.rings.derivatives import Recorded, gradients
from lightning_sym.rings.prime_field import PrimeFieldMatrix, random_residues
from lightning_sym.system.circuits import HeadOver, added, layer_heads

P = 4194287
MORE_ROWS = 12
"""Rows beyond the number of weights: values at random arguments are in general position, up to bad luck modulo `P`."""

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
        self.layers = [layer_heads(network, i, lambda name: self.matrices[name]) for i in range(1, network.depth + 1)]

    def random(self, size: int) -> Recorded:
        """Return random constant vectors."""
        return Recorded(random_residues(self.generator, (self.rows, size, 1), P), constant=True)

    def inputs(self) -> Recorded:
        """Return `E x` at random `x`."""
        x = self.random(self.network.input_width)
        return x if self.network.embed is None else self.matrices[ENDS[0]] @ x

    def layer(self, layer: Sequence[HeadOver[Recorded]], to: Recorded, random: bool) -> Recorded:
        """Return `e v + sum_h c_h V_h v` with random `c_h`, or all `c_h = 1`."""
        heads = [head.carried(to) for head in layer]
        parts = [head * self.random(1) for head in heads] if random else heads
        return added([*([to] if self.network.skip else []), *parts])

    def words(self, *, stream_seen: bool = False) -> Recorded:
        """Return random functionals of all words at once: coefficients of `U prod (1 + sum c_ih V_ih) E`.

        With `stream_seen` of all `W_w E` in the place of the words: a fault, for mutants.
        """
        stream = self.inputs()
        for layer in self.layers:
            stream = self.layer(layer, stream, random=True)
        output = stream if self.network.unembed is None or stream_seen else self.matrices[ENDS[1]] @ stream
        return self.random(output.shape[-2]).mT @ output

    def blocks(self) -> Recorded:
        """Return random functionals of all blocks."""
        sides, parts = [self.inputs(), self.inputs()], []
        for layer in self.layers:
            parts += [self.random(1) * head.scores(*sides) for head in layer]
            sides = [self.layer(layer, side, random=True) for side in sides]
        return added(parts)

    def two_token_scores(self) -> Recorded:
        """Return random functionals of all formal scores of two tokens."""
        first, delta, parts = self.inputs(), self.inputs(), []
        minus = first.like(np.array([[-1]]))
        for layer in self.layers:
            second = first + minus * delta
            parts += [self.random(1) * head.scores(delta, second) for head in layer]
            first = self.layer(layer, first, random=False)
            # the factors g_h1 without mask, g_h2 - g_h1 are as free as g
            if not self.network.causal:
                first = added([first, *(head.carried(delta) * self.random(1) for head in layer)])
            delta = self.layer(layer, delta, random=True)
        return added(parts)

    def jacobian(self, functionals: Recorded) -> npt.NDArray[np.int64]:
        """Return the derivatives of the functionals by all weights, `rows x weights`."""
        ones = PrimeFieldMatrix.of(np.ones((self.rows, 1, 1), dtype=int), P)
        found = gradients([functionals], [ones], list(self.matrices.values()))
        blocks = [
            np.zeros((self.rows, *matrix.shape), dtype=np.int64) if g is None else g.residues()
            for matrix, g in zip(self.matrices.values(), found, strict=True)
        ]
        return np.concatenate([block.reshape(self.rows, -1) for block in blocks], axis=1)


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
