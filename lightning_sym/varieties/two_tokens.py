r"""One-head networks with normalized scores along lines of two distinct tokens (`docs/softmax-fibers.md`, Theorem 7).

Token 1 stands once and token 2 `t - 1` times; they have the weighted mean $\varepsilon m$ and the difference
$\varepsilon y$. Behind every layer the difference is a multiple of $y$, and the mean $m$ plus a multiple of $y$.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from lightning_sym.errors import BadInput
from lightning_sym.exact.rational import rank
from lightning_sym.network.attention import Form, attention_layer
from lightning_sym.network.weights import Layer
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.normalization import Normalization
from lightning_sym.rings.protocol import normalized
from lightning_sym.rings.taylor import TaylorMatrix

Vector = tuple[Fraction, ...]


def last_degree(layer: int) -> int:
    r"""Return the degree in which the matrix of a layer occurs first: $2 \cdot 3^{i-1} + 1$.

    Example:
        >>> [last_degree(i) for i in (1, 2, 3)]
        [3, 7, 19]
    """
    return int(2 * 3 ** (layer - 1) + 1)


def slope(normalization: Normalization) -> Fraction:
    """Return $c = S'(0) / S(0)$.

    Raises:
        BadInput: it is zero: the first term in which a layer occurs is another one then.

    Example:
        >>> from lightning_sym.rings.normalization import SOFTMAX
        >>> slope(SOFTMAX)
        Fraction(1, 1)
    """
    c = normalization.taylor(1) / normalization.taylor(0)
    if c == 0:
        raise BadInput(f"jets show the layers where S'(0) is not 0; it is 0 for {normalization.name}")
    return Fraction(c)


def two_token_form(normalization: Normalization, tokens: int) -> Form[TaylorMatrix]:
    """Return the form of a layer on two tokens, the second one standing for `tokens - 1` equal ones."""
    copies = np.array([[1, 1], [tokens - 1, tokens - 1]], dtype=object)
    return Form(partial(normalized, normalization=normalization, mask=copies))


def attended(stream: TaylorMatrix, attention: ObjectArray, form: Form[TaylorMatrix]) -> TaylorMatrix:
    r"""Return the stream $Z_{i-1}$ behind a layer with this virtual attention matrix."""
    one = stream.like(np.eye(stream.shape[0], dtype=int).astype(object))
    return attention_layer(stream, Layer(query=stream.like(attention), key=one, value=one), form)


def both_tokens(mean: Sequence[Fraction], difference: Sequence[Fraction], tokens: int) -> ObjectArray:
    """Return the two tokens with this weighted mean and difference, one column each.

    Example:
        >>> both_tokens([Fraction(1)], [Fraction(3)], tokens=3).tolist()     # (3 + 0 + 0) / 3 = 1
        [[Fraction(3, 1), Fraction(0, 1)]]
    """
    share = Fraction(1, tokens)
    rows = [[m + (1 - share) * y, m - share * y] for m, y in zip(mean, difference, strict=True)]
    return np.array(rows, dtype=object)


class Line:
    """A line in the space of inputs, and the stream along it behind the layers that are known so far.

    Args:
        mean, difference: $m$ and $y$.
        tokens: $t$.
        order: of the series.
        balls: over balls, not over the rationals.
    """

    def __init__(self, mean: Vector, difference: Vector, tokens: int, order: int, *, balls: bool = False) -> None:
        self.mean, self.difference = mean, difference
        self.share = Fraction(1, tokens)
        self.stream = TaylorMatrix.of({1: both_tokens(mean, difference, tokens)}, order, balls=balls)
        self._seen = next((k for k, y in enumerate(difference) if y), None)

    def attend(self, attention: ObjectArray, form: Form[TaylorMatrix]) -> None:
        """Go on behind one more layer."""
        self.stream = attended(self.stream, attention, form)

    def mean_coefficient(self, degree: int) -> ObjectArray:
        """Return the coefficient of the weighted mean of the stream, a vector."""
        shares = np.array([[self.share], [1 - self.share]], dtype=object)
        return (self.stream @ self.stream.like(shares)).coefficient(degree)[:, 0]

    def sigma(self, degree: int) -> Any:
        r"""Return a coefficient of $\sigma_i$, degrees above 0: the stream's mean is $\varepsilon (m + \sigma_i y)$."""
        if self._seen is None:
            return Fraction(0)
        at = self.mean_coefficient(degree + 1)[self._seen]
        return at / self.stream.number(self.difference[self._seen])

    def leading(self, layers: int) -> Any:
        """Return $R_i$, `i` the layers so far: the tokens differ by $R_i y$ in degree $3^i$, and not before."""
        if self._seen is None:
            return Fraction(0)
        one, other = self.stream.coefficient(3**layers)[self._seen]
        return (one - other) / self.stream.number(self.difference[self._seen])


def small_vectors(width: int, largest: int) -> Iterator[tuple[int, ...]]:
    """Yield integer vectors with entries of at most this size, not zero, short ones first.

    Of each pair of opposite ones there is one.

    Example:
        >>> list(small_vectors(2, 1))
        [(0, 1), (1, 0), (1, -1), (1, 1)]
    """

    def of_length(places: int, left: int) -> Iterator[tuple[int, ...]]:
        if places == 0:
            if left == 0:
                yield ()
            return
        most = min(left, largest)
        for entry in range(-most, most + 1):
            if left - abs(entry) <= largest * (places - 1):
                for rest in of_length(places - 1, left - abs(entry)):
                    yield (entry, *rest)

    for length in range(1, width * largest + 1):
        for vector in of_length(width, length):
            if next(x for x in vector if x) > 0:
                yield vector


def basis_of(vectors: Iterable[tuple[int, ...]], width: int) -> list[tuple[int, ...]]:
    """Return the first of some vectors that are independent of those before, at most `width`; no more are asked for."""
    found: list[tuple[int, ...]] = []
    for vector in vectors:
        if rank([*found, vector]) > len(found):
            found.append(vector)
            if len(found) == width:
                break
    return found


def basis_of_directions(width: int, largest: int, fits: Callable[[tuple[int, ...]], bool]) -> list[tuple[int, ...]]:
    """Return independent small vectors that fit, as many as are found, at most `width`.

    Example:
        >>> basis_of_directions(2, 2, lambda y: y[0] != 0 and y[0] + y[1] != 0)
        [(1, 0), (1, 1)]
    """
    return basis_of(filter(fits, small_vectors(width, largest)), width)


def quadratic(attention: ObjectArray, y: Iterable[object]) -> Any:
    r"""Return $q(y) = y^\top A y$."""
    vector = np.array(list(y), dtype=object)
    return vector @ attention @ vector
