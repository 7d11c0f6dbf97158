r"""Softmax over GF(p): the exponential of every score is a variable of its own, with a residue of its own.

As functions of weights and inputs the exponentials of the scores of a network are algebraically independent over the
rational functions, but for scores that are equal (`docs/transformers.md`, Theorem A). So what is
rational in weights, inputs and exponentials, and zero as a function, is zero as a rational function: if it is not zero
modulo $p$ with any residues in the place of the exponentials, it is not zero.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lightning_sym.rings.derivatives import Recorded
from lightning_sym.rings.prime_field import (
    PrimeFieldMatrix,
    Source,
    generator_of,
    random_matrices,
    random_residues,
    reduce_mod,
)


class FreeExponentials:
    """The attention pattern of softmax at random exponentials.

    Args:
        generator: source of the exponentials.
        mask: `t x t`; entry `(j, i)` is 1 if token `i` attends to token `j`, else 0.
        p: the prime.
        each: so many patterns of a batch in turn have the same exponentials.

    Attributes:
        drawn: the exponentials of each head that was run, in order; what they add up to in a column is not zero.

    Example:
        >>> exponentials = FreeExponentials(np.random.default_rng(0), np.ones((2, 2)), 4194301)
        >>> scores = Recorded(PrimeFieldMatrix.of(np.array([[1, 2], [3, 4]]), 4194301))
        >>> exponentials(scores).value.entries.sum(axis=0) % 4194301
        array([1., 1.])
    """

    def __init__(self, generator: Source, mask: npt.NDArray[np.float64], p: int, each: int = 1) -> None:
        self.generator, self.mask, self.prime, self.each = generator, mask, p, each
        self.drawn: list[PrimeFieldMatrix] = []
        self._all_seen = bool(mask.all())

    def _draw(self, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
        """Return exponentials with columns that add up to 1: a common factor in one makes no difference."""
        (drawn,) = random_matrices(self.generator, (shape,), self.prime)
        result = drawn.entries * self.mask
        result[..., 0, :] += 1 - result.sum(axis=-2)  # all attend to the first token
        return reduce_mod(result, self.prime)

    def _draw_symmetric(self, shape: tuple[int, ...]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return symmetric exponentials, and the reciprocals of what their columns add up to."""
        p, generator = self.prime, generator_of(self.generator)
        result = np.triu(random_residues(generator, shape, p).entries, 1)
        result += result.mT
        sums = generator.integers(1, p, size=(*shape[:-2], shape[-1]))
        diagonal = np.arange(shape[-1])
        result[..., diagonal, diagonal] = sums - result.sum(axis=-2)
        inverses = np.array([pow(s, -1, p) for s in sums.ravel().tolist()], dtype=np.float64)
        return reduce_mod(result, p), reduce_mod(inverses, p).reshape(*shape[:-2], 1, shape[-1])

    def _is_symmetric(self, scores: npt.NDArray[np.float64]) -> bool:
        """Return whether all scores are symmetric; mostly the first ones are not."""
        first = scores[:1] if scores.ndim > 2 else scores
        return not any(reduce_mod(m - m.mT, self.prime).any() for m in (first, scores))

    def values(self, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the pattern of a batch of scores, as many as it has; what is drawn for it does not depend on them."""
        p, each = self.prime, self.each
        size, *matrix = scores.shape if scores.ndim > 2 else (1, *scores.shape)
        shape = (-(-size // each), *matrix)
        # equal scores have equal exponentials; if they were equal by chance, the rank could only be smaller
        if self._all_seen and matrix[0] > 1 and self._is_symmetric(scores):
            exponentials, inverses = self._draw_symmetric(shape)
            pattern = reduce_mod(exponentials * inverses, p)
        else:
            pattern = exponentials = self._draw(shape)

        def every(m: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
            return (m if each == 1 else np.repeat(m, each, axis=0)[:size]).reshape(scores.shape)

        self.drawn.append(PrimeFieldMatrix(every(exponentials), p))
        return every(pattern)

    def pulled_back(
        self, pattern: npt.NDArray[np.float64], gradient: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        """Return the gradient by the scores: of `E / sum E` with `dE = E ds`, for each column `P (g - <P, g>)`."""
        p = self.prime
        moved = reduce_mod(pattern * gradient, p)
        moved -= pattern * reduce_mod(moved.sum(axis=-2, keepdims=True), p)
        return reduce_mod(moved, p)

    def __call__(self, scores: Recorded) -> Recorded:
        """Return the pattern of a batch of scores, recorded."""
        p, pattern = self.prime, self.values(scores.value.entries)

        def scores_gradient(g: PrimeFieldMatrix) -> PrimeFieldMatrix:
            return PrimeFieldMatrix(self.pulled_back(pattern, g.entries), p)

        return Recorded.derived(PrimeFieldMatrix(pattern, p), (scores, scores_gradient))
