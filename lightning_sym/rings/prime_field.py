r"""Matrices over GF(p), batched, on float64 matrix products.

Entries are residues centred around zero. With $p < 2^{22}$ a product of two is below $2^{42}$, so 2,046 of them add
up below $2^{53}$ and a whole matrix product is exact in float64 before one reduction; longer inner dimensions are
cut. Reduction by rounding may leave a residue one past $p/2$, which the bound below allows for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from math import prod
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from lightning_sym.errors import BadInput
from lightning_sym.rings.arrays import Rows, is_plain, residues_of

Residues = npt.NDArray[np.int64]

PRIMES = (4194301, 4194287, 4194277, 4194271)
"""The four largest primes below 2^22."""

MORE_PRIMES = (
    *PRIMES,
    4194247, 4194217, 4194199, 4194191, 4194187, 4194181, 4194173, 4194167, 4194143, 4194137, 4194131, 4194107,
    4194103, 4194023, 4194011, 4194007, 4193977, 4193971, 4193963, 4193957, 4193939, 4193929, 4193909, 4193869,
    4193807, 4193803, 4193801, 4193789, 4193759, 4193753, 4193743, 4193701, 4193663, 4193633, 4193573, 4193569,
)  # fmt: skip
"""The forty largest, where numbers with many digits are put together from their residues."""

SMALL_PRIMES = (251, 241, 239, 233)
"""The four largest whose centred residues fit into a byte: matrices take an eighth of the memory, and float32 is exact
for sums of a thousand products. A rank is more often short by chance, once in some hundred points."""

EXACT_PRODUCTS = 2046
"""So many products of residues add up below 2^53."""

if EXACT_PRODUCTS * ((max(PRIMES) + 3) // 2) ** 2 >= 2**53:  # not an assert: it must hold under -O too
    raise AssertionError("products of residues would not be exact in float64")


@cache
def _factors(p: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the prime and its negative as arrays without axes: a number would be made into one in each operation."""
    return np.array(float(p)), np.array(-float(p))


def reduce_mod(values: npt.NDArray[np.float64], p: int) -> npt.NDArray[np.float64]:
    """Return centred residues of exact integers below 2^53 in absolute value, given as float64."""
    divisor, minus = _factors(p)
    residues: npt.NDArray[np.float64] = np.divide(values, divisor)
    np.rint(residues, residues)
    np.multiply(residues, minus, residues)
    np.add(residues, values, residues)
    return residues


def matmul_mod(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64], p: int) -> npt.NDArray[np.float64]:
    """Return `a @ b` modulo `p` for centred residues, any inner dimension, batched as `matmul`; `b` may be a vector."""
    inner = a.shape[-1]
    if inner <= EXACT_PRODUCTS:
        return reduce_mod(a @ b, p)
    if b.ndim == 1:
        return matmul_mod(a, b[:, None], p)[..., 0]
    result = reduce_mod(a[..., :EXACT_PRODUCTS] @ b[..., :EXACT_PRODUCTS, :], p)
    for start in range(EXACT_PRODUCTS, inner, EXACT_PRODUCTS):
        stop = start + EXACT_PRODUCTS
        result = reduce_mod(result + reduce_mod(a[..., start:stop] @ b[..., start:stop, :], p), p)
    return result


