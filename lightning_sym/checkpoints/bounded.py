"""Matrices of floats with a bound on what they are off by; singular values, and cosines of products, with bounds.

The bound is one number a matrix, in the Frobenius norm. It counts what was not exact in the entries, and all rounding:
a sum of `n` products in float64 is off by at most `n u / (1 - n u)` times the sum of their sizes, in any order,
`u = 2^-53` (Higham, Accuracy and Stability of Numerical Algorithms, chapter 3).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.model import Index
from lightning_sym.checkpoints.nice_numbers import Floats
from lightning_sym.display import Result, one_line
from lightning_sym.errors import BadInput
from lightning_sym.limits import Progress, unheard

UNIT = 2.0**-53
TINY = 1e-140
"""More than what underflow loses in any sum here."""
LARGEST = 1e30
"""Size of weights up to which no square of a product of four overflows."""
WIDEN = 1 + 2.0**-40
"""What rounding of the bounds themselves is covered by; they are sums and products of a few numbers."""


@dataclass(frozen=True, eq=False, repr=False)
class Balls(Result):
    """Real numbers, each within `radius` of `middle`.

    Example:
        >>> balls = Balls(np.array([1.0, 2.0]), np.array([0.1, 0.1]))
        >>> balls.apart(Balls(np.array([1.15, 3.0]), np.array([0.1, 0.1]))).tolist()
        [False, True]
    """

    middle: Floats
    radius: Floats

    def __post_init__(self) -> None:
        for name in ("middle", "radius"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        if not (np.isfinite(self.middle).all() and np.isfinite(self.radius).all()):
            raise BadInput("weights must be so small that products of them are floats of 64 bits, got larger ones")

    _sentences = (("middle", lambda balls: one_line(balls.middle)), ("radius", lambda balls: one_line(balls.radius)))

    _in_words = "{0}"

    def lower(self) -> Floats:
        """Return lower bounds, rounded down."""
        return np.nextafter(self.middle - self.radius, -np.inf)

    def upper(self) -> Floats:
        """Return upper bounds, rounded up."""
        return np.nextafter(self.middle + self.radius, np.inf)

    def apart(self, other: Balls) -> npt.NDArray[np.bool_]:
        """Return where no number is in both: a proof that the two are different."""
        return np.asarray((self.lower() > other.upper()) | (other.lower() > self.upper()))

    def over(self, divisor: float, share: float = 4 * UNIT) -> Balls:
        """Return the balls divided by a positive number that is known up to a share of itself."""
        middle = self.middle / divisor
        return Balls(middle, (self.radius / divisor * (1 + 2 * share) + 2 * share * np.abs(middle)) * WIDEN + TINY)

    def times(self, other: Balls) -> Balls:
        """Return the products, entry by entry."""
        middle = self.middle * other.middle
        radius = np.abs(self.middle) * other.radius + self.radius * (np.abs(other.middle) + other.radius)
        return Balls(middle, (radius + UNIT * np.abs(middle)) * WIDEN + TINY)

    def ordered(self) -> Balls:
        """Return the same numbers from the largest down: place `k` holds a ball of the `k`-th largest."""
        return between(np.sort(self.lower(), axis=-1)[..., ::-1], np.sort(self.upper(), axis=-1)[..., ::-1])

    def __getitem__(self, place: Index) -> Balls:
        return Balls(self.middle[place], self.radius[place])


def between(lower: Floats, upper: Floats) -> Balls:
    """Return the balls of intervals."""
    middle = lower / 2 + upper / 2
    return Balls(middle, np.maximum(upper - middle, middle - lower) * WIDEN + TINY)


def joined(*balls: Balls, axis: int = -1) -> Balls:
    """Return one list, along the last axis or another one."""
    return Balls(*(np.concatenate([getattr(b, part) for b in balls], axis=axis) for part in ("middle", "radius")))


@dataclass(frozen=True, eq=False)
class Near:
    """Matrices, and for each a bound on its distance, in the Frobenius norm, from the one that is meant.

    Attributes:
        value: `(..., m, n)`.
        error: `(...)`.
    """

    value: Floats
    error: Floats

    @property
    def size(self) -> Floats:
        """Upper bounds on the norms of the matrices that are meant."""
        return _size(self.value) + self.error

    @property
    def mT(self) -> Near:  # noqa: N802 - the array standard's name for the matrix transpose
        """Transposed."""
        return Near(self.value.swapaxes(-1, -2), self.error)

    def __matmul__(self, other: Near) -> Near:
        inner = self.value.shape[-1]
        own, others = _size(self.value), _size(other.value)
        error = _gamma(inner) * own * others + own * other.error + self.error * (others + other.error)
        return Near(np.asarray(self.value @ other.value), error * WIDEN + TINY)

    def __add__(self, other: Near) -> Near:
        value = np.asarray(self.value + other.value)
        return Near(value, (self.error + other.error + UNIT * _size(value)) * WIDEN + TINY)

    def times(self, factors: Near) -> Near:
        """Return columns times numbers, `(1, n)`."""
        value = np.asarray(self.value * factors.value)
        most = np.abs(factors.value).max(initial=0.0) + factors.error
        error = UNIT * _size(value) + self.error * most + _size(self.value) * factors.error
        return Near(value, error * WIDEN + TINY)

    def centred(self) -> Near:
        """Return rows minus their mean: this shrinks what entries are off by, and the mean is off by a rounded sum."""
        value = self.value - self.value.mean(axis=-1, keepdims=True)
        count = self.value.shape[-1] + 4
        return Near(value, (self.error + 2 * _gamma(count) * _size(self.value)) * WIDEN + TINY)

    def beside(self, other: Near) -> Near:
        """Return two matrices side by side."""
        return Near(np.concatenate([self.value, other.value], axis=-1), (self.error + other.error) * WIDEN)

    def norms(self) -> Balls:
        """Return the Frobenius norms."""
        count = self.value.shape[-1] * self.value.shape[-2] + 4
        size = np.sqrt(np.square(self.value).sum(axis=(-1, -2)))
        return Balls(size, (self.error + _gamma(count) * size) * WIDEN + TINY)

    def total(self) -> Near:
        """Return the sum over the first axis."""
        count = len(self.value)
        own = _size(self.value).sum(axis=0)
        return Near(self.value.sum(axis=0), (self.error.sum(axis=0) + _gamma(count + 2) * own) * WIDEN + TINY)

    def __getitem__(self, place: Index) -> Near:
        return Near(self.value[place], self.error[place])


def stacked(parts: list[Near]) -> Near:
    """Return matrices on top of each other, as one that is off by no more than all of them."""
    error = sum(part.error for part in parts) * (WIDEN if len(parts) > 1 else 1.0)
    return Near(np.concatenate([part.value for part in parts], axis=-2), np.asarray(error))


def gram(parts: Iterable[Near]) -> Near:
    """Return the sum of `X^T X` over some matrices, of which one at a time is asked for.

    What adds up grows in the order of positive matrices, so that no partial sum has a larger norm than the last one,
    but for what was lost before; each addition loses a unit of that.

    Example:
        >>> gram(near(np.array([[x, 1.0]])) for x in (1.0, 2.0)).value.tolist()
        [[5.0, 3.0], [3.0, 2.0]]
    """
    value, errors = np.zeros(()), list[Floats]()
    for product in (part.mT @ part for part in parts):
        value = np.add(value, product.value, out=value if errors else product.value)
        errors.append(product.error)
    lost = (len(errors) - 1) * UNIT * (_size(value) + 2 * sum(errors))
    return Near(value, (sum(errors) + lost) * (WIDEN**2 if len(errors) > 1 else 1))


def near(array: object) -> Near:
    """Return stored numbers, `(..., m, n)`, with an error bound: floats are exact, fractions are rounded.

    Raises:
        BadInput: a number is too large, or none.

    Example:
        >>> near(np.array([[0.5, 0.25]])).error
        array(0.)
    """
    given = np.asarray(array)
    value = given.astype(np.float64)
    share = UNIT if given.dtype == object else 0.0
    if not (np.abs(value) <= LARGEST).all():
        raise BadInput(f"weights must be of a size up to {LARGEST:g}, got {float(np.abs(value).max()):g}")
    error = share * _size(value) * WIDEN + (TINY if share else 0.0)
    return Near(value, np.asarray(error, dtype=np.float64))


def singular_values(left: Near, right: Near) -> Balls:
    """Return the singular values of `left @ right`, the largest first.

    They are as many as the inner size or the least outer one.

    With `left = Q T + ..` and `right^T = P S + ..` by QR and `T S^T = X s Y^T + ..`, the product is `(Q X) s (P Y)^T`
    and a rest. Singular values move by the norm of the rest at most (Weyl), and by `|Z^T Z - 1|` of each factor
    `Z = Q X`, `P Y` as a share of themselves (Ostrowski). All of these are computed with bounds; how the factors were
    found does not matter.

    Args:
        left, right: `(..., m, k)` and `(..., k, n)`, `k` at most `m` and `n`.

    Raises:
        BadInput: products are no floats of 64 bits.

    Example:
        >>> found = singular_values(near(np.array([[3.0], [4.0]])), near(np.array([[0.0, 2.0]])))
        >>> bool(abs(found.middle[0] - 10) <= found.radius[0] < 1e-12)
        True
    """
    first, core1 = (_exactly(part) for part in np.linalg.qr(left.value))
    second, core2 = (_exactly(part) for part in np.linalg.qr(right.value.swapaxes(-1, -2)))
    inner = core1 @ core2.mT
    x, s, y = np.linalg.svd(inner.value, full_matrices=False)
    x_near, y_near = _exactly(x), _exactly(y.swapaxes(-1, -2))
    rest1, rest2 = _distance(first @ core1, _exactly(left.value)), _distance(second @ core2, _exactly(right.value).mT)
    scaled = x * s[..., None, :]
    core = _distance(Near(scaled, UNIT * _size(scaled)) @ y_near.mT, inner)
    apart1, apart2 = _unlike_one(first @ x_near), _unlike_one(second @ y_near)
    sizes = (1 + _unlike_one(first)) * (1 + _unlike_one(second))
    rest = rest1 * _size(right.value) + (_size(left.value) + rest1) * rest2 + core * sizes
    rest = rest + left.error * right.size + _size(left.value) * right.error
    share = (apart1 + apart2) * WIDEN
    if not (share < 0.1).all():
        raise BadInput("weights must be so small that products of them are floats of 64 bits, got larger ones")
    return Balls(s, (rest[..., None] + share[..., None] * s) * WIDEN**2 + TINY)


def eigenvalues(gram: Near) -> Balls:
    """Return eigenvalues of symmetric matrices, the largest first, by the same argument with one factor.

    Example:
        >>> eigenvalues(near(np.array([[2.0, 1.0], [1.0, 2.0]]))).middle.round(9).tolist()
        [3.0, 1.0]
    """
    found, vectors = np.linalg.eigh(gram.value / 2 + gram.value.swapaxes(-1, -2) / 2)
    scaled = vectors * found[..., None, :]
    rest = _distance(Near(scaled, UNIT * _size(scaled)) @ _exactly(vectors).mT, gram)
    share = _unlike_one(_exactly(vectors))
    radius = rest[..., None] + 2 * share[..., None] * np.abs(found)
    return Balls(found[..., ::-1].copy(), radius[..., ::-1] * WIDEN**2 + TINY)


def _distance(first: Near, second: Near) -> Floats:
    """Return a bound on the norm of the difference."""
    found = first + Near(-second.value, second.error)
    return _size(found.value) + found.error


def _unlike_one(factor: Near) -> Floats:
    """Return a bound on `|Z^T Z - 1|`."""
    size = factor.value.shape[-1]
    one = np.broadcast_to(np.eye(size), (*factor.error.shape, size, size))
    return _distance(factor.mT @ factor, _exactly(one))


def _exactly(value: Floats) -> Near:
    return Near(value, np.zeros(value.shape[:-2]))


def _gamma(count: int) -> float:
    return count * UNIT / (1 - count * UNIT)


def _size(value: Floats) -> Floats:
    """Return upper bounds on Frobenius norms."""
    count = value.shape[-1] * value.shape[-2]
    found = np.sqrt(np.square(value).sum(axis=(-1, -2))) * (1 + 2 * _gamma(count + 4)) + TINY
    return np.asarray(found, dtype=np.float64)


BYTES = 2**28
"""Of rows of the products that are held at a time."""


def cosines(lefts: Sequence[Near], rights: Sequence[Near], norms: Balls, progress: Progress | None = None) -> Balls:
    """Return cosines `tr(M_i^T M_j) / (|M_i| |M_j|)` of the products `M = left @ right` of all heads, `(n, n)`.

    Args:
        lefts: by layer `(H, d, a)`.
        rights: by layer `(H, a, d)`.
        norms: Frobenius norms of the products, `(n,)`; where one may be 0 the cosine is 0 up to 2.
        progress: told of rows done.

    Example:
        >>> from lightning_sym.checkpoints.bounded import near
        >>> left, right = near(np.array([[[1.0], [0.0]], [[1.0], [1.0]]])), near(np.ones((2, 1, 2)))
        >>> cosines([left], [right], Balls(np.array([2**0.5, 2.0]), np.zeros(2) + 1e-12)).middle.round(6).tolist()
        [[1.0, 0.707107], [0.707107, 1.0]]
    """
    height, width = lefts[0].value.shape[-2], rights[0].value.shape[-1]
    count = len(norms.middle)
    step = max(1, BYTES // (8 * count * width))
    total = np.zeros((count, count))
    for start in range(0, height, step):
        (progress or unheard)("cosines", start, height)
        rows = [left.value[:, start : start + step] @ right.value for left, right in zip(lefts, rights, strict=True)]
        flat = np.concatenate(rows).reshape(count, -1)
        total += flat @ flat.T
    # what the computed products are off by, and what sums of all of their entries are
    off = np.concatenate([_product_error(left, right) for left, right in zip(lefts, rights, strict=True)])
    size = norms.upper() + off
    terms = height * width + height // step + 8
    radius = terms * UNIT / (1 - terms * UNIT) * np.outer(size, size)
    radius = (radius + np.outer(off, size) + np.outer(size, off)) * WIDEN + TINY
    least = np.maximum(norms.lower(), 0)
    below = np.outer(least, least)
    with np.errstate(divide="ignore", invalid="ignore"):
        middle = total / np.outer(norms.middle, norms.middle)
        share = np.outer(norms.upper(), norms.upper()) / below - 1 + 8 * UNIT
        known = (radius / below + (np.abs(middle) + radius / below) * share) * WIDEN + 4 * UNIT
    fits = (below > 0) & np.isfinite(middle) & np.isfinite(known)
    return Balls(np.where(fits, np.clip(middle, -1, 1), 0.0), np.where(fits, np.minimum(known, 2), 2.0))


def _product_error(left: Near, right: Near) -> np.ndarray:
    """Return how far computed products are from those that are meant."""
    inner = left.value.shape[-1]
    sizes = np.square(left.value).sum(axis=(-1, -2)) ** 0.5, np.square(right.value).sum(axis=(-1, -2)) ** 0.5
    first, second = (size * (1 + 2.0**-24) + TINY for size in sizes)
    error = 2 * inner * UNIT * first * second + first * right.error + left.error * (second + right.error)
    return np.asarray(error * WIDEN + TINY)
