r"""The symmetries of the parametrization: one group action, its proof, its tangent directions.

On the networks of the paper the group is $\prod_i GL_{a_i} \times \prod_{0<i<l} GL_{d_i} \times (\mathbb{Q}^*)^l$.
It acts by

$$ Q_i \mapsto \lambda_i C_i^{-\top} Q_i G_{i-1}^{-1}, \quad K_i \mapsto C_i K_i G_{i-1}^{-1}, \quad
   V_i \mapsto \lambda_i^{-1} G_i V_i G_{i-1}^{-1}, \qquad G_0 = G_l = 1 : $$

basis change inside queries and keys (Lemma 3.1), basis change between layers (Eq. 9, whose scalars are the
rescalings between layers), rescaling inside a layer (Eq. 13). With several heads each has its own $C$ and $\lambda$; an
output projection adds $V \mapsto B V$, $O \mapsto O B^{-1}$; an embedding frees $G_0$, an unembedding $G_l$; skip
connections make all $G_i$ one; normalized scores leave no room for the $\lambda$. All of this is read off the table of
weights and their spaces, `lightning_sym.network.pieces`.

`act` carries it out on weights, over any ring.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lightning_sym.errors import ProgramError
from lightning_sym.lazy import lazy_imports
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.attention import Form, run
from lightning_sym.network.pieces import SHAPED, WeightPiece, WeightSpace, pieces, spaces, stream
from lightning_sym.rings.derivatives import Dual
from lightning_sym.rings.normalization import SOFTMAX
from lightning_sym.rings.prime_field import PrimeFieldMatrix

with lazy_imports(__name__):  # the identity is checked where directions are counted
    from lightning_sym.rings import matrix_words

if TYPE_CHECKING:
    from lightning_sym.rings.matrix_words import Words
    from lightning_sym.symmetries.point import Point


def act(
    weights: Mapping[str, Any], element: Mapping[WeightSpace, tuple[Any, Any]], moved: Iterator[WeightPiece]
) -> dict[str, Any]:
    """Return the weights after an element of the group, over any ring: those of `moved`, by name.

    Args:
        weights: matrices over a ring, by name.
        element: by space a matrix and its inverse; a space that is left out stays.
        moved: pieces that are wanted.

    Example:
        >>> import numpy as np
        >>> from lightning_sym import Architecture
        >>> from lightning_sym.network.pieces import pieces
        >>> network, one = Architecture((1, 1), (1,), 1), np.array([[1]])
        >>> scale = WeightSpace("scale", (1, 1), 1)
        >>> act(dict.fromkeys(("Q1", "K1", "V1"), one), {scale: (2 * one, one / 2)}, pieces(network))["V1"].tolist()
        [[0.5]]
    """
    result = {}
    for piece in moved:
        matrix = weights[piece.name]
        if piece.rows.space in element:
            g, inverse = element[piece.rows.space]
            matrix = (g if piece.rows.up else inverse.mT) @ matrix
        if piece.columns.space in element:
            g, inverse = element[piece.columns.space]
            matrix = matrix @ (g.mT if piece.columns.up else inverse)
        if piece.scale is not None and piece.scale[0] in element:
            matrix = element[piece.scale[0]][piece.scale[1] < 0] @ matrix
        result[piece.name] = matrix
    return result


Floats = npt.NDArray[np.float64]
Pair = tuple[Any, Any]


@cache
def verify_identity() -> str:
    r"""Prove that the action leaves every network alone, for matrices of every size.

    Over formal words: a changed layer of two heads fed with $G_{i-1} X$ gives $G_i$ times what the old layer gives for
    $X$, with and without output projections and skip connections; what an embedding writes moves by $G_0$, and what an
    unembedding makes of $G_l X$ is what it made of $X$. With $G_0 = G_l = 1$, or taken back by embedding and
    unembedding, chaining the layers gives $\phi_{g W} = \phi_W$ at every depth. A normalized or masked pattern is a
    letter named by the scores it is made of: equal scores, equal patterns, whatever the pattern is.

    Returns:
        The identity for the networks of the paper, spelled out.

    Raises:
        ProgramError: it does not hold.
    """
    for skip, projected, normalized in product((True, False), repeat=3):
        said = _layer_identity((1,) if projected else None, 2, skip=skip, normalized=normalized)
    said = _layer_identity(None, 1, skip=False, normalized=False)
    return f"layer[gW](G X) = {said} = H layer[W](X)"


def _layer_identity(value_ranks: tuple[int] | None, heads: int, *, skip: bool, normalized: bool) -> Words:
    """Return what the changed layer gives, after proving that the ends and the layer are covariant."""
    shape = Architecture((1, 1), (1,), 1, SOFTMAX if normalized else None, heads, value_ranks, skip, embed=1, unembed=1)
    bare = Architecture((1, 1), (1,), 1, shape.normalization, heads, value_ranks, skip)
    weights = {piece.name: matrix_words.Words.letter(piece.name) for piece in pieces(shape)}
    letters = {space: _letter(space, shape) for space in spaces(shape)}
    element = {space: (letter, letter.inverse) for space, letter in letters.items()}
    moved = act(weights, element, pieces(shape))
    x, before, after = matrix_words.Words.letter("X"), letters[stream(shape, 0)], letters[stream(shape, 1)]
    form = (
        Form(lambda scores: matrix_words.Words.letter(f"pattern({scores})"), skip=skip)
        if normalized
        else Form(skip=skip)
    )
    found, kept = (
        run(y, bare, [some[piece.name] for piece in pieces(bare)], form)
        for y, some in ((before @ x, moved), (x, weights))
    )
    ends = (moved["E"], before @ weights["E"]), (moved["U"] @ after, weights["U"])
    for one, other in ((found, after @ kept), *ends):
        if one != other:
            raise ProgramError(f"the symmetry is not one: {one} differs from {other}")
    return found


def _letter(space: WeightSpace, shape: Architecture) -> Words:
    """Return a name for the element of a space: $G$ in front of the layer, $H$ behind it, $C$ for queries and keys."""
    head = str(space.place[-1]) if space.place and shape.heads > 1 else ""
    if space.kind == "scale":
        return matrix_words.Words.scalar("lambda" + head)
    if space.kind == "stream":
        return matrix_words.Words.letter("G" if space == stream(shape, 0) else "H")
    return matrix_words.Words.letter(("C" if space.kind == "query-key" else "B") + head)


class _NearOne(Dual):
    r"""$1 \pm \varepsilon E$, a batch over directions `E`, here 1: a dual matrix, but neither 1 nor `E` is held."""

    __slots__ = ("sign",)

    def __init__(self, sign: int) -> None:
        super().__init__(None)
        self.sign = sign

    def moved(self, entries: Floats) -> Floats:
        """Return `E` times a matrix, for all directions."""
        return entries[None]

    @property
    def mT(self) -> Dual:  # noqa: N802
        return self

    def __matmul__(self, other: Dual) -> Dual:
        moved = PrimeFieldMatrix(self.sign * self.moved(other.value.entries), other.value.prime)
        return Dual(other.value, moved if other.tangent is None else moved + other.tangent)

    def __rmatmul__(self, other: Dual) -> Dual:  # asked first, as this is a subclass
        return (self.mT @ other.mT).mT


class _Everywhere(_NearOne):
    """In all directions, matrices with one entry: each moves a row to another place."""

    __slots__ = ("transposed",)

    def __init__(self, sign: int, *, transposed: bool = False) -> None:
        super().__init__(sign)
        self.transposed = transposed

    def moved(self, entries: Floats) -> Floats:
        """Return row `j` in place `i`, for all `i` and `j`; transposed, row `i` in place `j`."""
        n, columns = entries.shape
        to, row = np.arange(n)[:, None], np.arange(n)
        result = np.zeros((n, n, n, columns))
        if self.transposed:
            result[to, row, row] = entries[:, None]
        else:
            result[to, row, to] = entries
        return result.reshape(n * n, n, columns)

    @property
    def mT(self) -> Dual:  # noqa: N802
        return _Everywhere(self.sign, transposed=not self.transposed)


_EVERYWHERE = _Everywhere(1), _Everywhere(-1)
r"""$1 + \varepsilon E$ and its inverse, for all `E` of the size that fits."""

_SCALED = _NearOne(1), _NearOne(-1)
r"""$1 + \varepsilon$ and its inverse, as matrices of the size that fits."""


def tangent_directions(point: Point, kind: str) -> Iterator[PrimeFieldMatrix]:
    r"""Yield tangent directions, at a point, of the orbit under the spaces of one kind.

    The derivative of the action at the identity, one row for each basis vector of the Lie algebra, computed by
    running the action itself over dual numbers: $C = 1 + \varepsilon E$, $C^{-1} = 1 - \varepsilon E$.

    Args:
        point: weights modulo a prime.
        kind: of the spaces, such as `query-key`.

    Yields:
        Blocks of shape `(directions, parameters)` modulo the prime, one for each space.
    """
    point.architecture.require("the symmetry group", SHAPED)
    verify_identity()
    near_one = _SCALED if kind == "scale" else _EVERYWHERE
    for space, moving in spaces(point.architecture, kind).items():
        rows = np.zeros((space.size**2, point.parameters))
        still = {piece.name: Dual(point.matrix(piece.name)) for piece in moving}
        for name, dual in act(still, {space: near_one}, iter(moving)).items():
            if dual.tangent is not None:
                tangent = dual.tangent.entries
                start, size = point.starts[name], tangent.shape[-2] * tangent.shape[-1]
                rows[:, start : start + size] = tangent.reshape(-1, size)
        yield PrimeFieldMatrix(rows, point.prime)