@dataclass(slots=True)
class PrimeFieldMatrix:
    """A matrix over GF(`prime`), or a batch of them (leading axes), `entries` centred residues in float64.

    Example:
        >>> m = PrimeFieldMatrix.of(np.array([[1, -2], [4194301, 3]]), 4194301)
        >>> (m @ m.mT).residues().tolist()
        [[5, 4194295], [4194295, 9]]
    """

    entries: npt.NDArray[np.float64]
    prime: int

    @classmethod
    def of(cls, integers: npt.NDArray[np.generic], prime: int) -> PrimeFieldMatrix:
        """Return the residues of an array of integers, of NumPy's or of Python's own, however large.

        Raises:
            BadInput: the prime is neither 2 nor one of `PRIMES` and `SMALL_PRIMES`, for which the arithmetic is known
                to be exact, or the array holds something else than integers.
        """
        if prime not in PRIMES and prime not in SMALL_PRIMES and prime != 2:
            raise BadInput(f"the prime must be one of {PRIMES + SMALL_PRIMES} or 2, got {prime}")
        if np.asarray(integers).dtype.kind not in "iuO":
            raise BadInput(f"residues must be made of integers, got an array of {np.asarray(integers).dtype}")
        residues = np.mod(integers, prime).astype(np.int64)
        centred = np.where(residues > prime // 2, residues - prime, residues)
        return cls(centred.astype(np.float64), prime)

    def residues(self) -> npt.NDArray[np.int64]:
        """Return the entries as integers in `0, ..., prime - 1`."""
        return np.mod(self.entries.astype(np.int64), self.prime)

    @property
    def shape(self) -> tuple[int, ...]:
        """Batches, rows and columns."""
        return self.entries.shape

    def __bool__(self) -> bool:
        """Return whether an entry is not zero."""
        return bool(self.entries.any())

    def __matmul__(self, other: PrimeFieldMatrix) -> PrimeFieldMatrix:
        return PrimeFieldMatrix(matmul_mod(self.entries, other.entries, self.prime), self.prime)

    def __add__(self, other: PrimeFieldMatrix) -> PrimeFieldMatrix:
        return PrimeFieldMatrix(reduce_mod(self.entries + other.entries, self.prime), self.prime)

    def __neg__(self) -> PrimeFieldMatrix:
        return PrimeFieldMatrix(-self.entries, self.prime)

    def __mul__(self, other: PrimeFieldMatrix) -> PrimeFieldMatrix:
        """Return the product entry by entry."""
        return PrimeFieldMatrix(reduce_mod(self.entries * other.entries, self.prime), self.prime)

    def stacked(self, matrices: Sequence[PrimeFieldMatrix]) -> PrimeFieldMatrix | None:
        """Return matrices one below the other; `None` where that is no matrix, or no batch of them."""
        first = matrices[0].entries
        ends = first.shape[:-2], first.shape[-1:]
        if any((m.entries.shape[:-2], m.entries.shape[-1:]) != ends or m.prime != self.prime for m in matrices):
            return None
        return PrimeFieldMatrix(np.concatenate([m.entries for m in matrices], axis=-2), self.prime)

    def part(self, matrices: Sequence[PrimeFieldMatrix], index: int) -> PrimeFieldMatrix:
        """Return the rows that stand where one of these matrices would, if they were stacked."""
        start = sum(m.entries.shape[-2] for m in matrices[:index])
        return PrimeFieldMatrix(self.entries[..., start : start + matrices[index].entries.shape[-2], :], self.prime)

    def like(self, constants: Rows | Sequence[Fraction]) -> PrimeFieldMatrix:
        """Return a matrix of integers or fractions over the same field.

        Raises:
            ValueError: the prime divides a denominator.

        Example:
            >>> PrimeFieldMatrix.of(np.array([[1]]), 4194301).like([[Fraction(1, 2)]]).residues().tolist()
            [[2097151]]
        """
        p = self.prime
        if is_plain(constants):
            return PrimeFieldMatrix.of(residues_of(np.asarray(constants), p), p)
        source = np.asarray(constants, dtype=object)
        numbers = source.ravel().tolist()
        tops, lows = [int(x.numerator) for x in numbers], {int(x.denominator) for x in numbers}
        try:
            found = np.array(tops, dtype=np.int64) % p
        except OverflowError:  # they are longer than a word
            found = np.array([x % p for x in tops], dtype=np.int64)
        if not lows <= {1}:
            inverses = {low: pow(low, -1, p) for low in lows}  # few
            found = found * np.array([inverses[int(x.denominator)] for x in numbers], dtype=np.int64)
        return PrimeFieldMatrix.of(found.reshape(source.shape), p)

    @property
    def mT(self) -> PrimeFieldMatrix:  # noqa: N802
        return PrimeFieldMatrix(self.entries.mT, self.prime)


def modulo_a_prime(
    matrices: Mapping[str, Rows], primes: Sequence[int] = PRIMES
) -> tuple[int, dict[str, PrimeFieldMatrix]] | None:
    """Return the first of `primes` that divides no denominator, and rational matrices modulo it, by name; or `None`.

    Example:
        >>> modulo_a_prime({"Q1": [[1]], "K1": [[Fraction(1, 4194301)]]})[0]
        4194287
    """
    for p in primes:
        one = PrimeFieldMatrix(np.ones((1, 1)), p)
        try:
            return p, {name: one.like(matrix) for name, matrix in matrices.items()}
        except ValueError:  # the prime divides a denominator
            continue
    return None


class SeededResidues:
    """The residues that a generator with a seed draws, in order; of each seed the first ones are kept for all who ask.

    Args:
        seed: integers, as `np.random.default_rng` takes them.
        p: the prime.

    Example:
        >>> known, drawn = SeededResidues((1, 2), 4194301), np.random.default_rng([1, 2])
        >>> [bool((known.draw(n) == random_residues(drawn, (n,), 4194301).entries).all()) for n in (3, 10**5)]
        [True, True]
    """

    def __init__(self, seed: tuple[int, ...], p: int) -> None:
        self.seed, self.prime, self._used = seed, p, 0
        self._generator: np.random.Generator | None = None

    def draw(self, count: int) -> npt.NDArray[np.float64]:
        """Return the next ones, not to be written to."""
        if self._generator is None and self._used + count <= _KEPT:
            self._used += count
            return _first_residues(self.seed, self.prime)[self._used - count : self._used]
        return random_residues(self.generator, (count,), self.prime).entries

    @property
    def generator(self) -> np.random.Generator:
        """A generator that goes on where this is; from now on both are one."""
        if self._generator is None:
            self._generator = np.random.default_rng(list(self.seed))
            random_residues(self._generator, (self._used,), self.prime)
        return self._generator


_KEPT = 2**14


@lru_cache(maxsize=64)
def _first_residues(seed: tuple[int, ...], p: int) -> npt.NDArray[np.float64]:
    found = random_residues(np.random.default_rng(list(seed)), (_KEPT,), p).entries
    found.flags.writeable = False
    return found


Source: TypeAlias = "np.random.Generator | SeededResidues"  # text: naming the first would load `numpy.random`
"""Where random residues come from."""


def generator_of(source: Source) -> np.random.Generator:
    """Return the source itself, or the generator that goes on where it is."""
    return source.generator if isinstance(source, SeededResidues) else source


def random_matrices(source: Source, shapes: Iterable[tuple[int, ...]], p: int) -> list[PrimeFieldMatrix]:
    """Return `random_residues` of several shapes, the same numbers as one by one, drawn at once."""
    shapes = list(shapes)
    sizes = [prod(shape) for shape in shapes]
    total = sum(sizes)
    drawn = source.draw(total) if isinstance(source, SeededResidues) else random_residues(source, (total,), p).entries
    found, start = [], 0
    for shape, size in zip(shapes, sizes, strict=True):
        found.append(PrimeFieldMatrix(drawn[start : start + size].reshape(shape), p))
        start += size
    return found


def random_residues(generator: np.random.Generator, shape: tuple[int, ...], p: int) -> PrimeFieldMatrix:
    """Return uniform residues modulo `p`: integer points as good as any other for a lower bound."""
    half = p // 2
    return PrimeFieldMatrix(generator.integers(-half, p - half, size=shape).astype(np.float64), p)
